/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of conv, built once per SIMD level. */
#include "math/half.h"
#include "matmul/simd.h"
#include "conv/conv.h"

#define CV_MOST_LANES 64
#define CV_TURNED 64 /* channels that are turned at a time */

/* Lanes of a panel that follow each other along the last axis. */
typedef struct {
    int lane, n;
    int64_t at[3]; /* element of the source that the first one's tap zero meets */
} cv_lane_run;

static inline int cv_lane_runs(const cv_gather *g, int64_t p0, int lanes, cv_lane_run *run)
{
    const int64_t n[3] = {g->axis[0].n, g->axis[1].n, g->axis[2].n};
    int runs = 0;
    for (int lane = 0; lane < lanes; runs++) {
        int64_t begin[3];
        run[runs].lane = lane;
        run[runs].n = (int)cv_next_run(n, p0 + lane, lanes - lane, begin);
        for (int d = 0; d < 3; d++)
            run[runs].at[d] = begin[d] * g->axis[d].scale + g->axis[d].origin;
        lane += run[runs].n;
    }
    return runs;
}

/* Number k of the sums: a tap of a channel. */
typedef struct {
    int64_t channel, at[3];
} cv_tap;

static inline cv_tap cv_tap_at(const cv_gather *g, int64_t k)
{
    cv_tap t;
    if (g->channels_inner) {
        t.channel = k % g->channels;
        k /= g->channels;
    }
    for (int d = 2; d >= 0; d--) {
        t.at[d] = k % g->axis[d].taps;
        k /= g->axis[d].taps;
    }
    if (!g->channels_inner)
        t.channel = k;
    return t;
}

/* How many of the next numbers, of `most`, are channels of this tap. */
static inline int64_t cv_tap_channels(const cv_gather *g, const cv_tap *t, int64_t most)
{
    if (!g->channels_inner)
        return 1;
    return g->channels - t->channel < most ? g->channels - t->channel : most;
}

static inline void cv_tap_next(const cv_gather *g, cv_tap *t, int64_t channels)
{
    if (g->channels_inner) {
        t->channel += channels;
        if (t->channel < g->channels)
            return;
        t->at[2] += t->channel / g->channels - 1; /* of one row */
        t->channel = 0;
    }
    for (int d = 2; d >= 0; d--) {
        if (++t->at[d] < g->axis[d].taps)
            return;
        t->at[d] = 0;
    }
    t->channel++;
}

/* Whether a tap of a run meets a row of the last axis, whose offset goes to *row. */
static inline int cv_tap_row(const cv_gather *g, const cv_tap *t, const cv_lane_run *run,
                             int64_t *row)
{
    const int64_t d = run->at[0] + t->at[0] * g->axis[0].move;
    const int64_t h = run->at[1] + t->at[1] * g->axis[1].move;
    *row = d * g->space[0] + h * g->space[1];
    return d >= 0 && d < g->extent[0] && h >= 0 && h < g->extent[1];
}

/* How many of the next numbers, of `most`, are elements side by side for each lane of a panel: channels of this tap
 * and of those behind it in the row. 0: taps do not lie that way. */
static inline int64_t cv_tap_joined(const cv_gather *g, const cv_tap *t, int64_t most)
{
    const nd_window_axis *a = &g->axis[2];
    if (!g->transpose || a->move != 1 || a->taps == 1 || g->space[2] != g->channels)
        return 0;
    const int64_t n = (a->taps - t->at[2]) * g->channels - t->channel;
    return n < most ? n : most;
}

/* Whether the lanes of a panel are of one row, and the taps of the row from t on inside for all; the first is at
 * *offset. */
static inline int cv_tap_inside(const cv_gather *g, const cv_tap *t, const cv_lane_run *run,
                                int runs, int64_t *offset)
{
    const nd_window_axis *a = &g->axis[2];
    const int64_t first = run->at[2] + t->at[2];
    if (runs != 1 || first < 0 || run->at[2] + (run->n - 1) * a->scale + a->taps > g->extent[2] ||
        !cv_tap_row(g, t, run, offset))
        return 0;
    *offset += first * g->space[2] + t->channel;
    return 1;
}

