/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops over the blocks of one format: FORMAT (its name), BLOCK, NBYTES and MIN as in quant.def;
 * ALIKE: each 32 elements have one scale, in other formats each 16; LESS: what codes_FORMAT are more than codes; SIGNED: whether any of
 * these is negative; PAIRED: two blocks of 32 elements are computed at once, halves of both by halves. */
#define Q_CAT_(a, b) a##_##b
#define Q_CAT(a, b) Q_CAT_(a, b)
#define Q_FN(name) Q_CAT(name, FORMAT)
#define Q_BLOCK_HALVES (BLOCK / 16)

/* A block's codes, and scales and minima of each 16, all aligned for vectors. */
#define Q_UNPACK Q_FN(unpack)
#define Q_STEPPED_MINIMA (MIN && BLOCK == 256) /* whole numbers, as steps are */
enum {
#ifdef WIDE_DOT /* codes that are signed are at least 0 by 128 more */
    Q_FN(less) = SIGNED ? 128 : LESS,
#else
    Q_FN(less) = LESS,
#endif
    /* Codes of two bits are multiplied where they lie, some at four times what they are; others' steps are four times. */
    Q_FN(times) = Q_STEPPED_MINIMA && !ALIKE ? 4 : 1,
#if defined(WIDE_DOT) && Q_STEPPED_MINIMA
    Q_FN(order) = ALIKE ? QUANT_STRIPED_LANED : QUANT_STRIPED_STEPPED
#else
    Q_FN(order) =
        BLOCK == 32 ? (PAIRED ? QUANT_PAIRED : QUANT_PLAIN) : (ALIKE ? QUANT_LANED : QUANT_STEPPED)
#endif
};
#ifdef FAST_UNPACK
static inline void Q_FN(unpack)(const unsigned char *block, int8_t *code, float *scale, float *min)
{
    for (int g = 0; g < BLOCK / 32; g++)
        _mm256_store_si256((__m256i *)(void *)(code + 32 * g),
                           _mm256_sub_epi8(Q_CAT(codes, FORMAT)(block, g), _mm256_set1_epi8(LESS)));
#if ALIKE
    Q_CAT(scales, FORMAT)(block, scale, min);
#else
    int16_t steps[QUANT_HALVES];
    const float unit = Q_CAT(nd_q_unit, FORMAT)(block);
    store_steps(steps, Q_CAT(steps, FORMAT)(block));
    for (int h = 0; h < QUANT_HALVES; h++)
        scale[h] = unit * (float)steps[h];
    for (int h = 0; h < QUANT_HALVES; h++)
#if MIN
        min[h] = Q_CAT(nd_q_min, FORMAT)(block, h);
#else
        (void)min;
#endif
#endif
}
#else
static inline void Q_FN(unpack)(const unsigned char *block, int8_t *restrict code,
                                float *restrict scale, float *restrict min)
{
    for (int h = 0; h < Q_BLOCK_HALVES; h++) {
        for (int l = 0; l < 16; l++)
            code[16 * h + l] = (int8_t)Q_CAT(nd_q_code, FORMAT)(block, h, l);
        scale[h] = Q_CAT(nd_q_scale, FORMAT)(block, h);
#if MIN
        min[h] = Q_CAT(nd_q_min, FORMAT)(block, h);
#else
        (void)min;
#endif
    }
}
#endif

static void Q_FN(dequantize)(const unsigned char *blocks, int64_t n, int32_t dtype, void *out)
{
    char *to = out;
    for (int64_t i = 0; i < n; i += BLOCK, blocks += NBYTES) {
        span s;
        float element[BLOCK];
        Q_UNPACK(blocks, s.code, s.scale, s.min);
        for (int h = 0; h < Q_BLOCK_HALVES; h++)
            for (int l = 0; l < 16; l++)
#if MIN
                element[16 * h + l] = s.scale[h] * (float)s.code[16 * h + l] + s.min[h];
#else
                element[16 * h + l] = s.scale[h] * (float)s.code[16 * h + l];
#endif
        store(element, dtype, BLOCK, to);
        to += BLOCK * ndp_dtype_size(dtype);
    }
}

#if defined(WIDE_DOT) && Q_STEPPED_MINIMA
#include "quant/dot_striped_tmpl.h"
#elif defined(WIDE_DOT)
#include "quant/dot_vnni_tmpl.h"
#elif defined(FAST_UNPACK)
/* Scales and minima of a span of blocks; where halves have steps, what these are multiplied by. */
static inline __attribute__((always_inline)) void Q_FN(span_scales)(const unsigned char *blocks,
                                                                    float *scale, float *min)
{
#if BLOCK == 32
    __m256 first[2], second[2];
    heads_of_eight(blocks, NBYTES, first, second);
    for (int i = 0; i < 2; i++) {
        _mm256_store_ps(scale + 8 * i, first[i]);
        if (MIN)
            _mm256_store_ps(min + 8 * i, second[i]);
    }
#else
    const __m256 unit = _mm256_set1_ps(Q_CAT(nd_q_unit, FORMAT)(blocks));
    _mm256_store_ps(scale, unit);
    _mm256_store_ps(scale + 8, unit);
    (void)min;
#endif
}

