/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How Python waits for a device: it asks whether the work is done, with the GIL released, and looks
 * for signals, so that Ctrl-C gets through within 100 ms and other threads go on. */
#define _POSIX_C_SOURCE 200809L
#include <sched.h>
#include <time.h>
#include "python/src/base/base.h"

enum {
    SPIN_NS = 50000,      /* short work is over before a sleep would be */
    SLEEP_NS = 1000000,   /* the longest pause between two looks ... */
    SHARE = 8,            /* ... and how much of the time waited so far one may take */
    SIGNALS_NS = 20000000 /* between two looks for signals */
};

typedef nd_status (*query_fn)(const void *what, int32_t *done);

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_after(int64_t waited)
{
    if (waited < SPIN_NS) {
        (void)sched_yield();
        return;
    }
    int64_t ns = waited / SHARE < SLEEP_NS ? waited / SHARE : SLEEP_NS;
    (void)nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

/* Asks until the work is done, or it is time to look for signals. */
static nd_status look(query_fn query, const void *what, int64_t start, int32_t *done)
{
    int64_t from = now_ns(), now = from;
    nd_status status;
    while ((status = query(what, done)) == ND_OK && !*done && now - from < SIGNALS_NS) {
        pause_after(now - start);
        now = now_ns();
    }
    return status;
}

/* Returns once the work is done, or where the call that follows is to say why it cannot wait. */
static int wait_until(py_state *st, query_fn query, const void *what)
{
    int32_t done = 0;
    nd_status status = ND_OK;
    if (nd_sync_watch() ==
        ND_SYNC_ERROR) /* the call that follows is to refuse before anything has waited */
        return 0;
    int64_t start = now_ns();
    while (status == ND_OK && !done) {
        PyThreadState *saved = PyEval_SaveThread();
        status = look(query, what, start, &done);
        PyEval_RestoreThread(saved);
        if (status == ND_OK && !done && PyErr_CheckSignals() < 0)
            return -1;
    }
    return status == ND_ERR_CAPTURE ? 0 : py_check(st, status);
}

static nd_status array_done(const void *a, int32_t *done)
{
    return nd_array_query(a, done);
}
static nd_status stream_done(const void *stream, int32_t *done)
{
    return nd_stream_query((nd_stream *)(uintptr_t)stream, done);
}
static nd_status event_done(const void *event, int32_t *done)
{
    return nd_event_query((nd_event *)(uintptr_t)event, done);
}
static nd_status device_done(const void *device, int32_t *done)
{
    return nd_device_query((nd_device *)(uintptr_t)device, done);
}

bool py_is_async(nd_device *device)
{
    nd_device_info info;
    nd_device_describe(device, &info);
    return info.async;
}

bool py_is_host(nd_device *device)
{
    nd_device_info info;
    nd_device_describe(device, &info);
    return info.host_visible;
}

int py_or_current(py_state *st, nd_device **device)
{
    return *device ? 0 : py_check(st, nd_device_current(device));
}

int py_wait_array(py_state *st, const nd_array *a)
{
    int32_t done = 0;
    if (py_never_waits(nd_device_of(a)) ||
        (!py_is_async(nd_device_of(a)) && nd_array_query(a, &done) == ND_OK && done))
        return 0;
    return wait_until(st, array_done, a);
}

/* The library's own wait finds nothing to wait for, but reports what went wrong, and is counted. */
int py_wait_stream(py_state *st, nd_stream *stream)
{
    if (py_is_async(nd_stream_device(stream)) && wait_until(st, stream_done, stream) < 0)
        return -1;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_stream_synchronize(stream);
    PyEval_RestoreThread(saved);
    return py_check(st, status);
}

int py_wait_event(py_state *st, nd_event *event)
{
    if (wait_until(st, event_done, event) < 0)
        return -1;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_event_synchronize(event);
    PyEval_RestoreThread(saved);
    return py_check(st, status);
}

int py_wait_device(py_state *st, nd_device *device)
{
    if (py_or_current(st, &device) < 0)
        return -1;
    if (py_is_async(device) && wait_until(st, device_done, device) < 0)
        return -1;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_synchronize(device);
    PyEval_RestoreThread(saved);
    return py_check(st, status);
}
