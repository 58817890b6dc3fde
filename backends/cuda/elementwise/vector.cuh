/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Vectors of elements of CUDA_DTYPE: how they are loaded, computed and stored, whole or in part. */
#ifndef NDOCK_CUDA_ELEMENTWISE_VECTOR_CUH
#define NDOCK_CUDA_ELEMENTWISE_VECTOR_CUH
#include "elementwise/elementwise.h"
#include "math/scalar.cuh"

/* An op is a struct OP: in1, in2, in3 are the stored types of its inputs, out that of its result,
 * inputs how many there are, f computes one element; heavy: f is long, so fewer copies of it. */
template <class OP, int N> struct operands {
    cuda_vector<typename OP::in1, N> a;
    cuda_vector<typename OP::in2, N> b;
    cuda_vector<typename OP::in3, N> c;
};
enum { EW_N = EW_VECTOR_BYTES / sizeof(cuda_stored) };

template <class T> static __device__ __forceinline__ T scalar_of(const ew_input &in)
{
    return *(const T *)in.scalar;
}

template <class T, int N> static __device__ __forceinline__ cuda_vector<T, N> splat(T x)
{
    cuda_vector<T, N> v;
#pragma unroll
    for (int k = 0; k < N; k++)
        v.at[k] = x;
    return v;
}

/* Moves what lies above the first entry down by one. Loops that take the first entry and shift
 * index registers by constants whether they are unrolled or not. */
template <int N, class T> static __device__ __forceinline__ void shift_down(T (&at)[N])
{
#pragma unroll
    for (int k = 0; k + 1 < N; k++)
        at[k] = at[k + 1];
}

template <class OP, int N, int COPIES>
static __device__ __forceinline__ cuda_vector<typename OP::out, N> apply(operands<OP, N> x)
{
    cuda_vector<typename OP::out, N> r = {};
#pragma unroll COPIES
    for (int k = 0; k < N; k++) {
        typename OP::out y = OP::f(x.a.at[0], x.b.at[0], x.c.at[0]);
        shift_down(x.a.at);
        shift_down(x.b.at);
        shift_down(x.c.at);
        shift_down(r.at);
        r.at[N - 1] = y;
    }
    return r;
}

/* What moves a vector of so many bytes at once. Compilers split copies of 2-byte classes. */
template <int NBYTES> struct ew_words;
template <> struct ew_words<1> {
    typedef uint8_t type;
};
template <> struct ew_words<2> {
    typedef uint16_t type;
};
template <> struct ew_words<4> {
    typedef uint32_t type;
};
template <> struct ew_words<8> {
    typedef uint2 type;
};
template <> struct ew_words<16> {
    typedef uint4 type;
};

template <class T, int N> using ew_packed = typename ew_words<sizeof(T) * N>::type;

template <class T, int N>
static __device__ __forceinline__ ew_packed<T, N> pack(const cuda_vector<T, N> &v)
{
    ew_packed<T, N> words;
    memcpy(&words, &v, sizeof words);
    return words;
}

/* Compilers take vectors of small elements apart where they are loaded, and so wait for one
 * operand before the next is asked for, unless the words are wanted as such once all are loaded. */
[[maybe_unused]] static __device__ __forceinline__ void hold(uint4 &w)
{
    asm volatile("" : "+r"(w.x), "+r"(w.y), "+r"(w.z), "+r"(w.w));
}
[[maybe_unused]] static __device__ __forceinline__ void hold(uint2 &w)
{
    asm volatile("" : "+r"(w.x), "+r"(w.y));
}
template <class W> static __device__ __forceinline__ void hold(W &) {}

template <class T, int N>
static __device__ __forceinline__ cuda_vector<T, N> unpack(ew_packed<T, N> words)
{
    cuda_vector<T, N> v;
    hold(words);
    memcpy(&v, &words, sizeof v);
    return v;
}

template <class T, int N>
static __device__ __forceinline__ void store_vector(T *at, const cuda_vector<T, N> &v)
{
    __stwb((ew_packed<T, N> *)at, pack<T, N>(v));
}

/* The functions that are not inlined are long, seldom used, and the same for all ops. */

/* Elements low to high - 1 of a vector, one by one, element k at at[k * stride]. */
template <class T, int N>
static __device__ __forceinline__ cuda_vector<T, N> load_elements(const T *at, int64_t stride,
                                                                  int low, int high)
{
    cuda_vector<T, N> v = {};
#pragma unroll
    for (int k = 0; k < N; k++)
        if (k >= low && k < high)
            v.at[k] = at[k * stride];
    return v;
}

template <class T, int N>
static __device__ __noinline__ void store_elements(T *at, cuda_vector<T, N> v, int low, int high)
{
#pragma unroll
    for (int k = 0; k < N; k++)
        if (k >= low && k < high)
            at[k] = v.at[k];
}

/* 16 bytes from any address: out of the two aligned vectors that they lie in. */
template <class T, int N>
static __device__ __forceinline__ cuda_vector<T, N> load_shifted(const T *at)
{
    enum { WORDS = EW_VECTOR_BYTES / 4 };
    uint32_t bytes = (uintptr_t)at % EW_VECTOR_BYTES, w[2 * WORDS];
    const uint4 *from = (const uint4 *)((uintptr_t)at - bytes);
    uint4 low = from[0], high = bytes ? from[1] : low;
    cuda_vector<T, N> v;
    memcpy(w, &low, sizeof low);
    memcpy(w + WORDS, &high, sizeof high);
#pragma unroll
    for (int k = 0; k < WORDS + 2; k++)
        w[k] = bytes & 8 ? w[k + 2] : w[k];
#pragma unroll
    for (int k = 0; k < WORDS + 1; k++)
        w[k] = bytes & 4 ? w[k + 1] : w[k];
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        w[k] = __funnelshift_r(w[k], w[k + 1], bytes % 4 * 8);
    memcpy(&v, w, sizeof v);
    return v;
}

/* Every second element, out of the two aligned vectors that they lie in. */
template <class T, int N>
static __device__ __forceinline__ cuda_vector<T, N> load_second(const T *at)
{
    uint4 two[2] = {((const uint4 *)at)[0], ((const uint4 *)at)[1]};
    cuda_vector<T, N> v;
    T all[2 * N];
    memcpy(all, two, sizeof two);
#pragma unroll
    for (int k = 0; k < N; k++)
        v.at[k] = all[2 * k];
    return v;
}

/* Elements low to high - 1 of a vector whose element k lies at at[k * stride]. inner: there is a
 * vector's length of the row on either side, so that whole aligned vectors may be read. */
template <class T, int N>
static __device__ __noinline__ ew_packed<T, N> load_row(const T *at, int64_t stride, int low,
                                                        int high, bool inner)
{
    cuda_vector<T, N> v;
    if (N * sizeof(T) == EW_VECTOR_BYTES && N > 1 && inner && stride == 2 &&
        (uintptr_t)at % EW_VECTOR_BYTES == 0)
        return pack<T, N>(load_second<T, N>(at));
    if (N * sizeof(T) < EW_VECTOR_BYTES || N == 1 || !inner || (stride != 1 && stride != -1))
        return pack<T, N>(load_elements<T, N>(at, stride, low, high));
    v = load_shifted<T, N>(stride == 1 ? at : at - (N - 1));
#pragma unroll
    for (int k = 0; k < N / 2; k++)
        if (stride == -1) {
            T x = v.at[k];
            v.at[k] = v.at[N - 1 - k];
            v.at[N - 1 - k] = x;
        }
    return pack<T, N>(v);
}

#endif
