/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Spans that are one block of 256 elements, whose groups have scales of few bits (tile.cuh). */
#ifndef NDOCK_CUDA_QUANT_TILE_SUPER_CUH
#define NDOCK_CUDA_QUANT_TILE_SUPER_CUH
#include "quant/tile.cuh"

/* Products of fields of the i-th two bits of each byte with the i-th group of 32. */
static __device__ __forceinline__ void tile_pairs(const unsigned (&q)[4], const tile_half &x,
                                                  int (&dot)[4])
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        unsigned a[4];
        tile_mask(q, 0x03030303u << 2 * i, a);
        tile_multiply(dot, a, x.word[2 * i], x.word[2 * i + 1]);
    }
}
/* The same of single bits, from bit `first` on. */
static __device__ __forceinline__ void tile_bits(const unsigned (&q)[4], int first,
                                                 const tile_half &x, int (&dot)[4])
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        unsigned a[4];
        tile_mask(q, 0x01010101u << first + i, a);
        tile_multiply(dot, a, x.word[2 * i], x.word[2 * i + 1]);
    }
}

template <> struct tile<format_q2_K> {
    static constexpr bool mixed = false;
    typedef tile_half half;
    template <bool ODD>
    static __device__ __forceinline__ void add(const tile_lane<ODD> &lane, const tile_half (&x)[2],
                                               float (&sum)[2])
    {
        const int c = (int)threadIdx.x % 4;
        const float part = unit_part(2 * c);
        float all[2] = {0, 0}, low[2] = {0, 0};
#pragma unroll
        for (int j = 0; j < 2; j++) {
            unsigned q[4];
            int dot[4] = {0, 0, 0, 0};
            tile_words(lane, 16 + 32 * j, q);
            tile_pairs(q, x[j], dot);
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const unsigned both = lane.half(8 * j + 2 * c, r);
                const int all_of = dot[2 * r] * (int)(both & 15) +
                                   dot[2 * r + 1] * (int)(both >> 8 & 15),
                          low_of = x[j].sums[0] * (int)(both >> 4 & 15) +
                                   x[j].sums[1] * (int)(both >> 12);
                all[r] = __fmaf_rn(x[j].d * part, (float)all_of, all[r]);
                low[r] = __fmaf_rn(x[j].d, (float)low_of, low[r]);
            }
        }
#pragma unroll
        for (int r = 0; r < 2; r++) {
            sum[r] = __fmaf_rn(unit_float(lane.half(80, r)), all[r], sum[r]);
            sum[r] = __fmaf_rn(-unit_float(lane.half(82, r)), low[r], sum[r]);
        }
    }
};
template <> struct tile<format_q3_K> {
    static constexpr bool mixed = false;
    typedef tile_half half;
    /* A code is 4*(h - 1) and two bits, where h is one of the high bits. */
    template <bool ODD>
    static __device__ __forceinline__ void add(const tile_lane<ODD> &lane, const tile_half (&x)[2],
                                               float (&sum)[2])
    {
        const int c = (int)threadIdx.x % 4;
        const float part = unit_part(2 * c);
        unsigned high[4], scale[2][2];
        float all[2] = {0, 0};
        tile_words(lane, 0, high);
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const unsigned near = lane.half(96 + 2 * c, r),
                           far = lane.half(104 + c % 2 * 2, r) >> c / 2 * 2;
            scale[0][r] = (near & 0x0f0f) | (far << 4 & 0x3030);
            scale[1][r] = (near >> 4 & 0x0f0f) | (far & 0x3030);
        }
#pragma unroll
        for (int j = 0; j < 2; j++) {
            unsigned q[4];
            int dot[4] = {0, 0, 0, 0}, far[4] = {0, 0, 0, 0};
            tile_words(lane, 32 + 32 * j, q);
            tile_pairs(q, x[j], dot);
            tile_bits(high, 4 * j, x[j], far);
            /* From the bit's place, 4*j + c, to that of 4 in q, 2*c + 2. */
            const int up = j ? 1 << c : 4 << c;
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const int s0 = (int)(scale[j][r] & 255) - 32, s1 = (int)(scale[j][r] >> 8) - 32;
                const int d0 = dot[2 * r] + (j ? far[2 * r] >> 2 : far[2 * r]) * up -
                               (x[j].sums[0] << (2 * c + 2)),
                          d1 = dot[2 * r + 1] + (j ? far[2 * r + 1] >> 2 : far[2 * r + 1]) * up -
                               (x[j].sums[1] << (2 * c + 2));
                all[r] = __fmaf_rn(x[j].d * part, (float)(d0 * s0 + d1 * s1), all[r]);
            }
        }
