/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The type Array, put together of the slots and methods that the other files fill. */
#include <stddef.h>
#include "python/src/array/array.h"

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(py_array, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static const PyType_Slot own_slots[] = {
    {Py_tp_doc,
     "An N-dimensional array on a device; made by ndock.asarray, ndock.zeros and the like.\n\n"
     ">>> x = nd.asarray([[1, 2], [3, 4]])\n>>> x.shape, x.T.tolist()\n((2, 2), [[1, 3], [2, "
     "4]])\n"},
    {Py_tp_dealloc, (void *)py_array_dealloc},
    {Py_tp_richcompare, (void *)py_array_compare},
    {Py_tp_hash, (void *)PyObject_HashNotImplemented},
    {Py_tp_getset, py_array_getset},
    {Py_tp_methods, py_array_methods},
    {Py_tp_members, members},
    {0, NULL}};
/* The slots of this file, and those of the files that fill more of the type. */
static const PyType_Slot *const parts[] = {own_slots,       py_number_slots, py_index_slots,
                                           py_scalar_slots, py_buffer_slots, py_format_slots};

/* NumPy's operators and functions leave Arrays to us because of these attributes, which they read
 * from the class; for their sake the class is not immutable. */
static int set_class_attributes(PyObject *type)
{
    PyObject *priority = PyFloat_FromDouble(1000);
    int result = priority ? PyObject_SetAttrString(type, "__array_priority__", priority) : -1;
    Py_XDECREF(priority);
    return result < 0 ? -1 : PyObject_SetAttrString(type, "__array_ufunc__", Py_None);
}

int py_init_array(PyObject *module, py_state *st)
{
    PyType_Slot slots[96];
    int n = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (const PyType_Slot *s = parts[i]; s->slot; s++)
            slots[n++] = *s;
    slots[n] = (PyType_Slot){0, NULL};
    PyType_Spec spec = {.name = "ndock.Array",
                        .basicsize = sizeof(py_array),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    st->array = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!st->array || set_class_attributes((PyObject *)st->array) < 0)
        return -1;
    py_array_type_made(st->array);
    return PyModule_AddObjectRef(module, "Array", (PyObject *)st->array);
}
