/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What every folder uses: the state of the module, the Array object, exceptions, text, the GIL,
 * waiting, and references that the library keeps. The source is built in two ways: for the
 * limited API (3.11 and later), and for interpreters without a GIL, each version by itself.
 *
 * Rules of python/src/: functions whose names begin with py_ are shared. Those that return an
 * int return 0, or -1 with an exception set, where their comment says nothing else. The state is
 * the first argument. A call of the library that may take long is made between py_unlock and
 * py_lock. */
#ifndef NDOCK_PY_BASE_H
#define NDOCK_PY_BASE_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <ndock/ndock.h>

/* ---- the module's state: each interpreter has one ---- */
typedef struct {
    PyTypeObject *array, *dtype, *device;
    PyTypeObject *stream, *event;
    PyTypeObject *allocator, *pool;
    PyTypeObject *traced;                      /* stands in for Array while fuse() traces; NULL:
                                                  it is not there yet */
    atomic_int discovered;                     /* plug-ins of other packages: 0 nobody has looked
                                                  for them, 1 a thread does, 2 they are loaded */
    atomic_ulong discoverer;                   /* the thread that looks for them */
    PyObject *dtypes[ND_DTYPE_END];            /* the DType objects, by nd_dtype */
    _Atomic(PyObject *) errors[ND_STATUS_END]; /* exception classes by status, made on first use */
    PyObject *error;                           /* ndock.Error, the base of all */
    PyObject *word_out;                        /* "out", interned */
    struct py_exchange *exchange;              /* what exchange/ keeps */
    _Atomic(struct py_needle_type *) needle;   /* the types of needle/, one for each device */
    nd_print_opts print;                       /* what array/format.c goes by */
} py_state;

/* The state of the extension module. */
static inline py_state *py_state_of(PyObject *module)
{
    return (py_state *)PyModule_GetState(module);
}
/* The state behind an object whose type is one of the module's. */
static inline py_state *py_state_of_self(PyObject *self)
{
    return (py_state *)PyType_GetModuleState(Py_TYPE(self));
}

/* ---- the Array object (handle.c), whose type array/ puts together ---- */
typedef struct {
    PyObject_HEAD nd_array *a;
    PyObject *weakrefs;
} py_array;

/* Gives the state behind an object that may be an Array of some interpreter, NULL (no exception)
 * for any other object. */
py_state *py_state_of_array(PyObject *o);
/* Lends the array of an object that is known to be an Array. */
static inline nd_array *py_array_of(PyObject *self)
{
    return ((py_array *)self)->a;
}
/* Lends the array of an Array; NULL (no exception) where o is none. */
static inline nd_array *py_array_get(const py_state *st, PyObject *o)
{
    return Py_TYPE(o) == st->array ? ((py_array *)o)->a : NULL;
}
/* Lends the array of an Array; NULL with a TypeError that names the function where o is none. */
nd_array *py_array_need(const py_state *st, PyObject *o, const char *function);
/* Makes an Array of a, which is taken over even where that fails. */
PyObject *py_array_new(py_state *st, nd_array *a);
/* Makes an Array of what a call has given, as in py_result(st, nd_X(..., &r), &r); where the status
 * is not ND_OK, its exception is set. */
PyObject *py_result(py_state *st, nd_status status, nd_array **a);
/* The type's slot Py_tp_dealloc. */
void py_array_dealloc(PyObject *self);
/* Tells this folder the type, once it is there. */
void py_array_type_made(PyTypeObject *type);

/* ---- exceptions (error.c) ---- */
/* Lends the exception class of a status, which is made on first use; NULL with an exception. */
PyObject *py_error_class(py_state *st, nd_status status);
/* Sets the exception for the thread's latest failure; always returns NULL. */
PyObject *py_fail(py_state *st, nd_status status);
/* Gives a message of the library in the package's words (error_text.c). */
PyObject *py_error_text(const char *message);
/* Returns 0 for ND_OK; else sets the exception. */
int py_check(py_state *st, nd_status status);
/* Returns a new reference to o for ND_OK; else sets the exception. */
static inline PyObject *py_return(py_state *st, nd_status status, PyObject *o)
{
    return status == ND_OK ? Py_NewRef(o) : py_fail(st, status);
}
/* Returns a new reference to None for ND_OK; else sets the exception. */
PyObject *py_none(py_state *st, nd_status status);
/* Returns the truth value for ND_OK; else sets the exception. */
PyObject *py_bool(py_state *st, nd_status status, int32_t truth);
/* The thread's exception, which is put aside while code runs that may call Python, as deleters of
 * imported memory and functions on a stream do: they must find none. */
typedef struct {
    PyObject *type, *value, *trace;
} py_exception;
/* Clears the thread's exception, if there is one, and returns it. */
py_exception py_put_aside(void);
/* Sets an exception again that py_put_aside has returned. */
void py_bring_back(py_exception e);

/* ---- text (text.c) ---- */
/* Lends the UTF-8 of a string. Other objects are a TypeError, NUL characters and lone surrogates a
 * ValueError; both say what the string is. */
