/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Pools and their gradients: windows, shapes, dtypes. */
#include "core/ops/window.h"
#include "core/ops/steps.h"

typedef struct {
    nd_operation of; /* operands: x, or gradient and indices */
    nd_pooling_opts o;
    ndp_pool params;
    int rank;
    const nd_array *indices; /* of max_pool, written beside the result; NULL: nobody wants them */
} pooling;

/* ---- options ---- */

static nd_status read_lists(pooling *p)
{
    const char *op = p->of.name;
    const nd_pooling_opts *o = &p->o;
    ndp_pool *w = &p->params;
    ND_RETURN_IF(nd__window_list(op, "kernel", p->rank, o->kernel, 1, 1, w->kernel));
    ND_RETURN_IF(
        nd__window_list(op, "stride", p->rank, o->stride ? o->stride : o->kernel, 1, 1, w->stride));
    ND_RETURN_IF(nd__window_list(op, "padding", p->rank, o->padding, 0, 0, w->before));
    ND_RETURN_IF(nd__window_list(op, "dilation", p->rank, o->dilation, 1, 1, w->dilation));
    for (int d = 0; d < ND_WINDOW_AXES; d++) {
        const int64_t reach = w->dilation[d] * (w->kernel[d] - 1) + 1;
        if (w->before[d] > reach / 2)
            return nd__fail(ND_ERR_ARGUMENT, op, -1,
                            "padding %lld for a window that covers %lld elements; it must be at "
                            "most half of them, %lld",
                            (long long)w->before[d], (long long)reach, (long long)(reach / 2));
        if (w->dilation[d] != 1 &&
            (p->of.info->op == ND_OP_avg_pool || p->of.info->op == ND_OP_avg_pool_grad))
            return nd__fail(ND_ERR_ARGUMENT, op, -1, "dilation %lld; %s has none, so 1",
                            (long long)w->dilation[d], op);
    }
    return ND_OK;
}

static nd_status read_options(pooling *p, const nd_pooling_opts *opts, int32_t place)
{
    const char *op = p->of.name;
    nd_pooling_opts *o = &p->o;
    ND_RETURN_IF(nd__read_options(op, opts, o, sizeof *o, NDP_END(nd_pooling_opts, rank)));
    p->rank = o->rank;
    if (p->rank < 1 || p->rank > ND_WINDOW_AXES)
        return nd__fail(ND_ERR_ARGUMENT, op, place,
                        "rank is %d; set it to the number of spatial axes, 1 to 3", (int)o->rank);
    if (!o->kernel && !o->output)
        return nd__fail(ND_ERR_ARGUMENT, op, place,
                        "neither kernel nor output is given; the former makes windows of one "
                        "extent, the latter those of an adaptive pool");
    p->params = (ndp_pool){.size = sizeof p->params,
                           .adaptive = o->output != NULL,
                           .divisor = o->divisor,
                           .exclude_padding = o->exclude_padding != 0};
    if (o->divisor < 0)
        return nd__fail(ND_ERR_ARGUMENT, op, place, "divisor is %lld; it must be positive, or 0",
                        (long long)o->divisor);
    for (int d = 0; d < ND_WINDOW_AXES; d++)
        p->params.kernel[d] = p->params.stride[d] = p->params.dilation[d] = 1;
    return o->output ? (nd_status)ND_OK : read_lists(p);
}

/* ---- shapes ---- */

/* Windows along one axis of s elements. */
static nd_status count_windows(const pooling *p, int i, int64_t s, int64_t *out)
{
    const ndp_pool *w = &p->params;
    const int d = ND_WINDOW_AXES - p->rank + i;
    const int64_t stride = w->stride[d];
    ND_RETURN_IF(nd__window_extent(p->of.name, i, s, w->kernel[d], stride, w->before[d],
                                   w->dilation[d], out));
    const int64_t covered =
        (*out - 1) * stride + w->dilation[d] * (w->kernel[d] - 1) + 1 - w->before[d];
    if (p->o.ceil_mode && covered < s + w->before[d] && *out * stride < s + w->before[d])
        ++*out;
    return ND_OK;
}