/* What a span's sums are multiplied by, of its blocks and each row of activations, kept in f until the sums are
 * made, `place` spans from its beginning; and what minima add, straight away. */
static inline __attribute__((always_inline)) void Q_FN(factors)(const unsigned char *from,
                                                                const quant_row *x, int64_t at,
                                                                const int rows, int place,
                                                                quant_factors *f, __m256 (*low)[2])
{
    _Alignas(64) float scale[QUANT_HALVES], min[QUANT_HALVES];
    Q_FN(span_scales)(from, scale, min);
#if BLOCK == 256 && ALIKE
    const uint64_t steps = Q_CAT(step_bytes, FORMAT)(from);
    memcpy(f->step + place * QUANT_HALVES, &steps, sizeof steps);
#elif BLOCK == 256
    store_steps(f->step + place * QUANT_HALVES, Q_CAT(raised_steps, FORMAT)(from));
#endif
    for (int r = 0; r < rows; r++)
        scales_times(scale, x[r].d + at / 16, f->both[r] + place * QUANT_HALVES);
#if Q_STEPPED_MINIMA
    const __m256i least = Q_CAT(least, FORMAT)(from);
    const __m256 unit = _mm256_set1_ps(Q_CAT(nd_q_low, FORMAT)(from));
    for (int r = 0; r < rows; r++) {
        const __m256i sums = _mm256_madd_epi16(least, bytes_of(x[r].total + at / 16));
        const __m256 both =
            _mm256_mul_ps(_mm256_loadu_ps(x[r].group_d + at / 32), _mm256_cvtepi32_ps(sums));
        low[r][0] = _mm256_add_ps(low[r][0], _mm256_mul_ps(unit, both));
    }
#endif
    for (int r = 0; MIN && !Q_STEPPED_MINIMA && r < rows; r++)
        for (int i = 0; i < 2; i++)
            low[r][i] = _mm256_add_ps(low[r][i],
                                      _mm256_mul_ps(_mm256_load_ps(min + 8 * i),
                                                    _mm256_loadu_ps(x[r].sum + at / 16 + 8 * i)));
}

#if BLOCK == 256
/* The steps of groups `first` and `second`, of each half where these differ. */
static inline __attribute__((always_inline)) void Q_FN(steps_of_sums)(const int16_t *step,
                                                                      int first, int second,
                                                                      __m256i steps[2])
{
#if ALIKE
    steps[0] = steps[1] = steps_of_groups(step, first, second);
#else
    for (int h = 0; h < 2; h++)
        steps[h] = steps_of_two(step[2 * first + h], step[2 * second + h]);
#endif
}
/* Sums of eight products times their steps, of each half before they are added where these differ. */
static inline __attribute__((always_inline)) __m256i Q_FN(sums_of_two)(const __m256i code[2],
                                                                       const quant_row *x,
                                                                       int64_t at,
                                                                       const __m256i steps[2])
{
    __m256i pair[2];
    for (int h = 0; h < 2; h++)
        pair[h] =
            two_products(code[h], x->code + at + 32 * h, x->less + at / 2 + 16 * h, SIGNED, LESS);
    if (ALIKE)
        return _mm256_madd_epi16(_mm256_add_epi16(pair[0], pair[1]), steps[0]);
    return _mm256_add_epi32(_mm256_madd_epi16(pair[0], steps[0]),
                            _mm256_madd_epi16(pair[1], steps[1]));
}
#endif

