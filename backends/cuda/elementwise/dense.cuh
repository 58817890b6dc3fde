/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise kernels by vectors: dense operands, or rows of vectors. */
#ifndef NDOCK_CUDA_ELEMENTWISE_DENSE_CUH
#define NDOCK_CUDA_ELEMENTWISE_DENSE_CUH
#include "elementwise/vector.cuh"
#include "walk/earlier.cuh"
#include "walk/lines.cuh"
#include "walk/walk.cuh"

struct ew_offsets {
    int64_t out, in[EW_INPUTS];
};

/* Adds where index `rest` of the dimensions from d on lies. */
template <int INPUTS>
static __device__ __forceinline__ void add_outer(const ew_params &p, int d, uint32_t rest,
                                                 ew_offsets &at)
{
    cuda_walk_from<1>(p.walk.extent, d, p.walk.ndim, rest, [&](int dim, uint32_t x) {
        at.out += x * p.stride[0][dim];
#pragma unroll
        for (int i = 0; i < INPUTS; i++)
            at.in[i] += x * p.stride[i + 1][dim];
    });
}

/* Where a vector's element 0 is in each operand; its elements low to high - 1 exist. */
struct ew_place {
    ew_offsets at;
    int32_t low, high;
    bool inner; /* as many elements lie before and behind them, at least */
};

static __device__ __forceinline__ ew_place place_dense(const ew_params &p, int n, uint64_t vector)
{
    uint64_t at = vector * n;
    int64_t i = (int64_t)at;
    ew_place place = {{i, {i, i, i}}, 0, 0, at >= n && at + 2 * n <= p.n};
    place.high = at + n <= p.n ? n : at < p.n ? (int32_t)(p.n - at) : 0;
    return place;
}

/* Vectors of a row begin where the output is aligned: the first may lack its first elements. */
template <class OP, int N>
static __device__ __forceinline__ ew_place place_of_row(const ew_params &p, uint32_t vector)
{
    ew_place place = {};
    uint32_t row = cuda_quotient(vector, p.columns);
    if (vector >= p.n)
        return place;
    add_outer<OP::inputs>(p, 1, row, place.at);
    uint64_t begin = p.out / sizeof(typename OP::out) + (uint64_t)place.at.out;
    int32_t first = (int32_t)((vector - row * p.columns.value) * N) - (int32_t)(begin % N);
    int32_t left = (int32_t)p.walk.extent[0].value - first;
    place.low = first < 0 ? -first : 0;
    place.high = left < N ? left : N;
    place.inner = first >= N && left >= 2 * N;
    place.at.out += first;
#pragma unroll
    for (int i = 0; i < OP::inputs; i++)
        place.at.in[i] += first * p.stride[i + 1][0];
    return place;
}

template <class T, int N>
static __device__ __forceinline__ ew_packed<T, N> load(const ew_params &p, int input,
                                                       const ew_place &place)
{
    const T *at = (const T *)p.in[input].at + place.at.in[input];
    if (p.scalars >> input & 1)
        return pack<T, N>(splat<T, N>(scalar_of<T>(p.in[input])));
    if ((p.vectors >> input & 1) && place.high - place.low == N)
        return *(const ew_packed<T, N> *)at;
    if (p.splats >> input & 1)
        return pack<T, N>(splat<T, N>(*at));
    return load_row<T, N>(at, p.walk.ndim ? p.stride[input + 1][0] : 1, place.low, place.high,
                          place.inner);
}

template <class OP>
static __device__ __forceinline__ void one_vector(const ew_params &p, const ew_place &place)
{
    const int N = EW_N;
    ew_packed<typename OP::in1, N> a;
    ew_packed<typename OP::in2, N> b = {};
    ew_packed<typename OP::in3, N> c = {};
    if (place.low >= place.high)
        return;
    a = load<typename OP::in1, N>(p, 0, place);
    if (OP::inputs > 1)
        b = load<typename OP::in2, N>(p, 1, place);
    if (OP::inputs > 2)
        c = load<typename OP::in3, N>(p, 2, place);
    operands<OP, N> x = {unpack<typename OP::in1, N>(a), unpack<typename OP::in2, N>(b),
                         unpack<typename OP::in3, N>(c)};
    typename OP::out *out = (typename OP::out *)p.out + place.at.out;
    cuda_vector<typename OP::out, N> r = apply<OP, N, OP::copies>(x);
    if (place.high - place.low == N)
        store_vector<typename OP::out, N>(out, r);
    else
        store_elements<typename OP::out, N>(out, r, place.low, place.high);
}

