/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Finding plug-ins and loading them. Every candidate ends in a state with a reason.
 *
 * Search order: nd_plugin_load(path); NDOCK_PLUGIN_PATH (folders or files, separated by colons,
 * absolute); the plug-in folder of this libndock (found beside the library, else where it was
 * configured to be installed). Never the current folder, never a bare name through ld.so. The first
 * of one name wins; later ones are SHADOWED. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/hook/wrap.h"
#include "core/memory/memory.h"

#define PREFIX "ndock-"
#define SUFFIX ".so"

const char *nd_plugin_dir(void)
{
    static char dir[PATH_MAX];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    Dl_info info;
    struct stat st;
    pthread_mutex_lock(&lock);
    if (!dir[0]) {
        char *slash = dladdr((void *)(uintptr_t)nd_plugin_dir, &info) && info.dli_fname
                          ? strrchr(info.dli_fname, '/')
                          : NULL;
        int n = slash ? (int)(slash - info.dli_fname) : 0;
        snprintf(dir, sizeof dir, "%.*s/ndock/plugins-0", n, slash ? info.dli_fname : "");
        if (dir[0] != '/' || n == 0 || stat(dir, &st) != 0)
            snprintf(dir, sizeof dir, "%s", ND_PLUGINDIR);
    }
    pthread_mutex_unlock(&lock);
    return dir;
}

static bool refuse_component(const char *path, const struct stat *st, bool ancestor, nd_text *why)
{
    bool owned = st->st_uid == 0 || st->st_uid == geteuid();
    bool sticky_ancestor = ancestor && st->st_uid == 0 && (st->st_mode & S_ISVTX);
    if (!owned) {
        nd__text_add(why,
                     "%s belongs to user %u, neither root nor you: chown it, or copy the plug-in "
                     "to a folder of yours",
                     path, (unsigned)st->st_uid);
    } else if ((st->st_mode & S_IWOTH) && !sticky_ancestor) {
        nd__text_add(why, "%s can be written by everyone (mode %04o): chmod o-w %s", path,
                     (unsigned)st->st_mode & 07777, path);
    } else if ((st->st_mode & S_IWGRP) && !sticky_ancestor && st->st_gid != getegid()) {
        nd__text_add(why, "%s can be written by group %u (mode %04o): chmod g-w %s", path,
                     (unsigned)st->st_gid, (unsigned)st->st_mode & 07777, path);
    } else {
        if ((st->st_mode & S_IWGRP) && !sticky_ancestor)
            nd__log(ND_LOG_INFO, "%s can be written by your own group; accepted", path);
        return false;
    }
    return true;
}

const char *nd__path_refusal(const char *path, nd_text *why)
{
    char full[PATH_MAX];
    struct stat st;
    if (!realpath(path, full) || stat(full, &st) != 0) {
        nd__text_add(why, "%s: %s", path, strerror(errno));
        return why->data;
    }
    if (!S_ISREG(st.st_mode)) {
        nd__text_add(why, "%s is not a regular file", full);
        return why->data;
    }
    if (refuse_component(full, &st, false, why))
        return why->data;
    /* Every parent: the plug-in's own folder counts as strictly as the file, those above it may be
     * sticky. */
    for (char *slash = strrchr(full, '/'), *first = slash; slash; slash = strrchr(full, '/')) {
        *slash = 0;
        if (stat(full[0] ? full : "/", &st) != 0 ||
            refuse_component(full[0] ? full : "/", &st, slash != first, why))
            return why->data ? why->data : "a parent folder cannot be examined";
    }
    return NULL;
}

/* "cuda" from ".../ndock-cuda.so"; the whole file name where it has another form. */
static char *name_from_path(const char *path)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    size_t n = strlen(base), skip = strncmp(base, PREFIX, strlen(PREFIX)) == 0 ? strlen(PREFIX) : 0;
    size_t cut =
        n > strlen(SUFFIX) && strcmp(base + n - strlen(SUFFIX), SUFFIX) == 0 ? strlen(SUFFIX) : 0;
    return strndup(base + skip, n - skip - cut);
}

static void set_state(nd_plugin_slot *slot, const char *state, const char *fmt, ...)
    ND_PRINTF(3, 4);
static void set_state(nd_plugin_slot *slot, const char *state, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    slot->state = state;
    slot->reason = nd__text_keep(text); /* reports may have the earlier one */
    if (text[0])
        nd__log(ND_LOG_DEBUG, "plug-in %s: %s: %s", slot->path, state, text);
}

