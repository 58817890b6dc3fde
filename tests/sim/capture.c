/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The simulated device's capture (F7): graphs, and each of CUDA's rules by its code. */
#include <pthread.h>
#include "harness.h"

static ndp_mem *a, *b, *c;
static ndp_stream *s1, *s2, *s3;
static ndp_event *e, *f;

static void setup(void)
{
    start();
    s1 = new_stream(dev);
    s2 = new_stream(dev);
    s3 = new_stream(dev);
    e = new_event(dev);
    f = new_event(dev);
    a = block(dev, 4096);
    b = block(dev, 4096);
    c = block(dev, 4096);
    fill(dev, NULL, VEC(a, 100), 0);
    fill(dev, NULL, VEC(b, 100), 0);
    fill(dev, NULL, VEC(c, 100), 0);
    sim->sync(dev, NULL);
}

static int32_t state(ndp_stream *s)
{
    int32_t status = -1;
    uint64_t id = 0;
    graphs->info(dev, s, &status, &id);
    return (id != 0) == (status != NDP_CAPTURE_NONE) ? status : -1;
}

static uint64_t capture_id(ndp_stream *s)
{
    int32_t status;
    uint64_t id = 0;
    graphs->info(dev, s, &status, &id);
    return id;
}

static void begin(ndp_stream *s, int32_t mode)
{
    is_int(graphs->begin(dev, s, mode), NDP_OK, "F7: begin");
}

/* The capture on s ends as it should: with its graph, which is dropped. */
static void end_well(ndp_stream *s)
{
    ndp_graph *g = NULL;
    int32_t status = graphs->end(dev, s, &g);
    ok(status == NDP_OK && g, "F7: the capture is still valid and ends");
    if (status != NDP_OK)
        diag("%s", last_error.text);
    graphs->destroy(dev, g);
}

/* It was invalidated: work is refused, and so is its end; then the stream is usable again. */
static void end_invalid(ndp_stream *s, const char *word)
{
    ndp_graph *g = (ndp_graph *)&word;
    is_int(state(s), NDP_CAPTURE_INVALIDATED, "F7: the capture is invalidated");
    refused(fill(dev, s, VEC(a, 4), 1), NDP_ERR_CAPTURE, 901, word);
    refused(graphs->end(dev, s, &g), NDP_ERR_CAPTURE, 901, word);
    ok(g == NULL, "G3: and there is no graph");
    is_int(state(s), NDP_CAPTURE_NONE, "F7: after which the stream is itself again");
}

static void f7_graph(void)
{
    ndp_graph *g = NULL;
    uint64_t n = 0;
    ndp_mem *t = block(dev, 400);
    is_int(state(s1), NDP_CAPTURE_NONE, "F7: no capture at first");
    begin(s1, NDP_CAPTURE_THREAD_LOCAL);
    is_int(state(s1), NDP_CAPTURE_ACTIVE, "F7: active");
    fill(dev, s1, VEC(t, 100), 3);
    binary(dev, s1, NDP_OP_add, VEC(a, 100), VEC(t, 100), VEC(a, 100));
    is_int(graphs->end(dev, s1, &g), NDP_OK, "F7: end");
    ok(peek_f32(dev, a, 0) == 0, "F7: nothing ran");
    control->graph_size(dev, g, &n);
    is_int(n, 2, "F7: the graph has both operations");
    sim->free(dev, t);
    ok(element(dev, a, 0) == 0, "F7: nor later");
    for (int i = 0; i < 3; i++)
        is_int(control->graph_launch(dev, g, s2), NDP_OK, "F7: launch on another stream");
    streams->sync(dev, s2);
    ok(peek_f32(dev, a, 99) == 9, "G10: three launches, though the block was freed");
    graphs->destroy(dev, g);
    is_int(streams->sync(dev, s1), NDP_OK, "F7: the stream is itself again");
}

