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

static void CV_FN(beside)(const cv_beside *b)
{
    int64_t at = 0;
    for (; at + CV_BESIDE_PIXELS <= b->pixels; at += CV_BESIDE_PIXELS)
        CV_FN(beside_pixels)(b, at, CV_BESIDE_PIXELS);
    for (; at < b->pixels; at++)
        CV_FN(beside_pixels)(b, at, 1);
}

/* Of `across` vectors of channels from c on, the inner products over all pixels. */
static inline __attribute__((always_inline)) void CV_FN(beside_dot_block)(const cv_beside_dot *d,
                                                                          int64_t c,
                                                                          const int across)
{
    CV_FN(beside_vector) s[4];
    CV_T all[4 * MM_BYTES / sizeof(CV_T)];
#pragma GCC unroll 4
    for (int u = 0; u < across; u++)
        s[u] = (CV_FN(beside_vector)){0};
    for (int64_t i = 0; i < d->pixels; i++) {
        const CV_T *x = (const CV_T *)d->x + i * d->step + c;
        const CV_T *g = (const CV_T *)d->g + i * d->pitch + c;
#pragma GCC unroll 4
        for (int u = 0; u < across; u++)
            s[u] += *(const CV_FN(beside_anywhere) *)(g + u * CV_LANES) *
                    *(const CV_FN(beside_anywhere) *)(x + u * CV_LANES);
    }
    memcpy(all, s, (size_t)across * MM_BYTES);
    for (int64_t k = 0; k < across * CV_LANES; k++)
        d->sum[c + k] += (double)all[k];
}

static void CV_FN(beside_dot)(const cv_beside_dot *d)
{
    int64_t c = 0;
    for (; c + 4 * CV_LANES <= d->n; c += 4 * CV_LANES)
        CV_FN(beside_dot_block)(d, c, 4);
    for (; c + CV_LANES <= d->n; c += CV_LANES)
        CV_FN(beside_dot_block)(d, c, 1);
    for (; c < d->n; c++) {
        CV_T s = 0;
        for (int64_t i = 0; i < d->pixels; i++)
            s += ((const CV_T *)d->g)[i * d->pitch + c] * ((const CV_T *)d->x)[i * d->step + c];
        d->sum[c] += (double)s;
    }
}

#undef CV_LANES
#undef CV_FN
#undef CV_NAME
#undef CV_T
