/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Normalisations with gradients, attention, rotary embedding, dropout, embedding, mixtures. */
#include "python/src/ops/ops.h"

/* What a call has made: n results, of which those not wanted are NULL and become None. */
static PyObject *results(py_state *st, PyThreadState *saved, nd_status status, nd_array **r, int n)
{
    nd_array *none = NULL;
    if (status != ND_OK)
        return py_done(st, saved, status, &none);
    if (saved)
        PyEval_RestoreThread(saved);
    return py_array_tuple(st, r, n);
}

/* py_axes gives -1 for None: all axes. */
static void name_axes(const nd_array *a, int32_t *axes, int *n)
{
    for (int d = 0; *n < 0 && d < nd_ndim(a); d++)
        axes[d] = d;
    *n = *n < 0 ? nd_ndim(a) : *n;
    *n = *n ? *n : ND_NO_AXES;
}

typedef nd_status softmax_fn(const nd_array *g, const nd_array *y, const nd_norm_opts *opts,
                             nd_array **out);

/* (g, y, axis or axes) */
static PyObject *softmax_of(PyObject *module, const char *name, softmax_fn *f,
                            PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *g, *y, *r = NULL;
    int32_t axes[ND_MAX_NDIM];
    nd_norm_opts o = {.size = sizeof o, .axes = axes, .eps = -1};
    if (py_args(st, name, "aax", args, n, &g, &y, axes, &o.naxes) < 0)
        return NULL;
    name_axes(y, axes, &o.naxes);
    PyThreadState *saved = py_unlock(y, py_work(g, y));
    return py_done(st, saved, f(g, y, &o, &r), &r);
}
static PyObject *softmax_grad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return softmax_of(module, "softmax_grad", nd_softmax_grad, args, n);
}
static PyObject *log_softmax_grad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return softmax_of(module, "log_softmax_grad", nd_log_softmax_grad, args, n);
}

/* (g, x, scale or None, axis or axes, eps): gradients of x, scale, bias */
static PyObject *layer_norm_grad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *g, *a, *scale, *r[3] = {NULL, NULL, NULL};
    int32_t axes[ND_MAX_NDIM];
    nd_norm_opts o = {.size = sizeof o, .axes = axes};
    if (py_args(st, "layer_norm_grad", "aaAxd", args, n, &g, &a, &scale, axes, &o.naxes, &o.eps) <
        0)
        return NULL;
    name_axes(a, axes, &o.naxes);
    PyThreadState *saved = py_unlock(a, py_work(g, a));
    nd_status status = nd_layer_norm_grad(g, a, scale, &o, &r[0], &r[1], &r[2]);
    return results(st, saved, status, r, 3);
}

/* (g, x, scale or None, axis or axes, eps): gradients of x, scale */
static PyObject *rms_norm_grad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *g, *a, *scale, *r[2] = {NULL, NULL};
    int32_t axes[ND_MAX_NDIM];
    nd_norm_opts o = {.size = sizeof o, .axes = axes};
    if (py_args(st, "rms_norm_grad", "aaAxd", args, n, &g, &a, &scale, axes, &o.naxes, &o.eps) < 0)
        return NULL;
    name_axes(a, axes, &o.naxes);
    PyThreadState *saved = py_unlock(a, py_work(g, a));
    return results(st, saved, nd_rms_norm_grad(g, a, scale, &o, &r[0], &r[1]), r, 2);
}

/* (x, groups, 0: as many as channels, scale, bias, eps) */
static PyObject *group_norm(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *scale, *bias, *r = NULL;
    int64_t groups;
    nd_norm_opts o = {.size = sizeof o};
    if (py_args(st, "group_norm", "alAAd", args, n, &a, &groups, &scale, &bias, &o.eps) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved,
                   groups ? nd_group_norm(a, groups, scale, bias, &o, &r)
                          : nd_instance_norm(a, scale, bias, &o, &r),
                   &r);
}

/* (g, x, groups, scale, eps): gradients of x, scale, bias */
static PyObject *group_norm_grad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *g, *a, *scale, *r[3] = {NULL, NULL, NULL};
    int64_t groups;
    nd_norm_opts o = {.size = sizeof o};
    if (py_args(st, "group_norm_grad", "aalAd", args, n, &g, &a, &groups, &scale, &o.eps) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, py_work(g, a));
    nd_status status = groups ? nd_group_norm_grad(g, a, groups, scale, &o, &r[0], &r[1], &r[2])
                              : nd_instance_norm_grad(g, a, scale, &o, &r[0], &r[1], &r[2]);
    return results(st, saved, status, r, 3);
}

/* (x, mean, variance, scale, bias, training, momentum, eps) */
static PyObject *batch_norm(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *mean, *variance, *scale, *bias, *r = NULL;
    nd_batch_norm_opts o = {.size = sizeof o};
    if (py_args(st, "batch_norm", "aAAAApdd", args, n, &a, &mean, &variance, &scale, &bias,
                &o.training, &o.momentum, &o.eps) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_batch_norm(a, scale, bias, mean, variance, &o, &r), &r);
}

/* (g, x, mean, variance, scale, training, eps): gradients of x, scale, bias */
static PyObject *batch_norm_grad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *g, *a, *mean, *variance, *scale, *r[3] = {NULL, NULL, NULL};
    nd_batch_norm_opts o = {.size = sizeof o};
    if (py_args(st, "batch_norm_grad", "aaAAApd", args, n, &g, &a, &mean, &variance, &scale,
                &o.training, &o.eps) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, py_work(g, a));
    nd_status status = nd_batch_norm_grad(g, a, scale, mean, variance, &o, &r[0], &r[1], &r[2]);
    return results(st, saved, status, r, 3);
}

