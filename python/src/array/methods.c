/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The methods of Array that are C: other dtypes, devices and shapes. Those that are functions of
 * the package, too, are in ndock/_methods.py. */
#include "python/src/array/array.h"

/* ---- copies ---- */
static PyObject *copy_of(PyObject *self)
{
    nd_array *a = NULL;
    PyThreadState *saved = py_unlock(py_array_of(self), nd_size(py_array_of(self)));
    nd_status status = nd_copy(py_array_of(self), NULL, &a);
    py_lock(saved);
    return py_result(py_state_of_self(self), status, &a);
}

static PyObject *copy(PyObject *self, PyObject *unused)
{
    (void)unused;
    return copy_of(self);
}

/* Where nothing changes, the result is the same object. */
static PyObject *converted(PyObject *self, nd_dtype dtype, nd_device *device, int how)
{
    nd_array *a = py_asarray(py_state_of_self(self), self, dtype, device, how);
    if (a && a == py_array_of(self)) {
        nd_release(a);
        return Py_NewRef(self);
    }
    return a ? py_array_new(py_state_of_self(self), a) : NULL;
}

static PyObject *astype(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"dtype", "copy", "device", NULL};
    PyObject *dtype_given, *device_given = Py_None;
    int always = 1;
    nd_dtype dtype;
    nd_device *device;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$pO:astype", names, &dtype_given, &always,
                                     &device_given) ||
        py_dtype(py_state_of_self(self), dtype_given, &dtype) < 0 ||
        py_device(py_state_of_self(self), device_given, &device) < 0)
        return NULL;
    return converted(self, dtype, device, always ? PY_COPY_ALWAYS : PY_COPY_IF_NEEDED);
}

static PyObject *to_device(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", "stream", NULL};
    PyObject *device_given, *stream_given = Py_None;
    nd_device *device;
    nd_stream *stream;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$O:to_device", names, &device_given,
                                     &stream_given) ||
        py_device(py_state_of_self(self), device_given, &device) < 0)
        return NULL;
    nd_device *queues = device && py_is_async(device) ? device : nd_device_of(py_array_of(self));
    if (py_stream(py_state_of_self(self), stream_given, queues, &stream) < 0)
        return NULL;
    if (!stream)
        return converted(self, 0, device, PY_COPY_IF_NEEDED);
    PyObject *result = NULL;
    if (py_check(py_state_of_self(self), nd_stream_push(stream)) == 0) {
        result = converted(self, 0, device, PY_COPY_IF_NEEDED);
        nd_status status = nd_stream_pop(stream);
        if (result && py_check(py_state_of_self(self), status) < 0)
            Py_CLEAR(result);
    }
    nd_stream_release(stream);
    return result;
}

/* The array on the device, by a copy that nobody waits for where pinned memory allows that. */
static PyObject *queued_copy(PyObject *self, nd_dtype dtype, nd_device *device)
{
    nd_array *source = py_array_of(self), *copy = NULL;
    nd_status status = nd_empty(device, dtype ? dtype : nd_dtype_of(source), nd_ndim(source),
                                nd_shape(source), &copy);
    nd_copy_opts options = {.size = sizeof options, .non_blocking = 1};
    py_host_may_wait();
    PyThreadState *saved = PyEval_SaveThread();
    if (status == ND_OK && (status = nd_copy_to(source, copy, &options)) != ND_OK) {
        nd_release(copy);
        copy = NULL;
    }
    PyEval_RestoreThread(saved);
    return py_result(py_state_of_self(self), status, &copy);
}

/* A text that is no dtype names a device. */
static bool is_device(py_state *st, PyObject *o)
{
    const char *name = PyUnicode_Check(o) ? PyUnicode_AsUTF8AndSize(o, NULL) : NULL;
    return name ? py_dtype_known(name) == 0 : Py_TYPE(o) == st->device;
}

/* to(device), to(dtype), or both in any order; to(array): its dtype and device. */
static PyObject *to(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"device", "dtype", "copy", "non_blocking", NULL};
    PyObject *o[2] = {Py_None, Py_None};
    int always = 0, queued = 0;
    nd_dtype dtype = 0;
    nd_device *device = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO$pp:to", names, &o[0], &o[1], &always,
                                     &queued))
        return NULL;
    nd_array *like = py_array_get(py_state_of_self(self), o[0]);
    if (like) {
        dtype = nd_dtype_of(like);
        device = nd_device_of(like);
    }
    for (int i = like ? 1 : 0; i < 2; i++) {
        if (o[i] == Py_None)
            continue;
        if (is_device(py_state_of_self(self), o[i])
                ? py_device(py_state_of_self(self), o[i], &device) < 0
                : py_dtype(py_state_of_self(self), o[i], &dtype) < 0)
            return NULL;
    }
    if (queued && device && device != nd_device_of(py_array_of(self)))
        return queued_copy(self, dtype, device);
    return converted(self, dtype, device, always ? PY_COPY_ALWAYS : PY_COPY_IF_NEEDED);
}

