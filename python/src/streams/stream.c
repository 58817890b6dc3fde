/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Stream: an order of work on a device, our own or another library's. */
#include <stddef.h>
#include <string.h>
#include "python/src/streams/streams.h"

typedef struct {
    PyObject_HEAD nd_stream *stream;
    PyObject *weakrefs;
} py_stream_object;

static nd_stream *of(PyObject *self)
{
    return ((py_stream_object *)self)->stream;
}

nd_stream *py_stream_get(const py_state *st, PyObject *o)
{
    return Py_TYPE(o) == st->stream ? of(o) : NULL;
}

PyObject *py_from_stream(py_state *st, nd_stream *stream)
{
    py_stream_object *o = PyObject_New(py_stream_object, st->stream);
    if (!o) {
        nd_stream_release(stream);
        return NULL;
    }
    o->stream = stream;
    o->weakrefs = NULL;
    return (PyObject *)o;
}

/* ---- facts ---- */
static PyObject *get_id(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(nd_stream_id(of(self)));
}
static PyObject *get_priority(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(nd_stream_priority(of(self)));
}
static PyObject *get_device(PyObject *self, void *unused)
{
    (void)unused;
    return py_from_device(py_state_of_self(self), nd_stream_device(of(self)));
}
static PyObject *get_handle(PyObject *self, void *unused)
{
    uint64_t handle;
    (void)unused;
    nd_status status = nd_stream_native(of(self), &handle);
    return status == ND_OK ? PyLong_FromUnsignedLongLong(handle)
                           : py_fail(py_state_of_self(self), status);
}
static PyObject *cuda_stream(PyObject *self, PyObject *unused)
{
    uint64_t handle;
    (void)unused;
    if (py_check(py_state_of_self(self), nd_stream_native(of(self), &handle)) < 0)
        return NULL;
    if (handle)
        return Py_BuildValue("(iK)", 0, (unsigned long long)handle);
    return PyErr_Format(PyExc_TypeError, "this stream of %s has no handle for other libraries",
                        nd_device_name(nd_stream_device(of(self))));
}
static PyObject *repr(PyObject *self)
{
    nd_stream *s = of(self);
    return PyUnicode_FromFormat("Stream(device='%s', id=%llu, priority=%d)",
                                nd_device_name(nd_stream_device(s)),
                                (unsigned long long)nd_stream_id(s), (int)nd_stream_priority(s));
}
static PyObject *compare(PyObject *self, PyObject *other, int how)
{
    if ((how != Py_EQ && how != Py_NE) || Py_TYPE(other) != Py_TYPE(self))
        Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((of(self) == of(other)) == (how == Py_EQ));
}
static Py_hash_t hash(PyObject *self)
{
    return (Py_hash_t)nd_stream_id(of(self));
}

/* ---- order ---- */
static PyObject *query(PyObject *self, PyObject *unused)
{
    int32_t done;
    (void)unused;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_stream_query(of(self), &done);
    PyEval_RestoreThread(saved);
    return py_bool(py_state_of_self(self), status, done);
}
static PyObject *synchronize(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (py_wait_stream(py_state_of_self(self), of(self)) < 0)
        return NULL;
    Py_RETURN_NONE;
}
static PyObject *wait_event(PyObject *self, PyObject *event)
{
    nd_event *e = py_event_get(py_state_of_self(self), event);
    if (!e)
        return PyErr_Format(PyExc_TypeError, "wait_event() takes an ndock.Event, not %R", event);
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_stream_wait_event(of(self), e);
    PyEval_RestoreThread(saved);
    return py_none(py_state_of_self(self), status);
}
static PyObject *wait_stream(PyObject *self, PyObject *other)
{
    nd_stream *s = of(self), *o;
    nd_device_info mine, its;
    if (py_stream(py_state_of_self(self), other, nd_stream_device(s), &o) < 0)
        return NULL;
    if (!o)
        return PyErr_Format(PyExc_TypeError, "wait_stream() takes a stream, not None");
    nd_device_describe(nd_stream_device(s), &mine);
    nd_device_describe(nd_stream_device(o), &its);
    /* two plug-ins share no events, so the host waits, and Ctrl-C should end the wait */
    int bad = strcmp(mine.plugin, its.plugin) != 0 ? py_wait_stream(py_state_of_self(self), o) : 0;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = bad ? ND_OK : nd_stream_wait_stream(s, o);
    nd_stream_release(o);
    PyEval_RestoreThread(saved);
    return bad ? NULL : py_none(py_state_of_self(self), status);
}
static PyObject *record_event(PyObject *self, PyObject *args)
{
    PyObject *event = Py_None;
    if (!PyArg_ParseTuple(args, "|O:record_event", &event))
        return NULL;
    return py_event_record(py_state_of_self(self), event, of(self));
}

