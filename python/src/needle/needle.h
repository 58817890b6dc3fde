/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The backend interface of the course's needle: handles, and the arguments of its functions. */
#ifndef NDOCK_PY_NEEDLE_H
#define NDOCK_PY_NEEDLE_H
#include "python/src/args/args.h"

enum { NEEDLE_TILE = 8 }; /* matmul_tiled works on blocks of 8 x 8, as in the course */

/* ---- handles (needle.c) ---- */
/* A handle owns a flat float32 array. Each device has a type of handles of its own, with a record
 * of the second kind. */
typedef struct {
    PyObject_HEAD nd_array *a;
} py_needle_handle;
struct py_needle_type {
    PyTypeObject *type;
    nd_device *device;
    struct py_needle_type *next;
};
/* Lends the array of a handle; NULL (no exception) for other objects. */
nd_array *py_needle_handle_of(PyObject *o);
/* For the module's collector: what this folder keeps in the state. */
int py_needle_traverse(py_state *st, visitproc visit, void *arg);
void py_needle_clear(py_state *st);

/* ---- arguments (arguments.c) ---- */
/* The arguments of one call. */
typedef struct {
    py_state *st;
    nd_array *h[3]; /* handles in order, borrowed */
    nd_scalar v;    /* a value, rounded to float32 */
    int64_t n[3];   /* extents in order */
    int ndim;       /* a view: shape, strides and offset in elements */
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM], offset;
} py_needle_args;
/* Reads positional arguments. The form has a letter for each: h a handle, v a value, n an extent,
 * and V for the three of a view; there is at least one handle. */
int py_needle_parse(const char *name, const char *form, PyObject *const *args, Py_ssize_t given,
                    py_needle_args *out);
/* Reads an int that is not negative. */
int py_needle_extent(const char *name, PyObject *o, int64_t *out);
/* Makes a view of a handle by the shape, strides and offset that were read. */
int py_needle_view(const py_needle_args *p, const nd_array *handle, nd_array **view);
/* Checks the size of an argument; another one is a ValueError that names the argument. */
int py_needle_size(const char *name, const char *argument, const nd_array *a, int64_t want);
/* Counts the elements of the shape that was read; -1 with an exception. */
int64_t py_needle_count(const char *name, const py_needle_args *p);

/* ---- the backend's functions (math.c, copy.c), and one of the extension module ---- */
extern PyMethodDef py_needle_math_methods[], py_needle_copy_methods[];
/* _needle_matmul(a, b) of two Arrays, in full float32 precision. */
PyObject *py_needle_matmul(PyObject *module, PyObject *const *args, Py_ssize_t given);

/* ---- parts of the module ---- */
extern PyMethodDef py_needle_methods[];

#endif
