/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Allocators of other people (C21): their pointers as device memory, and the swap of a device's
 * allocator at any time (C22): a block goes back to the maker that made it. */
#include <dlfcn.h>
#include <stdlib.h>
#include "core/memory/plain/plain.h"

enum { CACHING, DEBUG, NONE, ASYNC, FOREIGN };
struct nd_allocator {
    atomic_int refs; /* its users, each device that has a maker of it, each nd_hooks of it */
    int kind;
    nd_allocator_table table; /* FOREIGN */
    void *ctx;
    pthread_mutex_t lock; /* of the start, so that init is called once */
    bool started;
};

/* ---- creation ---- */
static nd_status new_allocator(const nd_allocator_table *table, void *ctx, nd_allocator **out)
{
    nd_allocator *a = calloc(1, sizeof *a);
    if (!a)
        return nd__fail(ND_ERR_MEMORY, "allocator_create", -1, "no %zu bytes for an allocator",
                        sizeof *a);
    size_t given = table->size < sizeof a->table ? table->size : sizeof a->table;
    atomic_init(&a->refs, 1);
    memcpy(&a->table, table, given);
    a->ctx = ctx;
    a->kind = FOREIGN;
    pthread_mutex_init(&a->lock, NULL);
    *out = a;
    return ND_OK;
}

nd_status nd_allocator_create(const nd_allocator_table *table, void *ctx, nd_allocator **out)
{
    ND_OUT("allocator_create", 2, out, NULL);
    if (!table)
        return nd__fail(ND_ERR_ARGUMENT, "allocator_create", 0, "the table is NULL");
    if (table->size < NDP_END(nd_allocator_table, free))
        return nd__fail(ND_ERR_ARGUMENT, "allocator_create", 0,
                        "the table's size is %u: set it to sizeof(nd_allocator_table), %zu",
                        (unsigned)table->size, sizeof *table);
    if (!table->alloc || !table->free)
        return nd__fail(ND_ERR_ARGUMENT, "allocator_create", 0, "the table has no %s function",
                        table->alloc ? "free" : "alloc");
    return new_allocator(table, ctx, out);
}

/* PyTorch's pair; it lives as long as its library, which is for ever. */
typedef struct {
    void *(*alloc)(ssize_t nbytes, int device, void *stream);
    void (*free)(void *ptr, ssize_t nbytes, int device, void *stream);
} pair;

static void *pair_alloc(void *ctx, int64_t nbytes, int32_t device, void *stream)
{
    return ((const pair *)ctx)->alloc((ssize_t)nbytes, device, stream);
}

static void pair_free(void *ctx, void *ptr, int64_t nbytes, int32_t device, void *stream)
{
    ((const pair *)ctx)->free(ptr, (ssize_t)nbytes, device, stream);
}

static nd_status symbol(void *library, const char *path, const char *name, void **out)
{
    *out = dlsym(library, name);
    if (*out)
        return ND_OK;
    return nd__fail(ND_ERR_PLUGIN, "allocator_load", -1, "%s has no symbol \"%s\"", path, name);
}

static nd_status load_pair(void *library, const char *path, const char *alloc_symbol,
                           const char *free_symbol, nd_allocator **out)
{
    const nd_allocator_table table = {.size = sizeof table, .alloc = pair_alloc, .free = pair_free};
    void *alloc, *release;
    ND_RETURN_IF(symbol(library, path, alloc_symbol, &alloc));
    ND_RETURN_IF(symbol(library, path, free_symbol, &release));
    pair *p = malloc(sizeof *p);
    if (!p)
        return nd__fail(ND_ERR_MEMORY, "allocator_load", -1, "no %zu bytes", sizeof *p);
    memcpy(&p->alloc, &alloc, sizeof alloc); /* ISO C has no cast between the two */
    memcpy(&p->free, &release, sizeof release);
    nd_status status = nd_allocator_create(&table, p, out);
    if (status != ND_OK)
        free(p);
    return status;
}

