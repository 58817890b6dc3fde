/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Private pools (C23) and captures (G5, G6, G8). */
#include <pthread.h>
#include "tests/memory/audit.h"
#include "tests/memory/mock.h"

static nd_pool *pool(nd_backend *k, nd_pool_opts opts)
{
    nd_pool *p = NULL;
    opts.size = sizeof opts;
    if (nd__caching_pool(k, &opts, &p) != ND_OK)
        bail(nd_last_error()->message);
    return p;
}

static void push(nd_pool *p)
{
    if (nd_pool_push(p) != ND_OK)
        bail("push");
}

static void pop(nd_pool *p)
{
    if (nd_pool_pop(p) != ND_OK)
        bail("pop");
}

static void finish(nd_backend *k, mock *m, const char *what)
{
    const char *wrong = audit_all(k);
    ok(!wrong, "%s: the books are right", what);
    if (wrong)
        diag("%s", wrong);
    for (int i = 1; i < STREAMS; i++)
        finish_work(m, i);
    nd__backend_release(k);
    mock_end(m, what);
}

/* The example of PyTorch's note. */
static void example(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_pool *p = pool(k, (nd_pool_opts){0});
    nd_block *b[3];
    static const int64_t segments[] = {1, 1, 2};
    is_int(nd_pool_use_count(p), 1, "C23 use_count 1: its creator");
    push(p);
    is_int(nd_pool_use_count(p), 2, "C23 use_count 2: and the scope");
    for (int i = 0; i < 3; i++) {
        b[i] = take(k, m, 1, MIB(1));
        is_int(nd_pool_segments(p), segments[i], "C23 segments 1, 1, 2 for three arrays of 1 MiB");
    }
    pop(p);
    is_int(nd_pool_use_count(p), 1, "C23 use_count 1: the scope is over");
    is_int(nd_pool_reserved_bytes(p), MIB(4), "C23 its reserved bytes");
    nd_block *other = take(k, m, 1, MIB(1));
    ok(nd_pool_segments(p) == 2 && m->used == MIB(6), "C23 outside, nothing comes from it");
    for (int i = 0; i < 3; i++)
        give(k, m, b[i]);
    push(p);
    mock_forget(m);
    b[0] = take(k, m, 1, MIB(1));
    pop(p);
    is_str(m->log, "", "C23 its memory stays in it");
    finish_work(m, 1);
    nd_pool_release(p);
    is_int(m->used, MIB(4), "C23 G8 unused segments go with the pool's last user");
    finish_work(m, 1);
    give(k, m, b[0]);
    is_int(m->used, MIB(2), "C23 G8 the others with their last array");
    give(k, m, other);
    finish(k, m, "C23");
}

static void scopes(void)
{
    mock *m = mock_new(MIB(1000)), *n = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m), *l = mock_backend(n);
    nd_pool *a = pool(k, (nd_pool_opts){0}), *b = pool(k, (nd_pool_opts){0});
    ok(nd_pool_id(a) != nd_pool_id(b), "C23 every pool has an id");
    push(a);
    push(b);
    nd_block *x = take(k, m, 1, 1000), *y = take(l, n, 1, 1000);
    ok(nd_pool_segments(b) == 1 && nd_pool_segments(a) == 0, "C23 the innermost scope counts");
    is_int(nd_pool_pop(a), ND_ERR_STATE, "C23 scopes end in order");
    has_text(nd_last_error()->message, "pop pool", "C23 the error says which");
    pop(b);
    pop(a);
    is_int(nd_pool_pop(a), ND_ERR_STATE, "C23 and once");
    give(k, m, x);
    give(l, n, y);
    finish_work(m, 1);
    nd_pool_release(a);
    nd_pool_release(b);
    is_int(m->used, 0, "C23 pools that were released have nothing");
    nd__backend_release(l);
    finish(k, m, "C23 scopes");
    mock_end(n, "another allocator");
}

typedef struct {
    nd_backend *k;
    mock *m;
    nd_pool *p;
    int64_t segments;
} elsewhere;
static void *other_thread(void *arg)
{
    elsewhere *e = arg;
    nd_block *b = take(e->k, e->m, 2, MIB(2));
    e->segments = nd_pool_segments(e->p);
    give(e->k, e->m, b);
    return NULL;
}

static void of_one_thread(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    elsewhere e = {k, m, pool(k, (nd_pool_opts){0}), -1};
    pthread_t t;
    push(e.p);
    if (pthread_create(&t, NULL, other_thread, &e) != 0)
        bail("thread");
    pthread_join(t, NULL);
    pop(e.p);
    is_int(e.segments, 0, "C23 a scope is its thread's");
    nd_pool_release(e.p);
    finish(k, m, "C23 threads");
}

