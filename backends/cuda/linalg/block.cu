/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Batches of matrices of one dtype, CUDA_DTYPE, that fit into the shared memory of a block, which
 * has one each; small.h describes the parameters. */
#include "linalg/block_cholesky.cuh"
#include "linalg/block_qr.cuh"
#include "linalg/block_solve.cuh"
#include "linalg/block_svd.cuh"
#include "linalg/types.cuh"

#define LIN_BLOCK_KERNEL(name, bounds, ...)                                         \
    extern "C" __global__ void __launch_bounds__ bounds LIN_NAME(lin_block_##name)( \
        const __grid_constant__ lin_small p)                                        \
    {                                                                               \
        LIN_SHARED(shared);                                                         \
        const int64_t item = blockIdx.x;                                            \
        const int info = __VA_ARGS__(p, item, shared);                              \
        if (threadIdx.x == 0)                                                       \
            ((int32_t *)p.info)[item] = info;                                       \
    }
/* Those that have parts of columns in registers are there twice: name_half is for up to
 * LIN_BLOCK_ROWS / 2 rows and columns, of which a multiprocessor has several at once. least: of the
 * larger ones, as shared memory has room for them. */
#define LIN_BLOCK_KERNELS(name, least)                                                           \
    LIN_BLOCK_KERNEL(name, (LIN_BLOCK_THREADS, least), lin_block_##name##_item<4, lin_element>)  \
    LIN_BLOCK_KERNEL(name##_half, (LIN_BLOCK_THREADS / 2, LIN_HALF_BLOCKS(sizeof(lin_element))), \
                     lin_block_##name##_item<2, lin_element>)
LIN_BLOCK_KERNELS(cholesky, 2)
LIN_BLOCK_KERNELS(lu, 1)
LIN_BLOCK_KERNELS(solve, 1)
LIN_BLOCK_KERNELS(triangular, 1)
LIN_BLOCK_KERNEL(qr, (LIN_BLOCK_THREADS), lin_block_qr_item<lin_element>)
LIN_BLOCK_KERNEL(svd, (LIN_SVD_THREADS_OF(sizeof(lin_element))), lin_block_svd_item<lin_element>)
