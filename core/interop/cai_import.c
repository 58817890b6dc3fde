/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The CUDA Array Interface as a consumer: nd_cai_import. Nothing of the description is believed. */
#include <stdlib.h>
#include "core/interop/interop.h"

static const char op[] = "cai_import";

/* What the description comes to. */
typedef struct {
    nd_dtype dtype;
    int64_t size;
    int64_t stride[ND_MAX_NDIM]; /* elements */
    int64_t low, high;           /* the elements it reaches */
    nd_layout layout;
    uint64_t stream; /* 0: none */
    bool sync;
} plan;

static nd_status check_form(const nd_cai *c, const nd_cai_import_opts *opts)
{
    if (!c || c->size < NDP_END(nd_cai, dtype))
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "the description is NULL, or its size field is not sizeof(nd_cai)");
    if (opts && opts->size < NDP_END(nd_cai_import_opts, ctx))
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "the options' size field is %u, not sizeof(nd_cai_import_opts)",
                        (unsigned)opts->size);
    if (opts && (opts->sync < 0 || opts->sync > ND_CAI_SYNC_OFF))
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "sync is %d; default is 0, on 1, off 2",
                        (int)opts->sync);
    if (c->version < 0)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "version %d: it is 0 to %d", (int)c->version,
                        ND_CAI_VERSION);
    if (c->version > ND_CAI_VERSION)
        return nd__fail(ND_ERR_UNSUPPORTED, op, 0,
                        "version %d of the interface; this library knows up to %d", (int)c->version,
                        ND_CAI_VERSION);
    if (c->flags & ~(uint32_t)(ND_CAI_READ_ONLY | ND_CAI_MASKED))
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "unknown flags %#x", (unsigned)c->flags);
    if (c->flags & ND_CAI_MASKED)
        return nd__fail(ND_ERR_UNSUPPORTED, op, 0,
                        "the array has a mask, and masked arrays are not supported; pass its data "
                        "and its mask as two arrays");
    if (c->ndim < 0 || c->ndim > ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, op, 0, "rank %d is not between 0 and %d", (int)c->ndim,
                        ND_MAX_NDIM);
    if (c->ndim && !c->shape)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "the shape of an array of rank %d is NULL",
                        (int)c->ndim);
    return ND_OK;
}

static nd_status check_dtype(const nd_cai *c, nd_dtype *out)
{
    char typestr[sizeof c->typestr + 1] = "", vendor[sizeof c->dtype + 1] = "";
    memcpy(typestr, c->typestr, sizeof c->typestr); /* perhaps without a 0 at the end */
    memcpy(vendor, c->dtype, sizeof c->dtype);
    nd_status status = nd_dtype_of_typestr(typestr, vendor, out);
    if (status != ND_OK)
        nd__error_context(op, NULL, NULL);
    return status;
}

/* Strides in elements. Where nothing is stepped over, what they say does not matter. */
static nd_status check_strides(const nd_cai *c, plan *p)
{
    int64_t item = nd__itemsize(p->dtype);
    nd__c_strides(c->ndim, c->shape, p->stride);
    if (!c->strides || p->size == 0)
        return ND_OK;
    for (int d = 0; d < c->ndim; d++) {
        if (c->shape[d] <= 1)
            continue;
        if (c->strides[d] % item)
            return nd__fail(ND_ERR_ARGUMENT, op, 0,
                            "stride %d is %lld bytes, no multiple of the element's %lld", d,
                            (long long)c->strides[d], (long long)item);
        p->stride[d] = c->strides[d] / item;
    }
    return ND_OK;
}

