/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Device memory: statistics, settings, snapshots, pinned memory and copies. */
#include <stddef.h>
#include <stdlib.h>
#include "python/src/memory/memory.h"

typedef struct {
    const char *name;
    size_t offset;
} field;
#define FIELD(name)                            \
    {                                          \
#name, offsetof(nd_memory_stats, name) \
    }
/* PyTorch's names, and ours where it has none. */
static const field by_pool[] = {
    FIELD(allocation),   FIELD(allocated_bytes), FIELD(requested_bytes),
    FIELD(segment),      FIELD(reserved_bytes),  FIELD(active),
    FIELD(active_bytes), FIELD(inactive_split),  FIELD(inactive_split_bytes)};
static const field over_all[] = {FIELD(oversize_allocations), FIELD(oversize_segments),
                                 FIELD(workspace_bytes),      FIELD(pinned_bytes),
                                 FIELD(pinned_blocks),        FIELD(pinned_owned_bytes)};
static const field counts[] = {FIELD(num_alloc_retries),    FIELD(num_ooms),
                               FIELD(num_sync_all_streams), FIELD(num_device_alloc),
                               FIELD(num_device_free),      FIELD(num_cap_rejections),
                               FIELD(max_split_size),       FIELD(garbage_collections),
                               FIELD(num_host_alloc),       FIELD(num_host_free),
                               FIELD(host_alloc_us),        FIELD(host_free_us)};
#define COUNT(a) (sizeof(a) / sizeof *(a))

static PyObject *one_stat(const nd_memory_stat *s)
{
    return Py_BuildValue("{s:L,s:L,s:L,s:L}", "current", (long long)s->current, "peak",
                         (long long)s->peak, "allocated", (long long)s->allocated, "freed",
                         (long long)s->freed);
}

static PyObject *three_stats(const nd_memory_stat3 *s)
{
    return Py_BuildValue("{s:N,s:N,s:N}", "all", one_stat(&s->all), "small_pool",
                         one_stat(&s->small_pool), "large_pool", one_stat(&s->large_pool));
}

/* Takes over value. */
static int put(PyObject *dict, const char *name, PyObject *value)
{
    int bad = value ? PyDict_SetItemString(dict, name, value) : -1;
    Py_XDECREF(value);
    return bad;
}

static int put_stats(PyObject *dict, const nd_memory_stats *stats)
{
    const char *base = (const char *)stats;
    int bad = 0;
    for (size_t i = 0; !bad && i < COUNT(by_pool); i++)
        bad = put(dict, by_pool[i].name,
                  three_stats((const nd_memory_stat3 *)(const void *)(base + by_pool[i].offset)));
    for (size_t i = 0; !bad && i < COUNT(over_all); i++)
        bad = put(dict, over_all[i].name,
                  one_stat((const nd_memory_stat *)(const void *)(base + over_all[i].offset)));
    for (size_t i = 0; !bad && i < COUNT(counts); i++) {
        const int64_t *value = (const int64_t *)(const void *)(base + counts[i].offset);
        bad = put(dict, counts[i].name, PyLong_FromLongLong(*value));
    }
    return bad;
}

/* _memory_stats(device), a nested dict */
static PyObject *stats_get(PyObject *module, PyObject *where)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    nd_memory_stats stats = {.size = sizeof stats};
    if (py_device(st, where, &device) < 0 || py_check(st, nd_memory_stats_get(device, &stats)) < 0)
        return NULL;
    PyObject *dict = PyDict_New();
    if (dict && put_stats(dict, &stats) < 0)
        Py_CLEAR(dict);
    return dict;
}

/* ---- functions of a device alone ---- */
static PyObject *on_device(PyObject *module, PyObject *where, nd_status (*call)(nd_device *))
{
    py_state *st = py_state_of(module);
    nd_device *device;
    if (py_device(st, where, &device) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = call(device);
    PyEval_RestoreThread(saved);
    return py_none(st, status);
}
static PyObject *reset_peak(PyObject *module, PyObject *where)
{
    return on_device(module, where, nd_memory_reset_peak);
}
static PyObject *reset_accumulated(PyObject *module, PyObject *where)
{
    return on_device(module, where, nd_memory_reset_accumulated);
}
static PyObject *empty_cache(PyObject *module, PyObject *where)
{
    return on_device(module, where, nd_memory_empty_cache);
}
static PyObject *empty_host_cache(PyObject *module, PyObject *where)
{
    return on_device(module, where, nd_memory_empty_host_cache);
}

static PyObject *usage(PyObject *module, PyObject *where)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    uint64_t unused, total;
    if (py_device(st, where, &device) < 0 ||
        py_check(st, nd_memory_usage(device, &unused, &total)) < 0)
        return NULL;
    return Py_BuildValue("(KK)", (unsigned long long)unused, (unsigned long long)total);
}

