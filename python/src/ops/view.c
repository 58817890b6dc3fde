/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Views and copies: other shapes and strides over the same storage, and conversions. */
#include "python/src/ops/ops.h"

/* (x, shape, copy: None, True or False) */
static PyObject *reshape(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *source, *r = NULL;
    int64_t shape[ND_MAX_NDIM];
    int ndim, copy;
    if (py_args(st, "reshape", "az", args, n - 1, &a, shape, &ndim) < 0 ||
        (copy = py_copy(args[2])) < 0)
        return NULL;
    if (copy == PY_COPY_NEVER)
        return py_result(st, nd_reshape(a, ndim, shape, &r), &r);
    PyThreadState *saved = py_unlock(a, nd_size(a));
    if (copy == PY_COPY_IF_NEEDED)
        return py_done(st, saved, nd_reshape_copy(a, ndim, shape, &r), &r);
    nd_status status = nd_copy(a, NULL, &source);
    if (status == ND_OK) {
        status = nd_reshape(source, ndim, shape, &r);
        nd_release(source);
    }
    return py_done(st, saved, status, &r);
}

typedef nd_status view_by_axes(const nd_array *a, int n, const int32_t *axes, nd_array **out);

/* (x, axes) */
static PyObject *by_axes(PyObject *module, const char *name, view_by_axes *view,
                         PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int32_t axes[ND_MAX_NDIM];
    int naxes;
    if (py_args(st, name, "ax", args, n, &a, axes, &naxes) < 0)
        return NULL;
    bool all = naxes < 0;
    return py_result(st, view(a, all ? 0 : naxes, all ? NULL : axes, &r), &r);
}
static PyObject *permute(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return by_axes(module, "permute_dims", nd_permute, args, n);
}
static PyObject *expand_dims(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return by_axes(module, "expand_dims", nd_expand_dims, args, n);
}
static PyObject *squeeze(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return by_axes(module, "squeeze", nd_squeeze, args, n);
}
static PyObject *flip(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return by_axes(module, "flip", nd_flip, args, n);
}

/* (x, source, destination) */
static PyObject *moveaxis(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int32_t from[ND_MAX_NDIM], to[ND_MAX_NDIM];
    int nfrom, nto;
    if (py_args(st, "moveaxis", "axx", args, n, &a, from, &nfrom, to, &nto) < 0)
        return NULL;
    if (nfrom < 0 || nfrom != nto)
        return PyErr_Format(PyExc_ValueError,
                            "moveaxis(): source and destination name as many axes as each other");
    return py_result(st, nd_moveaxis(a, nfrom, from, to, &r), &r);
}

/* (x) */
static PyObject *matrix_transpose(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    if (py_args(st, "matrix_transpose", "a", args, n, &a) < 0)
        return NULL;
    return py_result(st, nd_matrix_transpose(a, &r), &r);
}

/* (x): a view that cannot be written to */
static PyObject *readonly(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    if (py_args(st, "readonly", "a", args, n, &a) < 0)
        return NULL;
    return py_result(st, nd_readonly(a, &r), &r);
}

/* (x, shape) */
static PyObject *broadcast_to(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t shape[ND_MAX_NDIM];
    int ndim;
    if (py_args(st, "broadcast_to", "az", args, n, &a, shape, &ndim) < 0)
        return NULL;
    return py_result(st, nd_broadcast_to(a, ndim, shape, &r), &r);
}

/* (x, offset, axis1, axis2) */
static PyObject *diagonal(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t offset;
    int axis1, axis2;
    if (py_args(st, "diagonal", "alii", args, n, &a, &offset, &axis1, &axis2) < 0)
        return NULL;
    return py_result(st, nd_diagonal(a, offset, axis1, axis2, &r), &r);
}

/* (x, shape, strides, offset or None: that of x) */
static PyObject *as_strided(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t shape[ND_MAX_NDIM], strides[ND_MAX_NDIM], offset;
    int ndim, nstrides;
    bool own = n == 4 && args[3] == Py_None;
    if (py_args(st, "as_strided", own ? "azz" : "azzl", args, own ? 3 : n, &a, shape, &ndim,
                strides, &nstrides, &offset) < 0)
        return NULL;
    if (ndim != nstrides)
        return PyErr_Format(PyExc_ValueError, "as_strided(): %d strides for %d extents", nstrides,
                            ndim);
    return py_result(st, nd_as_strided(a, ndim, shape, strides, own ? nd_offset(a) : offset, &r),
                     &r);
}

/* Several shapes, each an int or a sequence: the shape they broadcast to. */
static PyObject *broadcast_shapes(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    typedef int64_t extents[ND_MAX_NDIM];
    py_state *st = py_state_of(module);
    int64_t out[ND_MAX_NDIM];
    int ndim = 0;
    extents *shapes = PyMem_Calloc((size_t)n + 1, sizeof *shapes);
    const int64_t **pointers = PyMem_Calloc((size_t)n + 1, sizeof *pointers);
    int *ndims = PyMem_Calloc((size_t)n + 1, sizeof *ndims);
    PyObject *result = NULL;
    Py_ssize_t done = 0;
    if (!shapes || !pointers || !ndims)
        PyErr_NoMemory();
    else
        for (; done < n && py_ints(args[done], "shape", shapes[done], &ndims[done]) == 0; done++)
            pointers[done] = shapes[done];
    if (!PyErr_Occurred() &&
        (n == 0 || py_check(st, nd_broadcast_shapes((int)n, ndims, pointers, &ndim, out)) == 0))
        result = py_tuple(out, ndim);
    PyMem_Free(shapes);
    PyMem_Free(pointers);
    PyMem_Free(ndims);
    return result;
}

/* (x, dtype, copy, device or None: that of x) */
static PyObject *astype(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *cast = NULL, *r = NULL;
    nd_dtype dtype;
    nd_device *device;
    int copy;
    if (py_args(st, "astype", "atpv", args, n, &a, &dtype, &copy, &device) < 0)
        return py_traced(st, args, n, "_cast", "astype", NULL);
    bool same = !dtype || dtype == nd_dtype_of(a);
    bool here = !device || device == nd_device_of(a);
    if (same && here && !copy)
        return Py_NewRef(args[0]);
    if (!here && !py_is_async(device) && py_wait_array(st, a) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    if (same)
        return py_done(st, saved, nd_copy(a, device, &r), &r);
    if (here)
        return py_done(st, saved, nd_astype(a, dtype, &r), &r);
    nd_status status = nd_astype(a, dtype, &cast);
    if (status == ND_OK)
        status = nd_copy(cast, device, &r);
    nd_release(cast);
    return py_done(st, saved, status, &r);
}

PyMethodDef py_view_methods[] = {PY_METHOD("_reshape", reshape),
                                 PY_METHOD("_permute_dims", permute),
                                 PY_METHOD("_expand_dims", expand_dims),
                                 PY_METHOD("_squeeze", squeeze),
                                 PY_METHOD("_flip", flip),
                                 PY_METHOD("_moveaxis", moveaxis),
                                 PY_METHOD("_matrix_transpose", matrix_transpose),
                                 PY_METHOD("_broadcast_to", broadcast_to),
                                 PY_METHOD("_diagonal", diagonal),
                                 PY_METHOD("_readonly", readonly),
                                 PY_METHOD("_as_strided", as_strided),
                                 PY_METHOD("_broadcast_shapes", broadcast_shapes),
                                 PY_METHOD("_astype", astype),
                                 PY_METHODS_END};
