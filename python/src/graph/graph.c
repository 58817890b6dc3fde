/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * _Graph: a graph of the library, with the keys of the generators that draw in it. ndock/_graph.py
 * makes Graph of it. */
#include <stdlib.h>
#include "python/src/graph/graph.h"

/* _Graph(stream, mode, pool, weak): begins the capture. */
static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", "mode", "pool", "weak", NULL};
    py_state *st = PyType_GetModuleState(type);
    PyObject *where, *pool;
    int mode, weak;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OiOp:_Graph", names, &where, &mode, &pool,
                                     &weak))
        return NULL;
    nd_stream *stream = py_stream_get(st, where);
    nd_graph_opts opts = {.size = sizeof opts, .mode = mode, .weak = weak};
    if (!stream || (pool != Py_None && py_pool_get(st, pool, &opts.pool) < 0))
        return stream ? NULL
                      : PyErr_Format(PyExc_TypeError, "an ndock.Stream is captured, not %R", where);
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    py_graph *g = (py_graph *)alloc(type, 0);
    if (!g)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_graph_begin(stream, &opts, &g->graph);
    PyEval_RestoreThread(saved);
    if (status == ND_OK) {
        g->stream = nd_stream_retain(stream);
        return (PyObject *)g;
    }
    Py_DECREF(g);
    return py_fail(st, status);
}

static void graph_dealloc(PyObject *self)
{
    py_graph *g = py_graph_of(self);
    PyThreadState *saved = PyEval_SaveThread();
    nd_graph_release(g->graph);
    nd_stream_release(g->stream);
    PyEval_RestoreThread(saved);
    for (key_list *k = g->keys, *next; k; k = next) {
        next = k->next;
        free(k);
    }
    py_drop_now();
    py_plain_dealloc(self);
}

static PyObject *without_gil(PyObject *self, nd_status (*fn)(nd_graph *graph))
{
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = fn(py_graph_of(self)->graph);
    PyEval_RestoreThread(saved);
    py_drop_now();
    return py_none(py_state_of_self(self), status);
}
static PyObject *end(PyObject *self, PyObject *unused)
{
    (void)unused;
    return without_gil(self, nd_graph_end);
}
static PyObject *abort_it(PyObject *self, PyObject *unused)
{
    (void)unused;
    return without_gil(self, nd_graph_abort);
}
static PyObject *instantiate(PyObject *self, PyObject *unused)
{
    (void)unused;
    return without_gil(self, nd_graph_instantiate);
}

/* given: the stream and force, as far as they are there. */
static int launch_arguments(PyObject *const *args, Py_ssize_t n, PyObject *kwnames,
                            PyObject **given)
{
    given[0] = n > 0 ? args[0] : NULL;
    given[1] = NULL;
    if (n > 1)
        return PyErr_Format(PyExc_TypeError, "launch() takes 1 positional argument, not %zd", n),
               -1;
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_Size(kwnames); i++) {
        PyObject *name = PyTuple_GetItem(kwnames, i);
        const int which = PyUnicode_CompareWithASCIIString(name, "stream") != 0;
        if (which && PyUnicode_CompareWithASCIIString(name, "force") != 0)
            return PyErr_Format(PyExc_TypeError, "launch() has no argument %R", name), -1;
        if (given[which])
            return PyErr_Format(PyExc_TypeError, "launch() is given stream twice"), -1;
        given[which] = args[n + i];
    }
    return 0;
}

/* launch(stream=None, *, force=False): also Graph.launch itself, where there is nothing to do besides. */
static PyObject *launch(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    py_state *st = py_state_of_self(self);
    PyObject *given[2];
    nd_stream *stream = NULL;
    if (launch_arguments(args, n, kwnames, given) < 0)
        return NULL;
    const int force = given[1] ? PyObject_IsTrue(given[1]) : 0;
    if (force < 0 || (given[0] && py_stream(st, given[0], nd_graph_device(py_graph_of(self)->graph),
                                            &stream) < 0))
        return NULL;
    const nd_graph_launch_opts opts = {.size = sizeof opts, .force = force};
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_graph_launch(py_graph_of(self)->graph, stream, &opts);
    nd_stream_release(stream);
    PyEval_RestoreThread(saved);
    /* a function between segments has left its own exception */
    return PyErr_Occurred() ? NULL : py_none(st, status);
}

