/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Views: metadata arithmetic over shared storage. */
#include "core/array/array.h"

static nd_status make_view(const nd_array *a, int ndim, const int64_t *shape, const int64_t *stride,
                           int64_t offset, nd_array **view)
{
    return nd__array_new(a->storage, a->dtype, ndim, shape, stride, offset,
                         a->flags & ND_FLAG_READONLY, view);
}

/* `place` is the position of view among the arguments. */
static nd_status start(const char *op, const nd_array *a, int place, nd_array **view)
{
    ND_OUT(op, place, view, NULL);
    return nd__check_array(op, a, 0);
}

/* Fills in an extent of -1 and checks that the sizes agree. */
static nd_status complete_shape(const nd_array *a, int ndim, const int64_t *shape, int64_t *out)
{
    int unknown = -1;
    int64_t known = 1, size;
    char have[ND_SHAPE_TEXT], want[ND_SHAPE_TEXT];
    if (ndim < 0 || ndim > ND_MAX_NDIM || (ndim && !shape))
        return nd__fail(ND_ERR_SHAPE, "reshape", 1,
                        "rank %d is not between 0 and %d, or the shape is NULL", ndim, ND_MAX_NDIM);
    for (int d = 0; d < ndim; d++) {
        out[d] = shape[d];
        if (shape[d] == -1 && unknown < 0)
            unknown = d;
        else if (!nd__mul_size(known, shape[d], &known))
            return nd__fail(ND_ERR_SHAPE, "reshape", 2,
                            "shape %s has a negative extent, more than one -1, or overflows",
                            nd__shape_text(ndim, shape, want, sizeof want));
    }
    if (unknown >= 0 && known > 0 && a->size % known == 0)
        out[unknown] = a->size / known;
    else if (unknown >= 0 || known != a->size)
        return nd__fail(ND_ERR_SHAPE, "reshape", 2, "%lld elements of shape %s do not fit shape %s",
                        (long long)a->size, nd__shape_text(a->ndim, a->shape, have, sizeof have),
                        nd__shape_text(ndim, shape, want, sizeof want));
    return nd__check_shape("reshape", a->dtype, ndim, out, &size);
}

/* Strides of the new shape over the old elements, if there are such. Groups of old dimensions that
 * are dense among themselves can be cut anew. */
static bool reshape_strides(const nd_array *a, int ndim, const int64_t *shape, int64_t *stride)
{
    int64_t old_shape[ND_MAX_NDIM], old_stride[1][ND_MAX_NDIM];
    memcpy(old_shape, a->shape, (size_t)a->ndim * sizeof *old_shape);
    memcpy(old_stride[0], a->stride, (size_t)a->ndim * sizeof *old_shape);
    int groups = nd__coalesce(a->ndim, old_shape, 1, old_stride, true), d = 0;
    for (int g = 0; g < groups; g++) {
        int64_t left = old_shape[g];
        for (; d < ndim && (left > 1 || shape[d] == 1); d++) {
            if (left % shape[d])
                return false;
            left /= shape[d];
            stride[d] = old_stride[0][g] * left;
        }
        if (left != 1)
            return false;
    }
    for (; d < ndim; d++)
        stride[d] = 1; /* extents of one */
    return true;
}

nd_status nd_reshape(const nd_array *a, int ndim, const int64_t *shape, nd_array **view)
{
    int64_t full[ND_MAX_NDIM], stride[ND_MAX_NDIM];
    char have[ND_SHAPE_TEXT], want[ND_SHAPE_TEXT];
    ND_RETURN_IF(start("reshape", a, 3, view));
    ND_NEED_LIST("reshape", 2, ndim, shape);
    ND_RETURN_IF(complete_shape(a, ndim, shape, full));
    if (a->size == 0 || (a->flags & ND_FLAG_CONTIGUOUS))
        return make_view(a, ndim, full, NULL, a->offset, view);
    if (!reshape_strides(a, ndim, full, stride))
        return nd__fail(ND_ERR_SHAPE, "reshape", 2,
                        "the strides of shape %s allow no view of shape %s; nd_reshape_copy copies",
                        nd__shape_text(a->ndim, a->shape, have, sizeof have),
                        nd__shape_text(ndim, full, want, sizeof want));
    return make_view(a, ndim, full, stride, a->offset, view);
}

