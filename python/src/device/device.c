/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Device: a name such as "cuda:0" and the facts behind it; equal where it is the same device. One
 * that was listed is opened when more than its name is wanted. */
#include <stdlib.h>
#include <string.h>
#include "python/src/device/device.h"

typedef struct {
    PyObject_HEAD const char *name; /* lives as long as the process */
    _Atomic(nd_device *) device;    /* immortal; NULL: not opened yet */
} py_device_object;

static const char *name_of(PyObject *self)
{
    return ((py_device_object *)self)->name;
}

/* Two threads may both open the device, which gives the same pointer. */
nd_device *py_device_of(PyObject *self)
{
    py_device_object *o = (py_device_object *)self;
    nd_device *device = atomic_load(&o->device);
    if (!device && py_device_named(py_state_of_self(self), o->name, &device) == 0)
        atomic_store(&o->device, device);
    return device;
}

static PyObject *str(PyObject *self)
{
    return py_from_text(name_of(self));
}
static PyObject *repr(PyObject *self)
{
    return PyUnicode_FromFormat("Device('%s')", name_of(self));
}

/* Whether the text is the device's name, of which ":0" may be left out, as where a device is asked
 * for. */
static bool is_called(PyObject *self, PyObject *text)
{
    const char *name = name_of(self), *colon = strchr(name, ':');
    if (PyUnicode_CompareWithASCIIString(text, name) == 0)
        return true;
    char type[64];
    size_t n = colon && strcmp(colon, ":0") == 0 ? (size_t)(colon - name) : 0;
    if (n == 0 || n >= sizeof type)
        return false;
    memcpy(type, name, n);
    type[n] = 0;
    return PyUnicode_CompareWithASCIIString(text, type) == 0;
}

