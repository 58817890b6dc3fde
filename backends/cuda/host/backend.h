/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the host files of the CUDA plug-in share. Every function that talks to the driver does so
 * between cuda_enter() and cuda_leave(), so that the caller's own current context is as before. */
#ifndef NDOCK_CUDA_BACKEND_H
#define NDOCK_CUDA_BACKEND_H
#include <ndock/plugin_facts.h>
#include <pthread.h>
#include <stdatomic.h>
#include "host/driver.h"
#include "host/dtype_word.h"

enum { CUDA_MAX_DEVICES = 64, CUDA_THREADS = 256 };

/* An error with printf text; returns status. */
#define cuda_error(status, ...) cuda_host->error(cuda_host->ctx, (status), 0, __VA_ARGS__)

/* ---- host.c ---- */
extern const ndp_host *cuda_host; /* set by the entry */
/* Opens a library of the vendor's and fills out with its functions; an error says what to install.
 */
int32_t cuda_open_library(const ndh_library *library, void *out);
/* Libraries that are opened with the first call that wants them, by open(), and without which the
 * plug-in lacks something: what is said then, once, at a level of the log; NULL: nothing. */
typedef struct {
    pthread_mutex_t lock;
    int32_t status; /* NDP_ERR_NOT_READY before the first call */
    int32_t (*open)(void);
    int32_t level; /* NDP_LOG_* */
    const char *without;
} cuda_optional;
#define CUDA_OPTIONAL(open, level, without)                                \
    {                                                                      \
        PTHREAD_MUTEX_INITIALIZER, NDP_ERR_NOT_READY, open, level, without \
    }
/* NDP_ERR_UNSUPPORTED where they are not there. */
int32_t cuda_optional_open(cuda_optional *o);
/* The text of a version as cuFFT and cuSOLVER count it: 12104 is 12.1.4. */
int32_t cuda_version_text(int result, int version, char *text, size_t n);
/* Whether kernels compute in the dtype, or move and convert it. */
int cuda_knows(int32_t dtype);
/* Legal dtypes of an op by the op table that kernels know: mask of its domain. */
uint64_t cuda_domain_dtypes(int32_t op);
int32_t cuda_op_class(int32_t op);
const char *cuda_op_name(int32_t op);
/* Why there is no kernel, with the op and its dtypes; NDP_ERR_UNSUPPORTED. */
int32_t cuda_unsupported(const ndp_call *like, char *why, size_t n);

/* ---- device.c ---- */
struct ndp_stream {
    CUstream handle;
    int wrapped;         /* somebody else's: destroy() leaves it alone */
    atomic_int busy;     /* work of ours was queued since it was last waited for */
    atomic_int captured; /* a capture was begun on it and has not ended */
};
struct ndp_dev {
    uint32_t index;
    CUdevice ordinal;
    CUcontext context;        /* the primary one; NULL while the device is closed */
    int opened;               /* how often, less how often it was closed */
    int sm_count, capability; /* 90: 9.0 */
    int compiled; /* the capability that its kernels were compiled for, by nvcc or as PTX for the driver */
    int shared_most;      /* bytes of shared memory that a block may be given */
    ndp_stream own;       /* the default one: CU_STREAM_LEGACY or CU_STREAM_PER_THREAD */
    atomic_uint epoch;    /* counts closes: functions of an earlier one are gone */
    pthread_mutex_t lock; /* of what follows */
    struct cuda_module *modules;
    CUmodule conditions; /* compose.c; NULL until it is wanted */
    struct cuda_kernel *kernels;
    struct cuda_blaslt *blaslt; /* NULL: not there, or not asked for yet */
    int blaslt_tried;
    struct cuda_cudnn *cudnn;   /* NULL until a convolution is wanted */
    struct cuda_solver *solver; /* NULL until linear algebra is wanted */
    struct cuda_ring *rings[2]; /* by cuda_ring_kind; NULL until wanted */
    CUmemoryPool pool;          /* pool.c; NULL until it is wanted */
    _Atomic(uint64_t) peers;    /* bit i: kernels here may use the memory of cuda:i */
    struct cuda_range *ranges;  /* vmm.c: memory that peers may be given access to */
};
int32_t cuda_probe(uint32_t *count, char *why, size_t n);
int32_t cuda_info(uint32_t index, ndp_device_info *out);
int32_t cuda_open(uint32_t index, ndp_dev **out);
/* Closing what a device has made for itself. Each finds out whether there is anything, and enters the
 * context if so. */
typedef void (*cuda_closer)(ndp_dev *dev);
/* closers, which ends with NULL, is run when the device is closed as often as it was opened. */
void cuda_close(ndp_dev *d, const cuda_closer *closers);
/* The open devices, one after another; NULL after the last. */
ndp_dev *cuda_next_open(const ndp_dev *d);
/* Makes the device's context current; scope remembers whether it was not. Once the process is on
 * its way out this fails, and the driver is not called again. */
