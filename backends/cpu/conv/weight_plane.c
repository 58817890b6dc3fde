/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The gradient for the weight of groups with few channels, without matrices: rows of the source are packed
 * as plane.c packs them, and each tap is an inner product of the gradient with what the tap meets. Sums of
 * an image are added up in doubles. */
#include <string.h>
#include "conv/conv.h"

enum { FEW = 8, MOST_BYTES = 1 << 20 };

void cv_weight_plan(cv_plan *f, const ndp_call *call)
{
    const ndp_conv *c = call->params;
    const ndp_view *out = &call->out[0];
    memset(f, 0, sizeof *f);
    f->k = mm_kernels_for(call->in[0].dtype, out->dtype);
    f->isa = CPU_ISA_PICK(cpu_conv_isa);
    f->source = cv_image_of(&call->in[0]);
    f->out = cv_image_of(&call->in[1]);
    f->images = call->in[0].shape[0];
    f->groups = c->groups;
    f->co = out->shape[0] / c->groups;
    f->ci = out->shape[1];
    f->most_taps = 1;
    for (int d = 0; d < 3; d++) {
        f->stride[d] = c->stride[d];
        f->dilation[d] = c->dilation[d];
        f->before[d] = c->before[d];
        f->kernel[d] = out->shape[2 + d];
        f->phases[d] = f->variants[d] = 1;
        f->most_taps *= f->kernel[d];
    }
}

static int64_t gradient_pitch(const cv_plan *f)
{
    return mm_round_up(f->out.extent[2], 64 / f->k->element);
}

static int64_t gradient_bytes(const cv_plan *f)
{
    return mm_round_up(f->co * f->out.extent[1] * gradient_pitch(f) * f->k->element, 64);
}

int cv_weight_planes(cv_plan *f)
{
    if (!cv_is_plane(f) || f->co > FEW || f->ci > FEW || cv_product(f->out.extent) == 0)
        return 0;
    cv_plane_whole(f);
    f->slot_image = 0;
    f->slot_sums = mm_round_up(cv_plane_packed(f), 64);
    f->slot_weights = f->slot_sums + gradient_bytes(f);
    f->slot_offsets = f->slot_weights + mm_round_up(f->ci * f->most_taps * 8, 64);
    f->slot_bytes = f->slot_offsets + mm_round_up(f->ci * f->most_taps * 8, 64);
    return f->slot_bytes <= MOST_BYTES;
}

/* Of channels that lie side by side. */
static void pack_beside(const cv_plan *f, int64_t image, int64_t group, char *to)
{
    const cv_image *g = &f->out;
    const int64_t pitch = gradient_pitch(f), size = f->k->element, n = g->extent[2];
    cv_turn turn = {.n = n, .channels = f->co, .step = g->space[2], .plane = g->extent[1] * pitch};
    for (int64_t r = 0; r < g->extent[1]; r++) {
        turn.beside = g->data + (image * g->image + group * f->co + r * g->space[1]) * size;
        turn.rows = to + r * pitch * size;
        f->isa->apart[f->k->dtype](&turn);
        for (int64_t o = 0; o < f->co; o++)
            memset(to + ((o * g->extent[1] + r) * pitch + n) * size, 0,
                   (size_t)((pitch - n) * size));
    }
}

static void pack_gradient(const cv_plan *f, int64_t image, int64_t group, char *to)
{
    const cv_image *g = &f->out;
    const int64_t pitch = gradient_pitch(f), size = f->k->element, n = g->extent[2];
    if (g->channel == 1 && f->co > 1 && mm_is_native(f->k, g->dtype)) {
        pack_beside(f, image, group, to);
        return;
    }
    for (int64_t o = 0; o < f->co; o++)
        for (int64_t r = 0; r < g->extent[1]; r++, to += pitch * size) {
            const int64_t at =
                image * g->image + (group * f->co + o) * g->channel + r * g->space[1];
            f->k->load[g->dtype](g->data + at * g->size, 0, g->space[2], 1, n, to);
            memset(to + n * size, 0, (size_t)((pitch - n) * size));
        }
}

void cv_weight_part(const cv_plan *f, int64_t group, int64_t first, int64_t end, char *slot,
                    char *sums)
{
    const int64_t taps = f->ci * f->most_taps, size = f->k->element;
    char *packed = slot + f->slot_image, *g = slot + f->slot_sums;
    double *total = (double *)(slot + f->slot_weights);
    cv_dots d = {.n = f->out.extent[2],
                 .rows = f->out.extent[1],
                 .row_step = f->stride[1] * cv_plane_pitch(f),
                 .pitch = gradient_pitch(f),
                 .taps = taps,
                 .packed = packed,
                 .offset = (int64_t *)(slot + f->slot_offsets),
                 .sums = total};
    cv_plane_offsets(f, (int64_t *)(slot + f->slot_offsets));
    memset(packed, 0, (size_t)cv_plane_packed(f));
    memset(sums, 0, (size_t)(f->co * taps * size));
    for (int64_t i = first; i < end; i++) {
        cv_plane_pack(f, i, group, packed);
        pack_gradient(f, i, group, g);
        for (int64_t o = 0; o < f->co; o++) {
            memset(total, 0, (size_t)taps * sizeof *total);
            d.g = g + o * d.rows * d.pitch * size;
            f->isa->dots[f->k->dtype](&d);
            for (int64_t t = 0; t < taps; t++)
                if (size == 8)
                    ((double *)sums)[o * taps + t] += total[t];
                else
                    ((float *)sums)[o * taps + t] += (float)total[t];
        }
    }
}
