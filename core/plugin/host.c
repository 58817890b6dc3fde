/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The services a plug-in gets from the core. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "core/plugin/device.h"
#include "core/plugin/param.h"

static int32_t host_error(void *ctx, int32_t status, int64_t native, const char *fmt, ...)
{
    nd_plugin_slot *slot = ctx;
    char text[768];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    nd__fail(status, NULL, -1, "%s", text);
    nd__error_native(native);
    nd__error_context(NULL, NULL, slot->name);
    return status;
}

static void host_log(void *ctx, int32_t level, const char *fmt, ...)
{
    nd_plugin_slot *slot = ctx;
    char text[768];
    va_list ap;
    if (!nd__log_wants(level))
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    nd__log(level, "%s: %s", slot->name, text);
}

static void *host_alloc(void *ctx, size_t nbytes, size_t align)
{
    void *p = NULL;
    (void)ctx;
    return posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align,
                          nbytes ? nbytes : 1) == 0
               ? p
               : NULL;
}

static void host_free(void *ctx, void *p)
{
    (void)ctx;
    free(p);
}

static int32_t host_reclaim(void *ctx, ndp_dev *dev, uint64_t need_bytes)
{
    nd_plugin_slot *slot = ctx;
    (void)need_bytes;
    for (nd_device *d = slot->devices; d; d = d->next)
        if (d->dev == dev)
            return nd__on_memory_wanted(d);
    return 0;
}

static const ndp_plugin *host_plugin(void *ctx, const char *name)
{
    nd_plugin_slot *slot = NULL;
    (void)ctx;
    return nd__registry_slot(name, &slot) == ND_OK && slot ? slot->table : NULL;
}

nd_status nd__host_device(const nd_plugin_slot *slot, const ndp_dev *dev, nd_device **out)
{
    *out = slot->devices;
    while (*out && (*out)->dev != dev)
        *out = (*out)->next;
    return *out ? ND_OK
                : nd__fail(ND_ERR_DEVICE, NULL, -1, "%p is no open device of plug-in %s",
                           (const void *)dev, slot->name);
}

static const void *host_service(void *ctx, const char *id)
{
    (void)ctx;
    return id ? nd__on_service_asked(id) : NULL;
}

void nd__host_init(nd_plugin_slot *slot)
{
    nd__params_candidate(slot->name);
    slot->host = (ndp_host){
        .size = sizeof(ndp_host),
        .major = NDP_ABI_MAJOR,
        .minor = NDP_ABI_MINOR,
        .ctx = slot,
        .error = host_error,
        .log = host_log,
        .alloc = host_alloc,
        .free = host_free,
        .param = nd__host_param,
        .reclaim = host_reclaim,
        .plugin = host_plugin,
        .service = host_service,
    };
}