typedef struct {
    int pushed;
} cuda_scope;
int32_t cuda_enter(const ndp_dev *d, cuda_scope *scope);
void cuda_leave(const cuda_scope *scope);
/* Lets this thread make calls that would break somebody's capture; returns the mode to restore.
 * Nothing of such a call ends up in a graph. */
CUstreamCaptureMode cuda_capture_relax(void);
void cuda_capture_restore(CUstreamCaptureMode mode);

/* ---- nvml.c ---- */
/* How many devices CUDA_VISIBLE_DEVICES leaves of those that NVML sees; negative: it cannot tell.
 * Initialises nothing of CUDA. */
int32_t cuda_nvml_count(void);

/* ---- memory.c ---- */
typedef enum {
    CUDA_MEM_DEVICE,   /* cuMemAlloc */
    CUDA_MEM_PINNED,   /* cuda_pin */
    CUDA_MEM_LENT,     /* cuda_register_host */
    CUDA_MEM_FOREIGN,  /* map.wrap: not ours to free */
    CUDA_MEM_RESERVED, /* addresses of ndp.memory/1 */
    CUDA_MEM_POOL      /* cuMemAllocAsync */
} cuda_mem_kind;
struct ndp_mem {
    CUdeviceptr base;
    uint64_t nbytes;
    cuda_mem_kind kind;
    void *host;  /* of page-locked memory */
    void *extra; /* of RESERVED: its cuda_range; of PINNED: not NULL if pages of our own */
};
int32_t cuda_alloc(ndp_dev *dev, uint64_t nbytes, ndp_mem **out);
void cuda_free(ndp_dev *dev, ndp_mem *m);
/* The record of a block. */
int32_t cuda_mem_new(CUdeviceptr base, uint64_t nbytes, cuda_mem_kind kind, ndp_mem **out);
extern const ndp_map_1 cuda_map_group;

/* ---- pointer.c ---- */
extern const ndp_pointer_1 cuda_pointer_group;

/* ---- pinned_conf.c ---- */
enum { CUDA_MOST_REGISTER_THREADS = 128 };
typedef struct {
    int32_t use_register;
    int64_t threads; /* a power of two */
} cuda_locking;
void cuda_pinned_declare(void); /* by probe */
int32_t cuda_pinned_settings(cuda_locking *out);

/* ---- pinned.c ---- */
int32_t cuda_pin(ndp_dev *dev, uint64_t nbytes, ndp_mem **out, void **host);
void cuda_unpin(ndp_mem *m); /* inside cuda_enter() */
/* Pages of the program's own; and whether pages are locked at all, which needs no context. */
int32_t cuda_register_host(ndp_dev *dev, void *host, uint64_t nbytes, ndp_mem **out);
int32_t cuda_is_pinned(ndp_dev *dev, const void *host, int32_t *yes);

/* ---- vmm.c: addresses without memory, and memory without addresses ---- */
extern const ndp_memory_1 cuda_memory_group;
void cuda_range_free(ndp_dev *dev, ndp_mem *m); /* inside cuda_enter() */
/* Lets the devices whose kernels may use this one's memory reach what is mapped now. */
CUresult cuda_ranges_share(ndp_dev *dev);

/* ---- pool.c ---- */
extern const ndp_pool_1 cuda_pool_group;
void cuda_pool_close(ndp_dev *dev);
CUresult cuda_pool_share(ndp_dev *dev); /* as cuda_ranges_share() */

/* ---- peer.c ---- */
extern const ndp_peer_1 cuda_peer_group;

/* ---- ipc.c ---- */
extern const ndp_ipc_1 cuda_ipc_group;

/* ---- graph.c ---- */
extern const ndp_graph_1 cuda_graph_group;
/* A captured graph, counted: whoever changes an exec names nodes of the graph that it was made
 * of. */
struct ndp_graph {
    atomic_int refs;
    CUgraph graph;
    CUgraphNode *node; /* in the order in which they were queued */
    uint64_t n;
};
struct ndp_exec { /* runs on streams of its device; the driver puts the runs of one in order */
    CUgraphExec exec;
    const ndp_dev *dev;
    ndp_graph *graph; /* counted */
};

/* ---- compose.c: graphs with conditions, as one */
int32_t cuda_compose(ndp_dev *dev, const ndp_steps *steps, ndp_exec **out);

int cuda_graphs_overlap(void); /* whether kernels of cuda_launch_early may */

