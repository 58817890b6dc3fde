/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Batches of small matrices of one dtype, CUDA_DTYPE, a warp each; small.h describes the
 * parameters. */
#include "linalg/eigh_rows.cuh"
#include "linalg/solve_columns.cuh"
#include "linalg/svd.cuh"
#include "linalg/types.cuh"

#define LIN_KERNEL(name)                                                                \
    extern "C" __global__ void __launch_bounds__(32 * LIN_SMALL_WARPS)                  \
        LIN_NAME(lin_##name)(const __grid_constant__ lin_small p)                       \
    {                                                                                   \
        LIN_SHARED(shared);                                                             \
        const int warp = (int)(threadIdx.x >> 5), warps = (int)(blockDim.x >> 5);       \
        const int64_t item = (int64_t)blockIdx.x * warps + warp;                        \
        if (item >= p.count)                                                            \
            return;                                                                     \
        const int info =                                                                \
            lin_##name##_item<lin_element>(p, item, shared + (int64_t)warp * p.nbytes); \
        if ((threadIdx.x & 31) == 0)                                                    \
            ((int32_t *)p.info)[item] = info;                                           \
    }
/* A warp has 32 / ROWS matrices; nbytes are for all of them. */
#define LIN_KERNEL_OF_ROWS(name, rows)                                                         \
    extern "C" __global__ void __launch_bounds__(32 * LIN_SMALL_WARPS)                         \
        LIN_NAME(lin_##name##rows)(const __grid_constant__ lin_small p)                        \
    {                                                                                          \
        LIN_SHARED(shared);                                                                    \
        const int warp = (int)(threadIdx.x >> 5), warps = (int)(blockDim.x >> 5);              \
        const int64_t first = ((int64_t)blockIdx.x * warps + warp) * (32 / rows);              \
        if (first < p.count)                                                                   \
            lin_##name##_rows<rows, lin_element>(p, first, shared + (int64_t)warp * p.nbytes); \
    }
LIN_KERNEL_OF_ROWS(eigh, 8)
LIN_KERNEL_OF_ROWS(eigh, 16)
LIN_KERNEL(cholesky)
LIN_KERNEL(lu)
LIN_KERNEL(qr)
LIN_KERNEL(solve)
LIN_KERNEL(solve_columns)
LIN_KERNEL(triangular)
LIN_KERNEL(eigh)
LIN_KERNEL(svd)
