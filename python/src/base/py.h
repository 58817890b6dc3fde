/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of the extension module share: its state, the Array object, and the conversions
 * between Python's objects and the library's. One source, two builds: the limited API (3.11 and
 * later), and a version-specific one for interpreters without a GIL.
 *
 * Rules of this folder: functions named py_ are shared; those that return int return 0, or -1 with
 * an exception set; the state is the first argument. A call of the library that may take long is
 * made between py_unlock and py_lock. */
#ifndef NDOCK_PY_H
#define NDOCK_PY_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <ndock/ndock.h>

/* ---- the module's state: one an interpreter ---- */
typedef struct {
    PyTypeObject *array, *dtype, *device;
    PyTypeObject *stream, *event;
    PyTypeObject *allocator, *pool;
    atomic_int discovered;                     /* plug-ins of other packages: 0 not looked for, 1 a
                                                  thread does, 2 done */
    atomic_ulong discoverer;                   /* that thread */
    PyObject *dtypes[ND_DTYPE_END];            /* the DType objects, by nd_dtype */
    _Atomic(PyObject *) errors[ND_STATUS_END]; /* exception classes by status, made on first use */
    PyObject *error;                           /* ndock.Error, the base of all */
    struct py_exchange *exchange;              /* exchange.h */
    _Atomic(struct py_needle_type *) needle;   /* needle.c's types, one a device */
    nd_print_opts print;                       /* format.c */
} py_state;

extern struct PyModuleDef py_module;
static inline py_state *py_state_of(PyObject *module)
{
    return (py_state *)PyModule_GetState(module);
}

/* ---- the array ---- */
typedef struct {
    PyObject_HEAD nd_array *a;
    PyObject *weakrefs;
} py_array;

/* The state behind an object that may be an Array of some interpreter; NULL (no exception) for any
 * other object. */
py_state *py_state_of_array(PyObject *o);
/* Borrowed; NULL (no exception) where o is no Array. */
static inline nd_array *py_array_get(const py_state *st, PyObject *o)
{
    return Py_TYPE(o) == st->array ? ((py_array *)o)->a : NULL;
}
/* The same with a TypeError that names the function. */
nd_array *py_array_need(const py_state *st, PyObject *o, const char *function);
/* A new Array around a, which is taken over also on failure. */
PyObject *py_array_new(py_state *st, nd_array *a);
/* The same for a call: py_result(st, nd_X(..., &r), &r); the exception where status is not ND_OK.
 */
PyObject *py_result(py_state *st, nd_status status, nd_array **a);

/* Of objects that hold nothing. */
static inline void py_plain_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- errors ---- */
/* Sets the exception for the thread's latest failure; always returns NULL. */
PyObject *py_fail(py_state *st, nd_status status);
/* error_text.c: a message of the library in the package's words. */
PyObject *py_error_text(const char *message);
/* 0, or -1 with the exception set. */
int py_check(py_state *st, nd_status status);
/* A new reference to None, or NULL with the exception set. */
PyObject *py_none(py_state *st, nd_status status);
/* The thread's exception, put aside while code runs that may call Python, which must find none:
 * deleters of imported memory, functions that a stream calls. */
typedef struct {
    PyObject *type, *value, *trace;
} py_exception;
py_exception py_put_aside(void);
void py_bring_back(py_exception e);

/* ---- text ---- */
/* UTF-8 of a string, borrowed from it. NULL with an exception that names what it is: TypeError for
 * other objects, ValueError for NUL characters and lone surrogates. */
const char *py_text(PyObject *o, const char *what);
/* A bytes object with the path, for what os.fspath takes; NULL with an exception. */
PyObject *py_path(PyObject *o);
/* A string; bytes that are no UTF-8 become \xNN. */
PyObject *py_from_text(const char *text);
/* A string that os.fsencode makes the same path of. */
PyObject *py_from_path(const char *path);

/* ---- conversions: PyArg_Parse-like, from one object ---- */
/* True (and *out) for a weak scalar: bool, int, float, complex, or a scalar of NumPy's, which
 * counts as the Python scalar that it holds. -1: an exception; 0: not a scalar. An int beyond 64
 * bits is an OverflowError. */
