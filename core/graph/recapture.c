/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A segment captured again by the plug-in from its tape, where a node could not be changed in place:
 * every stream of the capture has a new one in its place, and events order them as before. */
#include <stdlib.h>
#include "core/graph/graph.h"
#include "core/run/workspace.h"

typedef struct {
    nd_device *device;
    const nd_tape *tape;
    nd_stream **side;  /* of each member */
    ndp_event **event; /* behind node i - 1 if another stream waits for it; 0: the beginning */
    bool *awaited;
} again;

static ndp_stream *handle(const again *a, uint32_t member)
{
    return a->side[member]->handle;
}

static void await_those(again *a, uint32_t member, const uint32_t *nodes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        a->awaited[nodes[i] + 1] |= a->tape->node[nodes[i]]->member != member;
}

/* Which nodes others wait for across streams. */
static void find_awaited(again *a)
{
    const nd_tape *t = a->tape;
    for (uint32_t i = 0; i < t->n; i++) {
        const nd_node *node = t->node[i];
        await_those(a, node->member, node->before, node->n_before);
        a->awaited[0] |= node->n_before == 0 && node->member != 0;
    }
    await_those(a, 0, t->member[0].tail, t->member[0].n_tail);
}

static nd_status mark(again *a, uint32_t i, uint32_t member)
{
    nd_device *d = a->device;
    if (!a->awaited[i])
        return ND_OK;
    ND_RETURN_IF(nd__event_take(d, 0, &a->event[i]));
    return d->stream.event_record(d->dev, a->event[i], handle(a, member));
}

static nd_status wait_for(again *a, uint32_t member, const uint32_t *nodes, uint32_t n)
{
    nd_device *d = a->device;
    for (uint32_t i = 0; i < n; i++)
        if (a->tape->node[nodes[i]]->member != member)
            ND_RETURN_IF(d->stream.wait(d->dev, handle(a, member), a->event[nodes[i] + 1]));
    return ND_OK;
}

static nd_status queue_node(again *a, uint32_t i)
{
    nd_device *d = a->device;
    nd_node *node = a->tape->node[i];
    ndp_stream *s = handle(a, node->member);
    nd_status status;
    if (node->n_before == 0 && node->member != 0)
        ND_RETURN_IF(d->stream.wait(d->dev, s, a->event[0]));
    ND_RETURN_IF(wait_for(a, node->member, node->before, node->n_before));
    const uint64_t first = nd__tape_native_nodes((nd_tape *)a->tape, a->side[node->member]);
    switch (node->kind) {
    case ND_NODE_KERNEL:
        nd__in_run = true;
        status = node->kernel->run(node->kernel, s, &node->call);
        nd__in_run = false;
        break;
    case ND_NODE_COPY:
        status = d->p.copy(d->dev, s, node->dst, node->dst_offset, node->src, node->src_offset,
                           node->nbytes);
        break;
    case ND_NODE_HOST:
        status = d->stream.launch_host(d->dev, s, node->fn, node->arg);
        break;
    default:
        return nd__fail(ND_ERR_UNSUPPORTED, node->name, -1,
                        "a graph with a program's own kernels or copies between devices cannot be "
                        "changed; capture it again");
    }
    ND_RETURN_IF(status);
    node->first = first;
    node->count = nd__tape_native_nodes((nd_tape *)a->tape, a->side[node->member]) - first;
    return mark(a, i + 1, node->member);
}

static nd_status queue_all(again *a)
{
    const nd_tape *t = a->tape;
    ND_RETURN_IF(mark(a, 0, 0));
    for (uint32_t i = 0; i < t->n; i++)
        ND_RETURN_IF(queue_node(a, i));
    return wait_for(a, 0, t->member[0].tail, t->member[0].n_tail);
}

static nd_status capture(again *a, ndp_graph **out)
{
    nd_device *d = a->device;
    ND_RETURN_IF(d->graph.begin(d->dev, handle(a, 0), NDP_CAPTURE_RELAXED));
    nd_status status = queue_all(a), ended = d->graph.end(d->dev, handle(a, 0), out);
    if (status == ND_OK)
        return ended;
    if (ended == ND_OK && *out)
        d->graph.destroy(d->dev, *out);
    *out = NULL;
    return status;
}

static nd_status make_room(again *a)
{
    const nd_tape *t = a->tape;
    a->side = calloc(t->n_members, sizeof(nd_stream *));
    a->event = calloc(t->n + 1, sizeof(ndp_event *));
    a->awaited = calloc(t->n + 1, sizeof *a->awaited);
    if (!a->side || !a->event || !a->awaited)
        return nd__fail(ND_ERR_MEMORY, "graph", -1, "no host memory to change a graph");
    for (uint32_t i = 0; i < t->n_members; i++)
        ND_RETURN_IF(nd_stream_create(a->device, NULL, &a->side[i]));
    return ND_OK;
}

static void give_back(again *a)
{
    for (uint32_t i = 0; a->event && i <= a->tape->n; i++)
        if (a->event[i])
            nd__event_give(a->device, 0, a->event[i]);
    for (uint32_t i = 0; a->side && i < a->tape->n_members; i++)
        nd_stream_release(a->side[i]);
    free(a->side);
    free(a->event);
    free(a->awaited);
}

/* exec does what the new graph does; made anew if that has another shape. */
static nd_status replace(nd_graph *g, nd_segment_of_graph *s, ndp_graph *graph)
{
    nd_device *d = g->device;
    int32_t updated = 0;
    ndp_exec *exec = NULL;
    nd_status status = ND_OK;
    if (s->exec && d->graph.update)
        status = d->graph.update(d->dev, s->exec, graph, &updated);
    if (status == ND_OK && !updated)
        status = d->graph.instantiate(d->dev, graph, &exec);
    if (status != ND_OK) {
        d->graph.destroy(d->dev, graph);
        return status;
    }
    if (exec && s->exec)
        d->graph.exec_destroy(d->dev, s->exec);
    s->exec = exec ? exec : s->exec;
    nd__captured_replace(s->captured, graph);
    return ND_OK;
}

static nd_status refresh(nd_graph *g, nd_segment_of_graph *s)
{
    again a = {.device = g->device, .tape = nd__segment_tape(s)};
    ndp_graph *graph = NULL;
    nd_status status = make_room(&a);
    if (status == ND_OK) {
        find_awaited(&a);
        status = capture(&a, &graph);
    }
    give_back(&a);
    if (status == ND_OK)
        status = replace(g, s, graph);
    if (status != ND_OK)
        nd__error_context("graph", g->device->name, g->device->slot->name);
    else
        s->stale = s->behind = false;
    return status;
}

nd_status nd__graph_refresh(nd_graph *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        if (g->segment[i].stale)
            ND_RETURN_IF(refresh(g, &g->segment[i]));
    return ND_OK;
}
