/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reading and updating elements at positions that arrays name. */
#include "python/src/indexing/indexing.h"

typedef nd_status read_at(const nd_array *a, const nd_array *indices, int axis, nd_array **out);

/* (x, indices, axis) */
static PyObject *read_along(PyObject *module, const char *name, read_at *read,
                            PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *indices, *r = NULL;
    int axis;
    if (py_args(st, name, "aai", args, n, &a, &indices, &axis) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(indices));
    return py_done(st, saved, read(a, indices, axis, &r), &r);
}
static PyObject *take(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return read_along(module, "take", nd_take, args, n);
}
static PyObject *take_along_axis(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return read_along(module, "take_along_axis", nd_take_along_axis, args, n);
}
static PyObject *gather(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return read_along(module, "gather", nd_gather, args, n);
}

static PyObject *take_padded(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return read_along(module, "take", nd_take_padded, args, n);
}
static PyObject *gather_padded(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return read_along(module, "gather", nd_gather_padded, args, n);
}

/* (x, indices, source, axis, mode): scatter, or index_add for a mode of -1 */
static PyObject *scatter_padded(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *indices, *source, *r = NULL;
    int axis, mode;
    if (py_args(st, "scatter", "aaaii", args, n, &a, &indices, &source, &axis, &mode) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, py_work(a, indices));
    return py_done(st, saved,
                   mode < 0 ? nd_index_add_padded(a, indices, source, axis, &r)
                            : nd_scatter_padded(a, indices, source, axis, mode, &r),
                   &r);
}

/* (x, indices, source, axis, mode, copy) */
static PyObject *scatter(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *indices, *source, *r = NULL;
    int axis, mode, copy;
    if (py_args(st, "scatter", "aaaiip", args, n, &a, &indices, &source, &axis, &mode, &copy) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, py_work(a, indices));
    if (!copy)
        return py_done_into(st, saved, nd_scatter_into(indices, source, axis, mode, a), args[0]);
    return py_done(st, saved, nd_scatter(a, indices, source, axis, mode, &r), &r);
}

/* (x, indices, source, axis, copy) */
static PyObject *index_add(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *indices, *source, *r = NULL;
    int axis, copy;
    if (py_args(st, "index_add", "aaaip", args, n, &a, &indices, &source, &axis, &copy) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, py_work(a, source));
    if (!copy)
        return py_done_into(st, saved, nd_index_add_into(indices, source, axis, a), args[0]);
    return py_done(st, saved, nd_index_add(a, indices, source, axis, &r), &r);
}

/* (x, mask of x's leading axes) */
static PyObject *select_rows(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *mask, *r = NULL;
    if (py_args(st, "select", "aa", args, n, &a, &mask) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread(); /* it waits */
    return py_done(st, saved, nd_select(a, mask, &r), &r);
}

/* (x): one array of positions for each axis */
static PyObject *nonzero(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *rows = NULL;
    if (py_args(st, "nonzero", "a", args, n, &a) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread(); /* it waits */
    nd_status status = nd_nonzero(a, &rows);
    PyEval_RestoreThread(saved);
    if (status != ND_OK)
        return py_fail(st, status);
    PyObject *result = py_unstack(st, rows, 1);
    nd_release(rows);
    return result;
}

PyMethodDef py_indexing_methods[] = {PY_METHOD("_take_padded", take_padded),
                                     PY_METHOD("_gather_padded", gather_padded),
                                     PY_METHOD("_scatter_padded", scatter_padded),
                                     PY_METHOD("_take", take),
                                     PY_METHOD("_take_along_axis", take_along_axis),
                                     PY_METHOD("_gather", gather),
                                     PY_METHOD("_scatter", scatter),
                                     PY_METHOD("_index_add", index_add),
                                     PY_METHOD("_select", select_rows),
                                     PY_METHOD("_nonzero", nonzero),
                                     PY_METHODS_END};
