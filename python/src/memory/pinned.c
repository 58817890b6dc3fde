/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Pinned host memory, and copies, which need not be waited for where memory is pinned. */
#include "python/src/memory/memory.h"

/* _empty_pinned(shape, dtype, device) */
static PyObject *empty_pinned(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *extents, *type, *where;
    int64_t shape[ND_MAX_NDIM];
    int ndim;
    nd_dtype dtype;
    nd_device *device;
    nd_array *out = NULL;
    if (!PyArg_ParseTuple(args, "OOO:_empty_pinned", &extents, &type, &where) ||
        py_ints(extents, "shape", shape, &ndim) < 0 || py_dtype(st, type, &dtype) < 0 ||
        py_device(st, where, &device) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status =
        nd_empty_pinned(device, dtype ? dtype : nd_default_float(), ndim, shape, &out);
    PyEval_RestoreThread(saved);
    return py_result(st, status, &out);
}

static PyObject *is_pinned(PyObject *module, PyObject *x)
{
    const nd_array *a = py_array_need(py_state_of(module), x, "is_pinned");
    return a ? PyBool_FromLong(nd_is_pinned(a)) : NULL;
}

/* _host_register(device, address, nbytes) */
static PyObject *host_register(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *where;
    nd_device *device;
    unsigned long long address, nbytes;
    if (!PyArg_ParseTuple(args, "OKK:_host_register", &where, &address, &nbytes) ||
        py_device(st, where, &device) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_host_register(device, (void *)(uintptr_t)address, nbytes);
    PyEval_RestoreThread(saved);
    return py_none(st, status);
}
/* _host_unregister(device, address) */
static PyObject *host_unregister(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *where;
    nd_device *device;
    unsigned long long address;
    if (!PyArg_ParseTuple(args, "OK:_host_unregister", &where, &address) ||
        py_device(st, where, &device) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_host_unregister(device, (void *)(uintptr_t)address);
    PyEval_RestoreThread(saved);
    return py_none(st, status);
}

/* _address(buffer) of a writable buffer */
static PyObject *address(PyObject *module, PyObject *o)
{
    Py_buffer view;
    (void)module;
    if (PyObject_GetBuffer(o, &view, PyBUF_WRITABLE) < 0)
        return NULL;
    PyObject *result = PyLong_FromVoidPtr(view.buf);
    PyBuffer_Release(&view);
    return result;
}

/* Waits for what a blocking copy would wait for, so that Ctrl-C can end the wait: work on the
 * stream, or on the current streams of both devices. */
static int wait_for_both(py_state *st, const nd_array *src, const nd_array *dst, nd_stream *stream)
{
    bool from = py_is_async(nd_device_of(src)), to = py_is_async(nd_device_of(dst));
    if (from && to) /* these are ordered by events */
        return 0;
    if (stream)
        return py_wait_stream(st, stream);
    return py_wait_array(st, src) < 0 || py_wait_array(st, dst) < 0 ? -1 : 0;
}

/* _copy_to(src, dst, non_blocking, stream) */
static PyObject *copy_to(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *from, *to, *on;
    int non_blocking;
    nd_copy_opts opts = {.size = sizeof opts};
    if (!PyArg_ParseTuple(args, "OOpO:_copy_to", &from, &to, &non_blocking, &on))
        return NULL;
    const nd_array *src = py_array_need(st, from, "copy_to");
    const nd_array *dst = src ? py_array_need(st, to, "copy_to") : NULL;
    if (!dst || py_stream(st, on, nd_device_of(py_is_async(nd_device_of(src)) ? src : dst),
                          &opts.stream) < 0)
        return NULL;
    opts.non_blocking = non_blocking;
    if (non_blocking && !py_is_async(nd_device_of(dst)))
        py_host_may_wait();
    int bad = non_blocking ? 0 : wait_for_both(st, src, dst, opts.stream);
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = bad ? ND_OK : nd_copy_to(src, dst, &opts);
    nd_stream_release(opts.stream);
    PyEval_RestoreThread(saved);
    return bad ? NULL : py_none(st, status);
}

/* _pinned_cap(device, bytes) */
static PyObject *pinned_cap(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *where;
    nd_device *device;
    unsigned long long n;
    if (!PyArg_ParseTuple(args, "OK:_pinned_cap", &where, &n) || py_device(st, where, &device) < 0)
        return NULL;
    return py_none(st, nd_memory_pinned_cap_set(device, n));
}

PyMethodDef py_pinned_methods[] = {{"_pinned_cap", pinned_cap, METH_VARARGS, NULL},
                                   {"_empty_pinned", empty_pinned, METH_VARARGS, NULL},
                                   {"_is_pinned", is_pinned, METH_O, NULL},
                                   {"_host_register", host_register, METH_VARARGS, NULL},
                                   {"_host_unregister", host_unregister, METH_VARARGS, NULL},
                                   {"_address", address, METH_O, NULL},
                                   {"_copy_to", copy_to, METH_VARARGS, NULL},
                                   PY_METHODS_END};