nd_status nd_allocator_load(const char *path, const char *alloc_symbol, const char *free_symbol,
                            nd_allocator **out)
{
    void *table;
    ND_OUT("allocator_load", 3, out, NULL);
    if (!path || !alloc_symbol)
        return nd__fail(ND_ERR_ARGUMENT, "allocator_load", path ? 1 : 0, "%s is NULL",
                        path ? "the symbol of alloc" : "the path");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        const char *why = dlerror();
        return nd__fail(ND_ERR_PLUGIN, "allocator_load", 0, "%s", why ? why : path);
    }
    if (free_symbol)
        return load_pair(library, path, alloc_symbol, free_symbol, out);
    ND_RETURN_IF(symbol(library, path, alloc_symbol, &table));
    return nd_allocator_create(table, NULL, out);
}

nd_status nd_allocator_named(const char *name, nd_allocator **out)
{
    static nd_allocator own[] = {
        {.kind = CACHING}, {.kind = DEBUG}, {.kind = NONE}, {.kind = ASYNC}};
    static const char *const names[] = {"caching", "debug", "none", "async"};
    ND_OUT("allocator_named", 1, out, NULL);
    for (int i = 0; name && i < 4; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = nd_allocator_retain(&own[i]);
            return ND_OK;
        }
    return nd__fail(ND_ERR_ARGUMENT, "allocator_named", 0,
                    "there is no allocator \"%s\": the names are caching, debug, none and "
                    "async",
                    name ? name : "(NULL)");
}

nd_allocator *nd_allocator_retain(nd_allocator *a)
{
    if (a)
        atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
    return a;
}

void nd_allocator_release(nd_allocator *a)
{
    /* The named ones are static: they count, and nothing happens at 0. */
    if (!a || atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1 ||
        a->kind != FOREIGN)
        return;
    if (a->table.alloc == pair_alloc)
        free(a->ctx);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* ---- hooks over a foreign allocator ---- */
enum { BUCKETS = 256 };
typedef struct owned {
    ndp_mem *mem;
    void *ptr;
    struct owned *next;
} owned;
typedef struct {
    nd_hooks device; /* what the allocator does not do */
    nd_device *of;
    nd_allocator *allocator; /* counted */
    pthread_mutex_t lock;
    owned *table[BUCKETS];
} foreign;

static size_t bucket(const ndp_mem *mem)
{
    return (size_t)((uintptr_t)mem >> 4) % BUCKETS;
}

static void *native(const nd_stream *stream)
{
    uint64_t handle = 0;
    if (stream && nd_stream_native(stream, &handle) != ND_OK)
        handle = 0;
    return (void *)(uintptr_t)handle;
}

static nd_status adopt(foreign *f, void *ptr, uint64_t nbytes, ndp_mem **mem)
{
    nd_device *d = f->of;
    owned *o = malloc(sizeof *o);
    if (!o)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1, "no %zu bytes for a record", sizeof *o);
    nd_status status = d->map.wrap(d->dev, (uint64_t)(uintptr_t)ptr, nbytes, mem);
    if (status != ND_OK) {
        nd__error_context("alloc", d->name, d->slot ? d->slot->name : "");
        free(o);
        return status;
    }
    size_t k = bucket(*mem);
    o->mem = *mem;
    o->ptr = ptr;
    pthread_mutex_lock(&f->lock);
    o->next = f->table[k];
    f->table[k] = o;
    pthread_mutex_unlock(&f->lock);
    return ND_OK;
}

static nd_status foreign_alloc(void *ctx, nd_stream *stream, uint64_t nbytes, ndp_mem **mem,
                               char **host)
{
    foreign *f = ctx;
    const nd_allocator_table *t = &f->allocator->table;
    int32_t index = (int32_t)f->of->index;
    *mem = NULL;
    *host = NULL;
    void *ptr = nbytes <= INT64_MAX
                    ? t->alloc(f->allocator->ctx, (int64_t)nbytes, index, native(stream))
                    : NULL;
    if (!ptr)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1,
                        "the allocator set for %s returned NULL for %llu bytes", f->of->name,
                        (unsigned long long)nbytes);
    nd_status status = adopt(f, ptr, nbytes, mem);
    if (status != ND_OK)
        t->free(f->allocator->ctx, ptr, (int64_t)nbytes, index, native(stream));
    else if (f->of->host_visible)
        *host = ptr;
    return status;
}

