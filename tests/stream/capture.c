/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Captures of streams: who may end them, what is refused before the driver is asked, where memory
 * comes from and goes to, and what the graph keeps. There is no public API of graphs yet. */
#include <pthread.h>
#include "core/core.h"
#include "core/memory/memory.h"
#include "tests/stream/harness.h"

enum { N = 300 };

/* As the graph API will do it. */
typedef struct {
    nd_stream *stream;
    nd_pool *pool;
    uint64_t id;
    nd_captured *graph;
} session;

static nd_maker *maker(void)
{
    nd_maker *m = NULL;
    DO(nd__device_maker(sim[0], &m));
    return m;
}

static session begin(nd_stream *s, int32_t mode, nd_pool *pool)
{
    session c = {.stream = s};
    DO(nd__capture_begin(s, mode));
    c.id = nd__capture_id(s);
    DO(nd__caching_capture_begin(maker(), c.id, pool, &c.pool));
    return c;
}

static void end(session *c, const char *what)
{
    nd_status status = nd__capture_end(c->stream, &c->graph);
    DO(nd__caching_capture_end(maker(), c->id));
    if (!ok(status == ND_OK && c->graph, "%s: the capture is still valid", what))
        diag("%s", nd_last_error()->message);
}

static void drop(session *c)
{
    nd__captured_free(c->graph);
    nd_pool_release(c->pool);
}

static void launch(const session *c)
{
    control->graph_launch(dev[0], nd__captured_graph(c->graph), handle_of(c->stream));
    DO(nd_stream_synchronize(c->stream));
}

/* Calls of the driver that are not mere questions about captures. */
static uint64_t asked(void)
{
    return calls(0, NULL) - calls(0, "capture_info") - calls(0, "stream_native");
}

/* ---- G1 ---- */
static void *end_elsewhere(void *arg)
{
    nd_captured *graph = NULL;
    nd_status status = nd__capture_end(arg, &graph);
    nd__captured_free(graph);
    return (void *)(intptr_t)status;
}

static nd_status in_thread(void *(*fn)(void *), void *arg)
{
    pthread_t t;
    void *result;
    pthread_create(&t, NULL, fn, arg);
    pthread_join(t, &result);
    return (nd_status)(intptr_t)result;
}

static void test_rules(void)
{
    nd_stream *s = new_stream(0), *t = new_stream(0);
    nd_captured *graph = (nd_captured *)1;
    is_int(nd__capture_begin(default_stream(0), 1), ND_ERR_CAPTURE,
           "G1: the default stream cannot be captured");
    is_int(nd__capture_begin(s, 3), ND_ERR_ARGUMENT, "G1: an unknown mode is refused");
    is_int(nd__capture_end(s, &graph), ND_ERR_CAPTURE, "G1: nothing to end");
    ok(graph == NULL, "G1: gives no graph");
    for (int32_t mode = NDP_CAPTURE_GLOBAL; mode <= NDP_CAPTURE_RELAXED; mode++) {
        session c = begin(s, mode, NULL);
        control->log_clear(dev[0]);
        is_int(nd__capture_begin(s, mode), ND_ERR_CAPTURE, "G1: a nested begin is refused");
        DO(nd_stream_wait_stream(t, s));
        ok(nd__capture_id(t) == c.id, "G1: a stream that waits joins the capture");
        is_int(nd__capture_end(t, &graph), ND_ERR_CAPTURE, "G1: it does not end it");
        if (mode != NDP_CAPTURE_RELAXED)
            is_int(in_thread(end_elsewhere, s), ND_ERR_CAPTURE, "G1: nor does another thread");
        is_int(calls(0, "capture_begin") + calls(0, "capture_end"), 0,
               "G1: the driver is not asked");
        DO(nd_stream_wait_stream(s, t));
        end(&c, "G1");
        ok(nd__capture_id(s) == 0 && nd__capture_id(t) == 0, "G1: afterwards there is none");
        drop(&c);
    }
    session c = begin(s, NDP_CAPTURE_RELAXED, NULL);
    is_int(in_thread(end_elsewhere, s), ND_OK, "G1: a relaxed capture may be ended by any thread");
    DO(nd__caching_capture_end(maker(), c.id));
    nd_pool_release(c.pool);
    nd_stream *none;
    DO(nd_stream_default(cpu, &none));
    is_int(nd__capture_begin(none, 1), ND_ERR_UNSUPPORTED, "G1: the cpu captures nothing");
    nd_stream_release(s);
    nd_stream_release(t);
    settle();
}

