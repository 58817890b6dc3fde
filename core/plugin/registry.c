/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * All candidate plug-ins and opened devices of the process. Entries are never removed, so pointers
 * to them stay good. */
#include <stdio.h>
#include <stdlib.h>
#include "core/plugin/loader.h"
#include "core/plugin/param.h"

static pthread_mutex_t
    registry_lock; /* recursive: a plug-in may ask for another one while it is being opened */
static pthread_once_t registry_once = PTHREAD_ONCE_INIT;
static nd_plugin_slot *slots;
static bool scanned;
static int device_ordinals;
static _Atomic(nd_device *) cpu_device;
static _Atomic(nd_device *) opened; /* all of them, read without the lock */
static atomic_bool forked_child;

static void lock_registry(void)
{
    pthread_mutex_lock(&registry_lock);
}

static void unlock_registry(void)
{
    pthread_mutex_unlock(&registry_lock);
}

static void init_lock(void)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&registry_lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

/* ---- around a fork ---- */
static void each_device(nd_fork now, size_t lock)
{
    for (nd_plugin_slot *s = slots; s; s = s->next)
        for (nd_device *d = s->devices; d; d = d->next)
            nd__fork_mutex((pthread_mutex_t *)((char *)d + lock), now);
}

void nd__fork_kernels(nd_fork now)
{
    each_device(now, offsetof(nd_device, kernel_lock));
}

void nd__fork_streams(nd_fork now)
{
    each_device(now, offsetof(nd_device, stream_lock));
}

/* Whether a device that does not survive a fork is open: only asking what there is harms
 * nothing. */
static bool has_device_of_driver(void)
{
    for (nd_plugin_slot *s = slots; s; s = s->next)
        for (nd_device *d = s->devices; d; d = d->next)
            if (!d->host_visible)
                return true;
    return false;
}

/* A recursive lock belongs to a thread of the parent, so that the child cannot give it back: it
 * gets a new one. */
void nd__fork_registry(nd_fork now)
{
    if (now == ND_FORK_TAKE) {
        lock_registry();
    } else if (now == ND_FORK_DROP) {
        unlock_registry();
    } else {
        init_lock();
        atomic_store(&forked_child, forked_child || has_device_of_driver());
    }
}

static void registry_init(void)
{
    init_lock();
    nd__on_first_use();
}

nd_plugin_slot **nd__registry_enter(void)
{
    pthread_once(&registry_once, registry_init);
    lock_registry();
    if (!scanned) {
        scanned = true;
        nd__discover(&slots);
    }
    return &slots;
}

nd_plugin_slot *nd__slots(void)
{
    return slots;
}

void nd__registry_leave(void)
{
    unlock_registry();
}

bool nd__forked(void)
{
    return atomic_load_explicit(&forked_child, memory_order_relaxed);
}

/* One that turns out to be unusable leaves its name to the next. One that is being loaded has no
 * table yet, and is NULL to itself. */
nd_plugin_slot *nd__load_by_name(const char *name)
{
    nd_plugin_slot *s = nd__slot_of_name(slots, name);
    while (s && s->phase == ND_SLOT_CANDIDATE) {
        nd__loader_load(s);
        nd__settle_names(slots);
        s = nd__slot_of_name(slots, name);
    }
    if (s && s->table)
        nd__loader_recount(s);
    return s && s->table ? s : NULL;
}

void nd__load_all(void)
{
    for (nd_plugin_slot *s = slots; s; s = s->next)
        if (s->examined && s->phase != ND_SLOT_REFUSED)
            (void)nd__load_by_name(s->name);
}

int nd__open_devices(nd_device **out, int n)
{
    int count = 0;
    (void)nd__registry_enter();
    for (nd_plugin_slot *s = slots; s; s = s->next)
        for (nd_device *d = s->devices; d && count < n; d = d->next)
            out[count++] = d;
    unlock_registry();
    return count;
}

nd_status nd__registry_slot(const char *name, nd_plugin_slot **out)
{
    (void)nd__registry_enter();
    *out = nd__load_by_name(name);
    unlock_registry();
    return ND_OK;
}

static const void *group_of(nd_device *d, const char *id, size_t required)
{
    const void *g = d->p.group ? d->p.group(d->dev, id) : NULL;
    return g && *(const uint32_t *)g >= required ? g : NULL;
}

/* Our own zero-extended copy of a group's table, so that a later call needs no size test. */
static bool copy_group(nd_device *d, const char *id, size_t required, void *copy, size_t n)
{
    const void *g = group_of(d, id, required);
    if (g)
        memcpy(copy, g, *(const uint32_t *)g < n ? *(const uint32_t *)g : n);
    return g != NULL;
}

