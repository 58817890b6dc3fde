/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The cache of compiled kernels, and kernels looked up ahead of time. */
#include "python/src/kernels/kernels.h"

/* _kernel_cache_info(), a dict */
static PyObject *info(PyObject *module, PyObject *none)
{
    py_state *st = py_state_of(module);
    nd_kernel_stats s = {.size = sizeof s};
    (void)none;
    PyThreadState *saved = PyEval_SaveThread(); /* looks through a folder */
    const nd_status status = nd_kernel_cache_stats(&s);
    PyEval_RestoreThread(saved);
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {
        {"memory_hits", s.memory_hits},
        {"disk_hits", s.disk_hits},
        {"misses", s.misses},
        {"compiles", s.compiles},
        {"failures", s.failures},
        {"stored", s.stored},
        {"dropped", s.dropped},
        {"evicted", s.evicted},
        {"disk_entries", s.disk_entries},
        {"disk_bytes", s.disk_bytes},
        {"max_bytes", s.max_disk_bytes},
        {"memory_entries", s.memory_entries},
        {"memory_bytes", s.memory_bytes},
    };
    if (py_check(st, status) < 0)
        return NULL;
    PyObject *dict = PyDict_New();
    if (!dict || py_dict_put_named(dict, "dir", py_from_path(nd_kernel_cache_dir())) < 0 ||
        py_dict_put_named(dict, "writable", PyBool_FromLong(s.writable)) < 0)
        goto failed;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (py_dict_put_named(dict, numbers[i].name,
                              PyLong_FromUnsignedLongLong(numbers[i].value)) < 0)
            goto failed;
    return dict;
failed:
    Py_XDECREF(dict);
    return NULL;
}

/* _kernel_cache_clear() */
static PyObject *clear(PyObject *module, PyObject *none)
{
    (void)none;
    PyThreadState *saved = PyEval_SaveThread();
    const nd_status status = nd_kernel_cache_clear();
    PyEval_RestoreThread(saved);
    return py_none(py_state_of(module), status);
}

static int read_item(py_state *st, PyObject *op, PyObject *dtype, nd_warmup_item *item)
{
    const char *name = py_text(op, "an operation's name");
    if (!name || py_dtype(st, dtype, &item->dtype) < 0)
        return -1;
    item->op = nd_op_find(name);
    if (item->op != ND_OP_NONE)
        return 0;
    PyErr_Format(PyExc_ValueError, "warmup(): there is no operation \"%s\"", name);
    return -1;
}

static int read_items(py_state *st, PyObject *names, PyObject *dtypes, nd_device *device,
                      nd_warmup_item *items)
{
    const Py_ssize_t n_dtypes = PyTuple_Size(dtypes), count = PyTuple_Size(names) * n_dtypes;
    for (Py_ssize_t i = 0; i < count; i++) {
        items[i].device = device;
        if (read_item(st, PyTuple_GetItem(names, i / n_dtypes),
                      PyTuple_GetItem(dtypes, i % n_dtypes), &items[i]) < 0)
            return -1;
    }
    return 0;
}

static PyObject *status_list(const nd_status *statuses, Py_ssize_t n)
{
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list && i < n; i++)
        if (py_append(list, PyLong_FromLong(statuses[i])) < 0)
            Py_CLEAR(list);
    return list;
}

/* _warmup(names, dtypes, device): a list of a status for each pair */
static PyObject *warmup(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    PyObject *list = NULL;
    if (n != 3 || py_device_or_current(st, args[2], &device) < 0)
        return NULL;
    const Py_ssize_t count = PyTuple_Size(args[0]) * PyTuple_Size(args[1]);
    if (PyErr_Occurred() || count > INT32_MAX)
        return count > INT32_MAX ? PyErr_NoMemory() : NULL;
    nd_warmup_item *items = PyMem_Calloc((size_t)count + 1, sizeof *items);
    nd_status *statuses = PyMem_Calloc((size_t)count + 1, sizeof *statuses);
    if (!items || !statuses) {
        PyErr_NoMemory();
    } else if (read_items(st, args[0], args[1], device, items) == 0) {
        PyThreadState *saved = PyEval_SaveThread();
        const nd_status status = nd_warmup(items, (int32_t)count, statuses);
        PyEval_RestoreThread(saved);
        list = py_check(st, status) < 0 ? NULL : status_list(statuses, count);
    }
    PyMem_Free(items);
    PyMem_Free(statuses);
    return list;
}

PyMethodDef py_kernel_cache_methods[] = {{"_kernel_cache_info", info, METH_NOARGS, NULL},
                                         {"_kernel_cache_clear", clear, METH_NOARGS, NULL},
                                         PY_METHOD("_warmup", warmup),
                                         PY_METHODS_END};
