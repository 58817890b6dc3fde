/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The conformance suite: every operation of the op table on one device, over random views, against
 * an oracle of its own (long double, 128-bit integers), which shares no code with any device. Plain
 * C over the public API. */
#ifndef NDOCK_CONFORM_H
#define NDOCK_CONFORM_H
#include <stdbool.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

/* ---- what runs ---- */
typedef struct {
    nd_device *device;
    bool async;           /* what is wrong on the device shows when somebody waits */
    int count;            /* random cases of each operation */
    uint64_t seed, state; /* of this case; printed on failure */
    const char *only;     /* run these operations alone, names with commas; NULL: all */
    const char *except;   /* and not those with these ids: "D.add,D.sum"; NULL */
    const char *pattern;  /* of ids, for fnmatch; NULL: all */
    const char *staged;   /* operations that the device is known to lack: may_stage; NULL: none */
    int64_t only_case;    /* below 0: all */
    bool list, large;     /* print ids and run nothing; include arrays of 2^31 elements */
    int32_t fallback;     /* the policy; whoever sets another restores it */
    bool kit;             /* a plug-in's author runs this, by file: see kit.c */
    bool probing;         /* nothing is printed; what lacks a kernel is noted: see claims.c */
} conform_run;
extern conform_run run;
bool wanted(const char *name); /* by what was asked for; lists it where that was asked */
/* Seeds the generator for case i of the operation begun, so that it can be replayed alone; false if
 * another case is to run alone. i tells all cases of the operation apart. */
bool begin_case(int64_t i);
/* The same for case i of a table: all of them run where an operation has FULL_COUNT random cases or
 * more, of fewer as large a share. */
bool begin_share(int64_t i);
uint64_t random_bits(void);
int64_t random_below(int64_t n); /* 0 ... n-1 */
/* Checks a status; on failure says what the library said. */
bool good(nd_status status, const char *what);
/* Until the next operation begins, or this is called again: the CPU may compute what run.staged
 * names, if the device has no kernel of it. One that has is a failure: the list is out of date. */
