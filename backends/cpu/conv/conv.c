/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions: the kernel the core finds, and products of packed weights and positions. */
#include <stdio.h>
#include <string.h>
#include "conv/conv.h"

/* ---- weights ---- */

/* Those of one variant and group, as panels of k's blocks. */
typedef struct {
    const cv_plan *p;
    nd_window_axis axis[3];
    const char *data;
    int64_t k; /* numbers of sums */
} weights;

/* Number k of the sums. */
static int64_t weight_offset(const weights *w, int64_t k)
{
    const cv_plan *p = w->p;
    int64_t offset = 0, channel = p->channels_inner ? k % p->ci : 0;
    k = p->channels_inner ? k / p->ci : k;
    for (int d = 2; d >= 0; d--) {
        offset += (w->axis[d].tap + k % w->axis[d].taps * w->axis[d].tap_step) * p->w_space[d];
        k /= w->axis[d].taps;
    }
    return offset + (p->channels_inner ? channel : k) * p->w_in;
}

/* Whether numbers lie equally far apart. */
static int is_even(const weights *w, int64_t *step)
{
    const cv_plan *p = w->p;
    int64_t space[3], taps[3];
    for (int d = 0; d < 3; d++) {
        space[d] = p->w_space[d] * w->axis[d].tap_step;
        taps[d] = w->axis[d].taps;
    }
    const int64_t all = cv_product(taps);
    *step = all == 1 ? p->w_in : space[2];
    if (all == 1)
        return 1;
    return cv_is_line(space, taps) &&
           (p->ci == 1 || (!p->channels_inner && p->w_in == all * space[2]));
}

/* Numbers that follow number k at one distance: taps of a channel, or channels of a tap. */
static int64_t even_run(const weights *w, int64_t k, int64_t *step)
{
    const cv_plan *p = w->p;
    int64_t space[3], taps[3];
    for (int d = 0; d < 3; d++) {
        space[d] = p->w_space[d] * w->axis[d].tap_step;
        taps[d] = w->axis[d].taps;
    }
    *step = p->channels_inner ? p->w_in : space[2];
    const int64_t n = p->channels_inner         ? p->ci
                      : cv_is_line(space, taps) ? cv_product(taps)
                                                : taps[2];
    return n - k % n;
}

/* A block of numbers from `at` on, a run of them and a panel of channels at a time. */
static void pack_runs(const weights *w, mm_pack_fn fn, int64_t width, int64_t at, int64_t kc,
                      char *dst)
{
    const cv_plan *p = w->p;
    const int64_t size = ndp_dtype_size(p->w_dtype);
    int64_t step, run;
    for (int64_t i = 0; i < kc; i += run) {
        const int64_t left = even_run(w, at + i, &step), offset = weight_offset(w, at + i);
        run = left < kc - i ? left : kc - i;
        for (int64_t o = 0; o < p->co; o += width)
            fn(w->data + (offset + o * p->w_out) * size, p->w_out, step,
               p->co - o < width ? p->co - o : width, run,
               dst + (o * kc + i * width) * p->k->element);
    }
}

