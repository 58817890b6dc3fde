/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Where streams come from: new ones, those that a device has, and those of other libraries. */
#include "python/src/streams/streams.h"

static PyObject *result(py_state *st, nd_status status, nd_stream *stream)
{
    return status == ND_OK ? py_from_stream(st, stream) : py_fail(st, status);
}

/* ---- streams of other libraries ---- */
/* Reads the handle of (version, handle), which an object's __cuda_stream__ is or returns. */
static int protocol(PyObject *o, uint64_t *handle)
{
    PyObject *pair = PyObject_GetAttrString(o, "__cuda_stream__");
    if (pair && PyCallable_Check(pair)) {
        PyObject *called = PyObject_CallNoArgs(pair);
        Py_DECREF(pair);
        pair = called;
    }
    if (!pair)
        return -1;
    long long version = 0;
    PyObject *value = NULL;
    if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "LO", &version, &value)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "__cuda_stream__ of %R is %R, not a tuple (0, handle)", o,
                     pair);
    } else if (version != 0) {
        PyErr_Format(PyExc_ValueError,
                     "__cuda_stream__ of %R has protocol version %lld; only 0 is known", o,
                     version);
    } else {
        *handle = PyLong_AsUnsignedLongLong(value);
    }
    Py_DECREF(pair);
    return PyErr_Occurred() ? -1 : 0;
}

static int no_stream(PyObject *o)
{
    PyErr_Format(PyExc_TypeError,
                 "a stream is an ndock.Stream or an object with __cuda_stream__, not %R; "
                 "Stream.from_external takes a handle as well",
                 o);
    return -1;
}

static int handle_of(PyObject *o, uint64_t *handle)
{
    if (!PyLong_Check(o))
        return PyObject_HasAttrString(o, "__cuda_stream__") ? protocol(o, handle) : no_stream(o);
    *handle = PyLong_AsUnsignedLongLong(o);
    return PyErr_Occurred() ? -1 : 0;
}

/* Finds the device of a foreign stream: the current one, or CUDA's where that is the CPU, whose
 * streams no other library has. */
static int device_of_foreign(py_state *st, nd_device **device)
{
    if (*device)
        return 0;
    if (py_or_current(st, device) < 0)
        return -1;
    return py_is_host(*device) ? py_device_named(st, "cuda", device) : 0;
}

static int wrap(py_state *st, PyObject *o, nd_device *device, PyObject *owner, nd_stream **out)
{
    uint64_t handle = 0;
    if (handle_of(o, &handle) < 0 || device_of_foreign(st, &device) < 0)
        return -1;
    owner = owner == Py_None ? o : owner;
    void *kept = py_keep(owner);
    if (!kept)
        return -1;
    int bad = py_check(st, nd_stream_wrap(device, handle, py_drop, kept, out));
    if (bad)
        py_unkeep(kept);
    return bad;
}

int py_stream(py_state *st, PyObject *o, nd_device *device, nd_stream **out)
{
    *out = NULL;
    if (o == Py_None)
        return 0;
    nd_stream *ours = py_stream_get(st, o);
    if (ours) {
        *out = nd_stream_retain(ours);
        return 0;
    }
    if (PyObject_HasAttrString(o, "__cuda_stream__"))
        return wrap(st, o, device, Py_None, out);
    return no_stream(o);
}

/* ---- what makes a Stream ---- */
PyObject *py_stream_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"device", "priority", NULL};
    py_state *st = PyType_GetModuleState(type);
    PyObject *where = Py_None;
    nd_device *device;
    nd_stream *stream;
    nd_stream_opts opts = {.size = sizeof opts};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$i:Stream", names, &where, &opts.priority) ||
        py_device(st, where, &device) < 0)
        return NULL;
    nd_status status = nd_stream_create(device, &opts, &stream);
    return result(st, status, stream);
}

PyObject *py_stream_from_external(PyObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", "device", "owner", NULL};
    py_state *st = PyType_GetModuleState((PyTypeObject *)type);
    PyObject *o, *where = Py_None, *owner = Py_None;
    nd_device *device;
    nd_stream *stream;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O$O:from_external", names, &o, &where,
                                     &owner) ||
        py_device(st, where, &device) < 0)
        return NULL;
    if (py_stream_get(st, o))
        return Py_NewRef(o);
    if (wrap(st, o, device, owner, &stream) < 0)
        return NULL;
    return py_from_stream(st, stream);
}

PyObject *py_stream_from_pool(PyObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"slot", "device", "priority", NULL};
    py_state *st = PyType_GetModuleState((PyTypeObject *)type);
    PyObject *where = Py_None;
    nd_device *device;
    nd_stream *stream;
    int slot, priority = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i|O$i:from_pool", names, &slot, &where,
                                     &priority) ||
        py_device(st, where, &device) < 0)
        return NULL;
    nd_status status = nd_stream_pool_get(device, priority, slot, &stream);
    return result(st, status, stream);
}

static PyObject *some(PyObject *type, PyObject *args, PyObject *kwargs, const char *format,
                      nd_status (*get)(nd_device *device, nd_stream **out))
{
    static char *names[] = {"device", NULL};
    py_state *st = PyType_GetModuleState((PyTypeObject *)type);
    PyObject *where = Py_None;
    nd_device *device;
    nd_stream *stream;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, format, names, &where) ||
        py_device(st, where, &device) < 0)
        return NULL;
    nd_status status = get(device, &stream);
    return result(st, status, stream);
}
PyObject *py_stream_current(PyObject *type, PyObject *args, PyObject *kwargs)
{
    return some(type, args, kwargs, "|O:current", nd_stream_current);
}
/* nd_stream_default gives no reference. */
static nd_status retained_default(nd_device *device, nd_stream **out)
{
    nd_status status = nd_stream_default(device, out);
    (void)nd_stream_retain(*out);
    return status;
}
PyObject *py_stream_default(PyObject *type, PyObject *args, PyObject *kwargs)
{
    return some(type, args, kwargs, "|O:default", retained_default);
}
