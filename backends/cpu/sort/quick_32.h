/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Vectors of 256 bits of unsigned 32-bit keys for quick_tmpl.h: exchanges, a leaf of eight vectors,
 * and how a vector is dealt out. See quick.h, which includes this file, for the sources. */

#define QUICK(name) quick_32_##name
enum { quick_32_LANES = 8, quick_32_LEAF = 64, quick_32_FEW = 8 };

/* ---- at most a leaf of keys in registers ---- */
QUICK_FN void quick_32_exchange(__m256i *low, __m256i *high)
{
    __m256i x = *low;
    *low = _mm256_min_epu32(x, *high);
    *high = _mm256_max_epu32(x, *high);
}

/* Column by column over eight vectors. */
QUICK_FN void quick_32_columns(__m256i *x)
{
#pragma GCC unroll 19
    for (int i = 0; i < 19; i++)
        quick_32_exchange(&x[quick_pairs[i][0]], &x[quick_pairs[i][1]]);
}

QUICK_FN void quick_32_transpose(__m256i *x)
{
    __m256i a[8], b[8];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm256_unpacklo_epi32(x[2 * i], x[2 * i + 1]);
        a[2 * i + 1] = _mm256_unpackhi_epi32(x[2 * i], x[2 * i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
#pragma GCC unroll 2
        for (int j = 0; j < 2; j++) {
            b[4 * i + 2 * j] = _mm256_unpacklo_epi64(a[4 * i + j], a[4 * i + j + 2]);
            b[4 * i + 2 * j + 1] = _mm256_unpackhi_epi64(a[4 * i + j], a[4 * i + j + 2]);
        }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        x[i] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x20);
        x[i + 4] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x31);
    }
}

/* One bitonic vector, sorted. */
QUICK_FN __m256i quick_32_vector(__m256i x)
{
    __m256i y = _mm256_permute2x128_si256(x, x, 1);
    x = _mm256_blend_epi32(_mm256_min_epu32(x, y), _mm256_max_epu32(x, y), 0xf0);
    y = _mm256_shuffle_epi32(x, 0x4e);
    x = _mm256_blend_epi32(_mm256_min_epu32(x, y), _mm256_max_epu32(x, y), 0xcc);
    y = _mm256_shuffle_epi32(x, 0xb1);
    return _mm256_blend_epi32(_mm256_min_epu32(x, y), _mm256_max_epu32(x, y), 0xaa);
}

QUICK_FN __m256i quick_32_backwards(__m256i x)
{
    return _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
}
#include "sort/quick_merge.h"

/* Lanes below n, as ones. */
QUICK_FN __m256i quick_32_mask(int64_t n)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n < 8 ? n : 8)), lanes);
}

static void quick_32_leaf(uint32_t *keys, int64_t n)
{
    const __m256i ones = _mm256_set1_epi32(-1);
    __m256i x[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) { /* what is missing is above all keys, or like the greatest */
        __m256i mask = quick_32_mask(n - 8 * i);
        x[i] = _mm256_maskload_epi32((const int *)keys + 8 * i, mask);
        x[i] = _mm256_or_si256(x[i], _mm256_xor_si256(mask, ones));
    }
    quick_32_columns(x);
    quick_32_transpose(x);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        quick_32_merge(x + 2 * i, 1);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        quick_32_merge(x + 4 * i, 2);
    quick_32_merge(x, 4);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        if (n >= 8 * (i + 1))
            _mm256_storeu_si256((__m256i *)keys + i, x[i]);
        else if (n > 8 * i)
            _mm256_maskstore_epi32((int *)keys + 8 * i, quick_32_mask(n - 8 * i), x[i]);
}

/* Eight keys, sorted in place. */
static void quick_32_few(uint32_t *keys)
{
    __m256i x = _mm256_loadu_si256((const __m256i *)keys);
    const __m256i backwards = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    __m256i y = _mm256_shuffle_epi32(x, 0xb1);
    x = _mm256_blend_epi32(_mm256_min_epu32(x, y), _mm256_max_epu32(x, y), 0xaa);
    y = _mm256_shuffle_epi32(x, 0x1b);
    x = _mm256_blend_epi32(_mm256_min_epu32(x, y), _mm256_max_epu32(x, y), 0xcc);
    y = _mm256_shuffle_epi32(x, 0xb1);
    x = _mm256_blend_epi32(_mm256_min_epu32(x, y), _mm256_max_epu32(x, y), 0xaa);
    y = _mm256_permutevar8x32_epi32(x, backwards);
    x = _mm256_blend_epi32(_mm256_min_epu32(x, y), _mm256_max_epu32(x, y), 0xf0);
    y = _mm256_shuffle_epi32(x, 0x4e);
    x = _mm256_blend_epi32(_mm256_min_epu32(x, y), _mm256_max_epu32(x, y), 0xcc);
    y = _mm256_shuffle_epi32(x, 0xb1);
    x = _mm256_blend_epi32(_mm256_min_epu32(x, y), _mm256_max_epu32(x, y), 0xaa);
    _mm256_storeu_si256((__m256i *)keys, x);
}

/* ---- partition ---- */
QUICK_FN __m256i quick_32_read(const uint32_t *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

QUICK_FN void quick_32_deal(__m256i x, unsigned valid, uint32_t pivot, uint32_t **left,
                            uint32_t **right)
{
    const __m256i most = _mm256_max_epu32(x, _mm256_set1_epi32((int)pivot));
    const unsigned high =
        (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(most, x))) & valid;
    const int count = __builtin_popcount(high);
    const __m128i last = _mm_loadl_epi64((const __m128i *)&quick_32_order[high]);
    const __m256i y = _mm256_permutevar8x32_epi32(x, _mm256_cvtepu8_epi32(last));
    _mm256_storeu_si256((__m256i *)(*right - 8), y);
    *right -= count;
    if (valid == 0xff) {
        _mm256_storeu_si256((__m256i *)*left, y);
        *left += 8 - count;
    } else {
        const unsigned low = ~high & valid;
        const __m128i first = _mm_loadl_epi64((const __m128i *)&quick_32_order[~low & 0xff]);
        _mm256_storeu_si256((__m256i *)*left,
                            _mm256_permutevar8x32_epi32(x, _mm256_cvtepu8_epi32(first)));
        *left += __builtin_popcount(low);
    }
}

QUICK_FN uint32_t quick_32_next(uint32_t key)
{
    return key + 1;
}

#define K uint32_t
#define K_MAX UINT32_MAX
#define V __m256i
#include "sort/quick_tmpl.h"
