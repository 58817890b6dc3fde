/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Weights of convolutions of bf16 by sums of pairs, and of gradients for the input: packed once for a call into tiles
 * of 16 channels of the result by the 32 numbers of a step (pairs.h), for each phase and group. */
#include <string.h>
#include "conv/conv.h"

/* Elements from a channel's weights to those of the up to 32 numbers of a step; returns how many these are. */
static int offsets_of(const cv_plan *p, const nd_window_axis axis[3], const cv_pairs_runs *r,
                      int64_t row, int64_t run, int64_t first, int64_t offset[CV_PAIRS_DEPTH])
{
    const int64_t tap = axis[1].tap + row * axis[1].tap_step, left = r->length - first;
    const int live = left < CV_PAIRS_DEPTH ? (int)left : CV_PAIRS_DEPTH;
    for (int k = 0; k < live; k++) {
        const int64_t e = first + k, along = cv_pairs_tap(r, &axis[2], p->ci, run, e);
        offset[k] = e % p->ci * p->w_in + tap * p->w_space[1] +
                    (axis[2].tap + along * axis[2].tap_step) * p->w_space[2];
    }
    return live;
}

/* A tile of words, two numbers each, of 16 channels of which each one's words follow each other, `step` words from one
 * channel to the next. */
static void turn_words(const cv_plan *p, const void *words, int64_t step, uint16_t *to)
{
    const cv_turn turn = {.beside = (void *)(uintptr_t)words,
                          .rows = to,
                          .n = CV_PAIRS_TILE,
                          .channels = CV_PAIRS_TILE,
                          .step = step,
                          .plane = CV_PAIRS_TILE};
    p->isa->apart[NDP_F32](&turn);
}

/* Up to 16 channels of the result from `from` on, as a tile: each one's numbers are gathered before all are turned. */
static void pack_numbers(const cv_plan *p, const uint16_t *from, int64_t n, const int64_t *offset,
                         int live, uint16_t *to)
{
    _Alignas(64) uint16_t number[CV_PAIRS_TILE][CV_PAIRS_DEPTH];
    if (live < CV_PAIRS_DEPTH || n < CV_PAIRS_TILE)
        memset(number, 0, sizeof number);
    for (int64_t o = 0; o < n; o++, from += p->w_out)
        for (int k = 0; k < live; k++)
            number[o][k] = from[offset[k]];
    turn_words(p, number, CV_PAIRS_DEPTH / 2, to);
}

/* The same, by squares of words or whole rows where numbers or channels lie side by side. */
static void pack_tile(const cv_plan *p, const uint16_t *from, int64_t n, const int64_t *offset,
                      int live, uint16_t *to)
{
    static const char zeros[64];
    const int side_by_side = p->w_in == 1 && p->w_out % 2 == 0 && live == CV_PAIRS_DEPTH &&
                             offset[CV_PAIRS_DEPTH - 1] - offset[0] == CV_PAIRS_DEPTH - 1;
    if (n == CV_PAIRS_TILE && side_by_side && (uintptr_t)(from + offset[0]) % 4 == 0)
        turn_words(p, from + offset[0], p->w_out / 2, to);
    else if (n == CV_PAIRS_TILE && p->w_out == 1) {
        const char *row[CV_PAIRS_DEPTH];
        for (int k = 0; k < CV_PAIRS_DEPTH; k++)
            row[k] = k < live ? (const char *)(from + offset[k]) : zeros;
        p->isa->pairs_join(row, 1, (char *)to, NULL);
    } else
        pack_numbers(p, from, n, offset, live, to);
}

/* Those of a phase's steps, for 16 channels from o on; returns their exponents. Where taps lie between numbers, all taps of
 * some of these follow each other, since they are in the same lines. */
static cv_pairs_range pack_tiles(const cv_plan *p, const nd_window_axis axis[3], int64_t group,
                                 int64_t o, uint16_t *to)
{
    const cv_pairs_runs r = cv_pairs_runs_of(p->ci, &axis[2]);
    const int64_t n = p->co - o < CV_PAIRS_TILE ? p->co - o : CV_PAIRS_TILE;
    const int64_t first = group * (p->backward ? p->ci * p->w_in : p->co * p->w_out) + o * p->w_out;
    const int64_t tile = CV_PAIRS_BYTES / 2, taps = axis[1].taps * r.runs;
    const uint16_t *from = (const uint16_t *)(const void *)p->weight + first;
    const int by_taps = p->w_in == 1;
    for (int64_t i = 0; i < taps * r.blocks; i++) {
        const int64_t t = by_taps ? i / r.blocks : i % taps, k = by_taps ? i % r.blocks : i / taps;
        int64_t offset[CV_PAIRS_DEPTH];
        const int live =
            offsets_of(p, axis, &r, t / r.runs, t % r.runs, k * CV_PAIRS_DEPTH, offset);
        pack_tile(p, from, n, offset, live, to + (t * r.blocks + k) * tile);
    }
    return p->isa->pairs_range(to, taps * r.blocks * tile);
}

/* A call, and which exponents its weights have. */
typedef struct {
    const cv_run *r;
    _Atomic cv_pairs_range *range;
} packing;

/* Tasks count phases, groups and tiles of the result's channels. */
static void pack_weights(void *ctx, int64_t begin, int64_t end)
{
    const packing *a = ctx;
    const cv_plan *p = a->r->p;
    const cv_pairs_plan *s = &p->pairs;
    for (int64_t t = begin; t < end; t++) {
        nd_window_axis axis[3];
        if (cv_phase(p, t / s->blocks_o / p->groups, axis) < 0)
            continue;
        char *to = a->r->packed + s->weights_at + t * s->most_steps * CV_PAIRS_BYTES;
        atomic_fetch_or(a->range,
                        pack_tiles(p, axis, t / s->blocks_o % p->groups,
                                   t % s->blocks_o * CV_PAIRS_TILE, (uint16_t *)(void *)to));
    }
}

cv_pairs_range cv_pairs_pack_weights(const cv_run *r)
{
    const cv_plan *p = r->p;
    const cv_pairs_plan *s = &p->pairs;
    _Atomic cv_pairs_range range = 0;
    packing a = {r, &range};
    cpu_parallel(cv_product(p->phases) * p->groups * s->blocks_o, 1 + 16 / (s->most_steps + 1),
                 pack_weights, &a);
    return range;
}
