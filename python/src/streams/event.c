/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Event: a point on a stream that others wait for. */
#include <string.h>
#include <ndock/peer.h>
#include "python/src/streams/streams.h"

typedef struct {
    PyObject_HEAD nd_event *event;
    nd_device *device;
} py_event_object;

static nd_event *of(PyObject *self)
{
    return ((py_event_object *)self)->event;
}

nd_event *py_event_get(const py_state *st, PyObject *o)
{
    return Py_TYPE(o) == st->event ? of(o) : NULL;
}

static PyObject *wrap(py_state *st, nd_event *event, nd_device *device)
{
    py_event_object *o = PyObject_New(py_event_object, st->event);
    if (!o) {
        nd_event_release(event);
        return NULL;
    }
    o->event = event;
    o->device = device;
    return (PyObject *)o;
}

static PyObject *make(py_state *st, nd_device *device, int32_t flags)
{
    nd_event_opts opts = {.size = sizeof opts, .flags = flags};
    nd_event *event;
    if (py_or_current(st, &device) < 0 || py_check(st, nd_event_create(device, &opts, &event)) < 0)
        return NULL;
    return wrap(st, event, device);
}

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"device", "timing", "blocking", "interprocess", NULL};
    py_state *st = PyType_GetModuleState(type);
    PyObject *where = Py_None;
    nd_device *device;
    int timing = 0, blocking = 0, interprocess = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$ppp:Event", names, &where, &timing,
                                     &blocking, &interprocess) ||
        py_device(st, where, &device) < 0)
        return NULL;
    return make(st, device,
                (timing ? ND_EVENT_TIMING : 0) | (blocking ? ND_EVENT_BLOCKING : 0) |
                    (interprocess ? ND_EVENT_INTERPROCESS : 0));
}

PyObject *py_event_record(py_state *st, PyObject *event, nd_stream *stream)
{
    PyObject *o = event == Py_None ? make(st, nd_stream_device(stream), 0) : Py_NewRef(event);
    if (!o)
        return NULL;
    nd_event *e = py_event_get(st, o);
    if (!e) {
        PyErr_Format(PyExc_TypeError, "record_event() takes an ndock.Event or None, not %R", o);
        Py_DECREF(o);
        return NULL;
    }
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_event_record(e, stream);
    PyEval_RestoreThread(saved);
    if (status == ND_OK)
        return o;
    Py_DECREF(o);
    return py_fail(st, status);
}

static PyObject *record(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", NULL};
    PyObject *where = Py_None;
    nd_stream *stream;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:record", names, &where) ||
        py_stream(py_state_of_self(self), where, ((py_event_object *)self)->device, &stream) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_event_record(of(self), stream);
    nd_stream_release(stream);
    PyEval_RestoreThread(saved);
    return py_none(py_state_of_self(self), status);
}

static PyObject *wait(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", NULL};
    PyObject *where = Py_None;
    nd_device *device = ((py_event_object *)self)->device;
    nd_stream *stream;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:wait", names, &where) ||
        py_stream(py_state_of_self(self), where, device, &stream) < 0 ||
        (!stream && py_check(py_state_of_self(self), nd_stream_current(device, &stream)) < 0))
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_stream_wait_event(stream, of(self));
    nd_stream_release(stream);
    PyEval_RestoreThread(saved);
    return py_none(py_state_of_self(self), status);
}

static PyObject *query(PyObject *self, PyObject *unused)
{
    int32_t done;
    (void)unused;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_event_query(of(self), &done);
    PyEval_RestoreThread(saved);
    return py_bool(py_state_of_self(self), status, done);
}

