/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Single matrices of one dtype, CUDA_DTYPE, that a cluster of blocks has in its shared memory;
 * small.h describes the parameters. */
#include "linalg/types.cuh"
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#include "linalg/cluster_svd.cuh"

extern "C" __global__ void __cluster_dims__(LIN_CLUSTER, 1, 1)
    __launch_bounds__(LIN_CLUSTER_THREADS, 1)
        LIN_NAME(lin_cluster_svd)(const __grid_constant__ lin_small p)
{
    LIN_SHARED(shared);
    const int64_t item = blockIdx.x / LIN_CLUSTER;
    const int info = lin_cluster_svd_item<lin_element>(p, item, shared);
    if (blockIdx.x % LIN_CLUSTER == 0 && threadIdx.x == 0)
        ((int32_t *)p.info)[item] = info;
}
#endif
