/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams and events: thin over the driver's. An ndp_event is a CUevent. */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "host/backend.h"

#define EVENT(e) ((CUevent)(void *)(e))

/* Whatever is queued from now on makes the stream busy again. A failed wait leaves it busy. */
int32_t cuda_sync(ndp_dev *dev, ndp_stream *s)
{
    cuda_scope scope;
    ndp_stream *at = s ? s : &dev->own;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    int was_busy = atomic_exchange(&at->busy, 0);
    CUresult r = cu.cuStreamSynchronize(at->handle);
    if (was_busy && (r == CUDA_SUCCESS || atomic_exchange(&at->busy, 1)))
        atomic_fetch_sub(&cuda_busy_streams, 1);
    cuda_leave(&scope);
    return r == CUDA_SUCCESS ? cuda_stream_look(at->handle)
                             : cuda_fail(r, "waiting for a stream of cuda:%u", dev->index);
}

static int32_t new_stream(CUstream handle, int wrapped, ndp_stream **out)
{
    ndp_stream *s = calloc(1, sizeof *s);
    if (!s)
        return cuda_error(NDP_ERR_MEMORY, "no host memory for the record of a stream");
    s->handle = handle;
    s->wrapped = wrapped;
    *out = s;
    return NDP_OK;
}

static int32_t create(ndp_dev *dev, int32_t priority, uint64_t flags, ndp_stream **out)
{
    cuda_scope scope;
    CUstream stream = NULL;
    (void)flags;
    *out = NULL;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, priority);
    status = cuda_fail(r, "creating a stream of cuda:%u", dev->index);
    if (status == NDP_OK && (status = new_stream(stream, 0, out)) != NDP_OK)
        cu.cuStreamDestroy(stream);
    cuda_leave(&scope);
    return status;
}

/* Whether the process has 8 readable bytes there. The kernel copies the mask before it finds that
 * there is no such way of changing masks, so nothing changes and nothing faults (as Abseil's
 * AddressIsReadable does). */
static int is_readable(uint64_t address)
{
    const int kept = errno;
    const long no_such_way = -1;
    errno = 0;
    (void)syscall(SYS_rt_sigprocmask, no_such_way, (const void *)(uintptr_t)address, NULL, 8L);
    const int readable = errno != EFAULT;
    errno = kept;
    return readable;
}

/* The driver follows a handle without a look, and a number that is none ends the process there. It
 * has no call that only asks; its handles are addresses of records of its own, so that a number
 * that cannot be one is found here. Another readable address cannot be told from a stream. */
static int32_t check_handle(uint64_t handle)
{
    if (handle % sizeof(void *) == 0 && is_readable(handle))
        return NDP_OK;
    return cuda_error(NDP_ERR_ARGUMENT,
                      "0x%llx is no CUstream: %s; the handle of a stream is what its library calls "
                      "so (torch: s.cuda_stream, CuPy: s.ptr), and 1 and 2 are the default streams",
                      (unsigned long long)handle,
                      handle % sizeof(void *) ? "it is no aligned address"
                                              : "no memory of the process is there");
}

static int32_t check_context(const ndp_dev *dev, CUstream stream)
{
    cuda_scope scope;
    CUcontext context = NULL;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuStreamGetCtx(stream, &context);
    cuda_leave(&scope);
    if (r != CUDA_SUCCESS)
        return cuda_fail(r, "looking at the stream to wrap");
    return context == dev->context
               ? NDP_OK
               : cuda_error(NDP_ERR_DEVICE,
                            "stream 0x%llx is not of the primary context of cuda:%u; wrap it on "
                            "the device that it was made on",
                            (unsigned long long)(uintptr_t)stream, dev->index);
}

static int32_t wrap(ndp_dev *dev, uint64_t handle, ndp_stream **out)
{
    CUstream stream = (CUstream)(uintptr_t)handle;
    *out = NULL;
    if (handle == 0)
        return cuda_error(NDP_ERR_ARGUMENT,
                          "stream 0 means different streams to different programs; 1 is the legacy "
                          "default stream, 2 the thread's own default one");
    int32_t status = handle > 2 ? check_handle(handle) : NDP_OK;
    if (status == NDP_OK && handle > 2)
        status = check_context(dev, stream);
    return status == NDP_OK ? new_stream(stream, 1, out) : status;
}

