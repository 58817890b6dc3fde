/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Device memory: caches, settings, snapshots and traces. */
#include "python/src/memory/memory.h"

/* ---- functions of a device alone ---- */
static PyObject *on_device(PyObject *module, PyObject *where, nd_status (*call)(nd_device *device))
{
    py_state *st = py_state_of(module);
    nd_device *device;
    if (py_device(st, where, &device) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = call(device);
    PyEval_RestoreThread(saved);
    return py_none(st, status);
}
static PyObject *reset_peak(PyObject *module, PyObject *where)
{
    return on_device(module, where, nd_memory_reset_peak);
}
static PyObject *reset_accumulated(PyObject *module, PyObject *where)
{
    return on_device(module, where, nd_memory_reset_accumulated);
}
static PyObject *empty_cache(PyObject *module, PyObject *where)
{
    return on_device(module, where, nd_memory_empty_cache);
}
static PyObject *empty_host_cache(PyObject *module, PyObject *where)
{
    return on_device(module, where, nd_memory_empty_host_cache);
}

/* ---- settings ---- */
/* _memory_cap(device, bytes, fraction): one of the two is None */
static PyObject *cap(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *where, *bytes, *fraction;
    nd_device *device;
    if (!PyArg_ParseTuple(args, "OOO:_memory_cap", &where, &bytes, &fraction) ||
        py_device(st, where, &device) < 0)
        return NULL;
    unsigned long long n = bytes == Py_None ? 0 : PyLong_AsUnsignedLongLong(bytes);
    double share = fraction == Py_None ? 0 : PyFloat_AsDouble(fraction);
    if (PyErr_Occurred())
        return NULL;
    return py_none(st, bytes == Py_None ? nd_memory_cap_set_fraction(device, share)
                                        : nd_memory_cap_set(device, n));
}

static PyObject *conf_set(PyObject *module, PyObject *text)
{
    const char *conf = py_text(text, "a list of allocator settings");
    return conf ? py_none(py_state_of(module), nd_memory_conf_set(conf)) : NULL;
}

static PyObject *conf_get(PyObject *module, PyObject *unused)
{
    char *text = NULL;
    (void)unused;
    nd_status status = nd_memory_conf_get(&text);
    return py_text_result(py_state_of(module), status, text);
}

/* ---- looking inside: device None means all ---- */
static PyObject *snapshot_text(PyObject *module, PyObject *where)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    char *text = NULL;
    if (py_device_if_given(st, where, &device) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_memory_snapshot_text(device, &text);
    PyEval_RestoreThread(saved);
    return py_text_result(st, status, text);
}

/* _snapshot_save(device, path, pickle) */
static PyObject *snapshot_save(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *where, *file;
    int pickle;
    nd_device *device;
    if (!PyArg_ParseTuple(args, "OOp:_snapshot_save", &where, &file, &pickle) ||
        py_device_if_given(st, where, &device) < 0)
        return NULL;
    PyObject *path = py_path(file);
    if (!path)
        return NULL;
    const char *name = PyBytes_AsString(path);
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status =
        nd_memory_snapshot_save(device, name, pickle ? ND_SNAPSHOT_PICKLE : ND_SNAPSHOT_JSON);
    PyEval_RestoreThread(saved);
    Py_DECREF(path);
    return py_none(st, status);
}

static PyObject *trace_set(PyObject *module, PyObject *n)
{
    long long events = PyLong_AsLongLong(n);
    if (events == -1 && PyErr_Occurred())
        return NULL;
    return py_none(py_state_of(module), nd_memory_trace_set(events));
}
/* _trace_note(device, text) */
static PyObject *trace_note(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *where;
    const char *text;
    nd_device *device;
    if (!PyArg_ParseTuple(args, "Os:_trace_note", &where, &text) ||
        py_device(st, where, &device) < 0)
        return NULL;
    return py_none(st, nd_memory_trace_note(device, text));
}

/* _debug_report(device) gives (text, count) */
static PyObject *debug_report(PyObject *module, PyObject *where)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    char *text = NULL;
    int64_t count = 0;
    if (py_device(st, where, &device) < 0)
        return NULL;
    nd_status status = nd_memory_debug_report(device, &text, &count);
    PyObject *report = py_text_result(st, status, text);
    return report ? Py_BuildValue("(NL)", report, (long long)count) : NULL;
}

PyMethodDef py_memory_methods[] = {{"_memory_reset_peak", reset_peak, METH_O, NULL},
                                   {"_memory_reset_accumulated", reset_accumulated, METH_O, NULL},
                                   {"_memory_empty_cache", empty_cache, METH_O, NULL},
                                   {"_memory_empty_host_cache", empty_host_cache, METH_O, NULL},
                                   {"_memory_cap", cap, METH_VARARGS, NULL},
                                   {"_memory_conf_set", conf_set, METH_O, NULL},
                                   {"_memory_conf_get", conf_get, METH_NOARGS, NULL},
                                   {"_snapshot_text", snapshot_text, METH_O, NULL},
                                   {"_snapshot_save", snapshot_save, METH_VARARGS, NULL},
                                   {"_trace_set", trace_set, METH_O, NULL},
                                   {"_trace_note", trace_note, METH_VARARGS, NULL},
                                   {"_debug_report", debug_report, METH_O, NULL},
                                   PY_METHODS_END};
