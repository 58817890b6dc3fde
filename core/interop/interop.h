/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside the exchange with other libraries: streams and devices named as others name them. */
#ifndef NDOCK_CORE_INTEROP_H
#define NDOCK_CORE_INTEROP_H
#include "core/ops/ops.h"

/* ---- foreign.c ---- */
/* The stream of that handle, one of ours if it is; retained. */
nd_status nd__foreign_stream(const char *op, nd_device *device, uint64_t handle, nd_stream **out);
/* How others name s: 1, 2 or a handle. */
nd_status nd__stream_handle(nd_stream *s, uint64_t *out);
/* The device whose memory, not the host's, the address is, or an error about argument 0. */
nd_status nd__device_of_address(const char *op, uint64_t address, nd_device **out);
/* Device address of a's element 0; 0 without elements. Waits for nothing. */
nd_status nd__address(const char *op, const nd_array *a, uint64_t *out);
/* ---- ipc.c, lease.c ---- */
void nd__fork_ipc(nd_fork now);
void nd__fork_lease(nd_fork now);

#endif
