/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Snapshots: the form of segments and blocks, the JSON of everything, and the file of it. The keys
 * are those of PyTorch's snapshots, so that its viewer opens ours; schema, version, time, devices
 * and tags are added. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "core/base/file.h"
#include "core/memory/report/pickle.h"
#include "core/memory/report/report.h"
#include "core/base/env.h"

enum { DEFAULT_TRACE = 100000 }; /* events, with NDOCK_MEMORY_SNAPSHOT */

/* ---- the form ---- */
static void comma(nd_text *t)
{
    if (t->len && t->data[t->len - 1] != '[')
        nd__text_add(t, ",");
    nd__text_add(t, "\n");
}

static int number_of(const nd_device *device)
{
    return device ? device->ordinal : 0;
}

void nd__snapshot_segment_begin(nd_text *t, const nd_snapshot_segment *s)
{
    if (t->len && t->data[t->len - 1] != '[')
        nd__text_add(t, ",\n");
    nd__text_add(t, "{\"device\": %d, \"address\": %llu, \"total_size\": %llu, ",
                 number_of(s->device), (unsigned long long)s->address,
                 (unsigned long long)s->total);
    nd__text_add(t, "\"allocated_size\": %llu, \"active_size\": %llu, \"requested_size\": %llu, ",
                 (unsigned long long)s->allocated, (unsigned long long)s->active,
                 (unsigned long long)s->requested);
    nd__text_add(t,
                 "\"stream\": %llu, \"segment_type\": \"%s\", \"segment_pool_id\": [0, %llu], "
                 "\"is_expandable\": %s, \"frames\": [], \"blocks\": [",
                 (unsigned long long)s->stream, s->large ? "large" : "small",
                 (unsigned long long)s->pool, s->expandable ? "true" : "false");
}

void nd__snapshot_block(nd_text *t, uint64_t address, uint64_t nbytes, uint64_t requested,
                        int32_t state, const char *tag)
{
    static const char *const states[] = {"active_allocated", "active_pending_free", "inactive"};
    comma(t);
    nd__text_add(t,
                 " {\"address\": %llu, \"size\": %llu, \"requested_size\": %llu, \"state\": "
                 "\"%s\", \"frames\": [], \"tag\": ",
                 (unsigned long long)address, (unsigned long long)nbytes,
                 (unsigned long long)requested, states[state]);
    nd__text_json(t, tag ? tag : "");
    nd__text_add(t, "}");
}

void nd__snapshot_segment_end(nd_text *t)
{
    nd__text_add(t, "]}");
}

/* ---- everything ---- */
enum { MOST_DEVICES = 256 };

static int by_ordinal(const void *a, const void *b)
{
    return (*(nd_device *const *)a)->ordinal - (*(nd_device *const *)b)->ordinal;
}

/* Lists the devices that have backends, each once; returns their number. */
static int list_devices(nd_device *only, nd_device **out)
{
    int n = 0;
    for (nd_backend *backend = nd__backends(); backend && n < MOST_DEVICES;
         backend = backend->next) {
        int i = 0;
        while (i < n && out[i] != backend->device)
            i++;
        if (i == n && backend->device && (!only || backend->device == only))
            out[n++] = backend->device;
    }
    qsort(out, (size_t)n, sizeof *out, by_ordinal);
    return n;
}

static void add_devices(nd_text *t, nd_device *const *devices, int n)
{
    nd__text_add(t, "\"devices\": [");
    for (int i = 0; i < n; i++) {
        const nd_backend *backend = atomic_load(&devices[i]->backend);
        nd__text_add(t, "%s\n{\"device\": %d, \"name\": ", i ? "," : "", devices[i]->ordinal);
        nd__text_json(t, devices[i]->name);
        nd__text_add(t, ", \"allocator\": \"%s\", \"memory_bytes\": %llu}",
                     backend ? backend->type->name : "",
                     (unsigned long long)devices[i]->info.memory_bytes);
    }
    nd__text_add(t, "],\n");
}

static void add_segments(nd_text *t, nd_device *only)
{
    nd__text_add(t, "\"segments\": [");
    for (nd_backend *backend = nd__backends(); backend; backend = backend->next)
        if (backend->type->snapshot && (!only || backend->device == only))
            backend->type->snapshot(backend, t);
    nd__text_add(t, "],\n");
}

static void add_event(nd_text *t, const nd_trace_entry *e)
{
    nd__text_add(t,
                 "{\"action\": \"%s\", \"addr\": %llu, \"size\": %llu, \"stream\": %llu, "
                 "\"time_us\": %lld, \"frames\": []",
                 nd__trace_action(e->action),
                 (unsigned long long)(e->action == ND_TRACE_OOM ? 0 : e->address),
                 (unsigned long long)e->nbytes, (unsigned long long)e->stream,
                 (long long)e->time_us);
    if (e->action == ND_TRACE_OOM)
        nd__text_add(t, ", \"device_free\": %llu", (unsigned long long)e->address);
    nd__text_add(t, ", \"tag\": ");
    nd__text_json(t, e->tag);
    if (e->text[0]) {
        nd__text_add(t, ", \"text\": ");
        nd__text_json(t, e->text);
    }
    nd__text_add(t, "}");
}

