/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Batches of matrices of one dtype, CUDA_DTYPE, that fit into the shared memory of a block, which
 * has one each; small.h describes the parameters. */
#include "linalg/block_cholesky.cuh"
#include "linalg/block_qr.cuh"
#include "linalg/block_solve.cuh"
#include "linalg/block_svd.cuh"
#include "linalg/types.cuh"

#define LIN_BLOCK_KERNEL(name, threads)                                         \
    extern "C" __global__ void __launch_bounds__(threads)                       \
        LIN_NAME(lin_block_##name)(const __grid_constant__ lin_small p)         \
    {                                                                           \
        LIN_SHARED(shared);                                                     \
        const int64_t item = blockIdx.x;                                        \
        const int info = lin_block_##name##_item<lin_element>(p, item, shared); \
        if (threadIdx.x == 0)                                                   \
            ((int32_t *)p.info)[item] = info;                                   \
    }
LIN_BLOCK_KERNEL(cholesky, LIN_BLOCK_THREADS)
LIN_BLOCK_KERNEL(lu, LIN_BLOCK_THREADS)
LIN_BLOCK_KERNEL(qr, LIN_BLOCK_THREADS)
LIN_BLOCK_KERNEL(solve, LIN_BLOCK_THREADS)
LIN_BLOCK_KERNEL(triangular, LIN_BLOCK_THREADS)
LIN_BLOCK_KERNEL(svd, LIN_SVD_THREADS_OF(sizeof(lin_element)))