/* All elements lie between address 1 and 2^64 - 1. */
static nd_status check_extent(const nd_cai *c, plan *p)
{
    int64_t low, high, item = nd__itemsize(p->dtype);
    uint64_t end;
    if (!nd__extent(c->ndim, c->shape, p->stride, &p->low, &p->high) ||
        __builtin_mul_overflow(p->low, item, &low) || __builtin_mul_overflow(p->high, item, &high))
        return nd__fail(ND_ERR_OVERFLOW, op, 0, "the strides reach beyond 2^63 bytes");
    if (c->data <= 0 - (uint64_t)low || __builtin_add_overflow(c->data, (uint64_t)high, &end))
        return nd__fail(ND_ERR_OVERFLOW, op, 0,
                        "bytes %lld to %lld from 0x%llx lie outside the address space",
                        (long long)low, (long long)high, (unsigned long long)c->data);
    return ND_OK;
}

static nd_status check_data(const nd_cai *c, plan *p)
{
    if (p->size == 0) /* whatever the pointer is: nothing is there */
        return ND_OK;
    if (c->data == 0)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "the address is 0 for an array of %lld elements",
                        (long long)p->size);
    if (!nd__aligned(p->dtype, c->data))
        return nd__fail(ND_ERR_UNSUPPORTED, op, 0,
                        "0x%llx is not aligned to %llu bytes, as %s needs; copy the array where it "
                        "comes from",
                        (unsigned long long)c->data, (unsigned long long)nd__alignment(p->dtype),
                        nd_dtype_name(p->dtype));
    return check_extent(c, p);
}

static nd_status check_stream(const nd_cai *c, const nd_cai_import_opts *opts, plan *p)
{
    int32_t sync = opts && opts->sync ? opts->sync : nd_cai_sync();
    p->sync = sync != ND_CAI_SYNC_OFF;
    p->stream = 0;
    if (c->version < 3 || c->stream == ND_CAI_NO_STREAM)
        return ND_OK;
    p->stream = (uint64_t)c->stream;
    if (c->stream < 0)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "%lld is no stream's handle", (long long)c->stream);
    if (c->stream != 0)
        return ND_OK;
    if (!opts || !(opts->flags & ND_CAI_LENIENT))
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "stream 0 is ambiguous and not allowed: the producer must say 1 for the "
                        "legacy default stream, 2 for the per-thread one, or none");
    nd__log(ND_LOG_WARN,
            "an imported array names stream 0, which the CUDA Array Interface does not "
            "allow; it is taken for 1, the legacy default stream");
    p->stream = 1;
    return ND_OK;
}

static nd_status make_plan(const nd_cai *c, const nd_cai_import_opts *opts, plan *p)
{
    ND_RETURN_IF(check_form(c, opts));
    ND_RETURN_IF(check_dtype(c, &p->dtype));
    ND_RETURN_IF(nd__check_shape(op, p->dtype, c->ndim, c->shape, &p->size));
    ND_RETURN_IF(check_strides(c, p));
    ND_RETURN_IF(check_data(c, p));
    ND_RETURN_IF(check_stream(c, opts, p));
    p->layout = (nd_layout){.size = sizeof p->layout,
                            .dtype = p->dtype,
                            .ndim = c->ndim,
                            .flags = c->flags & ND_CAI_READ_ONLY ? ND_LAYOUT_READONLY : 0,
                            .shape = c->shape,
                            .stride = p->stride};
    return ND_OK;
}

/* I15: on demand the driver is asked how far the allocation goes. */
static nd_status check_range(const nd_cai *c, const plan *p, nd_device *d)
{
    nd_pointer_info info = {.size = sizeof info};
    int64_t item = nd__itemsize(p->dtype);
    if (nd_cai_check() != ND_CAI_CHECK_ON || !d->pointer.info)
        return ND_OK;
    ND_RETURN_IF(nd_ptr_info(c->data, d, &info));
    uint64_t before = (uint64_t)(-p->low * item), after = (uint64_t)(p->high * item),
             at = c->data - info.base;
    if (info.nbytes == 0 || (before <= at && after <= info.nbytes - at))
        return ND_OK;
    return nd__fail(ND_ERR_ARGUMENT, op, 0,
                    "the array reaches from %llu bytes before 0x%llx to %llu after, outside its "
                    "allocation of %llu bytes at 0x%llx",
                    (unsigned long long)before, (unsigned long long)c->data,
                    (unsigned long long)after, (unsigned long long)info.nbytes,
                    (unsigned long long)info.base);
}