/* ---- settings ---- */
/* _memory_cap(device, bytes, fraction): one of the two is None */
static PyObject *cap(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *where, *bytes, *fraction;
    nd_device *device;
    if (!PyArg_ParseTuple(args, "OOO:_memory_cap", &where, &bytes, &fraction) ||
        py_device(st, where, &device) < 0)
        return NULL;
    unsigned long long n = bytes == Py_None ? 0 : PyLong_AsUnsignedLongLong(bytes);
    double share = fraction == Py_None ? 0 : PyFloat_AsDouble(fraction);
    if (PyErr_Occurred())
        return NULL;
    return py_none(st, bytes == Py_None ? nd_memory_cap_set_fraction(device, share)
                                        : nd_memory_cap_set(device, n));
}

/* _pinned_cap(device, bytes) */
static PyObject *pinned_cap(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *where;
    nd_device *device;
    unsigned long long n;
    if (!PyArg_ParseTuple(args, "OK:_pinned_cap", &where, &n) || py_device(st, where, &device) < 0)
        return NULL;
    return py_none(st, nd_memory_pinned_cap_set(device, n));
}

static PyObject *conf_set(PyObject *module, PyObject *text)
{
    const char *conf = py_text(text, "a list of allocator settings");
    return conf ? py_none(py_state_of(module), nd_memory_conf_set(conf)) : NULL;
}

/* A text that the library made, which is freed. */
static PyObject *text_result(py_state *st, nd_status status, char *text)
{
    if (status != ND_OK)
        return py_fail(st, status);
    PyObject *result = py_from_text(text);
    free(text);
    return result;
}
static PyObject *conf_get(PyObject *module, PyObject *unused)
{
    char *text = NULL;
    (void)unused;
    nd_status status = nd_memory_conf_get(&text);
    return text_result(py_state_of(module), status, text);
}

/* ---- looking inside: device None means all ---- */
static int maybe_device(py_state *st, PyObject *where, nd_device **device)
{
    *device = NULL;
    return where == Py_None ? 0 : py_device(st, where, device);
}
static PyObject *snapshot_text(PyObject *module, PyObject *where)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    char *text = NULL;
    if (maybe_device(st, where, &device) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_memory_snapshot_text(device, &text);
    PyEval_RestoreThread(saved);
    return text_result(st, status, text);
}

/* _snapshot_save(device, path, pickle) */
static PyObject *snapshot_save(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *where, *file;
    int pickle;
    nd_device *device;
    if (!PyArg_ParseTuple(args, "OOp:_snapshot_save", &where, &file, &pickle) ||
        maybe_device(st, where, &device) < 0)
        return NULL;
    PyObject *path = py_path(file);
    if (!path)
        return NULL;
    const char *name = PyBytes_AsString(path);
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status =
        nd_memory_snapshot_save(device, name, pickle ? ND_SNAPSHOT_PICKLE : ND_SNAPSHOT_JSON);
    PyEval_RestoreThread(saved);
    Py_DECREF(path);
    return py_none(st, status);
}

static PyObject *trace_set(PyObject *module, PyObject *n)
{
    long long events = PyLong_AsLongLong(n);
    if (events == -1 && PyErr_Occurred())
        return NULL;
    return py_none(py_state_of(module), nd_memory_trace_set(events));
}
/* _trace_note(device, text) */
static PyObject *trace_note(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *where;
    const char *text;
    nd_device *device;
    if (!PyArg_ParseTuple(args, "Os:_trace_note", &where, &text) ||
        py_device(st, where, &device) < 0)
        return NULL;
    return py_none(st, nd_memory_trace_note(device, text));
}

/* _debug_report(device) gives (text, count) */
static PyObject *debug_report(PyObject *module, PyObject *where)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    char *text = NULL;
    int64_t count = 0;
    if (py_device(st, where, &device) < 0)
        return NULL;
    nd_status status = nd_memory_debug_report(device, &text, &count);
    PyObject *report = text_result(st, status, text);
    return report ? Py_BuildValue("(NL)", report, (long long)count) : NULL;
}

