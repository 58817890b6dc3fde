/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The gradient of a convolution for its weight: for each group a product of the gradient (channels,
 * positions of all images) by the taps (positions, channels and taps). Images are cut into parts,
 * by shapes alone, whose sums are added in order. */
#include <string.h>
#include "conv/weight.h"

enum {
    TILE_BYTES = 1024,
    FEWEST_TASKS = 16,
    TURNED_BYTES = 1 << 20,
    TURNED_CHANNELS = 16,
    IMAGE_PARTS = 4
};

typedef cv_weights plan;
typedef struct {
    const plan *p;
    char *sums, *slots;
    atomic_uchar *busy;
    int32_t n_slots;
} work;

/* Narrower tiles, where there are fewer than threads: sums do not depend on them. */
static void share_tiles(plan *p)
{
    const int64_t columns = p->k->columns, threads = cpu_threads();
    while (p->parts * p->groups * p->tiles_o * p->tiles_l < threads && p->tile_l > columns) {
        p->tile_l = mm_round_up(p->tile_l / 2, columns);
        p->tiles_l = (p->lanes + p->tile_l - 1) / p->tile_l;
    }
}

static void plan_tiles(plan *p)
{
    const int64_t size = p->k->element;
    p->tile_o = p->co < TILE_BYTES / size || p->planes ? p->co : TILE_BYTES / size;
    p->tile_l = p->lanes < TILE_BYTES / size || p->planes ? p->lanes : TILE_BYTES / size;
    p->tiles_o = (p->co + p->tile_o - 1) / p->tile_o;
    p->tiles_l = (p->lanes + p->tile_l - 1) / p->tile_l;
    const int64_t tasks = p->groups * p->tiles_o * p->tiles_l;
    /* Images, of which a part has some, or blocks of positions of all of them. */
    p->blocks = p->planes || p->depth == 0 ? 1 : (p->positions + p->depth - 1) / p->depth;
    const int64_t units = p->images * p->blocks,
                  most = p->images * (p->blocks < IMAGE_PARTS ? p->blocks : IMAGE_PARTS);
    p->parts = tasks >= FEWEST_TASKS ? 1 : (FEWEST_TASKS + tasks - 1) / tasks;
    if (p->parts > most)
        p->parts = most;
    p->part_units = (units + p->parts - 1) / p->parts;
    p->parts = (units + p->part_units - 1) / p->part_units;
    if (!p->planes)
        share_tiles(p);
}

/* Whether each position is one element of the source, and these are equally far apart. */
static int is_pointwise(const plan *p)
{
    for (int d = 0; d < 3; d++)
        if (p->axis[d].taps != 1 || p->axis[d].scale != 1 || p->axis[d].origin != 0 ||
            p->axis[d].n != p->x.extent[d])
            return 0;
    return cv_is_line(p->x.space, p->x.extent);
}

/* Whether it pays to lay channels side by side: a copy that stays in the cache, of which all taps are read, many
 * elements at a time. */
static int is_turned(const plan *p, int64_t channels)
{
    const int64_t bytes = channels * cv_product(p->x.extent) * p->k->element;
    const int64_t together = channels * (p->axis[2].move == 1 ? p->axis[2].taps : 1);
    return !p->channels_inner && !p->pointwise && mm_is_native(p->k, p->x.dtype) &&
           p->x.space[2] == 1 && cv_is_line(p->x.space, p->x.extent) &&
           together >= TURNED_CHANNELS && bytes <= TURNED_BYTES;
}

