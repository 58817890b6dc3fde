/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A part of plugin.h, which includes it: the optional groups of order and memory:
 * streams and events, captures, allocation, addresses, memory of other devices and of other processes. */
#ifndef NDOCK_PLUGIN_H
#include <ndock/plugin.h>
#elif !defined NDOCK_PLUGIN_ORDER_H
#define NDOCK_PLUGIN_ORDER_H
/* Group "ndp.stream/1": in-order queues and events. Absent: every call completes before it returns,
 * and the core's shim stands in. Work on one stream runs in the order of the calls; work on two
 * streams is ordered by events alone. Nothing here blocks the host but sync and event_sync.
 *
 * Handles may be used again by the plug-in as soon as they are destroyed: the core never keys
 * anything by them. stream NULL is the device's default stream throughout. */
#define NDP_EVENT_TIMING 1u   /* event_elapsed is wanted */
#define NDP_EVENT_BLOCKING 2u /* event_sync sleeps rather than spins */
#define NDP_EVENT_INTERPROCESS 4u
typedef struct {
    uint32_t size, zero;
    /* priority lies within priority_range(); lower numbers are more urgent. flags: 0. */
    int32_t (*create)(ndp_dev *dev, int32_t priority, uint64_t flags, ndp_stream **out);
    void (*destroy)(ndp_dev *dev, ndp_stream *stream); /* returns at once; queued work still runs */
    int32_t (*query)(ndp_dev *dev, ndp_stream *stream, int32_t *done);
    int32_t (*sync)(ndp_dev *dev, ndp_stream *stream); /* as ndp_plugin.sync */
    /* Later work on the stream waits for the event's latest record before this call; an event that
     * was never recorded orders nothing. The event may be of another device of this plug-in. */
    int32_t (*wait)(ndp_dev *dev, ndp_stream *stream, ndp_event *event);
    int32_t (*event_create)(ndp_dev *dev, uint64_t flags, ndp_event **out);
    void (*event_destroy)(ndp_dev *dev, ndp_event *event);
    int32_t (*event_record)(ndp_dev *dev, ndp_event *event, ndp_stream *stream);
    int32_t (*event_query)(ndp_dev *dev, ndp_event *event, int32_t *done);
    int32_t (*event_sync)(ndp_dev *dev, ndp_event *event);
    int32_t (*event_elapsed)(ndp_dev *dev, ndp_event *start, ndp_event *stop, double *ms);
    int32_t (*priority_range)(ndp_dev *dev, int32_t *lowest, int32_t *highest);
    int32_t (*native)(ndp_dev *dev, ndp_stream *stream, uint64_t *handle);
    /* A stream of somebody else as ours; destroy() then drops the wrapper alone. Refuses a handle
     * of another device. */
    int32_t (*wrap)(ndp_dev *dev, uint64_t handle, ndp_stream **out);
    /* fn(arg) runs on a thread of the plug-in, in stream order; it may not call the plug-in. */
    int32_t (*launch_host)(ndp_dev *dev, ndp_stream *stream, void (*fn)(void *arg), void *arg);
} ndp_stream_1;

/* Group "ndp.pool/1": stream-ordered allocation by the plug-in itself. */
typedef struct {
    uint32_t size, zero;
    int32_t (*alloc)(ndp_dev *dev, ndp_stream *stream, uint64_t nbytes, ndp_mem **out);
    void (*free)(ndp_dev *dev, ndp_stream *stream, ndp_mem *mem);
    int32_t (*trim)(ndp_dev *dev, uint64_t keep_bytes);
    int32_t (*usage)(ndp_dev *dev, uint64_t *used_bytes, uint64_t *reserved_bytes);
} ndp_pool_1;

/* Group "ndp.memory/1": what the core's caching allocator can use beyond alloc and free. reserve()
 * makes a block of addresses without memory; commit() puts memory behind [offset, offset + nbytes),
 * set_access() makes it usable, decommit() takes the memory away again; alloc's free() gives the
 * addresses back (all must be decommitted). offset and nbytes are multiples of granularity().
 * Slots but usage may be NULL together. */
