/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which devices and plug-ins there are, without opening any; plug-ins that other Python packages
 * bring; what devices left to the CPU. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "python/src/device/device.h"

enum { UNKNOWN = 0, LOOKING = 1, DONE = 2 };

static bool another_looks(py_state *st)
{
    return atomic_load(&st->discovered) == LOOKING &&
           atomic_load(&st->discoverer) != PyThread_get_thread_ident();
}

/* A package's function may look up devices itself; it finds what was loaded so far. */
int py_discover(py_state *st)
{
    int unknown = UNKNOWN;
    if (atomic_load(&st->discovered) == DONE)
        return 0;
    if (!atomic_compare_exchange_strong(&st->discovered, &unknown, LOOKING)) {
        while (another_looks(st)) {
            Py_BEGIN_ALLOW_THREADS;
            (void)sched_yield();
            Py_END_ALLOW_THREADS;
        }
        return 0;
    }
    atomic_store(&st->discoverer, PyThread_get_thread_ident());
    PyObject *function = py_imported("ndock._plugins", "discover");
    PyObject *done = function ? PyObject_CallNoArgs(function) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(done);
    atomic_store(&st->discovered, DONE); /* also where it has failed, since an error is told once */
    return done ? 0 : -1;
}

int py_discover_for(py_state *st, const char *name)
{
    bool cpu = strncmp(name, "cpu", 3) == 0 && (name[3] == ':' || name[3] == 0);
    return cpu ? 0 : py_discover(st);
}

/* _devices() */
static PyObject *devices(PyObject *module, PyObject *unused)
{
    py_state *st = py_state_of(module);
    int32_t n, room;
    (void)unused;
    if (py_discover(st) < 0 || py_check(st, nd_device_list(NULL, 0, &room)) < 0)
        return NULL;
    const char **names = calloc((size_t)room + 1, sizeof *names);
    if (!names)
        return PyErr_NoMemory();
    nd_status status = nd_device_list(names, room, &n);
    n = n < room ? n : room;
    PyObject *tuple = status == ND_OK ? PyTuple_New(n) : py_fail(st, status);
    for (int32_t i = 0; tuple && i < n; i++) {
        PyObject *o = py_device_listed(st, names[i]);
        if (!o || PyTuple_SetItem(tuple, i, o) < 0)
            Py_CLEAR(tuple);
    }
    free(names);
    return tuple;
}

static PyObject *report(const nd_plugin_report *r)
{
    return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N,s:N,s:i}", "path", py_from_path(r->path), "name",
                         py_from_text(r->name), "version", py_from_text(r->version), "state",
                         py_from_text(r->state), "reason", py_from_text(r->reason), "source",
                         py_from_text(r->source), "devices", (int)r->devices);
}

/* _plugin_reports() */
static PyObject *plugin_reports(PyObject *module, PyObject *unused)
{
    py_state *st = py_state_of(module);
    int32_t n, room;
    (void)unused;
    if (py_discover(st) < 0 || py_check(st, nd_plugin_list(NULL, 0, &room)) < 0)
        return NULL;
    nd_plugin_report *reports = calloc((size_t)room + 1, sizeof *reports);
    if (!reports)
        return PyErr_NoMemory();
    nd_status status = nd_plugin_list(reports, room, &n);
    n = n < room ? n : room;
    PyObject *list = status == ND_OK ? PyList_New(0) : py_fail(st, status);
    for (int32_t i = 0; list && i < n; i++)
        if (py_append(list, report(&reports[i])) < 0)
            Py_CLEAR(list);
    free(reports);
    return list;
}

/* _load_plugin(path) */
static PyObject *load_plugin(PyObject *module, PyObject *path)
{
    PyObject *bytes = py_path(path);
    if (!bytes)
        return NULL;
    const char *text = PyBytes_AsString(bytes);
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_plugin_load(text);
    PyEval_RestoreThread(saved);
    Py_DECREF(bytes);
    return py_none(py_state_of(module), status);
}

/* _available(name, open) gives 0, 1, 2 for no, likely, yes */
static PyObject *available(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    const char *name;
    int open;
    int32_t answer = 0;
    if (!PyArg_ParseTuple(args, "sp:_available", &name, &open) || py_discover_for(st, name) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_device_available(name, open ? ND_PROBE_OPEN : ND_PROBE_COUNT, &answer);
    PyEval_RestoreThread(saved);
    return status == ND_OK ? PyLong_FromLong(answer) : py_fail(st, status);
}

/* _set_current_device(device) */
static PyObject *set_current_device(PyObject *module, PyObject *o)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    if (py_device(st, o, &device) < 0)
        return NULL;
    return device ? py_none(st, nd_device_set_current(device)) : Py_NewRef(Py_None);
}

/* _fallback_stats() */
static PyObject *fallback_stats(PyObject *module, PyObject *unused)
{
    nd_fallback_stats s;
    (void)module, (void)unused;
    nd_fallback_get(&s);
    return Py_BuildValue("{s:K,s:K,s:K}", "staged_calls", (unsigned long long)s.staged_calls,
                         "staged_bytes", (unsigned long long)s.staged_bytes, "derived_calls",
                         (unsigned long long)s.derived_calls);
}
static PyObject *fallback_reset(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    nd_fallback_reset();
    Py_RETURN_NONE;
}
static PyObject *fallback_set(PyObject *module, PyObject *policy)
{
    int32_t value;
    return py_setting(policy, &value) < 0 ? NULL
                                          : py_none(py_state_of(module), nd_fallback_set(value));
}

PyMethodDef py_plugins_methods[] = {{"_devices", devices, METH_NOARGS, NULL},
                                    {"_plugin_reports", plugin_reports, METH_NOARGS, NULL},
                                    {"_load_plugin", load_plugin, METH_O, NULL},
                                    {"_available", available, METH_VARARGS, NULL},
                                    {"_set_current_device", set_current_device, METH_O, NULL},
                                    {"_fallback_stats", fallback_stats, METH_NOARGS, NULL},
                                    {"_fallback_reset", fallback_reset, METH_NOARGS, NULL},
                                    {"_fallback_set", fallback_set, METH_O, NULL},
                                    PY_METHODS_END};
