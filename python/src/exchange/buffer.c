/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements for others on the host: the buffer protocol (PEP 3118) and __array__, for arrays whose
 * memory the host can read. Nothing here copies from a device: the error says what to call. */
#include "python/src/exchange/exchange.h"

/* What a buffer's consumer reads until it is released. */
typedef struct {
    Py_ssize_t shape[ND_MAX_NDIM], strides[ND_MAX_NDIM];
} extents;

static nd_array *of(PyObject *self)
{
    return ((py_array *)self)->a;
}

/* NULL: formats have no letter for the dtype. */
static const char *format_of(nd_dtype dtype)
{
    static const char *const formats[ND_DTYPE_END] = {
        [ND_BOOL] = "?", [ND_I8] = "b",  [ND_I16] = "h",  [ND_I32] = "i",
        [ND_U8] = "B",   [ND_U16] = "H", [ND_U32] = "I",  [ND_F16] = "e",
        [ND_F32] = "f",  [ND_F64] = "d", [ND_C64] = "Zf", [ND_C128] = "Zd"};
    if (dtype == ND_I64)
        return sizeof(long) == 8 ? "l" : "q"; /* what NumPy calls int64 itself */
    if (dtype == ND_U64)
        return sizeof(long) == 8 ? "L" : "Q";
    return formats[dtype];
}

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

static bool is_host(const nd_array *a)
{
    nd_device_info info;
    nd_device_describe(nd_device_of(a), &info);
    return info.host_visible;
}

/* Dense with the first axis fastest. */
static bool is_fortran(const nd_array *a)
{
    int64_t expected = 1;
    for (int i = 0; i < nd_ndim(a); i++) {
        if (nd_shape(a)[i] > 1 && nd_strides(a)[i] != expected)
            return false;
        expected *= nd_shape(a)[i];
    }
    return true;
}

static int check_request(const nd_array *a, int flags)
{
    bool c = nd_is_contiguous(a) || nd_size(a) == 0, f = nd_size(a) == 0 || is_fortran(a);
    if (!is_host(a))
        return not_host(PyExc_BufferError, a);
    if ((flags & PyBUF_WRITABLE) && nd_is_readonly(a))
        return refuse(PyExc_BufferError, "the array is read-only");
    if (!format_of(nd_dtype_of(a)))
        return refuse(PyExc_BufferError,
                      "buffers have no format for bfloat16; use DLPack, or astype(ndock.float32)");
    if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !c)
        return refuse(PyExc_BufferError, "the array is not dense in C order; copy() is");
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !f)
        return refuse(PyExc_BufferError, "the array is not dense in Fortran order");
    if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !c && !f)
        return refuse(PyExc_BufferError, "the array is not dense; copy() is");
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !c)
        return refuse(PyExc_BufferError,
                      "the array is not dense in C order, and strides were not asked for");
    return 0;
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
    view->format = flags & PyBUF_FORMAT ? (char *)format_of(nd_dtype_of(a)) : NULL;
    view->ndim = flags & PyBUF_ND ? ndim : 1;
    view->shape = flags & PyBUF_ND ? e->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? e->strides : NULL;
    view->suboffsets = NULL;
    view->internal = e;
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    static char empty[16]; /* consumers dislike NULL */
    py_state *st = py_state_of_array(self);
    nd_array *a = of(self);
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

/* The view as numpy.NAME(view, dtype=dtype) gives it. */
static PyObject *call_numpy(const char *name, PyObject *view, PyObject *dtype)
{
    PyObject *numpy = PyImport_ImportModule("numpy"); /* whoever asks for its arrays has it */
    PyObject *make = numpy ? PyObject_GetAttrString(numpy, name) : NULL;
    PyObject *result = make ? PyObject_CallFunctionObjArgs(make, view, dtype, NULL) : NULL;
    Py_XDECREF(make);
    Py_XDECREF(numpy);
    return result;
}

/* copy is None (where needed), true (always) or false (never). NumPy gave its own argument of that
 * name these meanings in 2.0, and before refused None and copied in spite of False: so only
 * numpy.array and numpy.asarray are asked, which mean the same in every version. */
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
    if (!is_host(of(self))) {
        not_host(PyExc_TypeError, of(self));
        return NULL;
    }
    if (!format_of(nd_dtype_of(of(self)))) {
        refuse(PyExc_TypeError, "NumPy has no bfloat16; call x.astype(ndock.float32) first");
        return NULL;
    }
    PyObject *view = PyMemoryView_FromObject(self);
    PyObject *result = view ? copied(view, dtype, copy) : NULL;
    Py_XDECREF(view);
    return result;
}

