/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sums of integers of at most 16 bits, two products at a time: a word of a panel holds two
 * neighbours along k as 16-bit integers, and one instruction multiplies and adds both. Sums wrap, so
 * they have the bits of those made one by one. */
#ifndef NDOCK_CPU_MATMUL_PAIRS_H
#define NDOCK_CPU_MATMUL_PAIRS_H
#include "matmul/matmul.h"
#include "matmul/simd.h"
#if defined(__SSE2__)
#include <immintrin.h>
#endif

typedef mm_v_u32 mm_v_pairs;

static inline mm_v_pairs mm_set_pairs(uint32_t x)
{
    return mm_set_u32(x);
}
#if CPU_ISA_LEVEL == 2
static inline mm_v_pairs mm_fma_pairs(mm_v_pairs a, mm_v_pairs b, mm_v_pairs c)
{
    return (mm_v_pairs)_mm512_add_epi32((__m512i)c, _mm512_madd_epi16((__m512i)a, (__m512i)b));
}
#elif CPU_ISA_LEVEL == 1
static inline mm_v_pairs mm_fma_pairs(mm_v_pairs a, mm_v_pairs b, mm_v_pairs c)
{
    return (mm_v_pairs)_mm256_add_epi32((__m256i)c, _mm256_madd_epi16((__m256i)a, (__m256i)b));
}
#elif defined(__SSE2__) && MM_BYTES == 16
static inline mm_v_pairs mm_fma_pairs(mm_v_pairs a, mm_v_pairs b, mm_v_pairs c)
{
    return (mm_v_pairs)_mm_add_epi32((__m128i)c, _mm_madd_epi16((__m128i)a, (__m128i)b));
}
#else
static inline mm_v_pairs mm_fma_pairs(mm_v_pairs a, mm_v_pairs b, mm_v_pairs c)
{
    typedef int32_t ints __attribute__((vector_size(MM_BYTES)));
    const ints low = ((ints)(a << 16) >> 16) * ((ints)(b << 16) >> 16);
    const ints high = ((ints)a >> 16) * ((ints)b >> 16);
    return c + (mm_v_pairs)low + (mm_v_pairs)high;
}
#endif

/* Pairs along k of kc elements. */
static inline int64_t mm_pairs(int64_t kc)
{
    return (kc + 1) / 2;
}

#endif
