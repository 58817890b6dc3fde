/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Vectors of one SIMD level for matmul: types, broadcast, and a multiply-add that rounds once.
 *
 * Products are summed with fused multiply-adds at every level, so that all levels give the same
 * bits; hardware without them emulates them exactly. */
#ifndef NDOCK_CPU_MATMUL_SIMD_H
#define NDOCK_CPU_MATMUL_SIMD_H
#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* Bytes of a vector; rows and vectors across of the block of sums that fits the registers; fewer
 * rows, of which MM_ROWS are a multiple, for the last ones of a product. */
#if CPU_ISA_LEVEL == 2
#define MM_BYTES 64
#define MM_ROWS 12
#define MM_FEW 4
#define MM_ACROSS 2
#elif CPU_ISA_LEVEL == 1
#define MM_BYTES 32
#define MM_ROWS 6
#define MM_FEW 2
#define MM_ACROSS 2
#elif defined(__aarch64__)
#define MM_BYTES 16
#define MM_ROWS 6
#define MM_FEW 2
#define MM_ACROSS 4
#else
#define MM_BYTES 16
#define MM_ROWS 4
#define MM_FEW 2
#define MM_ACROSS 2
#endif

typedef float mm_v_f32 __attribute__((vector_size(MM_BYTES)));
typedef double mm_v_f64 __attribute__((vector_size(MM_BYTES)));
typedef uint32_t mm_v_u32 __attribute__((vector_size(MM_BYTES)));
typedef uint64_t mm_v_u64 __attribute__((vector_size(MM_BYTES)));
typedef uint8_t mm_bytes __attribute__((vector_size(MM_BYTES)));

#define MM_REP2(x) x, x
#define MM_REP4(x) MM_REP2(x), MM_REP2(x)
#define MM_REP8(x) MM_REP4(x), MM_REP4(x)
#if MM_BYTES == 64
#define MM_REP_32(x) MM_REP8(x), MM_REP8(x)
#define MM_REP_64(x) MM_REP8(x)
#elif MM_BYTES == 32
#define MM_REP_32(x) MM_REP8(x)
#define MM_REP_64(x) MM_REP4(x)
#else
#define MM_REP_32(x) MM_REP4(x)
#define MM_REP_64(x) MM_REP2(x)
#endif

static inline mm_v_f32 mm_set_f32(float x)
{
    return (mm_v_f32){MM_REP_32(x)};
}
static inline mm_v_f64 mm_set_f64(double x)
{
    return (mm_v_f64){MM_REP_64(x)};
}
static inline mm_v_u32 mm_set_u32(uint32_t x)
{
    return (mm_v_u32){MM_REP_32(x)};
}
static inline mm_v_u64 mm_set_u64(uint64_t x)
{
    return (mm_v_u64){MM_REP_64(x)};
}

