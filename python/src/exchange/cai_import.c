/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Dictionaries of the CUDA Array Interface to arrays. What is in them is checked twice: here that
 * it has the right types, in nd_cai_import that it makes sense. */
#include <stddef.h>
#include <string.h>
#include "python/src/exchange/exchange.h"

static int wrong_type(const char *entry, const char *what, PyObject *got)
{
    PyErr_Format(PyExc_TypeError, "__cuda_array_interface__: %s is %s, not %R", entry, what,
                 (PyObject *)Py_TYPE(got));
    return -1;
}

/* Gives an int, or what __index__ makes of an object; a bool is no int here. */
static int integer(const char *entry, PyObject *o, PyObject **out)
{
    *out = PyBool_Check(o) || !PyIndex_Check(o) ? NULL : PyNumber_Index(o);
    if (*out)
        return 0;
    return PyErr_Occurred() ? -1 : wrong_type(entry, "made of ints", o);
}

static int int64_of(const char *entry, PyObject *o, int64_t *out)
{
    int overflow;
    PyObject *i;
    if (PyLong_CheckExact(o)) { /* as nearly always */
        *out = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (!overflow)
            return 0;
    }
    if (integer(entry, o, &i) < 0)
        return -1;
    *out = PyLong_AsLongLongAndOverflow(i, &overflow);
    if (overflow)
        PyErr_Format(PyExc_OverflowError, "__cuda_array_interface__: %s: %R is beyond 64 bits",
                     entry, i);
    Py_DECREF(i);
    return overflow || (*out == -1 && PyErr_Occurred()) ? -1 : 0;
}

/* The dictionary's entries of the interface by PYX_SHAPE ... PYX_NDOCK_DTYPE; NULL: there is no
 * such entry. Each is held, because reading an entry may run code of Python's that changes the
 * dictionary. Keys are interned as a rule, so walking over them takes less time than looking each
 * up; descr, which says nothing new, is in the list so that it is found, and nothing is left to
 * look up. */
typedef PyObject *entries[PYX_NDOCK_DTYPE + 1];

static int find_entries(const py_exchange *x, PyObject *dict, entries e)
{
    PyObject *key, *value;
    Py_ssize_t at = 0, found = 0, n = PyDict_Size(dict);
    memset(e, 0, sizeof(entries));
    while (found < n && PyDict_Next(dict, &at, &key, &value))
        for (int i = 0; i <= PYX_NDOCK_DTYPE; i++)
            if (x->name[i] == key) {
                e[i] = Py_NewRef(value);
                found++;
                break;
            }
    for (int i = 0; i <= PYX_NDOCK_DTYPE && found < n; i++)
        if (!e[i] && !(e[i] = Py_XNewRef(PyDict_GetItemWithError(dict, x->name[i]))) &&
            PyErr_Occurred())
            return -1;
    return 0;
}

static void drop_entries(entries e)
{
    for (int i = 0; i <= PYX_NDOCK_DTYPE; i++)
        Py_XDECREF(e[i]);
}

/* Lends an entry; NULL where it is not there, or None, which means the same. */
static PyObject *optional(const entries e, int which)
{
    return e[which] == Py_None ? NULL : e[which];
}

static PyObject *required(const py_exchange *x, const entries e, int which)
{
    if (!e[which])
        PyErr_Format(PyExc_ValueError, "__cuda_array_interface__ has no entry '%U'",
                     x->name[which]);
    return e[which];
}

static int read_ints(const char *entry, PyObject *o, int64_t *out, Py_ssize_t *n)
{
    if (!py_is(Tuple, o))
        return wrong_type(entry, "a tuple of ints", o);
    *n = PyTuple_Size(o);
    if (*n > ND_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError,
                     "__cuda_array_interface__: %s has %zd entries; arrays have at most %d axes",
                     entry, *n, ND_MAX_NDIM);
        return -1;
    }
    for (Py_ssize_t i = 0; i < *n; i++)
        if (int64_of(entry, PyTuple_GetItem(o, i), &out[i]) < 0)
            return -1;
    return 0;
}

static int read_layout(const py_exchange *x, const entries e, int64_t *shape, int64_t *strides,
                       nd_cai *c)
{
    Py_ssize_t n, n_strides;
    PyObject *o = required(x, e, PYX_SHAPE);
    if (!o || read_ints("shape", o, shape, &n) < 0)
        return -1;
    c->ndim = (int32_t)n;
    c->shape = shape;
    o = optional(e, PYX_STRIDES);
    if (!o)
        return 0;
    if (read_ints("strides", o, strides, &n_strides) < 0)
        return -1;
    if (n_strides != n) {
        PyErr_Format(PyExc_ValueError,
                     "__cuda_array_interface__: %zd strides for a shape of %zd extents", n_strides,
                     n);
        return -1;
    }
    c->strides = strides;
    return 0;
}

