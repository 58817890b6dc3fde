/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions, pools, resampling, unfold and fold. Lists of integers have an entry for each spatial
 * axis, or none, for the default; they are read from room for as many as an array has axes. */
#include "python/src/ops/ops.h"

typedef int64_t list[ND_MAX_NDIM];

static const int64_t *given(const int64_t *v, int n)
{
    return n > 0 ? v : NULL;
}

enum { CONV, TRANSPOSE, GRAD_INPUT, GRAD_WEIGHT };

/* (a, b, bias, shape, stride, padding, dilation, output_padding, groups, mode, out): a, b as the C
 * function of that kind has them. */
static PyObject *convolved(PyObject *module, const char *name, int kind, PyObject *const *args,
                           Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *b, *bias, *dst, *r = NULL;
    list v[5] = {{0}};
    int len[5], mode;
    nd_conv_opts o = {.size = sizeof o};
    nd_status status;
    if (py_args(st, name, "aaAzzzzzliA", args, n, &a, &b, &bias, v[0], &len[0], v[1], &len[1], v[2],
                &len[2], v[3], &len[3], v[4], &len[4], &o.groups, &mode, &dst) < 0)
        return NULL;
    o.stride = given(v[1], len[1]);
    o.padding = given(v[2], len[2]);
    o.dilation = given(v[3], len[3]);
    o.output_padding = given(v[4], len[4]);
    o.padding_mode = mode;
    PyThreadState *saved = py_unlock(a, py_work(a, b));
    if (kind == CONV)
        status = dst ? nd_conv_into(a, b, bias, &o, dst) : nd_conv(a, b, bias, &o, &r);
    else if (kind == TRANSPOSE)
        status = dst ? nd_conv_transpose_into(a, b, bias, &o, dst)
                     : nd_conv_transpose(a, b, bias, &o, &r);
    else if (kind == GRAD_INPUT)
        status = dst ? nd_conv_grad_input_into(a, b, &o, dst)
                     : nd_conv_grad_input(a, b, len[0], v[0], &o, &r);
    else
        status = dst ? nd_conv_grad_weight_into(a, b, &o, dst)
                     : nd_conv_grad_weight(a, b, len[0], v[0], &o, &r);
    return dst ? py_done_into(st, saved, status, args[10]) : py_done(st, saved, status, &r);
}

static PyObject *conv(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return convolved(module, "conv", CONV, args, n);
}
static PyObject *conv_transpose(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return convolved(module, "conv_transpose", TRANSPOSE, args, n);
}
static PyObject *conv_grad_input(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return convolved(module, "conv_input", GRAD_INPUT, args, n);
}
static PyObject *conv_grad_weight(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return convolved(module, "conv_weight", GRAD_WEIGHT, args, n);
}

/* What all pools are given last: (rank, kernel, stride, padding, dilation, output, ceil_mode,
 * exclude_padding, divisor). */
typedef struct {
    list v[5];
    nd_pooling_opts o;
} pooling;

static int read_pooling(py_state *st, const char *name, PyObject *const *args, pooling *p)
{
    int len[5], rank, ceil_mode, exclude;
    memset(p, 0, sizeof *p);
    p->o.size = sizeof p->o;
    if (py_args(st, name, "izzzzzppl", args, 9, &rank, p->v[0], &len[0], p->v[1], &len[1], p->v[2],
                &len[2], p->v[3], &len[3], p->v[4], &len[4], &ceil_mode, &exclude,
                &p->o.divisor) < 0)
        return -1;
    p->o.rank = rank;
    p->o.ceil_mode = ceil_mode;
    p->o.exclude_padding = exclude;
    p->o.kernel = given(p->v[0], len[0]);
    p->o.stride = given(p->v[1], len[1]);
    p->o.padding = given(p->v[2], len[2]);
    p->o.dilation = given(p->v[3], len[3]);
    p->o.output = given(p->v[4], len[4]);
    return 0;
}

static bool has_count(const char *name, Py_ssize_t n, Py_ssize_t wanted)
{
    if (n != wanted)
        PyErr_Format(PyExc_TypeError, "%s(): %zd arguments, not %zd", name, n, wanted);
    return n == wanted;
}

