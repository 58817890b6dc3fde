/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What programs ask of the candidates, and loading one of their own. */
#include <stdio.h>
#include <string.h>
#include "core/plugin/loader.h"

nd_status nd_plugin_list(nd_plugin_report *out, int32_t n, int32_t *count)
{
    nd_plugin_slot **slots = nd__registry_enter();
    ND_OUT("plugin_list", 2, count, 0);
    nd__load_all();
    for (nd_plugin_slot *s = *slots; s; s = s->next, ++*count)
        if (*count < n && out)
            out[*count] = (nd_plugin_report){s->path,
                                             s->name,
                                             s->version,
                                             s->state,
                                             s->reason,
                                             s->source,
                                             (int32_t)s->device_count};
    nd__registry_leave();
    return ND_OK;
}

static void describe(const nd_plugin_slot *s, nd_plugin_details *out)
{
    char id[ND_BUILD_ID_TEXT];
    nd_plugin_details d = {
        .size = out->size,
        .devices = (int32_t)s->device_count,
        .path = s->path,
        .file = s->real,
        .name = s->name,
        .version = s->version,
        .vendor = s->table && s->table->vendor ? s->table->vendor : "",
        .state = s->state,
        .reason = s->reason,
        .source = s->source,
        .shadowed_by = s->winner ? s->winner->path : "",
        .build_id = nd__text_keep(nd__build_id_text(&s->file, id)),
        .note = s->has_note ? &s->file.note : NULL,
        .priority = s->priority,
        .loaded = s->table != NULL,
        .named = s->named,
        .preferred = s->preferred,
    };
    memcpy(out, &d, out->size < sizeof d ? out->size : sizeof d);
}

nd_status nd_plugin_describe(int32_t i, int32_t look, nd_plugin_details *out)
{
    nd_status status = ND_OK;
    if (!out || out->size < NDP_END(nd_plugin_details, preferred))
        return nd__fail(ND_ERR_ARGUMENT, "plugin_describe", 2,
                        "set the size field to sizeof(nd_plugin_details) first");
    if (look != ND_PLUGIN_NOTES && look != ND_PLUGIN_OPEN)
        return nd__fail(ND_ERR_ARGUMENT, "plugin_describe", 1,
                        "%d is neither ND_PLUGIN_NOTES nor ND_PLUGIN_OPEN", (int)look);
    nd_plugin_slot *s = *nd__registry_enter();
    if (look == ND_PLUGIN_OPEN)
        nd__load_all();
    for (int32_t k = 0; s && k != i; k++)
        s = s->next;
    if (s)
        describe(s, out);
    else
        status =
            nd__fail(ND_ERR_INDEX, "plugin_describe", 0, "there is no candidate number %d", (int)i);
    nd__registry_leave();
    return status;
}

/* A file that a scan refused for its owner, or as one of another source, is looked at again as the
 * program's own choice. */
static nd_plugin_slot *named_by_call(nd_plugin_slot **slots, const char *path)
{
    nd_plugin_slot *s = nd__loader_candidate(slots, path, ND_SOURCE_CALL);
    if (!s || s->phase == ND_SLOT_LOADED || s->phase == ND_SLOT_LOADING)
        return s;
    s->named = true;
    if (s->table == NULL && !s->handle) {
        s->rank = ND_SOURCE_CALL;
        nd__loader_examine(s);
        nd__settle_names(*slots);
    }
    return s;
}

static nd_status load_named(nd_plugin_slot **slots, const char *path)
{
    nd_plugin_slot *s = named_by_call(slots, path);
    if (!s)
        return nd__fail(ND_ERR_MEMORY, "plugin_load", 0, "no memory for a plug-in entry");
    if (s->phase == ND_SLOT_CANDIDATE) {
        nd_plugin_slot *serves = nd__load_by_name(s->name);
        if (serves && nd__same_plugin_file(serves, s))
            s = serves; /* perhaps by another path */
    }
    return s->phase == ND_SLOT_LOADED && strcmp(s->state, "LOADED") == 0
               ? ND_OK
               : nd__fail(ND_ERR_PLUGIN, "plugin_load", 0, "%s is not usable (%s): %s", path,
                          s->state, s->reason);
}

nd_status nd_plugin_load(const char *path)
{
    if (!path || path[0] != '/')
        return nd__fail(ND_ERR_ARGUMENT, "plugin_load", 0, "\"%s\" is not an absolute path",
                        path ? path : "(null)");
    nd_status status = load_named(nd__registry_enter(), path);
    nd__registry_leave();
    return status;
}
