/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The elementwise functions, one for each UNARY, BINARY and TERNARY row of op.def. */
#include "python/src/ops/ops.h"

enum { MOST = 3 }; /* operands */

/* The operands of a call, and the arrays among them that were made for it. */
typedef struct {
    nd_arg args[MOST];
    nd_array *made[MOST];
    const nd_array *first; /* some Array of the caller's */
} operand_list;

static void release(operand_list *list, int n)
{
    for (int i = 0; i < n; i++)
        nd_release(list->made[i]);
}

/* Reads an operand that is no Array: a scalar, or what becomes an array beside the first. */
static int convert(py_state *st, const char *name, PyObject *o, operand_list *list, int i)
{
    int known = py_scalar(o, &list->args[i].scalar);
    if (known == 0) {
        known = py_operand(st, name, o, list->first, &list->made[i]);
        list->args[i].array = list->made[i];
    }
    if (known == 0)
        PyErr_Format(PyExc_TypeError,
                     "%s() takes ndock.Arrays, Python scalars, lists and NumPy arrays, not %R; "
                     "ndock.asarray makes an array of it",
                     name, (PyObject *)Py_TYPE(o));
    return known > 0 ? 0 : -1;
}

/* Reads the operands; where that fails, there is nothing to release. */
static int operands(py_state *st, nd_op op, PyObject *const *objects, int n, operand_list *list)
{
    int result = 0;
    list->first = NULL;
    for (int i = 0; i < n; i++) {
        list->made[i] = NULL;
        list->args[i].array = py_array_get(st, objects[i]);
        list->first = list->first ? list->first : list->args[i].array;
    }
    if (!list->first) {
        PyErr_Format(PyExc_TypeError,
                     "%s() needs at least one ndock.Array; ndock.asarray makes one",
                     nd_op_get(op)->name);
        return -1;
    }
    for (int i = 0; i < n && result == 0; i++)
        if (!list->args[i].array)
            result = convert(st, nd_op_get(op)->name, objects[i], list, i);
    if (result < 0)
        release(list, n);
    return result;
}

PyObject *py_apply(py_state *st, nd_op op, PyObject *const *objects, int n, PyObject *out)
{
    operand_list list;
    nd_array *dst = NULL, *r = NULL;
    if (operands(st, op, objects, n, &list) < 0)
        return py_traced(st, objects, n, "_apply", nd_op_get(op)->name, out);
    if (out && out != Py_None && !(dst = py_array_need(st, out, nd_op_get(op)->name))) {
        release(&list, n);
        return NULL;
    }
    const nd_array *sized = dst ? dst : list.first;
    PyThreadState *saved = py_unlock(sized, nd_size(sized));
    nd_status status =
        dst ? nd_apply_into(op, list.args, n, NULL, dst) : nd_apply(op, list.args, n, NULL, &r);
    py_lock(saved);
    release(&list, n);
    return dst ? py_return(st, status, out) : py_result(st, status, &r);
}

/* Takes n positional operands, and at most out=. */
static PyObject *call(PyObject *module, nd_op op, int n, PyObject *const *args, Py_ssize_t given,
                      PyObject *names)
{
    py_state *st = py_state_of(module);
    Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    if (given != n)
        return PyErr_Format(PyExc_TypeError, "%s() takes %d positional arguments, not %zd",
                            nd_op_get(op)->name, n, given);
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *word = PyTuple_GetItem(names, i); /* callers' words are interned */
        if (word != st->word_out && PyUnicode_CompareWithASCIIString(word, "out") != 0)
            return PyErr_Format(PyExc_TypeError, "%s() has no argument %R", nd_op_get(op)->name,
                                word);
    }
    return py_apply(st, op, args, n, named ? args[n] : NULL);
}

#define ELEMENTWISE(name, n, DOMAIN, doc)                                               \
    static PyObject *name##_(PyObject *module, PyObject *const *args, Py_ssize_t given, \
                             PyObject *names)                                           \
    {                                                                                   \
        return call(module, ND_OP_##name, n, args, given, names);                       \
    }
#include "python/src/ops/elementwise.def"

/* The rest of a docstring: what the operands are, by their number and their domain, and an example,
 * which tests/python/test_docs.py runs. */
#define SIGNATURE_1 "(x, /, *, out=None)\n--\n\n"
#define SIGNATURE_2 "(x1, x2, /, *, out=None)\n--\n\n"
#define SIGNATURE_3 "(x1, x2, x3, /, *, out=None)\n--\n\n"
#define KINDS_F "floating"
#define KINDS_FC "floating or complex"
#define KINDS_IU "integer"
#define KINDS_BIU "bool or integer"
#define KINDS_IUF "integer or floating"
#define KINDS_BIUF "bool, integer or floating"
#define KINDS_IUFC "integer, floating or complex"
#define KINDS_BIUFC "any"
#define SAMPLE_F "0.25, 0.5"
#define SAMPLE_FC SAMPLE_F
#define SAMPLE_IU "1, 2"
#define SAMPLE_BIU SAMPLE_IU
#define SAMPLE_IUF SAMPLE_F
#define SAMPLE_BIUF SAMPLE_F
#define SAMPLE_IUFC SAMPLE_F
#define SAMPLE_BIUFC SAMPLE_F
#define SCALARS                                                                                  \
    " dtype on one device, at least one of them; the others may be Python scalars,\nwhich take " \
    "the "                                                                                       \
    "Array's dtype where their kind allows, and beside arrays of the host lists and NumPy's\n"   \
    "arrays. Shapes broadcast, dtypes are promoted."
#define OPERANDS_1(KINDS) "x: an Array of " KINDS " dtype."
#define OPERANDS_2(KINDS) "x1, x2: Arrays of " KINDS SCALARS
#define OPERANDS_3(KINDS) "x1, x2, x3: Arrays of " KINDS SCALARS
#define ARGUMENTS_1 "x"
#define ARGUMENTS_2 "x, x"
#define ARGUMENTS_3 "x, x, x"
#define COMMON                                                                                     \
    " out: a writable Array of the result's shape, which\nis returned. Queued on the current "     \
    "stream. "                                                                                     \
    "Errors: ValueError for shapes that do not broadcast\nand devices that differ, TypeError for " \
    "dtypes."
#define EXAMPLE(name, n, DOMAIN)                                                     \
    "\n\n>>> x = nd.asarray([" SAMPLE_##DOMAIN "])\n>>> nd." #name "(" ARGUMENTS_##n \
        ").shape\n(2,)\n"
#define ELEMENTWISE(name, n, DOMAIN, doc)                         \
    {#name, PY_FUNCTION(name##_), METH_FASTCALL | METH_KEYWORDS,  \
     #name SIGNATURE_##n doc ".\n\n" OPERANDS_##n(KINDS_##DOMAIN) \
         COMMON EXAMPLE(name, n, DOMAIN)},
PyMethodDef py_elementwise_methods[] = {
#include "python/src/ops/elementwise.def"
    PY_METHODS_END};
