/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Modules of programs and their functions, as capsules, and launches. */
#include "python/src/kernels/kernels.h"

static const char module_name[] = "ndock.module", function_name[] = "ndock.function";

/* A release may wait for a function of Python's that is queued before the last launch. */
static void free_module(PyObject *capsule)
{
    nd_module *m = PyCapsule_GetPointer(capsule, module_name);
    PyThreadState *saved = PyEval_SaveThread();
    nd_module_release(m);
    PyEval_RestoreThread(saved);
}

/* The context of a function's capsule is its module's. */
static void free_function(PyObject *capsule)
{
    Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

/* ---- code of host functions: addresses ---- */
static PyObject *host_functions(PyObject *dict)
{
    PyObject *items = PyMapping_Items(dict);
    const Py_ssize_t n = items ? PyList_Size(items) : -1;
    PyObject *bytes =
        n > 0 ? PyBytes_FromStringAndSize(NULL, n * (Py_ssize_t)sizeof(nd_host_function)) : NULL;
    nd_host_function *f = bytes ? (nd_host_function *)(void *)PyBytes_AsString(bytes) : NULL;
    for (Py_ssize_t i = 0; f && i < n; i++) {
        PyObject *item = PyList_GetItem(items, i);
        f[i].name = py_text(PyTuple_GetItem(item, 0), "a function's name");
        void *address = f[i].name ? PyLong_AsVoidPtr(PyTuple_GetItem(item, 1)) : NULL;
        memcpy(&f[i].run, &address, sizeof address);
        if (PyErr_Occurred()) {
            Py_CLEAR(bytes);
            f = NULL;
        }
    }
    Py_XDECREF(items);
    if (!bytes && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "Module(): no function is given");
    return bytes;
}

/* _module_load(device, kind, code, name, options): code is bytes, or for kind 4 a dict of names and
 * addresses. */
static PyObject *module_load(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    int kind;
    nd_module *m = NULL;
    if (n != 5 || py_args(st, "Module", "vi", args, 2, &device, &kind) < 0)
        return NULL;
    PyObject *code = kind == ND_CODE_HOST ? host_functions(args[2]) : Py_NewRef(args[2]);
    char *bytes;
    Py_ssize_t nbytes;
    const char *name = code ? py_text(args[3], "name") : NULL;
    const char *options = name ? py_text(args[4], "options") : NULL;
    if (!options || PyBytes_AsStringAndSize(code, &bytes, &nbytes) < 0) {
        Py_XDECREF(code);
        return NULL;
    }
    const nd_module_opts opts = {.size = sizeof opts,
                                 .kind = kind,
                                 .code = bytes,
                                 .nbytes = (size_t)nbytes,
                                 .name = name,
                                 .options = options};
    PyThreadState *saved = PyEval_SaveThread();
    const nd_status status = nd_module_load(device, &opts, &m);
    PyEval_RestoreThread(saved);
    Py_DECREF(code);
    if (py_check(st, status) < 0)
        return NULL;
    PyObject *capsule = PyCapsule_New(m, module_name, free_module);
    if (!capsule)
        nd_module_release(m);
    return capsule;
}

/* _module_function(module, name) */
static PyObject *module_function(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_module *m = n == 2 ? PyCapsule_GetPointer(args[0], module_name) : NULL;
    const char *name = m ? py_text(args[1], "name") : NULL;
    nd_function *f = NULL;
    if (!name || py_check(st, nd_module_function(m, name, &f)) < 0)
        return NULL;
    PyObject *capsule = PyCapsule_New(f, function_name, free_function);
    if (capsule && PyCapsule_SetContext(capsule, args[0]) == 0)
        Py_INCREF(args[0]);
    return capsule;
}

nd_function *py_function_get(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, function_name);
}

