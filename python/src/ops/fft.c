/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fourier transforms. */
#include "python/src/ops/ops.h"

typedef nd_status transform(const nd_array *a, const nd_fft_opts *opts, nd_array **out);
typedef nd_status transform_into(const nd_array *a, const nd_fft_opts *opts, const nd_array *dst);

/* (x, lengths, axes, norm, out): lengths (-1: as x is) of as many axes; none: the default of the
 * function. */
static PyObject *along(PyObject *module, const char *name, transform *fresh, transform_into *into,
                       PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *dst, *r = NULL;
    int64_t lengths[ND_MAX_NDIM];
    int32_t axes[ND_MAX_NDIM];
    int nlengths, norm;
    nd_fft_opts o = {.size = sizeof o};
    if (py_args(st, name, "azxiA", args, n, &a, lengths, &nlengths, axes, &o.naxes, &norm, &dst) <
        0)
        return NULL;
    o.norm = norm;
    if (nlengths != o.naxes)
        return PyErr_Format(PyExc_ValueError, "%s(): %d lengths of transforms for %d axes", name,
                            nlengths, o.naxes);
    if (nlengths > 0) {
        o.axes = axes;
        o.lengths = lengths;
    }
    PyThreadState *saved = py_unlock(a, nd_size(a));
    if (dst)
        return py_done_into(st, saved, into(a, &o, dst), args[4]);
    return py_done(st, saved, fresh(a, &o, &r), &r);
}

#define DEFINE_TRANSFORM(name)                                                      \
    static PyObject *name##_(PyObject *module, PyObject *const *args, Py_ssize_t n) \
    {                                                                               \
        return along(module, #name, nd_##name, nd_##name##_into, args, n);          \
    }
DEFINE_TRANSFORM(fft)
DEFINE_TRANSFORM(ifft)
DEFINE_TRANSFORM(rfft)
DEFINE_TRANSFORM(irfft)
DEFINE_TRANSFORM(hfft)
DEFINE_TRANSFORM(ihfft)
DEFINE_TRANSFORM(fftn)
DEFINE_TRANSFORM(ifftn)
DEFINE_TRANSFORM(rfftn)
DEFINE_TRANSFORM(irfftn)

typedef nd_status frequencies(nd_device *device, nd_dtype dtype, int64_t n, double d,
                              nd_array **out);

/* (n, d, dtype, device) */
static PyObject *frequencies_of(PyObject *module, const char *name, frequencies *fresh,
                                PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *r = NULL;
    nd_device *device;
    nd_dtype dtype;
    int64_t count;
    double d;
    if (py_args(st, name, "ldtv", args, n, &count, &d, &dtype, &device) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, fresh(device, dtype, count, d, &r), &r);
}
static PyObject *fftfreq(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return frequencies_of(module, "fftfreq", nd_fftfreq, args, n);
}
static PyObject *rfftfreq(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return frequencies_of(module, "rfftfreq", nd_rfftfreq, args, n);
}

typedef nd_status shift(const nd_array *a, int naxes, const int32_t *axes, nd_array **out);

/* (x, axes or None) */
static PyObject *shifted(PyObject *module, const char *name, shift *fresh, PyObject *const *args,
                         Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int32_t axes[ND_MAX_NDIM];
    int naxes;
    if (py_args(st, name, "ax", args, n, &a, axes, &naxes) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, fresh(a, naxes, naxes < 0 ? NULL : axes, &r), &r);
}
static PyObject *fftshift(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return shifted(module, "fftshift", nd_fftshift, args, n);
}
static PyObject *ifftshift(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return shifted(module, "ifftshift", nd_ifftshift, args, n);
}

PyMethodDef py_fft_methods[] = {PY_METHOD("_fft", fft_),
                                PY_METHOD("_ifft", ifft_),
                                PY_METHOD("_rfft", rfft_),
                                PY_METHOD("_irfft", irfft_),
                                PY_METHOD("_hfft", hfft_),
                                PY_METHOD("_ihfft", ihfft_),
                                PY_METHOD("_fftn", fftn_),
                                PY_METHOD("_ifftn", ifftn_),
                                PY_METHOD("_rfftn", rfftn_),
                                PY_METHOD("_irfftn", irfftn_),
                                PY_METHOD("_fftfreq", fftfreq),
                                PY_METHOD("_rfftfreq", rfftfreq),
                                PY_METHOD("_fftshift", fftshift),
                                PY_METHOD("_ifftshift", ifftshift),
                                PY_METHODS_END};
