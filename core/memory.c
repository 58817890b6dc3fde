/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Storage: counted handles to device memory. Freed blocks are kept for the next allocation, small
 * ones per thread without a lock, large ones per device, since a fresh page costs more than most
 * operations. Blocks are reused in stream order, so pending work needs no waiting for. */
#include <stdlib.h>
#include "core/core.h"

#define SMALL_CLASSES 9 /* 64, 128, ... 16384 bytes */
#define SMALL_PER_CLASS 32
#define SMALL_DEVICES 4 /* devices with per-thread caches */
#define HEADERS_PER_THREAD 128

typedef struct {
    nd_storage *blocks[SMALL_DEVICES][SMALL_CLASSES];
    int count[SMALL_DEVICES][SMALL_CLASSES];
    nd_array *headers;
    int header_count;
} thread_cache;

ND_TLS thread_cache *cache;
static pthread_key_t cache_key;
static pthread_once_t cache_once = PTHREAD_ONCE_INIT;

static void destroy_storage(nd_storage *s)
{
    if (s->mem && !nd__forked()) {
        if (s->device->async)
            (void)s->device->p.sync(s->device->dev, NULL);
        s->device->p.free(s->device->dev, s->mem);
    } else if (s->mem && s->device->host_visible) {
        s->device->p.free(s->device->dev, s->mem); /* host memory stays usable in a forked child */
    }
    if (s->release)
        s->release(s->ctx);
    free(s);
}

static void cache_destroy(void *arg)
{
    thread_cache *c = arg;
    cache = NULL;
    for (int d = 0; d < SMALL_DEVICES; d++)
        for (int k = 0; k < SMALL_CLASSES; k++)
            while (c->blocks[d][k]) {
                nd_storage *s = c->blocks[d][k];
                c->blocks[d][k] = s->next;
                destroy_storage(s);
            }
    while (c->headers) {
        nd_array *a = c->headers;
        c->headers = a->next;
        free(a);
    }
    free(c);
}

static void cache_key_create(void)
{
    (void)pthread_key_create(&cache_key, cache_destroy);
}

static thread_cache *cache_get(void)
{
    if (cache)
        return cache;
    pthread_once(&cache_once, cache_key_create);
    cache = calloc(1, sizeof *cache);
    if (cache)
        (void)pthread_setspecific(cache_key, cache);
    return cache;
}

/* Class k of blocks up to 16 KiB: 64 << k bytes. */
static int small_class(uint64_t nbytes)
{
    return nbytes <= 64 ? 0 : 64 - 6 - __builtin_clzll(nbytes - 1);
}

/* Larger blocks: four classes per power of two, so at most a quarter is wasted. Class 0 is 16 KiB.
 */
static int large_class(uint64_t nbytes, uint64_t *rounded)
{
    int e = 63 - __builtin_clzll(nbytes - 1); /* 2^e < nbytes <= 2^(e+1) */
    uint64_t quarter = (uint64_t)1 << (e - 2),
             steps = (nbytes - ((uint64_t)1 << e) + quarter - 1) / quarter;
    *rounded = ((uint64_t)1 << e) + steps * quarter;
    return (e - 13) * 4 + (int)steps;
}

static nd_storage *large_pop(nd_device *device, int k)
{
    pthread_mutex_lock(&device->memory_lock);
    nd_storage *s = device->large[k];
    if (s) {
        device->large[k] = s->next;
        device->cached_bytes -= s->nbytes;
    }
    pthread_mutex_unlock(&device->memory_lock);
    return s;
}

static bool large_push(nd_storage *s)
{
    nd_device *device = s->device;
    int k = s->size_class - SMALL_CLASSES;
    pthread_mutex_lock(&device->memory_lock);
    bool fits = device->cached_bytes + s->nbytes <= device->cache_limit;
    if (fits) {
        s->next = device->large[k];
        device->large[k] = s;
        device->cached_bytes += s->nbytes;
    }
    pthread_mutex_unlock(&device->memory_lock);
    return fits;
}

bool nd__memory_trim(nd_device *device)
{
    bool any = false;
    for (int k = 0; k < ND_LARGE_CLASSES; k++)
        for (nd_storage *s; (s = large_pop(device, k)) != NULL; any = true)
            destroy_storage(s);
    return any;
}

static nd_status device_alloc(nd_device *device, uint64_t nbytes, ndp_mem **mem)
{
    nd_status status = device->p.alloc(device->dev, nbytes, mem);
    if (status == ND_ERR_MEMORY && nd__memory_trim(device))
        status = device->p.alloc(device->dev, nbytes, mem);
    if (status != ND_OK)
        nd__error_context("alloc", device->name, device->slot->name);
    return status;
}

