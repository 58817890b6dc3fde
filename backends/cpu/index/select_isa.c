/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements side by side where a mask is true, by the processor's own instruction where it has one. Built once
 * per SIMD level. */
#include "index/select.h"

#if defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>

/* How many of the elements that a mask has chosen find room, as a mask of so many elements. */
static inline uint32_t chosen(uint32_t mask, int64_t room, int *count)
{
    *count = __builtin_popcount(mask);
    if (*count > room)
        *count = (int)room;
    return (uint32_t)((UINT64_C(1) << *count) - 1);
}

/* Sixteen elements of 1, 2 or 4 bytes as lanes of 4, and back. */
static inline __attribute__((always_inline)) __m512i load_sixteen(const int nbytes, __mmask16 m,
                                                                  const char *from)
{
    if (nbytes == 4)
        return _mm512_maskz_loadu_epi32(m, from);
    return nbytes == 2 ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, from))
                       : _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(m, from));
}

static inline __attribute__((always_inline)) void store_sixteen(const int nbytes, __mmask16 m,
                                                                char *to, __m512i x)
{
    if (nbytes == 4)
        _mm512_mask_storeu_epi32(to, m, x);
    else if (nbytes == 2)
        _mm256_mask_storeu_epi16(to, m, _mm512_cvtepi32_epi16(x));
    else
        _mm_mask_storeu_epi8(to, m, _mm512_cvtepi32_epi8(x));
}

static inline __attribute__((always_inline)) void compress_sixteens(const int nbytes, const char *a,
                                                                    const uint8_t *mask, int64_t n,
                                                                    char *to, int64_t position,
                                                                    int64_t end)
{
    int count;
    for (int64_t i = 0; i < n && position < end; i += 16, position += count) {
        const __mmask16 here = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : (__mmask16)~0u;
        const __m128i wanted = _mm_maskz_loadu_epi8(here, mask + i);
        const __mmask16 m = _mm_test_epi8_mask(wanted, wanted);
        const __m512i x = load_sixteen(nbytes, here, a + i * nbytes);
        const uint32_t kept = chosen(m, end - position, &count);
        store_sixteen(nbytes, (__mmask16)kept, to + position * nbytes,
                      _mm512_maskz_compress_epi32(m, x));
    }
}

static void compress_1(const char *a, int64_t stride, const uint8_t *mask, int64_t mask_stride,
                       int64_t n, char *to, int64_t step, int64_t position, int64_t end)
{
    (void)stride, (void)mask_stride, (void)step;
    compress_sixteens(1, a, mask, n, to, position, end);
}

static void compress_2(const char *a, int64_t stride, const uint8_t *mask, int64_t mask_stride,
                       int64_t n, char *to, int64_t step, int64_t position, int64_t end)
{
    (void)stride, (void)mask_stride, (void)step;
    compress_sixteens(2, a, mask, n, to, position, end);
}

static void compress_4(const char *a, int64_t stride, const uint8_t *mask, int64_t mask_stride,
                       int64_t n, char *to, int64_t step, int64_t position, int64_t end)
{
    (void)stride, (void)mask_stride, (void)step;
    compress_sixteens(4, a, mask, n, to, position, end);
}

static void compress_8(const char *a, int64_t stride, const uint8_t *mask, int64_t mask_stride,
                       int64_t n, char *to, int64_t step, int64_t position, int64_t end)
{
    int count;
    (void)stride, (void)mask_stride, (void)step;
    for (int64_t i = 0; i < n && position < end; i += 8, position += count) {
        const __mmask8 here = n - i < 8 ? (__mmask8)((1u << (n - i)) - 1) : (__mmask8)~0u;
        const __m128i wanted = _mm_maskz_loadu_epi8(here, mask + i);
        const __mmask8 m = (__mmask8)_mm_test_epi8_mask(wanted, wanted);
        const __m512i x = _mm512_maskz_loadu_epi64(here, a + i * 8);
        const uint32_t kept = chosen(m, end - position, &count);
        _mm512_mask_storeu_epi64(to + position * 8, (__mmask8)kept,
                                 _mm512_maskz_compress_epi64(m, x));
    }
}

const select_moves CPU_ISA_FN(select_dense) = {
    .compress = {[1] = compress_1, [2] = compress_2, [4] = compress_4, [8] = compress_8}};
#else
const select_moves CPU_ISA_FN(select_dense) = {.compress = {NULL}};
#endif
