/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * GGUF files: opened ones as capsules, metadata as Python's values, and saving. */
#include <stdio.h>
#include "python/src/files/files.h"

static const char capsule_name[] = "ndock.gguf";

static void close_file(PyObject *capsule)
{
    nd_gguf_close(PyCapsule_GetPointer(capsule, capsule_name));
}

static const nd_gguf *file_of(PyObject *o)
{
    if (PyCapsule_IsValid(o, capsule_name))
        return PyCapsule_GetPointer(o, capsule_name);
    PyErr_SetString(PyExc_TypeError, "load(): an opened GGUF file is needed");
    return NULL;
}

/* (path): a capsule */
static PyObject *gguf_open(PyObject *module, PyObject *o)
{
    py_state *st = py_state_of(module);
    nd_gguf *file = NULL;
    PyObject *path = py_path(o);
    if (!path)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_gguf_open(PyBytes_AsString(path), &file);
    PyEval_RestoreThread(saved);
    Py_DECREF(path);
    if (status != ND_OK)
        return py_fail(st, status);
    PyObject *capsule = PyCapsule_New(file, capsule_name, close_file);
    if (!capsule)
        nd_gguf_close(file);
    return capsule;
}

/* ---- metadata ---- */

/* Names of ND_GGUF_*. */
static const char *const types[] = {"uint8", "int8",   "uint16", "int16",  "uint32", "int32",
                                    "float32", "bool", "str",    "array",  "uint64", "int64",
                                    "float64"};

static PyObject *from_value(py_state *st, const nd_gguf_value *v);

