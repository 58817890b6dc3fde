/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Memory of graphs: what they keep, what goes back and when, pools of their own and shared ones. */
#include <string.h>
#include "tests/graph/lab.h"

enum { BIG = 1 << 16 };

static void chain(const nd_array *x, int times, nd_array **out)
{
    nd_array *at = NULL, *next = NULL;
    DO(nd_add(x, x, &at));
    for (int i = 1; i < times; i++) {
        DO(nd_add(at, x, &next));
        nd_release(at);
        at = next;
    }
    *out = at;
}

/* ---- G5, G6 ---- */
static void test_pool(void)
{
    nd_array *x = filled(BIG, 1), *y = NULL, *outside = NULL;
    nd_graph *g = begin();
    nd_stream *other = new_stream();
    ok(nd_graph_pool(g) != NULL, "%s: G5: the graph has a pool", where);
    chain(x, 40, &y);
    const int64_t segments = nd_pool_segments(nd_graph_pool(g)),
                  bytes = nd_pool_reserved_bytes(nd_graph_pool(g));
    ok(segments >= 1 && bytes <= 4 << 20, "%s: G6: blocks freed in the capture serve it again",
       where);
    DO(nd_stream_push(other));
    const nd_status status =
        nd_full(device, ND_F32, 1, (const int64_t[]){N}, nd_float(1), &outside);
    DO(nd_stream_pop(other));
    ok(status == ND_OK || status == ND_ERR_CAPTURE, "%s: G5: another stream's memory", where);
    same(nd_pool_reserved_bytes(nd_graph_pool(g)), bytes, "%s: G5: is not the pool's", where);
    DO(nd_graph_end(g));
    nd_array *later = filled(BIG, 9), *more = filled(BIG, 8);
    launch(g);
    ok(value_of(y) == 41, "%s: G5: and nobody else has the graph's", where);
    ok(value_of(later) == 9 && value_of(more) == 8, "%s: G5: nor the graph theirs", where);
    nd_graph_release(g);
    nd_release(x);
    nd_release(y);
    nd_release(outside);
    nd_release(later);
    nd_release(more);
    nd_stream_release(other);
}
ON_BOTH(test_pool)

/* ---- G7 ---- */
/* A block of side's is freed; the stream asks for one of that size before and after it has waited for
 * side, or side asks for one that the stream freed before side was forked. */
static nd_array *sum_on(nd_stream *s, const nd_array *x)
{
    nd_array *y = NULL;
    DO(nd_stream_push(s));
    DO(nd_add(x, x, &y));
    DO(nd_stream_pop(s));
    return y;
}

static uint64_t place_of(const nd_array *a)
{
    nd_cai cai = {.size = sizeof cai};
    const nd_cai_export_opts opts = {.size = sizeof opts, .policy = ND_CAI_EXPORT_NONE};
    DO(nd_cai_export(a, &opts, &cai));
    return cai.data;
}

/* The CPU has no streams that could differ. */
static void test_reuse(void)
{
    if (strcmp(where, "cpu") == 0)
        return;
    nd_array *x = filled(BIG, 1), *apart = NULL, *late = NULL, *early = NULL, *forked = NULL,
             *rest[7];
    nd_stream *side = new_stream();
    nd_graph *g = begin();
    nd_array *first = sum_on(stream, x);
    const uint64_t first_at = place_of(first);
    nd_release(first);
    DO(nd_stream_wait_stream(side, stream));
    forked = sum_on(side, x);
    ok(place_of(forked) == first_at, "%s: G7: what was freed before a fork serves the branch",
       where);
    nd_array *theirs = sum_on(side, x);
    const uint64_t theirs_at = place_of(theirs);
    nd_release(theirs);
    early = sum_on(stream, x);
    ok(place_of(early) != theirs_at, "%s: G7: not what may still be in use", where);
    for (int i = 0; i < 7; i++) /* the rest of a segment of the stream's own */
        rest[i] = sum_on(stream, x);
    DO(nd_stream_wait_stream(stream, side));
    late = sum_on(stream, x);
    ok(place_of(late) == theirs_at, "%s: G7: but after the join", where);
    DO(nd_add(late, early, &apart));
    DO(nd_graph_end(g));
    for (int i = 0; i < 3; i++) {
        DO(nd_fill(x, nd_float(i)));
        launch(g);
        ok(value_of(apart) == 4 * i && value_of(forked) == 2 * i, "%s: G7: and the graph is right",
           where);
    }
    nd_graph_release(g);
    nd_array *all[] = {x, apart, late, early, forked};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        nd_release(all[n]);
    for (int i = 0; i < 7; i++)
        nd_release(rest[i]);
    nd_stream_release(side);
}

static void test_reuse_checked(void)
{
    const ndsim_control_1 *sim = NULL;
    ndp_dev *dev = NULL;
    uint64_t races = 0;
    const void *table = NULL;
    if (nd_device_group(device, NDSIM_GROUP, &table, &dev) == ND_OK && table) {
        sim = table;
        DO(sim->set_checker(dev, 1));
    }
    test_reuse();
    if (!sim)
        return;
    DO(nd_synchronize(device));
    DO(sim->race_count(dev, &races));
    same((int64_t)races, 0, "%s: F5: no replay has a race", where);
    DO(sim->set_checker(dev, 0));
}
ON_BOTH(test_reuse_checked)

