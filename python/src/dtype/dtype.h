/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Dtypes: the objects ndock.float32 and the like, and what else means a dtype. */
#ifndef NDOCK_PY_DTYPE_H
#define NDOCK_PY_DTYPE_H
#include "python/src/base/base.h"

/* The dtype that o means; None gives 0 (by rule). Accepts ndock's dtypes, texts, bool int float
 * complex, and objects with a name, such as NumPy's dtypes. */
int py_dtype(py_state *st, PyObject *o, nd_dtype *out);
/* name.c: the dtype of a text alone, the array API's name or NumPy's code; TypeError for another.
 * py_dtype_known gives 0 (no exception) there. */
int py_dtype_named(const char *text, nd_dtype *out);
nd_dtype py_dtype_known(const char *text);
PyObject *py_from_dtype(py_state *st, nd_dtype dtype); /* new reference */
/* A list of the DTypes whose bits are set in the mask, as nd_device_info has them. */
PyObject *py_from_dtypes(py_state *st, uint64_t mask);
/* Whether o.dtype.name is "bfloat16", as ml_dtypes has it beside NumPy. Leaves no exception. */
bool py_has_bfloat16(PyObject *o);

/* ---- elements in memory, as others describe them (layout.c) ---- */
/* The dtype of that kind ('b' bool, 'i', 'u', 'f', 'c') and size; 0: none, as for bfloat16. */
nd_dtype py_dtype_of_kind(char kind, Py_ssize_t itemsize);
/* The dtype of a format of the buffer protocol (PEP 3118; NULL means bytes) and the size of an item;
 * 0: none. *swapped: its bytes are in the other order than this machine's. */
nd_dtype py_dtype_of_format(const char *format, Py_ssize_t itemsize, bool *swapped);
/* The reverse; NULL: formats have no letter for the dtype. */
const char *py_format_of_dtype(nd_dtype dtype);
/* Whether a byte order, one of "<>=|@!^", is not this machine's. */
bool py_is_swapped(char order);
/* Bytes of an array of that shape, which has no negative extent; -1: beyond 64 bits. */
int64_t py_nbytes(nd_dtype dtype, int ndim, const int64_t *shape);

int py_init_dtype(PyObject *module, py_state *st);

#endif
