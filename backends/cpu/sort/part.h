/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Counting and dealing out keys of 32 and 64 bits in vectors, for selection and partitions; the
 * plain loops are in part_tmpl.h. */
#ifndef NDOCK_CPU_SORT_PART_H
#define NDOCK_CPU_SORT_PART_H
#include "sort/quick.h"
#include "sort/sort.h"

static inline void sort_between_add(sort_between *to, const sort_between *c, uint64_t low,
                                    uint64_t high)
{
    to->below += c->below;
    to->at_low += c->at_low;
    to->inside += c->inside;
    to->at_high += low < high ? c->at_high : 0;
}

#define U uint8_t
#define TYPE(name) name##_8
#include "sort/part_tmpl.h"
#define U uint16_t
#define TYPE(name) name##_16
#include "sort/part_tmpl.h"
#define U uint32_t
#define TYPE(name) name##_32
#include "sort/part_tmpl.h"
#define U uint64_t
#define TYPE(name) name##_64
#include "sort/part_tmpl.h"

/* Keys of 32 bits below `limit`, each with its position, which counts from `at`, in one word.
 * Returns how many there are; writes up to n words. */
static int64_t words_32(const void *keys, int64_t n, uint64_t limit, int64_t at, uint64_t *words)
{
    const uint32_t *key = keys;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        words[count] = (uint64_t)key[i] << 32 | (uint64_t)(at + i);
        count += key[i] < limit;
    }
    return count;
}

#if defined(__AVX2__)
/* Bits of the lanes that are all ones. */
QUICK_FN unsigned part_lanes_32(__m256i x)
{
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(x));
}
QUICK_FN unsigned part_lanes_64(__m256i x)
{
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(x));
}

/* The lanes of a set first. */
QUICK_FN __m256i part_first_32(__m256i x, unsigned set)
{
    const __m128i order = _mm_loadl_epi64((const __m128i *)&quick_32_order[~set & 0xff]);
    return _mm256_permutevar8x32_epi32(x, _mm256_cvtepu8_epi32(order));
}
QUICK_FN __m256i part_first_64(__m256i x, unsigned set)
{
    return _mm256_permutevar8x32_epi32(x, _mm256_load_si256((const __m256i *)quick_64_order[set]));
}

/* Unsigned keys as signed ones. */
QUICK_FN __m256i part_signed_64(__m256i x)
{
    return _mm256_xor_si256(x, _mm256_set1_epi64x(INT64_MIN));
}

/* The sum of counts, which are negative, of a number of lanes. */
QUICK_FN int64_t part_sum_32(__m256i counts)
{
    const __m128i four =
        _mm_add_epi32(_mm256_castsi256_si128(counts), _mm256_extracti128_si256(counts, 1));
    const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return -(int64_t)_mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}
QUICK_FN int64_t part_sum_64(__m256i counts)
{
    const __m128i two =
        _mm_add_epi64(_mm256_castsi256_si128(counts), _mm256_extracti128_si256(counts, 1));
    return -(int64_t)(_mm_cvtsi128_si64(two) + _mm_extract_epi64(two, 1));
}

/* Without a branch that depends on keys: which of them are inside cannot be predicted. */
QUICK_FN void part_count_32(const uint32_t *key, int64_t n, uint64_t low, uint64_t high,
                            uint64_t *inside, sort_between *c, int collects)
{
    const __m256i from = _mm256_set1_epi32((int)low), to = _mm256_set1_epi32((int)high);
    __m256i n_up = _mm256_setzero_si256(), n_low = n_up, n_high = n_up;
    for (int64_t i = 0; i < n; i += 8) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(key + i));
        const __m256i up = _mm256_cmpeq_epi32(_mm256_max_epu32(x, from), x),
                      at_low = _mm256_cmpeq_epi32(x, from);
        n_up = _mm256_add_epi32(n_up, up);
        n_low = _mm256_add_epi32(n_low, at_low);
        if (!collects)
            continue;
        const __m256i down = _mm256_cmpeq_epi32(_mm256_min_epu32(x, to), x),
                      at_high = _mm256_cmpeq_epi32(x, to);
        const unsigned in = part_lanes_32(
            _mm256_and_si256(_mm256_andnot_si256(at_low, up), _mm256_andnot_si256(at_high, down)));
        const __m256i y = part_first_32(x, in);
        n_high = _mm256_add_epi32(n_high, at_high);
        _mm256_storeu_si256((__m256i *)(inside + c->inside),
                            _mm256_cvtepu32_epi64(_mm256_castsi256_si128(y)));
        _mm256_storeu_si256((__m256i *)(inside + c->inside + 4),
                            _mm256_cvtepu32_epi64(_mm256_extracti128_si256(y, 1)));
        c->inside += __builtin_popcount(in);
    }
    c->below = n - part_sum_32(n_up);
    c->at_low = part_sum_32(n_low);
    c->at_high = part_sum_32(n_high);
}

QUICK_FN void part_count_64(const uint64_t *key, int64_t n, uint64_t low, uint64_t high,
                            uint64_t *inside, sort_between *c, int collects)
{
    const __m256i from = part_signed_64(_mm256_set1_epi64x((int64_t)low)),
                  to = part_signed_64(_mm256_set1_epi64x((int64_t)high));
    __m256i n_below = _mm256_setzero_si256(), n_low = n_below, n_high = n_below;
    for (int64_t i = 0; i < n; i += 4) {
        const __m256i raw = _mm256_loadu_si256((const __m256i *)(key + i)), x = part_signed_64(raw);
        n_below = _mm256_add_epi64(n_below, _mm256_cmpgt_epi64(from, x));
        n_low = _mm256_add_epi64(n_low, _mm256_cmpeq_epi64(x, from));
        if (!collects)
            continue;
        const unsigned in =
            part_lanes_64(_mm256_and_si256(_mm256_cmpgt_epi64(x, from), _mm256_cmpgt_epi64(to, x)));
        n_high = _mm256_add_epi64(n_high, _mm256_cmpeq_epi64(x, to));
        _mm256_storeu_si256((__m256i *)(inside + c->inside), part_first_64(raw, in));
        c->inside += __builtin_popcount(in);
    }
    c->below = part_sum_64(n_below);
    c->at_low = part_sum_64(n_low);
    c->at_high = part_sum_64(n_high);
}

