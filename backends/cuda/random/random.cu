/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random numbers: uniform_f32, normal_f32 and so on by dtype, integers_4 by element size. */
#include "random/random.cuh"
#include "walk/walk.cuh"

/* ---- a block: what is computed as what is stored ---- */
template <int L, class V, class T>
static __device__ __forceinline__ void finish(const random_params &, const V *v,
                                              cuda_vector<T, L> *r)
{
#pragma unroll
    for (int k = 0; k < L; k++)
        r->at[k] = (T)v[k];
}

/* Rounding to 16 bits may reach high again: half_below then replaces what is not below. */
static __device__ __forceinline__ void round_pair(const random_params &p, float x, float y,
                                                  __half *r)
{
    __half2 pair = __floats2half2_rn(x, y);
    if (p.half_below)
        pair = __hmin2(pair, __half2half2(__ushort_as_half((uint16_t)p.half_below)));
    r[0] = __low2half(pair);
    r[1] = __high2half(pair);
}
static __device__ __forceinline__ void round_pair(const random_params &p, float x, float y,
                                                  __nv_bfloat16 *r)
{
    __nv_bfloat162 pair = __floats2bfloat162_rn(x, y);
    if (p.half_below)
        pair = __hmin2(pair, __bfloat162bfloat162(__ushort_as_bfloat16((uint16_t)p.half_below)));
    r[0] = __low2bfloat16(pair);
    r[1] = __high2bfloat16(pair);
}
/* NaN keeps its bits as everywhere; finite parameters give none. */
template <int L, class T>
static __device__ __forceinline__ void finish_half(const random_params &p, const float *v,
                                                   cuda_vector<T, L> *r)
{
    if (p.finite) {
#pragma unroll
        for (int k = 0; k < L; k += 2)
            round_pair(p, v[k], v[k + 1], &r->at[k]);
        return;
    }
#pragma unroll
    for (int k = 0; k < L; k++) {
        convert_half(v[k], &r->at[k]);
        if (p.half_below && cuda_widen(r->at[k]) >= p.high)
            convert_half(p.below_half, &r->at[k]);
    }
}
template <int L>
static __device__ __forceinline__ void finish(const random_params &p, const float *v,
                                              cuda_vector<__half, L> *r)
{
    finish_half(p, v, r);
}
template <int L>
static __device__ __forceinline__ void finish(const random_params &p, const float *v,
                                              cuda_vector<__nv_bfloat16, L> *r)
{
    finish_half(p, v, r);
}

/* ---- the loops: a thread takes RANDOM_EACH Philox blocks at a time ---- */
template <int KIND, class V, class T, class BLOCK>
static __device__ __forceinline__ bool block_of(const random_params &p, const random_tables &c,
                                                const random_block &x, BLOCK *r)
{
    V v[16 / sizeof(V)];
    bool sure = random_values<KIND>(p, c, x, v);
    finish(p, v, r);
    return sure;
}
/* Far from the loop, whose registers it should not take. */
template <class T, class BLOCK>
static __device__ __noinline__ BLOCK exact_block(const random_params &p, uint64_t b)
{
    BLOCK r;
    block_of<RANDOM_EXACT, float, T>(p, {random_table[0], nullptr, nullptr}, random_philox(p, b),
                                     &r);
    return r;
}
template <int KIND, class T, class BLOCK>
static __device__ __forceinline__ void make_sure(const random_params &p, uint64_t b, bool sure,
                                                 BLOCK *r)
{
    if constexpr ((KIND == RANDOM_NORMAL || KIND == RANDOM_STANDARD || KIND == RANDOM_MANY) &&
                  sizeof(T) < 8)
        if (!sure)
            *r = exact_block<T, BLOCK>(p, b);
}

/* All whole blocks. */
template <int KIND, class V, class T, int THREADS = RANDOM_THREADS>
static __device__ __forceinline__ void dense(const random_params &p, const random_tables &c)
{
    const int L = 16 / sizeof(V);
    typedef cuda_vector<T, L> vector;
    uint32_t whole = (uint32_t)(p.n / L), step = gridDim.x * THREADS;
    uint32_t b = blockIdx.x * THREADS + threadIdx.x;
    for (; b < whole; b += RANDOM_EACH * step) {
        vector r[RANDOM_EACH];
        bool sure[RANDOM_EACH];
#pragma unroll
        for (int j = 0; j < RANDOM_EACH; j++)
            sure[j] = block_of<KIND, V, T>(p, c, random_philox_low(p, b + j * step), &r[j]);
#pragma unroll
        for (int j = 0; j < RANDOM_EACH; j++) {
            make_sure<KIND, T>(p, b + j * step, sure[j], &r[j]);
            if (b + j * step < whole)
                ((vector *)p.dst)[b + j * step] = r[j];
        }
    }
}

static __device__ __forceinline__ int64_t strided_offset(const random_params &p, uint32_t i)
{
    int64_t at = 0;
    cuda_walk_from<4>(p.walk.extent, 0, p.walk.ndim, i,
                      [&](int d, uint32_t x) { at += x * p.stride[d]; });
    return at;
}

