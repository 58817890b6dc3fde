/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Weak stand-ins for what other branches bring, so that this one links; deleted when they meet. */
#include "core/memory/memory.h"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define WEAK __attribute__((weak))

static _Thread_local char tag[64];
WEAK const char *nd__tag(void)
{
    return tag;
}
WEAK void nd__stream_hold(nd_stream *s)
{
    (void)s;
}
WEAK void nd__stream_unhold(nd_stream *s)
{
    (void)s;
}
WEAK nd_status nd_stream_native(const nd_stream *s, uint64_t *out)
{
    *out = (uint64_t)(uintptr_t)(s ? s->handle : NULL);
    return ND_OK;
}
WEAK const nd_conf *nd__conf(void)
{
    static const nd_conf conf = {.quarantine_blocks = 256};
    return &conf;
}
WEAK nd_status nd_memory_conf_get(char **out)
{
    *out = strdup("");
    return ND_OK;
}
static nd_status not_here(void)
{
    return nd__fail(ND_ERR_UNSUPPORTED, "memory", -1, "not on this branch");
}
WEAK nd_status nd__caching_create(nd_device *device, const nd_hooks *hooks, nd_maker **out)
{
    return nd__single_create(device, hooks, out);
}
WEAK void nd__device_hooks(nd_device *device, nd_hooks *out)
{
    (void)device;
    *out = (nd_hooks){0};
}
WEAK nd_status nd__mem_write(nd_device *d, ndp_mem *mem, uint64_t offset, const void *src,
                             uint64_t n)
{
    return d->p.write(d->dev, NULL, mem, offset, src, n);
}
WEAK nd_status nd__mem_read(nd_device *d, ndp_mem *mem, uint64_t offset, void *dst, uint64_t n)
{
    return d->p.read(d->dev, NULL, mem, offset, dst, n);
}
WEAK bool nd__run_free_callbacks(nd_device *device, uint64_t nbytes)
{
    (void)device;
    (void)nbytes;
    return false;
}
WEAK void nd__run_oom_observers(nd_device *device, uint64_t nbytes)
{
    (void)device;
    (void)nbytes;
}
WEAK nd_status nd_memory_stats_get(nd_device *device, nd_memory_stats *out)
{
    (void)device;
    (void)out;
    return not_here();
}
WEAK nd_status nd_memory_usage(nd_device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)device;
    *free_bytes = *total_bytes = 0;
    return not_here();
}
WEAK void nd__snapshot_from_environment(void) {}
WEAK nd_status nd_tag_push(const char *text)
{
    strncpy(tag, text, sizeof tag - 1);
    return ND_OK;
}
WEAK nd_status nd_tag_pop(void)
{
    tag[0] = 0;
    return ND_OK;
}
WEAK nd_status nd_stream_current(nd_device *device, nd_stream **out)
{
    (void)device;
    *out = NULL;
    return ND_OK;
}
