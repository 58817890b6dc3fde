/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The library's status codes as exceptions: ndock.Error and, for each status, a class that is also
 * the builtin exception which status.def names. */
#include "python/src/base/base.h"

static const struct {
    const char *name;
    PyObject **python;
} kinds[ND_STATUS_END] = {
#define None NULL
#define ND_STATUS(NAME, value, text, python) [value] = {#NAME, ND_PY_##python},
#define ND_PY_None NULL
#define ND_PY_ValueError &PyExc_ValueError
#define ND_PY_TypeError &PyExc_TypeError
#define ND_PY_IndexError &PyExc_IndexError
#define ND_PY_NotImplementedError &PyExc_NotImplementedError
#define ND_PY_MemoryError &PyExc_MemoryError
#define ND_PY_OverflowError &PyExc_OverflowError
#define ND_PY_OSError &PyExc_OSError
#define ND_PY_RuntimeError &PyExc_RuntimeError
#define ND_PY_TimeoutError &PyExc_TimeoutError
#include <ndock/status.def>
#undef None
};

/* Makes "ndock.NotReadyError" of "NOT_READY"; "ndock.linalg.LinAlgError", which is NumPy's name, of
 * "LINALG". */
static void class_name(const char *status, char *out, size_t n)
{
    if (strcmp(status, "LINALG") == 0) {
        PyOS_snprintf(out, n, "ndock.linalg.LinAlgError");
        return;
    }
    size_t k = (size_t)PyOS_snprintf(out, n, "ndock.");
    bool up = true;
    for (; *status && k + 6 < n; status++) {
        if (*status == '_') {
            up = true;
            continue;
        }
        out[k++] = (char)(up ? *status : *status | 0x20);
        up = false;
    }
    PyOS_snprintf(out + k, n - k, "Error");
}

PyObject *py_error_class(py_state *st, nd_status status)
{
    char name[64];
    if (status <= ND_OK || status >= ND_STATUS_END)
        status = ND_ERR_INTERNAL;
    PyObject *known = atomic_load(&st->errors[status]);
    if (known)
        return known;
    class_name(kinds[status].name, name, sizeof name);
    PyObject *bases = PyTuple_Pack(2, st->error, *kinds[status].python);
    PyObject *made = bases ? PyErr_NewException(name, bases, NULL) : NULL;
    Py_XDECREF(bases);
    if (made && !atomic_compare_exchange_strong(&st->errors[status], &known, made)) {
        Py_DECREF(made); /* another thread was first */
        made = known;
    }
    return made;
}

/* Sets the fields of the library's record as attributes of the exception. */
static int describe(PyObject *exception, const nd_error *e, nd_status status)
{
    const struct {
        const char *name;
        PyObject *value;
    } fields[] = {{"status", py_from_text(nd_status_name(status))},
                  {"op", py_from_text(e->op)},
                  {"argument", PyLong_FromLong(e->argument)},
                  {"native", PyLong_FromLongLong(e->native)},
                  {"device", py_from_text(e->device)},
                  {"plugin", py_from_text(e->plugin)}};
    int result = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (!fields[i].value || PyObject_SetAttrString(exception, fields[i].name, fields[i].value))
            result = -1;
        Py_XDECREF(fields[i].value);
    }
    return result;
}

PyObject *py_fail(py_state *st, nd_status status)
{
    const nd_error *e = nd_last_error();
    PyObject *type = py_error_class(st, status);
    if (!type)
        return NULL;
    PyObject *text = py_error_text(e->message);
    PyObject *exception = text ? PyObject_CallFunctionObjArgs(type, text, NULL) : NULL;
    Py_XDECREF(text);
    if (exception && describe(exception, e, status) == 0)
        PyErr_SetObject(type, exception);
    Py_XDECREF(exception);
    return NULL;
}

int py_check(py_state *st, nd_status status)
{
    if (status == ND_OK)
        return 0;
    py_fail(st, status);
    return -1;
}

PyObject *py_none(py_state *st, nd_status status)
{
    return py_return(st, status, Py_None);
}

PyObject *py_bool(py_state *st, nd_status status, int32_t truth)
{
    return status == ND_OK ? PyBool_FromLong(truth) : py_fail(st, status);
}

py_exception py_put_aside(void)
{
    py_exception e = {NULL, NULL, NULL};
    if (PyErr_Occurred())
        PyErr_Fetch(&e.type, &e.value, &e.trace);
    return e;
}

void py_bring_back(py_exception e)
{
    if (e.type)
        PyErr_Restore(e.type, e.value, e.trace);
}

int py_init_errors(PyObject *module, py_state *st)
{
    st->error = PyErr_NewExceptionWithDoc(
        "ndock.Error",
        "Whatever the library refuses. Every error is also the builtin exception that fits\n"
        "(ValueError for shapes, TypeError for dtypes, MemoryError ...). Attributes: status, op,\n"
        "argument (position from 0, -1: none), native (errno, CUresult ...), device, plugin."
        "\n\n>>> try:\n...     nd.ones(2) + nd.ones(3)\n... except nd.Error as e:\n...     "
        "print(e.op)\nadd\n",
        NULL, NULL);
    return st->error ? PyModule_AddObjectRef(module, "Error", st->error) : -1;
}
