/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Rows of single precision and below as single_isa.c takes them: runs of dense elements. A row is a run, or
 * several (segments), over each of which scale and bias are numbers, or rows. */
#ifndef NDOCK_CPU_NORM_SINGLE_ROWS_H
#define NDOCK_CPU_NORM_SINGLE_ROWS_H
#include <math.h>
#include "norm/norm.h"
#include "norm/single.h"
#include "walk/walk.h"

/* Elements that are worked on at a time: with the results in L1, and exponentials that are kept. */
enum { CPU_SINGLE_BLOCK = 1024, CPU_SINGLE_LONG = 4096, CPU_SINGLE_SHORT = 32 };

/* Operands 0 and 1.. of a call, some NULL: those of the mask `dense` step by elements along a run, the others stay. */
typedef struct {
    cpu_walk rows, segments; /* bytes; rows in C order */
    int64_t run;             /* elements of a segment */
    int dims;                /* of the run */
} cpu_single_cut;

static inline void cpu_single_walk(cpu_walk *w, int operands, const ndp_view *const *view, int from,
                                   int to)
{
    cpu_walk_begin(w, operands);
    for (int d = from; d < to; d++) {
        int64_t step[CPU_WALK_OPERANDS];
        for (int o = 0; o < operands; o++)
            step[o] = view[o] ? view[o]->stride[d] * ndp_dtype_size(view[o]->dtype) : 0;
        cpu_walk_add(w, view[0]->shape[d], step);
    }
    cpu_walk_end(w);
}

/* Whether dimension d goes on where a run of so many elements ends. */
static inline int cpu_single_goes_on(int operands, const ndp_view *const *view, unsigned dense,
                                     int64_t run, int d)
{
    for (int o = 0; o < operands; o++)
        if (view[o] && view[o]->shape[d] > 1 && view[o]->stride[d] != (dense >> o & 1 ? run : 0))
            return 0;
    return 1;
}

/* Cuts rows of the dimensions from `kept` on; 0 where their runs are too short to gain by it. */
static inline int cpu_single_cut_make(cpu_single_cut *c, int operands, const ndp_view *const *view,
                                      unsigned dense, int kept)
{
    int d = view[0]->ndim;
    c->run = 1;
    while (d > kept && cpu_single_goes_on(operands, view, dense, c->run, d - 1))
        c->run *= view[0]->shape[--d];
    c->dims = view[0]->ndim - d;
    cpu_single_walk(&c->segments, operands, view, kept, d);
    cpu_single_walk(&c->rows, operands, view, 0, kept);
    return c->run >= CPU_SINGLE_SHORT;
}

/* n floats at `from`: as they lie, or made of 16 bits into `buffer`. */
static inline const float *cpu_single_read(const cpu_single_table *loops, int dtype,
                                           const char *from, int64_t n, float *buffer)
{
    if (dtype == CPU_NORM_F32)
        return (const float *)(const void *)from;
    loops->widen[dtype == CPU_NORM_BF16](buffer, from, n);
    return buffer;
}

/* Where n results for `to` are made, and how; cpu_single_write brings them there. */
static inline float *cpu_single_place(int dtype, char *to, float *buffer)
{
    return dtype == CPU_NORM_F32 ? (float *)(void *)to : buffer;
}
static inline int cpu_single_rounding(int dtype)
{
    return dtype == CPU_NORM_F32 ? CPU_SINGLE_LAST : CPU_SINGLE_ODD;
}
static inline void cpu_single_write(const cpu_single_table *loops, int dtype, char *to,
                                    const float *made, int64_t n)
{
    if (dtype != CPU_NORM_F32)
        loops->narrow[dtype == CPU_NORM_BF16](to, made, n);
}

/* One element as a number. */
static inline double cpu_single_number(const cpu_single_table *loops, int dtype, const char *from)
{
    float f;
    return (double)*cpu_single_read(loops, dtype, from, 1, &f);
}

/* Bytes of n elements. */
static inline int64_t cpu_single_bytes(int dtype, int64_t n)
{
    return dtype == CPU_NORM_F32 ? 4 * n : 2 * n;
}

/* Blocks of n elements: from i on, and how many. */
#define CPU_SINGLE_EACH(n, block, i, m)                             \
    for (int64_t i = 0, m = (n) < (block) ? (n) : (block); i < (n); \
         i += (block), m = (n)-i < (block) ? (n)-i : (block))

/* What a row's sums of g*d have about the mean, `off` from the shift, of sums about the shift. */
static inline double cpu_single_about(double gd, double g, double off)
{
    return gd - (g - g == 0 ? g * off : 0);
}

/* A row's mean and 1/deviation, from sums of distances from shift; of NaN where they are infinite. */
static inline void cpu_single_finish(double shift, const double *sums, double n, double eps,
                                     int centred, double *mean, double *variance, double *factor)
{
    const double off = centred ? sums[CPU_SUM_D] / n : 0;
    *mean = centred ? shift + off + (sums[CPU_SUM_D] - sums[CPU_SUM_D]) : 0;
    *variance = (sums[CPU_SUM_DD] - (centred ? sums[CPU_SUM_D] * off : 0)) / n;
    *variance = *variance < 0 ? 0 : *variance;
    *factor = 1 / sqrt(*variance + eps);
}
#endif
