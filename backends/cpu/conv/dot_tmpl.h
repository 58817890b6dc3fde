/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inner products of the gradient's rows with the packed rows that taps meet. The includer defines CV_NAME,
 * f32 or f64, CV_T, the type, and CV_I, an integer as wide. Lanes are those of 64 bytes at every SIMD
 * level, so that all levels give the same bits; products are rounded before they are added. */
#define CV_FN(name) CPU_CAT(cv_##name, CV_NAME)
typedef CV_T CV_FN(dot_vector) __attribute__((vector_size(MM_BYTES)));
typedef CV_T CV_FN(dot_anywhere) __attribute__((vector_size(MM_BYTES), aligned(4), may_alias));
typedef CV_I CV_FN(dot_mask) __attribute__((vector_size(MM_BYTES)));
enum {
    CPU_CAT(cv_dot_lanes_, CV_NAME) = 64 / (int)sizeof(CV_T),
    CPU_CAT(cv_dot_each_, CV_NAME) = MM_BYTES / (int)sizeof(CV_T) /* lanes of a vector */
};
#define CV_LANES ((int)CPU_CAT(cv_dot_lanes_, CV_NAME))
#define CV_EACH ((int)CPU_CAT(cv_dot_each_, CV_NAME))
#define CV_PARTS (64 / MM_BYTES)

static inline double CV_FN(dot_total)(const CV_FN(dot_vector) * s)
{
    CV_T v[64 / sizeof(CV_T)];
    memcpy(v, s, sizeof v);
    for (int step = CV_LANES / 2; step; step /= 2)
        for (int i = 0; i < step; i++)
            v[i] += v[i + step];
    return (double)v[0];
}

/* Taps t to t + taps: the last lanes of a row count where there are elements. */
static inline __attribute__((always_inline)) void CV_FN(dot_taps)(const cv_dots *d, int64_t t,
                                                                  const int taps,
                                                                  const CV_FN(dot_mask) * last)
{
    CV_FN(dot_vector) s[CV_DOT_TAPS][CV_PARTS];
    const CV_T *x[CV_DOT_TAPS];
#pragma GCC unroll 4
    for (int k = 0; k < taps; k++) {
#pragma GCC unroll 4
        for (int u = 0; u < CV_PARTS; u++)
            s[k][u] = (CV_FN(dot_vector)){0};
        x[k] = (const CV_T *)d->packed + d->offset[t + k];
    }
    for (int64_t r = 0; r < d->rows; r++) {
        const CV_T *g = (const CV_T *)d->g + r * d->pitch;
        int64_t i = 0;
        for (; i + CV_LANES < d->n; i += CV_LANES)
#pragma GCC unroll 4
            for (int u = 0; u < CV_PARTS; u++) {
                const CV_FN(dot_vector) v = *(const CV_FN(dot_anywhere) *)(g + i + u * CV_EACH);
#pragma GCC unroll 4
                for (int k = 0; k < taps; k++)
                    s[k][u] += v * *(const CV_FN(dot_anywhere) *)(x[k] + i + u * CV_EACH);
            }
#pragma GCC unroll 4
        for (int u = 0; u < CV_PARTS; u++) {
            const CV_FN(dot_vector) v = *(const CV_FN(dot_anywhere) *)(g + i + u * CV_EACH);
#pragma GCC unroll 4
            for (int k = 0; k < taps; k++) {
                const CV_FN(dot_vector) w = *(const CV_FN(dot_anywhere) *)(x[k] + i + u * CV_EACH);
                s[k][u] += v * (CV_FN(dot_vector))((CV_FN(dot_mask))w & last[u]);
            }
        }
#pragma GCC unroll 4
        for (int k = 0; k < taps; k++)
            x[k] += d->row_step;
    }
#pragma GCC unroll 4
    for (int k = 0; k < taps; k++)
        d->sums[t + k] += CV_FN(dot_total)(s[k]);
}

static void CV_FN(dots)(const cv_dots *d)
{
    CV_FN(dot_mask) last[CV_PARTS];
    int64_t t = 0;
    for (int i = 0; i < CV_LANES; i++)
        last[i / CV_EACH][i % CV_EACH] = (d->n - 1) / CV_LANES * CV_LANES + i < d->n ? -1 : 0;
    for (; t + CV_DOT_TAPS <= d->taps; t += CV_DOT_TAPS)
        CV_FN(dot_taps)(d, t, CV_DOT_TAPS, last);
    for (; t < d->taps; t++)
        CV_FN(dot_taps)(d, t, 1, last);
}

#undef CV_LANES
#undef CV_EACH
#undef CV_PARTS
#undef CV_FN
#undef CV_NAME
#undef CV_T
#undef CV_I
