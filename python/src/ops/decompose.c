/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Factorisations, systems of equations, eigenvalues and singular values. Each function's last
 * argument is an int of flags, which linalg.py puts together. */
#include "python/src/ops/ops.h"

static nd_linalg_opts options(int flags)
{
    return (nd_linalg_opts){.size = sizeof(nd_linalg_opts),
                            .unchecked = flags & 1,
                            .upper = flags >> 1 & 1,
                            .unit_diagonal = flags >> 2 & 1,
                            .right = flags >> 3 & 1,
                            .full = flags >> 4 & 1,
                            .normalize = flags >> 5 & 1,
                            .trans = flags >> 6};
}

/* Much more than one step an element. */
static int64_t work_of(const nd_array *a)
{
    int64_t work;
    return __builtin_mul_overflow(nd_size(a), 64, &work) ? INT64_MAX : work;
}

typedef nd_status of_one(const nd_array *a, const nd_linalg_opts *opts, nd_array **out);
typedef nd_status of_two(const nd_array *a, const nd_array *b, const nd_linalg_opts *opts,
                         nd_array **out);
typedef nd_status to_two(const nd_array *a, const nd_linalg_opts *opts, nd_array **r0,
                         nd_array **r1);
typedef nd_status to_three(const nd_array *a, const nd_linalg_opts *opts, nd_array **r0,
                           nd_array **r1, nd_array **r2);

static PyObject *call_one(PyObject *module, const char *name, of_one *f, PyObject *const *args,
                          Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int flags;
    if (py_args(st, name, "ai", args, n, &a, &flags) < 0)
        return NULL;
    const nd_linalg_opts o = options(flags);
    PyThreadState *saved = py_unlock(a, work_of(a));
    return py_done(st, saved, f(a, &o, &r), &r);
}

static PyObject *call_two(PyObject *module, const char *name, of_two *f, PyObject *const *args,
                          Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *b, *r = NULL;
    int flags;
    if (py_args(st, name, "aai", args, n, &a, &b, &flags) < 0)
        return NULL;
    const nd_linalg_opts o = options(flags);
    PyThreadState *saved = py_unlock(a, work_of(a));
    return py_done(st, saved, f(a, b, &o, &r), &r);
}

/* two NULL: three results. */
static PyObject *call_many(PyObject *module, const char *name, to_two *two, to_three *three,
                           PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r[3] = {NULL, NULL, NULL};
    int flags;
    if (py_args(st, name, "ai", args, n, &a, &flags) < 0)
        return NULL;
    const nd_linalg_opts o = options(flags);
    PyThreadState *saved = py_unlock(a, work_of(a));
    const nd_status status = two ? two(a, &o, &r[0], &r[1]) : three(a, &o, &r[0], &r[1], &r[2]);
    py_lock(saved);
    return status == ND_OK ? py_array_tuple(st, r, two ? 2 : 3) : py_fail(st, status);
}

/* (lu, pivots, b, flags) */
static PyObject *lu_solve(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *lu, *pivots, *b, *r = NULL;
    int flags;
    if (py_args(st, "lu_solve", "aaai", args, n, &lu, &pivots, &b, &flags) < 0)
        return NULL;
    const nd_linalg_opts o = options(flags);
    PyThreadState *saved = py_unlock(lu, work_of(lu));
    return py_done(st, saved, nd_lu_solve(lu, pivots, b, &o, &r), &r);
}

/* (x, flags): r alone */
static nd_status r_of(const nd_array *a, const nd_linalg_opts *opts, nd_array **r)
{
    return nd_qr(a, opts, NULL, r);
}

/* The exception class of LINALG. */
static PyObject *linalg_error(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    return py_args(st, "linalg_error", "", args, n) < 0
               ? NULL
               : Py_XNewRef(py_error_class(st, ND_ERR_LINALG));
}

#define ONE(name, f)                                                                  \
    static PyObject *py_##name(PyObject *module, PyObject *const *args, Py_ssize_t n) \
    {                                                                                 \
        return call_one(module, #name, f, args, n);                                   \
    }
#define TWO(name, f)                                                                  \
    static PyObject *py_##name(PyObject *module, PyObject *const *args, Py_ssize_t n) \
    {                                                                                 \
        return call_two(module, #name, f, args, n);                                   \
    }
#define MANY(name, two, three)                                                        \
    static PyObject *py_##name(PyObject *module, PyObject *const *args, Py_ssize_t n) \
    {                                                                                 \
        return call_many(module, #name, two, three, args, n);                         \
    }
ONE(cholesky, nd_cholesky)
ONE(inv, nd_inv)
ONE(det, nd_det)
ONE(qr_r, r_of)
ONE(eigvalsh, nd_eigvalsh)
ONE(eigvals, nd_eigvals)
ONE(svdvals, nd_svdvals)
TWO(solve, nd_solve)
TWO(solve_triangular, nd_solve_triangular)
TWO(cho_solve, nd_cho_solve)
MANY(lu_factor, nd_lu_factor, NULL)
MANY(qr, nd_qr, NULL)
MANY(slogdet, nd_slogdet, NULL)
MANY(eigh, nd_eigh, NULL)
MANY(eig, nd_eig, NULL)
MANY(lu, NULL, nd_lu)
MANY(svd, NULL, nd_svd)

PyMethodDef py_decompose_methods[] = {PY_METHOD("_cholesky", py_cholesky),
                                      PY_METHOD("_inv", py_inv),
                                      PY_METHOD("_det", py_det),
                                      PY_METHOD("_qr_r", py_qr_r),
                                      PY_METHOD("_eigvalsh", py_eigvalsh),
                                      PY_METHOD("_eigvals", py_eigvals),
                                      PY_METHOD("_svdvals", py_svdvals),
                                      PY_METHOD("_solve", py_solve),
                                      PY_METHOD("_solve_triangular", py_solve_triangular),
                                      PY_METHOD("_cho_solve", py_cho_solve),
                                      PY_METHOD("_lu_solve", lu_solve),
                                      PY_METHOD("_lu_factor", py_lu_factor),
                                      PY_METHOD("_qr", py_qr),
                                      PY_METHOD("_slogdet", py_slogdet),
                                      PY_METHOD("_eigh", py_eigh),
                                      PY_METHOD("_eig", py_eig),
                                      PY_METHOD("_lu", py_lu),
                                      PY_METHOD("_svd", py_svd),
                                      PY_METHOD("_linalg_error", linalg_error),
                                      PY_METHODS_END};