/* Copies text that fits; longer text is the name of no dtype. */
static int read_text(const char *entry, PyObject *o, char *out, size_t room)
{
    Py_ssize_t n;
    if (!py_is(Unicode, o))
        return wrong_type(entry, "text such as '<f4'", o);
    const char *t = PyUnicode_AsUTF8AndSize(o, &n);
    if (!t)
        return -1;
    memset(out, 0, room);
    if ((size_t)n < room && strlen(t) == (size_t)n)
        memcpy(out, t, (size_t)n);
    else
        out[0] = '?';
    return 0;
}

static int read_address(PyObject *o, uint64_t *out)
{
    int overflow;
    PyObject *address;
    if (PyLong_CheckExact(o)) { /* as nearly always, in the lower half of the address space */
        long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
        *out = (uint64_t)value;
        if (!overflow && value >= 0)
            return 0;
    }
    if (integer("data[0]", o, &address) < 0)
        return -1;
    *out = PyLong_AsUnsignedLongLong(address); /* a negative or too large int is an OverflowError */
    Py_DECREF(address);
    return *out == UINT64_MAX && PyErr_Occurred() ? -1 : 0;
}

static int read_data(PyObject *o, nd_cai *c)
{
    if (!py_is(Tuple, o))
        return wrong_type("data", "a tuple (address, read-only)", o);
    if (PyTuple_Size(o) != 2) {
        PyErr_Format(PyExc_ValueError,
                     "__cuda_array_interface__: data has %zd entries, not 2 (address, read-only)",
                     PyTuple_Size(o));
        return -1;
    }
    if (read_address(PyTuple_GetItem(o, 0), &c->data) < 0)
        return -1;
    PyObject *flag = PyTuple_GetItem(o, 1);
    int readonly = PyBool_Check(flag) || PyLong_Check(flag) ? PyObject_IsTrue(flag) : -1;
    if (readonly < 0)
        return PyErr_Occurred() ? -1
                                : wrong_type("data[1]", "a bool, whether it is read-only", flag);
    c->flags |= readonly ? ND_CAI_READ_ONLY : 0;
    return 0;
}

static int read_version(PyObject *o, nd_cai *c)
{
    int64_t version;
    if (int64_of("version", o, &version) < 0)
        return -1;
    if (version < 0 || version > 1000) {
        PyErr_Format(PyExc_ValueError, "__cuda_array_interface__: there is no version %lld",
                     (long long)version);
        return -1;
    }
    c->version = (int32_t)version;
    return 0;
}

static int read_stream(PyObject *o, nd_cai *c)
{
    if (int64_of("stream", o, &c->stream) < 0)
        return -1;
    if (c->stream >= 0)
        return 0;
    PyErr_Format(PyExc_ValueError, "__cuda_array_interface__: stream %lld is no handle",
                 (long long)c->stream);
    return -1;
}

static int read_entries(const py_exchange *x, const entries e, int64_t *shape, int64_t *strides,
                        nd_cai *c)
{
    PyObject *o;
    if (!(o = required(x, e, PYX_VERSION)) || read_version(o, c) < 0 ||
        read_layout(x, e, shape, strides, c) < 0)
        return -1;
    if (!(o = required(x, e, PYX_TYPESTR)) ||
        read_text("typestr", o, c->typestr, sizeof c->typestr) < 0)
        return -1;
    if (!(o = required(x, e, PYX_DATA)) || read_data(o, c) < 0)
        return -1;
    if (optional(e, PYX_MASK))
        c->flags |= ND_CAI_MASKED;
    if ((o = optional(e, PYX_NDOCK_DTYPE)) != NULL &&
        read_text("ndock_dtype", o, c->dtype, sizeof c->dtype) < 0)
        return -1;
    return c->version >= 3 && (o = optional(e, PYX_STREAM)) != NULL ? read_stream(o, c) : 0;
}

static int read_dict(const py_exchange *x, PyObject *d, int64_t *shape, int64_t *strides, nd_cai *c)
{
    entries e;
    memset(c, 0, offsetof(nd_cai, room)); /* without the room for exports, which is large */
    c->size = sizeof *c;
    c->stream = ND_CAI_NO_STREAM;
    int result = find_entries(x, d, e) < 0 ? -1 : read_entries(x, e, shape, strides, c);
    drop_entries(e);
    return result;
}

