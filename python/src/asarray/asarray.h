/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays of objects: numbers, nested sequences, and memory of other libraries. */
#ifndef NDOCK_PY_ASARRAY_H
#define NDOCK_PY_ASARRAY_H
#include "python/src/args/args.h"

/* An array of anything that asarray() takes: Arrays, scalars, nested sequences, host memory of
 * others, and what exports DLPack or __array__. dtype 0: the object's own. device NULL: the
 * Array's own, for all else the current one. NULL with an exception. */
nd_array *py_asarray(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device, int copy);
/* The same of what is no sequence: one is a TypeError, so that an object whose answer to that
 * changes leads nowhere else. */
nd_array *py_asarray_leaf(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device);
/* Not ours, but the object exports a buffer, __array_interface__, DLPack or __array__. */
bool py_is_foreign_array(PyObject *o);

/* nested.c: the same for scalars and sequences. */
nd_array *py_from_nested(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device);
bool py_is_sequence(PyObject *o);
/* elements.c: of a sequence, or a scalar, all of whose leaves are scalars, of that shape. */
nd_array *py_from_scalars(py_state *st, PyObject *o, int ndim, const int64_t *shape, nd_dtype dtype,
                          nd_device *device);

/* ---- host memory of other libraries ---- */
/* How the elements of an object lie in host memory. owner keeps them there. */
typedef struct {
    PyObject *owner;
    char *data;
    nd_dtype dtype;
    int ndim;
    bool readonly, swapped, private_copy;
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM]; /* stride in bytes */
} py_host_memory;
/* What an object hands out: 1 and *m, whose owner is a new reference; 0: nothing of the kind; -1 with
 * an exception, and m->owner may be set. buffer.c: the buffer protocol (PEP 3118). */
int py_read_buffer(PyObject *o, py_host_memory *m);
/* interface.c: __array_interface__ (version 3 of NumPy's array interface protocol). */
int py_read_interface(PyObject *o, py_host_memory *m);
/* How far the elements' bytes reach before and behind the address of the first; false where that is
 * beyond 64 bits. */
typedef struct {
    int64_t least, most;
} py_reach;
bool py_reach_of(const py_host_memory *m, py_reach *out);
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
