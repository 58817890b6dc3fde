/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Graphs are captured, run and changed. */
#include <pthread.h>
#include <string.h>
#include "tests/graph/lab.h"

/* ---- what a graph is ---- */
static void test_replay(void)
{
    nd_array *x = filled(N, 2), *y = filled(N, 3), *sum = NULL, *z = NULL;
    nd_graph *g = begin();
    same(nd_stream_is_capturing(stream), 1, "%s: the stream is being captured", where);
    DO(nd_add(x, y, &sum));
    DO(nd_multiply(sum, sum, &z));
    nd_release(sum);
    DO(nd_graph_end(g));
    same(nd_stream_is_capturing(stream), 0, "%s: and is not any more", where);
    same(nd_graph_nodes(g), 2, "%s: two operations were captured", where);
    ok(nd_graph_device(g) == device, "%s: of the device", where);
    launch(g);
    ok(value_of(z) == 25, "%s: the graph computes", where);
    DO(nd_fill(x, nd_float(4)));
    launch(g);
    ok(value_of(z) == 49, "%s: from what its inputs hold when it runs", where);
    for (int i = 0; i < 10; i++)
        launch(g);
    ok(value_of(z) == 49, "%s: as often as it is launched", where);
    nd_graph_release(g);
    nd_release(x);
    nd_release(y);
    nd_release(z);
}
ON_BOTH(test_replay)

/* Every class of operation that has parameters, scalars, or needs room. */
static void test_classes(void)
{
    const int64_t shape[2] = {20, 30};
    nd_array *x = NULL, *flat = NULL, *want[7], *got[7], *turned = NULL;
    DO(nd_arange(device, ND_F32, nd_float(0), nd_float(N), nd_float(1), &flat));
    DO(nd_multiply_scalar(flat, nd_float(1.0 / N), &want[0]));
    DO(nd_reshape(want[0], 2, shape, &x));
    nd_release(want[0]);
    DO(nd_transpose(x, &turned));
    const nd_reduce_opts rows = {.size = sizeof rows, .axes = (const int32_t[]){1}, .naxes = 1};
    nd_graph *g = NULL;
    for (int captured = 0; captured < 2; captured++) {
        nd_array **r = captured ? got : want;
        if (captured)
            g = begin();
        DO(nd_add_scalar(turned, nd_float(0.5), &r[0]));
        DO(nd_matmul(x, turned, NULL, &r[1]));
        DO(nd_sum(x, &rows, &r[2]));
        DO(nd_softmax(x, NULL, &r[3]));
        DO(nd_sort(turned, NULL, &r[4]));
        DO(nd_cumulative_sum(flat, NULL, &r[5]));
        DO(nd_rfft(x, NULL, &r[6]));
        if (captured)
            DO(nd_graph_end(g));
    }
    launch(g);
    for (int i = 0; i < 7; i++) {
        nd_array *same = NULL, *all = NULL;
        nd_scalar equal = {0};
        DO(nd_equal(want[i], got[i], &same));
        DO(nd_all(same, NULL, &all));
        DO(nd_item(all, &equal));
        ok(equal.v.u, "%s: operation %d gives the bits that it gives outside", where, i);
        nd_release(same);
        nd_release(all);
        nd_release(want[i]);
        nd_release(got[i]);
    }
    nd_graph_release(g);
    nd_release(x);
    nd_release(flat);
    nd_release(turned);
}
ON_BOTH(test_classes)

/* ---- G1 ---- */
static void *end_elsewhere(void *graph)
{
    return (void *)(intptr_t)nd_graph_end(graph);
}

