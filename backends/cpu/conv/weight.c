/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The gradient of a convolution for its weight: for each group a product of the gradient (channels,
 * positions of all images) by the taps (positions, channels and taps). Images are cut into parts,
 * by shapes alone, whose sums are added in order. */
#include <string.h>
#include "conv/conv.h"

enum { TILE_BYTES = 1024, FEWEST_TASKS = 16 };

typedef struct {
    const mm_kernels *k;
    cv_image x, grad;
    char *out;
    int64_t out_stride[5], out_size;
    int32_t out_dtype;
    int64_t images, groups, co, lanes; /* of a group: rows and columns of the product */
    nd_window_axis axis[3];
    int64_t positions, depth; /* of an image; of a block of them */
    int64_t tile_o, tile_l, tiles_o, tiles_l;
    int64_t parts, part_images;
    int64_t sums, slot_a, slot_b, slot_line, slot_bytes; /* scratch: all sums; of a slot */
    int planes, beside; /* without matrices: weight_plane.c, weight_beside.c */
    int channels_inner; /* columns are channels of taps, else taps of channels */
    int pointwise;      /* windows of one element: positions are those of the source */
    cv_plan few;
} plan;

typedef struct {
    const plan *p;
    char *sums, *slots;
    atomic_uchar *busy;
    int32_t n_slots;
} work;

static void plan_tiles(plan *p)
{
    const int64_t size = p->k->element;
    p->tile_o = p->co < TILE_BYTES / size || p->planes ? p->co : TILE_BYTES / size;
    p->tile_l = p->lanes < TILE_BYTES / size || p->planes ? p->lanes : TILE_BYTES / size;
    p->tiles_o = (p->co + p->tile_o - 1) / p->tile_o;
    p->tiles_l = (p->lanes + p->tile_l - 1) / p->tile_l;
    const int64_t tasks = p->groups * p->tiles_o * p->tiles_l;
    p->parts = tasks >= FEWEST_TASKS ? 1 : (FEWEST_TASKS + tasks - 1) / tasks;
    if (p->parts > p->images)
        p->parts = p->images;
    p->part_images = (p->images + p->parts - 1) / p->parts;
    p->parts = (p->images + p->part_images - 1) / p->part_images;
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
    p->planes = !p->beside && cv_weight_planes(&p->few);
    p->channels_inner = p->channels_inner && !p->planes;
    plan_tiles(p);
    const int64_t size = p->k->element;
    p->sums = mm_round_up(p->parts * p->groups * p->co * p->lanes * size, 64);
    p->slot_b = mm_round_up(mm_round_up(p->tile_o, p->k->rows) * p->depth * size, 64);
    p->slot_line =
        p->slot_b + mm_round_up(mm_round_up(p->tile_l, p->k->columns) * p->depth * size, 64);
    p->slot_bytes = p->slot_line + mm_round_up(p->k->columns * p->depth * size, 64);
    if (p->planes)
        p->slot_bytes = p->few.slot_bytes;
}

/* Positions at to at + n of one channel of an image, or of one tap of it, into a line. */
static void load_line(const plan *p, const cv_image *image, const char *data,
                      const int64_t scale[3], const int64_t begin[3], int64_t at, int64_t n,
                      char *line)
{
    const int64_t grid[3] = {p->axis[0].n, p->axis[1].n, p->axis[2].n}, size = p->k->element;
    for (int64_t i = 0, run; i < n; i += run) {
        int64_t from[3], first, end, offset = 0, inside = 1;
        run = cv_next_run(grid, at + i, n - i, from);
        for (int d = 0; d < 3; d++)
            from[d] = from[d] * scale[d] + begin[d];
        for (int d = 0; d < 2; d++) {
            inside &= from[d] >= 0 && from[d] < image->extent[d];
            offset += from[d] * image->space[d];
        }
        nd_window_inside(run, scale[2], from[2], image->extent[2], &first, &end);
        if (!inside)
            first = end = 0;
        memset(line + i * size, 0, (size_t)(first * size));
        if (end > first) {
            offset += (from[2] + first * scale[2]) * image->space[2];
            if (scale[2] * image->space[2] == 1 && mm_is_native(p->k, image->dtype))
                memcpy(line + (i + first) * size, data + offset * size,
                       (size_t)((end - first) * size));
            else
                p->k->load[image->dtype](data + offset * image->size, 0, scale[2] * image->space[2],
                                         1, end - first, line + (i + first) * size);
        }
        memset(line + (i + end) * size, 0, (size_t)((run - end) * size));
    }
}

