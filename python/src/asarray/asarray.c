/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * asarray: which way an object comes in, and when that is a copy. */
#include "python/src/asarray/asarray.h"

/* Brings a to another dtype (0: its own), then to another device (NULL: its own); *out is always
 * another array. */
static nd_status carry_over(const nd_array *a, nd_dtype dtype, nd_device *device, nd_array **out)
{
    nd_array *cast = NULL;
    if (!dtype)
        return nd_copy(a, device, out);
    nd_status status = nd_astype(a, dtype, device ? &cast : out);
    if (status == ND_OK && device)
        status = nd_to_device(cast, device, out);
    nd_release(cast);
    return status;
}

static void refuse_copy(bool cast, bool move)
{
    PyErr_Format(PyExc_ValueError,
                 "copy=False, but %s needs a copy; leave copy out, or ask for what is there",
                 cast   ? "the conversion to another dtype"
                 : move ? "the way to another device"
                        : "memory that is not host-visible there, not aligned or not in "
                          "native byte order");
}

/* The same, after waiting where Ctrl-C is to end the wait; NULL with an exception. */
static nd_array *carried_over(py_state *st, const nd_array *a, nd_dtype dtype, nd_device *device)
{
    nd_array *next = NULL;
    if (device && !py_is_async(device) &&
        py_wait_array(st, a) < 0) /* the copy would wait as well */
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    nd_status status = carry_over(a, dtype, device, &next);
    py_lock(saved);
    (void)py_check(st, status);
    return next;
}

/* Brings a, which is taken over, to the dtype and the device by the copy rule of asarray. copied
 * says that nobody else has the array's memory. */
static nd_array *convert(py_state *st, nd_array *a, nd_dtype dtype, nd_device *device, int copy,
                         bool copied)
{
    bool cast = dtype && dtype != nd_dtype_of(a), move = device && device != nd_device_of(a);
    bool changed = cast || move;
    nd_array *next = NULL;
    if (copy == PY_COPY_NEVER && (changed || copied))
        refuse_copy(cast, move);
    else if (!changed && (copied || copy != PY_COPY_ALWAYS))
        return a;
    else
        next = carried_over(st, a, cast ? dtype : 0, move ? device : NULL);
    py_discard(a);
    return next;
}

static bool has(PyObject *o, const char *name)
{
    PyObject *attribute = PyObject_GetAttrString((PyObject *)Py_TYPE(o), name);
    if (!attribute)
        PyErr_Clear();
    Py_XDECREF(attribute);
    return attribute != NULL;
}

bool py_is_foreign_array(PyObject *o)
{
    if (PyBytes_Check(o) || PyUnicode_Check(o) || PyType_Check(o) || py_is_numpy_scalar(o))
        return false;
    return PyObject_CheckBuffer(o) || has(o, "__dlpack__") || has(o, "__array__") ||
           PyObject_HasAttrString(o, "__array_interface__") ||
           PyObject_HasAttrString(o, "__cuda_array_interface__");
}

/* Calls a function of the package with o: 1 and the array; 0 where the package has no such
 * function, -1 with an exception. */
static int by_package(py_state *st, const char *name, PyObject *o, nd_array **out)
{
    PyObject *function = py_imported("ndock", name);
    if (!function) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    PyObject *made = PyObject_CallFunctionObjArgs(function, o, NULL);
    Py_DECREF(function);
    nd_array *a = made ? py_array_need(st, made, name) : NULL;
    *out = a ? nd_retain(a) : NULL;
    Py_XDECREF(made);
    return a ? 1 : -1;
}