/* ---- G8, in every order ---- */
static void test_lifetime(void)
{
    for (int order = 0; order < 4; order++) {
        nd_array *x = filled(BIG, 1), *y = NULL;
        nd_graph *g = begin();
        chain(x, 3, &y);
        DO(nd_graph_end(g));
        launch(g);
        if (order & 1) {
            nd_graph_release(g);
            ok(value_of(y) == 4, "%s: G8: an array outlives its graph", where);
        }
        nd_release(order & 2 ? x : y);
        nd_release(order & 2 ? y : x);
        if (!(order & 1))
            nd_graph_release(g);
        same(settled(), 0, "%s: G8: order %d leaves nothing", where, order);
    }
}
ON_BOTH(test_lifetime)

/* ---- G10 ---- */
static int released;
static void count_release(void *ctx)
{
    (void)ctx;
    released++;
}

static void test_keeps(void)
{
    nd_array *x = filled(N, 3), *y = NULL, *taken[8];
    nd_graph *g = begin();
    DO(nd_add(x, x, &y));
    DO(nd_graph_keep(stream, count_release, NULL));
    DO(nd_graph_end(g));
    nd_release(x);
    for (int i = 0; i < 8; i++)
        taken[i] = filled(N, 7);
    launch(g);
    ok(value_of(y) == 6, "%s: G10: the graph keeps what it reads", where);
    for (int i = 0; i < 8; i++)
        nd_release(taken[i]);
    same(nd_graph_keep(stream, count_release, NULL), ND_ERR_CAPTURE,
         "%s: G10: nothing is kept without a capture", where);
    released = 0;
    nd_graph_release(g);
    same(released, 1, "%s: G10: with the graph all of it goes", where);
    const nd_graph_opts weak = {.size = sizeof weak, .weak = 1};
    x = filled(N, 3);
    nd_release(y);
    DO(nd_graph_begin(stream, &weak, &g));
    DO(nd_add(x, x, &y));
    DO(nd_graph_end(g));
    launch(g);
    ok(value_of(y) == 6, "%s: G10: a weak graph runs too", where);
    nd_graph_release(g);
    nd_release(x);
    nd_release(y);
}
ON_BOTH(test_keeps)

/* ---- G17 ---- */
static void test_aborted(void)
{
    nd_array *x = filled(BIG, 1), *y = NULL;
    DO(nd_synchronize(device));
    const int64_t before = settled();
    for (int i = 0; i < 1000; i++) {
        nd_graph *g = begin();
        chain(x, 5, &y);
        nd_release(y);
        if (i % 2)
            DO(nd_graph_abort(g));
        nd_graph_release(g);
    }
    same(settled(), before, "%s: G17: 1000 aborted captures leave no byte", where);
    same(nd_stream_is_capturing(stream), 0, "%s: G17: and the stream is free", where);
    nd_graph *g = begin();
    chain(x, 5, &y);
    DO(nd_graph_end(g));
    launch(g);
    ok(value_of(y) == 6, "%s: G17: and usable", where);
    nd_graph_release(g);
    nd_release(x);
    nd_release(y);
}
ON_BOTH(test_aborted)

/* ---- G19 ---- */
static void test_flat(void)
{
    nd_array *x = filled(BIG, 1), *y = NULL;
    int64_t first = 0, most = 0;
    DO(nd_synchronize(device));
    for (int i = 0; i < 1000; i++) {
        nd_graph *g = begin();
        chain(x, 3, &y);
        DO(nd_graph_end(g));
        if (i % 10 == 0)
            launch(g);
        nd_release(y);
        nd_graph_release(g);
        if (i == 20)
            first = settled();
        if (i > 20 && i % 100 == 0 && settled() > most)
            most = reserved();
    }
    ok(most <= first, "%s: G19: 1000 captures leave the memory flat", where);
    nd_release(x);
    same(settled(), 0, "%s: G8: and in the end none", where);
}
ON_BOTH(test_flat)

/* ---- G9 ---- */
static void test_shared(void)
{
    nd_array *x = filled(BIG, 1), *a = NULL, *b = NULL, *c = NULL;
    const nd_graph_launch_opts force = {.size = sizeof force, .force = 1};
    nd_graph *g = begin(), *h = NULL, *k = NULL;
    chain(x, 2, &a);
    DO(nd_graph_end(g));
    const nd_graph_opts same_pool = {.size = sizeof same_pool, .pool = nd_graph_pool(g)};
    DO(nd_graph_begin(stream, &same_pool, &h));
    chain(a, 2, &b);
    DO(nd_graph_end(h));
    DO(nd_graph_begin(stream, &same_pool, &k));
    chain(b, 2, &c);
    DO(nd_graph_end(k));
    ok(nd_graph_pool(g) == nd_graph_pool(h), "%s: G9: the pool is the same", where);
    for (int round = 0; round < 2; round++) {
        launch(g);
        launch(h);
        launch(k);
        ok(value_of(c) == 27, "%s: G9: in their order they see each other's results", where);
    }
    launch(g);
    same(nd_graph_launch(k, NULL, NULL), ND_ERR_STATE, "%s: G9: another order is refused", where);
    DO(nd_graph_launch(k, NULL, &force));
    launch(g);
    ok(1, "%s: G9: unless it is forced; the first may always begin again", where);
    nd_graph_release(h);
    launch(k);
    ok(1, "%s: G9: one that is gone is not waited for", where);
    nd_graph_release(g);
    nd_graph_release(k);
    nd_release(x);
    nd_release(a);
    nd_release(b);
    nd_release(c);
    same(settled(), 0, "%s: G8: a shared pool goes with the last", where);
}
ON_BOTH(test_shared)

TAP_MAIN({"pool", test_pool_on_both}, {"reuse", test_reuse_checked_on_both},
         {"lifetime", test_lifetime_on_both}, {"keeps", test_keeps_on_both},
         {"aborted", test_aborted_on_both}, {"flat", test_flat_on_both},
         {"shared", test_shared_on_both})
