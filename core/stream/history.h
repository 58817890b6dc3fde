/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What hazard mode and the stream check know: clocks of streams and events, and who used which bytes
 * of a block of memory. hazard.c holds its lock around all of it. */
#ifndef NDOCK_CORE_HISTORY_H
#define NDOCK_CORE_HISTORY_H
#include "core/stream/streams.h"

typedef struct {
    uint64_t stream, seq;
} nd_tick;
struct nd_clock {
    nd_tick *ticks;
    int n, room;
};

/* Bytes of mem from low to high; with period > 0 only those at phase to phase + item of each
 * period, which tells interleaved views apart. */
typedef struct {
    ndp_mem *mem;
    int64_t low, high, period, phase, item;
    bool write;
} nd_span;
/* Streams are remembered by id: they may be gone by the time somebody asks. */
typedef struct {
    nd_span at;
    nd_device *device; /* of the stream */
    uint64_t stream, seq;
    char name[32], tag[ND_TAG_SIZE];
} nd_access;

/* Of one block of device memory. Memory of others has a block of its own, and yet may be a part of
 * one of ours: then the addresses tell. */
typedef struct nd_history {
    struct nd_history *next;
    ndp_mem *mem;
    nd_device *device;
    uint64_t base; /* address where mem begins; 0: not known */
    bool foreign;
    nd_access *accesses;
    int n, room;
} nd_history;

enum { ND_HISTORY_BUCKETS = 256 };
int nd__history_bucket(const void *p); /* of a table keyed by p */

/* Up to which number the clock has seen the stream's work; 0: none of it. */
uint64_t nd__clock_seen(const nd_clock *c, uint64_t stream);
void nd__clock_advance(nd_clock *c, uint64_t stream, uint64_t seq);
void nd__clock_join(nd_clock *to, const nd_clock *from);

nd_span nd__span_of(const ndp_view *v, bool write);

/* Of a block, made if there is none; NULL without memory. */
nd_history *nd__history_of(nd_device *device, ndp_mem *mem);
void nd__history_append(nd_history *h, const nd_access *now);
/* The first access that is ordered before now by neither the clock nor host, copied, in the block's
 * own history and, where foreign memory is about, in those of other names for it. */
bool nd__history_conflict(nd_history *h, const nd_clock *mine, const nd_clock *host,
                          const nd_access *now, nd_access *out);
void nd__history_foreign(nd_device *device, ndp_mem *mem, uint64_t address);
void nd__history_drop(ndp_mem *mem);
void nd__history_empty_all(void);
#endif
