/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quicksort of 32-bit keys in vectors, for the levels that have them. A pivot deals a run out to
 * another buffer, low keys from the left and high ones from the right, until 64 are left, which fit
 * registers and a network sorts. Equal keys are alike, so it need not be stable.
 *
 * Sources: the partition by compression follows Bramas, A novel hybrid quicksort algorithm
 * vectorized using AVX-512, IJACSA 8(10), 2017; the network of 19 exchanges is Knuth's, The Art of
 * Computer Programming 3, 5.3.4; bitonic merging is Batcher's, AFIPS 1968. */
#ifndef NDOCK_CPU_SORT_QUICK_H
#define NDOCK_CPU_SORT_QUICK_H
#if defined(__AVX2__)
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define QUICK_LEAF 64 /* keys: eight vectors */
#define QUICK_FN static inline __attribute__((always_inline))

/* ---- at most QUICK_LEAF keys in registers ---- */
QUICK_FN void quick_exchange(__m256i *low, __m256i *high)
{
    __m256i x = *low;
    *low = _mm256_min_epu32(x, *high);
    *high = _mm256_max_epu32(x, *high);
}

/* Column by column over eight vectors. */
QUICK_FN void quick_columns(__m256i *x)
{
    static const uint8_t pairs[19][2] = {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6},
                                         {3, 7}, {0, 1}, {2, 3}, {4, 5}, {6, 7}, {2, 4}, {3, 5},
                                         {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};
#pragma GCC unroll 19
    for (int i = 0; i < 19; i++)
        quick_exchange(&x[pairs[i][0]], &x[pairs[i][1]]);
}

QUICK_FN void quick_transpose(__m256i *x)
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
QUICK_FN __m256i quick_vector(__m256i x)
{
    __m256i y = _mm256_permute2x128_si256(x, x, 1);
    x = _mm256_blend_epi32(_mm256_min_epu32(x, y), _mm256_max_epu32(x, y), 0xf0);
    y = _mm256_shuffle_epi32(x, 0x4e);
    x = _mm256_blend_epi32(_mm256_min_epu32(x, y), _mm256_max_epu32(x, y), 0xcc);
    y = _mm256_shuffle_epi32(x, 0xb1);
    return _mm256_blend_epi32(_mm256_min_epu32(x, y), _mm256_max_epu32(x, y), 0xaa);
}

/* Two sorted runs of k vectors each into one. */
QUICK_FN void quick_merge(__m256i *x, int k)
{
    const __m256i backwards = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    __m256i high[4];
#pragma GCC unroll 4
    for (int i = 0; i < k; i++)
        high[i] = _mm256_permutevar8x32_epi32(x[2 * k - 1 - i], backwards);
#pragma GCC unroll 4
    for (int i = 0; i < k; i++) {
        x[k + i] = high[i];
        quick_exchange(&x[i], &x[k + i]);
    }
#pragma GCC unroll 2
    for (int d = k / 2; d > 0; d /= 2)
#pragma GCC unroll 8
        for (int i = 0; i < 2 * k; i++)
            if ((i & d) == 0)
                quick_exchange(&x[i], &x[i + d]);
#pragma GCC unroll 8
    for (int i = 0; i < 2 * k; i++)
        x[i] = quick_vector(x[i]);
}

/* Lanes below n, as ones. */
QUICK_FN __m256i quick_mask(int64_t n)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n < 8 ? n : 8)), lanes);
}

static void quick_leaf(const uint32_t *from, int64_t n, uint32_t *to)
{
    const __m256i ones = _mm256_set1_epi32(-1);
    __m256i x[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) { /* what is missing is above all keys, or like the greatest */
        __m256i mask = quick_mask(n - 8 * i);
        x[i] = _mm256_maskload_epi32((const int *)from + 8 * i, mask);
        x[i] = _mm256_or_si256(x[i], _mm256_xor_si256(mask, ones));
    }
    quick_columns(x);
    quick_transpose(x);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        quick_merge(x + 2 * i, 1);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        quick_merge(x + 4 * i, 2);
    quick_merge(x, 4);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        if (n >= 8 * (i + 1))
            _mm256_storeu_si256((__m256i *)to + i, x[i]);
        else if (n > 8 * i)
            _mm256_maskstore_epi32((int *)to + 8 * i, quick_mask(n - 8 * i), x[i]);
}

/* Eight keys in one vector, sorted. */
QUICK_FN __m256i quick_eight(__m256i x)
{
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
    return _mm256_blend_epi32(_mm256_min_epu32(x, y), _mm256_max_epu32(x, y), 0xaa);
}

/* ---- partition ---- */
#if defined(__AVX512F__)
enum { QUICK_LANES = 16 };
static void quick_prepare(void) {}
#else
enum { QUICK_LANES = 8 };
/* For each set of high lanes: the low lanes in order, then the high ones, a byte each. */
static uint64_t quick_order[256];

static void quick_order_make(void)
{
    for (int high = 0; high < 256; high++) {
        uint64_t order = 0;
        int at = 0;
        for (int part = 0; part < 2; part++)
            for (int lane = 0; lane < 8; lane++)
                if ((high >> lane & 1) == part)
                    order |= (uint64_t)lane << (8 * at++);
        quick_order[high] = order;
    }
}

static void quick_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, quick_order_make);
}
#endif

/* Deals out the keys of a vector that are among `valid` lanes: those below the pivot go to *left
 * on, the others end before *right. Between the two there is room for all that is yet to come, in
 * whole vectors, so what a store leaves beyond its keys is written over later, or is the same. */
