/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The array: life, attributes, and the checks every operation makes on its operands. */
#include <stdlib.h>
#include "core/array/array.h"

nd_array *nd_retain(nd_array *a)
{
    if (!a)
        return NULL;
    if (nd__handles_mode && nd__is_dead(a->storage))
        (void)nd__handle_used("retain", a->storage);
    else
        atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
    return a;
}

void nd_release(nd_array *a)
{
    if (!a || !nd__last(&a->refs))
        return;
    nd__storage_release(a->storage);
    nd__header_free(a);
}

void nd_release_all(int n, nd_array **arrays)
{
    if (n > 0 && !arrays)
        (void)nd__refuse_null("release_all", 1, "arrays");
    for (int i = 0; arrays && i < n; i++) {
        nd_release(arrays[i]);
        arrays[i] = NULL;
    }
}

int32_t nd_release_waits(const nd_array *a)
{
    return a && atomic_load_explicit(&a->refs, memory_order_relaxed) == 1 &&
           nd__storage_waits(a->storage);
}

int nd_ndim(const nd_array *a)
{
    ND_READ("ndim", 0, a, 0);
    return a->ndim;
}
const int64_t *nd_shape(const nd_array *a)
{
    ND_READ("shape", 0, a, NULL);
    return a->shape;
}
const int64_t *nd_strides(const nd_array *a)
{
    ND_READ("strides", 0, a, NULL);
    return a->stride;
}
int64_t nd_offset(const nd_array *a)
{
    ND_READ("offset", 0, a, 0);
    return a->offset;
}
int64_t nd_size(const nd_array *a)
{
    ND_READ("size", 0, a, 0);
    return a->size;
}
nd_dtype nd_dtype_of(const nd_array *a)
{
    ND_READ("dtype_of", 0, a, ND_DTYPE_BY_RULE);
    return a->dtype;
}
nd_device *nd_device_of(const nd_array *a)
{
    ND_READ("device_of", 0, a, NULL);
    return a->storage->device;
}
int nd_is_contiguous(const nd_array *a)
{
    ND_READ("is_contiguous", 0, a, 0);
    return (a->flags & ND_FLAG_CONTIGUOUS) != 0;
}
int nd_is_readonly(const nd_array *a)
{
    ND_READ("is_readonly", 0, a, 0);
    return (a->flags & ND_FLAG_READONLY) != 0;
}
int nd_shares_storage(const nd_array *a, const nd_array *b)
{
    ND_READ("shares_storage", 0, a, 0);
    ND_READ("shares_storage", 1, b, 0);
    return a->storage == b->storage;
}

nd_status nd__array_take(nd_storage *s, nd_dtype dtype, int ndim, const int64_t *shape,
                         const int64_t *stride, int64_t offset, bool readonly, nd_array **out)
{
    nd_array *a = nd__header_alloc(ndim);
    *out = a;
    if (!a) {
        nd__storage_release(s);
        return nd__fail(ND_ERR_MEMORY, "array", -1, "no memory for an array header of rank %d",
                        ndim);
    }
    atomic_init(&a->refs, 1);
    a->dtype = dtype;
    a->offset = offset;
    int64_t size = 1;
    for (int d = 0; d < ndim; d++) {
        a->shape[d] = shape[d];
        size *= shape[d];
    }
    a->size = size;
    if (stride)
        memcpy(a->stride, stride, (size_t)ndim * sizeof *stride);
    else
        nd__c_strides(ndim, shape, a->stride);
    a->flags = (readonly ? ND_FLAG_READONLY : 0) |
               (!stride || nd__is_c_order(ndim, a->shape, a->stride) ? ND_FLAG_CONTIGUOUS : 0);
    a->storage = s;
    return ND_OK;
}

nd_status nd__array_new(nd_storage *s, nd_dtype dtype, int ndim, const int64_t *shape,
                        const int64_t *stride, int64_t offset, bool readonly, nd_array **out)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return nd__array_take(s, dtype, ndim, shape, stride, offset, readonly, out);
}

nd_status nd__array_alloc(const char *op, nd_device *device, nd_dtype dtype, int ndim,
                          const int64_t *shape, nd_array **out)
{
    nd_storage *s = NULL;
    int64_t size;
    *out = NULL;
    ND_RETURN_IF(nd__check_dtype(op, dtype));
    ND_RETURN_IF(nd__check_shape(op, dtype, ndim, shape, &size));
    if (!(device->info.dtypes >> dtype & 1))
        return nd__fail(ND_ERR_DTYPE, op, -1, "arrays of %s cannot live on %s",
                        nd_dtype_name(dtype), device->name);
    ND_RETURN_IF(nd__storage_alloc(device, (uint64_t)(size * nd__itemsize(dtype)), &s));
    return nd__array_take(s, dtype, ndim, shape, NULL, 0, false, out);
}

