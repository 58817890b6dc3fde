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
static py_state *state(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

/* NULL with an exception set. Two threads may both open it, which gives the same pointer. */
static nd_device *of(PyObject *self)
{
    py_device_object *o = (py_device_object *)self;
    nd_device *device = atomic_load(&o->device);
    if (!device && py_device_named(state(self), o->name, &device) == 0)
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

/* By its name, of which ":0" may be left out, as where a device is asked for. */
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

/* The whole name's, since a device equals that; its short name ("cpu") hashes otherwise. */
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
    nd_device *device = of(self);
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

/* The DTypes of a mask, as a tuple. */
static PyObject *dtypes_of(py_state *st, uint64_t mask)
{
    PyObject *list = PyList_New(0);
    for (nd_dtype d = 1; list && d < ND_DTYPE_END; d++)
        if (mask >> d & 1 && PyList_Append(list, st->dtypes[d]) < 0)
            Py_CLEAR(list);
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}
static PyObject *get_dtypes(PyObject *self, void *unused)
{
    nd_device_info info;
    (void)unused;
    return describe(self, &info) < 0 ? NULL : dtypes_of(state(self), info.dtypes);
}

static PyObject *get_facts(PyObject *self, void *unused)
{
    char key[256], value[256];
    nd_device *device = of(self);
    PyObject *facts = device ? PyDict_New() : NULL;
    (void)unused;
    for (int32_t i = 0; facts && nd_device_fact(device, i, key, value, sizeof key) == ND_OK; i++) {
        PyObject *name = py_from_text(key), *text = name ? py_from_text(value) : NULL;
        if (!text || PyDict_SetItem(facts, name, text) < 0)
            Py_CLEAR(facts);
        Py_XDECREF(name);
        Py_XDECREF(text);
    }
    return facts;
}

/* ---- methods ---- */
static PyObject *op_dtypes(PyObject *self, PyObject *op)
{
    nd_device *device = of(self);
    const char *name = device ? py_text(op, "the name of an operation") : NULL;
    if (!name)
        return NULL;
    nd_op id = nd_op_find(name);
    if (id == ND_OP_NONE)
        return PyErr_Format(PyExc_ValueError, "there is no operation %R", op);
    return dtypes_of(state(self), nd_device_op_dtypes(device, id));
}
static PyObject *synchronize(PyObject *self, PyObject *unused)
{
    nd_device *device = of(self);
    (void)unused;
    if (!device || py_wait_device(state(self), device) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* A guard: the current device of the thread until __exit__. */
static PyObject *push(PyObject *self, PyObject *unused)
{
    nd_device *device = of(self);
    (void)unused;
    if (!device || py_check(state(self), nd_device_push(device)) < 0)
        return NULL;
    return Py_NewRef(self);
}
static PyObject *pop(PyObject *self, PyObject *args)
{
    nd_device *device = of(self);
    (void)args;
    return device ? py_none(state(self), nd_device_pop(device)) : NULL;
}

/* By name, which is opened there. */
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
        py_device(st, name, &device) < 0)
        return NULL;
    if (!device && py_check(st, nd_device_current(&device)) < 0)
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
    {NULL, NULL, 0, NULL}};
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

static nd_status get(const char *name, nd_device **out)
{
    PyThreadState *saved = PyEval_SaveThread(); /* a device may be opened */
    nd_status status = nd_device_get(name, out);
    PyEval_RestoreThread(saved);
    return status;
}

/* Devices once asked for by their whole names, which stay as long as the process. nd_device_get
 * finds one that is open as quickly, but may open one as well, for which the GIL has to be given
 * away, and that takes a quarter of all that zeros(16, device="cpu") takes. */
enum { KNOWN = 4 };
static _Atomic(nd_device *) known[KNOWN];

static nd_device *find_known(const char *name)
{
    nd_device *d;
    for (int i = 0; i < KNOWN && (d = atomic_load(&known[i])) != NULL; i++)
        if (strcmp(nd_device_name(d), name) == 0)
            return d;
    return NULL;
}

static void remember(const char *name, nd_device *device)
{
    nd_device *none = NULL;
    if (strcmp(nd_device_name(device), name) != 0) /* "cuda" may be another one next time */
        return;
    for (int i = 0; i < KNOWN && !atomic_compare_exchange_strong(&known[i], &none, device); i++)
        none = NULL;
}

int py_device_named(py_state *st, const char *name, nd_device **out)
{
    const char *whole = strcmp(name, "cpu") == 0 ? "cpu:0" : name; /* there is but one */
    *out = find_known(whole);
    if (*out)
        return 0;
    if (py_discover_for(st, name) < 0 || py_check(st, get(name, out)) < 0)
        return -1;
    remember(whole, *out);
    return 0;
}

int py_device(py_state *st, PyObject *o, nd_device **out)
{
    *out = NULL;
    if (o == Py_None)
        return py_discover(st);
    if (Py_TYPE(o) == st->device)
        return (*out = of(o)) ? 0 : -1;
    if (!PyUnicode_Check(o)) {
        PyErr_Format(PyExc_TypeError,
                     "a device is an ndock.Device or a name such as \"cuda:0\", not %R", o);
        return -1;
    }
    const char *name = py_text(o, "the name of a device");
    return name ? py_device_named(st, name, out) : -1;
}

int py_init_device(PyObject *module, py_state *st)
{
    st->device = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return st->device ? PyModule_AddObjectRef(module, "Device", (PyObject *)st->device) : -1;
}