/* ---- arguments ---- */
static PyObject *argument(PyObject *self, PyObject *o)
{
    py_state *st = py_state_of_self(self);
    const nd_array *a = py_array_need(st, o, "argument");
    int32_t index = -1;
    if (!a || py_check(st, nd_graph_arg(py_graph_of(self)->graph, a, &index)) < 0)
        return NULL;
    return PyLong_FromLong(index);
}

/* rebind(index, array) */
static PyObject *rebind(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of_self(self);
    const nd_array *a = n == 2 ? py_array_need(st, args[1], "rebind") : NULL;
    if (!a)
        return n == 2 ? NULL
                      : PyErr_Format(PyExc_TypeError, "rebind() takes 2 arguments, not %zd", n);
    const long index = PyLong_AsLong(args[0]);
    if (index == -1 && PyErr_Occurred())
        return NULL;
    nd_status status = nd_graph_set_arg(py_graph_of(self)->graph, (int32_t)index, a);
    py_drop_now();
    return py_none(st, status);
}

static PyObject *update(PyObject *self, PyObject *other)
{
    py_state *st = py_state_of_self(self);
    int32_t updated = 0;
    if (Py_TYPE(other) != Py_TYPE(self))
        return PyErr_Format(PyExc_TypeError, "a graph is updated with a graph, not %R", other);
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status =
        nd_graph_update(py_graph_of(self)->graph, py_graph_of(other)->graph, &updated);
    PyEval_RestoreThread(saved);
    if (status == ND_OK) { /* the keys are the other's, at their addresses */
        py_graph g = *py_graph_of(self);
        py_graph_of(self)->keys = py_graph_of(other)->keys;
        py_graph_of(self)->n_keys = py_graph_of(other)->n_keys;
        py_graph_of(other)->keys = g.keys;
        py_graph_of(other)->n_keys = g.n_keys;
    }
    py_drop_now();
    return py_bool(st, status, updated);
}

/* ---- keys of random numbers ---- */
static key_list *key_at(PyObject *self, PyObject *index)
{
    Py_ssize_t i = PyLong_AsSsize_t(index), n = py_graph_of(self)->n_keys;
    key_list *k = py_graph_of(self)->keys;
    if (i < 0 || i >= n) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_IndexError, "the graph has %zd keys", n);
        return NULL;
    }
    for (i = n - 1 - i; i > 0; i--)
        k = k->next;
    return k;
}

static int read_key(PyObject *const *args, nd_random_key *key)
{
    key->key = PyLong_AsUnsignedLongLongMask(args[0]);
    key->counter[1] = PyLong_AsUnsignedLongLongMask(args[1]);
    key->counter[0] = PyLong_AsUnsignedLongLongMask(args[2]);
    return PyErr_Occurred() ? -1 : 0;
}

/* random(seed, high, low): a generator draws from there on; its number. */
static PyObject *draws(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of_self(self);
    key_list *k = n == 3 ? calloc(1, sizeof *k) : NULL;
    if (!k)
        return n == 3 ? PyErr_NoMemory()
                      : PyErr_Format(PyExc_TypeError, "random() takes 3 arguments, not %zd", n);
    if (read_key(args, &k->key) < 0 ||
        py_check(st, nd_graph_random(py_graph_of(self)->graph, &k->key)) < 0) {
        free(k);
        return NULL;
    }
    k->next = py_graph_of(self)->keys;
    py_graph_of(self)->keys = k;
    return PyLong_FromSsize_t(py_graph_of(self)->n_keys++);
}

