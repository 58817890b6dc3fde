/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Integers, shapes and axes, from Python and back. */
#include "python/src/args/args.h"

int py_int64(PyObject *o, int64_t *out)
{
    PyObject *index = PyLong_CheckExact(o) ? Py_NewRef(o) : PyNumber_Index(o);
    *out = index ? PyLong_AsLongLong(index) : -1;
    Py_XDECREF(index);
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

static int one_int(PyObject *o, const char *what, int64_t *out)
{
    int result = py_int64(o, out);
    if (result < 0 && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s: %R is not an int", what, o);
    return result;
}

int py_ints(PyObject *o, const char *what, int64_t *out, int *n)
{
    *n = 1;
    if (PyLong_Check(o) || PyIndex_Check(o))
        return one_int(o, what, out);
    PyObject *items = PySequence_Tuple(o);
    if (!items) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s is an int or a sequence of ints, not %R", what, o);
        return -1;
    }
    Py_ssize_t size = PyTuple_Size(items);
    int result = 0;
    if (size > ND_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "%s has %zd entries; at most %d are possible", what, size,
                     ND_MAX_NDIM);
        result = -1;
    }
    for (Py_ssize_t i = 0; result == 0 && i < size; i++)
        result = one_int(PyTuple_GetItem(items, i), what, &out[i]);
    *n = (int)size;
    Py_DECREF(items);
    return result;
}

int py_axes(PyObject *o, int32_t *out, int *n)
{
    int64_t wide[ND_MAX_NDIM];
    *n = -1;
    if (o == Py_None)
        return 0;
    if (py_ints(o, "axis", wide, n) < 0)
        return -1;
    for (int i = 0; i < *n; i++) {
        out[i] = (int32_t)wide[i];
        if (out[i] != wide[i]) {
            PyErr_Format(PyExc_IndexError, "axis %lld is out of range", (long long)wide[i]);
            return -1;
        }
    }
    return 0;
}

PyObject *py_tuple(const int64_t *v, int n)
{
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) {
        PyObject *item = PyLong_FromLongLong(v[i]);
        if (!item || PyTuple_SetItem(tuple, i, item) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}
