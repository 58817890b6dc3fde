/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Histograms and counting, and comparisons of whole arrays. All of them wait but isclose. */
#include "python/src/ops/ops.h"

/* (method, count, low, high, has a range, edges or None), a tuple of Python's */
static int read_bins(py_state *st, const char *name, PyObject *o, nd_bins *bins)
{
    PyObject *item[6];
    nd_array *edges;
    int method, has_range;
    for (int i = 0; i < 6; i++) {
        item[i] = PyTuple_GetItem(o, i);
        if (!item[i])
            return -1;
    }
    *bins = (nd_bins){.size = sizeof *bins};
    if (py_args(st, name, "ilddpA", item, 6, &method, &bins->count, &bins->low, &bins->high,
                &has_range, &edges) < 0)
        return -1;
    bins->method = method;
    bins->has_range = has_range;
    bins->edges = edges;
    return 0;
}

/* (x, bins) */
static PyObject *bin_edges(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    nd_bins bins;
    if (py_args(st, "histogram_bin_edges", "a", args, n - 1, &a) < 0 ||
        read_bins(st, "histogram_bin_edges", args[1], &bins) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, nd_bin_edges(a, &bins, &r), &r);
}

/* (x, weights or None, density, bins): counts and edges */
static PyObject *histogram(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *weights, *r[2] = {NULL, NULL};
    int density;
    nd_bins bins;
    if (py_args(st, "histogram", "aAp", args, n - 1, &a, &weights, &density) < 0 ||
        read_bins(st, "histogram", args[3], &bins) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_histogram(a, &bins, weights, density, &r[0], &r[1]);
    PyEval_RestoreThread(saved);
    return status == ND_OK ? py_array_tuple(st, r, 2) : py_fail(st, status);
}

/* (sample, weights or None, density, a tuple of bins, one a coordinate): counts, then edges */
static PyObject *histogramdd(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *weights, *r[ND_MAX_NDIM + 1] = {NULL};
    int density;
    nd_bins bins[ND_MAX_NDIM];
    if (py_args(st, "histogramdd", "aAp", args, n - 1, &a, &weights, &density) < 0)
        return NULL;
    const Py_ssize_t count = PyTuple_Check(args[3]) ? PyTuple_Size(args[3]) : 0;
    if (nd_ndim(a) != 2 || count != nd_shape(a)[1] || count > ND_MAX_NDIM)
        return PyErr_Format(PyExc_ValueError, "histogramdd(): bins for %zd coordinates", count);
    for (Py_ssize_t i = 0; i < count; i++)
        if (read_bins(st, "histogramdd", PyTuple_GetItem(args[3], i), &bins[i]) < 0)
            return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_histogramdd(a, bins, weights, density, &r[0], r + 1);
    PyEval_RestoreThread(saved);
    return status == ND_OK ? py_array_tuple(st, r, (int)count + 1) : py_fail(st, status);
}

/* (x, weights or None, minlength) */
static PyObject *bincount(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *weights, *r = NULL;
    int64_t minlength;
    if (py_args(st, "bincount", "aAl", args, n, &a, &weights, &minlength) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, nd_bincount(a, weights, minlength, &r), &r);
}

/* (x, bins, right) */
static PyObject *digitize(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *bins, *r = NULL;
    int right;
    if (py_args(st, "digitize", "aap", args, n, &a, &bins, &right) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, nd_digitize(a, bins, right, &r), &r);
}

/* (x, y, rtol, atol, equal_nan) */
static PyObject *isclose(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *b, *r = NULL;
    double rtol, atol;
    int equal_nan;
    if (py_args(st, "isclose", "aaddp", args, n, &a, &b, &rtol, &atol, &equal_nan) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, py_work(a, b));
    return py_done(st, saved, nd_isclose(a, b, rtol, atol, equal_nan, &r), &r);
}

/* (x, y, rtol, atol, equal_nan) */
static PyObject *allclose(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *b;
    double rtol, atol;
    int equal_nan;
    int32_t answer;
    if (py_args(st, "allclose", "aaddp", args, n, &a, &b, &rtol, &atol, &equal_nan) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_allclose(a, b, rtol, atol, equal_nan, &answer);
    PyEval_RestoreThread(saved);
    return py_bool(st, status, answer);
}

/* (x, y, equal_nan, broadcast) */
static PyObject *array_equal(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *b;
    int equal_nan, broadcast;
    int32_t answer;
    if (py_args(st, "array_equal", "aapp", args, n, &a, &b, &equal_nan, &broadcast) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status =
        broadcast ? nd_array_equiv(a, b, &answer) : nd_array_equal(a, b, equal_nan, &answer);
    PyEval_RestoreThread(saved);
    return py_bool(st, status, answer);
}

PyMethodDef py_histogram_methods[] = {PY_METHOD("_bin_edges", bin_edges),
                                      PY_METHOD("_histogram", histogram),
                                      PY_METHOD("_histogramdd", histogramdd),
                                      PY_METHOD("_bincount", bincount),
                                      PY_METHOD("_digitize", digitize),
                                      PY_METHOD("_isclose", isclose),
                                      PY_METHOD("_allclose", allclose),
                                      PY_METHOD("_array_equal", array_equal),
                                      PY_METHODS_END};
