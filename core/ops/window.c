/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the operations on windows of images share. */
#include "core/ops/window.h"

nd_status nd__window_list(const char *op, const char *name, int rank, const int64_t *given,
                          int64_t value, int64_t least, int64_t out[ND_WINDOW_AXES])
{
    for (int d = 0; d < ND_WINDOW_AXES; d++) {
        const int i = d - (ND_WINDOW_AXES - rank);
        out[d] = i >= 0 && given ? given[i] : value;
        if (i >= 0 && (out[d] < least || out[d] > ND_WINDOW_LIMIT))
            return nd__fail(ND_ERR_ARGUMENT, op, -1,
                            "%s is %lld along spatial axis %d; it must be %lld to %lld", name,
                            (long long)out[d], i, (long long)least, (long long)ND_WINDOW_LIMIT);
    }
    return ND_OK;
}

nd_status nd__window_rank(const char *op, const nd_array *x, int rank, int32_t argument)
{
    const int spatial = rank ? x->ndim - 1 - (x->ndim == rank + 2) : x->ndim - 2;
    char text[ND_SHAPE_TEXT];
    if (spatial >= 1 && spatial <= ND_WINDOW_AXES && (!rank || spatial == rank))
        return ND_OK;
    nd__shape_text(x->ndim, x->shape, text, sizeof text);
    if (rank)
        return nd__fail(ND_ERR_SHAPE, op, argument,
                        "the shape is %s; with %d spatial axes it must be (n, c, s...) or (c, "
                        "s...), of rank %d or %d",
                        text, rank, rank + 2, rank + 1);
    return nd__fail(ND_ERR_SHAPE, op, argument,
                    "the shape is %s; it must have two axes and then one to three spatial ones",
                    text);
}

nd_status nd__window_extent(const char *op, int axis, int64_t s, int64_t kernel, int64_t stride,
                            int64_t padding, int64_t dilation, int64_t *out)
{
    if ((double)s > 0x1p60 || (double)kernel * (double)dilation > 0x1p60)
        return nd__fail(ND_ERR_SHAPE, op, -1,
                        "windows of extent %lld, %lld apart, over %lld elements", (long long)kernel,
                        (long long)dilation, (long long)s);
    const int64_t reach = dilation * (kernel - 1) + 1, padded = s + 2 * padding;
    if (kernel < 1)
        return nd__fail(ND_ERR_SHAPE, op, -1,
                        "the window's extent along spatial axis %d is %lld; it must be at least 1",
                        axis, (long long)kernel);
    if (reach > padded)
        return nd__fail(ND_ERR_SHAPE, op, -1,
                        "along spatial axis %d the window covers %lld elements (kernel %lld, "
                        "dilation %lld), the image has %lld with its padding (%lld without); a "
                        "padding of %lld would be enough",
                        axis, (long long)reach, (long long)kernel, (long long)dilation,
                        (long long)padded, (long long)s, (long long)((reach - s + 1) / 2));
    *out = (padded - reach) / stride + 1;
    return ND_OK;
}

void nd__window_view(const nd_array *a, int lead, int full, int64_t *shape, int64_t *stride,
                     ndp_view *v)
{
    const int spatial = a->ndim - lead, ndim = full + ND_WINDOW_AXES;
    *v = nd__view(a);
    for (int d = 0; d < ndim; d++) {
        const int from = d < full ? d - (full - lead) : d - ndim + a->ndim;
        const bool own = from >= 0 && (d < full ? from < lead : d >= ndim - spatial);
        shape[d] = own ? a->shape[from] : 1;
        stride[d] = own ? a->stride[from] : 0;
    }
    v->ndim = ndim;
    v->shape = shape;
    v->stride = stride;
    v->flags = nd__is_c_order(ndim, shape, stride) ? NDP_VIEW_CONTIGUOUS : 0;
}

nd_status nd__window_zero(const nd_array *dst)
{
    return nd_fill(dst, nd_float(0));
}

bool nd__window_has_last(const nd_array *x, int channels)
{
    int64_t step = x->shape[channels];
    bool fits = step > 1 && x->stride[channels] == 1, other = false;
    for (int d = x->ndim - 1; d >= 0; d--) {
        if (d == channels || x->shape[d] == 1)
            continue;
        fits = fits && x->stride[d] == step;
        other = other || d > channels;
        step *= x->shape[d];
    }
    return fits && other;
}
