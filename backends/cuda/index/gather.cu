/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * take and gather: elements are moved by their size, whatever their dtype. A bad index reads 0. */
#include "index/gather.h"
#include "index/gather_far.cuh"
#include "index/status.cuh"

/* Where the i-th value comes from; NULL: its index is bad. */
template <class T>
static __device__ __forceinline__ const T *source(const gather_params &p, uint64_t i, int64_t *to)
{
    int64_t value = 0, table = 0, at = 0;
    cuda_walk_indices(p.walk, i, [&](int d, int64_t x) {
        value += x * p.value_stride[d];
        table += x * p.table_stride[d];
        at += x * p.at_stride[d];
    });
    int64_t index = __ldg((const long long *)p.at + at);
    *to = value;
    if (cuda_index_is_bad(index, p.extent)) {
        cuda_index_report(p.status, p.op, p.walk, p.at_stride, i, index, p.extent);
        return nullptr;
    }
    return (const T *)p.table + table + cuda_index_wrap(index, p.extent) * p.axis_stride;
}

/* Several elements of a thread are under way at once. */
template <class T> static __device__ __forceinline__ void gather(const gather_params &p)
{
    const int N = 4;
    uint64_t step = cuda_threads();
    for (uint64_t first = cuda_thread(); first < p.walk.size; first += N * step) {
        int64_t to[N];
        T x[N];
#pragma unroll
        for (int k = 0; k < N; k++) {
            x[k] = T();
            const T *from = nullptr;
            if (first + k * step < p.walk.size)
                from = source<T>(p, first + k * step, &to[k]);
            if (from)
                x[k] = *from;
        }
#pragma unroll
        for (int k = 0; k < N; k++)
            if (first + k * step < p.walk.size)
                ((T *)p.value)[to[k]] = x[k];
    }
}

struct alignas(16) bytes16 {
    uint64_t part[2];
};

#define GATHER(nbytes, T)                                                               \
    extern "C" __global__ void gather_##nbytes(const __grid_constant__ gather_params p) \
    {                                                                                   \
        gather<T>(p);                                                                   \
    }
GATHER(1, uint8_t)
GATHER(2, uint16_t)
GATHER(4, uint32_t)
GATHER(8, uint64_t)
GATHER(16, bytes16)

/* Long rows of 16-byte vectors, one index for each. */
extern "C" __global__ void __launch_bounds__(GATHER_ROW_THREADS)
    gather_rows(const __grid_constant__ gather_params p)
{
    uint64_t row = blockIdx.x / p.pieces;
    int64_t piece = blockIdx.x % p.pieces, to;
    const uint4 *from = source<uint4>(p, row, &to);
    uint4 *out = (uint4 *)p.value + to, x[GATHER_ROW_VECTORS];
    int64_t first = piece * (GATHER_ROW_THREADS * GATHER_ROW_VECTORS) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < GATHER_ROW_VECTORS; k++) {
        x[k] = make_uint4(0, 0, 0, 0);
        if (from && first + k * GATHER_ROW_THREADS < p.row)
            x[k] = from[first + k * GATHER_ROW_THREADS];
    }
#pragma unroll
    for (int k = 0; k < GATHER_ROW_VECTORS; k++)
        if (first + k * GATHER_ROW_THREADS < p.row)
            out[first + k * GATHER_ROW_THREADS] = x[k];
}

/* Rows too short for a block each: a warp takes several, one lane finds where each lies, and all of
 * them are under way at once. */
extern "C" __global__ void __launch_bounds__(GATHER_ROW_THREADS)
    gather_warps(const __grid_constant__ gather_params p)
{
    const int ROWS = GATHER_WARP_ROWS;
    uint32_t lane = threadIdx.x % 32;
    uint64_t first = ((uint64_t)blockIdx.x * (GATHER_ROW_THREADS / 32) + threadIdx.x / 32) * ROWS;
    int64_t to = 0;
    uint64_t from = 0; /* 0: the index is bad */
    if (lane < ROWS && first + lane < p.walk.size)
        from = (uint64_t)source<uint4>(p, first + lane, &to);
    for (int64_t v = lane; v - lane < p.row; v += 32) {
        uint4 x[ROWS];
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            const uint4 *row = (const uint4 *)__shfl_sync(0xffffffffu, from, k);
            x[k] = make_uint4(0, 0, 0, 0);
            if (row && v < p.row)
                x[k] = row[v];
        }
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            uint4 *row = (uint4 *)p.value + __shfl_sync(0xffffffffu, to, k);
            if (v < p.row && first + k < p.walk.size)
                row[v] = x[k];
        }
    }
}
