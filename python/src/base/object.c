/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Objects of Python that the files have in common. */
#include "python/src/base/base.h"

PyObject *py_numpy(const char *name)
{
    PyObject *modules = PySys_GetObject("modules");
    PyObject *numpy = modules ? PyDict_GetItemString(modules, "numpy") : NULL;
    PyObject *o = numpy ? PyObject_GetAttrString(numpy, name) : NULL;
    if (!o)
        PyErr_Clear();
    return o;
}
