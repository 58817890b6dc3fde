/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Slices put in and taken out, matrices of diagonals and powers, elements put at positions. */
#include "python/src/ops/ops.h"

/* (x, indices, values, axis) */
static PyObject *insert(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *indices, *values, *r = NULL;
    int axis;
    if (py_args(st, "insert", "aaai", args, n, &a, &indices, &values, &axis) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_insert(a, indices, values, axis, &r), &r);
}

/* (x, indices, axis) */
static PyObject *delete_(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *indices, *r = NULL;
    int axis;
    if (py_args(st, "delete", "aai", args, n, &a, &indices, &axis) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, nd_delete(a, indices, axis, &r), &r);
}

/* (x, front, back) */
static PyObject *trim_zeros(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int front;
    int back;
    if (py_args(st, "trim_zeros", "app", args, n, &a, &front, &back) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, nd_trim_zeros(a, front, back, &r), &r);
}

/* (x, k) */
static PyObject *diag(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t k;
    if (py_args(st, "diag", "al", args, n, &a, &k) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_diag(a, k, &r), &r);
}

/* (x, k) */
static PyObject *diagflat(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t k;
    if (py_args(st, "diagflat", "al", args, n, &a, &k) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_diagflat(a, k, &r), &r);
}

/* (x, cols, increasing) */
static PyObject *vander(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t cols;
    int increasing;
    if (py_args(st, "vander", "alp", args, n, &a, &cols, &increasing) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_vander(a, cols, increasing, &r), &r);
}

/* (device, dtype, rows, cols, k) */
static PyObject *tri(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *r = NULL;
    nd_device *device;
    nd_dtype dtype;
    int64_t rows;
    int64_t cols;
    int64_t k;
    if (py_args(st, "tri", "vtlll", args, n, &device, &dtype, &rows, &cols, &k) < 0)
        return NULL;
    PyThreadState *saved = NULL;
    return py_done(st, saved, nd_tri(device, dtype, rows, cols, k, &r), &r);
}

/* (x, count, dtype) */
static PyObject *one_hot(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t count;
    nd_dtype dtype;
    if (py_args(st, "one_hot", "alt", args, n, &a, &count, &dtype) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_one_hot(a, count, dtype, &r), &r);
}

/* (indices, values, mode, dst) */
static PyObject *put(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *indices, *values, *dst;
    int mode;
    if (py_args(st, "put", "aaia", args, n, &indices, &values, &mode, &dst) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(dst, nd_size(dst));
    return py_done_into(st, saved, nd_put_into(indices, values, mode, dst), args[3]);
}

/* (indices, values, axis, dst) */
static PyObject *put_along_axis(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *indices, *values, *dst;
    int axis;
    if (py_args(st, "put_along_axis", "aaia", args, n, &indices, &values, &axis, &dst) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(dst, nd_size(dst));
    return py_done_into(st, saved, nd_put_along_axis_into(indices, values, axis, dst), args[3]);
}

/* (mask, values, dst) */
static PyObject *place(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *mask, *values, *dst;
    if (py_args(st, "place", "aaa", args, n, &mask, &values, &dst) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(dst, nd_size(dst));
    return py_done_into(st, saved, nd_place_into(mask, values, dst), args[2]);
}

/* (src, mask, dst) */
static PyObject *assign_where(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *src, *mask, *dst;
    if (py_args(st, "copyto", "aaa", args, n, &src, &mask, &dst) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(dst, nd_size(dst));
    return py_done_into(st, saved, nd_assign_where(src, mask, dst), args[2]);
}

/* (indices, shape): a tuple of coordinates */
static PyObject *unravel_index(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r[ND_MAX_NDIM] = {NULL};
    int64_t shape[ND_MAX_NDIM];
    int ndim;
    if (py_args(st, "unravel_index", "az", args, n, &a, shape, &ndim) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_unravel_index(a, ndim, shape, r);
    PyEval_RestoreThread(saved);
    return status == ND_OK ? py_array_tuple(st, r, ndim) : py_fail(st, status);
}

/* (arrays, shape, mode) */
static PyObject *ravel_multi_index(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *r = NULL;
    int64_t shape[ND_MAX_NDIM];
    int ndim, mode;
    py_list list;
    if (py_args(st, "ravel_multi_index", "zi", args + 1, n - 1, shape, &ndim, &mode) < 0 ||
        py_list_begin(st, "ravel_multi_index", args[0], &list) < 0)
        return NULL;
    if (list.n != ndim) {
        PyErr_Format(PyExc_ValueError, "ravel_multi_index(): %d coordinates for %d dimensions",
                     list.n, ndim);
        py_list_end(&list);
        return NULL;
    }
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status =
        nd_ravel_multi_index(list.n, (const nd_array *const *)list.a, shape, mode, &r);
    PyEval_RestoreThread(saved);
    py_list_end(&list);
    return py_result(st, status, &r);
}

/* (x, windows, axes or None) */
static PyObject *sliding_window_view(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t window[ND_MAX_NDIM];
    int32_t axes[ND_MAX_NDIM];
    int nwindows, naxes;
    if (py_args(st, "sliding_window_view", "azx", args, n, &a, window, &nwindows, axes, &naxes) < 0)
        return NULL;
    if (naxes >= 0 && naxes != nwindows)
        return PyErr_Format(PyExc_ValueError, "sliding_window_view(): %d windows for %d axes",
                            nwindows, naxes);
    return py_result(st, nd_sliding_window_view(a, nwindows, naxes < 0 ? NULL : axes, window, &r),
                     &r);
}

PyMethodDef py_edit_methods[] = {PY_METHOD("_insert", insert),
                                 PY_METHOD("_delete", delete_),
                                 PY_METHOD("_trim_zeros", trim_zeros),
                                 PY_METHOD("_diag", diag),
                                 PY_METHOD("_diagflat", diagflat),
                                 PY_METHOD("_vander", vander),
                                 PY_METHOD("_tri", tri),
                                 PY_METHOD("_one_hot", one_hot),
                                 PY_METHOD("_put_at", put),
                                 PY_METHOD("_put_along_axis", put_along_axis),
                                 PY_METHOD("_place", place),
                                 PY_METHOD("_assign_where", assign_where),
                                 PY_METHOD("_unravel_index", unravel_index),
                                 PY_METHOD("_ravel_multi_index", ravel_multi_index),
                                 PY_METHOD("_sliding_window_view", sliding_window_view),
                                 PY_METHODS_END};
