/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The plan caches of devices: what they have, how much they keep, forgetting it. */
#include "python/src/memory/memory.h"

/* _plan_stats(device), a dict */
static PyObject *plan_stats(PyObject *module, PyObject *where)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    nd_plan_stats s = {.size = sizeof s};
    if (py_device(st, where, &device) < 0 || py_check(st, nd_plan_cache_stats(device, &s)) < 0)
        return NULL;
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "size", (long long)s.count,
                         "max_size", (long long)s.max_size, "nbytes", (long long)s.nbytes,
                         "max_bytes", (long long)s.max_bytes, "hits", (long long)s.hits, "misses",
                         (long long)s.misses, "evictions", (long long)s.evictions, "in_flight",
                         (long long)s.in_flight);
}

/* _plan_limit(device, number of plans, number of bytes); None leaves a limit as it is */
static PyObject *plan_limit(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    PyObject *where, *limit[2];
    if (!PyArg_ParseTuple(args, "OOO", &where, &limit[0], &limit[1]) ||
        py_device(st, where, &device) < 0)
        return NULL;
    for (int i = 0; i < 2; i++) {
        if (limit[i] == Py_None)
            continue;
        const long long most = PyLong_AsLongLong(limit[i]);
        if ((most == -1 && PyErr_Occurred()) ||
            py_check(st, i ? nd_plan_cache_set_max_bytes(device, most)
                           : nd_plan_cache_set_max(device, most)) < 0)
            return NULL;
    }
    Py_RETURN_NONE;
}

/* _plan_clear(device) */
static PyObject *plan_clear(PyObject *module, PyObject *where)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    if (py_device(st, where, &device) < 0 || py_check(st, nd_plan_cache_clear(device)) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyMethodDef py_plans_methods[] = {{"_plan_stats", plan_stats, METH_O, NULL},
                                  {"_plan_limit", plan_limit, METH_VARARGS, NULL},
                                  {"_plan_clear", plan_clear, METH_O, NULL},
                                  PY_METHODS_END};
