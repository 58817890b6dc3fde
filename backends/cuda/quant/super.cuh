/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Units (unit.cuh) of the formats with super-blocks of 256 elements, whose groups have scales of few bits. */
#ifndef NDOCK_CUDA_QUANT_SUPER_CUH
#define NDOCK_CUDA_QUANT_SUPER_CUH
#include "quant/unit.cuh"

/* Of blocks of 256 with 6 bits of scales and of minima: a quarter, both nibbles of 32 bytes. */
struct unit_of_sixes {
    static constexpr int groups = 2, pieces = 2, units = 4;
    static constexpr bool mixed = false;
    float d, low;
    unsigned scale, min, q[8]; /* scales and minima of both groups in bits 0 and 8 on */
    __device__ __forceinline__ unit_of_sixes(const unsigned char *b, const unsigned char *codes,
                                             int u)
    {
        const uint4 head = *(const uint4 *)b;
        const int at = u % 2 * 16;
        const unsigned first = head.y >> at, second = head.z >> at, third = head.w >> at;
        d = unit_float(head.x & 0xffff);
        low = -unit_float(head.x >> 16);
        scale = u < 2 ? first & 0x3f3f : (third & 0x0f0f) | (first >> 2 & 0x3030);
        min = u < 2 ? second & 0x3f3f : (third >> 4 & 0x0f0f) | (second >> 2 & 0x3030);
        unit_aligned(codes + 32 * u, q);
        unit_aligned(codes + 32 * u + 16, q + 4);
    }
    template <int I> __device__ __forceinline__ int nibbles(const int4 *x) const
    {
        const unsigned mask = I ? 0xf0f0f0f0u : 0x0f0f0f0fu;
        return unit_dot(q + 4, mask, x[1], unit_dot(q, mask, x[0], 0));
    }
    static __device__ __forceinline__ float share(int i) { return unit_part(4 * i); }
    static __device__ __forceinline__ int offset(int) { return 0; }
    template <int I> __device__ __forceinline__ float least() const
    {
        return (float)(min >> 8 * I & 255);
    }
};
template <> struct unit<format_q4_K> : unit_of_sixes {
    __device__ __forceinline__ unit(const unsigned char *b, int u, unsigned)
        : unit_of_sixes(b, b + 16, u)
    {
    }
    template <int I> __device__ __forceinline__ int part(const int4 *x, int) const
    {
        return nibbles<I>(x) * (int)(scale >> 8 * I & 255);
    }
};
template <> struct unit<format_q5_K> : unit_of_sixes {
    unsigned high[8];
    __device__ __forceinline__ unit(const unsigned char *b, int u, unsigned)
        : unit_of_sixes(b, b + 48, u)
    {
        unit_aligned(b + 16, high);
        unit_aligned(b + 32, high + 4);
#pragma unroll
        for (int i = 0; i < 8; i++)
            high[i] >>= 2 * u;
    }
    template <int I> __device__ __forceinline__ int part(const int4 *x, int) const
    {
        const unsigned mask = 0x01010101u << I;
        const int fifth = unit_dot(high + 4, mask, x[1], unit_dot(high, mask, x[0], 0))
                          << 4 + 3 * I;
        return (nibbles<I>(x) + fifth) * (int)(scale >> 8 * I & 255);
    }
};

/* Of blocks of 256 with 2 bits of each element in 64 bytes: 16 bytes of either half of these, elements of all eight
 * groups, of each one half. */