static void test_rules(void)
{
    nd_stream *none = NULL;
    nd_graph *g = NULL, *second = (nd_graph *)1;
    const nd_graph_opts bad = {.size = sizeof bad, .mode = 3}, old = {.size = 1};
    DO(nd_stream_default(device, &none));
    same(nd_graph_begin(none, NULL, &g), ND_ERR_CAPTURE, "%s: G1: not the default stream", where);
    ok(g == NULL, "%s: G1: and there is no graph", where);
    same(nd_graph_begin(stream, &bad, &g), ND_ERR_ARGUMENT, "%s: G1: an unknown mode", where);
    same(nd_graph_begin(stream, &old, &g), ND_ERR_ARGUMENT, "%s: options of no version", where);
    g = begin();
    same(nd_graph_begin(stream, NULL, &second), ND_ERR_CAPTURE, "%s: G1: not nested", where);
    ok(second == NULL, "%s: G1: and no second graph", where);
    same(nd_graph_launch(g, NULL, NULL), ND_ERR_STATE, "%s: an open graph cannot run", where);
    pthread_t t;
    void *result = NULL;
    pthread_create(&t, NULL, end_elsewhere, g);
    pthread_join(t, &result);
    same((int)(intptr_t)result, ND_ERR_CAPTURE, "%s: G1: another thread does not end it", where);
    DO(nd_graph_end(g));
    same(nd_graph_end(g), ND_ERR_STATE, "%s: G1: it has ended", where);
    same(nd_graph_abort(g), ND_ERR_STATE, "%s: G1: for good", where);
    launch(g);
    ok(1, "%s: G22: an empty graph does nothing", where);
    nd_graph_release(g);
}
ON_BOTH(test_rules)

/* ---- G2 ---- */
static void refused(nd_status status, const char *what)
{
    same(status, ND_ERR_CAPTURE, "%s: G2: %s is refused", where, what);
    ok(strlen(nd_last_error()->message) > 20, "%s: G2: with a reason", where);
}

static void test_illegal(void)
{
    nd_array *x = filled(N, 1), *y = NULL, *indices = NULL;
    nd_event *before = NULL, *inside = NULL;
    static float room[N];
    nd_scalar value;
    int32_t is_done;
    const int64_t n = N;
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = &n};
    DO(nd_event_create(device, NULL, &before));
    DO(nd_event_create(device, NULL, &inside));
    DO(nd_event_record(before, stream));
    nd_graph *g = begin();
    DO(nd_add(x, x, &y));
    refused(nd_stream_synchronize(stream), "nd_stream_synchronize");
    refused(nd_synchronize(device), "nd_synchronize");
    refused(nd_stream_query(stream, &is_done), "nd_stream_query");
    refused(nd_to_host(y, room, sizeof room), "nd_to_host");
    refused(nd_nonzero(x, &indices), "an operation whose shape depends on values");
    refused(nd_from_host(&layout, room, device, &indices), "a copy from pageable memory");
    refused(nd_memory_empty_cache(device), "nd_memory_empty_cache");
    DO(nd_event_record(inside, stream));
    refused(nd_event_query(inside, &is_done), "nd_event_query of a captured event");
    refused(nd_event_synchronize(inside), "nd_event_synchronize of one");
    refused(nd_stream_wait_event(stream, before), "a wait for an event from before");
    const nd_reduce_opts all = {.size = sizeof all};
    nd_array *sum = NULL;
    DO(nd_sum(y, &all, &sum));
    refused(nd_item(sum, &value), "nd_item");
    DO(nd_graph_end(g));
    ok(1, "%s: G2: the capture stayed valid", where);
    launch(g);
    DO(nd_item(sum, &value));
    ok(value.v.f == 2 * N, "%s: G2: and is right", where);
    nd_event_release(before);
    nd_event_release(inside);
    nd_graph_release(g);
    nd_release(x);
    nd_release(y);
    nd_release(sum);
}
ON_BOTH(test_illegal)