typedef struct {
    uint32_t size, zero;
    int32_t (*usage)(ndp_dev *dev, uint64_t *free_bytes, uint64_t *total_bytes);
    int32_t (*granularity)(ndp_dev *dev, uint64_t *nbytes);
    int32_t (*reserve)(ndp_dev *dev, uint64_t nbytes, ndp_mem **out);
    int32_t (*commit)(ndp_dev *dev, ndp_mem *mem, uint64_t offset, uint64_t nbytes);
    int32_t (*set_access)(ndp_dev *dev, ndp_mem *mem, uint64_t offset, uint64_t nbytes);
    int32_t (*decommit)(ndp_dev *dev, ndp_mem *mem, uint64_t offset, uint64_t nbytes);
} ndp_memory_1;

/* Group "ndp.peer/1": copies between two devices of this plug-in without the host. */
typedef struct {
    uint32_t size, zero;
    /* Queued on the stream of the source's device. Never needs peer access. */
    int32_t (*copy)(ndp_dev *from, ndp_stream *stream, ndp_mem *src, uint64_t src_offset,
                    ndp_dev *to, ndp_mem *dst, uint64_t dst_offset, uint64_t nbytes);
    int32_t (*can_access)(ndp_dev *dev, ndp_dev *peer, int32_t *yes);
    int32_t (*enable)(ndp_dev *dev, ndp_dev *peer); /* kernels of dev may use peer's memory */
} ndp_peer_1;

/* Group "ndp.graph/1": capture of a stream's work instead of running it. Errors have the native
 * codes of CUDA: 900 unsupported, 901 invalidated, 902 merge, 903 unmatched, 904 unjoined, 905
 * isolation, 906 implicit, 907 captured event, 908 wrong thread. */
typedef struct ndp_graph ndp_graph;
typedef struct ndp_exec ndp_exec; /* a graph made ready to run */
enum { NDP_CAPTURE_GLOBAL = 0, NDP_CAPTURE_THREAD_LOCAL = 1, NDP_CAPTURE_RELAXED = 2 };
enum { NDP_CAPTURE_NONE = 0, NDP_CAPTURE_ACTIVE = 1, NDP_CAPTURE_INVALIDATED = 2 };
/* Steps that follow each other, each a captured graph, or, where graph is NULL, bodies that run by
 * what one element, a bool or an integer, holds when it is their turn: of IF the first where it is
 * not 0, else the second, if there is one; of WHILE the one as long as it is not 0, which is looked
 * at before each round; of SWITCH that of this number, none where it is no number of a body. */
enum { NDP_STEP_IF = 0, NDP_STEP_WHILE = 1, NDP_STEP_SWITCH = 2 };
typedef struct ndp_step ndp_step;
typedef struct {
    const ndp_step *step;
    uint32_t n, zero;
} ndp_steps;
struct ndp_step {
    ndp_graph *graph;
    int32_t condition; /* NDP_STEP_* */
    uint32_t n_bodies;
    const ndp_steps *body;
    const ndp_view *value;
};
typedef struct {
    uint32_t size, zero;
    int32_t (*begin)(ndp_dev *dev, ndp_stream *stream, int32_t mode);
    int32_t (*end)(ndp_dev *dev, ndp_stream *stream, ndp_graph **out); /* *out NULL on failure */
    /* status NDP_CAPTURE_*, id unique in the process and never 0 while capturing. Streams that
     * joined by waiting for a captured event report the id of the capture they joined. */
    int32_t (*info)(ndp_dev *dev, ndp_stream *stream, int32_t *status, uint64_t *id);
    void (*destroy)(ndp_dev *dev, ndp_graph *graph);
    /* The next four may be NULL together. */
    /* The graph may go once there is an exec of it. */
    int32_t (*instantiate)(ndp_dev *dev, ndp_graph *graph, ndp_exec **out);
    /* Queued; runs of one exec never overlap, on whatever streams of the device. */
    int32_t (*launch)(ndp_dev *dev, ndp_exec *exec, ndp_stream *stream);
    /* The exec does what graph does from the next launch on. *updated 0: the graph has another
     * shape; the exec is as it was, and another one is to be instantiated. */
    int32_t (*update)(ndp_dev *dev, ndp_exec *exec, ndp_graph *graph, int32_t *updated);
    void (*exec_destroy)(ndp_dev *dev, ndp_exec *exec);
    /* The next three may be NULL together. */
    /* How many nodes the capture that the stream is in has so far: work that is queued from now on
     * becomes those from this number on. */
    int32_t (*nodes)(ndp_dev *dev, ndp_stream *stream, uint64_t *count);
    /* Until patch_end, what the calling thread queues on the device is not queued: it takes the
     * place of exec's nodes from first on, one after another, from the next launch on. Work that
     * cannot take a node's place is NDP_ERR_UNSUPPORTED; the node then is as it was. */
    int32_t (*patch_begin)(ndp_dev *dev, ndp_exec *exec, uint64_t first, uint64_t count);
    /* NDP_ERR_UNSUPPORTED: other than count nodes were given, or one of them was refused. */
    int32_t (*patch_end)(ndp_dev *dev, ndp_exec *exec);
    /* May be NULL. Makes one exec of all the steps, in which the device decides what runs; the graphs
     * may go once it is there, the blocks of the values may not. It is launched and destroyed, not
     * updated or patched. NDP_ERR_UNSUPPORTED: the device, or this driver, does not do that with
     * such steps; the core then decides on the host, one launch after another. */
    int32_t (*compose)(ndp_dev *dev, const ndp_steps *steps, ndp_exec **out);
} ndp_graph_1;

