/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The backend interface of the course's needle: a module object for each device, whose Array is a
 * type of flat float32 handles; and what ndock.needle's NDArray needs to go from handles to arrays
 * and back. */
#include "python/src/needle/needle.h"
#include <stdatomic.h>
#include <string.h>

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    py_release(((py_needle_handle *)self)->a);
    PyObject_Free(self);
    Py_DECREF(type);
    py_drop_now();
}

/* ---- arguments ---- */

/* NULL (no exception) for other objects. */
static nd_array *handle_of(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);
    return PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE &&
                   PyType_GetSlot(type, Py_tp_dealloc) == (void *)dealloc
               ? ((py_needle_handle *)o)->a
               : NULL;
}

static int parse_int(const char *name, PyObject *o, int64_t *out)
{
    PyObject *index = PyNumber_Index(o);
    if (!index) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s() takes an int there, not %R", name,
                         (PyObject *)Py_TYPE(o));
        return -1;
    }
    *out = PyLong_AsLongLong(index);
    Py_DECREF(index);
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

static int parse_extent(const char *name, PyObject *o, int64_t *out)
{
    if (parse_int(name, o, out) < 0)
        return -1;
    if (*out < 0)
        PyErr_Format(PyExc_ValueError, "%s(): %lld is negative", name, (long long)*out);
    return *out < 0 ? -1 : 0;
}

static int parse_view(const char *name, PyObject *const *args, py_needle_args *out)
{
    int nstrides;
    if (py_ints(args[0], "shape", out->shape, &out->ndim) < 0 ||
        py_ints(args[1], "strides", out->stride, &nstrides) < 0 ||
        parse_int(name, args[2], &out->offset) < 0)
        return -1;
    if (nstrides != out->ndim)
        PyErr_Format(PyExc_ValueError, "%s(): %d strides do not fit a shape of %d extents", name,
                     nstrides, out->ndim);
    return nstrides == out->ndim ? 0 : -1;
}

static int parse_value(const char *name, PyObject *o, nd_scalar *out)
{
    double value = PyFloat_AsDouble(o);
    if (value == -1 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s() takes a real number there, not %R", name,
                         (PyObject *)Py_TYPE(o));
        return -1;
    }
    *out = nd_float((double)(float)value);
    return 0;
}

static int parse_handle(const char *name, PyObject *o, py_needle_args *out, int position)
{
    nd_array *a = handle_of(o);
    if (!a) {
        PyErr_Format(PyExc_TypeError, "%s() takes the backend's Array there, not %R", name,
                     (PyObject *)Py_TYPE(o));
        return -1;
    }
    out->h[position] = a;
    out->st = PyType_GetModuleState(Py_TYPE(o));
    return 0;
}

int py_needle_parse(const char *name, const char *form, PyObject *const *args, Py_ssize_t given,
                    py_needle_args *out)
{
    Py_ssize_t want = (Py_ssize_t)strlen(form) + (strchr(form, 'V') ? 2 : 0);
    int handles = 0, extents = 0, failed = 0;
    if (given != want) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, not %zd", name, want, given);
        return -1;
    }
    for (; *form && !failed; form++, args++) {
        if (*form == 'h')
            failed = parse_handle(name, *args, out, handles++);
        else if (*form == 'v')
            failed = parse_value(name, *args, &out->v);
        else if (*form == 'n')
            failed = parse_extent(name, *args, &out->n[extents++]);
        else
            failed = parse_view(name, args, out);
    }
    return failed;
}

int py_needle_view(const py_needle_args *p, const nd_array *handle, nd_array **view)
{
    return py_check(p->st, nd_as_strided(handle, p->ndim, p->shape, p->stride, p->offset, view));
}

int py_needle_size(const char *name, const char *argument, const nd_array *a, int64_t want)
{
    if (nd_size(a) == want)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s(): %s has %lld elements and must have %lld", name, argument,
                 (long long)nd_size(a), (long long)want);
    return -1;
}

int64_t py_needle_count(const char *name, const py_needle_args *p)
{
    int64_t count = 1;
    for (int i = 0; i < p->ndim; i++) {
        if (p->shape[i] < 0) {
            PyErr_Format(PyExc_ValueError, "%s(): the shape has a negative extent, %lld", name,
                         (long long)p->shape[i]);
            return -1;
        }
        if (__builtin_mul_overflow(count, p->shape[i], &count)) {
            PyErr_Format(PyExc_OverflowError, "%s(): the shape has more than 2^63 elements", name);
            return -1;
        }
    }
    return count;
}

PyObject *py_needle_done(py_state *st, nd_status status)
{
    if (status != ND_OK)
        return py_fail(st, status);
    Py_RETURN_NONE;
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
    if (parse_extent("Array", PyTuple_GetItem(args, 0), &size) < 0)
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
    if (py_check(PyType_GetModuleState(Py_TYPE(self)), status) < 0)
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
    {NULL, NULL, 0, NULL}};
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

/* The device's type, made at first use; two made at once both work. Borrowed. */
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
    if (py_device(st, where, &device) < 0 ||
        (!device && py_check(st, nd_device_current(&device)) < 0) ||
        !(type = type_of_device(module, device)))
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
    {"_needle_backend", backend, METH_O, NULL},
    {"_needle_view", (PyCFunction)(void (*)(void))view, METH_FASTCALL, NULL},
    {"_needle_handle", handle, METH_O, NULL},
    {"_needle_offset", offset, METH_O, NULL},
    {"_needle_matmul", (PyCFunction)(void (*)(void))py_needle_matmul, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL}};