struct unit_of_pairs {
    static constexpr int groups = 8, pieces = 1, units = 2;
    static constexpr bool mixed = false;
    float d, low;
    unsigned q[2][4];
    /* The products of the two bits of group I where they lie. */
    template <int I> __device__ __forceinline__ int dot(const int4 &x, int sum) const
    {
        return unit_dot(q[I / 4], 0x03030303u << 2 * (I % 4), x, sum);
    }
    static __device__ __forceinline__ float share(int i) { return unit_part(2 * (i % 4)); }
};
template <> struct unit<format_q2_K> : unit_of_pairs {
    unsigned scale[4], min[4], half; /* of four halves of groups, of which the unit has two */
    __device__ __forceinline__ unit(const unsigned char *b, int u, unsigned) : half((unsigned)u)
    {
        const unsigned *from = (const unsigned *)(b + 16 + 16 * u), *scales = (const unsigned *)b;
        const unsigned both = *(const unsigned *)(b + 80);
        d = unit_float(both & 0xffff);
        low = -unit_float(both >> 16);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            q[0][i] = from[i];
            q[1][i] = from[8 + i];
            scale[i] = scales[i] & 0x0f0f0f0fu;
            min[i] = scales[i] >> 4 & 0x0f0f0f0fu;
        }
    }
    static __device__ __forceinline__ int offset(int)
    {
        return 0;
    }
    template <int I> __device__ __forceinline__ int part(const int4 *x, int) const
    {
        return dot<I>(x[0], 0) * unit_pick(scale[I / 2], 0, half + 0x4440 + I % 2 * 2);
    }
    /* The minimum as the last bits of 2^23. */
    template <int I> __device__ __forceinline__ float least() const
    {
        return __int_as_float(unit_pick(min[I / 2], 0x4b000000u, half + 0x7540 + I % 2 * 2)) -
               0x1p23f;
    }
};
template <> struct unit<format_q3_K> : unit_of_pairs {
    unsigned high[4], scale[4]; /* scales of two groups, from bits 0 and 16 on */
    __device__ __forceinline__ unit(const unsigned char *b, int u, unsigned shift)
    {
        unsigned s[3];
        unit_words(b + 32 + 16 * u, shift, q[0]);
        unit_words(b + 64 + 16 * u, shift, q[1]);
        unit_words(b + 16 * u, shift, high);
        unit_words(b + 96, shift, s);
#pragma unroll
        for (int i = 0; i < 3; i++)
            s[i] >>= 8 * u;
        scale[0] = (s[0] & 0x000f000fu) | (s[2] << 4 & 0x00300030u);
        scale[1] = (s[1] & 0x000f000fu) | (s[2] << 2 & 0x00300030u);
        scale[2] = (s[0] >> 4 & 0x000f000fu) | (s[2] & 0x00300030u);
        scale[3] = (s[1] >> 4 & 0x000f000fu) | (s[2] >> 2 & 0x00300030u);
        d = unit_float(*(const unsigned *)(b + 108) >> shift & 0xffff);
    }
    /* A code is 4*(h - 1) and two bits, where h is one of the high bits. */
    static __device__ __forceinline__ int offset(int i)
    {
        return -(1 << i);
    }
    template <int I> __device__ __forceinline__ int part(const int4 *x, int less) const
    {
        constexpr int up = 2 + 2 * (I % 4) - I; /* from the high bit's place to that of 4 in q */
        int far = unit_dot(high, 0x01010101u << I, x[0], less);
        if constexpr (up < 0)
            far >>= -up;
        else
            far *= 1 << up;
        return dot<I>(x[0], far) * ((int)(scale[I / 2] >> I % 2 * 16 & 63) - 32);
    }
};

/* A quarter of a block: elements of four groups that are 32 apart, of each one half. */
template <> struct unit<format_q6_K> {
    static constexpr int groups = 4, pieces = 1, units = 4;
    static constexpr bool mixed = false;
    float d, low;
    unsigned q[2][4], high[4], scale[2];
    __device__ __forceinline__ unit(const unsigned char *b, int u, unsigned shift)
    {
        const unsigned char *from = b + 64 * (u / 2) + 16 * (u % 2);
        unit_words(from, shift, q[0]);
        unit_words(from + 32, shift, q[1]);
        unit_words(b + 128 + 16 * u, shift, high);
        unit_words(b + 192 + 8 * (u / 2), shift, scale);
        scale[0] <<= 8 - u % 2 * 8; /* those of its half in the upper bytes of each 16 bits */
        scale[1] <<= 8 - u % 2 * 8;
        d = unit_float(*(const unsigned *)(b + 208) >> shift & 0xffff);
    }
    /* A code is 16*(h - 2) and four bits, where h are two of the high bits. */
    static __device__ __forceinline__ int offset(int i) { return -2 * (1 << 2 * i); }
    static __device__ __forceinline__ float share(int i) { return unit_part(i / 2 * 4); }
    template <int I> __device__ __forceinline__ int part(const int4 *x, int less) const
    {
        constexpr int place = I / 2 * 4; /* of the four bits in q */
        const int far =
                      unit_dot(high, 0x03030303u << 2 * I, x[0], less) * (1 << (4 + place - 2 * I)),
                  all = unit_dot(q[I % 2], 0x0f0f0f0fu << place, x[0], far);
        return all * (I % 2 ? (int)scale[I / 2] >> 24 : (int)(scale[I / 2] << 16) >> 24);
    }
};

#endif
