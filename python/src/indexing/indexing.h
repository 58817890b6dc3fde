/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What key.c reads of a key and the others carry out. */
#ifndef NDOCK_PY_INDEXING_H
#define NDOCK_PY_INDEXING_H
#include "python/src/ops/ops.h"

/* An index may name every axis, insert new ones, and hold an ellipsis. */
enum { PY_KEY_MAX = 2 * ND_MAX_NDIM + 1 };
typedef enum {
    PY_INT,
    PY_RANGE,
    PY_NEWAXIS,
    PY_ELLIPSIS,
    PY_INDICES, /* an array of integers */
    PY_MASK,    /* an array of bools; takes as many axes as it has */
    PY_TRUTH    /* True or False: takes no axis, makes one of extent 1 or 0 */
} py_entry_kind;
typedef struct {
    py_entry_kind kind;
    nd_index index;  /* of INT to ELLIPSIS; of TRUTH: start is 1 or 0 */
    nd_array *array; /* owned; of INDICES and MASK */
} py_entry;
typedef struct {
    py_state *st;
    nd_array *a; /* the array indexed; borrowed */
    int n, rest; /* entries; axes that the ellipsis stands for */
    bool advanced;
    py_entry entry[PY_KEY_MAX];
} py_key;

int py_entry_axes(const py_entry *e);
void py_key_clear(py_key *k);
/* The value as an array on dst's device; NULL with an exception. */
nd_array *py_value_for(py_state *st, PyObject *value, const nd_array *dst);
/* Keys that hold arrays or truth values. */
nd_array *py_get_advanced(py_key *k);
int py_set_advanced(py_key *k, PyObject *value);

typedef struct {
    py_key *k;
    nd_array *view;           /* the basic part: axes of index arrays whole */
    int n, axis[ND_MAX_NDIM]; /* index arrays, and their axes of the view */
    nd_array *idx[ND_MAX_NDIM];
    int truths;   /* True and False in the key */
    bool none;    /* one of them is False */
    int position; /* in the result, of the axes that the indices make */
    int ndim;     /* of these */
    int64_t shape[ND_MAX_NDIM];
    int rest; /* axes of the view without index arrays, their extents and strides */
    int64_t extent[ND_MAX_NDIM], stride[ND_MAX_NDIM];
} py_plan;

/* ---- plan.c ---- */
/* Checks the masks' extents; replaces masks by index arrays (waits). */
int py_check_masks(const py_key *k);
int py_expand_masks(py_key *k);
/* Entry of the key's one mask, where there are no index arrays and truth values; else -1. */
int py_lone_mask(const py_key *k);
/* The basic part of a key with one mask, whose axes are whole and begin at *axis. */
nd_array *py_view_under_mask(const py_key *k, int at, int *axis);
int py_index_position(const py_key *k);
/* Of a key without masks; py_plan_end ends it. */
int py_plan_make(py_key *k, py_plan *p);
void py_plan_end(py_plan *p);
int py_plan_check(const py_plan *p, nd_status status);
/* The result's shape: the indices' axes among the rest, or one axis of that extent for them. */
int py_plan_shape(const py_plan *p, int64_t merged, int64_t *shape);
int64_t py_product(int n, const int64_t *shape);
/* The view with the axes of truth values: extents of one, or of none. */
nd_array *py_truth_view(const py_plan *p);
/* The view with its one indexed axis moved to the place of the result's. */
nd_array *py_axis_in_place(const py_plan *p);

/* ---- line.c ---- */
/* Elements of the view along an axis through the storage: steps of `step` elements from `offset`;
 * index i of array k moves by scale[k] of them. */
typedef struct {
    int64_t step, offset, length, scale[ND_MAX_NDIM], rest_scale[ND_MAX_NDIM];
} py_line;
/* with_rest: the line goes through all elements of the view, not just along the indexed axes. */
py_line py_line_through(const py_plan *p, bool with_rest);
/* What keeps the steps of an axis with negative scale from being negative. */
int64_t py_line_bias(int64_t extent, int64_t scale);
/* All index arrays together, of the indices' common shape. */
nd_array *py_along_line(const py_plan *p, const py_line *l);
/* *next, once its call has been made, takes the place of *a. */
nd_status py_replace(nd_array **a, nd_status status, nd_array **next);

/* ---- parts of the type Array and of the module ---- */
extern const PyType_Slot py_index_slots[];
extern PyMethodDef py_indexing_methods[];

#endif
