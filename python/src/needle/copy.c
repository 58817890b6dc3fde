/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * needle's backend interface: from and to NumPy, filling, and copies between flat handles and
 * strided views of them. */
#include "python/src/needle/needle.h"

/* ---- from NumPy ---- */

/* The dtype of a buffer's elements; 0 where it is no plain real number of this machine. */
static nd_dtype dtype_of_buffer(const Py_buffer *b)
{
    bool swapped;
    nd_dtype dtype = py_dtype_of_format(b->format, b->itemsize, &swapped);
    return swapped || (dtype && nd_dtype_get(dtype)->kind == ND_KIND_COMPLEX) ? 0 : dtype;
}

/* Gets the buffer of an object with elements of a real dtype; false where it has none, perhaps with
 * an exception. */
static bool has_real(PyObject *o, Py_buffer *b, nd_dtype *dtype)
{
    if (PyObject_GetBuffer(o, b, PyBUF_FULL_RO) < 0)
        return false;
    *dtype = dtype_of_buffer(b);
    if (!*dtype)
        PyBuffer_Release(b);
    return *dtype != 0;
}

/* Other formats (other byte orders, long double, bfloat16 of other packages) are converted by the
 * object's own astype, whose result is looked at like any buffer. */
static int get_buffer(PyObject *o, Py_buffer *b, nd_dtype *dtype)
{
    if (has_real(o, b, dtype))
        return 0;
    PyErr_Clear();
    PyObject *own = PyObject_GetAttrString(o, "dtype"), *converted = NULL;
    PyObject *kind = own ? PyObject_GetAttrString(own, "kind") : NULL;
    const char *letter = kind ? PyUnicode_AsUTF8AndSize(kind, NULL) : NULL;
    if (letter && strchr("biufOV", *letter))
        converted = PyObject_CallMethod(o, "astype", "s", "float32");
    Py_XDECREF(kind);
    bool found = converted && has_real(converted, b, dtype);
    if (!found && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_AttributeError)))
        PyErr_Format(PyExc_TypeError, "from_numpy() takes an array of real numbers, not %R of %R",
                     (PyObject *)Py_TYPE(o), own ? own : Py_None);
    Py_XDECREF(converted); /* the buffer keeps it */
    Py_XDECREF(own);
    return found ? 0 : -1;
}

/* Copies the buffer's elements, dense in C order, to the handle's. */
static nd_status upload(const void *data, nd_dtype dtype, int64_t count, const nd_array *dst)
{
    const nd_layout layout = {.size = sizeof layout,
                              .dtype = dtype,
                              .ndim = 1,
                              .flags = ND_LAYOUT_READONLY,
                              .shape = &count};
    nd_array *source = NULL;
    nd_device *device = nd_device_of(dst);
    bool here =
        py_is_host(device) && !py_is_async(device) && (uintptr_t)data % nd_dtype_size(dtype) == 0;
    nd_status status = here ? nd_wrap(&layout, (void *)(uintptr_t)data, device, NULL, NULL, &source)
                            : nd_from_host(&layout, data, device, &source);
    if (status == ND_OK)
        status = nd_assign(source, dst);
    nd_release(source);
    return status;
}

static PyObject *from_buffer(const py_needle_args *p, const Py_buffer *b, nd_dtype dtype)
{
    const nd_array *dst = p->h[0];
    const int64_t count = (int64_t)(b->len / b->itemsize);
    void *dense = NULL;
    if (py_needle_size("from_numpy", "out", dst, count) < 0)
        return NULL;
    if (!PyBuffer_IsContiguous(b, 'C')) {
        dense = PyMem_Malloc((size_t)b->len + 1);
        if (!dense)
            return PyErr_NoMemory();
        if (PyBuffer_ToContiguous(dense, b, b->len, 'C') < 0) {
            PyMem_Free(dense);
            return NULL;
        }
    }
    PyThreadState *saved = py_unlock(dst, count);
    nd_status status = upload(dense ? dense : b->buf, dtype, count, dst);
    py_lock(saved);
    PyMem_Free(dense);
    return py_none(p->st, status);
}

