/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Host functions in stream order, on one thread of the plug-in: drivers forbid much in their own
 * callbacks. The stream goes on when the function has returned, by a user event. */
#include <stdlib.h>
#include "host/opencl.h"

typedef struct job job;
struct job {
    void (*fn)(void *arg);
    void *arg;
    cl_event finished;
    job *next;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static job *first, **last = &first;
static pthread_t thread;
static int running, stopping;

static void *work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!first && !stopping)
            pthread_cond_wait(&changed, &lock);
        job *j = first;
        if (!j)
            break;
        first = j->next;
        if (!first)
            last = &first;
        pthread_mutex_unlock(&lock);
        j->fn(j->arg);
        cl.clSetUserEventStatus(j->finished, CL_COMPLETE);
        cl.clReleaseEvent(j->finished);
        free(j);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void CL_CALLBACK hand_over(cl_event e, cl_int status, void *arg)
{
    job *j = arg;
    (void)e;
    (void)status; /* what the function frees is to be freed after a failure too */
    pthread_mutex_lock(&lock);
    j->next = NULL;
    *last = j;
    last = &j->next;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static int32_t need_thread(void)
{
    pthread_mutex_lock(&lock);
    int failed = running ? 0 : pthread_create(&thread, NULL, work, NULL);
    running = running || !failed;
    pthread_mutex_unlock(&lock);
    return failed ? ocl_error(NDP_ERR_MEMORY, "no thread can be started for host functions")
                  : NDP_OK;
}

/* Marker, function, and a barrier that the function's end opens. */
static cl_int put(ndp_dev *dev, ndp_stream *at, job *j)
{
    cl_event reached;
    cl_int r;
    j->finished = cl.clCreateUserEvent(dev->context, &r);
    if (r != CL_SUCCESS)
        return r;
    r = cl.clEnqueueMarkerWithWaitList(at->queue, 0, NULL, &reached);
    if (r == CL_SUCCESS) {
        cl_event finished = j->finished;
        cl.clRetainEvent(finished);
        r = cl.clSetEventCallback(reached, CL_COMPLETE, hand_over, j);
        if (r == CL_SUCCESS) /* the job is the thread's now */
            cl.clEnqueueBarrierWithWaitList(at->queue, 1, &finished, NULL);
        cl.clReleaseEvent(finished);
        cl.clReleaseEvent(reached);
    }
    if (r != CL_SUCCESS)
        cl.clReleaseEvent(j->finished);
    ocl_queued(at);
    return r;
}

int32_t ocl_launch_host(ndp_dev *dev, ndp_stream *s, void (*fn)(void *arg), void *arg)
{
    int32_t status = need_thread();
    job *j = status == NDP_OK ? calloc(1, sizeof *j) : NULL;
    if (!j)
        return status != NDP_OK
                   ? status
                   : ocl_error(NDP_ERR_MEMORY, "no host memory to queue a host function");
    j->fn = fn;
    j->arg = arg;
    cl_int r = put(dev, ocl_stream(dev, s), j);
    if (r != CL_SUCCESS)
        free(j);
    return ocl_fail(r, "queueing a host function on opencl:%u", dev->index);
}

void ocl_host_functions_stop(void)
{
    pthread_mutex_lock(&lock);
    int was = running;
    stopping = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    if (was)
        pthread_join(thread, NULL);
    pthread_mutex_lock(&lock);
    running = stopping = 0;
    pthread_mutex_unlock(&lock);
}
