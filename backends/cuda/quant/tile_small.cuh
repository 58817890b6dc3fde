/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Spans of blocks of 32 elements (tile.cuh). */
#ifndef NDOCK_CUDA_QUANT_TILE_SMALL_CUH
#define NDOCK_CUDA_QUANT_TILE_SMALL_CUH
#include "quant/tile.cuh"

/* Half a span has four blocks. dots() leaves in a thread the products of block lane % 4 with a's codes, 1/share
 * times, of both rows. */
template <typename F> struct tile_of_32 {
    static constexpr bool mixed = false;
    static constexpr float share = 1;
    typedef tile_half half;
    template <bool ODD, typename H>
    static __device__ __forceinline__ void add(const tile_lane<ODD> &lane, const H (&x)[2],
                                               float (&sum)[2])
    {
        const int c = (int)threadIdx.x % 4;
#pragma unroll
        for (int j = 0; j < 2; j++) {
            const float d = x[j].d * tile<F>::share, low = x[j].d * (float)x[j].sum;
            int dot[2];
            tile<F>::dots(lane, 4 * j * F::nbytes, x[j], dot);
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const int at = (4 * j + c) * F::nbytes;
                sum[r] = __fmaf_rn(unit_float(lane.half(at, r)), d * (float)dot[r], sum[r]);
                if constexpr (F::has_min)
                    sum[r] = __fmaf_rn(unit_float(lane.half(at + 2, r)), low, sum[r]);
            }
        }
    }
};

/* The nibbles of 16 bytes of both rows where they lie: those of elements 0 to 15 of a group, then those of 16 to 31, which
 * count 16 times. */
template <bool ODD>
static __device__ __forceinline__ void tile_nibbles(const tile_lane<ODD> &lane, int byte,
                                                    unsigned (&a)[4])
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const unsigned q = lane.word(byte, r);
        a[r] = q & 0x0f0f0f0fu;
        a[r + 2] = q & 0xf0f0f0f0u;
    }
}
/* Blocks of HEAD bytes and codes of 4 bits that are LESS more than they should be. */
template <typename F, int HEAD, int LESS> struct tile_of_fours : tile_of_32<F> {
    static constexpr float share = 0x1p-4f;
    template <bool ODD>
    static __device__ __forceinline__ void dots(const tile_lane<ODD> &lane, int at,
                                                const tile_half &x, int (&dot)[2])
    {
        int sum[4] = {0, 0, 0, 0};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            unsigned a[4];
            tile_nibbles(lane, at + i * F::nbytes + HEAD, a);
            tile_multiply(sum, a, x.word[2 * i], x.word[2 * i + 1]);
        }
#pragma unroll
        for (int r = 0; r < 2; r++)
            dot[r] = 16 * sum[2 * r] + sum[2 * r + 1] - 16 * LESS * x.sum;
    }
};
template <> struct tile<format_q4_0> : tile_of_fours<format_q4_0, 2, 8> {
};
template <> struct tile<format_q4_1> : tile_of_fours<format_q4_1, 4, 0> {
};

/* The same with a word of fifth bits between. Bits c, c + 8, c + 16 and c + 24 of it are one word of a matrix, and
 * those 4 further on another, 16 times, for products with a's codes in that order. */
template <typename F, int HEAD, int LESS> struct tile_of_fives : tile_of_32<F> {
    static constexpr float share = 0x1p-4f;
    typedef tile_half_bits half;
    template <bool ODD>
    static __device__ __forceinline__ void dots(const tile_lane<ODD> &lane, int at,
                                                const tile_half_bits &x, int (&dot)[2])
    {
        const int c = (int)threadIdx.x % 4;
        int sum[4] = {0, 0, 0, 0}, fifths[4] = {0, 0, 0, 0};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            unsigned a[4], bits[4];
            tile_nibbles(lane, at + i * F::nbytes + HEAD + 4, a);
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const unsigned all = lane.whole(at + i * F::nbytes + HEAD, r) >> c;
                bits[r] = all & 0x01010101u;
                bits[r + 2] = all & 0x10101010u;
            }
            tile_multiply(sum, a, x.word[2 * i], x.word[2 * i + 1]);
            tile_multiply(fifths, bits, x.bits[2 * i], x.bits[2 * i + 1]);
        }
#pragma unroll
        for (int r = 0; r < 2; r++)
            dot[r] = 16 * (sum[2 * r] + 16 * fifths[2 * r] + fifths[2 * r + 1]) + sum[2 * r + 1] -
                     16 * LESS * x.sum;
    }
};
template <> struct tile<format_q5_0> : tile_of_fives<format_q5_0, 2, 16> {
};
template <> struct tile<format_q5_1> : tile_of_fives<format_q5_1, 4, 0> {
};

/* Codes of 8 bits. */
template <typename F, int HEAD> struct tile_of_bytes : tile_of_32<F> {
    template <bool ODD>
    static __device__ __forceinline__ void dots(const tile_lane<ODD> &lane, int at,
                                                const tile_half &x, int (&dot)[2])
    {
        int sum[4] = {0, 0, 0, 0};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            unsigned a[4];
            tile_words(lane, at + i * F::nbytes + HEAD, a);
            tile_multiply_signed(sum, a, x.word[2 * i], x.word[2 * i + 1]);
        }
#pragma unroll
        for (int r = 0; r < 2; r++)
            dot[r] = sum[2 * r] + sum[2 * r + 1];
    }
};
template <> struct tile<format_q8_0> : tile_of_bytes<format_q8_0, 2> {
};
template <> struct tile<format_q8_1> : tile_of_bytes<format_q8_1, 4> {
};

/* Values of a table of 16, each the sum of two bytes (unit.cuh), which two products add. */
template <> struct tile<format_iq4_nl> : tile_of_32<format_iq4_nl> {
    static constexpr bool mixed = true;
    template <bool ODD>
    static __device__ __forceinline__ void dots(const tile_lane<ODD> &lane, int at,
                                                const tile_half &x, int (&dot)[2])
    {
        const int c = (int)threadIdx.x % 4;
        const unsigned zero = unit_zero();
        int sum[4] = {0, 0, 0, 0};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            unsigned low[4], high[4];
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const unsigned nibbles = lane.half(at + 18 * i + 2 + 4 * c + k / 2 * 2, k % 2);
                low[k] = (unsigned)unit_pick(0xbfad9881u + zero, 0xf6eaddcfu, nibbles);
                high[k] = (unsigned)unit_pick(0x271a0e02u + zero, 0x725a4636u, nibbles ^ 0x8888u);
            }
            tile_multiply_signed(sum, low, x.word[2 * i], x.word[2 * i + 1]);
            tile_multiply_signed(sum, high, x.word[2 * i], x.word[2 * i + 1]);
        }
#pragma unroll
        for (int r = 0; r < 2; r++)
            dot[r] = sum[2 * r] + sum[2 * r + 1];
    }
};
#endif