/* ---- nodes.c: what captures underway have by now ---- */
int32_t cuda_capture_nodes(ndp_dev *dev, ndp_stream *s, uint64_t *count);
/* The capture of that number has ended: graph gets its nodes. graph NULL: it failed. */
void cuda_capture_ended(cuuint64_t id, ndp_graph *graph);

/* ---- patch.c: nodes of an exec that the calling thread changes ---- */
int32_t cuda_patch_begin(ndp_dev *dev, ndp_exec *x, uint64_t first, uint64_t count);
int32_t cuda_patch_end(ndp_dev *dev, ndp_exec *x);
extern _Thread_local ndp_exec *cuda_patched;
static inline int cuda_patching(void)
{
    return cuda_patched != NULL;
}
/* The launch takes the place of the next node. Inside cuda_enter(). */
int32_t cuda_patch_kernel(const CUDA_KERNEL_NODE_PARAMS *params);
/* What is queued in another way than by cuda_launch cannot take a node's place: NDP_OK where nothing
 * is being changed. */
int32_t cuda_patch_refuse(const char *what);

/* ---- code.c ---- */
extern const ndp_code_1 cuda_code_group;

/* ---- host/transfer.c ---- */
int32_t cuda_write(ndp_dev *dev, ndp_stream *s, ndp_mem *m, uint64_t offset, const void *src,
                   uint64_t nbytes);
int32_t cuda_read(ndp_dev *dev, ndp_stream *s, ndp_mem *m, uint64_t offset, void *dst,
                  uint64_t nbytes);
int32_t cuda_copy(ndp_dev *dev, ndp_stream *s, ndp_mem *dst, uint64_t dst_offset, ndp_mem *src,
                  uint64_t src_offset, uint64_t nbytes);

/* ---- ring.c: pinned memory that pageable copies go through ---- */
typedef enum { CUDA_RING_SMALL, CUDA_RING_LARGE } cuda_ring_kind;
enum { CUDA_SMALL_CHUNK = 64 << 10, CUDA_LARGE_CHUNK = 4 << 20, CUDA_LARGE_CHUNKS = 8 };
typedef struct cuda_chunk cuda_chunk;
struct cuda_chunk {
    char *host;
    CUevent done; /* of the copy that used it last */
    int used;     /* done was recorded since the chunk was last waited for */
    cuda_chunk *next;
};
/* A chunk that no copy uses any more. Without wait *out is NULL when there is none; with it, the
 * caller must hold no other chunk. Inside cuda_enter(), captures relaxed. */
int32_t cuda_ring_take(ndp_dev *dev, cuda_ring_kind kind, int wait, cuda_chunk **out);
/* Marks where the stream has got to: the chunk is in use until then. */
CUresult cuda_ring_mark(cuda_chunk *c, CUstream stream);
CUresult cuda_ring_wait(cuda_chunk *c); /* for that mark */
void cuda_ring_give(ndp_dev *dev, cuda_ring_kind kind, cuda_chunk *c);
void cuda_rings_close(ndp_dev *dev);

/* ---- team.c: threads that copy between host buffers ---- */
enum { CUDA_JOB_PARTS = CUDA_LARGE_CHUNKS };
typedef struct cuda_job cuda_job;
struct cuda_job { /* parts, added in order and copied by whoever is free */
    struct {
        char *dst;
        const char *src;
        size_t nbytes, begun, copied;
    } part[CUDA_JOB_PARTS]; /* part i is at i % CUDA_JOB_PARTS */
    uint64_t added, first;  /* parts; those before first are begun to their end */
    cuda_job *next;
};
void cuda_job_begin(cuda_job *j);
/* The part CUDA_JOB_PARTS before must be copied. */
void cuda_job_add(cuda_job *j, char *dst, const char *src, size_t nbytes);
/* Returns when part i is copied; the caller helps. */
void cuda_job_wait(cuda_job *j, uint64_t i);
void cuda_job_end(cuda_job *j); /* when all parts are copied */
void cuda_team_stop(void);

/* ---- stream.c ---- */
static inline CUstream cuda_stream_handle(const ndp_dev *dev, const ndp_stream *s)
{
    return s ? s->handle : dev->own.handle;
}
/* Streams with work of ours that nobody has waited for. */
extern atomic_int cuda_busy_streams;
/* The stream, to queue work on. */
static inline CUstream cuda_stream(ndp_dev *dev, ndp_stream *s)
{
    ndp_stream *to = s ? s : &dev->own;
    if (!atomic_load_explicit(&to->busy, memory_order_relaxed) && !atomic_exchange(&to->busy, 1))
        atomic_fetch_add(&cuda_busy_streams, 1);
    return to->handle;
}
int32_t cuda_sync(ndp_dev *dev, ndp_stream *s);

