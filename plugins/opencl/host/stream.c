/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams: in-order command queues. Every command is flushed, since another queue may wait for it.
 */
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

static void drop_order(ocl_order *o)
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

static int32_t stream_init(ndp_dev *dev, cl_command_queue queue, int foreign, ndp_stream *s)
{
    pthread_mutex_lock(&orders_lock);
    s->order = find_order(queue, foreign);
    pthread_mutex_unlock(&orders_lock);
    s->dev = dev;
    s->queue = queue;
    return s->order ? NDP_OK
                    : ocl_error(NDP_ERR_MEMORY, "no host memory for the record of a queue");
}

int32_t ocl_stream_init(ndp_dev *dev, cl_command_queue queue, ndp_stream *s)
{
    return stream_init(dev, queue, 0, s);
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

static int32_t new_stream(ndp_dev *dev, cl_command_queue queue, int foreign, ndp_stream **out)
{
    ndp_stream *s = calloc(1, sizeof *s);
    if (!s)
        return ocl_error(NDP_ERR_MEMORY, "no host memory for the record of a stream");
    int32_t status = stream_init(dev, queue, foreign, s);
    if (status != NDP_OK) {
        free(s);
        return status;
    }
    *out = s;
    return NDP_OK;
}

static int32_t create(ndp_dev *dev, int32_t priority, uint64_t flags, ndp_stream **out)
{
    cl_int r;
    (void)priority; /* there is one */
    (void)flags;
    *out = NULL;
    cl_command_queue queue =
        cl.clCreateCommandQueue(dev->context, dev->facts.id, CL_QUEUE_PROFILING_ENABLE, &r);
    if (r != CL_SUCCESS)
        return ocl_fail(r, "making a stream of opencl:%u", dev->index);
    int32_t status = new_stream(dev, queue, 0, out);
    if (status != NDP_OK)
        cl.clReleaseCommandQueue(queue);
    return status;
}

static int32_t wrap(ndp_dev *dev, uint64_t handle, ndp_stream **out)
{
    cl_command_queue queue = (cl_command_queue)(uintptr_t)handle;
    cl_device_id id = NULL;
    cl_context context = NULL;
    *out = NULL;
    if (!queue)
        return ocl_error(NDP_ERR_ARGUMENT, "0 is no cl_command_queue");
    if (cl.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL) != CL_SUCCESS ||
        cl.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) !=
            CL_SUCCESS)
        return ocl_error(NDP_ERR_ARGUMENT, "0x%llx is no cl_command_queue",
                         (unsigned long long)handle);
    if (id != dev->facts.id || context != dev->context)
        return ocl_error(NDP_ERR_DEVICE,
                         "the queue is not of the context of opencl:%u; make it from the context "
                         "of a native stream of that device",
                         dev->index);
    cl.clRetainCommandQueue(queue);
    int32_t status = new_stream(dev, queue, 1, out);
    if (status != NDP_OK)
        cl.clReleaseCommandQueue(queue);
    return status;
}

/* The driver keeps the queue until its commands are done. */
static void destroy(ndp_dev *dev, ndp_stream *s)
{
    (void)dev;
    if (!s)
        return;
    cl.clFlush(s->queue);
    drop_order(s->order);
    cl.clReleaseCommandQueue(s->queue);
    free(s);
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

static int32_t query(ndp_dev *dev, ndp_stream *s, int32_t *done)
{
    ocl_order *o = ocl_stream(dev, s)->order;
    pthread_mutex_lock(&o->lock);
    cl_int r = look(o, done);
    pthread_mutex_unlock(&o->lock);
    return ocl_fail(r, "looking at a stream of opencl:%u", dev->index);
}

static int32_t priority_range(ndp_dev *dev, int32_t *lowest, int32_t *highest)
{
    (void)dev;
    *lowest = *highest = 0;
    return NDP_OK;
}

static int32_t native(ndp_dev *dev, ndp_stream *s, uint64_t *handle)
{
    *handle = (uint64_t)(uintptr_t)ocl_stream(dev, s)->queue;
    return NDP_OK;
}

const ndp_stream_1 ocl_stream_group = {
    .size = sizeof(ndp_stream_1),
    .create = create,
    .destroy = destroy,
    .query = query,
    .sync = ocl_sync,
    .wait = ocl_event_wait,
    .event_create = ocl_event_create,
    .event_destroy = ocl_event_destroy,
    .event_record = ocl_event_record,
    .event_query = ocl_event_query,
    .event_sync = ocl_event_sync,
    .event_elapsed = ocl_event_elapsed,
    .priority_range = priority_range,
    .native = native,
    .wrap = wrap,
    .launch_host = ocl_launch_host,
};
