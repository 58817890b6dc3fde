/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arguments of the functions of needle's backend interface. */
#include "python/src/needle/needle.h"

static int parse_int(const char *name, PyObject *o, int64_t *out)
{
    int result = py_int64(o, out);
    if (result < 0 && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s() takes an int there, not %R", name,
                     (PyObject *)Py_TYPE(o));
    return result;
}

int py_needle_extent(const char *name, PyObject *o, int64_t *out)
{
    if (parse_int(name, o, out) < 0)
        return -1;
    if (*out < 0)
        PyErr_Format(PyExc_ValueError, "%s(): %lld is negative", name, (long long)*out);
    return *out < 0 ? -1 : 0;
}

static int parse_view(const char *name, PyObject *const *args, py_needle_args *out)
{
    int nstrides;
    if (py_ints(args[0], "shape", out->shape, &out->ndim) < 0 ||
        py_ints(args[1], "strides", out->stride, &nstrides) < 0 ||
        parse_int(name, args[2], &out->offset) < 0)
        return -1;
    if (nstrides != out->ndim)
        PyErr_Format(PyExc_ValueError, "%s(): %d strides do not fit a shape of %d extents", name,
                     nstrides, out->ndim);
    return nstrides == out->ndim ? 0 : -1;
}

static int parse_value(const char *name, PyObject *o, nd_scalar *out)
{
    double value = PyFloat_AsDouble(o);
    if (value == -1 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s() takes a real number there, not %R", name,
                         (PyObject *)Py_TYPE(o));
        return -1;
    }
    *out = nd_float((double)(float)value);
    return 0;
}

static int parse_handle(const char *name, PyObject *o, py_needle_args *out, int position)
{
    nd_array *a = py_needle_handle_of(o);
    if (!a) {
        PyErr_Format(PyExc_TypeError, "%s() takes the backend's Array there, not %R", name,
                     (PyObject *)Py_TYPE(o));
        return -1;
    }
    out->h[position] = a;
    out->st = PyType_GetModuleState(Py_TYPE(o));
    return 0;
}

int py_needle_parse(const char *name, const char *form, PyObject *const *args, Py_ssize_t given,
                    py_needle_args *out)
{
    Py_ssize_t want = (Py_ssize_t)strlen(form) + (strchr(form, 'V') ? 2 : 0);
    int handles = 0, extents = 0, failed = 0;
    if (given != want) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, not %zd", name, want, given);
        return -1;
    }
    for (; *form && !failed; form++, args++) {
        if (*form == 'h')
            failed = parse_handle(name, *args, out, handles++);
        else if (*form == 'v')
            failed = parse_value(name, *args, &out->v);
        else if (*form == 'n')
            failed = py_needle_extent(name, *args, &out->n[extents++]);
        else
            failed = parse_view(name, args, out);
    }
    return failed;
}

int py_needle_view(const py_needle_args *p, const nd_array *handle, nd_array **view)
{
    return py_check(p->st, nd_as_strided(handle, p->ndim, p->shape, p->stride, p->offset, view));
}

int py_needle_size(const char *name, const char *argument, const nd_array *a, int64_t want)
{
    if (nd_size(a) == want)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s(): %s has %lld elements and must have %lld", name, argument,
                 (long long)nd_size(a), (long long)want);
    return -1;
}

int64_t py_needle_count(const char *name, const py_needle_args *p)
{
    int64_t count = 1;
    for (int i = 0; i < p->ndim; i++) {
        if (p->shape[i] < 0) {
            PyErr_Format(PyExc_ValueError, "%s(): the shape has a negative extent, %lld", name,
                         (long long)p->shape[i]);
            return -1;
        }
        if (__builtin_mul_overflow(count, p->shape[i], &count)) {
            PyErr_Format(PyExc_OverflowError, "%s(): the shape has more than 2^63 elements", name);
            return -1;
        }
    }
    return count;
}