static PyObject *from_numpy(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    py_needle_args p;
    Py_buffer b;
    nd_dtype dtype;
    (void)module;
    if (given != 2)
        return PyErr_Format(PyExc_TypeError, "from_numpy() takes 2 arguments, not %zd", given);
    if (py_needle_parse("from_numpy", "h", args + 1, 1, &p) < 0 ||
        get_buffer(args[0], &b, &dtype) < 0)
        return NULL;
    PyObject *result = from_buffer(&p, &b, dtype);
    PyBuffer_Release(&b);
    return result;
}

/* ---- to NumPy ---- */

/* numpy.empty(shape, "float32") */
static PyObject *empty_numpy(const py_needle_args *p)
{
    PyObject *empty = py_imported("numpy", "empty"), *shape = py_tuple(p->shape, p->ndim);
    PyObject *result = empty && shape ? PyObject_CallFunction(empty, "Os", shape, "float32") : NULL;
    Py_XDECREF(shape);
    Py_XDECREF(empty);
    return result;
}

/* Copies the view's elements to the memory of NumPy's array. */
static int download(const py_needle_args *p, const nd_array *view, PyObject *array)
{
    Py_buffer b;
    if (PyObject_GetBuffer(array, &b, PyBUF_CONTIG) < 0)
        return -1;
    PyThreadState *saved = py_unlock(view, nd_size(view));
    nd_status status = nd_to_host(view, b.buf, (size_t)b.len);
    py_lock(saved);
    PyBuffer_Release(&b);
    return py_check(p->st, status);
}

static PyObject *to_numpy(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    py_needle_args p;
    nd_array *view = NULL;
    (void)module;
    if (py_needle_parse("to_numpy", "hV", args, given, &p) < 0 ||
        py_needle_view(&p, p.h[0], &view) < 0)
        return NULL;
    PyObject *result = empty_numpy(&p);
    if (result && download(&p, view, result) < 0)
        Py_CLEAR(result);
    nd_release(view);
    return result;
}

/* ---- copies ---- */

