/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays shared with other processes: what a handle says, and how long memory stays. */
#include <ndock/peer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/interop/lease.h"

/* What is in the bytes. */
typedef struct {
    char magic[8]; /* "ndipc 1" */
    uint64_t sum;  /* of all that follows */
    int64_t pid;
    char lease[ND_LEASE_NAME], plugin[ND_IPC_PLUGIN], device[ND_IPC_DEVICE]; /* its unique id */
    unsigned char memory[NDP_IPC_BYTES], event[NDP_IPC_BYTES];
    uint64_t offset_bytes; /* of the element at index zero, in the memory that is named */
    int32_t dtype, ndim, readonly, zero;
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM];
} contents;
_Static_assert(sizeof(contents) <= ND_IPC_BYTES, "a handle has room for what it says");
static const char magic[8] = "ndipc 1";

struct nd_ipc {
    nd_lease *lease;
    nd_array *array; /* retained */
    nd_event *event;
    nd_ipc *next;
};
/* Released, and still used by other processes. */
static nd_ipc *lingering;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void nd__fork_ipc(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}

uint64_t nd__ipc_sum(const unsigned char *p, size_t n)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) /* FNV-1a */
        sum = (sum ^ p[i]) * UINT64_C(0x100000001b3);
    return sum;
}

bool nd__ipc_is_named(const char *lease, const char *plugin, const char *device)
{
    return memchr(lease, 0, ND_LEASE_NAME) && memchr(plugin, 0, ND_IPC_PLUGIN) &&
           memchr(device, 0, ND_IPC_DEVICE);
}

static uint64_t sum_of(const contents *c)
{
    return nd__ipc_sum((const unsigned char *)c + offsetof(contents, pid),
                       sizeof *c - offsetof(contents, pid));
}

/* ---- exports ---- */
static void drop(nd_ipc *x)
{
    nd__lease_drop(x->lease);
    nd_event_release(x->event);
    nd_release(x->array);
    free(x);
}

static void sweep(void)
{
    nd_ipc *done = NULL;
    pthread_mutex_lock(&lock);
    for (nd_ipc **at = &lingering; *at;) {
        nd_ipc *x = *at;
        if (nd__lease_is_taken(x->lease)) {
            at = &x->next;
            continue;
        }
        *at = x->next;
        x->next = done;
        done = x;
    }
    pthread_mutex_unlock(&lock);
    for (nd_ipc *next; done; done = next) {
        next = done->next;
        drop(done);
    }
}

/* An event behind all that uses the array, for those that import it. */
static nd_status mark(const char *op, nd_ipc *x, contents *c)
{
    nd_device *d = x->array->storage->device;
    const nd_event_opts opts = {.size = sizeof opts, .flags = ND_EVENT_INTERPROCESS};
    nd_stream *s = nd__stream(d);
    bool pending;
    if (!s || !d->ipc.event)
        return nd__wait_users(op, x->array->storage);
    ND_RETURN_IF(nd__join_users(op, x->array->storage, s, false, &pending));
    ND_RETURN_IF(nd_event_create(d, &opts, &x->event));
    ND_RETURN_IF(nd_event_record(x->event, s));
    return d->ipc.event(d->dev, x->event->handle, c->event);
}

static nd_status fill_in(const char *op, nd_ipc *x, contents *c)
{
    const nd_array *a = x->array;
    nd_device *d = a->storage->device;
    uint64_t at = 0;
    memcpy(c->magic, magic, sizeof magic);
    c->pid = getpid();
    snprintf(c->lease, sizeof c->lease, "%s", nd__lease_name(x->lease));
    snprintf(c->plugin, sizeof c->plugin, "%s", d->slot->name);
    snprintf(c->device, sizeof c->device, "%s", d->info.unique_id);
    c->dtype = a->dtype;
    c->ndim = a->ndim;
    c->readonly = (a->flags & ND_FLAG_READONLY) != 0;
    memcpy(c->shape, a->shape, (size_t)a->ndim * sizeof *a->shape);
    memcpy(c->stride, a->stride, (size_t)a->ndim * sizeof *a->stride);
    nd_status status = d->ipc.memory(d->dev, a->storage->mem, c->memory, &at);
    if (status == ND_OK)
        status = mark(op, x, c);
    if (status != ND_OK)
        nd__error_context(op, d->name, d->slot->name);
    c->offset_bytes = at + (uint64_t)nd__byte_offset(a);
    return status;
}

