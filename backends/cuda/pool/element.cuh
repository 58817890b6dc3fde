/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The dtype that a file of kernels is compiled for.
 * Deliberately no include guard: each file of kernels includes it once, in a namespace of its own where
 * they are compiled for the host. */
#include "pool/window.cuh"

typedef WINDOW_ELEMENT(CUDA_DTYPE) T; /* as stored */
typedef neural_computed<T>::type C;   /* as computed */
enum { VECTOR = 16 / sizeof(T) };
