/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Boolean selection and nonzero: results whose length depends on data. The plain forms read one
 * count, then size the result, or cut it to that size where it is small; the _into forms wait for
 * nothing. */
#include "core/ops/ops.h"
#include "core/run/dispatch.h"

/* a as (n, inner...) and mask as (n): the mask's axes flattened on both. own: copies of a and mask that were
 * made for the selection, or NULL. */
typedef struct {
    const nd_array *a, *mask;
    nd_array *own[2];
} selection;

static void selection_finish(selection *s)
{
    nd_release(s->own[0]);
    nd_release(s->own[1]);
}

static nd_status selection_start(const nd_array *a, const nd_array *mask, selection *s)
{
    int64_t shape[ND_MAX_NDIM];
    *s = (selection){.a = a, .mask = mask};
    ND_RETURN_IF(nd__check_array("select", a, 0));
    ND_RETURN_IF(nd__check_array("select", mask, 1));
    ND_RETURN_IF(nd__check_same_device("select", a, mask, 0, 1));
    if (mask->dtype != ND_BOOL)
        return nd__fail(ND_ERR_DTYPE, "select", 1,
                        "the mask is %s, not bool; compare first, or index with nd_take",
                        nd_dtype_name(mask->dtype));
    if (mask->ndim > a->ndim || !nd__same_shape(mask->ndim, mask->shape, mask->ndim, a->shape)) {
        char have[ND_SHAPE_TEXT], want[ND_SHAPE_TEXT];
        return nd__fail(ND_ERR_SHAPE, "select", 1,
                        "the mask's shape %s is not that of the leading axes of %s",
                        nd__shape_text(mask->ndim, mask->shape, have, sizeof have),
                        nd__shape_text(a->ndim, a->shape, want, sizeof want));
    }
    int inner = a->ndim - mask->ndim;
    if (mask->ndim == 1)
        return ND_OK;
    shape[0] = mask->size;
    memcpy(shape + 1, a->shape + mask->ndim, (size_t)inner * sizeof *shape);
    ND_RETURN_IF(nd_reshape_copy(a, inner + 1, shape, &s->own[0]));
    s->a = s->own[0];
    ND_RETURN_IF(nd_reshape_copy(mask, 1, shape, &s->own[1]));
    s->mask = s->own[1];
    return ND_OK;
}

/* How a call is run: as any other; to count alone; or after it was counted. */
typedef nd_status call_runner(nd_device *dev, ndp_call *call, nd_counted *counted);

static nd_status run_whole(nd_device *dev, ndp_call *call, nd_counted *counted)
{
    (void)counted;
    return nd__run(dev, call);
}

/* The call, whose rows, of a and dst, have as few dimensions as can be. */
static nd_status compress_rows(nd_device *dev, const selection *s, const ndp_view *dst,
                               const ndp_view *count, call_runner *run, nd_counted *counted)
{
    int64_t inner[ND_MAX_NDIM], stride[2][ND_MAX_NDIM], shape[2][ND_MAX_NDIM], full[2][ND_MAX_NDIM];
    int n = s->a->ndim - 1;
    memcpy(inner, s->a->shape + 1, (size_t)n * sizeof *inner);
    memcpy(stride[0], dst->stride + 1, (size_t)n * sizeof *inner);
    memcpy(stride[1], s->a->stride + 1, (size_t)n * sizeof *inner);
    n = nd__coalesce(n, inner, 2, stride, false);
    ndp_view v[2] = {*dst, nd__view(s->a)};
    for (int i = 0; i < 2; i++) {
        shape[i][0] = v[i].shape[0];
        full[i][0] = v[i].stride[0];
        memcpy(shape[i] + 1, inner, (size_t)n * sizeof *inner);
        memcpy(full[i] + 1, stride[i], (size_t)n * sizeof *inner);
        v[i].shape = shape[i];
        v[i].stride = full[i];
        v[i].ndim = n + 1;
        v[i].flags = nd__is_c_order(n + 1, shape[i], full[i]) ? NDP_VIEW_CONTIGUOUS : 0;
    }
    const ndp_view in[2] = {v[1], nd__view(s->mask)}, out[2] = {v[0], *count};
    ndp_call call;
    nd__set_call(&call, ND_OP_compress, 2, in, 2, out);
    return run(dev, &call, counted);
}

