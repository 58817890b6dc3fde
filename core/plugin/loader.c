/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A candidate's way from a path to a loaded plug-in. It ends in a state with a reason, whatever is
 * wrong with the file; no code of it runs before its note has said that it may. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "core/plugin/hook/wrap.h"
#include "core/plugin/loader.h"

enum {
    MOST_DEVICES = 4096,       /* a plug-in that counts more lies */
    MOST_TABLE_BYTES = 1 << 16 /* the same of its table */
};

void nd__slot_state(nd_plugin_slot *slot, const char *state, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    slot->state = state;
    slot->reason = nd__text_keep(text); /* reports may have the earlier one */
    if (text[0])
        nd__log(ND_LOG_DEBUG, "plug-in %s: %s: %s", slot->path, state, text);
}

/* ---- before any code of it runs ---- */

/* A file that the program names is the program's own risk, unless NDOCK_PLUGIN_STRICT=1. */
static bool is_trusted(nd_plugin_slot *slot)
{
    char real[PATH_MAX];
    struct stat st;
    nd_text why = {0};
    bool whose;
    const char *strict = nd__getenv("NDOCK_PLUGIN_STRICT");
    const char *state = nd__path_refusal(slot->path, real, &st, &whose, &why);
    const bool warns =
        state && whose && slot->rank == ND_SOURCE_CALL && !(strict && strcmp(strict, "0") != 0);
    if (warns)
        nd__log(ND_LOG_WARN, "plug-in %s is loaded although %s", slot->path, why.data);
    else if (state)
        nd__slot_state(slot, state, "%s", why.data ? why.data : "no memory for the reason");
    free(why.data);
    if (state && !warns)
        return false;
    slot->real = nd__text_keep(real);
    slot->st_dev = (uint64_t)st.st_dev;
    slot->st_ino = (uint64_t)st.st_ino;
    return true;
}

static bool read_note(nd_plugin_slot *slot)
{
    static const char *const states[] = {[ND_NOTE_ABSENT] = "NO_NOTE",
                                         [ND_NOTE_FOREIGN] = "ARCHITECTURE",
                                         [ND_NOTE_DAMAGED] = "DAMAGED",
                                         [ND_NOTE_UNREADABLE] = "PERMISSION"};
    static nd_note_host host; /* asking the processor costs */
    char why[512];
    nd_note_result result = nd__note_read(slot->real, &slot->file, why, sizeof why);
    slot->has_note = result == ND_NOTE_FOUND;
    if (!slot->has_note) {
        nd__slot_state(slot, states[result], "%s: %s", slot->path, why);
        return false;
    }
    slot->name = nd__text_keep(slot->file.note.name);
    slot->version = nd__text_keep(slot->file.note.version);
    if (!slot->has_priority)
        slot->priority = slot->file.note.priority;
    if (!host.isa)
        nd__note_host(&host);
    const char *misfit = nd__note_misfit(&slot->file, &host, why, sizeof why);
    if (misfit)
        nd__slot_state(slot, misfit, "%s", why);
    return !misfit;
}

void nd__loader_examine(nd_plugin_slot *slot)
{
    slot->examined = true;
    bool usable = is_trusted(slot) && read_note(slot);
    if (nd__plugin_filtered(slot->name)) {
        usable = false;
        nd__slot_state(slot, "FILTERED", "NDOCK_PLUGINS=%s leaves it out",
                       nd__getenv("NDOCK_PLUGINS"));
    }
    slot->phase = usable ? ND_SLOT_CANDIDATE : ND_SLOT_REFUSED;
    if (!usable && slot->named && strcmp(slot->state, "FILTERED") != 0)
        nd__log(ND_LOG_WARN, "plug-in %s: %s: %s", slot->path, slot->state, slot->reason);
}

/* ---- its code ---- */

