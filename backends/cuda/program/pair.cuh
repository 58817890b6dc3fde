/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Two elements of f16 or bf16 in a word, the first one in its lower half. */
#ifndef NDOCK_CUDA_PROGRAM_PAIR_CUH
#define NDOCK_CUDA_PROGRAM_PAIR_CUH
#include "math/types.cuh"

template <class T> static __device__ __forceinline__ uint32_t pair_get(const T *from)
{
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}
template <class T> static __device__ __forceinline__ void pair_put(T *to, uint32_t word)
{
    memcpy(to, &word, sizeof word);
}
template <class T> static __device__ __forceinline__ uint32_t pair_both(T x)
{
    uint16_t half;
    memcpy(&half, &x, sizeof half);
    return (uint32_t)half << 16 | half;
}

/* of: what two floats are rounded to. */
template <class T> struct pair {
    static __device__ __forceinline__ float part(uint16_t half)
    {
        T x;
        memcpy(&x, &half, sizeof half);
        return cuda_widen(x);
    }
    static __device__ __forceinline__ float lo(uint32_t w) { return part((uint16_t)w); }
    static __device__ __forceinline__ float hi(uint32_t w) { return part((uint16_t)(w >> 16)); }
    static __device__ __forceinline__ uint32_t of(float hi, float lo)
    {
        T x[2] = {cuda_narrow<T>(lo), cuda_narrow<T>(hi)};
        return pair_get(x);
    }
    static __device__ __forceinline__ uint32_t add(uint32_t a, uint32_t b)
    {
        return of(hi(a) + hi(b), lo(a) + lo(b));
    }
    static __device__ __forceinline__ uint32_t subtract(uint32_t a, uint32_t b)
    {
        return of(hi(a) - hi(b), lo(a) - lo(b));
    }
    static __device__ __forceinline__ uint32_t multiply(uint32_t a, uint32_t b)
    {
        return of(hi(a) * hi(b), lo(a) * lo(b));
    }
    static __device__ __forceinline__ uint32_t negative(uint32_t a) { return a ^ 0x80008000u; }
    static __device__ __forceinline__ uint32_t abs(uint32_t a) { return a & 0x7fff7fffu; }
};

#if __CUDA_ARCH__ >= 800
/* Both by one instruction. a*1 + b and a*b + -0 are the sum and the product. */
#define PAIR_OF(T, dtype, ONE)                                                                  \
    template <> __device__ __forceinline__ uint32_t pair<T>::of(float hi, float lo)             \
    {                                                                                           \
        uint32_t r;                                                                             \
        asm("cvt.rn." dtype "x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));                 \
        return r;                                                                               \
    }                                                                                           \
    template <> __device__ __forceinline__ uint32_t pair<T>::add(uint32_t a, uint32_t b)        \
    {                                                                                           \
        uint32_t r;                                                                             \
        asm("fma.rn." dtype "x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(ONE), "r"(b));         \
        return r;                                                                               \
    }                                                                                           \
    template <> __device__ __forceinline__ uint32_t pair<T>::subtract(uint32_t a, uint32_t b)   \
    {                                                                                           \
        return add(a, negative(b));                                                             \
    }                                                                                           \
    template <> __device__ __forceinline__ uint32_t pair<T>::multiply(uint32_t a, uint32_t b)   \
    {                                                                                           \
        uint32_t r;                                                                             \
        asm("fma.rn." dtype "x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(0x80008000u)); \
        return r;                                                                               \
    }
PAIR_OF(__half, "f16", 0x3c003c00u)
PAIR_OF(__nv_bfloat16, "bf16", 0x3f803f80u)
/* A bf16 is the upper half of a float. */
template <> __device__ __forceinline__ float pair<__nv_bfloat16>::lo(uint32_t w)
{
    return __uint_as_float(w << 16);
}
template <> __device__ __forceinline__ float pair<__nv_bfloat16>::hi(uint32_t w)
{
    return __uint_as_float(w & 0xffff0000u);
}
#endif

#endif
