/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Opened .npz archives, as capsules: a call that loads holds its capsule, so that closing, which
 * drops the other reference, ends the archive when nobody reads it. */
#include "python/src/files/files.h"

static const char capsule_name[] = "ndock.npz";

static void close_archive(PyObject *capsule)
{
    nd_npz_close(PyCapsule_GetPointer(capsule, capsule_name));
}

/* (path): a capsule, and a tuple of the arrays' names */
static PyObject *npz_open(PyObject *module, PyObject *o)
{
    py_state *st = py_state_of(module);
    nd_npz *file = NULL;
    PyObject *path = py_path(o);
    if (!path)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_npz_open(PyBytes_AsString(path), &file);
    PyEval_RestoreThread(saved);
    Py_DECREF(path);
    if (status != ND_OK)
        return py_fail(st, status);
    PyObject *capsule = PyCapsule_New(file, capsule_name, close_archive);
    if (!capsule) {
        nd_npz_close(file);
        return NULL;
    }
    PyObject *names = PyTuple_New(nd_npz_count(file));
    for (int i = 0; names && i < nd_npz_count(file); i++) {
        PyObject *name = py_from_text(nd_npz_name(file, i));
        if (!name || PyTuple_SetItem(names, i, name) < 0)
            Py_CLEAR(names);
    }
    PyObject *result = names ? PyTuple_Pack(2, capsule, names) : NULL;
    Py_XDECREF(names);
    Py_DECREF(capsule);
    return result;
}

/* (capsule, name, dtype for opaque elements or None, device) */
static PyObject *npz_load(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_dtype opaque;
    nd_device *device;
    nd_array *r = NULL;
    if (n != 4 || !PyCapsule_IsValid(args[0], capsule_name)) {
        PyErr_SetString(PyExc_TypeError,
                        "load() takes an open archive, a name, a dtype and a device");
        return NULL;
    }
    const nd_npz *file = PyCapsule_GetPointer(args[0], capsule_name);
    const char *name = py_text(args[1], "an array's name");
    if (!name || py_args(st, "load", "tv", args + 2, n - 2, &opaque, &device) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = opaque ? nd_npz_load_as(file, name, opaque, device, &r)
                              : nd_npz_load(file, name, device, &r);
    return py_done(st, saved, status, &r);
}

PyMethodDef py_npz_methods[] = {
    {"_npz_open", npz_open, METH_O, NULL}, PY_METHOD("_npz_load", npz_load), PY_METHODS_END};
