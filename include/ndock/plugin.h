/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The one header a plug-in author reads: the C table a device exposes to ndock, and the services it
 * gets back.
 *
 * A plug-in is a shared object that exports one function, ndock_plugin_entry_0, and links nothing
 * of ndock. It fills an ndp_plugin. About ten functions are required; with those alone the whole
 * public API works, since the core stages what is missing through the CPU. Everything else is an
 * optional group, asked for by name through ndp_plugin.group.
 *
 * Tables are owned by their filler, begin with their size, and only ever grow at the end; the
 * reader copies min(own, given) bytes once at load. Until 1.0 the minor must match exactly.
 * Integers have fixed widths; no C enum, bool or long crosses the boundary.
 *
 * A plug-in never prints, exits, aborts, installs signal handlers, changes the environment, locale
 * or floating-point mode, throws across the boundary, or leaves the caller's own device context
 * changed. It starts no thread before open().
 *
 * Slots of the required set are never NULL and never answer UNSUPPORTED, but for probe, which says
 * so of a missing library. A slot of a group may be NULL where its comment says so; one that is
 * there answers UNSUPPORTED where its comment says so, or where the request names a choice that the
 * device does not have (flags, a dtype, an address space), and then has done nothing. run() never
 * does: find() does.
 *
 * Files: what a plug-in needs beside its own file (programs that it starts, firmware, code that it
 * loads) lies in the folder ndock-NAME.d beside it, which it finds by dladdr() of a function of its
 * own. `ndock conform` adds them to the certificate.
 *
 * Threads: entry, probe, info and shutdown run one at a time under the loader's lock. Everything
 * else may be called from any thread at once, except that the core never queues work on one stream
 * from two threads at the same time; a third may wait for the stream meanwhile (sync, read). */
#ifndef NDOCK_PLUGIN_H
#define NDOCK_PLUGIN_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NDP_ABI_MAJOR 0
#define NDP_ABI_MINOR 1
#define NDP_ENTRY "ndock_plugin_entry_0"
#define NDP_MAX_NDIM 64
/* End of a field: sizes are compared with it, never with sizeof, so that tail padding is never a
 * field. */
#define NDP_END(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))
#if defined(__GNUC__)
#define NDP_EXPORT __attribute__((visibility("default")))
#define NDP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define NDP_EXPORT
#define NDP_PRINTF(fmt, args)
#endif

enum { /* status codes, the core's own (status.def); 0 is success */
#define ND_STATUS(name, value, text, python) NDP_ERR_##name = value,
#include "status.def"
       NDP_OK = 0
};
enum { /* element types; NDP_F32 ... */
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) NDP_##NAME = id,
#include "dtype.def"
       NDP_DTYPE_END /* one above the highest */
};
enum { /* op classes; NDP_CLASS_UNARY ... */
#define ND_OP_CLASS(NAME, id, doc) NDP_CLASS_##NAME = id,
#include "opclass.def"
       NDP_CLASS_END
};
enum { /* ops; NDP_OP_add ... Ids from NDP_OP_RUNTIME are registered by programs at run time. */
       NDP_OP_NONE = 0,
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) NDP_OP_##name,
#include "op.def"
       NDP_OP_END,
       NDP_OP_RUNTIME = 0x10000
};

typedef struct ndp_dev ndp_dev;       /* an opened device; the plug-in's own */
typedef struct ndp_mem ndp_mem;       /* a block of device memory; the plug-in's own */
typedef struct ndp_stream ndp_stream; /* NULL: the device's default stream */
typedef struct ndp_event ndp_event;

/* One value. v.u for bool and unsigned, v.i for signed, v.f for every real floating dtype, v.c for
 * complex (real, imaginary). Values in a call are already rounded to dtype. */
typedef struct {
    int32_t dtype, zero;
    union {
        int64_t i;
        uint64_t u;
        double f, c[2];
    } v;
} ndp_scalar;

