/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Control of the simulated devices (plug-in "sim"): tests step them, plant faults in them, and read
 * what they saw.
 *
 * Get the table with nd_device_group(device, NDSIM_GROUP, &table, &dev), or from the plug-in's own
 * group(). Functions return a status; none is logged, none can be made to fail by fault(), and all
 * work on a lost device. Any thread may call them.
 *
 * Streams are named by the plug-in's handles (nd_stream's native handle is the same pointer): NULL
 * is the device's default stream, NDSIM_ANY all of them.
 *
 * Environment: NDOCK_SIM_DEVICES, _MEMORY, _GRANULARITY, _PRIORITIES, _CAPABILITY, _PEERS, _MODE
 * (auto, stepped), _SEED, _LATENCY_US, _CHECK; `ndock info sim:0` says what each means. */
#ifndef NDOCK_SIM_H
#define NDOCK_SIM_H
#include <ndock/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NDSIM_GROUP "org.ndock.sim/1"
#define NDSIM_ANY ((ndp_stream *)(intptr_t)-1)

enum { NDSIM_AUTO = 0, NDSIM_STEPPED = 1 };

/* One call of the plug-in's tables, as the log keeps it. */
typedef struct {
    uint64_t sequence; /* from 1, over all calls of the device */
    const char *entry; /* "alloc", "write", "run", "event_record" ... */
    const char *op;    /* of "run": "add"; else "" */
    uint64_t stream;  /* id, never reused; 1 + the device's number is its default stream; 0: none */
    uint64_t event;   /* the handle; 0: none */
    uint64_t address; /* of the block; 0: none */
    uint64_t offset, nbytes;
    int32_t device, result;
} ndsim_call;

