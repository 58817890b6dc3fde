/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Lists and NumPy's arrays as operands beside an Array. Their elements are in host memory, so they
 * join arrays of host devices alone: nothing moves to another device without being asked to. */
#include "python/src/asarray/asarray.h"

bool py_is_operand(PyObject *o)
{
    return PyList_Check(o) || PyTuple_Check(o) || py_is_numpy_array(o);
}

int py_operand(py_state *st, const char *name, PyObject *o, const nd_array *beside, nd_array **out)
{
    nd_device *device = nd_device_of(beside);
    *out = NULL;
    if (!py_is_operand(o))
        return 0;
    if (!py_is_host(device)) {
        PyErr_Format(PyExc_TypeError,
                     "%s(): an operand is a %s in host memory, the other an array on %s; "
                     "ndock.asarray(operand, device=\"%s\") copies it there",
                     name, py_is_numpy_array(o) ? "numpy.ndarray" : "sequence",
                     nd_device_name(device), nd_device_name(device));
        return -1;
    }
    *out = py_asarray(st, o, 0, device, PY_COPY_IF_NEEDED);
    return *out ? 1 : -1;
}

/* _operand(function's name, x, other): other as an Array beside x; an Array is returned as it is.
 */
static PyObject *operand(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    const char *name = n == 3 ? PyUnicode_AsUTF8AndSize(args[0], NULL) : NULL;
    if (name && st->traced && (Py_TYPE(args[1]) == st->traced || Py_TYPE(args[2]) == st->traced))
        return Py_NewRef(args[2]); /* whoever called this meets it again */
    nd_array *made, *beside = name ? py_array_need(st, args[1], name) : NULL;
    if (!beside)
        return name || PyErr_Occurred()
                   ? NULL
                   : PyErr_Format(PyExc_TypeError, "_operand() takes 3 arguments, not %zd", n);
    if (py_array_get(st, args[2]))
        return Py_NewRef(args[2]);
    int known = py_operand(st, name, args[2], beside, &made);
    if (known == 0)
        PyErr_Format(PyExc_TypeError,
                     "%s() takes ndock.Arrays, lists and NumPy arrays, not %R; ndock.asarray makes "
                     "an array of it",
                     name, (PyObject *)Py_TYPE(args[2]));
    return known > 0 ? py_array_new(st, made) : NULL;
}

PyMethodDef py_operand_methods[] = {PY_METHOD("_operand", operand), PY_METHODS_END};
