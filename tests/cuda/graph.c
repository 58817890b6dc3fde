/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * G1, G4, G19, G20: a stream's work is captured, updated and run again. */
#include "tests/cuda/gpu.h"

static const ndp_graph_1 *g;
static const ndp_stream_1 *st;
static int ran;

static void count(void *arg)
{
    ran += *(int *)arg;
}

static ndp_graph *capture(ndp_stream *s, int *by, int times)
{
    ndp_graph *graph = NULL;
    DO(g->begin(dev, s, NDP_CAPTURE_THREAD_LOCAL));
    for (int i = 0; i < times; i++)
        DO(st->launch_host(dev, s, count, by));
    DO(g->end(dev, s, &graph));
    return graph;
}

static void replay(void)
{
    ndp_stream *s = NULL, *other = NULL;
    ndp_exec *x = NULL;
    int one = 1, ten = 10;
    int32_t updated = 0;
    DO(st->create(dev, 0, 0, &s));
    DO(st->create(dev, 0, 0, &other));
    ndp_graph *first = capture(s, &one, 1), *second = capture(s, &ten, 1),
              *longer = capture(s, &one, 2);
    is_int(ran, 0, "G1: captured work does not run");
    DO(g->instantiate(dev, first, &x));
    DO(g->launch(dev, x, s));
    DO(st->sync(dev, s));
    is_int(ran, 1, "G20: it runs when launched");
    DO(g->launch(dev, x, other));
    DO(st->sync(dev, other));
    is_int(ran, 2, "G20: on any stream");
    DO(g->update(dev, x, second, &updated));
    is_int(updated, 1, "G19: an equal graph updates it");
    DO(g->launch(dev, x, s));
    DO(st->sync(dev, s));
    is_int(ran, 12, "G19: and is what runs");
    is_int(g->update(dev, x, longer, &updated), NDP_OK, "G19: another shape is no error");
    is_int(updated, 0, "G19: but an answer");
    g->exec_destroy(dev, x);
    g->destroy(dev, first);
    g->destroy(dev, second);
    g->destroy(dev, longer);
    st->destroy(dev, s);
    st->destroy(dev, other);
}

static void rules(void)
{
    ndp_stream *s = NULL, *other = NULL;
    ndp_event *e = NULL;
    ndp_graph *graph = NULL;
    int32_t state = -1;
    uint64_t id = 0, joined = 1;
    DO(st->create(dev, 0, 0, &s));
    DO(st->create(dev, 0, 0, &other));
    DO(st->event_create(dev, 0, &e));
    DO(g->begin(dev, s, NDP_CAPTURE_THREAD_LOCAL));
    DO(g->info(dev, s, &state, &id));
    ok(state == NDP_CAPTURE_ACTIVE && id != 0, "G5: a capture has a number");
    DO(st->event_record(dev, e, s));
    DO(st->wait(dev, other, e));
    DO(g->info(dev, other, &state, &joined));
    is_int(joined, id, "G4: a stream that waits joins the capture");
    DO(st->launch_host(dev, other, count, &ran));
    is_int(g->end(dev, s, &graph), NDP_ERR_CAPTURE, "G4: unjoined work is an error");
    is_int(nd_last_error()->native, 904, "F7: with the driver's code");
    ok(graph == NULL, "G3: and no graph");
    DO(g->info(dev, s, &state, &id));
    ok(state == NDP_CAPTURE_NONE && id == 0, "G17: the stream is as before");
    ok(g->end(dev, s, &graph) != NDP_OK, "G1: nothing to end");
    st->event_destroy(dev, e);
    st->destroy(dev, s);
    st->destroy(dev, other);
}

static void captures(void *stream)
{
    ndp_stream *s = stream;
    int one = 1;
    for (int i = 0; i < 1000; i++) {
        ndp_exec *x = NULL;
        ndp_graph *graph = capture(s, &one, 3);
        DO(g->instantiate(dev, graph, &x));
        g->exec_destroy(dev, x);
        g->destroy(dev, graph);
    }
}

static void flat(void)
{
    ndp_stream *s = NULL;
    DO(st->create(dev, 0, 0, &s));
    ok(stays_flat(captures, s, 8 << 20), "G19: 1000 captures leave the memory flat");
    st->destroy(dev, s);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"G20", replay}, {"G4", rules}, {"G19", flat}};
    open_gpu();
    g = group("ndp.graph/1");
    st = group("ndp.stream/1");
    return tap_main(argc, argv, cases, 3);
}
