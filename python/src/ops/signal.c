/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Transforms by cosines and sines, convolution and correlation. */
#include "python/src/ops/ops.h"

typedef nd_status transform(const nd_array *a, const nd_dct_opts *opts, nd_array **out);

/* (x, lengths, axes, type, norm, orthogonalize): as many lengths (-1: as x is) as axes; none: the
 * last axis. */
static PyObject *along(PyObject *module, const char *name, transform *fresh, PyObject *const *args,
                       Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t lengths[ND_MAX_NDIM];
    int32_t axes[ND_MAX_NDIM];
    int nlengths, type, norm, orthogonalize;
    nd_dct_opts o = {.size = sizeof o};
    if (py_args(st, name, "azxiii", args, n, &a, lengths, &nlengths, axes, &o.naxes, &type, &norm,
                &orthogonalize) < 0)
        return NULL;
    o.type = type;
    o.norm = norm;
    o.orthogonalize = orthogonalize;
    if (nlengths != o.naxes)
        return PyErr_Format(PyExc_ValueError, "%s(): %d lengths of transforms for %d axes", name,
                            nlengths, o.naxes);
    if (nlengths > 0) {
        o.axes = axes;
        o.lengths = lengths;
    }
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, fresh(a, &o, &r), &r);
}

#define DEFINE_TRANSFORM(name)                                                      \
    static PyObject *name##_(PyObject *module, PyObject *const *args, Py_ssize_t n) \
    {                                                                               \
        return along(module, #name, nd_##name, args, n);                            \
    }
DEFINE_TRANSFORM(dct)
DEFINE_TRANSFORM(idct)
DEFINE_TRANSFORM(dst)
DEFINE_TRANSFORM(idst)

typedef nd_status combine(const nd_array *a, const nd_array *b, const nd_convolve_opts *opts,
                          nd_array **out);

/* (a, b, mode, method) */
static PyObject *combined(PyObject *module, const char *name, combine *fresh, PyObject *const *args,
                          Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *b, *r = NULL;
    int mode, method;
    nd_convolve_opts o = {.size = sizeof o};
    if (py_args(st, name, "aaii", args, n, &a, &b, &mode, &method) < 0)
        return NULL;
    o.mode = mode;
    o.method = method;
    PyThreadState *saved = py_unlock(a, nd_size(a) + nd_size(b));
    return py_done(st, saved, fresh(a, b, &o, &r), &r);
}
static PyObject *convolve(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return combined(module, "convolve", nd_convolve, args, n);
}
static PyObject *correlate(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return combined(module, "correlate", nd_correlate, args, n);
}

PyMethodDef py_signal_methods[] = {PY_METHOD("_dct", dct_),
                                   PY_METHOD("_idct", idct_),
                                   PY_METHOD("_dst", dst_),
                                   PY_METHOD("_idst", idst_),
                                   PY_METHOD("_convolve", convolve),
                                   PY_METHOD("_correlate", correlate),
                                   PY_METHODS_END};