const char *py_text(PyObject *o, const char *what);
/* Gives the path that os.fspath takes o for, as a bytes object. */
PyObject *py_path(PyObject *o);
/* Makes a string; bytes that are no UTF-8 become \xNN. */
PyObject *py_from_text(const char *text);
/* Makes a string of a text that a call of the library has allocated, which is freed; where the
 * status is not ND_OK, its exception is set. */
PyObject *py_text_result(py_state *st, nd_status status, char *text);
/* Makes a string of which os.fsencode makes the same path. */
PyObject *py_from_path(const char *path);

/* ---- objects of Python (object.c) ---- */
/* Gives an attribute of NumPy, which is never imported: NULL (no exception) where the program has
 * not done so. */
PyObject *py_numpy(const char *name);
/* Gives an attribute of a module, which is imported. */
PyObject *py_imported(const char *module, const char *name);
/* Sets dict[key] = value. The value is taken over; for NULL the exception is set already. */
int py_dict_put(PyObject *dict, PyObject *key, PyObject *value);
/* Sets dict[key] = value as py_dict_put does, for a key of C. */
int py_dict_put_named(PyObject *dict, const char *key, PyObject *value);
/* Appends an item to a list. The item is taken over; for NULL the exception is set already. */
int py_append(PyObject *list, PyObject *item);
/* Reads the value of a setting that the library has as an int32_t; of larger ints it takes the
 * lowest 32 bits. */
int py_setting(PyObject *o, int32_t *out);
/* Makes a type, and an attribute of the module of that name. */
PyTypeObject *py_add_type(PyObject *module, PyType_Spec *spec, const char *name);
/* Frees an object that holds nothing, or nothing any more; as such a type's slot Py_tp_dealloc. */
static inline void py_plain_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- the GIL (gil.c) ---- */
/* Releases the GIL where a call is worth that: for many elements (`work`), and for any work on an
 * asynchronous device. NULL where the GIL was kept. */
PyThreadState *py_unlock(const nd_array *a, int64_t work);
/* The work of a call that reads both arrays. */
static inline int64_t py_work(const nd_array *a, const nd_array *b)
{
    int64_t work;
    return __builtin_add_overflow(nd_size(a), nd_size(b), &work) ? INT64_MAX : work;
}
/* Whether the device queues nothing, and no copy to the host that nobody waits for was made yet. */
bool py_never_waits(nd_device *device);
/* Makes py_unlock release the GIL always; called before a copy to the host that nobody waits
 * for. */
void py_host_may_wait(void);
/* Takes the GIL back, if py_unlock has released it. */
static inline void py_lock(PyThreadState *saved)
{
    if (saved)
        PyEval_RestoreThread(saved);
}

/* ---- devices, and waiting for them (wait.c) ---- */
/* Whether work may be queued on the device. */
bool py_is_async(nd_device *device);
/* Whether the host can read the device's memory. */
bool py_is_host(nd_device *device);
/* Puts the current device in the place of NULL. */
int py_or_current(py_state *st, nd_device **device);
/* Waits until a call that would wait, such as nd_item or nd_to_host, finds the work done. The GIL
 * is released meanwhile, and signals are looked for: the exception may be KeyboardInterrupt, or
 * what queued work failed with. This costs nothing on devices that queue nothing. The array is
 * waited for on its device's current stream, or for the copy that still writes to the array. */
int py_wait_array(py_state *st, const nd_array *a);
/* Waits for all work on the stream, and reports what the work failed with. */
int py_wait_stream(py_state *st, nd_stream *stream);
/* Waits for the event's latest record, and reports what the work before that failed with. */
int py_wait_event(py_state *st, nd_event *event);
/* Waits for all work on the device (NULL: the current one), and reports what the work failed
 * with. */
int py_wait_device(py_state *st, nd_device *device);

/* ---- threads that are not Python's (later.c) ---- */
/* Makes a reference to an object for the library to keep, which py_drop gives up; NULL with an
 * exception. */
void *py_keep(PyObject *object);
/* Gives up what py_keep has made, on any thread at any time, as the release functions of nd_wrap
 * and nd_stream_wrap do. The object loses its reference as soon as the main thread runs Python
 * code, or somebody calls py_drop_now. */
void py_drop(void *kept);
/* Drops the references that were given up so far; called with the GIL, after the library has
 * released something. */
void py_drop_now(void);
/* Undoes py_keep, with the GIL. */
void py_unkeep(void *kept);
/* Releases an array; py_drop_now is to be called next. The GIL is kept where nothing is waited for,
 * until py_release_may_wait has been called. */
void py_release(nd_array *a);
/* Releases an array (NULL is nothing) and drops references, also while an exception is set. */
void py_discard(nd_array *a);
/* Says that from now on a release may wait for a function of Python's, which somebody has
 * queued. */
void py_release_may_wait(void);
/* Takes the GIL where no lock of the library is held; false where the interpreter is gone, or
 * going. */
bool py_enter(PyGILState_STATE *gil);
/* Gives the GIL away that py_enter has taken. */
void py_leave(PyGILState_STATE gil);
/* Whether the calling thread runs the main interpreter. */
bool py_is_main_interpreter(void);
/* Calls the function, of no arguments, when this interpreter ends. */
int py_at_exit(PyMethodDef *function);

/* ---- tables of methods ---- */
/* A function whose parameters are not those of PyCFunction, but what its flags in the table say. */
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
