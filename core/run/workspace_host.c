/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Workspaces for plug-ins: which of the device's streams a handle means, and no caching in a
 * capture. */
#include "core/run/workspace.h"

_Thread_local bool nd__in_run;
/* What run() lacked: made when the stream's lock is free again. */
typedef struct {
    nd_device *device;
    const void *handle;
    uint64_t stream_id, nbytes;
} request;
ND_TLS request wanted;

/* In run() it is the thread's own stream, and no lock is needed (its own is held). */
static nd_status stream_id_of(nd_device *d, ndp_stream *handle, uint64_t *id)
{
    const nd_stream *s = nd__stream(d);
    if (!s && !handle) {
        *id = 0;
        return ND_OK;
    }
    if (!s || s->handle != handle) {
        pthread_mutex_lock(&d->stream_lock);
        for (s = d->streams; s && s->handle != handle;)
            s = s->next;
        *id = s ? s->id : 0;
        pthread_mutex_unlock(&d->stream_lock);
        return s ? ND_OK
                 : nd__fail(ND_ERR_STATE, "workspace", 2, "%p is no live stream of %s",
                            (void *)handle, d->name);
    }
    *id = s->id;
    return ND_OK;
}

static bool captures(nd_device *d, ndp_stream *stream)
{
    int32_t status = NDP_CAPTURE_NONE;
    uint64_t id = 0;
    return d->has_graph && d->graph.info(d->dev, stream, &status, &id) == ND_OK &&
           status != NDP_CAPTURE_NONE;
}

nd_status nd__workspace_make_wanted(bool *made)
{
    ndh_workspace *w = NULL;
    const request r = wanted;
    wanted = (request){0};
    *made = r.device != NULL;
    if (!*made)
        return ND_OK;
    ND_RETURN_IF(nd__workspace_acquire(r.device, r.handle, r.stream_id, r.nbytes, &w));
    nd__workspace_release(w);
    return ND_OK;
}

/* The allocator may record events on streams, whose locks it takes, and run() is called with one
 * held: so what is not there yet is made between two calls of run(). */
static nd_status acquire(nd_device *d, const void *handle, uint64_t id, uint64_t nbytes,
                         ndh_workspace **out)
{
    if (!nd__in_run)
        return nd__workspace_acquire(d, handle, id, nbytes, out);
    *out = nd__workspace_find(d, handle, id, nbytes);
    if (*out)
        return ND_OK;
    wanted = (request){d, handle, id, nbytes};
    return nd__fail(
        ND_ERR_NOT_READY, "workspace", -1,
        "a workspace of %llu bytes is made when run() returns this status, and run() is "
        "called again",
        (unsigned long long)nbytes);
}

static int32_t service_acquire(void *ctx, ndp_dev *dev, const void *handle, ndp_stream *stream,
                               uint64_t nbytes, ndh_workspace **out, ndp_mem **mem,
                               uint64_t *offset_bytes)
{
    nd_device *device;
    uint64_t id;
    *out = NULL;
    *mem = NULL;
    *offset_bytes = 0;
    ND_RETURN_IF(nd__host_device(ctx, dev, &device));
    ND_RETURN_IF(stream_id_of(device, stream, &id));
    if (captures(device, stream))
        return nd__fail(ND_ERR_CAPTURE, "workspace", 2,
                        "a stream of %s is being captured: a graph's workspace must be its own, so "
                        "ask for it as the kernel's scratch",
                        device->name);
    ND_RETURN_IF(acquire(device, handle, id, nbytes, out));
    *mem = nd__workspace_storage(*out)->mem;
    *offset_bytes = nd__workspace_storage(*out)->base;
    return ND_OK;
}

static void service_release(void *ctx, ndh_workspace *w)
{
    (void)ctx;
    nd__workspace_release(w);
}

static void service_handle_gone(void *ctx, ndp_dev *dev, const void *handle)
{
    nd_device *device;
    if (nd__host_device(ctx, dev, &device) == ND_OK)
        nd__workspace_handle_gone(device, handle);
}

static int32_t service_parse(void *ctx, const char *text, uint64_t *nbytes)
{
    (void)ctx;
    return nd__workspace_parse(text, nbytes);
}

static uint64_t service_default(void *ctx, int32_t major)
{
    (void)ctx;
    return nd__workspace_default(major);
}

const ndh_workspace_1 nd__workspace_service = {
    .size = sizeof(ndh_workspace_1),
    .acquire = service_acquire,
    .release = service_release,
    .handle_gone = service_handle_gone,
    .parse = service_parse,
    .default_nbytes = service_default,
};