static void f7_fork_and_join(void)
{
    ndp_graph *g = NULL;
    uint64_t n = 0;
    begin(s1, NDP_CAPTURE_THREAD_LOCAL);
    fill(dev, s1, VEC(a, 100), 5);
    streams->event_record(dev, e, s1);
    streams->wait(dev, s2, e);
    is_int(state(s2), NDP_CAPTURE_ACTIVE, "G4: waiting for a captured event joins the capture");
    ok(capture_id(s1) == capture_id(s2), "G4: it is the same one");
    binary(dev, s2, NDP_OP_add, VEC(a, 100), VEC(a, 100), VEC(b, 100));
    streams->event_record(dev, f, s2);
    streams->wait(dev, s1, f);
    binary(dev, s1, NDP_OP_add, VEC(b, 100), VEC(b, 100), VEC(c, 100));
    is_int(graphs->end(dev, s1, &g), NDP_OK, "G4: joined, it ends");
    is_int(state(s2), NDP_CAPTURE_NONE, "G4: for all its streams");
    control->graph_size(dev, g, &n);
    is_int(n, 3, "G4: with the work of both");
    control->graph_launch(dev, g, s3);
    streams->sync(dev, s3);
    ok(peek_f32(dev, c, 50) == 20, "G4: in an order that respects the events");
    graphs->destroy(dev, g);
}

static void f7_904_unjoined(void)
{
    ndp_graph *g = NULL;
    uint64_t id = 0;
    char word[32];
    control->stream_id(dev, s2, &id);
    snprintf(word, sizeof word, "stream %llu", (unsigned long long)id);
    begin(s1, NDP_CAPTURE_THREAD_LOCAL);
    streams->event_record(dev, e, s1);
    streams->wait(dev, s2, e);
    fill(dev, s2, VEC(a, 4), 1);
    refused(graphs->end(dev, s1, &g), NDP_ERR_CAPTURE, 904, word);
    ok(g == NULL, "F7: there is no graph");
    is_int(state(s2), NDP_CAPTURE_NONE, "F7: both streams are themselves again");
    begin(s1, NDP_CAPTURE_THREAD_LOCAL);
    streams->event_record(dev, e, s1);
    streams->wait(dev, s2, e);
    streams->event_record(dev, f, s2);
    fill(dev, s2, VEC(a, 4), 1);
    streams->wait(dev, s1, f);
    refused(graphs->end(dev, s1, &g), NDP_ERR_CAPTURE, 904, "not joined");
}

static void f7_900_unsupported(void)
{
    int32_t done;
    float x = 0;
    refused(graphs->begin(dev, NULL, NDP_CAPTURE_RELAXED), NDP_ERR_CAPTURE, 900, "default stream");
    begin(s1, NDP_CAPTURE_RELAXED);
    refused(graphs->begin(dev, s1, NDP_CAPTURE_RELAXED), NDP_ERR_CAPTURE, 401, "already");
    end_well(s1);
    begin(s1, NDP_CAPTURE_RELAXED);
    refused(streams->sync(dev, s1), NDP_ERR_CAPTURE, 900, "sync on a stream");
    end_invalid(s1, "sync on a stream");
    begin(s1, NDP_CAPTURE_RELAXED);
    refused(streams->query(dev, s1, &done), NDP_ERR_CAPTURE, 900, "stream_query");
    end_invalid(s1, "stream_query");
    begin(s1, NDP_CAPTURE_RELAXED);
    refused(sim->read(dev, s1, a, 0, &x, 4), NDP_ERR_CAPTURE, 900, "read");
    end_invalid(s1, "read");
    begin(s1, NDP_CAPTURE_RELAXED);
    refused(sim->write(dev, s1, a, 0, &x, 4), NDP_ERR_CAPTURE, 900, "pageable");
    end_invalid(s1, "pageable");
    ndp_graph *g;
    refused(graphs->end(dev, s1, &g), NDP_ERR_CAPTURE, 401, "not being captured");
}

static void f7_p8_pinned(void)
{
    ndp_mem *pinned = NULL;
    float *host = NULL;
    ndp_graph *g = NULL;
    map->pin(dev, 64, &pinned, (void **)&host);
    begin(s1, NDP_CAPTURE_THREAD_LOCAL);
    is_int(sim->copy(dev, s1, a, 0, pinned, 0, 4), NDP_OK, "P8: a pinned copy is captured");
    is_int(graphs->end(dev, s1, &g), NDP_OK, "P8: and keeps the capture valid");
    host[0] = 31;
    control->graph_launch(dev, g, s1);
    streams->sync(dev, s1);
    ok(peek_f32(dev, a, 0) == 31, "P8: it reads the memory when launched");
    graphs->destroy(dev, g);
    sim->free(dev, pinned);
}