static nd_status compress_run(nd_device *dev, const selection *s, const ndp_view *dst,
                              const ndp_view *count, call_runner *run, nd_counted *counted)
{
    if (s->a->ndim > 1)
        return compress_rows(dev, s, dst, count, run, counted);
    const ndp_view in[2] = {nd__view(s->a), nd__view(s->mask)}, out[2] = {*dst, *count};
    ndp_call call;
    nd__set_call(&call, ND_OP_compress, 2, in, 2, out);
    return run(dev, &call, counted);
}

static nd_status compress_arrays(const selection *s, const nd_array *dst, const nd_array *count)
{
    const ndp_view to = nd__view(dst), number = nd__view(count);
    return compress_run(dst->storage->device, s, &to, &number, run_whole, NULL);
}

/* A plug-in's count is an extent: no memory is sized by, and none read up to, a wrong one. */
static nd_status check_counted(const char *op, const nd_device *dev, int64_t count, int64_t most)
{
    if (count >= 0 && count <= most)
        return ND_OK;
    return nd__fail(ND_ERR_PLUGIN, op, -1, "%s counted %lld of %lld", dev->name, (long long)count,
                    (long long)most);
}

/* The count, which was computed on the device, as a number. */
static nd_status read_count(const char *op, const nd_array *mask, const nd_array *count, int64_t *n)
{
    nd_scalar value;
    ND_RETURN_IF(nd__item(op, count, ND_WAIT_SHAPE, &value));
    *n = value.v.i;
    return check_counted(op, mask->storage->device, *n, mask->size);
}

/* ---- small results in host memory: one pass, into room for all elements ---- */
enum { SMALL_NBYTES = 4096 }; /* of the room, which the result keeps */

static uint64_t room_for_all(const nd_array *a)
{
    uint64_t nbytes = (uint64_t)(a->size * nd__itemsize(a->dtype));
    return (nbytes + 7) / 8 * 8;
}

static bool is_small(const selection *s)
{
    const nd_device *dev = s->a->storage->device;
    return dev->host_visible && !dev->async && s->a->size > 0 && s->a->size <= SMALL_NBYTES &&
           room_for_all(s->a) <= SMALL_NBYTES;
}

/* The count lies behind the elements. */
static nd_status select_small(const selection *s, nd_array **out)
{
    const nd_array *a = s->a;
    nd_device *dev = a->storage->device;
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM], count = -1;
    const uint64_t room = room_for_all(a);
    nd_storage *storage;
    ND_RETURN_IF(nd__storage_alloc(dev, room + sizeof count, &storage));
    memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
    nd__c_strides(a->ndim, shape, stride);
    const ndp_view to = {.mem = storage->mem,
                         .offset_bytes = (int64_t)storage->base,
                         .shape = shape,
                         .stride = stride,
                         .dtype = a->dtype,
                         .ndim = a->ndim,
                         .flags = NDP_VIEW_CONTIGUOUS},
                   number = {.mem = storage->mem,
                             .offset_bytes = (int64_t)(storage->base + room),
                             .dtype = ND_I64,
                             .flags = NDP_VIEW_CONTIGUOUS};
    nd_status status = compress_run(dev, s, &to, &number, run_whole, NULL);
    if (status == ND_OK)
        status = nd__read(dev, "select", ND_WAIT_SHAPE, storage->mem, storage->base + room, &count,
                          sizeof count);
    if (status == ND_OK)
        status = check_counted("select", dev, count, shape[0]);
    if (status != ND_OK) {
        nd__storage_release(storage);
        return status;
    }
    shape[0] = count;
    storage->used = (uint64_t)(count * (a->size / a->shape[0]) * nd__itemsize(a->dtype));
    return nd__array_take(storage, a->dtype, a->ndim, shape, NULL, 0, false, out);
}

/* A view without elements for a call that counts; it lies where the count does. */
static ndp_view no_room(const nd_array *count, nd_dtype dtype, int ndim, const int64_t *shape,
                        const int64_t *stride)
{
    ndp_view v = nd__view(count);
    v.dtype = dtype;
    v.ndim = ndim;
    v.shape = shape;
    v.stride = stride;
    v.flags = NDP_VIEW_CONTIGUOUS;
    return v;
}