/* Rows o to o + m of the gradient's group, over n positions. */
static void pack_gradient(const plan *p, const char *data, int64_t m, int64_t at, int64_t n,
                          char *dst, char *line)
{
    static const int64_t one[3] = {1, 1, 1}, none[3];
    const mm_kernels *k = p->k;
    if (cv_is_line(p->grad.space, p->grad.extent)) {
        mm_pack(k, k->pack_a, k->rows, data + at * p->grad.space[2] * p->grad.size, p->grad.dtype,
                p->grad.channel, p->grad.space[2], m, n, dst);
        return;
    }
    for (int64_t i = 0; i < m; i += k->rows) {
        const int64_t rows = m - i < k->rows ? m - i : k->rows;
        for (int64_t j = 0; j < rows; j++)
            load_line(p, &p->grad, data + (i + j) * p->grad.channel * p->grad.size, one, none, at,
                      n, line + j * n * k->element);
        k->pack_a(line, n, 1, rows, n, dst + i * n * k->element);
    }
}

/* Channels of one tap, which begins at element `begin`, over n positions: `lanes` of each side by side, `pitch` bytes
 * from one position to the next. */
static void pack_channels(const plan *p, const char *data, const int64_t begin[3], int64_t lanes,
                          int64_t at, int64_t n, char *dst, int64_t pitch)
{
    const int64_t grid[3] = {p->axis[0].n, p->axis[1].n, p->axis[2].n}, size = p->k->element;
    const int64_t step = p->axis[2].scale * p->x.space[2] * size, bytes = lanes * size;
    for (int64_t i = 0, run; i < n; i += run) {
        int64_t from[3], first, end;
        run = cv_next_run(grid, at + i, n - i, from);
        for (int d = 0; d < 3; d++)
            from[d] = from[d] * p->axis[d].scale + begin[d];
        const int inside =
            from[0] >= 0 && from[0] < p->x.extent[0] && from[1] >= 0 && from[1] < p->x.extent[1];
        const char *src =
            data +
            (from[0] * p->x.space[0] + from[1] * p->x.space[1] + from[2] * p->x.space[2]) * size;
        nd_window_inside(run, p->axis[2].scale, from[2], p->x.extent[2], &first, &end);
        for (int64_t j = 0; j < run; j++, dst += pitch)
            if (!inside || j < first || j >= end)
                memset(dst, 0, (size_t)bytes);
            else if (bytes == 64)
                memcpy(dst, src + j * step, 64);
            else
                memcpy(dst, src + j * step, (size_t)bytes);
    }
}

/* Element of the source that the first tap of number `tap` meets first. */
static void begin_of(const plan *p, int64_t tap, int64_t begin[3])
{
    for (int d = 2; d >= 0; d--) {
        begin[d] = p->axis[d].origin + tap % p->axis[d].taps * p->axis[d].move;
        tap /= p->axis[d].taps;
    }
}

/* As pack_taps, of channels that lie side by side. */
static void pack_beside(const plan *p, const char *data, int64_t channels, int64_t l, int64_t w,
                        int64_t at, int64_t n, char *dst)
{
    const int64_t columns = p->k->columns, size = p->k->element;
    for (int64_t i = 0; i < w; i += columns, dst += columns * n * size) {
        const int64_t lanes = w - i < columns ? w - i : columns;
        if (lanes < columns)
            memset(dst, 0, (size_t)(columns * n * size));
        for (int64_t j = 0, some; j < lanes; j += some) {
            const int64_t c = (l + i + j) % channels;
            int64_t begin[3];
            some = channels - c < lanes - j ? channels - c : lanes - j;
            begin_of(p, (l + i + j) / channels, begin);
            pack_channels(p, data + c * size, begin, some, at, n, dst + j * size, columns * size);
        }
    }
}

