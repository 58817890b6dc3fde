/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Devices by name and as objects, and the plug-ins that bring them. */
#ifndef NDOCK_PY_DEVICE_H
#define NDOCK_PY_DEVICE_H
#include "python/src/dtype/dtype.h"

/* The device that o means: a Device object or a device string; None gives NULL (current). */
int py_device(py_state *st, PyObject *o, nd_device **out);
/* The same, but never NULL. */
int py_device_or_current(py_state *st, PyObject *o, nd_device **out);
/* The same for an argument that may be left out (o NULL): NULL for that and for None, which here
 * does not mean the current device, so that no plug-ins of other packages are looked for. */
static inline int py_device_if_given(py_state *st, PyObject *o, nd_device **out)
{
    *out = NULL;
    return !o || o == Py_None ? 0 : py_device(st, o, out);
}
/* py_device of a text. */
int py_device_named(py_state *st, const char *name, nd_device **out);
/* device.c: of a Device object, which is opened if it is not yet; NULL with an exception. */
nd_device *py_device_of(PyObject *self);
PyObject *py_from_device(py_state *st, nd_device *device);
/* A Device object for a name of nd_device_list; the device is opened when more than its name is
 * wanted. */
PyObject *py_device_listed(py_state *st, const char *name);
/* Before devices are looked up: the plug-ins of other packages are loaded. py_discover_for does
 * not, where the name is the CPU's. */
int py_discover(py_state *st);
int py_discover_for(py_state *st, const char *name);

int py_init_device(PyObject *module, py_state *st);
extern PyMethodDef py_plugins_methods[];

#endif
