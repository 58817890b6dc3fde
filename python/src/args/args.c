/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Positional arguments by a format, lists of arrays, and results. */
#include <stdarg.h>
#include <string.h>
#include "python/src/args/args.h"

static int array_or_none(py_state *st, const char *function, PyObject *o, nd_array **out)
{
    *out = NULL;
    if (o == Py_None)
        return 0;
    *out = py_array_need(st, o, function);
    return *out ? 0 : -1;
}

static int integer(const char *function, PyObject *o, int64_t *out)
{
    int n;
    if (!PyLong_Check(o) && !PyIndex_Check(o)) {
        PyErr_Format(PyExc_TypeError, "%s(): %R is not an int", function, o);
        return -1;
    }
    return py_ints(o, function, out, &n);
}

static int small_integer(const char *function, PyObject *o, int *out)
{
    int64_t wide;
    if (integer(function, o, &wide) < 0)
        return -1;
    *out = (int)wide;
    if (*out == wide)
        return 0;
    PyErr_Format(PyExc_IndexError, "%s(): axis %lld is out of range", function, (long long)wide);
    return -1;
}

static int real(PyObject *o, double *out)
{
    *out = PyFloat_AsDouble(o);
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

static int truth(PyObject *o, int *out)
{
    *out = PyObject_IsTrue(o);
    return *out < 0 ? -1 : 0;
}

static int convert(py_state *st, const char *function, char what, PyObject *o, va_list *to)
{
    void *p = va_arg(*to, void *);
    switch (what) {
    case 'a':
        *(nd_array **)p = py_array_need(st, o, function);
        return *(nd_array **)p ? 0 : -1;
    case 'A':
        return array_or_none(st, function, o, p);
    case 'i':
        return small_integer(function, o, p);
    case 'l':
        return integer(function, o, p);
    case 'd':
        return real(o, p);
    case 'p':
        return truth(o, p);
    case 's':
        return py_value(st, function, o, p);
    case 't':
        return py_dtype(st, o, p);
    case 'v':
        return py_device(st, o, p);
    case 'z':
        return py_ints(o, function, p, va_arg(*to, int *));
    default:
        return py_axes(o, p, va_arg(*to, int *));
    }
}

int py_args(py_state *st, const char *function, const char *format, PyObject *const *args,
            Py_ssize_t n, ...)
{
    int result = 0;
    size_t wanted = strlen(format);
    if ((size_t)n != wanted) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zu arguments, not %zd", function, wanted, n);
        return -1;
    }
    va_list to;
    va_start(to, n);
    for (size_t i = 0; i < wanted && result == 0; i++)
        result = convert(st, function, format[i], args[i], &to);
    va_end(to);
    return result;
}

int py_list_begin(py_state *st, const char *function, PyObject *o, py_list *list)
{
    list->a = NULL;
    list->n = 0;
    list->items = PySequence_Tuple(o);
    if (!list->items)
        return -1;
    Py_ssize_t n = PyTuple_Size(list->items);
    list->a = PyMem_Calloc((size_t)n + 1, sizeof *list->a);
    if (!list->a || n > INT32_MAX) {
        PyErr_NoMemory();
        py_list_end(list);
        return -1;
    }
    for (list->n = 0; list->n < n; list->n++) {
        list->a[list->n] = py_array_need(st, PyTuple_GetItem(list->items, list->n), function);
        if (!list->a[list->n]) {
            py_list_end(list);
            return -1;
        }
    }
    return 0;
}

void py_list_end(py_list *list)
{
    PyMem_Free(list->a);
    Py_CLEAR(list->items);
}

PyObject *py_done(py_state *st, PyThreadState *saved, nd_status status, nd_array **r)
{
    py_lock(saved);
    return py_result(st, status, r);
}

PyObject *py_done_into(py_state *st, PyThreadState *saved, nd_status status, PyObject *out)
{
    py_lock(saved);
    return py_return(st, status, out);
}

PyObject *py_array_tuple(py_state *st, nd_array **r, int n)
{
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; i < n; i++) {
        PyObject *item = tuple ? py_array_new(st, r[i]) : NULL;
        if (!tuple)
            py_discard(r[i]);
        else if (!item || PyTuple_SetItem(tuple, i, item) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}