static nd_status grid_of(const pooling *p, const int64_t *image, int64_t *grid)
{
    int64_t output[ND_WINDOW_AXES];
    if (!p->o.output) {
        for (int i = 0; i < p->rank; i++)
            ND_RETURN_IF(count_windows(p, i, image[i], &grid[i]));
        return ND_OK;
    }
    ND_RETURN_IF(nd__window_list(p->of.name, "output", p->rank, p->o.output, 1, 1, output));
    memcpy(grid, output + ND_WINDOW_AXES - p->rank, (size_t)p->rank * sizeof *grid);
    for (int i = 0; i < p->rank; i++)
        if (image[i] < 1 || image[i] > (int64_t)1 << 31)
            return nd__fail(ND_ERR_SHAPE, p->of.name, 0,
                            "the image has %lld elements along spatial axis %d; an adaptive pool "
                            "is of 1 to 2^31",
                            (long long)image[i], i);
    return ND_OK;
}

static nd_status check_grad(const pooling *p, const nd_array *grad, int ndim, const int64_t *shape)
{
    int64_t want[ND_MAX_NDIM];
    if (grad->ndim != ndim)
        return nd__fail(ND_ERR_SHAPE, p->of.name, 0,
                        "the gradient has rank %d, the shape given for x %d", grad->ndim, ndim);
    memcpy(want, shape, (size_t)ndim * sizeof *want);
    ND_RETURN_IF(grid_of(p, shape + ndim - p->rank, want + ndim - p->rank));
    return nd__check_shape_is(p->of.name, grad, ndim, want, 0);
}

/* ---- the call ---- */

static nd_status run(const nd_operation *of, const nd_array *dst)
{
    const pooling *p = (const pooling *)of;
    const nd_array *const arrays[4] = {of->in[0], of->in[1], dst, p->indices};
    int64_t shape[4][5], stride[4][5];
    ndp_view v[4];
    if (dst->size == 0)
        return ND_OK;
    if (of->in[0]->size == 0)
        return nd__window_zero(dst);
    for (int i = 0; i < 4; i++)
        if (arrays[i])
            nd__window_view(arrays[i], arrays[i]->ndim - p->rank, 2, shape[i], stride[i], &v[i]);
    ndp_call call = {.size = sizeof call,
                     .op = of->info->op,
                     .n_in = of->in[1] ? 2 : 1,
                     .n_out = p->indices ? 2 : 1,
                     .in = v,
                     .out = v + 2,
                     .params = &p->params};
    return nd__run(of->device, &call);
}

static nd_status start(nd_op op, const nd_array *a, const nd_pooling_opts *opts, int32_t place,
                       pooling *p)
{
    nd__operation_begin(&p->of, op, run);
    p->indices = NULL;
    ND_RETURN_IF(nd__operand(&p->of, 0, a));
    ND_RETURN_IF(read_options(p, opts, place));
    ND_RETURN_IF(nd__scope_of(p->of.name, a, opts, &p->of.scope));
    ND_RETURN_IF(nd__window_rank(p->of.name, a, p->rank, 0));
    ND_RETURN_IF(nd__choose_dtypes(&p->of, a->dtype, p->o.dtype));
    return nd__operand_cast(&p->of, 0, p->of.compute);
}

static nd_status start_pool(nd_op op, const nd_array *x, const nd_pooling_opts *opts, pooling *p)
{
    ND_RETURN_IF(start(op, x, opts, 1, p));
    nd__result_shape(&p->of, x->ndim, x->shape);
    return grid_of(p, x->shape + x->ndim - p->rank, p->of.shape + x->ndim - p->rank);
}

static nd_status start_grad(nd_op op, const nd_array *grad, const nd_array *indices, int ndim,
                            const int64_t *shape, const nd_pooling_opts *opts, int32_t place,
                            pooling *p)
{
    ND_RETURN_IF(start(op, grad, opts, place, p));
    ND_RETURN_IF(nd__check_shape(p->of.name, p->of.result, ndim, shape, &(int64_t){0}));
    ND_RETURN_IF(check_grad(p, grad, ndim, shape));
    nd__result_shape(&p->of, ndim, shape);
    if (op != ND_OP_max_pool_grad)
        return ND_OK;
    ND_RETURN_IF(nd__operand(&p->of, 1, indices));
    if (indices->dtype != ND_I64)
        return nd__fail(ND_ERR_DTYPE, p->of.name, 1,
                        "the indices are %s; they must be the i64 that max_pool gives",
                        nd_dtype_name(indices->dtype));
    return nd__check_shape_is(p->of.name, indices, grad->ndim, grad->shape, 1);
}

/* A new result of a pool without indices. */
static nd_status into_new(pooling *p, nd_status status, const nd_array *x, nd_array **out)
{
    if (status == ND_OK && nd__window_has_last(x, x->ndim - p->rank - 1))
        p->of.inner = x->ndim - p->rank - 1;
    return nd__into_new(&p->of, status, out);
}

