/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of two rows of blocks at once by AVX-512 VNNI, for formats of large blocks with minima: a vector has codes,
 * scales and minima of both rows. Included by format_tmpl.h. The 16 lanes of a row's sum, and the order in which numbers
 * are added in each, are those of all levels; here they are in half of two vectors. */

/* The same 32 codes, or eight floats, for both rows. */
static inline __attribute__((always_inline)) __m512i Q_FN(codes_twice)(const void *x)
{
    return _mm512_broadcast_i64x4(bytes_of(x));
}
static inline __attribute__((always_inline)) __m512 Q_FN(floats_twice)(const float *x)
{
    return _mm512_broadcast_f32x8(_mm256_loadu_ps(x));
}

/* Sums of 16 products times their steps, of each half before they are added where these differ: of the groups of pairs
 * 2*p and 2*p + 1 (activate.h). Four products fit 16 bits, so do eight. */
static inline __attribute__((always_inline)) __m512i Q_FN(striped_sums)(const __m512i code[4][2],
                                                                        const int8_t *x, int p,
                                                                        const __m512i steps[2])
{
    __m512i words[2], sums[2];
    for (int h = 0; h < 2; h++) {
        for (int i = 0; i < 2; i++)
            sums[i] = _mm512_dpbusd_epi32(ALIKE && h ? sums[i] : new_zeros(), code[2 * p + i][h],
                                          Q_FN(codes_twice)(x + 128 * p + 64 * i + 32 * h));
        words[h] = _mm512_packs_epi32(sums[0], sums[1]);
    }
    if (ALIKE)
        return _mm512_madd_epi16(words[1], steps[0]);
    return _mm512_dpwssd_epi32(_mm512_madd_epi16(words[0], steps[0]), words[1], steps[1]);
}

/* Where d and dmin are. */
#define HEAD (ALIKE ? 0 : NBYTES - 4)
static inline __attribute__((always_inline)) void Q_FN(striped_span)(const unsigned char *a,
                                                                     const unsigned char *b,
                                                                     const quant_row *x, int64_t at,
                                                                     const int rows,
                                                                     __m512 (*sum)[2], __m512 *low)
{
    __m512i code[4][2], steps[2][2], least;
    __m512 head[2];
    Q_CAT(striped_codes, FORMAT)(a, b, code);
    Q_CAT(striped_steps, FORMAT)(a, b, steps, &least);
    striped_heads(a + HEAD, b + HEAD, head);
    for (int r = 0; r < rows; r++) {
        for (int p = 0; p < 2; p++)
            sum[r][p] =
                add_wide(sum[r][p], Q_FN(striped_sums)(code, x[r].code + at, p, steps[p]),
                         _mm512_mul_ps(head[0], Q_FN(floats_twice)(x[r].d + at / 16 + 8 * p)));
        const __m512i sums = _mm512_madd_epi16(least, Q_FN(codes_twice)(x[r].total + at / 16));
        const __m512 both =
            _mm512_mul_ps(Q_FN(floats_twice)(x[r].group_d + at / 32), _mm512_cvtepi32_ps(sums));
        low[r] = _mm512_sub_ps(low[r], _mm512_mul_ps(head[1], both));
    }
}
#undef HEAD

/* Rows of blocks a and b, each by all rows of activations. */
static inline __attribute__((always_inline)) void Q_FN(dot_two)(const unsigned char *a,
                                                                const unsigned char *b, int64_t n,
                                                                const quant_row *x, const int rows,
                                                                __m512 (*sum)[2], __m512 *low,
                                                                float (*out)[2])
{
    const int64_t ahead = ahead_of(n / BLOCK * NBYTES, 2);
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = low[r] = _mm512_setzero_ps();
    for (int64_t at = 0; at < n; at += QUANT_SPAN, a += NBYTES, b += NBYTES) {
        look_ahead(a, ahead, NBYTES);
        look_ahead(b, ahead, NBYTES);
        Q_FN(striped_span)(a, b, x, at, rows, sum, low);
    }
    for (int r = 0; r < rows; r++) {
        total_striped(sum[r], !ALIKE, out[r]);
        out[r][0] += total_of(_mm512_castps512_ps256(low[r]), _mm256_setzero_ps());
        out[r][1] += total_of(_mm512_extractf32x8_ps(low[r], 1), _mm256_setzero_ps());
    }
}

/* Of an odd number of rows the last is computed with itself. */
static void Q_FN(dot)(const quant_blocks *w, const quant_row *x, int rows, float *out)
{
    __m512 sum[QUANT_ROWS][2], low[QUANT_ROWS];
    float two[QUANT_ROWS][2];
    for (int64_t r = 0; r < w->rows; r += 2) {
        const int many = w->rows - r < 2 ? 1 : 2;
        const unsigned char *a = w->data + r * w->row_bytes, *b = a + (many - 1) * w->row_bytes;
        if (rows == 1)
            Q_FN(dot_two)(a, b, w->n, x, 1, sum, low, two);
        else
            Q_FN(dot_two)(a, b, w->n, x, rows, sum, low, two);
        for (int i = 0; i < many * rows; i++)
            out[r * rows + i] = two[i % rows][i / rows];
    }
}
