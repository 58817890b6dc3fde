/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of rows by AVX-512 VNNI; included by format_tmpl.h. The 16 lanes of a sum, and the order in which
 * numbers are added in each, are those of all levels: sums of four or eight products are exact. */

/* Scales of a span's groups, and what its minima add to a lane for each 16 elements, to be taken away, where they
 * are not whole numbers. */
#if ALIKE
static inline __attribute__((always_inline)) __m256 Q_FN(wide_scales)(const unsigned char *from,
                                                                      __m512 *min)
{
#if BLOCK == 256
    const __m512 both = scales_and_minima(from);
    *min = last_twice(both);
    return _mm512_castps512_ps256(both);
#elif MIN
    const __m512 both = eight_pairs(from, NBYTES);
    *min = seconds_twice(both);
    return firsts(both);
#else
    (void)min;
    return eight_heads(from, NBYTES);
#endif
}
#endif

/* What a span's sums are multiplied by, for each row of activations; and what minima add, straight away. Those of K
 * formats are stored as their opposites. */
static inline __attribute__((always_inline)) void Q_FN(wide_factors)(const unsigned char *from,
                                                                     const quant_row *x, int64_t at,
                                                                     const int rows, __m256 *both,
                                                                     __m512 *low)
{
#if ALIKE
    __m512 min;
    const __m256 scale = Q_FN(wide_scales)(from, &min);
    for (int r = 0; MIN && r < rows; r++) {
        const __m512 more = _mm512_mul_ps(min, _mm512_loadu_ps(x[r].sum + at / 16));
        low[r] = BLOCK == QUANT_SPAN ? _mm512_sub_ps(low[r], more) : _mm512_add_ps(low[r], more);
    }
#elif MIN
    const __m256 heads = two_heads(from + 80), scale = _mm256_moveldup_ps(heads);
#else
    const __m256 scale = _mm256_set1_ps(Q_CAT(nd_q_unit, FORMAT)(from));
#endif
    for (int r = 0; r < rows; r++)
        both[r] = _mm256_mul_ps(scale, _mm256_loadu_ps(x[r].group_d + at / 32));
#if MIN && !ALIKE
    const __m256i least = Q_CAT(least, FORMAT)(from);
    for (int r = 0; r < rows; r++) {
        const __m256i sums = _mm256_madd_epi16(least, bytes_of(x[r].halves + at / 16));
        const __m256 more = _mm256_mul_ps(
            _mm256_mul_ps(_mm256_movehdup_ps(heads), _mm256_loadu_ps(x[r].group_d + at / 32)),
            _mm256_cvtepi32_ps(sums));
        low[r] = _mm512_zextps256_ps512(_mm256_sub_ps(_mm512_castps512_ps256(low[r]), more));
    }
#elif !MIN
    (void)low;
#endif
}

static inline __attribute__((always_inline)) void Q_FN(wide_span)(const unsigned char *from,
                                                                  const quant_row *x, int64_t at,
                                                                  const int rows, __m512 *sum,
                                                                  __m512 *low)
{
    __m256 both[QUANT_ROWS];
    Q_FN(wide_factors)(from, x, at, rows, both, low);
#if !ALIKE
    const __m256i steps = Q_CAT(steps, FORMAT)(from);
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
        __m512i codes[2];
        Q_CAT(wide_halves, FORMAT)(from, h, codes);
        for (int r = 0; r < rows; r++) {
            const int8_t *there = x[r].code + at + 128 * h;
            __m512i sums[2];
            for (int i = 0; i < 2; i++)
                sums[i] =
                    _mm512_dpbusd_epi32(Q_FN(less) ? less_of(x[r].less, at / 4 + 32 * h + 16 * i)
                                                   : _mm512_setzero_si512(),
                                        codes[i], _mm512_loadu_si512(there + 64 * i));
            /* Both fit 16 bits, and are multiplied by their steps and added at once. */
            const __m512i both_sums =
                _mm512_mask_mov_epi16(sums[0], 0xaaaaaaaau, _mm512_slli_epi32(sums[1], 16));
            sum[r] = add_wide(sum[r], _mm512_madd_epi16(both_sums, steps_of_blocks(steps, h)),
                              for_blocks(both[r], h));
        }
    }
