/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What index.c reads of a key and index_arrays.c carries out. */
#ifndef NDOCK_PY_INDEX_H
#define NDOCK_PY_INDEX_H
#include "py.h"

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

#endif