static PyObject *cpu(PyObject *self, PyObject *unused)
{
    nd_device *device;
    (void)unused;
    if (py_check(py_state_of_self(self), nd_device_get("cpu", &device)) < 0)
        return NULL;
    return converted(self, 0, device, PY_COPY_IF_NEEDED);
}

static PyObject *deepcopy(PyObject *self, PyObject *memo)
{
    (void)memo;
    return copy_of(self);
}

/* ---- shapes ---- */
/* Several ints, or one sequence of them. */
static int ints(PyObject *args, const char *what, int64_t *out, int *n)
{
    return py_ints(PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : args, what, out, n);
}

/* The elements in that shape; copy is one of PY_COPY_. */
static PyObject *reshaped(PyObject *self, int n, const int64_t *shape, int copy)
{
    nd_array *source = py_array_of(self), *a = NULL;
    PyThreadState *saved = py_unlock(source, nd_size(source));
    nd_status status = copy == PY_COPY_NEVER ? nd_reshape(source, n, shape, &a)
                                             : nd_reshape_copy(source, n, shape, &a);
    if (status == ND_OK && copy == PY_COPY_ALWAYS && nd_shares_storage(a, source)) {
        nd_array *view = a;
        status = nd_copy(view, NULL, &a);
        nd_release(view);
    }
    py_lock(saved);
    return py_result(py_state_of_self(self), status, &a);
}

static PyObject *reshape(PyObject *self, PyObject *args, PyObject *kwargs)
{
    int64_t shape[ND_MAX_NDIM];
    int n, copy;
    PyObject *given = kwargs ? PyDict_GetItemString(kwargs, "copy") : NULL;
    if (kwargs && PyDict_Size(kwargs) != (given != NULL))
        return PyErr_Format(PyExc_TypeError, "reshape() takes a shape and copy=, not %R", kwargs);
    if ((copy = py_copy(given)) < 0 || ints(args, "shape", shape, &n) < 0)
        return NULL;
    return reshaped(self, n, shape, copy);
}

static PyObject *transpose(PyObject *self, PyObject *args)
{
    int64_t wide[ND_MAX_NDIM];
    int32_t axes[ND_MAX_NDIM];
    int n;
    nd_array *view = NULL;
    if (PyTuple_Size(args) == 0 || (PyTuple_Size(args) == 1 && PyTuple_GetItem(args, 0) == Py_None))
        return py_result(py_state_of_self(self), nd_transpose(py_array_of(self), &view), &view);
    if (ints(args, "axes", wide, &n) < 0)
        return NULL;
    for (int i = 0; i < n; i++)
        axes[i] = wide[i] < -ND_MAX_NDIM || wide[i] > ND_MAX_NDIM ? ND_MAX_NDIM : (int32_t)wide[i];
    return py_result(py_state_of_self(self), nd_permute(py_array_of(self), n, axes, &view), &view);
}

static PyObject *flatten(PyObject *self, PyObject *unused)
{
    const int64_t all = -1;
    (void)unused;
    return reshaped(self, 1, &all, PY_COPY_ALWAYS);
}
static PyObject *ravel(PyObject *self, PyObject *unused)
{
    const int64_t all = -1;
    (void)unused;
    return reshaped(self, 1, &all, PY_COPY_IF_NEEDED);
}

static PyObject *squeeze(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"axis", NULL};
    PyObject *given = Py_None;
    int32_t axes[ND_MAX_NDIM];
    int n;
    nd_array *view = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:squeeze", names, &given) ||
        py_axes(given, axes, &n) < 0)
        return NULL;
    return py_result(py_state_of_self(self),
                     nd_squeeze(py_array_of(self), n < 0 ? 0 : n, n < 0 ? NULL : axes, &view),
                     &view);
}

static PyObject *is_contiguous(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(nd_is_contiguous(py_array_of(self)));
}

/* ---- the package ---- */
static PyObject *namespace(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static const char *const known[] = {"2021.12", "2022.12", "2023.12", "2024.12", "2025.12"};
    static char *names[] = {"api_version", NULL};
    PyObject *version = Py_None;
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:__array_namespace__", names, &version))
        return NULL;
    bool found = version == Py_None;
    for (size_t i = 0; !found && i < sizeof known / sizeof *known; i++)
        found =
            PyUnicode_Check(version) && PyUnicode_CompareWithASCIIString(version, known[i]) == 0;
    if (!found)
        return PyErr_Format(PyExc_ValueError,
                            "%R is no version of the array API that ndock has; 2021.12 to 2025.12 "
                            "are",
                            version);
    return PyImport_ImportModule("ndock");
}

