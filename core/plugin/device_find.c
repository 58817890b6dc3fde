/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which device a text means, and which devices there are: nd_device_get and its like. */
#include <stdio.h>
#include <stdlib.h>
#include "core/base/env.h"
#include "core/plugin/loader.h"

/* What there is, and what was refused, for the error of a missing device. A file that merely lies
 * in a folder and is no plug-in is not spoken of. */
static void describe_all(nd_text *t, const char *name)
{
    const char *path = nd__getenv("NDOCK_PLUGIN_PATH");
    bool known = !name[0];
    int n = 0;
    nd__load_all();
    nd__text_add(t, "there are");
    for (nd_plugin_slot *s = nd__slots(); s; s = s->next)
        for (uint32_t i = 0; i < s->device_count; i++)
            nd__text_add(t, "%s %s:%u", n++ ? "," : "", s->name, i);
    if (n == 0)
        nd__text_add(t, " no devices at all");
    for (nd_plugin_slot *s = nd__slots(); s; s = s->next) {
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
    while ((s = nd__next_by_priority(nd__slots(), round)) != NULL) {
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

/* An opened device of that name, NULL if none is: "cuda:1", or "cuda", the current one of them. */
static nd_device *find_opened(const char *name)
{
    const size_t n = strcspn(name, ":");
    nd_device *d = nd__devices_opened();
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
    (void)nd__registry_enter();
    nd_status status = find_device(name, out);
    nd__registry_leave();
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
    (void)nd__registry_enter();
    nd_status status = find_available(name, probe == ND_PROBE_OPEN, state);
    nd__registry_leave();
    return status;
}

nd_status nd__cpu_device(nd_device **out)
{
    *out = nd__cpu_opened();
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
    (void)nd__registry_enter();
    nd__load_all();
    for (nd_plugin_slot *s = nd__slots(); s; s = s->next)
        for (uint32_t i = 0; i < s->device_count; i++, ++*count)
            if (*count < n && out)
                out[*count] = device_text(s, i);
    nd__registry_leave();
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
    for (nd_plugin_slot *s = nd__slots(); s; s = s->next)
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
    (void)nd__registry_enter();
    nd__load_all();
    bool formed = parse_name(name, plugin, sizeof plugin, &index);
    nd_plugin_slot *slot = formed ? nd__load_by_name(plugin) : NULL;
    nd_status status = ND_OK;
    if (slot && index < slot->device_count)
        *out = preferred(slot, index);
    else
        status = no_such_device(name, formed ? plugin : "", "there is no device");
    nd__registry_leave();
    return nd__error_as("device_preferred", status);
}
