/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The backend without a cache (C19), and the trace of events (C25). */
#include <pthread.h>
#include "tests/allocators/mock.h"

static nd_backend *new_single(mock *m)
{
    nd_hooks hooks = mock_hooks(m);
    nd_backend *backend = NULL;
    is_int(nd__single_create(&m->device, &hooks, &backend), ND_OK, "a backend");
    return backend;
}

static nd_block *must_alloc(nd_backend *m, mock_stream *s, uint64_t n)
{
    nd_block *b = NULL;
    if (m->type->alloc(m, s ? &s->s : NULL, n, &b) != ND_OK)
        bail(nd_last_error()->message);
    return b;
}

static void exact(void)
{
    mock *m = mock_device(0);
    nd_backend *backend = new_single(m);
    const uint64_t sizes[] = {1, 513, 4097, 1048577};
    for (int i = 0; i < 4; i++) {
        nd_block *b = must_alloc(backend, NULL, sizes[i]);
        is_int(m->in_use, sizes[i], "C19: exactly the bytes asked for come from the device");
        is_int(b->nbytes, sizes[i], "C19: the block is not rounded");
        backend->type->free(b);
        is_int(m->in_use, 0, "C19: and go back when freed");
    }
    is_int(m->allocs, 4, "C19: one device allocation a block");
    is_int(m->frees, 4, "C19: one device free a block");
    nd__backend_release(backend);
}

static void order(void)
{
    mock *m = mock_device(0);
    nd_backend *backend = new_single(m);
    mock_stream *s = mock_stream_new(m, 1), *t = mock_stream_new(m, 2), *u = mock_stream_new(m, 3);
    nd_memory_stats st;
    mock_work(s);
    nd_block *b = must_alloc(backend, s, 100), *c = must_alloc(backend, s, 50);
    is_int(backend->type->record_stream(b, &t->s), ND_OK, "C7: record_stream");
    mock_work(u);
    is_int(backend->type->record_use(c, &u->s), ND_OK, "C8: record_use");
    mock_finish(u);
    mock_work(u); /* later than the use: does not count */
    mock_work(t);
    backend->type->free(b);
    backend->type->free(c);
    is_int(m->frees, 0, "freed blocks wait for their streams");
    is_int(m->waits, 0, "and the host does not");
    backend->type->stats(backend, &st);
    is_int(st.allocation.all.current, 0, "C24: no live block");
    is_int(st.active_bytes.all.current, 150, "C24: 150 bytes still active");
    mock_finish(s);
    is_int(backend->type->empty_cache(backend), ND_OK, "empty_cache");
    is_int(m->in_use, 100, "the block used up to now is done, the other waits for its stream");
    mock_finish(t);
    (void)backend->type->empty_cache(backend);
    is_int(m->in_use, 0, "now it is too");
    is_int(m->events, 0, "every event went back");
    nd__backend_release(backend);
    free(s);
    free(t);
    free(u);
}

static void capture(void)
{
    mock *m = mock_device(0);
    nd_backend *backend = new_single(m);
    mock_stream *s = mock_stream_new(m, 1);
    nd_block *b = must_alloc(backend, s, 64), *none = (nd_block *)(void *)m;
    s->capture = 7;
    is_int(backend->type->alloc(backend, &s->s, 64, &none), ND_ERR_CAPTURE,
           "C19: refused in a capture");
    ok(none == NULL, "with no block");
    has_text(nd_last_error()->message, "NDOCK_NO_CACHE", "the message says what to do");
    backend->type->free(b);
    is_int(m->frees, 0, "a free in a capture waits for its end");
    s->capture = 0;
    (void)backend->type->empty_cache(backend);
    is_int(m->frees, 1, "and happens after it");
    nd__backend_release(backend);
    free(s);
}

static void ladder(void)
{
    mock *m = mock_device(0);
    nd_backend *backend = new_single(m);
    mock_stream *s = mock_stream_new(m, 1);
    nd_memory_stats st;
    nd_block *none;
    m->limit = 1000;
    mock_work(s);
    nd_block *b = must_alloc(backend, s, 800);
    backend->type->free(b);
    b = must_alloc(backend, s, 900);
    is_int(m->waits, 1, "C10: out of memory, pending blocks are waited for");
    is_int(backend->type->alloc(backend, &s->s, 101, &none), ND_ERR_MEMORY,
           "C11: then ND_ERR_MEMORY");
    has_text(nd_last_error()->message, "101 bytes", "C11: with the request");
    has_text(nd_last_error()->message, "total 1000 B, free 100 B", "C11: and what is free");
    backend->type->free(must_alloc(backend, s, 100));
    ok(1, "C11: a smaller request succeeds next");
    backend->type->stats(backend, &st);
    is_int(st.num_ooms, 1, "C10: num_ooms");
    is_int(st.num_sync_all_streams, 1, "C10: num_sync_all_streams");
    backend->type->free(b);
    nd__backend_release(backend);
    free(s);
}