/* One operand. Frozen: it is passed in arrays. The element at index x lies offset_bytes +
 * nbytes*sum(x[d]*stride[d]) into mem; strides count elements and may be zero (inputs) or negative.
 * mem NULL: the operand is ndp_call.scalar[offset_bytes]; shape and stride still have the call's
 * rank, strides zero. Bounds have been checked. */
typedef struct {
    ndp_mem *mem;
    int64_t offset_bytes;
    const int64_t *shape, *stride;
    int32_t dtype, ndim;
    uint64_t flags; /* NDP_VIEW_* */
} ndp_view;
#define NDP_VIEW_CONTIGUOUS 1u /* dense in C order */

/* One operation. Pointees live for the call only: an asynchronous plug-in copies what it needs. The
 * core guarantees: shapes broadcast, dimensions merged and ordered, dtypes cast to the op's,
 * overlap cured, destination writable and not overlapping itself. A bool may lie in memory that
 * others wrote: any byte but 0 is true. What is computed is 0 or 1; a byte that is only moved may
 * stay as it is. */
typedef struct {
    uint32_t size; /* of this struct */
    int32_t op;    /* NDP_OP_* */
    uint32_t n_in, n_out, n_scalar;
    uint32_t mode; /* NDP_MODE_* */
    const ndp_view *in, *out;
    const ndp_scalar *scalar;
    const void *params; /* by class, below; NULL for UNARY, BINARY, TERNARY, FILL, COPY, COMPRESS,
                           NONZERO */
    ndp_view scratch; /* u8, as many bytes as the kernel's scratch() asked for; mem NULL if none */
    /* i64[5]: status, op, position, value of a bad index and the extent it exceeds (or what the
     * classes of linear algebra leave there), for asynchronous devices; mem NULL if none. The core zeroes the words, when it makes them and
     * after it has read a bad index from them; a kernel never does. The calls queued on a stream
     * share them: a kernel writes them where the first is still 0, so that the first bad index
     * stays. */
    ndp_view status;
} ndp_call;
/* What arithmetic may be, of matrix products so far; fixed when the call is made. A device without
 * a way to do it takes it for a hint; group "ndp.math/1" says which it honours. */
#define NDP_MODE_FAST_MATH 1u       /* f32: operands rounded to tf32's 10 bits of fraction */
#define NDP_MODE_BF16X9 2u          /* f32: by nine products of bf16 parts, with f32's accuracy */
#define NDP_MODE_REDUCED_SUMS 4u    /* f16, bf16: partial sums of a split k in the result's dtype */
#define NDP_MODE_NO_SPLIT_K 8u      /* f16, bf16: k is not split */
#define NDP_MODE_F16_SUMS 16u       /* f16: summed in f16 */
#define NDP_MODE_F64_EMULATED 32u   /* f64: by integer or reduced-precision units */
#define NDP_MODE_FP8_FAST 64u       /* fp8: sums may lose bits */
#define NDP_MODE_DETERMINISTIC 128u /* the same bits run to run */

/* Parameter structs, by class; size first, append-only. */
#include "plugin_params.h"

/* A kernel that find() returned. The plug-in owns it, for the life of the process. */
typedef struct ndp_kernel ndp_kernel;
struct ndp_kernel {
    uint32_t size;
    uint32_t needs;   /* NDP_NEEDS_*: the core packs operands until they hold */
    uint32_t flags;   /* reserved, 0 */
    int32_t max_ndim; /* largest rank it takes after merging; at least 1. Elementwise operands of a
                         higher rank come packed into one dimension; others as they were found */
    /* Bytes of scratch that this call wants; NULL: none. */
    uint64_t (*scratch)(const ndp_kernel *kernel, const ndp_call *call);
    int32_t (*run)(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call);
};
#define NDP_NEEDS_CONTIGUOUS 1u /* every operand dense in C order (scalars stay scalars) */
#define NDP_NEEDS_NO_NEGATIVE 2u
#define NDP_NEEDS_NO_BROADCAST 4u /* no zero strides */

