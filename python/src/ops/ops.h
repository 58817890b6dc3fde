/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Functions that make and compute arrays. */
#ifndef NDOCK_PY_OPS_H
#define NDOCK_PY_OPS_H
#include "python/src/asarray/asarray.h"

/* Applies an elementwise op of op.def to n operands, arrays and scalars; the result goes into `out`
 * where that is given (elementwise.c). */
PyObject *py_apply(py_state *st, nd_op op, PyObject *const *args, int n, PyObject *out);
/* Makes a tuple of the views along an axis (manip.c). */
PyObject *py_unstack(py_state *st, const nd_array *a, int axis);

/* ---- parts of the module ---- */
extern PyMethodDef py_elementwise_methods[], py_create_methods[], py_filled_methods[];
extern PyMethodDef py_reduce_methods[], py_manip_methods[], py_view_methods[], py_sorting_methods[];
extern PyMethodDef py_decompose_methods[], py_products_methods[];
extern PyMethodDef py_linalg_methods[], py_random_methods[], py_promote_methods[];
extern PyMethodDef py_math_methods[], py_statistics_methods[], py_histogram_methods[];
extern PyMethodDef py_stack_methods[];

#endif