/* ---- G2, P8 ---- */
typedef struct {
    nd_array *a, *host;
    nd_stream *captured, *other;
    nd_event *before, *inside;
} things;

enum { CALLS = 17 };
static const char *const call_names[CALLS] = {"nd_stream_synchronize",
                                              "nd_synchronize",
                                              "nd_stream_query",
                                              "nd_event_query",
                                              "nd_event_synchronize",
                                              "nd_event_query of a captured event",
                                              "nd_item",
                                              "nd_to_host",
                                              "nd_data",
                                              "nd_assign from pageable",
                                              "nd_copy_to to pageable",
                                              "nd_memory_empty_cache",
                                              "synchronizing another",
                                              "querying another",
                                              "an allocation that needs the device",
                                              "nd_allocator_set",
                                              "nd_memory_empty_host_cache"};

static nd_status call(int which, const things *x)
{
    const nd_copy_opts no_wait = {.size = sizeof no_wait, .non_blocking = 1};
    static float room[N];
    nd_array *r = NULL, *first = NULL;
    nd_allocator *none = NULL;
    nd_index at = nd_at(0);
    nd_scalar value;
    void *p;
    int32_t is_done;
    int64_t large = 1 << 22;
    nd_status status;
    switch (which) {
    case 0:
        return nd_stream_synchronize(x->captured);
    case 1:
        return nd_synchronize(sim[0]);
    case 2:
        return nd_stream_query(x->captured, &is_done);
    case 3:
        return nd_event_query(x->before, &is_done);
    case 4:
        return nd_event_synchronize(x->before);
    case 5:
        return nd_event_query(x->inside, &is_done);
    case 6:
        DO(nd_slice(x->a, &at, 1, &first));
        status = nd_item(first, &value);
        nd_release(first);
        return status;
    case 7:
        return nd_to_host(x->a, room, sizeof room);
    case 8:
        return nd_data(x->a, &p);
    case 9:
        return nd_assign(x->host, x->a);
    case 10:
        return nd_copy_to(x->a, x->host, &no_wait);
    case 11:
        return nd_memory_empty_cache(sim[0]);
    case 12:
        return nd_stream_synchronize(x->other);
    case 13:
        return nd_stream_query(x->other, &is_done);
    case 14:
        return nd_empty(sim[0], ND_F32, 1, &large, &r);
    case 15:
        DO(nd_allocator_named("none", &none));
        status = nd_allocator_set(sim[0], none);
        nd_allocator_release(none);
        return status;
    default:
        return nd_memory_empty_host_cache(sim[0]);
    }
}

static void refuse_all(int32_t mode)
{
    things x = {.a = filled(sim[0], N, 1),
                .host = filled(cpu, N, 2),
                .captured = new_stream(0),
                .other = new_stream(0)};
    DO(nd_event_create(sim[0], NULL, &x.before));
    DO(nd_event_create(sim[0], NULL, &x.inside));
    DO(nd_event_record(x.before, NULL));
    DO(nd_synchronize(sim[0]));
    session c = begin(x.captured, mode, NULL);
    DO(nd_event_record(x.inside, x.captured));
    DO(nd_stream_push(x.captured));
    for (int i = 0; i < CALLS; i++) {
        control->log_clear(dev[0]);
        nd_status status = call(i, &x);
        if (!ok(status == ND_ERR_CAPTURE, "G2: in a capture, %s is refused", call_names[i]))
            diag("%s: %s", nd_status_name(status), nd_last_error()->message);
        is_int(asked(), 0, "G2: the driver is not asked");
        ok(strlen(nd_last_error()->message) > 20, "G2: the error says what to do");
    }
    DO(nd_fill(x.a, nd_float(3)));
    DO(nd_stream_pop(x.captured));
    end(&c, "G2");
    ok(value_of(x.a) == 1, "G2: nothing ran");
    launch(&c);
    ok(value_of(x.a) == 3, "G2: until the graph does");
    is_int(nd_event_synchronize(x.inside), ND_ERR_CAPTURE, "G2: a captured event never happens");
    is_int(nd_stream_wait_event(x.other, x.inside), ND_ERR_CAPTURE, "G2: nor is it waited for");
    drop(&c);
    nd_release(x.a);
    nd_release(x.host);
    nd_event_release(x.before);
    nd_event_release(x.inside);
    nd_stream_release(x.captured);
    nd_stream_release(x.other);
    settle();
}