template <class T, int N>
static __device__ __forceinline__ ew_packed<T, N> load_whole(const ew_params &p, int input,
                                                             uint64_t at)
{
    if (p.scalars >> input & 1)
        return pack<T, N>(splat<T, N>(scalar_of<T>(p.in[input])));
    return *(const ew_packed<T, N> *)((const T *)p.in[input].at + at);
}

/* Dense operands, all of whose vectors are whole: several are on their way while a long formula is
 * computed, and there is little to do beside it. */
template <class OP>
static __device__ __forceinline__ void many_vectors(const ew_params &p, uint64_t first)
{
    const int N = EW_N, MANY = OP::many;
    ew_packed<typename OP::in1, N> a[MANY];
    ew_packed<typename OP::in2, N> b[MANY] = {};
#pragma unroll
    for (int j = 0; j < MANY; j++) {
        a[j] = load_whole<typename OP::in1, N>(p, 0, (first + j * EW_THREADS) * N);
        if (OP::inputs > 1)
            b[j] = load_whole<typename OP::in2, N>(p, 1, (first + j * EW_THREADS) * N);
    }
#pragma unroll
    for (int j = 0; j < MANY; j++) {
        operands<OP, N> x = {unpack<typename OP::in1, N>(a[j]), unpack<typename OP::in2, N>(b[j])};
        store_vector<typename OP::out, N>((typename OP::out *)p.out + (first + j * EW_THREADS) * N,
                                          apply<OP, N, OP::copies>(x));
    }
}

/* Where a vector is whose row begins at a vector's address in the output and in inputs with a bit of
 * p.vectors, while others are constant along it. */
template <class OP>
static __device__ __forceinline__ ew_offsets offsets_in_row(const ew_params &p, uint32_t vector)
{
    const uint32_t row = cuda_quotient(vector, p.columns);
    const uint32_t column = (vector - row * p.columns.value) * EW_N;
    ew_offsets at = {column, {}};
#pragma unroll
    for (int i = 0; i < OP::inputs; i++)
        at.in[i] = p.vectors >> i & 1 ? column : 0;
    if (p.walk.ndim > 2) {
        add_outer<OP::inputs>(p, 1, row, at);
    } else {
        at.out += row * p.stride[0][1];
#pragma unroll
        for (int i = 0; i < OP::inputs; i++)
            at.in[i] += row * p.stride[i + 1][1];
    }
    return at;
}

template <class T, int N>
static __device__ __forceinline__ ew_packed<T, N> load_in_row(const ew_params &p, int input,
                                                              int64_t offset)
{
    const T *at = (const T *)p.in[input].at + offset;
    if (p.scalars >> input & 1)
        return pack<T, N>(splat<T, N>(scalar_of<T>(p.in[input])));
    if (p.vectors >> input & 1)
        return *(const ew_packed<T, N> *)at;
    return pack<T, N>(splat<T, N>(*at));
}

/* Rows of whole vectors: what comes before the first load is short, since as many bytes as there are
 * threads for must always be on their way. */
template <class OP>
static __device__ __forceinline__ void vector_in_row(const ew_params &p, uint32_t vector)
{
    const int N = EW_N;
    if (vector >= p.n)
        return;
    const ew_offsets at = offsets_in_row<OP>(p, vector);
    ew_packed<typename OP::in2, N> b = {};
    ew_packed<typename OP::in3, N> c = {};
    const ew_packed<typename OP::in1, N> a = load_in_row<typename OP::in1, N>(p, 0, at.in[0]);
    if (OP::inputs > 1)
        b = load_in_row<typename OP::in2, N>(p, 1, at.in[1]);
    if (OP::inputs > 2)
        c = load_in_row<typename OP::in3, N>(p, 2, at.in[2]);
    const operands<OP, N> x = {unpack<typename OP::in1, N>(a), unpack<typename OP::in2, N>(b),
                               unpack<typename OP::in3, N>(c)};
    store_vector<typename OP::out, N>((typename OP::out *)p.out + at.out,
                                      apply<OP, N, OP::copies>(x));
}

/* N elements of a mask from any address: out of the aligned words that they lie in. */
template <int N>
static __device__ __forceinline__ cuda_vector<uint8_t, N> load_mask(const uint8_t *at)
{
    enum { WORDS = N < 4 ? 1 : N / 4 };
    const uint32_t bytes = (uint32_t)((uintptr_t)at % 4);
    const uint32_t *from = (const uint32_t *)(at - bytes);
    cuda_vector<uint8_t, N> v;
    uint32_t w[WORDS + 1];
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        w[k] = from[k];
    w[WORDS] = bytes + N > 4 * WORDS ? from[WORDS] : 0;
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        w[k] = __funnelshift_r(w[k], w[k + 1], bytes * 8);
    memcpy(&v, w, sizeof v);
    return v;
}

