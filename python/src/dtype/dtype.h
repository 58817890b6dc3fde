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

int py_init_dtype(PyObject *module, py_state *st);

#endif