static void destroy(ndp_dev *dev, ndp_stream *s)
{
    cuda_scope scope;
    if (s && !s->wrapped && cuda_enter(dev, &scope) == NDP_OK) {
        cuda_stream_forget(s->handle);
        cu.cuStreamDestroy(s->handle);
        cuda_leave(&scope);
    }
    free(s);
}

static int32_t launch_host(ndp_dev *dev, ndp_stream *s, void (*fn)(void *arg), void *arg)
{
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuLaunchHostFunc(cuda_stream(dev, s), fn, arg);
    cuda_leave(&scope);
    return cuda_fail(r, "queueing a host function on cuda:%u", dev->index);
}

/* Not being done is an answer, no failure. */
static int32_t answer(CUresult r, int32_t *done, const char *what, uint32_t index)
{
    *done = r == CUDA_SUCCESS;
    return r == CUDA_ERROR_NOT_READY ? NDP_OK : cuda_fail(r, "%s of cuda:%u", what, index);
}

static int32_t query(ndp_dev *dev, ndp_stream *s, int32_t *done)
{
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuStreamQuery(cuda_stream_handle(dev, s));
    cuda_leave(&scope);
    return answer(r, done, "looking at a stream", dev->index);
}

static int32_t wait_event(ndp_dev *dev, ndp_stream *s, ndp_event *e)
{
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuStreamWaitEvent(cuda_stream_handle(dev, s), EVENT(e), 0);
    cuda_leave(&scope);
    return cuda_fail(r, "making a stream of cuda:%u wait for an event", dev->index);
}

static int32_t event_create(ndp_dev *dev, uint64_t flags, ndp_event **out)
{
    cuda_scope scope;
    CUevent e = NULL;
    unsigned native = flags & NDP_EVENT_TIMING ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING;
    native |= flags & NDP_EVENT_BLOCKING ? CU_EVENT_BLOCKING_SYNC : 0;
    native |= flags & NDP_EVENT_INTERPROCESS ? CU_EVENT_INTERPROCESS : 0;
    *out = NULL;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuEventCreate(&e, native);
    cuda_leave(&scope);
    *out = (ndp_event *)(void *)e;
    return cuda_fail(r, "creating an event of cuda:%u", dev->index);
}

static void event_destroy(ndp_dev *dev, ndp_event *e)
{
    cuda_scope scope;
    if (!e || cuda_enter(dev, &scope) != NDP_OK)
        return;
    cu.cuEventDestroy(EVENT(e));
    cuda_leave(&scope);
}

static int32_t event_record(ndp_dev *dev, ndp_event *e, ndp_stream *s)
{
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuEventRecord(EVENT(e), cuda_stream_handle(dev, s));
    cuda_leave(&scope);
    return cuda_fail(r, "recording an event on cuda:%u", dev->index);
}

static int32_t event_query(ndp_dev *dev, ndp_event *e, int32_t *done)
{
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuEventQuery(EVENT(e));
    cuda_leave(&scope);
    return answer(r, done, "looking at an event", dev->index);
}

static int32_t event_sync(ndp_dev *dev, ndp_event *e)
{
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuEventSynchronize(EVENT(e));
    cuda_leave(&scope);
    return cuda_fail(r, "waiting for an event of cuda:%u", dev->index);
}

static int32_t event_elapsed(ndp_dev *dev, ndp_event *start, ndp_event *stop, double *ms)
{
    cuda_scope scope;
    float elapsed = 0;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuEventElapsedTime(&elapsed, EVENT(start), EVENT(stop));
    cuda_leave(&scope);
    *ms = elapsed;
    return cuda_fail(r, "timing between two events of cuda:%u", dev->index);
}

static int32_t priority_range(ndp_dev *dev, int32_t *lowest, int32_t *highest)
{
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuCtxGetStreamPriorityRange(lowest, highest);
    cuda_leave(&scope);
    return cuda_fail(r, "asking cuda:%u for its stream priorities", dev->index);
}

static int32_t native(ndp_dev *dev, ndp_stream *s, uint64_t *handle)
{
    *handle = (uint64_t)(uintptr_t)cuda_stream_handle(dev, s);
    return NDP_OK;
}

const ndp_stream_1 cuda_stream_group = {
    .size = sizeof(ndp_stream_1),
    .create = create,
    .destroy = destroy,
    .query = query,
    .sync = cuda_sync,
    .wait = wait_event,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_sync = event_sync,
    .event_elapsed = event_elapsed,
    .priority_range = priority_range,
    .native = native,
    .wrap = wrap,
    .launch_host = launch_host,
};
