/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the driver of reductions (plan.c, reduce.c) and its loops (reduce_isa.c) know of each other.
 *
 * A reduction folds elements into states and finishes each state into a result. Loops see only
 * dense elements of few types: other dtypes and strides pass through a load into a small buffer.
 * Complex elements are pairs of reals side by side, so that sums, means and variances of complex
 * arrays are those of real arrays with twice the columns.
 *
 * A fold has two shapes. "inner" folds one dense run into one state (one per component), over a
 * fixed number of lanes joined in a fixed tree. "sweep" folds rows of neighbouring columns into a
 * row of states. Who is added to whom thus follows from shape and strides alone, never from the
 * SIMD level or the number of threads. */
#ifndef NDOCK_CPU_REDUCE_H
#define NDOCK_CPU_REDUCE_H
#include "host/cpu.h"
#include "math/half.h"

enum {
    CPU_FOLD_BYTES = 16384, /* a fold that is gathered is given at most this much: it stays in L1 */
    CPU_SWEEP_ROWS = 16,    /* a sweep is given at most this many rows */
    CPU_SWEEP_REALS = 1024, /* and this many columns */
    CPU_STATE_BYTES = 32    /* largest state of one real: four planes of 8 bytes */
};

/* Where the elements of a fold are: in a cache; in memory, of which processors see enough ahead by themselves
 * where they are read in order; or in memory, what follows being asked for. */
enum { CPU_FAR_NOT = 0, CPU_FAR_SEEN, CPU_FAR_ASKED };

/* States lie in planes: component p of the state of real j is element p*cap + j. */
typedef struct {
    void *state;
    int64_t cap;
    int64_t comps;       /* reals of an element: 2 for complex, else 1 */
    int64_t done;        /* elements already folded into each state */
    int64_t pos, weight; /* position of the first element or row, and from one to the next */
    int far;             /* inner: CPU_FAR_* */
    int fresh;           /* sweep: states hold nothing yet, not even the beginning */
} cpu_fold;

/* n counts reals. */
typedef struct {
    int32_t state_bytes;
    void (*init)(const cpu_fold *fold, int64_t n);
    void (*inner)(const cpu_fold *fold, const void *x, int64_t n);
    void (*sweep)(const cpu_fold *fold, const void *const *rows, int nrows, int64_t n);
    void (*merge)(const cpu_fold *fold, const cpu_fold *from, int64_t n);
    int32_t begins; /* sweep takes fresh states */
} cpu_reducer;

/* Strided elements to dense ones, converted to what the loops take. */
typedef void (*cpu_load)(void *dst, const char *src, int64_t stride_bytes, int64_t n);

enum {
    CPU_FINISH_INT = 1,
    CPU_FINISH_FLOAT,
    CPU_FINISH_PRODUCT,
    CPU_FINISH_MEAN,
    CPU_FINISH_VAR,
    CPU_FINISH_STD,
    CPU_FINISH_VALUE,
    CPU_FINISH_LOGSUMEXP,
    CPU_FINISH_POSITION
};

typedef struct {
    const cpu_reducer *reducer; /* NULL: the op is not defined for the dtype */
    cpu_load load;
    uint16_t fold;  /* elements of an inner fold */
    uint8_t direct; /* dense elements need no load */
    uint8_t comps;
    uint8_t bytes;  /* of a real, after the load */
    uint8_t finish; /* CPU_FINISH_* */
    uint8_t stop; /* any: 1 + 1, all: 1 + 0: no further element changes a first byte of stop - 1 */
} cpu_reduce_cell;

enum { /* columns of the table, one for each op; CPU_COLUMN_sum ... */
#define CPU_AS_COLUMN(name, DOMAIN, RESULT, ulp, doc) CPU_COLUMN_##name,
#define ND_EXPAND_REDUCE ND_EXPAND_BY(CPU_AS_COLUMN)
#define ND_EXPAND_ARGREDUCE ND_EXPAND_BY(CPU_AS_COLUMN)
#include <ndock/op_expand.h>
       CPU_REDUCE_OPS
};
#undef ND_EXPAND_REDUCE
#undef ND_EXPAND_ARGREDUCE
typedef struct {
    cpu_reduce_cell cell[CPU_REDUCE_OPS][NDP_DTYPE_END];
} cpu_reduce_table;
CPU_ISA_DECLARE(extern const cpu_reduce_table, cpu_reduce_loops);

/* reduce/finish.c: states of n results to out, stride_bytes apart. */
typedef struct {
    int32_t finish, dtype; /* CPU_FINISH_*, dtype of out */
    int64_t comps, planes, count;
    double correction;
} cpu_finish;
void cpu_reduce_finish(const cpu_finish *o, const void *state, int64_t cap, int64_t n, char *out,
                       int64_t stride_bytes);

/* reduce/reduce.c: the op on a dense row of n elements of a real floating dtype, as its kernel has
 * it where it folds results one by one and cuts none. */
void cpu_reduce_row(int32_t op, int32_t dtype, const char *row, int64_t n, double correction,
                    char *to);
enum { CPU_REDUCE_ROW_LEAST = 32, CPU_REDUCE_ROW_MOST = 1 << 17 }; /* elements of such rows */

/* What loops are made of must be inlined for them to vectorise, whatever the optimiser thinks of
 * it. */
#if defined(__GNUC__)
#define CPU_INLINE static inline __attribute__((always_inline))
#else
#define CPU_INLINE static inline
#endif

/* Round to odd: the last bit of an inexact float is set, so that rounding it once more, to 16 bits,
 * gives what rounding the double directly would (Boldo and Melquiond, IEEE Trans. Comput. 2008). */
CPU_INLINE float cpu_f32_round_odd(double v)
{
    float f = (float)v;
    uint32_t u = cpu_bits_of_f32(f);
    double back = (double)f, size = __builtin_fabs(v), size_back = __builtin_fabs(back);
    u -= size_back > size ? 1 : 0;
    u |= size_back != size ? 1 : 0; /* NaN gets the bit too, and stays NaN */
    return cpu_f32_of_bits(u);
}
#endif
