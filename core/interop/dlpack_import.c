/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * DLPack as a consumer: arrays over tensors of others. Source: DLPack 1.3 specification. */
#include <stdio.h>
#include <stdlib.h>
#include "core/interop/dlpack.h"

/* A tensor of either form. */
typedef struct {
    const nd_dl_tensor *tensor;
    uint64_t flags;
    const nd_dl_record *own; /* ours, NULL: somebody else's */
    void (*release)(void *managed);
    void *managed;
} source;

static const char *type_name(const nd_dl_dtype *t)
{
    static const char *const names[] = {"integer",        "unsigned integer",
                                        "float",          "handle",
                                        "bfloat",         "complex",
                                        "bool",           "float8_e3m4",
                                        "float8_e4m3",    "float8_e4m3b11fnuz",
                                        "float8_e4m3fn",  "float8_e4m3fnuz",
                                        "float8_e5m2",    "float8_e5m2fnuz",
                                        "float8_e8m0fnu", "float6_e2m3fn",
                                        "float6_e3m2fn",  "float4_e2m1fn"};
    return t->code < sizeof names / sizeof *names ? names[t->code] : "unknown";
}

/* By DLPack's code and the bytes of an element; 0: none. */
enum { CODES = 18, MOST_BYTES = 16 };
static const uint8_t dtypes[CODES][MOST_BYTES + 1] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [dlpack][nbytes] = id,
#include <ndock/dtype.def>
};

static nd_status dl_dtype_to(const char *op, nd_dl_dtype t, nd_dtype *out)
{
    const int nbytes = t.bits / 8;
    *out = 0;
    if (t.lanes == 1 && t.bits % 8 == 0 && t.code < CODES && nbytes <= MOST_BYTES)
        *out = dtypes[t.code][nbytes];
    if (*out)
        return ND_OK;
    return nd__fail(ND_ERR_DTYPE, op, 0,
                    "no dtype for DLPack code %u (%s) with %u bits and %u lanes", t.code,
                    type_name(&t), t.bits, t.lanes);
}

/* An opened one is found by what DLPack calls it, which takes less time than a name. */
static nd_status device_of(const char *plugin, nd_dl_device dl, nd_device **out)
{
    char name[32];
    *out = nd__device_opened_as(dl);
    if (*out)
        return ND_OK;
    snprintf(name, sizeof name, "%s:%d", plugin, (int)dl.device_id);
    return nd_device_get(name, out);
}

static nd_status device_for(const char *op, const source *s, nd_device **out)
{
    nd_dl_device d = s->tensor->device;
    switch (d.device_type) {
    case ND_DL_CPU:
    case ND_DL_CUDA_HOST:
        return nd__cpu_device(out);
    case ND_DL_CUDA:
    case ND_DL_CUDA_MANAGED:
        return device_of("cuda", (nd_dl_device){ND_DL_CUDA, d.device_id}, out);
    case ND_DL_OPENCL:
        return device_of("opencl", d, out);
    default:
        if (d.device_type != ND_DL_EXT || !s->own)
            return nd__fail(ND_ERR_DEVICE, op, 0, "no device for DLPack device type %d",
                            (int)d.device_type);
        *out = s->own->array->storage->device;
        return ND_OK;
    }
}

static nd_status check_tensor(const char *op, const nd_dl_tensor *t)
{
    if (t->ndim < 0 || t->ndim > ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, op, 0, "rank %d is not between 0 and %d", (int)t->ndim,
                        ND_MAX_NDIM);
    if (t->ndim && !t->shape)
        return nd__fail(ND_ERR_SHAPE, op, 0, "the shape of a tensor of rank %d is NULL",
                        (int)t->ndim);
    if (t->byte_offset > UINTPTR_MAX - (uintptr_t)t->data)
        return nd__fail(ND_ERR_OVERFLOW, op, 0,
                        "byte offset %llu from %p lies beyond the last address",
                        (unsigned long long)t->byte_offset, t->data);
    return ND_OK;
}

static nd_status take(const char *op, const source *s, nd_device *device, nd_array **out)
{
    const nd_dl_tensor *t = s->tensor;
    nd_layout layout = {.size = sizeof layout,
                        .ndim = t->ndim,
                        .flags = s->flags & ND_DL_READ_ONLY ? ND_LAYOUT_READONLY : 0,
                        .shape = t->shape,
                        .stride = t->strides};
    ND_RETURN_IF(dl_dtype_to(op, t->dtype, &layout.dtype));
    char *data = t->data ? (char *)t->data + t->byte_offset : NULL;
    if (nd__aligned(layout.dtype, (uintptr_t)data))
        return nd__wrap(op, &layout, data, device, s->release, s->managed, out);
    if (!device->host_visible)
        return nd__fail(ND_ERR_UNSUPPORTED, op, 0, "the data on %s are not aligned to %llu bytes",
                        device->name, (unsigned long long)nd__alignment(layout.dtype));
    ND_RETURN_IF(nd__from_host(op, &layout, data, device, out));
    s->release(s->managed);
    return ND_OK;
}