static void pack_weights(const weights *w, char *dst)
{
    const cv_plan *p = w->p;
    const mm_kernels *k = p->k;
    const mm_pack_fn fn = p->pixels_down ? k->pack_b : k->pack_a;
    const int64_t width = p->pixels_down ? k->columns : k->rows, depth = mm_block_depth(w->k);
    const int64_t padded = mm_round_up(p->co, width), size = ndp_dtype_size(p->w_dtype);
    int64_t step;
    if (is_even(w, &step)) {
        const char *src = w->data + weight_offset(w, 0) * size;
        for (int64_t at = 0; at < w->k; at += depth) {
            int64_t kc = w->k - at < depth ? w->k - at : depth;
            mm_pack(k, fn, width, src + at * step * size, p->w_dtype, p->w_out, step, p->co, kc,
                    dst + at * padded * k->element);
        }
        return;
    }
    if (mm_is_native(k, p->w_dtype)) {
        for (int64_t at = 0; at < w->k; at += depth)
            pack_runs(w, fn, width, at, w->k - at < depth ? w->k - at : depth,
                      dst + at * padded * k->element);
        return;
    }
    _Alignas(64) char line[MM_MAX_PANEL];
    memset(dst, 0, (size_t)(padded * w->k * k->element));
    for (int64_t at = 0; at < w->k; at += depth) {
        const int64_t kc = w->k - at < depth ? w->k - at : depth;
        for (int64_t i = 0; i < kc; i++)
            for (int64_t o = 0; o < p->co; o += width) {
                const int64_t lanes = p->co - o < width ? p->co - o : width;
                const int64_t offset = weight_offset(w, at + i) + o * p->w_out;
                k->load[p->w_dtype](w->data + offset * size, 0, p->w_out, 1, lanes, line);
                memcpy(dst + (at * padded + o * kc + i * width) * k->element, line,
                       (size_t)(lanes * k->element));
            }
    }
}

/* Tasks count variants, and groups in them; a variant's phase is found by its taps. */
static void pack_task(void *ctx, int64_t begin, int64_t end)
{
    const cv_run *r = ctx;
    const cv_plan *p = r->p;
    for (int64_t t = begin; t < end; t++) {
        int64_t variant = t / p->groups;
        weights w = {.p = p, .k = p->ci};
        for (int d = 2; d >= 0; d--) {
            const int64_t step =
                p->backward ? p->stride[d] / nd_window_gcd(p->dilation[d], p->stride[d]) : 1;
            w.axis[d].tap = variant % p->variants[d];
            w.axis[d].tap_step = step;
            w.axis[d].taps = (p->kernel[d] - w.axis[d].tap + step - 1) / step;
            w.k *= w.axis[d].taps;
            variant /= p->variants[d];
        }
        const int64_t group = t % p->groups * (p->backward ? p->ci * p->w_in : p->co * p->w_out);
        w.data = p->weight + group * ndp_dtype_size(p->w_dtype);
        pack_weights(&w, r->packed + t * p->packed);
    }
}

/* ---- tiles ---- */

typedef struct {
    const cv_run *r;
    int64_t image, group, o, m; /* channels o to o + m of the group */
    nd_window_axis axis[3];
    int64_t p0, np; /* positions */
} tile;

static char *place(const tile *t, int64_t o, const int64_t at[3])
{
    const cv_plan *p = t->r->p;
    int64_t offset = t->image * p->out.image + (t->group * p->co + t->o + o) * p->out.channel;
    for (int d = 0; d < 3; d++)
        offset += (t->axis[d].first + at[d] * t->axis[d].step) * p->out.space[d];
    return p->out.data + offset * p->out.size;
}

void cv_adjust(const cv_plan *p, int64_t o, char *sums, int64_t n, int one, char *row)
{
    const int64_t size = ndp_dtype_size(p->out.dtype);
    if (p->bias) {
        const char *bias = p->bias + o * p->bias_stride * size;
        const mm_scale scale = {.f_alpha = 1};
        p->k->load[p->out.dtype](bias, 0, one ? 0 : p->bias_stride, 1, n, row);
        p->k->combine(sums, n, &scale, NULL, row);
    }
    if (p->epilogue)
        p->epilogue((char *const[]){sums, sums}, n);
}

static void finish(const tile *t, char *sums, char *row)
{
    const cv_plan *p = t->r->p;
    const int64_t n[3] = {t->axis[0].n, t->axis[1].n, t->axis[2].n}, size = p->k->element;
    const int64_t down = p->pixels_down ? t->np : t->m;
    int64_t at[3];
    for (int64_t i = 0; i < down; i++, sums += p->pitch * size) {
        cv_adjust(p, t->group * p->co + t->o + (p->pixels_down ? 0 : i), sums,
                  p->pixels_down ? t->m : t->np, !p->pixels_down, row);
        if (p->pixels_down) {
            cv_next_run(n, t->p0 + i, 1, at);
            p->k->save[p->out.dtype](sums, t->m, place(t, 0, at), p->out.channel);
            continue;
        }
        for (int64_t j = 0, run; j < t->np; j += run) {
            run = cv_next_run(n, t->p0 + j, t->np - j, at);
            p->k->save[p->out.dtype](sums + j * size, run, place(t, i, at),
                                     t->axis[2].step * p->out.space[2]);
        }
    }
}

