/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A gradient of the row normalisations as it is carried out: grad.c plans it and works on rows one by
 * one, grad_tiles.c on rows that lie side by side in memory. */
#ifndef NDOCK_CPU_NORM_GRAD_H
#define NDOCK_CPU_NORM_GRAD_H
#include "norm/norm.h"
#include "walk/walk.h"

/* Operands: x is what the forward function was given, or its result for the softmax family. */
enum { X, G, OUT, SCALE };

typedef struct {
    const cpu_norm_table *loops;
    cpu_walk rows, row; /* bytes */
    char *base[4];      /* scale NULL where there is none */
    int op, dtype, precise;
    int64_t n;      /* elements of a row */
    int64_t tiles;  /* of rows side by side in an innermost run, 0 when rows are taken one by one */
    int64_t across; /* rows of a tile */
    double eps;
    double *statistics; /* of each row, for the weights; NULL: not wanted */
} cpu_norm_grad_plan;

/* The statistics of row u, counted in C order of the kept dimensions. */
static inline void cpu_norm_grad_keep(const cpu_norm_grad_plan *p, int64_t u, double mean,
                                      double error, double factor)
{
    double *to = p->statistics + u * CPU_NORM_STATISTICS;
    to[0] = mean;
    to[1] = error;
    to[2] = factor;
}

/* The work on tiles begin..end for cpu_parallel. ctx is the plan. */
void cpu_norm_grad_tiles(void *ctx, int64_t begin, int64_t end);
#endif
