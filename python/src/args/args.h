/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arguments and results: every conversion between an object of Python's and a value of the
 * library's, alone or by a format for a whole list of arguments. Dtypes and devices have theirs in
 * dtype/ and device/. */
#ifndef NDOCK_PY_ARGS_H
#define NDOCK_PY_ARGS_H
#include "python/src/device/device.h"

/* ---- scalars (scalar.c) ---- */
/* True (and *out) for a weak scalar: bool, int, float, complex, or a scalar of NumPy's, which
 * counts as the Python scalar that it holds. -1: an exception; 0: not a scalar. An int beyond 64
 * bits is an OverflowError. */
int py_scalar(PyObject *o, nd_scalar *out);
bool py_is_numpy_array(PyObject *o);
bool py_is_numpy_scalar(PyObject *o); /* a number or not */
/* True, and its value as a Python scalar, for NumPy's numbers and truth values; as py_scalar. */
int py_numpy_scalar(PyObject *o, PyObject **value);
PyObject *py_from_scalar(nd_scalar s);
/* The real part of a scalar as a double; whether a scalar is not zero. */
double py_real_of(nd_scalar s);
bool py_is_true(nd_scalar s);
/* The value of an array of one element, for which it waits. */
int py_array_item(PyObject *self, nd_scalar *out);
/* The value of a Python scalar, or of an array without axes, for which it waits. */
int py_value(py_state *st, const char *function, PyObject *o, nd_scalar *out);

/* ---- integers (ints.c) ---- */
/* An int, or what has __index__: TypeError for other objects, OverflowError beyond 64 bits, in
 * Python's words. */
int py_int64(PyObject *o, int64_t *out);
/* A shape or other list of integers: an int, or a sequence of ints; at most ND_MAX_NDIM. */
int py_ints(PyObject *o, const char *what, int64_t *out, int *n);
/* Axes: None leaves *n at -1. */
int py_axes(PyObject *o, int32_t *out, int *n);
PyObject *py_tuple(const int64_t *v, int n);
/* copy=: None, or an argument that was left out (NULL), allows one. -1 with an exception. */
enum { PY_COPY_NEVER = 0, PY_COPY_ALWAYS = 1, PY_COPY_IF_NEEDED = 2 };
static inline int py_copy(PyObject *o)
{
    return !o || o == Py_None ? PY_COPY_IF_NEEDED : PyObject_IsTrue(o);
}

/* ---- whole argument lists (args.c) ---- */
/* Converts exactly as many arguments as format has letters; function is for messages.
 *   a  nd_array **       an Array, borrowed
 *   A  nd_array **       the same, or None (NULL)
 *   i  int *             an int of 32 bits: an axis
 *   l  int64_t *         an int
 *   d  double *          a real number
 *   p  int *             a truth value
 *   s  nd_scalar *       a Python scalar, or an array without axes (waits)
 *   t  nd_dtype *        py_dtype
 *   v  nd_device **      py_device
 *   z  int64_t *, int *  py_ints
 *   x  int32_t *, int *  py_axes */
int py_args(py_state *st, const char *function, const char *format, PyObject *const *args,
            Py_ssize_t n, ...);

/* Arrays of a Python sequence, held until py_list_end. */
typedef struct {
    PyObject *items; /* a tuple */
    nd_array **a;    /* n of them, borrowed from items */
    int n;
} py_list;
/* -1 with an exception, and nothing to end. */
int py_list_begin(py_state *st, const char *function, PyObject *o, py_list *list);
void py_list_end(py_list *list);

/* ---- results (args.c) ---- */
/* Takes the GIL back, then as py_result. */
PyObject *py_done(py_state *st, PyThreadState *saved, nd_status status, nd_array **r);
/* The same for a call that writes into dst, the argument out. */
PyObject *py_done_into(py_state *st, PyThreadState *saved, nd_status status, PyObject *out);
/* A tuple of n new Arrays around r, which are taken over also on failure. */
PyObject *py_array_tuple(py_state *st, nd_array **r, int n);

#endif
