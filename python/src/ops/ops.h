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

/* signature.c */
PyObject *py_call_signature(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *py_expr_call(PyObject *module, PyObject *const *args, Py_ssize_t n);
/* expr.c: the results of an expression, a capsule, of a list of Arrays: a tuple of n_out Arrays. */
PyObject *py_expr_run(py_state *st, PyObject *capsule, PyObject *list, long n_out, int epilogues);
/* Where one of the objects stands in for an Array (expr.c): its method(name, objects, last), in the
 * place of the exception that is set; else NULL, with that exception. */
PyObject *py_traced(py_state *st, PyObject *const *objects, Py_ssize_t n, const char *method,
                    const char *name, PyObject *last);

/* ---- parts of the module ---- */
extern PyMethodDef py_elementwise_methods[], py_create_methods[], py_filled_methods[];
extern PyMethodDef py_reduce_methods[], py_manip_methods[], py_view_methods[], py_sorting_methods[];
extern PyMethodDef py_decompose_methods[], py_products_methods[];
extern PyMethodDef py_quant_methods[];
extern PyMethodDef py_linalg_methods[], py_random_methods[], py_distribution_methods[],
    py_promote_methods[];
extern PyMethodDef py_math_methods[], py_statistics_methods[], py_histogram_methods[];
extern PyMethodDef py_stack_methods[], py_fft_methods[], py_calculus_methods[], py_edit_methods[],
    py_sets_methods[];
extern PyMethodDef py_signal_methods[], py_comm_methods[], py_expr_methods[], py_conv_methods[];
extern PyMethodDef py_neural_methods[], py_losses_methods[];

/* ---- random numbers (random.c) ---- */
typedef struct {
    nd_random_key key;
    int64_t shape[ND_MAX_NDIM];
    int ndim;
    nd_dtype dtype;
    nd_device *device;
} py_random_request;

/* Reads the first five arguments of each function: (seed, counter, shape, dtype, device). */
int py_random_parse(py_state *st, const char *name, PyObject *const *args, Py_ssize_t n,
                    py_random_request *q);
/* Reads a key of a seed and a counter. */
int py_random_key(PyObject *seed, PyObject *counter, nd_random_key *key);
/* Finds a distribution by name; ND_DRAW_NONE: there is none. */
nd_distribution py_random_named(PyObject *name);

#endif
