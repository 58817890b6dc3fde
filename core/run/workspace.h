/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What plug-ins are served for work on streams: workspaces and the plan caches of opened devices.
 * plugin.h says what plug-ins see of them, ndock/cache.h what users do. */
#ifndef NDOCK_CORE_WORKSPACE_H
#define NDOCK_CORE_WORKSPACE_H
#include "core/plugin/service/service.h"
#include "core/run/run.h"

/* ---- workspace.c ---- */
nd_status nd__workspace_parse(const char *text, uint64_t *nbytes);
uint64_t nd__workspace_default(int32_t major);
nd_status nd__workspace_acquire(nd_device *device, const void *handle, uint64_t stream_id,
                                uint64_t nbytes, ndh_workspace **out);
/* The one there is, in use by the caller then; NULL: none of that size. Allocates nothing. */
ndh_workspace *nd__workspace_find(nd_device *device, const void *handle, uint64_t stream_id,
                                  uint64_t nbytes);
void nd__workspace_release(ndh_workspace *w);
/* True while the calling thread is inside a kernel's run(). After run() has returned
 * ND_ERR_NOT_READY: makes the workspace that it lacked. *made false: it lacked none. */
extern _Thread_local bool nd__in_run __attribute__((tls_model("initial-exec")));
nd_status nd__workspace_make_wanted(bool *made);
nd_storage *nd__workspace_storage(const ndh_workspace *w);
void nd__workspace_handle_gone(nd_device *device, const void *handle);
/* To be called when a stream gets no more work, while its handle still works. */
void nd__workspace_stream_gone(nd_device *device, uint64_t stream_id);
/* For the "workspace" line of the device's memory statistics. */
void nd__workspace_stats(const nd_device *device, nd_memory_stat *out);
void nd__workspace_reset(const nd_device *device, bool peak, bool accumulated);
extern const ndh_workspace_1 nd__workspace_service;
void nd__fork_workspaces(nd_fork now);

/* ---- plan_device.c ---- */
extern const ndh_plan_1 nd__plan_service;
/* nd__plan_acquire() of the device's cache. */
nd_status nd__device_plan(nd_device *device, const void *key, size_t key_nbytes,
                          int32_t (*make)(void *arg, void **value, uint64_t *nbytes),
                          void (*destroy)(void *value), void *arg, ndh_plan **out, void **value);
void nd__fork_plans(nd_fork now);

#endif
