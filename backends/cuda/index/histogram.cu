/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How many values have each insertion position into a sorted array. Blocks count in shared memory,
 * some warps together, and add what they have to the result. Where the edges are even, a value's
 * position is computed and looked at; else it is searched for. */
#include "index/histogram.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <ndock/plugin.h>
#include "walk/walk.cuh"

struct boolean {
    uint8_t byte;
};

template <class W, class V> static __device__ __forceinline__ W value_of(V v)
{
    return (W)v;
}
template <> __device__ __forceinline__ double value_of<double, boolean>(boolean v)
{
    return v.byte != 0;
}
template <> __device__ __forceinline__ double value_of<double, __half>(__half v)
{
    return __half2float(v);
}
template <> __device__ __forceinline__ double value_of<double, __nv_bfloat16>(__nv_bfloat16 v)
{
    return __bfloat162float(v);
}

/* In which positions are computed: double precision is slow on many devices. */
template <class W> struct arithmetic {
    typedef double type;
};
template <> struct arithmetic<float> {
    typedef float type;
};

template <class W> struct edges {
    const W *at;
    int64_t n, stride;
    bool right;
    typename arithmetic<W>::type low, scale; /* scale 0: they are not even, or it is not known */
    /* Whether edge i lies before x; NaN is last. */
    __device__ __forceinline__ bool before(int64_t i, W x) const
    {
        const W e = at[i * stride];
        return right ? e <= x || x != x : e < x || (x != x && e == e);
    }
};

template <class W> static __device__ __forceinline__ int64_t search(const edges<W> &e, W x)
{
    int64_t low = 0, high = e.n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (e.before(middle, x))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

template <class W> static __device__ __forceinline__ bool fits(const edges<W> &e, int64_t at, W x)
{
    return (at == 0 || e.before(at - 1, x)) && (at == e.n || !e.before(at, x));
}

template <class W> static __device__ __forceinline__ int64_t position(const edges<W> &e, W x)
{
    typedef typename arithmetic<W>::type R;
    if (e.scale > 0 && x == x) {
        /* before its equals an edge, and what is counted so are integers among integers, has one
         * edge less */
        const R place = ((R)x - e.low) * e.scale + (R)e.right;
        int64_t at = place > 0 ? (place < (R)e.n ? (int64_t)place : e.n) : 0;
        if (fits(e, at, x))
            return at;
        at += e.n > at && e.before(at, x) ? 1 : -1;
        if (at >= 0 && fits(e, at, x))
            return at;
    }
    return search(e, x);
}

/* The last edge may be NaN, or the next number after a range's end. */
template <class W> static __device__ __forceinline__ void look_at_edges(edges<W> *e)
{
    e->low = e->scale = 0;
    if (e->n < 3)
        return;
    typedef typename arithmetic<W>::type R;
    const R first = (R)e->at[0], last = (R)e->at[(e->n - 2) * e->stride];
    const R scale = (R)(e->n - 2) / (last - first);
    const bool usable = scale > 0 && scale < (R)1e30 && first - first == 0;
    e->low = usable ? first : 0;
    e->scale = usable ? scale : 0;
}

template <class W, class V, class F>
static __device__ __forceinline__ void each_value(const histogram_params &p, F f)
{
    const V *values = (const V *)(p.values ? p.values : (uint64_t)p.scalar);
    const uint64_t step = cuda_threads(), size = p.walk.size;
    uint64_t i = cuda_thread();
    if (p.dense)
        for (; i + 3 * step < size; i += 4 * step) {
            const V a = values[i], b = values[i + step], c = values[i + 2 * step],
                    d = values[i + 3 * step];
            f(value_of<W, V>(a));
            f(value_of<W, V>(b));
            f(value_of<W, V>(c));
            f(value_of<W, V>(d));
        }
    for (; i < size; i += step)
        f(value_of<W, V>(
            values[p.dense ? (int64_t)i : cuda_walk_offset(p.walk, i, p.value_stride)]));
}

template <class W, class V> static __device__ __forceinline__ void count(const histogram_params &p)
{
    extern __shared__ __align__(16) unsigned char shared[];
    W *own = (W *)shared;
    uint32_t *counts = (uint32_t *)(shared + (p.n * (int64_t)sizeof(W) + 3) / 4 * 4);
    edges<W> e = {(const W *)p.sorted, p.n, p.stride, p.right != 0, 0, 0};
    unsigned long long *out = (unsigned long long *)p.out;
    if (!p.copies) {
        look_at_edges(&e);
        each_value<W, V>(p, [&](W x) { atomicAdd(&out[position(e, x) * p.out_stride], 1ull); });
        return;
    }
    for (int64_t i = threadIdx.x; i < p.n; i += blockDim.x)
        own[i] = e.at[i * e.stride];
    for (int64_t i = threadIdx.x; i < (p.n + 1) * p.copies; i += blockDim.x)
        counts[i] = 0;
    __syncthreads();
    e.at = own;
    e.stride = 1;
    look_at_edges(&e);
    uint32_t *mine = counts + (p.n + 1) * ((threadIdx.x >> 5) % (uint32_t)p.copies);
    each_value<W, V>(p, [&](W x) { atomicAdd(&mine[position(e, x)], 1u); });
    __syncthreads();
    for (int64_t i = threadIdx.x; i <= p.n; i += blockDim.x) {
        unsigned long long sum = 0;
        for (int32_t c = 0; c < p.copies; c++)
            sum += counts[c * (p.n + 1) + i];
        if (sum)
            atomicAdd(&out[i * p.out_stride], sum);
    }
}

#define HISTOGRAM(name)                                             \
    extern "C" __global__ void __launch_bounds__(HISTOGRAM_THREADS) \
        histogram_##name(const __grid_constant__ histogram_params p)

HISTOGRAM(clear)
{
    for (uint64_t i = cuda_thread(); i <= (uint64_t)p.n; i += cuda_threads())
        ((int64_t *)p.out)[(int64_t)i * p.out_stride] = 0;
}

HISTOGRAM(f32)
{
    count<float, float>(p);
}
HISTOGRAM(i32)
{
    count<int32_t, int32_t>(p);
}
HISTOGRAM(i64)
{
    count<int64_t, int64_t>(p);
}
HISTOGRAM(u8)
{
    count<uint8_t, uint8_t>(p);
}
HISTOGRAM(u16)
{
    count<uint16_t, uint16_t>(p);
}
HISTOGRAM(u32)
{
    count<uint32_t, uint32_t>(p);
}
HISTOGRAM(u64)
{
    count<uint64_t, uint64_t>(p);
}

/* Edges in double precision, and values of any real dtype. */
HISTOGRAM(f64)
{
    switch (p.dtype) {
    case NDP_BOOL:
        return count<double, boolean>(p);
    case NDP_I8:
        return count<double, int8_t>(p);
    case NDP_I16:
        return count<double, int16_t>(p);
    case NDP_I32:
        return count<double, int32_t>(p);
    case NDP_I64:
        return count<double, int64_t>(p);
    case NDP_U8:
        return count<double, uint8_t>(p);
    case NDP_U16:
        return count<double, uint16_t>(p);
    case NDP_U32:
        return count<double, uint32_t>(p);
    case NDP_U64:
        return count<double, uint64_t>(p);
    case NDP_F16:
        return count<double, __half>(p);
    case NDP_BF16:
        return count<double, __nv_bfloat16>(p);
    case NDP_F32:
        return count<double, float>(p);
    default:
        return count<double, double>(p);
    }
}
