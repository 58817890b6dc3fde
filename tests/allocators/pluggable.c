/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Allocators from a .so (C21), and swapping a device's allocator at any time (C22). */
#include <dlfcn.h>
#include "core/memory/pluggable/pluggable.h"
#include "tests/allocators/mock.h"

static struct {
    int allocs, frees, device, inits, records, pools;
    long long last_size, in_use, refuse_above;
    void *stream;
} * record;

static const char *library(void)
{
    const char *path = getenv("NDOCK_TEST_PAIR");
    return path ? path : "tests/allocators/.libs/pair.so";
}

static void reset(void)
{
    void *so = dlopen(library(), RTLD_NOW);
    if (!so)
        bail(dlerror());
    record = dlsym(so, "pair_record");
    memset(record, 0, sizeof *record);
}

static nd_block *take(mock *m, mock_stream *s, uint64_t n)
{
    nd_backend *backend;
    nd_block *b;
    must(nd__device_backend(&m->device, &backend));
    must(backend->type->alloc(backend, s ? &s->s : NULL, n, &b));
    return b;
}

static void give(nd_block *b)
{
    b->backend->type->free(b);
}

static void loaded(void)
{
    mock *m = mock_device(0);
    mock_stream *s = mock_stream_new(m, 3), *t = mock_stream_new(m, 4);
    nd_allocator *a;
    m->device.index = 1;
    reset();
    nd_allocator *own;
    must(nd_allocator_load(library(), "my_malloc", "my_free", &a));
    must(nd_allocator_named("none", &own));
    must(nd_allocator_set(&m->device, own));
    nd_block *before = take(m, NULL, 100);
    must(nd_allocator_set(&m->device, a));
    nd_block *b = take(m, s, 1001);
    is_int(record->allocs, 1, "C21: the pair's alloc");
    is_int(record->last_size, 1001, "C21: with the size, not rounded");
    is_int(record->device, 1, "C21: the device's number");
    ok(record->stream == (void *)0x1003, "C21: and the stream's handle");
    ok(b->host && b->mem->p == b->host, "C21: its pointer is the block");
    memset(b->host, 1, 1001);
    give(before);
    is_int(record->frees, 0, "C22: a block goes back to the backend that made it");
    is_int(m->frees, 1, "C22: the device's own");
    mock_work(s);
    must(b->backend->type->record_stream(b, &t->s));
    mock_work(t);
    give(b);
    mock_finish(s);
    must(b->backend->type->empty_cache(b->backend));
    is_int(record->frees, 0, "C7: a block that another stream uses is not given to free yet");
    mock_finish(t);
    give(take(m, s, 8));
    is_int(record->frees, 2, "C7: it is when the stream is done");
    is_int(record->in_use, 0, "C21: with its size");
    b = take(m, s, 16);
    nd_allocator_release(a);
    must(nd_allocator_set(&m->device, own));
    nd_block *c = take(m, s, 16);
    is_int(record->allocs, 3, "C22: back to the device's own");
    give(b);
    is_int(record->frees, 3, "C22: after the swap the pair still frees its own block");
    give(c);
    is_int(m->in_use, 0, "and the device its own");
    nd_allocator_release(own);
    must(nd_allocator_named("debug", &own));
    must(nd_allocator_set(&m->device, own));
    give(take(m, s, 16));
    is_int(m->in_use, 1536, "C20: debug by name");
    nd_backend *backend;
    must(nd__device_backend(&m->device, &backend));
    must(backend->type->empty_cache(backend));
    must(nd_allocator_named("caching", &own));
    must(nd_allocator_set(&m->device, own));
    must(nd__device_backend(&m->device, &backend));
    is_str(backend->type->name, "caching", "C22: and the caching one by name");
    atomic_store(&m->device.captures, 1);
    is_int(nd_allocator_set(&m->device, own), ND_ERR_CAPTURE, "C22: not during a capture");
    atomic_store(&m->device.captures, 0);
    free(t);
    free(s);
}

static void ladder(void)
{
    mock *m = mock_device(1);
    nd_allocator *a;
    nd_backend *backend;
    nd_block *none;
    reset();
    must(nd_allocator_load(library(), "my_malloc", "my_free", &a));
    must(nd_allocator_set(&m->device, a));
    must(nd__device_backend(&m->device, &backend));
    record->refuse_above = 1000;
    mock_stream *s = mock_stream_new(m, 1);
    nd_block *b = take(m, s, 800);
    mock_work(s);
    give(b);
    b = take(m, s, 900);
    is_int(record->frees, 1, "C21: after NULL the ladder waits for freed blocks");
    int before = record->allocs;
    is_int(backend->type->alloc(backend, &s->s, 200, &none), ND_ERR_MEMORY,
           "C21: then ND_ERR_MEMORY");
    ok(record->allocs > before + 1, "C21: asked again after the others were emptied");
    has_text(nd_last_error()->message, "200 bytes", "C11: the request is told");
    give(b);
    nd_allocator_release(a);
    free(s);
}

