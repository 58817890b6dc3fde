/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The exchange with other libraries as a part of the module: its names, what it adds to Array, its
 * settings, and what is known of addresses. */
#include "exchange.h"

static const char *const names[PYX_NAMES] = {"shape",
                                             "typestr",
                                             "data",
                                             "strides",
                                             "stream",
                                             "version",
                                             "mask",
                                             "ndock_dtype",
                                             "__cuda_array_interface__",
                                             "__dlpack__",
                                             "__dlpack_device__",
                                             "__dlpack_c_exchange_api__",
                                             "max_version",
                                             "copy",
                                             "dl_device"};

int py_add_to_array(py_state *st, PyMethodDef *methods, PyGetSetDef *getset)
{
    int result = 0;
    for (PyMethodDef *m = methods; m && m->ml_name && result == 0; m++) {
        PyObject *d = PyDescr_NewMethod(st->array, m);
        result = d ? PyObject_SetAttrString((PyObject *)st->array, m->ml_name, d) : -1;
        Py_XDECREF(d);
    }
    for (PyGetSetDef *g = getset; g && g->name && result == 0; g++) {
        PyObject *d = PyDescr_NewGetSet(st->array, g);
        result = d ? PyObject_SetAttrString((PyObject *)st->array, g->name, d) : -1;
        Py_XDECREF(d);
    }
    return result;
}

PyObject *py_fail_buffer(py_state *st, nd_status status)
{
    if (status != ND_ERR_READONLY && status != ND_ERR_DEVICE && status != ND_ERR_UNSUPPORTED)
        return py_fail(st, status);
    PyErr_SetString(PyExc_BufferError, nd_last_error()->message);
    return NULL;
}

int py_init_exchange(PyObject *module, py_state *st)
{
    (void)module;
    st->exchange = PyMem_Calloc(1, sizeof *st->exchange);
    if (!st->exchange) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < PYX_NAMES; i++)
        if (!(st->exchange->name[i] = PyUnicode_InternFromString(names[i])))
            return -1;
    st->exchange->version = Py_BuildValue("(ii)", ND_DLPACK_MAJOR, ND_DLPACK_MINOR);
    if (!st->exchange->version || py_add_to_array(st, py_array_dlpack_methods, NULL) < 0 ||
        py_add_to_array(st, NULL, py_array_cai_getset) < 0)
        return -1;
    return py_init_dlpack_c(st);
}

void py_exchange_clear(py_state *st)
{
    py_exchange *x = st->exchange;
    st->exchange = NULL;
    for (int i = 0; x && i < PYX_NAMES; i++)
        Py_XDECREF(x->name[i]);
    if (x)
        Py_XDECREF(x->version);
    PyMem_Free(x);
}

/* (address, device): a tuple, which the package gives names. */
static PyObject *ptr_info(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_device *device = NULL;
    nd_pointer_info info = {.size = sizeof info};
    if (n != 2 || !PyLong_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "ptr_info() takes an address, an int, and a device");
    uint64_t address = PyLong_AsUnsignedLongLong(args[0]);
    if (PyErr_Occurred() || (args[1] != Py_None && py_device(st, args[1], &device) < 0))
        return NULL;
    if (py_check(st, nd_ptr_info(address, device, &info)) < 0)
        return NULL;
    return Py_BuildValue(
        "(NOOOKKKKK)", py_from_device(st, info.device), info.managed ? Py_True : Py_False,
        info.host_accessible ? Py_True : Py_False, info.device_accessible ? Py_True : Py_False,
        (unsigned long long)info.device_address, (unsigned long long)info.host_address,
        (unsigned long long)info.base, (unsigned long long)info.nbytes,
        (unsigned long long)info.context);
}

/* (export policy or 0, sync or 0): both as they are then. */
static PyObject *settings(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    int policy, sync;
    if (py_args(st, "_cai_settings", "ii", args, n, &policy, &sync) < 0 ||
        (policy && py_check(st, nd_cai_export_policy_set(policy)) < 0) ||
        (sync && py_check(st, nd_cai_sync_set(sync)) < 0))
        return NULL;
    return Py_BuildValue("(ii)", (int)nd_cai_export_policy(), (int)nd_cai_sync());
}

PyMethodDef py_exchange_methods[] = {PY_METHOD("_ptr_info", ptr_info),
                                     PY_METHOD("_cai_settings", settings), PY_METHODS_END};
