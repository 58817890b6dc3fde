/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * DLPack as a producer: tensors over arrays, in the order of their consumer's stream. Source:
 * DLPack 1.3 specification; array API standard, __dlpack__. */
#include <stdlib.h>
#include "core/interop/dlpack.h"

static void record_free(nd_dl_record *r)
{
    nd_release(r->array);
    free(r);
}

void nd__dl_delete(nd_dl_managed *m)
{
    if (m)
        record_free(m->manager_ctx);
}

void nd__dl_delete_legacy(nd_dl_legacy *m)
{
    if (m)
        record_free(m->manager_ctx);
}

static const nd_dl_dtype dl_types[ND_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) \
    [id] = {dlpack, 8 * nbytes, 1},
#include <ndock/dtype.def>
};

nd_status nd_dlpack_device(const nd_array *a, nd_dl_device *out)
{
    ND_NEED("dlpack_device", 1, out);
    ND_RETURN_IF(nd__check_array("dlpack_device", a, 0));
    *out = a->storage->device->dl;
    return ND_OK;
}

static nd_status fill(const char *op, const nd_array *a, int64_t *shape, int64_t *strides,
                      nd_dl_tensor *out)
{
    uint64_t address;
    ND_RETURN_IF(nd__address(op, a, &address));
    *out = (nd_dl_tensor){.data = (void *)(uintptr_t)address,
                          .device = a->storage->device->dl,
                          .ndim = a->ndim,
                          .dtype = dl_types[a->dtype],
                          .shape = shape,
                          .strides = strides};
    return ND_OK;
}

nd_status nd_dlpack_view(const nd_array *a, nd_dl_tensor *out)
{
    ND_NEED("dlpack_view", 1, out);
    ND_RETURN_IF(nd__check_array("dlpack_view", a, 0));
    return fill("dlpack_view", a, a->shape, a->stride, out);
}

/* A tensor over a, in either form, with a reference to it. Not by calloc, which goes past the
 * per-thread cache of glibc before 2.41. */
static nd_status new_record(const char *op, const nd_array *a, nd_dl_record **out)
{
    nd_dl_tensor tensor;
    size_t n = (size_t)a->ndim;
    *out = NULL;
    nd_dl_record *r = malloc(sizeof *r + 2 * n * sizeof(int64_t));
    if (!r)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for a tensor of rank %d", a->ndim);
    nd_status status = fill(op, a, r->dims, r->dims + n, &tensor);
    if (status != ND_OK) {
        free(r);
        return status;
    }
    memcpy(r->dims, a->shape, n * sizeof(int64_t));
    memcpy(r->dims + n, a->stride, n * sizeof(int64_t));
    r->array = nd_retain((nd_array *)a);
    r->tensor = tensor;
    *out = r;
    return ND_OK;
}

static nd_dl_managed *versioned(nd_dl_record *r, bool copied)
{
    nd_dl_managed *m = &r->form.managed;
    m->version.major = ND_DLPACK_MAJOR;
    m->version.minor = ND_DLPACK_MINOR;
    m->manager_ctx = r;
    m->deleter = nd__dl_delete;
    m->flags = r->array->flags & ND_FLAG_READONLY ? ND_DL_READ_ONLY : 0;
    m->flags |= copied ? ND_DL_IS_COPIED : 0;
    m->tensor = r->tensor;
    return m;
}

nd_status nd_to_dlpack(const nd_array *a, nd_dl_managed **out)
{
    void *data;
    nd_dl_record *r;
    ND_OUT("to_dlpack", 1, out, NULL);
    ND_RETURN_IF(nd__check_array("to_dlpack", a, 0));
    ND_RETURN_IF(nd_data(a, &data));
    ND_RETURN_IF(new_record("to_dlpack", a, &r));
    *out = versioned(r, false);
    return ND_OK;
}

/* ---- in stream order ---- */
static nd_status check_stream(const char *op, const nd_device *d, int64_t stream)
{
    if (stream == ND_DL_STREAM_NONE || stream == ND_DL_STREAM_UNORDERED)
        return ND_OK;
    if (d->host_visible)
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "stream %lld for an array in host memory (%s), which has none; leave it "
                        "out",
                        (long long)stream, d->name);
    if (stream == 0)
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "stream 0 is ambiguous and not allowed: say 1 for the legacy default "
                        "stream or 2 for the per-thread one");
    return stream > 0
               ? (nd_status)ND_OK
               : nd__fail(ND_ERR_ARGUMENT, op, 1, "%lld is no stream's handle", (long long)stream);
}

/* A stream that is not ours may be gone by the time the memory is used again, so only ours are
 * remembered with it; the consumer keeps the tensor until it is done. */
