/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements as Python's numbers: conversions, item, tolist, and Array as a sequence. All of these
 * read values on purpose: they wait, and bring them to the host from any device. */
#include "python/src/array/array.h"

/* ---- conversions ---- */
static int zero_d(PyObject *self, const char *type)
{
    PyObject *shape;
    if (nd_ndim(py_array_of(self)) == 0)
        return 0;
    shape = py_tuple(nd_shape(py_array_of(self)), nd_ndim(py_array_of(self)));
    PyErr_Format(PyExc_TypeError,
                 "%s() takes an array without axes, not one of shape %R; item() reads one element",
                 type, shape);
    Py_XDECREF(shape);
    return -1;
}

static int refuse(PyObject *self, const char *type, const char *instead)
{
    PyErr_Format(PyExc_TypeError, "%s() is not defined for %s arrays; %s", type,
                 nd_dtype_get(nd_dtype_of(py_array_of(self)))->standard, instead);
    return -1;
}

static int array_bool(PyObject *self)
{
    nd_scalar s;
    if (nd_size(py_array_of(self)) != 1) {
        PyErr_Format(PyExc_ValueError,
                     "the truth value of an array of %lld elements is ambiguous; use ndock.any or "
                     "ndock.all",
                     (long long)nd_size(py_array_of(self)));
        return -1;
    }
    if (py_array_item(self, &s) < 0)
        return -1;
    return py_is_true(s);
}

/* The value of an array without axes that is not complex. */
static int real_value(PyObject *self, const char *type, nd_scalar *s)
{
    if (zero_d(self, type) < 0)
        return -1;
    if (nd_dtype_get(nd_dtype_of(py_array_of(self)))->kind == ND_KIND_COMPLEX)
        return refuse(self, type, "take ndock.real first");
    return py_array_item(self, s);
}

static PyObject *array_int(PyObject *self)
{
    nd_scalar s;
    if (real_value(self, "int", &s) < 0)
        return NULL;
    return s.kind == ND_F64   ? PyLong_FromDouble(s.v.f)
           : s.kind == ND_I64 ? PyLong_FromLongLong(s.v.i)
                              : PyLong_FromUnsignedLongLong(s.v.u);
}

static PyObject *array_float(PyObject *self)
{
    nd_scalar s;
    if (real_value(self, "float", &s) < 0)
        return NULL;
    return PyFloat_FromDouble(py_real_of(s));
}

static PyObject *array_index(PyObject *self)
{
    nd_scalar s;
    if (!(nd_dtype_get(nd_dtype_of(py_array_of(self)))->kind & (ND_KIND_INT | ND_KIND_UINT))) {
        refuse(self, "operator.index", "only integer arrays are indices");
        return NULL;
    }
    if (zero_d(self, "operator.index") < 0 || py_array_item(self, &s) < 0)
        return NULL;
    return py_from_scalar(s);
}

PyObject *py_array_complex(PyObject *self, PyObject *unused)
{
    nd_scalar s;
    (void)unused;
    if (zero_d(self, "complex") < 0 || py_array_item(self, &s) < 0)
        return NULL;
    return PyComplex_FromDoubles(py_real_of(s), s.kind == ND_C128 ? s.v.c[1] : 0);
}

/* ---- tolist ---- */
/* Elements are read as the dtype of scalars that has every value of theirs. */
static nd_dtype scalar_dtype(nd_dtype dtype)
{
    switch (nd_dtype_get(dtype)->kind) {
    case ND_KIND_BOOL:
        return ND_BOOL;
    case ND_KIND_INT:
        return ND_I64;
    case ND_KIND_UINT:
        return ND_U64;
    case ND_KIND_COMPLEX:
        return ND_C128;
    default:
        return ND_F64;
    }
}

static PyObject *element(nd_dtype dtype, const char *from)
{
    nd_scalar s = {.kind = dtype};
    if (dtype == ND_BOOL)
        s.v.u = *from != 0;
    else
        memcpy(&s.v, from, nd_dtype_size(dtype));
    return py_from_scalar(s);
}

static PyObject *level(const nd_array *a, nd_dtype dtype, int axis, const char **from)
{
    if (axis == nd_ndim(a)) {
        PyObject *o = element(dtype, *from);
        *from += nd_dtype_size(dtype);
        return o;
    }
    PyObject *list = PyList_New((Py_ssize_t)nd_shape(a)[axis]);
    for (int64_t i = 0; list && i < nd_shape(a)[axis]; i++) {
        PyObject *item = level(a, dtype, axis + 1, from);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0)
            Py_CLEAR(list);
    }
    return list;
}

PyObject *py_array_tolist(PyObject *self, PyObject *unused)
{
    nd_array *a = py_array_of(self), *wide = NULL;
    nd_dtype dtype = scalar_dtype(nd_dtype_of(a));
    (void)unused;
    size_t nbytes = (size_t)nd_size(a) * nd_dtype_size(dtype);
    if (py_wait_array(py_state_of_array(self), a) < 0)
        return NULL;
    char *data = PyMem_Malloc(nbytes ? nbytes : 1);
    if (!data)
        return PyErr_NoMemory();
    PyThreadState *saved = py_unlock(a, nd_size(a));
    nd_status status = dtype == nd_dtype_of(a) ? ND_OK : nd_astype(a, dtype, &wide);
    if (status == ND_OK)
        status = nd_to_host(wide ? wide : a, data, nbytes);
    nd_release(wide);
    py_lock(saved);
    const char *from = data;
    PyObject *list =
        status == ND_OK ? level(a, dtype, 0, &from) : py_fail(py_state_of_array(self), status);
    PyMem_Free(data);
    return list;
}