static nd_status check_export(const char *op, const nd_array *a)
{
    ND_RETURN_IF(nd__check_array(op, a, 0));
    nd_device *d = a->storage->device;
    if (!d->has_ipc)
        return nd__fail(ND_ERR_UNSUPPORTED, op, 0,
                        "memory of %s cannot be named for other processes; send the elements, or "
                        "for host memory map one file in both (nd_open_npy)",
                        d->name);
    return d->async && nd__capture_id(nd__stream(d))
               ? nd__fail(ND_ERR_CAPTURE, op, 0, "arrays are exported outside of captures")
               : (nd_status)ND_OK;
}

nd_status nd_ipc_export(const nd_array *a, nd_ipc_handle *handle, nd_ipc **out)
{
    static const char op[] = "ipc_export";
    contents c = {.zero = 0};
    ND_OUT(op, 2, out, NULL);
    ND_NEED(op, 1, handle);
    memset(handle, 0, sizeof *handle);
    ND_RETURN_IF(check_export(op, a));
    sweep();
    nd_ipc *x = calloc(1, sizeof *x);
    if (!x)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for an export");
    nd_status status = nd__lease_make(op, &x->lease);
    if (status != ND_OK) {
        free(x);
        return status;
    }
    x->array = nd_retain((nd_array *)(uintptr_t)a);
    status = fill_in(op, x, &c);
    if (status != ND_OK) {
        drop(x);
        return status;
    }
    c.sum = sum_of(&c);
    memcpy(handle->bytes, &c, sizeof c);
    *out = x;
    return ND_OK;
}

nd_status nd_ipc_is_used(nd_ipc *exported, int32_t *used)
{
    ND_OUT("ipc_is_used", 1, used, 0);
    ND_NEED("ipc_is_used", 0, exported);
    *used = nd__lease_is_taken(exported->lease);
    return ND_OK;
}

void nd_ipc_release(nd_ipc *x)
{
    if (!x)
        return;
    nd__lease_end(x->lease);
    pthread_mutex_lock(&lock);
    x->next = lingering;
    lingering = x;
    pthread_mutex_unlock(&lock);
    sweep();
}

/* ---- imports ---- */
typedef struct imported {
    nd_device *device;
    uint64_t address, element; /* of the memory that was opened; of the array's index zero */
    nd_lease *lease;
    struct imported *next;
} imported;
static imported *imports; /* under the lock */

static void let_go(void *arg)
{
    imported *m = arg;
    pthread_mutex_lock(&lock);
    imported **at = &imports;
    while (*at && *at != m)
        at = &(*at)->next;
    if (*at)
        *at = m->next;
    pthread_mutex_unlock(&lock);
    if (!nd__out_of_reach(m->device))
        m->device->ipc.close(m->device->dev, m->address);
    nd__lease_drop(m->lease);
    free(m);
}

static nd_status read_handle(const char *op, const nd_ipc_handle *handle, contents *c)
{
    memcpy(c, handle->bytes, sizeof *c);
    if (memcmp(c->magic, magic, sizeof magic) != 0 || c->sum != sum_of(c) || c->ndim < 0 ||
        c->ndim > ND_MAX_NDIM || !nd__ipc_is_named(c->lease, c->plugin, c->device))
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "these bytes are no handle of nd_ipc_export, or of another version");
    return c->pid != getpid()
               ? (nd_status)ND_OK
               : nd__fail(ND_ERR_STATE, op, 0,
                          "this process has exported the array itself, and can use that");
}