QUICK_FN void quick_deal(const uint32_t *from, unsigned valid, uint32_t pivot, uint32_t **left,
                         uint32_t **right)
{
#if defined(__AVX512F__)
    __m512i x = _mm512_loadu_si512(from);
    unsigned high = _mm512_cmpge_epu32_mask(x, _mm512_set1_epi32((int)pivot)) & valid;
    unsigned low = ~high & valid;
    int count = __builtin_popcount(high);
    _mm512_storeu_si512(*left, _mm512_maskz_compress_epi32((__mmask16)low, x));
    *right -= count;
    *left += __builtin_popcount(low);
    _mm512_mask_storeu_epi32(*right, (__mmask16)((1u << count) - 1),
                             _mm512_maskz_compress_epi32((__mmask16)high, x));
#else
    __m256i x = _mm256_loadu_si256((const __m256i *)from);
    __m256i most = _mm256_max_epu32(x, _mm256_set1_epi32((int)pivot));
    unsigned high =
        (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(most, x))) & valid;
    unsigned low = ~high & valid;
    __m128i last = _mm_loadl_epi64((const __m128i *)&quick_order[high]);
    __m256i y = _mm256_permutevar8x32_epi32(x, _mm256_cvtepu8_epi32(last));
    if (valid == 0xff) {
        _mm256_storeu_si256((__m256i *)*left, y);
    } else {
        __m128i first = _mm_loadl_epi64((const __m128i *)&quick_order[~low & 0xff]);
        _mm256_storeu_si256((__m256i *)*left,
                            _mm256_permutevar8x32_epi32(x, _mm256_cvtepu8_epi32(first)));
    }
    _mm256_storeu_si256((__m256i *)(*right - 8), y);
    *right -= __builtin_popcount(high);
    *left += __builtin_popcount(low);
#endif
}

/* Keys below the pivot to the left of `to`, the others to the right; how many are below. More than
 * a leaf of them. */
static int64_t quick_partition(const uint32_t *from, int64_t n, uint32_t pivot, uint32_t *to)
{
    const unsigned all = (1u << QUICK_LANES) - 1;
    uint32_t *left = to, *right = to + n;
    int64_t i = n % QUICK_LANES;
    quick_deal(from, (1u << i) - 1, pivot, &left, &right);
    for (; i < n; i += QUICK_LANES)
        quick_deal(from + i, all, pivot, &left, &right);
    return left - to;
}

/* ---- the sort ---- */
/* The middle one of keys from all over the run. */
static uint32_t quick_pivot(const uint32_t *x, int64_t n)
{
    uint32_t some[QUICK_LEAF];
    int count = n < 2048 ? 8 : n < 65536 ? 31 : 63;
    int64_t step = n / count;
    for (int i = 0; i < count; i++) /* not at even distances, which data may have as well */
        some[i] = x[i * step + (int64_t)((uint32_t)i * 2654435761u >> 16) % step];
    if (count > 8)
        quick_leaf(some, count, some);
    else
        _mm256_storeu_si256((__m256i *)some, quick_eight(_mm256_loadu_si256((__m256i *)some)));
    return some[count / 2];
}

static void quick_sift(uint32_t *x, int64_t at, int64_t n)
{
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && x[child] < x[child + 1];
        if (x[at] >= x[child])
            return;
        uint32_t key = x[at];
        x[at] = x[child];
        x[child] = key;
    }
}

/* Where pivots were bad over and over. */
static void quick_heap(uint32_t *x, int64_t n)
{
    for (int64_t at = n / 2; at-- > 0;)
        quick_sift(x, at, n);
    for (int64_t last = n; last-- > 1;) {
        uint32_t key = x[0];
        x[0] = x[last];
        x[last] = key;
        quick_sift(x, 0, last);
    }
}

/* Sorts n keys of `from` into `to`, which is `from` or `other`, both of which are used. */
static void quick_sort(uint32_t *from, uint32_t *other, int64_t n, int depth, uint32_t *to)
{
    while (n > QUICK_LEAF) {
        if (depth-- == 0) {
            quick_heap(from, n);
            if (to != from)
                memcpy(to, from, (size_t)n * sizeof *to);
            return;
        }
        uint32_t pivot = quick_pivot(from, n), *dealt = other;
        int64_t below = quick_partition(from, n, pivot, dealt);
        if (below == 0) { /* the pivot is the least key: those like it are at their place */
            below = pivot == UINT32_MAX ? n : quick_partition(from, n, pivot + 1, dealt);
            for (int64_t i = 0; i < below; i++)
                to[i] = pivot;
        } else {
            quick_sort(dealt, from, below, depth, to);
        }
        other = from + below;
        from = dealt + below;
        to += below;
        n -= below;
    }
    if (n > 0)
        quick_leaf(from, n, to);
}

/* Sorts n keys; `spare` has room for as many. */
static void quick_32(void *keys, void *spare, int64_t n)
{
    const uint32_t *x = keys;
    int depth = 4;
    int64_t sorted = 1;
    while (sorted < n && x[sorted - 1] <= x[sorted])
        sorted++;
    if (sorted >= n)
        return;
    for (int64_t left = n; left > 1; left /= 2)
        depth += 2;
    quick_prepare();
    quick_sort(keys, spare, n, depth, keys);
}
#else
#define quick_32 NULL
#endif
#endif
