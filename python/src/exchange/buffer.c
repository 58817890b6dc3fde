/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements for others on the host: the buffer protocol (PEP 3118) and __array__, for arrays whose
 * memory the host can read. Nothing here copies from a device: the error says what to call. */
#include "python/src/exchange/exchange.h"

/* What a buffer's consumer reads until it is released. */
typedef struct {
    Py_ssize_t shape[ND_MAX_NDIM], strides[ND_MAX_NDIM];
} extents;

static int refuse(PyObject *exception, const char *why)
{
    PyErr_SetString(exception, why);
    return -1;
}

static int not_host(PyObject *exception, const nd_array *a)
{
    PyErr_Format(exception,
                 "the array is on '%s', which the host cannot read, and is never copied silently; "
                 "call x.to_device(\"cpu\") first",
                 nd_device_name(nd_device_of(a)));
    return -1;
}

/* Whether the elements are dense, with the first axis fastest. */
static bool is_fortran(const nd_array *a)
{
    int64_t expected = 1;
    if (nd_size(a) == 0)
        return true;
    for (int i = 0; i < nd_ndim(a); i++) {
        if (nd_shape(a)[i] > 1 && nd_strides(a)[i] != expected)
            return false;
        expected *= nd_shape(a)[i];
    }
    return true;
}

/* Whether the consumer asked for this, which may be several bits. */
static bool asks_for(int flags, int what)
{
    return (flags & what) == what;
}

static bool is_c(const nd_array *a)
{
    return nd_size(a) == 0 || nd_is_contiguous(a);
}

/* Checks the order of the elements: an array that is not dense needs a consumer that takes
 * strides. */
static int check_order(const nd_array *a, int flags)
{
    if (asks_for(flags, PyBUF_C_CONTIGUOUS) && !is_c(a))
        return refuse(PyExc_BufferError, "the array is not dense in C order; copy() is");
    if (asks_for(flags, PyBUF_F_CONTIGUOUS) && !is_fortran(a))
        return refuse(PyExc_BufferError, "the array is not dense in Fortran order");
    if (asks_for(flags, PyBUF_ANY_CONTIGUOUS) && !is_c(a) && !is_fortran(a))
        return refuse(PyExc_BufferError, "the array is not dense; copy() is");
    if (!asks_for(flags, PyBUF_STRIDES) && !is_c(a))
        return refuse(PyExc_BufferError,
                      "the array is not dense in C order, and strides were not asked for");
    return 0;
}

static int check_request(const nd_array *a, int flags)
{
    if (!py_is_host(nd_device_of(a)))
        return not_host(PyExc_BufferError, a);
    if ((flags & PyBUF_WRITABLE) && nd_is_readonly(a))
        return refuse(PyExc_BufferError, "the array is read-only");
    if (!py_format_of_dtype(nd_dtype_of(a))) {
        PyErr_Format(PyExc_BufferError,
                     "buffers have no format for %s; use DLPack, or astype(ndock.float32)",
                     nd_dtype_get(nd_dtype_of(a))->standard);
        return -1;
    }
    return check_order(a, flags);
}

static void describe(const nd_array *a, int flags, extents *e, Py_buffer *view)
{
    int ndim = nd_ndim(a);
    Py_ssize_t item = (Py_ssize_t)nd_dtype_size(nd_dtype_of(a));
    for (int i = 0; i < ndim; i++) {
        e->shape[i] = (Py_ssize_t)nd_shape(a)[i];
        if (__builtin_mul_overflow(nd_strides(a)[i], item, &e->strides[i]))
            e->strides[i] = item; /* nobody steps along an axis whose steps do not fit */
    }
    view->itemsize = item;
    view->len = (Py_ssize_t)nd_size(a) * item;
    view->readonly = nd_is_readonly(a);
    view->format = flags & PyBUF_FORMAT ? (char *)py_format_of_dtype(nd_dtype_of(a)) : NULL;
    view->ndim = flags & PyBUF_ND ? ndim : 1;
    view->shape = flags & PyBUF_ND ? e->shape : NULL;
    view->strides = asks_for(flags, PyBUF_STRIDES) ? e->strides : NULL;
    view->suboffsets = NULL;
    view->internal = e;
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    static char empty[16]; /* consumers dislike NULL */
    py_state *st = py_state_of_array(self);
    nd_array *a = py_array_of(self);
    view->obj = NULL;
    if (check_request(a, flags) < 0 || py_wait_array(st, a) < 0 ||
        py_check(st, nd_data(a, &view->buf)) < 0)
        return -1;
    if (!view->buf)
        view->buf = empty;
    extents *e = PyMem_Malloc(sizeof *e);
    if (!e) {
        PyErr_NoMemory();
        return -1;
    }
    describe(a, flags, e, view);
    view->obj = Py_NewRef(self);
    return 0;
}

static void release_buffer(PyObject *self, Py_buffer *view)
{
    (void)self;
    PyMem_Free(view->internal);
}

/* Calls numpy.NAME(view, dtype). */
static PyObject *call_numpy(const char *name, PyObject *view, PyObject *dtype)
{
    PyObject *make = py_imported("numpy", name); /* whoever asks for its arrays has it */
    PyObject *result = make ? PyObject_CallFunctionObjArgs(make, view, dtype, NULL) : NULL;
    Py_XDECREF(make);
    return result;
}

/* copy is None (a copy where needed), true (always) or false (never). NumPy's own argument of that
 * name has had these meanings since 2.0; before, None was refused, and False copied nevertheless.
 * So only numpy.array and numpy.asarray are called, which mean the same in every version. */
static PyObject *copied(PyObject *view, PyObject *dtype, PyObject *copy)
{
    const int always = copy == Py_None ? 0 : PyObject_IsTrue(copy);
    if (always)
        return always < 0 ? NULL : call_numpy("array", view, dtype);
    PyObject *viewed = call_numpy("asarray", view, Py_None);
    PyObject *result = viewed ? call_numpy("asarray", viewed, dtype) : NULL;
    if (result && result != viewed && copy != Py_None) {
        Py_CLEAR(result);
        PyErr_Format(PyExc_ValueError,
                     "another dtype, %R, needs a copy, which copy=False forbids; copy=None and "
                     "copy=True allow it",
                     dtype);
    }
    Py_XDECREF(viewed);
    return result;
}

PyObject *py_array_numpy(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"dtype", "copy", NULL};
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", names, &dtype, &copy))
        return NULL;
    if (!py_is_host(nd_device_of(py_array_of(self)))) {
        not_host(PyExc_TypeError, py_array_of(self));
        return NULL;
    }
    const nd_dtype dtype_here = nd_dtype_of(py_array_of(self));
    if (!py_format_of_dtype(dtype_here))
        return PyErr_Format(PyExc_TypeError, "NumPy has no %s; call x.astype(ndock.float32) first",
                            nd_dtype_get(dtype_here)->standard);
    PyObject *view = PyMemoryView_FromObject(self);
    PyObject *result = view ? copied(view, dtype, copy) : NULL;
    Py_XDECREF(view);
    return result;
}

const PyType_Slot py_buffer_slots[] = {{Py_bf_getbuffer, (void *)get_buffer},
                                       {Py_bf_releasebuffer, (void *)release_buffer},
                                       {0, NULL}};
