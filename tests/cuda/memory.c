/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * C17, C18, I14, P7: reserved addresses, the driver's pool, foreign and pinned memory. */
#include "tests/cuda/gpu.h"

/* ---- reserved addresses ---- */
static const ndp_memory_1 *pages;
static ndp_mem *range;
static uint64_t page;

static void reserve(void *unused)
{
    (void)unused;
    if (range)
        ((const ndp_plugin *)group("ndp.plugin/0"))->free(dev, range);
    DO(pages->reserve(dev, 1024 * page, &range));
}

static void commit_and_decommit(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < 100; i++) {
        DO(pages->commit(dev, range, i * page, page));
        DO(pages->set_access(dev, range, i * page, page));
        DO(pages->decommit(dev, range, i * page, page));
    }
}

static void reserved(void)
{
    const ndp_map_1 *m = group("ndp.map/1");
    uint64_t at = 0;
    pages = group("ndp.memory/1");
    DO(pages->granularity(dev, &page));
    ok(page >= 65536 && page % 65536 == 0, "C17: pages of %llu bytes", (unsigned long long)page);
    is_int(pages->reserve(dev, 1, &range), NDP_ERR_ARGUMENT, "C17: a byte is no page");
    ok(stays_flat(reserve, NULL, 64 << 20), "C17: addresses are reserved without memory");
    DO(m->address(dev, range, &at));
    ok(at != 0, "C17: and known");
    is_int(pages->commit(dev, range, 1023 * page, 2 * page), NDP_ERR_ARGUMENT, "C17: past the end");
    DO(pages->commit(dev, range, 3 * page, 2 * page));
    ok(pages->commit(dev, range, 4 * page, page) != NDP_OK, "C17: not twice");
    DO(pages->set_access(dev, range, 3 * page, 2 * page));
    is_int(pages->decommit(dev, range, 3 * page, page), NDP_ERR_ARGUMENT,
           "C17: leaves as it came, not in halves");
    is_int(pages->decommit(dev, range, 3 * page, 2 * page), NDP_OK, "C17: and leaves");
    ok(stays_flat(commit_and_decommit, NULL, 64 << 20), "C17: 100 rounds leave the memory flat");
}

static void pool(void)
{
    const ndp_pool_1 *g = group("ndp.pool/1");
    uint64_t used = 0, kept = 0;
    ndp_mem *a = NULL;
    DO(g->alloc(dev, NULL, 64 << 20, &a));
    DO(g->usage(dev, &used, &kept));
    ok(used >= 64 << 20 && kept >= used, "C18: the pool counts what it gave");
    g->free(dev, NULL, a);
    DO(nd_synchronize(gpu));
    DO(g->usage(dev, &used, &kept));
    ok(used == 0 && kept >= 64 << 20, "C18: what is freed stays with the pool after a wait");
    DO(g->trim(dev, 0));
    DO(g->usage(dev, &used, &kept));
    is_int(kept, 0, "C18: until it is trimmed");
    int32_t status = g->alloc(dev, NULL, (uint64_t)1 << 50, &a);
    is_int(status, NDP_ERR_MEMORY, "C18: too much is out of memory");
    DO(g->alloc(dev, NULL, 1 << 20, &a));
    g->free(dev, NULL, a);
}

static void gibibytes(void *count)
{
    const int64_t shape[1] = {(int64_t)1 << 30};
    for (int i = 0; i < *(int *)count; i++) {
        nd_array *a = NULL;
        DO(nd_empty(gpu, ND_U8, 1, shape, &a));
        nd_release(a);
    }
    DO(nd_synchronize(gpu));
    DO(nd_memory_empty_cache(gpu));
}

/* The core's back end over that pool. */
static void ordered(void)
{
    enum { N = 1 << 20 };
    const int64_t n = N, huge[1] = {(int64_t)1 << 50};
    nd_allocator *async = NULL, *caching = NULL;
    nd_stream *s = NULL, *t = NULL;
    nd_array *a = NULL, *b = NULL;
    static float out[N];
    int wrong = 0;
    DO(nd_allocator_named("async", &async));
    DO(nd_allocator_named("caching", &caching));
    DO(nd_memory_empty_cache(gpu));
    DO(nd_allocator_set(gpu, async));
    DO(nd_stream_create(gpu, NULL, &s));
    DO(nd_stream_create(gpu, NULL, &t));
    for (int i = 0; i < 100; i++) { /* a block of s, used on t and freed while t still works */
        DO(nd_stream_push(s));
        DO(nd_full(gpu, ND_F32, 1, &n, nd_float(i), &a));
        DO(nd_stream_pop(s));
        DO(nd_stream_wait_stream(t, s));
        DO(nd_stream_push(t));
        DO(nd_add(a, a, &b));
        DO(nd_record_stream(a, t));
        nd_release(a);
        DO(nd_to_host(b, out, sizeof out));
        DO(nd_stream_pop(t));
        nd_release(b);
        for (int k = 0; k < N; k++)
            wrong += out[k] != 2.0f * (float)i;
    }
    is_int(wrong, 0, "C18: blocks of two streams, freed in stream order");
    DO(nd_synchronize(gpu));
    nd_memory_stats stats = {.size = sizeof stats};
    DO(nd_memory_stats_get(gpu, &stats));
    ok(stats.reserved_bytes.all.current > 0, "C18: the pool says what it keeps");
    is_int(nd_empty(gpu, ND_U8, 1, huge, &a), ND_ERR_MEMORY, "C18: 1 PiB is out of memory");
    has_text(nd_last_error()->message, "allocator async", "C18: by the allocator's name");
    DO(nd_memory_empty_cache(gpu));
    ok(stays_flat(gibibytes, &(int){100}, 64 << 20),
       "C18: 100 arrays of 1 GiB leave the memory flat");
    DO(nd_allocator_set(gpu, caching));
    nd_stream_release(s);
    nd_stream_release(t);
    nd_allocator_release(async);
    nd_allocator_release(caching);
}