/* ---- the largest ---- */

nd_status nd_max_pool(const nd_array *x, const nd_pooling_opts *opts, nd_array **out,
                      nd_array **indices)
{
    pooling p;
    nd_array *positions = NULL;
    ND_OUT("max_pool", 2, out, NULL);
    if (indices)
        *indices = NULL;
    nd_status status = start_pool(ND_OP_max_pool, x, opts, &p);
    if (!indices)
        return into_new(&p, status, x, out);
    if (status == ND_OK)
        status =
            nd__array_alloc("max_pool", p.of.device, ND_I64, p.of.ndim, p.of.shape, &positions);
    p.indices = positions;
    status = nd__into_new(&p.of, status, out);
    if (status == ND_OK)
        *indices = positions;
    else
        nd_release(positions);
    return status;
}

static nd_status check_indices(const pooling *p, const nd_array *x, const nd_array *indices,
                               const nd_array *dst)
{
    ND_RETURN_IF(nd__check_array("max_pool", indices, 3));
    ND_RETURN_IF(nd__check_writable("max_pool", indices, 3));
    ND_RETURN_IF(nd__check_same_device("max_pool", x, indices, 0, 3));
    ND_RETURN_IF(nd__check_shape_is("max_pool", indices, p->of.ndim, p->of.shape, 3));
    if (indices->dtype != ND_I64)
        return nd__fail(ND_ERR_DTYPE, "max_pool", 3, "the indices are %s; they must be i64",
                        nd_dtype_name(indices->dtype));
    if (nd__may_overlap(indices, x) || (dst && nd__may_overlap(indices, dst)))
        return nd__fail(ND_ERR_ARGUMENT, "max_pool", 3,
                        "the indices overlap the operand or the result; give them memory of "
                        "their own");
    return ND_OK;
}

nd_status nd_max_pool_into(const nd_array *x, const nd_pooling_opts *opts, const nd_array *dst,
                           const nd_array *indices)
{
    pooling p;
    nd_status status = start_pool(ND_OP_max_pool, x, opts, &p);
    if (status == ND_OK)
        status = nd__check_array("max_pool", dst, 2);
    if (status == ND_OK && indices)
        status = check_indices(&p, x, indices, dst);
    p.indices = indices;
    return nd__into(&p.of, status, dst, 2);
}

nd_status nd_max_pool_grad(const nd_array *grad, const nd_array *indices, int ndim,
                           const int64_t *shape, const nd_pooling_opts *opts, nd_array **out)
{
    pooling p;
    ND_OUT("max_pool_grad", 5, out, NULL);
    ND_NEED_LIST("max_pool_grad", 3, ndim, shape);
    return nd__into_new(
        &p.of, start_grad(ND_OP_max_pool_grad, grad, indices, ndim, shape, opts, 4, &p), out);
}

nd_status nd_max_pool_grad_into(const nd_array *grad, const nd_array *indices,
                                const nd_pooling_opts *opts, const nd_array *dst)
{
    pooling p;
    ND_RETURN_IF(nd__check_array("max_pool_grad", dst, 3));
    return nd__into(
        &p.of, start_grad(ND_OP_max_pool_grad, grad, indices, dst->ndim, dst->shape, opts, 2, &p),
        dst, 3);
}

/* ---- means ---- */

nd_status nd_avg_pool(const nd_array *x, const nd_pooling_opts *opts, nd_array **out)
{
    pooling p;
    ND_OUT("avg_pool", 2, out, NULL);
    return into_new(&p, start_pool(ND_OP_avg_pool, x, opts, &p), x, out);
}

nd_status nd_avg_pool_into(const nd_array *x, const nd_pooling_opts *opts, const nd_array *dst)
{
    pooling p;
    return nd__into(&p.of, start_pool(ND_OP_avg_pool, x, opts, &p), dst, 2);
}

nd_status nd_avg_pool_grad(const nd_array *grad, int ndim, const int64_t *shape,
                           const nd_pooling_opts *opts, nd_array **out)
{
    pooling p;
    ND_OUT("avg_pool_grad", 4, out, NULL);
    ND_NEED_LIST("avg_pool_grad", 2, ndim, shape);
    return nd__into_new(&p.of,
                        start_grad(ND_OP_avg_pool_grad, grad, NULL, ndim, shape, opts, 3, &p), out);
}

