/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Copies: into other dtypes, other shapes, other devices, and into views. */
#include "core/ops/ops.h"
#include "core/run/dispatch.h"

nd_status nd__copy_into(const nd_array *src, const nd_array *dst)
{
    int64_t stride[ND_MAX_NDIM];
    ndp_view from = nd__view(src), to = nd__view(dst);
    nd__broadcast_strides(dst->ndim, dst->shape, src->ndim, src->shape, src->stride, stride);
    from.shape = dst->shape;
    from.stride = stride;
    from.ndim = dst->ndim;
    return dst->size ? nd__copy_views(dst->storage->device, &from, &to) : ND_OK;
}

nd_status nd__cast(const nd_array *a, nd_dtype dtype, nd_array **out)
{
    if (a->dtype == dtype) {
        *out = nd_retain((nd_array *)a);
        return ND_OK;
    }
    nd_array *r = NULL;
    *out = NULL;
    ND_RETURN_IF(nd__array_alloc("astype", a->storage->device, dtype, a->ndim, a->shape, &r));
    nd_status status = nd__copy_into(a, r);
    return nd__hand_over(status, r, out);
}

nd_status nd_astype(const nd_array *a, nd_dtype dtype, nd_array **out)
{
    nd_array *r = NULL;
    ND_OUT("astype", 2, out, NULL);
    ND_RETURN_IF(nd__check_array("astype", a, 0));
    ND_RETURN_IF(nd__check_dtype("astype", dtype));
    if (nd__kind(a->dtype) == ND_KIND_COMPLEX && nd__kind(dtype) != ND_KIND_COMPLEX &&
        dtype != ND_BOOL)
        return nd__fail(ND_ERR_DTYPE, "astype", 1,
                        "%s to %s would drop the imaginary part; take nd_real first",
                        nd_dtype_name(a->dtype), nd_dtype_name(dtype));
    if (a->dtype == ND_BOOL && dtype == ND_BOOL) /* bytes become 0 and 1, which a copy leaves */
        return nd_not_equal_scalar(a, nd_bool(0), out);
    ND_RETURN_IF(nd__array_alloc("astype", a->storage->device, dtype, a->ndim, a->shape, &r));
    nd_status status = nd__copy_into(a, r);
    return nd__hand_over(status, r, out);
}

nd_status nd_copy(const nd_array *a, nd_device *device, nd_array **out)
{
    nd_array *r = NULL;
    ND_OUT("copy", 2, out, NULL);
    ND_RETURN_IF(nd__check_array("copy", a, 0));
    device = device ? device : a->storage->device;
    ND_RETURN_IF(nd__array_alloc("copy", device, a->dtype, a->ndim, a->shape, &r));
    nd_status status =
        device == a->storage->device ? nd__copy_into(a, r) : nd__transfer("copy", a, r, false);
    return nd__hand_over(status, r, out);
}

nd_status nd_to_device(const nd_array *a, nd_device *device, nd_array **out)
{
    nd_status status;
    ND_OUT("to_device", 2, out, NULL);
    ND_RETURN_IF(nd__check_array("to_device", a, 0));
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    if (device != a->storage->device)
        return nd__error_as("to_device", nd_copy(a, device, out));
    *out = nd_retain((nd_array *)a);
    return ND_OK;
}

nd_status nd_compact(const nd_array *a, nd_array **out)
{
    ND_OUT("compact", 1, out, NULL);
    ND_RETURN_IF(nd__check_array("compact", a, 0));
    if (!(a->flags & ND_FLAG_CONTIGUOUS))
        return nd__error_as("compact", nd_copy(a, NULL, out));
    *out = nd_retain((nd_array *)a);
    return ND_OK;
}

nd_status nd_reshape_copy(const nd_array *a, int ndim, const int64_t *shape, nd_array **out)
{
    int64_t full[ND_MAX_NDIM];
    nd_array *dense = NULL;
    bool fits;
    ND_OUT("reshape_copy", 3, out, NULL);
    ND_RETURN_IF(nd__check_array("reshape_copy", a, 0));
    ND_NEED_LIST("reshape_copy", 2, ndim, shape);
    ND_RETURN_IF(nd__error_as("reshape_copy", nd__reshape_fits(a, ndim, shape, full, &fits)));
    if (fits)
        return nd_reshape(a, ndim, full, out);
    ND_RETURN_IF(nd__error_as("reshape_copy", nd_copy(a, NULL, &dense)));
    nd_status status = nd_reshape(dense, ndim, full, out);
    nd_release(dense);
    return status;
}

nd_status nd__check_assignable(const char *op, const nd_array *src, const nd_array *dst)
{
    char have[ND_SHAPE_TEXT], want[ND_SHAPE_TEXT];
    for (int d = 1; d <= src->ndim; d++) {
        int64_t extent = src->shape[src->ndim - d];
        if (d > dst->ndim ? extent != 1 : extent != 1 && extent != dst->shape[dst->ndim - d])
            return nd__fail(ND_ERR_SHAPE, op, 0,
                            "shape %s does not broadcast to the destination's %s",
                            nd__shape_text(src->ndim, src->shape, have, sizeof have),
                            nd__shape_text(dst->ndim, dst->shape, want, sizeof want));
    }
    if (nd__kind(src->dtype) == ND_KIND_COMPLEX && nd__kind(dst->dtype) != ND_KIND_COMPLEX)
        return nd__fail(ND_ERR_DTYPE, op, 0,
                        "%s into %s would drop the imaginary part; take nd_real first",
                        nd_dtype_name(src->dtype), nd_dtype_name(dst->dtype));
    return ND_OK;
}

nd_status nd_assign(const nd_array *src, const nd_array *dst)
{
    nd_array *moved = NULL;
    nd_status status;
    ND_RETURN_IF(nd__check_array("assign", src, 0));
    ND_RETURN_IF(nd__check_writable("assign", dst, 1));
    ND_RETURN_IF(nd__check_assignable("assign", src, dst));
    if (nd__same_view(src, dst))
        return ND_OK;
    if (src->storage->device != dst->storage->device && src->dtype == dst->dtype &&
        nd__same_shape(src->ndim, src->shape, dst->ndim, dst->shape))
        return nd__transfer("assign", src, dst, false);
    if (src->storage->device != dst->storage->device || nd__may_overlap(src, dst))
        ND_RETURN_IF(nd_copy(src, dst->storage->device, &moved));
    src = moved ? moved : src;
    int drop = src->ndim > dst->ndim ? src->ndim - dst->ndim : 0; /* leading extents of one */
    if (drop) {
        nd_array *lower = NULL;
        ND_GOTO_IF(done, nd__array_new(src->storage, src->dtype, dst->ndim, src->shape + drop,
                                       src->stride + drop, src->offset, true, &lower));
        status = nd__copy_into(lower, dst);
        nd_release(lower);
    } else {
        status = nd__copy_into(src, dst);
    }
done:
    nd_release(moved);
    return status;
}

nd_status nd_fill(const nd_array *dst, nd_scalar value)
{
    nd_arg arg = {NULL, value};
    ndp_scalar converted;
    ND_RETURN_IF(nd__check_writable("fill", dst, 0));
    if (dst->flags & ND_FLAG_CONTIGUOUS && dst->size) {
        ND_RETURN_IF(nd__scalar_to("fill", value, dst->dtype, 0, &converted));
        return nd__run_dense_fill(&converted, dst);
    }
    return nd__run_elementwise(ND_OP_fill, dst->dtype, &arg, 1, dst);
}
