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

static void enter(void)
{
    pthread_once(&registry_once, registry_init);
    lock_registry();
    if (!scanned) {
        scanned = true;
        nd__discover(&slots);
    }
}

nd_plugin_slot **nd__registry_enter(void)
{
    enter();
    return &slots;
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
    enter();
    for (nd_plugin_slot *s = slots; s; s = s->next)
        for (nd_device *d = s->devices; d && count < n; d = d->next)
            out[count++] = d;
    unlock_registry();
    return count;
}

nd_status nd__registry_slot(const char *name, nd_plugin_slot **out)
{
    enter();
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

/* What there is, and what was refused, for the error of a missing device. A file that merely lies
 * in a folder and is no plug-in is not spoken of. */
static void describe_all(nd_text *t, const char *name)
{
    const char *path = nd__getenv("NDOCK_PLUGIN_PATH");
    bool known = !name[0];
    int n = 0;
    nd__load_all();
    nd__text_add(t, "there are");
    for (nd_plugin_slot *s = slots; s; s = s->next)
        for (uint32_t i = 0; i < s->device_count; i++)
            nd__text_add(t, "%s %s:%u", n++ ? "," : "", s->name, i);
    if (n == 0)
        nd__text_add(t, " no devices at all");
    for (nd_plugin_slot *s = slots; s; s = s->next) {
        bool silent = strcmp(s->state, "NO_NOTE") == 0 && !s->named;
        known |= strcmp(s->name, name) == 0;
        if (s->device_count == 0 && !silent && (n == 0 || strcmp(s->name, name) == 0))
            nd__text_add(t, "; %s: %s (%s)", s->path, s->reason, s->state);
    }
    if (!known)
        nd__text_add(t, "; no plug-in ndock-%s.so is in %s%s%s", name, path ? path : "",
                     path && path[0] ? ":" : "", nd_plugin_dir());
    nd__text_add(t, "; `ndock info --doctor` says what to do");
}

static nd_status no_such_device(const char *text, const char *plugin, const char *what)
{
    nd_text t = {0};
    describe_all(&t, plugin);
    nd_status status =
        nd__fail(ND_ERR_DEVICE, "device_get", 0, "%s \"%s\"; %s", what, text, t.data ? t.data : "");
    free(t.data);
    return status;
}

/* The first of the highest priority that has a device. Plug-ins of a lower one are not opened.
 * Equal ones are told apart by their devices. */
static nd_status best_device(nd_device **out)
{
    static uint32_t round;
    nd_plugin_slot *best = NULL, *s;
    int32_t best_priority = 0;
    round++;
    while ((s = nd__next_by_priority(slots, round)) != NULL) {
        ndp_device_info info = {.size = sizeof info};
        if (best && s->priority < best->priority)
            break;
        s = nd__load_by_name(s->name);
        if (s && s->device_count && s->p.info(0, &info) == NDP_OK &&
            (!best || info.priority > best_priority)) {
            best = s;
            best_priority = info.priority;
        }
    }
    return best ? nd__slot_device(best, 0, out) : no_such_device("auto", "", "nothing serves");
}

/* "cuda:1" into its parts; false if it has another form. */
static bool parse_name(const char *name, char *plugin, size_t n, uint32_t *index)
{
    size_t len = strcspn(name, ":");
    const char *digits = name[len] ? name + len + 1 : "0"; /* without index: see find_device */
    char *end;
    if (len == 0 || len >= n || !digits[0] || strspn(digits, "0123456789") != strlen(digits) ||
        strlen(digits) > 9)
        return false;
    memcpy(plugin, name, len);
    plugin[len] = 0;
    *index = (uint32_t)strtoul(digits, &end, 10);
    return true;
}

static nd_status find_named(const char *name, nd_device **out)
{
    char plugin[64];
    uint32_t index;
    if (!parse_name(name, plugin, sizeof plugin, &index))
        return no_such_device(name, "",
                              "a device is named like \"cpu\", \"cuda:0\" or \"auto\", not");
    nd_plugin_slot *slot = nd__load_by_name(plugin);
    if (!slot || slot->device_count == 0)
        return no_such_device(name, plugin, "there is no device");
    if (!strchr(name, ':'))
        index = nd__current_index(slot);
    if (index >= slot->device_count)
        return nd__fail(ND_ERR_DEVICE, "device_get", 0,
                        "there is no device \"%s\"; %s has %u, %s:0 to %s:%u", name, plugin,
                        slot->device_count, plugin, plugin, slot->device_count - 1);
    return nd__slot_device(slot, index, out);
}

/* NDOCK_DEVICE=cuda:0,cpu: the first of the list that opens; "auto" in it is the best there is. */
static nd_status find_listed(const char *list, nd_device **out)
{
    nd_text tried = {0};
    char name[80];
    nd_status status = ND_OK;
    for (const char *p = list; *p; p += *p == ',') {
        size_t n = strcspn(p, ",");
        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), p);
        p += n;
        status = strcmp(name, "auto") == 0 ? best_device(out) : find_named(name, out);
        if (status == ND_OK)
            break;
        nd__text_add(&tried, "%s%s", tried.len ? "; " : "", nd_last_error()->message);
    }
    if (status != ND_OK && strchr(list, ',') && tried.data)
        status = nd__fail(status, "device_get", 0, "no device of NDOCK_DEVICE=%s serves: %s", list,
                          tried.data);
    else if (status == ND_OK && tried.data)
        nd__log(ND_LOG_INFO, "NDOCK_DEVICE=%s: %s serves, since %s", list, name, tried.data);
    free(tried.data);
    return status;
}

