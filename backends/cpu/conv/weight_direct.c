/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The gradient for the weight by products of operands as they lie: for each tap, rows of the gradient over positions by
 * what the tap meets there, of all channels of a group. Channels lie side by side in a copy of the source amid zeros, so
 * that each tap is a displacement. Taps of a row are one run of columns where channels alone would not fill vectors.
 *
 * Positions of an image, or of a band of its rows, are cut into blocks of k; parts of the blocks, and of the images, by
 * shapes alone, have sums of their own, which are added in order. */
#include <string.h>
#include "conv/weight.h"

enum {
    COPY_BYTES = 4 << 20, /* of copies that exist at a time, where bands are not too short */
    MOST_BYTES = 64 << 20,
    LEAST_BAND = 4,
    MOST_POSITIONS = 16 << 10, /* of a band */
    TASKS = 64,                /* wanted for any number of threads, by parts */
    TILE_O = 96,
    TILE_L = 384, /* bytes across */
};

static int is_joined(const cv_plan *f)
{
    return f->ci % 32 != 0 && f->ci < 128 && f->dilation[2] == 1 && f->kernel[2] > 1;
}

/* Columns of a set, which are one run. */
static int64_t lanes_of(const cv_plan *f)
{
    return f->ci * (is_joined(f) ? f->kernel[2] : 1);
}

static void plan_copy(const cv_plan *f, cv_weight_direct *d)
{
    const int64_t line = 64 / f->k->element;
    d->joined = is_joined(f);
    d->pixel = f->ci;
    if (!d->joined && f->ci >= line) { /* an odd number of lines: see grid.c */
        d->pixel = mm_round_up(f->ci, line);
        d->pixel += d->pixel / line % 2 == 0 ? line : 0;
    }
    d->columns = (f->out.extent[2] - 1) * f->stride[2] + (f->kernel[2] - 1) * f->dilation[2] + 1;
    d->band = f->out.extent[1];
    for (;;) {
        d->rows = (d->band - 1) * f->stride[1] + (f->kernel[1] - 1) * f->dilation[1] + 1;
        d->group = mm_round_up((d->rows * d->columns * d->pixel + 64) * f->k->element, 64);
        if (d->band <= LEAST_BAND ||
            (d->group * f->groups <= COPY_BYTES && d->band * f->out.extent[2] <= MOST_POSITIONS))
            break;
        d->band = (d->band + 1) / 2;
    }
    d->bands = (f->out.extent[1] + d->band - 1) / d->band;
    d->images = COPY_BYTES / (d->group * f->groups);
    d->images = d->images < 1 ? 1 : d->images < f->images ? d->images : f->images;
}

int cv_weight_is_direct(const cv_plan *f)
{
    const int64_t line = 64 / f->k->element, lanes = lanes_of(f);
    cv_weight_direct d;
    if (!cv_is_flat(f) || f->co < CV_LEAST_OUT || f->ci < 1 ||
        2 * lanes < mm_round_up(lanes, line) || cv_product(f->out.extent) == 0 || f->images == 0 ||
        !mm_is_native(f->k, f->source.dtype) || !mm_is_native(f->k, f->out.dtype))
        return 0;
    plan_copy(f, &d);
    return d.group * f->groups <= MOST_BYTES;
}

static int64_t depth_of(const cv_plan *f, int64_t rows)
{
    return mm_block_depth(rows * f->out.extent[2]);
}

static void plan_parts(const cv_plan *f, cv_weight_direct *d)
{
    const int64_t tasks =
        f->groups * ((f->co + 11) / 12) * d->sets * ((d->pitch * f->k->element + 127) / 128);
    const int64_t positions = d->band * f->out.extent[2], depth = depth_of(f, d->band);
    const int64_t blocks = (positions + depth - 1) / depth;
    int64_t wanted = (TASKS + tasks - 1) / tasks;
    d->image_parts = wanted < f->images ? wanted : f->images;
    wanted = (wanted + d->image_parts - 1) / d->image_parts;
    d->block_parts = wanted < blocks ? wanted : blocks;
    d->part_blocks = (blocks + d->block_parts - 1) / d->block_parts;
    d->block_parts = (blocks + d->part_blocks - 1) / d->part_blocks;
}

