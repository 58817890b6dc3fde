/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Radix sorts of the CUB library behind C functions, many keys of 64 bits by leading.cuh. Keys ascend as unsigned numbers; equal keys
 * keep their order. The device's context must be current. */
#ifndef NDOCK_CUDA_CUB_H
#define NDOCK_CUDA_CUB_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    CUB_KEYS_F32, /* keys are floats: -0 and +0 are equal and stay in order; no NaN below zero */
    CUB_KEYS_I32, /* keys are signed numbers */
    CUB_KEYS_I64,
    CUB_KEYS_U32,
    CUB_KEYS_U64,
    CUB_PAIRS_U32, /* u32 values */
    CUB_PAIRS_U64, /* u64 keys, u32 values */
    CUB_PAIRS_WIDE /* u64 keys, u64 values, 2^32 elements or more; the others take fewer */
} cuda_cub_kind;

/* Two arrays of keys and, for pairs, of values; in: where they are, and room for as many. */
typedef struct {
    void *keys[2], *values[2];
    int selector; /* which of the two holds them; changed by the sort */
    int keep;     /* of keys alone: they are sorted into the other array, and stay as they were */
    const int *
        moves; /* not NULL: an odd number there, in the device's memory, says that it is the other array */
} cuda_cub_buffers;

/* Sorts by bits 0 to bits-1 of the keys. Returns a cudaError_t. temp NULL: only writes to
 * *temp_nbytes how much memory it wants there. stream: a CUstream. */
int cuda_cub_sort(cuda_cub_kind kind, void *temp, size_t *temp_nbytes, cuda_cub_buffers *buffers,
                  uint64_t n, int bits, void *stream);

#ifdef __cplusplus
}
#endif

#endif
