/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Vectors of quotients of integers, for divide_tmpl.h and the table of loops. */
#ifndef NDOCK_CPU_ELEMENTWISE_DIVIDE_H
#define NDOCK_CPU_ELEMENTWISE_DIVIDE_H
#include "elementwise/loops.h"
#ifdef __AVX2__
#include <immintrin.h>
#endif

__extension__ typedef unsigned __int128 ew_u128;

/* u / divisor == (u * factor + more) >> 32 >> shift; see divide_tmpl.h. */
typedef struct {
    uint32_t factor, more;
    int shift;
} ew_inverse_32;

/* Products of 32 bits are 64 bits wide, so those of even and odd elements are formed apart. */
#if CPU_ISA_LEVEL >= 2 && defined(__AVX512F__)
enum { EW_OVER_32 = 16 };
EW_INLINE void ew_over_32_step(const char *from, char *to, ew_inverse_32 v, uint32_t b,
                               int is_signed, int negative, int remainder)
{
    const __m512i a = _mm512_loadu_si512(from), zero = _mm512_setzero_si512();
    const __m512i factor = _mm512_set1_epi32((int32_t)v.factor), more = _mm512_set1_epi64(v.more);
    const __m128i shift = _mm_cvtsi32_si128(32 + v.shift);
    const __m512i n = negative ? _mm512_sub_epi32(zero, a) : a;
    const __m512i below = !is_signed ? zero
                          : negative ? _mm512_movm_epi32(_mm512_cmpgt_epi32_mask(a, zero))
                                     : _mm512_srai_epi32(a, 31);
    const __m512i u = _mm512_xor_si512(n, below);
    const __m512i even =
        _mm512_srl_epi64(_mm512_add_epi64(_mm512_mul_epu32(u, factor), more), shift);
    const __m512i odd = _mm512_srl_epi64(
        _mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(u, 32), factor), more), shift);
    __m512i q = _mm512_or_si512(even, _mm512_slli_epi64(odd, 32));
    q = _mm512_xor_si512(q, below);
    if (remainder)
        q = _mm512_sub_epi32(a, _mm512_mullo_epi32(q, _mm512_set1_epi32((int32_t)b)));
    _mm512_storeu_si512(to, q);
}
#elif defined(__AVX2__)
enum { EW_OVER_32 = 8 };
EW_INLINE void ew_over_32_step(const char *from, char *to, ew_inverse_32 v, uint32_t b,
                               int is_signed, int negative, int remainder)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)from), zero = _mm256_setzero_si256();
    const __m256i factor = _mm256_set1_epi32((int32_t)v.factor), more = _mm256_set1_epi64x(v.more);
    const __m128i shift = _mm_cvtsi32_si128(32 + v.shift);
    const __m256i n = negative ? _mm256_sub_epi32(zero, a) : a;
    const __m256i below = !is_signed ? zero
                          : negative ? _mm256_cmpgt_epi32(a, zero)
                                     : _mm256_srai_epi32(a, 31);
    const __m256i u = _mm256_xor_si256(n, below);
    const __m256i even =
        _mm256_srl_epi64(_mm256_add_epi64(_mm256_mul_epu32(u, factor), more), shift);
    const __m256i odd = _mm256_srl_epi64(
        _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(u, 32), factor), more), shift);
    __m256i q = _mm256_or_si256(even, _mm256_slli_epi64(odd, 32));
    q = _mm256_xor_si256(q, below);
    if (remainder)
        q = _mm256_sub_epi32(a, _mm256_mullo_epi32(q, _mm256_set1_epi32((int32_t)b)));
    _mm256_storeu_si256((__m256i *)to, q);
}
#endif

/* Whole vectors of them; returns how many elements that was. */
EW_INLINE int64_t ew_over_32(char *const *p, int64_t n, ew_inverse_32 v, uint32_t b, int is_signed,
                             int negative, int remainder)
{
    int64_t i = 0;
#ifdef __AVX2__
    for (; i + EW_OVER_32 <= n; i += EW_OVER_32)
        ew_over_32_step(p[0] + 4 * i, p[2] + 4 * i, v, b, is_signed, negative, remainder);
#else
    (void)p, (void)n, (void)v, (void)b, (void)is_signed, (void)negative, (void)remainder;
#endif
    return i;
}

/* The same of 8 and 16 bits, whose factor and more are as wide as their elements. */
typedef struct {
    uint32_t factor, more;
    int shift, is_signed, negative, remainder;
} ew_inverse_short;

