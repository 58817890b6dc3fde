/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Vectors of 256 bits of signed 64-bit keys for quick_tmpl.h: exchanges, a leaf of sixteen vectors,
 * and how a vector is dealt out. See quick.h, which includes this file, for the sources. */

#define QUICK(name) quick_64_##name
enum { quick_64_LANES = 4, quick_64_LEAF = 64, quick_64_FEW = 8 };

/* ---- at most a leaf of keys in registers ---- */
QUICK_FN void quick_64_exchange(__m256i *low, __m256i *high)
{
    const __m256i x = *low, y = *high;
    const __m256i swaps = _mm256_cmpgt_epi64(x, y);
    *low = _mm256_blendv_epi8(x, y, swaps);
    *high = _mm256_blendv_epi8(y, x, swaps);
}

/* The lesser of x and y in the lanes where `high` is zero, the greater where it is all ones. */
QUICK_FN __m256i quick_64_choose(__m256i x, __m256i y, __m256i high)
{
    return _mm256_blendv_epi8(x, y, _mm256_xor_si256(_mm256_cmpgt_epi64(x, y), high));
}

QUICK_FN void quick_64_transpose(__m256i *x)
{
    __m256i t[8];
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        const __m256i *r = x + 4 * i;
        const __m256i a = _mm256_unpacklo_epi64(r[0], r[1]), b = _mm256_unpackhi_epi64(r[0], r[1]),
                      c = _mm256_unpacklo_epi64(r[2], r[3]), d = _mm256_unpackhi_epi64(r[2], r[3]);
        t[i] = _mm256_permute2x128_si256(a, c, 0x20);
        t[2 + i] = _mm256_permute2x128_si256(b, d, 0x20);
        t[4 + i] = _mm256_permute2x128_si256(a, c, 0x31);
        t[6 + i] = _mm256_permute2x128_si256(b, d, 0x31);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        x[i] = t[i];
}

/* One bitonic vector, sorted. */
QUICK_FN __m256i quick_64_vector(__m256i x)
{
    x = quick_64_choose(x, _mm256_permute4x64_epi64(x, 0x4e), _mm256_setr_epi64x(0, 0, -1, -1));
    return quick_64_choose(x, _mm256_shuffle_epi32(x, 0x4e), _mm256_setr_epi64x(0, -1, 0, -1));
}

QUICK_FN __m256i quick_64_backwards(__m256i x)
{
    return _mm256_permute4x64_epi64(x, 0x1b);
}
#include "sort/quick_merge.h"

/* Lanes below n, as ones. */
QUICK_FN __m256i quick_64_mask(int64_t n)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}

/* From `from`, at most eight vectors; what is missing is above all keys, or like the greatest. */
QUICK_FN void quick_64_load(const int64_t *from, int64_t n, __m256i *x)
{
    const __m256i most = _mm256_set1_epi64x(INT64_MAX);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        const __m256i mask = quick_64_mask(n - 4 * i);
        x[i] = _mm256_maskload_epi64((const long long *)from + 4 * i, mask);
        x[i] = _mm256_blendv_epi8(most, x[i], mask);
    }
}

QUICK_FN void quick_64_store(int64_t *to, int64_t n, const __m256i *x)
{
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        if (n >= 4 * (i + 1))
            _mm256_storeu_si256((__m256i *)to + i, x[i]);
        else if (n > 4 * i)
            _mm256_maskstore_epi64((long long *)to + 4 * i, quick_64_mask(n - 4 * i), x[i]);
}

/* Eight vectors, sorted. */
QUICK_FN void quick_64_half(__m256i *x)
{
#pragma GCC unroll 19
    for (int i = 0; i < 19; i++)
        quick_64_exchange(&x[quick_pairs[i][0]], &x[quick_pairs[i][1]]);
    quick_64_transpose(x);
    quick_64_merge(x, 2);
    quick_64_merge(x + 4, 2);
    quick_64_merge(x, 4);
}

static void quick_64_leaf(int64_t *keys, int64_t n)
{
    __m256i x[16];
    if (n > 32) {
        quick_64_load(keys + 32, n - 32, x + 8);
        quick_64_half(x + 8);
        n -= 32;
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
            x[i] = _mm256_loadu_si256((const __m256i *)keys + i);
        quick_64_half(x);
        quick_64_merge(x, 8);
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
            _mm256_storeu_si256((__m256i *)keys + i, x[i]);
        quick_64_store(keys + 32, n, x + 8);
    } else {
        quick_64_load(keys, n, x);
        quick_64_half(x);
        quick_64_store(keys, n, x);
    }
}

/* Eight keys, sorted in place. */
static void quick_64_few(int64_t *keys)
{
    const __m256i outer = _mm256_setr_epi64x(0, -1, -1, 0);
    __m256i x[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        x[i] = _mm256_loadu_si256((const __m256i *)keys + i);
        x[i] = quick_64_choose(x[i], _mm256_shuffle_epi32(x[i], 0x4e), outer);
        x[i] = quick_64_vector(x[i]);
    }
    quick_64_merge(x, 1);
    _mm256_storeu_si256((__m256i *)keys, x[0]);
    _mm256_storeu_si256((__m256i *)keys + 1, x[1]);
}

/* ---- partition ---- */
QUICK_FN __m256i quick_64_read(const int64_t *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

QUICK_FN void quick_64_deal(__m256i x, unsigned valid, int64_t pivot, int64_t **left,
                            int64_t **right)
{
    const __m256i below = _mm256_cmpgt_epi64(_mm256_set1_epi64x(pivot), x);
    const unsigned low = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(below)) & valid;
    const unsigned high = ~low & valid;
    const __m256i order = _mm256_load_si256((const __m256i *)quick_64_order[low]);
    const __m256i y = _mm256_permutevar8x32_epi32(x, order);
    const __m256i last = _mm256_load_si256((const __m256i *)quick_64_order[~high & 0xf]);
    const __m256i z = valid == 0xf ? y : _mm256_permutevar8x32_epi32(x, last);
    _mm256_storeu_si256((__m256i *)*left, y);
    _mm256_storeu_si256((__m256i *)(*right - 4), z);
    *left += __builtin_popcount(low);
    *right -= __builtin_popcount(high);
}

QUICK_FN int64_t quick_64_next(int64_t key)
{
    return key + 1;
}

#define K int64_t
#define K_MAX INT64_MAX
#define V __m256i
#include "sort/quick_tmpl.h"