/* _function_limits(function), a dict */
static PyObject *function_limits(PyObject *module, PyObject *capsule)
{
    py_state *st = py_state_of(module);
    nd_function *f = py_function_get(capsule);
    nd_function_limits l = {.size = sizeof l};
    if (!f || py_check(st, nd_function_limits_get(f, &l)) < 0)
        return NULL;
    PyObject *n =
        l.n_arguments == UINT32_MAX ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(l.n_arguments);
    return Py_BuildValue("{s:(III),s:(III),s:I,s:N,s:K}", "grid", l.grid[0], l.grid[1], l.grid[2],
                         "block", l.block[0], l.block[1], l.block[2], "block_threads",
                         l.block_threads, "n_arguments", n, "shared_bytes",
                         (unsigned long long)l.shared_bytes);
}

/* ---- launches ---- */
enum { MAX_ARGUMENTS = 256 };

/* Up to three extents: an int, or a sequence. */
static int read_extents(PyObject *o, const char *what, uint32_t out[3])
{
    int64_t v[ND_MAX_NDIM];
    int n;
    if (py_ints(o, what, v, &n) < 0)
        return -1;
    if (n < 1 || n > 3) {
        PyErr_Format(PyExc_ValueError, "the %s has %d numbers; 1 to 3 can be given", what, n);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        if (v[i] < 0 || v[i] > UINT32_MAX) {
            PyErr_Format(PyExc_ValueError, "the %s has %lld", what, (long long)v[i]);
            return -1;
        }
        out[i] = (uint32_t)v[i];
    }
    return 0;
}

/* An Array, which is written to; a tuple of one, which is read; or the bytes of a value. */
static int read_argument(const py_state *st, PyObject *o, nd_launch_arg *out)
{
    PyObject *inner = PyTuple_Check(o) && PyTuple_Size(o) == 1 ? PyTuple_GetItem(o, 0) : o;
    nd_array *a = py_array_get(st, inner);
    char *bytes;
    Py_ssize_t n;
    if (a) {
        *out = inner == o ? nd_launch_out(a) : nd_launch_in(a);
        return 0;
    }
    if (PyBytes_AsStringAndSize(o, &bytes, &n) < 0)
        return -1;
    *out = nd_launch_bytes(bytes, (uint32_t)n);
    return 0;
}

/* _launch(function, grid, block, shared_bytes, stream, arguments) */
static PyObject *launch(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_launch_arg argument[MAX_ARGUMENTS];
    nd_launch_opts opts = {.size = sizeof opts};
    int64_t shared;
    nd_function *f = n == 6 ? py_function_get(args[0]) : NULL;
    if (!f || read_extents(args[1], "grid", opts.grid) < 0 ||
        read_extents(args[2], "block", opts.block) < 0 || py_int64(args[3], &shared) < 0 ||
        py_stream(st, args[4], NULL, &opts.stream) < 0)
        return NULL;
    opts.shared_bytes = (uint64_t)shared;
    const Py_ssize_t count = PyTuple_Size(args[5]);
    int status = count < 0 || count > MAX_ARGUMENTS ? -1 : 0;
    if (count > MAX_ARGUMENTS)
        PyErr_Format(PyExc_ValueError, "%zd arguments; %d are the most", count, MAX_ARGUMENTS);
    for (Py_ssize_t i = 0; status == 0 && i < count; i++)
        status = read_argument(st, PyTuple_GetItem(args[5], i), &argument[i]);
    if (status == 0) {
        PyThreadState *saved = PyEval_SaveThread();
        const nd_status result = nd_launch(f, argument, (int32_t)count, &opts);
        PyEval_RestoreThread(saved);
        status = py_check(st, result);
    }
    nd_stream_release(opts.stream);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

PyMethodDef py_code_methods[] = {PY_METHOD("_module_load", module_load),
                                 PY_METHOD("_module_function", module_function),
                                 {"_function_limits", function_limits, METH_O, NULL},
                                 PY_METHOD("_launch", launch),
                                 PY_METHODS_END};
