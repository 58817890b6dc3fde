/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Python's scalars, shapes and axes to the library's and back. */
#include "python/src/base/py.h"

static int integer(PyObject *o, nd_scalar *out)
{
    int overflow;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (v == -1 && PyErr_Occurred())
        return -1;
    *out = nd_int(v);
    if (overflow < 0) {
        PyErr_Format(PyExc_OverflowError, "%R is below the range of int64", o);
        return -1;
    }
    if (overflow > 0) {
        *out = nd_uint(PyLong_AsUnsignedLongLong(o));
        if (PyErr_Occurred()) {
            PyErr_Clear();
            PyErr_Format(PyExc_OverflowError, "%R is above the range of uint64", o);
            return -1;
        }
    }
    return 1;
}

PyObject *py_numpy(const char *name)
{
    PyObject *modules = PySys_GetObject("modules");
    PyObject *numpy = modules ? PyDict_GetItemString(modules, "numpy") : NULL;
    PyObject *o = numpy ? PyObject_GetAttrString(numpy, name) : NULL;
    if (!o)
        PyErr_Clear();
    return o;
}

/* 1 where o is an instance of that class of NumPy's. */
static bool is_numpy(PyObject *o, const char *name)
{
    PyObject *type = py_numpy(name);
    bool is = type && PyType_Check(type) && PyType_IsSubtype(Py_TYPE(o), (PyTypeObject *)type);
    Py_XDECREF(type);
    return is;
}

bool py_is_numpy_array(PyObject *o)
{
    return is_numpy(o, "ndarray");
}

bool py_is_numpy_scalar(PyObject *o)
{
    return is_numpy(o, "generic");
}

/* Scalars of ml_dtypes are NumPy's, but are no numbers to item(). */
static bool is_bfloat16(PyObject *o)
{
    PyObject *dtype = PyObject_GetAttrString(o, "dtype");
    PyObject *name = dtype ? PyObject_GetAttrString(dtype, "name") : NULL;
    bool is =
        name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "bfloat16") == 0;
    Py_XDECREF(dtype);
    Py_XDECREF(name);
    PyErr_Clear();
    return is;
}

int py_numpy_scalar(PyObject *o, PyObject **value)
{
    *value = NULL;
    if (!is_numpy(o, "generic"))
        return 0;
    PyObject *v = is_bfloat16(o) ? PyNumber_Float(o) : PyObject_CallMethod(o, "item", NULL);
    if (!v)
        return -1;
    /* numpy.longdouble is its own item; dates, texts and records are no numbers */
    if (Py_TYPE(v) == Py_TYPE(o) || (!PyLong_Check(v) && !PyFloat_Check(v) && !PyComplex_Check(v)))
        Py_CLEAR(v);
    *value = v;
    return v != NULL;
}

int py_scalar(PyObject *o, nd_scalar *out)
{
    if (Py_TYPE(o) == &PyLong_Type) /* before the tests that also find subclasses */
        return integer(o, out);
    if (PyFloat_Check(o)) {
        *out = nd_float(PyFloat_AsDouble(o));
        return 1;
    }
    if (PyBool_Check(o)) {
        *out = nd_bool(o == Py_True);
        return 1;
    }
    if (PyLong_Check(o))
        return integer(o, out);
    if (PyComplex_Check(o)) {
        *out = nd_complex(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
        return 1;
    }
    PyObject *value;
    int result = py_numpy_scalar(o, &value);
    if (result > 0) {
        result = py_scalar(value, out);
        Py_DECREF(value);
    }
    return result;
}

PyObject *py_from_scalar(nd_scalar s)
{
    switch (s.kind) {
    case ND_BOOL:
        return PyBool_FromLong(s.v.u != 0);
    case ND_I64:
        return PyLong_FromLongLong(s.v.i);
    case ND_U64:
        return PyLong_FromUnsignedLongLong(s.v.u);
    case ND_F64:
        return PyFloat_FromDouble(s.v.f);
    default:
        return PyComplex_FromDoubles(s.v.c[0], s.v.c[1]);
    }
}

static int one_int(PyObject *o, const char *what, int64_t *out)
{
    PyObject *index = PyLong_CheckExact(o) ? Py_NewRef(o) : PyNumber_Index(o);
    if (!index) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s: %R is not an int", what, o);
        return -1;
    }
    *out = PyLong_AsLongLong(index);
    Py_DECREF(index);
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

int py_ints(PyObject *o, const char *what, int64_t *out, int *n)
{
    *n = 1;
    if (PyLong_Check(o) || PyIndex_Check(o))
        return one_int(o, what, out);
    PyObject *items = PySequence_Tuple(o);
    if (!items) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s is an int or a sequence of ints, not %R", what, o);
        return -1;
    }
    Py_ssize_t size = PyTuple_Size(items);
    int result = 0;
    if (size > ND_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "%s has %zd entries; at most %d are possible", what, size,
                     ND_MAX_NDIM);
        result = -1;
    }
    for (Py_ssize_t i = 0; result == 0 && i < size; i++)
        result = one_int(PyTuple_GetItem(items, i), what, &out[i]);
    *n = (int)size;
    Py_DECREF(items);
    return result;
}

int py_axes(PyObject *o, int32_t *out, int *n)
{
    int64_t wide[ND_MAX_NDIM];
    *n = -1;
    if (o == Py_None)
        return 0;
    if (py_ints(o, "axis", wide, n) < 0)
        return -1;
    for (int i = 0; i < *n; i++) {
        out[i] = (int32_t)wide[i];
        if (out[i] != wide[i]) {
            PyErr_Format(PyExc_IndexError, "axis %lld is out of range", (long long)wide[i]);
            return -1;
        }
    }
    return 0;
}

PyObject *py_tuple(const int64_t *v, int n)
{
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) {
        PyObject *item = PyLong_FromLongLong(v[i]);
        if (!item || PyTuple_SetItem(tuple, i, item) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}
