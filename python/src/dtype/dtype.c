/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * DType: one immutable object for each row of dtype.def, compared by identity or by name. */
#include "python/src/dtype/dtype.h"

typedef struct {
    PyObject_HEAD nd_dtype dtype;
} py_dtype_object;

static nd_dtype of(PyObject *self)
{
    return ((py_dtype_object *)self)->dtype;
}

static PyObject *get_name(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(nd_dtype_get(of(self))->standard);
}
static PyObject *get_itemsize(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(nd_dtype_get(of(self))->nbytes);
}
/* NumPy's letter: b bool, i signed, u unsigned, f floating, c complex, V what NumPy has not. */
static PyObject *get_kind(PyObject *self, void *unused)
{
    static const char kinds[ND_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = numpy,
#include <ndock/dtype.def>
    };
    (void)unused;
    return PyUnicode_FromStringAndSize(&kinds[of(self)], 1);
}

static PyObject *repr(PyObject *self)
{
    return PyUnicode_FromFormat("ndock.%s", nd_dtype_get(of(self))->standard);
}
static PyObject *str(PyObject *self)
{
    return get_name(self, NULL);
}

/* A DType equals itself, and whatever py_dtype takes for the same dtype: names, NumPy's dtypes. */
static PyObject *compare(PyObject *self, PyObject *other, int how)
{
    nd_dtype dtype = 0;
    if (how != Py_EQ && how != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    if (self != other && Py_TYPE(self) != Py_TYPE(other)) {
        if (other == Py_None || py_dtype(py_state_of_self(self), other, &dtype) < 0) {
            PyErr_Clear();
            Py_RETURN_NOTIMPLEMENTED;
        }
    } else {
        dtype = of(other);
    }
    return PyBool_FromLong((dtype == of(self)) == (how == Py_EQ));
}

static Py_hash_t hash(PyObject *self)
{
    return 7919 + of(self);
}

static PyObject *reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return get_name(self, NULL); /* a global of the package, of that name */
}

/* NumPy's protocol for dtypes of other libraries; NumPy asks, so NumPy is there. */
static PyObject *get_numpy_dtype(PyObject *self, void *unused)
{
    PyObject *make = py_numpy("dtype");
    (void)unused;
    if (!make)
        return PyErr_Format(PyExc_AttributeError, "NumPy's dtype needs NumPy, which the program "
                                                  "has not imported");
    PyObject *made = PyObject_CallFunction(make, "s", nd_dtype_get(of(self))->standard);
    Py_DECREF(make);
    return made;
}

/* NumPy's class of scalars, which programs that know dtypes as NumPy's ask for. */
static PyObject *get_type(PyObject *self, void *unused)
{
    PyObject *dtype = get_numpy_dtype(self, unused);
    PyObject *type = dtype ? PyObject_GetAttrString(dtype, "type") : NULL;
    Py_XDECREF(dtype);
    if (!type && PyErr_ExceptionMatches(PyExc_TypeError)) /* what NumPy has no dtype for */
        PyErr_SetString(PyExc_AttributeError, "NumPy has no such dtype");
    return type;
}