void may_stage(const char *name);
/* One TAP line for an operation: fails are counted by fail_case. */
void begin_op(const char *name);
void fail_case(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The failure is repeated by another operation's case. */
void replay_as(const char *name, int64_t i);
void skip_op(const char *why); /* its line becomes a skip, unless something failed */
void end_op(void);
int end_run(void); /* the plan; an exit status */
/* A device that is lost stays so: if that is the status, says it in one line and ends the program,
 * since nothing that comes after would say more. */
void end_if_lost(nd_status status);
bool failing(void); /* enough failures were printed: give up on this operation */
/* Cases that are not random ones are numbered from here. */
#define FIXED_CASE 1000000
#define FULL_COUNT 100

/* ---- kit.c: the suite as `ndock conform` runs it ---- */
/* Makes the first device of the plug-in in file the one under test: -1. An exit status after a plan
 * that skips all, or a failed test. */
int kit_open(const char *file);
/* The operation's and the case's names for what is printed if the program dies now. */
void kit_now(const char *name, int64_t i);
bool kit_has_kernels(void); /* group "ndp.op/1" */

/* ---- modes.c: floating-point modes of the calling thread ---- */
/* Looks whether the call just made, in case i of the operation, has left them as they were, and
 * puts them back. The first call of all takes what they are. */
void modes_watch(const char *name, int64_t i);

/* ---- claims.c: what a plug-in says of its kernels ---- */
void claims_staged(const char *name); /* an operation some of whose calls were staged */
void claims_refused(const nd_error *e);
void conform_kit(void);
void conform_claims(void (*everything)(void));

/* ---- cell.c: one element, exactly ---- */
typedef struct {
    int kind;           /* ND_KIND_* */
    __int128 i;         /* bool and integers */
    long double re, im; /* floating and complex */
} cell;
typedef struct {
    int fraction, bias, bits; /* stored bits of the significand; of the exponent's bias; of all */
    bool finite;              /* no infinities: the one NaN has all bits set */
    bool saturates;           /* what is beyond the largest value becomes that */
} cell_format;
/* Of a floating dtype, or of a complex one's parts: an IEEE 754 format, or one of OCP's of 8 bits. */
cell_format cell_format_of(nd_dtype dtype);
/* The code after the largest finite value's, without a sign. */
uint64_t cell_code_end(cell_format f);
/* The kind of the cells that hold the dtype's values. */
int cell_kind(nd_dtype dtype);
/* The dtype has every integer below this, which is at most 100; of bool it does not say. */
int64_t cell_whole(nd_dtype dtype);
cell cell_read(nd_dtype dtype, const void *element);
/* An element of random bits, of random magnitude, or a special value. tame: moderate finite values
 * only. */
void cell_random(nd_dtype dtype, bool tame, void *element);
/* want, rounded to dtype, is what got is, up to ulp units in the last place; exact for integers and
 * bool. zeros: signs of zeros count. */
bool cell_close(nd_dtype dtype, cell got, cell want, double ulp, bool zeros);
/* got, of dtype (real or complex, each part), lies within tolerance of want; NaN is NaN, infinities
 * agree, or want is about to overflow. Integers and bool are exact. */
bool cell_within(nd_dtype dtype, cell got, cell want, long double tolerance);
/* op.def's bound for results computed in dtype. */
double op_ulp(nd_op op, nd_dtype dtype);
/* Spacing of dtype's (real) format at |x|. */
long double cell_ulp(nd_dtype dtype, long double x);
long double cell_max(nd_dtype dtype);
const char *cell_text(cell c, char *buf); /* buf of 128 */
cell cell_int(__int128 value);
cell cell_real(long double re);
cell cell_complex(long double re, long double im);
cell cell_bool(bool value);
/* Wrapped to an integer dtype. */
cell cell_wrap(nd_dtype dtype, __int128 value);

/* ---- view.c: an array and what it should hold ---- */
enum { CASE_NDIM = 6 };
typedef struct {
    nd_array *array;
    char *base; /* the host's copy of the whole storage */
    nd_dtype dtype;
    int ndim;
    int64_t shape[CASE_NDIM], stride[CASE_NDIM], offset, size; /* in elements of base */
} mirror;
typedef struct {
    bool tame, writable, no_empty;
    int least_ndim, most_ndim;
    int64_t most_extent;
} view_wish;
extern const view_wish any_view;
/* A random view (steps, negative steps, permutations, broadcasts unless writable, offsets, empty,
 * 0-d) of random values. */
bool mirror_random(mirror *m, nd_dtype dtype, const view_wish *wish);
/* Another view whose shape is m's, with some extents cut to one and leading axes dropped if
 * broadcasting. */
bool mirror_like(mirror *m, const mirror *other, nd_dtype dtype, const view_wish *wish,
                 bool broadcasting);
bool mirror_shaped(mirror *m, nd_dtype dtype, int ndim, const int64_t *shape,
                   const view_wish *wish);
void mirror_release(mirror *m);
/* Element at a C-order position of a shape that m broadcasts to. */
const void *mirror_at(const mirror *m, int ndim, const int64_t *shape, int64_t position);
cell mirror_cell(const mirror *m, int ndim, const int64_t *shape, int64_t position);
/* Fetch an array's elements, dense; free() them. NULL after fail_case. */
char *fetch(const nd_array *a);
/* What lies in the storage outside the view is as it was. */
bool mirror_untouched(const mirror *m);

/* ---- oracle.c ---- */
/* What an elementwise op gives; false if the oracle leaves this case out (said in the comment
 * there). */
bool oracle(nd_op op, nd_dtype dtype, const cell *in, cell *out);
/* special.c: the same of special functions, and the size of which the bound of a result counts ulp
 * where that is larger than the result, by the row's text; 0 elsewhere. */
bool oracle_special_unary(nd_op op, long double a, long double *r);
bool oracle_special_binary(nd_op op, long double a, long double b, long double *r);
long double oracle_scale(nd_op op, long double a, long double b);

/* ---- groups ---- */
void conform_elementwise(void);
void conform_special(void);
void conform_large(void);
void conform_copy(void);
void conform_reduce(void);
void conform_accuracy(void);
void conform_norm(void);
void conform_fft(void);
void conform_conv(void);
void conform_pool(void);
void conform_groups(void);
void conform_neural(void);
void conform_attention(void);
void conform_matmul(void);
void conform_linalg(void);
void conform_indexing(void);
void conform_scatter(void);
void conform_select(void);
void conform_bools(void);
void conform_ties(void);
void conform_zeros(void);
void conform_into(void);
void conform_edges(void);
void conform_sorting(void);
void conform_selection(void);
void conform_sets(void);
void conform_random(void);
void conform_draws(void);
void conform_manip(void);
void conform_create(void);
void conform_views(void);
void conform_slice(void);
void conform_assign(void);
void conform_errors(void);
void conform_runtime_ops(void);
void conform_growth(void);
void conform_together(void);
void conform_modes(void);
void conform_training(void);
void conform_long_sums(void);
void conform_margins(void);
void conform_quant(void);
void conform_fused(void);
void conform_scaled_mm(void);
void conform_contract(const char *file);
/* In the process that conform_contract makes: rules of the contract that are broken are printed. */
void contract_listen(void);
#endif