/* Counts by the operation's own kernel, so that it need not count again, or else by count_nonzero. */
static nd_status compress_count(const selection *s, nd_array **count, nd_counted *counted)
{
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM];
    nd_device *dev = s->a->storage->device;
    ND_RETURN_IF(nd__array_alloc("select", dev, ND_I64, 0, NULL, count));
    memcpy(shape, s->a->shape, (size_t)s->a->ndim * sizeof *shape);
    shape[0] = 0;
    nd__c_strides(s->a->ndim, shape, stride);
    const ndp_view to = no_room(*count, s->a->dtype, s->a->ndim, shape, stride),
                   number = nd__view(*count);
    if (s->mask->size)
        ND_RETURN_IF(compress_run(dev, s, &to, &number, nd__run_to_count, counted));
    return counted->scratch ? ND_OK : nd_count_nonzero_into(s->mask, NULL, *count);
}

static nd_status compress_counted(const selection *s, const nd_array *dst, const nd_array *count,
                                  nd_counted *counted)
{
    const ndp_view to = nd__view(dst), number = nd__view(count);
    return compress_run(dst->storage->device, s, &to, &number, nd__run_counted, counted);
}

static nd_status select_large(const selection *s, nd_array **out)
{
    nd_array *count = NULL, *r = NULL;
    nd_counted counted = {NULL, NULL, 0};
    int64_t shape[ND_MAX_NDIM];
    nd_status status;
    ND_GOTO_IF(done, compress_count(s, &count, &counted));
    ND_GOTO_IF(done, read_count("select", s->mask, count, &shape[0]));
    memcpy(shape + 1, s->a->shape + 1, (size_t)(s->a->ndim - 1) * sizeof *shape);
    ND_GOTO_IF(
        done, nd__array_alloc("select", s->a->storage->device, s->a->dtype, s->a->ndim, shape, &r));
    if (r->size)
        ND_GOTO_IF(done, compress_counted(s, r, count, &counted));
    *out = nd_retain(r);
done:
    nd__storage_release(counted.scratch);
    nd_release(r);
    nd_release(count);
    return status;
}

nd_status nd_select(const nd_array *a, const nd_array *mask, nd_array **out)
{
    selection s;
    ND_OUT("select", 2, out, NULL);
    nd_status status = selection_start(a, mask, &s);
    if (status == ND_OK)
        status = is_small(&s) ? select_small(&s, out) : select_large(&s, out);
    selection_finish(&s);
    return status;
}

static nd_status check_count(const char *op, const nd_array *dst, const nd_array *count,
                             int32_t argument)
{
    ND_RETURN_IF(nd__check_writable(op, count, argument));
    ND_RETURN_IF(nd__check_same_device(op, dst, count, argument - 1, argument));
    if (count->ndim != 0 || count->dtype != ND_I64)
        return nd__fail(ND_ERR_SHAPE, op, argument,
                        "the count is a rank-%d array of %s; it must be a 0-d i64", count->ndim,
                        nd_dtype_name(count->dtype));
    if (nd__may_overlap(dst, count))
        return nd__fail(ND_ERR_OVERLAP, op, argument,
                        "the count shares memory with the destination");
    return ND_OK;
}

/* A copy in place of *a, if a result may lie in it; *own is the copy that *a is already, or NULL;
 * it is released. */
static nd_status part_from_results(const nd_array **a, nd_array **own, const nd_array *dst,
                                   const nd_array *count)
{
    nd_array *copy;
    if (!nd__may_overlap(*a, dst) && !nd__may_overlap(*a, count))
        return ND_OK;
    ND_RETURN_IF(nd_copy(*a, NULL, &copy));
    nd_release(*own);
    *a = *own = copy;
    return ND_OK;
}

nd_status nd_select_into(const nd_array *a, const nd_array *mask, const nd_array *dst,
                         const nd_array *count)
{
    selection s;
    int64_t shape[ND_MAX_NDIM];
    nd_status status;
    ND_GOTO_IF(done, selection_start(a, mask, &s));
    ND_GOTO_IF(done, nd__check_writable("select", dst, 2));
    ND_GOTO_IF(done, nd__check_same_device("select", a, dst, 0, 2));
    memcpy(shape, s.a->shape, (size_t)s.a->ndim * sizeof *shape);
    shape[0] = dst->ndim ? dst->shape[0] : 0;
    ND_GOTO_IF(done, nd__check_dst_shape("select", dst, s.a->ndim, shape, 2));
    if (dst->dtype != a->dtype)
        ND_GOTO_IF(done, nd__fail(ND_ERR_DTYPE, "select", 2, "the destination is %s, the array %s",
                                  nd_dtype_name(dst->dtype), nd_dtype_name(a->dtype)));
    ND_GOTO_IF(done, check_count("select", dst, count, 3));
    ND_GOTO_IF(done, part_from_results(&s.a, &s.own[0], dst, count));
    ND_GOTO_IF(done, part_from_results(&s.mask, &s.own[1], dst, count));
    if (s.a->size == 0)
        ND_GOTO_IF(done, nd_count_nonzero_into(s.mask, NULL, count));
    else
        ND_GOTO_IF(done, compress_arrays(&s, dst, count));
done:
    selection_finish(&s);
    return status;
}

