/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How attention of f32 is shared among blocks of threads that have tiles of registers (tiled.cuh). */
#ifndef NDOCK_CUDA_TILED_H
#define NDOCK_CUDA_TILED_H
#include "host/backend.h"
#include "neural/attention.h"

/* Finds the kernels of f32, after the class's own ones; those that the device cannot run are left out. */
int32_t tiled_make(cuda_kernel *k, const ndp_call *like);
/* The width that serves a call, for tiled_run() and tiled_grad_run(); -1: none does. */
int tiled_width(const cuda_kernel *k, const attention_params *p);
int32_t tiled_run(const cuda_kernel *k, ndp_stream *s, attention_params *p, int width);
/* Sets in p what the gradients of that width need for their turns. */
void tiled_grad_plan(const cuda_kernel *k, attention_params *p, int width);
/* After p's turns have been cleared and its delta made. */
int32_t tiled_grad_run(const cuda_kernel *k, ndp_stream *s, attention_params *p, int width);

#endif