static void f7_902_merge(void)
{
    begin(s1, NDP_CAPTURE_RELAXED);
    begin(s2, NDP_CAPTURE_RELAXED);
    streams->event_record(dev, e, s1);
    refused(streams->wait(dev, s2, e), NDP_ERR_CAPTURE, 902, "merge");
    end_invalid(s1, "another capture");
    end_invalid(s2, "another capture");
}

static void f7_903_unmatched(void)
{
    ndp_graph *g;
    begin(s1, NDP_CAPTURE_RELAXED);
    streams->event_record(dev, e, s1);
    streams->wait(dev, s2, e);
    refused(graphs->end(dev, s2, &g), NDP_ERR_CAPTURE, 903, "must be ended there");
    end_well(s1);
}

static void f7_905_isolation(void)
{
    streams->event_record(dev, e, s2);
    begin(s1, NDP_CAPTURE_RELAXED);
    refused(streams->wait(dev, s1, e), NDP_ERR_CAPTURE, 905, "outside its capture");
    end_invalid(s1, "outside the capture");
    begin(s1, NDP_CAPTURE_RELAXED);
    streams->event_record(dev, e, s1);
    end_well(s1);
    refused(streams->wait(dev, s2, e), NDP_ERR_CAPTURE, 905, "has ended");
    ndp_event *never = new_event(dev);
    begin(s1, NDP_CAPTURE_RELAXED);
    is_int(streams->wait(dev, s1, never), NDP_OK, "A11: an event never recorded orders nothing");
    end_well(s1);
    streams->event_destroy(dev, never);
}

static void f7_906_implicit(void)
{
    begin(s1, NDP_CAPTURE_RELAXED);
    is_int(fill(dev, NULL, VEC(c, 4), 1), NDP_OK, "S6: our streams do not block the default one");
    streams->event_record(dev, e, s1);
    refused(streams->wait(dev, NULL, e), NDP_ERR_CAPTURE, 906, "default stream");
    end_invalid(s1, "default stream");
    control->set_blocking(dev, s1, 1);
    begin(s1, NDP_CAPTURE_RELAXED);
    refused(fill(dev, NULL, VEC(c, 4), 1), NDP_ERR_CAPTURE, 906, "stream of your own");
    end_invalid(s1, "default stream");
    control->set_blocking(dev, s1, 0);
}

static void f7_907_captured_event(void)
{
    int32_t done;
    double ms;
    begin(s1, NDP_CAPTURE_RELAXED);
    streams->event_record(dev, e, s1);
    refused(streams->event_query(dev, e, &done), NDP_ERR_CAPTURE, 907, "event_query");
    end_invalid(s1, "event_query");
    begin(s1, NDP_CAPTURE_RELAXED);
    streams->event_record(dev, e, s1);
    refused(streams->event_sync(dev, e), NDP_ERR_CAPTURE, 907, "event_sync");
    end_invalid(s1, "event_sync");
    streams->event_record(dev, f, s2);
    streams->event_sync(dev, f);
    refused(streams->event_elapsed(dev, f, e, &ms), NDP_ERR_CAPTURE, 907, "again");
    streams->event_record(dev, e, s2);
    is_int(streams->event_sync(dev, e), NDP_OK, "F7: recorded again outside, it is an event again");
}

typedef struct {
    int what;
    int32_t status;
    int64_t native;
    ndp_graph *graph;
} other;

static void *act(void *arg)
{
    other *o = arg;
    int32_t done;
    ndp_mem *m = NULL;
    last_error.native = 0;
    if (o->what == 0)
        o->status = graphs->end(dev, s1, &o->graph);
    else if (o->what == 1)
        o->status = sim->alloc(dev, 64, &m);
    else
        o->status = streams->event_query(dev, f, &done);
    o->native = last_error.native;
    sim->free(dev, m);
    return NULL;
}

/* Another thread ends (0), allocates (1), or queries an event (2). */
static other elsewhere(int what)
{
    other o = {.what = what};
    pthread_t t;
    pthread_create(&t, NULL, act, &o);
    pthread_join(t, NULL);
    return o;
}

static void f7_908_wrong_thread(void)
{
    begin(s1, NDP_CAPTURE_THREAD_LOCAL);
    other o = elsewhere(0);
    ok(o.status == NDP_ERR_CAPTURE && o.native == 908, "F7: end on another thread: 908");
    end_well(s1);
    begin(s1, NDP_CAPTURE_RELAXED);
    o = elsewhere(0);
    ok(o.status == NDP_OK && o.graph, "F7: a relaxed capture may be ended there");
    graphs->destroy(dev, o.graph);
}

