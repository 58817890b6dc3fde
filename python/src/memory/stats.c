/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How much device memory is in use: statistics of the allocator, and what the device itself
 * says. */
#include <stddef.h>
#include "python/src/memory/memory.h"

typedef struct {
    const char *name;
    size_t offset;
} field;
#define FIELD(name)                            \
    {                                          \
#name, offsetof(nd_memory_stats, name) \
    }
/* The names are PyTorch's, and ours where PyTorch has none. */
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

static int put_stats(PyObject *dict, const nd_memory_stats *stats)
{
    const char *base = (const char *)stats;
    int bad = 0;
    for (size_t i = 0; !bad && i < COUNT(by_pool); i++)
        bad = py_dict_put_named(
            dict, by_pool[i].name,
            three_stats((const nd_memory_stat3 *)(const void *)(base + by_pool[i].offset)));
    for (size_t i = 0; !bad && i < COUNT(over_all); i++)
        bad = py_dict_put_named(
            dict, over_all[i].name,
            one_stat((const nd_memory_stat *)(const void *)(base + over_all[i].offset)));
    for (size_t i = 0; !bad && i < COUNT(counts); i++) {
        const int64_t *value = (const int64_t *)(const void *)(base + counts[i].offset);
        bad = py_dict_put_named(dict, counts[i].name, PyLong_FromLongLong(*value));
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

/* _memory_usage(device): free bytes, and all */
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

PyMethodDef py_memory_stats_methods[] = {{"_memory_stats", stats_get, METH_O, NULL},
                                         {"_memory_usage", usage, METH_O, NULL},
                                         PY_METHODS_END};
