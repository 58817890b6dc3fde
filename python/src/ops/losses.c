/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Losses and their gradients, each function with or without that of the loss. */
#include "python/src/ops/ops.h"

typedef nd_status class_fn(const nd_array *a, const nd_array *y, const nd_loss_opts *opts,
                           nd_array **out);
typedef nd_status class_grad_fn(const nd_array *g, const nd_array *a, const nd_array *y,
                                const nd_loss_opts *opts, nd_array **out);

/* (g or None, scores, targets, weights or None, ignored, reduction, smoothing) */
static PyObject *of_classes(PyObject *module, const char *name, class_fn *f, class_grad_fn *grad,
                            PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *g, *a, *y, *weights, *r = NULL;
    int reduction;
    nd_loss_opts o = {.size = sizeof o, .has_ignore = 1};
    if (py_args(st, name, "AaaAlid", args, n, &g, &a, &y, &weights, &o.ignore, &reduction,
                &o.smoothing) < 0)
        return NULL;
    o.weights = weights;
    o.reduction = reduction;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, g ? grad(g, a, y, &o, &r) : f(a, y, &o, &r), &r);
}
static PyObject *cross_entropy(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return of_classes(module, "cross_entropy", nd_cross_entropy, nd_cross_entropy_grad, args, n);
}
static PyObject *nll_loss(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return of_classes(module, "nll_loss", nd_nll_loss, nd_nll_loss_grad, args, n);
}

typedef nd_status loss_fn(const nd_array *a, const nd_array *y, const nd_loss_opts *opts,
                          nd_array **out);
typedef nd_status loss_grad_fn(const nd_array *g, const nd_array *a, const nd_array *y,
                               const nd_loss_opts *opts, nd_array **out);

/* (g or None, x, y, reduction, delta, weights or None, positive or None, log_target, batch_mean) */
static PyObject *of_elements(PyObject *module, const char *name, loss_fn *f, loss_grad_fn *grad,
                             PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *g, *a, *y, *weights, *positive, *r = NULL;
    int reduction, log_target, batch_mean;
    nd_loss_opts o = {.size = sizeof o};
    if (py_args(st, name, "AaaidAApp", args, n, &g, &a, &y, &reduction, &o.delta, &weights,
                &positive, &log_target, &batch_mean) < 0)
        return NULL;
    o.reduction = reduction;
    o.weights = weights;
    o.positive = positive;
    o.log_target = log_target;
    o.batch_mean = batch_mean;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, g ? grad(g, a, y, &o, &r) : f(a, y, &o, &r), &r);
}

#define LOSS(name)                                                               \
    static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t n) \
    {                                                                            \
        return of_elements(module, #name, nd_##name, nd_##name##_grad, args, n); \
    }
LOSS(mse_loss)
LOSS(l1_loss)
LOSS(huber_loss)
LOSS(smooth_l1_loss)
LOSS(bce_with_logits)
LOSS(kl_div)

/* (g or None, log-probabilities, targets, their lengths, blank, reduction, zero_infinity) */
static PyObject *ctc_loss(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *g, *a, *y, *a_lengths, *y_lengths, *r = NULL;
    int reduction, zero_infinity;
    nd_ctc_loss_opts o = {.size = sizeof o};
    if (py_args(st, "ctc_loss", "Aaaaalip", args, n, &g, &a, &y, &a_lengths, &y_lengths, &o.blank,
                &reduction, &zero_infinity) < 0)
        return NULL;
    o.reduction = reduction;
    o.zero_infinity = zero_infinity;
    PyThreadState *saved = py_unlock(a, nd_size(a) * 64);
    return py_done(st, saved,
                   g ? nd_ctc_loss_grad(g, a, y, a_lengths, y_lengths, &o, &r)
                     : nd_ctc_loss(a, y, a_lengths, y_lengths, &o, &r),
                   &r);
}

PyMethodDef py_losses_methods[] = {PY_METHOD("_ctc_loss", ctc_loss),
                                   PY_METHOD("_cross_entropy", cross_entropy),
                                   PY_METHOD("_nll_loss", nll_loss),
                                   PY_METHOD("_mse_loss", mse_loss),
                                   PY_METHOD("_l1_loss", l1_loss),
                                   PY_METHOD("_huber_loss", huber_loss),
                                   PY_METHOD("_smooth_l1_loss", smooth_l1_loss),
                                   PY_METHOD("_bce_with_logits", bce_with_logits),
                                   PY_METHOD("_kl_div", kl_div),
                                   PY_METHODS_END};