static void plan_call(plan *p, const ndp_call *call)
{
    const ndp_conv *c = call->params;
    const ndp_view *out = &call->out[0];
    memset(p, 0, sizeof *p);
    p->k = mm_kernels_for(call->in[0].dtype, out->dtype);
    p->x = cv_image_of(&call->in[0]);
    p->grad = cv_image_of(&call->in[1]);
    p->out = cpu_ptr(out);
    p->out_dtype = out->dtype;
    p->out_size = ndp_dtype_size(out->dtype);
    memcpy(p->out_stride, out->stride, sizeof p->out_stride);
    p->images = call->in[0].shape[0];
    p->groups = c->groups;
    p->co = out->shape[0] / c->groups;
    p->lanes = out->shape[1];
    p->positions = 1;
    for (int d = 0; d < 3; d++) {
        p->axis[d] = nd_window_forward(p->grad.extent[d], out->shape[2 + d], c->stride[d],
                                       c->dilation[d], c->before[d]);
        p->lanes *= out->shape[2 + d];
        p->positions *= p->grad.extent[d];
    }
    p->depth = mm_block_depth(p->positions);
    p->pointwise = is_pointwise(p);
    p->channels_inner = p->x.channel == 1 && mm_is_native(p->k, p->x.dtype);
    cv_weight_plan(&p->few, call);
    p->beside = cv_weight_is_beside(&p->few);
    p->is_direct = !p->beside && !p->pointwise && cv_weight_is_direct(&p->few);
    if (p->is_direct) {
        cv_weight_direct_plan(&p->few, &p->direct);
        return;
    }
    p->planes = !p->beside && cv_weight_planes(&p->few);
    p->turned = !p->beside && !p->planes && is_turned(p, out->shape[1]);
    p->channels_inner = (p->channels_inner || p->turned) && !p->planes;
    plan_tiles(p);
    const int64_t size = p->k->element;
    p->sums = mm_round_up(p->parts * p->groups * p->co * p->lanes * size, 64);
    p->slot_b = mm_round_up(mm_round_up(p->tile_o, p->k->rows) * p->depth * size, 64);
    p->slot_line =
        p->slot_b + mm_round_up(mm_round_up(p->tile_l, p->k->columns) * p->depth * size, 64);
    p->slot_image = p->slot_line + mm_round_up(p->k->columns * p->depth * size, 64);
    p->slot_bytes = p->slot_image;
    if (p->turned)
        p->slot_bytes += mm_round_up(out->shape[1] * cv_product(p->x.extent) * size, 64);
    if (p->planes)
        p->slot_bytes = p->few.slot_bytes;
}

/* Tasks count parts of the images, groups, tiles of rows, tiles of columns. */
static void run_tiles(void *ctx, int64_t begin, int64_t end)
{
    const work *r = ctx;
    const plan *p = r->p;
    const mm_kernels *k = p->k;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    char *slot = r->slots + s * p->slot_bytes;
    for (int64_t t = begin; t < end; t++) {
        const int64_t l = t % p->tiles_l * p->tile_l, o = t / p->tiles_l % p->tiles_o * p->tile_o;
        const int64_t group = t / p->tiles_l / p->tiles_o % p->groups;
        const int64_t part = t / p->tiles_l / p->tiles_o / p->groups;
        const int64_t w = p->lanes - l < p->tile_l ? p->lanes - l : p->tile_l;
        const int64_t m = p->co - o < p->tile_o ? p->co - o : p->tile_o;
        const int64_t channels = p->lanes / (p->axis[0].taps * p->axis[1].taps * p->axis[2].taps);
        char *sums =
            r->sums + (((part * p->groups + group) * p->co + o) * p->lanes + l) * k->element;
        const int64_t first = part * p->part_units, all = p->images * p->blocks;
        const int64_t last = first + p->part_units < all ? first + p->part_units : all;
        for (int64_t u = first; u < last; u++) {
            const int64_t i = u / p->blocks, at = u % p->blocks * p->depth;
            const int64_t n = p->positions - at < p->depth ? p->positions - at : p->depth;
            const char *g =
                p->grad.data +
                (i * p->grad.image + (group * p->co + o) * p->grad.channel) * p->grad.size;
            char *x = p->x.data + (i * p->x.image + group * channels * p->x.channel) * p->x.size;
            if (p->turned && (at == 0 || u == first))
                cv_weight_turn(p, x, channels, slot + p->slot_image);
            cv_weight_pack_gradient(p, g, m, at, n, slot, slot + p->slot_line);
            cv_weight_pack_taps(p, x, l, w, at, n, slot + p->slot_b, slot + p->slot_line,
                                slot + p->slot_image);
            k->block(m, w, n, slot, slot + p->slot_b, sums, p->lanes, u > first);
        }
    }
    cpu_slot_give(r->busy, s);
}