/* _record(array, stream, exactly) */
static PyObject *record(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_stream *stream;
    if (n != 3)
        return PyErr_Format(PyExc_TypeError, "_record() takes 3 arguments, not %zd", n);
    const nd_array *a = py_array_need(st, args[0], "record_stream");
    if (!a || py_stream(st, args[1], nd_device_of(a), &stream) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = args[2] == Py_True ? nd_record_use(a, stream) : nd_record_stream(a, stream);
    nd_stream_release(stream);
    PyEval_RestoreThread(saved);
    return py_none(st, status);
}

/* _synchronize(device) */
static PyObject *synchronize_device(PyObject *module, PyObject *device)
{
    py_state *st = py_state_of(module);
    nd_device *d;
    if (py_device(st, device, &d) < 0 || py_wait_device(st, d) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyMethodDef py_stream_methods[] = {PY_METHOD("_record", record),
                                   {"_synchronize", synchronize_device, METH_O, NULL},
                                   PY_METHODS_END};

/* ---- guards ---- */
static PyObject *push(PyObject *self, PyObject *unused)
{
    (void)unused;
    return py_return(py_state_of_self(self), nd_stream_push(of(self)), self);
}
static PyObject *pop(PyObject *self, PyObject *unused)
{
    (void)unused;
    return py_none(py_state_of_self(self), nd_stream_pop(of(self)));
}
static PyObject *make_current(PyObject *self, PyObject *unused)
{
    (void)unused;
    return py_none(py_state_of_self(self), nd_stream_set_current(of(self)));
}

static void dealloc(PyObject *self)
{
    py_stream_object *o = (py_stream_object *)self;
    if (o->weakrefs)
        PyObject_ClearWeakRefs(self);
    nd_stream_release(o->stream);
    py_drop_now();
    py_plain_dealloc(self);
}

static PyGetSetDef getset[] = {
    {"id", get_id, NULL, "A number that no other stream of the process ever has.", NULL},
    {"priority", get_priority, NULL, "Lower is more urgent.", NULL},
    {"device", get_device, NULL, "The ndock.Device.", NULL},
    {"handle", get_handle, NULL, "The plug-in's handle (a CUstream), 0 where it has none.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(py_stream_object, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

#define CLASS (METH_VARARGS | METH_KEYWORDS | METH_CLASS)
static PyMethodDef methods[] = {
    {"current", PY_FUNCTION(py_stream_current), CLASS,
     "current($type, device=None)\n--\n\nThe calling thread's current stream of the device."},
    {"default", PY_FUNCTION(py_stream_default), CLASS,
     "default($type, device=None)\n--\n\nThe stream for work when nobody says otherwise."},
    {"from_pool", PY_FUNCTION(py_stream_from_pool), CLASS,
     "from_pool($type, slot, device=None, *, priority=0)\n--\n\nThe stream in that slot (0 to 31)"
     " of the device's pool: the same for everyone who asks."},
    {"from_external", PY_FUNCTION(py_stream_from_external), CLASS,
     "from_external($type, stream, device=None, *, owner=None)\n--\n\nA stream of another library:"
     " an object with __cuda_stream__, or a handle (1: the legacy default\nstream, 2: the"
     " per-thread one, 0 is refused). owner (the object itself if None) is kept alive\nuntil the"
     " last use of the stream is done.\n\nA number that is no handle is refused where the device "
     "can"
     " tell: simulated devices know their\nstreams, OpenCL's driver is asked. CUDA's driver follows"
     " any address: numbers that are no aligned,\nreadable address of the process are refused "
     "before"
     " it sees them, and a stream of another device\nby its answer. What cannot be checked: whether"
     " such an address is a stream, and lives still. A\nwrong one ends the process; an object with"
     " __cuda_stream__ is safer than a number."},
    {"query", query, METH_NOARGS,
     "query($self)\n--\n\nWhether all work queued so far is done. Never waits; raises what queued"
     " work failed with."},
    {"synchronize", synchronize, METH_NOARGS,
     "synchronize($self)\n--\n\nWaits for all work queued so far; raises what it failed with."
     " Ctrl-C ends the wait, not the work."},
    {"wait_event", wait_event, METH_O,
     "wait_event($self, event, /)\n--\n\nLater work here waits for the event's latest record; the"
     " host does not."},
    {"wait_stream", wait_stream, METH_O,
     "wait_stream($self, stream, /)\n--\n\nLater work here waits for the work queued on the other"
     " stream so far; the host does not,\nunless the two are of different plug-ins."},
    {"record_event", record_event, METH_VARARGS,
     "record_event($self, event=None, /)\n--\n\nMarks the present end of the stream; returns the"
     " event, a new one if None is given."},
    {"launch_host", py_launch_host, METH_VARARGS,
     "launch_host($self, function, /, *args)\n--\n\nCalls function(*args) in stream order on a"
     " thread of the device: later work waits for it.\nIt may not use ndock's devices; what it"
     " raises goes to sys.unraisablehook. Not called if the\ninterpreter ends first."},
    {"set_current", make_current, METH_NOARGS,
     "set_current($self)\n--\n\nThe calling thread's work on the device goes here from now on."},
    {"__enter__", push, METH_NOARGS, NULL},
    {"__exit__", pop, METH_VARARGS, NULL},
    {"__cuda_stream__", cuda_stream, METH_NOARGS,
     "__cuda_stream__($self)\n--\n\n(0, handle), for other libraries."},
    PY_METHODS_END};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Stream(device=None, *, priority=0)\n--\n\nAn order of work on a device. Work on"
     " one stream runs in the order of the calls; work on two\nis ordered by events"
     " alone. `with stream:` makes it the thread's current one."
     "\ndevice: None is the current one. priority: lower numbers go first, where the device knows "
     "priorities.\nErrors: ValueError for an unknown device.\n\n>>> with nd.Stream(\"cpu\") as "
     "s:\n...     x = nd.ones(2, device=\"cpu\") + 1\n>>> s.synchronize()\n"},
    {Py_tp_new, (void *)py_stream_new},
    {Py_tp_repr, (void *)repr},
    {Py_tp_richcompare, (void *)compare},
    {Py_tp_hash, (void *)hash},
    {Py_tp_dealloc, (void *)dealloc},
    {Py_tp_getset, getset},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
    {0, NULL}};
static PyType_Spec spec = {.name = "ndock.Stream",
                           .basicsize = sizeof(py_stream_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                           .slots = slots};

int py_init_stream(PyObject *module, py_state *st)
{
    st->stream = py_add_type(module, &spec, "Stream");
    return st->stream ? 0 : -1;
}
