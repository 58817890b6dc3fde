/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What one thread takes of a row of blocks in shared memory: a unit, 32 or 64 elements. Its elements are of
 * one, two or four groups of 32 of the row's, of each the whole group or one half, so that shifts and masks
 * are constants and nothing is read twice. A field of each byte is masked, not moved, and its products with
 * a's codes are shifted instead; what codes are less by is taken from the sum of a's codes. */
#ifndef NDOCK_CUDA_QUANT_UNIT_CUH
#define NDOCK_CUDA_QUANT_UNIT_CUH
#include "quant/format.cuh"

/* The products of four unsigned bytes with four signed ones, added to sum. */
static __device__ __forceinline__ int unit_four(unsigned codes, int x, int sum)
{
    int r;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(codes), "r"(x), "r"(sum));
    return r;
}
/* Of 16 masked codes with a's. */
static __device__ __forceinline__ int unit_dot(const unsigned *q, unsigned mask, const int4 &x,
                                               int sum)
{
    sum = unit_four(q[0] & mask, x.x, sum);
    sum = unit_four(q[1] & mask, x.y, sum);
    sum = unit_four(q[2] & mask, x.z, sum);
    return unit_four(q[3] & mask, x.w, sum);
}
static __device__ __forceinline__ int unit_dot_signed(const unsigned *q, const int4 &x, int sum)
{
    sum = __dp4a((int)q[0], x.x, sum);
    sum = __dp4a((int)q[1], x.y, sum);
    sum = __dp4a((int)q[2], x.z, sum);
    return __dp4a((int)q[3], x.w, sum);
}

/* N words from an even address on; up to two bytes before and after them are read. */
template <int N>
static __device__ __forceinline__ void unit_words(const unsigned char *bytes, unsigned (&word)[N])
{
    const unsigned odd = (unsigned)(uintptr_t)bytes & 2;
    const unsigned *from = (const unsigned *)(bytes - odd);
    unsigned before = from[0];
#pragma unroll
    for (int i = 0; i < N; i++) {
        const unsigned after = from[i + 1];
        word[i] = __funnelshift_r(before, after, odd * 8);
        before = after;
    }
}
/* The same with a half before them: its bits. */
template <int N>
static __device__ __forceinline__ unsigned unit_half_words(const unsigned char *bytes,
                                                           unsigned (&word)[N])
{
    const unsigned odd = (unsigned)(uintptr_t)bytes & 2;
    const unsigned *from = (const unsigned *)(bytes - odd);
    const unsigned first = from[0];
    unsigned before = first;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const unsigned after = from[i + 1];
        word[i] = __funnelshift_rc(before, after, 16 + odd * 8);
        before = after;
    }
    return first >> odd * 8 & 0xffff;
}
static __device__ __forceinline__ void unit_aligned(const unsigned char *bytes, unsigned *word)
{
    const uint4 v = *(const uint4 *)bytes;
    word[0] = v.x;
    word[1] = v.y;
    word[2] = v.z;
    word[3] = v.w;
}
static __device__ __forceinline__ float unit_float(unsigned bits)
{
    return __half2float(__ushort_as_half((unsigned short)bits));
}

/* Facts of a unit: groups of 32 whose elements it has; pieces of 16 elements of each; units of a block; whether
 * a's codes of a group are in the order 0 16 1 17 2 18 .... It is made of a block b and the unit's number in
 * the block, and has d and low, factors of its integers. part<i>(x, sum) are the products of its elements of group
 * i with a's codes x, whose sum is sum; least<i>(), where the format has minima, what is multiplied by that sum. */
struct unit_of_32 {
    static constexpr int groups = 1, pieces = 2, units = 1;
    static constexpr bool mixed = false;
    float d, low;
    template <int I> __device__ __forceinline__ float least() const { return 1; }
};
template <typename F> struct unit;

template <> struct unit<format_q4_0> : unit_of_32 {
    unsigned q[4];
    __device__ __forceinline__ unit(const unsigned char *b, int)
    {
        d = unit_float(unit_half_words(b, q));
    }
    template <int I> __device__ __forceinline__ int part(const int4 *x, int sum) const
    {
        return unit_dot(q, 0x0f0f0f0fu, x[0], -8 * sum) + (unit_dot(q, 0xf0f0f0f0u, x[1], 0) >> 4);
    }
};
template <> struct unit<format_q4_1> : unit_of_32 {
    unsigned q[4];
    __device__ __forceinline__ unit(const unsigned char *b, int)
    {
        const unsigned *from = (const unsigned *)b;
        d = unit_float(from[0] & 0xffff);
        low = unit_float(from[0] >> 16);
#pragma unroll
        for (int i = 0; i < 4; i++)
            q[i] = from[1 + i];
    }
    template <int I> __device__ __forceinline__ int part(const int4 *x, int) const
    {
        return unit_dot(q, 0x0f0f0f0fu, x[0], 0) + (unit_dot(q, 0xf0f0f0f0u, x[1], 0) >> 4);
    }
};

