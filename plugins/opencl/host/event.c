/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Events: a marker in a queue, made anew by each record. */
#include <stdlib.h>
#include "host/opencl.h"

struct ndp_event {
    ndp_dev *dev;
    pthread_mutex_t lock; /* of the marker */
    cl_event marker;      /* of the latest record, or NULL */
    uint64_t flags;
};

/* The marker of the latest record, with a reference of the caller's; NULL: there was none. */
static cl_event latest(ndp_event *e)
{
    pthread_mutex_lock(&e->lock);
    cl_event marker = e->marker;
    if (marker)
        cl.clRetainEvent(marker);
    pthread_mutex_unlock(&e->lock);
    return marker;
}

int32_t ocl_event_create(ndp_dev *dev, uint64_t flags, ndp_event **out)
{
    ndp_event *e = calloc(1, sizeof *e);
    *out = e;
    if (!e)
        return ocl_error(NDP_ERR_MEMORY, "no host memory for the record of an event");
    e->dev = dev;
    e->flags = flags;
    pthread_mutex_init(&e->lock, NULL);
    return NDP_OK;
}

void ocl_event_destroy(ndp_dev *dev, ndp_event *e)
{
    (void)dev;
    if (!e)
        return;
    if (e->marker)
        cl.clReleaseEvent(e->marker);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

int32_t ocl_event_record(ndp_dev *dev, ndp_event *e, ndp_stream *s)
{
    cl_event fresh, before;
    ndp_stream *at = ocl_stream(dev, s);
    cl_int r = cl.clEnqueueMarkerWithWaitList(at->queue, 0, NULL, &fresh);
    if (r != CL_SUCCESS)
        return ocl_fail(r, "recording an event on opencl:%u", dev->index);
    ocl_queued(at);
    pthread_mutex_lock(&e->lock);
    before = e->marker;
    e->marker = fresh;
    pthread_mutex_unlock(&e->lock);
    if (before)
        cl.clReleaseEvent(before);
    return NDP_OK;
}

static void CL_CALLBACK pass_on(cl_event e, cl_int status, void *user_event)
{
    (void)e;
    cl.clSetUserEventStatus(user_event, status < 0 ? status : CL_COMPLETE);
    cl.clReleaseEvent(user_event);
}

/* An event of our context that follows one of another device's. */
static cl_int follow(ndp_dev *dev, cl_event foreign, cl_event *out)
{
    cl_int r;
    cl_event ours = cl.clCreateUserEvent(dev->context, &r);
    if (r != CL_SUCCESS)
        return r;
    cl.clRetainEvent(ours);
    r = cl.clSetEventCallback(foreign, CL_COMPLETE, pass_on, ours);
    if (r != CL_SUCCESS) {
        cl.clReleaseEvent(ours);
        cl.clReleaseEvent(ours);
        return r;
    }
    *out = ours;
    return CL_SUCCESS;
}

int32_t ocl_event_wait(ndp_dev *dev, ndp_stream *s, ndp_event *e)
{
    ndp_stream *at = ocl_stream(dev, s);
    cl_event marker = latest(e), first = marker;
    cl_int r = CL_SUCCESS;
    if (!marker)
        return NDP_OK;
    if (e->dev != dev)
        r = follow(dev, marker, &first);
    if (r == CL_SUCCESS) {
        r = cl.clEnqueueBarrierWithWaitList(at->queue, 1, &first, NULL);
        if (first != marker)
            cl.clReleaseEvent(first);
        ocl_queued(at);
    }
    cl.clReleaseEvent(marker);
    return ocl_fail(r, "making a stream of opencl:%u wait for an event", dev->index);
}

int32_t ocl_event_query(ndp_dev *dev, ndp_event *e, int32_t *done)
{
    cl_event marker = latest(e);
    *done = 1;
    if (!marker)
        return NDP_OK;
    cl_int r = ocl_is_done(marker, done);
    cl.clReleaseEvent(marker);
    return ocl_fail(r, "looking at an event of opencl:%u", dev->index);
}

int32_t ocl_event_sync(ndp_dev *dev, ndp_event *e)
{
    cl_event marker = latest(e);
    if (!marker)
        return NDP_OK;
    cl_int r = cl.clWaitForEvents(1, &marker);
    cl.clReleaseEvent(marker);
    return ocl_fail(r, "waiting for an event of opencl:%u", dev->index);
}

static cl_int time_of(ndp_event *e, cl_ulong *ns)
{
    cl_event marker = latest(e);
    cl_int r = cl.clGetEventProfilingInfo(marker, CL_PROFILING_COMMAND_END, sizeof *ns, ns, NULL);
    cl.clReleaseEvent(marker);
    return r;
}

int32_t ocl_event_elapsed(ndp_dev *dev, ndp_event *start, ndp_event *stop, double *ms)
{
    cl_ulong from = 0, to = 0;
    ndp_event *const both[] = {start, stop};
    *ms = 0;
    for (int i = 0; i < 2; i++) {
        int32_t done, status;
        if (!(both[i]->flags & NDP_EVENT_TIMING))
            return ocl_error(NDP_ERR_NOT_TIMED, "the event was made without timing");
        if (!both[i]->marker)
            return ocl_error(NDP_ERR_NOT_RECORDED, "the event has not been recorded");
        if ((status = ocl_event_query(dev, both[i], &done)) != NDP_OK)
            return status;
        if (!done)
            return ocl_error(NDP_ERR_NOT_READY, "the event's work is not done yet");
    }
    cl_int r = time_of(start, &from);
    if (r == CL_SUCCESS)
        r = time_of(stop, &to);
    *ms = ((double)to - (double)from) * 1e-6;
    return ocl_fail(r, "timing between two events of opencl:%u", dev->index);
}
