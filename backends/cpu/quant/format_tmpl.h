/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops over the blocks of one format: FORMAT (its name), BLOCK, NBYTES and MIN as in quant.def. */
#define Q_CAT_(a, b) a##_##b
#define Q_CAT(a, b) Q_CAT_(a, b)
#define Q_FN(name) Q_CAT(name, FORMAT)
#define Q_BLOCK_HALVES (BLOCK / 16)

/* A block's codes, and scales and minima of each 16, all aligned for vectors. */
#ifdef FAST_UNPACK
#define Q_UNPACK Q_CAT(fast_unpack, FORMAT)
#else
#define Q_UNPACK Q_FN(unpack)
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

static void Q_FN(dot)(const unsigned char *blocks, int64_t n, const quant_row *x, int rows,
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
            /* Codes of formats with minima are at least 0. */
            add_products(&s, x[r].code + at, x[r].d + at / 16, MIN, sum[r]);
#if MIN
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

#undef Q_CAT_
#undef Q_CAT
#undef Q_FN
#undef Q_UNPACK
#undef Q_BLOCK_HALVES
#undef FORMAT
#undef BLOCK
#undef NBYTES
#undef MIN
