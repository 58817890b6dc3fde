/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Moving bytes between devices, and to and from pinned host memory without waiting. */
#include <stdlib.h>
#include "core/ops/ops.h"
#include "core/memory/memory.h"
#include "core/base/env.h"

/* ---- pinned arrays: CPU arrays over page-locked memory of another device ---- */
static nd_status pinned_storage(nd_device *device, uint64_t nbytes, nd_storage **out)
{
    nd_device *cpu;
    nd_block *block = NULL;
    *out = NULL;
    ND_RETURN_IF(nd__cpu_device(&cpu));
    ND_RETURN_IF(nd__pinned_alloc(device, nbytes, &block));
    nd_status status = nd__storage_wrap(cpu, block->host, nbytes, NULL, NULL, out);
    if (status != ND_OK) {
        nd__pinned_free(block);
        return status;
    }
    (*out)->pinned = block;
    (*out)->pinned_for = device;
    return ND_OK;
}

nd_status nd_empty_pinned(nd_device *device, nd_dtype dtype, int32_t ndim, const int64_t *shape,
                          nd_array **out)
{
    nd_status status;
    nd_device *cpu;
    nd_storage *s = NULL;
    int64_t size;
    ND_OUT("empty_pinned", 4, out, NULL);
    ND_NEED_LIST("empty_pinned", 3, ndim, shape);
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    ND_RETURN_IF(nd__cpu_device(&cpu));
    if (!device->async || !device->map.pin || !device->p.copy)
        return nd__array_alloc("empty_pinned", cpu, dtype, ndim, shape, out);
    ND_RETURN_IF(nd__check_dtype("empty_pinned", dtype));
    ND_RETURN_IF(nd__check_shape("empty_pinned", dtype, ndim, shape, &size));
    ND_RETURN_IF(pinned_storage(device, size ? (uint64_t)(size * nd__itemsize(dtype)) : 1, &s));
    return nd__array_take(s, dtype, ndim, shape, NULL, 0, false, out);
}

int32_t nd_is_pinned(const nd_array *a)
{
    ND_READ("is_pinned", 0, a, 0);
    return a->storage->pinned != NULL;
}

/* Whether copies between a (on the CPU) and the device need not wait. */
static bool pinned_on(const nd_array *a, const nd_device *device)
{
    return a->storage->pinned && a->storage->pinned_for == device;
}

/* ---- has the program written to a pinned source before its copy ran? NDOCK_COPY_CHECK=1 ---- */
typedef struct {
    const unsigned char *data;
    uint64_t nbytes, sum;
    nd_stream *stream;
} copy_check;

