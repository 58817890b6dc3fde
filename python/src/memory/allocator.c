/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Allocator and Pool: where device memory comes from; and functions of Python that are told when it
 * runs out. */
#include <pthread.h>
#include <stdlib.h>
#include "python/src/memory/memory.h"

typedef struct {
    PyObject_HEAD nd_allocator *allocator;
} py_allocator_object;
typedef struct {
    PyObject_HEAD nd_pool *pool;
    nd_device *device;
} py_pool_object;

/* ---- Allocator ---- */
static nd_allocator *allocator_of(PyObject *self)
{
    return ((py_allocator_object *)self)->allocator;
}

static PyObject *allocator_result(py_state *st, nd_status status, nd_allocator *allocator)
{
    if (status != ND_OK)
        return py_fail(st, status);
    py_allocator_object *o = PyObject_New(py_allocator_object, st->allocator);
    if (o)
        o->allocator = allocator;
    else
        nd_allocator_release(allocator);
    return (PyObject *)o;
}

static PyObject *allocator_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", NULL};
    const char *name;
    nd_allocator *allocator;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s:Allocator", names, &name))
        return NULL;
    nd_status status = nd_allocator_named(name, &allocator);
    return allocator_result(PyType_GetModuleState(type), status, allocator);
}

static PyObject *allocator_load(PyObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "alloc", "free", NULL};
    PyObject *file;
    const char *alloc, *release = NULL;
    nd_allocator *allocator;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Os|z:load", names, &file, &alloc, &release))
        return NULL;
    PyObject *path = py_path(file);
    if (!path)
        return NULL;
    nd_status status = nd_allocator_load(PyBytes_AsString(path), alloc, release, &allocator);
    Py_DECREF(path);
    return allocator_result(PyType_GetModuleState((PyTypeObject *)type), status, allocator);
}

static void allocator_dealloc(PyObject *self)
{
    nd_allocator_release(allocator_of(self));
    py_plain_dealloc(self);
}

static PyMethodDef allocator_methods[] = {
    {"load", PY_FUNCTION(allocator_load), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "load($type, path, alloc, free=None)\n--\n\nFrom a shared library by symbol names: void"
     " *alloc(ssize_t, int device, stream) and\nvoid free(void *, ssize_t, int device, stream), as"
     " PyTorch's pluggable allocator takes them;\nwithout free, a const nd_allocator_table named"
     " alloc."},
    PY_METHODS_END};
static PyType_Slot allocator_slots[] = {
    {Py_tp_doc, "Allocator(name, /)\n--\n\n\"caching\" (the default), \"none\" (every array is an"
                " allocation of its own), \"debug\" (red zones,\npoison, quarantine, leak report),"
                " or \"async\" (the device's own pool)."
                "\nErrors: ValueError for another name.\n\n>>> "
                "nd.memory.set_allocator(nd.memory.Allocator(\"caching\"), device=\"cpu\")\n"},
    {Py_tp_new, (void *)allocator_new},
    {Py_tp_dealloc, (void *)allocator_dealloc},
    {Py_tp_methods, allocator_methods},
    {0, NULL}};
static PyType_Spec allocator_spec = {.name = "ndock.memory.Allocator",
                                     .basicsize = sizeof(py_allocator_object),
                                     .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                     .slots = allocator_slots};

/* Lends the allocator of an Allocator; NULL with an exception where o is none. */
static nd_allocator *need_allocator(py_state *st, PyObject *o)
{
    if (Py_TYPE(o) == st->allocator)
        return allocator_of(o);
    PyErr_Format(PyExc_TypeError, "an allocator is an ndock.memory.Allocator, not %R", o);
    return NULL;
}

/* _allocator_set(device, allocator) */
static PyObject *allocator_set(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *where, *o;
    nd_device *device;
    nd_allocator *allocator;
    if (!PyArg_ParseTuple(args, "OO:_allocator_set", &where, &o) ||
        py_device(st, where, &device) < 0 || !(allocator = need_allocator(st, o)))
        return NULL;
    return py_none(st, nd_allocator_set(device, allocator));
}

