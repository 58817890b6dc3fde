/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What plug-ins are served by the core: caches of plans and compiled kernels, opened libraries,
 * which devices are visible. plugin.h says what plug-ins see of them, ndock/cache.h what users
 * do. */
#ifndef NDOCK_CORE_SERVICE_H
#define NDOCK_CORE_SERVICE_H
#include "core/base/store.h"
#include "core/plugin/device.h"

/* ---- plan.c ---- */
/* Ends of what streams have queued. None of these blocks but synchronize. */
typedef struct {
    void *ctx;
    /* false: it is no stream of the device. 0: of a device without streams, whose calls end with
     * their work done. */
    bool (*stream_id)(void *ctx, ndp_stream *stream, uint64_t *id);
    /* *out NULL: all has been done. ND_ERR_NOT_READY: not now, since the stream is in use. */
    nd_status (*record)(void *ctx, uint64_t stream_id, ndp_event **out);
    nd_status (*query)(void *ctx, ndp_event *event, int32_t *done);
    nd_status (*synchronize)(void *ctx, ndp_event *event);
    void (*give_back)(void *ctx, ndp_event *event);
    bool (*captures)(void *ctx, ndp_stream *stream); /* the stream is being captured; NULL: never */
} nd_plan_hooks;
typedef struct nd_plan_cache nd_plan_cache;
nd_status nd__plan_cache_create(const nd_plan_hooks *hooks, nd_plan_cache **out);
/* Waits for the plans in flight. No plan is acquired. NULL is fine. */
void nd__plan_cache_destroy(nd_plan_cache *c);
nd_status nd__plan_acquire(nd_plan_cache *c, const void *key, size_t key_nbytes,
                           int32_t (*make)(void *arg, void **value, uint64_t *nbytes),
                           void (*destroy)(void *value), void *arg, ndh_plan **out, void **value);
void nd__plan_release(ndh_plan *plan, ndp_stream *stream);
nd_status nd__plan_cache_limit(nd_plan_cache *c, int64_t max_size,
                               int64_t max_bytes); /* -1: as is */
void nd__plan_cache_clear(nd_plan_cache *c);
void nd__plan_cache_stats(nd_plan_cache *c, nd_plan_stats *out); /* all fields but size */
void nd__plan_cache_lock(nd_plan_cache *c, bool take);

/* ---- kernel.c ---- */
typedef struct nd_kernel_cache nd_kernel_cache;
nd_status nd__kernel_cache_create(const char *dir, uint64_t max_bytes, nd_kernel_cache **out);
void nd__kernel_cache_destroy(nd_kernel_cache *c); /* nothing of it is in use */
nd_status nd__kernel_get(nd_kernel_cache *c, const ndh_kernel_key *key, uint32_t flags,
                         int32_t (*compile)(void *arg, ndh_compiled *out), void *arg,
                         ndh_code **out, const void **code, uint64_t *nbytes);
void nd__kernel_release(ndh_code *code);
nd_status nd__kernel_log(nd_kernel_cache *c, const ndh_kernel_key *key, char *text, size_t n);
nd_status nd__kernel_clear(nd_kernel_cache *c);
void nd__kernel_stats(nd_kernel_cache *c, nd_kernel_stats *out); /* all fields but size */
const char *nd__kernel_cache_folder(const nd_kernel_cache *c);   /* "": none */
extern const ndh_kernel_1 nd__kernel_service;
void nd__kernel_cache_lock(nd_kernel_cache *c, bool take);
/* In a child, with the lock held: what other threads compiled or waited for there is nobody's
 * now. */
void nd__kernel_cache_forked(nd_kernel_cache *c);
void nd__fork_kernel_caches(nd_fork now);

/* ---- library.c ---- */
nd_status nd__library_open(const ndh_library *library, void *table);
extern const ndh_library_1 nd__library_service;
void nd__fork_libraries(nd_fork now);

/* ---- visible.c ---- */
nd_status nd__visible_devices(const char *text, int32_t count, const char *const *uuids,
                              int32_t *out, int32_t *n);
extern const ndh_visible_1 nd__visible_service;

#endif