nd_status nd__reshape_fits(const nd_array *a, int ndim, const int64_t *shape, int64_t *full,
                           bool *fits)
{
    int64_t stride[ND_MAX_NDIM];
    ND_RETURN_IF(complete_shape(a, ndim, shape, full));
    *fits =
        a->size == 0 || (a->flags & ND_FLAG_CONTIGUOUS) || reshape_strides(a, ndim, full, stride);
    return ND_OK;
}

static nd_status permuted(const nd_array *a, const int *order, nd_array **view)
{
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM];
    for (int d = 0; d < a->ndim; d++) {
        shape[d] = a->shape[order[d]];
        stride[d] = a->stride[order[d]];
    }
    return make_view(a, a->ndim, shape, stride, a->offset, view);
}

nd_status nd_permute(const nd_array *a, int naxes, const int32_t *axes, nd_array **view)
{
    int order[ND_MAX_NDIM];
    uint64_t mask;
    ND_RETURN_IF(start("permute", a, 3, view));
    ND_NEED_LIST("permute", 2, naxes, axes);
    if (naxes != a->ndim || (naxes && !axes))
        return nd__fail(ND_ERR_ARGUMENT, "permute", 1,
                        "%d axes given for rank %d; each axis must be named once", naxes, a->ndim);
    ND_RETURN_IF(nd__axes_mask("permute", naxes, axes, a->ndim, &mask));
    for (int d = 0; d < naxes; d++)
        order[d] = axes[d] < 0 ? axes[d] + a->ndim : axes[d];
    return permuted(a, order, view);
}

nd_status nd_transpose(const nd_array *a, nd_array **view)
{
    int order[ND_MAX_NDIM];
    ND_RETURN_IF(start("transpose", a, 1, view));
    for (int d = 0; d < a->ndim; d++)
        order[d] = a->ndim - 1 - d;
    return permuted(a, order, view);
}

nd_status nd_matrix_transpose(const nd_array *a, nd_array **view)
{
    int order[ND_MAX_NDIM];
    ND_RETURN_IF(start("matrix_transpose", a, 1, view));
    if (a->ndim < 2)
        return nd__fail(ND_ERR_SHAPE, "matrix_transpose", 0, "rank %d where at least 2 is needed",
                        a->ndim);
    for (int d = 0; d < a->ndim; d++)
        order[d] = d;
    order[a->ndim - 2] = a->ndim - 1;
    order[a->ndim - 1] = a->ndim - 2;
    return permuted(a, order, view);
}

nd_status nd_moveaxis(const nd_array *a, int naxes, const int32_t *source,
                      const int32_t *destination, nd_array **view)
{
    int order[ND_MAX_NDIM], next = 0;
    uint64_t from, to;
    ND_RETURN_IF(start("moveaxis", a, 4, view));
    ND_NEED_LIST("moveaxis", 2, naxes, source);
    ND_NEED_LIST("moveaxis", 3, naxes, destination);
    ND_RETURN_IF(
        nd__axes_mask("moveaxis", naxes, source ? source : (const int32_t[]){0}, a->ndim, &from));
    ND_RETURN_IF(nd__axes_mask("moveaxis", naxes, destination ? destination : (const int32_t[]){0},
                               a->ndim, &to));
    for (int d = 0; d < a->ndim; d++) {
        if (to >> d & 1)
            continue;
        while (from >> next & 1)
            next++;
        order[d] = next++;
    }
    for (int i = 0; i < naxes; i++)
        order[destination[i] < 0 ? destination[i] + a->ndim : destination[i]] =
            source[i] < 0 ? source[i] + a->ndim : source[i];
    return permuted(a, order, view);
}