/* Group "ndp.op/1": kernels. */
typedef struct {
    uint32_t size, zero;
    /* Bit d set: the op runs on this device when its first array input (its destination, for ops
     * without inputs and of class RANDOM) has dtype d. Touches no device. */
    uint64_t (*dtypes)(ndp_dev *dev, int32_t op);
    /* Kernel for calls like this one: capability query, warm-up and look-up in one. The answer may
     * depend only on the op, the dtypes, the rank, which operands are scalars or contiguous, and
     * the mode; never on pointers or values. A found kernel serves every call with that key, never
     * answers UNSUPPORTED, allocates no device memory and blocks nothing. NDP_ERR_UNSUPPORTED:
     * write the reason to why. */
    int32_t (*find)(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                    size_t n);
} ndp_op_1;

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

/* Group "ndp.math/1": which arithmetic really runs. Absent: mode changes nothing. */
typedef struct {
    uint32_t size, zero;
    /* The bits of mode that the op honours on this device in that dtype. mnk: extents m, n, k of a
     * matrix product; NULL: of any. Touches no device. */
    uint32_t (*effective)(ndp_dev *dev, int32_t op, int32_t dtype, const int64_t *mnk,
                          uint32_t mode);
} ndp_math_1;

/* Group "ndp.code/1": code that programs bring along. */
enum {
    NDP_CODE_SOURCE = 1, /* text, which the plug-in compiles (CUDA C++, OpenCL C, C) */
    NDP_CODE_PTX = 2,    /* text, which the driver compiles */
    NDP_CODE_BINARY = 3, /* for the exact device (a cubin or fat binary) */
    NDP_CODE_HOST = 4    /* an array of ndp_host_function: functions of this process */
};
typedef struct ndp_module ndp_module;     /* loaded code; the plug-in's own */
typedef struct ndp_function ndp_function; /* of a module; goes with it */
typedef struct {
    uint32_t size;
    int32_t kind;     /* NDP_CODE_* */
    const void *code; /* the program's; a text has a 0 after its nbytes */
    uint64_t nbytes;
    const char *name;    /* for people and in messages; never NULL */
    const char *options; /* for the compiler, separated by blanks; never NULL */
} ndp_module_source;
/* What kind HOST consists of. argument[i] points to a value, or is the address of an operand's
 * element zero. Called once a launch, in stream order; it may use no device. */
typedef struct {
    const char *name;
    void (*run)(const uint32_t grid[3], const uint32_t block[3], void *const *argument);
} ndp_host_function;
typedef struct {
    uint32_t size;
    uint32_t grid[3], block[3]; /* the most in each direction */
    uint32_t block_threads;     /* the most threads in a block; of a function: its own limit */
    uint32_t n_arguments;       /* of a function: how many it takes; UINT32_MAX: unknown */
    uint32_t zero;              /* reserved */
    uint64_t shared_bytes;      /* the most that a launch may ask for */
} ndp_code_limits;
typedef struct {           /* frozen: passed in arrays */
    ndp_mem *mem;          /* an operand: its address plus offset_bytes is the argument. NULL: */
    uint64_t offset_bytes; /* of the operand's element zero */
    const void *value;     /* bytes by value, read before launch() returns */
    uint64_t nbytes;
} ndp_launch_argument;
typedef struct {
    uint32_t size, n_arguments;
    uint32_t grid[3], block[3];
    uint64_t shared_bytes;
    const ndp_launch_argument *argument;
} ndp_launch;
typedef struct {
    uint32_t size;
    uint32_t kinds; /* bit NDP_CODE_* set: load() takes it */
    int32_t (*limits)(ndp_dev *dev, ndp_code_limits *out);
    /* A failed compile is NDP_ERR_ARGUMENT with the compiler's log in the error detail. */
    int32_t (*load)(ndp_dev *dev, const ndp_module_source *source, ndp_module **out);
    /* Nothing that is queued uses it any more. */
    void (*unload)(ndp_dev *dev, ndp_module *module);
    /* NDP_ERR_ARGUMENT: there is none of that name. limits: as far as this function goes. */
    int32_t (*function)(ndp_dev *dev, ndp_module *module, const char *name, ndp_function **out,
                        ndp_code_limits *limits);
    /* Queued. The limits hold, and every number is at least 1. */
    int32_t (*launch)(ndp_dev *dev, ndp_stream *stream, ndp_function *function,
                      const ndp_launch *launch);
} ndp_code_1;

