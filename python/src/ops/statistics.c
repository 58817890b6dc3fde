/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Statistics beyond the reductions: order statistics, averages, covariance, NaN left out. */
#include "python/src/ops/ops.h"

typedef nd_status reduction(const nd_array *a, const nd_reduce_opts *opts, nd_array **out);

/* axes of py_axes, which has -1 for None. */
static void name_axes(nd_reduce_opts *o, const int32_t *axes, int naxes)
{
    if (naxes < 0)
        return;
    o->axes = axes;
    o->naxes = naxes ? naxes : ND_NO_AXES;
}

/* (x, axis or axes or None, dtype, keepdims, correction); waits: the call does. */
static PyObject *reduce(PyObject *module, const char *name, reduction *f, bool waits,
                        PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int32_t axes[ND_MAX_NDIM];
    int naxes, keepdims;
    nd_reduce_opts o = {.size = sizeof o};
    if (py_args(st, name, "axtpd", args, n, &a, axes, &naxes, &o.dtype, &keepdims, &o.correction) <
        0)
        return NULL;
    o.keepdims = keepdims;
    name_axes(&o, axes, naxes);
    PyThreadState *saved = waits ? PyEval_SaveThread() : py_unlock(a, nd_size(a));
    return py_done(st, saved, f(a, &o, &r), &r);
}

#define REDUCTION(name, waits)                                                      \
    static PyObject *name##_(PyObject *module, PyObject *const *args, Py_ssize_t n) \
    {                                                                               \
        return reduce(module, #name, nd_##name, waits, args, n);                    \
    }
REDUCTION(median, false)
REDUCTION(ptp, false)
REDUCTION(nansum, false)
REDUCTION(nanprod, false)
REDUCTION(nanmean, false)
REDUCTION(nanvar, false)
REDUCTION(nanstd, false)
REDUCTION(nanmin, false)
REDUCTION(nanmax, false)
REDUCTION(nanmedian, false)
REDUCTION(nanargmin, true)
REDUCTION(nanargmax, true)

/* Numbers of a sequence of floats, in memory of PyMem; NULL with an exception. */
static double *read_numbers(PyObject *o, int *n)
{
    PyObject *items = PySequence_Tuple(o);
    Py_ssize_t count = items ? PyTuple_Size(items) : -1;
    double *q =
        count >= 0 && count <= INT32_MAX ? PyMem_Calloc((size_t)count + 1, sizeof *q) : NULL;
    if (items && !q)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; q && i < count; i++) {
        q[i] = PyFloat_AsDouble(PyTuple_GetItem(items, i));
        if (q[i] == -1 && PyErr_Occurred()) {
            PyMem_Free(q);
            q = NULL;
        }
    }
    *n = (int)count;
    Py_XDECREF(items);
    return q;
}

typedef nd_status quantiles(const nd_array *a, int nq, const double *q,
                            const nd_quantile_opts *opts, nd_array **out);

/* (x, sequence of floats, axis or axes or None, keepdims, method, ignore NaN) */
static PyObject *quantile(PyObject *module, const char *name, quantiles *f, PyObject *const *args,
                          Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int32_t axes[ND_MAX_NDIM];
    int naxes, keepdims, ignore_nan, nq;
    nd_reduce_opts named = {.size = sizeof named};
    nd_quantile_opts o = {.size = sizeof o};
    if (n != 6 ||
        py_args(st, name, "xpip", args + 2, n - 2, axes, &naxes, &keepdims, &o.method,
                &ignore_nan) < 0 ||
        py_args(st, name, "a", args, 1, &a) < 0)
        return PyErr_Occurred() ? NULL
                                : PyErr_Format(PyExc_TypeError, "%s() takes 6 arguments", name);
    double *q = read_numbers(args[1], &nq);
    if (!q)
        return NULL;
    name_axes(&named, axes, naxes);
    o.axes = named.axes;
    o.naxes = named.naxes;
    o.keepdims = keepdims;
    o.ignore_nan = ignore_nan;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    nd_status status = f(a, nq, q, &o, &r);
    py_lock(saved);
    PyMem_Free(q);
    return py_result(st, status, &r);
}
static PyObject *quantile_(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return quantile(module, "quantile", nd_quantile, args, n);
}
static PyObject *percentile(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return quantile(module, "percentile", nd_percentile, args, n);
}

