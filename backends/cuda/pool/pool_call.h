/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What pools and their gradients share on the host. */
#ifndef NDOCK_CUDA_POOL_CALL_H
#define NDOCK_CUDA_POOL_CALL_H
#include "pool/frame.h"

/* Of a call whose windows lie over image; grid has one element for each; positions may be NULL. */
int32_t pool_params(cuda_pooling *p, const ndp_call *call, const ndp_view *image,
                    const ndp_view *grid, const ndp_view *positions);
/* Whether a plane's windows reach as far along h as along w, of one layer, so that strips of rows serve. */
int pool_is_square(const cuda_pooling *p);
/* Bytes from image to image. */
int64_t pool_image_bytes(const ndp_view *v);
/* Kernels prefix_suffix of a file, n of them, from function[first] on. */
int32_t pool_functions(cuda_kernel *k, int32_t dtype, const char *file, const char *prefix,
                       const char *const *suffix, int n, int first);
/* The kernels of a gradient, and how it runs. */
int32_t pool_make_grad(cuda_kernel *k, const ndp_call *like);

#endif
