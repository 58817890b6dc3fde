/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arithmetic of shapes and strides: overflow-checked, no allocation. */
#include "core/model/model.h"

bool nd__mul_size(int64_t a, int64_t b, int64_t *out)
{
    return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, out);
}

bool nd__add_size(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

nd_status nd__check_shape(const char *op, nd_dtype dtype, int ndim, const int64_t *shape,
                          int64_t *size)
{
    int64_t n = 1, nonzero = 1, nbytes = 0;
    bool empty = false, fits = true;
    char text[ND_SHAPE_TEXT];
    if (ndim < 0 || ndim > ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, op, -1, "rank %d is not between 0 and %d", ndim, ND_MAX_NDIM);
    if (ndim > 0 && !shape)
        return nd__fail(ND_ERR_ARGUMENT, op, -1, "shape is NULL with rank %d", ndim);
    for (int d = 0; d < ndim; d++) {
        if (shape[d] < 0)
            return nd__fail(ND_ERR_SHAPE, op, -1, "extent %lld of axis %d is negative",
                            (long long)shape[d], d);
        empty |= shape[d] == 0;
        /* The product without zero extents must fit too, so that strides do. */
        fits = fits && nd__mul_size(nonzero, shape[d] ? shape[d] : 1, &nonzero);
    }
    n = empty ? 0 : nonzero;
    if (!fits || !nd__mul_size(nonzero, nd__itemsize(dtype), &nbytes))
        return nd__fail(ND_ERR_OVERFLOW, op, -1, "shape %s of %s has more than 2^63 bytes",
                        nd__shape_text(ndim, shape, text, sizeof text), nd_dtype_name(dtype));
    *size = n;
    return ND_OK;
}

void nd__c_strides(int ndim, const int64_t *shape, int64_t *stride)
{
    int64_t step = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        stride[d] = step;
        step *= shape[d] ? shape[d] : 1;
    }
}

bool nd__is_c_order(int ndim, const int64_t *shape, const int64_t *stride)
{
    int64_t step = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        if (shape[d] == 0)
            return true;
        if (shape[d] != 1 && stride[d] != step)
            return false;
        step *= shape[d];
    }
    return true;
}

bool nd__same_shape(int ndim_a, const int64_t *a, int ndim_b, const int64_t *b)
{
    if (ndim_a != ndim_b)
        return false;
    for (int d = 0; d < ndim_a; d++)
        if (a[d] != b[d])
            return false;
    return true;
}

bool nd__extent(int ndim, const int64_t *shape, const int64_t *stride, int64_t *low, int64_t *high)
{
    *low = *high = 0;
    for (int d = 0; d < ndim; d++)
        if (shape[d] == 0)
            return true;
    for (int d = 0; d < ndim; d++) {
        int64_t reach;
        if (__builtin_mul_overflow(shape[d] - 1, stride[d], &reach))
            return false;
        if (__builtin_add_overflow(reach < 0 ? *low : *high, reach, reach < 0 ? low : high))
            return false;
    }
    return !__builtin_add_overflow(*high, 1, high);
}

nd_status nd__axis(const char *op, int axis, int ndim, int *out)
{
    *out = axis < 0 ? axis + ndim : axis;
    if (*out >= 0 && *out < ndim)
        return ND_OK;
    if (ndim == 0)
        return nd__fail(ND_ERR_INDEX, op, -1, "axis %d of a 0-d array, which has none", axis);
    return nd__fail(ND_ERR_INDEX, op, -1,
                    "axis %d is out of range for rank %d; allowed are %d to %d", axis, ndim, -ndim,
                    ndim - 1);
}

nd_status nd__axes_mask(const char *op, int naxes, const int32_t *axes, int ndim, uint64_t *mask)
{
    *mask = ndim >= 64 ? UINT64_MAX : ((uint64_t)1 << ndim) - 1;
    if (!axes)
        return ND_OK;
    *mask = 0;
    if (naxes < 0 || naxes > ND_MAX_NDIM)
        return nd__fail(ND_ERR_ARGUMENT, op, -1, "%d axes given; allowed are 0 to %d", naxes,
                        ND_MAX_NDIM);
    for (int i = 0; i < naxes; i++) {
        int axis;
        ND_RETURN_IF(nd__axis(op, axes[i], ndim, &axis));
        if (*mask >> axis & 1)
            return nd__fail(ND_ERR_INDEX, op, -1, "axis %d is named twice", axis);
        *mask |= (uint64_t)1 << axis;
    }
    return ND_OK;
}

