/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Rows of a as codes of 8 bits in shared memory, as products of few rows want them. */
#ifndef NDOCK_CUDA_QUANT_ROUNDED_CUH
#define NDOCK_CUDA_QUANT_ROUNDED_CUH
#include "quant/round.cuh"
#include "quant/super.cuh"

/* 32 units of a row, which a warp takes at once, are a turn: piece k of 16 codes of the i-th group of each, so that
 * the warp reads one line, and then, group by group, d and the sum of codes of each unit's part of the group: times
 * offset(i), and where the format has minima, d times it. */
struct few_sum {
    float d;
    int sum; /* bits of a float where the format has minima */
};
template <typename F> struct few_row {
    using U = unit<F>;
    static constexpr int pieces = U::groups * U::pieces, elements = 16 * pieces, /* of a unit */
        sums = 512 * pieces, turn = sums + 256 * U::groups;                      /* bytes */
    unsigned char *const at;
    __device__ __forceinline__ explicit few_row(unsigned char *codes) : at(codes) {}
    /* Of unit u. */
    __device__ __forceinline__ int4 *codes(int u) const
    {
        return (int4 *)(at + u / 32 * turn) + u % 32;
    }
    __device__ __forceinline__ few_sum *first_sum(int u) const
    {
        return (few_sum *)(at + u / 32 * turn + sums) + u % 32;
    }
};

/* 16 codes of a thread, as bytes of words, to where they belong: of elements 16*half and on. The other half of
 * their group of 32 is the next thread's, or that before. */
template <typename F>
static __device__ __forceinline__ void few_place(const few_row<F> &row, int half,
                                                 unsigned (&codes)[4], float d, int sum,
                                                 bool inside)
{
    using U = unit<F>;
    const int g = half / 2, h = half % 2;
    constexpr bool halves = U::pieces == 1;
    const int u = U::units == 2 ? g / 8 * 2 + h
                  : halves      ? g / 8 * 4 + g / 4 % 2 * 2 + h
                                : g / U::groups,
              group = g % U::groups;
    if (!halves)
        sum += __shfl_xor_sync(~0u, sum, 1);
#pragma unroll
    for (int w = 0; w < (U::mixed ? 4 : 0); w++) {
        const unsigned other = __shfl_xor_sync(~0u, codes[w], 1);
        codes[w] = h ? __byte_perm(other, codes[w], 0x7362) : __byte_perm(codes[w], other, 0x5140);
    }
    if (!inside)
        return;
    int4 *const to = row.codes(u) + group * U::pieces * 32;
#pragma unroll
    for (int w = 0; w < (U::mixed ? 4 : 0); w++)
        ((unsigned *)(to + w / 2 * 32))[w % 2 * 2 + h] = codes[w];
    if (!U::mixed)
        to[halves ? 0 : h * 32] = int4{(int)codes[0], (int)codes[1], (int)codes[2], (int)codes[3]};
    if (halves || h == 0)
        row.first_sum(u)[group * 32] =
            few_sum{d * U::share(group),
                    F::has_min ? __float_as_int(d * (float)sum) : sum * U::offset(group)};
}

/* Elements 16*half and on of row m of a, zeros beyond its end: as they lie in memory, of f64 as f32, so that
 * nothing waits for them here. */
