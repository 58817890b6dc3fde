/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A device made of counters, for tests of the caching allocator alone: streams whose work ends when
 * the test says so, vector clocks that know what is ordered before what, a log of calls, faults. */
#ifndef NDOCK_TESTS_MEMORY_MOCK_H
#define NDOCK_TESTS_MEMORY_MOCK_H
#include <pthread.h>
#include "core/memory/caching/caching.h"
#include "tests/tap.h"

#define STREAMS 6 /* number 0 is for the host's use: what is known to be done */
#define UNIT 512
#define UNUSED __attribute__((unused))

typedef struct {
    uint32_t of[STREAMS];
} mock_clock;
struct ndp_mem { /* a segment */
    uint64_t base, nbytes;
    uint32_t (*last)[STREAMS]; /* by unit: the latest work of each stream on it */
    uint8_t *owned;            /* by unit: somebody has it */
    uint8_t *pages;            /* by granule: 1 committed, 2 accessible; NULL: all */
    struct ndp_mem *next;
};
struct ndp_event {
    mock_clock clock;
    int stream;
    struct ndp_event *next;
};

typedef struct {
    pthread_mutex_t lock;
    nd_stream stream[STREAMS];
    mock_clock clock[STREAMS]; /* what is before the next work of the stream */
    uint32_t queued[STREAMS], done[STREAMS];
    uint64_t capture[STREAMS];
    ndp_mem *segments;
    uint64_t used, memory, next_base, granule;
    int64_t live_segments, live_events, ranges, committed;
    int fail_in; /* the n-th fallible call from now fails; 0: none */
    nd_status fail_with;
    bool quiet, checks;        /* no log; no tracking of units */
    void (*meanwhile)(void *); /* called once, in the next call about pages, as by another thread */
    void *meanwhile_arg;
    char log[8192];
    size_t log_len;
    int calls;
} mock;

UNUSED static void mock_log(mock *m, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    m->calls++;
    if (!m->quiet && m->log_len + 64 < sizeof m->log)
        m->log_len += (size_t)vsnprintf(m->log + m->log_len, 64, fmt, ap);
    va_end(ap);
}

UNUSED static void mock_forget(mock *m)
{
    m->log[0] = 0;
    m->log_len = 0;
    m->calls = 0;
}

UNUSED static int mock_index(const mock *m, const nd_stream *s)
{
    return s ? (int)(s - m->stream) : 0;
}

UNUSED static bool mock_faulty(mock *m)
{
    return m->fail_in > 0 && --m->fail_in == 0;
}

UNUSED static nd_status mock_fault(mock *m, const char *what)
{
    return nd__fail(m->fail_with, "mock", -1, "injected into %s", what);
}

UNUSED static ndp_mem *mock_mem(mock *m, uint64_t nbytes)
{
    ndp_mem *mem = calloc(1, sizeof *mem);
    mem->base = m->next_base;
    mem->nbytes = nbytes;
    m->next_base += nbytes + (64u << 20);
    if (m->checks) {
        mem->last = calloc(nbytes / UNIT, sizeof *mem->last);
        mem->owned = calloc(nbytes / UNIT, 1);
    }
    mem->next = m->segments;
    m->segments = mem;
    return mem;
}

UNUSED static void mock_unmem(mock *m, ndp_mem *mem)
{
    ndp_mem **at = &m->segments;
    while (*at && *at != mem)
        at = &(*at)->next;
    if (!*at)
        bail("a segment is freed twice");
    *at = mem->next;
    free(mem->last);
    free(mem->owned);
    free(mem->pages);
    free(mem);
}

/* Nobody may be using what goes back. */
UNUSED static void mock_check_unused(const mock *m, const ndp_mem *mem, uint64_t offset,
                                     uint64_t nbytes)
{
    for (uint64_t u = offset / UNIT; m->checks && u < (offset + nbytes) / UNIT; u++) {
        if (mem->owned[u])
            bail("live memory goes back to the device");
        for (int s = 1; s < STREAMS; s++)
            if (mem->last[u][s] > m->done[s])
                bail("memory goes back while a stream uses it");
    }
}