static PyObject *compare(PyObject *self, PyObject *other, int how)
{
    if (how != Py_EQ && how != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    bool same;
    if (Py_TYPE(other) == Py_TYPE(self)) {
        same = strcmp(name_of(self), name_of(other)) == 0;
    } else if (PyUnicode_Check(other)) {
        same = is_called(self, other);
    } else {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return PyBool_FromLong(same == (how == Py_EQ));
}

/* A device has the hash of its whole name, which it equals; its short name ("cpu") has another. */
static Py_hash_t hash(PyObject *self)
{
    PyObject *name = str(self);
    Py_hash_t h = name ? PyObject_Hash(name) : -1;
    Py_XDECREF(name);
    return h;
}

/* ---- facts ---- */
static PyObject *get_name(PyObject *self, void *unused)
{
    (void)unused;
    return str(self);
}
static PyObject *get_type(PyObject *self, void *unused)
{
    const char *name = name_of(self), *colon = strchr(name, ':');
    (void)unused;
    return PyUnicode_FromStringAndSize(name, colon ? colon - name : (Py_ssize_t)strlen(name));
}
static PyObject *get_index(PyObject *self, void *unused)
{
    const char *colon = strchr(name_of(self), ':');
    (void)unused;
    return PyLong_FromLong(colon ? strtol(colon + 1, NULL, 10) : 0);
}

static int describe(PyObject *self, nd_device_info *info)
{
    nd_device *device = py_device_of(self);
    if (device)
        nd_device_describe(device, info);
    return device ? 0 : -1;
}
static PyObject *get_description(PyObject *self, void *unused)
{
    nd_device_info info;
    (void)unused;
    return describe(self, &info) < 0 ? NULL : py_from_text(info.description);
}
static PyObject *get_unique_id(PyObject *self, void *unused)
{
    nd_device_info info;
    (void)unused;
    return describe(self, &info) < 0 ? NULL : py_from_text(info.unique_id);
}
static PyObject *get_memory(PyObject *self, void *unused)
{
    nd_device_info info;
    (void)unused;
    if (describe(self, &info) < 0)
        return NULL;
    return info.memory_bytes ? PyLong_FromUnsignedLongLong(info.memory_bytes) : Py_NewRef(Py_None);
}
static PyObject *get_host_visible(PyObject *self, void *unused)
{
    nd_device_info info;
    (void)unused;
    return describe(self, &info) < 0 ? NULL : PyBool_FromLong(info.host_visible);
}
static PyObject *get_asynchronous(PyObject *self, void *unused)
{
    nd_device_info info;
    (void)unused;
    return describe(self, &info) < 0 ? NULL : PyBool_FromLong(info.async);
}

/* Makes a tuple of the DTypes of a mask. */
static PyObject *dtypes_of(py_state *st, uint64_t mask)
{
    PyObject *list = py_from_dtypes(st, mask), *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}
static PyObject *get_dtypes(PyObject *self, void *unused)
{
    nd_device_info info;
    (void)unused;
    return describe(self, &info) < 0 ? NULL : dtypes_of(py_state_of_self(self), info.dtypes);
}

static PyObject *get_facts(PyObject *self, void *unused)
{
    char key[256], value[256];
    nd_device *device = py_device_of(self);
    PyObject *facts = device ? PyDict_New() : NULL;
    (void)unused;
    for (int32_t i = 0; facts && nd_device_fact(device, i, key, value, sizeof key) == ND_OK; i++) {
        PyObject *name = py_from_text(key);
        if (!name || py_dict_put(facts, name, py_from_text(value)) < 0)
            Py_CLEAR(facts);
        Py_XDECREF(name);
    }
    return facts;
}

/* ---- methods ---- */
static PyObject *op_dtypes(PyObject *self, PyObject *op)
{
    nd_device *device = py_device_of(self);
    const char *name = device ? py_text(op, "the name of an operation") : NULL;
    if (!name)
        return NULL;
    nd_op id = nd_op_find(name);
    if (id == ND_OP_NONE)
        return PyErr_Format(PyExc_ValueError, "there is no operation %R", op);
    return dtypes_of(py_state_of_self(self), nd_device_op_dtypes(device, id));
}
static PyObject *synchronize(PyObject *self, PyObject *unused)
{
    nd_device *device = py_device_of(self);
    (void)unused;
    if (!device || py_wait_device(py_state_of_self(self), device) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* The device is the thread's current one until __exit__. */
static PyObject *push(PyObject *self, PyObject *unused)
{
    nd_device *device = py_device_of(self);
    (void)unused;
    return device ? py_return(py_state_of_self(self), nd_device_push(device), self) : NULL;
}
static PyObject *pop(PyObject *self, PyObject *args)
{
    nd_device *device = py_device_of(self);
    (void)args;
    return device ? py_none(py_state_of_self(self), nd_device_pop(device)) : NULL;
}

/* A device is pickled by its name, which is looked up where it is read. */
static PyObject *reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_BuildValue("(O(s))", (PyObject *)Py_TYPE(self), name_of(self));
}

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", NULL};
    PyObject *name = Py_None;
    nd_device *device;
    py_state *st = PyType_GetModuleState(type);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Device", names, &name) ||
        py_device_or_current(st, name, &device) < 0)
        return NULL;
    return py_from_device(st, device);
}

static PyGetSetDef getset[] = {
    {"name", get_name, NULL, "\"cpu:0\", \"cuda:1\" ...", NULL},
    {"type", get_type, NULL, "The plug-in's name: \"cpu\", \"cuda\" ...", NULL},
    {"index", get_index, NULL, "The device's number among those of its plug-in, from 0.", NULL},
    {"description", get_description, NULL, "The model, for people.", NULL},
    {"unique_id", get_unique_id, NULL, "What tells it from others of its kind; may be empty.",
     NULL},
    {"memory", get_memory, NULL, "Bytes of memory; None where that is unknown.", NULL},
    {"host_visible", get_host_visible, NULL, "Whether its memory is ordinary host memory.", NULL},
    {"asynchronous", get_asynchronous, NULL, "Whether work may be queued.", NULL},
    {"dtypes", get_dtypes, NULL, "The dtypes of arrays that can live there, a tuple.", NULL},
    {"facts", get_facts, NULL, "More facts for people, a dict of strings.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyMethodDef methods[] = {
    {"op_dtypes", op_dtypes, METH_O,
     "op_dtypes($self, op, /)\n--\n\nThe dtypes of the first operand for which the device has the"
     " operation of that name itself."},
    {"synchronize", synchronize, METH_NOARGS,
     "synchronize($self)\n--\n\nWaits until all work queued on the device is done."},
    {"__enter__", push, METH_NOARGS, NULL},
    {"__exit__", pop, METH_VARARGS, NULL},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    PY_METHODS_END};
static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Device(name=None, /)\n--\n\nA device by its name: \"cpu\", \"cuda:0\", \"auto\""
     " (the best there is) ...; None: the current one.\nOpened on first use. A context"
     " manager, in which it is current; equal to its name, of which \":0\" may be left out."
     "\nErrors: ValueError for a device that is not there; nd.plugins() says why.\n\n>>> "
     "nd.Device(\"cpu\") == \"cpu:0\"\nTrue\n"},
    {Py_tp_new, (void *)new},
    {Py_tp_repr, (void *)repr},
    {Py_tp_str, (void *)str},
    {Py_tp_richcompare, (void *)compare},
    {Py_tp_hash, (void *)hash},
    {Py_tp_dealloc, (void *)py_plain_dealloc},
    {Py_tp_getset, getset},
    {Py_tp_methods, methods},
    {0, NULL}};
static PyType_Spec spec = {.name = "ndock.Device",
                           .basicsize = sizeof(py_device_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                           .slots = slots};

static PyObject *make(py_state *st, const char *name, nd_device *device)
{
    py_device_object *o = PyObject_New(py_device_object, st->device);
    if (o) {
        o->name = name;
        o->device = device;
    }
    return (PyObject *)o;
}

PyObject *py_from_device(py_state *st, nd_device *device)
{
    return make(st, nd_device_name(device), device);
}
PyObject *py_device_listed(py_state *st, const char *name)
{
    return make(st, name, NULL);
}

int py_init_device(PyObject *module, py_state *st)
{
    st->device = py_add_type(module, &spec, "Device");
    return st->device ? 0 : -1;
}
