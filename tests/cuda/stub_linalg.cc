/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of backends/cuda/linalg, compiled for the host, for the libcuda.so.1 that only
 * pretends. */
/* Kernels that run a few times each take longer to be optimised than to run. */
#pragma GCC optimize("O0")
#include "tests/cuda/emulate.h"
#include <ndock/plugin.h>
#include <string.h>
#define CUDA_DTYPE F32
#include "linalg/block_cholesky.cuh"
#include "linalg/block_qr.cuh"
#include "linalg/block_solve.cuh"
#include "linalg/block_svd.cuh"
#include "linalg/cluster_svd.cuh"
#include "linalg/eigh_rows.cuh"
#include "linalg/large.h"
#include "linalg/solve_columns.cuh"
#include "linalg/svd.cuh"

#define KERNELS_OF_DTYPE "tests/cuda/stub_linalg_kernels.h"
namespace f32
{
#include KERNELS_OF_DTYPE
}
#undef CUDA_DTYPE
#define CUDA_DTYPE F64
namespace f64
{
#include KERNELS_OF_DTYPE
}
#undef CUDA_DTYPE
#define CUDA_DTYPE C64
namespace c64
{
#include KERNELS_OF_DTYPE
}
#undef CUDA_DTYPE
#define CUDA_DTYPE C128
namespace c128
{
#include KERNELS_OF_DTYPE
}

namespace
{
template <class P, void (*KERNEL)(P)> void run(const void *params)
{
    KERNEL(*(const P *)params);
}
struct kernel {
    const char *name;
    void (*run)(const void *);
    unsigned cluster; /* how many blocks one has */
};
#define KERNEL(name, P, dtype) {#name "_" #dtype, run<const P, name##_##dtype>, 1},
#define CLUSTER(name, P, dtype) {#name "_" #dtype, run<const P, name##_##dtype>, LIN_CLUSTER},
#define KERNELS(dtype)                                  \
    KERNEL(lin_cholesky, lin_small, dtype)              \
    KERNEL(lin_lu, lin_small, dtype)                    \
    KERNEL(lin_qr, lin_small, dtype)                    \
    KERNEL(lin_solve, lin_small, dtype)                 \
    KERNEL(lin_solve_columns, lin_small, dtype)         \
    KERNEL(lin_triangular, lin_small, dtype)            \
    KERNEL(lin_eigh, lin_small, dtype)                  \
    KERNEL(lin_eigh8, lin_small, dtype)                 \
    KERNEL(lin_eigh16, lin_small, dtype)                \
    KERNEL(lin_svd, lin_small, dtype)                   \
    KERNEL(lin_block_cholesky, lin_small, dtype)        \
    KERNEL(lin_block_lu, lin_small, dtype)              \
    KERNEL(lin_block_qr, lin_small, dtype)              \
    KERNEL(lin_block_solve, lin_small, dtype)           \
    KERNEL(lin_block_triangular, lin_small, dtype)      \
    KERNEL(lin_block_svd, lin_small, dtype)             \
    CLUSTER(lin_cluster_svd, lin_small, dtype)          \
    KERNEL(lin_block_cholesky_half, lin_small, dtype)   \
    KERNEL(lin_block_lu_half, lin_small, dtype)         \
    KERNEL(lin_block_solve_half, lin_small, dtype)      \
    KERNEL(lin_block_triangular_half, lin_small, dtype) \
    KERNEL(lin_move, lin_moving, dtype)                 \
    KERNEL(lin_double, lin_moving, dtype)               \
    KERNEL(lin_single, lin_moving, dtype)               \
    KERNEL(lin_roots, lin_rooting, dtype)               \
    KERNEL(lin_flip, lin_rooting, dtype)                \
    KERNEL(lin_widen, lin_moving, dtype)                \
    KERNEL(lin_examine, lin_looking, dtype)             \
    KERNEL(lin_excuse, lin_looking, dtype)              \
    KERNEL(lin_zeros, lin_looking, dtype)               \
    KERNEL(lin_pivots, lin_pivoting, dtype)             \
    KERNEL(lin_pivots_back, lin_pivoting, dtype)        \
    KERNEL(lin_normalize, lin_normalizing, dtype)       \
    KERNEL(lin_report, lin_reporting, dtype)
using namespace f32;
using namespace f64;
using namespace c64;
using namespace c128;
const kernel kernels[] = {KERNELS(F32) KERNELS(F64) KERNELS(C64) KERNELS(C128)};
enum { COUNT = sizeof kernels / sizeof *kernels };
static_assert((int)LIN_CLUSTER == (int)EMULATED_CLUSTER, "one size");
} // namespace

/* The number of the kernel of that name, from 0; -1: there is none. */
extern "C" int stub_linalg_kernel(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return i;
    return -1;
}

extern "C" int stub_linalg_launch(int i, const void *params, unsigned blocks_x, unsigned blocks_y,
                                  unsigned threads, unsigned shared)
{
    if (i < 0 || i >= COUNT || shared > EMULATED_SHARED)
        return -1;
    const unsigned all = kernels[i].cluster * EMULATED_SHARED;
    memset(emulated_shared, 0xff, all); /* NaN, whatever the dtype */
    const int result = emulated_launch(kernels[i].run, params, {blocks_x, blocks_y, 1}, threads,
                                       kernels[i].cluster);
    for (unsigned at = 0; at < all; at++) /* beyond what was asked for */
        if (at % EMULATED_SHARED >= shared && emulated_shared[at] != (char)0xff)
            return -1;
    return result;
}
