/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parts of the sources of programs that both kinds of kernels have. */
#ifndef NDOCK_CUDA_PROGRAM_SOURCE_H
#define NDOCK_CUDA_PROGRAM_SOURCE_H
#include "program/program.h"
#include "program/text.h"

/* The dtype's name, of dtype.def: "F32". */
const char *cuda_source_dtype(int32_t dtype);
int32_t cuda_source_dtype_of(const ndp_program *, int32_t value);
/* Of the inputs, then the results. */
int32_t cuda_source_operand_dtype(const ndp_program *, uint32_t operand);
/* The type of elements of the dtype as they lie in memory. */
void cuda_source_stored(cuda_text *, int32_t dtype);
/* "const T vN = scalar;" of each. */
void cuda_source_scalars(cuda_text *, const ndp_program *);
/* "const T vN = instruction of others;" */
void cuda_source_instruction(cuda_text *, const ndp_instruction *, uint32_t value);

/* source_rows.c: the kernel of a program of rows, and what its calls need to know of it; 0 and the
 * reason where it is none that kernels know. */
int cuda_source_rows(cuda_text *, const ndp_program *, int whole, cuda_program_rows_facts *,
                     char *why, size_t n);

static inline int cuda_source_is_reduction(const ndp_instruction *k)
{
    return k->op != NDP_OP_copy && ndp_op_class(k->op) == NDP_CLASS_REDUCE;
}

#endif