nd_status nd__array_like(const nd_array *a, nd_dtype dtype, nd_array **out)
{
    nd_storage *s;
    nd_array *r;
    *out = NULL;
    ND_RETURN_IF(
        nd__storage_alloc(a->storage->device, (uint64_t)(a->size * nd__itemsize(dtype)), &s));
    r = nd__header_alloc(a->ndim);
    if (!r) {
        nd__storage_release(s);
        return nd__fail(ND_ERR_MEMORY, "array", -1, "no memory for an array header of rank %d",
                        a->ndim);
    }
    atomic_init(&r->refs, 1);
    r->dtype = dtype;
    r->flags = ND_FLAG_CONTIGUOUS;
    r->storage = s; /* the reference made above */
    r->offset = 0;
    r->size = a->size;
    for (int d = 0; d < a->ndim; d++)
        r->shape[d] = a->shape[d];
    nd__c_strides(a->ndim, r->shape, r->stride);
    *out = r;
    return ND_OK;
}

nd_status nd__check_array(const char *op, const nd_array *a, int32_t i)
{
    if (!a)
        return nd__refuse_null(op, i, "an array");
    ND_RETURN_IF(nd__refuse_inside(op));
    return nd__settle(op, a->storage);
}

nd_status nd__check_writable(const char *op, const nd_array *dst, int32_t i)
{
    ND_RETURN_IF(nd__check_array(op, dst, i));
    if (dst->flags & ND_FLAG_READONLY)
        return nd__fail(ND_ERR_READONLY, op, i,
                        "the destination is read-only; write to a copy (nd_copy)");
    if (nd__overlaps_itself(dst))
        return nd__fail(ND_ERR_OVERLAP, op, i,
                        "the destination overlaps itself: several of its elements share memory");
    return ND_OK;
}

nd_status nd__check_same_device(const char *op, const nd_array *a, const nd_array *b, int32_t i,
                                int32_t j)
{
    const nd_device *da = a->storage->device, *db = b->storage->device;
    if (da == db)
        return ND_OK;
    return nd__fail(ND_ERR_DEVICE, op, j,
                    "argument %d is on %s, argument %d on %s; move one with nd_to_device", i,
                    da->name, j, db->name);
}

nd_status nd__check_shape_is(const char *op, const nd_array *a, int ndim, const int64_t *shape,
                             int32_t i)
{
    char have[ND_SHAPE_TEXT], want[ND_SHAPE_TEXT];
    if (nd__same_shape(a->ndim, a->shape, ndim, shape))
        return ND_OK;
    return nd__fail(ND_ERR_SHAPE, op, i, "argument %d has shape %s where %s is needed", i,
                    nd__shape_text(a->ndim, a->shape, have, sizeof have),
                    nd__shape_text(ndim, shape, want, sizeof want));
}

nd_status nd__check_dst_shape(const char *op, const nd_array *dst, int ndim, const int64_t *shape,
                              int32_t i)
{
    char have[ND_SHAPE_TEXT], want[ND_SHAPE_TEXT];
    if (nd__same_shape(dst->ndim, dst->shape, ndim, shape))
        return ND_OK;
    return nd__fail(ND_ERR_SHAPE, op, i,
                    "the destination, argument %d, has shape %s, the result %s", i,
                    nd__shape_text(dst->ndim, dst->shape, have, sizeof have),
                    nd__shape_text(ndim, shape, want, sizeof want));
}

nd_status nd__hand_over(nd_status status, nd_array *result, nd_array **out)
{
    if (status == ND_OK)
        *out = result;
    else
        nd_release(result);
    return status;
}

nd_status nd__scope_of(const char *op, const nd_array *a, const void *opts, nd_scope *scope)
{
    const nd_apply_opts *o = opts;
    nd_stream *stream = o && o->size >= NDP_END(nd_apply_opts, stream) ? o->stream : NULL;
    *scope = (nd_scope){NULL, NULL};
    return a && stream ? nd__scope_enter(op, a->storage->device, stream, scope) : (nd_status)ND_OK;
}
