/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Panels of the taps of positions, of f32 whose channels do not lie side by side: what a tap meets is looked up once
 * for all channels, and lanes of several rows, or of none, are joined by masked loads. Included by
 * conv_isa.c for the levels with AVX2. */
#include <immintrin.h>

enum { CV_EIGHT = 8, CV_MOST_EIGHTS = CV_MOST_LANES / CV_EIGHT };

/* Eight lanes of a panel, of which one row has those of the mask: lane 0 would be at `offset`. Elements
 * two apart are read by two loads of eight. */
typedef struct {
    int64_t offset;
    __m256i mask[2];
} cv_part;
typedef struct {
    int parts;
    cv_part part[CV_EIGHT];
} cv_eight;

/* Ones where lane index*per_lane is from `first` to before `end`. */
static inline __m256i cv_lanes_mask(__m256i index, int first, int end)
{
    return _mm256_and_si256(_mm256_cmpgt_epi32(index, _mm256_set1_epi32(first - 1)),
                            _mm256_cmpgt_epi32(_mm256_set1_epi32(end), index));
}

/* Adds the lanes first to end of a panel, which one row has; lane 0 would be at `offset`. */
static inline void cv_add_part(cv_eight *eights, int first, int end, int64_t offset, int64_t step)
{
    const __m256i one = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i low = _mm256_setr_epi32(0, -1, 1, -1, 2, -1, 3, -1);
    const __m256i high = _mm256_setr_epi32(4, -1, 5, -1, 6, -1, 7, -1);
    for (int v = first / CV_EIGHT; v * CV_EIGHT < end; v++) {
        const int from = first > v * CV_EIGHT ? first - v * CV_EIGHT : 0, to = end - v * CV_EIGHT;
        cv_part *part = &eights[v].part[eights[v].parts++];
        part->offset = offset + v * CV_EIGHT * step;
        part->mask[0] = cv_lanes_mask(step == 1 ? one : low, from, to);
        part->mask[1] = cv_lanes_mask(high, from, to);
    }
}

/* What the tap meets in a channel: parts of each eight lanes. */
static inline void cv_take_parts(const cv_gather *g, const cv_lane_run *run, int runs,
                                 const cv_tap *t, int64_t step, cv_eight *eights, int n)
{
    const int64_t scale = g->axis[2].scale;
    for (int v = 0; v < n; v++)
        eights[v].parts = 0;
    for (int i = 0; i < runs; i++) {
        const int64_t at = run[i].at[2] + t->at[2] * g->axis[2].move;
        int64_t row, first = 0, end = run[i].n;
        if (!cv_tap_row(g, t, &run[i], &row))
            continue;
        if (at < 0 || at + (run[i].n - 1) * scale >= g->extent[2])
            nd_window_inside(run[i].n, scale, at, g->extent[2], &first, &end);
        if (end > first)
            cv_add_part(eights, run[i].lane + (int)first, run[i].lane + (int)end,
                        row + at * g->space[2] - run[i].lane * step, step);
    }
}

static inline __attribute__((always_inline)) __m256 cv_load_part(const cv_part *part,
                                                                 const float *src, const int step)
{
    const __m256 low = _mm256_maskload_ps(src, part->mask[0]);
    if (step == 1)
        return low;
    const __m256 both = _mm256_shuffle_ps(low, _mm256_maskload_ps(src + 8, part->mask[1]), 0x88);
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(both), 0xd8));
}

/* Eight lanes of all channels; what no row has is zero. */
static inline __attribute__((always_inline)) void cv_pack_eight(const cv_eight *e, const float *src,
                                                                int64_t channel, int64_t channels,
                                                                float *dst, int64_t pitch,
                                                                const int step)
{
    const cv_part *part = e->part;
    if (e->parts == 0)
        for (int64_t c = 0; c < channels; c++)
            _mm256_storeu_ps(dst + c * pitch, _mm256_setzero_ps());
    else if (e->parts == 1)
        for (int64_t c = 0; c < channels; c++)
            _mm256_storeu_ps(dst + c * pitch,
                             cv_load_part(part, src + part->offset + c * channel, step));
    else if (e->parts == 2)
        for (int64_t c = 0; c < channels; c++)
            _mm256_storeu_ps(
                dst + c * pitch,
                _mm256_or_ps(cv_load_part(part, src + part[0].offset + c * channel, step),
                             cv_load_part(part + 1, src + part[1].offset + c * channel, step)));
    else
        for (int64_t c = 0; c < channels; c++) {
            __m256 all = _mm256_setzero_ps();
            for (int i = 0; i < e->parts; i++)
                all = _mm256_or_ps(
                    all, cv_load_part(part + i, src + part[i].offset + c * channel, step));
            _mm256_storeu_ps(dst + c * pitch, all);
        }
}

/* As cv_pack_f32, of elements `step`, 1 or 2, apart; width is a multiple of eight. */
static inline __attribute__((always_inline)) void cv_pack_parts(const cv_gather *g, int64_t p0,
                                                                int64_t w, int64_t k0, int64_t kc,
                                                                float *dst, const int width,
                                                                const int step)
{
    const int64_t taps = g->axis[0].taps * g->axis[1].taps * g->axis[2].taps;
    cv_lane_run run[CV_MOST_LANES];
    cv_eight eights[CV_MOST_EIGHTS];
    for (; w > 0; w -= width, p0 += width, dst += width * kc) {
        const int runs = cv_lane_runs(g, p0, w < width ? (int)w : width, run);
        for (int64_t i = 0; i < taps && i < kc; i++) {
            const cv_tap t = cv_tap_at(g, k0 + i);
            const int64_t channels = (kc - i + taps - 1) / taps;
            cv_take_parts(g, run, runs, &t, step, eights, width / CV_EIGHT);
            for (int v = 0; v < width / CV_EIGHT; v++)
                cv_pack_eight(&eights[v], (const float *)g->data + t.channel * g->channel,
                              g->channel, channels, dst + i * width + v * CV_EIGHT, taps * width,
                              step);
        }
    }
}

static void cv_pack_f32_fast(const cv_gather *g, int64_t p0, int64_t w, int64_t k0, int64_t kc,
                             int width, void *dst)
{
    const int64_t step = g->axis[2].scale * g->space[2];
    const int columns = MM_ACROSS * MM_BYTES / (int)sizeof(float);
    if (g->channels_inner || width != columns || (step != 1 && step != 2))
        cv_pack_f32(g, p0, w, k0, kc, width, dst);
    else if (step == 1)
        cv_pack_parts(g, p0, w, k0, kc, dst, columns, 1);
    else
        cv_pack_parts(g, p0, w, k0, kc, dst, columns, 2);
}
