/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Partitions, sorting by several keys, and sets of two arrays. */
#include "python/src/ops/ops.h"

/* (x, kth, axis) */
static PyObject *partition(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t kth;
    int axis;
    if (py_args(st, "partition", "ali", args, n, &a, &kth, &axis) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_partition(a, kth, axis, &r), &r);
}

/* (x, kth, axis) */
static PyObject *argpartition(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t kth;
    int axis;
    if (py_args(st, "argpartition", "ali", args, n, &a, &kth, &axis) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_argpartition(a, kth, axis, &r), &r);
}

/* (x, b) */
static PyObject *union1d(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *b, *r = NULL;
    if (py_args(st, "union1d", "aa", args, n, &a, &b) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, nd_union1d(a, b, &r), &r);
}

/* (x, b) */
static PyObject *setdiff1d(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *b, *r = NULL;
    if (py_args(st, "setdiff1d", "aa", args, n, &a, &b) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, nd_setdiff1d(a, b, &r), &r);
}

/* (x, b) */
static PyObject *setxor1d(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *b, *r = NULL;
    if (py_args(st, "setxor1d", "aa", args, n, &a, &b) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, nd_setxor1d(a, b, &r), &r);
}

/* (keys, axis) */
static PyObject *lexsort(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_list list;
    nd_array *r = NULL;
    int axis;
    if (py_args(st, "lexsort", "i", args + 1, n - 1, &axis) < 0 ||
        py_list_begin(st, "lexsort", args[0], &list) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_lexsort(list.n, (const nd_array *const *)list.a, axis, &r);
    PyEval_RestoreThread(saved);
    py_list_end(&list);
    return py_result(st, status, &r);
}

/* (x, y, wants positions): values and the positions of each in x and in y */
static PyObject *intersect1d(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *b, *r[3] = {NULL, NULL, NULL};
    int wants_indices;
    if (py_args(st, "intersect1d", "aap", args, n, &a, &b, &wants_indices) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = wants_indices ? nd_intersect1d(a, b, &r[0], &r[1], &r[2])
                                     : nd_intersect1d(a, b, &r[0], NULL, NULL);
    PyEval_RestoreThread(saved);
    return status == ND_OK ? py_array_tuple(st, r, wants_indices ? 3 : 1) : py_fail(st, status);
}

/* (x, axis): values, indices, inverse and counts */
static PyObject *unique_axis(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r[4] = {NULL, NULL, NULL, NULL};
    int axis;
    if (py_args(st, "unique", "ai", args, n, &a, &axis) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_unique_axis(a, axis, &r[0], &r[1], &r[2], &r[3]);
    PyEval_RestoreThread(saved);
    return status == ND_OK ? py_array_tuple(st, r, 4) : py_fail(st, status);
}

PyMethodDef py_sets_methods[] = {PY_METHOD("_partition", partition),
                                 PY_METHOD("_argpartition", argpartition),
                                 PY_METHOD("_union1d", union1d),
                                 PY_METHOD("_setdiff1d", setdiff1d),
                                 PY_METHOD("_setxor1d", setxor1d),
                                 PY_METHOD("_lexsort", lexsort),
                                 PY_METHOD("_intersect1d", intersect1d),
                                 PY_METHOD("_unique_axis", unique_axis),
                                 PY_METHODS_END};