/* ---- G4: the note's examples ---- */
static void test_fork(void)
{
    nd_stream *side = new_stream();
    nd_event *fork = NULL, *join = NULL;
    nd_array *x = filled(N, 3), *a = NULL, *b = NULL, *c = NULL;
    DO(nd_event_create(device, NULL, &fork));
    DO(nd_event_create(device, NULL, &join));
    nd_graph *g = begin();
    DO(nd_add(x, x, &a));
    DO(nd_event_record(fork, stream));
    DO(nd_stream_wait_event(side, fork));
    same(nd_stream_is_capturing(side), 1, "%s: G4: a stream that waits joins", where);
    DO(nd_stream_push(side));
    DO(nd_multiply(a, x, &b));
    DO(nd_event_record(join, side));
    DO(nd_stream_pop(side));
    DO(nd_stream_wait_event(stream, join));
    DO(nd_subtract(b, a, &c));
    DO(nd_graph_end(g));
    same(nd_stream_is_capturing(side), 0, "%s: G4: and is itself again", where);
    launch(g);
    ok(value_of(c) == 12, "%s: G4: work of both streams runs in order", where);
    nd_graph_release(g);
    nd_release(c);
    nd_release(b);
    g = begin();
    DO(nd_stream_wait_stream(side, stream));
    DO(nd_stream_push(side));
    DO(nd_multiply(a, x, &b));
    DO(nd_stream_pop(side));
    same(nd_graph_end(g), ND_ERR_CAPTURE, "%s: G4: work that was not joined is an error", where);
    char id[24];
    snprintf(id, sizeof id, "%llu", (unsigned long long)nd_stream_id(side));
    ok(strstr(nd_last_error()->message, id) != NULL, "%s: G4: which names the stream", where);
    same(nd_graph_launch(g, NULL, NULL), ND_ERR_STATE, "%s: G3: and there is no graph", where);
    same(nd_stream_is_capturing(side) + nd_stream_is_capturing(stream), 0,
         "%s: G17: and no capture", where);
    nd_graph_release(g);
    nd_event_release(fork);
    nd_event_release(join);
    nd_release(a);
    nd_release(b);
    nd_release(x);
    nd_stream_release(side);
}
ON_BOTH(test_fork)

/* ---- G16 ---- */
typedef struct {
    nd_array *from, *to;
    int times, released;
    nd_status status;
} eager;

static nd_status double_on_host(void *ctx)
{
    eager *e = ctx;
    float room[N];
    const int64_t n = N;
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = &n};
    nd_array *made = NULL;
    e->times++;
    DO(nd_to_host(e->from, room, sizeof room));
    for (int i = 0; i < N; i++)
        room[i] *= 2;
    DO(nd_from_host(&layout, room, device, &made));
    DO(nd_assign(made, e->to));
    nd_release(made);
    return e->status;
}

static void count_release(void *ctx)
{
    ((eager *)ctx)->released++;
}

static void test_break(void)
{
    nd_array *x = filled(N, 1), *y = NULL, *z = NULL;
    eager e = {.to = filled(N, 0)};
    nd_graph *g = begin();
    DO(nd_add(x, x, &y));
    e.from = y;
    DO(nd_graph_break(g, double_on_host, &e, count_release));
    same(e.times, 1, "%s: G16: the eager part has run once", where);
    DO(nd_add(e.to, y, &z));
    DO(nd_graph_end(g));
    same(nd_graph_segments(g), 2, "%s: G16: there are two segments", where);
    launch(g);
    ok(value_of(z) == 6, "%s: G16: what one segment writes the next one reads", where);
    DO(nd_fill(x, nd_float(5)));
    launch(g);
    ok(value_of(z) == 30, "%s: G16: again with other values", where);
    same(e.times, 3, "%s: G16: the eager part runs with each launch", where);
    e.status = ND_ERR_STATE;
    same(nd_graph_launch(g, NULL, NULL), ND_ERR_STATE, "%s: G16: its error ends the launch", where);
    nd_graph_release(g);
    same(e.released, 1, "%s: G16: its context goes with the graph", where);
    g = begin();
    DO(nd_add(x, x, &e.from));
    same(nd_graph_break(g, double_on_host, &e, count_release), ND_ERR_STATE,
         "%s: G16: an error at the break ends the capture", where);
    same(nd_stream_is_capturing(stream), 0, "%s: G17: which leaves the stream", where);
    same(e.released, 2, "%s: G17: and nothing of the context", where);
    nd_graph_release(g);
    nd_release(e.from);
    nd_release(e.to);
    nd_release(x);
    nd_release(y);
    nd_release(z);
}
ON_BOTH(test_break)

/* ---- G19 ---- */
static nd_graph *scaled(const nd_array *x, double by, int times, nd_array **out)
{
    nd_graph *g = begin();
    DO(nd_multiply_scalar(x, nd_float(by), out));
    for (int i = 1; i < times; i++)
        DO(nd_multiply_scalar_into(*out, nd_float(by), *out));
    DO(nd_graph_end(g));
    return g;
}

