/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Vectors of doubles for functions of floats, where compilers make less of a loop: they convert half of
 * a vector of floats behind a shuffle, and look nothing up in a vector. EW_LANES elements each; operators
 * are those of C. Nothing where there is no AVX2. */
#ifndef NDOCK_CPU_ELEMENTWISE_LANES_H
#define NDOCK_CPU_ELEMENTWISE_LANES_H
#include "elementwise/loops.h"
#include "math/pow.h"
#ifdef __AVX2__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { EW_LANES = 8 };
typedef __m512d ew_lanes;
EW_INLINE ew_lanes ew_lanes_all(double x)
{
    return _mm512_set1_pd(x);
}
EW_INLINE ew_lanes ew_lanes_floats(const float *x)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(x));
}
EW_INLINE ew_lanes ew_lanes_ints(const int32_t *x)
{
    return _mm512_cvtepi32_pd(_mm256_loadu_si256((const __m256i *)x));
}
EW_INLINE ew_lanes ew_lanes_two_vectors(const void *table, __m512i row)
{
    return _mm512_permutex2var_pd(_mm512_loadu_pd(table), row,
                                  _mm512_loadu_pd((const char *)table + 64));
}
EW_INLINE ew_lanes ew_lanes_rows(const double *table, const uint32_t *row)
{
    const __m256i rows = _mm256_loadu_si256((const __m256i *)row);
    return ew_lanes_two_vectors(table, _mm512_cvtepu32_epi64(rows));
}
/* NaN stays. */
EW_INLINE ew_lanes ew_lanes_limited(ew_lanes x, double most)
{
    return _mm512_max_pd(_mm512_set1_pd(-most), _mm512_min_pd(_mm512_set1_pd(most), x));
}
EW_INLINE ew_lanes ew_lanes_within(const double *t, double most)
{
    return ew_lanes_limited(_mm512_loadu_pd(t), most);
}
/* 2^(n/16) for the integer n that the magic number left in the low bits */
EW_INLINE ew_lanes ew_lanes_two_to(ew_lanes shifted)
{
    const __m512i n = _mm512_castpd_si512(shifted);
    const __m512i row = _mm512_castpd_si512(ew_lanes_two_vectors(vm_pow_exp2, n));
    return _mm512_castsi512_pd(_mm512_add_epi64(row, _mm512_slli_epi64(n, 48)));
}
EW_INLINE void ew_lanes_store(float *to, ew_lanes x)
{
    _mm256_storeu_ps(to, _mm512_cvtpd_ps(x));
}
/* r, with its sign turned where that integer is odd */
EW_INLINE ew_lanes ew_lanes_turned(ew_lanes r, ew_lanes shifted)
{
    const __m512i sign = _mm512_slli_epi64(_mm512_castpd_si512(shifted), 63);
    return _mm512_castsi512_pd(_mm512_xor_si512(_mm512_castpd_si512(r), sign));
}
#elif defined(__AVX2__)
enum { EW_LANES = 4 };
typedef __m256d ew_lanes;
EW_INLINE ew_lanes ew_lanes_all(double x)
{
    return _mm256_set1_pd(x);
}
EW_INLINE ew_lanes ew_lanes_floats(const float *x)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(x));
}
EW_INLINE ew_lanes ew_lanes_ints(const int32_t *x)
{
    return _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)x));
}
/* One by one, which takes less than gathering them. */
EW_INLINE ew_lanes ew_lanes_rows(const double *table, const uint32_t *row)
{
    return _mm256_set_pd(table[row[3] & 15], table[row[2] & 15], table[row[1] & 15],
                         table[row[0] & 15]);
}
EW_INLINE ew_lanes ew_lanes_limited(ew_lanes x, double most)
{
    return _mm256_max_pd(_mm256_set1_pd(-most), _mm256_min_pd(_mm256_set1_pd(most), x));
}
EW_INLINE ew_lanes ew_lanes_within(const double *t, double most)
{
    return ew_lanes_limited(_mm256_loadu_pd(t), most);
}
EW_INLINE ew_lanes ew_lanes_two_to(ew_lanes shifted)
{
    const __m256i n = _mm256_castpd_si256(shifted);
    uint64_t at[4];
    _mm256_storeu_si256((__m256i *)at, n);
    for (int i = 0; i < 4; i++)
        at[i] = vm_pow_exp2[at[i] & 15];
    const __m256i row =
        _mm256_set_epi64x((int64_t)at[3], (int64_t)at[2], (int64_t)at[1], (int64_t)at[0]);
    return _mm256_castsi256_pd(_mm256_add_epi64(row, _mm256_slli_epi64(n, 48)));
}
EW_INLINE ew_lanes ew_lanes_turned(ew_lanes r, ew_lanes shifted)
{
    const __m256i sign = _mm256_slli_epi64(_mm256_castpd_si256(shifted), 63);
    return _mm256_castsi256_pd(_mm256_xor_si256(_mm256_castpd_si256(r), sign));
}
EW_INLINE void ew_lanes_store(float *to, ew_lanes x)
{
    _mm_storeu_ps(to, _mm256_cvtpd_ps(x));
}
#endif
#endif
