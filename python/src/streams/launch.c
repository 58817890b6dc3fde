/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Functions of Python in stream order: a thread of the device calls them. */
#include <stdlib.h>
#include "python/src/streams/streams.h"

typedef struct {
    PyObject *function, *args;
    bool captured; /* it is called with each launch of a graph, which frees it */
} host_call;

/* The library calls this on a thread of the device, or one that waits, without a lock of its own. A
 * function that cannot be called any more is left to the end of the process. */
static void call_host(void *ctx)
{
    host_call *c = ctx;
    PyGILState_STATE gil;
    if (!py_enter(&gil))
        return;
    py_exception pending = py_put_aside();
    PyObject *answer = PyObject_CallObject(c->function, c->args);
    if (!answer)
        PyErr_WriteUnraisable(c->function);
    Py_XDECREF(answer);
    const bool captured = c->captured;
    if (!captured) {
        Py_DECREF(c->function);
        Py_DECREF(c->args);
    }
    py_bring_back(pending);
    py_leave(gil);
    if (!captured)
        free(c);
}

static void free_call(void *ctx)
{
    host_call *c = ctx;
    PyGILState_STATE gil;
    if (!py_enter(&gil))
        return;
    py_exception pending = py_put_aside();
    Py_DECREF(c->function);
    Py_DECREF(c->args);
    py_bring_back(pending);
    py_leave(gil);
    free(c);
}

static host_call *new_call(PyObject *args)
{
    Py_ssize_t n = PyTuple_Size(args);
    PyObject *function = n > 0 ? PyTuple_GetItem(args, 0) : NULL;
    if (!function || !PyCallable_Check(function)) {
        PyErr_SetString(PyExc_TypeError,
                        "launch_host() takes a function and, after it, its arguments");
        return NULL;
    }
    if (!py_is_main_interpreter()) {
        PyErr_SetString(PyExc_RuntimeError,
                        "launch_host() works in the main interpreter only: a thread of the device "
                        "has no way into another one");
        return NULL;
    }
    host_call *c = malloc(sizeof *c);
    PyObject *rest = c ? PyTuple_GetSlice(args, 1, n) : PyErr_NoMemory();
    if (!rest) {
        free(c);
        return NULL;
    }
    *c = (host_call){Py_NewRef(function), rest, false};
    return c;
}

PyObject *py_launch_host(PyObject *self, PyObject *args)
{
    py_state *st = py_state_of_self(self);
    host_call *c = new_call(args);
    if (!c)
        return NULL;
    py_release_may_wait();
    nd_stream *s = py_stream_get(st, self);
    const bool captured = nd_stream_is_capturing(s) != 0;
    c->captured = captured;
    PyThreadState *saved = PyEval_SaveThread();
    /* Once it is queued, another thread may have called and freed it. */
    nd_status status = nd_stream_launch_host(s, call_host, c);
    if (status == ND_OK && captured) /* without memory for that, it stays */
        status = nd_graph_keep(s, free_call, c);
    PyEval_RestoreThread(saved);
    /* the error of earlier work is reported when the call is queued already */
    if (status != ND_OK && !captured && status != ND_ERR_ASYNC && status != ND_ERR_LOST &&
        status != ND_ERR_INDEX) {
        Py_DECREF(c->function);
        Py_DECREF(c->args);
        free(c);
    }
    return py_none(st, status);
}