#ifdef __AVX2__
/* (u * factor + more) >> 16 >> shift of 16 bits. The sum carries where the saturated one differs. */
EW_INLINE __m256i ew_over_16_of(__m256i u, ew_inverse_short v)
{
    const __m256i factor = _mm256_set1_epi16((int16_t)v.factor),
                  more = _mm256_set1_epi16((int16_t)v.more);
    const __m256i low = _mm256_mullo_epi16(u, factor), high = _mm256_mulhi_epu16(u, factor);
    const __m256i stays =
        _mm256_cmpeq_epi16(_mm256_add_epi16(low, more), _mm256_adds_epu16(low, more));
    const __m256i sum = _mm256_add_epi16(_mm256_sub_epi16(high, _mm256_set1_epi16(-1)), stays);
    return _mm256_srl_epi16(sum, _mm_cvtsi32_si128(v.shift));
}
EW_INLINE void ew_over_16_step(const char *from, char *to, ew_inverse_short v, uint32_t b)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)from), zero = _mm256_setzero_si256();
    const __m256i n = v.negative ? _mm256_sub_epi16(zero, a) : a;
    const __m256i below = !v.is_signed ? zero
                          : v.negative ? _mm256_cmpgt_epi16(a, zero)
                                       : _mm256_srai_epi16(a, 15);
    __m256i q = _mm256_xor_si256(ew_over_16_of(_mm256_xor_si256(n, below), v), below);
    if (v.remainder)
        q = _mm256_sub_epi16(a, _mm256_mullo_epi16(q, _mm256_set1_epi16((int16_t)b)));
    _mm256_storeu_si256((__m256i *)to, q);
}
/* Elements of 8 bits, each in the lower half of 16; a product and the sum fit in these. */
EW_INLINE __m256i ew_over_8_of(__m256i u, ew_inverse_short v)
{
    const __m256i product = _mm256_mullo_epi16(u, _mm256_set1_epi16((int16_t)v.factor));
    return _mm256_srl_epi16(_mm256_add_epi16(product, _mm256_set1_epi16((int16_t)v.more)),
                            _mm_cvtsi32_si128(8 + v.shift));
}
EW_INLINE void ew_over_8_step(const char *from, char *to, ew_inverse_short v, uint32_t b)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)from), zero = _mm256_setzero_si256();
    const __m256i n = v.negative ? _mm256_sub_epi8(zero, a) : a;
    const __m256i below = !v.is_signed ? zero
                          : v.negative ? _mm256_cmpgt_epi8(a, zero)
                                       : _mm256_cmpgt_epi8(zero, a);
    const __m256i u = _mm256_xor_si256(n, below);
    __m256i low = ew_over_8_of(_mm256_unpacklo_epi8(u, zero), v);
    __m256i high = ew_over_8_of(_mm256_unpackhi_epi8(u, zero), v);
    __m256i q = _mm256_xor_si256(_mm256_packus_epi16(low, high), below);
    if (v.remainder) {
        const __m256i by = _mm256_set1_epi16((int16_t)b), byte = _mm256_set1_epi16(255);
        low = _mm256_mullo_epi16(_mm256_unpacklo_epi8(q, zero), by);
        high = _mm256_mullo_epi16(_mm256_unpackhi_epi8(q, zero), by);
        q = _mm256_packus_epi16(_mm256_and_si256(low, byte), _mm256_and_si256(high, byte));
        q = _mm256_sub_epi8(a, q);
    }
    _mm256_storeu_si256((__m256i *)to, q);
}
#endif

/* Whole vectors of elements of 8 or 16 bits; returns how many elements that was. */
EW_INLINE int64_t ew_over_short(char *const *p, int64_t n, int bits, ew_inverse_short v, uint32_t b)
{
    int64_t i = 0;
#ifdef __AVX2__
    for (; bits == 8 && i + 32 <= n; i += 32)
        ew_over_8_step(p[0] + i, p[2] + i, v, b);
    for (; bits == 16 && i + 16 <= n; i += 16)
        ew_over_16_step(p[0] + 2 * i, p[2] + 2 * i, v, b);
#else
    (void)p, (void)n, (void)bits, (void)v, (void)b;
#endif
    return i;
}

/* The same of 64 bits. */
typedef struct {
    uint64_t factor, more;
    int shift, is_signed, negative, remainder;
} ew_inverse_64;

