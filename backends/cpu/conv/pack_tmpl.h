/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Panels of the taps of positions. The includer defines
 *   CV_NAME  f16 bf16 f32 f64: suffix of what is defined here
 *   CV_S     the type of the source's elements
 *   CV_T     the type of the sums
 *   CV_LOAD  conversion of one element */
#define CV_FN(name) CPU_CAT(cv_##name, CV_NAME)

static inline __attribute__((always_inline)) void CV_FN(copy)(const CV_S *src, int64_t step,
                                                              int64_t n, CV_T *dst)
{
    if (step == 1)
        for (int64_t i = 0; i < n; i++)
            dst[i] = CV_LOAD(src[i]);
    else if (step == 2)
        for (int64_t i = 0; i < n; i++)
            dst[i] = CV_LOAD(src[2 * i]);
    else
        for (int64_t i = 0; i < n; i++)
            dst[i] = CV_LOAD(src[i * step]);
}

/* A run of lanes for one tap, which begins at element `at` of the last axis of row src. */
static inline __attribute__((always_inline)) void CV_FN(lanes)(const cv_gather *g, const CV_S *src,
                                                               int64_t at, int64_t n, CV_T *dst,
                                                               const int width)
{
    const int64_t scale = g->axis[2].scale, step = g->space[2] * scale, extent = g->extent[2];
    if (at >= 0 && at + (n - 1) * scale < extent) {
        src += at * g->space[2];
        if (n == width && step == 1)
            CV_FN(copy)(src, 1, width, dst);
        else
            CV_FN(copy)(src, step, n, dst);
        return;
    }
    int64_t first, end;
    nd_window_inside(n, scale, at, extent, &first, &end);
    for (int64_t i = 0; i < first; i++)
        dst[i] = 0;
    if (end > first)
        CV_FN(copy)(src + (at + first * scale) * g->space[2], step, end - first, dst + first);
    for (int64_t i = end; i < n; i++)
        dst[i] = 0;
}

/* Elements first to before end of n at src; the others are zero. */
static inline void CV_FN(copy_some)(CV_S *to, const CV_S *src, int64_t n, int64_t first,
                                    int64_t end)
{
    if (first > 0 || end < n)
        memset(to, 0, (size_t)n * sizeof *to);
    if (end > first)
        memcpy(to + first, src + first, (size_t)(end - first) * sizeof *to);
}

/* n numbers whose elements lie side by side, of one tap or of joined ones, for lanes of several rows or of which some
 * are outside: they are copied to a line for each lane, and turned. */
static inline __attribute__((always_inline)) void CV_FN(turn_lanes)(const cv_gather *g,
                                                                    const cv_lane_run *run,
                                                                    int runs, const cv_tap *t,
                                                                    int64_t n, int joined,
                                                                    CV_T *dst, const int width)
{
    CV_S line[CV_MOST_LANES * CV_TURNED];
    const int lanes = run[runs - 1].lane + run[runs - 1].n;
    const int64_t scale = g->axis[2].scale, moved = t->at[2] * g->axis[2].move;
    for (int64_t c = 0; c < n; c += CV_TURNED) {
        const int64_t some = n - c < CV_TURNED ? n - c : CV_TURNED;
        for (int i = 0; i < runs; i++) {
            int64_t row, at = run[i].at[2] + moved;
            const int inside = cv_tap_row(g, t, &run[i], &row);
            CV_S *to = line + run[i].lane * CV_TURNED;
            for (int l = 0; l < run[i].n; l++, at += scale, to += CV_TURNED) {
                const int64_t e = at * g->space[2] + t->channel + c,
                              rest = g->extent[2] * g->space[2] - e;
                int64_t first = 0, end = at >= 0 && at < g->extent[2] ? some : 0;
                if (joined) {
                    first = e < 0 ? -e : 0;
                    end = rest < some ? rest : some;
                }
                CV_FN(copy_some)
                (to, (const CV_S *)g->data + row + e, some, first, inside ? end : 0);
            }
        }
        g->transpose(line, CV_TURNED, 1, lanes, some, dst + c * width);
    }
}

