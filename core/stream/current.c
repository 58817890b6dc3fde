/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which stream is current on a device for a thread, for the length of a call, and until it is popped. */
#include <stdlib.h>
#include "core/stream/tape.h"

nd_stream *nd__stream_current(const nd_device *d)
{
    const nd_thread *t = nd__self;
    nd_stream *s = t && d->ordinal < t->n_current ? t->current[d->ordinal] : NULL;
    return s ? s : d->stream0;
}

nd_stream *nd__stream(nd_device *d)
{
    return !d->async ? NULL : d->has_stream ? nd__stream_current(d) : d->stream0;
}

nd_tape *nd__tape_here(nd_device *device)
{
    return nd__tape_of(nd__stream_current(device));
}

/* Takes over a reference to s. */
static nd_status make_current(nd_device *d, nd_stream *s)
{
    nd_thread *t = nd__thread();
    if (t && d->ordinal >= t->n_current) {
        nd_stream **all = realloc(t->current, (size_t)(d->ordinal + 1) * sizeof *all);
        if (all) {
            memset(all + t->n_current, 0, (size_t)(d->ordinal + 1 - t->n_current) * sizeof *all);
            t->current = all;
            t->n_current = d->ordinal + 1;
        }
    }
    if (!t || d->ordinal >= t->n_current) {
        nd_stream_release(s);
        return nd__fail(ND_ERR_MEMORY, "stream", -1, "no memory for the thread's streams");
    }
    nd_stream *before = t->current[d->ordinal];
    t->current[d->ordinal] = s == d->stream0 ? NULL : s;
    nd_stream_release(before);
    return ND_OK;
}

nd_status nd_stream_current(nd_device *device, nd_stream **out)
{
    nd_status status;
    ND_OUT("stream_current", 1, out, NULL);
    device = nd__or_current(device, &status);
    *out = status == ND_OK ? nd_stream_retain(nd__stream_current(device)) : NULL;
    return status;
}

nd_status nd_stream_set_current(nd_stream *stream)
{
    if (!stream)
        return nd__fail(ND_ERR_ARGUMENT, "stream_set_current", 0, "the stream is NULL");
    return make_current(stream->device, nd_stream_retain(stream));
}

nd_status nd__scope_enter(const char *op, nd_device *device, nd_stream *stream, nd_scope *scope)
{
    *scope = (nd_scope){NULL, NULL};
    if (!stream || stream == nd__stream_current(device))
        return ND_OK;
    if (stream->device != device)
        return nd__fail(ND_ERR_DEVICE, op, -1, "the stream is of %s, the arrays are on %s",
                        stream->device->name, device->name);
    nd_stream *before = nd_stream_retain(nd__stream_current(device));
    nd_status status = make_current(device, nd_stream_retain(stream));
    if (status == ND_OK)
        *scope = (nd_scope){device, before};
    else
        nd_stream_release(before);
    return status;
}

void nd__scope_leave(nd_scope *scope)
{
    if (scope->device)
        (void)make_current(scope->device, scope->before); /* room for it was made on entering */
}

void nd__thread_streams_release(nd_thread *thread)
{
    for (int i = 0; i < thread->n_current; i++)
        nd_stream_release(thread->current[i]);
    for (int i = 0; i < thread->n_guards; i++)
        nd_stream_release(thread->guards[i].stream);
}

/* ---- guards ---- */
static nd_status push(const char *op, const void *pushed, nd_device *device, nd_stream *stream)
{
    nd_thread *t = nd__thread();
    if (!t)
        return ND_ERR_MEMORY;
    if (t->n_guards == t->guard_room) {
        int room = t->guard_room ? 2 * t->guard_room : 8;
        nd_guard *guards = realloc(t->guards, (size_t)room * sizeof *guards);
        if (!guards)
            return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for %d guards", room);
        t->guards = guards;
        t->guard_room = room;
    }
    nd_guard guard = {.device = t->device, .pushed = pushed};
    if (stream) {
        guard.stream = nd_stream_retain(nd__stream_current(device));
        nd_status status = make_current(device, nd_stream_retain(stream));
        if (status != ND_OK) {
            nd_stream_release(guard.stream);
            return status;
        }
    }
    if (device)
        t->device = device;
    t->guards[t->n_guards++] = guard;
    return ND_OK;
}

static nd_status pop(const char *op, const void *pushed)
{
    nd_thread *t = nd__self;
    if (!t || !t->n_guards)
        return nd__fail(ND_ERR_STATE, op, 0, "nothing was pushed on this thread");
    nd_guard *guard = &t->guards[t->n_guards - 1];
    if (guard->pushed != pushed)
        return nd__fail(ND_ERR_STATE, op, 0,
                        "out of order: the latest push on this thread was of something else");
    t->n_guards--;
    t->device = guard->device;
    return guard->stream ? make_current(guard->stream->device, guard->stream) : (nd_status)ND_OK;
}

nd_status nd_stream_push(nd_stream *stream)
{
    return push("stream_push", stream, stream ? stream->device : NULL, stream);
}
nd_status nd_stream_pop(nd_stream *stream)
{
    return pop("stream_pop", stream);
}
nd_status nd_device_push(nd_device *device)
{
    return push("device_push", device, device, NULL);
}
nd_status nd_device_pop(nd_device *device)
{
    return pop("device_pop", device);
}
