/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What convolutions by sums of pairs and their gradients share: which calls they are, copies of images, steps. */
#include <string.h>
#include "conv/conv.h"

enum {
    LEAST_NUMBERS = 16, /* of a sum */
    LEAST_OUT = 3,      /* channels of the result, and of a group's where there are groups */
    LEAST_GROUP_OUT = 8,
    MOST_BYTES = 64 << 20, /* of a copy */
    MOST_PHASES = 16
};

/* A plane of windows with numbers enough, and phases, whose copies are not too large. */
static int pays(const ndp_call *call, const ndp_view *w)
{
    const ndp_conv *c = call->params;
    const ndp_view *x = call->op == NDP_OP_conv_input ? &call->out[0] : &call->in[0];
    const int64_t taps = w->shape[3] * w->shape[4], co = w->shape[0] / c->groups, ci = w->shape[1];
    const int backward = call->op == NDP_OP_conv_input;
    const int64_t outs = backward ? ci : co, ins = backward ? co : ci;
    int64_t rows = x->shape[3], columns = x->shape[4];
    rows += 2 * c->dilation[1] * w->shape[3];
    columns += 2 * c->dilation[2] * w->shape[4];
    return outs >= (c->groups > 1 ? LEAST_GROUP_OUT : LEAST_OUT) && ins * taps >= LEAST_NUMBERS &&
           (!backward || c->stride[1] * c->stride[2] <= MOST_PHASES) &&
           rows * columns * (ci > co ? ci : co) * 2 <= MOST_BYTES;
}

static int is_empty(const ndp_view *v)
{
    for (int d = 0; d < 5; d++)
        if (v->shape[d] == 0)
            return 1;
    return 0;
}

int cv_pairs_serves(const ndp_call *call)
{
    const ndp_conv *c = call->params;
    const ndp_view *w = call->op == NDP_OP_conv_weight ? &call->out[0] : &call->in[1];
    const ndp_view *y = call->op == NDP_OP_conv_weight ? &call->in[1] : &call->out[0];
    if (call->in[0].dtype != NDP_BF16 || w->shape[2] != 1 || call->in[0].shape[2] != 1 ||
        y->shape[2] != 1 || c->before[0] != 0 || is_empty(w) || is_empty(y) ||
        is_empty(&call->in[0]))
        return 0;
    return pays(call, w);
}

/* ---- copies of images ---- */

enum { PIECE = 8192, MOST_ROWS = 8 }; /* elements, and rows, that a task copies */

void cv_pixels_plan(const cv_plan *p, cv_pixels *g)
{
    int64_t extent[3] = {1, 1, 1};
    for (int d = 1; d < 3; d++) {
        int64_t low = INT64_MAX, high = INT64_MIN;
        for (int64_t phase = 0; phase < p->phases[d]; phase++) {
            const nd_window_axis a = cv_phase_axis(p, d, phase);
            const int64_t reach = (a.taps - 1) * a.move, last = (a.n - 1) * a.scale + a.origin;
            if (a.taps == 0 || a.n == 0)
                continue;
            const int64_t first = a.origin + (reach < 0 ? reach : 0);
            const int64_t end = last + (reach > 0 ? reach : 0);
            low = first < low ? first : low;
            high = end > high ? end : high;
        }
        g->low[d - 1] = high < low ? 0 : low;
        extent[d] = high >= low ? high - low + 1 : 1;
    }
    g->channels = p->ci;
    g->rows = extent[1];
    g->columns = extent[2];
    g->bytes = mm_round_up(g->rows * g->columns * p->ci * 2, 64);
    /* Rows of the last tiles that are no positions, and numbers behind those of the last position. */
    g->bytes += mm_round_up(2 * CV_PAIRS_TILE * p->stride[2] * p->ci * 2, 64) + 64;
}

/* n pixels of so many bytes, `step` apart, side by side: those of small groups by constant sizes. */
static void copy_pixels(const char *from, int64_t step, int64_t n, int64_t bytes, char *to)
{
    for (; bytes == 16 && n > 0; n--, from += step, to += 16)
        memcpy(to, from, 16);
    for (; bytes == 32 && n > 0; n--, from += step, to += 32)
        memcpy(to, from, 32);
    for (; n > 0; n--, from += step, to += bytes)
        memcpy(to, from, (size_t)bytes);
}

/* n pixels of a row, side by side. */
static void pack_run(const cv_plan *p, const char *from, int64_t n, char *to)
{
    const cv_image *x = &p->source;
    const int64_t c = p->ci;
    if ((x->channel == 1 || c == 1) && x->space[2] == c)
        memcpy(to, from, (size_t)(n * c * 2));
    else if (x->channel == 1 || c == 1)
        copy_pixels(from, x->space[2] * 2, n, c * 2, to);
    else if (x->space[2] == 1) {
        const cv_turn turn = {.beside = to,
                              .rows = (char *)(uintptr_t)from,
                              .n = n,
                              .channels = c,
                              .step = c,
                              .plane = x->channel};
        p->isa->together[NDP_BF16](&turn);
    } else
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < c; k++)
                memcpy(to + (i * c + k) * 2, from + (i * x->space[2] + k * x->channel) * 2, 2);
}

/* Pixels of a piece. */
static int64_t piece_of(const cv_pixels *g)
{
    const int64_t wanted = mm_round_up(PIECE / g->channels + 1, 32), rows = wanted / g->columns;
    return rows == 0 ? wanted : (rows < MOST_ROWS ? rows : MOST_ROWS) * g->columns;
}

