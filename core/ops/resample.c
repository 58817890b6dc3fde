/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Images of other extents. */
#include "core/ops/window.h"

typedef struct {
    nd_operation of;
    nd_upsample_opts o;
    ndp_resample params;
    int rank;
} resampling;

static nd_status read_upsample(resampling *p, const nd_array *x, const nd_upsample_opts *opts,
                               int32_t place)
{
    const char *op = p->of.name;
    nd_upsample_opts *o = &p->o;
    ND_RETURN_IF(nd__read_options(op, opts, o, sizeof *o, NDP_END(nd_upsample_opts, method)));
    ND_RETURN_IF(nd__window_rank(op, x, 0, 0));
    p->rank = x->ndim - 2;
    if (o->method < ND_UPSAMPLE_NEAREST || o->method > ND_UPSAMPLE_CUBIC)
        return nd__fail(ND_ERR_ARGUMENT, op, place,
                        "method is %d; ND_UPSAMPLE_NEAREST, _NEAREST_EXACT, _LINEAR and _CUBIC "
                        "are 0 to 3",
                        (int)o->method);
    if (!o->extents && !o->scale)
        return nd__fail(ND_ERR_ARGUMENT, op, place,
                        "neither extents nor scale is given; one of them tells the result's size");
    p->params = (ndp_resample){
        .size = sizeof p->params, .method = o->method, .align_corners = o->align_corners != 0};
    for (int i = 0; o->scale && i < p->rank; i++) {
        if (!(o->scale[i] > 0 && o->scale[i] < 0x1p31))
            return nd__fail(ND_ERR_ARGUMENT, op, place,
                            "scale is %g along spatial axis %d; it must be positive", o->scale[i],
                            i);
        p->params.ratio[ND_WINDOW_AXES - p->rank + i] = 1 / o->scale[i];
    }
    return ND_OK;
}

static nd_status upsampled_extents(const resampling *p, const int64_t *image, int64_t *out)
{
    int64_t given[ND_WINDOW_AXES];
    ND_RETURN_IF(nd__window_list(p->of.name, "extents", p->rank, p->o.extents, 1, 1, given));
    for (int i = 0; i < p->rank; i++) {
        out[i] = given[ND_WINDOW_AXES - p->rank + i];
        if (!p->o.extents && (double)image[i] * p->o.scale[i] < 0x1p31)
            out[i] = (int64_t)((double)image[i] * p->o.scale[i]);
        if (image[i] < 1 || image[i] > INT32_MAX || out[i] < 1)
            return nd__fail(ND_ERR_SHAPE, p->of.name, 0,
                            "%lld elements along spatial axis %d become %lld; both must be 1 to "
                            "2^31 - 1",
                            (long long)image[i], i, (long long)out[i]);
    }
    return ND_OK;
}

static nd_status run_resample(const nd_operation *of, const nd_array *dst)
{
    const resampling *p = (const resampling *)of;
    int64_t shape[2][5], stride[2][5];
    ndp_view v[2];
    if (dst->size == 0)
        return ND_OK;
    nd__window_view(of->in[0], 2, 2, shape[0], stride[0], &v[0]);
    nd__window_view(dst, 2, 2, shape[1], stride[1], &v[1]);
    ndp_call call = {.size = sizeof call,
                     .op = of->info->op,
                     .n_in = 1,
                     .n_out = 1,
                     .in = &v[0],
                     .out = &v[1],
                     .params = &p->params};
    return nd__run(of->device, &call);
}

static nd_status start_resample(nd_op op, const nd_array *a, const nd_upsample_opts *opts,
                                int32_t place, resampling *p)
{
    nd__operation_begin(&p->of, op, run_resample);
    ND_RETURN_IF(nd__operand(&p->of, 0, a));
    ND_RETURN_IF(read_upsample(p, a, opts, place));
    ND_RETURN_IF(nd__scope_of(p->of.name, a, opts, &p->of.scope));
    ND_RETURN_IF(nd__choose_dtypes(&p->of, a->dtype, p->o.dtype));
    return nd__operand_cast(&p->of, 0, p->of.compute);
}

static nd_status start_upsample(const nd_array *x, const nd_upsample_opts *opts, resampling *p)
{
    ND_RETURN_IF(start_resample(ND_OP_upsample, x, opts, 1, p));
    nd__result_shape(&p->of, x->ndim, x->shape);
    return upsampled_extents(p, x->shape + 2, p->of.shape + 2);
}

static nd_status start_upsample_grad(const nd_array *grad, int ndim, const int64_t *shape,
                                     const nd_upsample_opts *opts, int32_t place, resampling *p)
{
    int64_t want[ND_WINDOW_AXES + 2];
    ND_RETURN_IF(start_resample(ND_OP_upsample_grad, grad, opts, place, p));
    ND_RETURN_IF(nd__check_shape(p->of.name, p->of.result, ndim, shape, &(int64_t){0}));
    if (ndim != grad->ndim)
        return nd__fail(ND_ERR_SHAPE, p->of.name, 1,
                        "the gradient has rank %d, the shape given for x %d", grad->ndim, ndim);
    memcpy(want, shape, (size_t)ndim * sizeof *want);
    ND_RETURN_IF(upsampled_extents(p, shape + 2, want + 2));
    nd__result_shape(&p->of, ndim, shape);
    return nd__check_shape_is(p->of.name, grad, ndim, want, 0);
}

nd_status nd_upsample(const nd_array *x, const nd_upsample_opts *opts, nd_array **out)
{
    resampling p;
    ND_OUT("upsample", 2, out, NULL);
    return nd__into_new(&p.of, start_upsample(x, opts, &p), out);
}

nd_status nd_upsample_into(const nd_array *x, const nd_upsample_opts *opts, const nd_array *dst)
{
    resampling p;
    return nd__into(&p.of, start_upsample(x, opts, &p), dst, 2);
}

nd_status nd_upsample_grad(const nd_array *grad, int ndim, const int64_t *shape,
                           const nd_upsample_opts *opts, nd_array **out)
{
    resampling p;
    ND_OUT("upsample_grad", 4, out, NULL);
    ND_NEED_LIST("upsample_grad", 2, ndim, shape);
    return nd__into_new(&p.of, start_upsample_grad(grad, ndim, shape, opts, 3, &p), out);
}

nd_status nd_upsample_grad_into(const nd_array *grad, const nd_upsample_opts *opts,
                                const nd_array *dst)
{
    resampling p;
    ND_RETURN_IF(nd__check_array("upsample_grad", dst, 2));
    return nd__into(&p.of, start_upsample_grad(grad, dst->ndim, dst->shape, opts, 1, &p), dst, 2);
}
