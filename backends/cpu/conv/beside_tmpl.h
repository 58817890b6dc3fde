/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sums of single channels that lie side by side. The includer defines CV_NAME, f32 or f64, and CV_T, the
 * type. Products are rounded before they are added, at every SIMD level, and in the order of taps. */
#define CV_FN(name) CPU_CAT(cv_##name, CV_NAME)
typedef CV_T CV_FN(beside_vector) __attribute__((vector_size(MM_BYTES)));
typedef CV_T CV_FN(beside_anywhere) __attribute__((vector_size(MM_BYTES), aligned(4), may_alias));
enum { CPU_CAT(cv_beside_lanes_, CV_NAME) = MM_BYTES / (int)sizeof(CV_T) };
#define CV_LANES ((int)CPU_CAT(cv_beside_lanes_, CV_NAME))

/* `across` vectors of channels from c on, of `pixels` pixels from `at` on. */
static inline __attribute__((always_inline)) void CV_FN(beside_block)(const cv_beside *b,
                                                                      int64_t at, int64_t c,
                                                                      const int pixels,
                                                                      const int across)
{
    CV_FN(beside_vector) s[CV_BESIDE_PIXELS][2], w[2];
#pragma GCC unroll 4
    for (int p = 0; p < pixels; p++)
#pragma GCC unroll 2
        for (int u = 0; u < across; u++)
            s[p][u] = (CV_FN(beside_vector)){0};
    for (int64_t t = 0; t < b->taps; t++) {
        const CV_T *x = (const CV_T *)b->x[t] + at * b->step + c;
        const CV_T *weight = (const CV_T *)b->weight[t] + c;
#pragma GCC unroll 2
        for (int u = 0; u < across; u++)
            w[u] = *(const CV_FN(beside_anywhere) *)(weight + u * CV_LANES);
#pragma GCC unroll 4
        for (int p = 0; p < pixels; p++)
#pragma GCC unroll 2
            for (int u = 0; u < across; u++)
                s[p][u] += w[u] * *(const CV_FN(beside_anywhere) *)(x + p * b->step + u * CV_LANES);
    }
#pragma GCC unroll 4
    for (int p = 0; p < pixels; p++)
#pragma GCC unroll 2
        for (int u = 0; u < across; u++)
            *(CV_FN(beside_anywhere) *)((CV_T *)b->sum + (at + p) * b->pitch + c + u * CV_LANES) =
                s[p][u];
}

static inline __attribute__((always_inline)) void CV_FN(beside_pixels)(const cv_beside *b,
                                                                       int64_t at, const int pixels)
{
    int64_t c = 0;
    for (; c + 2 * CV_LANES <= b->n; c += 2 * CV_LANES)
        CV_FN(beside_block)(b, at, c, pixels, 2);
    for (; c + CV_LANES <= b->n; c += CV_LANES)
        CV_FN(beside_block)(b, at, c, pixels, 1);
    for (; c < b->n; c++)
        for (int p = 0; p < pixels; p++) {
            CV_T s = 0;
            for (int64_t t = 0; t < b->taps; t++)
                s += ((const CV_T *)b->weight[t])[c] *
                     ((const CV_T *)b->x[t])[(at + p) * b->step + c];
            ((CV_T *)b->sum)[(at + p) * b->pitch + c] = s;
        }
}

/* A vector of channels from c on, of as many pixels from `at` on: taps come in rows of `along`, of which the
 * next meets what this one meets a pixel further, so that each element is loaded once a row. */
static inline __attribute__((always_inline)) void CV_FN(beside_along)(const cv_beside *b,
                                                                      int64_t at, int64_t c,
                                                                      const int along)
{
    enum { PIXELS = CV_BESIDE_PIXELS };
    CV_FN(beside_vector) s[PIXELS], w[CV_BESIDE_ALONG];
#pragma GCC unroll 4
    for (int p = 0; p < PIXELS; p++)
        s[p] = (CV_FN(beside_vector)){0};
    for (int64_t t = 0; t < b->taps; t += along) {
        const CV_T *x = (const CV_T *)b->x[t] + at * b->step + c;
#pragma GCC unroll 7
        for (int k = 0; k < along; k++)
            w[k] = *(const CV_FN(beside_anywhere) *)((const CV_T *)b->weight[t + k] + c);
#pragma GCC unroll 10
        for (int q = 0; q < along + PIXELS - 1; q++) {
            const CV_FN(beside_vector) v = *(const CV_FN(beside_anywhere) *)(x + q * b->step);
#pragma GCC unroll 4
            for (int p = 0; p < PIXELS; p++)
                if (q >= p && q - p < along)
                    s[p] += w[q - p] * v;
        }
    }
#pragma GCC unroll 4
    for (int p = 0; p < PIXELS; p++)
        *(CV_FN(beside_anywhere) *)((CV_T *)b->sum + (at + p) * b->pitch + c) = s[p];
}

