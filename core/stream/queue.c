/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Queueing work on streams: notes of it, launch blocking, copies, bytes from the host, host
 * functions. */
#include <stdlib.h>
#include "core/stream/tape.h"
#include "core/base/env.h"

/* ---- notes of what was queued ---- */
static void note(nd_stream *s, const char *name, const ndp_view *like)
{
    nd_op_record *r = &s->ring[++s->seq % ND_RING];
    r->seq = s->seq;
    r->name = name;
    r->dtype = like ? like->dtype : 0;
    r->ndim = like ? like->ndim : -1;
    for (int d = 0; d < 4 && d < r->ndim; d++)
        r->shape[d] = like->shape[d];
    const nd_thread *t = nd__self;
    if (t && t->n_tags)
        memcpy(r->tag, t->tags[t->n_tags - 1], ND_TAG_SIZE);
    else
        r->tag[0] = 0;
}

/* ---- launch blocking ---- */
static atomic_int launch_blocking = -1;

int32_t nd_launch_blocking(void)
{
    int now = atomic_load_explicit(&launch_blocking, memory_order_relaxed);
    if (now >= 0)
        return now;
    const char *cuda = nd__getenv("CUDA_LAUNCH_BLOCKING");
    now = nd__env(ND_ENV_LAUNCH_BLOCKING) ? nd__env_bool(ND_ENV_LAUNCH_BLOCKING)
                                          : cuda && strcmp(cuda, "0") != 0;
    atomic_store(&launch_blocking, now);
    return now;
}

void nd_launch_blocking_set(int32_t on)
{
    atomic_store(&launch_blocking, on != 0);
}

static nd_status wait_for_launch(nd_stream *s, const char *name)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (!nd__capture_id(s) && !nd__capture_forbids(s->device))
        return nd__wait_now(s, name);
    if (!atomic_flag_test_and_set(&told))
        nd__log(ND_LOG_WARN, "NDOCK_LAUNCH_BLOCKING is ignored while a stream is being captured");
    return ND_OK;
}

/* ---- queueing ---- */
/* Work that no tape can hold would run now, though its stream is being captured. */
static nd_status refuse_recorded(nd_stream *s, const char *name)
{
    return nd__is_recorded(s)
               ? nd__refuse_capture(s, name, "do it before the capture begins or after it ends")
               : (nd_status)ND_OK;
}

nd_status nd__queue_begin(nd_stream *s, const char *name, const ndp_view *like)
{
    ND_RETURN_IF(nd__usable(s->device, name));
    if (nd__captures_now())
        ND_RETURN_IF(refuse_recorded(s, name));
    if (nd_launch_blocking() && !nd__capture_id(s) &&
        !nd__capture_forbids(s->device)) /* refused before there is anything to wait for */
        ND_RETURN_IF(nd__may_wait(ND_WAIT_LAUNCH_BLOCKING, s->device, name));
    pthread_mutex_lock(&s->lock);
    note(s, name, like);
    return ND_OK;
}

nd_status nd__queue_end(nd_stream *s, const char *name, nd_status status)
{
    status = nd__fault(s, name, status);
    pthread_mutex_unlock(&s->lock);
    return status == ND_OK && nd_launch_blocking() ? wait_for_launch(s, name) : status;
}

nd_status nd__queue_copy(nd_stream *s, const char *op, ndp_mem *dst, uint64_t dst_offset,
                         ndp_mem *src, uint64_t src_offset, uint64_t nbytes)
{
    nd_device *d = s->device;
    nd_tape *tape = nd__captures_now() ? nd__tape_of(s) : NULL;
    const uint64_t first = tape ? nd__tape_native_nodes(tape, s) : 0;
    if (tape && !tape->native)
        return nd__tape_copy(tape, s, op, first, dst, dst_offset, src, src_offset, nbytes);
    if (nd__hazards_now()) {
        ND_RETURN_IF(nd__hazard_bytes(s, src, src_offset, nbytes, false, op));
        ND_RETURN_IF(nd__hazard_bytes(s, dst, dst_offset, nbytes, true, op));
    }
    ND_RETURN_IF(nd__queue_begin(s, op, NULL));
    ND_RETURN_IF(nd__queue_end(
        s, op, d->p.copy(d->dev, s->handle, dst, dst_offset, src, src_offset, nbytes)));
    if (tape)
        ND_RETURN_IF(nd__tape_copy(tape, s, op, first, dst, dst_offset, src, src_offset, nbytes));
    return nd__follow(s, (ndp_mem *const[]){dst, src}, 2);
}

