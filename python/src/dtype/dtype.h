/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Dtypes: the objects ndock.float32 and the like, and what else means a dtype. */
#ifndef NDOCK_PY_DTYPE_H
#define NDOCK_PY_DTYPE_H
#include "python/src/base/base.h"

/* ---- what means a dtype (dtype.c, and name.c for texts) ---- */
/* Finds the dtype that o means: a DType, a text, bool, int, float, complex, or an object with a
 * name, such as NumPy's dtypes. None gives 0, "by rule". */
int py_dtype(py_state *st, PyObject *o, nd_dtype *out);
/* Finds the dtype of a text, which is the array API's name or NumPy's code; another text is a
 * TypeError that says what to write. */
int py_dtype_named(const char *text, nd_dtype *out);
/* Finds the dtype of a text as py_dtype_named does, but gives 0 (no exception) for another text. */
nd_dtype py_dtype_known(const char *text);
/* Gives the DType, a new reference. */
PyObject *py_from_dtype(py_state *st, nd_dtype dtype);
/* Makes a list of the DTypes whose bits are set in the mask, as nd_device_info has them. */
PyObject *py_from_dtypes(py_state *st, uint64_t mask);
/* Finds the dtype that o.dtype.name names, as with ml_dtypes, of those that NumPy knows no format for
 * (bfloat16 and the 8-bit ones); 0: it is none of them. Leaves no exception. */
nd_dtype py_opaque_dtype(PyObject *o);

/* ---- elements in memory, as others describe them (layout.c) ---- */
/* Finds the dtype of a kind ('b' bool, 'i', 'u', 'f', 'c') and a size; 0: there is none. Those of
 * kind 'V', such as bfloat16, are never found. */
nd_dtype py_dtype_of_kind(char kind, Py_ssize_t itemsize);
/* Finds the dtype of a format of the buffer protocol (PEP 3118; NULL means bytes) and the size of
 * an item; 0: there is none. *swapped says whether the item's bytes are in the order that is not
 * this machine's. */
nd_dtype py_dtype_of_format(const char *format, Py_ssize_t itemsize, bool *swapped);
/* Gives the format of a dtype; NULL for bfloat16 and others for which formats have no letter. */
const char *py_format_of_dtype(nd_dtype dtype);
/* Whether a byte order, one of "<>=|@!^", is not this machine's. */
bool py_is_swapped(char order);
/* Counts the bytes of an array of that shape, which has no negative extent; -1: beyond 64 bits. */
int64_t py_nbytes(nd_dtype dtype, int ndim, const int64_t *shape);

/* ---- parts of the module ---- */
int py_init_dtype(PyObject *module, py_state *st);

#endif
