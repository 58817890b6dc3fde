/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The settings of memory, as NDOCK_ALLOC_CONF and nd_memory_conf_set have them. */
#ifndef NDOCK_CORE_SETTINGS_H
#define NDOCK_CORE_SETTINGS_H
#include "core/memory/memory.h"

/* Fields are named as their keys, but for what is said beside them. Sizes are in bytes. */
typedef struct {
    uint64_t max_split_size;                  /* max_split_size_mb; UINT64_MAX: no limit */
    uint64_t max_non_split_rounding;          /* max_non_split_rounding_mb, 20 MiB */
    uint64_t large_segment_size;              /* large_segment_size_mb, 20 MiB */
    uint32_t roundup_power2_divisions[64];    /* by the request's power of two; 0, 1: none */
    double garbage_collection_threshold;      /* 0: off */
    double per_process_memory_fraction;       /* 0: no cap */
    double expandable_segments_reserve;       /* of the device's memory, 9/8; above 64: bytes */
    int32_t expandable_segments, throw_early; /* throw_on_device_alloc_oom */
    int32_t steal;             /* cross_stream: never 0, before_oom 1, before_grow 2 */
    int32_t backend;           /* ND_KIND_ */
    int32_t thread_cache;      /* small blocks of host-visible devices are kept per thread */
    int64_t max_cached;        /* max_cached_mb; 0: no limit; -1: by the device */
    int64_t quarantine_blocks; /* debug: freed blocks that are kept poisoned, 256 */
    uint64_t pinned_reserve, pinned_exact_above, pinned_cap; /* 0: none */
    int32_t pinned_background; /* a thread polls the events of freed pinned blocks */
} nd_conf;

extern _Atomic(const nd_conf *) nd__conf_now; /* NULL until it is first looked at */
/* Reads the environment; the record then. */
const nd_conf *nd__conf_first(void);
/* The record that holds now. */
static inline const nd_conf *nd__conf(void)
{
    const nd_conf *conf = atomic_load_explicit(&nd__conf_now, memory_order_acquire);
    return conf ? conf : nd__conf_first();
}
/* The error in NDOCK_ALLOC_CONF, which is then ignored as a whole. */
nd_status nd__conf_check(void);
#endif