/* ---- Pool ---- */
static nd_pool *pool_of(PyObject *self)
{
    return ((py_pool_object *)self)->pool;
}

int py_pool_get(const py_state *st, PyObject *o, nd_pool **out)
{
    if (Py_TYPE(o) == st->pool) {
        *out = pool_of(o);
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "a pool is an ndock.memory.Pool, not %R", o);
    return -1;
}

PyObject *py_from_pool(py_state *st, nd_pool *pool, nd_device *device)
{
    py_pool_object *o = PyObject_New(py_pool_object, st->pool);
    if (!o) {
        nd_pool_release(pool);
        return NULL;
    }
    o->pool = pool;
    o->device = device;
    return (PyObject *)o;
}

static PyObject *pool_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"device", "use_on_oom", "no_split", "upstream", NULL};
    py_state *st = PyType_GetModuleState(type);
    PyObject *where = Py_None, *upstream = Py_None;
    int use_on_oom = 0, no_split = 0;
    nd_device *device;
    nd_pool *pool;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$ppO:Pool", names, &where, &use_on_oom,
                                     &no_split, &upstream) ||
        py_device(st, where, &device) < 0)
        return NULL;
    nd_pool_opts opts = {.size = sizeof opts, .use_on_oom = use_on_oom, .no_split = no_split};
    if (upstream != Py_None && !(opts.upstream = need_allocator(st, upstream)))
        return NULL;
    if (py_or_current(st, &device) < 0 || py_check(st, nd_pool_create(device, &opts, &pool)) < 0)
        return NULL;
    return py_from_pool(st, pool, device);
}

static PyObject *pool_push(PyObject *self, PyObject *unused)
{
    (void)unused;
    return py_return(py_state_of_self(self), nd_pool_push(pool_of(self)), self);
}
static PyObject *pool_pop(PyObject *self, PyObject *args)
{
    (void)args;
    return py_none(py_state_of_self(self), nd_pool_pop(pool_of(self)));
}
static PyObject *pool_device(PyObject *self, void *unused)
{
    (void)unused;
    return py_from_device(py_state_of_self(self), ((py_pool_object *)self)->device);
}
static PyObject *pool_id(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(nd_pool_id(pool_of(self)));
}
static PyObject *pool_use_count(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(nd_pool_use_count(pool_of(self)));
}
static PyObject *pool_segments(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(nd_pool_segments(pool_of(self)));
}
static PyObject *pool_reserved_bytes(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(nd_pool_reserved_bytes(pool_of(self)));
}
static void pool_dealloc(PyObject *self)
{
    nd_pool_release(pool_of(self));
    py_plain_dealloc(self);
}