static void test_refusals(void)
{
    refuse_all(NDP_CAPTURE_GLOBAL);
    refuse_all(NDP_CAPTURE_THREAD_LOCAL);
}

/* What a capture on one thread leaves to others. */
static void *work_elsewhere(void *arg)
{
    nd_array *a = NULL, *r = NULL;
    int64_t n = N;
    nd_scalar value = {0};
    (void)arg;
    nd_status status = nd_full(sim[0], ND_F32, 1, &n, nd_float(1), &a);
    if (status == ND_OK)
        status = nd_sum(a, NULL, &r);
    if (status == ND_OK)
        status = nd_item(r, &value);
    if (status != ND_OK)
        diag("%s", nd_last_error()->message);
    nd_release(a);
    nd_release(r);
    return (void *)(intptr_t)(status == ND_OK && value.v.f == N ? ND_OK : ND_ERR_STATE);
}

static void test_other_threads(void)
{
    nd_stream *s = new_stream(0);
    session c = begin(s, NDP_CAPTURE_THREAD_LOCAL, NULL);
    is_int(in_thread(work_elsewhere, NULL), ND_OK,
           "G2: another thread allocates, computes and waits beside a thread-local capture");
    end(&c, "G2");
    drop(&c);
    c = begin(s, NDP_CAPTURE_GLOBAL, NULL);
    is_int(in_thread(work_elsewhere, NULL), ND_ERR_STATE, "G2: not beside a global one");
    end(&c, "G2");
    drop(&c);
    nd_stream_release(s);
    settle();
}

/* ---- G4 ---- */
static void test_forks(void)
{
    nd_stream *s = new_stream(0), *t = new_stream(0), *u = new_stream(0);
    nd_array *a = filled(sim[0], N, 1);
    nd_event *before = NULL;
    nd_captured *graph;
    char id[32];
    DO(nd_event_create(sim[0], NULL, &before));
    DO(nd_event_record(before, NULL));
    DO(nd_synchronize(sim[0]));
    session c = begin(s, NDP_CAPTURE_THREAD_LOCAL, NULL);
    is_int(nd_stream_wait_event(s, before), ND_ERR_CAPTURE,
           "G4: a captured stream does not wait for what was before");
    is_int(nd_stream_wait_stream(s, u), ND_ERR_CAPTURE, "G4: nor for streams outside");
    is_int(nd_stream_wait_stream(default_stream(0), s), ND_ERR_CAPTURE,
           "G4: the default stream does not join");
    DO(nd__capture_begin(u, NDP_CAPTURE_THREAD_LOCAL));
    is_int(nd_stream_wait_stream(u, s), ND_ERR_CAPTURE, "G4: captures are not merged");
    DO(nd__capture_end(u, &graph));
    nd__captured_free(graph);
    DO(nd_stream_wait_stream(t, s)); /* the note's correct example */
    DO(nd_stream_push(t));
    DO(nd_fill(a, nd_float(5)));
    DO(nd_stream_pop(t));
    DO(nd_stream_wait_stream(s, t));
    end(&c, "G4: forked and joined");
    launch(&c);
    ok(value_of(a) == 5, "G4: what the other stream did is in the graph");
    drop(&c);
    c = begin(s, NDP_CAPTURE_THREAD_LOCAL, NULL); /* the incorrect one */
    DO(nd_stream_wait_stream(t, s));
    DO(nd_stream_push(t));
    DO(nd_fill(a, nd_float(6)));
    DO(nd_stream_pop(t));
    is_int(nd__capture_end(s, &graph), ND_ERR_CAPTURE, "G4: work that was not joined is an error");
    ok(graph == NULL, "G4: without a graph");
    uint64_t n = 0;
    control->stream_id(dev[0], handle_of(t), &n);
    snprintf(id, sizeof id, "stream %llu", (unsigned long long)n);
    has_text(nd_last_error()->message, id, "G4: that names the stream");
    DO(nd__caching_capture_end(maker(), c.id));
    nd_pool_release(c.pool);
    ok(nd__capture_id(t) == 0, "G4: and the streams are free again");
    ok(value_of(a) == 5, "G4: nothing ran");
    nd_event_release(before);
    nd_release(a);
    nd_stream_release(s);
    nd_stream_release(t);
    nd_stream_release(u);
    settle();
}