/* Tiles small enough for all threads; sums do not depend on them. */
static void plan_tiles(const cv_plan *f, cv_weight_direct *d)
{
    const int64_t columns = 128 / f->k->element;
    const int64_t wanted = 4 * (int64_t)cpu_threads();
    d->tile_o = f->co < TILE_O ? f->co : TILE_O;
    d->tile_l = TILE_L / f->k->element;
    for (;;) {
        d->tiles_o = (f->co + d->tile_o - 1) / d->tile_o;
        d->tiles_l = (d->pitch + d->tile_l - 1) / d->tile_l;
        if (d->image_parts * d->block_parts * f->groups * d->sets * d->tiles_o * d->tiles_l >=
            wanted)
            return;
        if (d->tile_o > 48)
            d->tile_o = 48;
        else if (d->tile_l > columns)
            d->tile_l -= columns;
        else if (d->tile_o > 12)
            d->tile_o = mm_round_up(d->tile_o / 2, 12);
        else
            return;
    }
}

void cv_weight_direct_plan(const cv_plan *f, cv_weight_direct *d)
{
    const int64_t size = f->k->element;
    plan_copy(f, d);
    d->sets = f->kernel[1] * (d->joined ? 1 : f->kernel[2]);
    d->lanes = lanes_of(f);
    d->pitch = mm_round_up(d->lanes, 64 / size);
    plan_parts(f, d);
    plan_tiles(f, d);
    d->steps_at = mm_round_up(
        d->image_parts * d->block_parts * f->groups * f->co * d->sets * d->pitch * size, 64);
    d->copies_at =
        d->steps_at + mm_round_up(d->band * f->out.extent[2] * (int64_t)sizeof(cv_step), 64);
    d->bytes = d->copies_at + d->images * f->groups * d->group;
}

/* ---- copies ---- */

typedef struct {
    const cv_plan *f;
    const cv_weight_direct *d;
    char *scratch;
    int64_t first, images, position; /* of a turn: images, and the band's first row of positions */
} turn;

/* The pixels of a row that the image has, of a group's channels from `from` on. */
static void copy_pixels(const turn *t, const char *from, int64_t begin, int64_t n, char *to)
{
    const cv_plan *f = t->f;
    const int64_t size = f->k->element, space = f->source.space[2];
    const cv_turn turned = {.beside = to,
                            .rows = (void *)(uintptr_t)(from + begin * size),
                            .n = n,
                            .channels = f->ci,
                            .step = t->d->pixel,
                            .plane = f->source.channel};
    from += begin * space * size;
    if (f->source.channel == 1 && space == t->d->pixel)
        memcpy(to, from, (size_t)(n * space * size));
    else if (f->source.channel == 1)
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * t->d->pixel * size, from + i * space * size, (size_t)(f->ci * size));
    else if (space == 1)
        f->isa->together[f->k->dtype](&turned);
    else
        for (int64_t i = 0; i < n; i++)
            f->k->load[f->source.dtype](from + i * space * size, 0, f->source.channel, 1, f->ci,
                                        to + i * t->d->pixel * size);
}

/* Tasks count images of the turn, groups, rows of the copy. */
static void copy_rows(void *ctx, int64_t begin, int64_t end)
{
    const turn *t = ctx;
    const cv_plan *f = t->f;
    const cv_weight_direct *d = t->d;
    const int64_t size = f->k->element, pixel = d->pixel * size;
    int64_t first, last;
    nd_window_inside(d->columns, 1, -f->before[2], f->source.extent[2], &first, &last);
    for (int64_t task = begin; task < end; task++) {
        const int64_t r = task % d->rows, unit = task / d->rows;
        const int64_t row = t->position * f->stride[1] - f->before[1] + r;
        char *to = t->scratch + d->copies_at + unit * d->group + r * d->columns * pixel;
        if (row < 0 || row >= f->source.extent[1] || last == first) {
            memset(to, 0, (size_t)(d->columns * pixel));
            continue;
        }
        const int64_t at = (t->first + unit / f->groups) * f->source.image +
                           unit % f->groups * f->ci * f->source.channel + row * f->source.space[1];
        /* Vectors reach into what is between pixels: numbers of any kind would be slow there. */
        memset(to, 0, (size_t)((d->pitch > d->lanes ? last : first) * pixel));
        copy_pixels(t, f->source.data + at * size, first - f->before[2], last - first,
                    to + first * pixel);
        memset(to + last * pixel, 0, (size_t)((d->columns - last) * pixel));
    }
}

