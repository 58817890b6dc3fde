/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What runs between two segments of a graph: functions of Python, and other graphs by a value. */
#include "python/src/graph/graph.h"

/* The library calls this on the thread that launches, without the GIL. The exception stays with the
 * thread, which raises it. */
static nd_status call_eager(void *ctx)
{
    PyGILState_STATE gil;
    if (!py_enter(&gil))
        return ND_ERR_STATE;
    PyObject *answer = PyObject_CallNoArgs(ctx);
    nd_status status = answer ? ND_OK : ND_ERR_STATE;
    Py_XDECREF(answer);
    py_leave(gil);
    return status;
}

PyObject *py_graph_eager(PyObject *self, PyObject *function)
{
    py_state *st = py_state_of_self(self);
    if (!PyCallable_Check(function))
        return PyErr_Format(PyExc_TypeError, "eager() takes a function, not %R", function);
    void *kept = py_keep(function);
    if (!kept)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_graph_break(py_graph_of(self)->graph, call_eager, function, NULL);
    PyEval_RestoreThread(saved);
    if (status == ND_OK)
        status = nd_graph_keep(py_graph_of(self)->stream, py_drop, kept);
    else
        py_unkeep(kept);
    return PyErr_Occurred() ? NULL : py_none(st, status);
}

/* cond(kind, value, bodies), bodies a tuple of graphs */
PyObject *py_graph_cond(PyObject *self, PyObject *args)
{
    py_state *st = py_state_of_self(self);
    nd_graph *bodies[64];
    PyObject *o, *tuple;
    int kind;
    if (!PyArg_ParseTuple(args, "iOO!:cond", &kind, &o, &PyTuple_Type, &tuple))
        return NULL;
    const nd_array *value = py_array_need(st, o, "a condition");
    const Py_ssize_t n = PyTuple_Size(tuple);
    if (!value)
        return NULL;
    if (n > (Py_ssize_t)(sizeof bodies / sizeof *bodies))
        return PyErr_Format(PyExc_ValueError, "%zd bodies; 64 are the most", n);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *body = PyTuple_GetItem(tuple, i);
        if (Py_TYPE(body) != Py_TYPE(self))
            return PyErr_Format(PyExc_TypeError, "a body is a graph, not %R", body);
        bodies[i] = py_graph_of(body)->graph;
    }
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_graph_cond(py_graph_of(self)->graph, kind, value, bodies, (int32_t)n);
    PyEval_RestoreThread(saved);
    py_drop_now();
    return py_none(st, status);
}