/* Makes an array of a dictionary, which keeps the owner; None: nobody is kept. */
static PyObject *import_dict(py_state *st, PyObject *d, PyObject *owner, int sync)
{
    nd_cai c;
    int64_t shape[ND_MAX_NDIM], strides[ND_MAX_NDIM];
    nd_array *a = NULL;
    nd_cai_import_opts opts = {.size = sizeof opts,
                               .sync = sync ? ND_CAI_SYNC_DEFAULT : ND_CAI_SYNC_OFF};
    if (!py_is(Dict, d)) {
        wrong_type("it", "a dict", d);
        return NULL;
    }
    if (read_dict(st->exchange, d, shape, strides, &c) < 0)
        return NULL;
    if (owner != Py_None) {
        opts.ctx = py_keep(owner);
        opts.release = py_drop;
        if (!opts.ctx)
            return NULL;
    }
    nd_status status = nd_cai_import(&c, &opts, &a);
    if (status == ND_OK)
        return py_array_new(st, a);
    if (opts.ctx)
        py_unkeep(opts.ctx);
    return py_fail(st, status);
}

static int read_sync(PyObject *o)
{
    return o ? PyObject_IsTrue(o) : 1;
}

/* ndock.asarray(o) */
static PyObject *host_array(PyObject *o)
{
    PyObject *function = py_imported("ndock", "asarray");
    PyObject *result = function ? PyObject_CallFunctionObjArgs(function, o, NULL) : NULL;
    Py_XDECREF(function);
    return result;
}

static PyObject *as_array(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *given)
{
    static const int which[] = {PYX_OBJ, PYX_SYNC};
    py_state *st = py_state_of(module);
    PyObject *got[2];
    int sync;
    if (py_keywords(st, "as_array", args, n, given, which, 2, got) < 0 ||
        (sync = read_sync(got[1])) < 0)
        return NULL;
    if (!got[0])
        return PyErr_Format(PyExc_TypeError, "as_array() needs an object");
    if (py_array_get(st, got[0]))
        return Py_NewRef(got[0]);
    PyObject *d = PyObject_GetAttr(got[0], st->exchange->name[PYX_CAI]);
    if (!d) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return NULL;
        PyErr_Clear();
        return host_array(got[0]);
    }
    PyObject *result = import_dict(st, d, got[0], sync);
    Py_DECREF(d);
    return result;
}

static PyObject *from_cai(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *given)
{
    static const int which[] = {PYX_DESC, PYX_OWNER, PYX_SYNC};
    py_state *st = py_state_of(module);
    PyObject *got[3];
    int sync;
    if (py_keywords(st, "from_cai", args, n, given, which, 3, got) < 0 ||
        (sync = read_sync(got[2])) < 0)
        return NULL;
    return got[0] ? import_dict(st, got[0], got[1] ? got[1] : Py_None, sync)
                  : PyErr_Format(PyExc_TypeError, "from_cai() needs a dictionary");
}

#define KEYWORDS(f) PY_FUNCTION(f), METH_FASTCALL | METH_KEYWORDS
PyMethodDef py_cai_import_methods[] = {
    {"as_array", KEYWORDS(as_array),
     "as_array($module, obj, sync=True)\n--\n\n"
     "An array over the memory of obj, which it keeps alive.\n\n"
     "Takes what has __cuda_array_interface__ (versions 0 to 3); an Array is returned as it is,"
     " and\nanything else goes to asarray. Where the interface names a stream, the current stream"
     " of the\ndevice waits for what is queued there, and that stream for each of our uses of the"
     " memory: no\nrace in either direction, and the host waits for nothing. sync=False leaves the"
     " order to you.\n\nRaises TypeError, ValueError, OverflowError or NotImplementedError (masks,"
     " unaligned memory)\nfor a dictionary that cannot be used."
     "\n\n>>> nd.as_array([1, 2])\narray([1, 2], dtype=int64, device='cpu:0')\n"},
    {"from_cai", KEYWORDS(from_cai),
     "from_cai($module, desc, owner=None, sync=True)\n--\n\n"
     "An array over the memory that the dictionary desc (of __cuda_array_interface__)"
     " describes.\n\nKeeps owner alive, or nobody: then you must keep the memory, and its stream,"
     " while the array or\na view of it lives. sync and the rest are as of\nas_array."
     "\n\n>>> try:\n...     nd.from_cai({\"version\": 3})\n... except (TypeError, ValueError) as "
     "e:\n...     print(\"refused\")\nrefused\n"},
    PY_METHODS_END};