int64_t cv_pixels_pieces(const cv_pixels *g)
{
    return cpu_ceil_div(g->rows * g->columns, piece_of(g));
}

/* Of row r of pixels, those of columns from first to end. */
static void pack_part(const cv_plan *p, const cv_pixels *g, const char *from, int64_t r,
                      int64_t first, int64_t end, char *to)
{
    const cv_image *x = &p->source;
    const int64_t pixel = p->ci * 2, h = r + g->low[0];
    int64_t left = -g->low[1], right = x->extent[2] - g->low[1];
    if (h < 0 || h >= x->extent[1])
        right = left = end;
    left = left < first ? first : left < end ? left : end;
    right = right < left ? left : right < end ? right : end;
    memset(to, 0, (size_t)((left - first) * pixel));
    memset(to + (right - first) * pixel, 0, (size_t)((end - right) * pixel));
    if (left < right)
        pack_run(p, from + (h * x->space[1] + (left + g->low[1]) * x->space[2]) * 2, right - left,
                 to + (left - first) * pixel);
}

cv_pairs_range cv_pixels_pack(const cv_plan *p, const cv_pixels *g, int64_t unit, int64_t piece,
                              char *to)
{
    const cv_image *x = &p->source;
    const char *from =
        x->data + (unit / p->groups * x->image + unit % p->groups * p->ci * x->channel) * 2;
    const int64_t pixel = p->ci * 2, n = piece_of(g), first = piece * n, all = g->rows * g->columns,
                  end = all - first < n ? all : first + n;
    for (int64_t i = first, next; i < end; i = next) {
        const int64_t r = i / g->columns, column = i % g->columns;
        next = (r + 1) * g->columns < end ? (r + 1) * g->columns : end;
        pack_part(p, g, from, r, column, column + next - i, to + i * pixel);
    }
    if (end == all)
        memset(to + all * pixel, 0, (size_t)(g->bytes - all * pixel));
    return p->isa->pairs_range((const uint16_t *)(const void *)(to + first * pixel),
                               (end - first) * p->ci);
}

/* ---- steps ---- */

static int64_t blocks_of(int64_t n)
{
    return (n + CV_PAIRS_DEPTH - 1) / CV_PAIRS_DEPTH;
}

cv_pairs_runs cv_pairs_runs_of(int64_t channels, const nd_window_axis *along)
{
    const int64_t taps = along->taps, apart = taps * blocks_of(channels);
    cv_pairs_runs r = {.runs = taps, .length = channels, .blocks = blocks_of(channels)};
    if ((along->move != 1 && along->move != -1) || blocks_of(taps * channels) >= apart)
        return r;
    r.joined = 1;
    r.reversed = along->move < 0;
    r.runs = 1;
    r.length = taps * channels;
    r.blocks = blocks_of(r.length);
    return r;
}

int64_t cv_pairs_tap(const cv_pairs_runs *r, const nd_window_axis *along, int64_t channels,
                     int64_t run, int64_t e)
{
    if (!r->joined)
        return run;
    return r->reversed ? along->taps - 1 - e / channels : e / channels;
}

int64_t cv_pairs_steps(const cv_pixels *g, const nd_window_axis axis[3], cv_pairs_step *step)
{
    const cv_pairs_runs r = cv_pairs_runs_of(g->channels, &axis[2]);
    const cv_pairs_step *begin = step;
    for (int64_t i = 0; i < axis[1].taps; i++)
        for (int64_t run = 0; run < r.runs; run++) {
            const int64_t tap = cv_pairs_tap(&r, &axis[2], g->channels, run, 0);
            const int64_t row = axis[1].origin + i * axis[1].move - g->low[0];
            const int64_t column = axis[2].origin + tap * axis[2].move - g->low[1];
            const int64_t at = (row * g->columns + column) * g->channels * 2;
            for (int64_t k = 0; k < r.length; k += CV_PAIRS_DEPTH)
                *step++ = (cv_pairs_step){
                    at + k * 2, r.length - k < CV_PAIRS_DEPTH ? r.length - k : CV_PAIRS_DEPTH};
        }
    return step - begin;
}

/* ---- which code ---- */

#if !CPU_HAS_AMX
int cv_amx_there(void)
{
    return 0;
}
void cv_amx_begin(void) {}
void cv_amx_end(void) {}
void cv_amx_block(const cv_pairs_block *b)
{
    (void)b;
}
#endif

int cv_pairs_way(cv_pairs_range a, cv_pairs_range b)
{
    if (!cv_pairs_fits(a, b))
        return CV_PAIRS_ANY;
    return cpu_isa() == CPU_ISA_VNNI && cv_amx_there() ? CV_PAIRS_AMX : CV_PAIRS_EXACT;
}

void cv_pairs_begin(int way)
{
    if (way == CV_PAIRS_AMX)
        cv_amx_begin();
}

void cv_pairs_end(int way)
{
    if (way == CV_PAIRS_AMX)
        cv_amx_end();
}

void cv_pairs_compute(const cv_plan *p, cv_pairs_block *b, int way)
{
    b->exact = way != CV_PAIRS_ANY;
    if (way == CV_PAIRS_AMX)
        cv_amx_block(b);
    else
        p->isa->pairs(b);
}
