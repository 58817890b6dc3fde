/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * empty, full, ones, zeros: public as they are, since a wrapper in Python would cost more than a
 * small array. */
#include "python/src/ops/ops.h"

enum { SHAPE, VALUE, DTYPE, DEVICE, SLOTS };
static const char *const names[SLOTS] = {
    [SHAPE] = "shape", [VALUE] = "fill_value", [DTYPE] = "dtype", [DEVICE] = "device"};

/* The arguments of a call by slot; NULL, as at first, where one was not given. Functions without
 * VALUE have one positional argument. */
typedef struct {
    const char *function;
    int positional;
    PyObject *slot[SLOTS];
} call_args;

static int slot_of(const call_args *c, PyObject *name)
{
    for (int i = 0; i < SLOTS; i++)
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0)
            return i == VALUE && c->positional == 1 ? -1 : i;
    return -1;
}

static int put_named(call_args *c, PyObject *name, PyObject *value)
{
    int i = slot_of(c, name);
    if (i < 0) {
        PyErr_Format(PyExc_TypeError,
                     "%s() has no argument %R; its arguments are shape,%s dtype= and device=",
                     c->function, name, c->positional > 1 ? " fill_value," : "");
        return -1;
    }
    if (c->slot[i]) {
        PyErr_Format(PyExc_TypeError, "%s(): %s is given twice, by position and by name",
                     c->function, names[i]);
        return -1;
    }
    c->slot[i] = value;
    return 0;
}

static int read_args(call_args *c, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
    if (n > c->positional) {
        PyErr_Format(PyExc_TypeError,
                     "%s() takes %d positional arguments, not %zd; dtype= and device= go by name",
                     c->function, c->positional, n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        c->slot[i] = args[i];
    for (Py_ssize_t i = 0; i < named; i++)
        if (put_named(c, PyTuple_GetItem(keywords, i), args[n + i]) < 0)
            return -1;
    for (int i = 0; i < c->positional; i++)
        if (!c->slot[i]) {
            PyErr_Format(PyExc_TypeError, "%s() needs %s", c->function, names[i]);
            return -1;
        }
    return 0;
}

/* What all four ask for. */
typedef struct {
    int64_t shape[ND_MAX_NDIM];
    int ndim;
    nd_dtype dtype; /* 0: not given */
    nd_device *device;
} wanted;

static int read_wanted(py_state *st, const call_args *c, wanted *w)
{
    PyObject *const *slot = c->slot;
    if (py_ints(slot[SHAPE], "shape", w->shape, &w->ndim) < 0 ||
        py_dtype(st, slot[DTYPE] ? slot[DTYPE] : Py_None, &w->dtype) < 0)
        return -1;
    return py_device(st, slot[DEVICE] ? slot[DEVICE] : Py_None, &w->device);
}

typedef nd_status creation(nd_device *device, nd_dtype dtype, int ndim, const int64_t *shape,
                           nd_array **out);

static inline PyObject *make(PyObject *module, const char *name, creation *fresh,
                             PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    py_state *st = py_state_of(module);
    call_args c = {.function = name, .positional = 1};
    wanted w;
    nd_array *out = NULL;
    if (read_args(&c, args, n, keywords) < 0 || read_wanted(st, &c, &w) < 0)
        return NULL;
    nd_dtype dtype = w.dtype ? w.dtype : nd_default_float();
    return py_result(st, fresh(w.device, dtype, w.ndim, w.shape, &out), &out);
}

static PyObject *empty(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    return make(module, "empty", nd_empty, args, n, keywords);
}
static PyObject *ones(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    return make(module, "ones", nd_ones, args, n, keywords);
}
static PyObject *zeros(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    return make(module, "zeros", nd_zeros, args, n, keywords);
}

/* An Array's own dtype, and the array API's defaults of Python's scalars; an unsigned value is
 * beyond int64. */
static nd_dtype dtype_of_value(const py_state *st, PyObject *o, nd_scalar value)
{
    const nd_array *a = py_array_get(st, o);
    return a ? nd_dtype_of(a) : value.kind == ND_F64 ? nd_default_float() : value.kind;
}

static PyObject *full(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    py_state *st = py_state_of(module);
    call_args c = {.function = "full", .positional = 2};
    wanted w;
    nd_scalar value;
    nd_array *out = NULL;
    if (read_args(&c, args, n, keywords) < 0 || read_wanted(st, &c, &w) < 0 ||
        py_value(st, "full", c.slot[VALUE], &value) < 0)
        return NULL;
    nd_dtype dtype = w.dtype ? w.dtype : dtype_of_value(st, c.slot[VALUE], value);
    return py_result(st, nd_full(w.device, dtype, w.ndim, w.shape, value, &out), &out);
}

#define SIGNATURE(name, more) #name "(shape, " more "*, dtype=None, device=None)\n--\n\n"
#define SHAPE_DOC "\n\nshape: an int or a sequence of ints. device: by default the current one."
#define ERRORS                                                                                   \
    " Errors: ValueError for a negative extent or an\nunknown device, TypeError for what is no " \
    "dtype, OverflowError for sizes and values out of range, MemoryError.\n\n"
#define FILLED(name, doc)                                            \
    {                                                                \
#name, PY_FUNCTION(name), METH_FASTCALL | METH_KEYWORDS, doc \
    }

PyMethodDef py_filled_methods[] = {
    FILLED(empty,
           SIGNATURE(empty, "") "An array whose elements are not set; dtype by default "
                                "float64." SHAPE_DOC ERRORS ">>> nd.empty((2, 3)).shape\n(2, 3)\n"),
    FILLED(full, SIGNATURE(full, "fill_value, ") "An array of one value. dtype: by default that "
                                                 "of the value's kind (bool, int64, float64, "
                                                 "complex128)." SHAPE_DOC
                                                 " fill_value: a Python scalar,\nor an Array "
                                                 "without axes, whose dtype counts then." ERRORS
                                                 ">>> nd.full((2, 2), 7)\narray([[7, 7],\n       "
                                                 "[7, 7]], dtype=int64, device='cpu:0')\n"),
    FILLED(ones, SIGNATURE(ones, "") "An array of ones; dtype by default float64." SHAPE_DOC ERRORS
                                     ">>> nd.ones(3, dtype=nd.int8)\narray([1, 1, 1], dtype=int8, "
                                     "device='cpu:0')\n"),
    FILLED(zeros,
           SIGNATURE(zeros, "") "An array of zeros; dtype by default float64." SHAPE_DOC ERRORS
                                ">>> nd.zeros((2, 2), dtype=nd.int64)\narray([[0, 0],\n"
                                "       [0, 0]], dtype=int64, device='cpu:0')\n"),
    PY_METHODS_END};