/* The next channels of one tap, for all lanes of a panel. */
static inline __attribute__((always_inline)) void CV_FN(tap_of_panel)(const cv_gather *g,
                                                                      const cv_lane_run *run,
                                                                      int runs, const cv_tap *t,
                                                                      int64_t channels, CV_T *dst,
                                                                      const int width)
{
    const int lanes = run[runs - 1].lane + run[runs - 1].n;
    const int64_t scale = g->axis[2].scale, moved = t->at[2] * g->axis[2].move;
    int64_t row;
    int inside = cv_tap_row(g, t, &run[0], &row);
    if (channels > 1 && g->transpose && runs == 1 && inside && run[0].at[2] + moved >= 0 &&
        run[0].at[2] + moved + (lanes - 1) * scale < g->extent[2]) {
        g->transpose((const CV_S *)g->data + row + (run[0].at[2] + moved) * g->space[2] +
                         t->channel * g->channel,
                     scale * g->space[2], g->channel, lanes, channels, dst);
        return;
    }
    if (channels > 1 && g->transpose) {
        CV_FN(turn_lanes)(g, run, runs, t, channels, 0, dst, width);
        return;
    }
    for (int i = 0; i < runs; i++) {
        inside = cv_tap_row(g, t, &run[i], &row);
        const CV_S *src = (const CV_S *)g->data + t->channel * g->channel;
        for (int64_t c = 0; c < channels; c++) {
            CV_T *lane = dst + c * width + run[i].lane;
            if (inside)
                CV_FN(lanes)
            (g, src + c * g->channel + row, run[i].at[2] + moved, run[i].n, lane, width);
            else memset(lane, 0, (size_t)run[i].n * sizeof *lane);
        }
    }
}

static inline __attribute__((always_inline)) void CV_FN(pack_width)(const cv_gather *g, int64_t p0,
                                                                    int64_t w, int64_t k0,
                                                                    int64_t kc, CV_T *dst,
                                                                    const int width)
{
    cv_lane_run run[CV_MOST_LANES];
    for (; w > 0; w -= width, p0 += width, dst += width * kc) {
        const int lanes = w < width ? (int)w : width;
        const int runs = cv_lane_runs(g, p0, lanes, run);
        if (lanes < width)
            memset(dst, 0, (size_t)(width * kc) * sizeof *dst);
        cv_tap t = cv_tap_at(g, k0);
        for (int64_t k = 0, same, offset; k < kc; k += same) {
            same = cv_tap_joined(g, &t, kc - k);
            if (same > 0 && cv_tap_inside(g, &t, run, runs, &offset)) {
                g->transpose((const CV_S *)g->data + offset, g->axis[2].scale * g->space[2], 1,
                             lanes, same, dst + k * width);
            } else if (same > 0) {
                CV_FN(turn_lanes)(g, run, runs, &t, same, 1, dst + k * width, width);
            } else {
                same = cv_tap_channels(g, &t, kc - k);
                CV_FN(tap_of_panel)(g, run, runs, &t, same, dst + k * width, width);
            }
            cv_tap_next(g, &t, same);
        }
    }
}

static void CV_FN(pack)(const cv_gather *g, int64_t p0, int64_t w, int64_t k0, int64_t kc,
                        int width, void *dst)
{
    if (width == MM_ROWS)
        CV_FN(pack_width)(g, p0, w, k0, kc, dst, MM_ROWS);
    else
        CV_FN(pack_width)(g, p0, w, k0, kc, dst, (int)(MM_ACROSS * MM_BYTES / sizeof(CV_T)));
}

#undef CV_FN
#undef CV_NAME
#undef CV_S
#undef CV_T
#undef CV_LOAD
