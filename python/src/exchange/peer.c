/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Devices that reach each other, and arrays shared with other processes: what peer.py wraps. */
#include <string.h>
#include <ndock/peer.h>
#include "python/src/exchange/exchange.h"
#include "python/src/streams/streams.h"

#define EXPORT "ndock.ipc"

/* ---- devices ---- */
static int two_devices(py_state *st, PyObject *args, nd_device **device, nd_device **peer)
{
    PyObject *a, *b;
    return PyArg_ParseTuple(args, "OO:peer", &a, &b) && py_device_or_current(st, a, device) == 0 &&
           py_device_or_current(st, b, peer) == 0;
}

static PyObject *peer_can_access(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    nd_device *device, *peer;
    int32_t yes = 0;
    if (!two_devices(st, args, &device, &peer))
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    const nd_status status = nd_device_can_access_peer(device, peer, &yes);
    PyEval_RestoreThread(saved);
    return py_bool(st, status, yes);
}

static PyObject *peer_enable(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    nd_device *device, *peer;
    if (!two_devices(st, args, &device, &peer))
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    const nd_status status = nd_device_enable_peer(device, peer);
    PyEval_RestoreThread(saved);
    return py_none(st, status);
}

/* ---- arrays of other processes ---- */
static void export_gone(PyObject *capsule)
{
    nd_ipc *x = PyCapsule_GetPointer(capsule, EXPORT);
    PyThreadState *saved = PyEval_SaveThread();
    nd_ipc_release(x);
    PyEval_RestoreThread(saved);
}

/* (bytes, the export) */
static PyObject *ipc_export(PyObject *module, PyObject *o)
{
    py_state *st = py_state_of(module);
    nd_ipc_handle handle;
    nd_ipc *x = NULL;
    const nd_array *a = py_array_need(st, o, "export");
    if (!a)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    const nd_status status = nd_ipc_export(a, &handle, &x);
    PyEval_RestoreThread(saved);
    if (status != ND_OK)
        return py_fail(st, status);
    PyObject *capsule = PyCapsule_New(x, EXPORT, export_gone);
    if (!capsule) {
        nd_ipc_release(x);
        return NULL;
    }
    return Py_BuildValue("(y#N)", (const char *)handle.bytes, (Py_ssize_t)sizeof handle.bytes,
                         capsule);
}

static PyObject *ipc_import(PyObject *module, PyObject *o)
{
    py_state *st = py_state_of(module);
    nd_ipc_handle handle;
    nd_array *a = NULL;
    Py_buffer b;
    if (PyObject_GetBuffer(o, &b, PyBUF_SIMPLE) < 0)
        return NULL;
    if (b.len != (Py_ssize_t)sizeof handle.bytes) {
        PyErr_Format(PyExc_ValueError, "a handle has %d bytes, not %zd", (int)sizeof handle.bytes,
                     b.len);
        PyBuffer_Release(&b);
        return NULL;
    }
    memcpy(handle.bytes, b.buf, sizeof handle.bytes);
    PyBuffer_Release(&b);
    PyThreadState *saved = PyEval_SaveThread();
    const nd_status status = nd_ipc_import(&handle, &a);
    PyEval_RestoreThread(saved);
    return status == ND_OK ? py_array_new(st, a) : py_fail(st, status);
}

static PyObject *ipc_is_used(PyObject *module, PyObject *capsule)
{
    int32_t used = 0;
    nd_ipc *x = PyCapsule_GetPointer(capsule, EXPORT);
    if (!x)
        return NULL;
    const nd_status status = nd_ipc_is_used(x, &used);
    return py_bool(py_state_of(module), status, used);
}

static PyObject *ipc_is_alive(PyObject *module, PyObject *o)
{
    int32_t alive = 0;
    py_state *st = py_state_of(module);
    const nd_array *a = py_array_need(st, o, "is_alive");
    if (!a)
        return NULL;
    const nd_status status = nd_ipc_is_alive(a, &alive);
    return py_bool(st, status, alive);
}

PyMethodDef py_peer_methods[] = {{"_peer_can_access", peer_can_access, METH_VARARGS, NULL},
                                 {"_peer_enable", peer_enable, METH_VARARGS, NULL},
                                 {"_ipc_export", ipc_export, METH_O, NULL},
                                 {"_ipc_import", ipc_import, METH_O, NULL},
                                 {"_event_import", py_event_import, METH_O, NULL},
                                 {"_ipc_is_used", ipc_is_used, METH_O, NULL},
                                 {"_ipc_is_alive", ipc_is_alive, METH_O, NULL},
                                 PY_METHODS_END};