/* (x, out, indices wanted, ...): the result, or both. */
static PyObject *max_pool(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *x, *dst, *r[2] = {NULL, NULL};
    int both;
    pooling p;
    if (!has_count("max_pool", n, 12) ||
        py_args(st, "max_pool", "aAp", args, 3, &x, &dst, &both) < 0 ||
        read_pooling(st, "max_pool", args + 3, &p) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(x, nd_size(x));
    if (dst)
        return py_done_into(st, saved, nd_max_pool_into(x, &p.o, dst, NULL), args[1]);
    const nd_status status = nd_max_pool(x, &p.o, &r[0], both ? &r[1] : NULL);
    if (!both || status != ND_OK)
        return py_done(st, saved, status, &r[0]);
    py_lock(saved);
    return py_array_tuple(st, r, 2);
}

/* (x, out, ...) */
static PyObject *avg_pool(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *x, *dst, *r = NULL;
    pooling p;
    if (!has_count("avg_pool", n, 11) || py_args(st, "avg_pool", "aA", args, 2, &x, &dst) < 0 ||
        read_pooling(st, "avg_pool", args + 2, &p) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(x, nd_size(x));
    if (dst)
        return py_done_into(st, saved, nd_avg_pool_into(x, &p.o, dst), args[1]);
    return py_done(st, saved, nd_avg_pool(x, &p.o, &r), &r);
}

/* (grad, indices or None, shape, ...): the gradient of max_pool, or of avg_pool. */
static PyObject *pool_grad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *grad, *indices, *r = NULL;
    list shape;
    int ndim;
    pooling p;
    if (!has_count("pool_grad", n, 12) ||
        py_args(st, "pool_grad", "aAz", args, 3, &grad, &indices, shape, &ndim) < 0 ||
        read_pooling(st, "pool_grad", args + 3, &p) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(grad, nd_size(grad));
    const nd_status status = indices ? nd_max_pool_grad(grad, indices, ndim, shape, &p.o, &r)
                                     : nd_avg_pool_grad(grad, ndim, shape, &p.o, &r);
    return py_done(st, saved, status, &r);
}

/* (x, p, ...) */
static PyObject *lp_pool(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *x, *r = NULL;
    double power;
    pooling p;
    if (!has_count("lp_pool", n, 11) || py_args(st, "lp_pool", "ad", args, 2, &x, &power) < 0 ||
        read_pooling(st, "lp_pool", args + 2, &p) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(x, nd_size(x));
    return py_done(st, saved, nd_lp_pool(x, power, &p.o, &r), &r);
}

/* (grad, x, y, p, ...) */
static PyObject *lp_pool_grad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *grad, *x, *y, *r = NULL;
    double power;
    pooling p;
    if (!has_count("lp_pool_grad", n, 13) ||
        py_args(st, "lp_pool_grad", "aaad", args, 4, &grad, &x, &y, &power) < 0 ||
        read_pooling(st, "lp_pool_grad", args + 4, &p) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(x, nd_size(x));
    return py_done(st, saved, nd_lp_pool_grad(grad, x, y, power, &p.o, &r), &r);
}

/* (x, shape, extents, scale d, scale h, scale w, method, align_corners, out): scales of 0 are none; a
 * shape makes it the gradient. */
static PyObject *upsample(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *x, *dst, *r = NULL;
    list shape, extents = {0};
    double scale[3];
    int ndim, rank, method, corners;
    nd_upsample_opts o = {.size = sizeof o};
    if (py_args(st, "interpolate", "azzdddipA", args, n, &x, shape, &ndim, extents, &rank,
                &scale[0], &scale[1], &scale[2], &method, &corners, &dst) < 0)
        return NULL;
    const int spatial = nd_ndim(x) - 2;
    o.extents = given(extents, rank);
    o.scale = scale[2] != 0 && spatial > 0 && spatial <= 3 ? scale + 3 - spatial : NULL;
    o.method = method;
    o.align_corners = corners;
    PyThreadState *saved = py_unlock(x, nd_size(x));
    if (dst)
        return py_done_into(st, saved, nd_upsample_into(x, &o, dst), args[8]);
    const nd_status status =
        ndim > 0 ? nd_upsample_grad(x, ndim, shape, &o, &r) : nd_upsample(x, &o, &r);
    return py_done(st, saved, status, &r);
}

/* (x, extents, rank, kernel, stride, padding, dilation, out): extents make it fold. */
static PyObject *unfold(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *x, *dst, *r = NULL;
    list v[5] = {{0}};
    int len[5], rank;
    nd_status status;
    nd_unfold_opts o = {.size = sizeof o};
    if (py_args(st, "unfold", "azizzzzA", args, n, &x, v[0], &len[0], &rank, v[1], &len[1], v[2],
                &len[2], v[3], &len[3], v[4], &len[4], &dst) < 0)
        return NULL;
    o.rank = rank;
    o.kernel = given(v[1], len[1]);
    o.stride = given(v[2], len[2]);
    o.padding = given(v[3], len[3]);
    o.dilation = given(v[4], len[4]);
    PyThreadState *saved = py_unlock(x, nd_size(x));
    if (len[0] > 0)
        status = dst ? nd_fold_into(x, &o, dst) : nd_fold(x, v[0], &o, &r);
    else
        status = dst ? nd_unfold_into(x, &o, dst) : nd_unfold(x, &o, &r);
    return dst ? py_done_into(st, saved, status, args[7]) : py_done(st, saved, status, &r);
}

PyMethodDef py_conv_methods[] = {PY_METHOD("_conv", conv),
                                 PY_METHOD("_conv_transpose", conv_transpose),
                                 PY_METHOD("_conv_grad_input", conv_grad_input),
                                 PY_METHOD("_conv_grad_weight", conv_grad_weight),
                                 PY_METHOD("_max_pool", max_pool),
                                 PY_METHOD("_avg_pool", avg_pool),
                                 PY_METHOD("_pool_grad", pool_grad),
                                 PY_METHOD("_lp_pool", lp_pool),
                                 PY_METHOD("_lp_pool_grad", lp_pool_grad),
                                 PY_METHOD("_upsample", upsample),
                                 PY_METHOD("_unfold", unfold),
                                 PY_METHODS_END};