static void copy_groups(nd_device *d)
{
    d->has_op = copy_group(d, "ndp.op/1", NDP_END(ndp_op_1, find), &d->op, sizeof d->op);
    d->has_stream = d->async && copy_group(d, "ndp.stream/1", NDP_END(ndp_stream_1, event_elapsed),
                                           &d->stream, sizeof d->stream);
    d->has_graph = d->async && copy_group(d, "ndp.graph/1", NDP_END(ndp_graph_1, destroy),
                                          &d->graph, sizeof d->graph);
    d->has_peer = copy_group(d, "ndp.peer/1", NDP_END(ndp_peer_1, copy), &d->peer, sizeof d->peer);
    d->has_code =
        copy_group(d, "ndp.code/1", NDP_END(ndp_code_1, launch), &d->code, sizeof d->code);
    d->has_fused =
        copy_group(d, "ndp.fused/1", NDP_END(ndp_fused_1, discard), &d->fused, sizeof d->fused);
    copy_group(d, "ndp.memory/1", NDP_END(ndp_memory_1, usage), &d->memory, sizeof d->memory);
    copy_group(d, "ndp.pool/1", NDP_END(ndp_pool_1, usage), &d->pool, sizeof d->pool);
    copy_group(d, "ndp.map/1", NDP_END(ndp_map_1, map), &d->map, sizeof d->map);
    copy_group(d, "ndp.pointer/1", NDP_END(ndp_pointer_1, info), &d->pointer, sizeof d->pointer);
    d->has_comm =
        copy_group(d, "ndp.comm/1", NDP_END(ndp_comm_1, group_end), &d->comm, sizeof d->comm);
    d->has_ipc = copy_group(d, "ndp.ipc/1", NDP_END(ndp_ipc_1, close), &d->ipc, sizeof d->ipc);
    copy_group(d, "ndp.info/1", NDP_END(ndp_info_1, item), &d->facts, sizeof d->facts);
}

/* The plug-in's open, after which the thread's own settings are what they were. */
static nd_status open_and_put_back(nd_plugin_slot *slot, uint32_t index, nd_device *d)
{
    nd_settings settings;
    nd__settings_take(&settings);
    nd_status status = slot->p.open(index, &d->dev);
    nd__settings_put_back(&settings, d->name);
    return status;
}

static nd_status open_device(nd_plugin_slot *slot, uint32_t index, nd_device **out)
{
    nd_device *d = calloc(1, sizeof *d);
    nd_status status = ND_OK;
    if (!d)
        return nd__fail(ND_ERR_MEMORY, "device_get", -1, "no %zu bytes for a device", sizeof *d);
    d->slot = slot;
    d->p = slot->p;
    d->index = index;
    snprintf(d->name, sizeof d->name, "%s:%u", slot->name, index);
    d->info.size = sizeof d->info;
    status = slot->p.info(index, &d->info);
    if (status == ND_OK && (d->info.flags & NDP_DEV_ASYNC))
        status = nd__may_wait(ND_WAIT_FIRST_USE, d, "device_get");
    if (status == ND_OK)
        status = open_and_put_back(slot, index, d);
    if (status != ND_OK) {
        nd__error_context("device_get", d->name, slot->name);
        free(d);
        return status;
    }
    d->host_visible = d->info.flags & NDP_DEV_HOST_VISIBLE;
    d->async = d->info.flags & NDP_DEV_ASYNC;
    atomic_init(&d->noted, d->async);
    d->is_cpu = strcmp(slot->name, "cpu") == 0;
    d->dl = nd__dl_device(slot->name, index, d->host_visible);
    copy_groups(d);
    pthread_mutex_init(&d->kernel_lock, NULL);
    pthread_mutex_init(&d->stream_lock, NULL);
    d->ordinal = device_ordinals++;
    status = nd__on_device_opened(d);
    if (status != ND_OK) { /* no memory for a few structs: the device stays closed, they leak */
        slot->p.close(d->dev);
        free(d);
        return status;
    }
    d->next = slot->devices;
    slot->devices = d;
    d->next_opened = atomic_load_explicit(&opened, memory_order_relaxed);
    atomic_store_explicit(&opened, d, memory_order_release);
    if (d->is_cpu && index == 0)
        atomic_store_explicit(&cpu_device, d, memory_order_release);
    *out = d;
    nd__params_report();
    return ND_OK;
}

nd_status nd__slot_device(nd_plugin_slot *slot, uint32_t index, nd_device **out)
{
    *out = NULL;
    for (nd_device *d = slot->devices; d; d = d->next)
        if (d->index == index) {
            *out = d;
            return ND_OK;
        }
    return open_device(slot, index, out);
}

nd_device *nd__devices_opened(void)
{
    return atomic_load_explicit(&opened, memory_order_acquire);
}

nd_device *nd__cpu_opened(void)
{
    return atomic_load_explicit(&cpu_device, memory_order_acquire);
}

nd_device *nd__device_opened_as(nd_dl_device dl)
{
    nd_device *d = nd__devices_opened();
    while (d && (d->dl.device_type != dl.device_type || d->dl.device_id != dl.device_id))
        d = d->next_opened;
    return d;
}
