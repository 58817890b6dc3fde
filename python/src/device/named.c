/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which device a name, or another object, means. */
#include "python/src/device/device.h"

static nd_status get(const char *name, nd_device **out)
{
    PyThreadState *saved = PyEval_SaveThread(); /* a device may be opened */
    nd_status status = nd_device_get(name, out);
    PyEval_RestoreThread(saved);
    return status;
}

/* Devices that were asked for by their whole names; they live as long as the process. nd_device_get
 * finds an open device as quickly, but may also open one, for which the GIL has to be given away,
 * and that takes a quarter of the time of zeros(16, device="cpu"). */
enum { KNOWN = 4 };
static _Atomic(nd_device *) known[KNOWN];

static nd_device *find_known(const char *name)
{
    nd_device *d;
    for (int i = 0; i < KNOWN && (d = atomic_load(&known[i])) != NULL; i++)
        if (strcmp(nd_device_name(d), name) == 0)
            return d;
    return NULL;
}

static void remember(const char *name, nd_device *device)
{
    nd_device *none = NULL;
    if (strcmp(nd_device_name(device), name) != 0) /* "cuda" may be another device next time */
        return;
    for (int i = 0; i < KNOWN && !atomic_compare_exchange_strong(&known[i], &none, device); i++)
        none = NULL;
}

int py_device_named(py_state *st, const char *name, nd_device **out)
{
    const char *whole = strcmp(name, "cpu") == 0 ? "cpu:0" : name; /* there is but one CPU */
    *out = find_known(whole);
    if (*out)
        return 0;
    if (py_discover_for(st, name) < 0 || py_check(st, get(name, out)) < 0)
        return -1;
    remember(whole, *out);
    return 0;
}

int py_device(py_state *st, PyObject *o, nd_device **out)
{
    *out = NULL;
    if (o == Py_None)
        return py_discover(st);
    if (Py_TYPE(o) == st->device)
        return (*out = py_device_of(o)) ? 0 : -1;
    if (!PyUnicode_Check(o)) {
        PyErr_Format(PyExc_TypeError,
                     "a device is an ndock.Device or a name such as \"cuda:0\", not %R", o);
        return -1;
    }
    const char *name = py_text(o, "the name of a device");
    return name ? py_device_named(st, name, out) : -1;
}

int py_device_or_current(py_state *st, PyObject *o, nd_device **out)
{
    return py_device(st, o, out) < 0 ? -1 : py_or_current(st, out);
}
