/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A device's memory as a whole: sums over its backends, its own word, caps, giving back. */
#include "core/run/workspace.h"
#include "core/memory/memory.h"

/* Every backend the device has had counts: blocks live on after a swap of allocators (C22). */
static nd_status backends_of(const char *op, nd_device **device)
{
    nd_status status;
    nd_backend *backend;
    *device = nd__or_current(*device, &status);
    if (status == ND_OK)
        status = nd__device_backend(*device, &backend);
    if (status != ND_OK && *device)
        nd__error_context(op, (*device)->name, "");
    return status;
}

nd_status nd_memory_stats_get(nd_device *device, nd_memory_stats *out)
{
    nd_memory_stats sum = {.size = sizeof sum};
    if (!out || out->size < NDP_END(nd_memory_stats, zero))
        return nd__fail(ND_ERR_ARGUMENT, "memory_stats_get", 1,
                        "the record's size is %u: set it to sizeof(nd_memory_stats), %zu",
                        out ? (unsigned)out->size : 0, sizeof *out);
    ND_RETURN_IF(backends_of("memory_stats_get", &device));
    for (nd_backend *backend = nd__backends(); backend; backend = backend->next)
        if (backend->device == device) {
            nd_memory_stats one = {.size = sizeof one};
            backend->type->stats(backend, &one);
            nd__stats_sum(&sum, &one);
            sum.max_split_size = one.max_split_size;
        }
    nd__workspace_stats(device, &sum.workspace_bytes);
    nd__pinned_stats(device, &sum);
    sum.size = out->size < sizeof sum ? out->size : (uint32_t)sizeof sum;
    memcpy(out, &sum, sum.size);
    return ND_OK;
}

static nd_status reset(const char *op, nd_device *device, bool peak, bool accumulated)
{
    ND_RETURN_IF(backends_of(op, &device));
    for (nd_backend *backend = nd__backends(); backend; backend = backend->next)
        if (backend->device == device)
            backend->type->reset(backend, peak, accumulated);
    nd__workspace_reset(device, peak, accumulated);
    nd__pinned_reset(device, peak, accumulated);
    return ND_OK;
}

nd_status nd_memory_reset_peak(nd_device *device)
{
    return reset("memory_reset_peak", device, true, false);
}

nd_status nd_memory_reset_accumulated(nd_device *device)
{
    return reset("memory_reset_accumulated", device, false, true);
}

nd_status nd_memory_usage(nd_device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    nd_status status;
    nd_hooks h;
    ND_OUT("memory_usage", 1, free_bytes, 0);
    ND_OUT("memory_usage", 2, total_bytes, 0);
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    nd__device_hooks(device, &h);
    return h.usage ? h.usage(h.ctx, free_bytes, total_bytes) : (nd_status)ND_OK;
}

nd_status nd_memory_empty_cache(nd_device *device)
{
    ND_RETURN_IF(backends_of("memory_empty_cache", &device));
    if (atomic_load(&device->captures) > 0)
        return nd__fail(ND_ERR_CAPTURE, "memory_empty_cache", 0,
                        "a stream of %s is being captured; empty the cache before or after",
                        device->name);
    for (nd_backend *backend = nd__backends(); backend; backend = backend->next)
        if (backend->device == device && backend->type->empty_cache)
            ND_RETURN_IF(backend->type->empty_cache(backend));
    return ND_OK;
}

static void set_cap(nd_device *device, uint64_t nbytes)
{
    for (nd_backend *backend = nd__backends(); backend; backend = backend->next)
        if (backend->device == device && backend->type->cap_set)
            backend->type->cap_set(backend, nbytes);
}

nd_status nd_memory_cap_set(nd_device *device, uint64_t nbytes)
{
    ND_RETURN_IF(backends_of("memory_cap_set", &device));
    set_cap(device, nbytes);
    return ND_OK;
}

nd_status nd_memory_cap_set_fraction(nd_device *device, double fraction)
{
    uint64_t total = 0;
    if (!(fraction >= 0 && fraction <= 1))
        return nd__fail(ND_ERR_ARGUMENT, "memory_cap_set_fraction", 1,
                        "%g is not a fraction from 0 to 1", fraction);
    ND_RETURN_IF(backends_of("memory_cap_set_fraction", &device));
    for (nd_backend *backend = nd__backends(); backend; backend = backend->next)
        if (backend->device == device && backend->type->total)
            total = backend->type->total(backend);
    if (!total)
        return nd__fail(ND_ERR_UNSUPPORTED, "memory_cap_set_fraction", 0,
                        "%s does not say how much memory it has; set the cap in bytes by "
                        "nd_memory_cap_set",
                        device->name);
    /* A cap of 0 would be none; the smallest one that refuses everything is a byte. */
    uint64_t nbytes = (uint64_t)((double)total * fraction);
    set_cap(device, nbytes ? nbytes : 1);
    return ND_OK;
}
