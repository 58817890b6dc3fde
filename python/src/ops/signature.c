/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The signature of a call that fuse has wrapped: words for what its arguments are made of, and objects
 * for what words do not tell; and the Arrays among the arguments, in order. */
#include "python/src/ops/ops.h"

enum { WORD_ARRAY = 1, WORD_TUPLE, WORD_LIST, WORD_SEQUENCE, WORD_DICT, WORD_FLOAT, WORD_OBJECT };

typedef struct {
    const py_state *st;
    PyObject *arrays, *objects; /* lists; objects NULL: none yet */
    int64_t *word, few[128];
    size_t n, room;
} signature;

static int add_word(signature *s, int64_t word)
{
    if (s->n == s->room) {
        int64_t *grown = PyMem_Malloc(2 * s->room * sizeof *grown);
        if (!grown) {
            PyErr_NoMemory();
            return -1;
        }
        memcpy(grown, s->word, s->n * sizeof *grown);
        if (s->word != s->few)
            PyMem_Free(s->word);
        s->word = grown;
        s->room *= 2;
    }
    s->word[s->n++] = word;
    return 0;
}

/* Takes over the object. */
static int add_object(signature *s, PyObject *o)
{
    if (o && !s->objects)
        s->objects = PyList_New(0);
    int r = o && s->objects ? PyList_Append(s->objects, o) : -1;
    Py_XDECREF(o);
    return r;
}

static int add(signature *s, PyObject *x);

static int add_array(signature *s, PyObject *x, const nd_array *a)
{
    const int64_t what = WORD_ARRAY | (int64_t)nd_dtype_of(a) << 8 | (int64_t)nd_ndim(a) << 40;
    if (add_word(s, what) < 0 || add_word(s, (int64_t)(intptr_t)nd_device_of(a)) < 0)
        return -1;
    return PyList_Append(s->arrays, x);
}

static int add_sequence(signature *s, PyObject *x)
{
    const int is_tuple = PyTuple_Check(x);
    const int kind = PyTuple_CheckExact(x)  ? WORD_TUPLE
                     : PyList_CheckExact(x) ? WORD_LIST
                                            : WORD_SEQUENCE;
    if (add_word(s, kind | (int64_t)PyObject_Size(x) << 8) < 0 ||
        (kind == WORD_SEQUENCE && add_object(s, Py_NewRef((PyObject *)Py_TYPE(x))) < 0))
        return -1;
    for (Py_ssize_t i = 0; i < (is_tuple ? PyTuple_Size(x) : PyList_Size(x)); i++)
        if (add(s, is_tuple ? PyTuple_GetItem(x, i) : PyList_GetItem(x, i)) < 0)
            return -1;
    return 0;
}

static int add_dict(signature *s, PyObject *x)
{
    PyObject *value;
    Py_ssize_t at = 0;
    if (add_word(s, WORD_DICT | (int64_t)PyDict_Size(x) << 8) < 0 ||
        add_object(s, PySequence_Tuple(x)) < 0)
        return -1;
    while (PyDict_Next(x, &at, NULL, &value))
        if (add(s, value) < 0)
            return -1;
    return 0;
}

/* Floating numbers by their bits or texts: 0.0 is not -0.0, and a NaN is like itself. */
static int add_value(signature *s, PyObject *x)
{
    if (PyFloat_CheckExact(x)) {
        const double value = PyFloat_AsDouble(x);
        int64_t bits;
        memcpy(&bits, &value, sizeof bits);
        return add_word(s, WORD_FLOAT) < 0 ? -1 : add_word(s, bits);
    }
    PyObject *key = PyFloat_Check(x) || PyComplex_Check(x) ? PyObject_Repr(x) : Py_NewRef(x);
    PyObject *pair = key ? PyTuple_Pack(2, (PyObject *)Py_TYPE(x), key) : NULL;
    Py_XDECREF(key);
    return add_object(s, pair) < 0 ? -1 : add_word(s, WORD_OBJECT);
}

static int add_any(signature *s, PyObject *x)
{
    const nd_array *a = py_array_get(s->st, x);
    if (a)
        return add_array(s, x, a);
    const int is_sequence = PyTuple_Check(x) || PyList_Check(x);
    if (is_sequence || PyDict_Check(x)) {
        if (Py_EnterRecursiveCall(" in the arguments of a function that fuse has wrapped"))
            return -1;
        int r = is_sequence ? add_sequence(s, x) : add_dict(s, x);
        Py_LeaveRecursiveCall();
        return r;
    }
    if (Py_TYPE(x) == s->st->traced) {
        PyErr_SetString(PyExc_TypeError, "it is called while another function is traced");
        return -1;
    }
    return add_value(s, x);
}

