/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Expressions, as python/ndock/_fuse.py makes them of a function that it traced, and what the
 * functions of this folder do with a stand-in for an Array while it does. */
#include "python/src/ops/ops.h"

static const char capsule_name[] = "ndock.expr";

/* ---- stand-ins ---- */
PyObject *py_traced(py_state *st, PyObject *const *objects, Py_ssize_t n, const char *method,
                    const char *name, PyObject *last)
{
    for (Py_ssize_t i = 0; st->traced && i < n; i++) {
        if (!objects[i] || Py_TYPE(objects[i]) != st->traced)
            continue;
        PyErr_Clear();
        PyObject *all = PyTuple_New(n);
        for (Py_ssize_t k = 0; all && k < n; k++)
            PyTuple_SetItem(all, k, Py_NewRef(objects[k] ? objects[k] : Py_None));
        PyObject *r =
            all ? PyObject_CallMethod(objects[i], method, "sOO", name, all, last ? last : Py_None)
                : NULL;
        Py_XDECREF(all);
        return r;
    }
    return NULL;
}

/* (type): whose objects stand in for Arrays from now on */
static PyObject *set_traced(PyObject *module, PyObject *type)
{
    py_state *st = py_state_of(module);
    if (!PyType_Check(type))
        return PyErr_Format(PyExc_TypeError, "%R is no type", type);
    PyTypeObject *old = st->traced;
    st->traced = (PyTypeObject *)Py_NewRef(type);
    Py_XDECREF((PyObject *)old);
    Py_RETURN_NONE;
}

/* ---- building ---- */
static void end_capsule(PyObject *capsule)
{
    nd_expr_release(PyCapsule_GetPointer(capsule, capsule_name));
}

static int need_op(const char *name, nd_op *op)
{
    *op = nd_op_find(name);
    if (*op != ND_OP_NONE)
        return 0;
    PyErr_Format(PyExc_ValueError, "there is no operation %s", name);
    return -1;
}

static int small_ints(PyObject *tuple, int32_t *out, int most)
{
    Py_ssize_t n = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : most + 1;
    if (n > most) {
        PyErr_Format(PyExc_TypeError, "%R is no tuple of at most %d nodes", tuple, most);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        out[i] = (int32_t)PyLong_AsLong(PyTuple_GetItem(tuple, i));
        if (out[i] == -1 && PyErr_Occurred())
            return -1;
    }
    return (int)n;
}

/* ("apply", name, nodes) */
static int add_apply(py_state *st, nd_expr *e, PyObject *node)
{
    const char *kind, *name;
    PyObject *operands;
    int32_t from[3], made;
    nd_op op;
    if (!PyArg_ParseTuple(node, "ssO", &kind, &name, &operands) || need_op(name, &op) < 0)
        return -1;
    int n = small_ints(operands, from, 3);
    return n < 0 ? -1 : py_check(st, nd_expr_apply(e, op, from, n, 0, &made));
}

/* ("cast", node, dtype) */
static int add_cast(py_state *st, nd_expr *e, PyObject *node)
{
    const char *kind;
    PyObject *given;
    nd_dtype dtype;
    int from;
    int32_t made;
    if (!PyArg_ParseTuple(node, "siO", &kind, &from, &given) || py_dtype(st, given, &dtype) < 0)
        return -1;
    return py_check(st, nd_expr_cast(e, from, dtype, &made));
}

/* ("reduce", name, node, axes or None, dtype or None, keepdims, correction) */
static int add_reduce(py_state *st, nd_expr *e, PyObject *node)
{
    const char *kind, *name;
    PyObject *axis, *dtype;
    int32_t axes[ND_MAX_NDIM], made;
    int from, naxes, keepdims;
    nd_reduce_opts o = {.size = sizeof o};
    nd_op op;
    if (!PyArg_ParseTuple(node, "ssiOOpd", &kind, &name, &from, &axis, &dtype, &keepdims,
                          &o.correction) ||
        need_op(name, &op) < 0 || py_axes(axis, axes, &naxes) < 0 ||
        py_dtype(st, dtype, &o.dtype) < 0)
        return -1;
    o.keepdims = keepdims;
    if (naxes >= 0) {
        o.axes = axes;
        o.naxes = naxes ? naxes : ND_NO_AXES;
    }
    return py_check(st, nd_expr_reduce(e, op, from, &o, &made));
}

