/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The dtype that a file is compiled for, CUDA_DTYPE. */
#ifndef NDOCK_CUDA_LINALG_TYPES_CUH
#define NDOCK_CUDA_LINALG_TYPES_CUH
#include "linalg/scalar.cuh"

#define LIN_TYPE_F32 float
#define LIN_TYPE_F64 double
#define LIN_TYPE_C64 lin_pair<float>
#define LIN_TYPE_C128 lin_pair<double>
#define LIN_TYPE__(dtype) LIN_TYPE_##dtype
#define LIN_TYPE_(dtype) LIN_TYPE__(dtype)
typedef LIN_TYPE_(CUDA_DTYPE) lin_element;

/* Names of kernels end with it: lin_move_F32. */
#define LIN_NAME__(name, dtype) name##_##dtype
#define LIN_NAME_(name, dtype) LIN_NAME__(name, dtype)
#define LIN_NAME(name) LIN_NAME_(name, CUDA_DTYPE)

#endif