/* The entry point must be in this file, not in a library that it pulled in. */
static ndp_entry_fn find_entry(nd_plugin_slot *slot)
{
    Dl_info info = {0};
    struct link_map *map = NULL;
    struct stat st;
    ndp_entry_fn entry = NULL;
    void *symbol = dlsym(slot->handle, NDP_ENTRY);
    if (!symbol) {
        nd__slot_state(slot, "NO_ENTRY", "it exports no %s, so it is not a plug-in for ndock %s",
                       NDP_ENTRY, nd_version());
        return NULL;
    }
    if (!dladdr(symbol, &info) || dlinfo(slot->handle, RTLD_DI_LINKMAP, &map) != 0 ||
        !info.dli_fname || strcmp(info.dli_fname, map->l_name) != 0) {
        nd__slot_state(slot, "NO_ENTRY", "its %s comes from %s, a library that it links", NDP_ENTRY,
                       info.dli_fname ? info.dli_fname : "elsewhere");
        return NULL;
    }
    if (stat(map->l_name, &st) != 0 || (uint64_t)st.st_ino != slot->st_ino ||
        (uint64_t)st.st_dev != slot->st_dev) {
        nd__slot_state(slot, "NO_ENTRY", "%s was replaced while it was being loaded: try again",
                       slot->path);
        return NULL;
    }
    memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

/* Required functions of the table, by name. */
static const struct {
    const char *name;
    size_t offset;
} required[] = {
#define REQUIRED(field)                     \
    {                                       \
#field, offsetof(ndp_plugin, field) \
    }
    REQUIRED(probe), REQUIRED(info),  REQUIRED(open), REQUIRED(close), REQUIRED(alloc),
    REQUIRED(free),  REQUIRED(write), REQUIRED(read), REQUIRED(sync),  REQUIRED(shutdown),
};

static bool check_table(nd_plugin_slot *slot, const ndp_plugin *t)
{
    if (t->major != NDP_ABI_MAJOR || (NDP_ABI_MAJOR == 0 && t->minor != NDP_ABI_MINOR)) {
        nd__slot_state(
            slot, "ABI",
            "it was built for plug-in ABI %u.%u, this libndock has %d.%d; before 1.0 they "
            "must be equal: rebuild it",
            t->major, t->minor, NDP_ABI_MAJOR, NDP_ABI_MINOR);
        return false;
    }
    if (t->size < NDP_PLUGIN_REQUIRED_END || t->size > MOST_TABLE_BYTES) {
        nd__slot_state(slot, "SHORT", "its table has %u bytes, %s %zu", t->size,
                       t->size > MOST_TABLE_BYTES ? "which cannot be: there are"
                                                  : "the required part is",
                       t->size > MOST_TABLE_BYTES ? sizeof *t : NDP_PLUGIN_REQUIRED_END);
        return false;
    }
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        void *slot_value;
        memcpy(&slot_value, (const char *)t + required[i].offset, sizeof slot_value);
        if (!slot_value) {
            nd__slot_state(slot, "SHORT", "the required function %s of its table is NULL",
                           required[i].name);
            return false;
        }
    }
    if (!t->name || !t->name[0]) {
        nd__slot_state(slot, "SHORT", "its table has no name");
        return false;
    }
    if (strcmp(t->name, slot->file.note.name) != 0) {
        nd__slot_state(slot, "NOTE", "its note calls it %s, its table %s: make them agree",
                       slot->file.note.name, t->name);
        return false;
    }
    return true;
}

static void probe(nd_plugin_slot *slot)
{
    char why[512] = "";
    slot->device_count = 0;
    int32_t status = slot->p.probe(&slot->device_count, why, sizeof why);
    why[sizeof why - 1] = 0;
    if (status == NDP_OK && slot->device_count > 0 && slot->device_count <= MOST_DEVICES) {
        nd__slot_state(slot, "LOADED", "%s", "");
        return;
    }
    if (status == NDP_OK && slot->device_count)
        snprintf(why, sizeof why, "it counted %u devices; at most %d are believed",
                 slot->device_count, MOST_DEVICES);
    slot->device_count = 0;
    nd__slot_state(slot,
                   status == NDP_ERR_UNSUPPORTED ? "NO_LIBRARY"
                   : status == NDP_ERR_PLUGIN    ? "OLD_DRIVER"
                                                 : "NO_DEVICE",
                   "%s",
                   why[0]             ? why
                   : status != NDP_OK ? nd_last_error()->message
                                      : "it found no device and gave no reason");
}

void nd__loader_recount(nd_plugin_slot *slot)
{
    nd_settings settings;
    if (slot->phase != ND_SLOT_LOADED || slot->devices)
        return;
    slot->phase = ND_SLOT_LOADING; /* probe may ask the host for plug-ins, this one too */
    nd__settings_take(&settings);
    probe(slot);
    nd__settings_put_back(&settings, slot->path);
    slot->phase = ND_SLOT_LOADED;
}

static bool open_file(nd_plugin_slot *slot)
{
    nd_text why = {0};
    /* What the program has linked or opened itself has run already: nothing is left to try. */
    const bool there = dlopen(slot->real, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) != NULL;
    const bool refused = !there && nd__quarantined(slot, &why);
    if (refused)
        nd__slot_state(slot, "QUARANTINED", "%s", why.data ? why.data : "");
    free(why.data);
    if (refused)
        return false;
    slot->handle = dlopen(slot->real, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!slot->handle)
        nd__slot_state(slot, "DLOPEN", "%s", dlerror());
    return slot->handle != NULL;
}

/* The table that the entry gives, checked. */
static const ndp_plugin *find_table(nd_plugin_slot *slot)
{
    ndp_entry_fn entry = find_entry(slot);
    const ndp_plugin *table = entry ? entry(&slot->host) : NULL;
    if (entry && !table)
        nd__slot_state(slot, "ENTRY", "its entry refused: %s", nd_last_error()->message);
    return table && check_table(slot, table) ? table : NULL;
}

static void load(nd_plugin_slot *slot)
{
    const ndp_plugin *table = open_file(slot) ? find_table(slot) : NULL;
    if (!table) {
        slot->phase = ND_SLOT_REFUSED;
        return;
    }
    slot->version = nd__text_keep(table->version ? table->version : "");
    slot->table = table;
    memcpy(&slot->p, table, table->size < sizeof slot->p ? table->size : sizeof slot->p);
    if (nd__hook_plugin(slot->name, &slot->p) != ND_OK) {
        slot->table = NULL;
        nd__slot_state(slot, "HOOK", "%s", nd_last_error()->message);
        slot->phase = ND_SLOT_REFUSED;
        return;
    }
    probe(slot);
    slot->phase = ND_SLOT_LOADED;
    nd__on_plugin_loaded(slot);
}

void nd__loader_load(nd_plugin_slot *slot)
{
    nd_settings settings;
    slot->phase = ND_SLOT_LOADING;
    nd__settings_take(&settings);
    load(slot);
    nd__settings_put_back(&settings, slot->path);
}
