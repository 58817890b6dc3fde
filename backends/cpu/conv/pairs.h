/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of bf16 as sums of pairs: what AMX computes by one instruction, and every other level by its own.
 *
 * Numbers of a sum come in steps of 32. A step's even numbers are one chain of fused multiply-adds from zero, k
 * ascending, its odd ones another; the sum of both chains is added to the sum of the steps before it. That is the
 * order of TDPBF16PS, by Intel's manual and by 51 million sums that were compared. The instruction flushes numbers
 * below 2^-126 to zero; so it computes only operands whose exponents leave no room for such numbers anywhere in a sum
 * (cv_pairs_fits), and all levels give the same bits.
 *
 * Which calls are computed so depends on shapes and dtype alone. Both operands lie in tiles that AMX reads: rows of 32
 * numbers of a; of b, 16 rows of pairs of numbers, each row with one pair of each of 16 columns. */
#ifndef NDOCK_CPU_CONV_PAIRS_H
#define NDOCK_CPU_CONV_PAIRS_H
#include <stdint.h>

enum {
    CV_PAIRS_TILE = 16,  /* rows, and columns, of a tile of sums */
    CV_PAIRS_DEPTH = 32, /* numbers in a step */
    CV_PAIRS_BYTES = 1024
};

/* A step: bytes from the beginning of a row of a to its 32 numbers; how many of these count. Those beyond are zero in
 * b, and finite in a where AMX computes. */
typedef struct {
    int64_t at, live;
} cv_pairs_step;

/* sum[i*pitch + j] is set to, or added, the sums of m*16 rows of a, a_row bytes apart from each tile's first, by n*16
 * columns of b, whose tiles of all steps follow each other. m and n are 1 or 2. */
typedef struct {
    const char *a[2], *b[2];
    int64_t a_row, steps, pitch;
    const cv_pairs_step *step;
    float *sum;
    int m, n, add;
    int exact; /* products are no rounded numbers, whether they are added at once or not */
} cv_pairs_block;

/* How blocks are computed: by the level's code, for any numbers, or for those that cv_pairs_fits; by AMX. */
enum { CV_PAIRS_ANY, CV_PAIRS_EXACT, CV_PAIRS_AMX };

/* Which exponents there are among numbers: bit e/4 for the smallest and the largest exponent e that are not of zero. */
typedef uint64_t cv_pairs_range;

/* Whether all sums of products stay in the range of normal floats, whatever their order: a product is a multiple of
 * 2^(the exponents less 14), and so is each sum; at most 2^29 of them are added. Numbers that are not normal, or not
 * finite, are in the outermost of the 64 ranges. */
static inline int cv_pairs_fits(cv_pairs_range a, cv_pairs_range b)
{
    const uint64_t ends = 1 | UINT64_C(1) << 63;
    if (a == 0 || b == 0)
        return ((a | b) & ends) == 0;
    const int low = 4 * (__builtin_ctzll(a) + __builtin_ctzll(b));
    const int high = 4 * (63 - __builtin_clzll(a) + 63 - __builtin_clzll(b)) + 6;
    return ((a | b) & ends) == 0 && low >= 2 * 127 + 14 - 126 && high <= 350;
}

/* A group's channels of an image, side by side for each pixel, with the padding's zeros around them: rows and columns
 * of pixels; the source's element that the first one is; bytes of all, and of what tiles reach beyond. */
typedef struct {
    int64_t channels, rows, columns, low[2], bytes;
} cv_pixels;

/* Where numbers follow each other in a row of pixels: `runs` runs of `length` numbers, of one tap each, or one run of
 * all taps, whose pixels follow each other, in the order of memory. */
typedef struct {
    int64_t runs, length, blocks;
    int joined, reversed; /* all taps; from the last one to the first */
} cv_pairs_runs;

/* How a call is cut up: copies of images' groups that exist at a time; positions (pairs of tiles) and channels of the
 * result in a task; rows of positions are one line or each a line; places in the scratch memory that threads share. */
typedef struct {
    cv_pixels pixels;
    int64_t units, most_steps, tile_p, tiles_p, tile_o, tiles_o;
    int64_t blocks_o,
        weight_bytes; /* tiles across the result's channels; bytes of a phase and group */
    int64_t steps_at, weights_at, pixels_at;
    int64_t columns, gradient_bytes, gradient_at, lanes, sums_at; /* of a gradient for the weight */
} cv_pairs_plan;

/* ---- pairs_amx.c: where configure found a compiler for it ---- */
/* Whether the processor has the tiles, and the system lets this process use them. */
int cv_amx_there(void);
/* Around blocks of one thread. */
void cv_amx_begin(void);
void cv_amx_end(void);
void cv_amx_block(const cv_pairs_block *b);
#endif