static __device__ __forceinline__ void few_load(const quant_params &p, int64_t m, int half,
                                                uint4 (&raw)[4])
{
    const int64_t i = m * p.n + half * 16;
#pragma unroll
    for (int k = 0; k < 4; k++)
        raw[k] = uint4{0, 0, 0, 0};
    if (half * 16 >= p.n)
        return;
    if (p.dtype == NDP_F64) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            raw[k] = uint4{__float_as_uint(load(p.a, p.dtype, i + 4 * k)),
                           __float_as_uint(load(p.a, p.dtype, i + 4 * k + 1)),
                           __float_as_uint(load(p.a, p.dtype, i + 4 * k + 2)),
                           __float_as_uint(load(p.a, p.dtype, i + 4 * k + 3))};
        return;
    }
    const bool half_type = p.dtype != NDP_F32;
    const uint4 *from = (const uint4 *)(p.a + (uint64_t)i * (half_type ? 2 : 4));
    raw[0] = from[0];
    raw[1] = from[1];
    if (half_type)
        return;
    raw[2] = from[2];
    raw[3] = from[3];
}
/* Halves of four words as floats. */
template <bool BRAIN> static __device__ __forceinline__ void few_halves(const uint4 &raw, float *x)
{
    const unsigned word[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float2 pair =
            BRAIN ? float2{__uint_as_float(word[k] << 16), __uint_as_float(word[k] & 0xffff0000u)}
                  : __half22float2(*(const __half2 *)&word[k]);
        x[2 * k] = pair.x;
        x[2 * k + 1] = pair.y;
    }
}
static __device__ __forceinline__ void few_values(int32_t dtype, const uint4 (&raw)[4],
                                                  float (&x)[16])
{
    if (dtype == NDP_F16) {
        few_halves<false>(raw[0], x);
        few_halves<false>(raw[1], x + 8);
    } else if (dtype == NDP_BF16) {
        few_halves<true>(raw[0], x);
        few_halves<true>(raw[1], x + 8);
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            x[4 * k] = __uint_as_float(raw[k].x);
            x[4 * k + 1] = __uint_as_float(raw[k].y);
            x[4 * k + 2] = __uint_as_float(raw[k].z);
            x[4 * k + 3] = __uint_as_float(raw[k].w);
        }
    }
}

/* A thread rounds 16 elements. */
template <typename F>
static __device__ __forceinline__ void few_round_half(const quant_params &p, const uint4 (&raw)[4],
                                                      int half, const few_row<F> &row)
{
    float x[16], most = 0, finite = 0; /* NaN where one element is not finite */
    few_values(p.dtype, raw, x);
#pragma unroll
    for (int k = 0; k < 16; k++) {
        most = fmaxf(most, fabsf(x[k]));
        finite = __fmaf_rn(x[k], 0, finite);
    }
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
    finite += __shfl_xor_sync(~0u, finite, 1);
    const float d = finite == 0 ? most / 127 : NAN, inverse = inverse_of(d);
    unsigned codes[4];
    int sum = 0;
#pragma unroll
    for (int w = 0; w < 4; w++) {
        const int c[4] = {code_of(x[4 * w] * inverse), code_of(x[4 * w + 1] * inverse),
                          code_of(x[4 * w + 2] * inverse), code_of(x[4 * w + 3] * inverse)};
        codes[w] = __byte_perm(__byte_perm((unsigned)c[0], (unsigned)c[1], 0x0040),
                               __byte_perm((unsigned)c[2], (unsigned)c[3], 0x0040), 0x5410);
        sum = __dp4a((int)codes[w], 0x01010101, sum);
    }
    few_place<F>(row, half, codes, d, sum, half * 16 < p.n);
}

/* Rounds M rows of a, of which `raw` has a thread's first elements; the next ones are read meanwhile. */
template <typename F, int M>
static __device__ __forceinline__ void few_round(const quant_params &p, int64_t first,
                                                 unsigned char *rounded, uint4 (&raw)[4])
{
    const int threads = (int)blockDim.x, turns = ((int)(p.n / 16) + threads - 1) / threads;
    int m = 0, half = (int)threadIdx.x;
#pragma unroll 1
    for (int turn = M * turns; turn > 0; turn--) {
        const bool last = half + threads >= turns * threads;
        const int next = last ? m + 1 : m, after = last ? (int)threadIdx.x : half + threads;
        uint4 then[4] = {};
        if (turn > 1)
            few_load(p, first + next < p.m ? first + next : p.m - 1, after, then);
        /* A warp without elements rounds nothing. */
        if (half / 32 * 512 < p.n)
            few_round_half<F>(p, raw, half, few_row<F>(rounded + m * p.rounded));
#pragma unroll
        for (int k = 0; k < 4; k++)
            raw[k] = then[k];
        m = next;
        half = after;
    }
}

#endif
