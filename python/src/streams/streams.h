/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams and events, ours and those of other libraries. */
#ifndef NDOCK_PY_STREAMS_H
#define NDOCK_PY_STREAMS_H
#include "python/src/args/args.h"

/* ---- Stream (stream.c) ---- */
/* Makes a Stream of a stream, whose reference is taken over. */
PyObject *py_from_stream(py_state *st, nd_stream *stream);
/* Lends the stream of a Stream; NULL (no exception) where o is none. */
nd_stream *py_stream_get(const py_state *st, PyObject *o);

/* ---- where streams come from (make.c) ---- */
/* Finds the stream that o means, for nd_stream_release. None gives NULL, which means the current
 * one. An object with __cuda_stream__ is wrapped as a stream of the device (NULL: found out), which
 * keeps the object alive. */
int py_stream(py_state *st, PyObject *o, nd_device *device, nd_stream **out);
/* Stream(...), and the class methods current, default, from_pool and from_external. */
PyObject *py_stream_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
PyObject *py_stream_current(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *py_stream_default(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *py_stream_from_pool(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *py_stream_from_external(PyObject *type, PyObject *args, PyObject *kwargs);

/* ---- Event (event.c) ---- */
/* Lends the event of an Event; NULL (no exception) where o is none. */
nd_event *py_event_get(const py_state *st, PyObject *o);
/* Records an Event, or a new one for None, on the stream, and returns it. */
/* The Event that another process has exported: a method of the module. */
PyObject *py_event_import(PyObject *module, PyObject *bytes);
PyObject *py_event_record(py_state *st, PyObject *event, nd_stream *stream);

/* ---- functions of Python in stream order (launch.c) ---- */
/* Stream.launch_host(function, *args). */
PyObject *py_launch_host(PyObject *self, PyObject *args);

/* ---- parts of the module ---- */
int py_init_stream(PyObject *module, py_state *st);
int py_init_event(PyObject *module, py_state *st);
extern PyMethodDef py_stream_methods[], py_debug_methods[];

#endif