static void add_trace(nd_text *t, nd_device *device)
{
    int64_t n;
    nd_trace_entry *events = nd__trace_copy(device, &n);
    for (int64_t i = 0; i < n; i++) {
        nd__text_add(t, "%s\n", i ? "," : "");
        add_event(t, &events[i]);
    }
    free(events);
}

/* Adds a list for every number up to the highest, as the viewer finds a device's trace by its
 * number. */
static void add_traces(nd_text *t, nd_device *const *devices, int n)
{
    int highest = -1;
    for (int i = 0; i < n; i++)
        highest = devices[i]->ordinal > highest ? devices[i]->ordinal : highest;
    nd__text_add(t, "\"device_traces\": [");
    for (int k = 0; k <= highest; k++) {
        nd__text_add(t, "%s[", k ? ",\n" : "");
        for (int i = 0; i < n; i++)
            if (devices[i]->ordinal == k)
                add_trace(t, devices[i]);
        nd__text_add(t, "]");
    }
    nd__text_add(t, "],\n");
}

static nd_status build(nd_device *device, nd_text *t)
{
    nd_device *devices[MOST_DEVICES];
    char *conf = NULL;
    int n = list_devices(device, devices);
    ND_RETURN_IF(nd_memory_conf_get(&conf));
    for (int i = 0; i < n; i++)
        nd__trace(ND_TRACE_SNAPSHOT, devices[i], 0, 0, NULL, NULL);
    nd__text_add(t, "{\"schema\": 1, \"version\": \"%s\", \"time_us\": %lld,\n", nd_version(),
                 (long long)nd__trace_time_us());
    add_devices(t, devices, n);
    add_segments(t, device);
    add_traces(t, devices, n);
    nd__text_add(t, "\"allocator_settings\": {\"NDOCK_ALLOC_CONF\": ");
    nd__text_json(t, conf);
    nd__text_add(t, "}}\n");
    free(conf);
    if (t->failed)
        return nd__fail(ND_ERR_MEMORY, "memory_snapshot", -1, "no memory for the snapshot");
    return ND_OK;
}

nd_status nd_memory_snapshot_text(nd_device *device, char **out)
{
    nd_text t = {0};
    ND_OUT("memory_snapshot_text", 1, out, NULL);
    nd_status status = build(device, &t);
    *out = status == ND_OK ? t.data : NULL;
    if (status != ND_OK)
        free(t.data);
    return status;
}

static nd_status write_file(const char *path, const void *data, size_t n)
{
    const nd_save_opts opts = {.size = sizeof opts, .sync = 1};
    nd__writer w;
    ND_RETURN_IF(nd__writer_open("memory_snapshot_save", path, &w));
    nd_status status = nd__writer_put(&w, data, n);
    if (status == ND_OK)
        status = nd__writer_commit(&w, &opts);
    nd__writer_close(&w);
    return status;
}

nd_status nd_memory_snapshot_save(nd_device *device, const char *path, int32_t format)
{
    nd_text t = {0};
    nd_text pickle = {0};
    nd_status status;
    if (!path || (format != ND_SNAPSHOT_JSON && format != ND_SNAPSHOT_PICKLE))
        return nd__fail(ND_ERR_ARGUMENT, "memory_snapshot_save", path ? 2 : 1,
                        path ? "format is neither ND_SNAPSHOT_JSON nor ND_SNAPSHOT_PICKLE"
                             : "the path is NULL");
    ND_GOTO_IF(done, build(device, &t));
    if (format == ND_SNAPSHOT_JSON)
        status = write_file(path, t.data, t.len);
    else if ((status = nd__pickle(t.data, t.len, &pickle)) == ND_OK)
        status = write_file(path, pickle.data, pickle.len);
done:
    free(t.data);
    free(pickle.data);
    return status;
}

/* ---- NDOCK_MEMORY_SNAPSHOT ---- */
static char *exit_path;
static pid_t exit_pid;

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* A forked child has its parent's handlers, but the file is the parent's. */
static void write_at_exit(void)
{
    if (getpid() != exit_pid)
        return;
    bool pickle = ends_in(exit_path, ".pickle") || ends_in(exit_path, ".pkl");
    if (nd_memory_snapshot_save(NULL, exit_path, pickle ? ND_SNAPSHOT_PICKLE : ND_SNAPSHOT_JSON) !=
        ND_OK)
        nd__log(ND_LOG_ERROR, "NDOCK_MEMORY_SNAPSHOT: %s", nd_last_error()->message);
}

/* Makes the path absolute, as the program may change its folder until the file is written. */
static char *absolute(const char *path)
{
    nd_text t = {0};
    char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0);
    nd__text_add(&t, "%s%s%s", folder ? folder : "", folder ? "/" : "", path);
    free(folder);
    return t.data;
}

static void start_from_environment(void)
{
    const char *path = nd__env(ND_ENV_MEMORY_SNAPSHOT);
    if (!path || !*path || !(exit_path = absolute(path)))
        return;
    exit_pid = getpid();
    if (!atomic_load(&nd__trace_on) && nd_memory_trace_set(DEFAULT_TRACE) != ND_OK)
        return;
    if (atexit(write_at_exit) != 0)
        nd__log(ND_LOG_ERROR, "NDOCK_MEMORY_SNAPSHOT: no room for another exit handler");
}

void nd__snapshot_from_environment(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_from_environment);
}