int py_scalar(PyObject *o, nd_scalar *out);
/* An attribute of NumPy, which is never imported: NULL (no exception) where the program has not. */
PyObject *py_numpy(const char *name);
bool py_is_numpy_array(PyObject *o);
bool py_is_numpy_scalar(PyObject *o); /* a number or not */
/* True, and its value as a Python scalar, for NumPy's numbers and truth values; as py_scalar. */
int py_numpy_scalar(PyObject *o, PyObject **value);
PyObject *py_from_scalar(nd_scalar s);
/* An array of anything that asarray() takes: Arrays, scalars, nested sequences, host memory of
 * others, and what exports DLPack or __array__. dtype 0: the object's own. device NULL: the
 * Array's own, for all else the current one. NULL with an exception. */
enum { PY_COPY_NEVER = 0, PY_COPY_ALWAYS = 1, PY_COPY_IF_NEEDED = 2 };
nd_array *py_asarray(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device, int copy);
/* The same of what is no sequence: one is a TypeError, so that an object whose answer to that
 * changes leads nowhere else. */
nd_array *py_asarray_leaf(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device);
/* asarray/nested.c: the same for scalars and sequences. */
nd_array *py_from_nested(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device);
bool py_is_sequence(PyObject *o);
/* asarray/operand.c: 1 and a new array of a list, a tuple or an array of NumPy's, on the device of
 * the array beside it, which must be the host's; 0 where o is none of those, -1 with an exception. The
 * name is that of the function, for messages. */
int py_operand(py_state *st, const char *name, PyObject *o, const nd_array *beside, nd_array **out);
bool py_is_operand(PyObject *o);
/* asarray/asarray.c: not ours, but it exports a buffer, __array_interface__, DLPack or __array__.
 */
bool py_is_foreign_array(PyObject *o);
/* asarray/host.c: 1 and an array of a host object's memory (a view where possible; *copied: not so),
 * 0 where o has none to offer, -1 with an exception. */
int py_import_host(py_state *st, PyObject *o, nd_device *device, bool want_copy, nd_array **out,
                   bool *copied);
/* None gives 0 (by rule). Accepts ndock's dtypes, texts, bool int float complex, and objects with a
 * name, such as NumPy's dtypes. */
int py_dtype(py_state *st, PyObject *o, nd_dtype *out);
/* dtype/name.c: of a text alone, the array API's name or NumPy's code; TypeError for another. The
 * second gives 0 (no exception) there. */
int py_dtype_named(const char *text, nd_dtype *out);
nd_dtype py_dtype_known(const char *text);
PyObject *py_from_dtype(py_state *st, nd_dtype dtype); /* new reference */
/* None gives NULL (current). Accepts Device objects and device strings. */
int py_device(py_state *st, PyObject *o, nd_device **out);
PyObject *py_from_device(py_state *st, nd_device *device);
int py_device_named(py_state *st, const char *name, nd_device **out);
/* The same for a name of nd_device_list, which is opened when more than that is wanted. */
PyObject *py_device_listed(py_state *st, const char *name);
/* Before devices are looked up: the plug-ins of other packages are loaded, unless it is the CPU. */
int py_discover(py_state *st);
int py_discover_for(py_state *st, const char *name);
/* None gives NULL (current). Accepts Streams, and objects with __cuda_stream__, which are wrapped
 * as streams of the device (NULL: found out) and kept alive by them. *out is for nd_stream_release.
 */
int py_stream(py_state *st, PyObject *o, nd_device *device, nd_stream **out);
PyObject *py_from_stream(py_state *st, nd_stream *stream); /* takes over the reference */
/* Borrowed; NULL (no exception) where o is no Stream, no Event. */
nd_stream *py_stream_get(const py_state *st, PyObject *o);
nd_event *py_event_get(const py_state *st, PyObject *o);
/* A shape or other list of integers: an int, or a sequence of ints; at most ND_MAX_NDIM. */
int py_ints(PyObject *o, const char *what, int64_t *out, int *n);
/* Axes: None leaves *n at -1. */
int py_axes(PyObject *o, int32_t *out, int *n);
PyObject *py_tuple(const int64_t *v, int n);

/* ---- the GIL ---- */
/* Releases it where the call is worth it: `work` elements, or any work on an asynchronous device.
 * NULL where it was kept. */
PyThreadState *py_unlock(const nd_array *a, int64_t work);
/* The work of a call that reads both. */
static inline int64_t py_work(const nd_array *a, const nd_array *b)
{
    int64_t work;
    return __builtin_add_overflow(nd_size(a), nd_size(b), &work) ? INT64_MAX : work;
}
/* To be called before a copy to the host that is not waited for: from then on it is always
 * released. */