/* Sums of a span, whose codes stay in registers. */
static inline __attribute__((always_inline)) void Q_FN(dot_span)(const unsigned char *from,
                                                                 const quant_row *x, int64_t at,
                                                                 const int rows, int place,
                                                                 const quant_factors *f,
                                                                 __m256 (*sum)[2])
{
#if BLOCK == 256
#pragma GCC unroll 2
    for (int p = 0; p < 2; p++) {
        /* Groups of eight lanes, whose numbers follow from lane_of: 0, 2, 1, 3 and 0, 1, 4, 5 the first time. */
        const int first = ALIKE ? 4 * p : 2 * p, apart = ALIKE ? 2 : 1, next = ALIKE ? 1 : 4;
        const int16_t *step = f->step + place * QUANT_HALVES;
        __m256i code[2][2], steps[2][2];
        for (int k = 0; k < 2; k++) {
            halves_of_two(Q_CAT(raised, FORMAT)(from, first + next * k),
                          Q_CAT(raised, FORMAT)(from, first + next * k + apart), code[k]);
            if (ALIKE)
                Q_FN(steps_of_sums)(step, first + next * k, first + next * k + apart, steps[k]);
        }
        for (int r = 0; r < rows; r++) {
            __m256i sums[2];
            for (int k = 0; k < 2; k++) {
                if (!ALIKE) /* steps of halves are read for each row: there are not registers for all */
                    Q_FN(steps_of_sums)(step, first + next * k, first + next * k + apart, steps[k]);
                sums[k] = Q_FN(sums_of_two)(code[k], x + r, at + 128 * p + 64 * k, steps[k]);
            }
            sum[r][p] = add_scaled_two(sum[r][p], _mm256_hadd_epi32(sums[0], sums[1]),
                                       _mm256_load_ps(f->both[r] + place * QUANT_HALVES + 8 * p));
        }
    }
#elif PAIRED
    /* Factors of each 16 elements are picked from those of two pairs. */
    const __m256i pick[2] = {_mm256_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2),
                             _mm256_setr_epi32(4, 4, 4, 4, 6, 6, 6, 6)};
#pragma GCC unroll 4
    for (int p = 0; p < QUANT_SPAN / 64; p++) {
        __m256i codes[2];
        Q_CAT(pair, FORMAT)(from + 2 * p * NBYTES, codes);
        for (int r = 0; r < rows; r++) {
            const __m256i sums = four_products(codes, x[r].code + at + 64 * p,
                                               x[r].less + at / 4 + 16 * p, SIGNED, LESS);
            const __m256 both = _mm256_load_ps(f->both[r] + place * QUANT_HALVES + p / 2 * 8);
            sum[r][p & 1] =
                add_scaled_two(sum[r][p & 1], sums, _mm256_permutevar8x32_ps(both, pick[p % 2]));
        }
    }
#else
#pragma GCC unroll 8
    for (int g = 0; g < QUANT_SPAN / 32; g++) {
        const __m256i codes =
            Q_CAT(codes, FORMAT)(from + 32 * g / BLOCK * NBYTES, g % (BLOCK / 32));
        const __m256i step = _mm256_set1_epi16(1);
        for (int r = 0; r < rows; r++) {
            const __m256i pairs = two_products(codes, x[r].code + at + 32 * g,
                                               x[r].less + at / 2 + 16 * g, SIGNED, LESS);
            sum[r][g & 1] =
                add_scaled(sum[r][g & 1], pairs, step, f->both[r] + place * QUANT_HALVES + 2 * g);
        }
    }
#endif
}

/* Factors of some spans, then their sums: what the former wait for does not delay the latter. With one row the sums
 * stay in registers too. */
static inline __attribute__((always_inline)) void Q_FN(dot_rows)(const unsigned char *blocks,
                                                                 int64_t n, const quant_row *x,
                                                                 const int rows, __m256 (*sum)[2],
                                                                 __m256 (*low)[2], float *out)
{
    enum { SPAN_BYTES = QUANT_SPAN / BLOCK * NBYTES };
    quant_factors f;
    const int64_t whole = n / QUANT_SPAN;
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = low[r][0] = low[r][1] = _mm256_setzero_ps();
    for (int64_t s = 0; s < whole; s += QUANT_SPANS) {
        const int spans = whole - s < QUANT_SPANS ? (int)(whole - s) : QUANT_SPANS;
        for (int i = 0; i < spans; i++)
            Q_FN(factors)(blocks + (s + i) * SPAN_BYTES, x, (s + i) * QUANT_SPAN, rows, i, &f, low);
        KEEP_IN_MEMORY(f);
        for (int i = 0; i < spans; i++)
            Q_FN(dot_span)
        (blocks + (s + i) * SPAN_BYTES, x, (s + i) * QUANT_SPAN, rows, i, &f, sum);
    }
    if (BLOCK < QUANT_SPAN && whole * QUANT_SPAN < n) { /* blocks of zeros behind the last ones */
        unsigned char last[SPAN_BYTES] = {0};
        memcpy(last, blocks + whole * SPAN_BYTES,
               (size_t)((n - whole * QUANT_SPAN) / BLOCK * NBYTES));
        Q_FN(factors)(last, x, whole * QUANT_SPAN, rows, 0, &f, low);
        KEEP_IN_MEMORY(f);
        Q_FN(dot_span)(last, x, whole * QUANT_SPAN, rows, 0, &f, sum);
    }
    for (int r = 0; r < rows; r++) {
        out[r] = total_of(sum[r][0], sum[r][1]);
        if (MIN)
            out[r] += total_of(low[r][0], low[r][1]);
    }
}
static void Q_FN(dot_one)(const unsigned char *blocks, int64_t n, const quant_row *x, int rows,
                          float *out)
{
    if (rows == 1) {
        __m256 sum[1][2], low[1][2];
        Q_FN(dot_rows)(blocks, n, x, 1, sum, low, out);
    } else {
        __m256 sum[QUANT_ROWS][2], low[QUANT_ROWS][2];
        Q_FN(dot_rows)(blocks, n, x, rows, sum, low, out);
    }
}
#else
/* Up to a span of blocks, n elements; what is beyond them is zero. */
static inline void Q_FN(unpack_span)(const unsigned char *blocks, int n, span *s)
{
    for (int i = 0; i < n; i += BLOCK, blocks += NBYTES)
        Q_UNPACK(blocks, s->code + i, s->scale + i / 16, s->min + i / 16);
    for (int i = n; i < QUANT_SPAN; i++)
        s->code[i] = 0;
    for (int h = n / 16; h < QUANT_HALVES; h++)
        s->scale[h] = s->min[h] = 0;
}