static cv_gather gather_of(const tile *t)
{
    const cv_plan *p = t->r->p;
    cv_gather g = {.size = p->source.size,
                   .channel = p->source.channel,
                   .channels = p->ci,
                   .channels_inner = p->channels_inner};
    g.data = p->source.data +
             (t->image * p->source.image + t->group * p->ci * p->source.channel) * p->source.size;
    if (p->channels_inner && mm_is_native(p->k, p->source.dtype))
        g.transpose = p->pixels_down ? p->k->pack_a : p->k->pack_b;
    memcpy(g.space, p->source.space, sizeof g.space);
    memcpy(g.extent, p->source.extent, sizeof g.extent);
    memcpy(g.axis, t->axis, sizeof g.axis);
    return g;
}

static void compute(const tile *t, int64_t variant, char *slot)
{
    const cv_plan *p = t->r->p;
    const mm_kernels *k = p->k;
    const cv_gather g = gather_of(t);
    const int64_t weights_across = p->pixels_down ? k->columns : k->rows;
    const int64_t across = p->pixels_down ? k->rows : k->columns;
    const int64_t padded = mm_round_up(p->co, weights_across);
    const int64_t all = p->ci * t->axis[0].taps * t->axis[1].taps * t->axis[2].taps;
    const int64_t depth = mm_block_depth(all), n[3] = {t->axis[0].n, t->axis[1].n, t->axis[2].n};
    const int64_t rows = p->pixels_down ? t->np : t->m, columns = p->pixels_down ? t->m : t->np;
    int64_t at[3], ld = p->direct ? (p->pixels_down ? p->line : p->out.channel) : p->pitch;
    cv_next_run(n, t->p0, 1, at);
    char *sums = p->direct ? place(t, 0, at) : slot + p->slot_sums, *image = slot + p->slot_image;
    for (int64_t i = 0; variant < 0 && i < rows; i++)
        memset(sums + i * ld * k->element, 0, (size_t)(columns * k->element));
    for (int64_t d = 0; variant >= 0 && d < all; d += depth) {
        const int64_t kc = all - d < depth ? all - d : depth;
        const char *w = t->r->packed + (variant * p->groups + t->group) * p->packed +
                        (padded * d + t->o * kc) * k->element;
        p->isa->pack[p->source.dtype](&g, t->p0, t->np, d, kc, (int)across, image);
        if (p->pixels_down)
            k->block(rows, columns, kc, image, w, sums, ld, d > 0);
        else
            k->block(rows, columns, kc, w, image, sums, ld, d > 0);
    }
    if (!p->direct)
        finish(t, sums, slot + p->slot_row);
}

/* Tasks count images, groups, phases, tiles of positions, tiles of channels. */
static void run_tiles(void *ctx, int64_t begin, int64_t end)
{
    const cv_run *r = ctx;
    const cv_plan *p = r->p;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    const int64_t phases = cv_product(p->phases);
    for (int64_t task = begin; task < end; task++) {
        int64_t rest = task;
        tile t = {.r = r, .o = rest % p->tiles_o * p->tile_o};
        rest /= p->tiles_o;
        t.p0 = rest % p->tiles_p * p->tile_p;
        rest /= p->tiles_p;
        const int64_t variant = cv_phase(p, rest % phases, t.axis);
        rest /= phases;
        t.group = rest % p->groups;
        t.image = rest / p->groups;
        t.m = p->co - t.o < p->tile_o ? p->co - t.o : p->tile_o;
        t.np = t.axis[0].n * t.axis[1].n * t.axis[2].n - t.p0;
        if (t.np > p->tile_p)
            t.np = p->tile_p;
        if (t.np > 0)
            compute(&t, variant, r->slots + s * p->slot_bytes);
    }
    cpu_slot_give(r->busy, s);
}