/* ---- G5 ---- */
static void test_routing(void)
{
    nd_stream *s = new_stream(0), *t = new_stream(0), *u = new_stream(0);
    DO(nd_synchronize(sim[0]));
    session c = begin(s, NDP_CAPTURE_RELAXED, NULL);
    is_int(nd_pool_segments(c.pool), 0, "G5: the pool is empty");
    nd_array *outside = filled(sim[0], N, 1);
    is_int(nd_pool_segments(c.pool), 0, "G5: allocations on other streams are not its business");
    DO(nd_stream_push(s));
    nd_array *a = filled(sim[0], N, 1);
    is_int(nd_pool_segments(c.pool), 1, "G5: those of the captured stream come from the pool");
    DO(nd_stream_pop(s));
    DO(nd_stream_wait_stream(t, s));
    DO(nd_stream_push(t));
    nd_array *b = filled(sim[0], 3 << 20, 2);
    is_int(nd_pool_segments(c.pool), 2, "G5: and of a stream that joined");
    DO(nd_stream_pop(t));
    DO(nd_stream_push(u));
    nd_array *d = filled(sim[0], 3 << 20, 2);
    DO(nd_stream_pop(u));
    is_int(nd_pool_segments(c.pool), 2, "G5: not of one that did not");
    is_int(in_thread(work_elsewhere, NULL), ND_OK, "G5: nor of other threads");
    is_int(nd_pool_segments(c.pool), 2, "G5: which get theirs elsewhere");
    DO(nd_stream_wait_stream(s, t));
    end(&c, "G5");
    DO(nd_stream_push(s));
    nd_array *later = filled(sim[0], 3 << 20, 2);
    is_int(nd_pool_segments(c.pool), 2, "G5: after the end the stream's memory is everybody's");
    DO(nd_stream_pop(s));
    nd_release(later);
    nd_release(outside);
    nd_release(a);
    nd_release(b);
    nd_release(d);
    drop(&c);
    nd_stream_release(s);
    nd_stream_release(t);
    nd_stream_release(u);
    settle();
    is_int(reserved(0), 0, "G5: in the end everything is given back");
}

/* A pool that was used before serves a capture that may not allocate. */
static void test_warm_pool(void)
{
    nd_pool *pool = NULL;
    nd_stream *s = new_stream(0);
    DO(nd_pool_create(sim[0], NULL, &pool));
    DO(nd_pool_push(pool));
    DO(nd_stream_push(s));
    nd_array *a = filled(sim[0], N, 1);
    nd_release(a);
    DO(nd_stream_pop(s));
    DO(nd_pool_pop(pool));
    session c = begin(s, NDP_CAPTURE_THREAD_LOCAL, pool);
    control->log_clear(dev[0]);
    DO(nd_stream_push(s));
    a = filled(sim[0], N, 2);
    is_int(calls(0, "alloc"), 0, "G5: a warm pool asks the device for nothing");
    nd_storage *first = a->storage;
    uint64_t base = first->base;
    nd_release(a);
    a = filled(sim[0], N, 3);
    ok(a->storage->base == base, "G6: a block freed in the capture is used again in it");
    nd_release(a);
    DO(nd_stream_pop(s));
    end(&c, "G5: with a warm pool");
    drop(&c);
    nd_pool_release(pool);
    nd_stream_release(s);
    settle();
}

/* ---- G6 ---- */
static int released;
static void count_release(void *ctx)
{
    (void)ctx;
    released++;
}

