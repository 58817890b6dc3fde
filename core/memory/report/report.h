/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Accounts of memory: the trace of events, the form of snapshots, and the error of a request that
 * nobody could meet. */
#ifndef NDOCK_CORE_REPORT_H
#define NDOCK_CORE_REPORT_H
#include "core/memory/memory.h"

/* ---- trace.c: a ring of the last events of each device ---- */
enum {
    ND_TRACE_ALLOC,
    ND_TRACE_FREE_REQUESTED,
    ND_TRACE_FREE_COMPLETED,
    ND_TRACE_SEGMENT_ALLOC,
    ND_TRACE_SEGMENT_FREE,
    ND_TRACE_SEGMENT_MAP,
    ND_TRACE_SEGMENT_UNMAP,
    ND_TRACE_OOM,
    ND_TRACE_SNAPSHOT,
    ND_TRACE_USER
};
extern atomic_bool nd__trace_on;
#define ND_TRACE_TEXT 64
typedef struct {
    int64_t time_us; /* since 1970; goes on evenly when the clock is set */
    uint64_t address, nbytes, stream;
    int32_t action;
    char tag[ND_TRACE_TEXT], text[ND_TRACE_TEXT]; /* cut where longer */
} nd_trace_entry;
/* Adds an event, with the thread's tag. address: of the block, by nd__mem_address; for ND_TRACE_OOM
 * the bytes that the device has free. text: NULL but for a user's notes. Any thread may call it
 * with an allocator's lock held: it calls nothing but malloc. */
void nd__trace_add(int32_t action, nd_device *device, uint64_t address, uint64_t nbytes,
                   const nd_stream *stream, const char *text);
/* The same, at the cost of one relaxed load while the trace is off. */
#define nd__trace(...)                                                                      \
    (atomic_load_explicit(&nd__trace_on, memory_order_relaxed) ? nd__trace_add(__VA_ARGS__) \
                                                               : (void)0)
const char *nd__trace_action(int32_t action); /* "alloc" ...; static */
/* A copy of the device's events, oldest first; malloc'ed, NULL if there are none. */
nd_trace_entry *nd__trace_copy(nd_device *device, int64_t *n);
int64_t nd__trace_time_us(void); /* now, as in events */
/* A number that tells blocks apart in traces and snapshots: the device address where there is one,
 * else made up of the handle. */
uint64_t nd__mem_address(nd_device *device, ndp_mem *mem, const char *host);

/* ---- shortage.c ---- */
/* What a backend had when a request found nothing. Sizes are in bytes. */
typedef struct {
    uint64_t requested, rounded; /* rounded 0: too large for any device */
    uint64_t allocated, reserved, pools, cap;
    uint64_t total; /* of a device that does not say it itself; 0: unknown */
    bool capped;    /* the cap refused it, not the device */
} nd_shortage;
/* ND_ERR_MEMORY, once the trace and the program's observers have been told. Called under no
 * lock. */
nd_status nd__out_of_memory(const nd_backend *backend, const nd_stream *stream, nd_shortage s);

/* ---- snapshot.c ---- */
/* The form of segments. A backend's snapshot slot appends each of its segments by begin, a block
 * call for each piece (they tile the segment, in order), and end. */
enum { ND_BLOCK_ALLOCATED, ND_BLOCK_PENDING_FREE, ND_BLOCK_INACTIVE };
typedef struct {
    const nd_device *device;
    uint64_t address, total, allocated, active, requested; /* bytes; active has pending ones */
    uint64_t stream, pool;                                 /* ids; pool 0: none */
    bool large, expandable;
} nd_snapshot_segment;
void nd__snapshot_segment_begin(nd_text *t, const nd_snapshot_segment *segment);
/* tag: NULL or "" if it is not known. */
void nd__snapshot_block(nd_text *t, uint64_t address, uint64_t nbytes, uint64_t requested,
                        int32_t state, const char *tag);
void nd__snapshot_segment_end(nd_text *t);
/* Starts what NDOCK_MEMORY_SNAPSHOT asks for, once. It is called before a device's first block. */
void nd__snapshot_from_environment(void);
#endif