/* ---- calls ---- */

static uint64_t scratch_of(const ndp_call *call)
{
    cv_plan p;
    if (call->op == NDP_OP_conv_weight)
        return cv_pairs_serves(call) ? cv_pairs_weight_scratch(call) : cv_weight_scratch(call);
    cv_plan_call(&p, call);
    const int64_t slots = cpu_threads();
    return (uint64_t)(p.packed_bytes + mm_round_up(slots, 64) + slots * p.slot_bytes);
}

static int32_t run_call(const ndp_call *call)
{
    cv_plan p;
    if (call->op == NDP_OP_conv_weight)
        return cv_pairs_serves(call) ? cv_pairs_weight(call) : cv_weight_run(call);
    cv_plan_call(&p, call);
    cv_run r = {.p = &p, .n_slots = cpu_threads()};
    const int64_t need = p.packed_bytes + mm_round_up(r.n_slots, 64) + r.n_slots * p.slot_bytes;
    if (!call->scratch.mem || ndp_view_size(&call->scratch) < need)
        return cpu_error(NDP_ERR_INTERNAL, "conv was called without its scratch memory");
    r.packed = cpu_ptr(&call->scratch);
    r.busy = (atomic_uchar *)(r.packed + p.packed_bytes);
    r.slots = (char *)r.busy + mm_round_up(r.n_slots, 64);
    memset(r.busy, 0, (size_t)r.n_slots);
    if (p.is_pairs) {
        cv_pairs_conv(&r);
        return NDP_OK;
    }
    if (p.is_direct) {
        cv_direct_run(&r);
        return NDP_OK;
    }
    if (p.is_pointwise) {
        cv_pointwise_run(&r);
        return NDP_OK;
    }
    if (p.plane) {
        cv_planes(&r);
        return NDP_OK;
    }
    if (p.depthwise) {
        cv_depthwise(&r);
        return NDP_OK;
    }
    const int64_t tasks = p.images * p.groups * cv_product(p.phases) * p.tiles_p * p.tiles_o;
    const int64_t work = p.tile_p * p.tile_o * (p.ci * p.most_taps + 1);
    cpu_parallel(cv_product(p.variants) * p.groups, 1 + 16384 / (p.packed / p.k->element + 1),
                 pack_task, &r);
    cpu_parallel(tasks, (MM_TASK_WORK / 2 + work - 1) / work, run_tiles, &r);
    return NDP_OK;
}

static uint64_t scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    cv_wide w;
    (void)kernel;
    return cv_wide_make(&w, call) ? (uint64_t)w.bytes + scratch_of(&w.call) : scratch_of(call);
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    cv_wide w;
    int32_t status = NDP_OK;
    (void)kernel;
    (void)stream;
    if (!cv_wide_make(&w, call))
        return run_call(call);
    if (w.scratch_bytes < 0)
        return cpu_error(NDP_ERR_INTERNAL, "conv was called without its scratch memory");
    for (int64_t first = 0; status == NDP_OK && cv_wide_turn(&w, &first);)
        status = run_call(&w.call);
    return status;
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .scratch = scratch, .run = run};

static uint64_t dtypes(int32_t op)
{
    return cpu_domain_dtypes(op);
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    int same = cpu_domain_dtypes(like->op) >> dtype & 1 && like->out[0].dtype == dtype;
    for (uint32_t i = 0; i < like->n_in; i++)
        same = same && like->in[i].mem && like->in[i].dtype == dtype && like->in[i].ndim == 5;
    if (same)
        return &the_kernel;
    snprintf(why, n, "the CPU plug-in has no %s of dtype %d", cpu_op_name(like->op), (int)dtype);
    return NULL;
}

const cpu_class cpu_conv = {dtypes, find};
