/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * DLPack from Python: __dlpack__ and __dlpack_device__, with capsules of both forms. Source: DLPack
 * 1.3, "Python Specification for DLPack"; array API standard 2025.12.
 *
 * Capsules end without Python: their deleters are the library's, which need neither the GIL nor an
 * interpreter. */
#include "python/src/exchange/exchange.h"

const char py_dl_versioned[] = "dltensor_versioned", py_dl_legacy[] = "dltensor";

static void end_versioned(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, py_dl_versioned)) /* renamed: somebody has taken it */
        return;
    nd_dl_managed *m = PyCapsule_GetPointer(capsule, py_dl_versioned);
    if (m && m->deleter)
        m->deleter(m);
}

static void end_legacy(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, py_dl_legacy))
        return;
    nd_dl_legacy *m = PyCapsule_GetPointer(capsule, py_dl_legacy);
    if (m && m->deleter)
        m->deleter(m);
}

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

static int read_copy(PyObject *o, int32_t *out)
{
    static const int32_t modes[] = {[PY_COPY_NEVER] = ND_DL_COPY_NEVER,
                                    [PY_COPY_ALWAYS] = ND_DL_COPY_ALWAYS,
                                    [PY_COPY_IF_NEEDED] = ND_DL_COPY_IF_NEEDED};
    int copy = py_copy(o);
    *out = copy < 0 ? 0 : modes[copy];
    return copy < 0 ? -1 : 0;
}

/* Sets the exception: what cannot be exported is a BufferError, as the array API says. */
static PyObject *export_failed(py_state *st, nd_status status, const nd_dl_export_opts *o)
{
    bool ruled_out = status == ND_ERR_ARGUMENT && o->copy == ND_DL_COPY_NEVER;
    return py_fail_buffer(st, ruled_out ? ND_ERR_UNSUPPORTED : status);
}

/* Puts m, which is taken over, into a capsule; where there is no memory for that, m is ended. */
static PyObject *capsule_of(nd_dl_managed *m)
{
    PyObject *capsule = PyCapsule_New(m, py_dl_versioned, end_versioned);
    if (!capsule)
        py_end_managed(m);
    return capsule;
}

static PyObject *legacy_capsule_of(nd_dl_legacy *m)
{
    PyObject *capsule = PyCapsule_New(m, py_dl_legacy, end_legacy);
    if (!capsule)
        m->deleter(m);
    return capsule;
}

/* Whether a function of PyTorch's has called. PyTorch has no negative strides; where a tensor has
 * some, versions of it throw a C++ exception through C, which ends the process. */
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

/* Reads the arguments of __dlpack__; *major is 0 for consumers that do not know max_version. */
static int read_options(py_state *st, PyObject *const *args, PyObject *given, nd_dl_export_opts *o,
                        int32_t *major)
{
    static const int which[] = {PYX_STREAM, PYX_MAX_VERSION, PYX_DL_DEVICE, PYX_COPY};
    PyObject *got[4];
    int32_t minor;
    *major = 0;
    if (py_keywords(st, "__dlpack__", args, 0, given, which, 4, got) < 0)
        return -1;
    PyObject *stream = got[0], *version = got[1], *device = got[2], *copy = got[3];
    if (read_stream(stream, &o->stream) < 0 || read_copy(copy, &o->copy) < 0 ||
        (version && version != Py_None && py_int_pair("max_version", version, major, &minor) < 0))
        return -1;
    o->has_device = device && device != Py_None;
    return o->has_device
               ? py_int_pair("dl_device", device, &o->device.device_type, &o->device.device_id)
               : 0;
}

static PyObject *dlpack(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *given)
{
    py_state *st = py_state_of_array(self);
    nd_array *a = py_array_of(self);
    nd_dl_export_opts o = {.size = sizeof o};
    nd_dl_managed *m = NULL;
    nd_dl_legacy *l = NULL;
    int32_t major;
    if (n)
        return PyErr_Format(PyExc_TypeError, "__dlpack__() takes keyword arguments alone");
    if (read_options(st, args, given, &o, &major) < 0 || check_consumer(a, &o) < 0)
        return NULL;
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
    nd_status status = nd_dlpack_device(py_array_of(self), &d);
    return status == ND_OK ? Py_BuildValue("(ii)", (int)d.device_type, (int)d.device_id)
                           : py_fail(py_state_of_array(self), status);
}

PyMethodDef py_array_dlpack_methods[] = {
    {"__dlpack__", PY_FUNCTION(dlpack), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A capsule with a DLPack tensor over the array's memory. stream: the consumer's, which waits "
     "for\npending work on the array (None: the legacy default one, or none while the current one "
     "is being\ncaptured; -1: no order); host arrays take None and -1. max_version (1, 0) or later "
     "gives the form\nwith a version and flags; the other one cannot say read-only, which is then "
     "a BufferError.\ndl_device (1, 0) gives a copy in host memory, complete on return; copy=True "
     "always copies,\ncopy=False never does (BufferError)."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\n(device type, device number) in DLPack's terms."},
    PY_METHODS_END};
