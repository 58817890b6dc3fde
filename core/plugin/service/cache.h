/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside the caches that the core keeps for plug-ins: plans, compiled kernels, workspaces, opened
 * libraries. plugin.h says what plug-ins see of them, ndock/cache.h what users do. */
#ifndef NDOCK_CORE_CACHE_H
#define NDOCK_CORE_CACHE_H
#include "core/core.h"

/* The opened device behind a plug-in's handle; ND_ERR_DEVICE if this plug-in opened no such one. */
nd_status nd__host_device(const nd_plugin_slot *slot, const ndp_dev *dev, nd_device **out);

/* ---- plan.c ---- */
/* Points on a stream. NULL events are already passed. None of these blocks but synchronize. */
typedef struct {
    void *ctx;
    nd_status (*record)(void *ctx, ndp_stream *, ndp_event **out);
    nd_status (*query)(void *ctx, ndp_event *, int32_t *done);
    nd_status (*synchronize)(void *ctx, ndp_event *);
    void (*give_back)(void *ctx, ndp_event *);
    bool (*captures)(void *ctx, ndp_stream *); /* the stream is being captured; NULL: never */
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
extern const ndh_plan_1 nd__plan_service;

/* ---- sha256.c: FIPS 180-4 ---- */
typedef struct {
    uint32_t h[8];
    uint64_t nbytes;
    uint8_t block[64];
} nd_sha256;
void nd__sha256_init(nd_sha256 *s);
void nd__sha256_add(nd_sha256 *s, const void *data, size_t n);
void nd__sha256_end(nd_sha256 *s, uint8_t digest[32]);
/* Of a file's bytes; false if it cannot be read to its end. */
bool nd__sha256_file(const char *path, uint8_t digest[32]);

/* ---- store.c, store_scan.c: compiled kernels in files ---- */
typedef struct {
    char *dir; /* NULL: nothing is stored */
    uint64_t max_bytes;
    atomic_bool writable;
    _Atomic uint64_t stored, dropped, evicted;
    _Atomic uint64_t added; /* bytes of all entries that this process wrote */
    _Atomic uint64_t
        base; /* added + base (which wraps): bytes in the folder, as this process knows */
    atomic_int since_scan; /* entries written since the folder was looked through */
    atomic_bool scanned;
} nd_kernel_store;
typedef struct {
    uint64_t entries, nbytes;
} nd_store_usage;
/* dir NULL: stores nothing. The folder is made with the first entry; where it cannot be written,
 * what there is is read. */
void nd__store_open(nd_kernel_store *s, const char *dir, uint64_t max_bytes);
void nd__store_close(nd_kernel_store *s);
/* The code stored under hash for exactly this key; malloc'ed. A damaged entry is removed. */
bool nd__store_load(nd_kernel_store *s, const uint8_t hash[32], const void *key, size_t key_nbytes,
                    void **code, size_t *nbytes);
/* False if it could not be stored, which is no error. */
bool nd__store_save(nd_kernel_store *s, const uint8_t hash[32], const void *key, size_t key_nbytes,
                    const void *code, size_t nbytes);
nd_status nd__store_clear(nd_kernel_store *s);
/* Looks through the folder; with evict, removes the least recently used entries beyond max_bytes.
 */
nd_store_usage nd__store_scan(nd_kernel_store *s, bool evict);
#define ND_STORE_PATH 4096
#define ND_STORE_DIR (ND_STORE_PATH - 80) /* DIR is shorter, so that names in it fit; see open */
/* "DIR/ab/cdef..." */
void nd__store_path(const nd_kernel_store *s, const uint8_t hash[32], char path[ND_STORE_PATH]);
enum { ND_STORE_HEADER = 64, ND_STORE_VERSION = 1 };

/* ---- kernel.c ---- */
typedef struct nd_kernel_cache nd_kernel_cache;
/* The folder by the three variables (NULL: unset); malloc'ed, or NULL with the reason in *why. */
char *nd__kernel_dir(const char *variable, const char *xdg_cache_home, const char *home,
                     const char **why);
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

/* ---- library.c ---- */
nd_status nd__library_open(const ndh_library *library, void *table);
extern const ndh_library_1 nd__library_service;

/* ---- fork.c: a forked child must find every lock free. Called by the registry's handlers, after
 * its own locks are taken; nothing here calls out of the caches with a lock held that these take.
 * ---- */
void nd__plan_cache_lock(nd_plan_cache *c, bool take);
void nd__plans_lock(bool take);
void nd__kernels_lock(bool take);
void nd__kernel_cache_lock(nd_kernel_cache *c, bool take);
void nd__kernels_forked(void);
/* In a child, with the lock held: what other threads compiled or waited for there is nobody's now.
 */
void nd__kernel_cache_forked(nd_kernel_cache *c);
void nd__workspaces_lock(bool take);
void nd__libraries_lock(bool take);

/* ---- visible.c ---- */
nd_status nd__visible_devices(const char *text, int32_t count, const char *const *uuids,
                              int32_t *out, int32_t *n);
extern const ndh_visible_1 nd__visible_service;

#endif