/* set_key(number, seed, high, low) */
static PyObject *set_key(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    if (n != 4)
        return PyErr_Format(PyExc_TypeError, "set_key() takes 4 arguments, not %zd", n);
    key_list *k = key_at(self, args[0]);
    if (!k || read_key(args + 1, &k->key) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* get_key(number): (seed, high, low) */
static PyObject *get_key(PyObject *self, PyObject *index)
{
    const key_list *k = key_at(self, index);
    return k ? Py_BuildValue("(KKK)", (unsigned long long)k->key.key,
                             (unsigned long long)k->key.counter[1],
                             (unsigned long long)k->key.counter[0])
             : NULL;
}

/* ---- looking inside ---- */
static PyObject *text(PyObject *self, PyObject *format)
{
    char *out = NULL;
    const long which = PyLong_AsLong(format);
    if (which == -1 && PyErr_Occurred())
        return NULL;
    nd_status status = nd_graph_text(py_graph_of(self)->graph, (int32_t)which, &out);
    return py_text_result(py_state_of_self(self), status, out);
}

/* dump(path, format) */
static PyObject *dump(PyObject *self, PyObject *args)
{
    PyObject *file;
    int format;
    if (!PyArg_ParseTuple(args, "Oi:dump", &file, &format))
        return NULL;
    PyObject *path = py_path(file);
    if (!path)
        return NULL;
    nd_status status = nd_graph_dump(py_graph_of(self)->graph, PyBytes_AsString(path), format);
    Py_DECREF(path);
    return py_none(py_state_of_self(self), status);
}

static PyObject *get_nodes(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(nd_graph_nodes(py_graph_of(self)->graph));
}
static PyObject *get_segments(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(nd_graph_segments(py_graph_of(self)->graph));
}
static PyObject *get_capturing(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(nd_stream_is_capturing(py_graph_of(self)->stream));
}
static PyObject *get_pool(PyObject *self, void *unused)
{
    nd_pool *pool = nd_graph_pool(py_graph_of(self)->graph);
    (void)unused;
    if (!pool)
        Py_RETURN_NONE;
    return py_from_pool(py_state_of_self(self), nd_pool_retain(pool),
                        nd_graph_device(py_graph_of(self)->graph));
}

static PyGetSetDef getset[] = {
    {"nodes", get_nodes, NULL, "How many operations are in it.", NULL},
    {"segments", get_segments, NULL, "How many parts it has.", NULL},
    {"capturing", get_capturing, NULL, "Whether its stream is captured.", NULL},
    {"pool", get_pool, NULL, "The Pool of its memory, or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyMethodDef methods[] = {
    {"end", end, METH_NOARGS, NULL},
    {"abort", abort_it, METH_NOARGS, NULL},
    {"instantiate", instantiate, METH_NOARGS, NULL},
    {"launch", PY_FUNCTION(launch), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"argument", argument, METH_O, NULL},
    PY_METHOD("rebind", rebind),
    {"update", update, METH_O, NULL},
    {"eager", py_graph_eager, METH_O, NULL},
    {"cond", py_graph_cond, METH_VARARGS, NULL},
    PY_METHOD("random", draws),
    PY_METHOD("set_key", set_key),
    {"get_key", get_key, METH_O, NULL},
    {"text", text, METH_O, NULL},
    {"dump", dump, METH_VARARGS, NULL},
    PY_METHODS_END};
static PyType_Slot slots[] = {{Py_tp_new, (void *)graph_new},
                              {Py_tp_dealloc, (void *)graph_dealloc},
                              {Py_tp_getset, getset},
                              {Py_tp_methods, methods},
                              {0, NULL}};
static PyType_Spec spec = {.name = "ndock._ndock._Graph",
                           .basicsize = sizeof(py_graph),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                           .slots = slots};

int py_init_graph(PyObject *module, py_state *st)
{
    (void)st;
    PyTypeObject *type = py_add_type(module, &spec, "_Graph");
    Py_XDECREF((PyObject *)type);
    return type ? 0 : -1;
}
