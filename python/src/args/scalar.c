/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Python's scalars, NumPy's, and the values of arrays without axes, as scalars of the library. */
#include "python/src/args/args.h"

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

/* Whether o is an instance of that class of NumPy's. */
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

/* item() gives no number for scalars of ml_dtypes, though they are NumPy's. */
int py_numpy_scalar(PyObject *o, PyObject **value)
{
    *value = NULL;
    if (!is_numpy(o, "generic"))
        return 0;
    PyObject *v = py_opaque_dtype(o) ? PyNumber_Float(o) : PyObject_CallMethod(o, "item", NULL);
    if (!v)
        return -1;
    /* numpy.longdouble is its own item, and dates, texts and records are no numbers */
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

int py_array_item(PyObject *self, nd_scalar *out)
{
    py_state *st = py_state_of_array(self);
    nd_array *a = py_array_of(self);
    if (py_wait_array(st, a) < 0)
        return -1;
    PyThreadState *saved = py_unlock(a, 1); /* others may have queued more meanwhile */
    nd_status status = nd_item(a, out);
    py_lock(saved);
    return py_check(st, status);
}

int py_value(py_state *st, const char *function, PyObject *o, nd_scalar *out)
{
    const nd_array *a = py_array_get(st, o);
    if (a && nd_ndim(a) == 0)
        return py_array_item(o, out);
    int known = py_scalar(o, out);
    if (known == 0)
        PyErr_Format(PyExc_TypeError,
                     "%s(): %R is neither a Python scalar (bool, int, float, complex) nor an array "
                     "without axes",
                     function, o);
    return known > 0 ? 0 : -1;
}