static void options(void)
{
    mock *m = mock_new(MIB(64));
    nd_backend *k = mock_backend(m);
    nd_pool *p = pool(k, (nd_pool_opts){.use_on_oom = 1}),
            *q = pool(k, (nd_pool_opts){.no_split = 1});
    push(p);
    nd_block *b = take(k, m, 1, MIB(40));
    uint64_t at = place(b);
    give(k, m, b);
    pop(p);
    mock_forget(m);
    b = take(k, m, 1, MIB(40));
    ok(b && place(b) == at, "C23 use_on_oom: others may have its memory");
    is_str(m->log, "alloc 41943040;", "C23 use_on_oom: after the device refused, without a wait");
    give(k, m, b);
    ok(nd_pool_reserved_bytes(p) == (int64_t)MIB(40), "C23 use_on_oom: it comes back");
    push(q);
    b = take(k, m, 1, 1000);
    is_int(b->nbytes, MIB(2), "C23 no_split: the whole segment");
    pop(q);
    give(k, m, b);
    finish_work(m, 1);
    nd_pool_release(p);
    nd_pool_release(q);
    is_int(m->used, 0, "C23 both are gone");
    finish(k, m, "C23 options");
}

/* ---- captures ---- */
static nd_pool *begin(nd_backend *k, mock *m, int s, uint64_t id, nd_pool *with)
{
    nd_pool *p = NULL;
    m->capture[s] = id;
    if (nd__caching_capture_begin(k, id, with, &p) != ND_OK)
        bail("capture_begin");
    return p;
}

static void end(nd_backend *k, mock *m, int s, uint64_t id)
{
    m->capture[s] = 0;
    is_int(nd__caching_capture_end(k, id), ND_OK, "the capture ends");
}

static void routing(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *before = take(k, m, 1, 1000), *loose = take(k, m, 1, 1000);
    uint64_t loose_at = place(loose);
    give(k, m, loose);
    nd_pool *p = begin(k, m, 1, 77, NULL);
    m->capture[3] = 77; /* a stream that joined by waiting */
    nd_block *a = take(k, m, 1, 1000), *b = take(k, m, 3, MIB(3)), *c = take(k, m, 2, 1000);
    ok(place(a) != loose_at && nd_pool_segments(p) == 2,
       "G5 streams of the capture have its pool, forked ones too");
    ok(nd_pool_reserved_bytes(p) == (int64_t)MIB(22) && c, "G5 other streams do not");
    uint64_t at = place(a);
    give(k, m, a);
    a = take(k, m, 1, 1000);
    ok(place(a) == at, "G6 captured blocks go back to the private pool");
    is_int(k->type->empty_cache(k), ND_ERR_CAPTURE, "G2 C26 empty_cache is refused meanwhile");
    has_text(nd_last_error()->message, "end the capture", "G2 with the remedy");
    m->capture[3] = 0;
    end(k, m, 1, 77);
    loose = take(k, m, 1, 1000);
    ok(place(loose) == loose_at, "G5 after the capture, the stream has the common pool again");
    give(k, m, a);
    give(k, m, b);
    give(k, m, c);
    give(k, m, before);
    give(k, m, loose);
    finish_work(m, 1);
    finish_work(m, 2);
    finish_work(m, 3);
    is_int(k->type->empty_cache(k), ND_OK, "empty_cache");
    is_int(m->used, MIB(22), "G8 a graph replays with its pool's addresses: they stay");
    nd_pool_release(p);
    is_int(m->used, 0, "G8 until it is gone");
    is_int(nd__caching_capture_end(k, 77), ND_ERR_STATE, "a capture ends once");
    finish(k, m, "G5");
}

static void deferring(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *b = take(k, m, 1, 1000), *plain = take(k, m, 2, 1000), *c;
    uint64_t at = place(b), plain_at = place(plain);
    if (k->type->record_stream(b, &m->stream[3]) != ND_OK)
        bail("record_stream");
    mock_use(m, b, 3);
    nd_pool *p = begin(k, m, 3, 5, NULL);
    mock_forget(m);
    give(k, m, b);
    c = take(k, m, 1, 1000);
    is_str(m->log, "",
           "G6 a free that needs events waits for the capture's end, and so do queries");
    ok(place(c) != at, "G6 the block is not used meanwhile");
    give(k, m, c);
    give(k, m, plain);
    plain = take(k, m, 2, 1000);
    ok(place(plain) == plain_at, "G6 other frees are as ever");
    end(k, m, 3, 5);
    ok(strstr(m->log, "record 3;"), "G6 the end records what was put off");
    finish_work(m, 3);
    c = take(k, m, 1, 1000);
    ok(place(c) == at, "G6 and then the block is free");
    give(k, m, c);
    give(k, m, plain);
    nd_pool_release(p);
    finish(k, m, "G6");
}

/* What a stream that went has left in a pool is free after its end, which a graph cannot wait
 * for. */
