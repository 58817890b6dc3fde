/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The host's memory: arrays over it, copies from it and into it, single elements as C's numbers. */
#include <math.h>
#include "core/ops/ops.h"

/* The layout's strides (or C order), checked; low and high are the elements it reaches. */
static nd_status check_layout(const char *op, const nd_layout *l, int64_t *stride, int64_t *low,
                              int64_t *high)
{
    int64_t size;
    if (!l || l->size < offsetof(nd_layout, stride) + sizeof l->stride)
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "the layout is NULL, or its size field is not sizeof(nd_layout)");
    ND_RETURN_IF(nd__check_dtype(op, l->dtype));
    ND_RETURN_IF(nd__check_shape(op, l->dtype, l->ndim, l->shape, &size));
    if (l->stride && l->ndim)
        memcpy(stride, l->stride, (size_t)l->ndim * sizeof *stride);
    else
        nd__c_strides(l->ndim, l->shape, stride);
    int64_t nbytes, n = (int64_t)nd_dtype_size(l->dtype);
    if (!nd__extent(l->ndim, l->shape, stride, low, high) ||
        __builtin_mul_overflow(*high, n, &nbytes) || __builtin_mul_overflow(*low, n, &nbytes))
        return nd__fail(ND_ERR_OVERFLOW, op, 0, "the strides reach beyond 2^63 bytes");
    return ND_OK;
}

nd_status nd__wrap(const char *op, const nd_layout *l, void *ptr, nd_device *device,
                   void (*release)(void *), void *ctx, nd_array **out)
{
    int64_t stride[ND_MAX_NDIM], low, high;
    ND_RETURN_IF(check_layout(op, l, stride, &low, &high));
    nd_layout checked = {.size = sizeof checked,
                         .dtype = l->dtype,
                         .ndim = l->ndim,
                         .flags = l->flags,
                         .shape = l->shape,
                         .stride = stride};
    return nd__wrap_checked(op, &checked, low, high, ptr, device, release, ctx, out);
}

nd_status nd__wrap_checked(const char *op, const nd_layout *l, int64_t low, int64_t high, void *ptr,
                           nd_device *device, void (*release)(void *), void *ctx, nd_array **out)
{
    int64_t size = 1;
    nd_storage *s = NULL;
    for (int d = 0; d < l->ndim; d++)
        size *= l->shape[d];
    const int64_t n = nd__itemsize(l->dtype);
    if (!ptr && size > 0)
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "the pointer is NULL for an array of %lld elements",
                        (long long)size);
    if (size > 0 && !nd__aligned(l->dtype, (uintptr_t)ptr))
        return nd__fail(
            ND_ERR_ARGUMENT, op, 1,
            "the memory at %p is not aligned to %lld bytes as %s needs; copy it with nd_from_host",
            ptr, (long long)nd__alignment(l->dtype), nd_dtype_name(l->dtype));
    char *base = ptr ? (char *)ptr + low * n : ptr;
    ND_RETURN_IF(nd__storage_wrap(device, base, (uint64_t)((high - low) * n), NULL, NULL, &s));
    ND_RETURN_IF(nd__array_take(s, l->dtype, l->ndim, l->shape, l->stride, -low,
                                l->flags & ND_LAYOUT_READONLY, out));
    s->release = release; /* only now: on failure the caller keeps its memory */
    s->ctx = ctx;
    return ND_OK;
}

nd_status nd_wrap(const nd_layout *layout, void *ptr, nd_device *device, void (*release)(void *ctx),
                  void *ctx, nd_array **out)
{
    nd_status status;
    ND_OUT("wrap", 5, out, NULL);
    device = nd__or_current(device, &status);
    return status == ND_OK ? nd__wrap("wrap", layout, ptr, device, release, ctx, out) : status;
}

/* Unaligned host memory cannot be viewed: copy it byte by byte. Only dense layouts; others go
 * through an aligned copy of the range they reach. */
static nd_status from_unaligned(const char *op, const nd_layout *layout, const void *data,
                                nd_device *cpu, nd_array **aligned)
{
    int64_t stride[ND_MAX_NDIM], low, high, n = (int64_t)nd_dtype_size(layout->dtype);
    nd_storage *s = NULL;
    ND_RETURN_IF(check_layout(op, layout, stride, &low, &high));
    ND_RETURN_IF(nd__storage_alloc(cpu, high > low ? (uint64_t)((high - low) * n) : 1, &s));
    nd_status status = ND_OK;
    if (high > low)
        status = cpu->p.write(cpu->dev, NULL, s->mem, s->base, (const char *)data + low * n,
                              (uint64_t)((high - low) * n));
    if (status == ND_OK)
        return nd__array_take(s, layout->dtype, layout->ndim, layout->shape, stride, -low, true,
                              aligned);
    nd__storage_release(s);
    return status;
}