/* ("matmul", node, node) */
static int add_product(py_state *st, nd_expr *e, PyObject *node)
{
    const char *kind;
    int a, b;
    int32_t made;
    if (!PyArg_ParseTuple(node, "sii", &kind, &a, &b))
        return -1;
    return py_check(st, nd_expr_matmul(e, a, b, &made));
}

/* ("scalar", value) */
static int add_scalar(py_state *st, nd_expr *e, PyObject *node)
{
    const char *kind;
    PyObject *value;
    nd_scalar s;
    int32_t made;
    if (!PyArg_ParseTuple(node, "sO", &kind, &value))
        return -1;
    int known = py_scalar(value, &s);
    if (known == 0)
        PyErr_Format(PyExc_TypeError, "%R is no scalar", value);
    return known <= 0 ? -1 : py_check(st, nd_expr_scalar(e, s, &made));
}

static int add_node(py_state *st, nd_expr *e, PyObject *node)
{
    int32_t made;
    const char *kind = PyTuple_Check(node) && PyTuple_Size(node) > 0
                           ? py_text(PyTuple_GetItem(node, 0), "a node's kind")
                           : NULL;
    if (!kind)
        return -1;
    if (strcmp(kind, "input") == 0)
        return py_check(st, nd_expr_input(e, &made));
    if (strcmp(kind, "scalar") == 0)
        return add_scalar(st, e, node);
    if (strcmp(kind, "apply") == 0)
        return add_apply(st, e, node);
    if (strcmp(kind, "cast") == 0)
        return add_cast(st, e, node);
    if (strcmp(kind, "matmul") == 0)
        return add_product(st, e, node);
    return add_reduce(st, e, node);
}

static int add_nodes(py_state *st, nd_expr *e, PyObject *nodes, PyObject *outputs)
{
    int32_t out[ND_EXPR_MAX_RESULTS];
    int n_out = small_ints(outputs, out, ND_EXPR_MAX_RESULTS);
    if (n_out < 0)
        return -1;
    for (Py_ssize_t i = 0; i < PyList_Size(nodes); i++)
        if (add_node(st, e, PyList_GetItem(nodes, i)) < 0)
            return -1;
    for (int i = 0; i < n_out; i++)
        if (py_check(st, nd_expr_output(e, out[i])) < 0)
            return -1;
    return 0;
}

/* (list of nodes, tuple of results): the expression */
static PyObject *expr_make(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_expr *e = NULL;
    if (n != 2 || !PyList_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "a list of nodes and a tuple of results are needed");
    if (py_check(st, nd_expr_create(&e)) < 0)
        return NULL;
    PyObject *made =
        add_nodes(st, e, args[0], args[1]) < 0 ? NULL : PyCapsule_New(e, capsule_name, end_capsule);
    if (!made)
        nd_expr_release(e);
    return made;
}

/* ---- running ---- */
/* The Arrays of a list; for PyMem_Free. */
static nd_arg *inputs_of(const py_state *st, PyObject *list, Py_ssize_t n)
{
    nd_arg *inputs = PyMem_Malloc((size_t)n * sizeof *inputs);
    if (!inputs)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; inputs && i < n; i++) {
        nd_array *a = py_array_need(st, PyList_GetItem(list, i), "fuse");
        if (!a) {
            PyMem_Free(inputs);
            return NULL;
        }
        inputs[i] = nd_array_arg(a);
    }
    return inputs;
}