nd_status nd__axes_option(const char *op, int naxes, const int32_t *axes, int ndim, uint64_t *mask)
{
    if (!axes && naxes != 0 && naxes != ND_NO_AXES)
        return nd__fail(
            ND_ERR_ARGUMENT, op, -1,
            "the options say naxes %d, but axes is NULL; name the axes, or leave naxes 0 "
            "for all",
            naxes);
    if (axes && naxes == 0)
        return nd__fail(ND_ERR_ARGUMENT, op, -1,
                        "the options name axes, but naxes is 0; set it to their number, or to "
                        "ND_NO_AXES for none");
    if (naxes == ND_NO_AXES) {
        *mask = 0;
        return ND_OK;
    }
    return nd__axes_mask(op, naxes, axes, ndim, mask);
}

nd_status nd__broadcast(const char *op, int n, const int *ndims, const int64_t *const *shapes,
                        int *ndim, int64_t *out)
{
    char text_a[ND_SHAPE_TEXT], text_b[ND_SHAPE_TEXT];
    int rank = 0;
    for (int i = 0; i < n; i++)
        rank = ndims[i] > rank ? ndims[i] : rank;
    for (int d = 0; d < rank; d++) {
        int first = -1;
        out[d] = 1;
        for (int i = 0; i < n; i++) {
            int own = d - (rank - ndims[i]);
            int64_t extent = own < 0 ? 1 : shapes[i][own];
            if (extent == 1 || extent == out[d])
                continue;
            if (first >= 0)
                return nd__fail(ND_ERR_SHAPE, op, i,
                                "shapes %s and %s do not broadcast at axis %d (%lld and %lld)",
                                nd__shape_text(ndims[first], shapes[first], text_a, sizeof text_a),
                                nd__shape_text(ndims[i], shapes[i], text_b, sizeof text_b), d,
                                (long long)out[d], (long long)extent);
            out[d] = extent;
            first = i;
        }
    }
    *ndim = rank;
    return ND_OK;
}

void nd__broadcast_strides(int ndim, const int64_t *shape, int own_ndim, const int64_t *own_shape,
                           const int64_t *own_stride, int64_t *stride)
{
    for (int d = 0; d < ndim; d++) {
        int own = d - (ndim - own_ndim);
        stride[d] = own < 0 || (own_shape[own] == 1 && shape[d] != 1) ? 0 : own_stride[own];
    }
}

/* Whether dimension d should lie outside dimension e: by the first operand whose strides differ;
 * stride 0 says nothing. */
static bool belongs_outside(int d, int e, int n, int64_t (*stride)[ND_MAX_NDIM])
{
    for (int i = 0; i < n; i++) {
        uint64_t a = nd__magnitude(stride[i][d]), b = nd__magnitude(stride[i][e]);
        if (a != b && a != 0 && b != 0)
            return a > b;
    }
    return false;
}

static void swap_dims(int d, int e, int64_t *shape, int n, int64_t (*stride)[ND_MAX_NDIM])
{
    int64_t t = shape[d];
    shape[d] = shape[e];
    shape[e] = t;
    for (int i = 0; i < n; i++) {
        t = stride[i][d];
        stride[i][d] = stride[i][e];
        stride[i][e] = t;
    }
}

static bool merges(int d, int e, const int64_t *shape, int n, int64_t (*stride)[ND_MAX_NDIM])
{
    for (int i = 0; i < n; i++)
        if (stride[i][d] != stride[i][e] * shape[e])
            return false;
    return true;
}

int nd__coalesce(int ndim, int64_t *shape, int n, int64_t (*stride)[ND_MAX_NDIM], bool keep_order)
{
    int rank = 0;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] == 0) {
            shape[0] = 0;
            for (int i = 0; i < n; i++)
                stride[i][0] = 0;
            return 1;
        }
        if (shape[d] == 1)
            continue;
        if (rank != d)
            swap_dims(rank, d, shape, n, stride);
        rank++;
    }
    for (int d = 1; !keep_order && d < rank;
         d++) /* insertion sort: ranks are small and mostly in order */
        for (int e = d; e > 0 && belongs_outside(e, e - 1, n, stride); e--)
            swap_dims(e, e - 1, shape, n, stride);
    int last = 0;
    for (int d = 1; d < rank; d++) {
        if (merges(last, d, shape, n, stride)) {
            shape[last] *= shape[d];
            for (int i = 0; i < n; i++)
                stride[i][last] = stride[i][d];
        } else if (++last != d) {
            swap_dims(last, d, shape, n, stride);
        }
    }
    return rank ? last + 1 : 0;
}