nd_status nd_avg_pool_grad_into(const nd_array *grad, const nd_pooling_opts *opts,
                                const nd_array *dst)
{
    pooling p;
    ND_RETURN_IF(nd__check_array("avg_pool_grad", dst, 2));
    return nd__into(&p.of,
                    start_grad(ND_OP_avg_pool_grad, grad, NULL, dst->ndim, dst->shape, opts, 1, &p),
                    dst, 2);
}

/* ---- norms of windows: sums of powers ---- */

/* p is argument `place`, the options are `options`. */
static nd_status sums_options(const char *op, double p, const nd_pooling_opts *opts, int32_t place,
                              int32_t options, nd_pooling_opts *o)
{
    ND_RETURN_IF(nd__read_options(op, opts, o, sizeof *o, NDP_END(nd_pooling_opts, rank)));
    o->divisor = 1;
    if (o->rank < 1 || o->rank > ND_WINDOW_AXES)
        return nd__fail(ND_ERR_ARGUMENT, op, options,
                        "rank is %d; set it to the number of spatial axes, 1 to 3", (int)o->rank);
    if (p != 0 && p == p)
        return ND_OK;
    return nd__fail(ND_ERR_ARGUMENT, op, place, "p is %g; it must be a number other than 0", p);
}

nd_status nd_lp_pool(const nd_array *x, double p, const nd_pooling_opts *opts, nd_array **out)
{
    nd_steps s;
    nd_pooling_opts o;
    nd_array *sums;
    ND_OUT("lp_pool", 3, out, NULL);
    ND_RETURN_IF(nd__check_real("lp_pool", x, 0));
    ND_RETURN_IF(sums_options("lp_pool", p, opts, 1, 2, &o));
    ND_RETURN_IF(nd__steps_begin(&s, "lp_pool", x, opts));
    nd_array *size = nd__step1(&s, ND_OP_abs,
                               nd__step_cast(&s, x, o.dtype ? o.dtype : nd__floating_of(x->dtype)));
    nd_array *powers = nd__step_scalar(&s, ND_OP_pow, size, nd_float(p));
    ND_STEP(&s, sums, nd_avg_pool(powers, &o, &sums));
    return nd__steps_end(&s, "lp_pool", nd__step_scalar(&s, ND_OP_pow, sums, nd_float(1 / p)), out);
}

nd_status nd_lp_pool_grad(const nd_array *grad, const nd_array *x, const nd_array *y, double p,
                          const nd_pooling_opts *opts, nd_array **out)
{
    nd_steps s;
    nd_pooling_opts o;
    nd_array *zero, *sums;
    ND_OUT("lp_pool_grad", 5, out, NULL);
    ND_RETURN_IF(nd__check_real("lp_pool_grad", grad, 0));
    ND_RETURN_IF(nd__check_real("lp_pool_grad", x, 1));
    ND_RETURN_IF(nd__check_real("lp_pool_grad", y, 2));
    ND_RETURN_IF(nd__check_same_device("lp_pool_grad", grad, x, 0, 1));
    ND_RETURN_IF(nd__check_same_device("lp_pool_grad", grad, y, 0, 2));
    ND_RETURN_IF(sums_options("lp_pool_grad", p, opts, 3, 4, &o));
    ND_RETURN_IF(nd__steps_begin(&s, "lp_pool_grad", grad, opts));
    const nd_dtype dtype = o.dtype ? o.dtype : nd__floating_of(x->dtype);
    nd_array *from = nd__step_cast(&s, x, dtype), *norm = nd__step_cast(&s, y, dtype);
    zero = nd__step_scalar(&s, ND_OP_equal, norm, nd_float(0));
    nd_array *share = nd__step2(&s, ND_OP_multiply, nd__step_cast(&s, grad, dtype),
                                nd__step_scalar(&s, ND_OP_pow, norm, nd_float(1 - p)));
    share = nd__step_where(&s, zero, (nd_arg){.scalar = nd_float(0)}, (nd_arg){.array = share});
    ND_STEP(&s, sums, nd_avg_pool_grad(share, x->ndim, x->shape, &o, &sums));
    zero = nd__step_scalar(&s, ND_OP_equal, from, nd_float(0));
    nd_array *power =
        nd__step2(&s, ND_OP_multiply, nd__step1(&s, ND_OP_sign, from),
                  nd__step_scalar(&s, ND_OP_pow, nd__step1(&s, ND_OP_abs, from), nd_float(p - 1)));
    power = nd__step_where(&s, zero, (nd_arg){.scalar = nd_float(0)}, (nd_arg){.array = power});
    return nd__steps_end(&s, "lp_pool_grad", nd__step2(&s, ND_OP_multiply, sums, power), out);
}
