/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * from_dlpack: arrays over the memory of objects with __dlpack__. Source: DLPack 1.3, "Python
 * Specification for DLPack"; array API standard 2025.12. */
#include "python/src/exchange/exchange.h"

/* Makes an array of a tensor; *copied: the producer says that nobody else has its memory. */
static nd_status import(void *managed, bool versioned, nd_array **out, bool *copied)
{
    const nd_dl_managed *m = managed;
    *copied = false;
    if (!versioned)
        return nd_dlpack_import_legacy(managed, NULL, out);
    *copied = m->version.major == ND_DLPACK_MAJOR && (m->flags & ND_DL_IS_COPIED) != 0;
    return nd_dlpack_import(managed, NULL, out);
}

/* Takes the tensor out of the capsule; where that fails, the tensor stays there, for the capsule to
 * end. The capsule is renamed first, because a tensor that is copied ends within the import, by a
 * deleter that may call us with the same capsule again. */
static nd_array *consume(py_state *st, PyObject *capsule, bool *copied)
{
    nd_array *a = NULL;
    const bool versioned = PyCapsule_IsValid(capsule, py_dl_versioned);
    const char *name = versioned ? py_dl_versioned : py_dl_legacy;
    if (!PyCapsule_IsValid(capsule, name)) {
        PyErr_Format(PyExc_TypeError,
                     "__dlpack__ returned %R, not a capsule named '%s' or '%s' that nobody has "
                     "taken yet",
                     capsule, py_dl_versioned, py_dl_legacy);
        return NULL;
    }
    void *managed = PyCapsule_GetPointer(capsule, name);
    if (PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor") < 0)
        return NULL;
    nd_status status = import(managed, versioned, &a, copied);
    if (status == ND_OK)
        return a;
    py_fail(st, status);
    py_exception e = py_put_aside();
    (void)PyCapsule_SetName(capsule, name);
    py_bring_back(e);
    return NULL;
}

/* Finds our device. Names are looked up once, since devices live as long as the process. */
static int device_at(py_state *st, nd_dl_device where, nd_device **out)
{
    enum { KEPT = 16 };
    static _Atomic(nd_device *) known[2][KEPT];
    char name[32];
    const int ext = where.device_type == ND_DL_EXT, id = (int)where.device_id;
    const bool kept = id >= 0 && id < KEPT;
    *out = kept ? atomic_load_explicit(&known[ext][id], memory_order_acquire) : NULL;
    if (*out)
        return 0;
    if (!py_dl_device_name(where, name, sizeof name)) {
        PyErr_Format(PyExc_ValueError, "there is no device of DLPack type %d with number %d",
                     (int)where.device_type, id);
        return -1;
    }
    if (py_device_named(st, name, out) < 0)
        return -1;
    if (kept)
        atomic_store_explicit(&known[ext][id], *out, memory_order_release);
    return 0;
}

/* The current stream, in front of whose later work the producer is to put its own; None in host
 * memory. */
static PyObject *consumer_stream(py_state *st, nd_dl_device where)
{
    nd_device *device;
    uint64_t handle;
    if (where.device_type != ND_DL_CUDA && where.device_type != ND_DL_CUDA_MANAGED &&
        where.device_type != ND_DL_EXT)
        return Py_NewRef(Py_None);
    if (device_at(st, where, &device) < 0)
        return NULL;
    nd_status status = py_dl_current_stream(device, &handle);
    return status == ND_OK ? PyLong_FromUnsignedLongLong(handle ? handle : 1) : py_fail(st, status);
}

/* Calls o.__dlpack__(**given); a producer that does not know max_version gets the stream alone. */
static PyObject *call_dlpack(const py_exchange *x, PyObject *o, PyObject *given)
{
    PyObject *method = PyObject_GetAttr(o, x->name[PYX_DLPACK]);
    PyObject *capsule = method ? PyObject_Call(method, x->nothing, given) : NULL;
    if (!capsule && method && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        PyObject *stream = PyDict_GetItemWithError(given, x->name[PYX_STREAM]);
        PyObject *only = PyDict_New();
        if (only && (!stream || PyDict_SetItem(only, x->name[PYX_STREAM], stream) == 0))
            capsule = PyObject_Call(method, x->nothing, only);
        Py_XDECREF(only);
    }
    Py_XDECREF(method);
    return capsule;
}

static int device_of(const py_exchange *x, PyObject *o, nd_dl_device *out)
{
    PyObject *pair = PyObject_CallMethodObjArgs(o, x->name[PYX_DLPACK_DEVICE], NULL);
    if (!pair) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError))
            PyErr_Format(PyExc_TypeError,
                         "from_dlpack() takes an object with __dlpack__ and __dlpack_device__, not "
                         "%R",
                         (PyObject *)Py_TYPE(o));
        return -1;
    }
    int result = py_int_pair("__dlpack_device__()", pair, &out->device_type, &out->device_id);
    Py_DECREF(pair);
    return result;
}

