/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The extension module ndock._ndock: multi-phase initialisation, one state an interpreter. */
#include "python/src/array/array.h"
#include "python/src/exchange/exchange.h"
#include "python/src/files/files.h"
#include "python/src/graph/graph.h"
#include "python/src/kernels/kernels.h"
#include "python/src/memory/memory.h"
#include "python/src/needle/needle.h"

static int (*const inits[])(PyObject *, py_state *) = {
#define TYPES(x) py_init_##x,
#define METHODS(x)
#include "python/src/module/parts.def"
};
static PyMethodDef *const tables[] = {
#define TYPES(x)
#define METHODS(x) py_##x##_methods,
#include "python/src/module/parts.def"
};

static int exec_module(PyObject *module)
{
    py_state *st = py_state_of(module);
    if (!(st->word_out = PyUnicode_InternFromString("out")))
        return -1;
    for (size_t i = 0; i < sizeof inits / sizeof *inits; i++)
        if (inits[i](module, st) < 0)
            return -1;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (PyModule_AddFunctions(module, tables[i]) < 0)
            return -1;
    return PyModule_AddStringConstant(module, "__version__", ND_VERSION);
}

/* Every object of the state, for the collector. */
static int traverse_module(PyObject *module, visitproc visit, void *arg)
{
    py_state *st = py_state_of(module);
    Py_VISIT(st->array);
    Py_VISIT(st->dtype);
    Py_VISIT(st->device);
    Py_VISIT(st->stream);
    Py_VISIT(st->event);
    Py_VISIT(st->allocator);
    Py_VISIT(st->pool);
    Py_VISIT(st->traced);
    Py_VISIT(st->error);
    for (int i = 0; i < ND_DTYPE_END; i++)
        Py_VISIT(st->dtypes[i]);
    for (int i = 0; i < ND_STATUS_END; i++)
        Py_VISIT(st->errors[i]);
    int status = py_exchange_traverse(st, visit, arg);
    return status ? status : py_needle_traverse(st, visit, arg);
}

static int clear_module(PyObject *module)
{
    py_state *st = py_state_of(module);
    Py_CLEAR(st->array);
    Py_CLEAR(st->dtype);
    Py_CLEAR(st->device);
    Py_CLEAR(st->stream);
    Py_CLEAR(st->event);
    Py_CLEAR(st->allocator);
    Py_CLEAR(st->pool);
    Py_CLEAR(st->traced);
    Py_CLEAR(st->error);
    Py_CLEAR(st->word_out);
    for (int i = 0; i < ND_DTYPE_END; i++)
        Py_CLEAR(st->dtypes[i]);
    for (int i = 0; i < ND_STATUS_END; i++)
        Py_XDECREF(atomic_exchange(&st->errors[i], NULL));
    py_exchange_clear(st);
    py_needle_clear(st);
    return 0;
}

static void free_module(void *module)
{
    (void)clear_module(module);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec_module},
#ifdef Py_GIL_DISABLED
                                   {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
                                   {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        .m_name = "ndock._ndock",
                                        .m_doc = "The C side of ndock; use the package ndock.",
                                        .m_size = sizeof(py_state),
                                        .m_slots = slots,
                                        .m_traverse = traverse_module,
                                        .m_clear = clear_module,
                                        .m_free = free_module};

PyMODINIT_FUNC PyInit__ndock(void);
PyMODINIT_FUNC PyInit__ndock(void)
{
    return PyModuleDef_Init(&definition);
}
