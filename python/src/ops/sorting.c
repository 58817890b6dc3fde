/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sorting, searching in sorted arrays, and sets. */
#include "python/src/ops/ops.h"

typedef nd_status sort_along(const nd_array *a, const nd_sort_opts *opts, nd_array **out);

/* (x, axis, descending) */
static PyObject *order(PyObject *module, const char *name, sort_along *fresh, PyObject *const *args,
                       Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    nd_sort_opts o = {.size = sizeof o};
    if (py_args(st, name, "aip", args, n, &a, &o.axis, &o.descending) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, fresh(a, &o, &r), &r);
}
static PyObject *sort(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return order(module, "sort", nd_sort, args, n);
}
static PyObject *argsort(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return order(module, "argsort", nd_argsort, args, n);
}

/* (x, k, axis, smallest): values and indices */
static PyObject *topk(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r[2] = {NULL, NULL};
    int64_t k;
    int axis, smallest;
    if (py_args(st, "topk", "alip", args, n, &a, &k, &axis, &smallest) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    nd_status status = nd_topk(a, k, axis, smallest, &r[0], &r[1]);
    py_lock(saved);
    return status == ND_OK ? py_array_tuple(st, r, 2) : py_fail(st, status);
}

/* (sorted, values, right, sorter or None) */
static PyObject *searchsorted(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *sorted, *values, *sorter, *r = NULL;
    int right;
    if (py_args(st, "searchsorted", "aapA", args, n, &sorted, &values, &right, &sorter) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(sorted, nd_size(values));
    return py_done(st, saved, nd_searchsorted(sorted, values, right, sorter, &r), &r);
}

/* (x, which): a tuple of values and, by the bits of which, indices 1, inverse 2, counts 4 */
static PyObject *unique(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r[4] = {NULL, NULL, NULL, NULL};
    int which, count = 1;
    if (py_args(st, "unique", "ai", args, n, &a, &which) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread(); /* it waits */
    nd_status status = nd_unique_all(a, &r[0], which & 1 ? &r[1] : NULL, which & 2 ? &r[2] : NULL,
                                     which & 4 ? &r[3] : NULL);
    PyEval_RestoreThread(saved);
    if (status != ND_OK)
        return py_fail(st, status);
    for (int i = 1; i < 4; i++)
        if (r[i])
            r[count++] = r[i];
    return py_array_tuple(st, r, count);
}

/* (x, test, invert) */
static PyObject *isin(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *test, *r = NULL;
    int invert;
    if (py_args(st, "isin", "aap", args, n, &a, &test, &invert) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, py_work(a, test));
    return py_done(st, saved, nd_isin(a, test, invert, &r), &r);
}

PyMethodDef py_sorting_methods[] = {PY_METHOD("_sort", sort),
                                    PY_METHOD("_argsort", argsort),
                                    PY_METHOD("_topk", topk),
                                    PY_METHOD("_searchsorted", searchsorted),
                                    PY_METHOD("_unique", unique),
                                    PY_METHOD("_isin", isin),
                                    PY_METHODS_END};