/* Group "ndp.comm/1": collectives, by which the ranks of a communicator exchange elements. Every rank
 * has a device, in this process or in another one, and makes the same calls in the same order. A
 * plug-in without devices may have the group too (that of MPI): dev is NULL then, and operands lie in
 * blocks of the CPU plug-in.
 *
 * A call is an operation of its stream: queued where the device queues work, complete on return
 * else. It never waits without end. Once the time limit has passed, or another rank is lost, was
 * aborted, has left, or made another call (another function, operation, dtype, count or root), the
 * communicator has failed: the work fails (NDP_ERR_ASYNC from whatever waits for the stream, or
 * NDP_ERR_COMM from the call itself where it does not queue), every later call returns NDP_ERR_COMM,
 * async_error() tells why, and the text names rank and function. Other streams go on.
 *
 * Operands are dense in C order (any strides where NDP_COMM_STRIDED is set) and lie in memory of the
 * rank's device. in and out of a reduction may be one view; else they do not overlap. Every rank has
 * the same bits as the result of a reduction, and the same ranks have the same bits in every run.
 * Slots from all_reduce on may be NULL, but for at least one of all_gather, broadcast, or send with
 * recv: the core makes those that are missing of the others. */
#define NDP_COMM_ID_BYTES 128
typedef struct ndp_comm ndp_comm; /* one rank's part in a communicator; the plug-in's own */
enum {
    NDP_COMM_SUM = 0,
    NDP_COMM_PROD = 1,
    NDP_COMM_MIN = 2, /* and MAX: NaN if any is */
    NDP_COMM_MAX = 3,
    NDP_COMM_AVG = 4, /* the sum over the number of ranks; of floating dtypes alone */
    NDP_COMM_OPS = 5
};
/* One exchange. Pointees live for the call only. n: how many ranks there are. */
typedef struct {
    uint32_t size;
    int32_t reduce; /* NDP_COMM_SUM ..., of reductions */
    int32_t peer;   /* the root of reduce and broadcast; the other rank of send and recv */
    int32_t zero;
    ndp_view in;  /* mem NULL: there is none (recv; broadcast away from the root) */
    ndp_view out; /* mem NULL: there is none (send; reduce away from the root, broadcast at it) */
} ndp_exchange;
#define NDP_COMM_STRIDED 1u /* takes operands of any strides, those of in zero or negative too */
typedef struct {
    uint32_t size, flags; /* NDP_COMM_* */
    /* Bit d set: the operation (NDP_COMM_SUM ...) is done in dtype d by all_reduce, reduce and
     * reduce_scatter. Everything else takes every dtype. Touches no device. */
    uint64_t (*dtypes)(ndp_dev *dev, int32_t reduce);
    /* NDP_COMM_ID_BYTES bytes, which name a new communicator to all its ranks. */
    int32_t (*unique_id)(ndp_dev *dev, void *id);
    /* Joins it as `rank` of n. Waits for the others, at most timeout_ms, but inside a group, where
     * it returns at once and the communicator may be used when the group has ended. timeout_ms is
     * kept for every later call. */
    int32_t (*init)(ndp_dev *dev, int32_t rank, int32_t n, const void *id, uint64_t timeout_ms,
                    ndp_comm **out);
    /* Leaves. What was queued still runs; others that go on calling get an error. NULL is fine. */
    void (*destroy)(ndp_dev *dev, ndp_comm *comm);
    /* Everything of this rank that is queued or waits fails soon, and so do the others'. */
    int32_t (*abort)(ndp_dev *dev, ndp_comm *comm);
    /* NDP_OK, or NDP_ERR_COMM with the text of what made it fail. Never waits. */
    int32_t (*async_error)(ndp_dev *dev, ndp_comm *comm);
    /* Calls of this thread between the two, of one or several communicators of this plug-in, are one
     * operation, whose parts run at once. They nest. May be NULL together, on devices that queue. */
    int32_t (*group_begin)(ndp_dev *dev);
    int32_t (*group_end)(ndp_dev *dev);
    /* ---- end of the required set; of what follows in and out are, for a count of elements c: */
    /* c, c */
    int32_t (*all_reduce)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* c; c at the root */
    int32_t (*reduce)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* c at the root, which has no out; c elsewhere */
    int32_t (*broadcast)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* c; n * c, by rank. The first extent of out is n, the others are in's. */
    int32_t (*all_gather)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* n * c, by rank; c. The first extent of in is n. */
    int32_t (*reduce_scatter)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm,
                              const ndp_exchange *x);
    /* n * c, by the rank that gets it; n * c, by the rank that gave it. The first extents are n. */
    int32_t (*all_to_all)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* c to the peer, in the order of the calls; c from it */
    int32_t (*send)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    int32_t (*recv)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* Work behind it on the stream runs after all ranks have come to it. */
    int32_t (*barrier)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm);
    /* NDP_OK, or NDP_ERR_UNSUPPORTED with what is missing, and what to do: then the core exchanges
     * by way of the host. NULL: nothing can be missing. Touches no device. */
    int32_t (*available)(ndp_dev *dev);
} ndp_comm_1;

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

