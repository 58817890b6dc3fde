/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Scores of a row that a thread holds as words of memory: their maximum, the sum of their exponentials,
 * and gradients in their place. */
#ifndef NDOCK_CUDA_ENTROPY_TILE_CUH
#define NDOCK_CUDA_ENTROPY_TILE_CUH
#include <math.h>
#include "neural/neural.cuh"

/* A word of scores. EMPTY has minus infinity in each; more(): the larger of each, of which one that is
 * no number is the other. widen(): by the words' bits, since elements of 16 bits in registers of their own
 * cost an instruction each. */
template <class T> struct entropy_word;
template <> struct entropy_word<float> {
    enum : uint32_t { EMPTY = 0xff800000u };
    static __device__ __forceinline__ void widen(uint32_t w, float *x)
    {
        x[0] = __uint_as_float(w);
    }
    static __device__ __forceinline__ uint32_t more(uint32_t a, uint32_t b)
    {
        return __float_as_uint(fmaxf(__uint_as_float(a), __uint_as_float(b)));
    }
};
template <> struct entropy_word<__nv_bfloat16> {
    enum : uint32_t { EMPTY = 0xff80ff80u };
    static __device__ __forceinline__ void widen(uint32_t w, float *x)
    {
        x[0] = __uint_as_float(w << 16);
        x[1] = __uint_as_float(w & 0xffff0000u);
    }
    static __device__ __forceinline__ uint32_t more(uint32_t a, uint32_t b)
    {
#if __CUDA_ARCH__ >= 800
        asm("max.bf16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
        return a;
#else
        float x[2], y[2];
        widen(a, x);
        widen(b, y);
        return __float_as_uint(fmaxf(x[1], y[1])) | __float_as_uint(fmaxf(x[0], y[0])) >> 16;
#endif
    }
};
template <> struct entropy_word<__half> {
    enum : uint32_t { EMPTY = 0xfc00fc00u };
    static __device__ __forceinline__ void widen(uint32_t w, float *x)
    {
        __half2 h;
        memcpy(&h, &w, sizeof h);
        const float2 f = __half22float2(h);
        x[0] = f.x;
        x[1] = f.y;
    }
    static __device__ __forceinline__ uint32_t more(uint32_t a, uint32_t b)
    {
#if __CUDA_ARCH__ >= 800
        asm("max.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
        return a;
#else
        float x[2], y[2];
        widen(a, x);
        widen(b, y);
        const __half2 h = __floats2half2_rn(fmaxf(x[0], y[0]), fmaxf(x[1], y[1]));
        memcpy(&a, &h, sizeof a);
        return a;
#endif
    }
};

/* e^x for x <= 0, of which those below the normal numbers are 0. */
NEURAL_FN float entropy_exp(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.44269504088896340736f));
    return y;
}
/* What maxima are taken off by: minus infinity has nothing above it. */
NEURAL_FN float entropy_base(float max)
{
    return max > -INFINITY ? max : 0.0f;
}

template <class T, int U> struct entropy_tile {
    enum { V = 16 / sizeof(T), PER = 4 / sizeof(T) }; /* scores of a vector, of a word */
    neural_raw<T, V> at[U];

    static __device__ __forceinline__ void widen(const neural_raw<T, V> &v, float (&x)[V])
    {
#pragma unroll
        for (int w = 0; w < 4; w++)
            entropy_word<T>::widen(v.at[w], x + w * PER);
    }
    /* Vectors first, first + step ... of a row of items; all loads are under way before one is used. */
    __device__ __forceinline__ void read(const T *row, int first, int step, int items)
    {
#pragma unroll
        for (int u = 0; u < U; u++) {
#pragma unroll
            for (int w = 0; w < 4; w++)
                at[u].at[w] = entropy_word<T>::EMPTY;
            if (first + u * step < items)
                at[u] = neural_read<T, V>(row + (int64_t)(first + u * step) * V);
        }
    }
    __device__ __forceinline__ float max() const
    {
        uint32_t top = at[0].at[0];
#pragma unroll
        for (int u = 0; u < U; u++)
#pragma unroll
            for (int w = 0; w < 4; w++)
                top = entropy_word<T>::more(top, at[u].at[w]);
        float x[PER];
        entropy_word<T>::widen(top, x);
        return fmaxf(x[0], x[PER - 1]);
    }
    __device__ __forceinline__ float sum(float base) const
    {
        float part[2] = {0, 0};
#pragma unroll
        for (int u = 0; u < U; u++) {
            float x[V];
            widen(at[u], x);
#pragma unroll
            for (int k = 0; k < V; k++)
                part[k % 2] += entropy_exp(x[k] - base);
        }
        return part[0] + part[1];
    }
    /* Each score's share of the sum of exponentials, by the factor, where read() had the scores. */
    __device__ __forceinline__ void write(T *row, int first, int step, int items, float max,
                                          float factor) const
    {
#pragma unroll
        for (int u = 0; u < U; u++) {
            if (first + u * step >= items)
                return;
            float x[V];
            widen(at[u], x);
#pragma unroll
            for (int k = 0; k < V; k++)
                x[k] = entropy_exp(x[k] - max) * factor;
            neural_store<T, V>(row, first + u * step, x);
        }
    }
};

#endif
