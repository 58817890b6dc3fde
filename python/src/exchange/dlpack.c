/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * DLPack from Python: __dlpack__, __dlpack_device__ and from_dlpack, with capsules of both forms.
 * Source: DLPack 1.3, "Python Specification for DLPack"; array API standard 2025.12.
 *
 * Capsules end without Python: their deleters are the library's, which need neither the GIL nor an
 * interpreter. */
#include <stdatomic.h>
#include <string.h>
#include "python/src/exchange/exchange.h"

static const char versioned_name[] = "dltensor_versioned", legacy_name[] = "dltensor";

static void end_versioned(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, versioned_name)) /* renamed: somebody has taken it */
        return;
    nd_dl_managed *m = PyCapsule_GetPointer(capsule, versioned_name);
    if (m && m->deleter)
        m->deleter(m);
}

static void end_legacy(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, legacy_name))
        return;
    nd_dl_legacy *m = PyCapsule_GetPointer(capsule, legacy_name);
    if (m && m->deleter)
        m->deleter(m);
}

/* ---- __dlpack__ ---- */
static int read_stream(PyObject *o, int64_t *out)
{
    int overflow;
    *out = ND_DL_STREAM_NONE;
    if (!o || o == Py_None)
        return 0;
    if (!PyLong_Check(o) || PyBool_Check(o)) {
        PyErr_Format(PyExc_TypeError, "stream is an int or None, not %R", (PyObject *)Py_TYPE(o));
        return -1;
    }
    *out = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow || *out == ND_DL_STREAM_NONE)
        PyErr_Format(PyExc_ValueError, "%R is no stream's handle", o);
    return PyErr_Occurred() ? -1 : 0;
}

static int read_pair(const char *name, PyObject *o, int32_t *a, int32_t *b)
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

static int read_copy(PyObject *o, int32_t *out)
{
    bool none = !o || o == Py_None;
    int truth = none ? 0 : PyObject_IsTrue(o);
    *out = none ? ND_DL_COPY_IF_NEEDED : truth ? ND_DL_COPY_ALWAYS : ND_DL_COPY_NEVER;
    return truth < 0 ? -1 : 0;
}

/* What cannot be exported so is a BufferError, as the array API says. */
static PyObject *export_failed(py_state *st, nd_status status, const nd_dl_export_opts *o)
{
    bool ruled_out = status == ND_ERR_ARGUMENT && o->copy == ND_DL_COPY_NEVER;
    return py_fail_buffer(st, ruled_out ? ND_ERR_UNSUPPORTED : status);
}

/* Takes over m, which is ended when there is no memory for a capsule. */
static PyObject *capsule_of(nd_dl_managed *m)
{
    PyObject *capsule = PyCapsule_New(m, versioned_name, end_versioned);
    if (!capsule)
        py_end_managed(m);
    return capsule;
}

static PyObject *legacy_capsule_of(nd_dl_legacy *m)
{
    PyObject *capsule = PyCapsule_New(m, legacy_name, end_legacy);
    if (!capsule)
        m->deleter(m);
    return capsule;
}

/* Whether the function of Python that called is one of PyTorch's, which has no negative strides:
 * told of some, versions of it throw a C++ exception through C, which ends the process. */
static bool called_by_torch(void)
{
    PyObject *globals = PyEval_GetGlobals();
    PyObject *name = globals ? PyDict_GetItemString(globals, "__name__") : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    if (!text)
        PyErr_Clear();
    return text && strncmp(text, "torch", 5) == 0 && (text[5] == '.' || text[5] == 0);
}

static int check_consumer(const nd_array *a, const nd_dl_export_opts *o)
{
    bool negative = false;
    for (int i = 0; i < nd_ndim(a); i++)
        negative |= nd_strides(a)[i] < 0 && nd_shape(a)[i] > 1;
    if (!negative || o->copy == ND_DL_COPY_ALWAYS || !called_by_torch())
        return 0;
    PyErr_SetString(PyExc_BufferError,
                    "the array has negative strides, which PyTorch has not; give "
                    "it x.copy()");
    return -1;
}