static PyObject *synchronize(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (py_wait_event(py_state_of_self(self), of(self)) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *elapsed_time(PyObject *self, PyObject *end)
{
    double ms;
    nd_event *stop = py_event_get(py_state_of_self(self), end);
    if (!stop)
        return PyErr_Format(PyExc_TypeError, "elapsed_time() takes an ndock.Event, not %R", end);
    nd_status status = nd_event_elapsed(of(self), stop, &ms);
    return status == ND_OK ? PyFloat_FromDouble(ms) : py_fail(py_state_of_self(self), status);
}

/* ---- between processes ---- */
static PyObject *export_handle(PyObject *self, PyObject *unused)
{
    nd_event_handle handle;
    (void)unused;
    PyThreadState *saved = PyEval_SaveThread();
    const nd_status status = nd_event_export(of(self), &handle);
    PyEval_RestoreThread(saved);
    return status == ND_OK
               ? PyBytes_FromStringAndSize((const char *)handle.bytes, sizeof handle.bytes)
               : py_fail(py_state_of_self(self), status);
}

PyObject *py_event_import(PyObject *module, PyObject *bytes)
{
    py_state *st = py_state_of(module);
    nd_event_handle handle;
    nd_event *event = NULL;
    Py_buffer b;
    if (PyObject_GetBuffer(bytes, &b, PyBUF_SIMPLE) < 0)
        return NULL;
    const int fits = b.len == (Py_ssize_t)sizeof handle.bytes;
    if (fits)
        memcpy(handle.bytes, b.buf, sizeof handle.bytes);
    else
        PyErr_Format(PyExc_ValueError, "a handle of an event has %d bytes, not %zd",
                     (int)sizeof handle.bytes, b.len);
    PyBuffer_Release(&b);
    if (!fits)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    const nd_status status = nd_event_import(&handle, &event);
    PyEval_RestoreThread(saved);
    return status == ND_OK ? wrap(st, event, nd_event_device(event)) : py_fail(st, status);
}

static PyObject *get_device(PyObject *self, void *unused)
{
    (void)unused;
    return py_from_device(py_state_of_self(self), ((py_event_object *)self)->device);
}

static void dealloc(PyObject *self)
{
    nd_event_release(of(self));
    py_plain_dealloc(self);
}

static PyGetSetDef getset[] = {{"device", get_device, NULL, "The ndock.Device.", NULL},
                               {NULL, NULL, NULL, NULL, NULL}};
static PyMethodDef methods[] = {
    {"record", PY_FUNCTION(record), METH_VARARGS | METH_KEYWORDS,
     "record($self, stream=None)\n--\n\nMarks the present end of the stream (None: the current one"
     " of the event's device) in the\nplace of an earlier record."},
    {"wait", PY_FUNCTION(wait), METH_VARARGS | METH_KEYWORDS,
     "wait($self, stream=None)\n--\n\nLater work on the stream (None: the current one) waits for"
     " the latest record; the host does not."},
    {"query", query, METH_NOARGS,
     "query($self)\n--\n\nWhether the latest record was reached; True if there is none."},
    {"synchronize", synchronize, METH_NOARGS,
     "synchronize($self)\n--\n\nWaits for the latest record. Ctrl-C ends the wait."},
    {"elapsed_time", elapsed_time, METH_O,
     "elapsed_time($self, end, /)\n--\n\nMilliseconds from this record to the end's; both events"
     " were made with timing=True and are done."},
    {"export", export_handle, METH_NOARGS,
     "export($self)\n--\n\nBytes by which another process of this machine has the event, with"
     " ndock.peer.open_event;\nof one made with interprocess=True, on devices that share events "
     "(CUDA)."},
    PY_METHODS_END};
static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Event(device=None, *, timing=False, blocking=False, interprocess=False)\n--\n\nA"
     " point on a stream. timing: it can tell the time; blocking: who waits sleeps;\n"
     "interprocess: it can be shared with other processes."
     "\ndevice: None is the current one. Errors: ValueError for an unknown device.\n\n>>> e = "
     "nd.default_stream(\"cpu\").record_event()\n>>> e.synchronize()\n"},
    {Py_tp_new, (void *)new},
    {Py_tp_dealloc, (void *)dealloc},
    {Py_tp_getset, getset},
    {Py_tp_methods, methods},
    {0, NULL}};
static PyType_Spec spec = {.name = "ndock.Event",
                           .basicsize = sizeof(py_event_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                           .slots = slots};

int py_init_event(PyObject *module, py_state *st)
{
    st->event = py_add_type(module, &spec, "Event");
    return st->event ? 0 : -1;
}
