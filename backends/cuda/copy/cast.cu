/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Casts: for each dtype of the result cast_dense_f32 and cast_walk_f32, which take any other dtype;
 * the branch on it is the same for all threads. */
#include "copy/cast.h"
#include "copy/convert_f8.cuh"
#include "walk/lines.cuh"

/* ---- dense ---- */
template <class CONVERT, class S, class D>
static __device__ __forceinline__ void dense(const cast_dense &p)
{
    const int SIZE = sizeof(S) > sizeof(D) ? sizeof(S) : sizeof(D);
    const int N = SIZE == 1 ? CAST_MOST : 16 / SIZE;
    typedef cuda_vector<S, N> sources;
    typedef cuda_vector<D, N> targets;
    uint64_t vectors = p.n / N, span = (uint64_t)LINE_THREADS * CAST_VECTORS;
    for (uint64_t at = blockIdx.x * span; at < vectors; at += gridDim.x * span) {
        sources v[CAST_VECTORS];
#pragma unroll
        for (int k = 0; k < CAST_VECTORS; k++) {
            uint64_t i = at + k * LINE_THREADS + threadIdx.x;
            if (i < vectors)
                v[k] = ((const sources *)p.src)[i];
        }
#pragma unroll
        for (int k = 0; k < CAST_VECTORS; k++) {
            uint64_t i = at + k * LINE_THREADS + threadIdx.x;
            targets r;
            for (int j = 0; j < N; j++)
                r.at[j] = CONVERT::of(v[k].at[j]);
            if (i < vectors)
                ((targets *)p.dst)[i] = r;
        }
    }
    uint64_t i = vectors * N + threadIdx.x; /* fewer than 16 */
    if (blockIdx.x == 0 && i < p.n)
        ((D *)p.dst)[i] = CONVERT::of(((const S *)p.src)[i]);
}

/* ---- any strides; a source at no address is the scalar in the parameters ---- */
template <class CONVERT, class S, class D> struct cast_walk {
    typedef S value;
    static __device__ __forceinline__ S load(const line_rows &p, uint64_t at, uint32_t)
    {
        return p.src ? *(const S *)at : *(const S *)p.pattern;
    }
    static __device__ __forceinline__ void store(const line_rows &, uint64_t at, S v)
    {
        *(D *)at = CONVERT::of(v);
    }
};

/* ---- the kernels ---- */
template <int FROM, int TO> struct cast_pair {
    typedef typename cuda_dtype<FROM>::stored S;
    typedef typename cuda_dtype<TO>::stored D;
    typedef convert<FROM, TO> converter;
    static __device__ __forceinline__ void run(const cast_dense &p) { dense<converter, S, D>(p); }
    static __device__ __forceinline__ void run(const line_rows &p)
    {
        line_items<cast_walk<converter, S, D>, CAST_ITEMS>(p);
    }
};
template <int SAME> struct cast_pair<SAME, SAME> {
    template <class P> static __device__ __forceinline__ void run(const P &) {}
};

template <int TO, class P> static __device__ __forceinline__ void cast_from(int from, const P &p)
{
    switch (from) {
#define CAST_FROM(id)              \
    case id:                       \
        cast_pair<id, TO>::run(p); \
        break;
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) \
    CUDA_CONVERTED(NAME, KIND, CAST_FROM)(id)
#include <ndock/dtype.def>
    }
}

#define CAST_KERNELS(name, id)                                  \
    extern "C" __global__ void __launch_bounds__(LINE_THREADS)  \
        cast_dense_##name(const __grid_constant__ cast_dense p) \
    {                                                           \
        cast_from<id>(p.from, p);                               \
    }                                                           \
    extern "C" __global__ void __launch_bounds__(LINE_THREADS)  \
        cast_walk_##name(const __grid_constant__ line_rows p)   \
    {                                                           \
        cast_from<id>(p.kind, p);                               \
    }
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) \
    CUDA_CONVERTED(NAME, KIND, CAST_KERNELS)(name, id)
#include <ndock/dtype.def>