static nd_status nonzero_run(const nd_array *a, const nd_array *dst, const nd_array *count)
{
    const nd_array *in[1] = {a};
    nd_array *out[2] = {(nd_array *)dst, (nd_array *)count};
    return a->size ? nd__run_arrays(ND_OP_nonzero, 1, in, 2, out, NULL) : nd_fill(count, nd_int(0));
}

static nd_status nonzero_count(const nd_array *a, nd_array **count, nd_counted *counted)
{
    const int64_t shape[2] = {0, a->ndim}, stride[2] = {a->ndim, 1};
    nd_device *dev = a->storage->device;
    ndp_call call;
    ND_RETURN_IF(nd__array_alloc("nonzero", dev, ND_I64, 0, NULL, count));
    const ndp_view in = nd__view(a),
                   out[2] = {no_room(*count, ND_I64, 2, shape, stride), nd__view(*count)};
    nd__set_call(&call, ND_OP_nonzero, 1, &in, 2, out);
    if (a->size)
        ND_RETURN_IF(nd__run_to_count(dev, &call, counted));
    return counted->scratch ? ND_OK : nd_count_nonzero_into(a, NULL, *count);
}

static nd_status nonzero_counted(const nd_array *a, const nd_array *dst, const nd_array *count,
                                 nd_counted *counted)
{
    const ndp_view in = nd__view(a), out[2] = {nd__view(dst), nd__view(count)};
    ndp_call call;
    nd__set_call(&call, ND_OP_nonzero, 1, &in, 2, out);
    return nd__run_counted(a->storage->device, &call, counted);
}

static nd_status check_rank(const nd_array *a)
{
    ND_RETURN_IF(nd__check_array("nonzero", a, 0));
    return a->ndim ? ND_OK
                   : nd__fail(ND_ERR_SHAPE, "nonzero", 0,
                              "a 0-d array has no coordinates; reshape it to one element");
}

nd_status nd_nonzero(const nd_array *a, nd_array **out)
{
    nd_array *count = NULL, *r = NULL;
    nd_counted counted = {NULL, NULL, 0};
    int64_t shape[2];
    nd_status status;
    ND_OUT("nonzero", 1, out, NULL);
    ND_GOTO_IF(done, check_rank(a));
    ND_GOTO_IF(done, nonzero_count(a, &count, &counted));
    ND_GOTO_IF(done, read_count("nonzero", a, count, &shape[0]));
    shape[1] = a->ndim;
    ND_GOTO_IF(done, nd__array_alloc("nonzero", a->storage->device, ND_I64, 2, shape, &r));
    if (r->size)
        ND_GOTO_IF(done, nonzero_counted(a, r, count, &counted));
    *out = r;
    r = NULL;
done:
    nd__storage_release(counted.scratch);
    nd_release(r);
    nd_release(count);
    return status;
}

nd_status nd_nonzero_into(const nd_array *a, const nd_array *dst, const nd_array *count)
{
    nd_array *own = NULL;
    ND_RETURN_IF(check_rank(a));
    ND_RETURN_IF(nd__check_writable("nonzero", dst, 1));
    ND_RETURN_IF(nd__check_same_device("nonzero", a, dst, 0, 1));
    const int64_t shape[2] = {dst->ndim ? dst->shape[0] : 0, a->ndim};
    ND_RETURN_IF(nd__check_dst_shape("nonzero", dst, 2, shape, 1));
    if (dst->dtype != ND_I64)
        return nd__fail(ND_ERR_DTYPE, "nonzero", 1, "the destination is %s, not i64",
                        nd_dtype_name(dst->dtype));
    ND_RETURN_IF(check_count("nonzero", dst, count, 2));
    nd_status status = part_from_results(&a, &own, dst, count);
    if (status == ND_OK)
        status = nonzero_run(a, dst, count);
    nd_release(own);
    return status;
}
