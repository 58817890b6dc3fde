/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Array.__cuda_array_interface__: nd_cai as the dictionary of CUDA Array Interface, version 3. */
#include <stdlib.h>
#include <string.h>
#include "python/src/exchange/exchange.h"

/* The interface is for memory that CUDA understands. NDOCK_CAI_SIM=1 lets simulated devices speak
 * it too, which is for tests alone: no real consumer could use such an address. */
static bool speaks_cai(const nd_array *a)
{
    static _Atomic int sim; /* 0: not looked at, 1: no, 2: yes */
    nd_device_info info;
    nd_device_describe(nd_device_of(a), &info);
    if (strcmp(info.plugin, "cuda") == 0)
        return true;
    if (strcmp(info.plugin, "sim") != 0)
        return false;
    if (!atomic_load(&sim)) {
        const char *text = getenv("NDOCK_CAI_SIM");
        atomic_store(&sim, text && strcmp(text, "1") == 0 ? 2 : 1);
    }
    return atomic_load(&sim) == 2;
}

static bool wants_vendor_dtypes(void)
{
    static _Atomic int wanted;
    if (!atomic_load(&wanted)) {
        const char *text = getenv("NDOCK_CAI_VENDOR_DTYPES");
        atomic_store(&wanted, text && strcmp(text, "1") == 0 ? 2 : 1);
    }
    return atomic_load(&wanted) == 2;
}

static PyObject *to_dict(const py_exchange *x, const nd_cai *c)
{
    PyObject *d = PyDict_New();
    if (!d)
        return NULL;
    PyObject *strides = c->strides ? py_tuple(c->strides, c->ndim) : Py_NewRef(Py_None);
    PyObject *stream =
        c->stream == ND_CAI_NO_STREAM ? Py_NewRef(Py_None) : PyLong_FromLongLong(c->stream);
    PyObject *address = PyLong_FromUnsignedLongLong(c->data);
    PyObject *data =
        address ? PyTuple_Pack(2, address, c->flags & ND_CAI_READ_ONLY ? Py_True : Py_False) : NULL;
    Py_XDECREF(address);
    int bad = py_dict_put(d, x->name[PYX_SHAPE], py_tuple(c->shape, c->ndim));
    bad |= py_dict_put(d, x->name[PYX_TYPESTR], PyUnicode_FromString(c->typestr));
    bad |= py_dict_put(d, x->name[PYX_DATA], data);
    bad |= py_dict_put(d, x->name[PYX_STRIDES], strides);
    bad |= py_dict_put(d, x->name[PYX_STREAM], stream);
    bad |= py_dict_put(d, x->name[PYX_VERSION], PyLong_FromLong(c->version));
    if (c->dtype[0])
        bad |= py_dict_put(d, x->name[PYX_NDOCK_DTYPE], PyUnicode_FromString(c->dtype));
    if (bad)
        Py_CLEAR(d);
    return d;
}

/* Where there is nothing to export, hasattr is false, and consumers try something else. */
static PyObject *no_attribute(const char *message)
{
    PyErr_SetString(PyExc_AttributeError, message);
    return NULL;
}

static PyObject *get_cai(PyObject *self, void *unused)
{
    py_state *st = py_state_of_array(self);
    const nd_array *a = py_array_of(self);
    const nd_cai_export_opts opts = {.size = sizeof opts,
                                     .flags = wants_vendor_dtypes() ? ND_CAI_VENDOR_DTYPES : 0};
    nd_cai c;
    (void)unused;
    if (!speaks_cai(a))
        return no_attribute("__cuda_array_interface__ is for arrays in CUDA memory; move this one "
                            "with x.to_device('cuda'), or use DLPack or the buffer protocol");
    c.size = sizeof c;
    PyThreadState *saved =
        nd_cai_export_policy() == ND_CAI_EXPORT_SYNC ? PyEval_SaveThread() : NULL;
    nd_status status = nd_cai_export(a, &opts, &c);
    py_lock(saved);
    if (status == ND_ERR_DTYPE)
        return no_attribute(nd_last_error()->message);
    return status == ND_OK ? to_dict(st->exchange, &c) : py_fail(st, status);
}

PyGetSetDef py_array_cai_getset[] = {
    {"__cuda_array_interface__", get_cai, NULL,
     "The CUDA Array Interface, version 3: a dict. Only arrays in CUDA memory have it. stream is "
     "one\nbehind which all work on the array lies that is queued when this is read (None: there "
     "is none);\nit lives as long as the array's memory, as which it must be kept. Nothing waits.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL}};