nd_status nd__from_host(const char *op, const nd_layout *layout, const void *data,
                        nd_device *device, nd_array **out)
{
    nd_device *cpu;
    nd_array *view = NULL;
    int64_t stride[ND_MAX_NDIM], low, high;
    ND_RETURN_IF(check_layout(op, layout, stride, &low, &high));
    ND_RETURN_IF(nd__cpu_device(&cpu));
    if (nd__captures_now()) /* a graph would read the host's memory again when that is gone */
        ND_RETURN_IF(nd__refuse_capture(nd__stream_current(device), op,
                                        "copy before the capture, or into an array by nd_copy_to "
                                        "from pinned memory (nd_empty_pinned)"));
    size_t item = nd_dtype_size(layout->dtype);
    if (data && (uintptr_t)data % item && high > low)
        ND_RETURN_IF(from_unaligned(op, layout, data, cpu, &view));
    else
        ND_RETURN_IF(nd__wrap(op, layout, (void *)(uintptr_t)data, cpu, NULL, NULL, &view));
    nd_status status = nd_copy(view, device, out);
    nd_release(view);
    return status;
}

nd_status nd_from_host(const nd_layout *layout, const void *data, nd_device *device, nd_array **out)
{
    nd_status status;
    ND_OUT("from_host", 3, out, NULL);
    device = nd__or_current(device, &status);
    return status == ND_OK ? nd__from_host("from_host", layout, data, device, out) : status;
}

nd_status nd_to_host(const nd_array *a, void *data, size_t nbytes)
{
    nd_array *dense = NULL;
    ND_RETURN_IF(nd__check_array("to_host", a, 0));
    size_t item = nd_dtype_size(a->dtype), need = (size_t)a->size * item;
    if (nbytes != need)
        return nd__fail(ND_ERR_SHAPE, "to_host", 2, "room for %zu bytes, the array has %zu", nbytes,
                        need);
    if (need == 0)
        return ND_OK;
    if (!data)
        return nd__fail(ND_ERR_ARGUMENT, "to_host", 1, "the destination is NULL");
    ND_RETURN_IF(nd_compact(a, &dense));
    nd_status status = nd__read(dense->storage->device, "to_host", ND_WAIT_ITEM,
                                dense->storage->mem, (uint64_t)nd__byte_offset(dense), data, need);
    nd_release(dense);
    return status;
}

nd_status nd__item(const char *op, const nd_array *a, int32_t reason, nd_scalar *out)
{
    char element[16];
    char text[ND_SHAPE_TEXT];
    ND_RETURN_IF(nd__check_array(op, a, 0));
    if (a->size != 1)
        return nd__fail(ND_ERR_SHAPE, op, 0, "shape %s has %lld elements, not one",
                        nd__shape_text(a->ndim, a->shape, text, sizeof text), (long long)a->size);
    ND_RETURN_IF(nd__read(a->storage->device, op, reason, a->storage->mem,
                          (uint64_t)nd__byte_offset(a), element, nd_dtype_size(a->dtype)));
    *out = nd__scalar_load(a->dtype, element);
    return ND_OK;
}

nd_status nd_item(const nd_array *a, nd_scalar *out)
{
    ND_NEED("item", 1, out);
    return nd__item("item", a, ND_WAIT_ITEM, out);
}

/* An element that is one real number. */
static nd_status real_item(const char *op, const nd_array *a, nd_scalar *out)
{
    ND_RETURN_IF(nd__item(op, a, ND_WAIT_ITEM, out));
    if (out->kind == ND_C128)
        return nd__fail(ND_ERR_DTYPE, op, 0,
                        "%s has an imaginary part; use nd_item, or take nd_real first",
                        nd_dtype_name(a->dtype));
    return ND_OK;
}

nd_status nd_item_f64(const nd_array *a, double *out)
{
    nd_scalar s;
    ND_OUT("item_f64", 1, out, 0);
    ND_RETURN_IF(real_item("item_f64", a, &s));
    *out = s.kind == ND_F64 ? s.v.f : s.kind == ND_I64 ? (double)s.v.i : (double)s.v.u;
    return ND_OK;
}

nd_status nd_item_i64(const nd_array *a, int64_t *out)
{
    nd_scalar s;
    ND_OUT("item_i64", 1, out, 0);
    ND_RETURN_IF(real_item("item_i64", a, &s));
    if (s.kind == ND_F64 && !(s.v.f >= -0x1p63 && s.v.f < 0x1p63 && s.v.f == floor(s.v.f)))
        return nd__fail(ND_ERR_OVERFLOW, "item_i64", 0,
                        "%g is no integer of 64 bits; use nd_item_f64", s.v.f);
    if (s.kind == ND_U64 && s.v.u > INT64_MAX)
        return nd__fail(ND_ERR_OVERFLOW, "item_i64", 0, "%llu is above 2^63 - 1; use nd_item",
                        (unsigned long long)s.v.u);
    *out = s.kind == ND_F64 ? (int64_t)s.v.f : s.kind == ND_I64 ? s.v.i : (int64_t)s.v.u;
    return ND_OK;
}

nd_status nd_data(const nd_array *a, void **out)
{
    uint64_t address = 0;
    ND_OUT("data", 1, out, NULL);
    ND_RETURN_IF(nd__check_array("data", a, 0));
    nd_device *device = a->storage->device;
    if (!device->map.address)
        return nd__fail(ND_ERR_UNSUPPORTED, "data", 0, "%s has no addresses; copy with nd_to_host",
                        device->name);
    ND_RETURN_IF(nd__wait_device(device, ND_WAIT_DATA, "data"));
    ND_RETURN_IF(device->map.address(device->dev, a->storage->mem, &address));
    if (a->size)
        *out = (void *)(uintptr_t)(address + (uint64_t)nd__byte_offset(a));
    return ND_OK;
}