static void foreign_free(void *ctx, nd_stream *stream, ndp_mem *mem, uint64_t nbytes)
{
    foreign *f = ctx;
    pthread_mutex_lock(&f->lock);
    owned **at = &f->table[bucket(mem)];
    while ((*at)->mem != mem)
        at = &(*at)->next;
    owned *o = *at;
    *at = o->next;
    pthread_mutex_unlock(&f->lock);
    nd__hazard_gone(mem);
    f->of->p.free(f->of->dev, mem); /* the handle alone */
    f->allocator->table.free(f->allocator->ctx, o->ptr, (int64_t)nbytes, (int32_t)f->of->index,
                             native(stream));
    free(o);
}

static nd_status pass_record(void *ctx, nd_stream *stream, ndp_event **out)
{
    const nd_hooks *h = &((foreign *)ctx)->device;
    return h->record(h->ctx, stream, out);
}
static nd_status pass_query(void *ctx, ndp_event *event, int32_t *done)
{
    const nd_hooks *h = &((foreign *)ctx)->device;
    return h->query(h->ctx, event, done);
}
static nd_status pass_wait(void *ctx, nd_stream *stream, ndp_event *event)
{
    const nd_hooks *h = &((foreign *)ctx)->device;
    return h->wait(h->ctx, stream, event);
}
static nd_status pass_synchronize(void *ctx, ndp_event *event)
{
    const nd_hooks *h = &((foreign *)ctx)->device;
    return h->synchronize(h->ctx, event);
}
static void pass_give_back(void *ctx, ndp_event *event)
{
    const nd_hooks *h = &((foreign *)ctx)->device;
    h->give_back(h->ctx, event);
}
static uint64_t pass_capture_id(void *ctx, nd_stream *stream)
{
    const nd_hooks *h = &((foreign *)ctx)->device;
    return h->capture_id ? h->capture_id(h->ctx, stream) : 0;
}
static nd_status pass_usage(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const nd_hooks *h = &((foreign *)ctx)->device;
    return h->usage(h->ctx, free_bytes, total_bytes);
}

static const nd_hooks foreign_hooks = {
    .segment_alloc = foreign_alloc,
    .segment_free = foreign_free,
    .record = pass_record,
    .query = pass_query,
    .wait = pass_wait,
    .synchronize = pass_synchronize,
    .give_back = pass_give_back,
    .capture_id = pass_capture_id,
    .usage = pass_usage,
};

/* init(device count) once, with all devices of the plug-in. */
static nd_status start(nd_allocator *a, nd_device *device)
{
    nd_status status = ND_OK;
    pthread_mutex_lock(&a->lock);
    if (!a->started && a->table.init) {
        int32_t count = device->slot ? (int32_t)device->slot->device_count : 1;
        int32_t failed = a->table.init(a->ctx, count);
        if (failed)
            status =
                nd__fail(ND_ERR_PLUGIN, "allocator", -1,
                         "the allocator's init(%d devices) returned %d", (int)count, (int)failed);
    }
    a->started |= status == ND_OK;
    pthread_mutex_unlock(&a->lock);
    return status;
}

nd_status nd__allocator_hooks(nd_allocator *a, nd_device *device, nd_hooks *out)
{
    memset(out, 0, sizeof *out);
    if (a->kind != FOREIGN)
        return nd__fail(ND_ERR_ARGUMENT, "allocator", -1,
                        "segments come from the device or from an allocator of one's own, not from "
                        "a named one");
    if (!device->map.wrap)
        return nd__fail(ND_ERR_UNSUPPORTED, "allocator", -1,
                        "%s cannot use memory by its address (group ndp.map/1), so other "
                        "allocators cannot serve it",
                        device->name);
    ND_RETURN_IF(start(a, device));
    foreign *f = calloc(1, sizeof *f);
    if (!f)
        return nd__fail(ND_ERR_MEMORY, "allocator", -1, "no %zu bytes", sizeof *f);
    nd__device_hooks(device, &f->device);
    f->of = device;
    f->allocator = nd_allocator_retain(a);
    pthread_mutex_init(&f->lock, NULL);
    *out = foreign_hooks;
    out->ctx = f;
    if (!f->device.usage)
        out->usage = NULL;
    if (!f->device.record) /* a device without events */
        out->record = NULL;
    return ND_OK;
}

void nd__allocator_hooks_release(nd_hooks *hooks)
{
    foreign *f = hooks->ctx;
    if (!f)
        return;
    nd_allocator_release(f->allocator);
    pthread_mutex_destroy(&f->lock);
    free(f);
    hooks->ctx = NULL;
}

