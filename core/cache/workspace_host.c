/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Workspaces for plug-ins: which of the device's streams a handle means, and no caching in a
 * capture. */
#include "core/cache/cache.h"

static nd_status stream_id_of(nd_device *device, ndp_stream *handle, uint64_t *id)
{
    *id = 0;
    return !handle ? ND_OK
                   : nd__fail(ND_ERR_STATE, "workspace", 2, "%p is no live stream of %s",
                              (void *)handle, device->name);
}

static bool captures(nd_device *d, ndp_stream *stream)
{
    const ndp_graph_1 *g = d->p.group ? d->p.group(d->dev, "ndp.graph/1") : NULL;
    int32_t status = NDP_CAPTURE_NONE;
    uint64_t id = 0;
    return g && g->size >= NDP_END(ndp_graph_1, info) &&
           g->info(d->dev, stream, &status, &id) == ND_OK && status != NDP_CAPTURE_NONE;
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
    if (captures(device, stream))
        return nd__fail(ND_ERR_CAPTURE, "workspace", 2,
                        "a stream of %s is being captured: a graph's workspace must be its own, so "
                        "ask for it as the kernel's scratch",
                        device->name);
    ND_RETURN_IF(stream_id_of(device, stream, &id));
    ND_RETURN_IF(nd__workspace_acquire(device, handle, id, nbytes, out));
    *mem = nd__workspace_storage(*out)->mem;
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
