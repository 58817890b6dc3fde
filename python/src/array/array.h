/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The type Array: its slots and methods, by the file that has them. */
#ifndef NDOCK_PY_ARRAY_H
#define NDOCK_PY_ARRAY_H
#include "python/src/exchange/exchange.h"
#include "python/src/indexing/indexing.h"
#include "python/src/ops/ops.h"
#include "python/src/streams/streams.h"

/* Each list of slots ends with {0, NULL}. The functions are methods of Array, or a slot. */
extern const PyType_Slot py_number_slots[]; /* operators.c */
PyObject *py_array_compare(PyObject *l, PyObject *r, int how);
extern const PyType_Slot py_scalar_slots[]; /* scalar.c */
PyObject *py_array_complex(PyObject *self, PyObject *unused);
PyObject *py_array_tolist(PyObject *self, PyObject *unused);
PyObject *py_array_item_method(PyObject *self, PyObject *const *args, Py_ssize_t n);
extern const PyType_Slot py_format_slots[]; /* format.c */
PyObject *py_array_format(PyObject *self, PyObject *spec);
extern PyMethodDef py_array_methods[]; /* methods.c */
extern PyGetSetDef py_array_getset[];  /* attributes.c */

/* ---- parts of the module ---- */
int py_init_array(PyObject *module, py_state *st);
int py_init_format(PyObject *module, py_state *st);
extern PyMethodDef py_format_methods[];

#endif