static PyObject *dlpack(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *given)
{
    static const int which[] = {PYX_STREAM, PYX_MAX_VERSION, PYX_DL_DEVICE, PYX_COPY};
    py_state *st = py_state_of_array(self);
    nd_array *a = ((py_array *)self)->a;
    PyObject *got[4];
    nd_dl_export_opts o = {.size = sizeof o};
    int32_t major = 0, minor;
    if (n)
        return PyErr_Format(PyExc_TypeError, "__dlpack__() takes keyword arguments alone");
    if (py_keywords(st, "__dlpack__", args, 0, given, which, 4, got) < 0)
        return NULL;
    PyObject *stream = got[0], *version = got[1], *device = got[2], *copy = got[3];
    if (read_stream(stream, &o.stream) < 0 || read_copy(copy, &o.copy) < 0 ||
        (version && version != Py_None && read_pair("max_version", version, &major, &minor) < 0))
        return NULL;
    o.has_device = device && device != Py_None;
    if (o.has_device &&
        read_pair("dl_device", device, &o.device.device_type, &o.device.device_id) < 0)
        return NULL;
    if (check_consumer(a, &o) < 0)
        return NULL;
    nd_dl_managed *m = NULL;
    nd_dl_legacy *l = NULL;
    PyThreadState *saved =
        o.has_device || o.copy == ND_DL_COPY_ALWAYS ? py_unlock(a, nd_size(a)) : NULL;
    nd_status status =
        major >= 1 ? nd_dlpack_export(a, &o, &m) : nd_dlpack_export_legacy(a, &o, &l);
    py_lock(saved);
    if (status != ND_OK)
        return export_failed(st, status, &o);
    return m ? capsule_of(m) : legacy_capsule_of(l);
}

static PyObject *dlpack_device(PyObject *self, PyObject *unused)
{
    nd_dl_device d;
    (void)unused;
    nd_status status = nd_dlpack_device(((py_array *)self)->a, &d);
    return status == ND_OK ? Py_BuildValue("(ii)", (int)d.device_type, (int)d.device_id)
                           : py_fail(py_state_of_array(self), status);
}

PyMethodDef py_array_dlpack_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))dlpack, METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A capsule with a DLPack tensor over the array's memory. stream: the consumer's, which waits "
     "for\npending work on the array (None: the legacy default one, or none while the current one "
     "is being\ncaptured; -1: no order); host arrays take None and -1. max_version (1, 0) or later "
     "gives the form\nwith a version and flags; the other one cannot say read-only, which is then "
     "a BufferError.\ndl_device (1, 0) gives a copy in host memory, complete on return; copy=True "
     "always copies,\ncopy=False never does (BufferError)."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\n(device type, device number) in DLPack's terms."},
    {NULL, NULL, 0, NULL}};

/* ---- from_dlpack ---- */
/* Takes the tensor out of the capsule. What fails leaves it there, for the capsule to end. The
 * capsule is renamed first: a tensor that is copied ends within the import, by a deleter that may
 * call us with the same capsule again. */
static nd_array *consume(py_state *st, PyObject *capsule, bool *copied)
{
    nd_array *a = NULL;
    nd_status status;
    const bool versioned = PyCapsule_IsValid(capsule, versioned_name);
    const char *name = versioned ? versioned_name : legacy_name;
    *copied = false;
    if (!PyCapsule_IsValid(capsule, name)) {
        PyErr_Format(PyExc_TypeError,
                     "__dlpack__ returned %R, not a capsule named '%s' or '%s' that nobody has "
                     "taken yet",
                     capsule, versioned_name, legacy_name);
        return NULL;
    }
    void *managed = PyCapsule_GetPointer(capsule, name);
    if (PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor") < 0)
        return NULL;
    if (versioned) {
        const nd_dl_managed *m = managed;
        *copied = m->version.major == ND_DLPACK_MAJOR && (m->flags & ND_DL_IS_COPIED) != 0;
        status = nd_dlpack_import(managed, NULL, &a);
    } else {
        status = nd_dlpack_import_legacy(managed, NULL, &a);
    }
    if (status == ND_OK)
        return a;
    py_fail(st, status);
    py_exception e = py_put_aside();
    (void)PyCapsule_SetName(capsule, name);
    py_bring_back(e);
    return NULL;
}

/* Devices live as long as the process: names are looked up once. */
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

/* The current stream that the producer is to put its work in front of; None in host memory. */
static PyObject *consumer_stream(py_state *st, nd_dl_device where)
{
    nd_device *device;
    nd_stream *stream = NULL;
    uint64_t handle = 0;
    if (where.device_type != ND_DL_CUDA && where.device_type != ND_DL_CUDA_MANAGED &&
        where.device_type != ND_DL_EXT)
        return Py_NewRef(Py_None);
    if (device_at(st, where, &device) < 0)
        return NULL;
    nd_status status = nd_stream_current(device, &stream);
    if (status == ND_OK)
        status = nd_stream_native(stream, &handle);
    nd_stream_release(stream);
    return status == ND_OK ? PyLong_FromUnsignedLongLong(handle ? handle : 1) : py_fail(st, status);
}

/* o.__dlpack__(**given); a producer of before max_version gets the stream alone. */
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
    int result = read_pair("__dlpack_device__()", pair, &out->device_type, &out->device_id);
    Py_DECREF(pair);
    return result;
}