nd_status nd__ipc_device(const char *op, const char *plugin, const char *unique_id, nd_device **out)
{
    char name[48];
    nd_device *d = NULL;
    *out = NULL;
    for (int i = 0; !*out; i++) {
        snprintf(name, sizeof name, "%.32s:%d", plugin, i);
        if (nd_device_get(name, &d) != ND_OK)
            return nd__fail(ND_ERR_DEVICE, op, 0,
                            "it is on a device of %s, %s, which this process does not see", plugin,
                            unique_id);
        if (strcmp(d->info.unique_id, unique_id) == 0)
            *out = d;
    }
    ND_RETURN_IF(nd__usable(*out, op));
    return (*out)->has_ipc ? (nd_status)ND_OK
                           : nd__fail(ND_ERR_UNSUPPORTED, op, 0,
                                      "the plug-in of %s opens nothing of others", (*out)->name);
}

/* Later work of this process on the current stream comes after what was queued before the export. */
static nd_status wait_for_event(const char *op, nd_device *d, const contents *c)
{
    static const unsigned char none[NDP_IPC_BYTES];
    ndp_event *event = NULL;
    nd_stream *s = nd__stream(d);
    if (!s || !d->ipc.event_open || memcmp(c->event, none, sizeof none) == 0)
        return ND_OK;
    ND_RETURN_IF(d->ipc.event_open(d->dev, c->event, &event));
    const nd_status status = nd__wait_mark(s, event);
    d->stream.event_destroy(d->dev, event);
    if (status != ND_OK)
        nd__error_context(op, d->name, d->slot->name);
    return status;
}

static nd_status wrap(imported *m, const contents *c, nd_array **out)
{
    const nd_layout layout = {.size = sizeof layout,
                              .dtype = c->dtype,
                              .ndim = c->ndim,
                              .shape = c->shape,
                              .stride = c->stride};
    m->element = m->address + c->offset_bytes;
    const nd_status status =
        nd_wrap(&layout, (void *)(uintptr_t)m->element, m->device, let_go, m, out);
    if (status == ND_OK && c->readonly)
        (*out)->flags |= ND_FLAG_READONLY;
    return status;
}

nd_status nd_ipc_import(const nd_ipc_handle *handle, nd_array **out)
{
    static const char op[] = "ipc_import";
    contents c;
    nd_device *d;
    ND_OUT(op, 1, out, NULL);
    ND_NEED(op, 0, handle);
    ND_RETURN_IF(read_handle(op, handle, &c));
    ND_RETURN_IF(nd__ipc_device(op, c.plugin, c.device, &d));
    imported *m = calloc(1, sizeof *m);
    if (!m)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for an import");
    m->device = d;
    nd_status status = nd__lease_take(op, c.lease, &m->lease);
    if (status == ND_OK && (status = d->ipc.open(d->dev, c.memory, &m->address)) != ND_OK)
        nd__error_context(op, d->name, d->slot->name);
    if (status != ND_OK) {
        if (m->lease)
            nd__lease_drop(m->lease);
        free(m);
        return status;
    }
    pthread_mutex_lock(&lock);
    m->next = imports;
    imports = m;
    pthread_mutex_unlock(&lock);
    status = wait_for_event(op, d, &c);
    if (status == ND_OK)
        status = nd__error_as(op, wrap(m, &c, out));
    if (status != ND_OK)
        let_go(m);
    return status;
}

nd_status nd_ipc_is_alive(const nd_array *a, int32_t *alive)
{
    ND_OUT("ipc_is_alive", 1, alive, 0);
    ND_NEED("ipc_is_alive", 0, a);
    *alive = 1;
    pthread_mutex_lock(&lock);
    for (const imported *m = imports; m; m = m->next)
        if (a->storage->release == let_go && a->storage->ctx == m)
            *alive = nd__lease_is_owned(m->lease);
    pthread_mutex_unlock(&lock);
    return ND_OK;
}