#define CV_SAME(x) (x)
#define CV_NAME f16
#define CV_S uint16_t
#define CV_T float
#define CV_LOAD cpu_f16_to_f32
#include "conv/pack_tmpl.h"
#define CV_NAME bf16
#define CV_S uint16_t
#define CV_T float
#define CV_LOAD cpu_bf16_to_f32
#include "conv/pack_tmpl.h"
#define CV_NAME f32
#define CV_S float
#define CV_T float
#define CV_LOAD CV_SAME
#include "conv/pack_tmpl.h"
#define CV_NAME f64
#define CV_S double
#define CV_T double
#define CV_LOAD CV_SAME
#include "conv/pack_tmpl.h"

#if CPU_ISA_LEVEL >= 1 && defined(__AVX2__)
#include "conv/pack_avx2.h"
#else
#define cv_pack_f32_fast cv_pack_f32
#endif

#define CV_NAME f32
#define CV_T float
#include "conv/tap_tmpl.h"
#define CV_NAME f64
#define CV_T double
#include "conv/tap_tmpl.h"

#define CV_NAME f32
#define CV_T float
#include "conv/beside_tmpl.h"
#define CV_NAME f64
#define CV_T double
#include "conv/beside_tmpl.h"

#define CV_NAME f32
#define CV_T float
#include "conv/plane_tmpl.h"
#define CV_NAME f64
#define CV_T double
#include "conv/plane_tmpl.h"

#define CV_NAME f32
#define CV_T float
#include "conv/direct_tmpl.h"
#define CV_NAME f64
#define CV_T double
#include "conv/direct_tmpl.h"

#define CV_NAME f32
#define CV_T float
#define CV_I int32_t
#include "conv/dot_tmpl.h"
#define CV_NAME f64
#define CV_T double
#define CV_I int64_t
#include "conv/dot_tmpl.h"

#if CPU_ISA_LEVEL >= 1 && defined(__AVX2__)
#include "conv/turn_avx2.h"
#endif
#define CV_NAME f32
#define CV_T uint32_t
#include "conv/turn_tmpl.h"
#define CV_NAME f64
#define CV_T uint64_t
#include "conv/turn_tmpl.h"
#define CV_NAME bf16
#define CV_T uint16_t
#include "conv/turn_tmpl.h"

#include "conv/pairs_sums.h"

const cv_isa CPU_ISA_FN(cpu_conv_isa) = {
    .apart = {[NDP_BF16] = cv_apart_bf16, [NDP_F32] = cv_apart_f32, [NDP_F64] = cv_apart_f64},
    .together =
        {[NDP_BF16] = cv_together_bf16, [NDP_F32] = cv_together_f32, [NDP_F64] = cv_together_f64},
    .pairs = cv_pairs,
    .pairs_range = cv_pairs_range_of,
    .pairs_join = cv_pairs_join,
    .pairs_save = cv_pairs_save,
    .dots = {[NDP_F32] = cv_dots_f32, [NDP_F64] = cv_dots_f64},
    .plane = {[NDP_F32] = cv_plane_f32, [NDP_F64] = cv_plane_f64},
    .spread = {[NDP_F32] = cv_spread_f32, [NDP_F64] = cv_spread_f64},
    .block = {[NDP_F32] = cv_block_f32, [NDP_F64] = cv_block_f64},
    .pack = {[NDP_F16] = cv_pack_f16,
             [NDP_BF16] = cv_pack_bf16,
             [NDP_F32] = cv_pack_f32_fast,
             [NDP_F64] = cv_pack_f64},
    .taps = {[NDP_F32] = cv_taps_f32, [NDP_F64] = cv_taps_f64},
    .beside = {[NDP_F32] = cv_beside_f32, [NDP_F64] = cv_beside_f64},
    .beside_dot = {[NDP_F32] = cv_beside_dot_f32, [NDP_F64] = cv_beside_dot_f64},
};