static PyGetSetDef pool_getset[] = {
    {"device", pool_device, NULL, "The ndock.Device.", NULL},
    {"id", pool_id, NULL, "A number that no other pool of the process has.", NULL},
    {"use_count", pool_use_count, NULL, "Holders: this object, and scopes that are open.", NULL},
    {"segments", pool_segments, NULL, "How many pieces it has taken from the device.", NULL},
    {"reserved_bytes", pool_reserved_bytes, NULL, "Bytes it has taken from the device.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyMethodDef pool_methods[] = {{"__enter__", pool_push, METH_NOARGS, NULL},
                                     {"__exit__", pool_pop, METH_VARARGS, NULL},
                                     PY_METHODS_END};
static PyType_Slot pool_slots[] = {
    {Py_tp_doc,
     "Pool(device=None, *, use_on_oom=False, no_split=False, upstream=None)\n--\n\nMemory of its"
     " own: `with pool:` the thread's allocations on its device come from it. use_on_oom:\nothers"
     " may take from it before an allocation fails; no_split: blocks are never split; upstream:\n"
     "an Allocator for its segments. The memory goes back when the pool and its last array are"
     " gone."
     "\ndevice: None is the current one. Errors: ValueError for an unknown device.\n\n>>> with "
     "nd.memory.Pool(\"cpu\"):\n...     x = nd.ones(2, device=\"cpu\")\n"},
    {Py_tp_new, (void *)pool_new},
    {Py_tp_dealloc, (void *)pool_dealloc},
    {Py_tp_getset, pool_getset},
    {Py_tp_methods, pool_methods},
    {0, NULL}};
static PyType_Spec pool_spec = {.name = "ndock.memory.Pool",
                                .basicsize = sizeof(py_pool_object),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                .slots = pool_slots};

/* ---- functions that are told of failing requests ---- */
typedef struct {
    PyObject *function; /* NULL: nobody wants to know any more */
    py_state *st;
    bool may_free;
} watcher;
static pthread_mutex_t watchers_lock = PTHREAD_MUTEX_INITIALIZER; /* of their functions */

static PyObject *function_of(watcher *w)
{
    pthread_mutex_lock(&watchers_lock);
    PyObject *function = Py_XNewRef(w->function);
    pthread_mutex_unlock(&watchers_lock);
    return function;
}

static int ask(py_state *st, PyObject *function, nd_device *device, uint64_t nbytes)
{
    PyObject *where = py_from_device(st, device);
    PyObject *answer =
        where ? PyObject_CallFunction(function, "NK", where, (unsigned long long)nbytes) : NULL;
    int again = answer ? PyObject_IsTrue(answer) : -1;
    if (again < 0)
        PyErr_WriteUnraisable(function);
    Py_XDECREF(answer);
    return again;
}

/* The library calls this without a lock of its own, on a thread that may have the GIL or not. The
 * function's exception does not fail the allocation. */
static int32_t tell(void *ctx, nd_device *device, uint64_t nbytes)
{
    watcher *w = ctx;
    PyGILState_STATE gil;
    if (!py_enter(&gil))
        return 0;
    py_exception pending = py_put_aside(); /* of the caller's */
    PyObject *function = function_of(w);
    int again = function ? ask(w->st, function, device, nbytes) : 0;
    Py_XDECREF(function);
    py_bring_back(pending);
    py_leave(gil);
    return again > 0;
}

#define WATCHER "ndock.memory.watcher"
static void stop_watching(PyObject *capsule)
{
    watcher *w = PyCapsule_GetPointer(capsule, WATCHER);
    /* The struct stays, since a thread may be about to call it. Where the watcher was never added,
     * it is not found. */
    nd_status status = w->may_free ? nd_memory_free_callback_remove(tell, w)
                                   : nd_memory_oom_observer_remove(tell, w);
    (void)status;
    pthread_mutex_lock(&watchers_lock);
    PyObject *function = w->function;
    w->function = NULL;
    pthread_mutex_unlock(&watchers_lock);
    Py_XDECREF(function);
}

/* _watch_memory(function, may_free) gives a capsule; when it is gone, the function is no longer
 * called */
static PyObject *watch_memory(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *function;
    int may_free;
    if (!PyArg_ParseTuple(args, "Op:_watch_memory", &function, &may_free))
        return NULL;
    if (!PyCallable_Check(function))
        return PyErr_Format(PyExc_TypeError, "%R cannot be called", function);
    if (!py_is_main_interpreter())
        return PyErr_Format(PyExc_RuntimeError, "this works in the main interpreter only");
    watcher *w = malloc(sizeof *w);
    if (!w)
        return PyErr_NoMemory();
    *w = (watcher){Py_NewRef(function), st, may_free};
    PyObject *capsule = PyCapsule_New(w, WATCHER, stop_watching);
    nd_status status = !capsule   ? ND_OK
                       : may_free ? nd_memory_free_callback_add(tell, w)
                                  : nd_memory_oom_observer_add(tell, w);
    if (!capsule) {
        Py_DECREF(function);
        free(w);
        return NULL;
    }
    if (status == ND_OK)
        return capsule;
    py_fail(st, status);
    Py_DECREF(capsule);
    return NULL;
}

PyMethodDef py_allocator_methods[] = {{"_allocator_set", allocator_set, METH_VARARGS, NULL},
                                      {"_watch_memory", watch_memory, METH_VARARGS, NULL},
                                      PY_METHODS_END};

int py_init_allocator(PyObject *module, py_state *st)
{
    st->allocator = py_add_type(module, &allocator_spec, "_Allocator");
    st->pool = py_add_type(module, &pool_spec, "_Pool");
    return st->allocator && st->pool ? 0 : -1;
}
