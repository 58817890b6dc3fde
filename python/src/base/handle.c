/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The Array object as the other files know it: life, and how results become Arrays. */
#include "python/src/base/base.h"

/* The main interpreter's type is kept, so that most look-ups are one comparison. */
static _Atomic(PyTypeObject *) first_type;

void py_array_dealloc(PyObject *self)
{
    py_array *o = (py_array *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (o->weakrefs)
        PyObject_ClearWeakRefs(self);
    py_release(o->a);
    PyObject_Free(self);
    Py_DECREF(type);
    py_drop_now(); /* the owner of foreign memory goes with the last array over it */
}

void py_array_type_made(PyTypeObject *type)
{
    PyTypeObject *expected = NULL;
    (void)atomic_compare_exchange_strong(&first_type, &expected, type);
}

py_state *py_state_of_array(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);
    if (type != atomic_load_explicit(&first_type, memory_order_relaxed) &&
        PyType_GetSlot(type, Py_tp_dealloc) != (void *)py_array_dealloc)
        return NULL;
    return PyType_GetModuleState(type);
}

nd_array *py_array_need(const py_state *st, PyObject *o, const char *function)
{
    nd_array *a = py_array_get(st, o);
    if (!a)
        PyErr_Format(PyExc_TypeError,
                     "%s() takes an ndock.Array, not %R; ndock.asarray makes one of it", function,
                     (PyObject *)Py_TYPE(o));
    return a;
}

PyObject *py_array_new(py_state *st, nd_array *a)
{
    py_array *o = PyObject_New(py_array, st->array);
    if (!o) {
        py_discard(a);
        return NULL;
    }
    o->a = a;
    o->weakrefs = NULL;
    return (PyObject *)o;
}

PyObject *py_result(py_state *st, nd_status status, nd_array **a)
{
    return status == ND_OK ? py_array_new(st, *a) : py_fail(st, status);
}