/* Four of 32 bits, from bit 4*i on, each as bit 4 of a byte. */
static __device__ __forceinline__ unsigned unit_fifths(unsigned bits, int i)
{
    return (bits >> 4 * i & 15) * 0x02040810u & 0x10101010u;
}
static __device__ __forceinline__ int unit_dot_fives(const unsigned *q, unsigned high,
                                                     const int4 *x, int sum)
{
    unsigned w[8];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        w[i] = (q[i] & 0x0f0f0f0fu) | unit_fifths(high, i);
        w[i + 4] = (q[i] >> 4 & 0x0f0f0f0fu) | unit_fifths(high, i + 4);
    }
    return unit_dot(w + 4, ~0u, x[1], unit_dot(w, ~0u, x[0], sum));
}
template <> struct unit<format_q5_0> : unit_of_32 {
    unsigned q[5];
    __device__ __forceinline__ unit(const unsigned char *b, int)
    {
        d = unit_float(unit_half_words(b, q));
    }
    template <int I> __device__ __forceinline__ int part(const int4 *x, int sum) const
    {
        return unit_dot_fives(q + 1, q[0], x, -16 * sum);
    }
};
template <> struct unit<format_q5_1> : unit_of_32 {
    unsigned q[5];
    __device__ __forceinline__ unit(const unsigned char *b, int)
    {
        const unsigned *from = (const unsigned *)b;
        d = unit_float(from[0] & 0xffff);
        low = unit_float(from[0] >> 16);
#pragma unroll
        for (int i = 0; i < 5; i++)
            q[i] = from[1 + i];
    }
    template <int I> __device__ __forceinline__ int part(const int4 *x, int) const
    {
        return unit_dot_fives(q + 1, q[0], x, 0);
    }
};
/* Codes of 8 bits. */
struct unit_of_bytes : unit_of_32 {
    unsigned q[8];
    template <int I> __device__ __forceinline__ int part(const int4 *x, int) const
    {
        return unit_dot_signed(q + 4, x[1], unit_dot_signed(q, x[0], 0));
    }
};
template <> struct unit<format_q8_0> : unit_of_bytes {
    __device__ __forceinline__ unit(const unsigned char *b, int)
    {
        d = unit_float(unit_half_words(b, q));
    }
};
template <> struct unit<format_q8_1> : unit_of_bytes {
    __device__ __forceinline__ unit(const unsigned char *b, int)
    {
        const unsigned *from = (const unsigned *)b;
        d = unit_float(from[0] & 0xffff);
#pragma unroll
        for (int i = 0; i < 8; i++)
            q[i] = from[1 + i];
    }
};

/* Bytes of two words by the four lower nibbles of a selector, which are below 8: __byte_perm would mask them. */
static __device__ __forceinline__ unsigned unit_pick(unsigned low, unsigned high, unsigned by)
{
    unsigned r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "r"(by));
    return r;
}
/* Four nibbles, those of `by` without their highest bits, which are in `upper` as selectors of the halves of
 * the table. */
static __device__ __forceinline__ unsigned unit_looked_up(unsigned by, unsigned upper)
{
    return unit_pick(unit_pick(0xbfad9881u, 0xf6eaddcfu, by),
                     unit_pick(0x26190d01u, 0x71594535u, by), upper);
}
template <> struct unit<format_iq4_nl> : unit_of_bytes {
    static constexpr bool mixed = true;
    __device__ __forceinline__ unit(const unsigned char *b, int)
    {
        unsigned packed[4];
        d = unit_float(unit_half_words(b, packed));
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const unsigned by = packed[i] & 0x77777777u,
                           upper = (packed[i] >> 1 & 0x44444444u) | 0x32103210u;
            q[2 * i] = unit_looked_up(by, upper);
            q[2 * i + 1] = unit_looked_up(by >> 16, upper >> 16);
        }
    }
};

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
        return unit_dot(q + 4, mask, x[1], unit_dot(q, mask, x[0], 0)) >> 4 * I;
    }
    template <int I> __device__ __forceinline__ float least() const
    {
        return (float)(min >> 8 * I & 255);
    }
};
template <> struct unit<format_q4_K> : unit_of_sixes {
    __device__ __forceinline__ unit(const unsigned char *b, int u) : unit_of_sixes(b, b + 16, u) {}
    template <int I> __device__ __forceinline__ int part(const int4 *x, int) const
    {
        return nibbles<I>(x) * (int)(scale >> 8 * I & 255);
    }
};
template <> struct unit<format_q5_K> : unit_of_sixes {
    unsigned high[8];
    __device__ __forceinline__ unit(const unsigned char *b, int u) : unit_of_sixes(b, b + 48, u)
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
        const int fifth = unit_dot(high + 4, mask, x[1], unit_dot(high, mask, x[0], 0)) << 4 >> I;
        return (nibbles<I>(x) + fifth) * (int)(scale >> 8 * I & 255);
    }
};