/* Calls __array__, which returns a host array of NumPy's. */
static int by_array_method(py_state *st, PyObject *o, nd_device *device, int copy, nd_array **out,
                           bool *copied)
{
    PyObject *method = PyObject_GetAttrString(o, "__array__");
    if (!method)
        return -1;
    PyObject *made = PyObject_CallFunctionObjArgs(method, NULL);
    Py_DECREF(method);
    if (!made)
        return -1;
    int found = py_import_host(st, made, device, copy == PY_COPY_ALWAYS, out, copied);
    if (found == 0)
        PyErr_Format(PyExc_TypeError, "__array__ of %R returned %R, which has no buffer",
                     (PyObject *)Py_TYPE(o), (PyObject *)Py_TYPE(made));
    Py_DECREF(made);
    return found == 1 ? 1 : -1;
}

/* Tries the ways in which an object may hand out its elements: 1 and the array; 0 where the object
 * has none of them, -1 with an exception. *copied says that nobody else has the array's memory. */
static int by_any_way(py_state *st, PyObject *o, nd_device *device, int copy, nd_array **out,
                      bool *copied)
{
    /* NumPy's scalars that are no numbers would hand out their bytes. */
    if (PyUnicode_Check(o) || PyType_Check(o) || py_is_numpy_scalar(o))
        return 0;
    int found = py_import_host(st, o, device, copy == PY_COPY_ALWAYS, out, copied);
    if (found == 0 && has(o, "__dlpack__"))
        found = by_package(st, "from_dlpack", o, out);
    if (found == 0 && PyObject_HasAttrString(o, "__cuda_array_interface__"))
        found = by_package(st, "as_array", o, out);
    if (found == 0 && has(o, "__array__"))
        found = by_array_method(st, o, device, copy, out, copied);
    return found;
}

static nd_array *foreign(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device, int copy)
{
    nd_array *a = NULL;
    bool copied = false;
    nd_device *host = device;
    if (py_or_current(st, &host) < 0)
        return NULL;
    int found = by_any_way(st, o, host, copy, &a, &copied);
    if (found == 0)
        PyErr_Format(PyExc_TypeError,
                     "no array can be made of %R: give numbers, nested sequences of them, or what "
                     "exports a buffer, __array_interface__, DLPack or __array__",
                     (PyObject *)Py_TYPE(o));
    return found > 0 ? convert(st, a, dtype, device, copy, copied) : NULL;
}

/* Each question is asked once, since an object may answer otherwise the next time. */
static nd_array *any(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device, int copy,
                     bool sequences)
{
    nd_array *a = py_array_get(st, o);
    nd_scalar unused;
    if (a)
        return convert(st, nd_retain(a), dtype, device, copy, false);
    int scalar = py_scalar(o, &unused);
    if (scalar < 0)
        return NULL;
    if (scalar == 0 && !(sequences && py_is_sequence(o)))
        return foreign(st, o, dtype, device, copy);
    if (copy == PY_COPY_NEVER) {
        PyErr_SetString(PyExc_ValueError,
                        "copy=False, but Python's numbers and sequences are always copied");
        return NULL;
    }
    return py_from_nested(st, o, dtype, device);
}

nd_array *py_asarray(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device, int copy)
{
    return any(st, o, dtype, device, copy, true);
}

nd_array *py_asarray_leaf(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device)
{
    return any(st, o, dtype, device, PY_COPY_IF_NEEDED, false);
}

/* _asarray(obj, dtype, device, copy) */
static PyObject *asarray(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_dtype dtype;
    nd_device *device;
    if (n != 4)
        return PyErr_Format(PyExc_TypeError, "_asarray() takes 4 arguments, not %zd", n);
    if (py_dtype(st, args[1], &dtype) < 0 || py_device(st, args[2], &device) < 0)
        return NULL;
    int copy = py_copy(args[3]);
    if (copy < 0)
        return NULL;
    nd_array *given = py_array_get(st, args[0]);
    nd_array *a = py_asarray(st, args[0], dtype, device, copy);
    if (a && a == given) { /* the same array is the same object */
        py_discard(a);
        return Py_NewRef(args[0]);
    }
    return a ? py_array_new(st, a) : NULL;
}

PyMethodDef py_asarray_methods[] = {PY_METHOD("_asarray", asarray), PY_METHODS_END};
