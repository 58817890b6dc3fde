/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The exchange with other libraries as a part of the module: its names, what it adds to Array, its
 * settings, and what is known of addresses. */
#include "python/src/exchange/exchange.h"

static const char *const names[PYX_NAMES] = {"shape",
                                             "typestr",
                                             "data",
                                             "strides",
                                             "stream",
                                             "version",
                                             "mask",
                                             "descr",
                                             "ndock_dtype",
                                             "__cuda_array_interface__",
                                             "__dlpack__",
                                             "__dlpack_device__",
                                             "__dlpack_c_exchange_api__",
                                             "max_version",
                                             "copy",
                                             "dl_device",
                                             "device",
                                             "obj",
                                             "desc",
                                             "owner",
                                             "sync"};

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

static int position(const py_exchange *x, PyObject *name, const int *which, int n)
{
    for (int i = 0; i < n; i++)
        if (x->name[which[i]] == name) /* interned, as a rule */
            return i;
    for (int i = 0; i < n; i++)
        if (PyUnicode_Compare(x->name[which[i]], name) == 0)
            return i;
    return -1;
}

int py_keywords(py_state *st, const char *function, PyObject *const *args, Py_ssize_t n,
                PyObject *given, const int *which, int wanted, PyObject **out)
{
    Py_ssize_t n_given = given ? PyTuple_Size(given) : 0;
    if (n > wanted) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments, not %zd",
                     function, wanted, n);
        return -1;
    }
    for (int i = 0; i < wanted; i++)
        out[i] = i < n ? args[i] : NULL;
    for (Py_ssize_t k = 0; k < n_given; k++) {
        PyObject *name = PyTuple_GetItem(given, k);
        int i = position(st->exchange, name, which, wanted);
        if (i < 0 || out[i]) {
            PyErr_Format(PyExc_TypeError,
                         i < 0 ? "%s() has no argument '%U'" : "%s() has two values for '%U'",
                         function, name);
            return -1;
        }
        out[i] = args[n + k];
    }
    return 0;
}

int py_int_pair(const char *name, PyObject *o, int32_t *a, int32_t *b)
{
    if (PyTuple_Check(o) && PyTuple_Size(o) == 2) {
        long x = PyLong_AsLong(PyTuple_GetItem(o, 0));
        long y = PyErr_Occurred() ? -1 : PyLong_AsLong(PyTuple_GetItem(o, 1));
        *a = (int32_t)x;
        *b = (int32_t)y;
        if (PyErr_Occurred() || (*a == x && *b == y))
            return PyErr_Occurred() ? -1 : 0;
    }
    PyErr_Format(PyExc_TypeError, "%s is a tuple of two ints, not %R", name, o);
    return -1;
}

PyObject *py_fail_buffer(py_state *st, nd_status status)
{
    if (status != ND_ERR_READONLY && status != ND_ERR_DEVICE && status != ND_ERR_UNSUPPORTED)
        return py_fail(st, status);
    PyObject *text = py_from_text(nd_last_error()->message);
    if (text)
        PyErr_SetObject(PyExc_BufferError, text);
    Py_XDECREF(text);
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
    py_exchange *x = st->exchange;
    x->version = Py_BuildValue("(ii)", ND_DLPACK_MAJOR, ND_DLPACK_MINOR);
    x->arguments = PyDict_New();
    x->nothing = PyTuple_New(0);
    x->getattr = Py_XNewRef(PyDict_GetItemString(PyEval_GetBuiltins(), "getattr"));
    if (!x->version || !x->arguments || !x->nothing || !x->getattr ||
        PyDict_SetItem(x->arguments, x->name[PYX_MAX_VERSION], x->version) < 0 ||
        py_add_to_array(st, py_array_dlpack_methods, NULL) < 0 ||
        py_add_to_array(st, NULL, py_array_cai_getset) < 0)
        return -1;
    return py_init_dlpack_c(st);
}

int py_exchange_traverse(py_state *st, visitproc visit, void *arg)
{
    for (int i = 0; st->exchange && i < PYX_TYPES; i++) {
        PyTypeObject *type = atomic_load(&st->exchange->types[i].type);
        Py_VISIT(type);
    }
    return 0;
}

void py_exchange_clear(py_state *st)
{
    py_exchange *x = st->exchange;
    st->exchange = NULL;
    for (int i = 0; x && i < PYX_NAMES; i++)
        Py_XDECREF(x->name[i]);
    for (int i = 0; x && i < PYX_TYPES; i++)
        Py_XDECREF((PyObject *)atomic_load(&x->types[i].type));
    if (x) {
        Py_XDECREF(x->version);
        Py_XDECREF(x->arguments);
        Py_XDECREF(x->nothing);
        Py_XDECREF(x->getattr);
    }
    PyMem_Free(x);
}

/* (address, device): a tuple, which the package gives names. */
static PyObject *ptr_info(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    nd_pointer_info info = {.size = sizeof info};
    if (n != 2 || !PyLong_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "ptr_info() takes an address, an int, and a device");
    uint64_t address = PyLong_AsUnsignedLongLong(args[0]);
    if (PyErr_Occurred() || py_device_if_given(st, args[1], &device) < 0)
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

/* (export policy, sync, check), 0: as it is. All as they are then. */
static PyObject *settings(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    int policy, sync, check;
    if (py_args(st, "_cai_settings", "iii", args, n, &policy, &sync, &check) < 0 ||
        (policy && py_check(st, nd_cai_export_policy_set(policy)) < 0) ||
        (sync && py_check(st, nd_cai_sync_set(sync)) < 0) ||
        (check && py_check(st, nd_cai_check_set(check)) < 0))
        return NULL;
    return Py_BuildValue("(iii)", (int)nd_cai_export_policy(), (int)nd_cai_sync(),
                         (int)nd_cai_check());
}

PyMethodDef py_exchange_methods[] = {PY_METHOD("_ptr_info", ptr_info),
                                     PY_METHOD("_cai_settings", settings), PY_METHODS_END};