/* The thread's stream waits for the producer's; what the array holds is there behind its end. */
static nd_status follow(const char *op, nd_device *d, int64_t stream, nd_stream **current)
{
    nd_stream *producer = NULL;
    *current = NULL;
    if (!d->async || !d->has_stream)
        return ND_OK;
    ND_RETURN_IF(nd_stream_current(d, current));
    if (stream <= 0)
        return ND_OK;
    nd_status status = nd__foreign_stream(op, d, (uint64_t)stream, &producer);
    if (status == ND_OK)
        status = nd_stream_wait_stream(*current, producer);
    nd_stream_release(producer);
    return status;
}

static nd_status import(const char *op, const source *s, int64_t stream, nd_array **out)
{
    nd_device *device;
    nd_stream *current = NULL;
    ND_RETURN_IF(check_tensor(op, s->tensor));
    ND_RETURN_IF(device_for(op, s, &device));
    nd_status status = follow(op, device, stream, &current);
    if (status == ND_OK)
        status = take(op, s, device, out);
    if (status == ND_OK && current)
        nd__ready_on((*out)->storage, current);
    nd_stream_release(current);
    return status;
}

static void release(void *managed)
{
    nd_dl_managed *m = managed;
    if (m->deleter)
        m->deleter(m);
}

static void release_legacy(void *managed)
{
    nd_dl_legacy *m = managed;
    if (m->deleter)
        m->deleter(m);
}

static nd_status check(const char *op, const void *managed, const nd_dl_import_opts *opts)
{
    if (!managed)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "the tensor is NULL");
    if (opts && opts->size < NDP_END(nd_dl_import_opts, stream))
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "the options' size field is %u, not sizeof(nd_dl_import_opts)",
                        (unsigned)opts->size);
    if (opts && (opts->stream == 0 ||
                 (opts->stream < ND_DL_STREAM_UNORDERED && opts->stream != ND_DL_STREAM_NONE)))
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "%lld is no stream's handle: say 1 for the legacy default stream, 2 for "
                        "the per-thread one, or -1",
                        (long long)opts->stream);
    return ND_OK;
}

static nd_status import_versioned(const char *op, nd_dl_managed *m, const nd_dl_import_opts *opts,
                                  nd_array **out)
{
    *out = NULL;
    ND_RETURN_IF(check(op, m, opts));
    if (m->version.major != ND_DLPACK_MAJOR)
        return nd__fail(ND_ERR_UNSUPPORTED, op, 0,
                        "the tensor is of DLPack %u.%u; this library speaks %d.x", m->version.major,
                        m->version.minor, ND_DLPACK_MAJOR);
    const source s = {.tensor = &m->tensor,
                      .flags = m->flags,
                      .own = m->deleter == nd__dl_delete ? m->manager_ctx : NULL,
                      .release = release,
                      .managed = m};
    return import(op, &s, opts ? opts->stream : ND_DL_STREAM_NONE, out);
}

nd_status nd_from_dlpack(nd_dl_managed *m, nd_array **out)
{
    ND_NEED("from_dlpack", 1, out);
    return import_versioned("from_dlpack", m, NULL, out);
}

nd_status nd_dlpack_import(nd_dl_managed *m, const nd_dl_import_opts *opts, nd_array **out)
{
    ND_NEED("dlpack_import", 2, out);
    return import_versioned("dlpack_import", m, opts, out);
}

nd_status nd_dlpack_import_legacy(nd_dl_legacy *m, const nd_dl_import_opts *opts, nd_array **out)
{
    static const char op[] = "dlpack_import_legacy";
    ND_OUT("dlpack_import_legacy", 2, out, NULL);
    ND_RETURN_IF(check(op, m, opts));
    const source s = {.tensor = &m->tensor,
                      .own = m->deleter == nd__dl_delete_legacy ? m->manager_ctx : NULL,
                      .release = release_legacy,
                      .managed = m};
    return import(op, &s, opts ? opts->stream : ND_DL_STREAM_NONE, out);
}