static nd_status find_device(const char *name, nd_device **out)
{
    if (strcmp(name, "auto") != 0)
        return find_named(name, out);
    const char *list = nd__env(ND_ENV_DEVICE);
    return list ? find_listed(list, out) : best_device(out);
}

nd_device *nd__device_opened_as(nd_dl_device dl)
{
    nd_device *d = atomic_load_explicit(&opened, memory_order_acquire);
    while (d && (d->dl.device_type != dl.device_type || d->dl.device_id != dl.device_id))
        d = d->next_opened;
    return d;
}

/* An opened device of that name, NULL if none is: "cuda:1", or "cuda", the current one of them. */
static nd_device *find_opened(const char *name)
{
    const size_t n = strcspn(name, ":");
    nd_device *d = atomic_load_explicit(&opened, memory_order_acquire);
    for (; d; d = d->next_opened)
        if (name[n] ? strcmp(name, d->name) == 0
                    : strcmp(name, d->slot->name) == 0 && nd__current_index(d->slot) == d->index)
            return d;
    return NULL;
}

nd_status nd_device_get(const char *name, nd_device **out)
{
    ND_OUT("device_get", 1, out, NULL);
    if (!name)
        return nd__fail(ND_ERR_ARGUMENT, "device_get", 0, "the device name is NULL");
    ND_RETURN_IF(nd__refuse_inside("device_get"));
    *out = find_opened(name);
    if (*out)
        return ND_OK;
    enter();
    nd_status status = find_device(name, out);
    unlock_registry();
    return status;
}

static bool is_open(const nd_plugin_slot *slot, uint32_t index)
{
    const nd_device *d = slot->devices;
    while (d && d->index != index)
        d = d->next;
    return d != NULL;
}

static nd_status find_available(const char *name, bool open, int32_t *state)
{
    char plugin[64];
    uint32_t index;
    nd_device *device;
    if (!parse_name(name, plugin, sizeof plugin, &index))
        return no_such_device(name, "", "a device is named like \"cpu\" or \"cuda:0\", not");
    nd_plugin_slot *slot = nd__load_by_name(plugin);
    const nd_device *first = slot ? slot->devices : NULL;
    if (!slot || index >= slot->device_count || (nd__forked() && first && !first->host_visible))
        return ND_OK;
    if (open)
        *state =
            nd__slot_device(slot, index, &device) == ND_OK ? ND_AVAILABLE_YES : ND_AVAILABLE_NO;
    else
        *state = is_open(slot, index) ? ND_AVAILABLE_YES : ND_AVAILABLE_LIKELY;
    return ND_OK;
}

nd_status nd_device_available(const char *name, int32_t probe, int32_t *state)
{
    ND_OUT("device_available", 2, state, ND_AVAILABLE_NO);
    if (!name || (probe != ND_PROBE_COUNT && probe != ND_PROBE_OPEN))
        return nd__fail(ND_ERR_ARGUMENT, "device_available", name != NULL,
                        name ? "%d is no probe: it is ND_PROBE_COUNT or ND_PROBE_OPEN"
                             : "the device name is NULL",
                        (int)probe);
    enter();
    nd_status status = find_available(name, probe == ND_PROBE_OPEN, state);
    unlock_registry();
    return status;
}

nd_status nd__cpu_device(nd_device **out)
{
    *out = atomic_load_explicit(&cpu_device, memory_order_acquire);
    return *out ? ND_OK : nd_device_get("cpu", out);
}

static const char *device_text(const nd_plugin_slot *slot, uint32_t index)
{
    char name[80];
    snprintf(name, sizeof name, "%s:%u", slot->name, index);
    return nd__text_keep(name);
}

nd_status nd_device_list(const char **out, int32_t n, int32_t *count)
{
    ND_OUT("device_list", 2, count, 0);
    enter();
    nd__load_all();
    for (nd_plugin_slot *s = slots; s; s = s->next)
        for (uint32_t i = 0; i < s->device_count; i++, ++*count)
            if (*count < n && out)
                out[*count] = device_text(s, i);
    unlock_registry();
    return ND_OK;
}

/* Of the devices with the same unique_id, the one whose plug-in has the highest priority; name's
 * own where there is no other. */
static const char *preferred(nd_plugin_slot *own, uint32_t index)
{
    ndp_device_info wanted = {.size = sizeof wanted};
    const char *best = device_text(own, index);
    int32_t priority = own->priority;
    if (own->p.info(index, &wanted) != NDP_OK)
        return best;
    wanted.unique_id[sizeof wanted.unique_id - 1] = 0;
    for (nd_plugin_slot *s = slots; s; s = s->next)
        for (uint32_t i = 0; s != own && i < s->device_count; i++) {
            ndp_device_info info = {.size = sizeof info};
            if (s->priority <= priority || s->p.info(i, &info) != NDP_OK)
                continue;
            info.unique_id[sizeof info.unique_id - 1] = 0;
            if (!nd__same_hardware(wanted.unique_id, info.unique_id))
                continue;
            best = device_text(s, i);
            priority = s->priority;
        }
    return best;
}

nd_status nd_device_preferred(const char *name, const char **out)
{
    char plugin[64];
    uint32_t index;
    ND_OUT("device_preferred", 1, out, NULL);
    ND_NEED("device_preferred", 0, name);
    enter();
    nd__load_all();
    bool formed = parse_name(name, plugin, sizeof plugin, &index);
    nd_plugin_slot *slot = formed ? nd__load_by_name(plugin) : NULL;
    nd_status status = ND_OK;
    if (slot && index < slot->device_count)
        *out = preferred(slot, index);
    else
        status = no_such_device(name, formed ? plugin : "", "there is no device");
    unlock_registry();
    return nd__error_as("device_preferred", status);
}