/* All elements, or those of a dense one after its last whole block. */
template <int KIND, class V, class T>
static __device__ __forceinline__ void strided(const random_params &p, const random_tables &c)
{
    const int L = 16 / sizeof(V);
    uint64_t begin = (p.dense ? p.n : p.first) / L, end = (p.first + p.n + L - 1) / L;
    uint64_t b = begin + (uint64_t)blockIdx.x * RANDOM_THREADS + threadIdx.x;
    for (; b < end; b += (uint64_t)gridDim.x * RANDOM_THREADS) {
        cuda_vector<T, L> r;
        bool sure = block_of<KIND, V, T>(p, c, random_philox(p, b), &r);
        make_sure<KIND, T>(p, b, sure, &r);
#pragma unroll
        for (int k = 0; k < L; k++) {
            uint64_t i = b * L + k - p.first; /* before first it wraps to a large number */
            if (i < p.n)
                ((T *)p.dst)[p.dense ? (int64_t)i : strided_offset(p, (uint32_t)i)] = r.at[k];
        }
    }
}

/* The block's intervals of the logarithm, where normal deviates need them. */
template <int KIND, class T> static __device__ __forceinline__ const random_interval *places()
{
    if constexpr (KIND == RANDOM_NORMAL && sizeof(T) < 8) {
        __shared__ random_interval place[RANDOM_PLACES];
        for (int i = threadIdx.x; i < RANDOM_PLACES; i += RANDOM_THREADS)
            place[i] = random_place(i);
        __syncthreads();
        return place;
    }
    return nullptr;
}

/* On an SM at once; Turing has threads for four, and Ada and its like for six. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define RANDOM_BLOCKS 4
#else
#define RANDOM_BLOCKS 5
#endif
#define RANDOM_KERNEL(name, KIND, V, T)                                         \
    extern "C" __global__ void __launch_bounds__(RANDOM_THREADS, RANDOM_BLOCKS) \
        name(const __grid_constant__ random_params p)                           \
    {                                                                           \
        const random_tables c = {random_table[0], places<KIND, T>(), nullptr};  \
        if (p.dense && KIND == RANDOM_UNIFORM && p.plain)                       \
            dense<RANDOM_PLAIN, V, T>(p, c);                                    \
        else if (p.dense && KIND == RANDOM_NORMAL && p.plain)                   \
            dense<RANDOM_STANDARD, V, T>(p, c);                                 \
        else if (p.dense)                                                       \
            dense<KIND, V, T>(p, c);                                            \
        strided<KIND, V, T>(p, c);                                              \
    }
RANDOM_KERNEL(uniform_f16, RANDOM_UNIFORM, float, __half)
RANDOM_KERNEL(uniform_bf16, RANDOM_UNIFORM, float, __nv_bfloat16)
RANDOM_KERNEL(uniform_f32, RANDOM_UNIFORM, float, float)
RANDOM_KERNEL(uniform_f64, RANDOM_UNIFORM, double, double)
RANDOM_KERNEL(normal_f16, RANDOM_NORMAL, float, __half)
RANDOM_KERNEL(normal_bf16, RANDOM_NORMAL, float, __nv_bfloat16)
RANDOM_KERNEL(normal_f32, RANDOM_NORMAL, float, float)
RANDOM_KERNEL(normal_f64, RANDOM_NORMAL, double, double)
RANDOM_KERNEL(integers_1, RANDOM_INTEGERS, uint32_t, uint8_t)
RANDOM_KERNEL(integers_2, RANDOM_INTEGERS, uint32_t, uint16_t)
RANDOM_KERNEL(integers_4, RANDOM_INTEGERS, uint32_t, uint32_t)
RANDOM_KERNEL(integers_8, RANDOM_INTEGERS, uint64_t, uint64_t)

/* Whole blocks of Philox alone, dense, of deviation 1 and a mean that is not -0. */
template <class T> static __device__ __forceinline__ void many(const random_params &p)
{
    extern __shared__ __align__(16) unsigned char memory[];
    random_interval *place = (random_interval *)memory;
    random_direction *direction = (random_direction *)(place + RANDOM_PLACES);
    static_assert(RANDOM_MANY_BYTES ==
                      sizeof *place * RANDOM_PLACES + sizeof *direction * RANDOM_DIRECTIONS,
                  "the host asks for as much");
    for (int i = threadIdx.x; i < RANDOM_PLACES; i += RANDOM_MANY_THREADS)
        place[i] = random_place(i);
    for (int i = threadIdx.x; i < RANDOM_DIRECTIONS; i += RANDOM_MANY_THREADS)
        direction[i] = random_direction_at(i);
    __syncthreads();
    dense<RANDOM_MANY, float, T, RANDOM_MANY_THREADS>(p, {random_table[0], place, direction});
}
#define RANDOM_MANY_KERNEL(name, T)                                      \
    extern "C" __global__ void __launch_bounds__(RANDOM_MANY_THREADS, 1) \
        name(const __grid_constant__ random_params p)                    \
    {                                                                    \
        many<T>(p);                                                      \
    }
RANDOM_MANY_KERNEL(normal_many_f16, __half)
RANDOM_MANY_KERNEL(normal_many_bf16, __nv_bfloat16)
RANDOM_MANY_KERNEL(normal_many_f32, float)
