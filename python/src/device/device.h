/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Devices by name and as objects, and the plug-ins that bring them. */
#ifndef NDOCK_PY_DEVICE_H
#define NDOCK_PY_DEVICE_H
#include "python/src/dtype/dtype.h"

/* ---- what means a device (named.c) ---- */
/* Finds the device that o means: a Device or a device string. None gives NULL, which means the
 * current device. */
int py_device(py_state *st, PyObject *o, nd_device **out);
/* Finds the device that o means, which is the current one for None. */
int py_device_or_current(py_state *st, PyObject *o, nd_device **out);
/* Finds the device of an argument that may be left out (o NULL); NULL for that and for None. Here
 * these do not mean the current device, so that no plug-ins of other packages are looked for. */
static inline int py_device_if_given(py_state *st, PyObject *o, nd_device **out)
{
    *out = NULL;
    return !o || o == Py_None ? 0 : py_device(st, o, out);
}
/* Finds the device of a device string. */
int py_device_named(py_state *st, const char *name, nd_device **out);

/* ---- Device (device.c) ---- */
/* Gives the device of a Device object, which is opened if that was not done before; NULL with an
 * exception. */
nd_device *py_device_of(PyObject *self);
/* Makes a Device. */
PyObject *py_from_device(py_state *st, nd_device *device);
/* Makes a Device for a name of nd_device_list; the device is opened when more than its name is
 * wanted. */
PyObject *py_device_listed(py_state *st, const char *name);

/* ---- plug-ins (plugins.c) ---- */
/* Loads the plug-ins of other Python packages, once; called before devices are looked up. */
int py_discover(py_state *st);
/* Does the same, unless the name is the CPU's, for which no plug-in is needed. */
int py_discover_for(py_state *st, const char *name);

/* ---- parts of the module ---- */
int py_init_device(PyObject *module, py_state *st);
extern PyMethodDef py_plugins_methods[];

#endif