/* ---- attention ---- */

/* (mask, causal, scale, dropout, seed, position) of the n arguments of args. */
static int read_attention(py_state *st, const char *name, PyObject *const *args, Py_ssize_t n,
                          nd_attention_opts *o)
{
    nd_array *mask;
    int causal;
    if (n < 6 || py_random_key(args[4], args[5], &o->key) < 0 ||
        py_args(st, name, "Aidd", args, 4, &mask, &causal, &o->scale, &o->dropout) < 0)
        return -1;
    o->mask = mask;
    o->causal = causal;
    return 0;
}

/* (q, k, v, mask, causal, scale, dropout, seed, position): result, logsumexp */
static PyObject *attention(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    const char *name = "scaled_dot_product_attention";
    nd_array *q, *k, *v, *r[2] = {NULL, NULL};
    nd_attention_opts o = {.size = sizeof o};
    if (n != 9 || py_args(st, name, "aaa", args, 3, &q, &k, &v) < 0 ||
        read_attention(st, name, args + 3, n - 3, &o) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(q, nd_size(q) * 64);
    return results(st, saved, nd_scaled_dot_product_attention(q, k, v, &o, &r[0], &r[1]), r, 2);
}

/* (g, q, k, v, result, logsumexp, mask, causal, scale, dropout, seed, position): gradients of q, k, v
 */
static PyObject *attention_grad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    const char *name = "scaled_dot_product_attention_grad";
    nd_array *g, *q, *k, *v, *out, *lse, *r[3] = {NULL, NULL, NULL};
    nd_attention_opts o = {.size = sizeof o};
    if (n != 12 || py_args(st, name, "aaaaaa", args, 6, &g, &q, &k, &v, &out, &lse) < 0 ||
        read_attention(st, name, args + 6, n - 6, &o) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(q, nd_size(q) * 64);
    nd_status status =
        nd_scaled_dot_product_attention_grad(g, q, k, v, out, lse, &o, &r[0], &r[1], &r[2]);
    return results(st, saved, status, r, 3);
}

/* (x, cos, sin, layout, inverse) */
static PyObject *rope(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *cosines, *sines, *r = NULL;
    int layout, inverse;
    nd_rope_opts o = {.size = sizeof o};
    if (py_args(st, "rope", "aaaip", args, n, &a, &cosines, &sines, &layout, &inverse) < 0)
        return NULL;
    o.layout = layout;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(
        st, saved,
        inverse ? nd_rope_grad(a, cosines, sines, &o, &r) : nd_rope(a, cosines, sines, &o, &r), &r);
}

/* ---- dropout, embedding, mixtures ---- */

/* (x, p, seed, position) */
static PyObject *dropout(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    double p;
    nd_random_key key;
    if (n != 4 || py_args(st, "dropout", "ad", args, 2, &a, &p) < 0 ||
        py_random_key(args[2], args[3], &key) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_dropout(a, p, &key, &r), &r);
}

/* (indices, weights) */
static PyObject *embedding(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *at, *w, *r = NULL;
    if (py_args(st, "embedding", "aa", args, n, &at, &w) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(at, nd_size(at) * 64);
    return py_done(st, saved, nd_embedding(at, w, &r), &r);
}

/* (g, indices, rows, padding) */
static PyObject *embedding_grad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *g, *at, *r = NULL;
    int64_t rows, padding;
    if (py_args(st, "embedding_grad", "aall", args, n, &g, &at, &rows, &padding) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(g, nd_size(g));
    return py_done(st, saved, nd_embedding_grad(g, at, rows, padding, &r), &r);
}

/* (x, weights, experts, scales or None); waits */
static PyObject *moe(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *x, *w, *experts, *scales, *r = NULL;
    if (py_args(st, "moe", "aaaA", args, n, &x, &w, &experts, &scales) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, nd_moe(x, w, experts, scales, &r), &r);
}

/* (activation, g, x, alpha) */
static PyObject *activation_grad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *g, *a, *r = NULL;
    int activation;
    double alpha;
    if (py_args(st, "activation_grad", "iaad", args, n, &activation, &g, &a, &alpha) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, py_work(g, a));
    return py_done(st, saved, nd_activation_grad(activation, g, a, alpha, &r), &r);
}

PyMethodDef py_neural_methods[] = {PY_METHOD("_activation_grad", activation_grad),
                                   PY_METHOD("_softmax_grad", softmax_grad),
                                   PY_METHOD("_log_softmax_grad", log_softmax_grad),
                                   PY_METHOD("_layer_norm_grad", layer_norm_grad),
                                   PY_METHOD("_rms_norm_grad", rms_norm_grad),
                                   PY_METHOD("_group_norm", group_norm),
                                   PY_METHOD("_group_norm_grad", group_norm_grad),
                                   PY_METHOD("_batch_norm", batch_norm),
                                   PY_METHOD("_batch_norm_grad", batch_norm_grad),
                                   PY_METHOD("_attention", attention),
                                   PY_METHOD("_attention_grad", attention_grad),
                                   PY_METHOD("_rope", rope),
                                   PY_METHOD("_dropout", dropout),
                                   PY_METHOD("_embedding", embedding),
                                   PY_METHOD("_embedding_grad", embedding_grad),
                                   PY_METHOD("_moe", moe),
                                   PY_METHODS_END};
