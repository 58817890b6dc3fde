/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams and events: thin over the driver's. An ndp_stream is a CUstream, an ndp_event a CUevent.
 */
#include <stdlib.h>
#include "backend.h"

#define EVENT(e) ((CUevent)(void *)(e))

int32_t cuda_sync(ndp_dev *dev, ndp_stream *s)
{
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuStreamSynchronize(cuda_stream(dev, s));
    cuda_leave(&scope);
    return cuda_fail(r, "waiting for a stream of cuda:%u", dev->index);
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
    cuda_leave(&scope);
    *out = (ndp_stream *)(void *)stream;
    return cuda_fail(r, "creating a stream of cuda:%u", dev->index);
}

static void destroy(ndp_dev *dev, ndp_stream *s)
{
    cuda_scope scope;
    if (!s || cuda_enter(dev, &scope) != NDP_OK)
        return;
    cu.cuStreamDestroy(cuda_stream(dev, s));
    cuda_leave(&scope);
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
    CUresult r = cu.cuStreamQuery(cuda_stream(dev, s));
    cuda_leave(&scope);
    return answer(r, done, "looking at a stream", dev->index);
}

static int32_t wait_event(ndp_dev *dev, ndp_stream *s, ndp_event *e)
{
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuStreamWaitEvent(cuda_stream(dev, s), EVENT(e), 0);
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
    CUresult r = cu.cuEventRecord(EVENT(e), cuda_stream(dev, s));
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
    *handle = (uint64_t)(uintptr_t)cuda_stream(dev, s);
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
};
