/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Windows of one element, all positions of which are one line: products of the weight by the image as both lie in memory.
 * Sums of positions side by side are rows of the image's channels times the weight's elements; where channels lie side by
 * side, pixels times a copy of the weight whose rows are of channels of the result. */
#include <string.h>
#include "conv/conv.h"

enum { TILE_P = 256, TILE_O = 192 };

int cv_is_pointwise(const cv_plan *p)
{
    if (cv_product(p->kernel) != 1 || p->co < CV_LEAST_OUT || p->ci < 1 || p->images == 0 ||
        cv_product(p->out.extent) == 0 || !mm_is_native(p->k, p->source.dtype) ||
        !mm_is_native(p->k, p->w_dtype))
        return 0;
    for (int d = 0; d < 3; d++)
        if (p->stride[d] != 1 || p->before[d] != 0 || p->source.extent[d] != p->out.extent[d] ||
            (d < 2 && p->out.extent[d] != 1))
            return 0;
    const int rows = p->source.space[2] == 1,
              beside = p->source.channel == 1 && p->out.channel == 1;
    return rows || beside;
}

void cv_pointwise_plan(cv_plan *p)
{
    const int64_t size = p->k->element, line = 64 / size, n = p->out.extent[2];
    const int64_t wanted = 4 * (int64_t)cpu_threads();
    p->tile_p = TILE_P;
    p->tile_o = p->co < TILE_O ? p->co : TILE_O;
    p->pixels_down = p->source.space[2] != 1;
    p->packed = p->pixels_down ? mm_round_up(p->co, line) * p->ci * size : 0;
    for (;;) {
        p->tiles_p = (n + p->tile_p - 1) / p->tile_p;
        p->tiles_o = (p->co + p->tile_o - 1) / p->tile_o;
        if (p->images * p->groups * p->tiles_p * p->tiles_o >= wanted ||
            p->tile_p * p->tile_o * p->ci < MM_TASK_WORK)
            break;
        if (p->tile_o > 48)
            p->tile_o = mm_round_up(p->tile_o / 2, 48);
        else if (p->tile_p > 64)
            p->tile_p /= 2;
        else
            break;
    }
    p->direct = mm_is_native(p->k, p->out.dtype) && !p->bias && !p->epilogue &&
                (p->pixels_down ? p->out.channel : p->out.space[2]) == 1;
    p->pitch = mm_round_up(p->pixels_down ? p->tile_o : p->tile_p, line) + line;
    p->packed_bytes = mm_round_up(p->ci * (int64_t)sizeof(cv_step), 64) + p->groups * p->packed;
}

void cv_pointwise_slot(const cv_plan *p, int64_t *sums, int64_t *row, int64_t *line)
{
    const int64_t most = p->ci < MM_MAX_DEPTH ? p->ci : MM_MAX_DEPTH;
    *sums = (p->pixels_down ? p->tile_p : p->tile_o) * p->pitch;
    *row = p->pitch;
    *line = p->pixels_down ? 0 : most * p->pitch;
}

static char *weights_of(const cv_run *r, int64_t group)
{
    return r->packed + mm_round_up(r->p->ci * (int64_t)sizeof(cv_step), 64) + group * r->p->packed;
}

static const char *weight_at(const cv_plan *p, int64_t group, int64_t o)
{
    const int64_t at = group * (p->backward ? p->ci * p->w_in : p->co * p->w_out) + o * p->w_out;
    return p->weight + at * p->k->element;
}

/* Rows k to end of a group's copy of the weight, whose elements at `from` lie side by side along k, or not. */
static void copy_rows(const cv_plan *p, const char *from, int64_t k, int64_t end, char *to)
{
    const int64_t size = p->k->element, pitch = p->packed / p->ci;
    const cv_turn turned = {.beside = to + k * pitch,
                            .rows = (void *)(uintptr_t)(from + k * size),
                            .n = end - k,
                            .channels = p->co,
                            .step = pitch / size,
                            .plane = p->w_out};
    if (p->w_in == 1)
        p->isa->together[p->k->dtype](&turned);
    for (; k < end; k++) {
        if (p->w_in != 1)
            p->k->load[p->w_dtype](from + k * p->w_in * size, 0, p->w_out, 1, p->co,
                                   to + k * pitch);
        memset(to + k * pitch + p->co * size, 0, (size_t)(pitch - p->co * size));
    }
}

/* Tasks count groups and channels of the source: a row of the weight's copy. */
static void copy_weights(void *ctx, int64_t begin, int64_t end)
{
    const cv_run *r = ctx;
    const cv_plan *p = r->p;
    for (int64_t next; begin < end; begin = next) {
        const int64_t group = begin / p->ci, last = (group + 1) * p->ci;
        next = last < end ? last : end;
        copy_rows(p, weight_at(p, group, 0), begin - group * p->ci, next - group * p->ci,
                  weights_of(r, group));
    }
}

/* ---- tiles ---- */

typedef struct {
    const cv_run *r;
    int64_t image, group, o, m, p0, np;
} tile;

/* Elements of a block's channels at the tile's positions: rows as they lie are whole pages apart, and would compete for
 * few sets of the cache. */
static void copy_block(const tile *t, const char *from, int64_t depth, char *to)
{
    const cv_plan *p = t->r->p;
    const int64_t size = p->k->element;
    for (int64_t i = 0; i < depth; i++, to += p->pitch * size, from += p->source.channel * size)
        memcpy(to, from, (size_t)(t->np * size));
}

