/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Host memory behind __array_interface__ (version 3 of NumPy's array interface protocol). */
#include <stdlib.h>
#include "python/src/asarray/asarray.h"

static int bad(const char *what, PyObject *got)
{
    PyErr_Format(PyExc_ValueError, "__array_interface__: %s, not %R", what, got ? got : Py_None);
    return -1;
}

/* The entries of the dictionary that are read. Each is held, because reading an entry may run code
 * of Python's (its __index__ or __bool__) that changes the dictionary. NULL: there is no such
 * entry. */
enum { TYPESTR, SHAPE, STRIDES, DATA, OFFSET, MASK, ENTRIES };

static int take_entries(PyObject *dict, PyObject **e)
{
    static const char *const names[ENTRIES] = {"typestr", "shape",  "strides",
                                               "data",    "offset", "mask"};
    for (int i = 0; i < ENTRIES; i++) {
        PyObject *key = PyUnicode_FromString(names[i]);
        e[i] = key ? Py_XNewRef(PyDict_GetItemWithError(dict, key)) : NULL;
        Py_XDECREF(key);
        if (!e[i] && PyErr_Occurred())
            return -1;
    }
    return 0;
}

static bool given(PyObject *entry)
{
    return entry && entry != Py_None;
}

/* Reads the size of an element from a text such as "<f4"; 0 where it is no such text. Dates have
 * their unit in brackets, to which *end points then. */
static long read_size(PyObject *typestr, const char **text, char **end)
{
    Py_ssize_t n = 0;
    const char *t =
        typestr && PyUnicode_Check(typestr) ? PyUnicode_AsUTF8AndSize(typestr, &n) : NULL;
    *text = t;
    if (n < 3 || strlen(t) != (size_t)n || !strchr("<>|=", t[0]))
        return 0;
    long nbytes = strtol(t + 2, end, 10);
    return (!**end || **end == '[') && nbytes > 0 ? nbytes : 0;
}

/* Reads the dtype and the byte order. '<V2' is bfloat16, '|V1' or '<f1' an 8-bit format, where the object's dtype has its name. */
static int read_typestr(PyObject *o, PyObject *typestr, py_host_memory *m)
{
    const char *t;
    char *end;
    const long nbytes = read_size(typestr, &t, &end);
    if (!nbytes)
        return bad("typestr is text such as '<f4'", typestr);
    m->swapped = nbytes > 1 && py_is_swapped(t[0]);
    m->dtype = *end ? 0 : py_dtype_of_kind(t[1], nbytes);
    const nd_dtype opaque = m->dtype ? 0 : py_opaque_dtype(o);
    if (opaque && (long)nd_dtype_size(opaque) == nbytes)
        m->dtype = opaque;
    if (m->dtype)
        return 0;
    PyErr_Format(PyExc_TypeError, "no dtype for elements of type '%s'", t);
    return -1;
}

static int read_ints(PyObject *tuple, const char *what, int64_t *out, int *n)
{
    if (!tuple || !PyTuple_Check(tuple))
        return bad(what, tuple);
    return py_ints(tuple, what, out, n);
}

static int read_layout(PyObject *shape, PyObject *strides, py_host_memory *m)
{
    int n = 0;
    if (read_ints(shape, "shape", m->shape, &m->ndim) < 0)
        return -1;
    for (int i = 0; i < m->ndim; i++)
        if (m->shape[i] < 0)
            return bad("extents are not negative", shape);
    int64_t stride = (int64_t)nd_dtype_size(m->dtype);
    for (int i = m->ndim - 1; i >= 0; i--) {
        m->stride[i] = stride;
        if (__builtin_mul_overflow(stride, m->shape[i] ? m->shape[i] : 1, &stride))
            return bad("the size fits 64 bits", shape);
    }
    if (given(strides) && read_ints(strides, "strides", m->stride, &n) < 0)
        return -1;
    return !given(strides) || n == m->ndim ? 0 : bad("strides has an entry for each axis", strides);
}

static int read_address(PyObject *pair, py_host_memory *m)
{
    PyObject *address = PyTuple_GetItem(pair, 0);
    if (!PyLong_Check(address))
        return bad("data is a pair of an address and a flag", pair);
    m->data = PyLong_AsVoidPtr(address);
    int readonly = PyErr_Occurred() ? -1 : PyObject_IsTrue(PyTuple_GetItem(pair, 1));
    m->readonly = readonly != 0;
    return readonly < 0 ? -1 : 0;
}

/* Says that the elements are in a buffer, from byte `at` of it; false where they do not fit. */
static bool within(const Py_buffer *view, Py_ssize_t at, py_host_memory *m)
{
    py_reach r;
    bool fits = py_reach_of(m, &r) && at >= 0 && r.most <= view->len - at && r.least >= -at;
    m->data = fits ? (char *)view->buf + at : NULL;
    m->readonly = view->readonly;
    return fits;
}

/* Keeps held as well, a reference that is taken over. */
static int keep_too(PyObject *held, py_host_memory *m)
{
    PyObject *both = PyTuple_Pack(2, m->owner, held);
    Py_DECREF(held);
    if (!both)
        return -1;
    Py_DECREF(m->owner);
    m->owner = both;
    return 0;
}

/* Finds where the elements are: at the address in "data", or else in a buffer from "offset", which
 * is the object's own where there is no "data". */
static int read_data(PyObject *o, PyObject *data, PyObject *offset, py_host_memory *m)
{
    if (data && PyTuple_Check(data) && PyTuple_Size(data) == 2)
        return read_address(data, m);
    Py_buffer view;
    Py_ssize_t at = offset ? PyNumber_AsSsize_t(offset, PyExc_ValueError) : 0;
    if (at == -1 && PyErr_Occurred())
        return -1;
    PyObject *held = PyMemoryView_FromObject(given(data) ? data : o);
    if (!held || PyObject_GetBuffer(held, &view, PyBUF_SIMPLE) < 0) {
        Py_XDECREF(held);
        return -1;
    }
    bool fits = within(&view, at, m);
    PyBuffer_Release(&view);
    if (fits)
        return keep_too(held, m);
    Py_DECREF(held);
    return bad("the shape and strides stay within data", data);
}

static int read_interface(PyObject *o, PyObject *const *e, py_host_memory *m)
{
    if (given(e[MASK])) {
        PyErr_SetString(PyExc_NotImplementedError, "__array_interface__: masks are not supported");
        return -1;
    }
    if (read_typestr(o, e[TYPESTR], m) < 0 || read_layout(e[SHAPE], e[STRIDES], m) < 0)
        return -1;
    return read_data(o, e[DATA], e[OFFSET], m);
}

int py_read_interface(PyObject *o, py_host_memory *m)
{
    PyObject *e[ENTRIES] = {NULL};
    PyObject *d = PyObject_GetAttrString(o, "__array_interface__");
    if (!d) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    if (!PyDict_Check(d)) {
        bad("it is a dict", d);
        Py_DECREF(d);
        return -1;
    }
    m->owner = PyTuple_Pack(2, o, d);
    int result = m->owner && take_entries(d, e) == 0 ? read_interface(o, e, m) : -1;
    for (int i = 0; i < ENTRIES; i++)
        Py_XDECREF(e[i]);
    Py_DECREF(d);
    return result < 0 ? -1 : 1;
}