/* Which of where's two choices a vector of its mask wants. */
struct ew_wanted {
    bool b, c;
};
template <class T>
static __device__ __forceinline__ ew_wanted wanted_by(const cuda_vector<T, EW_N> &mask)
{
    ew_wanted wanted = {false, false};
#pragma unroll
    for (int k = 0; k < EW_N; k++) {
        wanted.b = wanted.b || mask.at[k];
        wanted.c = wanted.c || !mask.at[k];
    }
    return wanted;
}

/* A vector of where whose mask is in caches: of the choices what it does not want is not read. */
template <class OP>
static __device__ __forceinline__ void vector_by_mask(const ew_params &p, uint32_t vector)
{
    const int N = EW_N;
    if (vector >= p.n)
        return;
    const ew_offsets at = offsets_in_row<OP>(p, vector);
    const cuda_vector<uint8_t, N> mask = load_mask<N>((const uint8_t *)p.in[0].at + at.in[0]);
    const ew_wanted wanted = wanted_by(mask);
    ew_packed<typename OP::in2, N> b = {};
    ew_packed<typename OP::in3, N> c = {};
    if (wanted.b)
        b = load_in_row<typename OP::in2, N>(p, 1, at.in[1]);
    if (wanted.c)
        c = load_in_row<typename OP::in3, N>(p, 2, at.in[2]);
    const operands<OP, N> x = {mask, unpack<typename OP::in2, N>(b),
                               unpack<typename OP::in3, N>(c)};
    store_vector<typename OP::out, N>((typename OP::out *)p.out + at.out,
                                      apply<OP, N, OP::copies>(x));
}

template <class OP> static __device__ __forceinline__ void rows(const ew_params &p)
{
    const uint32_t vector = blockIdx.x * EW_THREADS + threadIdx.x;
    if constexpr (OP::chooses)
        if (p.lazy) {
            vector_by_mask<OP>(p, vector);
            return;
        }
    if constexpr (!OP::heavy)
        if (p.whole) {
            vector_in_row<OP>(p, vector);
            return;
        }
    one_vector<OP>(p, place_of_row<OP, EW_N>(p, vector));
}

/* The work of one thread of a block, if each thread took one vector. */
template <class OP>
static __device__ __forceinline__ void vector_of_block(const ew_params &p, uint64_t block)
{
    one_vector<OP>(p, place_dense(p, EW_N, block * EW_THREADS + threadIdx.x));
}

template <class OP> static __device__ __forceinline__ void vectors(const ew_params &p)
{
    const int MANY = OP::many;
    if constexpr (MANY == 1) {
        vector_of_block<OP>(p, blockIdx.x);
    } else {
        uint32_t steps = p.many ? MANY : 1;
        uint64_t block = (uint64_t)blockIdx.x * steps;
        if (p.many && (block + MANY) * (EW_THREADS * EW_N) <= p.n) {
            many_vectors<OP>(p, block * EW_THREADS + threadIdx.x);
            return;
        }
#pragma unroll 1
        for (uint32_t step = 0; step < steps; step++)
            vector_of_block<OP>(p, block + step);
    }
}

/* ---- small: dense operands that one round of threads covers. What such a kernel costs is mostly how
 * long it takes to begin and end, so its code and its parameters are short, and in graphs it begins
 * while the kernel before it ends. ---- */

template <class T, int N>
static __device__ __forceinline__ cuda_vector<T, N> small_input(const ew_small &p, int input,
                                                                uint32_t at)
{
    if (p.scalars >> input & 1)
        return splat<T, N>(scalar_of<T>(p.in[input]));
    return unpack<T, N>(*(const ew_packed<T, N> *)((const T *)p.in[input].at + at));
}

template <class OP, int N>
static __device__ __forceinline__ void small_vector(const ew_small &p, uint32_t at)
{
    operands<OP, N> x = {};
    x.a = small_input<typename OP::in1, N>(p, 0, at);
    if (OP::inputs > 1)
        x.b = small_input<typename OP::in2, N>(p, 1, at);
    if (OP::inputs > 2)
        x.c = small_input<typename OP::in3, N>(p, 2, at);
    cuda_vector<typename OP::out, N> r = apply<OP, N, N>(x);
    *(ew_packed<typename OP::out, N> *)((typename OP::out *)p.out + at) =
        pack<typename OP::out, N>(r);
}

template <class OP> static __device__ __forceinline__ void small(const ew_small &p)
{
    const int N = EW_N;
    uint32_t at = (blockIdx.x * EW_THREADS + threadIdx.x) * N;
    cuda_after_earlier();
    if (at + N <= p.n) {
        small_vector<OP, N>(p, at);
        return;
    }
#pragma unroll 1
    for (; at < p.n; at++)
        small_vector<OP, 1>(p, at);
}

#endif