/* Group "ndp.fused/1": several elementwise operations in one pass. A group and no op class, since a
 * kernel of "ndp.op/1" may depend on dtypes and layouts alone, and a program is a value that code is
 * made of, which has an end. */
#define NDP_PROGRAM_MAX_IN 16
#define NDP_PROGRAM_MAX_OUT 8
#define NDP_PROGRAM_MAX_SCALARS 64
typedef struct {     /* frozen: passed in arrays */
    int32_t op;      /* of class UNARY, BINARY or TERNARY; NDP_OP_copy converts arg[0] to dtype */
    int32_t dtype;   /* of the result */
    int32_t compute; /* dtype of the operands (where: of the last two; copy: of its operand) */
    int32_t arg[3];  /* values; -1: none. Value v is input v of the call, then scalar v - n_in, then
                        the result of instruction v - n_in - n_scalar, an earlier one */
} ndp_instruction;
/* Results have the bits that the kernels of "ndp.op/1" give one after the other: each value is
 * rounded to its dtype, nothing is contracted. Inputs and results of a call have one shape; an input
 * may be broadcast by strides of zero. Two results may be the same value, a result may be an input. */
typedef struct {
    uint32_t size, flags; /* NDP_PROGRAM_* */
    uint32_t n_in, n_scalar, n_instruction, n_out;
    const int32_t *dtype; /* of the inputs, then of the scalars */
    const ndp_instruction *instruction;
    const int32_t *out; /* the values that are results, in the order of the call's */
    uint64_t row_in;    /* with NDP_PROGRAM_ROWS: bit i: input i has one value for each row */
} ndp_program;
#define NDP_PROGRAM_FLAT 1u /* every operand of every call is dense, and of rank 1 */
/* The last dimension of every call, whose rank is 2 or more, is a row. Instructions of class REDUCE
 * (sum, mean, prod, min, max, var, std of a floating dtype) make one value of a row; of var and std,
 * arg[1] is an f64 scalar, the correction. A value that is computed of such values, of inputs in
 * row_in and of scalars alone is one of the row, too. Operands that have one value for each row have
 * extent 1 in the last dimension. What is reduced and is an input of the call is dense. */