static void foreign(void)
{
    const ndp_map_1 *g = group("ndp.map/1");
    ndp_mem *m = NULL;
    char ordinary[64];
    is_int(g->wrap(dev, (uint64_t)(uintptr_t)ordinary, 64, &m), NDP_ERR_ARGUMENT,
           "I14: the host's own memory is refused");
    has_text(nd_last_error()->message, "no address of CUDA memory", "I14: with the reason");
    is_int(g->wrap(dev, 0, 0, &m), NDP_OK, "I14: nothing needs no look-up");
}

static void pinned(void)
{
    const ndp_map_1 *g = group("ndp.map/1");
    const int64_t shape[1] = {1 << 20};
    ndp_mem *m = NULL;
    void *host = NULL, *again = NULL;
    nd_array *a = NULL;
    DO(g->pin(dev, 1 << 20, &m, &host));
    memset(host, 7, 1 << 20);
    DO(g->map(dev, m, &again));
    ok(host == again, "P7: pinned memory has its host address");
    DO(nd_empty_pinned(gpu, ND_U8, 1, shape, &a));
    ok(nd_is_pinned(a), "P1: pinned arrays");
    nd_release(a);
}

/* The program's own memory, page-locked meanwhile. */
static void registered(void)
{
    enum { N = 1 << 22 };
    const int64_t n = N;
    const nd_copy_opts at_once = {.size = sizeof at_once, .non_blocking = 1};
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = &n};
    float *host = malloc(N * sizeof *host);
    nd_device *cpu = NULL;
    nd_array *a = NULL, *there = NULL, *twice = NULL;
    int32_t yes = -1;
    int wrong = 0;
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    DO(nd_device_get("cpu", &cpu));
    DO(nd_host_is_pinned(gpu, host, &yes));
    is_int(yes, 0, "P7: ordinary memory is not pinned");
    is_int(nd_host_register(gpu, host, N * sizeof *host), ND_OK, "P7: it is registered");
    DO(nd_host_is_pinned(gpu, host + N - 1, &yes));
    is_int(yes, 1, "P7: then it is");
    is_int(nd_host_register(gpu, host + 5, 100), ND_ERR_ARGUMENT, "P7: not twice");
    DO(nd_wrap(&layout, host, cpu, NULL, NULL, &a));
    ok(nd_is_pinned(a), "P7: and an array over it");
    DO(nd_empty(gpu, ND_F32, 1, &n, &there));
    DO(nd_copy_to(a, there, &at_once));
    DO(nd_add(there, there, &twice));
    DO(nd_copy_to(twice, a, &at_once));
    nd_release(a);
    is_int(nd_host_unregister(gpu, host), ND_OK, "P7: unregistering waits for the copies");
    for (int i = 0; i < N; i++)
        wrong += host[i] != 2 * (float)i;
    is_int(wrong, 0, "P7: which are done then");
    DO(nd_host_is_pinned(gpu, host, &yes));
    is_int(yes, 0, "P7: ordinary memory again");
    nd_release(there);
    nd_release(twice);
    free(host);
}

static void large(void)
{
    const int64_t shape[1] = {(int64_t)1 << 30};
    nd_array *a = NULL;
    DO(nd_memory_empty_cache(gpu));
    ok(stays_flat(gibibytes, &(int){200}, 8 << 20), "200 arrays of 1 GiB leave the memory flat");
    const int64_t huge[1] = {(int64_t)1 << 50};
    is_int(nd_empty(gpu, ND_U8, 1, huge, &a), ND_ERR_MEMORY, "C11: 1 PiB is out of memory");
    DO(nd_empty(gpu, ND_U8, 1, shape, &a));
    ok(a != NULL, "C11, A7: and the next array is not blamed for it");
    nd_release(a);
}

GPU_MAIN({"C17", reserved}, {"C18", pool}, {"C18_core", ordered}, {"I14", foreign}, {"P7", pinned},
         {"P7_own", registered}, {"C11", large})