static nd_status find_device(const nd_cai *c, const plan *p, nd_device *wanted, nd_device **out)
{
    nd_status status;
    *out = NULL;
    if (!wanted && p->size)
        ND_RETURN_IF(nd__device_of_address(op, c->data, &wanted));
    *out = nd__or_current(wanted, &status);
    if (status == ND_OK && (*out)->host_visible && p->size)
        return nd__fail(ND_ERR_UNSUPPORTED, op, 0,
                        "%s is a device of host memory; wrap it with nd_wrap", (*out)->name);
    return status;
}

static nd_status wrap_on(nd_device *device, const nd_cai *c, const plan *p, nd_array **out)
{
    return nd__wrap_checked(op, &p->layout, p->low, p->high, (void *)(uintptr_t)c->data, device,
                            NULL, NULL, out);
}

/* Most arrays are on the current device, which looks at the address in any case: it is asked first,
 * and whose memory it is only if that refuses. */
static nd_status wrap(const nd_cai *c, const plan *p, nd_device *wanted, nd_array **out)
{
    nd_device *device = NULL;
    if (!wanted && nd_device_current(&device) == ND_OK && device->pointer.info &&
        !device->host_visible && wrap_on(device, c, p, out) == ND_OK)
        return check_range(c, p, device);
    ND_RETURN_IF(find_device(c, p, wanted, &device));
    ND_RETURN_IF(check_range(c, p, device));
    return wrap_on(device, c, p, out);
}

/* Our stream behind the producer's, now, and theirs behind ours from now on. */
static nd_status put_in_order(const plan *p, nd_storage *storage, nd_stream *producer)
{
    nd__import_from(storage, producer, p->sync);
    return p->sync ? nd_stream_wait_stream(nd__stream(storage->device), producer)
                   : (nd_status)ND_OK;
}

/* Nothing is there to share: an array of its own, and the owner is let go at once. */
static nd_status import_nothing(const plan *p, const nd_cai_import_opts *opts, nd_device *device,
                                nd_array **out)
{
    ND_RETURN_IF(nd__array_alloc(op, device, p->dtype, p->layout.ndim, p->layout.shape, out));
    if (p->layout.flags & ND_LAYOUT_READONLY)
        (*out)->flags |= ND_FLAG_READONLY;
    if (opts && opts->release)
        opts->release(opts->ctx);
    return ND_OK;
}

/* Order with the producer's stream, if it names one. */
static nd_status join_producer(const plan *p, nd_storage *storage)
{
    nd_stream *producer;
    if (!p->stream || !storage->device->async || !storage->device->has_stream)
        return ND_OK;
    ND_RETURN_IF(nd__foreign_stream(op, storage->device, p->stream, &producer));
    nd_status status = put_in_order(p, storage, producer);
    nd_stream_release(producer);
    return status;
}

nd_status nd_cai_import(const nd_cai *c, const nd_cai_import_opts *opts, nd_array **out)
{
    plan p;
    nd_device *device, *wanted = opts ? opts->device : NULL;
    nd_array *a = NULL;
    ND_OUT("cai_import", 2, out, NULL);
    ND_RETURN_IF(make_plan(c, opts, &p));
    if (p.size == 0) {
        ND_RETURN_IF(find_device(c, &p, wanted, &device));
        return import_nothing(&p, opts, device, out);
    }
    nd_status status = wrap(c, &p, wanted, &a);
    if (status == ND_OK)
        status = join_producer(&p, a->storage);
    if (status == ND_OK && opts) { /* only now: on failure the owner is still the caller's */
        a->storage->release = opts->release;
        a->storage->ctx = opts->ctx;
    }
    return nd__hand_over(status, a, out);
}