static uint64_t checksum(const unsigned char *p, uint64_t n) /* FNV-1a, 64 bits */
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (uint64_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

static void compare_checksum(void *arg)
{
    copy_check *c = arg;
    if (checksum(c->data, c->nbytes) != c->sum)
        atomic_fetch_add(&c->stream->sources_modified, 1);
    nd__stream_unhold(c->stream);
    free(c);
}

static bool check_wanted(void)
{
    return nd__env_bool(ND_ENV_COPY_CHECK);
}

static nd_status queue_check(nd_stream *s, copy_check *c)
{
    if (!c)
        return ND_OK;
    c->stream = s;
    nd__stream_hold(s);
    nd_status status = nd_stream_launch_host(s, compare_checksum, c);
    if (status != ND_OK && status != ND_ERR_ASYNC && status != ND_ERR_LOST) { /* not queued */
        nd__stream_unhold(s);
        free(c);
    }
    return status;
}

/* The block is not used again before the copy is done; in a capture, not while there is the
 * graph. */
static void let_go(void *storage)
{
    nd__storage_release(storage);
}

static nd_status remember_copy(nd_stream *s, const char *op, nd_storage *pinned)
{
    if (!nd__capture_id(s))
        return nd__pinned_record(pinned->pinned, s);
    atomic_fetch_add(&pinned->refs, 1);
    nd_status status = nd__capture_keep(s, op, let_go, pinned);
    if (status != ND_OK)
        nd__storage_release(pinned);
    return status;
}

/* ---- without the host waiting ---- */
static nd_status from_pinned(const char *op, const nd_array *src, ndp_mem *to, uint64_t at,
                             nd_device *device, const char *first, uint64_t n)
{
    nd_stream *s = nd__stream(device);
    nd_block *block = src->storage->pinned;
    copy_check *check = NULL;
    if (check_wanted() && !nd__capture_id(s) && (check = malloc(sizeof *check)) != NULL)
        *check = (copy_check){(const unsigned char *)first, n,
                              checksum((const unsigned char *)first, n), NULL};
    nd_status status = nd__queue_copy(s, op, to, at, block->mem,
                                      block->offset + (uint64_t)(first - src->storage->host), n);
    if (status == ND_OK)
        status = remember_copy(s, op, src->storage);
    if (status != ND_OK) {
        free(check);
        return status;
    }
    return queue_check(s, check);
}

static nd_status into_pinned(const char *op, const nd_array *src, const nd_array *dst, uint64_t n)
{
    nd_event *event = NULL;
    nd_device *device = src->storage->device;
    nd_stream *s = nd__stream(device);
    nd_block *block = dst->storage->pinned;
    uint64_t at = block->offset + (uint64_t)(dst->offset * nd__itemsize(dst->dtype));
    ND_RETURN_IF(nd_event_create(device, NULL, &event));
    nd_status status =
        nd__queue_copy(s, op, block->mem, at, src->storage->mem, (uint64_t)nd__byte_offset(src), n);
    if (status == ND_OK)
        status = remember_copy(s, op, dst->storage);
    if (status == ND_OK && !nd__capture_id(s))
        status = nd_event_record(event, s);
    if (status != ND_OK || !event->recorded) /* captured: it is written when the graph runs */
        nd_event_release(event);
    else
        nd__pending_add(dst->storage, event);
    return status;
}

static nd_status peer_copy(const char *op, const nd_array *src, const nd_array *dst, uint64_t n)
{
    nd_device *from = src->storage->device, *to = dst->storage->device;
    nd_stream *s = nd__stream(from), *d = nd__stream(to);
    ND_RETURN_IF(nd__usable(to, op));
    ND_RETURN_IF(nd_stream_wait_stream(s, d)); /* what still uses the destination comes first */
    if (nd__hazards_now()) { /* both memories on the one stream that the copy runs on */
        ND_RETURN_IF(
            nd__hazard_bytes(s, src->storage->mem, (uint64_t)nd__byte_offset(src), n, false, op));
        ND_RETURN_IF(
            nd__hazard_bytes(s, dst->storage->mem, (uint64_t)nd__byte_offset(dst), n, true, op));
    }
    ND_RETURN_IF(nd__queue_begin(s, op, NULL));
    ND_RETURN_IF(nd__queue_end(
        s, op,
        from->peer.copy(from->dev, s->handle, src->storage->mem, (uint64_t)nd__byte_offset(src),
                        to->dev, dst->storage->mem, (uint64_t)nd__byte_offset(dst), n)));
    if (nd__tape_of(s))
        ND_RETURN_IF(nd__tape_other(nd__tape_of(s), s, op));
    ND_RETURN_IF(nd__follow(s, (ndp_mem *const[]){src->storage->mem, dst->storage->mem}, 2));
    return nd_stream_wait_stream(d, s);
}

/* ---- dense arrays of one size ---- */
static nd_status through_host(const char *op, int32_t reason, const nd_array *src,
                              const nd_array *dst, uint64_t n)
{
    nd_device *cpu;
    nd_storage *bounce = NULL;
    ND_RETURN_IF(nd__cpu_device(&cpu));
    ND_RETURN_IF(nd__storage_alloc(cpu, n, &bounce));
    nd_status status = nd__read(src->storage->device, op, reason, src->storage->mem,
                                (uint64_t)nd__byte_offset(src), bounce->host, n);
    if (status == ND_OK)
        status = nd__write(dst->storage->device, op, reason, dst->storage->mem,
                           (uint64_t)nd__byte_offset(dst), bounce->host, n);
    nd__storage_release(bounce);
    return status;
}

static char *host_address(const nd_array *a)
{
    return a->storage->host + a->offset * nd__itemsize(a->dtype);
}

/* reason: for waiting, if it comes to that. */
static nd_status move(const char *op, int32_t reason, const nd_array *src, const nd_array *dst,
                      bool non_blocking)
{
    nd_device *from = src->storage->device, *to = dst->storage->device;
    uint64_t n = (uint64_t)(src->size * nd__itemsize(src->dtype));
    if (n == 0)
        return ND_OK;
    nd__used(src->storage);
    nd__used(dst->storage);
    if (from->slot == to->slot && from->has_peer && from->has_stream)
        return peer_copy(op, src, dst, n);
    if (dst->storage->host && non_blocking && pinned_on(dst, from))
        return into_pinned(op, src, dst, n);
    if (dst->storage->host)
        return nd__read(from, op, reason, src->storage->mem, (uint64_t)nd__byte_offset(src),
                        host_address(dst), n);
    if (src->storage->host && non_blocking && pinned_on(src, to))
        return from_pinned(op, src, dst->storage->mem, (uint64_t)nd__byte_offset(dst), to,
                           host_address(src), n);
    if (src->storage->host)
        return nd__write(to, op, reason, dst->storage->mem, (uint64_t)nd__byte_offset(dst),
                         host_address(src), n);
    return through_host(op, reason, src, dst, n);
}

nd_status nd__transfer(const char *op, const nd_array *src, const nd_array *dst, bool non_blocking)
{
    nd_array *dense = NULL, *target = (nd_array *)dst;
    nd_status status;
    ND_RETURN_IF(nd_compact(src, &dense));
    bool direct = dst->flags & ND_FLAG_CONTIGUOUS;
    if (!direct)
        ND_GOTO_IF(done, nd__array_alloc(op, dst->storage->device, dst->dtype, dst->ndim,
                                         dst->shape, &target));
    ND_GOTO_IF(done, move(op, non_blocking ? ND_WAIT_PAGEABLE : ND_WAIT_COPY, dense, target,
                          non_blocking && direct));
    if (!direct)
        status = nd__copy_into(target, dst);
done:
    if (target != dst)
        nd_release(target);
    nd_release(dense);
    return status;
}

/* ---- nd_copy_to ---- */
/* The bytes that a pinned view reaches, as they lie, on the device; packing and conversion follow
 * there. */
static nd_status upload(const char *op, const nd_array *src, nd_device *device, nd_array **out)
{
    int64_t low, high, n = nd__itemsize(src->dtype);
    nd_storage *s = NULL;
    *out = NULL;
    if (!nd__extent(src->ndim, src->shape, src->stride, &low, &high))
        return nd__fail(ND_ERR_OVERFLOW, op, 0, "a view reaches beyond 2^63 elements");
    uint64_t nbytes = (uint64_t)((high - low) * n);
    ND_RETURN_IF(nd__storage_alloc(device, nbytes ? nbytes : 1, &s));
    nd_status status = ND_OK;
    if (nbytes)
        status = from_pinned(op, src, s->mem, s->base, device, host_address(src) + low * n, nbytes);
    if (status == ND_OK)
        return nd__array_take(s, src->dtype, src->ndim, src->shape, src->stride, -low, true, out);
    nd__storage_release(s);
    return status;
}

/* src as dst's dtype and shape, on src's device. */
static nd_status prepare(const char *op, const nd_array *src, const nd_array *dst, nd_array **out)
{
    nd_array *lower = NULL, *wide = NULL, *r = NULL;
    int drop = src->ndim > dst->ndim ? src->ndim - dst->ndim : 0; /* leading extents of one */
    *out = NULL;
    if (drop)
        ND_RETURN_IF(nd_reshape(src, dst->ndim, src->shape + drop, &lower));
    nd_status status = nd_broadcast_to(lower ? lower : src, dst->ndim, dst->shape, &wide);
    nd_release(lower);
    if (status != ND_OK || src->dtype == dst->dtype)
        return nd__hand_over(status, wide, out);
    status = nd__array_alloc(op, src->storage->device, dst->dtype, dst->ndim, dst->shape, &r);
    if (status == ND_OK)
        status = nd__copy_into(wide, r);
    nd_release(wide);
    return nd__hand_over(status, r, out);
}

static nd_status copy_to(const nd_array *src, const nd_array *dst, bool non_blocking)
{
    static const char op[] = "copy_to";
    nd_device *from = src->storage->device, *to = dst->storage->device;
    nd_array *moved = NULL;
    nd_status status;
    if (from == to || !non_blocking)
        return nd_assign(src, dst);
    if (src->dtype == dst->dtype && (src->flags & dst->flags & ND_FLAG_CONTIGUOUS) &&
        nd__same_shape(src->ndim, src->shape, dst->ndim, dst->shape))
        return nd__transfer(op, src, dst, true);
    if (dst->storage->host) {
        ND_RETURN_IF(prepare(op, src, dst, &moved));
        status = nd__transfer(op, moved, dst, true);
    } else {
        if (pinned_on(src, to))
            ND_RETURN_IF(upload(op, src, to, &moved));
        else
            ND_RETURN_IF(nd__array_alloc(op, to, src->dtype, src->ndim, src->shape, &moved));
        status = pinned_on(src, to) ? (nd_status)ND_OK : nd__transfer(op, src, moved, true);
        if (status == ND_OK)
            status = nd_assign(moved, dst);
    }
    nd_release(moved);
    return status;
}

nd_status nd_copy_to(const nd_array *src, const nd_array *dst, const nd_copy_opts *opts)
{
    nd_scope scope;
    ND_RETURN_IF(nd__check_array("copy_to", src, 0));
    ND_RETURN_IF(nd__check_writable("copy_to", dst, 1));
    if (opts && opts->size < NDP_END(nd_copy_opts, stream))
        return nd__fail(ND_ERR_ARGUMENT, "copy_to", 2,
                        "the options' size field is %u, not sizeof(nd_copy_opts)",
                        (unsigned)opts->size);
    ND_RETURN_IF(nd__check_assignable("copy_to", src, dst));
    nd_stream *stream = opts ? opts->stream : NULL;
    nd_device *queues = src->storage->device->async ? src->storage->device : dst->storage->device;
    ND_RETURN_IF(nd__scope_enter("copy_to", queues, stream, &scope));
    nd_status status = copy_to(src, dst, opts && opts->non_blocking);
    nd__scope_leave(&scope);
    return status;
}
