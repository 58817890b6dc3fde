/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of sorting share.
 *
 * Every dtype but c128 is sorted as unsigned keys: integers with the sign bit turned, floats with
 * all bits turned below zero. Keys of -0 and +0 are one, as are those of all NaNs, which is the
 * largest. Descending order turns all bits of the key, so a stable sort keeps equal elements in
 * order both ways. Since a stable sort has one right answer, the algorithm may depend on size and
 * threads. */
#ifndef NDOCK_CPU_SORT_H
#define NDOCK_CPU_SORT_H
#include "host/cpu.h"

typedef struct {
    uint64_t key, with; /* with: a position, or the bits of a c64 */
} sort_pair;
typedef struct {
    double re, im;
} sort_c128;
typedef struct {
    double re, im;
    int64_t at;
} sort_c128_at;

/* Bits of x up to its highest one. */
static inline int sort_bit_length(uint64_t x)
{
    return x ? 64 - __builtin_clzll(x) : 0;
}

/* ---- sort_isa.c: between elements in memory and keys; strides in elements ---- */
typedef struct {
    uint64_t bias; /* of integers: the sign bit. Combined with all ones for descending order it is
                      flip below */
    /* Keys, widened. */
    void (*keys)(const char *a, int64_t stride, int64_t n, uint64_t flip, uint64_t *out);
    /* The least and the greatest key. */
    void (*range)(const char *a, int64_t stride, int64_t n, uint64_t flip, uint64_t *least,
                  uint64_t *most);
    /* Keys less min in their own width; nonzero if there is a -0 or a NaN, whose bits the key has
     * lost. */
    int (*load)(const char *a, int64_t stride, int64_t n, uint64_t flip, uint64_t min, void *out);
    /* Puts the zeros and NaNs of a, in order, among the sorted keys. */
    void (*restore)(const char *a, int64_t stride, int64_t n, uint64_t flip, uint64_t min,
                    void *sorted);
    void (*store)(const void *sorted, int64_t n, uint64_t flip, uint64_t min, char *out,
                  int64_t stride);
    /* Of f32 and f64, for quick_values: see keys_tmpl.h. `opposite` is descending's all ones. */
    int (*load_values)(const char *a, int64_t stride, int64_t n, uint64_t opposite, void *out);
    void (*store_values)(const void *sorted, int64_t n, uint64_t opposite, char *out,
                         int64_t stride);
    void (*restore_values)(const char *a, int64_t stride, int64_t n, uint64_t opposite,
                           void *sorted);
} sort_keys;
typedef struct {
    int64_t below, at_low, inside, at_high;
} sort_between;
/* Where the next element of each part goes, and the end of the place that the caller has for the
 * part: nothing is written from there on. */
typedef struct {
    char *to[3], *end[3];
} sort_places;
#define SORT_LANES 8
typedef struct {
    sort_keys keys[NDP_DTYPE_END];
    /* By key width. Counts keys below low, equal to it, and equal to high; those in between go to
     * `inside`, which has room for n, in order. */
    void (*between[9])(const void *keys, int64_t n, uint64_t low, uint64_t high, uint64_t *inside,
                       sort_between *counts);
    /* By key width, which is that of the elements: those with keys below `by`, equal to it, and
     * above it, to their places in order. */
    void (*deal[9])(const void *keys, const void *elements, int64_t n, uint64_t by,
                    sort_places *places);
    /* Keys of 32 bits below `limit`, which is not 0, each with its position, which counts from
     * `at`, in one word; returns how many. There is room for n. */
    int64_t (*words)(const void *keys, int64_t n, uint64_t limit, int64_t at, uint64_t *words);
    void (*network[9])(void *keys, int64_t n); /* by key width: sorts SORT_LANES interleaved rows */
    /* By key width: sorts n keys of 32 bits, unsigned, or of 64 bits, signed; NULL where vectors
     * lack what it needs. */
    void (*quick[9])(void *keys, int64_t n);
    /* By width: sorts n floats, of which none is NaN; NULL where keys are sorted as quickly. */
    void (*quick_values[9])(void *values, int64_t n);
} sort_table;
CPU_ISA_DECLARE(extern const sort_table, sort_table_of);
static inline const sort_keys *sort_keys_of(int32_t dtype)
{
    return &CPU_ISA_PICK(sort_table_of)->keys[dtype];
}