/* Rows are channels of the result, columns positions. */
static void rows_of_channels(const tile *t, char *sums, int64_t pitch, char *copy)
{
    const cv_plan *p = t->r->p;
    const int64_t size = p->k->element, depth = mm_block_depth(p->ci);
    const int64_t at = t->image * p->source.image + t->group * p->ci * p->source.channel + t->p0;
    for (int64_t k = 0; k < p->ci; k += depth) {
        const cv_block q = {.rows = t->m,
                            .columns = t->np,
                            .steps = p->ci - k < depth ? p->ci - k : depth,
                            .row = p->w_out,
                            .pitch = pitch,
                            .step = (const cv_step *)t->r->packed,
                            .a = weight_at(p, t->group, t->o) + k * p->w_in * size,
                            .b = copy,
                            .sum = sums,
                            .add = k > 0};
        copy_block(t, p->source.data + (at + k * p->source.channel) * size, q.steps, copy);
        p->isa->block[p->k->dtype](&q);
    }
}

/* Rows are positions, columns channels of the result. */
static void rows_of_pixels(const tile *t, char *sums, int64_t pitch)
{
    const cv_plan *p = t->r->p;
    const int64_t size = p->k->element, depth = mm_block_depth(p->ci);
    const int64_t at = t->image * p->source.image + t->group * p->ci * p->source.channel +
                       t->p0 * p->source.space[2];
    for (int64_t k = 0; k < p->ci; k += depth) {
        const cv_block q = {.rows = t->np,
                            .columns = t->m,
                            .steps = p->ci - k < depth ? p->ci - k : depth,
                            .row = p->source.space[2],
                            .pitch = pitch,
                            .step = (const cv_step *)t->r->packed,
                            .a = p->source.data + (at + k * p->source.channel) * size,
                            .b = weights_of(t->r, t->group) + (k * p->packed / p->ci) + t->o * size,
                            .sum = sums,
                            .add = k > 0};
        p->isa->block[p->k->dtype](&q);
    }
}

static char *place(const tile *t, int64_t o, int64_t position)
{
    const cv_plan *p = t->r->p;
    return p->out.data + (t->image * p->out.image + (t->group * p->co + t->o + o) * p->out.channel +
                          (t->p0 + position) * p->out.space[2]) *
                             p->out.size;
}

static void finish(const tile *t, char *sums, char *row)
{
    const cv_plan *p = t->r->p;
    const int64_t size = p->k->element, o = t->group * p->co + t->o;
    for (int64_t i = 0; i < t->np && p->pixels_down; i++, sums += p->pitch * size) {
        cv_adjust(p, o, sums, t->m, 0, row);
        p->k->save[p->out.dtype](sums, t->m, place(t, 0, i), p->out.channel);
    }
    for (int64_t i = 0; i < t->m && !p->pixels_down; i++, sums += p->pitch * size) {
        cv_adjust(p, o + i, sums, t->np, 1, row);
        p->k->save[p->out.dtype](sums, t->np, place(t, i, 0), p->out.space[2]);
    }
}

static void compute(const tile *t, char *slot)
{
    const cv_plan *p = t->r->p;
    const int64_t lanes = 64 / p->k->element;
    /* Whole vectors are written. */
    const int direct = p->direct && (p->pixels_down ? t->m : t->np) % lanes == 0;
    const int64_t pitch = !direct ? p->pitch : p->pixels_down ? p->out.space[2] : p->out.channel;
    char *sums = direct ? place(t, 0, 0) : slot + p->slot_sums;
    if (p->pixels_down)
        rows_of_pixels(t, sums, pitch);
    else
        rows_of_channels(t, sums, pitch, slot + p->slot_image);
    if (!direct)
        finish(t, sums, slot + p->slot_row);
}

/* Tasks count images, groups, tiles of channels, tiles of positions. */
static void run_tiles(void *ctx, int64_t begin, int64_t end)
{
    const cv_run *r = ctx;
    const cv_plan *p = r->p;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    for (int64_t task = begin; task < end; task++) {
        int64_t rest = task;
        tile t = {.r = r, .p0 = rest % p->tiles_p * p->tile_p};
        rest /= p->tiles_p;
        t.o = rest % p->tiles_o * p->tile_o;
        rest /= p->tiles_o;
        t.group = rest % p->groups;
        t.image = rest / p->groups;
        t.m = p->co - t.o < p->tile_o ? p->co - t.o : p->tile_o;
        t.np = p->out.extent[2] - t.p0 < p->tile_p ? p->out.extent[2] - t.p0 : p->tile_p;
        compute(&t, r->slots + s * p->slot_bytes);
    }
    cpu_slot_give(r->busy, s);
}

void cv_pointwise_run(cv_run *r)
{
    const cv_plan *p = r->p;
    cv_step *step = (cv_step *)r->packed;
    const int64_t work = p->tile_p * p->tile_o * p->ci;
    for (int64_t k = 0; k < p->ci; k++) {
        step[k].a = k * (p->pixels_down ? p->source.channel : p->w_in);
        step[k].b = k * (p->pixels_down ? p->packed / p->ci / p->k->element : p->pitch);
    }
    if (p->pixels_down)
        cpu_parallel(p->groups * p->ci, 1 + 16384 / (p->co + 1), copy_weights, r);
    cpu_parallel(p->images * p->groups * p->tiles_o * p->tiles_p, 1 + MM_TASK_WORK / 4 / (work + 1),
                 run_tiles, r);
}
