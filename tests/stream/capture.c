/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Captures of streams: who may end them, what is refused before the driver is asked, and which
 * streams they are of. */
#include "tests/stream/capture.h"

/* ---- G1 ---- */
static void *end_elsewhere(void *arg)
{
    nd_captured *graph = NULL;
    nd_status status = nd__capture_end(arg, &graph);
    nd__captured_free(graph);
    return (void *)(intptr_t)status;
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
    DO(nd__caching_capture_end(backend(), c.id));
    nd_pool_release(c.pool);
    nd_stream *none;
    DO(nd_stream_default(cpu, &none));
    is_int(nd__capture_begin(none, 1), ND_ERR_CAPTURE, "G1: nor that of the cpu");
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
    snprintf(id, sizeof id, "stream %llu", (unsigned long long)nd_stream_id(t));
    has_text(nd_last_error()->message, id, "G4: that names the stream");
    DO(nd__caching_capture_end(backend(), c.id));
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

TAP_MAIN({"rules", test_rules}, {"refusals", test_refusals}, {"other_threads", test_other_threads},
         {"forks", test_forks})