#define PART_BETWEEN(bits, lanes)                                                             \
    static void part_between_##bits(const void *keys, int64_t n, uint64_t low, uint64_t high, \
                                    uint64_t *inside, sort_between *counts)                   \
    {                                                                                         \
        const uint##bits##_t *key = keys;                                                     \
        const int64_t whole = n / lanes * lanes;                                              \
        sort_between c = {0};                                                                 \
        quick_order_prepare();                                                                \
        if (low < high)                                                                       \
            part_count_##bits(key, whole, low, high, inside, &c, 1);                          \
        else                                                                                  \
            part_count_##bits(key, whole, low, high, inside, &c, 0);                          \
        between_##bits(key + whole, n - whole, low, high, inside + c.inside, counts);         \
        sort_between_add(counts, &c, low, high);                                              \
    }
PART_BETWEEN(32, 8)
PART_BETWEEN(64, 4)

/* Where there is no room for a whole vector, as what is behind may have been written. */
static void part_put_some(char **to, __m256i first, int64_t nbytes)
{
    char bytes[32];
    _mm256_storeu_si256((__m256i *)bytes, first);
    memcpy(*to, bytes, (size_t)nbytes);
}

/* The lanes of a set to `to`, before `end`. */
QUICK_FN void part_put_32(char **to, const char *end, __m256i x, unsigned set)
{
    const int64_t nbytes = 4 * __builtin_popcount(set);
    if (end - *to >= 32)
        _mm256_storeu_si256((__m256i *)*to, part_first_32(x, set));
    else if (set)
        part_put_some(to, part_first_32(x, set), nbytes);
    *to += nbytes;
}
QUICK_FN void part_put_64(char **to, const char *end, __m256i x, unsigned set)
{
    const int64_t nbytes = 8 * __builtin_popcount(set);
    if (end - *to >= 32)
        _mm256_storeu_si256((__m256i *)*to, part_first_64(x, set));
    else if (set)
        part_put_some(to, part_first_64(x, set), nbytes);
    *to += nbytes;
}

static void part_deal_32(const void *keys, const void *elements, int64_t n, uint64_t by,
                         sort_places *places)
{
    const uint32_t *key = keys, *x = elements;
    const __m256i pivot = _mm256_set1_epi32((int)by);
    sort_places p = *places;
    int64_t i = 0;
    quick_order_prepare();
    for (; i + 8 <= n; i += 8) {
        const __m256i k = _mm256_loadu_si256((const __m256i *)(key + i)),
                      y = _mm256_loadu_si256((const __m256i *)(x + i));
        const unsigned up = part_lanes_32(_mm256_cmpeq_epi32(_mm256_max_epu32(k, pivot), k)),
                       down = part_lanes_32(_mm256_cmpeq_epi32(_mm256_min_epu32(k, pivot), k));
        part_put_32(&p.to[0], p.end[0], y, ~up & 0xff);
        part_put_32(&p.to[2], p.end[2], y, ~down & 0xff);
        if (up & down)
            part_put_32(&p.to[1], p.end[1], y, up & down);
    }
    *places = p;
    deal_32(key + i, x + i, n - i, by, places);
}

static void part_deal_64(const void *keys, const void *elements, int64_t n, uint64_t by,
                         sort_places *places)
{
    const uint64_t *key = keys, *x = elements;
    const __m256i pivot = part_signed_64(_mm256_set1_epi64x((int64_t)by));
    sort_places p = *places;
    int64_t i = 0;
    quick_order_prepare();
    for (; i + 4 <= n; i += 4) {
        const __m256i k = part_signed_64(_mm256_loadu_si256((const __m256i *)(key + i))),
                      y = _mm256_loadu_si256((const __m256i *)(x + i));
        const unsigned below = part_lanes_64(_mm256_cmpgt_epi64(pivot, k)),
                       above = part_lanes_64(_mm256_cmpgt_epi64(k, pivot));
        part_put_64(&p.to[0], p.end[0], y, below);
        part_put_64(&p.to[2], p.end[2], y, above);
        if ((below | above) != 0xf)
            part_put_64(&p.to[1], p.end[1], y, ~(below | above) & 0xf);
    }
    *places = p;
    deal_64(key + i, x + i, n - i, by, places);
}

/* limit: at least 1. */
static int64_t part_words_32(const void *keys, int64_t n, uint64_t limit, int64_t at,
                             uint64_t *words)
{
    const uint32_t *key = keys;
    const __m256i last = _mm256_set1_epi32((int)(limit - 1));
    int64_t i = 0, count = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(key + i));
        unsigned in = part_lanes_32(_mm256_cmpeq_epi32(_mm256_min_epu32(x, last), x));
        for (; in; in &= in - 1) {
            const int64_t j = i + __builtin_ctz(in);
            words[count++] = (uint64_t)key[j] << 32 | (uint64_t)(at + j);
        }
    }
    return count + words_32(key + i, n - i, limit, at + i, words + count);
}
#else
#define part_words_32 words_32
#define part_between_32 between_32
#define part_between_64 between_64
#define part_deal_32 deal_32
#define part_deal_64 deal_64
#endif
#endif
