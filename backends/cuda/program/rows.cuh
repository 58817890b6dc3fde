/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the generated kernels of programs of rows call. Who is merged with whom is as in
 * reduce_row() of reduce.cu, so the bits are those of reductions by themselves. */
#ifndef NDOCK_CUDA_PROGRAM_ROWS_CUH
#define NDOCK_CUDA_PROGRAM_ROWS_CUH
#include "reduce/ops.cuh"

/* Offsets of all operands at a row, of DIMS dimensions. */
template <int DIMS, int OPERANDS>
static __device__ __forceinline__ void rows_locate(const cuda_program_rows &p, uint32_t row,
                                                   int64_t (&at)[OPERANDS])
{
#pragma unroll
    for (int k = 0; k < OPERANDS; k++)
        at[k] = 0;
#pragma unroll
    for (int d = 0; d < DIMS; d++) {
        uint32_t q = d + 1 < DIMS ? cuda_quotient(row, p.extent[d]) : 0;
        uint32_t x = d + 1 < DIMS ? row - q * p.extent[d].value : row;
        row = q;
#pragma unroll
        for (int k = 0; k < OPERANDS; k++)
            at[k] += x * p.stride[k][d];
    }
}

/* An item of V elements of a row, from and to memory. */
template <int V, class T>
static __device__ __forceinline__ void rows_load(T *to, const T *row, uint32_t item, bool whole,
                                                 int64_t step)
{
    if (whole) {
        program_load(*(T(*)[V])to, row + (uint64_t)item * V, true, V);
        return;
    }
#pragma unroll
    for (int k = 0; k < V; k++)
        to[k] = row[(int64_t)((uint64_t)item * V + k) * step];
}
template <int V, class T>
static __device__ __forceinline__ void rows_store(T *row, const T *from, uint32_t item, bool whole,
                                                  int64_t step)
{
    if (whole) {
        program_store(row + (uint64_t)item * V, *(const T(*)[V])from, true, V);
        return;
    }
#pragma unroll
    for (int k = 0; k < V; k++)
        row[(int64_t)((uint64_t)item * V + k) * step] = from[k];
}

/* A lane's items of a row to shared memory, which are there after rows_staged(): copies that no
 * register waits for, where they are 16 bytes or parts of that. */
template <int NBYTES> static __device__ __forceinline__ void rows_copy(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
    if (NBYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(NBYTES)
                     : "memory");
#else
    memcpy(to, from, NBYTES);
#endif
}
template <int V, class T>
static __device__ __forceinline__ void rows_stage(T *to, const T *row, uint32_t lane,
                                                  uint32_t lanes, uint32_t items, bool whole,
                                                  int64_t step)
{
    enum { nbytes = V * sizeof(T), unit = nbytes < 16 ? nbytes : 16 };
    if (whole && nbytes >= 4) {
#pragma unroll 4
        for (uint32_t i = lane; i < items; i += lanes)
#pragma unroll
            for (int at = 0; at < nbytes; at += unit)
                rows_copy < unit<4 ? 4 : unit>((char *)(to + (uint64_t)i * V) + at,
                                               (const char *)(row + (uint64_t)i * V) + at);
        return;
    }
#pragma unroll 1
    for (uint32_t i = lane; i < items; i += lanes) {
        T item[V];
        rows_load<V>(item, row, i, false, step);
        rows_store<V>(to, item, i, true, 1);
    }
}
static __device__ __forceinline__ void rows_staged(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* The bits of an element as what a reduction takes. */
template <class T, class S> static __device__ __forceinline__ T rows_bits(S x)
{
    T r;
    static_assert(sizeof r == sizeof x, "an element of the same size");
    memcpy(&r, &x, sizeof r);
    return r;
}

/* The state of the first lane of a group. */
template <class S> static __device__ __forceinline__ S rows_first(S s, int width)
{
    union {
        S state;
        uint32_t word[sizeof(S) / 4];
    } u = {s};
#pragma unroll
    for (int i = 0; i < (int)(sizeof(S) / 4); i++)
        u.word[i] = __shfl_sync(0xffffffffu, u.word[i], 0, width);
    return u.state;
}

/* The states of a group of lanes, a power of two up to a warp or 256, merged; every lane gets it. */
template <class OP>
static __device__ __forceinline__ typename OP::state rows_merge(typename OP::state s, int lanes,
                                                                const reduce_params &p)
{
    typedef typename OP::state S;
    __shared__ S warps[CUDA_PROGRAM_THREADS / 32], whole;
    const int width = lanes < 32 ? lanes : 32;
    for (int h = width / 2; h; h /= 2)
        s = OP::merge(s, state_shuffle_down(s, h, width), p);
    if (lanes <= 32)
        return rows_first(s, width);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = warps[threadIdx.x % (CUDA_PROGRAM_THREADS / 32)];
        for (int h = CUDA_PROGRAM_THREADS / 64; h; h /= 2)
            s = OP::merge(s, state_shuffle_down(s, h, 32), p);
        if (threadIdx.x == 0)
            whole = s;
    }
    __syncthreads();
    return whole;
}

template <class OP, class T>
static __device__ __forceinline__ T rows_value(typename OP::state s, reduce_params p)
{
    alignas(16) unsigned char bytes[16];
    T r;
    p.out = (uint64_t)bytes;
    OP::store(p, 0, s);
    memcpy(&r, bytes, sizeof r);
    return r;
}

#endif
