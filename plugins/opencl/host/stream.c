/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams: in-order command queues, and the group with their events and host functions. */
#include <stdlib.h>
#include "host/opencl.h"

static int32_t new_stream(ndp_dev *dev, cl_command_queue queue, int foreign, ndp_stream **out)
{
    ndp_stream *s = calloc(1, sizeof *s);
    if (!s)
        return ocl_error(NDP_ERR_MEMORY, "no host memory for the record of a stream");
    int32_t status = ocl_stream_init(dev, queue, foreign, s);
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
    ocl_order_drop(s->order);
    cl.clReleaseCommandQueue(s->queue);
    free(s);
}

static int32_t query(ndp_dev *dev, ndp_stream *s, int32_t *done)
{
    return ocl_fail(ocl_order_look(ocl_stream(dev, s)->order, done),
                    "looking at a stream of opencl:%u", dev->index);
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
