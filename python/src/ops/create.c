/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * New arrays from nothing: the positional functions under the package's creation functions; those
 * of one value are in filled.c. */
#include "python/src/ops/ops.h"

/* _arange(start, stop, step, dtype, device) */
static PyObject *arange(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_scalar v[3];
    nd_dtype dtype;
    nd_device *device;
    nd_array *out = NULL;
    if (py_args(st, "arange", "ssstv", args, n, &v[0], &v[1], &v[2], &dtype, &device) < 0)
        return NULL;
    return py_result(st, nd_arange(device, dtype, v[0], v[1], v[2], &out), &out);
}

/* (x, value or None for unset elements, dtype or None: x's, device or None: x's) */
static PyObject *full_like(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *out = NULL;
    nd_scalar value;
    nd_dtype dtype;
    nd_device *device;
    bool unset = n == 4 && args[1] == Py_None;
    if (unset ? py_args(st, "empty_like", "aAtv", args, n, &a, &out, &dtype, &device) < 0
              : py_args(st, "full_like", "astv", args, n, &a, &value, &dtype, &device) < 0)
        return NULL;
    dtype = dtype ? dtype : nd_dtype_of(a);
    device = device ? device : nd_device_of(a);
    return py_result(st,
                     unset ? nd_empty(device, dtype, nd_ndim(a), nd_shape(a), &out)
                           : nd_full(device, dtype, nd_ndim(a), nd_shape(a), value, &out),
                     &out);
}

/* (start, stop, num, endpoint, dtype, device) */
static PyObject *linspace(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_scalar start, stop;
    int64_t num;
    int endpoint;
    nd_dtype dtype;
    nd_device *device;
    nd_array *out = NULL;
    if (py_args(st, "linspace", "sslptv", args, n, &start, &stop, &num, &endpoint, &dtype,
                &device) < 0)
        return NULL;
    return py_result(st, nd_linspace(device, dtype, start, stop, num, endpoint, &out), &out);
}

/* (rows, columns, k, dtype, device) */
static PyObject *eye(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    int64_t rows, columns, k;
    nd_dtype dtype;
    nd_device *device;
    nd_array *out = NULL;
    if (py_args(st, "eye", "llltv", args, n, &rows, &columns, &k, &dtype, &device) < 0)
        return NULL;
    dtype = dtype ? dtype : nd_default_float();
    return py_result(st, nd_eye(device, dtype, rows, columns, k, &out), &out);
}

/* (arrays, ij) */
static PyObject *meshgrid(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_list list;
    int ij;
    if (py_args(st, "meshgrid", "p", args + 1, n - 1, &ij) < 0 ||
        py_list_begin(st, "meshgrid", args[0], &list) < 0)
        return NULL;
    nd_array **views = PyMem_Calloc((size_t)list.n + 1, sizeof *views);
    PyObject *result = NULL;
    nd_status status = ND_OK;
    if (!views)
        PyErr_NoMemory();
    else if (list.n)
        status = nd_meshgrid(list.n, (const nd_array *const *)list.a, ij, views);
    if (views)
        result = status == ND_OK ? py_array_tuple(st, views, list.n) : py_fail(st, status);
    PyMem_Free(views);
    py_list_end(&list);
    return result;
}

typedef nd_status triangle(const nd_array *a, int64_t k, nd_array **out);

/* (x, k) */
static PyObject *half(PyObject *module, const char *name, triangle *fresh, PyObject *const *args,
                      Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *out = NULL;
    int64_t k;
    if (py_args(st, name, "al", args, n, &a, &k) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, fresh(a, k, &out), &out);
}
static PyObject *tril(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return half(module, "tril", nd_tril, args, n);
}
static PyObject *triu(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return half(module, "triu", nd_triu, args, n);
}

PyMethodDef py_create_methods[] = {
    PY_METHOD("_arange", arange),     PY_METHOD("_full_like", full_like),
    PY_METHOD("_linspace", linspace), PY_METHOD("_eye", eye),
    PY_METHOD("_meshgrid", meshgrid), PY_METHOD("_tril", tril),
    PY_METHOD("_triu", triu),         PY_METHODS_END};