#ifdef __AVX2__
/* (u * factor + more) >> 64 >> shift by products of halves; no sum of them leaves 64 bits. */
EW_INLINE __m256i ew_over_64_of(__m256i u, ew_inverse_64 v)
{
    const __m256i low = _mm256_set1_epi64x((int64_t)v.factor),
                  high = _mm256_set1_epi64x((int64_t)(v.factor >> 32)),
                  more_low = _mm256_set1_epi64x((int64_t)(v.more & UINT32_MAX)),
                  more_high = _mm256_set1_epi64x((int64_t)(v.more >> 32)),
                  half = _mm256_set1_epi64x(UINT32_MAX);
    const __m256i top = _mm256_srli_epi64(u, 32);
    __m256i sum = _mm256_add_epi64(_mm256_mul_epu32(u, low), more_low), next;
    sum = _mm256_add_epi64(_mm256_srli_epi64(sum, 32), more_high);
    sum = _mm256_add_epi64(_mm256_mul_epu32(top, low), sum);
    next = _mm256_add_epi64(_mm256_mul_epu32(u, high), _mm256_and_si256(sum, half));
    next = _mm256_add_epi64(_mm256_srli_epi64(next, 32), _mm256_srli_epi64(sum, 32));
    next = _mm256_add_epi64(_mm256_mul_epu32(top, high), next);
    return _mm256_srl_epi64(next, _mm_cvtsi32_si128(v.shift));
}
EW_INLINE __m256i ew_product_64(__m256i a, __m256i b)
{
    const __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b),
                                           _mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)));
    return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(cross, 32));
}
EW_INLINE void ew_over_64_step(const char *from, char *to, ew_inverse_64 v, uint64_t b)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)from), zero = _mm256_setzero_si256();
    const __m256i n = v.negative ? _mm256_sub_epi64(zero, a) : a;
    const __m256i below = !v.is_signed ? zero
                          : v.negative ? _mm256_cmpgt_epi64(a, zero)
                                       : _mm256_cmpgt_epi64(zero, a);
    __m256i q = _mm256_xor_si256(ew_over_64_of(_mm256_xor_si256(n, below), v), below);
    if (v.remainder)
        q = _mm256_sub_epi64(a, ew_product_64(q, _mm256_set1_epi64x((int64_t)b)));
    _mm256_storeu_si256((__m256i *)to, q);
}
#endif

/* Whole vectors of elements of 64 bits; returns how many elements that was. */
EW_INLINE int64_t ew_over_64(char *const *p, int64_t n, ew_inverse_64 v, uint64_t b)
{
    int64_t i = 0;
#ifdef __AVX2__
    for (; i + 4 <= n; i += 4)
        ew_over_64_step(p[0] + 8 * i, p[2] + 8 * i, v, b);
#else
    (void)p, (void)n, (void)v, (void)b;
#endif
    return i;
}

/* Quotients in double, eight at a time: they are exact enough, for the distance of a quotient that
 * is not whole from the next integer is at least 1/|b|, far more than rounding moves it. */
#ifdef __AVX2__
EW_INLINE __m128i floor_quotients_4(__m128i a, __m128i b)
{
    __m256d q = _mm256_div_pd(_mm256_cvtepi32_pd(a), _mm256_cvtepi32_pd(b));
    return _mm256_cvttpd_epi32(_mm256_floor_pd(q));
}
/* 0 where none is set: b is 0. By -1 the least leaves the range and wraps. */
EW_INLINE __m256i floor_quotients(__m256i a, __m256i b, __m256i none)
{
    __m256i turns = _mm256_cmpeq_epi32(b, _mm256_set1_epi32(-1));
    __m256i by = _mm256_sub_epi32(b, none); /* 1 for 0 */
    __m128i low = floor_quotients_4(_mm256_castsi256_si128(a), _mm256_castsi256_si128(by));
    __m128i high =
        floor_quotients_4(_mm256_extracti128_si256(a, 1), _mm256_extracti128_si256(by, 1));
    __m256i q = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    q = _mm256_blendv_epi8(q, _mm256_sub_epi32(_mm256_setzero_si256(), a), turns);
    return _mm256_andnot_si256(none, q);
}
#endif

/* Whole vectors of quotients, or remainders, of int32 by divisors that differ; returns how many
 * elements that was. */
EW_INLINE int64_t ew_quotients_i32(char *const *p, int64_t n, int remainder)
{
    int64_t i = 0;
#ifdef __AVX2__
    for (; i + 8 <= n; i += 8) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(p[0] + 4 * i));
        __m256i b = _mm256_loadu_si256((const __m256i *)(p[1] + 4 * i));
        __m256i none = _mm256_cmpeq_epi32(b, _mm256_setzero_si256());
        __m256i q = floor_quotients(a, b, none);
        if (remainder)
            q = _mm256_andnot_si256(none, _mm256_sub_epi32(a, _mm256_mullo_epi32(q, b)));
        _mm256_storeu_si256((__m256i *)(p[2] + 4 * i), q);
    }
#else
    (void)p, (void)n, (void)remainder;
#endif
    return i;
}
#endif
