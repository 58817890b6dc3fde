/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Device memory: what this folder adds to the module. */
#ifndef NDOCK_PY_MEMORY_H
#define NDOCK_PY_MEMORY_H
#include "python/src/streams/streams.h"

int py_init_allocator(PyObject *module, py_state *st);
extern PyMethodDef py_memory_methods[], py_memory_stats_methods[], py_pinned_methods[];
extern PyMethodDef py_plans_methods[];
extern PyMethodDef py_allocator_methods[];

#endif