static int give(PyObject *given, PyObject *key, PyObject *value) /* takes over value */
{
    int result = value ? PyDict_SetItem(given, key, value) : -1;
    Py_XDECREF(value);
    return result;
}

/* The arguments of __dlpack__. to_host: the producer copies. */
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
    bad = bad || (to_host && give(given, x->name[PYX_DL_DEVICE], Py_BuildValue("(ii)", 1, 0)) < 0);
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

/* Whether a, which is here already, must be copied: asked for and not done by the producer, or to
 * get it to the device. -1: an exception, BufferError where that was ruled out. */
static int needs_copy(const nd_array *a, nd_device *device, PyObject *copy, bool copied)
{
    const bool move = device && device != nd_device_of(a);
    int wanted = copy == Py_None ? 0 : PyObject_IsTrue(copy);
    if (wanted < 0)
        return -1;
    if (!wanted && copy != Py_None && (move || copied)) {
        PyErr_SetString(PyExc_BufferError,
                        "copy=False, but the array can only be had as a copy there");
        return -1;
    }
    return move || (wanted && !copied);
}

/* a (taken over) where it is wanted. */
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
        if (status != ND_OK)
            py_fail(st, status);
    }
    py_discard(a); /* which runs the producer's deleter */
    return r;
}

static PyObject *from_dlpack(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *given)
{
    static const int which[] = {PYX_DEVICE, PYX_COPY};
    py_state *st = py_state_of(module);
    PyObject *got[2];
    nd_device *device = NULL;
    nd_device_info info = {0};
    nd_dl_device where;
    nd_array *a = NULL;
    bool copied = false;
    if (n != 1)
        return PyErr_Format(PyExc_TypeError, "from_dlpack() takes one positional argument, not %zd",
                            n);
    if (py_keywords(st, "from_dlpack", args + 1, 0, given, which, 2, got) < 0 ||
        (got[0] && got[0] != Py_None && py_device(st, got[0], &device) < 0))
        return NULL;
    PyObject *copy = got[1] ? got[1] : Py_None;
    int found = !device && copy == Py_None ? py_from_dlpack_c(st, args[0], &a) : 0;
    if (found < 0)
        return NULL;
    if (found == 0) {
        if (device_of(st->exchange, args[0], &where) < 0)
            return NULL;
        if (device)
            nd_device_describe(device, &info);
        bool to_host = info.host_visible && where.device_type != ND_DL_CPU &&
                       where.device_type != ND_DL_CUDA_HOST;
        a = by_protocol(st, args[0], where, to_host, copy, &copied);
        a = a ? settle(st, a, device, copy, copied || to_host) : NULL;
    }
    return a ? py_array_new(st, a) : NULL;
}

PyMethodDef py_dlpack_methods[] = {
    {"from_dlpack", (PyCFunction)(void (*)(void))from_dlpack, METH_FASTCALL | METH_KEYWORDS,
     "from_dlpack($module, x, /, *, device=None, copy=None)\n--\n\n"
     "An array over the memory of x, an object with __dlpack__ and __dlpack_device__.\n\n"
     "A view unless device names another device, copy is true, or the elements are not aligned;\n"
     "copy=False raises BufferError instead of copying. The current stream of the device waits for"
     "\nthe producer's work; the host does not, unless the elements go to the host."
     "\nErrors: TypeError for what has no DLPack, BufferError for what it cannot lend.\n\n>>> "
     "nd.from_dlpack(nd.asarray([1, 2]), copy=True)\narray([1, 2], dtype=int64, device='cpu:0')\n"},
    PY_METHODS_END};