/* Which calls a capture forbids to whom. */
static void f7_modes(void)
{
    ndp_mem *m = NULL;
    streams->event_record(dev, f, s2);
    streams->event_sync(dev, f);
    begin(s1, NDP_CAPTURE_GLOBAL);
    other o = elsewhere(1);
    ok(o.status == NDP_ERR_CAPTURE && o.native == 900, "F7: global: another thread's alloc is 900");
    end_invalid(s1, "alloc");
    begin(s1, NDP_CAPTURE_GLOBAL);
    o = elsewhere(2);
    ok(o.status == NDP_ERR_CAPTURE && o.native == 900, "F7: and so is its event query");
    end_invalid(s1, "event_query");
    begin(s1, NDP_CAPTURE_THREAD_LOCAL);
    o = elsewhere(1);
    is_int(o.status, NDP_OK, "F7: thread-local: another thread may allocate");
    o = elsewhere(2);
    is_int(o.status, NDP_OK, "F7: and query events");
    refused(sim->alloc(dev, 64, &m), NDP_ERR_CAPTURE, 900, "alloc");
    end_invalid(s1, "alloc");
    begin(s1, NDP_CAPTURE_THREAD_LOCAL);
    refused(streams->sync(dev, s2), NDP_ERR_CAPTURE, 900, "while a stream is being captured");
    end_invalid(s1, "sync");
    begin(s1, NDP_CAPTURE_RELAXED);
    is_int(sim->alloc(dev, 64, &m), NDP_OK, "F7: relaxed: alloc is allowed");
    is_int(streams->event_sync(dev, f), NDP_OK, "F7: and waiting for events");
    is_int(streams->sync(dev, s2), NDP_OK, "F7: and for other streams");
    sim->free(dev, m);
    end_well(s1);
}

static void f7_abandoned(void)
{
    ndp_stream *s = new_stream(dev), *again;
    ndp_graph *g = NULL;
    uint64_t before = 0, after = 0, total;
    memory->usage(dev, &before, &total);
    for (int i = 0; i < 100; i++) {
        ndp_mem *t = block(dev, 4096);
        graphs->begin(dev, s, NDP_CAPTURE_RELAXED);
        fill(dev, s, VEC(t, 4), 1);
        sim->free(dev, t);
        streams->query(dev, s, &(int32_t){0});
        graphs->end(dev, s, &g);
    }
    memory->usage(dev, &after, &total);
    is_int(after, before, "G17: 100 broken captures keep no memory");
    graphs->begin(dev, s, NDP_CAPTURE_RELAXED);
    fill(dev, s, VEC(a, 4), 1);
    streams->event_record(dev, e, s);
    streams->wait(dev, s2, e);
    streams->destroy(dev, s);
    is_int(state(s2), NDP_CAPTURE_NONE, "F7: a capture ends with the stream it began on");
    again = new_stream(dev);
    ok(again == s && state(again) == NDP_CAPTURE_NONE, "F6: a stream with its handle has none");
    streams->destroy(dev, again);
}

static void add_one(void *arg)
{
    ++*(int *)arg;
}

static void g23_host_functions(void)
{
    ndp_graph *g = NULL;
    int calls = 0;
    begin(s1, NDP_CAPTURE_THREAD_LOCAL);
    is_int(streams->launch_host(dev, s1, add_one, &calls), NDP_OK, "G23: a host function");
    is_int(graphs->end(dev, s1, &g), NDP_OK, "G23: is captured");
    is_int(calls, 0, "G23: not called");
    control->graph_launch(dev, g, s1);
    control->graph_launch(dev, g, s1);
    streams->sync(dev, s1);
    is_int(calls, 2, "G23: but by each launch");
    graphs->destroy(dev, g);
}

TAP_MAIN({"setup", setup}, {"graph", f7_graph}, {"join", f7_fork_and_join},
         {"904", f7_904_unjoined}, {"900", f7_900_unsupported}, {"pinned", f7_p8_pinned},
         {"902", f7_902_merge}, {"903", f7_903_unmatched}, {"905", f7_905_isolation},
         {"906", f7_906_implicit}, {"907", f7_907_captured_event}, {"908", f7_908_wrong_thread},
         {"modes", f7_modes}, {"abandoned", f7_abandoned}, {"host", g23_host_functions},
         {"finish", finish})
