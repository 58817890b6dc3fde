/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of several arrays, diagonals, norms, and what is made of singular values. */
#include <limits.h>
#include "python/src/ops/ops.h"

/* (subscripts, arrays, dtype or None) */
static PyObject *einsum(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_einsum_opts o = {.size = sizeof o};
    nd_array *r = NULL;
    py_list list;
    int64_t work = 1; /* of nested loops over all operands, at most */
    if (n != 3) {
        PyErr_SetString(PyExc_TypeError, "einsum() takes 3 arguments");
        return NULL;
    }
    for (Py_ssize_t i = 0; PyTuple_Check(args[1]) && i < PyTuple_Size(args[1]); i++)
        if (!py_array_get(st, PyTuple_GetItem(args[1], i)))
            Py_RETURN_NOTIMPLEMENTED; /* the caller makes arrays of them */
    const char *text = py_text(args[0], "einsum(): the subscripts are");
    if (!text || py_args(st, "einsum", "t", args + 2, 1, &o.dtype) < 0 ||
        py_list_begin(st, "einsum", args[1], &list) < 0)
        return NULL;
    for (int i = 0; i < list.n; i++)
        if (__builtin_mul_overflow(work, nd_size(list.a[i]), &work))
            work = INT64_MAX;
    PyThreadState *saved = list.n ? py_unlock(list.a[0], work) : NULL;
    const nd_status status = nd_einsum(text, list.n, (const nd_array *const *)list.a, &o, &r);
    py_lock(saved);
    py_list_end(&list);
    return py_result(st, status, &r);
}

typedef nd_status of_list(int n, const nd_array *const *arrays, nd_array **out);

/* (arrays) */
static PyObject *call_list(PyObject *module, const char *name, of_list *f, PyObject *const *args,
                           Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *r = NULL;
    py_list list;
    if (n != 1) {
        PyErr_Format(PyExc_TypeError, "%s() takes a list of arrays", name);
        return NULL;
    }
    if (py_list_begin(st, name, args[0], &list) < 0)
        return NULL;
    PyThreadState *saved = list.n ? py_unlock(list.a[0], INT64_MAX) : NULL;
    const nd_status status = f(list.n, (const nd_array *const *)list.a, &r);
    py_lock(saved);
    py_list_end(&list);
    return py_result(st, status, &r);
}
static PyObject *multi_dot(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return call_list(module, "multi_dot", nd_multi_dot, args, n);
}
static PyObject *block_diag(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return call_list(module, "block_diag", nd_block_diag, args, n);
}

/* (a, b) */
static PyObject *call_pair(PyObject *module, const char *name,
                           nd_status (*f)(const nd_array *, const nd_array *, nd_array **),
                           PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *b, *r = NULL;
    if (py_args(st, name, "aa", args, n, &a, &b) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, py_work(a, b));
    return py_done(st, saved, f(a, b, &r), &r);
}
static PyObject *outer(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return call_pair(module, "outer", nd_outer, args, n);
}
static PyObject *kron(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return call_pair(module, "kron", nd_kron, args, n);
}

/* (a, b, axis) */
static PyObject *cross(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *b, *r = NULL;
    int axis;
    if (py_args(st, "cross", "aai", args, n, &a, &b, &axis) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, py_work(a, b));
    return py_done(st, saved, nd_cross(a, b, axis, &r), &r);
}

/* (x, k) */

/* (x, n) */
static PyObject *matrix_power(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t power;
    if (py_args(st, "matrix_power", "al", args, n, &a, &power) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, INT64_MAX);
    return py_done(st, saved, nd_matrix_power(a, power, &r), &r);
}

/* (x) */
static PyObject *expm(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    if (py_args(st, "expm", "a", args, n, &a) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, INT64_MAX);
    return py_done(st, saved, nd_expm(a, &r), &r);
}

/* (x, offset, dtype or None) */
static PyObject *trace(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t offset;
    nd_dtype dtype;
    if (py_args(st, "trace", "alt", args, n, &a, &offset, &dtype) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_trace(a, offset, dtype, &r), &r);
}

/* ---- norms: (x, kind, ord, axes or None, keepdims) ---- */
static PyObject *call_norm(PyObject *module, const char *name,
                           nd_status (*f)(const nd_array *, const nd_norms_opts *, nd_array **),
                           PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    nd_norms_opts o = {.size = sizeof o};
    int32_t axes[ND_MAX_NDIM];
    int naxes;
    if (py_args(st, name, "aidxp", args, n, &a, &o.kind, &o.ord, axes, &naxes, &o.keepdims) < 0)
        return NULL;
    if (naxes >= 0) {
        o.axes = axes;
        o.naxes = naxes ? naxes : ND_NO_AXES;
    }
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, f(a, &o, &r), &r);
}
static PyObject *vector_norm(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return call_norm(module, "vector_norm", nd_vector_norm, args, n);
}
static PyObject *matrix_norm(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return call_norm(module, "matrix_norm", nd_matrix_norm, args, n);
}
static PyObject *norm(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return call_norm(module, "norm", nd_norm, args, n);
}
static PyObject *cond(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return call_norm(module, "cond", nd_cond, args, n);
}

/* ---- of singular values: (x, rtol or None, flags), whose bit 1 is unchecked ---- */
static PyObject *call_tolerance(PyObject *module, const char *name,
                                nd_status (*f)(const nd_array *, const nd_array *,
                                               const nd_linalg_opts *, nd_array **),
                                PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *rtol, *r = NULL;
    nd_linalg_opts o = {.size = sizeof o};
    if (py_args(st, name, "aAi", args, n, &a, &rtol, &o.unchecked) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, INT64_MAX);
    return py_done(st, saved, f(a, rtol, &o, &r), &r);
}
static PyObject *pinv(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return call_tolerance(module, "pinv", nd_pinv, args, n);
}
static PyObject *matrix_rank(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return call_tolerance(module, "matrix_rank", nd_matrix_rank, args, n);
}

/* (a, b, rtol or None, flags): x, residuals, rank, values */
static PyObject *lstsq(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *b, *rtol, *r[4] = {NULL, NULL, NULL, NULL};
    nd_linalg_opts o = {.size = sizeof o};
    if (py_args(st, "lstsq", "aaAi", args, n, &a, &b, &rtol, &o.unchecked) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, INT64_MAX);
    const nd_status status = nd_lstsq(a, b, rtol, &o, &r[0], &r[1], &r[2], &r[3]);
    py_lock(saved);
    return status == ND_OK ? py_array_tuple(st, r, 4) : py_fail(st, status);
}

PyMethodDef py_products_methods[] = {PY_METHOD("_einsum", einsum),
                                     PY_METHOD("_multi_dot", multi_dot),
                                     PY_METHOD("_block_diag", block_diag),
                                     PY_METHOD("_outer", outer),
                                     PY_METHOD("_kron", kron),
                                     PY_METHOD("_cross", cross),
                                     PY_METHOD("_matrix_power", matrix_power),
                                     PY_METHOD("_expm", expm),
                                     PY_METHOD("_trace", trace),
                                     PY_METHOD("_vector_norm", vector_norm),
                                     PY_METHOD("_matrix_norm", matrix_norm),
                                     PY_METHOD("_norm", norm),
                                     PY_METHOD("_cond", cond),
                                     PY_METHOD("_pinv", pinv),
                                     PY_METHOD("_matrix_rank", matrix_rank),
                                     PY_METHOD("_lstsq", lstsq),
                                     PY_METHODS_END};
