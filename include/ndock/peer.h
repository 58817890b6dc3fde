/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Two devices of one plug-in that reach each other's memory, and arrays and events shared with other
 * processes of this machine, whose devices are the same.
 *
 * Copies between devices (nd_copy, nd_to_device, nd_assign) need none of this: they go from one to
 * the other without the host where the plug-in can do that.
 *
 * Any thread may call anything. */
#ifndef NDOCK_PEER_H
#define NDOCK_PEER_H
#include <ndock/base.h>
#include <ndock/stream.h>

ND_BEGIN_DECLS

/* ---- peers ---- */
/* *yes: kernels of device may use the memory of peer once that is switched on; 0 for devices of two
 * plug-ins, and where a self-test has found that bytes do not arrive unharmed. */
ND_API ND_MUST_USE nd_status nd_device_can_access_peer(nd_device *device, nd_device *peer,
                                                       int32_t *yes);
/* Switches it on, in this direction, for good; it may be on already. UNSUPPORTED with the reason
 * where it cannot be. */
ND_API ND_MUST_USE nd_status nd_device_enable_peer(nd_device *device, nd_device *peer);

/* ---- arrays of other processes ---- */
/* What another process of this machine needs to use an array: bytes, to be sent by any means. */
#define ND_IPC_BYTES 1536
typedef struct {
    unsigned char bytes[ND_IPC_BYTES];
} nd_ipc_handle;
typedef struct nd_ipc nd_ipc; /* an export: that an array is shared */

/* Names a for others. While the export lives, they may import it, any number of times; its memory
 * stays while the export lives, and after that until the last process that imported it has released
 * it or has ended. Work queued on a before the export comes before theirs; later work of either
 * process is for them to order, by an event or a barrier. The bytes are worth something to processes
 * of the same user alone.
 *   a     a view of any strides; borrowed
 *   *out  owned by the caller, released with nd_ipc_release; NULL on failure
 * Errors: UNSUPPORTED for devices that name no memory, and for memory that has no name, with what to
 * do: expandable segments and the driver's pool. */
ND_API ND_MUST_USE nd_status nd_ipc_export(const nd_array *a, nd_ipc_handle *handle, nd_ipc **out);
/* The array, in another process: the same memory, shape, strides and dtype, on the same device,
 * wherever that stands in this process's list. Owned by the caller.
 * Errors: STATE where the export was released, its process has ended, or it was made by this process;
 * DEVICE where this process does not see the device; ARGUMENT for bytes that are no handle. */
ND_API ND_MUST_USE nd_status nd_ipc_import(const nd_ipc_handle *handle, nd_array **out);
/* *used: 0 when no other process has the array now. */
ND_API ND_MUST_USE nd_status nd_ipc_is_used(nd_ipc *exported, int32_t *used);
/* *alive, of an imported array: 0 once the export was released or its process has ended: then its
 * elements may be anything, and it should be released. 1 for arrays of this process's own. */
ND_API ND_MUST_USE nd_status nd_ipc_is_alive(const nd_array *a, int32_t *alive);
ND_API void nd_ipc_release(nd_ipc *exported); /* NULL is fine */

/* ---- events of other processes ---- */
#define ND_IPC_EVENT_BYTES 256
typedef struct {
    unsigned char bytes[ND_IPC_EVENT_BYTES];
} nd_event_handle;
/* Names an event that was made with ND_EVENT_INTERPROCESS, to be recorded and waited for in other
 * processes as well: what each of them waits for is the latest record that any had made when it
 * asked, so that a record is told of by other means. The event is kept until the others are done.
 * Errors: ARGUMENT without that flag; UNSUPPORTED for devices that name no events; STATE for an
 * event that was imported. */
ND_API ND_MUST_USE nd_status nd_event_export(nd_event *event, nd_event_handle *handle);
/* The event, in another process, on the same device; released with nd_event_release. It has no times.
 * Errors: STATE where the event was released, its process has ended, or is this one; DEVICE where this
 * process does not see the device; ARGUMENT for bytes that are no handle. */
ND_API ND_MUST_USE nd_status nd_event_import(const nd_event_handle *handle, nd_event **out);

ND_END_DECLS
#endif
