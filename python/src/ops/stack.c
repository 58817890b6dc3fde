/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays beside each other, and cut apart. */
#include "python/src/ops/ops.h"

typedef nd_status joining(int n, const nd_array *const *arrays, nd_array **out);

/* (arrays) */
static PyObject *join(PyObject *module, const char *name, joining *f, PyObject *const *args,
                      Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_list list;
    nd_array *r = NULL;
    int64_t work = 0;
    if (n != 1)
        return PyErr_Format(PyExc_TypeError, "%s() takes 1 argument, not %zd", name, n);
    if (py_list_begin(st, name, args[0], &list) < 0)
        return NULL;
    for (int i = 0; i < list.n; i++)
        work += nd_size(list.a[i]);
    PyThreadState *saved = list.n ? py_unlock(list.a[0], work) : NULL;
    nd_status status = f(list.n, (const nd_array *const *)list.a, &r);
    py_lock(saved);
    py_list_end(&list);
    return py_result(st, status, &r);
}
static PyObject *hstack(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return join(module, "hstack", nd_hstack, args, n);
}
static PyObject *vstack(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return join(module, "vstack", nd_vstack, args, n);
}
static PyObject *dstack(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return join(module, "dstack", nd_dstack, args, n);
}
static PyObject *column_stack(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return join(module, "column_stack", nd_column_stack, args, n);
}

/* Makes a list of n views, by parts or places. */
static PyObject *views(py_state *st, const nd_array *a, int n, const int64_t *places, int axis,
                       bool even)
{
    const int count = places ? n + 1 : n;
    nd_array **r = PyMem_Calloc((size_t)(count > 0 ? count : 0) + 1, sizeof *r);
    if (!r)
        return PyErr_NoMemory();
    nd_status status = places ? nd_split_at(a, n, places, axis, r)
                       : even ? nd_split(a, n, axis, r)
                              : nd_array_split(a, n, axis, r);
    PyObject *tuple = status == ND_OK ? py_array_tuple(st, r, count) : py_fail(st, status);
    PyObject *list = tuple ? PySequence_List(tuple) : NULL;
    Py_XDECREF(tuple);
    PyMem_Free(r);
    return list;
}

/* Reads a tuple of ints; NULL with an exception. */
static int64_t *read_places(PyObject *o, Py_ssize_t n)
{
    int64_t *places = n <= INT32_MAX - 1 ? PyMem_Calloc((size_t)n + 1, sizeof *places) : NULL;
    if (!places)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; places && i < n; i++)
        if (py_int64(PyTuple_GetItem(o, i), &places[i]) < 0) {
            PyMem_Free(places);
            places = NULL;
        }
    return places;
}

/* (x, parts: an int, or places: a tuple of ints, axis, parts must be even) */
static PyObject *split(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a;
    int parts, axis, even;
    if (n == 4 && PyTuple_Check(args[1])) {
        if (py_args(st, "split", "a", args, 1, &a) < 0 ||
            py_args(st, "split", "ip", args + 2, 2, &axis, &even) < 0)
            return NULL;
        const Py_ssize_t count = PyTuple_Size(args[1]);
        int64_t *places = read_places(args[1], count);
        PyObject *result = places ? views(st, a, (int)count, places, axis, false) : NULL;
        PyMem_Free(places);
        return result;
    }
    if (py_args(st, "split", "aiip", args, n, &a, &parts, &axis, &even) < 0)
        return NULL;
    return views(st, a, parts, NULL, axis, even);
}

/* (x, rank) */
static PyObject *atleast(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int ndim;
    if (py_args(st, "atleast", "ai", args, n, &a, &ndim) < 0)
        return NULL;
    if (nd_ndim(a) >= ndim)
        return Py_NewRef(args[0]);
    return py_result(st, nd_atleast(a, ndim, &r), &r);
}

/* (x, k, axis1, axis2) */
static PyObject *rot90(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t k;
    int axis1, axis2;
    if (py_args(st, "rot90", "alii", args, n, &a, &k, &axis1, &axis2) < 0)
        return NULL;
    return py_result(st, nd_rot90(a, k, axis1, axis2, &r), &r);
}

/* (x) */
static PyObject *fliplr(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    if (py_args(st, "fliplr", "a", args, n, &a) < 0)
        return NULL;
    return py_result(st, nd_fliplr(a, &r), &r);
}
static PyObject *flipud(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    if (py_args(st, "flipud", "a", args, n, &a) < 0)
        return NULL;
    return py_result(st, nd_flipud(a, &r), &r);
}

PyMethodDef py_stack_methods[] = {
    PY_METHOD("_hstack", hstack), PY_METHOD("_vstack", vstack),
    PY_METHOD("_dstack", dstack), PY_METHOD("_column_stack", column_stack),
    PY_METHOD("_split", split),   PY_METHOD("_atleast", atleast),
    PY_METHOD("_rot90", rot90),   PY_METHOD("_fliplr", fliplr),
    PY_METHOD("_flipud", flipud), PY_METHODS_END};
