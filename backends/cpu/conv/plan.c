/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How a convolution is cut up, from the call's shapes, strides and dtypes alone. */
#include <string.h>
#include "conv/conv.h"

int cv_is_flat(const cv_plan *p)
{
    return p->kernel[0] == 1 && p->source.extent[0] == 1 && p->out.extent[0] == 1 &&
           p->before[0] == 0;
}

int cv_is_line(const int64_t space[3], const int64_t extent[3])
{
    for (int d = 1; d >= 0; d--)
        if (extent[d] > 1 &&
            space[d] != (d == 1 ? extent[2] * space[2] : extent[1] * extent[2] * space[2]))
            return 0;
    return 1;
}

cv_image cv_image_of(const ndp_view *v)
{
    cv_image i = {.data = cpu_ptr(v),
                  .image = v->stride[0],
                  .channel = v->stride[1],
                  .size = ndp_dtype_size(v->dtype),
                  .dtype = v->dtype};
    for (int d = 0; d < 3; d++) {
        i.space[d] = v->stride[2 + d];
        i.extent[d] = v->shape[2 + d];
    }
    return i;
}

static int64_t at_least_1(int64_t n)
{
    return n < 1 ? 1 : n;
}

nd_window_axis cv_phase_axis(const cv_plan *p, int d, int64_t phase)
{
    if (p->backward)
        return nd_window_backward(p->out.extent[d], p->kernel[d], p->stride[d], p->dilation[d],
                                  p->before[d], phase);
    return nd_window_forward(p->out.extent[d], p->kernel[d], p->stride[d], p->dilation[d],
                             p->before[d]);
}

int64_t cv_phase(const cv_plan *p, int64_t phase, nd_window_axis axis[3])
{
    int64_t variant = 0, number[3];
    int empty = 0;
    for (int d = 2; d >= 0; d--) {
        number[d] = phase % p->phases[d];
        phase /= p->phases[d];
    }
    for (int d = 0; d < 3; d++) {
        axis[d] = cv_phase_axis(p, d, number[d]);
        empty |= axis[d].taps == 0;
        variant = variant * p->variants[d] + axis[d].tap;
    }
    return empty ? -1 : variant;
}

static void plan_phases(cv_plan *p)
{
    p->most_taps = 1;
    for (int d = 0; d < 3; d++) {
        const int64_t step =
            p->backward ? p->stride[d] / nd_window_gcd(p->dilation[d], p->stride[d]) : 1;
        p->phases[d] = !p->backward                      ? 1
                       : p->stride[d] < p->out.extent[d] ? p->stride[d]
                                                         : at_least_1(p->out.extent[d]);
        p->variants[d] = step < p->kernel[d] ? step : p->kernel[d];
        p->most_taps *= (p->kernel[d] + step - 1) / step;
    }
}

/* Windows of one element, one after the other: all positions are one line. A transposed convolution may have more
 * positions than its source, by padding of the result. */
static void merge_space(cv_plan *p)
{
    for (int d = 0; d < 3; d++)
        if (p->kernel[d] != 1 || p->stride[d] != 1 || p->before[d] != 0 ||
            p->source.extent[d] != p->out.extent[d])
            return;
    if (!cv_is_line(p->source.space, p->source.extent) || !cv_is_line(p->out.space, p->out.extent))
        return;
    cv_image *images[2] = {&p->source, &p->out};
    for (int i = 0; i < 2; i++) {
        images[i]->extent[2] = cv_product(images[i]->extent);
        images[i]->extent[0] = images[i]->extent[1] = 1;
    }
}

/* Channels of a group that each read one or few of the source. */
static int is_depthwise(const cv_plan *p)
{
    return p->co < 4 && p->ci < 4 && p->groups > 1;
}

static void plan_layout(cv_plan *p)
{
    const int many = cv_product(p->phases) > 1;
    p->channels_inner = p->source.channel == 1 && p->source.space[2] != 1 && p->ci > 1;
    p->pixels_down = p->out.channel == 1 && p->out.space[2] != 1 && p->co > 1;
    p->line = p->out.space[2];
    p->direct = mm_is_native(p->k, p->out.dtype) && !p->bias && !p->epilogue && !many &&
                cv_is_line(p->out.space, p->out.extent) && (p->pixels_down || p->line == 1);
}

static void plan_tiles(cv_plan *p)
{
    const int64_t size = p->k->element, tasks = p->images * p->groups * cv_product(p->phases);
    int64_t most = 1;
    for (int d = 0; d < 3; d++)
        most *= (p->out.extent[d] + p->phases[d] - 1) / p->phases[d];
    p->tile_p = 1024 / size;
    p->tile_o = p->co < 2048 / size ? p->co : 2048 / size;
    for (;;) {
        p->tiles_p = at_least_1((most + p->tile_p - 1) / p->tile_p);
        p->tiles_o = (p->co + p->tile_o - 1) / p->tile_o;
        if (p->tiles_p * p->tiles_o * tasks >= 16 ||
            p->tile_p * p->tile_o * p->ci * p->most_taps < MM_TASK_WORK)
            return;
        if (p->tile_p > 256 / size)
            p->tile_p /= 2;
        else if (p->tile_o >= 128)
            p->tile_o = mm_round_up(p->tile_o / 2, 48);
        else
            return;
    }
}

static int64_t take(cv_plan *p, int64_t nbytes)
{
    const int64_t at = p->slot_bytes;
    p->slot_bytes += mm_round_up(nbytes, 64);
    return at;
}