#elif PAIRED
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
        __m512i codes[2];
        Q_CAT(wide_four, FORMAT)(from + 4 * h * NBYTES, codes);
        for (int r = 0; r < rows; r++) {
            const int8_t *there = x[r].code + at + 128 * h;
            __m512i sums =
                Q_FN(less) ? less_of(x[r].less, at / 8 + 16 * h) : _mm512_setzero_si512();
            sums = _mm512_dpbusd_epi32(sums, codes[0], _mm512_loadu_si512(there));
            sums = _mm512_dpbusd_epi32(sums, codes[1], _mm512_loadu_si512(there + 64));
            sum[r] = add_wide(sum[r], sums, for_blocks(both[r], h));
        }
    }
#else
#pragma GCC unroll 4
    for (int p = 0; p < QUANT_SPAN / 64; p++) {
        const __m512i codes = Q_CAT(wide, FORMAT)(from, p);
        for (int r = 0; r < rows; r++) {
            __m512i sums =
                Q_FN(less) ? less_of(x[r].less, at / 4 + 16 * p) : _mm512_setzero_si512();
            sums = _mm512_dpbusd_epi32(sums, codes, _mm512_loadu_si512(x[r].code + at + 64 * p));
            sum[r] = add_wide(sum[r], sums, for_groups(both[r], p));
        }
    }
#endif
}

/* `many` rows of blocks, each by all rows of activations. */
static inline __attribute__((always_inline)) void Q_FN(dot_rows)(const quant_blocks *w,
                                                                 const int many, const quant_row *x,
                                                                 const int rows, __m512 *sum,
                                                                 __m512 *low, float *out)
{
    enum { SPAN_BYTES = QUANT_SPAN / BLOCK * NBYTES };
    const int64_t whole = w->n / QUANT_SPAN;
    for (int i = 0; i < many * rows; i++)
        sum[i] = low[i] = _mm512_setzero_ps();
    for (int64_t s = 0; s < whole; s++)
        for (int b = 0; b < many; b++) {
            const unsigned char *from = w->data + b * w->row_bytes + s * SPAN_BYTES;
            look_ahead(from, SPAN_BYTES);
            Q_FN(wide_span)(from, x, s * QUANT_SPAN, rows, sum + b * rows, low + b * rows);
        }
    for (int b = 0; BLOCK < QUANT_SPAN && whole * QUANT_SPAN < w->n && b < many; b++) {
        unsigned char last[SPAN_BYTES] = {0}; /* blocks of zeros behind the last ones */
        memcpy(last, w->data + b * w->row_bytes + whole * SPAN_BYTES,
               (size_t)((w->n - whole * QUANT_SPAN) / BLOCK * NBYTES));
        Q_FN(wide_span)(last, x, whole * QUANT_SPAN, rows, sum + b * rows, low + b * rows);
    }
    for (int i = 0; i < many * rows; i++) {
        out[i] = total_wide(sum[i]);
        if (MIN)
            out[i] += total_wide(low[i]);
    }
}

/* Two rows at a time, or one: additions to the sums of one need not wait for those of the other. */
static void Q_FN(dot)(const quant_blocks *w, const quant_row *x, int rows, float *out)
{
    __m512 sum[QUANT_ROWS], low[QUANT_ROWS];
    quant_blocks some = *w;
    for (int64_t r = 0; r < w->rows;) {
        const int many = rows == 1 && w->rows - r >= 2 ? 2 : 1;
        some.data = w->data + r * w->row_bytes;
        if (many == 2)
            Q_FN(dot_rows)(&some, 2, x, 1, sum, low, out + r);
        else if (rows == 1)
            Q_FN(dot_rows)(&some, 1, x, 1, sum, low, out + r);
        else
            Q_FN(dot_rows)(&some, 1, x, rows, sum, low, out + r * rows);
        r += many;
    }
}
