/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays of objects: numbers, nested sequences, and memory of other libraries. */
#ifndef NDOCK_PY_ASARRAY_H
#define NDOCK_PY_ASARRAY_H
#include "python/src/args/args.h"

/* An array of anything that asarray() takes: Arrays, scalars, nested sequences, host memory of
 * others, and what exports DLPack or __array__. dtype 0: the object's own. device NULL: the
 * Array's own, for all else the current one. NULL with an exception. */
enum { PY_COPY_NEVER = 0, PY_COPY_ALWAYS = 1, PY_COPY_IF_NEEDED = 2 };
nd_array *py_asarray(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device, int copy);
/* The same of what is no sequence: one is a TypeError, so that an object whose answer to that
 * changes leads nowhere else. */
nd_array *py_asarray_leaf(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device);
/* Not ours, but the object exports a buffer, __array_interface__, DLPack or __array__. */
bool py_is_foreign_array(PyObject *o);

/* nested.c: the same for scalars and sequences. */
nd_array *py_from_nested(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device);
bool py_is_sequence(PyObject *o);

/* host.c: 1 and an array of a host object's memory (a view where possible; *copied: not so), 0
 * where o has none to offer, -1 with an exception. */
int py_import_host(py_state *st, PyObject *o, nd_device *device, bool want_copy, nd_array **out,
                   bool *copied);

/* operand.c: 1 and a new array of a list, a tuple or an array of NumPy's, on the device of the
 * array beside it, which must be the host's; 0 where o is none of those, -1 with an exception. The
 * name is that of the function, for messages. */
int py_operand(py_state *st, const char *name, PyObject *o, const nd_array *beside, nd_array **out);
bool py_is_operand(PyObject *o);

extern PyMethodDef py_asarray_methods[], py_operand_methods[];

#endif
