/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What other layers tell the memory of a device. */
#include "core/memory/memory.h"

bool nd__memory_trim(nd_device *device)
{
    nd_memory_stats before = {.size = sizeof before}, after = before;
    nd_backend *backend = atomic_load(&device->backend);
    if (!backend)
        return false;
    backend->type->stats(backend, &before);
    (void)backend->type->empty_cache(backend);
    backend->type->stats(backend, &after);
    return after.reserved_bytes.all.current < before.reserved_bytes.all.current;
}

void nd__memory_stream_gone(nd_stream *stream)
{
    nd_backend *backend = atomic_load(&stream->device->backend);
    if (backend && stream->device->async && backend->type->stream_gone)
        backend->type->stream_gone(backend, stream);
}
