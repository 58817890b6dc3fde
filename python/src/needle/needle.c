/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The backend interface of the course's needle: a module object for each device, whose Array is a
 * type of flat float32 handles; and what ndock.needle's NDArray needs to go from handles to arrays
 * and back. */
#include "python/src/needle/needle.h"

static void dealloc(PyObject *self)
{
    py_release(((py_needle_handle *)self)->a);
    py_plain_dealloc(self);
    py_drop_now();
}

nd_array *py_needle_handle_of(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);
    return PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE &&
                   PyType_GetSlot(type, Py_tp_dealloc) == (void *)dealloc
               ? ((py_needle_handle *)o)->a
               : NULL;
}

/* ---- the types of handles ---- */

static struct py_needle_type *record_of_type(const py_state *st, const PyTypeObject *type)
{
    struct py_needle_type *r = atomic_load(&st->needle);
    while (r && r->type != type)
        r = r->next;
    return r;
}

static PyObject *new_handle(PyTypeObject *type, nd_array *a)
{
    py_needle_handle *o = PyObject_New(py_needle_handle, type);
    if (o)
        o->a = a;
    else
        nd_release(a);
    return (PyObject *)o;
}

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    py_state *st = PyType_GetModuleState(type);
    const struct py_needle_type *record = record_of_type(st, type);
    int64_t size;
    nd_array *a = NULL;
    if (PyTuple_Size(args) != 1 || (kwargs && PyDict_Size(kwargs)))
        return PyErr_Format(PyExc_TypeError, "Array() takes one argument, its size");
    if (py_needle_extent("Array", PyTuple_GetItem(args, 0), &size) < 0)
        return NULL;
    if (!record)
        return PyErr_Format(PyExc_RuntimeError, "Array(): the interpreter ends");
    if (py_check(st, nd_empty(record->device, ND_F32, 1, &size, &a)) < 0)
        return NULL;
    return new_handle(type, a);
}

static nd_array *of(PyObject *self)
{
    return ((py_needle_handle *)self)->a;
}

static PyObject *get_size(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(nd_size(of(self)));
}
static PyObject *ptr(PyObject *self, PyObject *unused)
{
    void *address = NULL;
    (void)unused;
    PyThreadState *saved = py_unlock(of(self), 0);
    nd_status status = nd_data(of(self), &address);
    py_lock(saved);
    if (py_check(py_state_of_self(self), status) < 0)
        return NULL;
    return PyLong_FromVoidPtr(address);
}
static PyObject *repr(PyObject *self)
{
    return PyUnicode_FromFormat("<Array of %lld float32 on %s>", (long long)nd_size(of(self)),
                                nd_device_name(nd_device_of(of(self))));
}

static PyGetSetDef getset[] = {{"size", get_size, NULL, "Number of elements.", NULL},
                               {NULL, NULL, NULL, NULL, NULL}};
static PyMethodDef methods[] = {
    {"ptr", ptr, METH_NOARGS,
     "ptr($self, /)\n--\n\nAddress of the first element on the device, an int; 0 where there is "
     "none. Waits for pending work on it."},
    PY_METHODS_END};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Array(size, /)\n--\n\nsize float32 elements on the backend's device, not set."},
    {Py_tp_new, (void *)new},
    {Py_tp_dealloc, (void *)dealloc},
    {Py_tp_repr, (void *)repr},
    {Py_tp_getset, getset},
    {Py_tp_methods, methods},
    {0, NULL}};
static PyType_Spec spec = {.name = "ndock.needle.Array",
                           .basicsize = sizeof(py_needle_handle),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                           .slots = slots};

/* Lends the device's type, which is made at first use; where two threads make one at once, both
 * types work. */
