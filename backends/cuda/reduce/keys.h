/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What others ask the reductions' host side: programs of rows have their bits. */
#ifndef NDOCK_CUDA_REDUCE_KEYS_H
#define NDOCK_CUDA_REDUCE_KEYS_H
#include "reduce/reduce.h"

/* What turns elements of min, max and their positions into keys, and how a NaN is known and stored. */
void cuda_reduce_keys(reduce_params *p, int32_t op, int32_t dtype);
/* How many threads share a dense line of count elements where results lines are reduced, if vectors
 * of 16 bytes are read along it, and the line is not cut; else 0. */
int32_t cuda_reduce_row_lanes(int32_t op, int32_t dtype, uint64_t results, int64_t count,
                              int sm_count);

#endif