UNUSED static nd_status mock_segment_alloc(void *ctx, nd_stream *s, uint64_t nbytes, ndp_mem **mem,
                                           char **host)
{
    mock *m = ctx;
    (void)s;
    pthread_mutex_lock(&m->lock);
    mock_log(m, "alloc %llu;", (unsigned long long)nbytes);
    nd_status status = ND_OK;
    if (mock_faulty(m))
        status = mock_fault(m, "segment_alloc");
    else if (m->memory && m->used + nbytes > m->memory)
        status = nd__fail(ND_ERR_MEMORY, "mock", -1, "full");
    if (status == ND_OK) {
        *mem = mock_mem(m, nbytes);
        *host = NULL;
        m->used += nbytes;
        m->live_segments++;
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

UNUSED static void mock_segment_free(void *ctx, nd_stream *s, ndp_mem *mem, uint64_t nbytes)
{
    mock *m = ctx;
    (void)s;
    pthread_mutex_lock(&m->lock);
    mock_log(m, "free %llu;", (unsigned long long)nbytes);
    if (mem->nbytes != nbytes)
        bail("a segment is freed with another size");
    mock_check_unused(m, mem, 0, nbytes);
    mock_unmem(m, mem);
    m->used -= nbytes;
    m->live_segments--;
    pthread_mutex_unlock(&m->lock);
}

UNUSED static nd_status mock_record(void *ctx, nd_stream *s, ndp_event **out)
{
    mock *m = ctx;
    int i = mock_index(m, s);
    *out = NULL;
    pthread_mutex_lock(&m->lock);
    mock_log(m, "record %d;", i);
    nd_status status = ND_OK;
    if (m->capture[i])
        status = nd__fail(ND_ERR_CAPTURE, "mock", -1, "recorded in a capture");
    else if (mock_faulty(m))
        status = mock_fault(m, "record");
    if (status == ND_OK) {
        ndp_event *e = calloc(1, sizeof *e);
        e->clock = m->clock[i];
        e->clock.of[i] = m->queued[i];
        e->stream = i;
        m->live_events++;
        *out = e;
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

UNUSED static bool mock_is_done(const mock *m, const ndp_event *e)
{
    return m->done[e->stream] >= e->clock.of[e->stream];
}

UNUSED static void mock_join(mock_clock *into, const mock_clock *c)
{
    for (int i = 0; i < STREAMS; i++)
        into->of[i] = into->of[i] > c->of[i] ? into->of[i] : c->of[i];
}

UNUSED static nd_status mock_query(void *ctx, ndp_event *e, int32_t *done)
{
    mock *m = ctx;
    pthread_mutex_lock(&m->lock);
    mock_log(m, "query %d;", e->stream);
    nd_status status = mock_faulty(m) ? mock_fault(m, "query") : ND_OK;
    *done = mock_is_done(m, e);
    if (*done && status == ND_OK)
        mock_join(&m->clock[0], &e->clock);
    pthread_mutex_unlock(&m->lock);
    return status;
}

UNUSED static nd_status mock_wait(void *ctx, nd_stream *s, ndp_event *e)
{
    mock *m = ctx;
    pthread_mutex_lock(&m->lock);
    mock_log(m, "wait %d on %d;", mock_index(m, s), e->stream);
    nd_status status = mock_faulty(m) ? mock_fault(m, "wait") : ND_OK;
    if (status == ND_OK)
        mock_join(&m->clock[mock_index(m, s)], &e->clock);
    pthread_mutex_unlock(&m->lock);
    return status;
}

UNUSED static nd_status mock_synchronize(void *ctx, ndp_event *e)
{
    mock *m = ctx;
    pthread_mutex_lock(&m->lock);
    mock_log(m, "synchronize %d;", e->stream);
    nd_status status = mock_faulty(m) ? mock_fault(m, "synchronize") : ND_OK;
    for (int i = 1; i < STREAMS && status == ND_OK; i++)
        m->done[i] = m->done[i] > e->clock.of[i] ? m->done[i] : e->clock.of[i];
    if (status == ND_OK)
        mock_join(&m->clock[0], &e->clock);
    pthread_mutex_unlock(&m->lock);
    return status;
}

UNUSED static void mock_give_back(void *ctx, ndp_event *e)
{
    mock *m = ctx;
    pthread_mutex_lock(&m->lock);
    m->live_events--;
    free(e);
    pthread_mutex_unlock(&m->lock);
}

UNUSED static uint64_t mock_capture_id(void *ctx, nd_stream *s)
{
    mock *m = ctx;
    return m->capture[mock_index(m, s)];
}

UNUSED static nd_status mock_usage(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes)
{
    mock *m = ctx;
    *total_bytes = m->memory;
    *free_bytes = m->memory - m->used;
    return ND_OK;
}

UNUSED static nd_status mock_granularity(void *ctx, uint64_t *nbytes)
{
    *nbytes = ((mock *)ctx)->granule;
    return ND_OK;
}

/* What other threads do while this one is inside the device: the allocator holds no lock then. */
UNUSED static void mock_meanwhile(mock *m)
{
    void (*fn)(void *) = m->meanwhile;
    m->meanwhile = NULL;
    if (fn)
        fn(m->meanwhile_arg);
}

UNUSED static nd_status mock_reserve(void *ctx, uint64_t nbytes, ndp_mem **out)
{
    mock *m = ctx;
    mock_meanwhile(m);
    pthread_mutex_lock(&m->lock);
    mock_log(m, "reserve %llu;", (unsigned long long)nbytes);
    nd_status status = mock_faulty(m) ? mock_fault(m, "reserve") : ND_OK;
    if (status == ND_OK) {
        *out = mock_mem(m, nbytes);
        (*out)->pages = calloc(nbytes / m->granule, 1);
        m->ranges++;
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

UNUSED static void mock_pages(mock *m, ndp_mem *mem, uint64_t offset, uint64_t nbytes, int from,
                              int to)
{
    if (offset % m->granule || nbytes % m->granule || offset + nbytes > mem->nbytes)
        bail("not whole pages of the range");
    for (uint64_t i = offset / m->granule; i < (offset + nbytes) / m->granule; i++) {
        if (from >= 0 && mem->pages[i] != from)
            bail("a page is in another state");
        mem->pages[i] = (uint8_t)to;
    }
}

UNUSED static nd_status mock_commit(void *ctx, ndp_mem *mem, uint64_t offset, uint64_t nbytes)
{
    mock *m = ctx;
    mock_meanwhile(m);
    pthread_mutex_lock(&m->lock);
    mock_log(m, "commit %llu+%llu;", (unsigned long long)offset, (unsigned long long)nbytes);
    nd_status status = ND_OK;
    if (mock_faulty(m))
        status = mock_fault(m, "commit");
    else if (m->memory && m->used + nbytes > m->memory)
        status = nd__fail(ND_ERR_MEMORY, "mock", -1, "full");
    if (status == ND_OK) {
        mock_pages(m, mem, offset, nbytes, 0, 1);
        m->used += nbytes;
        m->committed += (int64_t)nbytes;
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

UNUSED static nd_status mock_set_access(void *ctx, ndp_mem *mem, uint64_t offset, uint64_t nbytes)
{
    mock *m = ctx;
    mock_meanwhile(m);
    pthread_mutex_lock(&m->lock);
    mock_log(m, "access %llu+%llu;", (unsigned long long)offset, (unsigned long long)nbytes);
    nd_status status = mock_faulty(m) ? mock_fault(m, "set_access") : ND_OK;
    if (status == ND_OK)
        mock_pages(m, mem, offset, nbytes, 1, 2);
    pthread_mutex_unlock(&m->lock);
    return status;
}

UNUSED static nd_status mock_decommit(void *ctx, ndp_mem *mem, uint64_t offset, uint64_t nbytes)
{
    mock *m = ctx;
    mock_meanwhile(m);
    pthread_mutex_lock(&m->lock);
    mock_log(m, "decommit %llu+%llu;", (unsigned long long)offset, (unsigned long long)nbytes);
    mock_check_unused(m, mem, offset, nbytes);
    mock_pages(m, mem, offset, nbytes, -1, 0);
    m->used -= nbytes;
    m->committed -= (int64_t)nbytes;
    pthread_mutex_unlock(&m->lock);
    return ND_OK;
}

UNUSED static void mock_release(void *ctx, ndp_mem *mem, uint64_t nbytes)
{
    mock *m = ctx;
    pthread_mutex_lock(&m->lock);
    mock_log(m, "release %llu;", (unsigned long long)nbytes);
    for (uint64_t i = 0; i < nbytes / m->granule; i++)
        if (mem->pages[i])
            bail("addresses go back with memory behind them");
    mock_unmem(m, mem);
    m->ranges--;
    pthread_mutex_unlock(&m->lock);
}

UNUSED static mock *mock_new(uint64_t memory)
{
    static uint64_t ids = 100;
    mock *m = calloc(1, sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    m->memory = memory;
    m->next_base = UINT64_C(1) << 40;
    m->granule = 2u << 20;
    m->fail_with = ND_ERR_MEMORY;
    m->checks = true;
    for (int i = 0; i < STREAMS; i++) {
        m->stream[i].id = ++ids;
        m->stream[i].immortal = false;
        atomic_init(&m->stream[i].holds, 1);
    }
    return m;
}

/* Everything the allocator took is back. */
UNUSED static void mock_end(mock *m, const char *what)
{
    int64_t holds = 0;
    for (int i = 0; i < STREAMS; i++)
        holds += atomic_load(&m->stream[i].holds) - 1;
    ok(m->live_segments == 0 && m->ranges == 0 && m->used == 0, "%s: all memory is back", what);
    ok(m->live_events == 0 && holds == 0, "%s: all events and streams are let go", what);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

UNUSED static nd_hooks mock_hooks(mock *m)
{
    return (nd_hooks){.ctx = m,
                      .segment_ctx = m,
                      .segment_alloc = mock_segment_alloc,
                      .segment_free = mock_segment_free,
                      .record = mock_record,
                      .query = mock_query,
                      .wait = mock_wait,
                      .synchronize = mock_synchronize,
                      .give_back = mock_give_back,
                      .capture_id = mock_capture_id,
                      .usage = mock_usage,
                      .granularity = mock_granularity,
                      .reserve = mock_reserve,
                      .commit = mock_commit,
                      .set_access = mock_set_access,
                      .decommit = mock_decommit,
                      .release = mock_release};
}

UNUSED static nd_backend *mock_backend(mock *m)
{
    nd_hooks hooks = mock_hooks(m);
    nd_backend *out = NULL;
    if (nd__caching_create(NULL, &hooks, &out) != ND_OK)
        bail(nd_last_error()->message);
    return out;
}

/* ---- what a program does ---- */
/* Queues work of the stream on the block. */
UNUSED static void mock_use(mock *m, const nd_block *b, int s)
{
    uint32_t now = ++m->queued[s];
    m->clock[s].of[s] = now;
    for (uint64_t u = b->offset / UNIT; m->checks && u < (b->offset + b->nbytes) / UNIT; u++)
        b->mem->last[u][s] = now;
}

/* Marks the block as somebody's: false if it is already, is not there, or is not ordered after
 * earlier uses as seen from stream s. */
UNUSED static bool mock_own(mock *m, const nd_block *b, int s)
{
    if (!m->checks)
        return true;
    for (uint64_t u = b->offset / UNIT; u < (b->offset + b->nbytes) / UNIT; u++) {
        if (b->mem->owned[u] || (b->mem->pages && b->mem->pages[u * UNIT / m->granule] != 2))
            return false;
        b->mem->owned[u] = 1;
        for (int t = 1; t < STREAMS; t++) {
            uint32_t before = b->mem->last[u][t];
            if (before > m->clock[s].of[t] && before > m->clock[0].of[t] && t != s)
                return false;
        }
    }
    return true;
}

UNUSED static void mock_disown(mock *m, const nd_block *b)
{
    for (uint64_t u = b->offset / UNIT; m->checks && u < (b->offset + b->nbytes) / UNIT; u++)
        b->mem->owned[u] = 0;
}

UNUSED static nd_block *take(nd_backend *k, mock *m, int s, uint64_t nbytes)
{
    nd_block *b = NULL;
    nd_status status = k->type->alloc(k, &m->stream[s], nbytes, &b);
    if (status != ND_OK)
        return NULL;
    if (!mock_own(m, b, s))
        bail("the block overlaps another, has no memory, or is not ordered after its last use");
    mock_use(m, b, s);
    return b;
}

UNUSED static void give(nd_backend *k, mock *m, nd_block *b)
{
    (void)k;
    mock_disown(m, b);
    b->backend->type->free(b);
}

/* With what it waits for. */
UNUSED static void finish_work(mock *m, int s)
{
    m->done[s] = m->queued[s];
    for (int t = 1; t < STREAMS; t++)
        m->done[t] = m->done[t] > m->clock[s].of[t] ? m->done[t] : m->clock[s].of[t];
}

UNUSED static nd_memory_stats stats_of(nd_backend *k)
{
    nd_memory_stats s = {.size = sizeof s};
    k->type->stats(k, &s);
    return s;
}
UNUSED static uint64_t place(const nd_block *b)
{
    return b->mem->base + b->offset;
}
#define MIB(n) ((uint64_t)(n) << 20)

#endif