static PyTypeObject *type_of_device(PyObject *module, nd_device *device)
{
    py_state *st = py_state_of(module);
    struct py_needle_type *first = atomic_load(&st->needle), *r = first;
    while (r && r->device != device)
        r = r->next;
    if (r)
        return r->type;
    r = PyMem_Malloc(sizeof *r);
    if (!r)
        return (PyTypeObject *)PyErr_NoMemory();
    *r = (struct py_needle_type){(PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL),
                                 device, first};
    if (!r->type) {
        PyMem_Free(r);
        return NULL;
    }
    while (!atomic_compare_exchange_weak(&st->needle, &r->next, r))
        continue;
    return r->type;
}

int py_needle_traverse(py_state *st, visitproc visit, void *arg)
{
    for (struct py_needle_type *r = atomic_load(&st->needle); r; r = r->next)
        Py_VISIT(r->type);
    return 0;
}

void py_needle_clear(py_state *st)
{
    struct py_needle_type *r = atomic_exchange(&st->needle, NULL);
    while (r) {
        struct py_needle_type *next = r->next;
        Py_DECREF(r->type);
        PyMem_Free(r);
        r = next;
    }
}

/* ---- the functions of the extension module ---- */

/* _needle_backend(device): a new module object with the whole interface. */
static PyObject *backend(PyObject *module, PyObject *where)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    nd_device_info info;
    PyTypeObject *type;
    if (py_device_or_current(st, where, &device) < 0 || !(type = type_of_device(module, device)))
        return NULL;
    nd_device_describe(device, &info);
    size_t plugin = strlen(info.plugin); /* the course's names have no number */
    bool first = strcmp(info.name + plugin, ":0") == 0;
    PyObject *name = PyUnicode_FromFormat("ndock.needle.%s", info.name);
    PyObject *result = name ? PyModule_NewObject(name) : NULL;
    Py_XDECREF(name);
    if (result && (PyModule_AddFunctions(result, py_needle_math_methods) < 0 ||
                   PyModule_AddFunctions(result, py_needle_copy_methods) < 0 ||
                   PyModule_AddObjectRef(result, "Array", (PyObject *)type) < 0 ||
                   PyModule_AddIntConstant(result, "__tile_size__", NEEDLE_TILE) < 0 ||
                   PyModule_AddStringConstant(result, "__device_name__",
                                              first ? info.plugin : info.name) < 0))
        Py_CLEAR(result);
    return result;
}

/* _needle_view(handle, shape, strides, offset): an ndock.Array over the handle's memory. */
static PyObject *view(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_needle_args p;
    nd_array *result = NULL;
    (void)module;
    if (py_needle_parse("as_strided", "hV", args, n, &p) < 0 ||
        py_needle_view(&p, p.h[0], &result) < 0)
        return NULL;
    return py_array_new(p.st, result);
}

/* _needle_handle(array): a handle over the memory of a dense float32 array that begins where its
 * memory does. */
static PyObject *handle(PyObject *module, PyObject *o)
{
    py_state *st = py_state_of(module);
    nd_array *a = py_array_need(st, o, "_needle_handle"), *flat = NULL;
    PyTypeObject *type = a ? type_of_device(module, nd_device_of(a)) : NULL;
    if (!type)
        return NULL;
    if (nd_dtype_of(a) != ND_F32 || nd_offset(a) != 0 || !nd_is_contiguous(a))
        return PyErr_Format(PyExc_ValueError, "a handle needs dense float32 memory from its start");
    int64_t size = nd_size(a);
    if (py_check(st, nd_reshape(a, 1, &size, &flat)) < 0)
        return NULL;
    return new_handle(type, flat);
}

/* _needle_offset(array): of its first element, in elements from the start of its memory. */
static PyObject *offset(PyObject *module, PyObject *o)
{
    const nd_array *a = py_array_need(py_state_of(module), o, "_needle_offset");
    return a ? PyLong_FromLongLong(nd_offset(a)) : NULL;
}

PyMethodDef py_needle_methods[] = {
    {"_needle_backend", backend, METH_O, NULL},    PY_METHOD("_needle_view", view),
    {"_needle_handle", handle, METH_O, NULL},      {"_needle_offset", offset, METH_O, NULL},
    PY_METHOD("_needle_matmul", py_needle_matmul), PY_METHODS_END};
