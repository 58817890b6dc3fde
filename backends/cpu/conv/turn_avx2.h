/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Squares of words of 32 bits, rows as columns: of 8 by 8 with AVX2, of 16 by 16 with AVX-512. Included by conv_isa.c. */
#include <immintrin.h>

/* Pairs, then fours of rows, whose columns 4*lane + j the result's vector j of each four has. */
static inline void cv_turn_eight(const void *from_, int64_t from_step, void *to_, int64_t to_step)
{
    const float *from = from_;
    float *to = to_;
    __m256 r[8], four[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        r[i] = _mm256_loadu_ps(from + i * from_step);
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        const __m256d low = _mm256_castps_pd(_mm256_unpacklo_ps(r[i], r[i + 1])),
                      low2 = _mm256_castps_pd(_mm256_unpacklo_ps(r[i + 2], r[i + 3])),
                      high = _mm256_castps_pd(_mm256_unpackhi_ps(r[i], r[i + 1])),
                      high2 = _mm256_castps_pd(_mm256_unpackhi_ps(r[i + 2], r[i + 3]));
        four[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(low, low2));
        four[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(low, low2));
        four[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(high, high2));
        four[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(high, high2));
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        _mm256_storeu_ps(to + j * to_step, _mm256_permute2f128_ps(four[j], four[4 + j], 0x20));
        _mm256_storeu_ps(to + (4 + j) * to_step,
                         _mm256_permute2f128_ps(four[j], four[4 + j], 0x31));
    }
}
#define CV_TURN_EIGHT cv_turn_eight

#if CPU_ISA_LEVEL == 2
static inline void cv_turn_sixteen(const void *from_, int64_t from_step, void *to_, int64_t to_step)
{
    const float *from = from_;
    float *to = to_;
    __m512 r[16], four[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        r[i] = _mm512_loadu_ps(from + i * from_step);
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        const __m512d low = _mm512_castps_pd(_mm512_unpacklo_ps(r[i], r[i + 1])),
                      low2 = _mm512_castps_pd(_mm512_unpacklo_ps(r[i + 2], r[i + 3])),
                      high = _mm512_castps_pd(_mm512_unpackhi_ps(r[i], r[i + 1])),
                      high2 = _mm512_castps_pd(_mm512_unpackhi_ps(r[i + 2], r[i + 3]));
        four[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, low2));
        four[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, low2));
        four[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high, high2));
        four[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high, high2));
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) { /* lanes 0 and 2, or 1 and 3, of both; twice */
        const __m512 even = _mm512_shuffle_f32x4(four[j], four[4 + j], 0x88),
                     even2 = _mm512_shuffle_f32x4(four[8 + j], four[12 + j], 0x88),
                     odd = _mm512_shuffle_f32x4(four[j], four[4 + j], 0xdd),
                     odd2 = _mm512_shuffle_f32x4(four[8 + j], four[12 + j], 0xdd);
        _mm512_storeu_ps(to + j * to_step, _mm512_shuffle_f32x4(even, even2, 0x88));
        _mm512_storeu_ps(to + (8 + j) * to_step, _mm512_shuffle_f32x4(even, even2, 0xdd));
        _mm512_storeu_ps(to + (4 + j) * to_step, _mm512_shuffle_f32x4(odd, odd2, 0x88));
        _mm512_storeu_ps(to + (12 + j) * to_step, _mm512_shuffle_f32x4(odd, odd2, 0xdd));
    }
}
#define CV_TURN_SIXTEEN cv_turn_sixteen
#endif
