/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gates, which are counted events that somebody has to wait for, and lists of them. */
#include <stdlib.h>
#include "core/memory/caching/caching.h"

nd_status nd__gate_new(nd_caching *c, nd_stream_queue *queue, nd_gate **out)
{
    const nd_hooks *h = &c->backend.hooks;
    ndp_event *event = NULL;
    *out = NULL;
    if (!c->streams)
        return ND_OK;
    if (queue->lost)
        return nd__fail(ND_ERR_STATE, "alloc", -1, "the end of a released stream is unknown");
    if (queue->gone) {
        *out = queue->last;
        if (queue->last)
            queue->last->refs++;
        return ND_OK;
    }
    if (h->capture_id && h->capture_id(h->ctx, queue->stream))
        return nd__fail(ND_ERR_CAPTURE, "alloc", -1,
                        "an event of a stream that is being captured belongs to the graph");
    nd_gate *gate = calloc(1, sizeof *gate);
    if (!gate)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1, "no host memory to remember an event");
    nd_status status = h->record(h->ctx, queue->stream, &event);
    if (status != ND_OK || !event) {
        free(gate);
        return status;
    }
    gate->refs = 1;
    gate->event = event;
    gate->stream = queue->id;
    gate->order = ++c->gate_order;
    *out = gate;
    return ND_OK;
}

void nd__gate_put(nd_caching *c, nd_gate *g)
{
    if (--g->refs > 0)
        return;
    c->backend.hooks.give_back(c->backend.hooks.ctx, g->event);
    free(g);
}

/* Drops the gates that have passed. Else every request for a block that many streams have used
 * would wait for each of them. */
static void drop_passed(nd_caching *c, nd_gates **list)
{
    const nd_hooks *h = &c->backend.hooks;
    for (nd_gates **at = list; *at;) {
        nd_gates *g = *at;
        int32_t done = 0;
        if (h->query(h->ctx, g->gate->event, &done) != ND_OK || !done) {
            at = &g->next;
            continue;
        }
        *at = g->next;
        nd__gate_put(c, g->gate);
        free(g);
    }
}

bool nd__gates_add(nd_caching *c, nd_gates **list, nd_gate *g)
{
    enum { MANY = 16 };
    int n = 0;
    nd_gates *at = *list;
    for (; at && at->gate->stream != g->stream; n++)
        at = at->next;
    if (!at && n % MANY == MANY - 1 && !c->captures)
        drop_passed(c, list);
    if (!at) {
        at = malloc(sizeof *at);
        if (!at)
            return false;
        *at = (nd_gates){g, *list};
        *list = at;
        g->refs++;
    } else if (at->gate->order < g->order) {
        g->refs++;
        nd__gate_put(c, at->gate);
        at->gate = g;
    }
    return true;
}

void nd__gates_join(nd_caching *c, nd_gates **into, nd_gates *from)
{
    while (from) {
        nd_gates *next = from->next, *at = *into;
        while (at && at->gate->stream != from->gate->stream)
            at = at->next;
        if (!at) {
            from->next = *into;
            *into = from;
        } else {
            nd_gate *later = at->gate->order < from->gate->order ? from->gate : at->gate;
            nd__gate_put(c, later == at->gate ? from->gate : at->gate);
            at->gate = later;
            free(from);
        }
        from = next;
    }
}

void nd__gates_drop(nd_caching *c, nd_gates **list)
{
    while (*list) {
        nd_gates *next = (*list)->next;
        nd__gate_put(c, (*list)->gate);
        free(*list);
        *list = next;
    }
}

nd_status nd__gates_wait(nd_caching *c, const nd_gates *list, const nd_request *r)
{
    const nd_hooks *h = &c->backend.hooks;
    for (; list; list = list->next)
        if (list->gate->stream != r->id)
            ND_RETURN_IF(h->wait(h->ctx, r->stream, list->gate->event));
    return ND_OK;
}