static void test_deferred(void)
{
    nd_stream *s = new_stream(0), *t = new_stream(0);
    nd_array *a = filled(sim[0], N, 1), *foreign = NULL, *owner = filled(sim[0], N, 1);
    nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = (int64_t[]){N}};
    void *address;
    DO(nd_data(owner, &address));
    DO(nd_wrap(&layout, address, sim[0], count_release, NULL, &foreign));
    DO(nd_stream_wait_stream(t, default_stream(0)));
    DO(nd_stream_push(t));
    DO(nd_fill(a, nd_float(2)));
    DO(nd_stream_pop(t));
    DO(nd_record_stream(a, t));
    uint64_t base = a->storage->base;
    check_on();
    session c = begin(s, NDP_CAPTURE_GLOBAL, NULL);
    control->log_clear(dev[0]);
    nd_release(a);
    nd_release(foreign);
    is_int(asked(), 0, "G6: freeing what was made before the capture asks the driver for nothing");
    is_int(released, 0, "G6: foreign memory stays with us meanwhile");
    nd_array *b = filled(sim[0], N, 3);
    ok(b->storage->base != base, "G6: and its block is not used again");
    nd_release(b);
    end(&c, "G6");
    is_int(released, 1, "G6: then its owner gets it back");
    DO(nd_synchronize(sim[0]));
    nd_array *first = filled(sim[0], N, 4), *second = filled(sim[0], N, 4);
    ok(first->storage->base == base || second->storage->base == base,
       "G6: after the end the block is used again");
    is_int(races(), 0, "G6: without a race");
    nd_release(first);
    nd_release(second);
    nd_release(owner);
    drop(&c);
    nd_stream_release(s);
    nd_stream_release(t);
    settle();
}

/* ---- C10, C19 ---- */
static void test_memory_rules(void)
{
    nd_stream *s = new_stream(0);
    nd_array *a = NULL;
    int64_t n = N;
    session c = begin(s, NDP_CAPTURE_RELAXED, NULL);
    DO(nd_stream_push(s));
    control->fail_allocs(dev[0], 100);
    control->log_clear(dev[0]);
    is_int(nd_empty(sim[0], ND_F32, 1, &n, &a), ND_ERR_MEMORY, "C10: no memory in a capture");
    is_int(calls(0, "sync") + calls(0, "event_sync") + calls(0, "free"), 0,
           "C10: nothing is waited for, and nothing given back");
    control->fail_allocs(dev[0], 0);
    DO(nd_empty(sim[0], ND_F32, 1, &n, &a));
    DO(nd_fill(a, nd_float(1)));
    DO(nd_stream_pop(s));
    end(&c, "C10");
    nd_release(a);
    drop(&c);
    nd_allocator *none = NULL, *caching = NULL;
    DO(nd_allocator_named("none", &none));
    DO(nd_allocator_named("caching", &caching));
    settle();
    DO(nd_allocator_set(sim[0], none));
    DO(nd__capture_begin(s, NDP_CAPTURE_RELAXED));
    DO(nd_stream_push(s));
    control->log_clear(dev[0]);
    is_int(nd_empty(sim[0], ND_F32, 1, &n, &a), ND_ERR_CAPTURE,
           "C19: without a cache nothing is allocated in a capture");
    is_int(calls(0, "alloc"), 0, "C19: the device is not asked");
    DO(nd_stream_pop(s));
    nd_captured *graph = NULL;
    DO(nd__capture_end(s, &graph));
    ok(graph != NULL, "C19: the capture is still valid");
    nd__captured_free(graph);
    DO(nd_allocator_set(sim[0], caching));
    nd_allocator_release(none);
    nd_allocator_release(caching);
    nd_stream_release(s);
    settle();
}

/* ---- P8 ---- */
static void *address_of(const nd_array *a)
{
    void *p = NULL;
    DO(nd_data(a, &p));
    return p;
}