/* Columns l to l + w of the taps of a group, over n positions. */
static void pack_taps(const plan *p, const char *data, int64_t l, int64_t w, int64_t at, int64_t n,
                      char *dst, char *line)
{
    const mm_kernels *k = p->k;
    const int64_t scale[3] = {p->axis[0].scale, p->axis[1].scale, p->axis[2].scale};
    const int64_t taps = p->axis[0].taps * p->axis[1].taps * p->axis[2].taps;
    if (p->pointwise) {
        mm_pack(k, k->pack_b, k->columns,
                data + (l * p->x.channel + at * p->x.space[2]) * p->x.size, p->x.dtype,
                p->x.channel, p->x.space[2], w, n, dst);
        return;
    }
    if (p->channels_inner) {
        pack_beside(p, data, p->lanes / taps, l, w, at, n, dst);
        return;
    }
    for (int64_t i = 0; i < w; i += k->columns) {
        const int64_t columns = w - i < k->columns ? w - i : k->columns;
        for (int64_t j = 0; j < columns; j++) {
            int64_t begin[3];
            begin_of(p, (l + i + j) % taps, begin);
            load_line(p, &p->x, data + (l + i + j) / taps * p->x.channel * p->x.size, scale, begin,
                      at, n, line + j * n * k->element);
        }
        k->pack_b(line, n, 1, columns, n, dst + i * n * k->element);
    }
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
        int64_t last = (part + 1) * p->part_images;
        last = last < p->images ? last : p->images;
        for (int64_t i = part * p->part_images; i < last; i++)
            for (int64_t at = 0; at < p->positions; at += p->depth) {
                const int64_t n = p->positions - at < p->depth ? p->positions - at : p->depth;
                const char *g =
                    p->grad.data +
                    (i * p->grad.image + (group * p->co + o) * p->grad.channel) * p->grad.size;
                const char *x =
                    p->x.data + (i * p->x.image + group * channels * p->x.channel) * p->x.size;
                pack_gradient(p, g, m, at, n, slot, slot + p->slot_line);
                pack_taps(p, x, l, w, at, n, slot + p->slot_b, slot + p->slot_line);
                k->block(m, w, n, slot, slot + p->slot_b, sums, p->lanes,
                         at > 0 || i > part * p->part_images);
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
        const int64_t first = t / p->groups * p->part_images, last = first + p->part_images;
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
    const int64_t along = p->channels_inner ? p->lanes / taps : p->axis[2].taps;
    for (int64_t row = begin; row < end; row++) {
        char *sums = r->sums + row * p->lanes * size;
        for (int64_t part = 1; part < p->parts; part++)
            p->k->combine(sums, p->lanes, &scale, sums + part * p->groups * p->co * p->lanes * size,
                          NULL);
        for (int64_t l = 0; l < p->lanes; l += along) {
            int64_t rest = l / along, offset = row * p->out_stride[0];
            for (int d = p->channels_inner ? 2 : 1; d >= 0; d--) {
                offset += rest % p->axis[d].taps * p->out_stride[2 + d];
                rest /= p->axis[d].taps;
            }
            offset += p->channels_inner ? 0 : rest * p->out_stride[1];
            p->k->save[p->out_dtype](sums + l * size, along, p->out + offset * p->out_size,
                                     p->out_stride[p->channels_inner ? 1 : 4]);
        }
    }
}

static int64_t need_of(const plan *p, int64_t slots)
{
    return p->beside ? cv_weight_beside_bytes(&p->few)
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
    if (p.beside) {
        cv_weight_beside(&p.few, &call->out[0], r.sums);
        return NDP_OK;
    }
    r.busy = (atomic_uchar *)(r.sums + p.sums);
    r.slots = (char *)r.busy + mm_round_up(r.n_slots, 64);
    memset(r.busy, 0, (size_t)r.n_slots);
    const int64_t task = p.tile_o * p.tile_l * p.positions * p.part_images;
    if (p.planes)
        cpu_parallel(p.parts * p.groups, 1 + MM_TASK_WORK / 2 / (task + 1), run_planes, &r);
    else
        cpu_parallel(p.parts * p.groups * p.tiles_o * p.tiles_l, 1 + MM_TASK_WORK / 2 / (task + 1),
                     run_tiles, &r);
    cpu_parallel(p.groups * p.co, 1 + 16384 / (p.lanes * p.parts + 1), save_rows, &r);
    return NDP_OK;
}
