/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays of objects: numbers, nested sequences, and memory of other libraries. */
#ifndef NDOCK_PY_ASARRAY_H
#define NDOCK_PY_ASARRAY_H
#include "python/src/args/args.h"

/* ---- any object (asarray.c) ---- */
/* Makes an array of anything that asarray() takes: Arrays, scalars, nested sequences, host memory
 * of others, and what exports DLPack or __array__. dtype 0 means the object's own; device NULL
 * means an Array's own, and for all else the current one; copy is one of PY_COPY_. NULL with an
 * exception. */
nd_array *py_asarray(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device, int copy);
/* Makes an array of what is no sequence. A sequence is a TypeError, so that an object that is one
 * at one time and none at another leads nowhere else. */
nd_array *py_asarray_leaf(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device);
/* Whether o is no Array, but exports a buffer, __array_interface__, DLPack or __array__. */
bool py_is_foreign_array(PyObject *o);

/* ---- scalars and nested sequences (nested.c, elements.c) ---- */
/* Makes an array of a scalar or a sequence; dtype and device mean what they do for py_asarray. */
nd_array *py_from_nested(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device);
/* Whether o is a sequence whose entries become elements, and not an array or text. */
bool py_is_sequence(PyObject *o);
/* Makes an array of that shape of a sequence, or a scalar, all of whose leaves are scalars. */
nd_array *py_from_scalars(py_state *st, PyObject *o, int ndim, const int64_t *shape, nd_dtype dtype,
                          nd_device *device);

/* ---- host memory of other libraries (host.c, buffer.c, interface.c) ---- */
/* How the elements of an object lie in host memory, which the owner keeps there. */
typedef struct {
    PyObject *owner;
    char *data;
    nd_dtype dtype;
    int ndim;
    bool readonly, swapped, private_copy;
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM]; /* stride in bytes */
} py_host_memory;
/* Makes an array of an object's host memory, a view where possible (*copied: it is none). Returns
 * 1, 0 where o has no such memory to offer, or -1 with an exception. */
int py_import_host(py_state *st, PyObject *o, nd_device *device, bool want_copy, nd_array **out,
                   bool *copied);
/* Reads what o hands out by the buffer protocol (PEP 3118); returns as py_import_host. m->owner,
 * which may be set even where this fails, is a new reference. */
int py_read_buffer(PyObject *o, py_host_memory *m);
/* Reads what o hands out by __array_interface__ (version 3 of NumPy's array interface protocol) in
 * the same way. */
int py_read_interface(PyObject *o, py_host_memory *m);
/* How far the elements' bytes reach before and behind the address of the first. */
typedef struct {
    int64_t least, most;
} py_reach;
/* Finds that; false where it is beyond 64 bits. */
bool py_reach_of(const py_host_memory *m, py_reach *out);

/* ---- lists and NumPy's arrays beside an Array (operand.c) ---- */
/* Whether o is a list, a tuple or an array of NumPy's. */
bool py_is_operand(PyObject *o);
/* Makes an array of such an object, on the device of the array beside it, which must be the host's.
 * Returns 1, 0 where o is none, or -1 with an exception; the function's name is for messages. */
int py_operand(py_state *st, const char *name, PyObject *o, const nd_array *beside, nd_array **out);

/* ---- parts of the module ---- */
extern PyMethodDef py_asarray_methods[], py_operand_methods[];

#endif
