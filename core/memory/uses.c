/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which streams use a block, and whether they are done with it. */
#include <stdlib.h>
#include "core/memory/memory.h"

void nd__uses_start(nd_uses *u, nd_stream *home)
{
    *u = (nd_uses){.home = {.stream = home, .closed = home == NULL}};
    nd__stream_hold(home);
}

static nd_status add(nd_uses *u, nd_stream *stream, ndp_event *event, bool closed)
{
    nd_use *use = malloc(sizeof *use);
    if (!use)
        return nd__fail(ND_ERR_MEMORY, "record_stream", -1, "no memory to remember a stream");
    *use = (nd_use){stream, event, closed, u->home.next};
    u->home.next = use;
    u->others++;
    nd__stream_hold(stream);
    return ND_OK;
}

nd_status nd__uses_stream(nd_uses *u, nd_stream *stream)
{
    if (stream == u->home.stream)
        return ND_OK;
    for (const nd_use *use = u->home.next; use; use = use->next)
        if (use->stream == stream && !use->closed)
            return ND_OK;
    return add(u, stream, NULL, false);
}

nd_status nd__uses_record(nd_uses *u, const nd_hooks *hooks, nd_stream *stream)
{
    ndp_event *event = NULL;
    if (stream == u->home.stream || !hooks->record)
        return ND_OK;
    ND_RETURN_IF(hooks->record(hooks->ctx, stream, &event));
    if (!event)
        return ND_OK;
    nd_status status = add(u, stream, event, true);
    if (status != ND_OK)
        hooks->give_back(hooks->ctx, event);
    return status;
}

/* An event recorded in a capture belongs to the graph and is never reached outside it. A device
 * without events finishes its work before a call returns. */
static void close_one(nd_use *use, const nd_hooks *hooks)
{
    if (use->closed)
        return;
    use->event = NULL;
    bool capturing =
        hooks->record && hooks->capture_id && hooks->capture_id(hooks->ctx, use->stream) != 0;
    use->closed = !hooks->record ||
                  (!capturing && hooks->record(hooks->ctx, use->stream, &use->event) == ND_OK);
}

/* Marks where each stream is. Returns false while one of them is captured. */
static bool close_all(nd_uses *u, const nd_hooks *hooks)
{
    bool all = true;
    for (nd_use *use = &u->home; use; use = use->next) {
        close_one(use, hooks);
        all &= use->closed;
    }
    return all;
}

void nd__uses_stream_gone(nd_uses *u, const nd_hooks *hooks, nd_stream *stream)
{
    for (nd_use *use = &u->home; use; use = use->next)
        if (use->stream == stream)
            close_one(use, hooks);
}

static void give_back(nd_use *use, const nd_hooks *hooks)
{
    if (use->event)
        hooks->give_back(hooks->ctx, use->event);
    use->event = NULL;
}

/* A fault counts as done: the device reports it to whoever asks next, and nothing runs any more. */
static bool passed(nd_use *use, const nd_hooks *hooks)
{
    int32_t done = 0;
    if (use->event && hooks->query(hooks->ctx, use->event, &done) == ND_OK && !done)
        return false;
    give_back(use, hooks);
    return true;
}

bool nd__uses_done(nd_uses *u, const nd_hooks *hooks)
{
    if (!close_all(u, hooks))
        return false;
    for (nd_use *use = &u->home; use; use = use->next)
        if (!passed(use, hooks))
            return false;
    return true;
}

bool nd__uses_wait(nd_uses *u, const nd_hooks *hooks)
{
    if (!close_all(u, hooks))
        return false;
    for (nd_use *use = &u->home; use; use = use->next)
        if (use->event)
            (void)hooks->synchronize(hooks->ctx, use->event);
    return nd__uses_done(u, hooks);
}

void nd__uses_prune(nd_uses *u, const nd_hooks *hooks, nd_uses *gone)
{
    for (nd_use **at = &u->home.next, *use; (use = *at) != NULL;) {
        if (!use->closed || !passed(use, hooks)) {
            at = &use->next;
            continue;
        }
        *at = use->next;
        use->next = gone->home.next;
        gone->home.next = use;
        u->others--;
    }
}

void nd__uses_end(nd_uses *u, const nd_hooks *hooks)
{
    for (nd_use *use = &u->home, *next; use; use = next) {
        next = use->next;
        give_back(use, hooks);
        nd__stream_unhold(use->stream);
        if (use != &u->home)
            free(use);
    }
    *u = (nd_uses){0};
}
