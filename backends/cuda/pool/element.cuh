/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The dtype that a file of kernels is compiled for. */
#ifndef NDOCK_CUDA_POOL_ELEMENT_CUH
#define NDOCK_CUDA_POOL_ELEMENT_CUH
#include "pool/window.cuh"

typedef WINDOW_ELEMENT(CUDA_DTYPE) T; /* as stored */
typedef neural_computed<T>::type C;   /* as computed */
enum { VECTOR = 16 / sizeof(T) };

#endif