/* ---- optional slots ---- */
static void *pointer_of(foreign *f, const ndp_mem *mem)
{
    pthread_mutex_lock(&f->lock);
    owned *o = f->table[bucket(mem)];
    while (o && o->mem != mem)
        o = o->next;
    void *ptr = o ? o->ptr : NULL;
    pthread_mutex_unlock(&f->lock);
    return ptr;
}

bool nd__allocator_record_stream(nd_block *block, nd_stream *stream)
{
    foreign *f = block->maker->hooks.ctx;
    const nd_allocator_table *t = &f->allocator->table;
    if (!t->record_stream)
        return false;
    t->record_stream(f->allocator->ctx, pointer_of(f, block->mem), native(stream));
    return true;
}

void nd__allocator_fork(nd_maker *m, nd_fork now)
{
    nd__fork_mutex(&((foreign *)m->hooks.ctx)->lock, now);
}

bool nd__allocator_reserved(nd_maker *m, uint64_t *reserved)
{
    foreign *f = m->hooks.ctx;
    const nd_allocator_table *t = &f->allocator->table;
    uint64_t allocated;
    return t->stats &&
           t->stats(f->allocator->ctx, (int32_t)f->of->index, &allocated, reserved) == 0;
}

nd_status nd__allocator_pool(nd_allocator *a, nd_device *device, uint64_t pool, bool begin)
{
    int32_t (*fn)(void *, int32_t, uint64_t) = begin ? a->table.begin_pool : a->table.end_pool;
    int32_t failed = fn ? fn(a->ctx, (int32_t)device->index, pool) : 0;
    if (failed)
        return nd__fail(ND_ERR_PLUGIN, "allocator", -1, "the allocator's %s_pool(%llu) returned %d",
                        begin ? "begin" : "end", (unsigned long long)pool, (int)failed);
    return ND_OK;
}

/* ---- the device's maker ---- */
static bool is_kind(const nd_maker *m, const nd_allocator *a)
{
    static const char *const types[] = {
        [CACHING] = "caching", [DEBUG] = "debug", [NONE] = "none", [ASYNC] = "async"};
    if (a->kind == FOREIGN)
        return m->allocator == a;
    return !m->allocator && strcmp(m->type->name, types[a->kind]) == 0;
}

static nd_maker *find_maker(nd_device *device, const nd_allocator *a)
{
    nd_maker *m = nd__makers();
    while (m && (m->device != device || !is_kind(m, a)))
        m = m->next;
    return m;
}

static nd_status make(nd_device *device, nd_allocator *a, nd_maker **out)
{
    nd_hooks hooks;
    if (a->kind == FOREIGN) {
        ND_RETURN_IF(nd__allocator_hooks(a, device, &hooks));
        nd_status status = nd__foreign_create(device, &hooks, a, out);
        if (status != ND_OK)
            nd__allocator_hooks_release(&hooks);
        return status;
    }
    nd__device_hooks(device, &hooks);
    if (a->kind == ASYNC)
        return nd__ordered_serves(device)
                   ? nd__ordered_create(device, &hooks, out)
                   : nd__fail(ND_ERR_UNSUPPORTED, "allocator_set", 1,
                              "%s does not allocate in stream order (group ndp.pool/1); caching, "
                              "debug and none serve every device",
                              device->name);
    return a->kind == CACHING ? nd__caching_create(device, &hooks, out)
           : a->kind == DEBUG ? nd__debug_create(device, &hooks, out)
                              : nd__single_create(device, &hooks, out);
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
    nd_maker *m, *first;
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    if (!allocator)
        return nd__fail(ND_ERR_ARGUMENT, "allocator_set", 1,
                        "the allocator is NULL; nd_allocator_named(\"caching\") is the default");
    ND_RETURN_IF(refuse_capture(device));
    ND_RETURN_IF(nd__device_maker(device, &first)); /* so that the settings' own exists */
    pthread_mutex_lock(&lock);
    m = find_maker(device, allocator);
    if (!m && (status = make(device, allocator, &m)) == ND_OK)
        nd__maker_register(m);
    if (status == ND_OK)
        atomic_store_explicit(&device->maker, m, memory_order_release);
    pthread_mutex_unlock(&lock);
    return status;
}