static void test_update(void)
{
    nd_array *x = filled(N, 1), *a = NULL, *b = NULL, *c = NULL;
    int32_t updated = -1;
    nd_graph *g = scaled(x, 2, 1, &a), *h = scaled(x, 3, 1, &b), *longer = scaled(x, 3, 2, &c);
    launch(g);
    ok(value_of(a) == 2, "%s: G19: before", where);
    DO(nd_graph_update(g, h, &updated));
    same(updated, 1, "%s: G19: a graph of equal shape updates another", where);
    launch(g);
    ok(value_of(b) == 3, "%s: G19: which does that from then on", where);
    same(nd_graph_launch(h, NULL, NULL), ND_ERR_STATE, "%s: G19: the other one is empty", where);
    DO(nd_graph_update(g, longer, &updated));
    same(updated, 0, "%s: G19: one of another shape is made anew", where);
    launch(g);
    ok(value_of(c) == 9, "%s: G19: and runs", where);
    nd_graph_release(g);
    nd_graph_release(h);
    nd_graph_release(longer);
    nd_release(x);
    nd_release(a);
    nd_release(b);
    nd_release(c);
}
ON_BOTH(test_update)

/* ---- G20 ---- */
static void test_streams(void)
{
    nd_array *x = filled(N, 0);
    nd_stream *other = new_stream(), *foreign = NULL;
    nd_device *second = NULL;
    nd_graph *g = begin();
    DO(nd_add_scalar_into(x, nd_float(1), x));
    DO(nd_graph_end(g));
    for (int i = 0; i < 20; i++)
        DO(nd_graph_launch(g, i % 2 ? other : stream, NULL));
    DO(nd_stream_synchronize(other));
    ok(value_of(x) == 20, "%s: G20: launches on two streams follow each other", where);
    DO(nd_device_get("sim:1", &second));
    DO(nd_stream_create(second, NULL, &foreign));
    same(nd_graph_launch(g, foreign, NULL), ND_ERR_DEVICE, "%s: G20: not on another device", where);
    nd_graph *h = NULL;
    DO(nd_graph_begin(other, NULL, &h));
    same(nd_graph_launch(g, other, NULL), ND_ERR_CAPTURE, "%s: G20: nor into a capture", where);
    nd_graph_release(h);
    same(nd_stream_is_capturing(other), 0, "%s: G17: a released graph ends its capture", where);
    nd_graph_release(g);
    nd_release(x);
    nd_stream_release(other);
    nd_stream_release(foreign);
}
ON_BOTH(test_streams)

/* ---- G12, G14 ---- */
/* The calls of a plug-in that a second capture must not need: the first one, after a run, has loaded
 * kernels and made workspaces; shapes travel with the calls, so that nothing is written to the
 * device. */
static void step(const nd_array *x, const nd_array *turned, nd_array **r)
{
    DO(nd_add_scalar(turned, nd_float(0.5), &r[0]));
    DO(nd_matmul(x, turned, NULL, &r[1]));
    DO(nd_sum(turned, NULL, &r[2]));
    DO(nd_softmax(turned, NULL, &r[3]));
    DO(nd_sort(turned, NULL, &r[4]));
    DO(nd_cumulative_sum(turned, &(nd_scan_opts){.size = sizeof(nd_scan_opts), .axis = 0}, &r[5]));
}

static void release_all(nd_array **r, int n)
{
    while (n-- > 0)
        nd_release(r[n]);
}

