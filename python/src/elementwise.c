/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The elementwise functions, one for each UNARY, BINARY and TERNARY row of op.def. */
#include "py.h"

enum { MOST = 3 }; /* operands */

/* 0, or -1 with an exception set. *first: some array among the operands. */
static int operands(py_state *st, const char *name, PyObject *const *objects, int n, nd_arg *args,
                    const nd_array **first)
{
    *first = NULL;
    for (int i = 0; i < n; i++) {
        args[i].array = py_array_get(st, objects[i]);
        if (args[i].array) {
            *first = *first ? *first : args[i].array;
            continue;
        }
        int scalar = py_scalar(objects[i], &args[i].scalar);
        if (scalar == 0)
            PyErr_Format(PyExc_TypeError,
                         "%s() takes ndock.Arrays and Python scalars, not %R; ndock.asarray makes "
                         "an array of it",
                         name, (PyObject *)Py_TYPE(objects[i]));
        if (scalar <= 0)
            return -1;
    }
    if (!*first)
        PyErr_Format(PyExc_TypeError, "%s() needs at least one ndock.Array", name);
    return *first ? 0 : -1;
}

PyObject *py_apply(py_state *st, nd_op op, PyObject *const *objects, int n, PyObject *out)
{
    nd_arg args[MOST];
    const nd_array *first;
    nd_array *r = NULL;
    const char *name = nd_op_get(op)->name;
    if (operands(st, name, objects, n, args, &first) < 0)
        return NULL;
    if (!out || out == Py_None) {
        PyThreadState *saved = py_unlock(first, nd_size(first));
        nd_status status = nd_apply(op, args, n, NULL, &r);
        py_lock(saved);
        return py_result(st, status, &r);
    }
    nd_array *dst = py_array_need(st, out, name);
    if (!dst)
        return NULL;
    PyThreadState *saved = py_unlock(dst, nd_size(dst));
    nd_status status = nd_apply_into(op, args, n, NULL, dst);
    py_lock(saved);
    return status == ND_OK ? Py_NewRef(out) : py_fail(st, status);
}

/* Positional operands, and at most out=. */
static PyObject *call(PyObject *module, nd_op op, int n, PyObject *const *args, Py_ssize_t given,
                      PyObject *names)
{
    Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    const char *name = nd_op_get(op)->name;
    if (given != n)
        return PyErr_Format(PyExc_TypeError, "%s() takes %d positional arguments, not %zd", name, n,
                            given);
    for (Py_ssize_t i = 0; i < named; i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, i), "out") != 0)
            return PyErr_Format(PyExc_TypeError, "%s() has no argument %R", name,
                                PyTuple_GetItem(names, i));
    return py_apply(py_state_of(module), op, args, n, named ? args[n] : NULL);
}

#define ELEMENTWISE(name, n, doc)                                                       \
    static PyObject *name##_(PyObject *module, PyObject *const *args, Py_ssize_t given, \
                             PyObject *names)                                           \
    {                                                                                   \
        return call(module, ND_OP_##name, n, args, given, names);                       \
    }
#include "elementwise.def"

#define SIGNATURE_1 "(x, /, *, out=None)\n--\n\n"
#define SIGNATURE_2 "(x1, x2, /, *, out=None)\n--\n\n"
#define SIGNATURE_3 "(x1, x2, x3, /, *, out=None)\n--\n\n"
#define ELEMENTWISE(name, n, doc)                                                \
    {#name, (PyCFunction)(void (*)(void))name##_, METH_FASTCALL | METH_KEYWORDS, \
     #name SIGNATURE_##n doc},
PyMethodDef py_elementwise_methods[] = {
#include "elementwise.def"
    {NULL, NULL, 0, NULL}};
