/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Distributions by name, and samples, from explicit keys. Each function begins as random.c's: (seed,
 * counter, shape, dtype, device, ...). */
#include "python/src/ops/ops.h"

enum { MOST = 4 }; /* parameters */

/* (..., name, parameters): a tuple of numbers and Arrays */
static PyObject *draw(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_random_request q;
    nd_arg params[MOST];
    nd_array *r = NULL;
    if (py_random_parse(st, "draw", args, n, &q) < 0)
        return NULL;
    if (n != 7 || !PyTuple_Check(args[6]) || PyTuple_Size(args[6]) > MOST) {
        PyErr_SetString(PyExc_TypeError, "draw takes a name and a tuple of parameters");
        return NULL;
    }
    const int count = (int)PyTuple_Size(args[6]);
    const nd_distribution id = py_random_named(args[5]);
    for (int i = 0; i < count; i++) {
        PyObject *o = PyTuple_GetItem(args[6], i);
        params[i] = nd_array_arg(py_array_get(st, o));
        if (!params[i].array) {
            params[i].scalar = nd_float(PyFloat_AsDouble(o));
            if (PyErr_Occurred())
                return NULL;
        }
    }
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(
        st, saved,
        nd_random_draw(id, params, count, q.device, q.dtype, q.ndim, q.shape, &q.key, &r), &r);
}

/* (..., n, p or None, replace) */
static PyObject *choice(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_random_request q;
    int64_t count;
    int replace;
    nd_array *p, *r = NULL;
    if (py_random_parse(st, "choice", args, n, &q) < 0 ||
        py_args(st, "choice", "lAp", args + 5, n - 5, &count, &p, &replace) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved,
                   nd_random_choice(q.device, count, p, replace, q.ndim, q.shape, &q.key, &r), &r);
}

/* (..., weights) */
static PyObject *categorical(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_random_request q;
    nd_array *weights, *r = NULL;
    if (py_random_parse(st, "categorical", args, n, &q) < 0 ||
        py_args(st, "categorical", "a", args + 5, n - 5, &weights) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, nd_random_categorical(weights, q.ndim, q.shape, &q.key, &r), &r);
}

/* (..., n, p) */
static PyObject *multinomial(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_random_request q;
    int64_t count;
    nd_array *p, *r = NULL;
    if (py_random_parse(st, "multinomial", args, n, &q) < 0 ||
        py_args(st, "multinomial", "la", args + 5, n - 5, &count, &p) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, nd_random_multinomial(count, p, q.ndim, q.shape, &q.key, &r), &r);
}

/* (..., alpha) */
static PyObject *dirichlet(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_random_request q;
    nd_array *alpha, *r = NULL;
    if (py_random_parse(st, "dirichlet", args, n, &q) < 0 ||
        py_args(st, "dirichlet", "a", args + 5, n - 5, &alpha) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, nd_random_dirichlet(alpha, q.dtype, q.ndim, q.shape, &q.key, &r), &r);
}

/* (..., mean, cov) */
static PyObject *multivariate_normal(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_random_request q;
    nd_array *mean, *cov, *r = NULL;
    if (py_random_parse(st, "multivariate_normal", args, n, &q) < 0 ||
        py_args(st, "multivariate_normal", "aa", args + 5, n - 5, &mean, &cov) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved,
                   nd_random_multivariate_normal(mean, cov, q.dtype, q.ndim, q.shape, &q.key, &r),
                   &r);
}

/* (..., a, axis) */
static PyObject *shuffle(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_random_request q;
    nd_array *a, *r = NULL;
    int axis;
    if (py_random_parse(st, "shuffle", args, n, &q) < 0 ||
        py_args(st, "shuffle", "ai", args + 5, n - 5, &a, &axis) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, nd_random_shuffle(a, axis, &q.key, &r), &r);
}

PyMethodDef py_distribution_methods[] = {
    PY_METHOD("_random_draw", draw),
    PY_METHOD("_random_choice", choice),
    PY_METHOD("_random_categorical", categorical),
    PY_METHOD("_random_multinomial", multinomial),
    PY_METHOD("_random_dirichlet", dirichlet),
    PY_METHOD("_random_multivariate_normal", multivariate_normal),
    PY_METHOD("_random_shuffle", shuffle),
    PY_METHODS_END};
