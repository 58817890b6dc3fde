/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What is known of a command queue: how many of its commands were queued and are done. Every command
 * is flushed, since another queue may wait for it. */
#include <stdlib.h>
#include "host/opencl.h"

struct ocl_order {
    cl_command_queue queue;
    int streams, foreign;               /* that use it; commands that are not ours may come */
    pthread_mutex_t lock;               /* of what follows */
    uint64_t queued, finished, covered; /* commands; known to be done; before the marker */
    cl_event marker;                    /* or NULL */
    ocl_order *next;
};
static ocl_order *orders;
static pthread_mutex_t orders_lock = PTHREAD_MUTEX_INITIALIZER;

/* A wrapper of a queue of ours goes by the same record. */
static ocl_order *find_order(cl_command_queue queue, int foreign)
{
    ocl_order *o = orders;
    while (o && o->queue != queue)
        o = o->next;
    if (!o && (o = calloc(1, sizeof *o)) != NULL) {
        o->queue = queue;
        o->foreign = foreign;
        pthread_mutex_init(&o->lock, NULL);
        o->next = orders;
        orders = o;
    }
    if (o)
        o->streams++;
    return o;
}

void ocl_order_drop(ocl_order *o)
{
    ocl_order **at = &orders;
    pthread_mutex_lock(&orders_lock);
    if (--o->streams == 0) {
        while (*at != o)
            at = &(*at)->next;
        *at = o->next;
        if (o->marker)
            cl.clReleaseEvent(o->marker);
        pthread_mutex_destroy(&o->lock);
        free(o);
    }
    pthread_mutex_unlock(&orders_lock);
}

int32_t ocl_stream_init(ndp_dev *dev, cl_command_queue queue, int foreign, ndp_stream *s)
{
    pthread_mutex_lock(&orders_lock);
    s->order = find_order(queue, foreign);
    pthread_mutex_unlock(&orders_lock);
    s->dev = dev;
    s->queue = queue;
    return s->order ? NDP_OK
                    : ocl_error(NDP_ERR_MEMORY, "no host memory for the record of a queue");
}

void ocl_queued(ndp_stream *s)
{
    pthread_mutex_lock(&s->order->lock);
    s->order->queued++;
    pthread_mutex_unlock(&s->order->lock);
    cl.clFlush(s->queue);
}

static uint64_t queued_now(ocl_order *o)
{
    pthread_mutex_lock(&o->lock);
    uint64_t n = o->queued;
    pthread_mutex_unlock(&o->lock);
    return n;
}

static void finished_until(ocl_order *o, uint64_t n)
{
    pthread_mutex_lock(&o->lock);
    if (n > o->finished)
        o->finished = n;
    pthread_mutex_unlock(&o->lock);
}

/* What a failed command leaves is told here, once; a queue that is gone is the device's end. */
int32_t ocl_sync(ndp_dev *dev, ndp_stream *s)
{
    ndp_stream *at = ocl_stream(dev, s);
    uint64_t n = queued_now(at->order);
    cl_int r = cl.clFinish(at->queue);
    if (r == CL_SUCCESS) {
        finished_until(at->order, n);
        return NDP_OK;
    }
    return ocl_host->error(
        ocl_host->ctx, r == CL_INVALID_COMMAND_QUEUE ? NDP_ERR_LOST : NDP_ERR_ASYNC, r,
        "waiting for a stream of opencl:%u: %s (%d)", dev->index, ocl_error_name(r), (int)r);
}

cl_int ocl_is_done(cl_event e, int32_t *done)
{
    cl_int state = CL_QUEUED;
    cl_int r = cl.clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    *done = r == CL_SUCCESS && state == CL_COMPLETE;
    return r == CL_SUCCESS && state < 0 ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : r;
}

/* A marker stands for all that was queued before it. */
static cl_int put_marker(ocl_order *o)
{
    cl_event fresh;
    cl_int r = cl.clEnqueueMarkerWithWaitList(o->queue, 0, NULL, &fresh);
    if (r != CL_SUCCESS)
        return r;
    if (o->marker)
        cl.clReleaseEvent(o->marker);
    o->marker = fresh;
    o->covered = o->queued;
    return cl.clFlush(o->queue);
}

/* While one marker is not reached another would tell nothing more. A queue of somebody else's may
 * have had work since, so that it needs a new one each time, which an idle queue reaches at once.
 */
static cl_int look(ocl_order *o, int32_t *done)
{
    enum { LOOKS = 1000 };
    cl_int r = CL_SUCCESS;
    *done = !o->foreign && o->finished == o->queued;
    if (*done)
        return CL_SUCCESS;
    if (o->marker) {
        r = ocl_is_done(o->marker, done);
        if (r != CL_SUCCESS || !*done)
            return r;
    }
    if (!o->marker || o->foreign || o->covered != o->queued)
        r = put_marker(o);
    for (int i = 0; i < LOOKS && r == CL_SUCCESS; i++) {
        r = ocl_is_done(o->marker, done);
        if (*done)
            o->finished = o->covered;
        if (*done || !o->foreign)
            break;
    }
    return r;
}

cl_int ocl_order_look(ocl_order *o, int32_t *done)
{
    pthread_mutex_lock(&o->lock);
    cl_int r = look(o, done);
    pthread_mutex_unlock(&o->lock);
    return r;
}
