/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The bytes of arrays as arrays of uint8 and back, for pickles. */
#include "python/src/exchange/exchange.h"

static void release_array(void *a)
{
    nd_release(a);
}

/* Makes an array of that layout over the elements of a, which is kept. */
static PyObject *view_over(py_state *st, nd_array *a, const nd_layout *layout, void *data)
{
    nd_array *out = NULL;
    nd_status status = nd_wrap(layout, data, nd_device_of(a), release_array, nd_retain(a), &out);
    if (status != ND_OK)
        nd_release(a);
    return py_result(st, status, &out);
}

static bool is_dense_on_host(const nd_array *a)
{
    return py_is_host(nd_device_of(a)) && nd_is_contiguous(a);
}

/* _raw(x): the elements of a dense host array as one axis of uint8, a view. */
static PyObject *raw(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *out = NULL;
    void *data = NULL;
    if (py_args(st, "_raw", "a", args, n, &a) < 0)
        return NULL;
    if (!is_dense_on_host(a))
        return PyErr_Format(PyExc_ValueError, "_raw() takes a dense array of the host");
    const int64_t nbytes = nd_size(a) * (int64_t)nd_dtype_size(nd_dtype_of(a));
    const nd_layout layout = {.size = sizeof layout,
                              .dtype = ND_U8,
                              .ndim = 1,
                              .flags = nd_is_readonly(a) ? ND_LAYOUT_READONLY : 0,
                              .shape = &nbytes};
    if (nbytes == 0)
        return py_result(st, nd_empty(nd_device_of(a), ND_U8, 1, &nbytes, &out), &out);
    if (py_wait_array(st, a) < 0 || py_check(st, nd_data(a, &data)) < 0)
        return NULL;
    return view_over(st, a, &layout, data);
}

/* Whether the bytes are the elements of an array of that dtype and shape. */
static bool are_elements(const nd_array *bytes, const nd_layout *layout)
{
    for (int i = 0; i < layout->ndim; i++)
        if (layout->shape[i] < 0)
            return false;
    return layout->dtype && is_dense_on_host(bytes) && nd_dtype_of(bytes) == ND_U8 &&
           py_nbytes(layout->dtype, layout->ndim, layout->shape) == nd_size(bytes);
}

/* _of_raw(bytes as uint8 of the host, dtype, shape): the array that they are; a view if aligned. */
static PyObject *of_raw(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    int64_t shape[ND_MAX_NDIM];
    int ndim;
    void *data = NULL;
    nd_array *bytes, *out = NULL;
    nd_layout layout = {.size = sizeof layout, .shape = shape};
    if (py_args(st, "_of_raw", "atz", args, n, &bytes, &layout.dtype, shape, &ndim) < 0)
        return NULL;
    layout.ndim = ndim;
    layout.flags = nd_is_readonly(bytes) ? ND_LAYOUT_READONLY : 0;
    if (!are_elements(bytes, &layout))
        return PyErr_Format(PyExc_ValueError,
                            "_of_raw(): %lld bytes of the host are not the elements of that dtype "
                            "and shape",
                            (long long)nd_size(bytes));
    nd_device *device = nd_device_of(bytes);
    if (nd_size(bytes) == 0)
        return py_result(st, nd_empty(device, layout.dtype, ndim, shape, &out), &out);
    if (py_check(st, nd_data(bytes, &data)) < 0)
        return NULL;
    if ((uintptr_t)data % nd_dtype_size(layout.dtype))
        return py_result(st, nd_from_host(&layout, data, device, &out), &out);
    return view_over(st, bytes, &layout, data);
}

PyMethodDef py_raw_methods[] = {PY_METHOD("_raw", raw), PY_METHOD("_of_raw", of_raw),
                                PY_METHODS_END};