/* Group "ndp.map/1": addresses. */
typedef struct {
    uint32_t size, zero;
    /* Where the block begins in the device's address space. */
    int32_t (*address)(ndp_dev *dev, ndp_mem *mem, uint64_t *address);
    /* Foreign memory as a block; free() then frees the handle alone. */
    int32_t (*wrap)(ndp_dev *dev, uint64_t address, uint64_t nbytes, ndp_mem **out);
    /* The host's address of the whole block, or UNSUPPORTED. */
    int32_t (*map)(ndp_dev *dev, ndp_mem *mem, void **host);
    int32_t (*unmap)(ndp_dev *dev, ndp_mem *mem);
    /* Page-locked host memory that the device reaches: ndp_plugin.copy between it and device memory
     * is queued and returns at once. Freed by free(). */
    int32_t (*pin)(ndp_dev *dev, uint64_t nbytes, ndp_mem **out, void **host);
    /* These two may be NULL together. Page-locks memory of the program's own, which is then as
     * pin()'s; free() unlocks it and leaves the memory. NDP_ERR_ARGUMENT: some of it is locked. */
    int32_t (*register_host)(ndp_dev *dev, void *host, uint64_t nbytes, ndp_mem **out);
    /* Is the address in page-locked memory that the device reaches, whoever locked it? Makes no
     * context. */
    int32_t (*is_pinned)(ndp_dev *dev, const void *host, int32_t *yes);
} ndp_map_1;

/* Group "ndp.pointer/1": what is known of addresses, whoever they are from. */
typedef struct {
    uint32_t size, flags;    /* NDP_POINTER_* */
    uint32_t index, zero;    /* of the device of this plug-in whose memory it is */
    uint64_t device_address; /* where that device sees it, 0: it does not */
    uint64_t host_address;   /* where the host sees it, 0: it does not */
    uint64_t base, nbytes;   /* of the allocation it lies in; nbytes 0: unknown */
    uint64_t context;        /* the driver's handle of its context, 0: none */
} ndp_pointer_info;
#define NDP_POINTER_MANAGED 1u /* moves between host and device by itself */
#define NDP_POINTER_HOST 2u    /* host memory that the device reaches */
typedef struct {
    uint32_t size, zero;
    /* Any opened device may be asked about memory of all of them. NDP_ERR_ARGUMENT: the plug-in
     * does not know the address. Queues and waits for nothing. */
    int32_t (*info)(ndp_dev *dev, uint64_t address, ndp_pointer_info *out);
} ndp_pointer_1;

/* Group "ndp.ipc/1": memory and events of a device, named for other processes of this machine. Names
 * have NDP_IPC_BYTES bytes. */
#define NDP_IPC_BYTES 64
typedef struct {
    uint32_t size, zero;
    /* The name of the allocation in which the block lies; *offset_bytes: where the block begins in it.
     * NDP_ERR_UNSUPPORTED: this kind of memory has no name; the text says what to do. */
    int32_t (*memory)(ndp_dev *dev, ndp_mem *mem, void *name, uint64_t *offset_bytes);
    /* In another process: the allocation's address here, for map.wrap, until it is closed as often as
     * it was opened. */
    int32_t (*open)(ndp_dev *dev, const void *name, uint64_t *address);
    void (*close)(ndp_dev *dev, uint64_t address);
    /* The name of an event that was made with NDP_EVENT_INTERPROCESS, and the same event in another
     * process. May be NULL together. */
    int32_t (*event)(ndp_dev *dev, ndp_event *event, void *name);
    int32_t (*event_open)(ndp_dev *dev, const void *name, ndp_event **out);
} ndp_ipc_1;
#endif
