/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The training step as one graph. The includer has the network, its step, and CHECK(call). */
#ifndef FASHION_GRAPH_H
#define FASHION_GRAPH_H
#include <ndock/ndock.h>

/* The step with the learning rate that opt has now, in the graph's place of *graph, which may be
 * NULL. Nothing is computed. The step has run once before, so that kernels are there. */
static void capture_step(const network *net, const optimiser *opt, const batch *t,
                         const statistics *s, nd_graph **graph)
{
    nd_stream *side, *home;
    nd_graph *made;
    CHECK(nd_stream_current(NULL, &home));
    CHECK(nd_stream_create(NULL, NULL, &side));
    CHECK(nd_stream_push(side));
    CHECK(nd_graph_begin(side, NULL, &made));
    train_batch(net, opt, t, s);
    CHECK(nd_graph_end(made));
    CHECK(nd_stream_pop(side));
    if (*graph) {
        CHECK(nd_graph_update(*graph, made, NULL));
        nd_graph_release(made);
    } else {
        *graph = made;
    }
    nd_stream_release(side);
    nd_stream_release(home);
}

/* Seconds of a step, the best of some; graph NULL: without one. */
static double time_steps(const network *net, const optimiser *opt, const batch *t,
                         const statistics *s, nd_graph *graph)
{
    enum { MOST = 200 };
    double best = HUGE_VAL, began = seconds();
    for (int i = 0; i < MOST && seconds() - began < 0.25; i++) {
        double start = seconds();
        if (graph)
            CHECK(nd_graph_launch(graph, NULL, NULL));
        else
            train_batch(net, opt, t, s);
        CHECK(nd_synchronize(NULL));
        best = fmin(best, seconds() - start);
    }
    return best;
}

/* The step of a network of its own, without a graph and with one: how long each takes. */
static void compare_steps(const options *o)
{
    network net = make_network(o);
    batch t = make_batch(o->batch);
    statistics s = make_statistics();
    optimiser opt = make_optimiser(&net);
    nd_graph *graph = NULL;
    opt.lr = o->lr;
    train_batch(&net, &opt, &t, &s);
    capture_step(&net, &opt, &t, &s, &graph);
    double eager = time_steps(&net, &opt, &t, &s, NULL);
    double launched = time_steps(&net, &opt, &t, &s, graph);
    printf("a step of %ld images, %lld operations: %.1f us eager, %.1f us as a graph\n", o->batch,
           (long long)nd_graph_nodes(graph), 1e6 * eager, 1e6 * launched);
    nd_graph_release(graph);
}

#endif
