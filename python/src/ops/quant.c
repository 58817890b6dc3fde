/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quantised arrays, which are Python's pair of an Array of blocks and a format's name. */
#include <stdio.h>
#include "python/src/ops/ops.h"

/* The format of a name; 0 with a ValueError that lists those there are. */
static nd_quant_format py_format(PyObject *o)
{
    const char *name = py_text(o, "a quantised format");
    const nd_quant_format format = name ? nd_quant_find(name) : 0;
    char known[200] = "";
    if (!name || format)
        return format;
    for (nd_quant_format f = 1; f < ND_QUANT_END; f++) {
        const size_t used = strlen(known);
        if (nd_quant_get(f))
            snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                     nd_quant_get(f)->name);
    }
    PyErr_Format(PyExc_ValueError, "there is no quantised format '%s'; there are %s", name, known);
    return 0;
}

/* The quantised array of (blocks, format), two arguments; NULL with an exception. */
static nd_qarray *py_quantised(py_state *st, const char *function, PyObject *const *args)
{
    const nd_array *blocks = py_array_need(st, args[0], function);
    const nd_quant_format format = blocks ? py_format(args[1]) : 0;
    nd_qarray *q = NULL;
    if (format && py_check(st, nd_qarray_wrap(blocks, format, &q)) < 0)
        return NULL;
    return q;
}

static int need(const char *function, Py_ssize_t n, Py_ssize_t wanted)
{
    if (n == wanted)
        return 1;
    PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, not %zd", function, wanted, n);
    return 0;
}

/* (format): elements and bytes of a block */
static PyObject *quant_block(PyObject *module, PyObject *o)
{
    (void)module;
    const nd_quant_format format = py_format(o);
    const nd_quant_info *info = nd_quant_get(format);
    return format ? Py_BuildValue("(ii)", (int)info->block, (int)info->nbytes) : NULL;
}

/* (x, format): the blocks */
static PyObject *quantize(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_qarray *q = NULL;
    nd_array *r = NULL;
    if (!need("quantize", n, 2))
        return NULL;
    nd_array *x = py_array_need(st, args[0], "quantize");
    const nd_quant_format format = x ? py_format(args[1]) : 0;
    if (!format)
        return NULL;
    PyThreadState *saved = py_unlock(x, 16 * nd_size(x));
    const nd_status status = nd_quantize(x, format, &q);
    py_lock(saved);
    if (status == ND_OK)
        r = nd_retain((nd_array *)(uintptr_t)nd_qarray_blocks(q));
    nd_qarray_release(q);
    return py_result(st, status, &r);
}

/* (blocks, format, dtype or None) */
static PyObject *dequantize(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_dtype dtype;
    nd_array *r = NULL;
    if (!need("dequantize", n, 3) || py_args(st, "dequantize", "t", args + 2, 1, &dtype) < 0)
        return NULL;
    nd_qarray *q = py_quantised(st, "dequantize", args);
    if (!q)
        return NULL;
    const nd_array *blocks = nd_qarray_blocks(q);
    PyThreadState *saved = py_unlock(blocks, nd_size(blocks));
    const nd_status status = nd_dequantize(q, dtype, &r);
    py_lock(saved);
    nd_qarray_release(q);
    return py_result(st, status, &r);
}

/* (x, blocks, format) */
static PyObject *matmul_q(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *r = NULL;
    if (!need("matmul_q", n, 3))
        return NULL;
    const nd_array *x = py_array_need(st, args[0], "matmul_q");
    nd_qarray *q = x ? py_quantised(st, "matmul_q", args + 1) : NULL;
    if (!q)
        return NULL;
    PyThreadState *saved = py_unlock(x, py_work(x, nd_qarray_blocks(q)));
    const nd_status status = nd_matmul_q(x, q, &r);
    py_lock(saved);
    nd_qarray_release(q);
    return py_result(st, status, &r);
}

/* (blocks, format, indices, dtype or None) */
static PyObject *embedding_q(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *r = NULL, *indices;
    nd_dtype dtype;
    if (!need("embedding_q", n, 4) ||
        py_args(st, "embedding_q", "at", args + 2, 2, &indices, &dtype) < 0)
        return NULL;
    nd_qarray *q = py_quantised(st, "embedding_q", args);
    if (!q)
        return NULL;
    PyThreadState *saved = py_unlock(indices, INT64_MAX);
    const nd_status status = nd_embedding_q(q, indices, dtype, &r);
    py_lock(saved);
    nd_qarray_release(q);
    return py_result(st, status, &r);
}

PyMethodDef py_quant_methods[] = {{"_quant_block", quant_block, METH_O, NULL},
                                  PY_METHOD("_quantize", quantize),
                                  PY_METHOD("_dequantize", dequantize),
                                  PY_METHOD("_matmul_q", matmul_q),
                                  PY_METHOD("_embedding_q", embedding_q),
                                  PY_METHODS_END};
