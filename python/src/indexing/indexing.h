/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * x[key] and x[key] = value: the key as key.c reads it, and the plan that carries it out. */
#ifndef NDOCK_PY_INDEXING_H
#define NDOCK_PY_INDEXING_H
#include "python/src/ops/ops.h"

/* ---- the key (key.c) ---- */
/* A key may name every axis, insert as many new ones, and hold an ellipsis. */
enum { PY_KEY_MAX = 2 * ND_MAX_NDIM + 1 };
typedef enum {
    PY_INT,
    PY_RANGE,
    PY_NEWAXIS,
    PY_ELLIPSIS,
    PY_INDICES, /* an array of integers */
    PY_MASK,    /* an array of bools, which stands for as many axes as it has */
    PY_TRUTH    /* True or False, which stands for no axis, and makes one of extent 1 or 0 */
} py_entry_kind;
typedef struct {
    py_entry_kind kind;
    nd_index index;  /* of PY_INT to PY_ELLIPSIS; of PY_TRUTH the start, which is 1 or 0 */
    nd_array *array; /* of PY_INDICES and PY_MASK, owned */
} py_entry;
typedef struct {
    py_state *st;
    nd_array *a; /* the array indexed; borrowed */
    int n, rest; /* how many entries there are, and axes that the ellipsis stands for */
    bool advanced;
    py_entry entry[PY_KEY_MAX];
} py_key;
/* How many axes of the array an entry stands for, which an ellipsis does not know. */
int py_entry_axes(const py_entry *e);
/* Lets the entries' arrays go. */
void py_key_clear(py_key *k);
/* Makes an array of the value of an assignment, on dst's device; NULL with an exception. */
nd_array *py_value_for(py_state *st, PyObject *value, const nd_array *dst);

/* ---- keys that hold arrays or truth values (get.c, set.c) ---- */
/* x[key]; NULL with an exception. */
nd_array *py_get_advanced(py_key *k);
/* Chooses rows of the array as it is, by a mask of its first axes that is the whole key. Waits. */
nd_array *py_select_rows(py_state *st, const nd_array *a, const nd_array *mask);
/* x[key] = value. */
int py_set_advanced(py_key *k, PyObject *value);

/* ---- the plan (plan.c) ---- */
typedef struct {
    py_key *k;
    nd_array *view;           /* the basic part, in which the axes of index arrays are whole */
    int n, axis[ND_MAX_NDIM]; /* how many index arrays there are, and their axes of the view */
    nd_array *idx[ND_MAX_NDIM];
    int truths;   /* how many entries are True or False */
    bool none;    /* whether one of those is False */
    int position; /* the first axis of the result that the indices make */
    int ndim;     /* how many axes of the result the indices make, and their extents */
    int64_t shape[ND_MAX_NDIM];
    int rest; /* how many axes of the view have no index array, their extents and strides */
    int64_t extent[ND_MAX_NDIM], stride[ND_MAX_NDIM];
} py_plan;
/* Checks that the masks have the extents of the axes that they stand for. */
int py_check_masks(const py_key *k);
/* Puts index arrays in the places of masks. Waits. */
int py_expand_masks(py_key *k);
/* Finds the entry of the key's one mask; -1 where there are index arrays, truth values or more
 * masks. */
int py_lone_mask(const py_key *k);
/* Makes the basic part of a key with one mask, whose axes are whole and begin at *axis. */
nd_array *py_view_under_mask(const py_key *k, int at, int *axis);
/* Finds the first axis of the result that the indices make, by NumPy's rule. */
int py_index_position(const py_key *k);
/* Plans what a key without masks does; py_plan_end ends the plan. */
int py_plan_make(py_key *k, py_plan *p);
void py_plan_end(py_plan *p);
/* py_check for calls of the plan. */
int py_plan_check(const py_plan *p, nd_status status);
/* Writes the result's shape, with the axes of the indices as they are (merged -1), or as one axis
 * of that extent; returns how many axes it has. */
int py_plan_shape(const py_plan *p, int64_t merged, int64_t *shape);
/* The product of n extents. */
int64_t py_product(int n, const int64_t *shape);
/* Makes a view with an axis for the truth values, of extent one or none. */
nd_array *py_truth_view(const py_plan *p);
/* Makes a view whose one indexed axis is where the result has the indices' axes. */
nd_array *py_axis_in_place(const py_plan *p);

/* ---- several index arrays as one (line.c) ---- */
/* Elements of the view along an axis through the storage, which has steps of `step` elements from
 * `offset`; index i of index array k moves by i * scale[k] steps. */
typedef struct {
    int64_t step, offset, length, scale[ND_MAX_NDIM], rest_scale[ND_MAX_NDIM];
} py_line;
/* Lays the line through all elements of the view (with_rest), or along the indexed axes alone. */
py_line py_line_through(const py_plan *p, bool with_rest);
/* What is added to the steps of an axis, so that none is negative where the scale is. */
int64_t py_line_bias(int64_t extent, int64_t scale);
/* Makes one index array, of the indices' common shape, that counts steps along the line. */
nd_array *py_along_line(const py_plan *p, const py_line *l);
/* Puts *next in the place of *a, which is released; called as py_replace(&a, nd_X(a, &next),
 * &next). Where the status is not ND_OK, *a becomes NULL. */
nd_status py_replace(nd_array **a, nd_status status, nd_array **next);

/* ---- parts of the type Array and of the module ---- */
extern const PyType_Slot py_index_slots[];
extern PyMethodDef py_indexing_methods[];

#endif
