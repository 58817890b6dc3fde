/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What waits and who (sync watch), labels of operations, what a fault's suspects are, the hazard
 * mode and the stream check, and the guard of a tape's backward pass. */
#include <stdlib.h>
#include "python/src/streams/streams.h"

/* ---- the thread's sync watch ---- */
static PyObject *watch_push(PyObject *module, PyObject *mode)
{
    int32_t value;
    return py_setting(mode, &value) < 0 ? NULL
                                        : py_none(py_state_of(module), nd_sync_watch_push(value));
}
static PyObject *watch_pop(PyObject *module, PyObject *unused)
{
    (void)unused;
    return py_none(py_state_of(module), nd_sync_watch_pop());
}
static PyObject *watch_set(PyObject *module, PyObject *mode)
{
    int32_t value;
    return py_setting(mode, &value) < 0 ? NULL
                                        : py_none(py_state_of(module), nd_sync_watch_set(value));
}
static PyObject *watch_counts(PyObject *module, PyObject *unused)
{
    uint64_t counts[ND_WAIT_REASONS];
    PyObject *dict = PyDict_New();
    (void)module, (void)unused;
    nd_sync_watch_counts(counts);
    for (int32_t i = 0; dict && i < ND_WAIT_REASONS; i++)
        if (py_dict_put_named(dict, nd_wait_name(i), PyLong_FromUnsignedLongLong(counts[i])) < 0)
            Py_CLEAR(dict);
    return dict;
}
static PyObject *watch_reset(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    nd_sync_watch_reset();
    Py_RETURN_NONE;
}

/* ---- labels and suspects ---- */
static PyObject *tag_push(PyObject *module, PyObject *text)
{
    const char *tag = py_text(text, "a tag");
    return tag ? py_none(py_state_of(module), nd_tag_push(tag)) : NULL;
}
static PyObject *tag_pop(PyObject *module, PyObject *unused)
{
    (void)unused;
    return py_none(py_state_of(module), nd_tag_pop());
}

enum { MOST_SUSPECTS = 64 };

static PyObject *suspect(py_state *st, const nd_op_note *note)
{
    int shown = note->ndim < 4 ? note->ndim : 4;
    PyObject *shape = note->ndim < 0 ? Py_NewRef(Py_None) : py_tuple(note->shape, shown);
    PyObject *dtype = note->dtype ? py_from_dtype(st, note->dtype) : Py_NewRef(Py_None);
    return Py_BuildValue("{s:K,s:N,s:N,s:i,s:N,s:N}", "sequence", (unsigned long long)note->seq,
                         "name", py_from_text(note->name), "tag", py_from_text(note->tag), "ndim",
                         (int)note->ndim, "dtype", dtype, "shape", shape);
}

static PyObject *fault_window(PyObject *module, PyObject *unused)
{
    py_state *st = py_state_of(module);
    int32_t n;
    (void)unused;
    nd_op_note *notes = calloc(MOST_SUSPECTS, sizeof *notes);
    if (!notes)
        return PyErr_NoMemory();
    nd_status status = nd_fault_window(notes, MOST_SUSPECTS, &n);
    PyObject *list = status == ND_OK ? PyList_New(0) : py_fail(st, status);
    for (int32_t i = 0; list && i < n && i < MOST_SUSPECTS; i++)
        if (py_append(list, suspect(st, &notes[i])) < 0)
            Py_CLEAR(list);
    free(notes);
    return list;
}

/* ---- switches of the process ---- */
static PyObject *set_switch(PyObject *on, void (*set)(int32_t on))
{
    int value = PyObject_IsTrue(on);
    if (value < 0)
        return NULL;
    set(value);
    Py_RETURN_NONE;
}
static PyObject *launch_blocking_set(PyObject *module, PyObject *on)
{
    (void)module;
    return set_switch(on, nd_launch_blocking_set);
}
static PyObject *hazard_mode_set(PyObject *module, PyObject *on)
{
    (void)module;
    return set_switch(on, nd_hazard_mode_set);
}
static PyObject *stream_check_set(PyObject *module, PyObject *on)
{
    (void)module;
    return set_switch(on, nd_stream_check_set);
}
static PyObject *launch_blocking(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(nd_launch_blocking());
}
static PyObject *hazard_mode(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(nd_hazard_mode());
}
static PyObject *stream_check_report(PyObject *module, PyObject *unused)
{
    char *text = NULL;
    int64_t count;
    (void)unused;
    nd_status status = nd_stream_check_report(&text, &count);
    return py_text_result(py_state_of(module), status, text);
}

/* ---- backward ---- */
enum { MOST_STREAMS = 256 };

/* _backward(streams, enter) */
static PyObject *backward(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *tuple;
    int enter;
    nd_stream *used[MOST_STREAMS];
    if (!PyArg_ParseTuple(args, "O!p:_backward", &PyTuple_Type, &tuple, &enter))
        return NULL;
    Py_ssize_t n = PyTuple_Size(tuple);
    if (n > MOST_STREAMS)
        return PyErr_Format(PyExc_ValueError, "at most %d streams can be given, not %zd",
                            MOST_STREAMS, n);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!(used[i] = py_stream_get(st, PyTuple_GetItem(tuple, i))))
            return PyErr_Format(PyExc_TypeError, "%R is no ndock.Stream",
                                PyTuple_GetItem(tuple, i));
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status =
        enter ? nd_backward_enter(used, (int32_t)n) : nd_backward_exit(used, (int32_t)n);
    PyEval_RestoreThread(saved);
    return py_none(st, status);
}

PyMethodDef py_debug_methods[] = {{"_watch_push", watch_push, METH_O, NULL},
                                  {"_watch_pop", watch_pop, METH_NOARGS, NULL},
                                  {"_watch_set", watch_set, METH_O, NULL},
                                  {"_watch_counts", watch_counts, METH_NOARGS, NULL},
                                  {"_watch_reset", watch_reset, METH_NOARGS, NULL},
                                  {"_tag_push", tag_push, METH_O, NULL},
                                  {"_tag_pop", tag_pop, METH_NOARGS, NULL},
                                  {"_fault_window", fault_window, METH_NOARGS, NULL},
                                  {"_launch_blocking_set", launch_blocking_set, METH_O, NULL},
                                  {"_launch_blocking", launch_blocking, METH_NOARGS, NULL},
                                  {"_hazard_mode_set", hazard_mode_set, METH_O, NULL},
                                  {"_hazard_mode", hazard_mode, METH_NOARGS, NULL},
                                  {"_stream_check_set", stream_check_set, METH_O, NULL},
                                  {"_stream_check_report", stream_check_report, METH_NOARGS, NULL},
                                  {"_backward", backward, METH_VARARGS, NULL},
                                  PY_METHODS_END};