static void test_warm(void)
{
    static const char *const entries[] = {"write", "alloc", "find", "stream_create",
                                          "event_create"};
    const int64_t shape[2] = {20, 30};
    nd_array *x = NULL, *flat = filled(N, 2), *turned = NULL, *r[6];
    const ndsim_control_1 *sim = NULL;
    const void *table = NULL;
    ndp_dev *dev = NULL;
    uint64_t waits[ND_WAIT_REASONS] = {0};
    DO(nd_reshape(flat, 2, shape, &x));
    DO(nd_transpose(x, &turned));
    step(x, turned, r);
    release_all(r, 6);
    nd_graph *first = begin();
    step(x, turned, r);
    release_all(r, 6);
    DO(nd_graph_end(first));
    if (nd_device_group(device, NDSIM_GROUP, &table, &dev) == ND_OK && table) {
        sim = table;
        DO(sim->log_clear(dev));
    }
    DO(nd_sync_watch_push(ND_SYNC_COUNT));
    nd_sync_watch_reset();
    const nd_graph_opts same_pool = {.size = sizeof same_pool, .pool = nd_graph_pool(first)};
    nd_graph *second = NULL;
    DO(nd_graph_begin(stream, &same_pool, &second));
    step(x, turned, r);
    release_all(r, 6);
    DO(nd_graph_end(second));
    nd_sync_watch_counts(waits);
    DO(nd_sync_watch_pop());
    for (size_t i = 0; sim && i < sizeof entries / sizeof *entries; i++) {
        uint64_t n = 1;
        DO(sim->log_count(dev, entries[i], &n));
        same((int64_t)n, 0, "%s: %s: a second capture has no %s", where, i ? "G14" : "G12",
             entries[i]);
    }
    same((int64_t)waits[ND_WAIT_MODULE_LOAD], 0, "%s: G14: and loads no code", where);
    nd_graph_release(first);
    nd_graph_release(second);
    nd_release(x);
    nd_release(flat);
    nd_release(turned);
}
ON_BOTH(test_warm)

/* ---- G22 ---- */
static void test_text(void)
{
    nd_array *x = filled(N, 1), *y = NULL;
    char *json = NULL, *dot = NULL, *none = NULL;
    nd_graph *g = begin();
    DO(nd_tag_push("half \"way\""));
    DO(nd_multiply_scalar(x, nd_float(0.5), &y));
    DO(nd_tag_pop());
    DO(nd_add_into(y, x, y));
    DO(nd_graph_end(g));
    DO(nd_graph_text(g, ND_GRAPH_JSON, &json));
    DO(nd_graph_text(g, ND_GRAPH_DOT, &dot));
    ok(strstr(json, "\"op\": \"multiply\"") && strstr(json, "\"after\": [0]") &&
           strstr(json, "\"half \\\"way\\\"\"") && strstr(json, "\"shape\": [600]"),
       "%s: G22: operations, order, tags and shapes as JSON", where);
    ok(strstr(json, "\"reserved_bytes\": ") != NULL, "%s: G22: and the pool's bytes", where);
    ok(strstr(dot, "n0_0 -> n0_1") && strstr(dot, "multiply f32 (600,)"), "%s: G22: and as DOT",
       where);
    same(nd_graph_text(g, 2, &none), ND_ERR_ARGUMENT, "%s: G22: no third way", where);
    free(dot);
    free(json);
    nd_graph_release(g);
    nd_release(x);
    nd_release(y);
}
ON_BOTH(test_text)

/* ---- G23 ---- */
static int kept;
static void count(void *ctx)
{
    ++*(int *)ctx;
}

static void test_host(void)
{
    int times = 0;
    nd_graph *g = begin();
    DO(nd_stream_launch_host(stream, count, &times));
    DO(nd_graph_keep(stream, count, &kept)); /* what the function uses goes with the graph */
    DO(nd_graph_end(g));
    same(times, 0, "%s: G23: a host function is captured", where);
    launch(g);
    launch(g);
    DO(nd_stream_synchronize(stream));
    same(times, 2, "%s: G23: and runs with each launch", where);
    same(kept, 0, "%s: G23: what it uses is kept", where);
    nd_graph_release(g);
    same(kept, 1, "%s: G23: as long as the graph is there", where);
    kept = 0;
}
ON_BOTH(test_host)

TAP_MAIN({"replay", test_replay_on_both}, {"classes", test_classes_on_both},
         {"rules", test_rules_on_both}, {"illegal", test_illegal_on_both},
         {"fork", test_fork_on_both}, {"break", test_break_on_both},
         {"update", test_update_on_both}, {"streams", test_streams_on_both},
         {"warm", test_warm_on_both}, {"text", test_text_on_both}, {"host", test_host_on_both})
