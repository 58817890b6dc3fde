/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Math modes: what matrix products may trade for speed. Settings and values go by number here. */
#include "python/src/ops/ops.h"

/* _math_set(setting, plugin or None, op, value) */
static PyObject *set(PyObject *module, PyObject *args)
{
    int setting, op, value;
    const char *plugin;
    if (!PyArg_ParseTuple(args, "izii:_math_set", &setting, &plugin, &op, &value))
        return NULL;
    return py_none(py_state_of(module), nd_math_set(setting, plugin, op, value));
}
static PyObject *push(PyObject *module, PyObject *args)
{
    int setting, op, value;
    const char *plugin;
    if (!PyArg_ParseTuple(args, "izii:_math_push", &setting, &plugin, &op, &value))
        return NULL;
    return py_none(py_state_of(module), nd_math_push(setting, plugin, op, value));
}
static PyObject *pop(PyObject *module, PyObject *unused)
{
    (void)unused;
    return py_none(py_state_of(module), nd_math_pop());
}
/* _math_get(setting, plugin or None, op) */
static PyObject *get(PyObject *module, PyObject *args)
{
    int setting, op;
    const char *plugin;
    (void)module;
    if (!PyArg_ParseTuple(args, "izi:_math_get", &setting, &plugin, &op))
        return NULL;
    return PyLong_FromLong(nd_math_get(setting, plugin, op));
}
/* _math_all(): the value of each setting, as bytes: what kernels could be chosen by */
static PyObject *all(PyObject *module, PyObject *unused)
{
    char value[ND_MATH_SETTINGS];
    (void)module, (void)unused;
    for (int i = 0; i < ND_MATH_SETTINGS; i++)
        value[i] = (char)nd_math_get(i, NULL, ND_OP_NONE);
    return PyBytes_FromStringAndSize(value, sizeof value);
}
/* _math_op(name): its number */
static PyObject *op_number(PyObject *module, PyObject *name)
{
    const char *text = py_text(name, "the name of an operation");
    nd_op op = text ? nd_op_find(text) : ND_OP_NONE;
    (void)module;
    if (op != ND_OP_NONE)
        return PyLong_FromLong(op);
    return PyErr_Occurred() ? NULL
                            : PyErr_Format(PyExc_ValueError, "there is no operation %R", name);
}

/* ---- under the names of others ---- */
static PyObject *set_allow_tf32(PyObject *module, PyObject *allow)
{
    int value = PyObject_IsTrue(allow);
    return value < 0 ? NULL : py_none(py_state_of(module), nd_math_set_allow_tf32(value));
}
static PyObject *allow_tf32(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(nd_math_allow_tf32());
}
static PyObject *set_matmul_precision(PyObject *module, PyObject *args)
{
    const char *text;
    if (!PyArg_ParseTuple(args, "s:set_matmul_precision", &text))
        return NULL;
    return py_none(py_state_of(module), nd_math_set_matmul_precision(text));
}
static PyObject *matmul_precision(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyUnicode_FromString(nd_math_matmul_precision());
}
static PyObject *set_fp32_precision(PyObject *module, PyObject *args)
{
    const char *name, *precision;
    if (!PyArg_ParseTuple(args, "ss:set_fp32_precision", &name, &precision))
        return NULL;
    return py_none(py_state_of(module), nd_math_set_fp32_precision(name, precision));
}
static PyObject *fp32_precision(PyObject *module, PyObject *args)
{
    const char *name, *precision;
    if (!PyArg_ParseTuple(args, "s:fp32_precision", &name))
        return NULL;
    nd_status status = nd_math_fp32_precision(name, &precision);
    return status == ND_OK ? PyUnicode_FromString(precision) : py_fail(py_state_of(module), status);
}

/* _effective_precision(op, dtype, device, None or (m, n, k)) */
static PyObject *effective(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    int op, n = 0;
    PyObject *type, *where, *extents;
    nd_dtype dtype;
    nd_device *device;
    int64_t mnk[ND_MAX_NDIM];
    const char *text;
    if (!PyArg_ParseTuple(args, "iOOO:_effective_precision", &op, &type, &where, &extents) ||
        py_dtype(st, type, &dtype) < 0 || py_device(st, where, &device) < 0 ||
        (extents != Py_None && py_ints(extents, "mnk", mnk, &n) < 0) ||
        py_or_current(st, &device) < 0)
        return NULL;
    if (extents != Py_None && n != 3)
        return PyErr_Format(PyExc_ValueError, "mnk has 3 extents, not %d", n);
    nd_status status = nd_effective_precision(op, dtype, device, n ? mnk : NULL, &text);
    return status == ND_OK ? PyUnicode_FromString(text) : py_fail(st, status);
}

PyMethodDef py_math_methods[] = {
    {"_math_set", set, METH_VARARGS, NULL},
    {"_math_push", push, METH_VARARGS, NULL},
    {"_math_pop", pop, METH_NOARGS, NULL},
    {"_math_get", get, METH_VARARGS, NULL},
    {"_math_all", all, METH_NOARGS, NULL},
    {"_math_op", op_number, METH_O, NULL},
    {"_set_allow_tf32", set_allow_tf32, METH_O, NULL},
    {"_allow_tf32", allow_tf32, METH_NOARGS, NULL},
    {"_set_matmul_precision", set_matmul_precision, METH_VARARGS, NULL},
    {"_matmul_precision", matmul_precision, METH_NOARGS, NULL},
    {"_set_fp32_precision", set_fp32_precision, METH_VARARGS, NULL},
    {"_fp32_precision", fp32_precision, METH_VARARGS, NULL},
    {"_effective_precision", effective, METH_VARARGS, NULL},
    PY_METHODS_END};
