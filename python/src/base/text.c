/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Text between Python and C. Python's strings may hold NUL, where C's end, and lone surrogates,
 * which UTF-8 has not; the library's may hold bytes that are no UTF-8, such as the names of files,
 * and may have been cut within a character. Nothing is cut silently, and no text is an error on its
 * way to Python. */
#include <stdlib.h>
#include "python/src/base/base.h"

const char *py_text(PyObject *o, const char *what)
{
    Py_ssize_t n;
    if (!PyUnicode_Check(o)) {
        PyErr_Format(PyExc_TypeError, "%s is a string, not %R", what, o);
        return NULL;
    }
    const char *text = PyUnicode_AsUTF8AndSize(o, &n);
    if (text && strlen(text) != (size_t)n) {
        PyErr_Format(PyExc_ValueError, "%s holds a NUL character, which cannot be in it: %R", what,
                     o);
        return NULL;
    }
    return text;
}

PyObject *py_path(PyObject *o)
{
    PyObject *bytes = NULL;
    return PyUnicode_FSConverter(o, &bytes) ? bytes : NULL;
}

PyObject *py_from_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace");
}

PyObject *py_text_result(py_state *st, nd_status status, char *text)
{
    if (status != ND_OK)
        return py_fail(st, status);
    PyObject *result = py_from_text(text);
    free(text);
    return result;
}

PyObject *py_from_path(const char *path)
{
    return PyUnicode_DecodeFSDefault(path);
}