#if BLOCK == 256
/* What the sums of half h of a group are multiplied by. */
#define Q_STEP(block, h) (Q_FN(times) * Q_CAT(nd_q_step, FORMAT)(block, h))
static inline void Q_FN(add_span)(const unsigned char *block, const span *s, const quant_row *x,
                                  int64_t at, float *sum)
{
    const float unit = Q_CAT(nd_q_unit, FORMAT)(block);
    for (int pair = 0; pair < QUANT_LANES / 2; pair++) {
        const int g = group_of(!ALIKE, pair);
        int total[2] = {0};
        for (int h = 0; h < 2; h++) {
            const int8_t *a = s->code + 32 * g + 16 * h, *b = x->code + at + 32 * pair + 16 * h;
            for (int e = 0; e < 2; e++)
                total[e] += Q_STEP(block, 2 * g + h) * eight_products(a + 8 * e, b + 8 * e);
        }
        for (int e = 0; e < 2; e++)
            sum[2 * pair + e] += unit * x->d[at / 16 + 2 * pair + e] * (float)total[e];
    }
}
#undef Q_STEP
#endif
#if Q_STEPPED_MINIMA
static inline void Q_FN(add_least)(const unsigned char *block, const quant_row *x, int64_t at,
                                   float *low)
{
    const float unit = Q_CAT(nd_q_low, FORMAT)(block);
    for (int g = 0; g < QUANT_SPAN / 32; g++) {
        int sum = 0;
        for (int h = 2 * g; h < 2 * g + 2; h++)
            sum += Q_CAT(nd_q_least, FORMAT)(block, h) * x->total[at / 16 + h];
        low[g] += unit * (x->group_d[at / 32 + g] * (float)sum);
    }
}
#endif

static void Q_FN(dot_one)(const unsigned char *blocks, int64_t n, const quant_row *x, int rows,
                          float *out)
{
    float sum[QUANT_ROWS][QUANT_LANES] = {{0}};
#if MIN
    float low[QUANT_ROWS][QUANT_LANES] = {{0}};
#endif
    for (int64_t at = 0; at < n; at += QUANT_SPAN) {
        const int m = n - at < QUANT_SPAN ? (int)(n - at) : QUANT_SPAN;
        span s;
        Q_FN(unpack_span)(blocks + at / BLOCK * NBYTES, m, &s);
        for (int r = 0; r < rows; r++) {
#if BLOCK == 256
            Q_FN(add_span)(blocks + at / BLOCK * NBYTES, &s, &x[r], at, sum[r]);
#else
            (PAIRED ? add_paired : add_products)(&s, x[r].code + at, x[r].d + at / 16, sum[r]);
#endif
#if Q_STEPPED_MINIMA
            Q_FN(add_least)(blocks + at / BLOCK * NBYTES, &x[r], at, low[r]);
#elif MIN
            add_minima(s.min, x[r].sum + at / 16, low[r]);
#endif
        }
    }
    for (int r = 0; r < rows; r++) {
        out[r] = total(sum[r]);
#if MIN
        out[r] += total(low[r]);
#endif
    }
}
#endif
#ifndef WIDE_DOT
static void Q_FN(dot)(const quant_blocks *w, const quant_row *x, int rows, float *out)
{
    for (int64_t r = 0; r < w->rows; r++)
        Q_FN(dot_one)(w->data + r * w->row_bytes, w->n, x, rows, out + r * rows);
}
#endif

#undef Q_CAT_
#undef Q_CAT
#undef Q_FN
#undef Q_UNPACK
#undef Q_BLOCK_HALVES
#undef Q_STEPPED_MINIMA
#undef FORMAT
#undef BLOCK
#undef NBYTES
#undef MIN
#undef ALIKE
#undef LESS
#undef SIGNED
#undef PAIRED
