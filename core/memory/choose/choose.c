/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which backend a device's new blocks come from: the one that it begins with, and the swap of it at
 * any time (C22). A block goes back to the backend that made it. */
#include <strings.h>
#include "core/memory/conf/settings.h"
#include "core/memory/plain/plain.h"
#include "core/memory/pluggable/pluggable.h"
#include "core/base/env.h"

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

void nd__fork_backends_start(nd_fork now)
{
    nd__fork_mutex(&start_lock, now);
}

/* Whether NDOCK_NO_CACHE is on: "0", "off", "no", "false" and "" mean off, whatever else it holds
 * means on (C19). */
static bool no_cache(void)
{
    static const char *const off[] = {"", "0", "off", "no", "false"};
    const char *text = nd__env(ND_ENV_NO_CACHE);
    for (size_t i = 0; text && i < sizeof off / sizeof *off; i++)
        if (strcasecmp(text, off[i]) == 0)
            return false;
    return text != NULL;
}

static nd_status make_own(nd_device *device, int kind, nd_backend **out)
{
    static nd_status (*const create[])(nd_device * device, const nd_hooks *hooks,
                                       nd_backend **out) = {
        [ND_KIND_CACHING] = nd__caching_create,
        [ND_KIND_DEBUG] = nd__debug_create,
        [ND_KIND_NONE] = nd__single_create,
        [ND_KIND_ASYNC] = nd__ordered_create,
    };
    nd_hooks hooks;
    nd__device_hooks(device, &hooks);
    return create[kind](device, &hooks, out);
}

static nd_status first_backend(nd_device *device, nd_backend **out)
{
    int kind = no_cache() ? ND_KIND_NONE : nd__conf()->backend;
    if (kind == ND_KIND_ASYNC && !nd__ordered_serves(device)) /* the CPU is such a device */
        kind = ND_KIND_CACHING;
    return make_own(device, kind, out);
}

nd_status nd__device_backend_start(nd_device *device, nd_backend **out)
{
    nd__snapshot_from_environment();
    pthread_mutex_lock(&start_lock);
    nd_backend *backend = atomic_load(&device->backend);
    nd_status status = backend ? ND_OK : first_backend(device, &backend);
    if (status == ND_OK && !atomic_load(&device->backend)) {
        nd__backend_register(backend);
        atomic_store_explicit(&device->backend, backend, memory_order_release);
    }
    pthread_mutex_unlock(&start_lock);
    *out = status == ND_OK ? backend : NULL;
    return status;
}

static bool is_kind(const nd_backend *backend, const nd_allocator *a)
{
    if (a->kind == ND_KIND_PLUGGABLE)
        return backend->allocator == a;
    return !backend->allocator && strcmp(backend->type->name, nd__kind_names[a->kind]) == 0;
}

static nd_backend *find_backend(nd_device *device, const nd_allocator *a)
{
    nd_backend *backend = nd__backends();
    while (backend && (backend->device != device || !is_kind(backend, a)))
        backend = backend->next;
    return backend;
}

static nd_status make_pluggable(nd_device *device, nd_allocator *a, nd_backend **out)
{
    nd_hooks hooks;
    ND_RETURN_IF(nd__allocator_hooks(a, device, &hooks));
    nd_status status = nd__pluggable_create(device, &hooks, a, out);
    if (status != ND_OK)
        nd__allocator_hooks_release(&hooks);
    return status;
}

static nd_status make(nd_device *device, nd_allocator *a, nd_backend **out)
{
    if (a->kind == ND_KIND_PLUGGABLE)
        return make_pluggable(device, a, out);
    if (a->kind == ND_KIND_ASYNC && !nd__ordered_serves(device))
        return nd__fail(ND_ERR_UNSUPPORTED, "allocator_set", 1,
                        "%s does not allocate in stream order (group ndp.pool/1); caching, "
                        "debug and none serve every device",
                        device->name);
    return make_own(device, a->kind, out);
}

static nd_status refuse_capture(nd_device *device)
{
    if (atomic_load(&device->captures) == 0)
        return ND_OK;
    return nd__fail(ND_ERR_CAPTURE, "allocator_set", 0,
                    "a stream of %s is being captured: set the allocator before or after",
                    device->name);
}

nd_status nd_allocator_set(nd_device *device, nd_allocator *allocator)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    nd_status status;
    nd_backend *backend, *first;
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    if (!allocator)
        return nd__fail(ND_ERR_ARGUMENT, "allocator_set", 1,
                        "the allocator is NULL; nd_allocator_named(\"caching\") is the default");
    ND_RETURN_IF(refuse_capture(device));
    ND_RETURN_IF(nd__device_backend(device, &first)); /* so that the settings' own backend exists */
    pthread_mutex_lock(&lock);
    backend = find_backend(device, allocator);
    if (!backend && (status = make(device, allocator, &backend)) == ND_OK)
        nd__backend_register(backend);
    if (status == ND_OK)
        atomic_store_explicit(&device->backend, backend, memory_order_release);
    pthread_mutex_unlock(&lock);
    return status;
}

nd_status nd_pool_create(nd_device *device, const nd_pool_opts *opts, nd_pool **out)
{
    nd_status status = ND_OK;
    nd_backend *backend;
    ND_OUT("pool_create", 2, out, NULL);
    device = nd__or_current(device, &status);
    if (!device)
        return status;
    ND_RETURN_IF(nd__device_backend(device, &backend));
    return nd__caching_pool(backend, opts, out);
}