static void orphans(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_pool *p = begin(k, m, 1, 77, NULL);
    nd_block *b = take(k, m, 1, 1000);
    const uint64_t at = place(b);
    give(k, m, b);
    end(k, m, 1, 77);
    k->type->stream_gone(k, &m->stream[1]);
    nd_pool *again = begin(k, m, 2, 78, p);
    mock_forget(m);
    b = take(k, m, 2, 1000);
    ok(b && place(b) != at && !strstr(m->log, "wait"),
       "G6 S11 a capture has no memory of a stream that went");
    give(k, m, b);
    end(k, m, 2, 78);
    nd_pool_release(again);
    nd_pool_release(p);
    finish(k, m, "G6 S11");
}

/* record_use in a capture cannot mean an event: it becomes a recorded stream. */
static void use_in_capture(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *b = take(k, m, 1, 1000);
    nd_pool *p = begin(k, m, 2, 9, NULL);
    mock_forget(m);
    is_int(k->type->record_use(b, &m->stream[2]), ND_OK, "C8 G6 record_use in a capture");
    mock_use(m, b, 2);
    give(k, m, b);
    is_str(m->log, "", "C8 G6 records nothing before the end");
    end(k, m, 2, 9);
    ok(strstr(m->log, "record 2;"), "C8 G6 and then does");
    nd_pool_release(p);
    finish(k, m, "C8 G6");
}

static void unknown_capture(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_pool *p = begin(k, m, 1, 5, NULL);
    nd_block *b = NULL;
    m->capture[2] = 6;
    is_int(k->type->alloc(k, &m->stream[2], 1000, &b), ND_ERR_CAPTURE,
           "G2 a capture without a pool here gets no memory");
    ok(!b && m->live_segments == 0, "G2 the device is not asked");
    m->capture[2] = 0;
    end(k, m, 1, 5);
    nd_pool_release(p);
    finish(k, m, "G2");
}

/* G8 in the other order, and G17: a capture that was given up leaves nothing. */
static void abandoned(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    for (int i = 0; i < 100; i++) {
        nd_pool *p = begin(k, m, 1, 100 + (uint64_t)i, NULL);
        nd_block *b = take(k, m, 1, MIB(3));
        if (i % 2)
            give(k, m, b);
        m->capture[1] = 0;
        if (nd__caching_capture_end(k, 100 + (uint64_t)i) != ND_OK)
            bail("capture_end");
        finish_work(m, 1);
        nd_pool_release(p);
        if (i % 2 == 0)
            give(k, m, b);
    }
    is_int(m->used, 0, "G8 G17 a hundred captures leave no memory reserved");
    is_int(stats_of(k).reserved_bytes.all.current, 0, "G8 nor counted");
    finish(k, m, "G17");
}

/* A pool whose streams are busy when it is released goes with a later look. */
static void released_late(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_pool *p = pool(k, (nd_pool_opts){0}), *q = NULL;
    push(p);
    give(k, m, take(k, m, 1, MIB(3)));
    pop(p);
    nd_pool_release(p);
    is_int(m->used, MIB(20), "C23 queued work keeps a released pool's memory");
    finish_work(m, 1);
    give(k, m, take(k, m, 2, MIB(30)));
    is_int(m->used, MIB(30), "C23 until the next request that needs the device");
    p = pool(k, (nd_pool_opts){0});
    push(p);
    give(k, m, take(k, m, 1, MIB(3)));
    pop(p);
    finish_work(m, 1);
    q = begin(k, m, 3, 4, NULL);
    nd_pool_release(p);
    is_int(m->used, MIB(50), "G2 nothing is asked of streams during a capture");
    end(k, m, 3, 4);
    is_int(m->used, MIB(30), "C23 the end of it releases what was put off");
    nd_pool_release(q);
    finish(k, m, "C23 late");
}

static void shared(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_pool *p = begin(k, m, 1, 1, NULL);
    nd_block *b = take(k, m, 1, MIB(3));
    uint64_t at = place(b);
    give(k, m, b);
    end(k, m, 1, 1);
    nd_pool *q = begin(k, m, 1, 2, p);
    ok(q == p, "G9 a second capture may share the pool");
    b = take(k, m, 1, MIB(3));
    ok(place(b) == at, "G9 and uses its memory");
    give(k, m, b);
    end(k, m, 1, 2);
    finish_work(m, 1);
    nd_pool_release(p);
    is_int(m->used, MIB(20), "G8 it stays for the second");
    nd_pool_release(q);
    is_int(m->used, 0, "G8 and goes with it");
    finish(k, m, "G9");
}

TAP_MAIN({"example", example}, {"scopes", scopes}, {"of_one_thread", of_one_thread},
         {"options", options}, {"routing", routing}, {"deferring", deferring}, {"orphans", orphans},
         {"use_in_capture", use_in_capture}, {"unknown_capture", unknown_capture},
         {"abandoned", abandoned}, {"released_late", released_late}, {"shared", shared})