static nd_storage *small_pop(nd_device *device, int k)
{
    thread_cache *c = device->ordinal < SMALL_DEVICES ? cache_get() : NULL;
    nd_storage *s = c ? c->blocks[device->ordinal][k] : NULL;
    if (s) {
        c->blocks[device->ordinal][k] = s->next;
        c->count[device->ordinal][k]--;
    }
    return s;
}

nd_status nd__storage_alloc(nd_device *device, uint64_t nbytes, nd_storage **out)
{
    bool small = nbytes <= 64u << (SMALL_CLASSES - 1);
    uint64_t rounded = nbytes;
    int k = small ? small_class(nbytes) : large_class(nbytes, &rounded);
    nd_storage *s = small                  ? small_pop(device, k)
                    : k < ND_LARGE_CLASSES ? large_pop(device, k)
                                           : NULL;
    *out = s;
    if (s) {
        s->used = nbytes;
        atomic_store_explicit(&s->refs, 1, memory_order_relaxed);
        return ND_OK;
    }
    rounded = small ? (uint64_t)64 << k : rounded;
    s = calloc(1, sizeof *s);
    if (!s)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1, "no %zu bytes for a storage handle", sizeof *s);
    nd_status status =
        nd__forked() && !device->host_visible
            ? nd__fail(ND_ERR_FORKED, "alloc", -1,
                       "%s cannot be used after fork; spawn a new process instead", device->name)
            : device_alloc(device, rounded, &s->mem);
    void *host = NULL;
    if (status == ND_OK && device->host_visible && device->map.map)
        status = device->map.map(device->dev, s->mem, &host);
    if (status != ND_OK) {
        if (s->mem)
            device->p.free(device->dev, s->mem);
        free(s);
        return status;
    }
    atomic_init(&s->refs, 1);
    s->size_class = small ? k : SMALL_CLASSES + k;
    s->device = device;
    s->host = host;
    s->nbytes = rounded;
    s->used = nbytes;
    *out = s;
    return ND_OK;
}

nd_status nd__storage_wrap(nd_device *device, void *ptr, uint64_t nbytes, void (*release)(void *),
                           void *ctx, nd_storage **out)
{
    *out = NULL;
    if (!device->map.wrap)
        return nd__fail(ND_ERR_UNSUPPORTED, "wrap", -1,
                        "%s has no addresses; copy with nd_from_host", device->name);
    nd_storage *s = calloc(1, sizeof *s);
    if (!s)
        return nd__fail(ND_ERR_MEMORY, "wrap", -1, "no %zu bytes for a storage handle", sizeof *s);
    nd_status status = device->map.wrap(device->dev, (uint64_t)(uintptr_t)ptr, nbytes, &s->mem);
    if (status != ND_OK) {
        nd__error_context("wrap", device->name, device->slot->name);
        free(s);
        return status;
    }
    atomic_init(&s->refs, 1);
    s->size_class = -1;
    s->device = device;
    s->host = device->host_visible ? ptr : NULL;
    s->nbytes = s->used = nbytes;
    s->release = release;
    s->ctx = ctx;
    *out = s;
    return ND_OK;
}

static bool small_push(nd_storage *s)
{
    int d = s->device->ordinal, k = s->size_class;
    thread_cache *c = d < SMALL_DEVICES ? cache_get() : NULL;
    if (!c || c->count[d][k] >= SMALL_PER_CLASS)
        return false;
    s->next = c->blocks[d][k];
    c->blocks[d][k] = s;
    c->count[d][k]++;
    return true;
}

void nd__storage_release(nd_storage *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    bool kept = s->size_class < 0 ? false
                : s->size_class < SMALL_CLASSES
                    ? small_push(s)
                    : s->size_class - SMALL_CLASSES < ND_LARGE_CLASSES && large_push(s);
    if (!kept)
        destroy_storage(s);
}

nd_array *nd__header_alloc(int ndim)
{
    thread_cache *c = ndim <= ND_SMALL_NDIM ? cache_get() : NULL;
    nd_array *a = c ? c->headers : NULL;
    int room = ndim <= ND_SMALL_NDIM ? ND_SMALL_NDIM : ndim;
    if (a) {
        c->headers = a->next;
        c->header_count--;
    } else {
        a = malloc(sizeof *a + 2 * sizeof(int64_t) * (size_t)room);
    }
    if (a) {
        a->ndim = ndim;
        a->shape = a->dims;
        a->stride = a->dims + room;
    }
    return a;
}

void nd__header_free(nd_array *a)
{
    thread_cache *c = a->ndim <= ND_SMALL_NDIM ? cache_get() : NULL;
    if (!c || c->header_count >= HEADERS_PER_THREAD) {
        free(a);
        return;
    }
    a->next = c->headers;
    c->headers = a;
    c->header_count++;
}