typedef struct {
    uint32_t size, zero;
    /* ---- order and time ---- */
    /* NDSIM_AUTO: a thread of the device runs what is queued, choosing among streams at random by
     * NDOCK_SIM_SEED. NDSIM_STEPPED: nothing runs but by step(), run_until(), and what a call that
     * waits (sync, event_sync, read; alloc, when only freed blocks that queued work still names
     * would make room) needs; it runs on the thread that asks. */
    int32_t (*set_mode)(ndp_dev *dev, int32_t mode);
    /* Runs up to n queued operations that can run, those of NDSIM_ANY in the order they were
     * queued; *ran says how many. A wait for work that has not run yet stops its stream. */
    int32_t (*step)(ndp_dev *dev, ndp_stream *stream, uint64_t n, uint64_t *ran);
    /* Runs what the event's latest record needs, on whatever devices. NDP_ERR_NOT_RECORDED. */
    int32_t (*run_until)(ndp_dev *dev, ndp_event *event);
    int32_t (*pending)(ndp_dev *dev, ndp_stream *stream, uint64_t *count);
    int32_t (*stream_id)(ndp_dev *dev, ndp_stream *stream, uint64_t *id);
    /* The host's virtual time in ticks (1 tick = 1 ns for event_elapsed). An operation begins at
     * the latest of: when it was queued, the end of what its stream did before, the events it
     * waited for; and takes its cost. Waiting moves the host's time to the end of what it waited
     * for. */
    int32_t (*clock)(ndp_dev *dev, uint64_t *ticks);
    int32_t (*advance)(ndp_dev *dev, uint64_t ticks);
    /* Cost of every kernel and copy queued from now on: ticks of virtual time (at first 1000) and
     * microseconds of real time (at first 0). */
    int32_t (*set_cost)(ndp_dev *dev, uint64_t ticks, uint64_t real_us);
    /* ---- faults (F3) ---- */
    /* The k-th next call (from 1) of an entry by its name in the log fails with status and native
     * code, before it does anything. Several may be planted. */
    int32_t (*fail_call)(ndp_dev *dev, const char *entry, uint64_t k, int32_t status,
                         int64_t native);
    /* The k-th operation (from 1; events' records and waits do not count) queued from now on in the
     * stream faults when it runs. Sticky:
     * the device is lost with the native code until the process ends, and every later call returns
     * NDP_ERR_LOST. Else the next call that waits for the stream returns NDP_ERR_ASYNC, once. */
    int32_t (*fault)(ndp_dev *dev, ndp_stream *stream, uint64_t k, int64_t native, int32_t sticky);
    /* The k-th operation queued from now on in the stream costs this instead. */
    int32_t (*slow)(ndp_dev *dev, ndp_stream *stream, uint64_t k, uint64_t ticks, uint64_t real_us);
    /* Allocations fail once this many more bytes were allocated; UINT64_MAX: no such limit. */
    int32_t (*memory_after)(ndp_dev *dev, uint64_t nbytes);
    int32_t (*fail_allocs)(ndp_dev *dev, uint64_t n); /* the next n allocations fail */
    /* Forgets planted calls, operations, limits and costs; a lost device stays lost. */
    int32_t (*clear_faults)(ndp_dev *dev);
    /* ---- memory (F6) ---- */
    /* Blocks with damaged red zones, alive or freed since the start; text names the first. */
    int32_t (*red_zones)(ndp_dev *dev, uint64_t *damaged, char *text, size_t n);
    /* The host's view of [offset, offset + nbytes) of a block: what a test reads or damages. It
     * reaches 64 bytes beyond either end, into the red zones. */
    int32_t (*peek)(ndp_dev *dev, ndp_mem *mem, uint64_t offset, uint64_t nbytes, void **host);
    /* ---- the call log (F4) ---- */
    int32_t (*log_count)(ndp_dev *dev, const char *entry, uint64_t *count); /* NULL: all entries */
    /* Calls that only ask for a constant (info, granularity, address ...) are not logged. The i-th
     * of the latest calls kept (at least 4096), oldest first; NDP_ERR_INDEX past the end.
     */
    int32_t (*log_get)(ndp_dev *dev, uint64_t i, ndsim_call *out);
    int32_t (*log_clear)(ndp_dev *dev);
    /* ---- the happens-before checker (F5), one for all devices ---- */
    /* While on, every operation's byte ranges are compared with those of operations it is not
     * ordered with, when it is queued: what is found does not depend on when things run. All
     * threads of the host are taken for one. What the host does to pinned memory through its
     * pointer is not seen. free() counts as a write of the whole block. Each pair of operations is
     * one race, which is also logged as a warning. Strides are compared exactly up to four
     * dimensions (after merging) and 2^20 runs of bytes. Turning it on forgets what was before. */
    int32_t (*set_checker)(ndp_dev *dev, int32_t on);
    int32_t (*race_count)(ndp_dev *dev, uint64_t *count);
    int32_t (*race_text)(ndp_dev *dev, uint64_t i, char *text, size_t n); /* the first 64 races */
    int32_t (*race_clear)(ndp_dev *dev);
    /* ---- capture (F7) ---- */
    /* Marks a stream as blocking with respect to the legacy default stream (error 906). */
    int32_t (*set_blocking)(ndp_dev *dev, ndp_stream *stream, int32_t blocking);
    /* Operations a graph holds, and queueing them again on a stream of the graph's device. */
    int32_t (*graph_size)(ndp_dev *dev, ndp_graph *graph, uint64_t *count);
    int32_t (*graph_launch)(ndp_dev *dev, ndp_graph *graph, ndp_stream *stream);
    /* ---- taking order away, so that the checker has something to find ---- */
    /* The k-th next wait (from 1) of a stream of the device for an event orders nothing; 0: none.
     */
    int32_t (*drop_wait)(ndp_dev *dev, uint64_t k);
    /* To the checker, the k-th next time that the host learns that work of any device is done, by
     * waiting or by asking, it learns nothing; 0: none. */
    int32_t (*drop_sight)(ndp_dev *dev, uint64_t k);
    /* How many of the two are still to come. */
    int32_t (*drops_left)(ndp_dev *dev, uint64_t *count);
} ndsim_control_1;

#ifdef __cplusplus
}
#endif
#endif