static void plan_scratch(cv_plan *p)
{
    const int64_t size = p->k->element, most_k = p->ci * p->most_taps;
    const int64_t across = p->pixels_down ? p->k->rows : p->k->columns;
    const int64_t weights_across = p->pixels_down ? p->k->columns : p->k->rows;
    if (p->is_pairs || p->is_direct || p->is_pointwise) {
        int64_t sums, row, line;
        (p->is_pairs    ? cv_pairs_slot
         : p->is_direct ? cv_direct_slot
                        : cv_pointwise_slot)(p, &sums, &row, &line);
        p->slot_sums = take(p, sums * size);
        p->slot_row = take(p, row * size);
        p->slot_image = take(p, line * size);
        return;
    }
    if (p->plane) {
        p->slot_sums = take(p, cv_plane_sums(p));
        p->slot_image = take(p, cv_plane_packed(p));
        p->slot_row = take(p, (p->out.extent[2] + p->kernel[2]) * size);
        p->slot_weights = take(p, most_k * CV_PLANE_OUTS * size);
        p->slot_offsets = take(p, most_k * CV_PLANE_PHASES * (int64_t)sizeof(int64_t));
        return;
    }
    if (p->depthwise) {
        const int64_t width = p->by_channels ? p->groups : p->out.extent[2];
        const int64_t row = p->source.extent[2] > width ? p->source.extent[2] : width;
        p->packed = p->by_channels ? p->groups * cv_product(p->kernel) * size : 0;
        p->packed_bytes = mm_round_up(p->packed, 64);
        p->slot_sums = take(p, (p->by_channels ? p->out.extent[2] : 1) * width * size);
        p->slot_row = take(p, row * size);
        p->slot_image = take(p, width * size);
        p->slot_weights = take(p, most_k * (p->by_channels ? 4 * (int64_t)sizeof(void *) : 8));
        p->slot_offsets = take(p, p->by_channels ? most_k * (int64_t)sizeof(int64_t) : 0);
        return;
    }
    p->packed = mm_round_up(p->co, weights_across) * most_k * size;
    p->packed_bytes = mm_round_up(p->packed * p->groups * at_least_1(cv_product(p->variants)), 64);
    p->slot_image = take(p, mm_round_up(p->tile_p, across) *
                                (most_k < MM_MAX_DEPTH ? most_k : MM_MAX_DEPTH) * size);
    const int64_t down = p->pixels_down ? p->tile_p : p->tile_o;
    const int64_t along = p->pixels_down ? p->tile_o : p->tile_p;
    p->pitch = mm_round_up(along, 64 / size) + 64 / size;
    if (!p->direct)
        p->slot_sums = take(p, down * p->pitch * size);
    p->slot_row = take(p, along * size);
}

static void read_weight(cv_plan *p, const ndp_view *w)
{
    p->weight = cpu_ptr(w);
    p->w_dtype = w->dtype;
    p->w_out = w->stride[p->backward];
    p->w_in = w->stride[!p->backward];
    p->co = p->backward ? w->shape[1] : w->shape[0] / p->groups;
    p->ci = p->backward ? w->shape[0] / p->groups : w->shape[1];
    for (int d = 0; d < 3; d++) {
        p->w_space[d] = w->stride[2 + d];
        p->kernel[d] = w->shape[2 + d];
    }
}

void cv_plan_call(cv_plan *p, const ndp_call *call)
{
    const ndp_conv *params = call->params;
    memset(p, 0, sizeof *p);
    p->k = mm_kernels_for(call->in[0].dtype, call->out[0].dtype);
    p->isa = CPU_ISA_PICK(cpu_conv_isa);
    p->source = cv_image_of(&call->in[0]);
    p->out = cv_image_of(&call->out[0]);
    p->images = call->out[0].shape[0];
    p->groups = params->groups;
    p->backward = call->op == NDP_OP_conv_input;
    read_weight(p, &call->in[1]);
    if (params->has_bias) {
        p->bias = cpu_ptr(&call->in[2]);
        p->bias_stride = call->in[2].stride[1];
    }
    p->epilogue = mm_epilogue_loop(p->k, params->epilogue);
    memcpy(p->stride, params->stride, sizeof p->stride);
    memcpy(p->dilation, params->dilation, sizeof p->dilation);
    memcpy(p->before, params->before, sizeof p->before);
    merge_space(p);
    plan_phases(p);
    p->is_pairs = cv_pairs_serves(call);
    if (p->is_pairs) {
        cv_pairs_conv_plan(p);
        plan_scratch(p);
        return;
    }
    p->depthwise = is_depthwise(p);
    p->by_channels = p->depthwise && p->co == 1 && p->ci == 1 && p->source.channel == 1 &&
                     p->out.channel == 1 && p->out.space[2] != 1 &&
                     mm_is_native(p->k, p->source.dtype);
    p->is_pointwise = cv_is_pointwise(p);
    p->is_direct = !p->is_pointwise && cv_is_direct(p);
    p->plane = !p->by_channels && !p->is_direct && cv_is_plane(p);
    plan_layout(p);
    if (p->is_direct)
        cv_direct_plan(p);
    else if (p->is_pointwise)
        cv_pointwise_plan(p);
    else if (p->plane)
        cv_plane_plan(p);
    else
        plan_tiles(p);
    plan_scratch(p);
}
