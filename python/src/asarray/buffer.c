/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Host memory behind the buffer protocol (PEP 3118). */
#include "python/src/asarray/asarray.h"

/* Makes a dense copy of memory behind pointers, which has no strides. */
static int flatten(const Py_buffer *view, py_host_memory *m)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, view->len);
    if (!bytes)
        return -1;
    m->data = PyBytes_AsString(bytes);
    if (PyBuffer_ToContiguous(m->data, (Py_buffer *)view, view->len, 'C') < 0) {
        Py_DECREF(bytes);
        return -1;
    }
    Py_DECREF(m->owner);
    m->owner = bytes;
    m->private_copy = true;
    int64_t stride = view->itemsize;
    for (int i = m->ndim - 1; i >= 0; i--) {
        m->stride[i] = stride;
        stride *= m->shape[i];
    }
    return 0;
}

static int read_buffer(const Py_buffer *view, py_host_memory *m)
{
    m->dtype = py_dtype_of_format(view->format, view->itemsize, &m->swapped);
    if (!m->dtype) {
        PyErr_Format(PyExc_TypeError,
                     "no dtype for the buffer's format '%s' with items of %zd bytes; formats are "
                     "?, the integers', e, f, d, Zf and Zd",
                     view->format ? view->format : "B", view->itemsize);
        return -1;
    }
    if (view->ndim > ND_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "the object has %zd axes; at most %d are possible",
                     (Py_ssize_t)view->ndim, ND_MAX_NDIM);
        return -1;
    }
    m->data = view->buf;
    m->ndim = view->ndim;
    m->readonly = view->readonly;
    for (int i = 0; i < view->ndim; i++) {
        m->shape[i] = view->shape[i];
        m->stride[i] = view->strides[i];
    }
    for (int i = 0; view->suboffsets && i < view->ndim; i++)
        if (view->suboffsets[i] >= 0)
            return flatten(view, m);
    return 0;
}

/* The buffer is held by a memoryview, so that one reference is all there is to keep. */
int py_read_buffer(PyObject *o, py_host_memory *m)
{
    Py_buffer view;
    m->owner = PyMemoryView_FromObject(o);
    if (!m->owner || PyObject_GetBuffer(m->owner, &view, PyBUF_FULL_RO) < 0) {
        /* NumPy raises one of these for dtypes that formats cannot say. */
        if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_TypeError))
            return -1;
        PyErr_Clear();
        Py_CLEAR(m->owner);
        return 0;
    }
    int result = read_buffer(&view, m);
    PyBuffer_Release(&view);
    return result < 0 ? -1 : 1;
}