/* ---- item ---- */
static PyObject *only_item(PyObject *self)
{
    nd_scalar s;
    const int64_t size = nd_size(py_array_of(self));
    if (size != 1)
        return PyErr_Format(PyExc_ValueError,
                            "item() without a position takes an array of one element, not of "
                            "%lld",
                            (long long)size);
    return py_array_item(self, &s) < 0 ? NULL : py_from_scalar(s);
}

/* Reads the arguments of item(5), item((1, 2)) and item(1, 2), which means the same as the second;
 * *n says how many ints there are. */
static int read_position(PyObject *const *args, Py_ssize_t given, int64_t *position, int *n)
{
    if (given == 1)
        return py_ints(args[0], "item()", position, n);
    *n = (int)given;
    for (Py_ssize_t i = 0; i < given && i < ND_MAX_NDIM; i++) {
        int one;
        if (py_ints(args[i], "item()", &position[i], &one) < 0)
            return -1;
    }
    return 0;
}

/* One index for each axis, or a flat position. */
static PyObject *item_at(PyObject *self, const int64_t *position, int n)
{
    nd_array *a = py_array_of(self), *one = NULL, *flat = NULL;
    nd_index at[ND_MAX_NDIM];
    nd_scalar s;
    const int64_t all = -1;
    for (int i = 0; i < n; i++)
        at[i] = nd_at(position[i]);
    PyThreadState *saved = py_unlock(a, 1);
    nd_status status = n == nd_ndim(a) ? ND_OK : nd_reshape_copy(a, 1, &all, &flat);
    if (status == ND_OK)
        status = nd_slice(flat ? flat : a, at, n, &one);
    if (status == ND_OK)
        status = nd_item(one, &s);
    nd_release(flat);
    nd_release(one);
    py_lock(saved);
    return status == ND_OK ? py_from_scalar(s) : py_fail(py_state_of_array(self), status);
}

/* item(()) of an array without axes. */
static bool is_empty_position(PyObject *self, PyObject *o)
{
    return PyTuple_Check(o) && nd_ndim(py_array_of(self)) == 0 && PyTuple_Size(o) == 0;
}

/* item(), item(flat position), item(i, j, ...) */
PyObject *py_array_item_method(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    nd_array *a = py_array_of(self);
    int64_t position[ND_MAX_NDIM];
    int given;
    if (n == 0 || (n == 1 && is_empty_position(self, args[0])))
        return only_item(self);
    if (py_wait_array(py_state_of_array(self), a) < 0 ||
        read_position(args, n, position, &given) < 0)
        return NULL;
    if (given != nd_ndim(a) && given != 1)
        return PyErr_Format(PyExc_ValueError, "item() takes a flat position or %d indices, not %d",
                            nd_ndim(a), given);
    return item_at(self, position, given);
}

/* ---- as a sequence ---- */
static Py_ssize_t length(PyObject *self)
{
    if (nd_ndim(py_array_of(self)) > 0)
        return (Py_ssize_t)nd_shape(py_array_of(self))[0];
    PyErr_SetString(PyExc_TypeError, "len() of an array without axes");
    return -1;
}

static PyObject *at(PyObject *self, Py_ssize_t i)
{
    nd_array *view = NULL;
    nd_index x = nd_at(i);
    return py_result(py_state_of_array(self), nd_slice(py_array_of(self), &x, 1, &view), &view);
}

static PyObject *iterate(PyObject *self)
{
    if (nd_ndim(py_array_of(self)) > 0)
        return PySeqIter_New(self);
    PyErr_SetString(PyExc_TypeError, "an array without axes cannot be iterated over");
    return NULL;
}

/* Whether any element equals the value, as with NumPy. */
static int contains(PyObject *self, PyObject *value)
{
    py_state *st = py_state_of_array(self);
    nd_array *any = NULL;
    nd_scalar s = nd_bool(0);
    PyObject *equal = PyObject_RichCompare(self, value, Py_EQ);
    if (!equal)
        return -1;
    nd_array *a = py_array_get(st, equal);
    if (!a) {
        int truth = PyObject_IsTrue(equal);
        Py_DECREF(equal);
        return truth;
    }
    PyThreadState *saved = py_unlock(a, nd_size(a));
    nd_status status = nd_any(a, NULL, &any);
    if (status == ND_OK)
        status = nd_item(any, &s);
    py_lock(saved);
    nd_release(any);
    Py_DECREF(equal);
    return py_check(st, status) < 0 ? -1 : s.v.u != 0;
}

const PyType_Slot py_scalar_slots[] = {
    {Py_nb_bool, (void *)array_bool},   {Py_nb_int, (void *)array_int},
    {Py_nb_float, (void *)array_float}, {Py_nb_index, (void *)array_index},
    {Py_mp_length, (void *)length},     {Py_sq_length, (void *)length},
    {Py_sq_item, (void *)at},           {Py_sq_contains, (void *)contains},
    {Py_tp_iter, (void *)iterate},      {0, NULL}};