static PyObject *from_array(py_state *st, nd_gguf_value rest)
{
    PyObject *list = PyList_New(0);
    while (list && rest.count > 0) {
        nd_gguf_value item;
        const nd_status status = nd_gguf_next(&rest, &item);
        PyObject *value = status == ND_OK ? from_value(st, &item) : py_fail(st, status);
        if (py_append(list, value) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *from_value(py_state *st, const nd_gguf_value *v)
{
    switch (v->type) {
    case ND_GGUF_ARRAY:
        return from_array(st, *v);
    case ND_GGUF_STRING:
        return PyUnicode_DecodeUTF8(v->data, (Py_ssize_t)v->nbytes, "surrogateescape");
    case ND_GGUF_BOOL:
        return PyBool_FromLong((long)v->v.u);
    case ND_GGUF_F32:
    case ND_GGUF_F64:
        return PyFloat_FromDouble(v->v.f);
    case ND_GGUF_I8:
    case ND_GGUF_I16:
    case ND_GGUF_I32:
    case ND_GGUF_I64:
        return PyLong_FromLongLong(v->v.i);
    default:
        return PyLong_FromUnsignedLongLong(v->v.u);
    }
}

/* "uint32", or "uint32[]" of arrays. */
static PyObject *type_text(const nd_gguf_value *v)
{
    return v->type == ND_GGUF_ARRAY ? PyUnicode_FromFormat("%s[]", types[v->item])
                                    : PyUnicode_FromString(types[v->type]);
}

/* (file): two dicts, of values and of the names of their types, by key */
static PyObject *gguf_metadata(PyObject *module, PyObject *o)
{
    py_state *st = py_state_of(module);
    const nd_gguf *file = file_of(o);
    PyObject *values = file ? PyDict_New() : NULL, *kinds = values ? PyDict_New() : NULL;
    bool good = kinds != NULL;
    for (int i = 0; good && i < nd_gguf_key_count(file); i++) {
        const char *key = nd_gguf_key(file, i);
        nd_gguf_value v = {.size = sizeof v};
        good = py_check(st, nd_gguf_find(file, key, &v)) == 0 &&
               py_dict_put_named(values, key, from_value(st, &v)) == 0 &&
               py_dict_put_named(kinds, key, type_text(&v)) == 0;
    }
    PyObject *result = good ? PyTuple_Pack(2, values, kinds) : NULL;
    Py_XDECREF(values);
    Py_XDECREF(kinds);
    return result;
}

/* ---- tensors ---- */

/* (file): tuples of name, shape, dtype's or format's name, whether it is quantised */
static PyObject *gguf_tensors(PyObject *module, PyObject *o)
{
    py_state *st = py_state_of(module);
    const nd_gguf *file = file_of(o);
    PyObject *list = file ? PyList_New(0) : NULL;
    for (int i = 0; list && i < nd_gguf_count(file); i++) {
        nd_gguf_tensor t = {.size = sizeof t};
        char number[32];
        if (py_check(st, nd_gguf_describe(file, i, &t)) < 0) {
            Py_CLEAR(list);
            break;
        }
        snprintf(number, sizeof number, "type %d", (int)t.type);
        const char *type = t.format  ? nd_quant_get(t.format)->name
                           : t.dtype ? nd_dtype_get(t.dtype)->standard
                                     : number;
        PyObject *shape = py_tuple(t.shape, t.ndim);
        if (!shape || py_append(list, Py_BuildValue("(sNsN)", t.name, shape, type,
                                                    PyBool_FromLong(t.format != 0))) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* (file, name, quantised, device): an Array, of blocks for a quantised tensor */
static PyObject *gguf_load(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    nd_array *r = NULL;
    nd_qarray *q = NULL;
    int quantised;
    if (n != 4) {
        PyErr_SetString(PyExc_TypeError, "load() takes a file, a name, a truth value and a device");
        return NULL;
    }
    const nd_gguf *file = file_of(args[0]);
    const char *name = file ? py_text(args[1], "a tensor's name") : NULL;
    if (!name || py_args(st, "load", "pv", args + 2, n - 2, &quantised, &device) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = quantised ? nd_gguf_load_quant(file, name, device, &q)
                                 : nd_gguf_load(file, name, device, &r);
    if (q)
        r = nd_retain((nd_array *)(uintptr_t)nd_qarray_blocks(q));
    nd_qarray_release(q);
    return py_done(st, saved, status, &r);
}

/* ---- saving ---- */

/* What is saved; texts and bytes are borrowed from tuples of Python's. */
typedef struct {
    int n, n_pairs;
    nd_gguf_item *items;
    nd_gguf_pair *pairs;
} contents;

static void contents_end(contents *c)
{
    for (int i = 0; c->items && i < c->n; i++)
        nd_qarray_release((nd_qarray *)(uintptr_t)c->items[i].quant);
    PyMem_Free(c->items);
    PyMem_Free(c->pairs);
}

/* (name, Array, format or None) */
static int read_item(py_state *st, PyObject *o, nd_gguf_item *item)
{
    PyObject *array, *format;
    nd_qarray *q = NULL;
    if (!PyArg_ParseTuple(o, "sOO", &item->name, &array, &format))
        return -1;
    const nd_array *a = py_array_need(st, array, "save_gguf");
    if (!a)
        return -1;
    if (format == Py_None) {
        item->array = a;
        return 0;
    }
    const char *name = py_text(format, "a quantised format");
    if (!name || py_check(st, nd_qarray_wrap(a, nd_quant_find(name), &q)) < 0)
        return -1;
    item->quant = q;
    return 0;
}

/* (key, type's number, items' number, count, bytes) */
static int read_pair(PyObject *o, nd_gguf_pair *pair)
{
    nd_gguf_value *v = &pair->value;
    unsigned long long count;
    PyObject *bytes;
    if (!PyArg_ParseTuple(o, "siiKO!", &pair->key, &v->type, &v->item, &count, &PyBytes_Type,
                          &bytes))
        return -1;
    v->size = sizeof *v;
    v->count = count;
    v->data = PyBytes_AsString(bytes);
    v->nbytes = (uint64_t)PyBytes_Size(bytes);
    return 0;
}

static int read_contents(py_state *st, PyObject *items, PyObject *pairs, contents *c)
{
    c->n = PyTuple_Check(items) ? (int)PyTuple_Size(items) : 0;
    c->n_pairs = PyTuple_Check(pairs) ? (int)PyTuple_Size(pairs) : 0;
    c->items = PyMem_Calloc((size_t)c->n + 1, sizeof *c->items);
    c->pairs = PyMem_Calloc((size_t)c->n_pairs + 1, sizeof *c->pairs);
    if (!c->items || !c->pairs) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < c->n; i++)
        if (read_item(st, PyTuple_GetItem(items, i), &c->items[i]) < 0)
            return -1;
    for (int i = 0; i < c->n_pairs; i++)
        if (read_pair(PyTuple_GetItem(pairs, i), &c->pairs[i]) < 0)
            return -1;
    return 0;
}

/* (path, tuple of items, tuple of pairs, sync) */
static PyObject *gguf_save(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    contents c = {.n = 0};
    nd_save_opts o = {.size = sizeof o};
    PyObject *result = NULL, *path = NULL;
    if (py_args(st, "save_gguf", "p", args + 3, n - 3, &o.sync) < 0)
        return NULL;
    if (read_contents(st, args[1], args[2], &c) == 0 && (path = py_path(args[0])) != NULL) {
        const char *name = PyBytes_AsString(path);
        PyThreadState *saved = PyEval_SaveThread();
        nd_status status = nd_gguf_save(name, c.n, c.items, c.n_pairs, c.pairs, &o);
        PyEval_RestoreThread(saved);
        result = py_none(st, status);
    }
    Py_XDECREF(path);
    contents_end(&c);
    return result;
}

PyMethodDef py_gguf_methods[] = {{"_gguf_open", gguf_open, METH_O, NULL},
                                 {"_gguf_metadata", gguf_metadata, METH_O, NULL},
                                 {"_gguf_tensors", gguf_tensors, METH_O, NULL},
                                 PY_METHOD("_gguf_load", gguf_load),
                                 PY_METHOD("_gguf_save", gguf_save),
                                 PY_METHODS_END};
