/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of CUDA_DTYPE, inside a namespace. Deliberately no include guard. */
#undef NDOCK_CUDA_LINALG_TYPES_CUH
#include "linalg/types.cuh"
#include "linalg/block.cu"
#include "linalg/cluster.cu"
#include "linalg/large.cu"
#include "linalg/small.cu"