/* Of blocks of 256 with 2 bits of each element in 64 bytes: 16 bytes of these, elements of four groups that
 * are 32 apart, of each one half. */
struct unit_of_pairs {
    static constexpr int groups = 4, pieces = 1, units = 4;
    static constexpr bool mixed = false;
    float d, low;
};
template <> struct unit<format_q2_K> : unit_of_pairs {
    unsigned q[4], scale[2];
    __device__ __forceinline__ unit(const unsigned char *b, int u)
    {
        const unsigned *from = (const unsigned *)(b + 16 * u + 16),
                       *scales = (const unsigned *)(b + 8 * (u / 2));
        const unsigned both = *(const unsigned *)(b + 80);
        d = unit_float(both & 0xffff);
        low = -unit_float(both >> 16);
#pragma unroll
        for (int i = 0; i < 4; i++)
            q[i] = from[i];
        scale[0] = scales[0] >> u % 2 * 8;
        scale[1] = scales[1] >> u % 2 * 8;
    }
    template <int I> __device__ __forceinline__ int part(const int4 *x, int) const
    {
        const int dot = unit_dot(q, 0x03030303u << 2 * I, x[0], 0) >> 2 * I;
        return dot * (int)(scale[I / 2] >> I % 2 * 16 & 15);
    }
    template <int I> __device__ __forceinline__ float least() const
    {
        return (float)(scale[I / 2] >> (I % 2 * 16 + 4) & 15);
    }
};
template <> struct unit<format_q3_K> : unit_of_pairs {
    unsigned q[4], high[4], scale[2]; /* of 16 bits each */
    __device__ __forceinline__ unit(const unsigned char *b, int u)
    {
        const int half = u % 2 * 8, part = u / 2 * 4;
        unsigned s[3];
        unit_words(b + 32 + 16 * u, q);
        unit_words(b + 16 * (u % 2), high);
        unit_words(b + 96, s);
        const unsigned far = s[2] >> (half + part);
#pragma unroll
        for (int i = 0; i < 4; i++)
            high[i] >>= part;
        scale[0] = (s[0] >> (half + part) & 0x000f000fu) | (far << 4 & 0x00300030u);
        scale[1] = (s[1] >> (half + part) & 0x000f000fu) | (far << 2 & 0x00300030u);
        d = unit_float(*(const unsigned short *)(b + 108));
    }
    template <int I> __device__ __forceinline__ int part(const int4 *x, int sum) const
    {
        const int far = unit_dot(high, 0x01010101u << I, x[0], 0) >> I,
                  near = unit_dot(q, 0x03030303u << 2 * I, x[0], 0) >> 2 * I;
        return (near + 4 * (far - sum)) * ((int)(scale[I / 2] >> I % 2 * 16 & 63) - 32);
    }
};
template <> struct unit<format_q6_K> : unit_of_pairs {
    unsigned q[2][4], high[4], scale[2];
    __device__ __forceinline__ unit(const unsigned char *b, int u)
    {
        const unsigned char *from = b + 64 * (u / 2) + 16 * (u % 2);
        unit_words(from, q[0]);
        unit_words(from + 32, q[1]);
        unit_words(b + 128 + 16 * u, high);
        unit_words(b + 192 + 8 * (u / 2), scale);
        scale[0] <<= 8 - u % 2 * 8; /* those of its half in the upper bytes of each 16 bits */
        scale[1] <<= 8 - u % 2 * 8;
        d = unit_float(*(const unsigned short *)(b + 208));
    }
    template <int I> __device__ __forceinline__ int part(const int4 *x, int sum) const
    {
        const int near =
                      unit_dot(q[I % 2], I < 2 ? 0x0f0f0f0fu : 0xf0f0f0f0u, x[0], 0) >> I / 2 * 4,
                  far = unit_dot(high, 0x03030303u << 2 * I, x[0], 0) << 4 >> 2 * I;
        const int of = I % 2 ? (int)scale[I / 2] >> 24 : (int)(scale[I / 2] << 16) >> 24;
        return (near + far - 32 * sum) * of;
    }
};

#endif
