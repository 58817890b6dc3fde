/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One graph takes over what another has captured. */
#include <stdlib.h>
#include "core/graph/graph.h"

/* The old segment's exec goes on in the new one, if it can do what that does. */
static nd_status pass_on(nd_graph *g, nd_segment_of_graph *was, nd_segment_of_graph *now,
                         int32_t *updated)
{
    nd_device *d = g->device;
    int32_t done = 0;
    if (now->exec || !was->exec || !d->graph.update || now->stale)
        return ND_OK;
    ND_RETURN_IF(d->graph.update(d->dev, was->exec, nd__captured_graph(now->captured), &done));
    if (done) {
        now->exec = was->exec;
        was->exec = NULL;
    }
    *updated &= done;
    return ND_OK;
}

static bool alike(const nd_tape *a, const nd_tape *b)
{
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++)
        same = a->node[i]->kind == b->node[i]->kind &&
               a->node[i]->n_before == b->node[i]->n_before &&
               a->node[i]->kernel == b->node[i]->kernel;
    return same;
}

static void swap(nd_graph *g, nd_graph *from)
{
    nd_graph old = *g;
#define SWAP(field)         \
    g->field = from->field; \
    from->field = old.field;
    SWAP(segment)
    SWAP(n)
    SWAP(argument)
    SWAP(n_arguments)
    SWAP(key)
    SWAP(n_keys)
    SWAP(pool)
    SWAP(sharers)
    SWAP(ordinal)
    SWAP(stream)
#undef SWAP
}

static nd_status update(nd_graph *g, nd_graph *from, int32_t *updated)
{
    if (g->device != from->device)
        return nd__fail(ND_ERR_DEVICE, "graph_update", 1, "the graphs are of %s and %s",
                        g->device->name, from->device->name);
    *updated = g->n == from->n;
    for (uint32_t i = 0; *updated && i < g->n; i++)
        *updated = alike(nd__segment_tape(&g->segment[i]), nd__segment_tape(&from->segment[i]));
    for (uint32_t i = 0; *updated && i < g->n; i++)
        ND_RETURN_IF(pass_on(g, &g->segment[i], &from->segment[i], updated));
    (void)nd__graph_settle(g);
    nd__graph_uncompose(g);
    nd__graph_changed(g);
    swap(g, from);
    from->state = ND_GRAPH_EMPTY;
    nd__graph_clear(from);
    return ND_OK;
}

nd_status nd_graph_update(nd_graph *g, nd_graph *from, int32_t *updated)
{
    static const char op[] = "graph_update";
    int32_t ignored;
    updated = updated ? updated : &ignored;
    *updated = 0;
    ND_NEED(op, 1, from);
    if (g == from)
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "a graph is not updated with itself");
    /* In the order of their addresses, so that two threads may exchange two graphs. */
    nd_graph *first = (uintptr_t)g < (uintptr_t)from ? g : from, *second = first == g ? from : g;
    ND_RETURN_IF(nd__graph_take_ready(first, op));
    nd_status status = nd__graph_take_ready(second, op);
    if (status == ND_OK) {
        status = update(g, from, updated);
        nd__graph_drop(second);
    }
    nd__graph_drop(first);
    return status;
}