nd_plugin_slot *nd__loader_candidate(nd_plugin_slot **list, const char *path, const char *source)
{
    nd_plugin_slot **end = list;
    for (; *end; end = &(*end)->next)
        if (strcmp((*end)->path, path) == 0)
            return *end;
    nd_plugin_slot *slot = calloc(1, sizeof *slot);
    if (!slot)
        return NULL;
    slot->path = strdup(path);
    slot->name = name_from_path(path);
    slot->version = strdup("");
    slot->reason = "";
    slot->state = "FOUND";
    slot->source = source;
    nd__host_init(slot);
    *end = slot;
    return slot;
}

static bool is_plugin_name(const char *name)
{
    size_t n = strlen(name);
    return n > strlen(PREFIX) + strlen(SUFFIX) && strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
           strcmp(name + n - strlen(SUFFIX), SUFFIX) == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int keep_plugins(const struct dirent *e)
{
    return is_plugin_name(e->d_name);
}

static void scan_folder(nd_plugin_slot **list, const char *folder, const char *source)
{
    struct dirent **entries = NULL;
    char path[PATH_MAX + 256];
    int n = scandir(folder, &entries, keep_plugins, by_name);
    if (n < 0 || n == 0) {
        nd_plugin_slot *slot = nd__loader_candidate(list, folder, source);
        if (slot && !slot->tried)
            set_state(slot, "MISSING", n < 0 ? "%s: %s" : "%s holds no ndock-*.so%s", folder,
                      n < 0 ? strerror(errno) : "");
        if (slot)
            slot->tried = true;
    }
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        nd__loader_candidate(list, path, source);
        free(entries[i]);
    }
    free(entries);
}

static void scan_entry(nd_plugin_slot **list, const char *entry, const char *source)
{
    struct stat st;
    if (entry[0] != '/') {
        nd_plugin_slot *slot = nd__loader_candidate(list, entry, source);
        if (slot && !slot->tried)
            set_state(slot, "MISSING", "\"%s\" is not an absolute path, so it is not searched",
                      entry);
        if (slot)
            slot->tried = true;
    } else if (stat(entry, &st) == 0 && S_ISREG(st.st_mode)) {
        nd__loader_candidate(list, entry, source);
    } else {
        scan_folder(list, entry, source);
    }
}

void nd__loader_scan(nd_plugin_slot **list)
{
    const char *path = nd__getenv("NDOCK_PLUGIN_PATH");
    char *copy = path ? strdup(path) : NULL, *rest = copy;
    for (char *entry; rest && (entry = strsep(&rest, ":")) != NULL;)
        if (entry[0])
            scan_entry(list, entry, "NDOCK_PLUGIN_PATH");
    free(copy);
    scan_folder(list, nd_plugin_dir(), "plugindir");
}

/* NDOCK_PLUGINS=cpu,cuda names the only ones allowed, ^cuda those that are not. */
static bool filtered(const char *name)
{
    const char *list = nd__getenv("NDOCK_PLUGINS");
    bool negated = list && list[0] == '^', named = false;
    size_t n = strlen(name);
    for (const char *p = list ? list + negated : NULL; p && *p;
         p += strcspn(p, ","), p += *p == ',')
        named |= strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == 0);
    return list && named == negated;
}

static bool shadowed(nd_plugin_slot *slot, const nd_plugin_slot *list)
{
    for (const nd_plugin_slot *s = list; s && s != slot; s = s->next) {
        bool same_file = s->st_ino == slot->st_ino && s->st_dev == slot->st_dev && s->st_ino;
        if (same_file || (s->table && strcmp(s->name, slot->name) == 0)) {
            set_state(slot, "SHADOWED",
                      same_file ? "the same file as %s" : "%s has the same name and comes first",
                      s->path);
            return true;
        }
    }
    return false;
}

