/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Text files of numbers. Texts of options are lent by str objects of the arguments. */
#include <string.h>
#include "python/src/files/files.h"

/* The UTF-8 of a str; *out is NULL for None. */
static int read_text(PyObject *o, const char *what, const char **out)
{
    *out = o == Py_None ? NULL : py_text(o, what);
    return o != Py_None && !*out ? -1 : 0;
}

/* A tuple of ints, malloc'ed by Python; None is none. */
static int read_columns(PyObject *o, int64_t **columns, int32_t *n)
{
    *columns = NULL;
    *n = 0;
    if (o == Py_None)
        return 0;
    const Py_ssize_t count = PyTuple_Size(o);
    if (count < 0)
        return -1;
    if (count == 0 || count > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "loadtxt(): usecols is empty, or too long");
        return -1;
    }
    *columns = PyMem_Calloc((size_t)count, sizeof **columns);
    if (!*columns) {
        PyErr_NoMemory();
        return -1;
    }
    *n = (int32_t)count;
    for (Py_ssize_t i = 0; i < count; i++)
        if (py_int64(PyTuple_GetItem(o, i), &(*columns)[i]) < 0)
            return -1;
    return 0;
}

/* Of a path, or of text in memory where that is not NULL. */
static PyObject *load(py_state *st, PyObject *path, const Py_buffer *text, const nd_csv_opts *opts,
                      nd_device *device)
{
    nd_array *r = NULL;
    const char *name = path ? PyBytes_AsString(path) : NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = text ? nd_csv_read(text->buf, (size_t)text->len, opts, device, &r)
                            : nd_csv_load(name, opts, device, &r);
    return py_done(st, saved, status, &r);
}

/* (path or None, text: bytes or None, dtype, device, skip_rows, max_rows, delimiter, comments,
 * quote: str or None, columns: tuple or None) */
static PyObject *csv_load(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_csv_opts o = {.size = sizeof o};
    nd_device *device;
    const char *quote;
    int64_t *columns = NULL;
    PyObject *result = NULL, *path = NULL;
    Py_buffer text = {.buf = NULL};
    if (n != 10 ||
        py_args(st, "loadtxt", "tvll", args + 2, 4, &o.dtype, &device, &o.skip_rows, &o.max_rows) <
            0 ||
        read_text(args[6], "delimiter", &o.delimiter) < 0 ||
        read_text(args[7], "comments", &o.comments) < 0 ||
        read_text(args[8], "quotechar", &quote) < 0)
        return NULL;
    o.quote = quote ? quote[0] : 0;
    if (args[1] != Py_None && PyObject_GetBuffer(args[1], &text, PyBUF_SIMPLE) < 0)
        return NULL;
    if (read_columns(args[9], &columns, &o.n_columns) == 0 &&
        (text.buf || (path = py_path(args[0])) != NULL)) {
        o.columns = columns;
        result = load(st, path, text.buf ? &text : NULL, &o, device);
    }
    PyMem_Free(columns);
    Py_XDECREF(path);
    if (text.buf)
        PyBuffer_Release(&text);
    return result;
}

static int read_save_options(PyObject *const *args, nd_csv_save_opts *o)
{
    return read_text(args[0], "fmt", &o->format) < 0 ||
                   read_text(args[1], "delimiter", &o->delimiter) < 0 ||
                   read_text(args[2], "newline", &o->newline) < 0 ||
                   read_text(args[3], "header", &o->header) < 0 ||
                   read_text(args[4], "footer", &o->footer) < 0 ||
                   read_text(args[5], "comments", &o->comments) < 0
               ? -1
               : 0;
}

/* (path or None, array, fmt, delimiter, newline, header, footer, comments: str or None): None, or
 * without a path the text. */
static PyObject *csv_save(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_csv_save_opts o = {.size = sizeof o};
    nd_array *a;
    char *text = NULL;
    nd_status status;
    if (n != 8 || py_args(st, "savetxt", "a", args + 1, 1, &a) < 0 ||
        read_save_options(args + 2, &o) < 0)
        return NULL;
    PyObject *path = args[0] == Py_None ? NULL : py_path(args[0]);
    if (!path && args[0] != Py_None)
        return NULL;
    const char *name = path ? PyBytes_AsString(path) : NULL;
    PyThreadState *saved = PyEval_SaveThread();
    status = path ? nd_csv_save(name, a, &o) : nd_csv_text(a, &o, &text);
    PyEval_RestoreThread(saved);
    Py_XDECREF(path);
    return path ? py_none(st, status) : py_text_result(st, status, text);
}

PyMethodDef py_csv_methods[] = {PY_METHOD("_csv_load", csv_load), PY_METHOD("_csv_save", csv_save),
                                PY_METHODS_END};
