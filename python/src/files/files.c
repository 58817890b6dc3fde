/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays in files: .npy, IDX and safetensors. Paths are what os.fspath takes. */
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
    return py_check(st, status) < 0 ? NULL : Py_NewRef(Py_None);
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

/* All of the file, or those that names (a tuple of str) holds. */
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

/* (path, names: tuple of str, arrays, metadata: tuple of str key, value, ..., sync) */
static PyObject *safetensors_save(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_list list;
    nd_save_opts o = {.size = sizeof o};
    if (py_args(st, "save", "p", args + 4, n - 4, &o.sync) < 0 ||
        py_list_begin(st, "save", args[2], &list) < 0)
        return NULL;
    Py_ssize_t npairs = PyTuple_Check(args[3]) ? PyTuple_Size(args[3]) : -1;
    if (npairs % 2 || !PyTuple_Check(args[1]) || PyTuple_Size(args[1]) != list.n) {
        py_list_end(&list);
        return PyErr_Format(PyExc_ValueError, "save(): a dictionary changed while it was read");
    }
    nd_named_array *named = PyMem_Calloc((size_t)list.n + 1, sizeof *named);
    const char **pairs = PyMem_Calloc((size_t)npairs + 1, sizeof *pairs);
    PyObject *path = named && pairs ? py_path(args[0]) : PyErr_NoMemory();
    bool good = path != NULL;
    for (int i = 0; good && i < list.n; i++) {
        named[i].array = list.a[i];
        named[i].name = py_text(PyTuple_GetItem(args[1], i), "an array's name");
        good = named[i].name != NULL;
    }
    for (Py_ssize_t i = 0; good && i < npairs; i++)
        good = (pairs[i] = py_text(PyTuple_GetItem(args[3], i), "metadata")) != NULL;
    nd_status status = ND_OK;
    if (good) {
        PyThreadState *saved = PyEval_SaveThread();
        status = nd_safetensors_save(PyBytes_AsString(path), list.n, named, pairs, &o);
        PyEval_RestoreThread(saved);
    }
    Py_XDECREF(path);
    PyMem_Free(named);
    PyMem_Free(pairs);
    py_list_end(&list);
    return !good || py_check(st, status) < 0 ? NULL : Py_NewRef(Py_None);
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
    int64_t shape[ND_MAX_NDIM], size = 1;
    int ndim;
    nd_device *device;
    nd_array *r = NULL;
    nd_layout layout = {.size = sizeof layout, .shape = shape};
    Py_buffer view;
    if (py_args(st, "from_file", "tzv", args + 1, n - 1, &layout.dtype, shape, &ndim, &device) < 0)
        return NULL;
    layout.ndim = ndim;
    for (int i = 0; i < ndim; i++)
        if (__builtin_mul_overflow(size, shape[i], &size))
            size = -1;
    if (PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    nd_status status = ND_OK;
    bool fits = size >= 0 && view.len / (Py_ssize_t)nd_dtype_size(layout.dtype) >= size;
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
                                 PY_METHOD("_idx_load", idx_load),
                                 PY_METHOD("_safetensors_load", safetensors_load),
                                 PY_METHOD("_safetensors_save", safetensors_save),
                                 PY_METHOD("_safetensors_metadata", safetensors_metadata),
                                 PY_METHOD("_from_bytes", from_bytes),
                                 PY_METHODS_END};
