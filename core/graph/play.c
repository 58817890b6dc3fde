/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A tape played: its calls are queued again as they are, without checks, dtypes or allocations. */
#include "core/graph/graph.h"
#include "core/run/workspace.h"

static nd_status run_kernel(nd_stream *s, const nd_node *node)
{
    nd__in_run = true;
    nd_status status = node->kernel->run(node->kernel, s ? s->handle : NULL, &node->call);
    nd__in_run = false;
    return status;
}

/* On a device that queues nothing a node runs now. */
static nd_status run_now(const nd_tape *t, const nd_node *node)
{
    nd_device *d = t->device;
    nd_status status = ND_OK;
    if (node->step)
        return node->step(node->arg);
    if (node->kind == ND_NODE_HOST)
        node->fn(node->arg);
    else if (node->kind == ND_NODE_COPY)
        status = d->p.copy(d->dev, NULL, node->dst, node->dst_offset, node->src, node->src_offset,
                           node->nbytes);
    else
        status = run_kernel(NULL, node);
    if (status != ND_OK)
        nd__error_context(node->name, d->name, d->slot->name);
    return status;
}

static nd_status queue_kernel(nd_stream *s, const nd_node *node)
{
    nd_status status = ND_OK;
    for (bool again = true; again;) {
        ND_RETURN_IF(nd__queue_begin(s, node->name, &node->call.out[0]));
        s->status_pending |= node->call.status.mem != NULL;
        status = nd__queue_end(s, node->name, run_kernel(s, node));
        if (status != ND_ERR_NOT_READY)
            break;
        ND_RETURN_IF(nd__workspace_make_wanted(&again));
    }
    return status == ND_OK ? nd__follow_call(s, &node->call) : status;
}

static nd_status queue_host(nd_stream *s, const nd_node *node)
{
    nd_device *d = s->device;
    if (!d->has_stream || !d->stream.launch_host) {
        ND_RETURN_IF(nd__wait(s, ND_WAIT_STAGING, node->name));
        node->fn(node->arg);
        return ND_OK;
    }
    ND_RETURN_IF(nd__queue_begin(s, node->name, NULL));
    return nd__queue_end(s, node->name,
                         d->stream.launch_host(d->dev, s->handle, node->fn, node->arg));
}

static nd_status queue_node(nd_stream *s, const nd_node *node)
{
    if (node->kind == ND_NODE_HOST)
        return queue_host(s, node);
    if (node->kind == ND_NODE_COPY)
        return nd__queue_copy(s, node->name, node->dst, node->dst_offset, node->src,
                              node->src_offset, node->nbytes);
    if (nd__hazards_now())
        ND_RETURN_IF(nd__hazard_call(s, &node->call, node->name));
    return queue_kernel(s, node);
}

nd_status nd__tape_play(const nd_tape *t, nd_stream *s)
{
    for (uint32_t i = 0; i < t->n; i++)
        ND_RETURN_IF(s ? queue_node(s, t->node[i]) : run_now(t, t->node[i]));
    return ND_OK;
}