static void tabled(void)
{
    mock *m = mock_device(1);
    nd_allocator *a;
    nd_hooks hooks;
    nd_memory_stats st;
    mock_stream *s = mock_stream_new(m, 1), *t = mock_stream_new(m, 2);
    reset();
    must(nd_allocator_load(library(), "my_table", NULL, &a));
    must(nd_allocator_set(&m->device, a));
    is_int(record->inits, 1, "C21: init with the number of devices");
    nd_block *b = take(m, s, 64);
    must(b->backend->type->record_stream(b, &t->s));
    is_int(record->records, 1, "C21: record_stream goes to the allocator");
    b->backend->type->stats(b->backend, &st);
    is_int(st.reserved_bytes.all.current, 1 << 20, "C21: reserved bytes are the allocator's word");
    is_int(st.allocated_bytes.all.current, 64, "C22: statistics for any upstream");
    nd_text text = {0};
    nd__text_add(&text, "[");
    b->backend->type->snapshot(b->backend, &text);
    has_text(text.data, "\"total_size\": 64,", "C22: snapshots for any upstream");
    free(text.data);
    give(b);
    must(nd__allocator_pool(a, &m->device, 7, true));
    is_int(record->pools, 7, "C21: begin_pool");
    is_int(nd__allocator_pool(a, &m->device, 7, false), ND_ERR_PLUGIN, "C21: its refusal is told");
    must(nd__allocator_hooks(a, &m->device, &hooks));
    ndp_mem *mem;
    char *host;
    must(hooks.segment_alloc(hooks.segment_ctx, &s->s, 4096, &mem, &host));
    is_int(record->in_use, 4096, "C21: as the upstream of segments");
    is_int(record->inits, 1, "C21: init is called once");
    hooks.segment_free(hooks.segment_ctx, &s->s, mem, 4096);
    is_int(record->in_use, 0, "C21: and their free");
    nd__allocator_hooks_release(&hooks);
    nd_allocator_release(a);
    free(s);
    free(t);
}

static atomic_int stop;
static void *swap(void *arg)
{
    static const char *const names[] = {"none", "debug", "caching"};
    mock *m = arg;
    for (int i = 0; i < 300; i++) {
        nd_allocator *a;
        must(nd_allocator_named(names[i % 3], &a));
        must(nd_allocator_set(&m->device, a));
        nd_allocator_release(a);
    }
    atomic_store(&stop, 1);
    return NULL;
}

static void *use(void *arg)
{
    nd_block *held[8] = {0};
    for (int i = 0; !atomic_load(&stop) || i < 2000; i++) {
        if (held[i % 8])
            give(held[i % 8]);
        held[i % 8] = take(arg, NULL, (uint64_t)(i % 700 + 1));
        memset(held[i % 8]->host, i, (size_t)(i % 700 + 1));
    }
    for (int i = 0; i < 8; i++)
        if (held[i])
            give(held[i]);
    return NULL;
}

/* Blocks made and freed by three threads while a fourth swaps the allocator under them. */
static void swapped(void)
{
    mock *m = mock_device(1);
    pthread_t t[4];
    char *text;
    int64_t mistakes, live = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, i ? use : swap, m);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    must(nd_memory_debug_report(&m->device, &text, &mistakes));
    is_int(mistakes, 0, "C22: no block met another backend");
    free(text);
    for (nd_backend *k = nd__backends(); k; k = k->next) {
        nd_memory_stats st = {.size = sizeof st};
        if (k->device != &m->device)
            continue;
        k->type->stats(k, &st);
        live += st.allocation.all.current;
        must(k->type->empty_cache(k));
    }
    is_int(live, 0, "C22: none is left");
    is_int(m->in_use, 0, "C22: the device has everything back");
}

static void refused(void)
{
    mock *m = mock_device(0);
    nd_allocator *a = (nd_allocator *)(void *)m;
    const nd_allocator_table none = {.size = sizeof none};
    reset();
    is_int(nd_allocator_load("/nowhere.so", "a", "b", &a), ND_ERR_PLUGIN, "no such library");
    ok(a == NULL, "no allocator");
    is_int(nd_allocator_load(library(), "nothing", "my_free", &a), ND_ERR_PLUGIN, "no symbol");
    has_text(nd_last_error()->message, "\"nothing\"", "it is named");
    is_int(nd_allocator_load(library(), "my_short_table", NULL, &a), ND_ERR_ARGUMENT, "too short");
    is_int(nd_allocator_create(&none, NULL, &a), ND_ERR_ARGUMENT, "no alloc");
    is_int(nd_allocator_create(NULL, NULL, &a), ND_ERR_ARGUMENT, "no table");
    is_int(nd_allocator_named("fast", &a), ND_ERR_ARGUMENT, "no such name");
    has_text(nd_last_error()->message, "caching, debug, none and async", "the names are listed");
    is_int(nd_allocator_set(&m->device, NULL), ND_ERR_ARGUMENT, "no allocator to set");
    must(nd_allocator_load(library(), "my_malloc", "my_free", &a));
    m->device.map.wrap = NULL;
    is_int(nd_allocator_set(&m->device, a), ND_ERR_UNSUPPORTED, "a device without addresses");
    nd_allocator_release(a);
}

TAP_MAIN({"loaded", loaded}, {"ladder", ladder}, {"tabled", tabled}, {"swapped", swapped},
         {"refused", refused})
