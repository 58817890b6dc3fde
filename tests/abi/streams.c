/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group E: order on a stream, and between streams. A gate makes sure that nothing has run where
 * that matters; without launch_host the checks see less, since work may be done as soon as it is
 * queued. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "streams.h"

chain chain_new(size_t n, size_t nbytes)
{
    chain c = {.n = n, .nbytes = nbytes};
    unsigned char *bytes = abi_bytes(nbytes);
    for (size_t i = 0; i < n; i++) {
        c.mem[i] = abi_alloc(nbytes);
        abi_fill(bytes, nbytes, i + 1000);
        abi_write(NULL, c.mem[i], 0, bytes, nbytes);
    }
    abi_call(abi.p.sync(abi.dev, NULL), "sync");
    free(bytes);
    return c;
}

void chain_run(const chain *c, ndp_stream *s)
{
    for (size_t i = 1; i < c->n; i++)
        abi_copy(s, c->mem[i], 0, c->mem[i - 1], 0, c->nbytes);
}

bool chain_moved(const chain *c, size_t i, ndp_stream *s, const char *what)
{
    unsigned char *bytes = abi_bytes(c->nbytes);
    abi_read(s, c->mem[i], 0, bytes, c->nbytes);
    bool ok = abi_filled(bytes, c->nbytes, 1000, 0, what);
    free(bytes);
    return ok;
}

void chain_free(const chain *c)
{
    for (size_t i = 0; i < c->n; i++)
        abi_free(c->mem[i]);
}

bool stream_done(ndp_stream *s)
{
    int32_t done = -1;
    abi_call(abi.stream.query(abi.dev, s, &done), "query of a stream");
    return done != 0;
}

void stands_still(const abi_gate *g, ndp_stream *s, const char *why_not)
{
    for (int i = 0; g && i < 40 && !stream_done(s); i++)
        abi_sleep_ms(1);
    abi_expect(!g || !stream_done(s), "%s", why_not);
}

bool event_done(ndp_event *e)
{
    int32_t done = -1;
    abi_call(abi.stream.event_query(abi.dev, e, &done), "event_query");
    return done != 0;
}

static void in_order(void)
{
    ndp_stream *s = abi_stream();
    for (int round = 0; round < 8; round++) {
        chain c = chain_new(12, round & 1 ? 1 << 18 : 1 << 12);
        abi_gate *g = abi_gate_close(s);
        chain_run(&c, s);
        abi_gate_open(g);
        abi_call(abi.stream.sync(abi.dev, s), "sync");
        if (!chain_moved(&c, c.n - 1, s, "the last of a chain of copies on one stream"))
            return;
        chain_free(&c);
    }
}

static void *open_soon(void *gate)
{
    abi_sleep_ms(50);
    abi_gate_open(gate);
    return NULL;
}

/* read is of the stream's order, and waits for it; of a stream that stands still, if one can be made to,
 * else the work before it may be done already. */
static void read_waits(void)
{
    pthread_t opener;
    ndp_stream *s = abi_stream();
    chain c = chain_new(12, 1 << 18);
    abi_gate *g = abi_gate_close(s);
    chain_run(&c, s);
    if (g)
        abi_need(pthread_create(&opener, NULL, open_soon, g) == 0, "no thread");
    chain_moved(&c, c.n - 1, s, "what read gets behind a chain of copies, without a sync");
    if (g)
        pthread_join(opener, NULL);
    unsigned char *bytes = abi_bytes(c.nbytes);
    abi_fill(bytes, c.nbytes, 1000);
    for (uint64_t tag = 5; tag < 9; tag++) {
        abi_fill(bytes, c.nbytes, tag);
        abi_write(s, c.mem[0], 0, bytes, c.nbytes);
        chain_run(&c, s);
        abi_read(s, c.mem[c.n - 1], 0, bytes, c.nbytes);
        abi_filled(bytes, c.nbytes, tag, 0, "what read gets behind a write and copies");
    }
}

static void sync_waits(void)
{
    ndp_stream *s = abi_stream();
    abi_call(abi.stream.sync(abi.dev, s), "sync of a stream with no work");
    /* Often: a sync that does not wait goes unseen where the work happens to be done first. */
    for (int i = 0; i < 16; i++) {
        bool group = i % 2 == 0;
        chain c = chain_new(12, 1 << 20);
        chain_run(&c, s);
        abi_call(group ? abi.stream.sync(abi.dev, s) : abi.p.sync(abi.dev, s), "sync");
        if (!abi_expect(stream_done(s), "after sync of the %s, query says that work is left",
                        group ? "group" : "plug-in's table"))
            return;
        /* On the default stream, which is not ordered after this one by itself. */
        if (!chain_moved(&c, c.n - 1, NULL, "the last of a chain of copies, after sync"))
            return;
        chain_free(&c);
    }
}

