/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of needle's backend interface share: handles and the parsing of its arguments. */
#ifndef NDOCK_PY_NEEDLE_H
#define NDOCK_PY_NEEDLE_H
#include "python/src/args/args.h"

enum { NEEDLE_TILE = 8 }; /* matmul_tiled works on blocks of 8 x 8, as in the course */

/* A handle: a flat float32 array, owned. One type for each device, with a record of this kind. */
typedef struct {
    PyObject_HEAD nd_array *a;
} py_needle_handle;
struct py_needle_type {
    PyTypeObject *type;
    nd_device *device;
    struct py_needle_type *next;
};

/* Arguments of one call. */
typedef struct {
    py_state *st;
    nd_array *h[3]; /* handles in order, borrowed */
    nd_scalar v;    /* a value, rounded to float32 */
    int64_t n[3];   /* extents in order */
    int ndim;       /* a view: shape, strides and offset in elements */
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM], offset;
} py_needle_args;

/* Reads positional arguments. A letter of form each: h a handle, v a value, n an extent, and V for
 * the three of a view. The form has at least one handle. 0, or -1 with an exception set. */
int py_needle_parse(const char *name, const char *form, PyObject *const *args, Py_ssize_t given,
                    py_needle_args *out);
/* A new view of a handle by the parsed layout. */
int py_needle_view(const py_needle_args *p, const nd_array *handle, nd_array **view);
/* ValueError unless the size is what is wanted; says which argument. */
int py_needle_size(const char *name, const char *argument, const nd_array *a, int64_t want);
/* Elements of the parsed shape; -1 with an exception set. */
int64_t py_needle_count(const char *name, const py_needle_args *p);
/* The handle's array, borrowed; NULL (no exception) for other objects. */
nd_array *py_needle_handle_of(PyObject *o);
/* An int that is not negative. */
int py_needle_extent(const char *name, PyObject *o, int64_t *out);

/* _needle_matmul(a, b) of two ndock.Arrays, in full float32 precision. */
PyObject *py_needle_matmul(PyObject *module, PyObject *const *args, Py_ssize_t given);

/* math.c: arithmetic, products and reductions on handles; copy.c: the rest. */
extern PyMethodDef py_needle_math_methods[], py_needle_copy_methods[];

/* For the module's collector: this folder's part of the state. */
int py_needle_traverse(py_state *st, visitproc visit, void *arg);
void py_needle_clear(py_state *st);
extern PyMethodDef py_needle_methods[];

#endif
