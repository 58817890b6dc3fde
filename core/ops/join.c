/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays put together and taken apart: concat, stack, unstack. */
#include "core/ops/ops.h"

nd_status nd__part(const nd_array *dst, int axis, int64_t at, int64_t extent, nd_array **view)
{
    int64_t shape[ND_MAX_NDIM];
    memcpy(shape, dst->shape, (size_t)dst->ndim * sizeof *shape);
    shape[axis] = extent;
    int64_t offset = dst->offset + (dst->size && extent ? at * dst->stride[axis] : 0);
    return nd__array_new(dst->storage, dst->dtype, dst->ndim, shape, dst->stride, offset,
                         dst->flags & ND_FLAG_READONLY, view);
}

nd_status nd__copy_part(const nd_array *src, const nd_array *dst, int axis, int64_t at)
{
    nd_array *view = NULL;
    ND_RETURN_IF(nd__part(dst, axis, at, src->shape[axis], &view));
    nd_status status = nd__copy_into(src, view);
    nd_release(view);
    return status;
}

static nd_status check_list(const char *op, int n, const nd_array *const *arrays)
{
    if (n < 1 || !arrays)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "%d arrays given; at least one is needed", n);
    for (int i = 0; i < n; i++) {
        ND_RETURN_IF(nd__check_array(op, arrays[i], i));
        ND_RETURN_IF(nd__check_same_device(op, arrays[0], arrays[i], 0, i));
    }
    return ND_OK;
}

static nd_status common_dtype(const char *op, int n, const nd_array *const *arrays, nd_dtype *dtype)
{
    *dtype = arrays[0]->dtype;
    for (int i = 1; i < n; i++)
        ND_RETURN_IF(nd__promote(op, *dtype, arrays[i]->dtype, dtype));
    return ND_OK;
}

static nd_status concat_shape(int n, const nd_array *const *arrays, int axis, int64_t *shape)
{
    char first[ND_SHAPE_TEXT], other[ND_SHAPE_TEXT];
    const nd_array *a = arrays[0];
    memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
    for (int i = 1; i < n; i++) {
        const nd_array *b = arrays[i];
        bool fits = b->ndim == a->ndim;
        for (int d = 0; fits && d < a->ndim; d++)
            fits = d == axis || a->shape[d] == b->shape[d];
        if (!fits)
            return nd__fail(ND_ERR_SHAPE, "concat", i,
                            "shapes %s and %s differ elsewhere than along axis %d",
                            nd__shape_text(a->ndim, a->shape, first, sizeof first),
                            nd__shape_text(b->ndim, b->shape, other, sizeof other), axis);
        if (!nd__add_size(shape[axis], b->shape[axis], &shape[axis]))
            return nd__fail(ND_ERR_OVERFLOW, "concat", i,
                            "the extents along axis %d add up to more than 2^63", axis);
    }
    return ND_OK;
}

nd_status nd_concat(int n, const nd_array *const *arrays, int axis, nd_array **out)
{
    int64_t shape[ND_MAX_NDIM], at = 0;
    nd_array *r = NULL;
    nd_dtype dtype;
    nd_status status;
    int where;
    ND_OUT("concat", 3, out, NULL);
    ND_NEED_LIST("concat", 1, n, arrays);
    ND_RETURN_IF(check_list("concat", n, arrays));
    ND_RETURN_IF(nd__axis("concat", axis, arrays[0]->ndim, &where));
    ND_RETURN_IF(concat_shape(n, arrays, where, shape));
    ND_RETURN_IF(common_dtype("concat", n, arrays, &dtype));
    ND_RETURN_IF(
        nd__array_alloc("concat", arrays[0]->storage->device, dtype, arrays[0]->ndim, shape, &r));
    for (int i = 0; i < n; i++) {
        ND_GOTO_IF(done, nd__copy_part(arrays[i], r, where, at));
        at += arrays[i]->shape[where];
    }
    *out = r;
    r = NULL;
    status = ND_OK;
done:
    nd_release(r);
    return status;
}