/* Syncing a stream that stands still returns only when it went on. */
static void sync_gated(void)
{
    pthread_t opener;
    ndp_stream *s = abi_stream();
    if (!abi_has_gate())
        abi_skip("without launch_host a stream cannot be made to stand still");
    for (int way = 0; way < 3; way++) {
        ndp_event *e = abi_event(0);
        abi_gate *g = abi_gate_close(s);
        abi_call(abi.stream.event_record(abi.dev, e, s), "event_record");
        double begin = abi_seconds();
        abi_need(pthread_create(&opener, NULL, open_soon, g) == 0, "no thread");
        abi_call(way == 0   ? abi.stream.sync(abi.dev, s)
                 : way == 1 ? abi.p.sync(abi.dev, s)
                            : abi.stream.event_sync(abi.dev, e),
                 "sync");
        abi_expect(abi_seconds() - begin > 0.03, "%s returned while its stream stood still",
                   way == 0   ? "sync of the group"
                   : way == 1 ? "sync of the table"
                              : "event_sync");
        pthread_join(opener, NULL);
        abi_call(abi.stream.sync(abi.dev, s), "sync");
    }
}

static void cross_wait(void)
{
    ndp_stream *a = abi_stream(), *b = abi_stream();
    ndp_event *e = abi_event(0);
    for (int round = 0; round < 8; round++) {
        chain c = chain_new(12, round & 1 ? 1 << 18 : 1 << 12);
        ndp_mem *last = abi_alloc(c.nbytes);
        unsigned char *bytes = abi_bytes(c.nbytes);
        abi_gate *g = abi_gate_close(a);
        chain_run(&c, a);
        abi_call(abi.stream.event_record(abi.dev, e, a), "event_record");
        abi_call(abi.stream.wait(abi.dev, b, e), "wait");
        abi_copy(b, last, 0, c.mem[c.n - 1], 0, c.nbytes);
        stands_still(g, b,
                     "a stream runs past its wait for an event of a stream that stands still");
        abi_gate_open(g);
        abi_read(b, last, 0, bytes, c.nbytes);
        if (!abi_filled(bytes, c.nbytes, 1000, 0, "what a stream copied after it waited"))
            return;
        abi_call(abi.stream.sync(abi.dev, a), "sync");
        abi_free(last);
        chain_free(&c);
        free(bytes);
    }
}

/* Around a ring of streams, each waiting for the one before, many times. */
static void ring(void)
{
    enum { N = 4 };
    ndp_stream *s[N];
    ndp_event *e[N];
    chain c = chain_new(2 * N, 1 << 14);
    for (int i = 0; i < N; i++) {
        s[i] = abi_stream();
        e[i] = abi_event(0);
    }
    unsigned char *bytes = abi_bytes(c.nbytes);
    for (uint64_t round = 0; round < abi.count; round++) {
        abi_fill(bytes, c.nbytes, round);
        abi_write(s[0], c.mem[0], 0, bytes, c.nbytes);
        for (int i = 0; i < N; i++) {
            if (i > 0)
                abi_call(abi.stream.wait(abi.dev, s[i], e[i - 1]), "wait");
            abi_copy(s[i], c.mem[2 * i + 1], 0, c.mem[2 * i], 0, c.nbytes);
            if (i < N - 1)
                abi_copy(s[i], c.mem[2 * i + 2], 0, c.mem[2 * i + 1], 0, c.nbytes);
            abi_call(abi.stream.event_record(abi.dev, e[i], s[i]), "event_record");
        }
        memset(bytes, 0, c.nbytes);
        abi_read(s[N - 1], c.mem[2 * N - 1], 0, bytes, c.nbytes);
        if (!abi_filled(bytes, c.nbytes, round, 0, "what went through four streams"))
            return;
        abi_call(abi.stream.wait(abi.dev, s[0], e[N - 1]), "wait");
    }
}

/* Nothing but sync and event_sync (and read, write) blocks the host. */
static void no_block(void)
{
    if (!abi_has_gate())
        abi_skip("without launch_host a stream cannot be made to stand still");
    ndp_stream *a = abi_stream(), *b = abi_stream();
    ndp_event *e = abi_event(0);
    chain c = chain_new(4, 1 << 16), other = chain_new(2, 1 << 16);
    chain_run(&c, a); /* what is loaded at its first use is loaded now */
    abi_call(abi.stream.sync(abi.dev, a), "sync");
    abi_gate *g = abi_gate_close(a);
    double begin = abi_seconds();
    for (int i = 0; i < 20; i++) {
        chain_run(&c, a);
        abi_call(abi.stream.event_record(abi.dev, e, a), "event_record");
        abi_call(abi.stream.wait(abi.dev, b, e), "wait");
        chain_run(&other, b);
        (void)event_done(e);
        abi_expect(!stream_done(a), "query says that a stream is done which stands still");
    }
    double took = abi_seconds() - begin;
    abi_expect(abi_gate_open(g) && took < 4,
               "queueing behind work that stands still took %.1f s: it waits for it", took);
    abi_call(abi.stream.sync(abi.dev, b), "sync");
}

static int order[64], n_order;

static void note_order(void *arg)
{
    order[n_order++ % 64] = (int)(intptr_t)arg;
}

