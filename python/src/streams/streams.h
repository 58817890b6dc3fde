/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams and events, ours and those of other libraries. */
#ifndef NDOCK_PY_STREAMS_H
#define NDOCK_PY_STREAMS_H
#include "python/src/args/args.h"

/* The stream that o means; None gives NULL (current). Accepts Streams, and objects with
 * __cuda_stream__, which are wrapped as streams of the device (NULL: found out) and kept alive by
 * them. *out is for nd_stream_release. */
int py_stream(py_state *st, PyObject *o, nd_device *device, nd_stream **out);
PyObject *py_from_stream(py_state *st, nd_stream *stream); /* takes over the reference */
/* Borrowed; NULL (no exception) where o is no Stream, no Event. */
nd_stream *py_stream_get(const py_state *st, PyObject *o);
nd_event *py_event_get(const py_state *st, PyObject *o);
/* event.c: the event, or a new one for None, recorded on the stream */
PyObject *py_event_record(py_state *st, PyObject *event, nd_stream *stream);
/* launch.c: Stream.launch_host(function, *args) */
PyObject *py_launch_host(PyObject *self, PyObject *args);
/* make.c: Stream(...), and its class methods current, default, from_pool and from_external */
PyObject *py_stream_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
PyObject *py_stream_current(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *py_stream_default(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *py_stream_from_pool(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *py_stream_from_external(PyObject *type, PyObject *args, PyObject *kwargs);

int py_init_stream(PyObject *module, py_state *st);
int py_init_event(PyObject *module, py_state *st);
extern PyMethodDef py_stream_methods[], py_debug_methods[];

#endif
