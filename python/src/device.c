/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Device: a name such as "cuda:0" and the facts behind it; equal where it is the same device. */
#include "py.h"

typedef struct {
    PyObject_HEAD nd_device *device; /* immortal */
} py_device_object;

static nd_device *of(PyObject *self)
{
    return ((py_device_object *)self)->device;
}

static PyObject *str(PyObject *self)
{
    return PyUnicode_FromString(nd_device_name(of(self)));
}
static PyObject *repr(PyObject *self)
{
    return PyUnicode_FromFormat("Device('%s')", nd_device_name(of(self)));
}
static PyObject *get_name(PyObject *self, void *unused)
{
    (void)unused;
    return str(self);
}

static PyObject *compare(PyObject *self, PyObject *other, int how)
{
    if (how != Py_EQ && how != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    bool same;
    if (Py_TYPE(other) == Py_TYPE(self)) {
        same = of(self) == of(other);
    } else if (PyUnicode_Check(other)) {
        same = PyUnicode_CompareWithASCIIString(other, nd_device_name(of(self))) == 0;
    } else {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return PyBool_FromLong(same == (how == Py_EQ));
}

/* The name's, since a device equals its name. */
static Py_hash_t hash(PyObject *self)
{
    PyObject *name = str(self);
    Py_hash_t h = name ? PyObject_Hash(name) : -1;
    Py_XDECREF(name);
    return h;
}

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", NULL};
    PyObject *name;
    nd_device *device;
    py_state *st = PyType_GetModuleState(type);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Device", names, &name) ||
        py_device(st, name, &device) < 0)
        return NULL;
    if (!device && py_check(st, nd_device_current(&device)) < 0)
        return NULL;
    return py_from_device(st, device);
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* A guard: the current device of the thread until __exit__. */
static PyObject *push(PyObject *self, PyObject *unused)
{
    (void)unused;
    nd_status status = nd_device_push(of(self));
    return status == ND_OK ? Py_NewRef(self)
                           : py_fail(PyType_GetModuleState(Py_TYPE(self)), status);
}
static PyObject *pop(PyObject *self, PyObject *args)
{
    (void)args;
    return py_none(PyType_GetModuleState(Py_TYPE(self)), nd_device_pop(of(self)));
}

static PyMethodDef methods[] = {{"__enter__", push, METH_NOARGS, NULL},
                                {"__exit__", pop, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyGetSetDef getset[] = {{"name", get_name, NULL, "\"cpu:0\", \"cuda:1\" ...", NULL},
                               {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Device(name, /)\n--\n\nA device by its name: \"cpu\", \"cuda:0\", \"auto\" ...;"
                " opened on first use."},
    {Py_tp_new, (void *)new},
    {Py_tp_repr, (void *)repr},
    {Py_tp_str, (void *)str},
    {Py_tp_richcompare, (void *)compare},
    {Py_tp_hash, (void *)hash},
    {Py_tp_dealloc, (void *)dealloc},
    {Py_tp_getset, getset},
    {Py_tp_methods, methods},
    {0, NULL}};
static PyType_Spec spec = {.name = "ndock.Device",
                           .basicsize = sizeof(py_device_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                           .slots = slots};

PyObject *py_from_device(py_state *st, nd_device *device)
{
    py_device_object *o = PyObject_New(py_device_object, st->device);
    if (o)
        o->device = device;
    return (PyObject *)o;
}

int py_device_named(py_state *st, const char *name, nd_device **out)
{
    PyThreadState *saved = PyEval_SaveThread(); /* a device may be opened */
    nd_status status = nd_device_get(name, out);
    PyEval_RestoreThread(saved);
    return py_check(st, status);
}

int py_device(py_state *st, PyObject *o, nd_device **out)
{
    *out = NULL;
    if (o == Py_None)
        return 0;
    if (Py_TYPE(o) == st->device) {
        *out = of(o);
        return 0;
    }
    const char *name = PyUnicode_Check(o) ? PyUnicode_AsUTF8AndSize(o, NULL) : NULL;
    if (!name) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError,
                         "a device is an ndock.Device or a name such as \"cuda:0\", not %R", o);
        return -1;
    }
    return py_device_named(st, name, out);
}

int py_init_device(PyObject *module, py_state *st)
{
    st->device = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return st->device ? PyModule_AddObjectRef(module, "Device", (PyObject *)st->device) : -1;
}
