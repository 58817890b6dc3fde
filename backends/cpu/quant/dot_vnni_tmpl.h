/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of rows by AVX-512 VNNI; included by format_tmpl.h. The 16 lanes of a sum (quant.h), and the order in which
 * numbers are added in each, are those of all levels: sums of four or eight products are exact. */

#if BLOCK == 256
/* Sums of 16 products, those of each half times its step. Four products fit 16 bits. */
static inline __attribute__((always_inline)) __m512i Q_FN(wide_sums)(const __m512i code[4],
                                                                     const quant_row *x, int64_t at,
                                                                     const __m512i steps[2])
{
    __m512i four[4];
    for (int i = 0; i < 4; i++)
        four[i] = _mm512_dpbusd_epi32(less_of(x->less, at / 4 + 16 * i), code[i],
                                      _mm512_loadu_si512(x->code + at + 64 * i));
    return _mm512_dpwssd_epi32(_mm512_madd_epi16(_mm512_packs_epi32(four[0], four[2]), steps[0]),
                               _mm512_packs_epi32(four[1], four[3]), steps[1]);
}

static inline __attribute__((always_inline)) void Q_FN(wide_span)(const unsigned char *from,
                                                                  const quant_row *x, int64_t at,
                                                                  const int rows, __m512 *sum,
                                                                  __m512 *low)
{
    (void)low; /* Formats of large blocks with minima are striped. */
    __m512i code[4], steps[2];
    const __m512 scale = one_head(from + NBYTES - 2);
    Q_CAT(wide_codes, FORMAT)(from, code);
    steps_of_halves(Q_CAT(steps, FORMAT)(from), steps);
    for (int r = 0; r < rows; r++)
        sum[r] = add_wide(sum[r], Q_FN(wide_sums)(code, x + r, at, steps),
                          _mm512_mul_ps(scale, _mm512_loadu_ps(x[r].d + at / 16)));
}
#else
/* What a span's sums are multiplied by, for each row of activations; and what minima add, straight away. */
static inline __attribute__((always_inline)) void Q_FN(wide_factors)(const unsigned char *from,
                                                                     const quant_row *x, int64_t at,
                                                                     const int rows, __m256 *both,
                                                                     __m512 *low)
{
#if MIN
    const __m512 pairs = eight_pairs(from, NBYTES), min = seconds_twice(pairs);
    const __m256 scale = firsts(pairs);
    for (int r = 0; r < rows; r++)
        low[r] = _mm512_add_ps(low[r], _mm512_mul_ps(min, _mm512_loadu_ps(x[r].sum + at / 16)));
#else
    const __m256 scale = eight_heads(from, NBYTES);
    (void)low;
#endif
    for (int r = 0; r < rows; r++)
        both[r] = _mm256_mul_ps(scale, _mm256_loadu_ps(x[r].group_d + at / 32));
}

static inline __attribute__((always_inline)) void Q_FN(wide_span)(const unsigned char *from,
                                                                  const quant_row *x, int64_t at,
                                                                  const int rows, __m512 *sum,
                                                                  __m512 *low)
{
    __m256 both[QUANT_ROWS];
    Q_FN(wide_factors)(from, x, at, rows, both, low);
#if PAIRED
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
#endif

/* `many` rows of blocks, each by all rows of activations. */
static inline __attribute__((always_inline)) void Q_FN(dot_rows)(const quant_blocks *w,
                                                                 const int many, const quant_row *x,
                                                                 const int rows, __m512 *sum,
                                                                 __m512 *low, float *out)
{
    enum { SPAN_BYTES = QUANT_SPAN / BLOCK * NBYTES };
    const int64_t whole = w->n / QUANT_SPAN, ahead = ahead_of(w->row_bytes, many);
    for (int i = 0; i < many * rows; i++)
        sum[i] = low[i] = _mm512_setzero_ps();
    for (int64_t s = 0; s < whole; s++)
#pragma GCC unroll 2 /* both rows are written out, so that their sums stay in registers */
        for (int b = 0; b < many; b++) {
            const unsigned char *from = w->data + b * w->row_bytes + s * SPAN_BYTES;
            look_ahead(from, ahead, SPAN_BYTES);
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