static nd_status put_behind(const char *op, nd_storage *storage, nd_stream *consumer)
{
    bool pending;
    nd_stream *producer = nd__producer(storage);
    ND_RETURN_IF(nd__join_users(op, storage, consumer, false, &pending));
    if (producer && producer != consumer)
        ND_RETURN_IF(nd_stream_wait_stream(consumer, producer));
    return consumer->foreign ? (nd_status)ND_OK : nd__lend_stream(op, storage, consumer);
}

static nd_status order(const char *op, const nd_array *a, int64_t stream)
{
    nd_device *d = a->storage->device;
    nd_stream *current = NULL, *consumer = NULL;
    if (stream == ND_DL_STREAM_UNORDERED || !d->async || a->size == 0)
        return ND_OK;
    if (!d->has_stream)
        return nd__wait_users(op, a->storage);
    ND_RETURN_IF(nd_stream_current(d, &current));
    bool captured = nd__capture_id(current) != 0;
    nd_stream_release(current);
    if (stream == ND_DL_STREAM_NONE && captured) /* the legacy stream may not wait for a capture */
        return ND_OK;
    stream = stream == ND_DL_STREAM_NONE ? 1 : stream;
    ND_RETURN_IF(nd__foreign_stream(op, d, (uint64_t)stream, &consumer));
    nd_status status = put_behind(op, a->storage, consumer);
    nd_stream_release(consumer);
    return status;
}

/* a itself, or the copy that was asked for. */
static nd_status place(const char *op, const nd_array *a, const nd_dl_export_opts *o, bool *copied,
                       nd_array **out)
{
    nd_device *own = a->storage->device, *to = own;
    nd_dl_device here = own->dl;
    bool move = o->has_device && (o->device.device_type != here.device_type ||
                                  o->device.device_id != here.device_id);
    *out = NULL;
    if (move && (o->device.device_type != ND_DL_CPU || o->device.device_id != 0))
        return nd__fail(ND_ERR_DEVICE, op, 1,
                        "the array is on %s and cannot be exported as on device (%d, %d), only as "
                        "where it is, (%d, %d), or copied to the host, (1, 0); move it with "
                        "nd_to_device",
                        own->name, (int)o->device.device_type, (int)o->device.device_id,
                        (int)here.device_type, (int)here.device_id);
    if (move && o->copy == ND_DL_COPY_NEVER)
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "an array on %s is in host memory only as a copy, which was ruled out",
                        own->name);
    *copied = move || o->copy == ND_DL_COPY_ALWAYS;
    if (move)
        ND_RETURN_IF(nd__cpu_device(&to));
    if (*copied)
        return nd_copy(a, to, out);
    *out = nd_retain((nd_array *)a);
    return ND_OK;
}

static nd_status export(const char *op, const nd_array *a, const nd_dl_export_opts *opts,
                        bool legacy, bool *copied, nd_dl_record **out)
{
    nd_dl_export_opts o = {.stream = ND_DL_STREAM_NONE};
    nd_array *placed = NULL;
    *out = NULL;
    ND_RETURN_IF(nd__check_array(op, a, 0));
    if (opts && opts->size < NDP_END(nd_dl_export_opts, device))
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "the options' size field is %u, not sizeof(nd_dl_export_opts)",
                        (unsigned)opts->size);
    if (opts)
        o = *opts;
    if (o.copy < 0 || o.copy > ND_DL_COPY_NEVER)
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "copy is %d; if needed is 0, always 1, never 2",
                        (int)o.copy);
    ND_RETURN_IF(check_stream(op, a->storage->device, o.stream));
    ND_RETURN_IF(place(op, a, &o, copied, &placed));
    nd_status status = ND_OK;
    if (legacy && placed->flags & ND_FLAG_READONLY)
        status = nd__fail(ND_ERR_READONLY, op, 0,
                          "a DLPack tensor without version cannot say that the array is "
                          "read-only; ask for version 1.0 or later, or export a copy");
    if (status == ND_OK)
        status = order(op, placed, o.stream);
    if (status == ND_OK)
        status = new_record(op, placed, out);
    nd_release(placed);
    return status;
}

nd_status nd_dlpack_export(const nd_array *a, const nd_dl_export_opts *opts, nd_dl_managed **out)
{
    nd_dl_record *r;
    bool copied = false;
    ND_OUT("dlpack_export", 2, out, NULL);
    ND_RETURN_IF(export("dlpack_export", a, opts, false, &copied, &r));
    *out = versioned(r, copied);
    return ND_OK;
}

nd_status nd_dlpack_export_legacy(const nd_array *a, const nd_dl_export_opts *opts,
                                  nd_dl_legacy **out)
{
    nd_dl_record *r;
    bool copied = false;
    ND_OUT("dlpack_export_legacy", 2, out, NULL);
    ND_RETURN_IF(export("dlpack_export_legacy", a, opts, true, &copied, &r));
    r->form.legacy = (nd_dl_legacy){r->tensor, r, nd__dl_delete_legacy};
    *out = &r->form.legacy;
    return ND_OK;
}