/* ---- fault.c: failures of streams that the driver does not know of ---- */
/* Whoever waits for the stream next is told why. */
void cuda_stream_fault(CUstream stream, const char *why);
int32_t cuda_stream_look(CUstream stream); /* NDP_OK, or NDP_ERR_ASYNC once */
void cuda_stream_forget(CUstream stream);  /* the stream is destroyed */

extern const ndp_stream_1 cuda_stream_group;

/* ---- module.c: code of the plug-in, loaded once per device when it is first wanted ---- */
enum { /* CUDA_MODULE_elementwise_F32 ... */
#define CUDA_MODULE(folder, file, dtype) CUDA_MODULE_##file##_##dtype,
#include "host/modules.def"
       CUDA_MODULES
};
/* A kernel by name. Inside cuda_enter(). */
int32_t cuda_function(ndp_dev *dev, int module, const char *name, CUfunction *out);
/* The module of a file that is compiled per dtype; negative: there is none for this dtype. */
int cuda_module_of(const char *file, int32_t dtype);
void cuda_modules_unload(ndp_dev *dev);

/* ---- kernel.c: what find() answers ---- */
enum { CUDA_FUNCTIONS = 44, CUDA_KEY_DTYPES = 5 };
typedef struct cuda_kernel cuda_kernel;
struct cuda_kernel {
    ndp_kernel base;
    ndp_dev *dev;
    int32_t (*run)(const ndp_kernel *kernel, ndp_stream *stream,
                   const ndp_call *call); /* the class's */
    int32_t (*make)(cuda_kernel *k, const ndp_call *like);
    atomic_uint epoch; /* of the device when the functions were found */
    int32_t op;
    int32_t dtype[CUDA_KEY_DTYPES];      /* of inputs, then outputs; 0 past the last */
    int32_t choice;                      /* the class's own: what else tells kernels apart */
    CUfunction function[CUDA_FUNCTIONS]; /* the class's own: its variants */
    int32_t at_once; /* the class's own: how many clusters of a variant run at once, 0: not known */
    cuda_kernel *next;
};
/* The device's kernel for the call's op and dtypes and the class's choice: one that was made
 * before, or a new one after make(kernel, like) has set run, scratch and functions. make() runs
 * inside cuda_enter() and under the device's lock; it returns a status with a detail. It runs
 * again, for a call of the same key, when the device was closed and opened in between. */
int32_t cuda_kernel_get(ndp_dev *, const ndp_call *like, int32_t choice,
                        int32_t (*make)(cuda_kernel *, const ndp_call *like),
                        const ndp_kernel **out);
/* Queues a kernel whose one parameter is the struct. */
int32_t cuda_launch(const cuda_kernel *k, CUfunction f, ndp_stream *s, uint32_t blocks,
                    uint32_t threads, uint32_t shared_bytes, void *params);
/* The same for a kernel whose threads all call cuda_after_earlier() first: in a capture it may begin
 * while what was queued before it ends. */
int32_t cuda_launch_early(const cuda_kernel *k, CUfunction f, ndp_stream *s, uint32_t blocks,
                          uint32_t threads, uint32_t shared_bytes, void *params);
/* The same inside cuda_enter(), where nothing is being patched. */
CUresult cuda_queue_early(ndp_dev *dev, CUfunction f, ndp_stream *s, uint32_t blocks,
                          uint32_t threads, uint32_t shared_bytes, void *params);
/* The same with a grid of two dimensions. */
int32_t cuda_launch_2d(const cuda_kernel *k, CUfunction f, ndp_stream *s, uint32_t blocks_x,
                       uint32_t blocks_y, uint32_t threads, uint32_t shared_bytes, void *params);

/* ---- op.c, and one entry per class ---- */
typedef struct {
    /* Mask of dtypes (of the first input; of the output for ops without inputs) the op runs in. */
    uint64_t (*dtypes)(int32_t op);
    /* The kernel for calls like this one. NDP_ERR_UNSUPPORTED: the reason is in why. */
    int32_t (*find)(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                    size_t n);
} cuda_class;
#define CUDA_CLASS(CLASS, table) extern const cuda_class table;
#include "classes.def"
extern const ndp_op_1 cuda_op_group;
extern const ndp_math_1 cuda_math_group;   /* matmul.c */
extern const ndp_fused_1 cuda_fused_group; /* program/program.c */

/* ---- views ---- */
/* Address of the element at index zero of an operand (not for scalars). */
static inline CUdeviceptr cuda_ptr(const ndp_view *v)
{
    return v->mem->base + (CUdeviceptr)v->offset_bytes;
}
/* Stores a scalar as an element of its own dtype; element has room for 16 bytes. */
void cuda_store_scalar(const ndp_scalar *s, void *element);

#endif