static PyObject *fill(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    py_needle_args p;
    (void)module;
    if (py_needle_parse("fill", "hv", args, given, &p) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(p.h[0], nd_size(p.h[0]));
    nd_status status = nd_fill(p.h[0], p.v);
    py_lock(saved);
    return py_none(p.st, status);
}

/* Sets dst to src of the same shape, or (src NULL) to the value. A view that overlaps itself is set
 * position by position along its first axes, so that the last element in C order wins. */
static nd_status set(const nd_array *src, nd_scalar value, const nd_array *dst)
{
    nd_status status = src ? nd_assign(src, dst) : nd_fill(dst, value);
    if (status != ND_ERR_OVERLAP || nd_ndim(dst) == 0)
        return status;
    const int64_t n = nd_shape(dst)[0];
    status = ND_OK;
    for (int64_t i = 0; i < n && status == ND_OK; i++) {
        const nd_index at = nd_at(i);
        nd_array *from = NULL, *to = NULL;
        status = nd_slice(dst, &at, 1, &to);
        if (status == ND_OK && src)
            status = nd_slice(src, &at, 1, &from);
        if (status == ND_OK)
            status = set(from, value, to);
        nd_release(from);
        nd_release(to);
    }
    return status;
}

/* Does the same as a call, which gives both arrays up. */
static PyObject *assign(const py_needle_args *p, nd_array *src, nd_scalar value, nd_array *dst)
{
    PyThreadState *saved = py_unlock(dst, nd_size(dst));
    nd_status status = set(src, value, dst);
    py_lock(saved);
    nd_release(src);
    nd_release(dst);
    return py_none(p->st, status);
}

static PyObject *compact(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    py_needle_args p;
    nd_array *src = NULL, *dst = NULL;
    (void)module;
    if (py_needle_parse("compact", "hhV", args, given, &p) < 0)
        return NULL;
    const int64_t count = py_needle_count("compact", &p);
    if (count < 0 || py_needle_size("compact", "out", p.h[1], count) < 0 ||
        py_needle_view(&p, p.h[0], &src) < 0)
        return NULL;
    if (py_check(p.st, nd_reshape(p.h[1], p.ndim, p.shape, &dst)) < 0) {
        nd_release(src);
        return NULL;
    }
    return assign(&p, src, nd_int(0), dst);
}

/* Along an axis of stride 0 the element that is written last stays, so only that position is
 * kept. */
static int collapse(py_needle_args *p, nd_array **src)
{
    nd_index last[ND_MAX_NDIM];
    nd_array *narrow = NULL;
    for (int i = 0; i < p->ndim; i++) {
        last[i] = nd_all_of();
        if (p->stride[i] != 0 || p->shape[i] < 2)
            continue;
        last[i] = nd_range(p->shape[i] - 1, p->shape[i], 1);
        p->shape[i] = 1;
    }
    if (!src)
        return 0;
    if (py_check(p->st, nd_slice(*src, last, p->ndim, &narrow)) < 0)
        return -1;
    nd_release(*src);
    *src = narrow;
    return 0;
}

static PyObject *ewise_setitem(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    py_needle_args p;
    nd_array *src = NULL, *dst = NULL;
    (void)module;
    if (py_needle_parse("ewise_setitem", "hhV", args, given, &p) < 0)
        return NULL;
    const int64_t count = py_needle_count("ewise_setitem", &p);
    if (count < 0 || py_needle_size("ewise_setitem", "a", p.h[0], count) < 0 ||
        py_check(p.st, nd_reshape(p.h[0], p.ndim, p.shape, &src)) < 0)
        return NULL;
    if (collapse(&p, &src) < 0 || py_needle_view(&p, p.h[1], &dst) < 0) {
        nd_release(src);
        return NULL;
    }
    return assign(&p, src, nd_int(0), dst);
}

static PyObject *scalar_setitem(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    py_needle_args p;
    nd_array *dst = NULL;
    (void)module;
    if (py_needle_parse("scalar_setitem", "nvhV", args, given, &p) < 0)
        return NULL;
    const int64_t count = py_needle_count("scalar_setitem", &p);
    if (count < 0)
        return NULL;
    if (p.n[0] != count)
        return PyErr_Format(PyExc_ValueError,
                            "scalar_setitem(): size is %lld and the shape has %lld elements",
                            (long long)p.n[0], (long long)count);
    if (collapse(&p, NULL) < 0 || py_needle_view(&p, p.h[0], &dst) < 0)
        return NULL;
    return assign(&p, NULL, p.v, dst);
}

#define METHOD(name, parameters, doc)                                            \
    {                                                                            \
#name, PY_FUNCTION(name), METH_FASTCALL, #name parameters "\n--\n\n" doc \
    }
#define VIEW "View: shape, strides and offset in elements; strides may be 0 or negative."
PyMethodDef py_needle_copy_methods[] = {
    METHOD(
        from_numpy, "(a, out, /)",
        "out = the elements of a NumPy array (or other buffer) of a real dtype, as float32. The\n"
        "array is the caller's again on return."),
    METHOD(to_numpy, "(a, shape, strides, offset, /)",
           "A new NumPy array with the values of a view of a; waits for them.\n" VIEW),
    METHOD(fill, "(out, val, /)", "out = val everywhere."),
    METHOD(compact, "(a, out, shape, strides, offset, /)",
           "out = a view of a, dense in C order.\n" VIEW),
    METHOD(
        ewise_setitem, "(a, out, shape, strides, offset, /)",
        "A view of out = a, which is dense in C order. Of elements that share memory the last in\n"
        "that order wins.\n" VIEW),
    METHOD(scalar_setitem, "(size, val, out, shape, strides, offset, /)",
           "A view of out, of size elements, = val.\n" VIEW),
    PY_METHODS_END};
