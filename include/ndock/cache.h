/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What ndock keeps for the next time: plans, compiled kernels, workspaces of streams, libraries;
 * and how to have it ready before it is needed.
 *
 * Any thread may call anything here. device NULL: the current one. Counts and bytes are 64-bit;
 * structs that begin with size are written only within the size that the caller set. */
#ifndef NDOCK_CACHE_H
#define NDOCK_CACHE_H
#include <ndock/base.h>

ND_BEGIN_DECLS

/* ---- plans (of Fourier transforms, matrix products ...), per device, least recently used first to
 * go. A plan that queued work still uses is destroyed when that work is done, never before. ---- */
/* At most max_size plans are kept; 0: none; fewer than there are: the oldest go now. Initially
 * 4096. ND_ERR_ARGUMENT for a negative number. */
ND_API ND_MUST_USE nd_status nd_plan_cache_set_max(nd_device *device, int64_t max_size);
/* The same for the bytes that plans say they take. Initially no limit (INT64_MAX). */
ND_API ND_MUST_USE nd_status nd_plan_cache_set_max_bytes(nd_device *device, int64_t max_bytes);
ND_API ND_MUST_USE nd_status nd_plan_cache_size(nd_device *device, int64_t *count);
/* Forgets every plan. Waits for nothing. */
ND_API ND_MUST_USE nd_status nd_plan_cache_clear(nd_device *device);
typedef struct {
    uint32_t size, zero;
    int64_t max_size, max_bytes;
    int64_t count, nbytes; /* kept */
    int64_t hits, misses, evictions;
    int64_t in_flight; /* no longer kept, but still used by queued work or a caller */
} nd_plan_stats;
ND_API ND_MUST_USE nd_status nd_plan_cache_stats(nd_device *device, nd_plan_stats *out);

/* ---- kernels compiled at run time, in memory and in files that all processes of a user share.
 * NDOCK_KERNEL_CACHE_DIR, else $XDG_CACHE_HOME/ndock/kernels, else $HOME/.cache/ndock/kernels;
 * NDOCK_KERNEL_CACHE=0: none; NDOCK_KERNEL_CACHE_MAX_MB: 512. All are read at the first use.
 * ---- */
/* The folder; "" when kernels are kept in memory alone. Static. */
ND_API const char *nd_kernel_cache_dir(void);
/* Removes every entry, in memory and on disk; kernels in use stay usable. ND_ERR_IO names the first
 * file that could not be removed; the others are. */
ND_API ND_MUST_USE nd_status nd_kernel_cache_clear(void);
typedef struct {
    uint32_t size;
    int32_t writable;                                  /* new kernels are written to the folder */
    uint64_t memory_hits, disk_hits, misses;           /* requests */
    uint64_t compiles, failures;                       /* of the misses: tried, of these failed */
    uint64_t stored, dropped, evicted;                 /* files written, found damaged, aged out */
    uint64_t disk_entries, disk_bytes, max_disk_bytes; /* in the folder now; the cap */
    uint64_t memory_entries, memory_bytes;
} nd_kernel_stats;
ND_API ND_MUST_USE nd_status nd_kernel_cache_stats(nd_kernel_stats *out);

/* ---- workspaces: scratch memory of vendor libraries, one for each handle and stream ---- */
/* Frees all of them, on all devices, in stream order; those that a call is using go with it. */
ND_API void nd_clear_workspaces(void);

/* ---- ahead of time ---- */
typedef struct {
    nd_op op;
    nd_dtype dtype;    /* of the (first) array operand */
    nd_device *device; /* NULL: the current one */
} nd_warmup_item;
/* Makes each device look up, and so load or compile, the kernels that calls of op on arrays of
 * dtype need: dense and strided, of rank 1 and above, with scalars. To be called before timing, or
 * before a stream is captured. statuses, NULL or of n entries, receives one status for each item:
 * ND_OK; ND_ERR_UNSUPPORTED, the device lacks one of them (the fallback ladder will serve it);
 * ND_ERR_DTYPE, the op is undefined for it; ND_ERR_ARGUMENT, there is no such op; or what else went
 * wrong. Returns ND_ERR_ARGUMENT for bad arguments alone. Waits for compilation. */
ND_API ND_MUST_USE nd_status nd_warmup(const nd_warmup_item *items, int32_t n, nd_status *statuses);

/* ---- vendor libraries, opened when first needed ---- */
typedef struct {
    const char *name;    /* "cuBLASLt" */
    const char *soname;  /* the name that was found; "" if none was */
    const char *path;    /* the file behind it; "" if none was */
    const char *version; /* as the library says itself; "" if it was not asked */
    const char *reason;  /* why it is not there; "" when it is */
} nd_library_report;
/* *count libraries asked for so far; out, of n entries, receives up to n. Texts live as long as the
 * process. */
ND_API ND_MUST_USE nd_status nd_library_list(nd_library_report *out, int32_t n, int32_t *count);

ND_END_DECLS
#endif