/* Tasks count parts of the images, groups. */
static void run_planes(void *ctx, int64_t begin, int64_t end)
{
    const work *r = ctx;
    const plan *p = r->p;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    for (int64_t t = begin; t < end; t++) {
        const int64_t first = t / p->groups * p->part_units, last = first + p->part_units;
        cv_weight_part(&p->few, t % p->groups, first, last < p->images ? last : p->images,
                       r->slots + s * p->slot_bytes,
                       r->sums + t * p->co * p->lanes * p->k->element);
    }
    cpu_slot_give(r->busy, s);
}

/* Rows of the weight: the parts' sums, in order, into out. */
static void save_rows(void *ctx, int64_t begin, int64_t end)
{
    const work *r = ctx;
    const plan *p = r->p;
    const mm_scale scale = {.f_alpha = 1, .f_beta = 1};
    const int64_t size = p->k->element,
                  taps = cv_product((int64_t[]){p->axis[0].taps, p->axis[1].taps, p->axis[2].taps});
    const int inner = p->channels_inner || taps == 1; /* channels of a tap follow each other */
    const int64_t along = inner ? p->lanes / taps : p->axis[2].taps;
    for (int64_t row = begin; row < end; row++) {
        char *sums = r->sums + row * p->lanes * size;
        for (int64_t part = 1; part < p->parts; part++)
            p->k->combine(sums, p->lanes, &scale, sums + part * p->groups * p->co * p->lanes * size,
                          NULL);
        for (int64_t l = 0; l < p->lanes; l += along) {
            int64_t rest = l / along, offset = row * p->out_stride[0];
            for (int d = inner ? 2 : 1; d >= 0; d--) {
                offset += rest % p->axis[d].taps * p->out_stride[2 + d];
                rest /= p->axis[d].taps;
            }
            offset += inner ? 0 : rest * p->out_stride[1];
            p->k->save[p->out_dtype](sums + l * size, along, p->out + offset * p->out_size,
                                     p->out_stride[inner ? 1 : 4]);
        }
    }
}

static int64_t need_of(const plan *p, int64_t slots)
{
    return p->beside      ? cv_weight_beside_bytes(&p->few)
           : p->is_direct ? p->direct.bytes
                          : p->sums + mm_round_up(slots, 64) + slots * p->slot_bytes;
}

uint64_t cv_weight_scratch(const ndp_call *call)
{
    plan p;
    plan_call(&p, call);
    return (uint64_t)need_of(&p, cpu_threads());
}

int32_t cv_weight_run(const ndp_call *call)
{
    plan p;
    plan_call(&p, call);
    work r = {.p = &p, .n_slots = cpu_threads()};
    if (!call->scratch.mem || ndp_view_size(&call->scratch) < need_of(&p, r.n_slots))
        return cpu_error(NDP_ERR_INTERNAL, "conv_weight was called without its scratch memory");
    r.sums = cpu_ptr(&call->scratch);
    if (p.is_direct) {
        cv_weight_direct_run(&p.few, &p.direct, &call->out[0], r.sums);
        return NDP_OK;
    }
    if (p.beside) {
        cv_weight_beside(&p.few, &call->out[0], r.sums);
        return NDP_OK;
    }
    r.busy = (atomic_uchar *)(r.sums + p.sums);
    r.slots = (char *)r.busy + mm_round_up(r.n_slots, 64);
    memset(r.busy, 0, (size_t)r.n_slots);
    const int64_t task = p.tile_o * p.tile_l * p.part_units * (p.planes ? p.positions : p.depth);
    const int64_t tasks = p.parts * p.groups * (p.planes ? 1 : p.tiles_o * p.tiles_l);
    cpu_parallel(tasks, cv_grain(tasks, 1 + MM_TASK_WORK / 2 / (task + 1)),
                 p.planes ? run_planes : run_tiles, &r);
    const int64_t rows = p.groups * p.co;
    cpu_parallel(rows, cv_grain(rows, 1 + 16384 / (p.lanes * p.parts + 1)), save_rows, &r);
    return NDP_OK;
}
