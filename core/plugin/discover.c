/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Where candidate plug-ins come from.
 *
 * Order: nd_plugin_load(path); NDOCK_PLUGIN_PATH (folders or files, separated by colons, absolute;
 * a leading + makes them win over others of the variable); files *.conf of $sysconfdir/ndock/
 * plugins.d, by which packages name plug-ins that lie elsewhere; the plug-in folder of this
 * libndock (found beside the library, else where it was configured to be installed). Where
 * NDOCK_PLUGIN_DIR names a folder, it stands for the last two. Never the current folder, never a
 * bare name through ld.so. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "core/plugin/loader.h"

#define PREFIX "ndock-"
#define SUFFIX ".so"

const char *nd__plugin_dir_named(void)
{
    const char *named = nd__getenv("NDOCK_PLUGIN_DIR");
    return named && named[0] ? named : NULL;
}

static void installed_dir(char dir[PATH_MAX])
{
    Dl_info info;
    struct stat st;
    char *slash = dladdr((void *)(uintptr_t)nd_plugin_dir, &info) && info.dli_fname
                      ? strrchr(info.dli_fname, '/')
                      : NULL;
    int n = slash ? (int)(slash - info.dli_fname) : 0;
    snprintf(dir, PATH_MAX, "%.*s/ndock/plugins-0", n, slash ? info.dli_fname : "");
    if (dir[0] != '/' || n == 0 || stat(dir, &st) != 0)
        snprintf(dir, PATH_MAX, "%s", ND_PLUGINDIR);
}

const char *nd_plugin_dir(void)
{
    static char dir[PATH_MAX];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    const char *named = dir[0] ? NULL : nd__plugin_dir_named();
    if (named)
        snprintf(dir, sizeof dir, "%s", named);
    else if (!dir[0])
        installed_dir(dir);
    pthread_mutex_unlock(&lock);
    return dir;
}

/* "cuda" from ".../ndock-cuda.so"; the whole file name where it has another form. */
static const char *name_from_path(const char *path)
{
    char name[NAME_MAX + 1];
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    size_t n = strlen(base), skip = strncmp(base, PREFIX, strlen(PREFIX)) == 0 ? strlen(PREFIX) : 0;
    size_t cut =
        n > strlen(SUFFIX) && strcmp(base + n - strlen(SUFFIX), SUFFIX) == 0 ? strlen(SUFFIX) : 0;
    snprintf(name, sizeof name, "%.*s", (int)(n > skip + cut ? n - skip - cut : 0), base + skip);
    return nd__text_keep(name);
}

nd_plugin_slot *nd__loader_candidate(nd_plugin_slot **list, const char *path, int source)
{
    static const char *const sources[] = {
        [ND_SOURCE_CALL] = "nd_plugin_load",
        [ND_SOURCE_ENVIRONMENT] = "NDOCK_PLUGIN_PATH",
        [ND_SOURCE_CONF] = "plugins.d",
        [ND_SOURCE_FOLDER] = "plugindir",
    };
    nd_plugin_slot **end = list;
    for (; *end; end = &(*end)->next)
        if (strcmp((*end)->path, path) == 0)
            return *end;
    nd_plugin_slot *slot = calloc(1, sizeof *slot);
    if (!slot)
        return NULL;
    slot->path = nd__text_keep(path);
    slot->real = slot->version = slot->reason = "";
    slot->name = name_from_path(path);
    slot->state = "FOUND";
    slot->source = sources[source];
    slot->rank = source;
    nd__host_init(slot);
    *end = slot;
    return slot;
}

/* A place that holds no candidate, shown with the reason. */
static void add_refused(nd_plugin_slot **list, const char *path, int source, const char *state,
                        const char *fmt, ...) ND_PRINTF(5, 6);
static void add_refused(nd_plugin_slot **list, const char *path, int source, const char *state,
                        const char *fmt, ...)
{
    char why[1024];
    va_list ap;
    nd_plugin_slot *slot = nd__loader_candidate(list, path, source);
    if (!slot || slot->examined)
        return;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    slot->phase = ND_SLOT_REFUSED;
    slot->examined = true;
    slot->is_place = true;
    nd__slot_state(slot, state, "%s", why);
}

static void add_file(nd_plugin_slot **list, const char *path, int source, bool named,
                     bool preferred, const int32_t *priority)
{
    nd_plugin_slot *slot = nd__loader_candidate(list, path, source);
    if (slot && slot->examined && slot->rank == source) { /* its folder was named before it */
        slot->preferred |= preferred;
        slot->named |= named;
    }
    if (!slot || slot->examined)
        return; /* the earlier source has it */
    slot->named = named;
    slot->preferred = preferred;
    slot->has_priority = priority != NULL;
    slot->priority = priority ? *priority : 0;
    nd__loader_examine(slot);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static int is_plugin(const struct dirent *e)
{
    return strncmp(e->d_name, PREFIX, strlen(PREFIX)) == 0 && ends_in(e->d_name, SUFFIX) &&
           strlen(e->d_name) > strlen(PREFIX SUFFIX);
}

static int is_conf(const struct dirent *e)
{
    return ends_in(e->d_name, ".conf");
}

static void add_folder(nd_plugin_slot **list, const char *folder, int source, bool preferred,
                       const int32_t *priority)
{
    struct dirent **entries = NULL;
    char path[PATH_MAX + 256];
    int n = scandir(folder, &entries, is_plugin, by_name);
    if (n < 0)
        add_refused(list, folder, source, "MISSING", "%s: %s", folder, strerror(errno));
    else if (n == 0)
        add_refused(list, folder, source, "MISSING", "%s holds no ndock-*.so", folder);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        add_file(list, path, source, false, preferred, priority);
        free(entries[i]);
    }
    free(entries);
}

