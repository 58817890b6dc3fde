/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Running a graph: its segments in order on a stream, behind whatever ran it before. */
#include "core/graph/graph.h"

static nd_status instantiate_segment(nd_graph *g, nd_segment_of_graph *s)
{
    nd_device *d = g->device;
    if (s->exec || !nd__captured_graph(s->captured))
        return ND_OK;
    if (!d->graph.instantiate || !d->graph.launch || !d->graph.exec_destroy)
        return nd__fail(ND_ERR_UNSUPPORTED, "graph_instantiate", 0,
                        "%s captures streams, but cannot run what it captured", d->name);
    nd_status status = d->graph.instantiate(d->dev, nd__captured_graph(s->captured), &s->exec);
    if (status != ND_OK)
        nd__error_context("graph_instantiate", d->name, d->slot->name);
    return status;
}

nd_status nd__graph_instantiate(nd_graph *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        ND_RETURN_IF(instantiate_segment(g, &g->segment[i]));
    return ND_OK;
}

nd_status nd_graph_instantiate(nd_graph *g)
{
    ND_RETURN_IF(nd__graph_take_ready(g, "graph_instantiate"));
    nd_status status = nd__graph_instantiate(g);
    nd__graph_drop(g);
    return status;
}

/* What the plug-in runs is told to those who watch the order of accesses, and to the producers of
 * imported memory. */
static nd_status tell_order(const nd_tape *t, nd_stream *s, bool before)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const nd_node *node = t->node[i];
        if (node->kind != ND_NODE_KERNEL)
            continue;
        ND_RETURN_IF(before ? nd__hazard_call(s, &node->call, node->name)
                            : nd__follow_call(s, &node->call));
    }
    return ND_OK;
}

/* Kernels leave bad indices in the word of the stream that was captured. */
void nd__graph_expect(const nd_graph *g, const nd_segment_of_graph *segment)
{
    if (!nd__segment_tape(segment)->reports)
        return;
    pthread_mutex_lock(&g->stream->lock);
    g->stream->status_pending = true;
    pthread_mutex_unlock(&g->stream->lock);
}

static nd_status launch_exec(nd_graph *g, const nd_segment_of_graph *segment, nd_stream *s)
{
    nd_device *d = g->device;
    const nd_tape *t = nd__segment_tape(segment);
    if (nd__hazards_now())
        ND_RETURN_IF(tell_order(t, s, true));
    ND_RETURN_IF(nd__queue_begin(s, "graph_launch", NULL));
    ND_RETURN_IF(
        nd__queue_end(s, "graph_launch", d->graph.launch(d->dev, segment->exec, s->handle)));
    nd__graph_expect(g, segment);
    return atomic_load_explicit(&nd__followed, memory_order_relaxed) ? tell_order(t, s, false)
                                                                     : (nd_status)ND_OK;
}

void nd__graph_use(const nd_graph *g, const nd_segment_of_graph *segment, nd_stream *s)
{
    const nd_tape *t = nd__segment_tape(segment);
    for (uint32_t i = 0; i < t->n_kept; i++)
        nd__used_on(t->kept[i], s);
    for (uint32_t i = 0; i < g->n_arguments; i++)
        nd__used_on(g->argument[i].array->storage, s);
}

nd_status nd__graph_run_segment(nd_graph *g, nd_segment_of_graph *segment, nd_stream *s)
{
    if (s)
        nd__graph_use(g, segment, s);
    if (segment->exec)
        return launch_exec(g, segment, s);
    ND_RETURN_IF(nd__tape_play(nd__segment_tape(segment), s));
    if (s)
        nd__graph_expect(g, segment);
    return ND_OK;
}

static nd_status check_stream(const nd_graph *g, nd_stream *s)
{
    if (s->device != g->device)
        return nd__fail(ND_ERR_DEVICE, "graph_launch", 1,
                        "the graph was captured on %s, the stream is of %s", g->device->name,
                        s->device->name);
    return nd__refuse_capture(s, "graph_launch", "launch it after the capture has ended");
}

/* Launches of one graph follow each other: those on one stream do anyway. */
nd_status nd__graph_follow(nd_graph *g, nd_stream *s)
{
    if (g->last == s)
        return ND_OK;
    if (g->last)
        ND_RETURN_IF(nd_stream_wait_stream(s, g->last));
    nd_stream_release(g->last);
    g->last = nd_stream_retain(s);
    return ND_OK;
}

nd_status nd__graph_run_between(nd_graph *g, const nd_segment_of_graph *segment, nd_stream *s)
{
    nd_scope scope;
    if (!segment->fn)
        return ND_OK;
    ND_RETURN_IF(nd__scope_enter("graph_launch", g->device, s, &scope));
    nd_status status = segment->fn(segment->ctx);
    nd__scope_leave(&scope);
    return status;
}

static nd_status run_segments(nd_graph *g, nd_stream *s)
{
    nd_status status = g->n > 1 && s ? nd__graph_launch_composed(g, s) : ND_ERR_UNSUPPORTED;
    if (status != ND_ERR_UNSUPPORTED)
        return status;
    for (uint32_t i = 0; i < g->n; i++) {
        ND_RETURN_IF(nd__graph_run_segment(g, &g->segment[i], s));
        ND_RETURN_IF(nd__graph_run_between(g, &g->segment[i], s));
    }
    return ND_OK;
}

static nd_status launch(nd_graph *g, nd_stream *stream, bool force)
{
    nd_stream *s = stream ? stream : nd__stream_current(g->device);
    ND_RETURN_IF(nd__usable(g->device, "graph_launch"));
    ND_RETURN_IF(check_stream(g, s));
    ND_RETURN_IF(nd__sharers_launch(g, s, force));
    ND_RETURN_IF(nd__graph_instantiate(g));
    if (g->n_keys)
        ND_RETURN_IF(nd__graph_draw(g));
    ND_RETURN_IF(nd__graph_refresh(g));
    ND_RETURN_IF(nd__graph_follow(g, s));
    return run_segments(g, g->device->async ? s : NULL);
}

nd_status nd_graph_launch(nd_graph *g, nd_stream *stream, const nd_graph_launch_opts *opts)
{
    if (opts && opts->size < NDP_END(nd_graph_launch_opts, force))
        return nd__fail(ND_ERR_ARGUMENT, "graph_launch", 2,
                        "the options' size field is %u; set it to sizeof(nd_graph_launch_opts)",
                        (unsigned)opts->size);
    ND_RETURN_IF(nd__graph_take_ready(g, "graph_launch"));
    nd_status status = launch(g, stream, opts && opts->force);
    nd__graph_drop(g);
    return status;
}