static pthread_t host_fn_thread;

static void note_thread(void *arg)
{
    host_fn_thread = pthread_self();
    *(int *)arg = 1;
}

static void launch_host(void)
{
    if (!abi.stream.launch_host)
        abi_skip("the device has no launch_host");
    ndp_stream *s = abi_stream();
    int ran = 0;
    abi_gate *g = abi_gate_close(s);
    for (intptr_t i = 0; i < 40; i++)
        abi_call(abi.stream.launch_host(abi.dev, s, note_order, (void *)i), "launch_host");
    abi_call(abi.stream.launch_host(abi.dev, s, note_thread, &ran), "launch_host");
    abi_sleep_ms(5);
    abi_expect(n_order == 0, "a host function ran before what was queued before it");
    abi_gate_open(g);
    abi_call(abi.stream.sync(abi.dev, s), "sync");
    abi_expect(n_order == 40 && ran, "after sync %d of 41 host functions ran", n_order + ran);
    for (int i = 0; i < n_order && i < 40; i++)
        if (!abi_expect(order[i] == i, "host function %d ran as number %d", order[i], i))
            break;
    abi_expect(!ran || !pthread_equal(host_fn_thread, pthread_self()),
               "a host function ran on the thread that queued it");
}

static void query(void)
{
    ndp_stream *s = abi_stream();
    abi_expect(stream_done(s), "query says that a new stream has work to do");
    abi_gate *g = abi_gate_close(s);
    if (g)
        abi_expect(!stream_done(s), "query says that a stream is done which stands still");
    abi_gate_open(g);
    double end = abi_seconds() + 5;
    while (!stream_done(s) && abi_seconds() < end)
        abi_sleep_ms(1);
    abi_expect(stream_done(s), "query still says after 5 s that a stream has work to do");
}

const abi_check abi_stream_checks[] = {
    {"E.in_order", "work on one stream runs in the order of the calls", in_order,
     ABI_STREAMS | ABI_COPY},
    {"E.read_waits", "read waits for the work queued before it", read_waits,
     ABI_STREAMS | ABI_COPY},
    {"E.sync_waits", "after sync the stream's work is done", sync_waits, ABI_STREAMS | ABI_COPY},
    {"E.copy_queued", "copies of every size wait for what is queued before them",
     abi_check_copy_queued, ABI_STREAMS | ABI_COPY},
    {"E.sync_own", "sync waits for its own stream alone", abi_check_sync_own,
     ABI_STREAMS | ABI_COPY},
    {"E.sync_gated", "sync and event_sync wait for work that takes its time", sync_gated,
     ABI_STREAMS},
    {"E.cross_wait", "a stream that waits for an event runs after it", cross_wait,
     ABI_STREAMS | ABI_COPY},
    {"E.other_device", "a stream waits for an event of another device", abi_check_other_device,
     ABI_STREAMS},
    {"E.ring", "order is handed on from stream to stream", ring, ABI_STREAMS | ABI_COPY},
    {"E.no_block", "queueing does not wait for what is queued", no_block, ABI_STREAMS | ABI_COPY},
    {"E.query", "query tells whether a stream has work to do", query, ABI_STREAMS},
    {"E.launch_host", "host functions run in stream order on another thread", launch_host,
     ABI_STREAMS},
    {"E.event_query", "event_query tells whether the work before the event is done",
     abi_check_event_query, ABI_STREAMS},
    {"E.event_sync", "event_sync waits for the event's work and no more", abi_check_event_sync,
     ABI_STREAMS | ABI_COPY},
    {"E.event_elapsed", "time between events is not negative, and refused where not taken",
     abi_check_event_elapsed, ABI_STREAMS | ABI_COPY},
    {"E.unrecorded_event", "an event that was never recorded orders nothing", abi_check_unrecorded,
     ABI_STREAMS},
    {"E.rerecord", "a wait is for the latest record before it", abi_check_rerecord,
     ABI_STREAMS | ABI_COPY},
    {"E.destroy_returns", "destroying a stream returns at once, and its work still runs",
     abi_check_destroy_returns, ABI_STREAMS | ABI_COPY},
    {"E.event_destroy", "an event may go while a stream waits for it", abi_check_event_destroy,
     ABI_STREAMS | ABI_COPY},
    {"E.wrap",
     "a native stream that is wrapped is the same stream, and stays when the wrapper goes",
     abi_check_wrap_stream, ABI_STREAMS | ABI_COPY},
    {"E.default_stream", "stream NULL is the default stream in every call",
     abi_check_default_stream, ABI_STREAMS | ABI_COPY},
    {"E.priorities", "streams of every priority of the range can be made", abi_check_priorities,
     ABI_STREAMS},
    {"E.error_at_sync", "an error of queued work is told by the next sync of its stream",
     abi_check_error_at_sync, ABI_STREAMS | ABI_COPY},
    {"E.pool_order", "a pool's block that is freed in a stream's order is used until then",
     abi_check_pool_order, ABI_STREAMS | ABI_COPY},
    {NULL, NULL, NULL, 0}};
