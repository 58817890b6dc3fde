/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The CUDA Array Interface as a producer: nd_cai_export. */
#include <stdio.h>
#include "core/interop/interop.h"

static const char op[] = "cai_export";

static nd_status check(const nd_array *a, const nd_cai_export_opts *opts, const nd_cai *out)
{
    ND_RETURN_IF(nd__check_array(op, a, 0));
    if (!out || out->size < NDP_END(nd_cai, room))
        return nd__fail(ND_ERR_ARGUMENT, op, 2,
                        "the description is NULL, or its size field is not sizeof(nd_cai)");
    if (opts && opts->size < NDP_END(nd_cai_export_opts, flags))
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "the options' size field is %u, not sizeof(nd_cai_export_opts)",
                        (unsigned)opts->size);
    if (opts && (opts->policy < 0 || opts->policy > ND_CAI_EXPORT_SYNC))
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "%d is no policy: default is 0, stream 1, none 2, sync 3",
                        (int)opts->policy);
    const nd_device *d = a->storage->device;
    return d->host_visible
               ? nd__fail(ND_ERR_UNSUPPORTED, op, 0,
                          "the array is in host memory (%s); use nd_data or DLPack", d->name)
               : (nd_status)ND_OK;
}

static nd_status name_dtype(nd_dtype dtype, uint32_t flags, nd_cai *out)
{
    out->dtype[0] = 0;
    nd_status status = nd_typestr(dtype, out->typestr);
    if (status != ND_ERR_DTYPE || !(flags & ND_CAI_VENDOR_DTYPES))
        return status;
    snprintf(out->typestr, sizeof out->typestr, "<V%d", (int)nd_dtype_size(dtype));
    snprintf(out->dtype, sizeof out->dtype, "%s", nd_dtype_name(dtype));
    return ND_OK;
}

static void lay_out(const nd_array *a, nd_cai *out)
{
    int64_t item = nd__itemsize(a->dtype);
    out->ndim = a->ndim;
    out->shape = a->shape;
    out->strides = a->size == 0 || a->flags & ND_FLAG_CONTIGUOUS ? NULL : out->room;
    for (int d = 0; out->strides && d < a->ndim; d++)
        out->room[d] = a->stride[d] * item;
}

/* Of imported memory the producer's, behind which our uses lie already unless it does not follow
 * us; of our own the thread's current one. */
static nd_status name_stream(nd_storage *storage, int64_t *out)
{
    bool pending;
    uint64_t handle;
    nd_device *d = storage->device;
    nd_stream *current = NULL, *producer = nd__producer(storage);
    ND_RETURN_IF(nd_stream_current(d, &current));
    nd_stream *s = producer ? producer : current;
    nd_status status = nd__join_users(op, storage, s, true, &pending);
    if (status == ND_OK && (pending || producer)) {
        status = nd__stream_handle(s, &handle);
        if (status == ND_OK)
            status = nd__lend_stream(op, storage, s);
        if (status == ND_OK)
            *out = (int64_t)handle;
    }
    nd_stream_release(current);
    return status;
}

nd_status nd_cai_export(const nd_array *a, const nd_cai_export_opts *opts, nd_cai *out)
{
    ND_RETURN_IF(check(a, opts, out));
    nd_storage *storage = a->storage;
    int32_t policy = opts && opts->policy ? opts->policy : nd_cai_export_policy();
    out->version = ND_CAI_VERSION;
    out->stream = ND_CAI_NO_STREAM;
    out->flags = a->flags & ND_FLAG_READONLY ? ND_CAI_READ_ONLY : 0;
    ND_RETURN_IF(name_dtype(a->dtype, opts ? opts->flags : 0, out));
    ND_RETURN_IF(nd__address(op, a, &out->data));
    lay_out(a, out);
    if (policy == ND_CAI_EXPORT_NONE || !storage->device->async || a->size == 0)
        return ND_OK;
    ND_RETURN_IF(nd__usable(storage->device, op));
    if (policy == ND_CAI_EXPORT_SYNC || !storage->device->has_stream)
        return nd__wait_users(op, storage);
    return name_stream(storage, &out->stream);
}
