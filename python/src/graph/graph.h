/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Graphs: what this folder adds to the module, and what its files share. */
#ifndef NDOCK_PY_GRAPH_H
#define NDOCK_PY_GRAPH_H
#include "python/src/memory/memory.h"

typedef struct key_list {
    struct key_list *next;
    nd_random_key key;
} key_list;
typedef struct {
    PyObject_HEAD nd_graph *graph;
    nd_stream *stream; /* retained */
    key_list *keys;    /* the latest first; the library has their addresses */
    Py_ssize_t n_keys;
} py_graph;

static inline py_graph *py_graph_of(PyObject *self)
{
    return (py_graph *)self;
}

/* ---- between.c: methods of _Graph ---- */
PyObject *py_graph_eager(PyObject *self, PyObject *function);
/* cond(kind, value, bodies), bodies a tuple of graphs */
PyObject *py_graph_cond(PyObject *self, PyObject *args);

int py_init_graph(PyObject *module, py_state *st);

#endif