/* a*b + c, and -a*b + c */
static inline mm_v_u32 mm_fma_u32(mm_v_u32 a, mm_v_u32 b, mm_v_u32 c)
{
    return a * b + c;
}
static inline mm_v_u64 mm_fma_u64(mm_v_u64 a, mm_v_u64 b, mm_v_u64 c)
{
    return a * b + c;
}
#if CPU_ISA_LEVEL == 2
static inline mm_v_f32 mm_fma_f32(mm_v_f32 a, mm_v_f32 b, mm_v_f32 c)
{
    return (mm_v_f32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
static inline mm_v_f32 mm_fnma_f32(mm_v_f32 a, mm_v_f32 b, mm_v_f32 c)
{
    return (mm_v_f32)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
static inline mm_v_f64 mm_fma_f64(mm_v_f64 a, mm_v_f64 b, mm_v_f64 c)
{
    return (mm_v_f64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
static inline mm_v_f64 mm_fnma_f64(mm_v_f64 a, mm_v_f64 b, mm_v_f64 c)
{
    return (mm_v_f64)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
#elif CPU_ISA_LEVEL == 1
static inline mm_v_f32 mm_fma_f32(mm_v_f32 a, mm_v_f32 b, mm_v_f32 c)
{
    return (mm_v_f32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
static inline mm_v_f32 mm_fnma_f32(mm_v_f32 a, mm_v_f32 b, mm_v_f32 c)
{
    return (mm_v_f32)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
static inline mm_v_f64 mm_fma_f64(mm_v_f64 a, mm_v_f64 b, mm_v_f64 c)
{
    return (mm_v_f64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
static inline mm_v_f64 mm_fnma_f64(mm_v_f64 a, mm_v_f64 b, mm_v_f64 c)
{
    return (mm_v_f64)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
#elif defined(__aarch64__)
static inline mm_v_f32 mm_fma_f32(mm_v_f32 a, mm_v_f32 b, mm_v_f32 c)
{
    return (mm_v_f32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
static inline mm_v_f32 mm_fnma_f32(mm_v_f32 a, mm_v_f32 b, mm_v_f32 c)
{
    return (mm_v_f32)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
static inline mm_v_f64 mm_fma_f64(mm_v_f64 a, mm_v_f64 b, mm_v_f64 c)
{
    return (mm_v_f64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
static inline mm_v_f64 mm_fnma_f64(mm_v_f64 a, mm_v_f64 b, mm_v_f64 c)
{
    return (mm_v_f64)vfmsq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
#else
/* fmaf through double: the product is exact there; the sum is rounded to odd, which makes the
 * second rounding, to float, harmless (Boldo and Melquiond, IEEE Trans. Computers 57(4), 2008). */
static inline float mm_fma_1_f32(float a, float b, float c)
{
    double p = (double)a * b, s = p + c, t = s - p;
    double error = (p - (s - t)) + (c - t);
    uint64_t bits, error_bits;
    memcpy(&bits, &s, 8);
    memcpy(&error_bits, &error, 8);
    uint64_t inexact = (uint64_t)(error > 0) | (uint64_t)(error < 0);
    uint64_t step = 1 - 2 * ((bits ^ error_bits) >> 63);
    bits += step & (0 - (inexact & ~bits & 1));
    memcpy(&s, &bits, 8);
    return (float)s;
}
static inline mm_v_f32 mm_fma_f32(mm_v_f32 a, mm_v_f32 b, mm_v_f32 c)
{
    float x[MM_BYTES / 4], y[MM_BYTES / 4], sum[MM_BYTES / 4];
    memcpy(x, &a, sizeof a);
    memcpy(y, &b, sizeof b);
    memcpy(sum, &c, sizeof c);
    for (int l = 0; l < MM_BYTES / 4; l++)
        sum[l] = mm_fma_1_f32(x[l], y[l], sum[l]);
    memcpy(&c, sum, sizeof c);
    return c;
}
static inline mm_v_f64 mm_fma_f64(mm_v_f64 a, mm_v_f64 b, mm_v_f64 c)
{
    for (int l = 0; l < MM_BYTES / 8; l++)
        c[l] = fma(a[l], b[l], c[l]);
    return c;
}
static inline mm_v_f32 mm_fnma_f32(mm_v_f32 a, mm_v_f32 b, mm_v_f32 c)
{
    return mm_fma_f32(-a, b, c);
}
static inline mm_v_f64 mm_fnma_f64(mm_v_f64 a, mm_v_f64 b, mm_v_f64 c)
{
    return mm_fma_f64(-a, b, c);
}
#endif

/* A square of 4x4 words of 4 bytes or 2x2 words of 8 bytes, transposed in place. */
typedef uint32_t mm_v4 __attribute__((vector_size(16)));
typedef uint64_t mm_v2 __attribute__((vector_size(16)));
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define MM_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#ifndef MM_SHUFFLE
#define MM_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (__typeof__(a)){__VA_ARGS__})
#endif
static inline __attribute__((always_inline)) void mm_transpose_4(void *square)
{
    mm_v4 r[4];
    memcpy(r, square, sizeof r);
    mm_v4 a = MM_SHUFFLE(r[0], r[1], 0, 4, 1, 5), b = MM_SHUFFLE(r[0], r[1], 2, 6, 3, 7);
    mm_v4 c = MM_SHUFFLE(r[2], r[3], 0, 4, 1, 5), d = MM_SHUFFLE(r[2], r[3], 2, 6, 3, 7);
    r[0] = MM_SHUFFLE(a, c, 0, 1, 4, 5);
    r[1] = MM_SHUFFLE(a, c, 2, 3, 6, 7);
    r[2] = MM_SHUFFLE(b, d, 0, 1, 4, 5);
    r[3] = MM_SHUFFLE(b, d, 2, 3, 6, 7);
    memcpy(square, r, sizeof r);
}
static inline __attribute__((always_inline)) void mm_transpose_2(void *square)
{
    mm_v2 r[2];
    memcpy(r, square, sizeof r);
    mm_v2 a = MM_SHUFFLE(r[0], r[1], 0, 2), b = MM_SHUFFLE(r[0], r[1], 1, 3);
    memcpy(square, &a, 16);
    memcpy((char *)square + 16, &b, 16);
}

#if CPU_ISA_LEVEL == 2 && defined(__AVX512F__)
/* The four parts of a vector to lines, four lines apart. */
static inline __attribute__((always_inline)) void mm_store_parts(float *to, int64_t width, __m512 v)
{
    _mm_storeu_ps(to, _mm512_castps512_ps128(v));
    _mm_storeu_ps(to + 4 * width, _mm512_extractf32x4_ps(v, 1));
    _mm_storeu_ps(to + 8 * width, _mm512_extractf32x4_ps(v, 2));
    _mm_storeu_ps(to + 12 * width, _mm512_extractf32x4_ps(v, 3));
}
/* Four lanes, stride apart, of 16 numbers of 32 bits side by side, to 16 lines of four, width apart. */
static inline __attribute__((always_inline)) void mm_turn_wide_4(const void *src, int64_t stride,
                                                                 void *dst, int64_t width)
{
    const float *from = src;
    float *to = dst;
    const __m512 a = _mm512_loadu_ps(from), b = _mm512_loadu_ps(from + stride),
                 c = _mm512_loadu_ps(from + 2 * stride), d = _mm512_loadu_ps(from + 3 * stride);
    const __m512d ab = _mm512_castps_pd(_mm512_unpacklo_ps(a, b)),
                  cd = _mm512_castps_pd(_mm512_unpacklo_ps(c, d)),
                  ab2 = _mm512_castps_pd(_mm512_unpackhi_ps(a, b)),
                  cd2 = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
    mm_store_parts(to, width, _mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd)));
    mm_store_parts(to + width, width, _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd)));
    mm_store_parts(to + 2 * width, width, _mm512_castpd_ps(_mm512_unpacklo_pd(ab2, cd2)));
    mm_store_parts(to + 3 * width, width, _mm512_castpd_ps(_mm512_unpackhi_pd(ab2, cd2)));
}
/* The same of 8 numbers of 64 bits, to 8 lines. */
static inline __attribute__((always_inline)) void mm_turn_wide_8(const void *src, int64_t stride,
                                                                 void *dst, int64_t width)
{
    const double *from = src;
    double *to = dst;
    const __m512d a = _mm512_loadu_pd(from), b = _mm512_loadu_pd(from + stride),
                  c = _mm512_loadu_pd(from + 2 * stride), d = _mm512_loadu_pd(from + 3 * stride);
    const __m512d even[2] = {_mm512_unpacklo_pd(a, b), _mm512_unpacklo_pd(c, d)},
                  odd[2] = {_mm512_unpackhi_pd(a, b), _mm512_unpackhi_pd(c, d)};
    /* Numbers 2i and 2i + 4 are the lower and the upper half of a vector. */
    for (int i = 0; i < 2; i++) {
        const __m512i pick = i ? _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15)
                               : _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
        const __m512d e = _mm512_permutex2var_pd(even[0], pick, even[1]),
                      o = _mm512_permutex2var_pd(odd[0], pick, odd[1]);
        double *line = to + 2 * i * width;
        _mm256_storeu_pd(line, _mm512_castpd512_pd256(e));
        _mm256_storeu_pd(line + width, _mm512_castpd512_pd256(o));
        _mm256_storeu_pd(line + 4 * width, _mm512_extractf64x4_pd(e, 1));
        _mm256_storeu_pd(line + 5 * width, _mm512_extractf64x4_pd(o, 1));
    }
}
/* The one for numbers of so many bytes. */
#define MM_TURN_WIDE(size) ((size) == 4 ? mm_turn_wide_4 : mm_turn_wide_8)
#endif
#endif
