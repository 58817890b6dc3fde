/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How the package's functions hand their arguments to C: positional, converted by one format, and
 * how results come back. */
#ifndef NDOCK_PY_ARGS_H
#define NDOCK_PY_ARGS_H
#include "python/src/base/py.h"

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

/* The value of a Python scalar, or of an array without axes, for which it waits. */
int py_value(py_state *st, const char *function, PyObject *o, nd_scalar *out);

/* Arrays of a Python sequence, held until py_list_end. */
typedef struct {
    PyObject *items; /* a tuple */
    nd_array **a;    /* n of them, borrowed from items */
    int n;
} py_list;
/* -1 with an exception, and nothing to end. */
int py_list_begin(py_state *st, const char *function, PyObject *o, py_list *list);
void py_list_end(py_list *list);

/* Takes the GIL back, then as py_result. */
PyObject *py_done(py_state *st, PyThreadState *saved, nd_status status, nd_array **r);
/* The same for a call that writes into dst, the argument out. */
PyObject *py_done_into(py_state *st, PyThreadState *saved, nd_status status, PyObject *out);
/* A tuple of n new Arrays around r, which are taken over also on failure. */
PyObject *py_array_tuple(py_state *st, nd_array **r, int n);

/* ops/manip.c: the views along axis as a tuple; indexing/take.c uses it too. */
PyObject *py_unstack(py_state *st, const nd_array *a, int axis);

#define PY_METHOD(name, function)                                        \
    {                                                                    \
        name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL \
    }
#define PY_METHODS_END      \
    {                       \
        NULL, NULL, 0, NULL \
    }

#endif
