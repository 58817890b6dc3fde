/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of 8-bit floating matrices with scales. */
#include "core/ops/prepare.h"

typedef struct {
    nd_operation of; /* operands: a, b, bias or NULL, scale_a, scale_b, the last three stretched */
    uint32_t mode;
} scaled;

enum { BIAS = 2, SCALE_A = 3, SCALE_B = 4 };

static nd_status run(const nd_operation *of, const nd_array *dst)
{
    const scaled *s = (const scaled *)of;
    const ndp_matmul params = {.size = sizeof params, .has_bias = of->in[BIAS] != NULL, .alpha = 1};
    ndp_view in[ND_OPERANDS], out = nd__view(dst);
    uint32_t n = 0;
    if (dst->size == 0)
        return ND_OK;
    for (int i = 0; i < ND_OPERANDS; i++)
        if (of->in[i])
            in[n++] = nd__view(of->in[i]);
    ndp_call call = {.size = sizeof call,
                     .op = of->info->op,
                     .n_in = n,
                     .n_out = 1,
                     .in = in,
                     .out = &out,
                     .mode = s->mode,
                     .params = &params};
    return nd__run(of->device, &call);
}

static nd_status check_matrices(const nd_array *a, const nd_array *b)
{
    const nd_array *const pair[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        if (nd__kind(pair[i]->dtype) != ND_KIND_FLOAT8)
            return nd__fail(ND_ERR_DTYPE, "scaled_mm", i,
                            "the matrix is %s, not f8_e4m3 or f8_e5m2; nd_matmul takes others",
                            nd_dtype_name(pair[i]->dtype));
        if (pair[i]->ndim != 2)
            return nd__fail(ND_ERR_SHAPE, "scaled_mm", i, "the operand has rank %d, not 2",
                            pair[i]->ndim);
    }
    if (a->shape[1] != b->shape[0])
        return nd__fail(ND_ERR_SHAPE, "scaled_mm", 1,
                        "inner extents differ: (%lld, %lld) @ (%lld, %lld)", (long long)a->shape[0],
                        (long long)a->shape[1], (long long)b->shape[0], (long long)b->shape[1]);
    return ND_OK;
}

/* The operand at that place broadcast to the result. */
static nd_status stretch(nd_operation *of, int place)
{
    nd_array *wide = NULL;
    ND_RETURN_IF(nd_broadcast_to(of->in[place], of->ndim, of->shape, &wide));
    nd__operand_take(of, place, wide);
    return ND_OK;
}

/* One element, or one for each row (along 0) or column (along 1). */
static nd_status take_scale(nd_operation *of, int place, const nd_array *scale, int along)
{
    const int argument = place - 1;
    const int64_t whole[2] = {along == 0 ? of->shape[0] : 1, along == 1 ? of->shape[1] : 1};
    nd_array *one = NULL;
    ND_RETURN_IF(nd__check_array("scaled_mm", scale, argument));
    ND_RETURN_IF(nd__check_same_device("scaled_mm", of->in[0], scale, 0, argument));
    if (scale->dtype != ND_F32)
        return nd__fail(ND_ERR_DTYPE, "scaled_mm", argument, "the scales are %s, not f32",
                        nd_dtype_name(scale->dtype));
    of->in[place] = scale;
    if (scale->size == 1) {
        ND_RETURN_IF(nd_reshape(scale, 0, NULL, &one));
        nd__operand_take(of, place, one);
    } else if (!nd__same_shape(scale->ndim, scale->shape, 2, whole)) {
        char text[ND_SHAPE_TEXT];
        nd__shape_text(scale->ndim, scale->shape, text, sizeof text);
        return nd__fail(ND_ERR_SHAPE, "scaled_mm", argument,
                        "scales of shape %s; one element, or (%lld, %lld), is right", text,
                        (long long)whole[0], (long long)whole[1]);
    }
    return stretch(of, place);
}

static nd_status choose_result(nd_operation *of, nd_dtype wanted)
{
    of->compute = of->in[0]->dtype;
    of->result = wanted ? wanted : ND_F32;
    if (of->result == ND_F16 || of->result == ND_BF16 || of->result == ND_F32)
        return ND_OK;
    ND_RETURN_IF(nd__check_dtype("scaled_mm", wanted));
    return nd__fail(ND_ERR_DTYPE, "scaled_mm", -1, "no result of %s; it is f16, bf16 or f32",
                    nd_dtype_name(wanted));
}

static nd_status take_bias(nd_operation *of, const nd_array *bias)
{
    if (!bias)
        return ND_OK;
    ND_RETURN_IF(nd__operand(of, BIAS, bias));
    ND_RETURN_IF(nd__check_castable("scaled_mm", bias->dtype, of->result));
    ND_RETURN_IF(nd__operand_cast(of, BIAS, of->result));
    return stretch(of, BIAS);
}

static nd_status start(const nd_array *a, const nd_array *b, const nd_array *scale_a,
                       const nd_array *scale_b, const nd_scaled_mm_opts *opts, scaled *s)
{
    nd_operation *of = &s->of;
    nd_scaled_mm_opts o;
    nd__operation_begin(of, ND_OP_scaled_mm, run);
    ND_RETURN_IF(nd__operand(of, 0, a));
    ND_RETURN_IF(nd__operand(of, 1, b));
    ND_RETURN_IF(
        nd__read_options("scaled_mm", opts, &o, sizeof o, NDP_END(nd_scaled_mm_opts, dtype)));
    ND_RETURN_IF(nd__scope_of("scaled_mm", a, opts, &of->scope));
    ND_RETURN_IF(check_matrices(a, b));
    ND_RETURN_IF(choose_result(of, o.dtype));
    nd__result_shape(of, 2, (const int64_t[]){a->shape[0], b->shape[1]});
    ND_RETURN_IF(take_bias(of, o.bias));
    ND_RETURN_IF(take_scale(of, SCALE_A, scale_a, 0));
    ND_RETURN_IF(take_scale(of, SCALE_B, scale_b, 1));
    const int64_t mnk[3] = {a->shape[0], b->shape[1], a->shape[1]};
    ND_RETURN_IF(nd__math_mode(of->device, ND_OP_scaled_mm, ND_F8_E4M3, mnk, &s->mode));
    s->mode |= o.fast_accumulate ? NDP_MODE_FP8_FAST : 0;
    return ND_OK;
}

nd_status nd_scaled_mm(const nd_array *a, const nd_array *b, const nd_array *scale_a,
                       const nd_array *scale_b, const nd_scaled_mm_opts *opts, nd_array **out)
{
    scaled s;
    ND_OUT("scaled_mm", 5, out, NULL);
    return nd__into_new(&s.of, start(a, b, scale_a, scale_b, opts, &s), out);
}

nd_status nd_scaled_mm_into(const nd_array *a, const nd_array *b, const nd_array *scale_a,
                            const nd_array *scale_b, const nd_scaled_mm_opts *opts,
                            const nd_array *dst)
{
    scaled s;
    return nd__into(&s.of, start(a, b, scale_a, scale_b, opts, &s), dst, 5);
}
