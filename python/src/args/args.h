/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arguments and results: every conversion between an object of Python's and a value of the
 * library's, alone or by a format for a whole list of arguments. Dtypes and devices have theirs in
 * dtype/ and device/. */
#ifndef NDOCK_PY_ARGS_H
#define NDOCK_PY_ARGS_H
#include "python/src/device/device.h"

/* ---- scalars (scalar.c) ---- */
/* Reads a weak scalar: bool, int, float, complex, or a scalar of NumPy's, which counts as the
 * Python scalar that it holds. Returns 1, 0 where o is no scalar, or -1 with an exception: an int
 * beyond 64 bits is an OverflowError. */
int py_scalar(PyObject *o, nd_scalar *out);
/* Whether o is an array of NumPy's. */
bool py_is_numpy_array(PyObject *o);
/* Whether o is a scalar of NumPy's, be it a number or not. */
bool py_is_numpy_scalar(PyObject *o);
/* Gives the Python scalar that a number or truth value of NumPy's holds; returns as py_scalar. */
int py_numpy_scalar(PyObject *o, PyObject **value);
/* Makes a Python scalar. */
PyObject *py_from_scalar(nd_scalar s);
/* The real part of a scalar. */
static inline double py_real_of(nd_scalar s)
{
    return s.kind == ND_F64    ? s.v.f
           : s.kind == ND_C128 ? s.v.c[0]
           : s.kind == ND_I64  ? (double)s.v.i
                               : (double)s.v.u;
}
/* Whether a scalar is not zero. */
static inline bool py_is_true(nd_scalar s)
{
    return s.kind == ND_F64    ? s.v.f != 0
           : s.kind == ND_C128 ? s.v.c[0] != 0 || s.v.c[1] != 0
                               : s.v.u != 0;
}
/* Reads the value of an Array of one element, for which it waits. */
int py_array_item(PyObject *self, nd_scalar *out);
/* Reads a Python scalar, or an Array without axes, for which it waits. */
int py_value(py_state *st, const char *function, PyObject *o, nd_scalar *out);

/* ---- integers (ints.c) ---- */
/* Reads an int, or what has __index__: other objects are a TypeError, more than 64 bits an
 * OverflowError, both in Python's words. */
int py_int64(PyObject *o, int64_t *out);
/* Reads a shape or another list of integers: an int, or a sequence of at most ND_MAX_NDIM ints. */
int py_ints(PyObject *o, const char *what, int64_t *out, int *n);
/* Reads axes as py_ints does; None leaves *n at -1. */
int py_axes(PyObject *o, int32_t *out, int *n);
/* Makes a tuple of ints. */
PyObject *py_tuple(const int64_t *v, int n);

/* Reads an argument copy=; None, and an argument that was left out (NULL), is PY_COPY_IF_NEEDED. -1
 * with an exception. */
enum { PY_COPY_NEVER = 0, PY_COPY_ALWAYS = 1, PY_COPY_IF_NEEDED = 2 };
static inline int py_copy(PyObject *o)
{
    return !o || o == Py_None ? PY_COPY_IF_NEEDED : PyObject_IsTrue(o);
}

/* ---- whole argument lists (args.c) ---- */
/* Reads exactly as many arguments as the format has letters; the function's name is for messages.
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
/* Holds the sequence's arrays; where that fails, there is nothing to end. */
int py_list_begin(py_state *st, const char *function, PyObject *o, py_list *list);
/* Lets them go. */
void py_list_end(py_list *list);

/* ---- results (args.c) ---- */
/* Takes the GIL back, then does what py_result does. */
PyObject *py_done(py_state *st, PyThreadState *saved, nd_status status, nd_array **r);
/* Takes the GIL back after a call that has written into the Array out, which is returned. */
PyObject *py_done_into(py_state *st, PyThreadState *saved, nd_status status, PyObject *out);
/* Makes a tuple of Arrays of the n arrays of r, which are taken over even where that fails. */
PyObject *py_array_tuple(py_state *st, nd_array **r, int n);

#endif