#pragma unroll
        for (int r = 0; r < 2; r++)
            sum[r] = __fmaf_rn(unit_float(lane.half(108, r)), all[r], sum[r]);
    }
};
/* Of blocks with 6 bits of scales and of minima: each two groups of 32 have the nibbles of 32 bytes. */
struct tile_sixes {
    unsigned scale[2][2], min[2][2]; /* of groups c and 4 + c of both rows */
    template <bool ODD> __device__ __forceinline__ explicit tile_sixes(const tile_lane<ODD> &lane)
    {
        const int c = (int)threadIdx.x % 4;
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const unsigned near = lane.one(4 + c, r), least = lane.one(8 + c, r),
                           far = lane.one(12 + c, r);
            scale[0][r] = near & 63;
            scale[1][r] = (far & 15) | near >> 6 << 4;
            min[0][r] = least & 63;
            min[1][r] = far >> 4 | least >> 6 << 4;
        }
    }
};
/* Products of the nibbles of 64 bytes with half a span. */
template <bool ODD>
static __device__ __forceinline__ void tile_halves(const tile_lane<ODD> &lane, int byte,
                                                   const tile_half &x, int (&dot)[4])
{
#pragma unroll
    for (int k = 0; k < 2; k++) {
        unsigned q[4], a[4];
        tile_words(lane, byte + 32 * k, q);
        tile_mask(q, 0x0f0f0f0fu, a);
        tile_multiply(dot, a, x.word[4 * k], x.word[4 * k + 1]);
        tile_mask(q, 0xf0f0f0f0u, a);
        tile_multiply(dot, a, x.word[4 * k + 2], x.word[4 * k + 3]);
    }
}
/* FIFTHS: bytes of fifth bits before the nibbles, of whose bits the i-th belong to group i. */
template <typename F, int FIFTHS> struct tile_of_sixes {
    static constexpr bool mixed = false;
    typedef tile_half half;
    template <bool ODD>
    static __device__ __forceinline__ void add(const tile_lane<ODD> &lane, const tile_half (&x)[2],
                                               float (&sum)[2])
    {
        const int c = (int)threadIdx.x % 4, place = c % 2 * 4; /* of the nibbles of group c */
        const tile_sixes of(lane);
        float all[2] = {0, 0}, low[2] = {0, 0};
        unsigned high[4];
        if constexpr (FIFTHS > 0)
            tile_words(lane, 16, high);
#pragma unroll
        for (int j = 0; j < 2; j++) {
            int dot[4] = {0, 0, 0, 0}, fifth[4] = {0, 0, 0, 0};
            tile_halves(lane, 16 + FIFTHS + 64 * j, x[j], dot);
            if constexpr (FIFTHS > 0)
                tile_bits(high, 4 * j, x[j], fifth);
            const int up = j ? 4 << place >> c : 16 << place >> c;
#pragma unroll
            for (int r = 0; r < 2; r++) {
                int codes = dot[2 * r] + dot[2 * r + 1];
                if constexpr (FIFTHS > 0)
                    codes += (fifth[2 * r] + fifth[2 * r + 1] >> 2 * j) * up;
                all[r] = __fmaf_rn(x[j].d * unit_part(place), (float)(codes * (int)of.scale[j][r]),
                                   all[r]);
                low[r] = __fmaf_rn(x[j].d, (float)(x[j].sum * (int)of.min[j][r]), low[r]);
            }
        }
#pragma unroll
        for (int r = 0; r < 2; r++) {
            sum[r] = __fmaf_rn(unit_float(lane.half(0, r)), all[r], sum[r]);
            sum[r] = __fmaf_rn(-unit_float(lane.half(2, r)), low[r], sum[r]);
        }
    }
};
template <> struct tile<format_q4_K> : tile_of_sixes<format_q4_K, 0> {
};
template <> struct tile<format_q5_K> : tile_of_sixes<format_q5_K, 32> {
};
template <> struct tile<format_q6_K> {
    static constexpr bool mixed = false;
    typedef tile_half half;
    template <bool ODD>
    static __device__ __forceinline__ void add(const tile_lane<ODD> &lane, const tile_half (&x)[2],
                                               float (&sum)[2])
    {
        const int c = (int)threadIdx.x % 4, place = c / 2 * 4, up = c % 2 ? 4 : 16;
        const float part = unit_part(place);
        float all[2] = {0, 0};
#pragma unroll
        for (int j = 0; j < 2; j++) {
            unsigned q[2][4], high[4];
            int dot[4] = {0, 0, 0, 0}, far[4] = {0, 0, 0, 0};
            tile_words(lane, 64 * j, q[0]);
            tile_words(lane, 64 * j + 32, q[1]);
            tile_words(lane, 128 + 32 * j, high);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                unsigned a[4];
                tile_mask(q[i % 2], i < 2 ? 0x0f0f0f0fu : 0xf0f0f0f0u, a);
                tile_multiply(dot, a, x[j].word[2 * i], x[j].word[2 * i + 1]);
            }
            tile_pairs(high, x[j], far);
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const int scales = (int)lane.half(192 + 8 * j + 2 * c, r);
                const int d0 = dot[2 * r] + far[2 * r] * up - (x[j].sums[0] << (5 + place)),
                          d1 = dot[2 * r + 1] + far[2 * r + 1] * up - (x[j].sums[1] << (5 + place));
                all[r] = __fmaf_rn(
                    x[j].d * part,
                    (float)(d0 * (int)(int8_t)scales + d1 * (int)(int8_t)(scales >> 8)), all[r]);
            }
        }
#pragma unroll
        for (int r = 0; r < 2; r++)
            sum[r] = __fmaf_rn(unit_float(lane.half(208, r)), all[r], sum[r]);
    }
};
#endif