nd_status nd_broadcast_to(const nd_array *a, int ndim, const int64_t *shape, nd_array **view)
{
    int64_t stride[ND_MAX_NDIM], size;
    char have[ND_SHAPE_TEXT], want[ND_SHAPE_TEXT];
    ND_RETURN_IF(start("broadcast_to", a, 3, view));
    ND_NEED_LIST("broadcast_to", 2, ndim, shape);
    ND_RETURN_IF(nd__check_shape("broadcast_to", a->dtype, ndim, shape, &size));
    for (int d = 0; d < a->ndim; d++) {
        int at = d + ndim - a->ndim;
        if (at < 0 || (a->shape[d] != 1 && a->shape[d] != shape[at]))
            return nd__fail(ND_ERR_SHAPE, "broadcast_to", 2, "shape %s does not broadcast to %s",
                            nd__shape_text(a->ndim, a->shape, have, sizeof have),
                            nd__shape_text(ndim, shape, want, sizeof want));
    }
    nd__broadcast_strides(ndim, shape, a->ndim, a->shape, a->stride, stride);
    bool readonly = (a->flags & ND_FLAG_READONLY) || size > a->size;
    return nd__array_new(a->storage, a->dtype, ndim, shape, stride, a->offset, readonly, view);
}

nd_status nd_expand_dims(const nd_array *a, int naxes, const int32_t *axes, nd_array **view)
{
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM];
    uint64_t mask;
    ND_RETURN_IF(start("expand_dims", a, 3, view));
    ND_NEED_LIST("expand_dims", 2, naxes, axes);
    if (naxes < 0 || a->ndim + naxes > ND_MAX_NDIM || (naxes && !axes))
        return nd__fail(ND_ERR_SHAPE, "expand_dims", 1,
                        "%d new axes on rank %d; the highest rank is %d", naxes, a->ndim,
                        ND_MAX_NDIM);
    ND_RETURN_IF(nd__axes_mask("expand_dims", naxes, axes ? axes : (const int32_t[]){0},
                               a->ndim + naxes, &mask));
    for (int d = 0, own = 0; d < a->ndim + naxes; d++) {
        bool added = mask >> d & 1;
        shape[d] = added ? 1 : a->shape[own];
        stride[d] = added ? 1 : a->stride[own];
        own += !added;
    }
    return make_view(a, a->ndim + naxes, shape, stride, a->offset, view);
}

nd_status nd_squeeze(const nd_array *a, int naxes, const int32_t *axes, nd_array **view)
{
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM];
    uint64_t mask;
    int rank = 0;
    ND_RETURN_IF(start("squeeze", a, 3, view));
    ND_NEED_LIST("squeeze", 2, naxes, axes);
    ND_RETURN_IF(nd__axes_mask("squeeze", naxes, axes, a->ndim, &mask));
    for (int d = 0; d < a->ndim; d++) {
        bool dropped = (mask >> d & 1) && a->shape[d] == 1;
        if (axes && (mask >> d & 1) && !dropped)
            return nd__fail(ND_ERR_SHAPE, "squeeze", 2, "axis %d has extent %lld, not 1", d,
                            (long long)a->shape[d]);
        if (dropped)
            continue;
        shape[rank] = a->shape[d];
        stride[rank++] = a->stride[d];
    }
    return make_view(a, rank, shape, stride, a->offset, view);
}

nd_status nd_flip(const nd_array *a, int naxes, const int32_t *axes, nd_array **view)
{
    int64_t stride[ND_MAX_NDIM], offset;
    uint64_t mask;
    ND_RETURN_IF(start("flip", a, 3, view));
    ND_NEED_LIST("flip", 2, naxes, axes);
    ND_RETURN_IF(nd__axes_mask("flip", naxes, axes, a->ndim, &mask));
    offset = a->offset;
    for (int d = 0; d < a->ndim; d++) {
        bool flipped = (mask >> d & 1) && a->shape[d] > 1; /* else any stride means the same */
        stride[d] = flipped ? -a->stride[d] : a->stride[d];
        offset += flipped && a->size ? a->stride[d] * (a->shape[d] - 1) : 0;
    }
    return make_view(a, a->ndim, a->shape, stride, offset, view);
}

