/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels that misread the parameters of their class: a row for each way, what is misread and of
 * which operations. */
#include <string.h>
#include <ndock/plugin_facts.h>
#include "tests/kit/misread.h"

/* ---- Fourier transforms ---- */
static void forward(void *p)
{
    ((ndp_fft *)p)->inverse = 0;
}
static void other_scale(void *p)
{
    ndp_fft *fft = p;
    if (fft->scale != 1)
        fft->scale *= 1 + 1e-5;
}
static void two_axes(void *p)
{
    ndp_fft *fft = p;
    fft->n_axes = fft->n_axes > 2 ? 2 : fft->n_axes;
}

/* ---- normalisations ---- */
static void no_eps(void *p)
{
    ((ndp_norm *)p)->eps = 0;
}
static void last_axis(void *p)
{
    ((ndp_norm *)p)->n_reduced = 1;
}
static void no_scale(void *p)
{
    ((ndp_norm *)p)->has_scale = 0;
}

/* ---- losses ---- */
static void other_ignored(void *p)
{
    ((ndp_entropy *)p)->ignore = -100;
}
static void no_smoothing(void *p)
{
    ((ndp_entropy *)p)->smoothing = 0;
}
static void no_weights(void *p)
{
    ((ndp_entropy *)p)->has_weights = 0;
}

/* ---- attention, positions, dropout ---- */
static void one_more_key(void *p)
{
    ((ndp_attention *)p)->diagonal++;
}
static void no_mask(void *p)
{
    ((ndp_attention *)p)->has_mask = 0;
}
static void other_draws(void *p)
{
    ((ndp_attention *)p)->counter[0]++;
}
static void own_scale(void *p)
{
    ((ndp_attention *)p)->scale *= 1.01;
}
static void other_pairs(void *p)
{
    ndp_rope *rope = p;
    rope->interleaved = !rope->interleaved;
}
static void turned_back(void *p)
{
    ndp_rope *rope = p;
    rope->inverse = !rope->inverse;
}
static void low_counter(void *p)
{
    ((ndp_dropout *)p)->counter[1] = 0;
}

/* ---- windows ---- */
static void set_all(int64_t v[3], int64_t value)
{
    v[0] = v[1] = v[2] = value;
}
static void conv_undilated(void *p)
{
    set_all(((ndp_conv *)p)->dilation, 1);
}
static void conv_no_stride(void *p)
{
    set_all(((ndp_conv *)p)->stride, 1);
}
static void conv_no_padding(void *p)
{
    set_all(((ndp_conv *)p)->before, 0);
}
static void conv_no_bias(void *p)
{
    ((ndp_conv *)p)->has_bias = 0;
}
static void pool_undilated(void *p)
{
    set_all(((ndp_pool *)p)->dilation, 1);
}
static void pool_no_padding(void *p)
{
    set_all(((ndp_pool *)p)->before, 0);
}
static void pool_with_padding(void *p)
{
    ((ndp_pool *)p)->exclude_padding = 0;
}
static void pool_no_divisor(void *p)
{
    ((ndp_pool *)p)->divisor = 0;
}
static void pool_of_windows(void *p)
{
    ndp_pool *pool = p;
    if (pool->adaptive) { /* as many elements each, where the extents do not divide */
        pool->adaptive = 0;
        set_all(pool->kernel, 1);
        set_all(pool->stride, 1);
        set_all(pool->dilation, 1);
        set_all(pool->before, 0);
    }
}
static void other_corners(void *p)
{
    ((ndp_resample *)p)->align_corners = 0;
}
static void own_ratio(void *p)
{
    ndp_resample *resample = p;
    resample->ratio[0] = resample->ratio[1] = resample->ratio[2] = 0;
}
static void linear(void *p)
{
    ndp_resample *resample = p;
    if (resample->method == NDP_RESAMPLE_CUBIC)
        resample->method = NDP_RESAMPLE_LINEAR;
}
static void unfold_undilated(void *p)
{
    set_all(((ndp_unfold *)p)->dilation, 1);
}
static void unfold_no_padding(void *p)
{
    set_all(((ndp_unfold *)p)->before, 0);
}

static const struct {
    const char *defect;
    int32_t op;
    void (*read)(void *params);
} rows[] = {
    {"fft_sign", NDP_OP_fft, forward},
    {"fft_scale", NDP_OP_fft_r2c, other_scale},
    {"fft_axes", NDP_OP_fft, two_axes},
    {"softmax_axes", NDP_OP_softmax, last_axis},
    {"norm_eps", NDP_OP_layer_norm, no_eps},
    {"norm_scale", NDP_OP_rms_norm, no_scale},
    {"softmax_grad_axes", NDP_OP_softmax_grad, last_axis},
    {"norm_grad_eps", NDP_OP_rms_norm_grad, no_eps},
    {"norm_grad_scale", NDP_OP_layer_norm_grad, no_scale},
    {"entropy_ignore", NDP_OP_cross_entropy, other_ignored},
    {"entropy_weights", NDP_OP_cross_entropy, no_weights},
    {"entropy_smoothing", NDP_OP_cross_entropy_grad, no_smoothing},
    {"attention_causal", NDP_OP_attention, one_more_key},
    {"attention_mask", NDP_OP_attention, no_mask},
    {"attention_dropout", NDP_OP_attention, other_draws},
    {"attention_scale", NDP_OP_attention_grad, own_scale},
    {"rope_pairs", NDP_OP_rope, other_pairs},
    {"rope_inverse", NDP_OP_rope, turned_back},
    {"dropout_counter", NDP_OP_dropout, low_counter},
    {"conv_dilation", NDP_OP_conv, conv_undilated},
    {"conv_bias", NDP_OP_conv, conv_no_bias},
    {"conv_input_stride", NDP_OP_conv_input, conv_no_stride},
    {"conv_weight_padding", NDP_OP_conv_weight, conv_no_padding},
    {"max_pool_dilation", NDP_OP_max_pool, pool_undilated},
    {"max_pool_adaptive", NDP_OP_max_pool, pool_of_windows},
    {"max_pool_grad_padding", NDP_OP_max_pool_grad, pool_no_padding},
    {"avg_pool_exclude", NDP_OP_avg_pool, pool_with_padding},
    {"avg_pool_grad_divisor", NDP_OP_avg_pool_grad, pool_no_divisor},
    {"upsample_corners", NDP_OP_upsample, other_corners},
    {"upsample_ratio", NDP_OP_upsample, own_ratio},
    {"upsample_grad_method", NDP_OP_upsample_grad, linear},
    {"unfold_dilation", NDP_OP_unfold, unfold_undilated},
    {"fold_padding", NDP_OP_fold, unfold_no_padding},
};

static uint32_t params_size(const ndp_call *call)
{
    return call->params ? *(const uint32_t *)call->params : 0;
}

const ndp_call *misread(const char *defect, const ndp_call *call, ndp_call *other, void *params)
{
    const uint32_t n = params_size(call);
    for (size_t i = 0; defect && n && n <= MISREAD_ROOM && i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == call->op && strcmp(rows[i].defect, defect) == 0) {
            *other = *call;
            other->params = memcpy(params, call->params, n);
            rows[i].read(params);
            return other;
        }
    return call;
}