static void test_pinned(void)
{
    const nd_copy_opts no_wait = {.size = sizeof no_wait, .non_blocking = 1};
    const int64_t n = N;
    nd_stream *s = new_stream(0);
    nd_array *h = NULL, *back = NULL, *d = filled(sim[0], N, 0), *again = NULL;
    float *p;
    uint64_t operations = 0;
    DO(nd_empty_pinned(sim[0], ND_F32, 1, &n, &h));
    DO(nd_empty_pinned(sim[0], ND_F32, 1, &n, &back));
    DO(nd_fill(h, nd_float(3)));
    DO(nd_fill(back, nd_float(0)));
    p = address_of(h);
    DO(nd_synchronize(sim[0]));
    session c = begin(s, NDP_CAPTURE_THREAD_LOCAL, NULL);
    DO(nd_stream_push(s));
    DO(nd_copy_to(h, d, &no_wait));
    DO(nd_copy_to(d, back, &no_wait));
    DO(nd_stream_pop(s));
    ok(value_of(back) == 0, "P8: a captured copy leaves nothing pending");
    end(&c, "P8: pinned copies");
    control->graph_size(dev[0], nd__captured_graph(c.graph), &operations);
    is_int(operations, 2, "P8: are captured");
    nd_release(h);
    DO(nd_empty_pinned(sim[0], ND_F32, 1, &n, &again));
    ok(address_of(again) != p, "P8: the graph keeps the block that its program let go");
    nd_release(again);
    launch(&c);
    ok(value_of(d) == 3 && value_of(back) == 3, "P8: the graph copies");
    p[0] = 4;
    launch(&c);
    ok(value_of(d) == 4 && value_of(back) == 4, "P8: what is there when it runs");
    drop(&c);
    int found = 0;
    nd_array *many[4];
    for (int i = 0; i < 4; i++) {
        DO(nd_empty_pinned(sim[0], ND_F32, 1, &n, &many[i]));
        found += address_of(many[i]) == (void *)p;
    }
    is_int(found, 1, "P8: with the graph the block is given back");
    for (int i = 0; i < 4; i++)
        nd_release(many[i]);
    nd_release(back);
    nd_release(d);
    nd_stream_release(s);
    settle();
}

/* ---- the rest ---- */
static int ran;
static void count_run(void *ctx)
{
    (void)ctx;
    ran++;
}

static void test_rest(void)
{
    nd_stream *s = new_stream(0), *t = new_stream(0);
    nd_array *a = filled(sim[0], N, 0);
    DO(nd_synchronize(sim[0]));
    session c = begin(s, NDP_CAPTURE_THREAD_LOCAL, NULL);
    nd_launch_blocking_set(1);
    nd_hazard_mode_set(1);
    DO(nd_stream_push(s));
    DO(nd_stream_launch_host(s, count_run, NULL));
    DO(nd_fill(a, nd_float(1)));
    DO(nd_stream_pop(s));
    nd_hazard_mode_set(0);
    nd_launch_blocking_set(0);
    end(&c, "A3: with launch blocking and hazard mode");
    is_int(ran, 0, "G23: a captured host function does not run");
    launch(&c);
    launch(&c);
    is_int(ran, 2, "G23: but each time the graph does");
    drop(&c);
    /* A stream destroyed while it is captured takes the capture along. */
    DO(nd__capture_begin(t, NDP_CAPTURE_GLOBAL));
    nd_stream_release(t);
    is_int(nd_synchronize(sim[0]), ND_OK, "G17: a stream that goes takes its capture along");
    nd_release(a);
    nd_stream_release(s);
    settle();
    is_int(reserved(0), 0, "G17: and nothing stays reserved");
}

/* ---- a stream that joined a capture and is released before its end ---- */
static void lend(nd_stream *s, double value)
{
    DO(nd_stream_push(s));
    nd_array *a = filled(sim[0], 1 << 20, value);
    nd_release(a); /* its memory stays the stream's, and its work is still queued */
    DO(nd_stream_pop(s));
}

static void test_released_inside(void)
{
    for (int32_t mode = NDP_CAPTURE_GLOBAL; mode <= NDP_CAPTURE_RELAXED; mode++) {
        nd_stream *s = new_stream(0), *t = new_stream(0);
        settle();
        DO(nd_memory_empty_cache(sim[0]));
        check_on();
        control->set_mode(dev[0], NDSIM_STEPPED);
        lend(t, 1);
        int64_t kept = reserved(0);
        session c = begin(s, mode, NULL);
        DO(nd_stream_wait_stream(t, s));
        DO(nd_stream_wait_stream(s, t));
        control->log_clear(dev[0]);
        nd_stream_release(t);
        is_int(calls(0, "event_record") + calls(0, "stream_destroy"), 0,
               "G17: a stream that is released inside a capture is asked nothing");
        end(&c, "G17: released inside");
        is_int(calls(0, "stream_destroy"), 1, "G17: it goes when the capture has ended");
        nd_array *b = filled(sim[0], 1 << 20, 2);
        is_int(reserved(0), kept, "G17: then its memory is used again");
        control->set_mode(dev[0], NDSIM_AUTO);
        ok(value_of(b) == 2, "G17: after the work of before");
        is_int(races(), 0, "G17: and not before its end");
        nd_release(b);
        drop(&c);
        nd_stream_release(s);
    }
}

