/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays in files: .npy, IDX and safetensors, and saving .npz. Paths are what os.fspath takes. */
#include "python/src/files/files.h"

/* (path, dtype for opaque elements or None, device) */
static PyObject *npy_load(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_dtype opaque;
    nd_device *device;
    nd_array *r = NULL;
    if (py_args(st, "load", "tv", args + 1, n - 1, &opaque, &device) < 0)
        return NULL;
    PyObject *path = py_path(args[0]);
    if (!path)
        return NULL;
    const char *name = PyBytes_AsString(path);
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status =
        opaque ? nd_npy_load_as(name, opaque, device, &r) : nd_npy_load(name, device, &r);
    PyEval_RestoreThread(saved);
    Py_DECREF(path);
    return py_result(st, status, &r);
}

/* (path, mode: ND_MAP_*, dtype for opaque elements or None, device) */
static PyObject *npy_map(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_dtype opaque;
    nd_device *device;
    nd_array *r = NULL;
    int mode;
    if (py_args(st, "load", "itv", args + 1, n - 1, &mode, &opaque, &device) < 0)
        return NULL;
    PyObject *path = py_path(args[0]);
    if (!path)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_npy_map(PyBytes_AsString(path), mode, opaque, device, &r);
    PyEval_RestoreThread(saved);
    Py_DECREF(path);
    return py_result(st, status, &r);
}

/* (path, device) */
static PyObject *idx_load(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    nd_array *r = NULL;
    if (py_args(st, "load", "v", args + 1, n - 1, &device) < 0)
        return NULL;
    PyObject *path = py_path(args[0]);
    if (!path)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_idx_load(PyBytes_AsString(path), device, &r);
    PyEval_RestoreThread(saved);
    Py_DECREF(path);
    return py_result(st, status, &r);
}

/* (path, x, sync) */
static PyObject *npy_save(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a;
    nd_save_opts o = {.size = sizeof o};
    if (py_args(st, "save", "ap", args + 1, n - 1, &a, &o.sync) < 0)
        return NULL;
    PyObject *path = py_path(args[0]);
    if (!path)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_npy_save(PyBytes_AsString(path), a, &o);
    PyEval_RestoreThread(saved);
    Py_DECREF(path);
    return py_none(st, status);
}

/* Puts one array of an opened file into the dictionary. */
static int load_one(py_state *st, nd_safetensors *file, const char *name, nd_device *device,
                    PyObject *into)
{
    nd_array *r = NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_safetensors_load(file, name, device, &r);
    PyEval_RestoreThread(saved);
    PyObject *array = py_result(st, status, &r);
    int result = array ? PyDict_SetItemString(into, name, array) : -1;
    Py_XDECREF(array);
    return result;
}

/* Loads all arrays of the file, or those whose names are in a tuple of str. */
static int load_all(py_state *st, nd_safetensors *file, PyObject *names, nd_device *device,
                    PyObject *into)
{
    Py_ssize_t n = names == Py_None ? nd_safetensors_count(file) : PyTuple_Size(names);
    for (Py_ssize_t i = 0; i < n; i++) {
        const char *name = names == Py_None ? nd_safetensors_name(file, (int)i)
                                            : py_text(PyTuple_GetItem(names, i), "an array's name");
        if (!name || load_one(st, file, name, device, into) < 0)
            return -1;
    }
    return n < 0 ? -1 : 0;
}

static PyObject *open_safetensors(py_state *st, PyObject *o, nd_safetensors **file)
{
    PyObject *path = py_path(o);
    if (!path)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_safetensors_open(PyBytes_AsString(path), file);
    PyEval_RestoreThread(saved);
    Py_DECREF(path);
    return status == ND_OK ? Py_None : py_fail(st, status);
}

/* (path, names: a tuple, or None for all, device): a dict in the file's order */
static PyObject *safetensors_load(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    nd_safetensors *file;
    if (py_args(st, "load", "v", args + 2, n - 2, &device) < 0 ||
        !open_safetensors(st, args[0], &file))
        return NULL;
    PyObject *dict = PyDict_New();
    if (dict && load_all(st, file, args[1], device, dict) < 0)
        Py_CLEAR(dict);
    nd_safetensors_close(file);
    return dict;
}

/* What is to be saved: the list's arrays by name, and metadata as key, value, key ...; text is
 * borrowed from tuples of Python's. */
typedef struct {
    py_list arrays;
    nd_named_array *named;
    const char **pairs; /* ends with NULL */
} contents;

static int read_names(PyObject *names, contents *c)
{
    for (int i = 0; i < c->arrays.n; i++) {
        c->named[i].array = c->arrays.a[i];
        c->named[i].name = py_text(PyTuple_GetItem(names, i), "an array's name");
        if (!c->named[i].name)
            return -1;
    }
    return 0;
}

static int read_pairs(PyObject *metadata, contents *c)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(metadata); i++)
        if (!(c->pairs[i] = py_text(PyTuple_GetItem(metadata, i), "metadata")))
            return -1;
    return 0;
}