/* Where positions of a band have their elements of the gradient and of the copy; tasks count its rows. */
static void make_steps(void *ctx, int64_t begin, int64_t end)
{
    const turn *t = ctx;
    const cv_plan *f = t->f;
    const cv_weight_direct *d = t->d;
    cv_step *step = (cv_step *)(t->scratch + d->steps_at) + begin * f->out.extent[2];
    for (int64_t r = begin; r < end; r++)
        for (int64_t c = 0; c < f->out.extent[2]; c++, step++) {
            step->a = r * f->out.space[1] + c * f->out.space[2];
            step->b = (r * f->stride[1] * d->columns + c * f->stride[2]) * d->pixel;
        }
}

/* ---- products ---- */

typedef struct {
    int64_t image_part, block_part, group, set, o, m, l, w;
} tile;

static tile tile_of(const cv_plan *f, const cv_weight_direct *d, int64_t task)
{
    tile t;
    t.l = task % d->tiles_l * d->tile_l;
    task /= d->tiles_l;
    t.set = task % d->sets;
    task /= d->sets;
    t.o = task % d->tiles_o * d->tile_o;
    task /= d->tiles_o;
    t.group = task % f->groups;
    task /= f->groups;
    t.block_part = task % d->block_parts;
    t.image_part = task / d->block_parts;
    t.m = f->co - t.o < d->tile_o ? f->co - t.o : d->tile_o;
    t.w = d->pitch - t.l < d->tile_l ? d->pitch - t.l : d->tile_l;
    return t;
}

static char *sums_of(const turn *u, const tile *t)
{
    const cv_plan *f = u->f;
    const cv_weight_direct *d = u->d;
    const int64_t part = t->image_part * d->block_parts + t->block_part;
    return u->scratch +
           ((((part * f->groups + t->group) * f->co + t->o) * d->sets + t->set) * d->pitch + t->l) *
               f->k->element;
}

/* A part's blocks of one image. */
static void run_image(const turn *u, const tile *t, int64_t image)
{
    const cv_plan *f = u->f;
    const cv_weight_direct *d = u->d;
    const int64_t size = f->k->element, left = f->out.extent[1] - u->position;
    const int64_t rows = left < d->band ? left : d->band, all = rows * f->out.extent[2];
    const int64_t depth = depth_of(f, rows), from = t->block_part * d->part_blocks;
    const int64_t down = d->joined ? t->set : t->set / f->kernel[2],
                  across = d->joined ? 0 : t->set % f->kernel[2];
    const int64_t displaced =
        (down * f->dilation[1] * d->columns + across * f->dilation[2]) * d->pixel;
    cv_block q = {.rows = t->m,
                  .columns = t->w,
                  .row = f->out.channel,
                  .pitch = d->sets * d->pitch,
                  .a = f->out.data + ((u->first + image) * f->out.image +
                                      (t->group * f->co + t->o) * f->out.channel +
                                      u->position * f->out.space[1]) *
                                         size,
                  .b = u->scratch + d->copies_at + (image * f->groups + t->group) * d->group +
                       (displaced + t->l) * size,
                  .sum = sums_of(u, t)};
    for (int64_t b = from; b < from + d->part_blocks && b * depth < all; b++) {
        q.step = (const cv_step *)(u->scratch + d->steps_at) + b * depth;
        q.steps = all - b * depth < depth ? all - b * depth : depth;
        q.add = u->first + image > t->image_part || u->position > 0 || b > from;
        f->isa->block[f->k->dtype](&q);
    }
}

