/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sums of a few channels over packed planes. The includer defines CV_NAME, f32 or f64, and CV_T, the
 * type. Products are rounded before they are added, at every SIMD level. */
#define CV_FN(name) CPU_CAT(cv_##name, CV_NAME)
enum { CPU_CAT(cv_lanes_, CV_NAME) = MM_BYTES / (int)sizeof(CV_T) };
#define CV_LANES ((int)CPU_CAT(cv_lanes_, CV_NAME))

typedef CV_T CV_FN(plane_vector) __attribute__((vector_size(MM_BYTES)));
typedef CV_T CV_FN(plane_anywhere) __attribute__((vector_size(MM_BYTES), aligned(4), may_alias));

/* Vectors `across` of sums i on, of each of `outs` channels; the last may have fewer than all lanes. */
static inline __attribute__((always_inline)) void CV_FN(plane_block)(const cv_plane *p,
                                                                     const CV_T *from, int64_t row,
                                                                     int64_t i, const int outs,
                                                                     const int across, int64_t n)
{
    CV_FN(plane_vector) s[CV_PLANE_OUTS][4];
    const CV_T *weight = p->weight;
#pragma GCC unroll 4
    for (int o = 0; o < outs; o++)
#pragma GCC unroll 4
        for (int u = 0; u < across; u++)
            s[o][u] = (CV_FN(plane_vector)){0};
    for (int64_t t = 0; t < p->taps; t++, weight += outs) {
        const CV_T *x = from + p->offset[t] + i;
#pragma GCC unroll 4
        for (int u = 0; u < across; u++) {
            const CV_FN(plane_vector) v = *(const CV_FN(plane_anywhere) *)(x + u * CV_LANES);
#pragma GCC unroll 4
            for (int o = 0; o < outs; o++)
                s[o][u] += v * weight[o];
        }
    }
#pragma GCC unroll 4
    for (int o = 0; o < outs; o++) {
        CV_T *to = (CV_T *)p->sum[o] + row * p->pitch + i;
        if (n == across * CV_LANES)
#pragma GCC unroll 4
            for (int u = 0; u < across; u++)
                *(CV_FN(plane_anywhere) *)(to + u * CV_LANES) = s[o][u];
        else
            memcpy(to, s[o], (size_t)n * sizeof *to);
    }
}

/* Of one channel, up to a vector of each of four rows. */
static inline __attribute__((always_inline)) void CV_FN(plane_down)(const cv_plane *p, int64_t row,
                                                                    int64_t i, int64_t n)
{
    CV_FN(plane_vector) s[4];
    const CV_T *weight = p->weight, *from = (const CV_T *)p->packed + row * p->row_step + i;
#pragma GCC unroll 4
    for (int d = 0; d < 4; d++)
        s[d] = (CV_FN(plane_vector)){0};
    for (int64_t t = 0; t < p->taps; t++) {
        const CV_T *x = from + p->offset[t];
#pragma GCC unroll 4
        for (int d = 0; d < 4; d++)
            s[d] += *(const CV_FN(plane_anywhere) *)(x + d * p->row_step) * weight[t];
    }
#pragma GCC unroll 4
    for (int d = 0; d < 4; d++) {
        CV_T *to = (CV_T *)p->sum[0] + (row + d) * p->pitch + i;
        if (n == CV_LANES)
            *(CV_FN(plane_anywhere) *)to = s[d];
        else
            memcpy(to, &s[d], (size_t)n * sizeof *to);
    }
}

static inline __attribute__((always_inline)) void CV_FN(plane_rows)(const cv_plane *p,
                                                                    const int outs)
{
    const int across = outs <= 2 ? 4 : 2; /* chains of sums that are underway at once */
    const int64_t wide = across * CV_LANES;
    int64_t row = 0;
    for (; outs == 1 && p->n < wide && row + 4 <= p->rows; row += 4)
        for (int64_t i = 0; i < p->n; i += CV_LANES)
            CV_FN(plane_down)(p, row, i, p->n - i < CV_LANES ? p->n - i : CV_LANES);
    for (; row < p->rows; row++) {
        const CV_T *from = (const CV_T *)p->packed + row * p->row_step;
        int64_t i = 0;
        for (; i + wide <= p->n; i += wide)
            CV_FN(plane_block)(p, from, row, i, outs, across, wide);
        const int64_t left = p->n - i; /* fewer than `across` vectors, and part of one */
        if (left > 3 * CV_LANES)
            CV_FN(plane_block)(p, from, row, i, outs, across, left);
        else if (left > 2 * CV_LANES)
            CV_FN(plane_block)(p, from, row, i, outs, across < 3 ? across : 3, left);
        else if (left > CV_LANES)
            CV_FN(plane_block)(p, from, row, i, outs, 2, left);
        else if (left > 0)
            CV_FN(plane_block)(p, from, row, i, outs, 1, left);
    }
}

/* Elements of one run of a row, `scale` apart. */
static inline __attribute__((always_inline)) void CV_FN(spread_run)(const CV_T *restrict from,
                                                                    CV_T *restrict to, int64_t n,
                                                                    const int64_t scale)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = from[i * scale];
}

static void CV_FN(spread)(const cv_spread *s)
{
    for (int64_t r = 0; r < s->rows; r++) {
        const CV_T *from = (const CV_T *)s->from + r * s->row;
        CV_T *to = (CV_T *)s->to + r * s->scale * s->run;
        for (int64_t run = 0; run < s->scale; run++) {
            const int64_t first = s->first[run], n = s->end[run] - first;
            const CV_T *at = from + s->begin + run + first * s->scale;
            if (s->scale == 1)
                CV_FN(spread_run)(at, to + first, n, 1);
            else if (s->scale == 2)
                CV_FN(spread_run)(at, to + run * s->run + first, n, 2);
            else
                CV_FN(spread_run)(at, to + run * s->run + first, n, s->scale);
        }
    }
}

static void CV_FN(plane)(const cv_plane *p, int outs)
{
    switch (outs) {
    case 1:
        CV_FN(plane_rows)(p, 1);
        break;
    case 2:
        CV_FN(plane_rows)(p, 2);
        break;
    case 3:
        CV_FN(plane_rows)(p, 3);
        break;
    default:
        CV_FN(plane_rows)(p, CV_PLANE_OUTS);
    }
}

#undef CV_LANES
#undef CV_FN
#undef CV_NAME
#undef CV_T