static PyGetSetDef getset[] = {
    {"__numpy_dtype__", get_numpy_dtype, NULL,
     "The same dtype as NumPy's, so that numpy.dtype(x) takes it (NumPy 2.4 and later).", NULL},
    {"dtype", get_numpy_dtype, NULL,
     "The same for NumPy before 2.4, so that numpy.zeros(3, dtype=x.dtype) takes it; needs NumPy "
     "imported.",
     NULL},
    {"name", get_name, NULL, "\"float32\" ...: the array API's name.", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of an element.", NULL},
    {"type", get_type, NULL, "NumPy's class of such scalars; needs NumPy imported.", NULL},
    {"kind", get_kind, NULL, "NumPy's letter of the kind.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, NULL}, PY_METHODS_END};
static PyType_Slot slots[] = {
    {Py_tp_doc, "An element type: ndock.float32 and the like; equal to its name and to NumPy's.\n\n"
                ">>> nd.float32.itemsize, nd.float32 == \"f4\"\n(4, True)\n"},
    {Py_tp_repr, (void *)repr},
    {Py_tp_str, (void *)str},
    {Py_tp_richcompare, (void *)compare},
    {Py_tp_hash, (void *)hash},
    {Py_tp_dealloc, (void *)py_plain_dealloc},
    {Py_tp_getset, getset},
    {Py_tp_methods, methods},
    {0, NULL}};
static PyType_Spec spec = {.name = "ndock.DType",
                           .basicsize = sizeof(py_dtype_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                                    Py_TPFLAGS_IMMUTABLETYPE,
                           .slots = slots};

PyObject *py_from_dtype(py_state *st, nd_dtype dtype)
{
    return Py_NewRef(st->dtypes[dtype]);
}

PyObject *py_from_dtypes(py_state *st, uint64_t mask)
{
    PyObject *list = PyList_New(0);
    for (nd_dtype d = 1; list && d < ND_DTYPE_END; d++)
        if (mask >> d & 1 && PyList_Append(list, st->dtypes[d]) < 0)
            Py_CLEAR(list);
    return list;
}

nd_dtype py_opaque_dtype(PyObject *o)
{
    PyObject *dtype = PyObject_GetAttrString(o, "dtype");
    PyObject *name = dtype ? PyObject_GetAttrString(dtype, "name") : NULL;
    nd_dtype found = 0;
    for (nd_dtype d = 1; d < ND_DTYPE_END && name && PyUnicode_Check(name); d++)
        if (!py_format_of_dtype(d) &&
            PyUnicode_CompareWithASCIIString(name, nd_dtype_get(d)->standard) == 0)
            found = d;
    PyErr_Clear();
    Py_XDECREF(dtype);
    Py_XDECREF(name);
    return found;
}

/* bool, int, float and complex stand for the default dtypes. */
static nd_dtype of_python_type(PyObject *o)
{
    return o == (PyObject *)&PyBool_Type      ? ND_BOOL
           : o == (PyObject *)&PyLong_Type    ? ND_I64
           : o == (PyObject *)&PyFloat_Type   ? nd_default_float()
           : o == (PyObject *)&PyComplex_Type ? ND_C128
                                              : 0;
}

int py_dtype(py_state *st, PyObject *o, nd_dtype *out)
{
    *out = 0;
    if (o == Py_None)
        return 0;
    if (Py_TYPE(o) == st->dtype) {
        *out = of(o);
        return 0;
    }
    if ((*out = of_python_type(o)) != 0)
        return 0;
    PyObject *name = PyUnicode_Check(o) ? Py_NewRef(o) : PyObject_GetAttrString(o, "name");
    if (!name && PyType_Check(o)) { /* numpy.float32 is a class */
        PyErr_Clear();
        name = PyObject_GetAttrString(o, "__name__");
    }
    const char *text = name && PyUnicode_Check(name) ? py_text(name, "the name of a dtype") : NULL;
    int result = -1;
    if (text)
        result = py_dtype_named(text, out);
    else if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Format(PyExc_TypeError, "%R is no dtype; use ndock.float32 or \"float32\"", o);
    Py_XDECREF(name);
    return result;
}

int py_init_dtype(PyObject *module, py_state *st)
{
    st->dtype = py_add_type(module, &spec, "DType");
    if (!st->dtype)
        return -1;
    for (nd_dtype d = 1; d < ND_DTYPE_END; d++) {
        py_dtype_object *o = PyObject_New(py_dtype_object, st->dtype);
        if (!o)
            return -1;
        o->dtype = d;
        st->dtypes[d] = (PyObject *)o;
        if (PyModule_AddObjectRef(module, nd_dtype_get(d)->standard, (PyObject *)o) < 0)
            return -1;
    }
    return 0;
}