void py_host_may_wait(void);
static inline void py_lock(PyThreadState *saved)
{
    if (saved)
        PyEval_RestoreThread(saved);
}

/* ---- waiting (wait.c) ---- */
bool py_is_async(nd_device *device);
/* Before a call that waits, such as nd_item, nd_to_host: returns when it will find the work done.
 * The GIL is released meanwhile, and signals are looked for: -1 with the exception set, be it
 * KeyboardInterrupt or what queued work failed with. Costs nothing on devices that queue nothing.
 * An array is waited for on its device's current stream, or for the copy that still writes to it.
 */
int py_wait_array(py_state *st, const nd_array *a);
/* These wait, and report what the work failed with. device NULL: current. */
int py_wait_stream(py_state *st, nd_stream *stream);
int py_wait_event(py_state *st, nd_event *event);
int py_wait_device(py_state *st, nd_device *device);

/* ---- threads that are not Python's (later.c) ---- */
/* A reference for the library to keep: py_drop(kept) gives it up, which any thread may call at any
 * time (release functions of nd_wrap, nd_stream_wrap ...); the main thread drops it as soon as it
 * runs Python code, or whoever calls py_drop_now, with the GIL, after a release by the library.
 * py_unkeep, with the GIL, undoes py_keep. NULL with an exception set. */
void *py_keep(PyObject *object);
void py_drop(void *kept);
void py_drop_now(void);
void py_unkeep(void *kept);
/* nd_release, to be followed by py_drop_now. Keeps the GIL where nothing is waited for, until
 * somebody queues a function of Python's and says so. */
void py_release(nd_array *a);
/* Both, with the GIL, where an exception may be set; NULL is nothing. */
void py_discard(nd_array *a);
void py_release_may_wait(void);
/* Takes the GIL where no lock of the library is held; false: the interpreter is gone, or going. */
bool py_enter(PyGILState_STATE *gil);
void py_leave(PyGILState_STATE gil);
bool py_is_main_interpreter(void);
/* Calls the function, of no arguments, when this interpreter ends. */
int py_at_exit(PyMethodDef *function);

/* ---- what each file adds to the module: a row in module/parts.def ---- */
#define TYPES(x) int py_init_##x(PyObject *module, py_state *st);
#define METHODS(x) extern PyMethodDef py_##x##_methods[];
#include "python/src/module/parts.def"
/* exchange/exchange.c: its part of the state */
int py_exchange_traverse(py_state *st, visitproc visit, void *arg);
void py_exchange_clear(py_state *st);
/* needle/needle.c: its part of the state */
int py_needle_traverse(py_state *st, visitproc visit, void *arg);
void py_needle_clear(py_state *st);

/* ---- slots and methods of Array, by file ---- */
/* array/operators.c: operators */
PyObject *py_array_compare(PyObject *l, PyObject *r, int how);
extern const PyType_Slot py_number_slots[]; /* ends with {0, NULL} */
extern const PyType_Slot py_index_slots[], py_scalar_slots[], py_buffer_slots[], py_format_slots[];
extern PyMethodDef py_array_methods[]; /* array/methods.c */
extern PyGetSetDef py_array_getset[];  /* array/attributes.c */
/* array/scalar.c: the value of an array of one element; -1 with an exception. Methods of Array. */
int py_array_item(PyObject *self, nd_scalar *out);
PyObject *py_array_complex(PyObject *self, PyObject *unused);
PyObject *py_array_tolist(PyObject *self, PyObject *unused);
PyObject *py_array_item_method(PyObject *self, PyObject *const *args, Py_ssize_t n);
/* exchange/buffer.c: __array__. array/format.c: __format__. */
PyObject *py_array_numpy(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *py_array_format(PyObject *self, PyObject *spec);
/* ops/elementwise.c: an op of op.def on n operands, arrays and scalars; into `out` where it is
 * given */
PyObject *py_apply(py_state *st, nd_op op, PyObject *const *args, int n, PyObject *out);
/* streams/event.c: the event, or a new one for None, recorded on the stream */
PyObject *py_event_record(py_state *st, PyObject *event, nd_stream *stream);
PyObject *py_launch_host(PyObject *stream, PyObject *args);

#endif
