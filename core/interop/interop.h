/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside the exchange with other libraries: which streams have used a storage, and streams and
 * devices named as others name them. */
#ifndef NDOCK_CORE_INTEROP_H
#define NDOCK_CORE_INTEROP_H
#include "core/core.h"

/* ---- sharing.c ---- */
/* Orders s behind all pending work on the storage, one event a stream; *pending: there was any.
 * keep: s lives as long as the storage, and is remembered in the place of those. */
nd_status nd__join_users(const char *op, nd_storage *storage, nd_stream *s, bool keep,
                         bool *pending);
/* The host waits for all work on it, that of a producer included. */
nd_status nd__wait_users(const char *op, nd_storage *storage);
/* What the memory is to hold comes by way of s, whose end is not yet reached. */
static inline void nd__ready_on(nd_storage *storage, const nd_stream *s)
{
    atomic_store(&storage->ready, s->id);
}
/* Others may queue work on s from now on, and s lives as long as the storage. */
nd_status nd__lend_stream(const char *op, nd_storage *storage, nd_stream *s);
/* The stream of whoever the storage was imported from; NULL: none, or not imported. */
nd_stream *nd__producer(const nd_storage *storage);
/* The storage, a foreign one, is over memory of somebody who queues work on producer (retained);
 * follow: that stream waits after each of our uses. */
void nd__import_from(nd_storage *storage, nd_stream *producer, bool follow);

/* ---- dlpack_export.c ---- */
/* How DLPack names a device of that plug-in. */
nd_dl_device nd__dl_device(const char *plugin, uint32_t index, bool host_visible);

/* ---- foreign.c ---- */
/* The stream of that handle, one of ours if it is; retained. */
nd_status nd__foreign_stream(const char *op, nd_device *device, uint64_t handle, nd_stream **out);
/* How others name s: 1, 2 or a handle. */
nd_status nd__stream_handle(nd_stream *s, uint64_t *out);
/* The device whose memory, not the host's, the address is, or an error about argument 0. */
nd_status nd__device_of_address(const char *op, uint64_t address, nd_device **out);
/* Device address of a's element 0; 0 without elements. Waits for nothing. */
nd_status nd__address(const char *op, const nd_array *a, uint64_t *out);

#endif