static void traced(void)
{
    static const char *const want[] = {"segment_alloc",  "alloc",          "user",
                                       "free_requested", "free_completed", "segment_free"};
    mock *m = mock_device(0);
    nd_backend *backend = new_single(m);
    int64_t n;
    is_int(nd_memory_trace_set(100), ND_OK, "C25: trace on");
    nd_block *b = must_alloc(backend, NULL, 4096);
    is_int(nd_memory_trace_note(&m->device, "half way \"there\""), ND_OK, "C25: a note");
    uint64_t address = (uint64_t)(uintptr_t)b->host;
    backend->type->free(b);
    nd_trace_entry *e = nd__trace_copy(&m->device, &n);
    is_int(n, 6, "C25: six events");
    for (int i = 0; i < 6 && i < n; i++) {
        is_str(nd__trace_action(e[i].action), want[i], "C25: in their order");
        ok(i == 0 || e[i].time_us >= e[i - 1].time_us, "C25: time goes on");
        if (i != 2)
            ok(e[i].address == address && e[i].nbytes == 4096, "C25: address and size");
    }
    is_str(n > 2 ? e[2].text : "", "half way \"there\"", "C25: the note's text");
    ok(n > 0 && e[0].time_us > 1600000000ll * 1000000, "C25: microseconds since 1970");
    free(e);
    is_int(nd_memory_trace_set(4), ND_OK, "C25: a short ring");
    for (int i = 0; i < 10; i++) {
        char text[16];
        snprintf(text, sizeof text, "note %d", i);
        must(nd_memory_trace_note(&m->device, text));
    }
    e = nd__trace_copy(&m->device, &n);
    is_int(n, 4, "C25: keeps the last four");
    is_str(n == 4 ? e[0].text : "", "note 6", "C25: oldest first");
    free(e);
    must(nd_memory_trace_note(&m->device, "01234567890123456789012345678901234567890123456789012345"
                                          "678901\xc3\xa4 and more"));
    e = nd__trace_copy(&m->device, &n);
    is_int(strlen(e[3].text), 62, "C25: a long text is cut between characters");
    free(e);
    is_int(nd_memory_trace_set(0), ND_OK, "C25: off");
    backend->type->free(must_alloc(backend, NULL, 64));
    e = nd__trace_copy(&m->device, &n);
    ok(n == 0 && !e, "C25: nothing is kept when off");
    is_int(nd_memory_trace_set(-1), ND_ERR_ARGUMENT, "C25: a negative number is refused");
    nd__backend_release(backend);
}

static void *hammer(void *arg)
{
    nd_backend *backend = arg;
    for (int i = 0; i < 500; i++) {
        nd_block *b = must_alloc(backend, NULL, (uint64_t)(i % 37 + 1));
        backend->type->free(b);
        if (i % 50 == 0) {
            int64_t n;
            free(nd__trace_copy(backend->device, &n));
        }
    }
    return NULL;
}

static void threads(void)
{
    mock *m = mock_device(0);
    nd_hooks hooks = mock_hooks(m);
    nd_backend *backend;
    pthread_t t[4];
    nd_memory_stats st;
    int64_t n;
    is_int(nd__single_create(NULL, &hooks, &backend), ND_OK, "a backend");
    is_int(nd_memory_trace_set(1000), ND_OK, "trace on");
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, hammer, backend);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    backend->type->stats(backend, &st);
    is_int(st.allocation.all.allocated, 2000, "C27: 2000 blocks of four threads");
    is_int(st.allocated_bytes.all.current, 0, "C27: all gone");
    nd_trace_entry *e = nd__trace_copy(NULL, &n);
    is_int(n, 1000, "C25: the ring is full");
    free(e);
    must(nd_memory_trace_set(0));
    nd__backend_release(backend);
}

TAP_MAIN({"exact", exact}, {"order", order}, {"capture", capture}, {"ladder", ladder},
         {"traced", traced}, {"threads", threads})
