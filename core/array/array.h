/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays: storage with the streams that use it, headers, the checks that operations make of their
 * operands, and whether views overlap. */
#ifndef NDOCK_CORE_ARRAY_H
#define NDOCK_CORE_ARRAY_H
#include "core/memory/storage.h"

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
nd_status nd__settle_slow(const char *op, nd_storage *s);
static inline nd_status nd__settle(const char *op, nd_storage *s)
{
    return atomic_load_explicit(&s->pending, memory_order_acquire) ? nd__settle_slow(op, s)
                                                                   : (nd_status)ND_OK;
}

/* ---- sharing.c: which streams use a storage; for imported memory, the producer's stream waits
 * until our work is done ---- */
void nd__used_elsewhere(nd_storage *s, nd_stream *stream);
static inline void nd__used_on(nd_storage *s, nd_stream *stream)
{
    if (atomic_load_explicit(&s->user, memory_order_relaxed) != stream->id)
        nd__used_elsewhere(s, stream);
}
/* ---- captured.c: storages in captures ---- */
/* It was allocated now, perhaps in a capture, which then may use its memory again. */
void nd__captured_new(nd_storage *s);
/* The thread's stream is about to use it: if that is in a capture, the graph keeps what is from
 * before. */
void nd__captured_use(nd_storage *s);
/* The storage is about to be used on the thread's stream of its device. */
static inline void nd__used(nd_storage *s)
{
    if (!nd__is_noted(s->device))
        return;
    if (s->device->async)
        nd__used_on(s, nd__stream(s->device));
    if (nd__captures_now())
        nd__captured_use(s);
}
/* Orders s behind all pending work on the storage, one event a stream; *pending: there was any.
 * keep: s lives as long as the storage, and is remembered in the place of those. */
nd_status nd__join_users(const char *op, nd_storage *storage, nd_stream *s, bool keep,
                         bool *pending);
/* The host waits for all work on it, that of a producer included. */
nd_status nd__wait_users(const char *op, nd_storage *storage);
/* What the memory is to hold comes by way of s, whose end is not yet reached. */
static inline void nd__ready_on(nd_storage *storage, const nd_stream *s)
{
    atomic_store(&storage->ready, s->id);
}
/* Others may queue work on s from now on, and s lives as long as the storage. */
nd_status nd__lend_stream(const char *op, nd_storage *storage, nd_stream *s);
/* The stream of whoever the storage was imported from; NULL: none, or not imported. */
nd_stream *nd__producer(const nd_storage *storage);
/* The storage, a foreign one, is over memory of somebody who queues work on producer (retained);
 * follow: that stream waits after each of our uses. */
void nd__import_from(nd_storage *storage, nd_stream *producer, bool follow);
/* Foreign memory is let go: the host waits for our uses, unless its owner's stream does. */
void nd__drain_users(nd_storage *s);
bool nd__drain_waits(const nd_storage *s);         /* there may be uses to wait for */
extern const size_t nd__sharing_room;              /* bytes behind a foreign storage */
void nd__sharing_end(nd_sharing *r, bool foreign); /* NULL is fine */

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
/* New dense array of a's shape and device; dtype no wider than a's, so that no size needs
 * checking. */
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

/* ---- view.c ---- */
/* The shape with its -1 filled in, and whether strides can make a view of it. Errors are
 * nd_reshape's. */
nd_status nd__reshape_fits(const nd_array *a, int ndim, const int64_t *shape, int64_t *full,
                           bool *fits);

/* ---- overlap.c ---- */
bool nd__overlaps_itself(const nd_array *a);
bool nd__may_overlap(const nd_array *a, const nd_array *b); /* exact where cheap, else assumes so */
bool nd__same_view(const nd_array *a, const nd_array *b);

/* The stream of an options struct, which all begin alike, is current until nd__scope_leave. a and
 * opts may be NULL. */
nd_status nd__scope_of(const char *op, const nd_array *a, const void *opts, nd_scope *scope);
void nd__fork_pending(nd_fork now); /* events of copies to the host */
void nd__fork_sharing(nd_fork now);

#endif
