/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How attention of f16 and bf16 is shared among blocks that use tensor cores. */
#ifndef NDOCK_CUDA_FLASH_H
#define NDOCK_CUDA_FLASH_H
#include "host/backend.h"
#include "neural/attention.h"

typedef struct {
    int function; /* of the kernel */
    int64_t blocks;
    uint32_t threads; /* of a block */
    uint32_t shared;  /* bytes of a block */
    uint64_t scratch; /* bytes: of parts */
} flash_plan;

/* A function that may use so much shared memory; none where the device cannot run it: either it has
 * less, or its code was made of an older architecture's. */
int32_t flash_function(cuda_kernel *k, int module, const char *name, uint32_t shared,
                       CUfunction *out);
/* Says in p whether rows of all operands can be copied 16 bytes, `chunk` elements, at a time. */
void flash_set_whole(attention_params *p, int chunk);

/* Finds the kernels, after the class's own ones; those that the device cannot run are left out. */
int32_t flash_make(cuda_kernel *k, const ndp_call *like);
/* Whether there is a kernel for a call; how it is cut up goes into plan and p. */
int flash_plans(const cuda_kernel *k, attention_params *p, flash_plan *plan);
int32_t flash_run(const cuda_kernel *k, ndp_stream *s, const ndp_call *call, attention_params *p,
                  const flash_plan *plan);

typedef struct {
    int width;                  /* number of the kernel */
    int split;                  /* of heads too wide for one pass: two passes of warpgroups */
    int64_t blocks, tile_bytes; /* of the kernel that goes over them once; 0: of none */
} flash_grad_plan;

/* Whether there are kernels for the gradients; how many turns and tiles they need goes into p. */
int flash_grad_plans(const cuda_kernel *k, attention_params *p, flash_grad_plan *plan);
/* After p's turns have been cleared and its delta made. */
int32_t flash_grad_run(const cuda_kernel *k, ndp_stream *s, attention_params *p,
                       const flash_grad_plan *plan);

/* Kernels of heads too wide for one pass, for compute capability 9.0 alone: the last functions. */
enum { FLASH_SPLIT = CUDA_FUNCTIONS - 4 };
int32_t flash_split_make(cuda_kernel *k, int32_t dtype);
/* Whether they are there for heads of so many columns. */
int flash_split_serves(const cuda_kernel *k, int columns);
/* plain: neither a mask nor dropout, and a scale that is no trouble. */
int32_t flash_split_run(const cuda_kernel *k, ndp_stream *s, attention_params *p, int plain);

#endif