/* Tasks count parts, groups, tiles of rows, sets, tiles of columns. */
static void run_tiles(void *ctx, int64_t begin, int64_t end)
{
    const turn *u = ctx;
    const cv_weight_direct *d = u->d;
    for (int64_t task = begin; task < end; task++) {
        const tile t = tile_of(u->f, d, task);
        for (int64_t i = 0; i < u->images; i++)
            if ((u->first + i) % d->image_parts == t.image_part)
                run_image(u, &t, i);
    }
}

/* ---- the result ---- */

typedef struct {
    const turn *t;
    const ndp_view *out;
} result;

/* Sums of a row of the weight, all taps of which lie equally far apart, to channels with their taps side by side. */
static int save_turned(const result *r, int64_t row, char *sums)
{
    const cv_plan *f = r->t->f;
    const cv_weight_direct *d = r->t->d;
    const int64_t taps = f->kernel[1] * f->kernel[2], *stride = r->out->stride;
    const int even = d->joined ? d->pitch == d->lanes : 1;
    if (!mm_is_native(f->k, r->out->dtype) || stride[1] != taps || (taps > 1 && stride[4] != 1) ||
        (f->kernel[1] > 1 && stride[3] != f->kernel[2]) || !even)
        return 0;
    const cv_turn turned = {.beside = cpu_ptr(r->out) + row * stride[0] * f->k->element,
                            .rows = sums,
                            .n = f->ci,
                            .channels = taps,
                            .step = taps,
                            .plane = d->joined ? f->ci : d->pitch};
    f->isa->together[f->k->dtype](&turned);
    return 1;
}

/* Rows of the weight: the parts' sums, in order, into the result. */
static void save_rows(void *ctx, int64_t begin, int64_t end)
{
    const result *r = ctx;
    const cv_plan *f = r->t->f;
    const cv_weight_direct *d = r->t->d;
    const mm_scale scale = {.f_alpha = 1, .f_beta = 1};
    const int64_t size = f->k->element, n = d->sets * d->pitch, *stride = r->out->stride;
    const int64_t bytes = ndp_dtype_size(r->out->dtype);
    for (int64_t row = begin; row < end; row++) {
        char *sums = r->t->scratch + row * n * size;
        for (int64_t part = 1; part < d->image_parts * d->block_parts; part++)
            f->k->combine(sums, n, &scale, sums + part * f->groups * f->co * n * size, NULL);
        if (save_turned(r, row, sums))
            continue;
        for (int64_t i = 0; i < f->kernel[1]; i++)
            for (int64_t j = 0; j < f->kernel[2]; j++) {
                const int64_t from =
                    d->joined ? i * d->pitch + j * f->ci : (i * f->kernel[2] + j) * d->pitch;
                f->k->save[r->out->dtype](
                    sums + from * size, f->ci,
                    cpu_ptr(r->out) + (row * stride[0] + i * stride[3] + j * stride[4]) * bytes,
                    stride[1]);
            }
    }
}

void cv_weight_direct_run(const cv_plan *f, const cv_weight_direct *d, const ndp_view *out,
                          void *scratch)
{
    const int64_t tasks =
        d->image_parts * d->block_parts * f->groups * d->tiles_o * d->sets * d->tiles_l;
    const int64_t row = d->columns * d->pixel, n = d->sets * d->pitch;
    turn t = {.f = f, .d = d, .scratch = scratch};
    cpu_parallel(d->band, 1 + 4096 / f->out.extent[2], make_steps, &t);
    for (t.first = 0; t.first < f->images; t.first += d->images)
        for (t.position = 0; t.position < f->out.extent[1]; t.position += d->band) {
            t.images = f->images - t.first < d->images ? f->images - t.first : d->images;
            const int64_t work = d->tile_o * d->tile_l * d->band * f->out.extent[2] * t.images /
                                 d->image_parts / d->block_parts;
            cpu_parallel(t.images * f->groups * d->rows, 1 + 16384 / row, copy_rows, &t);
            cpu_parallel(tasks, 1 + MM_TASK_WORK / 4 / (work + 1), run_tiles, &t);
        }
    result r = {&t, out};
    cpu_parallel(f->groups * f->co, cv_grain(f->groups * f->co, 1 + 16384 / n), save_rows, &r);
}
