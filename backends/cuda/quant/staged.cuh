/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What 32 codes of a row in shared memory add to a sum, there where blocks lie at even addresses. Formats
 * that are bound by instructions have ways of their own, with the same bits: a field of each byte is masked,
 * not moved, and its products are shifted instead; what codes are less by is taken from the sum. */
#ifndef NDOCK_CUDA_QUANT_STAGED_CUH
#define NDOCK_CUDA_QUANT_STAGED_CUH
#include "quant/format.cuh"

/* a's 32 codes of 8 bits, what they count, and d times the sums of their halves. */
struct staged_x {
    int4 half[2];
    float d;
    float2 low;
};

/* The products of four unsigned bytes with four signed ones, added to sum. */
static __device__ __forceinline__ int staged_dot(unsigned codes, int x, int sum)
{
    int r;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(codes), "r"(x), "r"(sum));
    return r;
}
template <class F> static __device__ __forceinline__ int staged_four(const int4 &x, const F &word)
{
    int dot = staged_dot(word(0), x.x, 0);
    dot = staged_dot(word(1), x.y, dot);
    dot = staged_dot(word(2), x.z, dot);
    return staged_dot(word(3), x.w, dot);
}
static __device__ __forceinline__ int staged_sum(const int4 &x)
{
    return staged_four(x, [](int) { return 0x01010101u; });
}

/* N words from an even address on, of which one more is read. */
template <int N> struct staged_words {
    unsigned word[N];
    __device__ __forceinline__ staged_words(const unsigned char *bytes)
    {
        const unsigned odd = (unsigned)(uintptr_t)bytes & 2, shift = odd * 8;
        const unsigned *from = (const unsigned *)(bytes - odd);
        unsigned next[N + 1];
#pragma unroll
        for (int i = 0; i <= N; i++)
            next[i] = from[i];
#pragma unroll
        for (int i = 0; i < N; i++)
            word[i] = __funnelshift_r(next[i], next[i + 1], shift);
    }
};
static __device__ __forceinline__ unsigned staged_pair(const unsigned char *bytes)
{
    return *(const unsigned short *)bytes;
}
static __device__ __forceinline__ float staged_half(unsigned bits)
{
    return __half2float(__ushort_as_half((unsigned short)bits));
}

template <typename F> struct staged_group {
    static __device__ __forceinline__ void add(const unsigned char *b, int g, const staged_x &x,
                                               float &sum)
    {
        int w[8];
        packed<F>::codes(b, g, w);
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int4 four = x.half[h];
            int dot = __dp4a(w[4 * h], four.x, 0);
            dot = __dp4a(w[4 * h + 1], four.y, dot);
            dot = __dp4a(w[4 * h + 2], four.z, dot);
            dot = __dp4a(w[4 * h + 3], four.w, dot);
            sum += F::scale(b, 2 * g + h) * x.d * (float)dot;
            if (F::has_min)
                sum += F::min(b, 2 * g + h) * (h ? x.low.y : x.low.x);
        }
    }
};

template <> struct staged_group<format_q4_0> {
    static __device__ __forceinline__ void add(const unsigned char *b, int, const staged_x &x,
                                               float &sum)
    {
        const staged_words<4> q(b + 2);
        const float scale = staged_half(staged_pair(b));
        const int dot[2] = {
            staged_four(x.half[0], [&](int i) { return q.word[i] & 0x0f0f0f0fu; }),
            staged_four(x.half[1], [&](int i) { return q.word[i] & 0xf0f0f0f0u; }) >> 4};
#pragma unroll
        for (int h = 0; h < 2; h++)
            sum += scale * x.d * (float)(dot[h] - 8 * staged_sum(x.half[h]));
    }
};

template <> struct staged_group<format_q4_K> {
    static __device__ __forceinline__ void add(const unsigned char *b, int g, const staged_x &x,
                                               float &sum)
    {
        const uint4 head = *(const uint4 *)b, *q = (const uint4 *)(b + 16 + 32 * (g / 2));
        const int shift = g % 2 * 4, at = g % 4 * 8;
        const unsigned mask = 0x0f0f0f0fu << shift;
        const unsigned first = head.y >> at & 255, second = head.z >> at & 255,
                       third = head.w >> at & 255;
        const unsigned six = g < 4 ? first & 63 : (third & 15) | first >> 6 << 4;
        const unsigned low = g < 4 ? second & 63 : third >> 4 | second >> 6 << 4;
        const float scale = staged_half(head.x & 0xffff) * (float)six;
        const float min = -(staged_half(head.x >> 16) * (float)low);
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const uint4 v = q[h];
            const unsigned word[4] = {v.x & mask, v.y & mask, v.z & mask, v.w & mask};
            const int dot = staged_four(x.half[h], [&](int i) { return word[i]; }) >> shift;
            sum += scale * x.d * (float)dot;
            sum += min * (h ? x.low.y : x.low.x);
        }
    }
};

template <> struct staged_group<format_q2_K> {
    static __device__ __forceinline__ void add(const unsigned char *b, int g, const staged_x &x,
                                               float &sum)
    {
        const unsigned *q = (const unsigned *)(b + 16 + 32 * (g / 4));
        const unsigned both = *(const unsigned *)(b + 80), fields = staged_pair(b + 2 * g);
        const int shift = g % 4 * 2;
        const unsigned mask = 0x03030303u << shift;
        const float d = staged_half(both & 0xffff), least = staged_half(both >> 16);
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int dot =
                staged_four(x.half[h], [&](int i) { return q[4 * h + i] & mask; }) >> shift;
            sum += d * (float)(fields >> 8 * h & 15) * x.d * (float)dot;
            sum += -(least * (float)(fields >> (8 * h + 4) & 15)) * (h ? x.low.y : x.low.x);
        }
    }
};

template <> struct staged_group<format_q3_K> {
    static __device__ __forceinline__ void add(const unsigned char *b, int g, const staged_x &x,
                                               float &sum)
    {
        const staged_words<8> low(b + 32 + 32 * (g / 4)), high(b);
        const unsigned near = staged_pair(b + 96 + g % 4 * 2) >> g / 4 * 4;
        const unsigned far = staged_pair(b + 104 + g % 2 * 2) >> g / 2 * 2;
        const float d = staged_half(staged_pair(b + 108));
        const int shift = g % 4 * 2;
        const unsigned two = 0x03030303u << shift, one = 0x01010101u << g;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int dot =
                (staged_four(x.half[h], [&](int i) { return low.word[4 * h + i] & two; }) >>
                 shift) +
                (staged_four(x.half[h], [&](int i) { return high.word[4 * h + i] & one; }) >> g) *
                    4 -
                4 * staged_sum(x.half[h]);
            const int six = (int)((near >> 8 * h & 15) | (far >> 8 * h & 3) << 4);
            sum += d * (float)(six - 32) * x.d * (float)dot;
        }
    }
};

#endif
