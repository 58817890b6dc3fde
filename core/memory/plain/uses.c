/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which streams use a block, and whether they are done with it. */
#include <stdlib.h>
#include "core/memory/plain/plain.h"

void nd__uses_start(nd_uses *u, nd_stream *home)
{
    *u = (nd_uses){.home = home};
    nd__stream_hold(home);
}

static nd_status add(nd_uses *u, nd_stream *stream, ndp_event *event, bool closed)
{
    if (u->n == u->room) {
        int room = u->room ? 2 * u->room : 4;
        nd_use *grown = realloc(u->list, (size_t)room * sizeof *grown);
        if (!grown)
            return nd__fail(ND_ERR_MEMORY, "record_stream", -1, "no memory to remember a stream");
        u->list = grown;
        u->room = room;
    }
    u->list[u->n++] = (nd_use){.stream = stream, .event = event, .closed = closed};
    nd__stream_hold(stream);
    return ND_OK;
}

nd_status nd__uses_stream(nd_uses *u, nd_stream *stream)
{
    if (stream == u->home)
        return ND_OK;
    for (int i = 0; i < u->n; i++)
        if (u->list[i].stream == stream && !u->list[i].closed)
            return ND_OK;
    return add(u, stream, NULL, false);
}

nd_status nd__uses_record(nd_uses *u, const nd_hooks *hooks, nd_stream *stream)
{
    ndp_event *event = NULL;
    if (stream == u->home || !hooks->record)
        return ND_OK;
    ND_RETURN_IF(hooks->record(hooks->ctx, stream, &event));
    if (!event)
        return ND_OK;
    nd_status status = add(u, stream, event, true);
    if (status != ND_OK)
        hooks->give_back(hooks->ctx, event);
    return status;
}

/* An event recorded in a capture belongs to the graph and is never reached outside it. */
static bool capturing(const nd_hooks *hooks, nd_stream *stream)
{
    return hooks->capture_id && hooks->capture_id(hooks->ctx, stream) != 0;
}

static bool close_one(const nd_hooks *hooks, nd_stream *stream, ndp_event **event)
{
    *event = NULL;
    if (!hooks->record) /* the device finishes its work before a call returns */
        return true;
    return !capturing(hooks, stream) && hooks->record(hooks->ctx, stream, event) == ND_OK;
}

bool nd__uses_close(nd_uses *u, const nd_hooks *hooks)
{
    bool all = true;
    if (!u->home_closed)
        u->home_closed = close_one(hooks, u->home, &u->home_event);
    all = u->home_closed;
    for (int i = 0; i < u->n; i++) {
        nd_use *use = &u->list[i];
        if (!use->closed)
            use->closed = close_one(hooks, use->stream, &use->event);
        all &= use->closed;
    }
    return all;
}

void nd__uses_stream_gone(nd_uses *u, const nd_hooks *hooks, nd_stream *stream)
{
    if (u->home == stream && !u->home_closed)
        u->home_closed = close_one(hooks, u->home, &u->home_event);
    for (int i = 0; i < u->n; i++) {
        nd_use *use = &u->list[i];
        if (use->stream == stream && !use->closed)
            use->closed = close_one(hooks, use->stream, &use->event);
    }
}

/* A fault counts as done: the device reports it to whoever asks next, and nothing runs any more. */
static bool passed(const nd_hooks *hooks, ndp_event **event)
{
    int32_t done = 0;
    if (*event && hooks->query(hooks->ctx, *event, &done) == ND_OK && !done)
        return false;
    if (*event)
        hooks->give_back(hooks->ctx, *event);
    *event = NULL;
    return true;
}

bool nd__uses_done(nd_uses *u, const nd_hooks *hooks)
{
    if (!nd__uses_close(u, hooks) || !passed(hooks, &u->home_event))
        return false;
    for (int i = 0; i < u->n; i++)
        if (!passed(hooks, &u->list[i].event))
            return false;
    return true;
}

bool nd__uses_wait(nd_uses *u, const nd_hooks *hooks)
{
    if (!nd__uses_close(u, hooks))
        return false;
    if (u->home_event)
        (void)hooks->synchronize(hooks->ctx, u->home_event);
    for (int i = 0; i < u->n; i++)
        if (u->list[i].event)
            (void)hooks->synchronize(hooks->ctx, u->list[i].event);
    return nd__uses_done(u, hooks);
}

void nd__uses_prune(nd_uses *u, const nd_hooks *hooks, nd_uses *gone)
{
    int kept = 0;
    *gone = (nd_uses){.list = malloc((size_t)u->n * sizeof *gone->list)};
    for (int i = 0; i < u->n; i++) {
        nd_use *use = &u->list[i];
        if (gone->list && use->closed && passed(hooks, &use->event))
            gone->list[gone->n++] = *use;
        else
            u->list[kept++] = *use;
    }
    u->n = kept;
}

void nd__uses_end(nd_uses *u, const nd_hooks *hooks)
{
    if (u->home_event)
        hooks->give_back(hooks->ctx, u->home_event);
    for (int i = 0; i < u->n; i++) {
        if (u->list[i].event)
            hooks->give_back(hooks->ctx, u->list[i].event);
        nd__stream_unhold(u->list[i].stream);
    }
    nd__stream_unhold(u->home);
    free(u->list);
    *u = (nd_uses){0};
}