nd_status nd_diagonal(const nd_array *a, int64_t offset, int axis1, int axis2, nd_array **view)
{
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM];
    int rank = 0, i, j;
    ND_RETURN_IF(start("diagonal", a, 4, view));
    ND_RETURN_IF(nd__axis("diagonal", axis1, a->ndim, &i));
    ND_RETURN_IF(nd__axis("diagonal", axis2, a->ndim, &j));
    if (i == j)
        return nd__fail(ND_ERR_INDEX, "diagonal", 3, "axis1 and axis2 are both %d", i);
    int64_t rows = a->shape[i], cols = a->shape[j],
            down = offset < 0 ? (offset < -rows ? rows : -offset) : 0,
            right = offset > 0 ? (offset > cols ? cols : offset) : 0;
    int64_t length = rows - down < cols - right ? rows - down : cols - right;
    for (int d = 0; d < a->ndim; d++) {
        if (d == i || d == j)
            continue;
        shape[rank] = a->shape[d];
        stride[rank++] = a->stride[d];
    }
    shape[rank] = length;
    stride[rank++] = length > 1 ? a->stride[i] + a->stride[j] : 1;
    int64_t start_at =
        length && a->size ? a->offset + down * a->stride[i] + right * a->stride[j] : a->offset;
    return make_view(a, rank, shape, stride, start_at, view);
}

nd_status nd_as_strided(const nd_array *a, int ndim, const int64_t *shape, const int64_t *stride,
                        int64_t offset, nd_array **view)
{
    int64_t size, low, high, room;
    ND_RETURN_IF(start("as_strided", a, 5, view));
    ND_NEED_LIST("as_strided", 3, ndim, stride);
    ND_NEED_LIST("as_strided", 2, ndim, shape);
    ND_RETURN_IF(nd__check_shape("as_strided", a->dtype, ndim, shape, &size));
    if (ndim && !stride)
        return nd__fail(ND_ERR_ARGUMENT, "as_strided", 3, "strides are NULL");
    room = (int64_t)(a->storage->used / nd_dtype_size(a->dtype));
    if (!nd__extent(ndim, shape, stride, &low, &high) || !nd__add_size(low, offset, &low) ||
        !nd__add_size(high, offset, &high))
        return nd__fail(ND_ERR_OVERFLOW, "as_strided", 3, "the strides reach beyond 2^63 elements");
    if (low < 0 || high > room || offset < 0 || offset > room)
        return nd__fail(ND_ERR_INDEX, "as_strided", 3,
                        "the view reaches from element %lld to before element %lld of a storage "
                        "of %lld",
                        (long long)low, (long long)high, (long long)room);
    return make_view(a, ndim, shape, stride, offset, view);
}

nd_status nd_readonly(const nd_array *a, nd_array **view)
{
    ND_RETURN_IF(start("readonly", a, 1, view));
    return nd__array_new(a->storage, a->dtype, a->ndim, a->shape, a->stride, a->offset, true, view);
}

nd_status nd_broadcast_shapes(int n, const int *ndims, const int64_t *const *shapes, int *ndim,
                              int64_t *out)
{
    int64_t size;
    ND_NEED_LIST("broadcast_shapes", 1, n, ndims);
    ND_NEED_LIST("broadcast_shapes", 2, n, shapes);
    ND_NEED("broadcast_shapes", 3, ndim);
    ND_NEED("broadcast_shapes", 4, out);
    for (int i = 0; i < n; i++)
        ND_RETURN_IF(nd__check_shape("broadcast_shapes", ND_U8, ndims[i], shapes[i], &size));
    return nd__broadcast("broadcast_shapes", n, ndims, shapes, ndim, out);
}