static void add_place(nd_plugin_slot **list, const char *place, int source, bool preferred,
                      const int32_t *priority)
{
    struct stat st;
    if (place[0] != '/') {
        add_refused(list, place, source, "MISSING",
                    "\"%s\" is not an absolute path, so it is not searched", place);
    } else if (stat(place, &st) == 0 && S_ISREG(st.st_mode)) {
        add_file(list, place, source, true, preferred, priority);
    } else {
        add_folder(list, place, source, preferred, priority);
    }
}

/* ---- plugins.d ---- */
typedef struct {
    const char *file;
    int line;
    char path[PATH_MAX]; /* "" until there was a path= */
    int32_t priority;
    bool has_priority;
} conf;

static char *trim(char *text)
{
    text += strspn(text, " \t\r\n");
    for (size_t n = strlen(text); n && strchr(" \t\r\n", text[n - 1]); n--)
        text[n - 1] = 0;
    return text;
}

static const char *take_setting(conf *c, const char *key, const char *value)
{
    char *end = NULL;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (strcmp(key, "path") == 0) {
        if (c->path[0])
            return "a second path=; a file names one plug-in or one folder";
        if (value[0] != '/' || strlen(value) >= sizeof c->path)
            return "path= wants an absolute path";
        snprintf(c->path, sizeof c->path, "%s", value);
    } else if (strcmp(key, "priority") == 0) {
        if (!value[0] || *end || errno || number < -1000000 || number > 1000000)
            return "priority= wants a number from -1000000 to 1000000";
        c->priority = (int32_t)number;
        c->has_priority = true;
    } else {
        return "it knows path= and priority= alone";
    }
    return NULL;
}

static const char *take_line(conf *c, char *line)
{
    char *text = trim(line), *equals = strchr(text, '=');
    c->line++;
    if (!text[0] || text[0] == '#')
        return NULL;
    if (!equals)
        return "a line is KEY=VALUE, or begins with #";
    *equals = 0;
    return take_setting(c, trim(text), trim(equals + 1));
}

static void read_conf(nd_plugin_slot **list, const char *file)
{
    conf c = {.file = file};
    char line[PATH_MAX + 64];
    const char *wrong = NULL;
    FILE *f = fopen(file, "re");
    while (f && !wrong && fgets(line, sizeof line, f))
        wrong = take_line(&c, line);
    if (f)
        fclose(f);
    if (wrong)
        add_refused(list, file, ND_SOURCE_CONF, "CONF", "%s, line %d: %s", file, c.line, wrong);
    else if (!f || !c.path[0])
        add_refused(list, file, ND_SOURCE_CONF, "CONF", "%s %s", file,
                    f ? "has no path=" : "cannot be read");
    else
        add_place(list, c.path, ND_SOURCE_CONF, false, c.has_priority ? &c.priority : NULL);
}

void nd__discover_conf(nd_plugin_slot **list, const char *folder)
{
    struct dirent **entries = NULL;
    char path[PATH_MAX + 256], real[PATH_MAX];
    struct stat st;
    bool whose;
    int n = scandir(folder, &entries, is_conf, by_name); /* most systems have no such folder */
    for (int i = 0; i < n; i++) {
        nd_text why = {0};
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        const char *state = nd__path_refusal(path, real, &st, &whose, &why);
        if (state)
            add_refused(list, path, ND_SOURCE_CONF, state, "%s", why.data ? why.data : "");
        else
            read_conf(list, path);
        free(why.data);
        free(entries[i]);
    }
    free(entries);
}

void nd__discover(nd_plugin_slot **list)
{
    const char *path = nd__getenv("NDOCK_PLUGIN_PATH");
    nd__trust_scan(true);
    char *copy = path ? strdup(path) : NULL, *rest = copy;
    for (char *entry; rest && (entry = strsep(&rest, ":")) != NULL;) {
        bool preferred = entry[0] == '+';
        if (entry[preferred])
            add_place(list, entry + preferred, ND_SOURCE_ENVIRONMENT, preferred, NULL);
    }
    free(copy);
    if (!nd__plugin_dir_named())
        nd__discover_conf(list, ND_CONFDIR);
    add_place(list, nd_plugin_dir(), ND_SOURCE_FOLDER, false, NULL);
    nd__trust_scan(false);
    nd__settle_names(*list);
}