#define NDP_PROGRAM_ROWS 2u
/* The rank of every call, from 1 on; 0: any. */
#define NDP_PROGRAM_RANK(flags) ((flags) >> 8 & 255u)
typedef struct {
    uint32_t size, zero;
    /* The kernel of a program, whose calls have op NDP_OP_NONE and no params. All that it needs of
     * the program is copied. needs 0, max_ndim NDP_MAX_NDIM. NDP_ERR_UNSUPPORTED with the reason in
     * why: the core runs the operations one by one. May take long, and is called by one thread at a
     * time for one program. */
    int32_t (*compile)(ndp_dev *dev, const ndp_program *program, const ndp_kernel **out, char *why,
                       size_t n);
    /* Nothing that is queued uses the kernel any more. */
    void (*discard)(ndp_dev *dev, const ndp_kernel *kernel);
    /* Whether the kernel of a program of rows serves a call of these shapes with the bits that
     * reductions have by themselves: NDP_OK, or NDP_ERR_UNSUPPORTED, and the core cuts the expression
     * at its reductions. Touches no memory. NULL: compile() is given no programs of rows. */
    int32_t (*takes)(ndp_dev *dev, const ndp_kernel *kernel, const ndp_call *call);
} ndp_fused_1;

/* Group "ndp.info/1": facts for people, as `ndock info` prints them. */
typedef struct {
    uint32_t size, zero;
    /* The i-th pair of texts ("simd", "avx2"), each cut to n bytes; NDP_ERR_INDEX past the last. */
    int32_t (*item)(ndp_dev *dev, uint32_t i, char *key, char *value, size_t n);
} ndp_info_1;

typedef struct {
    uint32_t size, flags; /* NDP_DEV_* */
    uint64_t memory_bytes, align_bytes, max_alloc_bytes;
    uint64_t dtypes;              /* bit d set: arrays of dtype d can live here */
    int32_t priority, zero;       /* higher is preferred for "auto"; the CPU has 0 */
    char name[64], unique_id[64]; /* model; PCI bus id or UUID, "" if it has none */
} ndp_device_info;
#define NDP_DEV_HOST_VISIBLE 1u /* its memory is ordinary host memory: map() costs nothing */
#define NDP_DEV_ASYNC 2u        /* work may complete after the call returned */

typedef struct ndp_plugin ndp_plugin;

enum { NDP_PARAM_I64 = 1, NDP_PARAM_F64 = 2, NDP_PARAM_BOOL = 3, NDP_PARAM_TEXT = 4 };
enum {
    NDP_LOG_ERROR = 1,
    NDP_LOG_WARN = 2,
    NDP_LOG_INFO = 3,
    NDP_LOG_DEBUG = 4,
    NDP_LOG_TRACE = 5
};

/* Services of the core; owned by it, valid for the life of the process. Callable from any thread.
 * ctx is passed back as given. */