/* Objects' own code runs meanwhile, and may take x out of what it lies in. */
static int add(signature *s, PyObject *x)
{
    Py_INCREF(x);
    int r = add_any(s, x);
    Py_DECREF(x);
    return r;
}

/* The words, with the objects in a tuple behind them if there are any. */
static PyObject *key_of(const signature *s)
{
    PyObject *words =
        PyBytes_FromStringAndSize((const char *)s->word, (Py_ssize_t)(s->n * sizeof *s->word));
    if (!s->objects || !words)
        return words;
    PyObject *objects = PyList_AsTuple(s->objects);
    PyObject *key = objects ? PyTuple_Pack(2, words, objects) : NULL;
    Py_XDECREF(objects);
    Py_DECREF(words);
    return key;
}

/* _signature(args, kwargs): (what tells calls of one kind from others, a list of the Arrays) */
PyObject *py_call_signature(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    PyObject *key = NULL, *r = NULL;
    signature s = {.st = py_state_of(module), .room = sizeof s.few / sizeof *s.few};
    s.word = s.few;
    if (n != 2)
        return PyErr_Format(PyExc_TypeError, "_signature() takes 2 arguments, not %zd", n);
    s.arrays = PyList_New(0);
    if (s.arrays && add(&s, args[0]) == 0 && (PyObject_Size(args[1]) == 0 || add(&s, args[1]) == 0))
        key = key_of(&s);
    if (key)
        r = PyTuple_Pack(2, key, s.arrays);
    Py_XDECREF(key);
    Py_XDECREF(s.arrays);
    Py_XDECREF(s.objects);
    if (s.word != s.few)
        PyMem_Free(s.word);
    return r;
}

/* ---- calls that are known ---- */
/* A known call: (expression, how many results, with epilogues, function that makes the result of the
 * tuples of results and inputs; None: it is the one result) */
static PyObject *run_known(py_state *st, PyObject *known, PyObject *arrays)
{
    PyObject *rebuild = PyTuple_GetItem(known, 3);
    PyObject *results =
        py_expr_run(st, PyTuple_GetItem(known, 0), arrays, PyLong_AsLong(PyTuple_GetItem(known, 1)),
                    PyTuple_GetItem(known, 2) == Py_True);
    if (!results)
        return NULL;
    PyObject *r = rebuild == Py_None ? Py_NewRef(PyTuple_GetItem(results, 0))
                                     : PyObject_CallFunctionObjArgs(rebuild, results, arrays, NULL);
    Py_DECREF(results);
    return r;
}

/* The result, which is taken over, once the wrapper has the reason of the run. */
static PyObject *with_reason(PyObject *result, PyObject *wrapper)
{
    PyObject *text = py_from_text(nd_expr_reason());
    if (text && PyObject_SetAttrString(wrapper, "fused_reason", text) == 0) {
        Py_DECREF(text);
        return result;
    }
    Py_XDECREF(text);
    Py_DECREF(result);
    return NULL;
}

/* (dict of known calls by signature, args, kwargs, wrapper): the call's result; NotImplemented: it is not
 * known, and ndock/_fuse.py sees to it. The wrapper gets a reason where there is one. */
PyObject *py_expr_call(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 4 || !PyDict_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "a dict and the arguments of a call are needed");
    PyObject *made = py_call_signature(module, args + 1, 2);
    if (!made) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            return NULL;
        PyErr_Clear();
        return Py_NewRef(Py_NotImplemented);
    }
    PyObject *known = PyDict_GetItemWithError(args[0], PyTuple_GetItem(made, 0)), *r = NULL;
    if (known) {
        Py_INCREF(known); /* another thread may forget it meanwhile */
        r = run_known(py_state_of(module), known, PyTuple_GetItem(made, 1));
        Py_DECREF(known);
        if (r && nd_expr_reason()[0])
            r = with_reason(r, args[3]);
    } else if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        r = Py_NewRef(Py_NotImplemented);
    }
    Py_DECREF(made);
    return r;
}