/* The entry point must be in this file, not in a library that it pulled in. */
static ndp_entry_fn find_entry(nd_plugin_slot *slot)
{
    Dl_info info;
    struct stat st;
    ndp_entry_fn entry = NULL;
    void *symbol = dlsym(slot->handle, NDP_ENTRY);
    if (!symbol) {
        set_state(slot, "NO_ENTRY", "it exports no %s, so it is not a plug-in for ndock %s",
                  NDP_ENTRY, nd_version());
        return NULL;
    }
    if (!dladdr(symbol, &info) || stat(info.dli_fname, &st) != 0 ||
        (uint64_t)st.st_ino != slot->st_ino || (uint64_t)st.st_dev != slot->st_dev) {
        set_state(slot, "NO_ENTRY", "its %s comes from %s, a library that it links", NDP_ENTRY,
                  info.dli_fname ? info.dli_fname : "elsewhere");
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
    if (t->major != NDP_ABI_MAJOR || t->minor != NDP_ABI_MINOR) {
        set_state(slot, "ABI",
                  "it was built for plug-in ABI %u.%u, this libndock has %d.%d; before 1.0 they "
                  "must be equal: rebuild it",
                  t->major, t->minor, NDP_ABI_MAJOR, NDP_ABI_MINOR);
        return false;
    }
    if (t->size < NDP_PLUGIN_REQUIRED_END) {
        set_state(slot, "SHORT", "its table has %u bytes, the required part is %zu", t->size,
                  NDP_PLUGIN_REQUIRED_END);
        return false;
    }
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        void *slot_value;
        memcpy(&slot_value, (const char *)t + required[i].offset, sizeof slot_value);
        if (!slot_value) {
            set_state(slot, "SHORT", "the required function %s of its table is NULL",
                      required[i].name);
            return false;
        }
    }
    if (!t->name || !t->name[0]) {
        set_state(slot, "SHORT", "its table has no name");
        return false;
    }
    return true;
}

static void probe(nd_plugin_slot *slot)
{
    char why[512] = "";
    int32_t status = slot->p.probe(&slot->device_count, why, sizeof why);
    why[sizeof why - 1] = 0;
    if (status == NDP_OK && slot->device_count > 0) {
        set_state(slot, "LOADED", "%s", "");
    } else {
        slot->device_count = 0;
        set_state(slot,
                  status == NDP_ERR_UNSUPPORTED ? "NO_LIBRARY"
                  : status == NDP_ERR_PLUGIN    ? "OLD_DRIVER"
                                                : "NO_DEVICE",
                  "%s",
                  why[0]             ? why
                  : status != NDP_OK ? nd_last_error()->message
                                     : "it found no device and gave no reason");
    }
}

void nd__loader_recount(nd_plugin_slot *slot)
{
    if (!slot->table || slot->devices)
        return;
    probe(slot);
}

static bool open_file(nd_plugin_slot *slot, const nd_plugin_slot *list)
{
    struct stat st;
    nd_text why = {0};
    const char *refusal = nd__path_refusal(slot->path, &why);
    if (refusal)
        set_state(slot, errno == ENOENT && stat(slot->path, &st) != 0 ? "MISSING" : "PERMISSION",
                  "%s", refusal);
    free(why.data);
    if (refusal || stat(slot->path, &st) != 0)
        return false;
    slot->st_dev = (uint64_t)st.st_dev;
    slot->st_ino = (uint64_t)st.st_ino;
    if (shadowed(slot, list))
        return false;
    slot->handle = dlopen(slot->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!slot->handle)
        set_state(slot, "DLOPEN", "%s", dlerror());
    return slot->handle != NULL;
}

void nd__loader_load(nd_plugin_slot *slot, const nd_plugin_slot *list)
{
    if (slot->tried)
        return;
    slot->tried = true;
    if (filtered(slot->name)) {
        set_state(slot, "FILTERED", "NDOCK_PLUGINS=%s leaves it out", nd__getenv("NDOCK_PLUGINS"));
        return;
    }
    if (!open_file(slot, list))
        return;
    ndp_entry_fn entry = find_entry(slot);
    const ndp_plugin *table = entry ? entry(&slot->host) : NULL;
    if (!entry)
        return;
    if (!table) {
        set_state(slot, "ENTRY", "its entry refused: %s", nd_last_error()->message);
        return;
    }
    if (!check_table(slot, table))
        return;
    free(slot->name);
    free(slot->version);
    slot->name = strdup(table->name);
    slot->version = strdup(table->version ? table->version : "");
    if (shadowed(slot, list))
        return;
    slot->table = table;
    memcpy(&slot->p, table, table->size < sizeof slot->p ? table->size : sizeof slot->p);
    if (nd__hook_plugin(slot) != ND_OK) {
        slot->table = NULL;
        set_state(slot, "HOOK", "%s", nd_last_error()->message);
        return;
    }
    probe(slot);
    nd__conf_plugin_loaded(slot->name);
}
