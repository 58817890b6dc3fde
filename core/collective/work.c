/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Work: exchanges on the communicator's own stream, beside what its caller queues, and their end. */
#include <stdlib.h>
#include "core/collective/collective.h"

struct nd_work {
    atomic_int refs;
    nd_comm *comm;
    nd_event *event;
};

/* The communicator's own stream, and its caller's; both NULL where the device queues nothing. */
static nd_status side_of(nd_comm *c, nd_stream **side, nd_stream **caller)
{
    *side = *caller = NULL;
    if (!c->carrier->has_stream)
        return ND_OK;
    if (!c->side) {
        /* More urgent than computing, whose blocks would otherwise all go before the exchange's. */
        nd_stream_opts opts = {.size = sizeof opts};
        int32_t lowest;
        ND_RETURN_IF(nd_stream_priority_range(c->carrier, &lowest, &opts.priority));
        ND_RETURN_IF(nd_stream_create(c->carrier, &opts, &c->side));
    }
    ND_RETURN_IF(nd_stream_current(c->carrier, caller));
    *side = c->side;
    return ND_OK;
}

nd_status nd__comm_work(const char *op, nd_comm *c, nd_status (*start)(void *arg), void *arg,
                        nd_work **out)
{
    nd_stream *side, *caller;
    nd_scope scope = {NULL, NULL};
    nd_work *w = calloc(1, sizeof *w);
    nd_status status = ND_OK;
    if (!w)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for a work");
    atomic_init(&w->refs, 1);
    ND_GOTO_IF(done, side_of(c, &side, &caller));
    ND_GOTO_IF(done, nd_event_create(c->carrier, NULL, &w->event));
    if (side) {
        ND_GOTO_IF(done, nd_stream_wait_stream(side, caller));
        ND_GOTO_IF(done, nd__scope_enter(op, c->carrier, side, &scope));
    }
    status = start(arg);
    nd__scope_leave(&scope);
    if (status == ND_OK)
        status = nd_event_record(w->event, side);
done:
    nd_stream_release(caller);
    if (status == ND_OK) {
        w->comm = nd_comm_retain(c);
        *out = w;
        return ND_OK;
    }
    nd_event_release(w->event);
    free(w);
    return status;
}

nd_work *nd_work_retain(nd_work *w)
{
    if (w)
        atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
    return w;
}

void nd_work_release(nd_work *w)
{
    if (!w || !nd__last(&w->refs))
        return;
    nd_event_release(w->event);
    nd_comm_release(w->comm);
    free(w);
}

nd_status nd_work_wait(nd_work *w)
{
    nd_stream *current = NULL;
    ND_NEED("work_wait", 0, w);
    ND_RETURN_IF(nd_comm_status(w->comm));
    ND_RETURN_IF(nd_stream_current(w->comm->carrier, &current));
    const nd_status status = nd_stream_wait_event(current, w->event);
    nd_stream_release(current);
    return status;
}

nd_status nd_work_synchronize(nd_work *w)
{
    ND_NEED("work_synchronize", 0, w);
    ND_RETURN_IF(nd_event_synchronize(w->event));
    return nd_comm_status(w->comm);
}

nd_status nd_work_query(nd_work *w, int32_t *done)
{
    ND_OUT("work_query", 1, done, 0);
    ND_NEED("work_query", 0, w);
    ND_RETURN_IF(nd_event_query(w->event, done));
    return *done ? nd_comm_status(w->comm) : (nd_status)ND_OK;
}