/* Two captures; the released stream is of the one that ends later. */
static void test_released_in_the_other(void)
{
    nd_stream *s = new_stream(0), *other = new_stream(0), *t = new_stream(0);
    for (int first = 0; first < 2; first++) {
        session a = begin(first ? other : s, NDP_CAPTURE_RELAXED, NULL);
        session b = begin(first ? s : other, NDP_CAPTURE_RELAXED, NULL);
        DO(nd_stream_wait_stream(t, s));
        DO(nd_stream_wait_stream(s, t));
        control->log_clear(dev[0]);
        nd_stream_release(t);
        end(first ? &a : &b, "G17: the other one ends");
        is_int(calls(0, "stream_destroy"), 0, "G17: the stream stays for its own");
        end(first ? &b : &a, "G17: its own ends");
        is_int(calls(0, "stream_destroy"), 1, "G17: and it goes");
        drop(&a);
        drop(&b);
        t = new_stream(0);
    }
    /* The capture goes with the stream it began on: what was put off is done. */
    DO(nd__capture_begin(s, NDP_CAPTURE_RELAXED));
    DO(nd_stream_wait_stream(t, s));
    nd_stream_release(t);
    control->log_clear(dev[0]);
    nd_stream_release(s);
    is_int(calls(0, "stream_destroy"), 2, "G17: both go");
    nd_stream_release(other);
    settle();
}

/* A program's function: the graph keeps the module, and runs the function each time. */
static void add_one(const uint32_t grid[3], const uint32_t block[3], void *const *argument)
{
    float *x = argument[0];
    for (uint32_t i = 0; i < grid[0] * block[0]; i++)
        x[i] += 1;
}

static void test_functions(void)
{
    static const nd_host_function functions[] = {{"add_one", add_one}};
    const nd_module_opts opts = {
        .size = sizeof opts, .kind = ND_CODE_HOST, .code = functions, .nbytes = sizeof functions};
    nd_stream *s = new_stream(0);
    nd_module *m = NULL, *late = NULL;
    nd_function *f = NULL;
    nd_array *x = NULL;
    nd_scalar sum = nd_float(0);
    DO(nd_zeros(sim[0], ND_F32, 1, (const int64_t[]){N}, &x));
    DO(nd_module_load(sim[0], &opts, &m));
    DO(nd_module_function(m, "add_one", &f));
    const nd_launch_arg arg = nd_launch_out(x);
    const nd_launch_opts how = {.size = sizeof how, .stream = s, .grid = {N}, .block = {1}};
    DO(nd_synchronize(sim[0]));
    session c = begin(s, NDP_CAPTURE_GLOBAL, NULL);
    DO(nd_launch(f, &arg, 1, &how));
    is_int(nd_module_load(sim[0], &opts, &late), ND_ERR_CAPTURE, "X6: no loading in a capture");
    nd_module_release(m);
    end(&c, "X6: a launch is captured");
    launch(&c);
    launch(&c);
    nd_array *total = NULL;
    DO(nd_sum(x, NULL, &total));
    DO(nd_item(total, &sum));
    ok(sum.v.f == 2 * N, "X6: the graph runs the function of the released module");
    drop(&c);
    nd_release(total);
    nd_release(x);
    nd_stream_release(s);
    settle();
}

TAP_MAIN({"rules", test_rules}, {"refusals", test_refusals}, {"other_threads", test_other_threads},
         {"forks", test_forks}, {"routing", test_routing}, {"warm_pool", test_warm_pool},
         {"deferred", test_deferred}, {"memory_rules", test_memory_rules}, {"pinned", test_pinned},
         {"rest", test_rest}, {"released_inside", test_released_inside},
         {"released_in_the_other", test_released_in_the_other}, {"functions", test_functions})
