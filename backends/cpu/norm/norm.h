/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of the row normalisations (norm_isa.c), all over dense doubles, for their driver (norm.c).
 *
 * Loops "of a row" reduce along n elements of one row, over a fixed number of lanes joined in a
 * fixed tree. Loops "of columns" take one element each of n rows that lie side by side. */
#ifndef NDOCK_CPU_NORM_H
#define NDOCK_CPU_NORM_H
#include "host/cpu.h"
#include "walk/walk.h"

enum { CPU_NORM_F16, CPU_NORM_BF16, CPU_NORM_F32, CPU_NORM_F64, CPU_NORM_DTYPES };

typedef struct {
    void (*load[CPU_NORM_DTYPES])(void *dst, const char *src, int64_t stride_bytes, int64_t n);
    void (*store[CPU_NORM_DTYPES])(char *dst, int64_t stride_bytes, const double *src, int64_t n);
    /* Of a row. NaN is never the maximum: it comes back with the sum. */
    double (*max)(const double *x, int64_t n);
    double (*sum)(const double *x, int64_t n);
    /* Sum of the elements that are not 1; adds to *ones how many are. */
    double (*sum_but_ones)(const double *x, int64_t n, double *ones);
    /* Sum of x - mean, and of its squares. */
    void (*squares)(const double *x, int64_t n, double mean, double *sum, double *squares);
    /* (x - mean - error)*factor [*scale] [+ bias], in place. */
    void (*affine)(double *x, int64_t n, double mean, double error, double factor,
                   const double *scale, const double *bias);
    void (*scale)(double *x, int64_t n, double factor);
    void (*divide)(double *x, int64_t n, double divisor);
    void (*subtract)(double *x, int64_t n, double first, double second);
    /* Elementwise: dst = exp(x - shift), [0] for single precision, [1] for double. dst may be x or
     * shift. */
    void (*exp[2])(double *dst, const double *x, const double *shift, int64_t n);
    /* The same along a row, in place, and its sum. */
    double (*exp_sum[2])(double *x, int64_t n, double shift);
    /* Gradients, of a row. */
    double (*dot)(const double *x, const double *y, int64_t n);
    void (*multiply)(double *x, const double *y, int64_t n); /* x*y, in place */
    /* x*(g - s), in place */
    void (*times_less)(double *x, const double *g, int64_t n, double s);
    /* g - x*s into x */
    void (*less_times)(double *x, const double *g, int64_t n, double s);
    /* ((g - a) - (x - mean - error)*b)*factor into x */
    void (*affine_grad)(double *x, const double *g, int64_t n, double mean, double error, double a,
                        double b, double factor);
    /* Of columns. */
    /* Sums go on for as many lines as there are, so they carry their rounding errors. */
    void (*add_columns)(double *sum, double *error, const double *x, int64_t n);
    void (*add_but_ones)(double *sum, double *error, double *ones, const double *x, int64_t n);
    void (*max_columns)(double *max, const double *x, int64_t n);
    void (*divide_columns)(double *x, const double *divisor, int64_t n);
    void (*subtract_columns)(double *x, const double *first, const double *second, int64_t n);
    void (*square_columns)(double *sum, double *squares, double *error, const double *x,
                           const double *mean, int64_t n);
    void (*affine_columns)(double *x, const double *mean, const double *error, const double *factor,
                           double scale, double bias, int64_t n);
    /* ((g - a) - (x - mean - error)*b)*factor into x */
    void (*affine_grad_columns)(double *x, const double *g, const double *mean, const double *error,
                                const double *a, const double *b, const double *factor, int64_t n);
    /* g*((x - mean - error)*factor) to scale, g to bias: of one row, and of a row for each. */
    void (*weigh)(double *scale, double *bias, const double *x, const double *g, double mean,
                  double error, double factor, int64_t n);
    void (*weigh_columns)(double *scale, double *bias, const double *x, const double *g,
                          const double *mean, const double *error, const double *factor, int64_t n);
} cpu_norm_table;
CPU_ISA_DECLARE(extern const cpu_norm_table, cpu_norm_loops);

/* A sum with what it lost to rounding, which means nothing beside an infinity. */
static inline double cpu_norm_whole(double sum, double error)
{
    return sum - sum == 0 ? sum + error : sum;
}

/* ---- tiles: rows that lie side by side in memory, worked on a line of elements at a time ---- */
enum { CPU_NORM_TILE = 64, CPU_NORM_WIDE = 512 };
/* Rows of a tile whose lines are read again for each pass, of `inner` side by side: long runs of
 * memory, but as many tiles as leave each thread one. What a row gets does not depend on it. */
static inline int64_t cpu_norm_wide(int64_t inner)
{
    const int64_t threads = cpu_threads(), each = (inner + threads - 1) / threads;
    const int64_t across = (each + CPU_NORM_TILE - 1) / CPU_NORM_TILE * CPU_NORM_TILE;
    return across < CPU_NORM_WIDE ? across : CPU_NORM_WIDE;
}
/* Tile u of each run's `tiles`: the number of its first row, where that is, and how many rows it has. */
static inline int64_t cpu_norm_seek_tile(const cpu_walk *rows, int64_t tiles, int64_t across,
                                         int64_t u, cpu_place *row, int64_t *m)
{
    const int64_t first = u / tiles * rows->shape[rows->ndim - 1] + u % tiles * across;
    cpu_place_seek(row, rows, first);
    const int64_t room = cpu_place_room(row);
    *m = room < across ? room : across;
    return first;
}

/* ---- weights.c: the gradients for scale and bias ---- */
enum {
    CPU_NORM_STATISTICS = 3
}; /* of a row, in C order of the kept dimensions: mean, its rounding
                                   * error, factor */
/* Doubles of scratch memory: statistics of rows, then partial sums. */
int64_t cpu_norm_weights_scratch(const ndp_call *call);
/* From g, x and the rows' statistics, which the call's scratch memory begins with. */
void cpu_norm_weights(const cpu_norm_table *loops, int dtype, const ndp_call *call);
#endif
