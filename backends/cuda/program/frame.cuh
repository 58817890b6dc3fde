/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the generated kernels of programs call: loads and stores of several elements, offsets of
 * strided operands. */
#ifndef NDOCK_CUDA_PROGRAM_FRAME_CUH
#define NDOCK_CUDA_PROGRAM_FRAME_CUH
#include "math/types.cuh"
#include "program/program.h"
#include "walk/divisor.cuh"
#include "walk/earlier.cuh"

template <class T> static __device__ __forceinline__ T program_scalar(const cuda_program_scalar &s)
{
    return *(const T *)&s;
}

/* N elements, 16 bytes at a time where they are that many. */
template <class T, int N> struct program_words {
    enum { nbytes = sizeof(T) * N, chunk = nbytes < 16 ? nbytes : 16, chunks = nbytes / chunk };
};
template <int NBYTES> struct program_word;
template <> struct program_word<1> {
    typedef uint8_t type;
};
template <> struct program_word<2> {
    typedef uint16_t type;
};
template <> struct program_word<4> {
    typedef uint32_t type;
};
template <> struct program_word<8> {
    typedef uint2 type;
};
template <> struct program_word<16> {
    typedef uint4 type;
};

/* The first n of N elements, 0 < n <= N. Where they are not all there, and at one aligned address,
 * the last one stands for those that are missing: code without branches is sooner compiled. */
template <class T, int N>
static __device__ __forceinline__ void program_load(T (&to)[N], const T *from, bool whole,
                                                    uint32_t n)
{
    typedef program_words<T, N> words;
    typedef typename program_word<words::chunk>::type word;
    if (whole) {
        word w[words::chunks];
#pragma unroll
        for (int k = 0; k < words::chunks; k++)
            w[k] = ((const word *)from)[k];
        memcpy(&to, &w, sizeof to);
        return;
    }
#pragma unroll
    for (uint32_t k = 0; k < N; k++)
        to[k] = from[k < n ? k : n - 1];
}

template <class T, int N>
static __device__ __forceinline__ void program_store(T *to, const T (&from)[N], bool whole,
                                                     uint32_t n)
{
    typedef program_words<T, N> words;
    typedef typename program_word<words::chunk>::type word;
    if (whole) {
        word w[words::chunks];
        memcpy(&w, &from, sizeof from);
#pragma unroll
        for (int k = 0; k < words::chunks; k++)
            ((word *)to)[k] = w[k];
        return;
    }
    T last = from[0];
#pragma unroll
    for (uint32_t k = 0; k < N; k++) {
        last = k < n ? from[k] : last;
        to[k < n ? k : n - 1] = last;
    }
}

/* Offsets of all operands at element i, or row i, in elements; of DIMS dimensions. */
template <int DIMS, class P, int OPERANDS>
static __device__ __forceinline__ void program_locate(const P &p, uint32_t i,
                                                      int64_t (&at)[OPERANDS])
{
#pragma unroll
    for (int k = 0; k < OPERANDS; k++)
        at[k] = 0;
#pragma unroll
    for (int d = 0; d < DIMS; d++) {
        uint32_t q = d + 1 < DIMS ? cuda_quotient(i, p.extent[d]) : 0;
        uint32_t x = d + 1 < DIMS ? i - q * p.extent[d].value : i;
        i = q;
#pragma unroll
        for (int k = 0; k < OPERANDS; k++)
            at[k] += x * p.stride[k][d];
    }
}

#endif
