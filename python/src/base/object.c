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

PyObject *py_imported(const char *module, const char *name)
{
    PyObject *m = PyImport_ImportModule(module);
    PyObject *o = m ? PyObject_GetAttrString(m, name) : NULL;
    Py_XDECREF(m);
    return o;
}

int py_dict_put(PyObject *dict, PyObject *key, PyObject *value)
{
    int result = value ? PyDict_SetItem(dict, key, value) : -1;
    Py_XDECREF(value);
    return result;
}

int py_dict_put_named(PyObject *dict, const char *key, PyObject *value)
{
    int result = value ? PyDict_SetItemString(dict, key, value) : -1;
    Py_XDECREF(value);
    return result;
}

int py_append(PyObject *list, PyObject *item)
{
    int result = item ? PyList_Append(list, item) : -1;
    Py_XDECREF(item);
    return result;
}

int py_setting(PyObject *o, int32_t *out)
{
    long value = PyLong_AsLong(o);
    *out = (int32_t)value;
    return value == -1 && PyErr_Occurred() ? -1 : 0;
}

PyTypeObject *py_add_type(PyObject *module, PyType_Spec *spec, const char *name)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type && PyModule_AddObjectRef(module, name, type) < 0)
        Py_CLEAR(type);
    return (PyTypeObject *)type;
}