/* Makes the arguments of __dlpack__. to_host: the producer is to copy. */
static PyObject *arguments(py_state *st, nd_dl_device where, bool to_host, PyObject *copy)
{
    const py_exchange *x = st->exchange;
    PyObject *stream = consumer_stream(st, where);
    if (stream == Py_None && copy == Py_None && !to_host) {
        Py_DECREF(stream);
        return Py_NewRef(x->arguments);
    }
    PyObject *given = stream ? PyDict_Copy(x->arguments) : NULL;
    int bad = !given;
    bad = bad || (stream != Py_None && PyDict_SetItem(given, x->name[PYX_STREAM], stream) < 0);
    bad = bad || (copy != Py_None && PyDict_SetItem(given, x->name[PYX_COPY], copy) < 0);
    bad = bad ||
          (to_host && py_dict_put(given, x->name[PYX_DL_DEVICE], Py_BuildValue("(ii)", 1, 0)) < 0);
    Py_XDECREF(stream);
    if (bad)
        Py_CLEAR(given);
    return given;
}

static nd_array *by_protocol(py_state *st, PyObject *o, nd_dl_device where, bool to_host,
                             PyObject *copy, bool *copied)
{
    nd_array *a = NULL;
    PyObject *given = arguments(st, where, to_host, copy);
    PyObject *capsule = given ? call_dlpack(st->exchange, o, given) : NULL;
    if (capsule)
        a = consume(st, capsule, copied);
    Py_XDECREF(capsule);
    Py_XDECREF(given);
    return a;
}

/* Whether the array must be copied: because a copy is asked for that the producer has not made, or
 * because the array is to go to the device. -1 with an exception, which is a BufferError where
 * copy=False rules that out. */
static int needs_copy(const nd_array *a, nd_device *device, PyObject *copy, bool copied)
{
    const bool move = device && device != nd_device_of(a);
    int mode = py_copy(copy);
    if (mode < 0)
        return -1;
    if (mode == PY_COPY_NEVER && (move || copied)) {
        PyErr_SetString(PyExc_BufferError,
                        "copy=False, but the array can only be had as a copy there");
        return -1;
    }
    return move || (mode == PY_COPY_ALWAYS && !copied);
}

/* Brings a, which is taken over, to where it is wanted. */
static nd_array *settle(py_state *st, nd_array *a, nd_device *device, PyObject *copy, bool copied)
{
    nd_array *r = NULL;
    int needed = needs_copy(a, device, copy, copied);
    if (needed == 0)
        return a;
    if (needed > 0) {
        PyThreadState *saved = py_unlock(a, nd_size(a));
        nd_status status = nd_copy(a, device, &r);
        py_lock(saved);
        (void)py_check(st, status);
    }
    py_discard(a); /* which runs the producer's deleter */
    return r;
}

/* Whether the producer is to bring its elements to the host, because that is where they are
 * wanted. */
static bool goes_to_host(nd_device *device, nd_dl_device where)
{
    return where.device_type != ND_DL_CPU && where.device_type != ND_DL_CUDA_HOST && device &&
           py_is_host(device);
}

/* Takes the tensor by a capsule, to the device (NULL: where the elements are). */
static nd_array *by_capsule(py_state *st, PyObject *o, nd_device *device, PyObject *copy)
{
    nd_dl_device where;
    bool copied = false;
    if (device_of(st->exchange, o, &where) < 0)
        return NULL;
    const bool to_host = goes_to_host(device, where);
    nd_array *a = by_protocol(st, o, where, to_host, copy, &copied);
    return a ? settle(st, a, device, copy, copied || to_host) : NULL;
}

static PyObject *from_dlpack(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *given)
{
    static const int which[] = {PYX_DEVICE, PYX_COPY};
    py_state *st = py_state_of(module);
    PyObject *got[2];
    nd_device *device;
    nd_array *a = NULL;
    if (n != 1)
        return PyErr_Format(PyExc_TypeError, "from_dlpack() takes one positional argument, not %zd",
                            n);
    if (py_keywords(st, "from_dlpack", args + 1, 0, given, which, 2, got) < 0 ||
        py_device_if_given(st, got[0], &device) < 0)
        return NULL;
    PyObject *copy = got[1] ? got[1] : Py_None;
    int found = !device && copy == Py_None ? py_from_dlpack_c(st, args[0], &a) : 0;
    if (found == 0)
        a = by_capsule(st, args[0], device, copy);
    return a ? py_array_new(st, a) : NULL;
}

PyMethodDef py_dlpack_methods[] = {
    {"from_dlpack", PY_FUNCTION(from_dlpack), METH_FASTCALL | METH_KEYWORDS,
     "from_dlpack($module, x, /, *, device=None, copy=None)\n--\n\n"
     "An array over the memory of x, an object with __dlpack__ and __dlpack_device__.\n\n"
     "A view unless device names another device, copy is true, or the elements are not aligned;\n"
     "copy=False raises BufferError instead of copying. The current stream of the device waits for"
     "\nthe producer's work; the host does not, unless the elements go to the host."
     "\nErrors: TypeError for what has no DLPack, BufferError for what it cannot lend.\n\n>>> "
     "nd.from_dlpack(nd.asarray([1, 2]), copy=True)\narray([1, 2], dtype=int64, device='cpu:0')\n"},
    PY_METHODS_END};