/* ---- raw bytes, for pickles ---- */
static void release_array(void *a)
{
    nd_release(a);
}

/* _raw(x): the elements of a dense host array as one axis of uint8, a view. */
static PyObject *raw(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a = n == 1 ? py_array_need(st, args[0], "_raw") : NULL, *out = NULL;
    void *data = NULL;
    if (!a)
        return n == 1 ? NULL : PyErr_Format(PyExc_TypeError, "_raw() takes one argument");
    if (!is_host(a) || !nd_is_contiguous(a))
        return PyErr_Format(PyExc_ValueError, "_raw() takes a dense array of the host");
    const int64_t nbytes = nd_size(a) * (int64_t)nd_dtype_size(nd_dtype_of(a));
    nd_layout layout = {.size = sizeof layout,
                        .dtype = ND_U8,
                        .ndim = 1,
                        .flags = nd_is_readonly(a) ? ND_LAYOUT_READONLY : 0,
                        .shape = &nbytes};
    if (nbytes == 0)
        return py_result(st, nd_empty(nd_device_of(a), ND_U8, 1, &nbytes, &out), &out);
    if (py_wait_array(st, a) < 0 || py_check(st, nd_data(a, &data)) < 0)
        return NULL;
    nd_status status = nd_wrap(&layout, data, nd_device_of(a), release_array, nd_retain(a), &out);
    if (status != ND_OK)
        nd_release(a);
    return py_result(st, status, &out);
}

/* _of_raw(bytes as uint8 of the host, dtype, shape): the array that they are; a view if aligned. */
static PyObject *of_raw(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    int64_t shape[ND_MAX_NDIM], size = 1;
    int ndim;
    nd_dtype dtype;
    void *data = NULL;
    nd_array *out = NULL, *bytes = n == 3 ? py_array_need(st, args[0], "_of_raw") : NULL;
    if (!bytes)
        return n == 3 ? NULL : PyErr_Format(PyExc_TypeError, "_of_raw() takes three arguments");
    if (py_dtype(st, args[1], &dtype) < 0 || py_ints(args[2], "shape", shape, &ndim) < 0)
        return NULL;
    bool fits = dtype != 0;
    for (int i = 0; i < ndim && fits; i++)
        fits = shape[i] >= 0 && !__builtin_mul_overflow(size, shape[i], &size);
    if (fits)
        fits = !__builtin_mul_overflow(size, (int64_t)nd_dtype_size(dtype), &size);
    if (!fits || !is_host(bytes) || !nd_is_contiguous(bytes) || nd_dtype_of(bytes) != ND_U8 ||
        size != nd_size(bytes))
        return PyErr_Format(PyExc_ValueError,
                            "_of_raw(): %lld bytes of the host are not the elements of that dtype "
                            "and shape",
                            (long long)nd_size(bytes));
    nd_layout layout = {.size = sizeof layout,
                        .dtype = dtype,
                        .ndim = ndim,
                        .flags = nd_is_readonly(bytes) ? ND_LAYOUT_READONLY : 0,
                        .shape = shape};
    nd_device *device = nd_device_of(bytes);
    if (size == 0)
        return py_result(st, nd_empty(device, dtype, ndim, shape, &out), &out);
    if (py_check(st, nd_data(bytes, &data)) < 0)
        return NULL;
    if ((uintptr_t)data % nd_dtype_size(dtype))
        return py_result(st, nd_from_host(&layout, data, device, &out), &out);
    nd_status status = nd_wrap(&layout, data, device, release_array, nd_retain(bytes), &out);
    if (status != ND_OK)
        nd_release(bytes);
    return py_result(st, status, &out);
}

PyMethodDef py_buffer_methods[] = {
    {"_raw", (PyCFunction)(void (*)(void))raw, METH_FASTCALL, NULL},
    {"_of_raw", (PyCFunction)(void (*)(void))of_raw, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL}};
const PyType_Slot py_buffer_slots[] = {{Py_bf_getbuffer, (void *)get_buffer},
                                       {Py_bf_releasebuffer, (void *)release_buffer},
                                       {0, NULL}};
