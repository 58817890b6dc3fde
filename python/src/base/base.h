/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What every folder uses: the state of the module, the Array object, exceptions, text, the GIL,
 * waiting, and references that the library keeps. One source, two builds: the limited API (3.11 and
 * later), and a version-specific one for interpreters without a GIL.
 *
 * Rules of python/src/: functions named py_ are shared; those that return int return 0, or -1 with
 * an exception set; the state is the first argument. A call of the library that may take long is
 * made between py_unlock and py_lock. */
#ifndef NDOCK_PY_BASE_H
#define NDOCK_PY_BASE_H
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
    struct py_exchange *exchange;              /* of exchange/ */
    _Atomic(struct py_needle_type *) needle;   /* of needle/: its types, one a device */
    nd_print_opts print;                       /* of array/format.c */
} py_state;

static inline py_state *py_state_of(PyObject *module)
{
    return (py_state *)PyModule_GetState(module);
}
/* Of an object whose type is the module's own. */
static inline py_state *py_state_of_self(PyObject *self)
{
    return (py_state *)PyType_GetModuleState(Py_TYPE(self));
}

/* ---- the Array object (handle.c); its type is made in array/ ---- */
typedef struct {
    PyObject_HEAD nd_array *a;
    PyObject *weakrefs;
} py_array;

/* The state behind an object that may be an Array of some interpreter; NULL (no exception) for any
 * other object. */
py_state *py_state_of_array(PyObject *o);
/* Of an object that is known to be an Array; borrowed. */
static inline nd_array *py_array_of(PyObject *self)
{
    return ((py_array *)self)->a;
}
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
/* For array/type.c: the type's slot Py_tp_dealloc, and what is done once the type is there. */
void py_array_dealloc(PyObject *self);
void py_array_type_made(PyTypeObject *type);

/* ---- exceptions (error.c) ---- */
/* Sets the exception for the thread's latest failure; always returns NULL. */
PyObject *py_fail(py_state *st, nd_status status);
/* error_text.c: a message of the library in the package's words. */
PyObject *py_error_text(const char *message);
/* 0, or -1 with the exception set. */
int py_check(py_state *st, nd_status status);
/* A new reference to o for ND_OK, else NULL with the exception set. */
static inline PyObject *py_return(py_state *st, nd_status status, PyObject *o)
{
    return status == ND_OK ? Py_NewRef(o) : py_fail(st, status);
}
/* The same of None, and of a truth value. */
PyObject *py_none(py_state *st, nd_status status);
PyObject *py_bool(py_state *st, nd_status status, int32_t truth);
/* The thread's exception, put aside while code runs that may call Python, which must find none:
 * deleters of imported memory, functions that a stream calls. */
typedef struct {
    PyObject *type, *value, *trace;
} py_exception;
py_exception py_put_aside(void);
void py_bring_back(py_exception e);

/* ---- text (text.c) ---- */
/* UTF-8 of a string, borrowed from it. NULL with an exception that names what it is: TypeError for
 * other objects, ValueError for NUL characters and lone surrogates. */
const char *py_text(PyObject *o, const char *what);
/* A bytes object with the path, for what os.fspath takes; NULL with an exception. */
PyObject *py_path(PyObject *o);
/* A string; bytes that are no UTF-8 become \xNN. */
PyObject *py_from_text(const char *text);
/* The string of a call of the library that allocates one, which is freed; the exception where status
 * is not ND_OK. */
PyObject *py_text_result(py_state *st, nd_status status, char *text);
/* A string that os.fsencode makes the same path of. */
PyObject *py_from_path(const char *path);

/* ---- objects of Python (object.c) ---- */
/* An attribute of NumPy, which is never imported: NULL (no exception) where the program has not. */
PyObject *py_numpy(const char *name);
/* An attribute of a module, which is imported; NULL with an exception. */
PyObject *py_imported(const char *module, const char *name);
/* dict[key] = value; the value is taken over, NULL is an exception that is set already. */
int py_dict_put(PyObject *dict, PyObject *key, PyObject *value);
int py_dict_put_named(PyObject *dict, const char *key, PyObject *value);
/* list.append(item), which is taken over in the same way. */
int py_append(PyObject *list, PyObject *item);
/* The value of a setting that the library has as an int32_t; of larger ints the lowest 32 bits. */
int py_setting(PyObject *o, int32_t *out);
/* A new type, which the module has under that name; NULL with an exception. */
PyTypeObject *py_add_type(PyObject *module, PyType_Spec *spec, const char *name);
/* For Py_tp_dealloc, of objects that hold nothing (any more). */
static inline void py_plain_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- the GIL (gil.c) ---- */
/* Releases the GIL where the call is worth it: `work` elements, or any work on an asynchronous
 * device. NULL where it was kept. */
PyThreadState *py_unlock(const nd_array *a, int64_t work);
/* The work of a call that reads both. */
static inline int64_t py_work(const nd_array *a, const nd_array *b)
{
    int64_t work;
    return __builtin_add_overflow(nd_size(a), nd_size(b), &work) ? INT64_MAX : work;
}
/* To be called before a copy to the host that is not waited for: from then on py_unlock always
 * releases the GIL. */
void py_host_may_wait(void);
static inline void py_lock(PyThreadState *saved)
{
    if (saved)
        PyEval_RestoreThread(saved);
}

/* ---- devices, and waiting for them (wait.c) ---- */
/* Whether work may be queued there, and whether the host can read the memory. */
bool py_is_async(nd_device *device);
bool py_is_host(nd_device *device);
/* Where *device is NULL, the current device takes its place. */
int py_or_current(py_state *st, nd_device **device);
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

/* ---- tables of methods ---- */
/* A function of more or other parameters than PyCFunction has, as its flags in the table say. */
#define PY_FUNCTION(f) (PyCFunction)(void (*)(void)) f
#define PY_METHOD(name, function)                        \
    {                                                    \
        name, PY_FUNCTION(function), METH_FASTCALL, NULL \
    }
#define PY_METHODS_END      \
    {                       \
        NULL, NULL, 0, NULL \
    }

/* ---- parts of the module (module/parts.def) ---- */
int py_init_errors(PyObject *module, py_state *st);
int py_init_later(PyObject *module, py_state *st);
int py_init_log(PyObject *module, py_state *st);
extern PyMethodDef py_log_methods[];

#endif
