/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of the normalisations of single precision and below: single_grad.c plans them and works on rows in
 * runs of dense elements, columns_grad.c on rows side by side, single_weights.c adds up the weights' gradients. */
#ifndef NDOCK_CPU_NORM_SINGLE_GRAD_H
#define NDOCK_CPU_NORM_SINGLE_GRAD_H
#include "norm/grad.h"
#include "norm/single_rows.h"

enum { CPU_SINGLE_PARTIAL = 2 }; /* of each weight, or of a segment: those for scale and for bias */

typedef enum {
    CPU_SINGLE_NONE,
    CPU_SINGLE_NUMBERS, /* scale is a number over each segment; partial sums are of segments */
    CPU_SINGLE_LAYERS, /* scale is a row; partial sums are of parts of the rows, for each element */
    CPU_SINGLE_SOFTMAX, /* of softmax and log_softmax */
    CPU_SINGLE_COLUMNS  /* rows side by side; partial sums are of rows */
} cpu_single_way;

typedef struct {
    const cpu_norm_grad_plan *p;
    const cpu_single_table *loops;
    cpu_single_way way;
    cpu_single_cut cut;
    int centred;
    int64_t parts;   /* that rows are cut into, by extents alone */
    double *partial; /* NULL: weights' gradients are not wanted */
} cpu_single_grad_plan;

/* Which way the call can go, and what it needs. */
void cpu_single_grad_make(cpu_single_grad_plan *q, const cpu_norm_grad_plan *p,
                          const ndp_call *call);
/* Doubles of scratch memory. */
int64_t cpu_single_grad_scratch(const cpu_single_grad_plan *q, const ndp_call *call);
/* Carries it out. */
void cpu_single_grad_run(cpu_single_grad_plan *q, const ndp_call *call);

/* The work on units for cpu_parallel; ctx is the plan. */
void cpu_single_grad_columns(void *ctx, int64_t begin, int64_t end);
/* The weights' gradients, of the partial sums. */
void cpu_single_weights(const cpu_single_grad_plan *q, const ndp_call *call);
#endif
