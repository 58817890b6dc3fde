/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The attributes of Array: facts, and views that need no arguments. */
#include "python/src/array/array.h"

static PyObject *get_shape(PyObject *self, void *unused)
{
    (void)unused;
    return py_tuple(nd_shape(py_array_of(self)), nd_ndim(py_array_of(self)));
}
static PyObject *get_strides(PyObject *self, void *unused)
{
    (void)unused;
    return py_tuple(nd_strides(py_array_of(self)), nd_ndim(py_array_of(self)));
}
static PyObject *get_ndim(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(nd_ndim(py_array_of(self)));
}
static PyObject *get_size(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(nd_size(py_array_of(self)));
}
static PyObject *get_dtype(PyObject *self, void *unused)
{
    (void)unused;
    return py_from_dtype(py_state_of_self(self), nd_dtype_of(py_array_of(self)));
}
static PyObject *get_device(PyObject *self, void *unused)
{
    (void)unused;
    return py_from_device(py_state_of_self(self), nd_device_of(py_array_of(self)));
}

static PyObject *get_itemsize(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(nd_dtype_size(nd_dtype_of(py_array_of(self))));
}
static PyObject *get_nbytes(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t((size_t)nd_size(py_array_of(self)) *
                             nd_dtype_size(nd_dtype_of(py_array_of(self))));
}
static PyObject *get_offset(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(nd_offset(py_array_of(self)));
}
static PyObject *get_readonly(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(nd_is_readonly(py_array_of(self)));
}

/* The array API defines .T for matrices alone; permute_dims and transpose() reverse all axes. */
static PyObject *get_T(PyObject *self, void *unused)
{
    nd_array *view = NULL;
    (void)unused;
    if (nd_ndim(py_array_of(self)) == 2)
        return py_result(py_state_of_self(self), nd_transpose(py_array_of(self), &view), &view);
    return PyErr_Format(PyExc_ValueError,
                        "x.T is defined for two axes, not %d; x.mT exchanges the last two, "
                        "x.transpose() reverses all",
                        nd_ndim(py_array_of(self)));
}
static PyObject *get_mT(PyObject *self, void *unused)
{
    nd_array *view = NULL;
    (void)unused;
    return py_result(py_state_of_self(self), nd_matrix_transpose(py_array_of(self), &view), &view);
}

PyGetSetDef py_array_getset[] = {
    {"shape", get_shape, NULL, "Extents, a tuple of ints.", NULL},
    {"strides", get_strides, NULL, "Distance of neighbours along each axis, in elements.", NULL},
    {"offset", get_offset, NULL, "Elements from the start of the storage to the first one.", NULL},
    {"ndim", get_ndim, NULL, "Number of axes.", NULL},
    {"size", get_size, NULL, "Number of elements.", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of an element.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of all elements.", NULL},
    {"dtype", get_dtype, NULL, "Element type, an ndock.DType.", NULL},
    {"device", get_device, NULL, "Where the elements are, an ndock.Device.", NULL},
    {"readonly", get_readonly, NULL, "Whether elements cannot be assigned to.", NULL},
    {"T", get_T, NULL, "The transposed matrix, a view; for two axes.", NULL},
    {"mT", get_mT, NULL, "The last two axes exchanged, a view.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
