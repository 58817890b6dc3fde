/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The elements of windows side by side, and back to images. */
#include "core/ops/window.h"

typedef struct {
    nd_operation of;
    nd_unfold_opts o;
    ndp_unfold params;
    int rank;
    int64_t kernel[ND_WINDOW_AXES], grid[ND_WINDOW_AXES];
} unfolding;

static nd_status read_unfold(unfolding *p, const nd_unfold_opts *opts, int32_t place)
{
    const char *op = p->of.name;
    nd_unfold_opts *o = &p->o;
    ndp_unfold *w = &p->params;
    ND_RETURN_IF(nd__read_options(op, opts, o, sizeof *o, NDP_END(nd_unfold_opts, rank)));
    p->rank = o->rank;
    if (p->rank < 1 || p->rank > ND_WINDOW_AXES || !o->kernel)
        return nd__fail(ND_ERR_ARGUMENT, op, place,
                        "rank is %d and kernel %s; set them to the number of spatial axes, 1 to "
                        "3, and as many extents",
                        (int)o->rank, o->kernel ? "given" : "NULL");
    *w = (ndp_unfold){.size = sizeof *w};
    ND_RETURN_IF(nd__window_list(op, "kernel", p->rank, o->kernel, 1, 1, p->kernel));
    ND_RETURN_IF(nd__window_list(op, "stride", p->rank, o->stride, 1, 1, w->stride));
    ND_RETURN_IF(nd__window_list(op, "padding", p->rank, o->padding, 0, 0, w->before));
    return nd__window_list(op, "dilation", p->rank, o->dilation, 1, 1, w->dilation);
}

/* The windows' grid over images of these extents; k and l: their taps, and how many there are. */
static nd_status count_windows(unfolding *p, const int64_t *image, int64_t *k, int64_t *l)
{
    const int lead = ND_WINDOW_AXES - p->rank;
    double taps = 1, windows = 1;
    *k = *l = 1;
    for (int d = 0; d < ND_WINDOW_AXES; d++) {
        p->grid[d] = 1;
        if (d >= lead)
            ND_RETURN_IF(nd__window_extent(p->of.name, d - lead, image[d - lead], p->kernel[d],
                                           p->params.stride[d], p->params.before[d],
                                           p->params.dilation[d], &p->grid[d]));
        taps *= (double)p->kernel[d];
        windows *= (double)p->grid[d];
        if (taps > 0x1p40 || windows > 0x1p60)
            return nd__fail(ND_ERR_SHAPE, p->of.name, -1, "%g windows of %g elements", windows,
                            taps);
        *k *= p->kernel[d];
        *l *= p->grid[d];
    }
    return ND_OK;
}

/* (n, c*k, l) as (n, c, kd, kh, kw, od, oh, ow). */
static void view_of_windows(const unfolding *p, const nd_array *a, int64_t channels, int64_t *shape,
                            int64_t *stride, ndp_view *v)
{
    const int lead = a->ndim - 2;
    int64_t k = a->stride[lead], l = a->stride[lead + 1];
    *v = nd__view(a);
    for (int d = ND_WINDOW_AXES - 1; d >= 0; d--) {
        shape[2 + d] = p->kernel[d];
        shape[5 + d] = p->grid[d];
        stride[2 + d] = k;
        stride[5 + d] = l;
        k *= p->kernel[d];
        l *= p->grid[d];
    }
    shape[0] = lead ? a->shape[0] : 1;
    stride[0] = lead ? a->stride[0] : 0;
    shape[1] = channels;
    stride[1] = k;
    v->ndim = 8;
    v->shape = shape;
    v->stride = stride;
    v->flags = nd__is_c_order(8, shape, stride) ? NDP_VIEW_CONTIGUOUS : 0;
}

static nd_status run_unfold(const nd_operation *of, const nd_array *dst)
{
    const unfolding *p = (const unfolding *)of;
    const bool folds = of->info->op == ND_OP_fold;
    const nd_array *image = folds ? dst : of->in[0], *windows = folds ? of->in[0] : dst;
    int64_t shape[5], stride[5], w_shape[8], w_stride[8];
    ndp_view v[2];
    if (dst->size == 0)
        return ND_OK;
    nd__window_view(image, image->ndim - p->rank, 2, shape, stride, &v[folds]);
    view_of_windows(p, windows, shape[1], w_shape, w_stride, &v[!folds]);
    ndp_call call = {.size = sizeof call,
                     .op = of->info->op,
                     .n_in = 1,
                     .n_out = 1,
                     .in = &v[0],
                     .out = &v[1],
                     .params = &p->params};
    return nd__run(of->device, &call);
}

