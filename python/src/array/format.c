/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays as text: repr, str, format, and the options of all three, one set for each interpreter. */
#include "python/src/array/array.h"

/* Only the elements shown are brought to the host. */
static PyObject *text_of(PyObject *self, int style)
{
    py_state *st = py_state_of_array(self);
    nd_array *a = py_array_of(self);
    nd_print_opts opts = st->print;
    char *text = NULL;
    opts.style = style;
    if (py_wait_array(st, a) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a)); /* others may have queued more meanwhile */
    nd_status status = nd_format(a, &opts, &text);
    py_lock(saved);
    return py_text_result(st, status, text);
}

static PyObject *repr(PyObject *self)
{
    return text_of(self, ND_PRINT_REPR);
}

static PyObject *str(PyObject *self)
{
    return text_of(self, ND_PRINT_STR);
}

PyObject *py_array_format(PyObject *self, PyObject *spec)
{
    nd_scalar s;
    if (!PyUnicode_Check(spec))
        return PyErr_Format(PyExc_TypeError, "__format__() takes a str, not %R", spec);
    if (nd_ndim(py_array_of(self)) > 0) {
        if (PyUnicode_GetLength(spec) == 0)
            return str(self);
        return PyErr_Format(PyExc_TypeError,
                            "format %R is for single elements; set_printoptions formats arrays",
                            spec);
    }
    if (py_array_item(self, &s) < 0)
        return NULL;
    PyObject *value = py_from_scalar(s);
    PyObject *result = value ? PyObject_Format(value, spec) : NULL;
    Py_XDECREF(value);
    return result;
}

/* None keeps what is set. */
static int option(PyObject *o, const char *name, int64_t least, int64_t most, int64_t *out)
{
    int n;
    int64_t value;
    if (o == Py_None)
        return 0;
    if (py_ints(o, name, &value, &n) < 0)
        return -1;
    if (n != 1 || value < least || value > most) {
        PyErr_Format(PyExc_ValueError, "%s is from %lld to %lld, not %R", name, (long long)least,
                     (long long)most, o);
        return -1;
    }
    *out = value;
    return 0;
}

/* _print_options(precision, threshold, edgeitems, linewidth, suppress): sets those that are not
 * None; returns all as they were. */
static PyObject *print_options(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    nd_print_opts *now = &py_state_of(module)->print;
    int64_t precision = now->precision, threshold = now->threshold, edge = now->edge_items,
            width = now->line_width;
    if (n != 5)
        return PyErr_Format(PyExc_TypeError, "_print_options() takes 5 arguments, not %zd", n);
    int suppress = args[4] == Py_None ? now->suppress : PyObject_IsTrue(args[4]);
    if (suppress < 0 || option(args[0], "precision", 0, 17, &precision) < 0 ||
        option(args[1], "threshold", 0, INT64_MAX, &threshold) < 0 ||
        option(args[2], "edgeitems", 1, INT32_MAX / 2, &edge) < 0 ||
        option(args[3], "linewidth", 10, INT32_MAX, &width) < 0)
        return NULL;
    PyObject *before = Py_BuildValue("(iLiiO)", (int)now->precision, (long long)now->threshold,
                                     (int)now->edge_items, (int)now->line_width,
                                     now->suppress ? Py_True : Py_False);
    if (!before)
        return NULL;
    *now = (nd_print_opts){.size = sizeof *now,
                           .precision = (int32_t)precision,
                           .edge_items = (int32_t)edge,
                           .line_width = (int32_t)width,
                           .suppress = suppress,
                           .threshold = threshold};
    return before;
}

int py_init_format(PyObject *module, py_state *st)
{
    (void)module;
    st->print = (nd_print_opts){.size = sizeof st->print,
                                .precision = 8,
                                .edge_items = 3,
                                .line_width = 75,
                                .threshold = 1000};
    return 0;
}

PyMethodDef py_format_methods[] = {PY_METHOD("_print_options", print_options), PY_METHODS_END};
const PyType_Slot py_format_slots[] = {
    {Py_tp_repr, (void *)repr}, {Py_tp_str, (void *)str}, {0, NULL}};