static void contents_end(contents *c)
{
    PyMem_Free(c->named);
    PyMem_Free(c->pairs);
    py_list_end(&c->arrays);
}

/* Makes room for what the list of arrays, and the two tuples, hold. */
static int make_room(PyObject *names, PyObject *metadata, contents *c)
{
    Py_ssize_t npairs = PyTuple_Check(metadata) ? PyTuple_Size(metadata) : -1;
    if (npairs % 2 || !PyTuple_Check(names) || PyTuple_Size(names) != c->arrays.n) {
        PyErr_Format(PyExc_ValueError, "save(): a dictionary changed while it was read");
        return -1;
    }
    c->named = PyMem_Calloc((size_t)c->arrays.n + 1, sizeof *c->named);
    c->pairs = PyMem_Calloc((size_t)npairs + 1, sizeof *c->pairs);
    if (c->named && c->pairs)
        return 0;
    PyErr_NoMemory();
    return -1;
}

/* (path, names: tuple of str, arrays, metadata: tuple of str key, value, ..., sync) */
static PyObject *safetensors_save(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    contents c = {.named = NULL};
    nd_save_opts o = {.size = sizeof o};
    PyObject *result = NULL, *path = NULL;
    if (py_args(st, "save", "p", args + 4, n - 4, &o.sync) < 0 ||
        py_list_begin(st, "save", args[2], &c.arrays) < 0)
        return NULL;
    if (make_room(args[1], args[3], &c) == 0 && (path = py_path(args[0])) != NULL &&
        read_names(args[1], &c) == 0 && read_pairs(args[3], &c) == 0) {
        const char *name = PyBytes_AsString(path);
        PyThreadState *saved = PyEval_SaveThread();
        nd_status status = nd_safetensors_save(name, c.arrays.n, c.named, c.pairs, &o);
        PyEval_RestoreThread(saved);
        result = py_none(st, status);
    }
    Py_XDECREF(path);
    contents_end(&c);
    return result;
}

/* (path, names: tuple of str, arrays, level, sync) */
static PyObject *npz_save(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    contents c = {.named = NULL};
    nd_save_opts o = {.size = sizeof o};
    PyObject *result = NULL, *path = NULL, *none = PyTuple_New(0);
    int level;
    if (!none || py_args(st, "savez", "ip", args + 3, n - 3, &level, &o.sync) < 0 ||
        py_list_begin(st, "savez", args[2], &c.arrays) < 0) {
        Py_XDECREF(none);
        return NULL;
    }
    if (make_room(args[1], none, &c) == 0 && (path = py_path(args[0])) != NULL &&
        read_names(args[1], &c) == 0) {
        const char *name = PyBytes_AsString(path);
        PyThreadState *saved = PyEval_SaveThread();
        nd_status status = nd_npz_save(name, c.arrays.n, c.named, level, &o);
        PyEval_RestoreThread(saved);
        result = py_none(st, status);
    }
    Py_XDECREF(path);
    Py_DECREF(none);
    contents_end(&c);
    return result;
}

/* (path, key): the text, or None */
static PyObject *safetensors_metadata(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    nd_safetensors *file;
    const char *key = n == 2 ? py_text(args[1], "a key of metadata") : NULL;
    if (!key || !open_safetensors(py_state_of(module), args[0], &file))
        return NULL;
    const char *value = nd_safetensors_metadata(file, key);
    PyObject *result = value ? py_from_text(value) : Py_NewRef(Py_None);
    nd_safetensors_close(file);
    return result;
}

/* (buffer, dtype, shape, device): a copy of bytes that lie dense in C order */
static PyObject *from_bytes(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    int64_t shape[ND_MAX_NDIM];
    int ndim;
    nd_device *device;
    nd_array *r = NULL;
    nd_layout layout = {.size = sizeof layout, .shape = shape};
    Py_buffer view;
    if (py_args(st, "from_file", "tzv", args + 1, n - 1, &layout.dtype, shape, &ndim, &device) < 0)
        return NULL;
    layout.ndim = ndim;
    const int64_t nbytes = py_nbytes(layout.dtype, ndim, shape);
    if (PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    nd_status status = ND_OK;
    bool fits = nbytes >= 0 && view.len >= nbytes;
    if (fits)
        status = nd_from_host(&layout, view.buf, device, &r);
    else
        PyErr_Format(PyExc_ValueError, "from_file(): %zd bytes are too few for that shape",
                     view.len);
    PyBuffer_Release(&view);
    return fits ? py_result(st, status, &r) : NULL;
}

PyMethodDef py_file_methods[] = {PY_METHOD("_npy_load", npy_load),
                                 PY_METHOD("_npy_save", npy_save),
                                 PY_METHOD("_npy_map", npy_map),
                                 PY_METHOD("_npz_save", npz_save),
                                 PY_METHOD("_idx_load", idx_load),
                                 PY_METHOD("_safetensors_load", safetensors_load),
                                 PY_METHOD("_safetensors_save", safetensors_save),
                                 PY_METHOD("_safetensors_metadata", safetensors_metadata),
                                 PY_METHOD("_from_bytes", from_bytes),
                                 PY_METHODS_END};