static nd_status start_unfolding(nd_op op, const nd_array *a, const nd_unfold_opts *opts,
                                 int32_t place, unfolding *p)
{
    nd__operation_begin(&p->of, op, run_unfold);
    ND_RETURN_IF(nd__operand(&p->of, 0, a));
    ND_RETURN_IF(read_unfold(p, opts, place));
    ND_RETURN_IF(nd__scope_of(p->of.name, a, opts, &p->of.scope));
    ND_RETURN_IF(nd__choose_dtypes(&p->of, a->dtype, p->o.dtype));
    return nd__operand_cast(&p->of, 0, p->of.compute);
}

static nd_status start_unfold(const nd_array *x, const nd_unfold_opts *opts, unfolding *p)
{
    int64_t k, l, shape[3];
    ND_RETURN_IF(start_unfolding(ND_OP_unfold, x, opts, 1, p));
    ND_RETURN_IF(nd__window_rank(p->of.name, x, p->rank, 0));
    ND_RETURN_IF(count_windows(p, x->shape + x->ndim - p->rank, &k, &l));
    const int lead = x->ndim - p->rank - 1;
    shape[0] = x->shape[0];
    shape[lead] = (double)x->shape[lead] * (double)k < 0x1p60 ? x->shape[lead] * k : INT64_MAX;
    shape[lead + 1] = l;
    nd__result_shape(&p->of, lead + 2, shape);
    return nd__check_shape(p->of.name, p->of.result, lead + 2, shape, &(int64_t){0});
}

static nd_status start_fold(const nd_array *a, const int64_t *extents, const nd_unfold_opts *opts,
                            int32_t place, unfolding *p)
{
    int64_t k, l, shape[ND_WINDOW_AXES + 2], image[ND_WINDOW_AXES];
    ND_RETURN_IF(start_unfolding(ND_OP_fold, a, opts, place, p));
    ND_RETURN_IF(nd__window_list(p->of.name, "extents", p->rank, extents, 1, 0, image));
    ND_RETURN_IF(count_windows(p, image + ND_WINDOW_AXES - p->rank, &k, &l));
    const int lead = a->ndim - 2;
    if ((lead != 0 && lead != 1) || a->shape[lead] % k || a->shape[lead + 1] != l) {
        char text[ND_SHAPE_TEXT];
        nd__shape_text(a->ndim, a->shape, text, sizeof text);
        return nd__fail(ND_ERR_SHAPE, p->of.name, 0,
                        "the windows have shape %s; %lld windows of %lld elements are (n, "
                        "c*%lld, %lld) or (c*%lld, %lld)",
                        text, (long long)l, (long long)k, (long long)k, (long long)l, (long long)k,
                        (long long)l);
    }
    shape[0] = a->shape[0];
    shape[lead] = a->shape[lead] / k;
    memcpy(shape + lead + 1, image + ND_WINDOW_AXES - p->rank, (size_t)p->rank * sizeof *shape);
    nd__result_shape(&p->of, lead + 1 + p->rank, shape);
    return nd__check_shape(p->of.name, p->of.result, p->of.ndim, shape, &(int64_t){0});
}

nd_status nd_unfold(const nd_array *x, const nd_unfold_opts *opts, nd_array **out)
{
    unfolding p;
    ND_OUT("unfold", 2, out, NULL);
    return nd__into_new(&p.of, start_unfold(x, opts, &p), out);
}

nd_status nd_unfold_into(const nd_array *x, const nd_unfold_opts *opts, const nd_array *dst)
{
    unfolding p;
    return nd__into(&p.of, start_unfold(x, opts, &p), dst, 2);
}

nd_status nd_fold(const nd_array *a, const int64_t *extents, const nd_unfold_opts *opts,
                  nd_array **out)
{
    unfolding p;
    ND_OUT("fold", 3, out, NULL);
    ND_NEED("fold", 1, extents);
    return nd__into_new(&p.of, start_fold(a, extents, opts, 2, &p), out);
}

nd_status nd_fold_into(const nd_array *a, const nd_unfold_opts *opts, const nd_array *dst)
{
    unfolding p;
    nd_unfold_opts o;
    ND_RETURN_IF(nd__check_array("fold", dst, 2));
    ND_RETURN_IF(nd__read_options("fold", opts, &o, sizeof o, NDP_END(nd_unfold_opts, rank)));
    const int rank = o.rank;
    if (rank < 1 || rank > dst->ndim)
        return nd__fail(ND_ERR_ARGUMENT, "fold", 1,
                        "rank is %d and the destination's %d; set it to the number of spatial "
                        "axes, 1 to 3",
                        rank, dst->ndim);
    return nd__into(&p.of, start_fold(a, dst->shape + dst->ndim - rank, opts, 1, &p), dst, 2);
}