/* (x, weights or None, axis or axes or None, keepdims): average and total */
static PyObject *average(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *weights, *r[2] = {NULL, NULL};
    int32_t axes[ND_MAX_NDIM];
    int naxes, keepdims;
    nd_reduce_opts o = {.size = sizeof o};
    if (py_args(st, "average", "aAxp", args, n, &a, &weights, axes, &naxes, &keepdims) < 0)
        return NULL;
    o.keepdims = keepdims;
    name_axes(&o, axes, naxes);
    PyThreadState *saved = py_unlock(a, nd_size(a));
    nd_status status = nd_average(a, weights, &o, &r[0], &r[1]);
    py_lock(saved);
    return status == ND_OK ? py_array_tuple(st, r, 2) : py_fail(st, status);
}

typedef nd_status covariance(const nd_array *a, const nd_cov_opts *opts, nd_array **out);

/* (x, dtype, columns, correction, fweights or None, aweights or None) */
static PyObject *cov(PyObject *module, const char *name, covariance *f, PyObject *const *args,
                     Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL, *fweights, *aweights;
    int columns;
    nd_cov_opts o = {.size = sizeof o, .has_correction = 1};
    if (py_args(st, name, "atpdAA", args, n, &a, &o.dtype, &columns, &o.correction, &fweights,
                &aweights) < 0)
        return NULL;
    o.columns = columns;
    o.fweights = fweights;
    o.aweights = aweights;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, f(a, &o, &r), &r);
}
static PyObject *cov_(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return cov(module, "cov", nd_cov, args, n);
}
static PyObject *corrcoef(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return cov(module, "corrcoef", nd_corrcoef, args, n);
}

typedef nd_status scan(const nd_array *a, const nd_scan_opts *opts, nd_array **out);

/* (x, axis, dtype) */
static PyObject *scan_along(PyObject *module, const char *name, scan *f, PyObject *const *args,
                            Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    nd_scan_opts o = {.size = sizeof o};
    if (py_args(st, name, "ait", args, n, &a, &o.axis, &o.dtype) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, f(a, &o, &r), &r);
}
static PyObject *nancumsum(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return scan_along(module, "nancumsum", nd_nancumsum, args, n);
}
static PyObject *nancumprod(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return scan_along(module, "nancumprod", nd_nancumprod, args, n);
}

/* (x, nan, posinf, neginf) */
static PyObject *nan_to_num(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    double nan, posinf, neginf;
    if (py_args(st, "nan_to_num", "addd", args, n, &a, &nan, &posinf, &neginf) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_nan_to_num(a, nan, posinf, neginf, &r), &r);
}

PyMethodDef py_statistics_methods[] = {PY_METHOD("_median", median_),
                                       PY_METHOD("_ptp", ptp_),
                                       PY_METHOD("_nansum", nansum_),
                                       PY_METHOD("_nanprod", nanprod_),
                                       PY_METHOD("_nanmean", nanmean_),
                                       PY_METHOD("_nanvar", nanvar_),
                                       PY_METHOD("_nanstd", nanstd_),
                                       PY_METHOD("_nanmin", nanmin_),
                                       PY_METHOD("_nanmax", nanmax_),
                                       PY_METHOD("_nanmedian", nanmedian_),
                                       PY_METHOD("_nanargmin", nanargmin_),
                                       PY_METHOD("_nanargmax", nanargmax_),
                                       PY_METHOD("_quantile", quantile_),
                                       PY_METHOD("_percentile", percentile),
                                       PY_METHOD("_average", average),
                                       PY_METHOD("_cov", cov_),
                                       PY_METHOD("_corrcoef", corrcoef),
                                       PY_METHOD("_nancumsum", nancumsum),
                                       PY_METHOD("_nancumprod", nancumprod),
                                       PY_METHOD("_nan_to_num", nan_to_num),
                                       PY_METHODS_END};
