/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Allocators as programs have them: made of their own functions (C21), loaded, or named. */
#include <dlfcn.h>
#include <stdlib.h>
#include "core/memory/pluggable/pluggable.h"

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
    a->kind = ND_KIND_PLUGGABLE;
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

/* The pair of functions that PyTorch takes. It lives as long as its library, which is for ever. */
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
    static nd_allocator own[] = {{.kind = ND_KIND_CACHING},
                                 {.kind = ND_KIND_DEBUG},
                                 {.kind = ND_KIND_NONE},
                                 {.kind = ND_KIND_ASYNC}};
    ND_OUT("allocator_named", 1, out, NULL);
    for (int i = 0; name && nd__kind_names[i]; i++)
        if (strcmp(name, nd__kind_names[i]) == 0) {
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
    /* The named allocators are static: they are counted, and nothing happens at 0. */
    if (!a || atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1 ||
        a->kind != ND_KIND_PLUGGABLE)
        return;
    if (a->table.alloc == pair_alloc)
        free(a->ctx);
    pthread_mutex_destroy(&a->lock);
    free(a);
}
