/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How a reduction is walked, cut and shared among threads: what plan.c finds and reduce.c carries out. */
#ifndef NDOCK_CPU_REDUCE_PLAN_H
#define NDOCK_CPU_REDUCE_PLAN_H
#include "reduce/reduce.h"
#include "walk/walk.h"

enum { CPU_REDUCE_CHUNK = CPU_REDUCE_ROW_MOST }; /* elements of a chunk, about 50 us of work */

typedef struct {
    const cpu_reduce_cell *cell;
    cpu_walk kept, reduced; /* operands: in, out bytes; in bytes, C-order position */
    const char *in;
    char *out, *scratch;
    int64_t in_bytes, out_bytes; /* of an element */
    int64_t chunks, chunk, fold; /* of the reduced range, of a chunk */
    int64_t tile, tiles;         /* sweep: results of a tile */
    int64_t per_run;             /* sweep: tiles of one innermost run, 0 when tiles cross runs */
    int64_t wide;                /* sweep: short rows, one right after the other, taken as one */
    int sweep, unit, cut_runs, linear, far;
    int whole; /* inner: each result is of one dense run, in one fold */
    cpu_finish finish;
} cpu_reduce_plan;

/* The loops of an operation on a dtype. */
const cpu_reduce_cell *cpu_reduce_cell_of(int32_t op, int32_t dtype);
/* How states of so many elements become results of the call. */
cpu_finish cpu_reduce_finish_of(const cpu_reduce_cell *cell, const ndp_call *call, int64_t count);
/* Where no result is wanted (p->kept.size is 0) the plan ends with the dimensions. */
void cpu_reduce_plan_make(cpu_reduce_plan *p, const ndp_call *call);
#endif
