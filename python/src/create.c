/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * New arrays from nothing: the positional functions under the package's creation functions. */
#include "py.h"

/* _full(shape, value or None for unset elements, dtype, device) */
static PyObject *full(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    int64_t shape[ND_MAX_NDIM];
    int ndim;
    nd_dtype dtype;
    nd_device *device;
    nd_scalar value;
    nd_array *out = NULL;
    if (n != 4)
        return PyErr_Format(PyExc_TypeError, "_full() takes 4 arguments, not %zd", n);
    if (py_ints(args[0], "shape", shape, &ndim) < 0 || py_dtype(st, args[2], &dtype) < 0 ||
        py_device(st, args[3], &device) < 0)
        return NULL;
    if (args[1] == Py_None)
        return py_result(
            st, nd_empty(device, dtype ? dtype : nd_default_float(), ndim, shape, &out), &out);
    int scalar = py_scalar(args[1], &value);
    if (scalar == 0)
        PyErr_Format(PyExc_TypeError, "the fill value is a Python scalar, not %R", args[1]);
    if (scalar <= 0)
        return NULL;
    if (!dtype) /* the array API's defaults; an unsigned value is beyond int64 */
        dtype = value.kind == ND_F64 ? nd_default_float() : value.kind;
    return py_result(st, nd_full(device, dtype, ndim, shape, value, &out), &out);
}

/* _arange(start, stop, step, dtype, device) */
static PyObject *arange(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_scalar v[3];
    nd_dtype dtype;
    nd_device *device;
    nd_array *out = NULL;
    if (n != 5)
        return PyErr_Format(PyExc_TypeError, "_arange() takes 5 arguments, not %zd", n);
    for (int i = 0; i < 3; i++) {
        int scalar = py_scalar(args[i], &v[i]);
        if (scalar == 0)
            PyErr_Format(PyExc_TypeError, "arange() takes Python scalars, not %R", args[i]);
        if (scalar <= 0)
            return NULL;
    }
    if (py_dtype(st, args[3], &dtype) < 0 || py_device(st, args[4], &device) < 0)
        return NULL;
    return py_result(st, nd_arange(device, dtype, v[0], v[1], v[2], &out), &out);
}

PyMethodDef py_create_methods[] = {
    {"_full", (PyCFunction)(void (*)(void))full, METH_FASTCALL, NULL},
    {"_arange", (PyCFunction)(void (*)(void))arange, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL}};
