/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels and operations of programs: modules, launches, elementwise kernels and reductions by
 * formula, operations with forms in Python; and what is kept of compiled code. */
#ifndef NDOCK_PY_KERNELS_H
#define NDOCK_PY_KERNELS_H
#include <ndock/cache.h>
#include <ndock/custom.h>
#include "python/src/streams/streams.h"

/* ---- modules and functions, as capsules (code.c) ---- */
/* Lends the function of a capsule of _module_function; NULL with an exception. */
nd_function *py_function_get(PyObject *capsule);

/* ---- operands of kernels by formula (operands.c) ---- */
enum { PY_KERNEL_OPERANDS = 32, PY_KERNEL_NDIM = 8 };
typedef struct {
    nd_array *a;     /* NULL: a value, of nbytes bytes at value */
    nd_array *owned; /* what a is where it was made here */
    const char *value;
    Py_ssize_t nbytes;
    bool raw, out;
    int64_t stride[ND_MAX_NDIM];
} py_operand_of;
/* All operands of a call, and the extents that they are walked in, from the outermost inwards. */
typedef struct {
    py_state *st;
    nd_device *device;
    py_operand_of operand[PY_KERNEL_OPERANDS];
    int n, n_in;
    bool ordered; /* axes keep their order: the formula asks for positions */
    int ndim;     /* those of the call; after py_kernel_merge those of the walk */
    int64_t shape[ND_MAX_NDIM], size;
} py_kernel_call;
/* Reads the inputs, a tuple of Arrays and bytes; raw has a bit for each operand. */
int py_kernel_inputs(py_kernel_call *c, py_state *st, PyObject *inputs, unsigned long long raw);
/* Broadcasts the arrays that are not raw; size: the extent where there is none, or -1. */
int py_kernel_shape(py_kernel_call *c, int64_t size);
/* Reads outputs of that shape, a tuple of Arrays and None, for which new ones are made. */
int py_kernel_outputs(py_kernel_call *c, PyObject *outs, PyObject *dtypes, int ndim,
                      const int64_t *shape, unsigned long long raw);
/* Copies inputs that share memory with an output without being the same view, and raw ones that
 * are not dense. */
int py_kernel_part(py_kernel_call *c);
/* Strides of the operands from `first` on for that shape, to which they broadcast. */
void py_kernel_strides(py_kernel_call *c, int first);
/* Orders and joins the axes [0, ndim) of the shape for all operands that are no values and not raw,
 * and returns how many are left. */
int py_kernel_merge(py_kernel_call *c, int n_operands, int ndim, int64_t *shape);
/* The outputs: an Array, or a tuple of them. */
PyObject *py_kernel_result(py_kernel_call *c);
/* Lets go what was made; NULL for `return`. */
PyObject *py_kernel_end(py_kernel_call *c);
/* The function, or tuple of functions, of the key: from the table, or by find(key); a new
 * reference. */
PyObject *py_kernel_find(PyObject *find, PyObject *table, unsigned long long key);
/* Appends the operands to a launch's arguments: values, arrays, and of raw arrays their size. */
int py_kernel_arguments(const py_kernel_call *c, nd_launch_arg *args, int n, int64_t *sizes);

/* ---- parts of the module ---- */
extern PyMethodDef py_code_methods[], py_kernel_elementwise_methods[], py_kernel_reduce_methods[];
extern PyMethodDef py_custom_methods[], py_kernel_cache_methods[];

#endif
