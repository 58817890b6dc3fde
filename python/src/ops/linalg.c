/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Matrix products with everything that the library can do in one call. */
#include "python/src/ops/ops.h"

/* (x1, x2, dtype, alpha, beta, bias or None, epilogue, out or None) */
static PyObject *matmul(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *b, *bias, *dst, *r = NULL;
    int epilogue;
    nd_matmul_opts o = {.size = sizeof o};
    if (py_args(st, "matmul", "aatddAiA", args, n, &a, &b, &o.dtype, &o.alpha, &o.beta, &bias,
                &epilogue, &dst) < 0)
        return py_traced(st, args, n, "_product", "matmul", NULL);
    o.bias = bias;
    o.epilogue = epilogue;
    PyThreadState *saved = py_unlock(a, py_work(a, b));
    if (dst)
        return py_done_into(st, saved, nd_matmul_into(a, b, &o, dst), args[7]);
    return py_done(st, saved, nd_matmul(a, b, &o, &r), &r);
}

/* (a, b, scale_a, scale_b, dtype, bias or None, fast, out or None) */
static PyObject *scaled_mm(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *b, *scale_a, *scale_b, *bias, *dst, *r = NULL;
    int fast;
    nd_scaled_mm_opts o = {.size = sizeof o};
    if (py_args(st, "scaled_mm", "aaaatAiA", args, n, &a, &b, &scale_a, &scale_b, &o.dtype, &bias,
                &fast, &dst) < 0)
        return NULL;
    o.bias = bias;
    o.fast_accumulate = fast;
    PyThreadState *saved = py_unlock(a, py_work(a, b));
    if (dst)
        return py_done_into(st, saved, nd_scaled_mm_into(a, b, scale_a, scale_b, &o, dst), args[7]);
    return py_done(st, saved, nd_scaled_mm(a, b, scale_a, scale_b, &o, &r), &r);
}

PyMethodDef py_linalg_methods[] = {PY_METHOD("_matmul", matmul), PY_METHOD("_scaled_mm", scaled_mm),
                                   PY_METHODS_END};
