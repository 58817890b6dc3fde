/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Changing what a graph does without capturing it again. On a tape the changed call is all there is;
 * a plug-in's nodes are given the call anew, in place where it can do that. */
#include "core/graph/graph.h"
#include "core/run/workspace.h"

static nd_status queue_again(nd_graph *g, const nd_node *node)
{
    nd_device *d = g->device;
    ndp_stream *s = g->stream->handle;
    if (node->kind == ND_NODE_COPY)
        return d->p.copy(d->dev, s, node->dst, node->dst_offset, node->src, node->src_offset,
                         node->nbytes);
    nd__in_run = true;
    nd_status status = node->kernel->run(node->kernel, s, &node->call);
    nd__in_run = false;
    return status;
}

static nd_status patch_in_place(nd_graph *g, ndp_exec *exec, const nd_node *node)
{
    nd_device *d = g->device;
    ND_RETURN_IF(d->graph.patch_begin(d->dev, exec, node->first, node->count));
    nd_status status = queue_again(g, node), ended = d->graph.patch_end(d->dev, exec);
    return status != ND_OK ? status : ended;
}

nd_status nd__graph_patch(nd_graph *g, uint32_t segment, uint32_t number)
{
    nd_segment_of_graph *s = &g->segment[segment];
    nd__graph_changed(g);
    const nd_node *node = nd__graph_node(g, segment, number);
    if (!nd__captured_graph(s->captured) || s->stale)
        return ND_OK;
    nd_status status = s->exec && g->device->graph.patch_begin && node->count
                           ? patch_in_place(g, s->exec, node)
                           : ND_ERR_UNSUPPORTED;
    s->stale = status == ND_ERR_UNSUPPORTED || status == ND_ERR_NOT_READY;
    s->behind = true;
    if (status == ND_OK || s->stale)
        return ND_OK;
    nd__error_context(node->name, g->device->name, g->device->slot->name);
    return status;
}
