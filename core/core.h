/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The one internal header of libndock: what its files share. The core knows shapes, types, views,
 * ordering and memory; it never touches an element. */
#ifndef NDOCK_CORE_H
#define NDOCK_CORE_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <ndock/ndock.h>
#include <ndock/plugin.h>

/* Thread-local variables are few and small, so they may live in the static TLS block: no call to
 * reach them. */
#define ND_TLS static _Thread_local __attribute__((tls_model("initial-exec")))

/* ---- status.c: errors. Whoever decides that it is an error writes the message, once; callers pass
 * the code up untouched. ---- */
nd_status nd__fail_at(const char *file, int line, nd_status status, const char *op,
                      int32_t argument, const char *fmt, ...) ND_PRINTF(6, 7);
/* As above with native = err and ": what errno means" appended. */
nd_status nd__fail_errno_at(const char *file, int line, nd_status status, const char *op, int err,
                            const char *fmt, ...) ND_PRINTF(6, 7);
#define nd__fail(status, op, argument, ...) \
    nd__fail_at(__FILE__, __LINE__, status, op, argument, __VA_ARGS__)
#define nd__fail_errno(status, op, err, ...) \
    nd__fail_errno_at(__FILE__, __LINE__, status, op, err, __VA_ARGS__)
/* ND_ERR_ARGUMENT: argument i, named as in the header, is NULL. */
nd_status nd__refuse_null(const char *op, int32_t i, const char *name);
#define ND_NEED(op, i, pointer)                      \
    do {                                             \
        if (!(pointer))                              \
            return nd__refuse_null(op, i, #pointer); \
    } while (0)
/* The place of a result: it is needed, and holds value until there is a result. */
#define ND_OUT(op, i, out, value) \
    do {                          \
        ND_NEED(op, i, out);      \
        *(out) = (value);         \
    } while (0)
/* A list of n entries, which may be NULL where n is 0. */
#define ND_NEED_LIST(op, i, n, list) \
    do {                             \
        if ((n) > 0)                 \
            ND_NEED(op, i, list);    \
    } while (0)
/* status, of a function that op is made of: its error becomes op's. */
nd_status nd__error_as(const char *op, nd_status status);
/* For functions that return no status: answer, with the error set. */
#define ND_NEED_OR(op, i, pointer, answer)          \
    do {                                            \
        if (!(pointer)) {                           \
            (void)nd__refuse_null(op, i, #pointer); \
            return answer;                          \
        }                                           \
    } while (0)
/* Fill in what the decider could not know, where it is still empty. */
void nd__error_native(int64_t native);
void nd__error_context(const char *op, const char *device, const char *plugin);
/* log.c */
void nd__log(int32_t level, const char *fmt, ...) ND_PRINTF(2, 3);
bool nd__log_wants(int32_t level);

#define ND_RETURN_IF(expr)          \
    do {                            \
        nd_status status_ = (expr); \
        if (status_ != ND_OK)       \
            return status_;         \
    } while (0)
#define ND_GOTO_IF(label, expr) \
    do {                        \
        status = (expr);        \
        if (status != ND_OK)    \
            goto label;         \
    } while (0)

#include "core/plugin/note.h"
#include "core/base/text.h"

/* ---- devices and plug-ins: registry.c loader.c device.c host.c ---- */
typedef struct nd_plugin_slot nd_plugin_slot;
typedef struct nd_kernel_node nd_kernel_node;
typedef struct nd_storage nd_storage;
typedef struct nd_event_pool nd_event_pool;
typedef struct nd_stream_end nd_stream_end;
typedef struct nd_sharing nd_sharing;
#define ND_KERNEL_BUCKETS 1024

struct nd_device {
    nd_plugin_slot *slot;
    ndp_plugin p; /* the plug-in's table; absent slots are NULL */
    ndp_dev *dev;
    uint32_t index;
    nd_dl_device dl; /* as DLPack names it */
    int ordinal;     /* position among opened devices, for per-thread caches */
    char name[80];
    ndp_device_info info;
    bool host_visible, async, is_cpu;
    bool has_op, has_stream, has_graph, has_peer, has_code;
    ndp_op_1 op;
    ndp_map_1 map;
    ndp_info_1 facts;
    ndp_stream_1 stream; /* all absent slots NULL; has_stream: the group is whole */
    ndp_memory_1 memory;
    ndp_peer_1 peer;
    ndp_graph_1 graph;
    ndp_code_1 code;
    ndp_pool_1 pool;
    ndp_pointer_1 pointer;
    nd_stream *stream0;  /* the default stream */
    nd_stream *streams;  /* all live ones; under stream_lock */
    nd_stream_end *ends; /* of those that went with work queued; under stream_lock */
    nd_event_pool *events;
    atomic_int captures; /* begun on its streams and not ended */
    atomic_int lost;     /* ND_ERR_LOST once the device is; lost_text then never changes */
    char lost_text[512];
    int64_t lost_native;
    pthread_mutex_t stream_lock;
    _Atomic(nd_kernel_node *) kernels[ND_KERNEL_BUCKETS];
    /* The same nodes again, of dense elementwise calls and whole reductions, by op, dtype and which
     * operand is a scalar (0: none, else from 1): no key to compute. */
    _Atomic(nd_kernel_node *) dense[NDP_OP_END][ND_DTYPE_END][3];
    pthread_mutex_t kernel_lock;
    _Atomic(struct nd_backend *) backend; /* of new blocks; read it through nd__device_backend */
    nd_device *next, *next_opened;        /* of its plug-in; of all, newest first */
};

struct nd_plugin_slot {
    const char *path, *name, *version; /* texts are nd__text_keep's or static */
    const char *real;                  /* the path without symbolic links; "": not examined */
    const char *reason, *state, *source;
    const struct nd_plugin_slot *winner; /* which is taken in its place */
    void *handle;
    int phase, rank;   /* ND_SLOT_*, ND_SOURCE_*: loader.h */
    int32_t priority;  /* of the note, or of plugins.d */
    uint32_t round;    /* of the last walk by priority that saw it */
    bool examined;     /* what can be known without running code of it is */
    bool is_place;     /* a folder or an entry of a list, no file */
    bool named;        /* the user named this file, not its folder */
    bool preferred;    /* by + in NDOCK_PLUGIN_PATH */
    bool has_priority; /* of plugins.d */
    bool has_note;
    uint64_t st_dev, st_ino;
    nd_note_file file; /* what was read of it before it was opened */
    ndp_host host;
    const ndp_plugin *table; /* the plug-in's own; NULL until loaded */
    ndp_plugin p;            /* our copy, zero-extended */
    uint32_t device_count;
    _Atomic(nd_device *) devices; /* opened ones; added to under the registry's lock */
    nd_plugin_slot *next;
};

/* The registry's lock is held while plug-ins are loaded and probed and devices opened. */
nd_status nd__registry_slot(
    const char *name,
    nd_plugin_slot **out); /* loaded slot by plug-in name, NULL if there is none */
/* Of a loaded plug-in; opened on first use. */
nd_status nd__slot_device(nd_plugin_slot *slot, uint32_t index, nd_device **out);
int nd__open_devices(nd_device **out, int n);     /* how many of them were written; at most n */
nd_device *nd__device_opened_as(nd_dl_device dl); /* NULL if none is; for CUDA and OpenCL */
nd_status nd__cpu_device(
    nd_device **out); /* the CPU plug-in's device; the error names the paths tried */
void nd__host_init(nd_plugin_slot *slot);
const char *nd__getenv(const char *name); /* NULL under AT_SECURE */
nd_device *nd__or_current(nd_device *device, nd_status *status);
/* Of the thread's current device if it is this plug-in's, else 0. */
uint32_t nd__current_index(const nd_plugin_slot *slot);
int32_t nd__fallback_policy(void);
bool nd__forked(void); /* this process is a forked child of the one that loaded plug-ins */
/* The device is lost, or the parent's of this forked child: nothing is asked of it, frees are
 * silent. */
static inline bool nd__out_of_reach(nd_device *d)
{
    return atomic_load_explicit(&d->lost, memory_order_acquire) ||
           (nd__forked() && !d->host_visible);
}

#include "core/stream/streams.h"

/* ---- memory.c: storage, counted handles to blocks of device memory ---- */
struct nd_storage {
    atomic_int refs;
    nd_device *device;
    ndp_mem *mem;
    uint64_t base;           /* where the storage begins in mem, bytes */
    char *host;              /* address of the storage on a host-visible device, else NULL */
    uint64_t used;           /* asked for; what views may reach */
    struct nd_block *block;  /* NULL: foreign memory */
    struct nd_block *pinned; /* on the CPU: page-locked memory of pinned_for; else NULL */
    nd_device *pinned_for;
    _Atomic(nd_event *) pending; /* host memory that a device is still writing to: an event for
                                    each stream that does, the newest first; NULL: none */
    void (*release)(void *ctx);
    void *ctx;
    _Atomic uint64_t user;         /* id of the stream that used it last; see interop/sharing.c */
    _Atomic uint64_t ready;        /* id of the stream that brings imported contents; 0: none */
    _Atomic(nd_sharing *) sharing; /* other streams and strangers; NULL: none */
};
/* Counts down; true for the last one. Who holds the only reference needs no atomic subtraction,
 * since nobody else can count up. */
static inline bool nd__last(atomic_int *refs)
{
    return atomic_load_explicit(refs, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}
/* nbytes may be 0. Ordered by the thread's stream of the device. */
nd_status nd__storage_alloc(nd_device *device, uint64_t nbytes, nd_storage **out);
nd_status nd__storage_wrap(nd_device *device, void *ptr, uint64_t nbytes, void (*release)(void *),
                           void *ctx, nd_storage **out);
void nd__storage_release(nd_storage *s);
bool nd__storage_waits(nd_storage *s); /* releasing the last reference may wait */
/* Waits for the device that still writes to host memory, if one does. */
/* The event, recorded behind a copy into the storage, is waited for by whoever uses the storage;
 * the caller's reference goes with it. */
void nd__pending_add(nd_storage *s, nd_event *event);
/* *done: no device writes to the storage any more. Does not wait. */
nd_status nd__pending_query(nd_storage *s, int32_t *done);
nd_status nd__settle_slow(const char *op, nd_storage *s);
static inline nd_status nd__settle(const char *op, nd_storage *s)
{
    return atomic_load_explicit(&s->pending, memory_order_acquire) ? nd__settle_slow(op, s)
                                                                   : (nd_status)ND_OK;
}
/* Give cached blocks of the device back to it; true if there were any. */
bool nd__memory_trim(nd_device *device);
/* A stream gets no more work, its handle still works. */
void nd__memory_stream_gone(nd_stream *s);
/* Array headers of at most ND_SMALL_NDIM dimensions come from the same per-thread cache. */
nd_array *nd__header_alloc(int ndim);
void nd__header_free(nd_array *a);

/* ---- array.c ---- */
#define ND_SMALL_NDIM 4
enum { ND_FLAG_CONTIGUOUS = 1, ND_FLAG_READONLY = 2 };
struct nd_array {
    atomic_int refs;
    int32_t ndim;
    nd_dtype dtype;
    uint32_t flags;
    nd_storage *storage; /* one reference */
    int64_t offset, size;
    int64_t *shape, *stride; /* into dims */
    nd_array *next;          /* free list */
    int64_t dims[];          /* 2 * max(ndim, ND_SMALL_NDIM) */
};
/* New array over storage, whose caller's reference it takes over, or drops where it fails; fills
 * size and flags from shape, stride (NULL: C order). The caller has checked bounds. */
nd_status nd__array_take(nd_storage *s, nd_dtype dtype, int ndim, const int64_t *shape,
                         const int64_t *stride, int64_t offset, bool readonly, nd_array **out);
/* ---- handles.c: NDOCK_DEBUG=handles. A released array's storage has ND_DEAD pending. ---- */
extern const char nd__dead_mark;
extern bool nd__handles_mode;
#define ND_DEAD ((nd_event *)(uintptr_t)&nd__dead_mark)
static inline bool nd__is_dead(const nd_storage *s)
{
    return atomic_load_explicit(&s->pending, memory_order_relaxed) == ND_DEAD;
}
/* The error of op, which uses a released array; logged the first time. */
nd_status nd__handle_used(const char *op, const nd_storage *s);
void nd__handle_released_again(const nd_storage *s);
/* In functions that read an array's header alone: NULL and released arrays are answered so. */
#define ND_READ(op, i, a, answer)                            \
    do {                                                     \
        ND_NEED_OR(op, i, a, answer);                        \
        if (nd__handles_mode && nd__is_dead((a)->storage)) { \
            (void)nd__handle_used(op, (a)->storage);         \
            return answer;                                   \
        }                                                    \
    } while (0)
/* The same with a reference of its own. */
nd_status nd__array_new(nd_storage *s, nd_dtype dtype, int ndim, const int64_t *shape,
                        const int64_t *stride, int64_t offset, bool readonly, nd_array **out);
/* New dense array with storage of its own; checks sizes. */
nd_status nd__array_alloc(const char *op, nd_device *device, nd_dtype dtype, int ndim,
                          const int64_t *shape, nd_array **out);
/* The same on a device that may be NULL (the current one). */
nd_status nd__empty(const char *op, nd_device *device, nd_dtype dtype, int ndim,
                    const int64_t *shape, nd_array **out);
/* New dense array of a's shape and device; dtype no wider than a's, so that no size needs checking.
 */
nd_status nd__array_like(const nd_array *a, nd_dtype dtype, nd_array **out);
/* The end of most functions: result becomes *out on success, and is released on failure. Returns
 * status. */
nd_status nd__hand_over(nd_status status, nd_array *result, nd_array **out);
/* Refuses NULL (argument i), and waits for a device that still writes to host memory. */
nd_status nd__check_array(const char *op, const nd_array *a, int32_t i);
/* dst may be written: not read-only, does not overlap itself. */
nd_status nd__check_writable(const char *op, const nd_array *dst, int32_t i);
nd_status nd__check_same_device(const char *op, const nd_array *a, const nd_array *b, int32_t i,
                                int32_t j);
nd_status nd__check_shape_is(const char *op, const nd_array *a, int ndim, const int64_t *shape,
                             int32_t i);
/* The same of a destination, which the message calls so. */
nd_status nd__check_dst_shape(const char *op, const nd_array *dst, int ndim, const int64_t *shape,
                              int32_t i);

/* ---- shape.c: pure arithmetic, no allocation ---- */
bool nd__mul_size(int64_t a, int64_t b, int64_t *out); /* false on overflow or a negative operand */
bool nd__add_size(int64_t a, int64_t b, int64_t *out);
nd_status nd__check_shape(const char *op, nd_dtype dtype, int ndim, const int64_t *shape,
                          int64_t *size); /* rank, signs, bytes < 2^63 */
void nd__c_strides(int ndim, const int64_t *shape, int64_t *stride);
bool nd__is_c_order(int ndim, const int64_t *shape, const int64_t *stride);
bool nd__same_shape(int ndim_a, const int64_t *a, int ndim_b, const int64_t *b);
/* Lowest and one past the highest element that the strides reach from 0; false on overflow. Empty:
 * 0, 0. */
bool nd__extent(int ndim, const int64_t *shape, const int64_t *stride, int64_t *low, int64_t *high);
nd_status nd__axis(const char *op, int axis, int ndim, int *out);
/* Mask of axes (NULL: all), each in range and named once. */
nd_status nd__axes_mask(const char *op, int naxes, const int32_t *axes, int ndim, uint64_t *mask);
/* The same of an options struct: all where axes is NULL and naxes 0, none for ND_NO_AXES; the two
 * must not contradict each other. */
nd_status nd__axes_option(const char *op, int naxes, const int32_t *axes, int ndim, uint64_t *mask);
nd_status nd__broadcast(const char *op, int n, const int *ndims, const int64_t *const *shapes,
                        int *ndim, int64_t *out);
/* Strides of an operand stretched to ndim, shape (it is known to fit). */
void nd__broadcast_strides(int ndim, const int64_t *shape, int own_ndim, const int64_t *own_shape,
                           const int64_t *own_stride, int64_t *stride);
/* Joint simplification of n operands over one shape: drops extents of one, orders dimensions by the
 * first operand's strides (then the others'), merges what merges. stride[i] are rows of
 * ND_MAX_NDIM. keep_order: only merges. Returns the new rank. Shapes with a zero extent become rank
 * 1, extent 0. */
int nd__coalesce(int ndim, int64_t *shape, int n, int64_t (*stride)[ND_MAX_NDIM], bool keep_order);

/* ---- interop/sharing.c: which streams use a storage; that of memory of others waits for us ----
 */
void nd__used_elsewhere(nd_storage *s, nd_stream *stream);
static inline void nd__used_on(nd_storage *s, nd_stream *stream)
{
    if (atomic_load_explicit(&s->user, memory_order_relaxed) != stream->id)
        nd__used_elsewhere(s, stream);
}
/* The storage is about to be used on the thread's stream of its device. */
static inline void nd__used(nd_storage *s)
{
    if (s->device->async)
        nd__used_on(s, nd__stream(s->device));
}
/* Work on these blocks (NULLs are skipped), or on a call's operands, was queued on s: streams of
 * others whose memory some of them are wait for it. */
extern atomic_int nd__followed; /* blocks of which that is so */
nd_status nd__follow_slow(nd_stream *s, ndp_mem *const *mem, int n);
nd_status nd__follow_call_slow(nd_stream *s, const ndp_call *call);
static inline nd_status nd__follow(nd_stream *s, ndp_mem *const *mem, int n)
{
    return atomic_load_explicit(&nd__followed, memory_order_relaxed) ? nd__follow_slow(s, mem, n)
                                                                     : (nd_status)ND_OK;
}
static inline nd_status nd__follow_call(nd_stream *s, const ndp_call *call)
{
    return atomic_load_explicit(&nd__followed, memory_order_relaxed) ? nd__follow_call_slow(s, call)
                                                                     : (nd_status)ND_OK;
}
/* Foreign memory is let go: the host waits for our uses, unless its owner's stream does. */
void nd__drain_users(nd_storage *s);
bool nd__drain_waits(const nd_storage *s);         /* there may be uses to wait for */
extern const size_t nd__sharing_room;              /* bytes behind a foreign storage */
void nd__sharing_end(nd_sharing *r, bool foreign); /* NULL is fine */

/* ---- overlap.c ---- */
bool nd__overlaps_itself(const nd_array *a);
bool nd__may_overlap(const nd_array *a, const nd_array *b); /* exact where cheap, else assumes so */
bool nd__same_view(const nd_array *a, const nd_array *b);

/* ---- dtype.c, promote.c ---- */
extern const nd_dtype_info nd__dtypes[ND_DTYPE_END];
static inline int nd__kind(nd_dtype dtype)
{
    return (uint32_t)dtype < ND_DTYPE_END ? nd__dtypes[dtype].kind : 0;
}
static inline int64_t nd__itemsize(nd_dtype dtype)
{
    return (uint32_t)dtype < ND_DTYPE_END ? nd__dtypes[dtype].nbytes : 0;
}
/* In bytes, a power of 2. */
static inline uint64_t nd__alignment(nd_dtype dtype)
{
    return (uint64_t)nd__itemsize(dtype) >> (nd__kind(dtype) == ND_KIND_COMPLEX);
}
static inline bool nd__aligned(nd_dtype dtype, uint64_t address)
{
    return (address & (nd__alignment(dtype) - 1)) == 0;
}
nd_status nd__check_dtype(const char *op, nd_dtype dtype);
nd_dtype nd__real_of(nd_dtype dtype); /* c64 -> f32, c128 -> f64, else itself */
/* nd_promote on behalf of an operation, which its errors name. */
nd_status nd__promote(const char *op, nd_dtype a, nd_dtype b, nd_dtype *out);
/* The dtype in which arrays of `arrays` (0: none) and a weak scalar meet. */
nd_status nd__promote_scalar(const char *op, nd_dtype arrays, nd_scalar s, nd_dtype *out);
/* A scalar rounded to dtype; ND_ERR_OVERFLOW if it does not fit. */
nd_status nd__scalar_to(const char *op, nd_scalar s, nd_dtype dtype, int32_t argument,
                        ndp_scalar *out);
/* dtype as an op computes it: in the op's domain, or the default float; ND_ERR_DTYPE else. */
nd_status nd__op_domain(const nd_op_info *op, nd_dtype in, nd_dtype *compute);
nd_dtype nd__op_result(const nd_op_info *op, nd_dtype compute);
/* scalar.c: one element as bytes. element has room for 16 bytes. */
void nd__scalar_store(const ndp_scalar *s, void *element);
nd_scalar nd__scalar_load(nd_dtype dtype, const void *element);
/* Whether values of `from` may be written into `to`: bool < integer < floating < complex. */
nd_status nd__check_castable(const char *op, nd_dtype from, nd_dtype to);

/* ---- op.c ---- */
extern const nd_op_info nd__ops[ND_OP_END]; /* of op.def, by id: nd_op_get without the call */
const ndp_kernel *nd__runtime_kernel(nd_op op, nd_device *device);
/* A run-time op's own form for the device's plug-in. */
typedef struct nd_op_form nd_op_form;
const nd_op_form *nd__op_form(nd_op op, const nd_device *device); /* NULL: none */
/* args: up to three, cast already; scalars are rounded to compute. */
nd_status nd__run_op_form(const nd_op_form *form, nd_op op, nd_dtype compute, const nd_arg *args,
                          int n, const nd_array *dst);

/* ---- custom.c ---- */
/* A program's callback returned status: ND_OK, or an error with a text, also if it set none. */
nd_status nd__callback_status(const char *op, const char *what, nd_status status);

/* ---- dispatch.c ---- */
/* An ndp_view of the whole array, for work on the thread's stream; shape and strides are the
 * array's own. */
ndp_view nd__view(const nd_array *a);
static inline int64_t nd__byte_offset(const nd_array *a)
{
    return (int64_t)a->storage->base + a->offset * nd__itemsize(a->dtype);
}
ndp_view nd__scalar_view(const ndp_scalar *scalars, int index, int ndim, const int64_t *shape);
/* Runs a canonical call on the device: finds the kernel, packs what it needs packed, stages through
 * the CPU what the device lacks. call->out[0] names no device: dev does. */
nd_status nd__run(nd_device *dev, ndp_call *call);
/* The mode bits that the settings of arithmetic give the op; an error where strict forbids it. mnk
 * as for nd_effective_precision. */
nd_status nd__math_mode(nd_device *dev, nd_op op, nd_dtype dtype, const int64_t *mnk,
                        uint32_t *mode);
/* Whether the call reads what is in its outputs. */
bool nd__updates_in_place(const ndp_call *call);
/* Copy (and convert) between two views of one shape on the device. */
nd_status nd__copy_views(nd_device *dev, const ndp_view *from, const ndp_view *to);
/* One op over whole arrays as they are (no broadcasting, no merging). in, out: up to 4 and 2. */
nd_status nd__run_arrays(nd_op op, int n_in, const nd_array *const *in, int n_out,
                         nd_array *const *out, const void *params);
/* Elementwise call of arrays that are all dense and of dst's shape: one dimension, nothing to sort.
 */
nd_status nd__run_dense(nd_op op, const nd_array *const *in, int n, const nd_array *dst);
/* The same of an array and a scalar, which is operand `place` (0 or 1) of two. */
nd_status nd__run_dense_scalar(nd_op op, const nd_array *a, nd_scalar s, int place,
                               const nd_array *dst);
/* A reduction of all of a, dense and not empty, into one element. */
nd_status nd__run_dense_reduce(nd_op op, const nd_array *a, const nd_array *dst);
/* Elementwise call: operands broadcast to dst's shape, merged, run. dtypes are right already.
 * args[i].array NULL: scalar. */
nd_status nd__run_elementwise(nd_op op, nd_dtype compute, const nd_arg *args, int n,
                              const nd_array *dst);

/* Whether the device itself has a kernel for calls like this one. */
bool nd__has_kernel(nd_device *dev, const ndp_call *call);

/* ---- derive.c, stage.c: the fallback ladder ---- */
nd_status nd__derive(nd_device *dev, const ndp_call *call, bool *done);
void nd__count_derived(void);
void nd__count_staged(void);
nd_status nd__stage(nd_device *dev, ndp_call *call, const char *why);
/* Whether the operation may be staged: if so it is counted, and logged once per device; else
 * ND_ERR_UNSUPPORTED. name is immortal; like: NULL, or what to say of its operands. */
nd_status nd__may_stage(nd_device *dev, const char *name, const ndp_view *like, const char *why);
void nd__count_staged_bytes(uint64_t nbytes);

/* ---- transfer.c ---- */
/* src into dst: same dtype and shape, other devices. non_blocking: from or to pinned memory the
 * host does not wait. */
nd_status nd__transfer(const char *op, const nd_array *src, const nd_array *dst, bool non_blocking);

/* ---- copy.c ---- */
/* src's shape broadcasts to dst's, and no imaginary part would be lost. */
nd_status nd__check_assignable(const char *op, const nd_array *src, const nd_array *dst);
/* nd_item on behalf of an operation. */
nd_status nd__item(const char *op, const nd_array *a, int32_t reason, nd_scalar *out);
/* src (any dtype) broadcast into dst (any dtype, same device), no checks of writability. */
nd_status nd__copy_into(const nd_array *src, const nd_array *dst);
nd_status nd__cast(const nd_array *a, nd_dtype dtype,
                   nd_array **out); /* retained a if it has the dtype already */
/* nd_wrap and nd_from_host on behalf of an operation, which their errors name; device is not NULL.
 */
nd_status nd__wrap(const char *op, const nd_layout *layout, void *ptr, nd_device *device,
                   void (*release)(void *), void *ctx, nd_array **out);
/* The same of a layout that was checked, has strides, and reaches the elements low to high. */
nd_status nd__wrap_checked(const char *op, const nd_layout *layout, int64_t low, int64_t high,
                           void *ptr, nd_device *device, void (*release)(void *), void *ctx,
                           nd_array **out);
nd_status nd__from_host(const char *op, const nd_layout *layout, const void *data,
                        nd_device *device, nd_array **out);

#endif
