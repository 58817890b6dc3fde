/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Differences, derivatives, integrals, interpolation, polynomials, running extremes. */
#include "python/src/ops/ops.h"

/* (x, before or None, after or None) */
static PyObject *ediff1d(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *before, *after, *r = NULL;
    if (py_args(st, "ediff1d", "aAA", args, n, &a, &before, &after) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_ediff1d(a, before, after, &r), &r);
}

/* (x, spacing, coordinates or None, axis, edge_order) */
static PyObject *gradient(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *coordinates, *r = NULL;
    double spacing;
    int axis;
    int edge_order;
    if (py_args(st, "gradient", "adAii", args, n, &a, &spacing, &coordinates, &axis, &edge_order) <
        0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_gradient(a, spacing, coordinates, axis, edge_order, &r), &r);
}

/* (x, spacing, coordinates or None, axis) */
static PyObject *trapezoid(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *coordinates, *r = NULL;
    double spacing;
    int axis;
    if (py_args(st, "trapezoid", "adAi", args, n, &a, &spacing, &coordinates, &axis) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_trapezoid(a, spacing, coordinates, axis, &r), &r);
}

/* (p, x) */
static PyObject *polyval(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *p, *a, *r = NULL;
    if (py_args(st, "polyval", "aa", args, n, &p, &a) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(p, nd_size(p));
    return py_done(st, saved, nd_polyval(p, a, &r), &r);
}

/* (p) */
static PyObject *roots(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *p, *r = NULL;
    if (py_args(st, "roots", "a", args, n, &p) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(p, nd_size(p));
    return py_done(st, saved, nd_roots(p, &r), &r);
}

/* (x, xp, fp, has left, left, has right, right, period) */
static PyObject *interp(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *x, *xp, *fp, *r = NULL;
    int has_left, has_right;
    nd_interp_opts o = {.size = sizeof o};
    if (py_args(st, "interp", "aaapdpdd", args, n, &x, &xp, &fp, &has_left, &o.left, &has_right,
                &o.right, &o.period) < 0)
        return NULL;
    o.has_left = has_left;
    o.has_right = has_right;
    PyThreadState *saved = py_unlock(x, nd_size(x));
    return py_done(st, saved, nd_interp(x, xp, fp, &o, &r), &r);
}

typedef nd_status scan(const nd_array *a, const nd_scan_opts *opts, nd_array **out);

/* (x, axis) */
static PyObject *running(PyObject *module, const char *name, scan *f, PyObject *const *args,
                         Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    nd_scan_opts o = {.size = sizeof o};
    if (py_args(st, name, "ai", args, n, &a, &o.axis) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, f(a, &o, &r), &r);
}
static PyObject *cummax(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return running(module, "cummax", nd_cummax, args, n);
}
static PyObject *cummin(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return running(module, "cummin", nd_cummin, args, n);
}

PyMethodDef py_calculus_methods[] = {PY_METHOD("_ediff1d", ediff1d),
                                     PY_METHOD("_gradient", gradient),
                                     PY_METHOD("_trapezoid", trapezoid),
                                     PY_METHOD("_polyval", polyval),
                                     PY_METHOD("_roots", roots),
                                     PY_METHOD("_interp", interp),
                                     PY_METHOD("_cummax", cummax),
                                     PY_METHOD("_cummin", cummin),
                                     PY_METHODS_END};
