/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Graphs: what this folder adds to the module. */
#ifndef NDOCK_PY_GRAPH_H
#define NDOCK_PY_GRAPH_H
#include "python/src/memory/memory.h"

int py_init_graph(PyObject *module, py_state *st);

#endif