/* Calls a helper of one of the package's modules with the array and at most one more object. */
static PyObject *helper(const char *module, const char *name, PyObject *self, PyObject *more)
{
    PyObject *function = py_imported(module, name);
    PyObject *result = function ? PyObject_CallFunctionObjArgs(function, self, more, NULL) : NULL;
    Py_XDECREF(function);
    return result;
}
static PyObject *html(PyObject *self, PyObject *unused)
{
    (void)unused;
    return helper("ndock._printing", "_html", self, NULL);
}
static PyObject *reduce(PyObject *self, PyObject *protocol)
{
    return helper("ndock._pickle", "_reduce", self, protocol);
}

#define KEYWORDS(f) PY_FUNCTION(f), METH_VARARGS | METH_KEYWORDS
PyMethodDef py_array_methods[] = {
    {"item", PY_FUNCTION(py_array_item_method), METH_FASTCALL,
     "item($self, /, *position)\n--\n\nOne element as a Python scalar: the only one, or the one "
     "at\n"
     "a flat position or at one index for each axis. Waits; reads from any device."},
    {"tolist", py_array_tolist, METH_NOARGS,
     "tolist($self, /)\n--\n\nThe elements as Python scalars in nested lists (without axes: a "
     "scalar).\nWaits; reads from any device."},
    {"copy", copy, METH_NOARGS,
     "copy($self, /)\n--\n\nA new array of the same elements, dense in C order, on its device."},
    {"astype", KEYWORDS(astype),
     "astype($self, dtype, *, copy=True, device=None)\n--\n\nThe elements as another dtype, on "
     "another device if one is named. copy=False\ngives the array itself where nothing changes."},
    {"to_device", KEYWORDS(to_device),
     "to_device($self, device, /, *, stream=None)\n--\n\nThe array on a device: itself if it is "
     "there, else a copy, made on the\ncurrent stream or the one given."},
    {"to", KEYWORDS(to),
     "to($self, device=None, dtype=None, *, copy=False, non_blocking=False)\n--\n\nThe array on a "
     "device, or of a dtype, or both, in any order, or as another array is;\nitself where nothing "
     "changes and copy is False. non_blocking: a copy from or to pinned\nmemory is queued and not "
     "waited for."},
    {"cpu", cpu, METH_NOARGS, "cpu($self, /)\n--\n\nThe array on \"cpu\": itself if it is there."},
    {"reshape", KEYWORDS(reshape),
     "reshape($self, /, *shape, copy=None)\n--\n\nThe elements in another shape, one extent of "
     "which may be -1: a view where\npossible, else a copy. copy=False never copies, True always."},
    {"transpose", transpose, METH_VARARGS,
     "transpose($self, /, *axes)\n--\n\nA view with all axes reversed, or in the order given, as "
     "NumPy's."},
    {"permute", transpose, METH_VARARGS,
     "permute($self, /, *axes)\n--\n\nA view with the axes in the order given, as PyTorch's."},
    {"flatten", flatten, METH_NOARGS, "flatten($self, /)\n--\n\nA copy with one axis, in C order."},
    {"ravel", ravel, METH_NOARGS,
     "ravel($self, /)\n--\n\nThe elements along one axis, in C order: a view where possible."},
    {"squeeze", KEYWORDS(squeeze),
     "squeeze($self, /, axis=None)\n--\n\nA view without the axes named, or without all axes of "
     "extent one."},
    {"is_contiguous", is_contiguous, METH_NOARGS,
     "is_contiguous($self, /)\n--\n\nWhether the elements are dense in C order."},
    {"__array_namespace__", KEYWORDS(namespace),
     "__array_namespace__($self, /, *, api_version=None)\n--\n\nThe package ndock."},
    {"__complex__", py_array_complex, METH_NOARGS, NULL},
    {"__array__", KEYWORDS(py_array_numpy),
     "__array__($self, /, dtype=None, copy=None)\n--\n\nA NumPy array of the elements, a view "
     "where copy and dtype allow it; host arrays\nonly: TypeError for others, which are never "
     "copied silently."},
    {"__format__", py_array_format, METH_O, NULL},
    {"__reduce_ex__", reduce, METH_O, NULL},
    {"_repr_html_", html, METH_NOARGS, NULL},
    {"__copy__", copy, METH_NOARGS, NULL},
    {"__deepcopy__", deepcopy, METH_O, NULL},
    PY_METHODS_END};