nd_status nd_concat_flat(int n, const nd_array *const *arrays, nd_array **out)
{
    int64_t total = 0;
    nd_array *r = NULL;
    nd_dtype dtype;
    nd_status status = ND_OK;
    ND_OUT("concat_flat", 2, out, NULL);
    ND_NEED_LIST("concat_flat", 1, n, arrays);
    ND_RETURN_IF(check_list("concat_flat", n, arrays));
    ND_RETURN_IF(common_dtype("concat_flat", n, arrays, &dtype));
    for (int i = 0; i < n; i++)
        if (!nd__add_size(total, arrays[i]->size, &total))
            return nd__fail(ND_ERR_OVERFLOW, "concat_flat", i,
                            "the sizes add up to more than 2^63");
    ND_RETURN_IF(nd__array_alloc("concat_flat", arrays[0]->storage->device, dtype, 1, &total, &r));
    for (int64_t i = 0, at = 0; i < n && status == ND_OK; at += arrays[i]->size, i++) {
        nd_array *flat = NULL;
        status = nd__part(r, 0, at, arrays[i]->size, &flat);
        nd_array *shaped = NULL;
        if (status == ND_OK)
            status = nd_reshape(flat, arrays[i]->ndim, arrays[i]->shape, &shaped);
        if (status == ND_OK)
            status = nd__copy_into(arrays[i], shaped);
        nd_release(flat);
        nd_release(shaped);
    }
    return nd__hand_over(status, r, out);
}

nd_status nd_stack(int n, const nd_array *const *arrays, int axis, nd_array **out)
{
    int64_t shape[ND_MAX_NDIM];
    nd_array *r = NULL;
    nd_dtype dtype;
    nd_status status = ND_OK;
    int where;
    ND_OUT("stack", 3, out, NULL);
    ND_NEED_LIST("stack", 1, n, arrays);
    ND_RETURN_IF(check_list("stack", n, arrays));
    const nd_array *a = arrays[0];
    if (a->ndim == ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, "stack", 0,
                        "the result would have rank %d; the highest is %d", ND_MAX_NDIM + 1,
                        ND_MAX_NDIM);
    ND_RETURN_IF(nd__axis("stack", axis, a->ndim + 1, &where));
    for (int i = 1; i < n; i++)
        ND_RETURN_IF(nd__check_shape_is("stack", arrays[i], a->ndim, a->shape, i));
    ND_RETURN_IF(common_dtype("stack", n, arrays, &dtype));
    for (int d = 0; d <= a->ndim; d++)
        shape[d] = d == where ? n : a->shape[d - (d > where)];
    ND_RETURN_IF(nd__array_alloc("stack", a->storage->device, dtype, a->ndim + 1, shape, &r));
    const int32_t axes[1] = {where};
    for (int i = 0; i < n && status == ND_OK; i++) {
        nd_array *wide = NULL;
        status = nd_expand_dims(arrays[i], 1, axes, &wide);
        if (status == ND_OK)
            status = nd__copy_part(wide, r, where, i);
        nd_release(wide);
    }
    return nd__hand_over(status, r, out);
}

nd_status nd_unstack(const nd_array *a, int axis, nd_array **out)
{
    ND_NEED("unstack", 2, out);
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM];
    int where, n = 0;
    ND_RETURN_IF(nd__check_array("unstack", a, 0));
    ND_RETURN_IF(nd__axis("unstack", axis, a->ndim, &where));
    for (int d = 0; d < a->ndim; d++)
        if (d != where) {
            shape[n] = a->shape[d];
            stride[n++] = a->stride[d];
        }
    for (int64_t i = 0; i < a->shape[where]; i++) {
        int64_t offset = a->offset + (a->size ? i * a->stride[where] : 0);
        nd_status status = nd__array_new(a->storage, a->dtype, n, shape, stride, offset,
                                         a->flags & ND_FLAG_READONLY, &out[i]);
        if (status == ND_OK)
            continue;
        while (i-- > 0) {
            nd_release(out[i]);
            out[i] = NULL;
        }
        return status;
    }
    return ND_OK;
}