static inline __attribute__((always_inline)) int64_t CV_FN(beside_rows)(const cv_beside *b,
                                                                        const int along)
{
    int64_t at = 0;
    for (; b->n % CV_LANES == 0 && at + CV_BESIDE_PIXELS <= b->pixels; at += CV_BESIDE_PIXELS)
        for (int64_t c = 0; c < b->n; c += CV_LANES)
            CV_FN(beside_along)(b, at, c, along);
    return at;
}

static void CV_FN(beside)(const cv_beside *b)
{
    int64_t at = b->along == 3   ? CV_FN(beside_rows)(b, 3)
                 : b->along == 5 ? CV_FN(beside_rows)(b, 5)
                 : b->along == 7 ? CV_FN(beside_rows)(b, 7)
                                 : 0;
    for (; at + CV_BESIDE_PIXELS <= b->pixels; at += CV_BESIDE_PIXELS)
        CV_FN(beside_pixels)(b, at, CV_BESIDE_PIXELS);
    for (; at < b->pixels; at++)
        CV_FN(beside_pixels)(b, at, 1);
}

/* sum[k][c...] += what `taps` taps give `across` vectors of channels from c on, over all pixels: tap k meets
 * the element k pixels of x further. Each element is loaded once. */
static inline __attribute__((always_inline)) void CV_FN(beside_dot_block)(const cv_beside_dot *d,
                                                                          int64_t c, const int taps,
                                                                          const int across)
{
    CV_FN(beside_vector) s[CV_DOT_ALONG][4], x[CV_DOT_ALONG][4];
    const int64_t step = d->step, pitch = d->pitch;
    const CV_T *from = (const CV_T *)d->x + c, *g = (const CV_T *)d->g + c;
#pragma GCC unroll 3
    for (int k = 0; k < taps; k++)
#pragma GCC unroll 4
        for (int u = 0; u < across; u++) {
            s[k][u] = (CV_FN(beside_vector)){0};
            if (k > 0)
                x[k][u] = *(const CV_FN(beside_anywhere) *)(from + (k - 1) * step + u * CV_LANES);
        }
    from += (taps - 1) * step;
    for (int64_t i = 0; i < d->pixels; i++, from += step, g += pitch)
#pragma GCC unroll 4
        for (int u = 0; u < across; u++) {
            const CV_FN(beside_vector) v = *(const CV_FN(beside_anywhere) *)(g + u * CV_LANES);
#pragma GCC unroll 3
            for (int k = 0; k + 1 < taps; k++)
                x[k][u] = x[k + 1][u];
            x[taps - 1][u] = *(const CV_FN(beside_anywhere) *)(from + u * CV_LANES);
#pragma GCC unroll 3
            for (int k = 0; k < taps; k++)
                s[k][u] += v * x[k][u];
        }
#pragma GCC unroll 3
    for (int k = 0; k < taps; k++) {
        CV_T all[4 * MM_BYTES / sizeof(CV_T)];
        memcpy(all, s[k], (size_t)across * MM_BYTES);
        for (int64_t i = 0; i < across * CV_LANES; i++)
            d->sum[k * d->sums + c + i] += (double)all[i];
    }
}

static void CV_FN(beside_dot)(const cv_beside_dot *d)
{
    int64_t c = 0;
    for (; d->taps == CV_DOT_ALONG && c + 2 * CV_LANES <= d->n; c += 2 * CV_LANES)
        CV_FN(beside_dot_block)(d, c, CV_DOT_ALONG, 2);
    for (; d->taps == CV_DOT_ALONG && c + CV_LANES <= d->n; c += CV_LANES)
        CV_FN(beside_dot_block)(d, c, CV_DOT_ALONG, 1);
    for (; d->taps == 1 && c + 4 * CV_LANES <= d->n; c += 4 * CV_LANES)
        CV_FN(beside_dot_block)(d, c, 1, 4);
    for (; d->taps == 1 && c + CV_LANES <= d->n; c += CV_LANES)
        CV_FN(beside_dot_block)(d, c, 1, 1);
    for (; c < d->n; c++)
        for (int64_t k = 0; k < d->taps; k++) {
            CV_T s = 0;
            for (int64_t i = 0; i < d->pixels; i++)
                s += ((const CV_T *)d->g)[i * d->pitch + c] *
                     ((const CV_T *)d->x)[(i + k) * d->step + c];
            d->sum[k * d->sums + c] += (double)s;
        }
}

#undef CV_LANES
#undef CV_FN
#undef CV_NAME
#undef CV_T