/* ---- pinned memory and copies ---- */
/* _empty_pinned(shape, dtype, device) */
static PyObject *empty_pinned(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *extents, *type, *where;
    int64_t shape[ND_MAX_NDIM];
    int ndim;
    nd_dtype dtype;
    nd_device *device;
    nd_array *out = NULL;
    if (!PyArg_ParseTuple(args, "OOO:_empty_pinned", &extents, &type, &where) ||
        py_ints(extents, "shape", shape, &ndim) < 0 || py_dtype(st, type, &dtype) < 0 ||
        py_device(st, where, &device) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status =
        nd_empty_pinned(device, dtype ? dtype : nd_default_float(), ndim, shape, &out);
    PyEval_RestoreThread(saved);
    return py_result(st, status, &out);
}

static PyObject *is_pinned(PyObject *module, PyObject *x)
{
    const nd_array *a = py_array_need(py_state_of(module), x, "is_pinned");
    return a ? PyBool_FromLong(nd_is_pinned(a)) : NULL;
}

/* _host_register(device, address, nbytes) */
static PyObject *host_register(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *where;
    nd_device *device;
    unsigned long long address, nbytes;
    if (!PyArg_ParseTuple(args, "OKK:_host_register", &where, &address, &nbytes) ||
        py_device(st, where, &device) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_host_register(device, (void *)(uintptr_t)address, nbytes);
    PyEval_RestoreThread(saved);
    return py_none(st, status);
}
/* _host_unregister(device, address) */
static PyObject *host_unregister(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *where;
    nd_device *device;
    unsigned long long address;
    if (!PyArg_ParseTuple(args, "OK:_host_unregister", &where, &address) ||
        py_device(st, where, &device) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_host_unregister(device, (void *)(uintptr_t)address);
    PyEval_RestoreThread(saved);
    return py_none(st, status);
}

/* _address(buffer): of a writable one */
static PyObject *address(PyObject *module, PyObject *o)
{
    Py_buffer view;
    (void)module;
    if (PyObject_GetBuffer(o, &view, PyBUF_WRITABLE) < 0)
        return NULL;
    PyObject *result = PyLong_FromVoidPtr(view.buf);
    PyBuffer_Release(&view);
    return result;
}

/* What a blocking copy waits for, so that Ctrl-C can end it: work on the stream, or on the current
 * ones of both devices. */
static int wait_for_both(py_state *st, const nd_array *src, const nd_array *dst, nd_stream *stream)
{
    bool from = py_is_async(nd_device_of(src)), to = py_is_async(nd_device_of(dst));
    if (from && to) /* ordered by events */
        return 0;
    if (stream)
        return py_wait_stream(st, stream);
    return py_wait_array(st, src) < 0 || py_wait_array(st, dst) < 0 ? -1 : 0;
}

/* _copy_to(src, dst, non_blocking, stream) */
static PyObject *copy_to(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *from, *to, *on;
    int non_blocking;
    nd_copy_opts opts = {.size = sizeof opts};
    if (!PyArg_ParseTuple(args, "OOpO:_copy_to", &from, &to, &non_blocking, &on))
        return NULL;
    const nd_array *src = py_array_need(st, from, "copy_to");
    const nd_array *dst = src ? py_array_need(st, to, "copy_to") : NULL;
    if (!dst || py_stream(st, on, nd_device_of(py_is_async(nd_device_of(src)) ? src : dst),
                          &opts.stream) < 0)
        return NULL;
    opts.non_blocking = non_blocking;
    if (non_blocking && !py_is_async(nd_device_of(dst)))
        py_host_may_wait();
    int bad = non_blocking ? 0 : wait_for_both(st, src, dst, opts.stream);
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = bad ? ND_OK : nd_copy_to(src, dst, &opts);
    nd_stream_release(opts.stream);
    PyEval_RestoreThread(saved);
    return bad ? NULL : py_none(st, status);
}

PyMethodDef py_memory_methods[] = {{"_memory_stats", stats_get, METH_O, NULL},
                                   {"_memory_reset_peak", reset_peak, METH_O, NULL},
                                   {"_memory_reset_accumulated", reset_accumulated, METH_O, NULL},
                                   {"_memory_empty_cache", empty_cache, METH_O, NULL},
                                   {"_memory_empty_host_cache", empty_host_cache, METH_O, NULL},
                                   {"_memory_usage", usage, METH_O, NULL},
                                   {"_memory_cap", cap, METH_VARARGS, NULL},
                                   {"_pinned_cap", pinned_cap, METH_VARARGS, NULL},
                                   {"_memory_conf_set", conf_set, METH_O, NULL},
                                   {"_memory_conf_get", conf_get, METH_NOARGS, NULL},
                                   {"_snapshot_text", snapshot_text, METH_O, NULL},
                                   {"_snapshot_save", snapshot_save, METH_VARARGS, NULL},
                                   {"_trace_set", trace_set, METH_O, NULL},
                                   {"_trace_note", trace_note, METH_VARARGS, NULL},
                                   {"_debug_report", debug_report, METH_O, NULL},
                                   {"_empty_pinned", empty_pinned, METH_VARARGS, NULL},
                                   {"_is_pinned", is_pinned, METH_O, NULL},
                                   {"_host_register", host_register, METH_VARARGS, NULL},
                                   {"_host_unregister", host_unregister, METH_VARARGS, NULL},
                                   {"_address", address, METH_O, NULL},
                                   {"_copy_to", copy_to, METH_VARARGS, NULL},
                                   {NULL, NULL, 0, NULL}};