/* ---- sort/elements.c: stable sorts of elements in a, with b of the same size for use. Return
 * where the result is ---- */
#define SORT_SMALL 256       /* up to so many, counts may be NULL and nothing but a and b is used */
#define SORT_DIGITS 2048     /* values of a radix digit, */
#define SORT_DIGIT_BITS 11   /* which has so many bits */
#define SORT_PARALLEL 262144 /* from here on the team shares one row */
/* One row is dealt out in so many chunks: a function of n alone. */
static inline int64_t sort_chunks(int64_t n)
{
    int64_t chunks = n < SORT_PARALLEL ? 1 : n / 65536;
    return chunks < 64 ? chunks : 64;
}
static inline int64_t sort_grain(int64_t n)
{
    int64_t chunks = sort_chunks(n);
    return (n + chunks - 1) / chunks;
}
/* Keys may differ in bits low to low+bits-1. counts: sort_chunks(n) * SORT_DIGITS. */
void *sort_u16(void *a, void *b, int64_t n, int low, int bits, int64_t *counts);
void *sort_u32(void *a, void *b, int64_t n, int low, int bits, int64_t *counts);
void *sort_u64(void *a, void *b, int64_t n, int low, int bits, int64_t *counts);
void *sort_pairs(void *a, void *b, int64_t n, int low, int bits, int64_t *counts);
void *sort_c128s(void *a, void *b, int64_t n, int low, int bits, int64_t *counts);
void *sort_c128s_at(void *a, void *b, int64_t n, int low, int bits, int64_t *counts);
/* Sorted x (nx) and y (ny), equal ones from x first, into out, up to n. */
void sort_merge_pairs(const sort_pair *x, int64_t nx, const sort_pair *y, int64_t ny,
                      sort_pair *out, int64_t n);

/* ---- sort/row.c, sort/positions.c, sort/lanes.c ---- */
/* One row to sort, and memory for it. */
typedef struct {
    const char *a;
    int64_t stride, n;
    int32_t dtype;
    uint64_t descending; /* 0 or all ones */
    char *out;
    int64_t out_stride, n_out; /* so many are wanted, */
    int64_t first;             /* from this one of the sorted order on; of positions, from 0 on */
    char *buffer[2];
    int64_t *counts;
} sort_row;
void sort_row_values(const sort_row *r);
/* Whether values of the dtype are sorted by the level's quicksort, when one thread has the row. */
int sort_is_quick(int32_t dtype);
/* Whether they are as floats. */
int sort_is_narrow(int32_t dtype);
/* Whether the team shares a row of n, so that it is dealt out by digits. */
int sort_is_for_team(int64_t n);
uint64_t sort_row_flip(const sort_row *r);
/* The least key and the bits of the greatest less the least. */
int sort_key_range(const sort_row *r, uint64_t *min);
void sort_row_positions(const sort_row *r); /* out is i64 */
/* Up to SORT_LANES rows of one length at once, where sort_lanes_fit. Needs no buffers. */
#define SORT_LANES_MAX 1024
int sort_lanes_fit(int32_t dtype, int64_t n, int positions);
void sort_lanes_values(const sort_row *r, int rows);
void sort_lanes_positions(const sort_row *r, int rows);
/* Bytes of memory for sort_row_values or sort_row_positions: each buffer's, and the counts'. */
int64_t sort_values_nbytes(int32_t dtype, int64_t n);
int64_t sort_positions_nbytes(int32_t dtype, int64_t n);
int64_t sort_counts_nbytes(int64_t n);
/* Rows of a call, and how many are sorted at once, each in a slot of its own. */
int64_t sort_rows(const ndp_call *call);
int64_t sort_slots(const ndp_call *call);

extern const ndp_kernel sort_topk_kernel, sort_select_kernel;

#endif