/* ---- bytes from the host ---- */
nd_status nd__write(nd_device *d, const char *op, int32_t reason, ndp_mem *mem, uint64_t offset,
                    const void *src, uint64_t nbytes)
{
    nd_stream *s = nd__stream(d);
    ND_RETURN_IF(nd__usable(d, op));
    if (!s) {
        ND_RETURN_IF(nd__refuse_capture(nd__stream_current(d), op, ND_PINNED_ADVICE));
        nd_status status = d->p.write(d->dev, NULL, mem, offset, src, nbytes);
        if (status != ND_OK)
            nd__error_context(op, d->name, d->slot->name);
        return status;
    }
    const bool first = reason == ND_WAIT_FIRST_USE;
    ND_RETURN_IF(nd__refuse_capture(
        s, op, first ? "run it once on this stream before the capture" : ND_PINNED_ADVICE));
    ND_RETURN_IF(nd__may_wait(reason, d, op));
    if (nd__hazards_now())
        ND_RETURN_IF(nd__hazard_bytes(s, mem, offset, nbytes, true, op));
    ND_RETURN_IF(nd__queue_begin(s, op, NULL));
    ND_RETURN_IF(nd__queue_end(s, op, d->p.write(d->dev, s->handle, mem, offset, src, nbytes)));
    return nd__follow(s, &mem, 1);
}

/* ---- host functions ---- */
typedef struct {
    void (*fn)(void *ctx);
    void *ctx;
    bool captured; /* the graph's, which may run it again */
} host_task;

static void run_host_task(void *arg)
{
    host_task *task = arg;
    nd_thread *t = nd__thread();
    bool before = t && t->in_host_function;
    if (t)
        t->in_host_function = true;
    task->fn(task->ctx);
    if (t)
        t->in_host_function = before;
    if (!task->captured)
        free(task);
}

/* Queued, the task frees itself, whatever else the call returns. */
static nd_status queue_host_task(nd_stream *s, const char *op, host_task *task)
{
    nd_device *d = s->device;
    nd_tape *tape = task->captured ? nd__tape_of(s) : NULL;
    if (tape)
        ND_RETURN_IF(nd__tape_host(tape, s, op, run_host_task, task));
    if (tape && !tape->native)
        return ND_OK;
    nd_status status = nd__queue_begin(s, op, NULL);
    if (status == ND_OK) {
        nd_status queued = d->stream.launch_host(d->dev, s->handle, run_host_task, task);
        status = nd__queue_end(s, op, queued);
        if (queued == ND_OK)
            return status;
    }
    if (!task->captured)
        free(task);
    return status;
}

nd_status nd_stream_launch_host(nd_stream *s, void (*fn)(void *ctx), void *ctx)
{
    static const char op[] = "stream_launch_host";
    if (!s || !fn)
        return nd__fail(ND_ERR_ARGUMENT, op, !s ? 0 : 1, "%s is NULL",
                        !s ? "the stream" : "the function");
    nd_device *d = s->device;
    host_task *task = malloc(sizeof *task);
    if (!task)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for a host function");
    *task = (host_task){fn, ctx, nd__capture_id(s) != 0};
    nd_status status = task->captured ? nd__capture_keep(s, op, free, task) : (nd_status)ND_OK;
    if (status == ND_OK && (task->captured || (d->async && d->has_stream && d->stream.launch_host)))
        return queue_host_task(s, op, task);
    if (status == ND_OK)
        status = nd__wait(s, ND_WAIT_STAGING, op);
    if (status == ND_OK)
        run_host_task(task);
    else
        free(task);
    return status;
}