typedef struct {
    uint32_t size;
    uint16_t major, minor;
    void *ctx;
    /* Sets the calling thread's error detail and returns its code: `return host->error(host->ctx,
     * NDP_ERR_MEMORY, rc, "...")`. */
    int32_t (*error)(void *ctx, int32_t status, int64_t native, const char *fmt, ...)
        NDP_PRINTF(4, 5);
    void (*log)(void *ctx, int32_t level, const char *fmt, ...) NDP_PRINTF(3, 4);
    void *(*alloc)(void *ctx, size_t nbytes, size_t align);
    void (*free)(void *ctx, void *p);
    /* Environment NDOCK_<PLUGIN>_<NAME>, parsed by type, listed by `ndock info`. *out keeps its
     * value when the variable is unset. TEXT: out is const char **, owned by the core. A malformed
     * value is reported and ignored. */
    int32_t (*param)(void *ctx, const char *name, int32_t type, const char *help, void *out);
    /* The core drops its caches of the device; nonzero: something was freed, try again. */
    int32_t (*reclaim)(void *ctx, ndp_dev *dev, uint64_t need_bytes);
    /* Another plug-in's table by name ("cpu"), loaded if need be; NULL if there is none. */
    const ndp_plugin *(*plugin)(void *ctx, const char *name);
    /* Optional services, as groups the other way round: a table that begins with its size, NULL for
     * an unknown id. Below: "ndh.plan/1", "ndh.kernel/1", "ndh.workspace/1", "ndh.library/1",
     * "ndh.visible/1", "ndh.conf/1", "ndh.param/1". */
    const void *(*service)(void *ctx, const char *id);
} ndp_host;

/* The plug-in's table; static, owned by the plug-in. */
struct ndp_plugin {
    uint32_t size;
    uint16_t major, minor;
    const char *name, *version, *vendor; /* name: [a-z][a-z0-9_]*, the device string's first part */
    /* How many devices there are now; cheap, without opening one, and asked again until one is open
     * (so that variables of the environment count until then). When 0, why is required.
     * NDP_ERR_UNSUPPORTED: a library it needs is missing (named in why); NDP_ERR_PLUGIN: the driver
     * is too old (why has both versions). */
    int32_t (*probe)(uint32_t *count, char *why, size_t n);
    /* The caller sets out->size: write only within it. */
    int32_t (*info)(uint32_t index, ndp_device_info *out);
    int32_t (*open)(uint32_t index, ndp_dev **out);
    void (*close)(ndp_dev *dev);
    /* At least nbytes (> 0), aligned to align_bytes of info(). NDP_ERR_MEMORY when there is no
     * room. */
    int32_t (*alloc)(ndp_dev *dev, uint64_t nbytes, ndp_mem **out);
    void (*free)(ndp_dev *dev, ndp_mem *mem);
    /* Host memory to and from a block, in stream order; the host memory is the caller's again on
     * return (so read waits for the stream). */
    int32_t (*write)(ndp_dev *dev, ndp_stream *stream, ndp_mem *mem, uint64_t offset_bytes,
                     const void *src, uint64_t nbytes);
    int32_t (*read)(ndp_dev *dev, ndp_stream *stream, ndp_mem *mem, uint64_t offset_bytes,
                    void *dst, uint64_t nbytes);
    /* Returns when the stream's work is done, with its pending error: NDP_ERR_LOST for one that the
     * device cannot recover from, NDP_ERR_ASYNC else. */
    int32_t (*sync)(ndp_dev *dev, ndp_stream *stream);
    void (*shutdown)(void); /* every device is closed; stop own threads. May be called twice */
    /* ---- end of the required set ---- */
    /* Queued, like a kernel; either side may be pinned host memory of this device. */
    int32_t (*copy)(ndp_dev *dev, ndp_stream *stream, ndp_mem *dst, uint64_t dst_offset_bytes,
                    ndp_mem *src, uint64_t src_offset_bytes, uint64_t nbytes);
    /* The table of that group, "ndp.op/1" ..., of vendors in reverse-DNS form; NULL: it is
     * absent. */
    const void *(*group)(ndp_dev *dev, const char *id);
};
#define NDP_PLUGIN_REQUIRED_END NDP_END(ndp_plugin, shutdown)

#include "plugin_service.h"

/* The export: pure (no device, thread, lock or file), may be called twice. NULL, after host->error,
 * if it cannot serve this host. */
typedef const ndp_plugin *(*ndp_entry_fn)(const ndp_host *host);
NDP_EXPORT const ndp_plugin *ndock_plugin_entry_0(const ndp_host *host);

#ifdef __cplusplus
}
#endif
#endif
