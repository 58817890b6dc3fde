/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A call of the row normalisations as it is carried out: norm.c plans it, rows.c works on rows one by
 * one, tiles.c on rows that lie side by side in memory. */
#ifndef NDOCK_CPU_NORM_PLAN_H
#define NDOCK_CPU_NORM_PLAN_H
#include <math.h>
#include "norm/norm.h"
#include "walk/walk.h"

enum {
    BLOCK = 4096, /* elements in flight */
    TILE = 64,    /* rows side by side */
    KEEP = 16384  /* elements of a tile that are kept from pass to pass */
};
enum { IN, OUT, SCALE, BIAS, MEAN, VARIANCE, OPERANDS };

typedef struct {
    const cpu_norm_table *loops;
    cpu_walk rows, row;   /* bytes of all operands; of the row in, out, scale, bias */
    cpu_walk line;        /* the row of in and out alone, in the same order */
    char *base[OPERANDS]; /* those after out NULL where there is none */
    int op, dtype, precise;
    int grouped;    /* group_norm: rows differ in scale and bias, and say their mean and variance */
    int given;      /* batch_norm: grouped, and rows are told their mean and variance */
    int64_t n;      /* elements of a row */
    int64_t batch;  /* rows that fit a block, 0 when one does not */
    int64_t dense;  /* bytes of a row when all lie one after the other, in and out, else 0 */
    int64_t tiles;  /* of rows side by side in an innermost run, 0 when rows are taken one by one */
    int64_t across; /* rows of a tile */
    double eps;
} norm_plan;

/* What a row's statistics make of its elements: (x - mean - error)*factor, or for the softmax
 * family the maximum, the sum of exponentials below 1, and how many are 1: with the ones apart,
 * log1p loses nothing where one element outweighs the rest. */
typedef struct {
    double max, sum, ones, mean, error, variance, factor;
} norm_statistics;

static inline void cpu_norm_fill(double *dst, int64_t n, double v)
{
    for (int64_t i = 0; i < n; i++)
        dst[i] = v;
}

/* A row's statistics, of its mean as it was computed, and of the sum and the squares of what its
 * elements differ from that. */
static inline void cpu_norm_finish_moments(const norm_plan *p, double mean, double sum,
                                           double squares, norm_statistics *s)
{
    double n = (double)p->n;
    s->mean = mean;
    s->error = p->op == NDP_OP_layer_norm ? sum / n : 0;
    s->variance = (squares - sum * s->error) / n;
    s->factor = 1 / sqrt(s->variance + p->eps);
}

/* Into the results of group_norm that there are, at the row's offsets. */
void cpu_norm_store_moments(const norm_plan *p, const int64_t *offset, double mean,
                            double variance);

/* The work on units begin..end for cpu_parallel: rows, or tiles. ctx is the plan. */
void cpu_norm_rows(void *ctx, int64_t begin, int64_t end);
void cpu_norm_tiles(void *ctx, int64_t begin, int64_t end);

/* single.c: the whole call, if it is of single precision or below and of rows that have dense runs; 0 where it is
 * not. view: those of the operands. */
int cpu_norm_single(const norm_plan *p, const ndp_view *const *view, int kept);
/* given.c: the whole call of batch_norm. */
void cpu_norm_given(const norm_plan *p);
/* columns.c: the same of rows side by side, as work on tiles. */
int cpu_norm_has_columns(const norm_plan *p);
void cpu_norm_columns(void *ctx, int64_t begin, int64_t end);
/* softmax.c: both of softmax and log_softmax. */
int cpu_norm_softmax_rows(const norm_plan *p, const ndp_view *const *view, int kept);
int cpu_norm_has_softmax_columns(const norm_plan *p);
void cpu_norm_softmax_columns(void *ctx, int64_t begin, int64_t end);
#endif
