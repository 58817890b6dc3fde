/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The last events of every device's memory: a ring for each, of a fixed number of entries. */
#include <stdlib.h>
#include <time.h>
#include "core/memory/report/report.h"

const char *nd__tag(void);

typedef struct ring {
    nd_device *device;
    struct ring *next;
    nd_trace_entry *entries; /* room of them */
    int64_t room, total;     /* total: ever added; the last min(total, room) are there */
} ring;

enum { MOST_ENTRIES = 1 << 24 };

atomic_bool nd__trace_on;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ring *rings;
static int64_t wanted; /* entries of each ring */

void nd__fork_trace(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}

static const char *const actions[] = {
    [ND_TRACE_ALLOC] = "alloc",
    [ND_TRACE_FREE_REQUESTED] = "free_requested",
    [ND_TRACE_FREE_COMPLETED] = "free_completed",
    [ND_TRACE_SEGMENT_ALLOC] = "segment_alloc",
    [ND_TRACE_SEGMENT_FREE] = "segment_free",
    [ND_TRACE_SEGMENT_MAP] = "segment_map",
    [ND_TRACE_SEGMENT_UNMAP] = "segment_unmap",
    [ND_TRACE_OOM] = "oom",
    [ND_TRACE_SNAPSHOT] = "snapshot",
    [ND_TRACE_USER] = "user",
};

const char *nd__trace_action(int32_t action)
{
    return action >= 0 && action <= ND_TRACE_USER ? actions[action] : "?";
}

static int64_t clock_us(clockid_t id)
{
    struct timespec t = {0, 0};
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t epoch_us; /* of the steady clock's zero */
static void clock_start(void)
{
    epoch_us = clock_us(CLOCK_REALTIME) - clock_us(CLOCK_MONOTONIC);
}

int64_t nd__trace_time_us(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, clock_start);
    return epoch_us + clock_us(CLOCK_MONOTONIC);
}

/* Copies as much of the text as fits, cut between characters of UTF-8. */
static void put_text(char dst[ND_TRACE_TEXT], const char *src)
{
    size_t n = src ? strlen(src) : 0;
    if (n >= ND_TRACE_TEXT)
        for (n = ND_TRACE_TEXT - 1; n > 0 && ((unsigned char)src[n] & 0xC0) == 0x80;)
            n--;
    if (n)
        memcpy(dst, src, n);
    dst[n] = 0;
}

/* The device's ring; under the lock. NULL: there is no memory, and the event is lost, as it would
 * be in a ring that is too short. */
static ring *ring_of(nd_device *device)
{
    ring *r = rings;
    while (r && r->device != device)
        r = r->next;
    if (!r) {
        r = calloc(1, sizeof *r);
        if (!r)
            return NULL;
        r->device = device;
        r->next = rings;
        rings = r;
    }
    if (!r->entries && wanted > 0) {
        r->entries = calloc((size_t)wanted, sizeof *r->entries);
        r->room = r->entries ? wanted : 0;
        r->total = 0;
    }
    return r->entries ? r : NULL;
}

void nd__trace_add(int32_t action, nd_device *device, uint64_t address, uint64_t nbytes,
                   const nd_stream *stream, const char *text)
{
    pthread_mutex_lock(&lock);
    ring *r = wanted > 0 ? ring_of(device) : NULL;
    if (r) {
        nd_trace_entry *e = &r->entries[r->total++ % r->room];
        e->time_us = nd__trace_time_us(); /* under the lock: times never go back in a ring */
        e->address = address;
        e->nbytes = nbytes;
        e->stream = nd__stream_id(stream);
        e->action = action;
        put_text(e->tag, nd__tag());
        put_text(e->text, text);
    }
    pthread_mutex_unlock(&lock);
}

nd_trace_entry *nd__trace_copy(nd_device *device, int64_t *n)
{
    nd_trace_entry *copy = NULL;
    *n = 0;
    pthread_mutex_lock(&lock);
    ring *r = rings;
    while (r && r->device != device)
        r = r->next;
    int64_t count = !r ? 0 : r->total < r->room ? r->total : r->room;
    if (count > 0)
        copy = malloc((size_t)count * sizeof *copy);
    if (copy) {
        *n = count;
        for (int64_t i = 0; i < count; i++)
            copy[i] = r->entries[(r->total - count + i) % r->room];
    }
    pthread_mutex_unlock(&lock);
    return copy;
}

nd_status nd_memory_trace_set(int64_t n)
{
    if (n < 0 || n > MOST_ENTRIES)
        return nd__fail(ND_ERR_ARGUMENT, "memory_trace_set", 0,
                        "%lld events cannot be kept: from 0 (none) to %d", (long long)n,
                        (int)MOST_ENTRIES);
    pthread_mutex_lock(&lock);
    for (ring *r = rings; r; r = r->next) {
        free(r->entries);
        r->entries = NULL;
        r->room = r->total = 0;
    }
    wanted = n;
    atomic_store(&nd__trace_on, n > 0);
    pthread_mutex_unlock(&lock);
    return ND_OK;
}

nd_status nd_memory_trace_note(nd_device *device, const char *text)
{
    nd_status status;
    if (!text)
        return nd__fail(ND_ERR_ARGUMENT, "memory_trace_note", 1, "the text is NULL");
    device = nd__or_current(device, &status);
    if (status == ND_OK)
        nd__trace(ND_TRACE_USER, device, 0, 0, NULL, text);
    return status;
}

uint64_t nd__mem_address(nd_device *device, ndp_mem *mem, const char *host)
{
    uint64_t address = (uint64_t)(uintptr_t)host;
    if (address || !device || !device->map.address)
        return address ? address : (uint64_t)(uintptr_t)mem;
    if (device->map.address(device->dev, mem, &address) != NDP_OK || !address)
        address = (uint64_t)(uintptr_t)mem; /* the handle tells blocks apart as well */
    return address;
}
