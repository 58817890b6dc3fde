/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Device memory: one OpenCL buffer a block, and copies at any offset. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "host/opencl.h"

enum { SMALL_WRITE = 64 << 10 }; /* bytes that are copied, so that the caller need not wait */

int32_t ocl_alloc(ndp_dev *dev, uint64_t nbytes, ndp_mem **out)
{
    const ocl_facts *f = &dev->facts;
    uint64_t used = atomic_load(&dev->allocated);
    cl_int r = CL_SUCCESS;
    *out = NULL;
    nbytes = nbytes ? nbytes : 1;
    if (nbytes > f->max_alloc)
        return ocl_error(NDP_ERR_MEMORY,
                         "%llu bytes are more than opencl:%u gives in one block, %llu",
                         (unsigned long long)nbytes, dev->index, (unsigned long long)f->max_alloc);
    /* Drivers that allocate at first use would fail there, where nothing can be said of it. */
    if (nbytes > f->memory || used > f->memory - nbytes)
        return ocl_error(NDP_ERR_MEMORY,
                         "opencl:%u has %llu bytes, of which ndock uses %llu: no room for %llu",
                         dev->index, (unsigned long long)f->memory, (unsigned long long)used,
                         (unsigned long long)nbytes);
    ndp_mem *mem = calloc(1, sizeof *mem);
    if (!mem)
        return ocl_error(NDP_ERR_MEMORY, "no host memory for the record of a block");
    mem->nbytes = nbytes;
    mem->buffer = cl.clCreateBuffer(dev->context, CL_MEM_READ_WRITE, nbytes, NULL, &r);
    if (r != CL_SUCCESS) {
        free(mem);
        return ocl_host->error(ocl_host->ctx, NDP_ERR_MEMORY, r,
                               "allocating %llu bytes on opencl:%u: %s (%d)",
                               (unsigned long long)nbytes, dev->index, ocl_error_name(r), (int)r);
    }
    atomic_fetch_add(&dev->allocated, nbytes);
    *out = mem;
    return NDP_OK;
}

void ocl_free(ndp_dev *dev, ndp_mem *mem)
{
    if (!mem)
        return;
    atomic_fetch_sub(&dev->allocated, mem->nbytes);
    cl.clReleaseMemObject(mem->buffer);
    free(mem);
}

static int32_t check_range(const ndp_dev *dev, const ndp_mem *mem, uint64_t offset, uint64_t nbytes)
{
    if (offset <= mem->nbytes && nbytes <= mem->nbytes - offset)
        return NDP_OK;
    return ocl_error(NDP_ERR_ARGUMENT,
                     "bytes %llu to %llu are not all within a block of opencl:%u that has %llu",
                     (unsigned long long)offset, (unsigned long long)(offset + nbytes), dev->index,
                     (unsigned long long)mem->nbytes);
}

typedef struct {
    ndp_dev *dev;
    char bytes[];
} host_copy;

static void CL_CALLBACK forget(cl_event e, cl_int status, void *arg)
{
    host_copy *copy = arg;
    ndp_dev *dev = copy->dev;
    (void)e;
    (void)status;
    free(copy);
    atomic_fetch_sub(&dev->copies, 1);
}

void ocl_copies_wait(ndp_dev *dev)
{
    const struct timespec pause = {0, 50000};
    for (int i = 0; i < 20000 && atomic_load(&dev->copies) > 0; i++)
        nanosleep(&pause,
                  NULL); /* callbacks come soon after their commands, on the driver's threads */
}

/* The caller's memory is free on return: the command has a copy. */
static int32_t write_small(ndp_dev *dev, ndp_stream *at, ndp_mem *mem, uint64_t offset,
                           const void *src, uint64_t nbytes)
{
    cl_event done;
    host_copy *copy = malloc(sizeof *copy + nbytes);
    if (!copy)
        return ocl_error(NDP_ERR_MEMORY, "no host memory for a copy of %llu bytes",
                         (unsigned long long)nbytes);
    copy->dev = dev;
    memcpy(copy->bytes, src, nbytes);
    cl_int r = cl.clEnqueueWriteBuffer(at->queue, mem->buffer, CL_FALSE, offset, nbytes,
                                       copy->bytes, 0, NULL, &done);
    if (r != CL_SUCCESS) {
        free(copy);
        return ocl_fail(r, "writing to opencl:%u", dev->index);
    }
    atomic_fetch_add(&dev->copies, 1);
    if (cl.clSetEventCallback(done, CL_COMPLETE, forget, copy) != CL_SUCCESS) {
        cl.clWaitForEvents(1, &done);
        forget(done, CL_COMPLETE, copy);
    }
    cl.clReleaseEvent(done);
    ocl_queued(at);
    return NDP_OK;
}

int32_t ocl_write(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset, const void *src,
                  uint64_t nbytes)
{
    ndp_stream *at = ocl_stream(dev, s);
    int32_t status = check_range(dev, mem, offset, nbytes);
    if (status != NDP_OK || nbytes == 0)
        return status;
    if (nbytes <= SMALL_WRITE)
        return write_small(dev, at, mem, offset, src, nbytes);
    cl_int r = cl.clEnqueueWriteBuffer(at->queue, mem->buffer, CL_TRUE, offset, nbytes, src, 0,
                                       NULL, NULL);
    return ocl_fail(r, "writing %llu bytes to opencl:%u", (unsigned long long)nbytes, dev->index);
}

int32_t ocl_read(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset, void *dst,
                 uint64_t nbytes)
{
    ndp_stream *at = ocl_stream(dev, s);
    int32_t status = check_range(dev, mem, offset, nbytes);
    if (status != NDP_OK)
        return status;
    if (nbytes == 0)
        return ocl_sync(dev, s);
    cl_int r =
        cl.clEnqueueReadBuffer(at->queue, mem->buffer, CL_TRUE, offset, nbytes, dst, 0, NULL, NULL);
    return ocl_fail(r, "reading %llu bytes from opencl:%u", (unsigned long long)nbytes, dev->index);
}

int32_t ocl_copy(ndp_dev *dev, ndp_stream *s, ndp_mem *dst, uint64_t dst_offset, ndp_mem *src,
                 uint64_t src_offset, uint64_t nbytes)
{
    ndp_stream *at = ocl_stream(dev, s);
    int32_t status = check_range(dev, dst, dst_offset, nbytes);
    if (status == NDP_OK)
        status = check_range(dev, src, src_offset, nbytes);
    if (status != NDP_OK || nbytes == 0)
        return status;
    cl_int r = cl.clEnqueueCopyBuffer(at->queue, src->buffer, dst->buffer, src_offset, dst_offset,
                                      nbytes, 0, NULL, NULL);
    if (r == CL_SUCCESS)
        ocl_queued(at);
    return ocl_fail(r, "copying %llu bytes on opencl:%u", (unsigned long long)nbytes, dev->index);
}

/* OpenCL tells only what there is in all; other programs' share is unknown. */
static int32_t usage(ndp_dev *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
    uint64_t used = atomic_load(&dev->allocated);
    *total_bytes = dev->facts.memory;
    *free_bytes = used < dev->facts.memory ? dev->facts.memory - used : 0;
    return NDP_OK;
}

const ndp_memory_1 ocl_memory_group = {.size = sizeof(ndp_memory_1), .usage = usage};
