/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reductions, scans and the normalisations of rows. */
#include "python/src/ops/ops.h"

typedef nd_status reduction(const nd_array *a, const nd_reduce_opts *opts, nd_array **out);
typedef nd_status reduction_into(const nd_array *a, const nd_reduce_opts *opts,
                                 const nd_array *dst);

/* (x, axis or axes or None, dtype, keepdims, correction, out) */
static PyObject *reduce(PyObject *module, const char *name, reduction *fresh, reduction_into *into,
                        PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *dst, *r = NULL;
    int32_t axes[ND_MAX_NDIM];
    int naxes, keepdims;
    nd_reduce_opts o = {.size = sizeof o};
    if (py_args(st, name, "axtpdA", args, n, &a, axes, &naxes, &o.dtype, &keepdims, &o.correction,
                &dst) < 0)
        return py_traced(st, args, n, "_reduce", name, NULL);
    o.keepdims = keepdims;
    if (naxes >= 0) {
        o.axes = axes;
        o.naxes = naxes ? naxes : ND_NO_AXES;
    }
    /* Without options, all of a dense array takes a shorter way. */
    const int plain = naxes < 0 && !o.dtype && !keepdims && o.correction == 0;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    if (dst)
        return py_done_into(st, saved, into(a, &o, dst), args[5]);
    return py_done(st, saved, fresh(a, plain ? NULL : &o, &r), &r);
}

#define DEFINE_REDUCTION(name, DOMAIN, RESULT, ulp, doc)                            \
    static PyObject *name##_(PyObject *module, PyObject *const *args, Py_ssize_t n) \
    {                                                                               \
        return reduce(module, #name, nd_##name, nd_##name##_into, args, n);         \
    }
#define ND_EXPAND_REDUCE ND_EXPAND_BY(DEFINE_REDUCTION)
#define ND_EXPAND_ARGREDUCE ND_EXPAND_BY(DEFINE_REDUCTION)
#include <ndock/op_expand.h>
#undef ND_EXPAND_REDUCE
#undef ND_EXPAND_ARGREDUCE

typedef nd_status scan(const nd_array *a, const nd_scan_opts *opts, nd_array **out);
typedef nd_status scan_into(const nd_array *a, const nd_scan_opts *opts, const nd_array *dst);

/* (x, axis, dtype, include_initial, out) */
static PyObject *scan_along(PyObject *module, const char *name, scan *fresh, scan_into *into,
                            PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *dst, *r = NULL;
    int initial;
    nd_scan_opts o = {.size = sizeof o};
    if (py_args(st, name, "aitpA", args, n, &a, &o.axis, &o.dtype, &initial, &dst) < 0)
        return NULL;
    o.include_initial = initial;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    if (dst)
        return py_done_into(st, saved, into(a, &o, dst), args[4]);
    return py_done(st, saved, fresh(a, &o, &r), &r);
}
static PyObject *cumulative_sum(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return scan_along(module, "cumulative_sum", nd_cumulative_sum, nd_cumulative_sum_into, args, n);
}
static PyObject *cumulative_prod(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return scan_along(module, "cumulative_prod", nd_cumulative_prod, nd_cumulative_prod_into, args,
                      n);
}

typedef nd_status norm(const nd_array *a, const nd_norm_opts *opts, nd_array **out);

/* py_axes gives -1 for None, which means all axes; that there is no axis has a number of its
 * own. */
static void name_axes(const nd_array *a, int32_t *axes, int *n)
{
    for (int d = 0; *n < 0 && d < nd_ndim(a); d++)
        axes[d] = d;
    *n = *n < 0 ? nd_ndim(a) : *n;
    *n = *n ? *n : ND_NO_AXES;
}

/* (x, axis or axes) */
static PyObject *normalise(PyObject *module, const char *name, norm *fresh, PyObject *const *args,
                           Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int32_t axes[ND_MAX_NDIM];
    nd_norm_opts o = {.size = sizeof o, .axes = axes, .eps = -1};
    if (py_args(st, name, "ax", args, n, &a, axes, &o.naxes) < 0)
        return NULL;
    name_axes(a, axes, &o.naxes);
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, fresh(a, &o, &r), &r);
}
static PyObject *softmax(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return normalise(module, "softmax", nd_softmax, args, n);
}
static PyObject *log_softmax(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return normalise(module, "log_softmax", nd_log_softmax, args, n);
}

/* (x, scale, bias, axis or axes, eps) */
static PyObject *layer_norm(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *scale, *bias, *r = NULL;
    int32_t axes[ND_MAX_NDIM];
    nd_norm_opts o = {.size = sizeof o, .axes = axes};
    if (py_args(st, "layer_norm", "aAAxd", args, n, &a, &scale, &bias, axes, &o.naxes, &o.eps) < 0)
        return NULL;
    name_axes(a, axes, &o.naxes);
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_layer_norm(a, scale, bias, &o, &r), &r);
}
/* (x, scale, axis or axes, eps) */
static PyObject *rms_norm(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *scale, *r = NULL;
    int32_t axes[ND_MAX_NDIM];
    nd_norm_opts o = {.size = sizeof o, .axes = axes};
    if (py_args(st, "rms_norm", "aAxd", args, n, &a, &scale, axes, &o.naxes, &o.eps) < 0)
        return NULL;
    name_axes(a, axes, &o.naxes);
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_rms_norm(a, scale, &o, &r), &r);
}

#define METHOD(name, DOMAIN, RESULT, ulp, doc) PY_METHOD("_" #name, name##_),
#define ND_EXPAND_REDUCE ND_EXPAND_BY(METHOD)
#define ND_EXPAND_ARGREDUCE ND_EXPAND_BY(METHOD)
PyMethodDef py_reduce_methods[] = {
#include <ndock/op_expand.h>
    PY_METHOD("_cumulative_sum", cumulative_sum),
    PY_METHOD("_cumulative_prod", cumulative_prod),
    PY_METHOD("_softmax", softmax),
    PY_METHOD("_log_softmax", log_softmax),
    PY_METHOD("_layer_norm", layer_norm),
    PY_METHOD("_rms_norm", rms_norm),
    PY_METHODS_END};
