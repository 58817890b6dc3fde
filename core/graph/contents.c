/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a graph holds, given back; and the small questions about it. */
#include <stdlib.h>
#include "core/graph/graph.h"

bool nd__graph_settle(nd_graph *g)
{
    nd_stream *last = g->last;
    if (!last || !g->device->async || nd__out_of_reach(g->device))
        return true;
    if (nd__stream_id_done(g->device, last->id))
        return true;
    return !nd__capture_forbids(g->device) && nd__drain_stream(last, "graph_release");
}

static void clear_segment(nd_graph *g, nd_segment_of_graph *s)
{
    if (s->exec && !nd__out_of_reach(g->device))
        g->device->graph.exec_destroy(g->device->dev, s->exec);
    nd__captured_free(s->captured);
    if (s->release)
        s->release(s->ctx);
}

void nd__graph_clear(nd_graph *g)
{
    nd__sharers_leave(g);
    nd__graph_uncompose(g);
    for (uint32_t i = 0; i < g->n; i++)
        clear_segment(g, &g->segment[i]);
    free(g->segment);
    g->segment = NULL;
    g->n = 0;
    for (uint32_t i = 0; i < g->n_arguments; i++) {
        nd_release(g->argument[i].array);
        free(g->argument[i].use);
    }
    free(g->argument);
    g->argument = NULL;
    g->n_arguments = 0;
    for (uint32_t i = 0; i < g->n_keys; i++)
        free(g->key[i].draw);
    free(g->key);
    g->key = NULL;
    g->n_keys = 0;
    nd_pool_release(g->pool);
    g->pool = NULL;
}

nd_pool *nd_graph_pool(const nd_graph *g)
{
    ND_NEED_OR("graph_pool", 0, g, NULL);
    return g->pool;
}

nd_device *nd_graph_device(const nd_graph *g)
{
    ND_NEED_OR("graph_device", 0, g, NULL);
    return g->device;
}

int64_t nd_graph_nodes(const nd_graph *g)
{
    int64_t n = 0;
    ND_NEED_OR("graph_nodes", 0, g, 0);
    for (uint32_t i = 0; i < g->n; i++)
        n += nd__segment_tape(&g->segment[i])->n;
    return n;
}

int32_t nd_graph_segments(const nd_graph *g)
{
    ND_NEED_OR("graph_segments", 0, g, 0);
    return (int32_t)g->n;
}

int32_t nd_graph_arg_count(const nd_graph *g)
{
    ND_NEED_OR("graph_arg_count", 0, g, 0);
    return (int32_t)g->n_arguments;
}

nd_status nd_graph_keep(nd_stream *stream, void (*release)(void *ctx), void *ctx)
{
    static const char op[] = "graph_keep";
    ND_NEED(op, 0, stream);
    ND_NEED(op, 1, release);
    if (!nd__capture_id(stream))
        return nd__fail(ND_ERR_CAPTURE, op, 0, "stream %llu is not being captured",
                        (unsigned long long)stream->id);
    return nd__capture_keep(stream, op, release, ctx);
}

int32_t nd_stream_is_capturing(nd_stream *s)
{
    ND_NEED_OR("stream_is_capturing", 0, s, 0);
    return nd__capture_id(s) != 0;
}
