/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams and memory as other libraries name them: handles and addresses. */
#include "core/interop/interop.h"

/* The name others have for s; under stream_lock. */
static uint64_t native_of(nd_stream *s)
{
    nd_device *d = s->device;
    uint64_t native = atomic_load_explicit(&s->native, memory_order_relaxed);
    if (!native && d->stream.native && d->stream.native(d->dev, s->handle, &native) == NDP_OK)
        atomic_store_explicit(&s->native, native, memory_order_relaxed);
    return native;
}

nd_status nd__stream_handle(nd_stream *s, uint64_t *out)
{
    nd_device *d = s->device;
    *out = atomic_load_explicit(&s->native, memory_order_relaxed); /* it never changes */
    if (!*out) {
        pthread_mutex_lock(&d->stream_lock);
        *out = native_of(s);
        pthread_mutex_unlock(&d->stream_lock);
    }
    return *out ? (nd_status)ND_OK
                : nd__fail(ND_ERR_UNSUPPORTED, "stream", -1,
                           "the streams of %s have no handles that others know", d->name);
}

/* The calling thread's default stream is another one in each thread: no stream of ours stands for
 * it unless the device's default stream is that one. */
static nd_stream *known(nd_device *d, uint64_t handle)
{
    nd_stream *found = NULL;
    if (atomic_load_explicit(&d->stream0->native, memory_order_relaxed) == handle)
        return d->stream0; /* most are there, and it never goes */
    pthread_mutex_lock(&d->stream_lock);
    if (native_of(d->stream0) == handle)
        found = d->stream0;
    for (nd_stream *s = d->streams; s && !found && handle != 2; s = s->next)
        if (native_of(s) == handle)
            found = nd__stream_retain_live(s);
    pthread_mutex_unlock(&d->stream_lock);
    return found;
}

nd_status nd__foreign_stream(const char *op, nd_device *d, uint64_t handle, nd_stream **out)
{
    *out = known(d, handle);
    if (*out)
        return ND_OK;
    nd_status status = nd_stream_wrap(d, handle, NULL, NULL, out);
    if (status != ND_OK)
        nd__error_context(op, d->name, NULL);
    return status;
}

nd_status nd__address(const char *op, const nd_array *a, uint64_t *out)
{
    nd_device *d = a->storage->device;
    *out = 0;
    if (!d->map.address)
        return nd__fail(ND_ERR_UNSUPPORTED, op, 0, "%s has no addresses; copy with nd_to_host",
                        d->name);
    if (a->size == 0)
        return ND_OK;
    nd_status status = d->map.address(d->dev, a->storage->mem, out);
    if (status != ND_OK)
        nd__error_context(op, d->name, d->slot->name);
    *out += (uint64_t)nd__byte_offset(a);
    return status;
}
