/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What one thread takes of a row of blocks in shared memory: a unit, 32 or 64 elements. Its elements are of
 * one, two or four groups of 32 of the row's, of each the whole group or one half, so that shifts and masks
 * are constants and nothing is read twice. A field of each byte is masked, not moved, and its products with
 * a's codes are shifted instead, or multiplied by a share of a's d, of which each group has its own; what codes
 * are less by is taken from the sum of a's codes. */
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

/* N words that begin `shift` bits, none or 16, after a whole one. */
template <int N>
static __device__ __forceinline__ void unit_words(const unsigned char *whole, unsigned shift,
                                                  unsigned (&word)[N])
{
    const unsigned *from = (const unsigned *)whole;
    unsigned before = from[0];
#pragma unroll
    for (int i = 0; i < N; i++) {
        const unsigned after = from[i + 1];
        word[i] = __funnelshift_r(before, after, shift);
        before = after;
    }
}
/* The same with a half before them: its bits. */
template <int N>
static __device__ __forceinline__ unsigned unit_half_words(const unsigned char *whole,
                                                           unsigned shift, unsigned (&word)[N])
{
    const unsigned *from = (const unsigned *)whole;
    const unsigned first = from[0];
    unsigned before = first;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const unsigned after = from[i + 1];
        word[i] = __funnelshift_rc(before, after, 16 + shift);
        before = after;
    }
    return first >> shift & 0xffff;
}
static __device__ __forceinline__ void unit_aligned(const unsigned char *bytes, unsigned *word)
{
    const uint4 v = *(const uint4 *)bytes;
    word[0] = v.x;
    word[1] = v.y;
    word[2] = v.z;
    word[3] = v.w;
}
/* 2^-bits. */
static __device__ __forceinline__ float unit_part(int bits)
{
    return __int_as_float((127 - bits) << 23);
}
static __device__ __forceinline__ float unit_float(unsigned bits)
{
    return __half2float(__ushort_as_half((unsigned short)bits));
}

/* Facts of a unit: groups of 32 whose elements it has; pieces of 16 elements of each; units of a block; whether
 * a's codes of a group are in the order 0 16 1 17 2 18 .... It is made of the whole words in which a block begins,
 * `shift` bits after the first, and of the unit's number in the block, and has d and low, factors of its integers.
 * part<i>(x, less) are the products of its elements of group i with a's codes x, 1/share(i) times; `less` is what these codes' sum
 * times offset(i) is, where elements are stored as more than they are. least<i>(), where the format has minima, is
 * what is multiplied by that sum. */
struct unit_of_32 {
    static constexpr int groups = 1, pieces = 2, units = 1;
    static constexpr bool mixed = false;
    float d, low;
    template <int I> __device__ __forceinline__ float least() const { return 1; }
    static __device__ __forceinline__ int offset(int) { return 0; }
    static __device__ __forceinline__ float share(int) { return 1; }
};
template <typename F> struct unit;

template <> struct unit<format_q4_0> : unit_of_32 {
    unsigned q[4];
    __device__ __forceinline__ unit(const unsigned char *b, int, unsigned shift)
    {
        d = unit_float(unit_half_words(b, shift, q));
    }
    static __device__ __forceinline__ int offset(int) { return -8; }
    template <int I> __device__ __forceinline__ int part(const int4 *x, int less) const
    {
        return unit_dot(q, 0x0f0f0f0fu, x[0], less) + (unit_dot(q, 0xf0f0f0f0u, x[1], 0) >> 4);
    }
};
template <> struct unit<format_q4_1> : unit_of_32 {
    unsigned q[4];
    __device__ __forceinline__ unit(const unsigned char *b, int, unsigned)
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
    __device__ __forceinline__ unit(const unsigned char *b, int, unsigned shift)
    {
        d = unit_float(unit_half_words(b, shift, q));
    }
    static __device__ __forceinline__ int offset(int) { return -16; }
    template <int I> __device__ __forceinline__ int part(const int4 *x, int less) const
    {
        return unit_dot_fives(q + 1, q[0], x, less);
    }
};
template <> struct unit<format_q5_1> : unit_of_32 {
    unsigned q[5];
    __device__ __forceinline__ unit(const unsigned char *b, int, unsigned)
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
    __device__ __forceinline__ unit(const unsigned char *b, int, unsigned shift)
    {
        d = unit_float(unit_half_words(b, shift, q));
    }
};
template <> struct unit<format_q8_1> : unit_of_bytes {
    __device__ __forceinline__ unit(const unsigned char *b, int, unsigned)
    {
        const unsigned *from = (const unsigned *)b;
        d = unit_float(from[0] & 0xffff);
#pragma unroll
        for (int i = 0; i < 8; i++)
            q[i] = from[1 + i];
    }
};

/* Bytes of two words by the four lower nibbles of a selector; where a nibble is above 7, the sign of the byte
 * that the nibble less 8 names, in all bits. __byte_perm has no such signs. */
static __device__ __forceinline__ int unit_pick(unsigned low, unsigned high, unsigned by)
{
    int r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "r"(by));
    return r;
}
/* Zero, which compilers do not know: constants with it added stay in registers of their own, where they would be copied
 * there from registers of the warp before each use. */
static __device__ __forceinline__ unsigned unit_zero(void)
{
    unsigned lower, own;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lower));
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(own));
    return lower & own;
}
/* The products of the table's values of four nibbles. A value is the sum of two bytes. The first is the value itself in the
 * table's lower half, whose values are negative, and -1 in the upper half; the second is 0 in the lower half, and the value
 * and 1 in the upper half, whose values are positive. The second is found by nibbles whose highest bits are turned. */
static __device__ __forceinline__ int unit_looked_up(unsigned nibbles, unsigned zero, int x,
                                                     int sum)
{
    sum = __dp4a(unit_pick(0xbfad9881u + zero, 0xf6eaddcfu, nibbles), x, sum);
    return __dp4a(unit_pick(0x271a0e02u + zero, 0x725a4636u, nibbles ^ 0x8888u), x, sum);
}
template <> struct unit<format_iq4_nl> : unit_of_32 {
    static constexpr bool mixed = true;
    unsigned q[8]; /* four nibbles each */
    __device__ __forceinline__ unit(const unsigned char *b, int, unsigned shift)
    {
        const unsigned short *from = (const unsigned short *)(b + shift / 8);
        d = unit_float(from[0]);
#pragma unroll
        for (int i = 0; i < 8; i++)
            q[i] = from[1 + i];
    }
    template <int I> __device__ __forceinline__ int part(const int4 *x, int) const
    {
        const int words[8] = {x[0].x, x[0].y, x[0].z, x[0].w, x[1].x, x[1].y, x[1].z, x[1].w};
        const unsigned zero = unit_zero();
        int sum = 0;
#pragma unroll
        for (int i = 0; i < 8; i++)
            sum = unit_looked_up(q[i], zero, words[i], sum);
        return sum;
    }
};

#endif
