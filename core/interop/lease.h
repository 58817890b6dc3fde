/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Leases: files in shared memory by which the processes that share something know of each other.
 * Locks on their bytes are gone with the process that had them, however it ended. */
#ifndef NDOCK_CORE_LEASE_H
#define NDOCK_CORE_LEASE_H
#include "core/interop/interop.h"

/* Bytes of the names in handles. */
enum { ND_LEASE_NAME = 48, ND_IPC_PLUGIN = 32, ND_IPC_DEVICE = 64 };
typedef struct nd_lease nd_lease;
/* A new one, whose owner this process is. */
nd_status nd__lease_make(const char *op, nd_lease **out);
const char *nd__lease_name(const nd_lease *lease);
/* Another process's, by name, counted; STATE where its owner has ended it or is gone. */
nd_status nd__lease_take(const char *op, const char *name, nd_lease **out);
/* Whether another process has taken it; of an owner's. */
bool nd__lease_is_taken(const nd_lease *lease);
/* Whether its owner is there and has not ended it; of a taken one. */
bool nd__lease_is_owned(const nd_lease *lease);
/* Nobody can take it any more; those that have taken it keep it. */
void nd__lease_end(nd_lease *lease);
void nd__lease_drop(nd_lease *lease); /* the owner's record, or one reference */

/* ---- ipc.c ---- */
uint64_t nd__ipc_sum(const unsigned char *p, size_t n);
/* Whether the names end where they have to: anybody can write a handle. */
bool nd__ipc_is_named(const char *lease, const char *plugin, const char *device);
/* This process's device of the plug-in, with the unique id. */
nd_status nd__ipc_device(const char *op, const char *plugin, const char *unique_id,
                         nd_device **out);
#endif
