/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Index arithmetic along lines, and states that move between the threads of a block. */
#ifndef NDOCK_CUDA_LINES_CUH
#define NDOCK_CUDA_LINES_CUH
#include "walk/lines.h"
#include "math/types.cuh"

#define LINE_FN static __device__ __forceinline__
#define LINE_MEMBER __device__ __forceinline__

/* Out of line: it is large and seldom wanted. */
static __device__ __noinline__ uint64_t line_quotient_wide(uint64_t n, uint64_t d)
{
    return n / d;
}
LINE_FN uint64_t line_quotient(uint64_t n, const line_dim &d)
{
    if (n >> 31 == 0 && d.shift != LINE_WIDE)
        return (__umulhi((uint32_t)n, d.magic) + (uint32_t)n) >> d.shift;
    return line_quotient_wide(n, (uint64_t)d.extent);
}

/* Offsets of position n among the dimensions, the innermost first. */
LINE_FN void line_offsets(const line_dim *dim, int ndim, uint64_t n, int64_t *in, int64_t *out)
{
    int64_t from = 0, to = 0;
#pragma unroll 1
    for (int d = 0; d < ndim; d++) {
        uint64_t above = d + 1 < ndim ? line_quotient(n, dim[d]) : 0;
        int64_t x = (int64_t)(n - above * (uint64_t)dim[d].extent);
        from += x * dim[d].in;
        to += x * dim[d].out;
        n = above;
    }
    *in = from;
    *out = to;
}

LINE_FN int64_t line_offset(const line_dim *dim, int ndim, uint64_t n)
{
    int64_t in, out;
    if (ndim == 1)
        return (int64_t)n * dim[0].in;
    line_offsets(dim, ndim, n, &in, &out);
    return in;
}

/* The state of the lane that is distance lanes below in the same group of width lanes. */
template <class S> LINE_FN S line_shuffle_down(S s, int distance, int width)
{
    union {
        S state;
        uint32_t word[sizeof(S) / 4];
    } u = {s};
    static_assert(sizeof(S) % 4 == 0, "states are whole words");
#pragma unroll
    for (int i = 0; i < (int)(sizeof(S) / 4); i++)
        u.word[i] = __shfl_down_sync(0xffffffffu, u.word[i], distance, width);
    return u.state;
}

template <class S> LINE_FN S line_shuffle_up(S s, int distance)
{
    union {
        S state;
        uint32_t word[sizeof(S) / 4];
    } u = {s};
    static_assert(sizeof(S) % 4 == 0, "states are whole words");
#pragma unroll
    for (int i = 0; i < (int)(sizeof(S) / 4); i++)
        u.word[i] = __shfl_up_sync(0xffffffffu, u.word[i], distance);
    return u.state;
}

/* Rounding a double once to what is stored: halves by way of a float rounded to odd (Boldo and
 * Melquiond, IEEE Trans. Comput. 2008). There is but one NaN. */
LINE_FN float line_round_odd(double v)
{
    float f = __double2float_rz(v);
    return (double)f == v ? f : __uint_as_float(__float_as_uint(f) | 1u);
}
LINE_FN double line_one_nan(double v)
{
    return v == v ? v : __longlong_as_double(0x7ff8000000000000ll);
}
LINE_FN void line_store(double *to, double v)
{
    *to = line_one_nan(v);
}
LINE_FN void line_store(float *to, double v)
{
    *to = v == v ? (float)v : __uint_as_float(0x7fc00000u);
}
LINE_FN void line_store(__half *to, double v)
{
    *to = v == v ? __float2half_rn(line_round_odd(v)) : __ushort_as_half(0x7e00);
}
LINE_FN void line_store(__nv_bfloat16 *to, double v)
{
    *to = v == v ? __float2bfloat16_rn(line_round_odd(v)) : __ushort_as_bfloat16(0x7fc0);
}

/* An integer as one of nbytes bytes, or as a bool. */
LINE_FN void line_store_int(void *base, int64_t at, int nbytes, int is_bool, uint64_t v)
{
    if (is_bool)
        ((uint8_t *)base)[at] = v != 0;
    else if (nbytes == 8)
        ((uint64_t *)base)[at] = v;
    else if (nbytes == 4)
        ((uint32_t *)base)[at] = (uint32_t)v;
    else if (nbytes == 2)
        ((uint16_t *)base)[at] = (uint16_t)v;
    else
        ((uint8_t *)base)[at] = (uint8_t)v;
}

#endif
