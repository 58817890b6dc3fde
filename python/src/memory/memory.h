/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Device memory: what this folder adds to the module. */
#ifndef NDOCK_PY_MEMORY_H
#define NDOCK_PY_MEMORY_H
#include "python/src/streams/streams.h"

/* Lends the pool of a memory.Pool; a TypeError where o is none (allocator.c). */
int py_pool_get(const py_state *st, PyObject *o, nd_pool **out);
/* Makes a memory.Pool of a pool, whose reference is taken over. */
PyObject *py_from_pool(py_state *st, nd_pool *pool, nd_device *device);

int py_init_allocator(PyObject *module, py_state *st);
extern PyMethodDef py_memory_methods[], py_memory_stats_methods[], py_pinned_methods[];
extern PyMethodDef py_plans_methods[];
extern PyMethodDef py_allocator_methods[];

#endif