PyObject *py_expr_run(py_state *st, PyObject *capsule, PyObject *list, long n_out, int epilogues)
{
    nd_array *out[ND_EXPR_MAX_RESULTS];
    nd_expr_opts opts = {.size = sizeof opts};
    nd_expr *e = PyCapsule_GetPointer(capsule, capsule_name);
    Py_ssize_t n_in = PyList_Size(list);
    if (!e || n_in < 1 || n_in > ND_EXPR_MAX_NODES || n_out < 1 || n_out > ND_EXPR_MAX_RESULTS)
        return PyErr_Format(PyExc_ValueError, "%zd inputs and %ld results", n_in, n_out);
    nd_arg *inputs = inputs_of(st, list, n_in);
    if (!inputs)
        return NULL;
    opts.flags = epilogues ? ND_EXPR_EPILOGUES : 0;
    const nd_array *first = inputs[0].array;
    PyThreadState *saved = py_unlock(first, nd_size(first));
    nd_status status = nd_expr_run(e, inputs, (int)n_in, &opts, (int)n_out, out);
    py_lock(saved);
    PyMem_Free(inputs);
    return status == ND_OK ? py_array_tuple(st, out, (int)n_out) : py_fail(st, status);
}

/* (expression, list of Arrays, how many results, with epilogues): a tuple of Arrays */
static PyObject *expr_run(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 4 || !PyCapsule_IsValid(args[0], capsule_name) || !PyList_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "an expression, a list and two numbers are needed");
    const long n_out = PyLong_AsLong(args[2]);
    const int epilogues = PyObject_IsTrue(args[3]);
    if (PyErr_Occurred())
        return NULL;
    return py_expr_run(py_state_of(module), args[0], args[1], n_out, epilogues);
}

static PyObject *expr_reason(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return py_from_text(nd_expr_reason());
}

static PyObject *expr_statistics(PyObject *module, PyObject *unused)
{
    nd_expr_stats s = {.size = sizeof s};
    (void)unused;
    if (py_check(py_state_of(module), nd_expr_statistics(&s)) < 0)
        return NULL;
    return Py_BuildValue("{sIsKsKsKsKsKsKsKsK}", "programs", s.programs, "hits", s.hits, "misses",
                         s.misses, "evictions", s.evictions, "compiled", s.compiled, "refused",
                         s.refused, "compile_ns", s.compile_ns, "fused_runs", s.fused_runs,
                         "eager_runs", s.eager_runs);
}

static PyObject *expr_cache_clear(PyObject *module, PyObject *unused)
{
    (void)unused;
    PyThreadState *saved = PyEval_SaveThread(); /* devices may still run some */
    nd_status status = nd_expr_cache_clear();
    PyEval_RestoreThread(saved);
    return py_none(py_state_of(module), status);
}

static PyObject *expr_cache_set_max(PyObject *module, PyObject *max)
{
    int64_t n;
    if (py_int64(max, &n) < 0)
        return NULL;
    return py_none(py_state_of(module), nd_expr_cache_set_max(n));
}

/* _layout(array): bytes that arrays of one device, dtype, shape and strides share */
static PyObject *layout(PyObject *module, PyObject *x)
{
    const nd_array *a = py_array_need(py_state_of(module), x, "_layout");
    int64_t word[2 + 2 * ND_MAX_NDIM];
    if (!a)
        return NULL;
    const int n = nd_ndim(a);
    word[0] = (int64_t)(intptr_t)nd_device_of(a);
    word[1] = nd_dtype_of(a);
    for (int d = 0; d < n; d++) {
        word[2 + d] = nd_shape(a)[d];
        word[2 + n + d] = nd_strides(a)[d];
    }
    return PyBytes_FromStringAndSize((const char *)word, (2 + 2 * n) * (Py_ssize_t)sizeof *word);
}

PyMethodDef py_expr_methods[] = {{"_traced_type", set_traced, METH_O, NULL},
                                 PY_METHOD("_signature", py_call_signature),
                                 PY_METHOD("_expr_make", expr_make),
                                 PY_METHOD("_expr_run", expr_run),
                                 PY_METHOD("_expr_call", py_expr_call),
                                 {"_expr_reason", expr_reason, METH_NOARGS, NULL},
                                 {"_expr_statistics", expr_statistics, METH_NOARGS, NULL},
                                 {"_expr_cache_clear", expr_cache_clear, METH_NOARGS, NULL},
                                 {"_expr_cache_set_max", expr_cache_set_max, METH_O, NULL},
                                 {"_layout", layout, METH_O, NULL},
                                 PY_METHODS_END};
