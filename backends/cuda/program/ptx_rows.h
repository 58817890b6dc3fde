/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the parts of a kernel of rows in PTX share: the kernel that is being written, and the names of
 * its values. Knows no driver. */
#ifndef NDOCK_CUDA_PROGRAM_PTX_ROWS_H
#define NDOCK_CUDA_PROGRAM_PTX_ROWS_H
#include <stddef.h>
#include "program/ptx.h"
#include "program/walks.h"

typedef struct {
    cuda_walks w;
    cuda_ptx *x;
    cuda_text *t;
    int merges; /* that are written */
} cuda_ptx_row_kernel;

/* Where a member of the kernel's parameters is. */
#define CUDA_PTX_AT(member) offsetof(cuda_program_rows, member)

static inline int cuda_ptx_is_extreme(const ndp_instruction *k)
{
    return k->op == NDP_OP_max || k->op == NDP_OP_min;
}
/* Divided by one value of the row: prepared once for each walk, as by rows_divisor of rows.cuh. */
static inline int cuda_ptx_is_by_row(const cuda_ptx_row_kernel *m, int32_t v)
{
    const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
    return k->op == NDP_OP_divide && m->w.of_row[k->arg[1]] && !m->w.of_row[v];
}

/* The registers: v of what is one value for each row, else w and the word's number. */
void cuda_ptx_row_name(const cuda_ptx_row_kernel *, int32_t v, int word, char name[CUDA_PTX_NAME]);
/* The body of a reduction's step: "add", "merge" or "value". */
const void *cuda_ptx_row_step(const cuda_ptx_row_kernel *, const ndp_instruction *,
                              const char *step);
/* Of elements, for each of so many words. */
void cuda_ptx_row_instruction(const cuda_ptx_row_kernel *, int32_t v, int words);

/* ---- ptx_row_values.c ---- */
/* One value for each row: what can be computed once the walks before this one have ended. */
void cuda_ptx_row_values(cuda_ptx_row_kernel *, int32_t walk);

/* ---- ptx_row_walk.c ---- */
/* A walk over a row, with all that it computes, stores and adds to reductions. */
void cuda_ptx_row_walk(const cuda_ptx_row_kernel *, int32_t walk);

#endif
