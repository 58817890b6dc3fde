/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Libraries that not every machine has, opened when first needed. Each is tried under a list of
 * names; what was found, or why nothing was, is remembered for `ndock info`. Nothing is ever
 * closed: libraries of drivers do not survive it. */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include "core/plugin/service/service.h"
#include "core/base/settings.h"

typedef struct record {
    struct record *next;
    nd_library_report is;
} record;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static record *records; /* in the order of first need; never removed */

static void remember(const char *name, const char *soname, const char *path, const char *version,
                     const char *reason)
{
    pthread_mutex_lock(&lock);
    record **at = &records;
    while (*at && strcmp((*at)->is.name, name) != 0)
        at = &(*at)->next;
    if (!*at)
        *at = calloc(1, sizeof **at);
    if (*at)
        (*at)->is =
            (nd_library_report){nd__text_keep(name), nd__text_keep(soname), nd__text_keep(path),
                                nd__text_keep(version), nd__text_keep(reason)};
    pthread_mutex_unlock(&lock);
}

/* The first required symbol that the library lacks; NULL if it lacks none. Fills the table. */
static const char *fill(void *handle, const ndh_library *l, char *table)
{
    const char *lacks = NULL;
    for (uint32_t i = 0; i < l->n_symbols; i++) {
        /* POSIX lets a data pointer carry a function's address; ISO C has no cast for it. */
        void *symbol = dlsym(handle, l->symbols[i].name);
        memcpy(table + l->symbols[i].offset, &symbol, sizeof symbol);
        if (!symbol && l->symbols[i].required && !lacks)
            lacks = l->symbols[i].name;
    }
    return lacks;
}

/* The file behind one of its functions, links resolved: its name has the version more often than
 * not. */
static void file_of(const ndh_library *l, const char *table, char path[PATH_MAX])
{
    Dl_info info;
    path[0] = 0;
    for (uint32_t i = 0; i < l->n_symbols && !path[0]; i++) {
        void *symbol;
        memcpy(&symbol, table + l->symbols[i].offset, sizeof symbol);
        if (symbol && dladdr(symbol, &info) && info.dli_fname && !realpath(info.dli_fname, path))
            path[0] = 0;
    }
}

static void report(const ndh_library *l, const char *soname, const char *table)
{
    char path[PATH_MAX], version[128] = "";
    file_of(l, table, path);
    if (l->version && l->version(table, version, sizeof version) != ND_OK)
        version[0] = 0;
    version[sizeof version - 1] = 0;
    remember(l->name, soname, path, version, "");
    nd__log(ND_LOG_DEBUG, "%s: %s, %s %s", l->name, soname, path, version);
}

/* The constructors of a driver change no settings of the thread that needed it first. */
static void *open_and_put_back(const char *soname)
{
    nd_settings settings;
    nd__settings_take(&settings);
    void *handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    nd__settings_put_back(&settings, soname);
    return handle;
}

/* True if it serves; else why is added to. */
static bool try_name(const ndh_library *l, const char *soname, void *table, nd_text *why)
{
    if (strchr(soname, '/') && soname[0] != '/') {
        nd__text_add(why, "%s%s: not an absolute path", why->len ? "; " : "", soname);
        return false;
    }
    void *handle = open_and_put_back(soname);
    if (!handle) {
        const char *text = dlerror();
        nd__text_add(why, "%s%s", why->len ? "; " : "", text ? text : soname);
        return false;
    }
    const char *lacks = fill(handle, l, table);
    if (!lacks)
        return true;
    nd__text_add(why, "%s%s: it lacks %s", why->len ? "; " : "", soname, lacks);
    return false;
}

nd_status nd__library_open(const ndh_library *l, void *table)
{
    nd_text why = {0};
    if (!l || l->size < NDP_END(ndh_library, symbols))
        return nd__fail(ND_ERR_ARGUMENT, "library", 0,
                        "the description's size field is not sizeof(ndh_library)");
    for (uint32_t i = 0; i < l->n_sonames; i++)
        if (try_name(l, l->sonames[i], table, &why)) {
            report(l, l->sonames[i], table);
            free(why.data);
            return ND_OK;
        }
    for (uint32_t i = 0; i < l->n_symbols; i++)
        memset((char *)table + l->symbols[i].offset, 0, sizeof(void *));
    const char *tried = why.data ? why.data : "no name to try";
    remember(l->name, "", "", "", tried);
    nd_status status = nd__fail(ND_ERR_UNSUPPORTED, NULL, -1, "%s cannot be opened (%s); %s",
                                l->name, tried, l->install ? l->install : "install it");
    free(why.data);
    return status;
}

nd_status nd_library_list(nd_library_report *out, int32_t n, int32_t *count)
{
    ND_OUT("library_list", 2, count, 0);
    pthread_mutex_lock(&lock);
    for (const record *r = records; r; r = r->next, ++*count)
        if (*count < n && out)
            out[*count] = r->is;
    pthread_mutex_unlock(&lock);
    return ND_OK;
}

static int32_t service_open(void *ctx, const ndh_library *library, void *table)
{
    (void)ctx;
    return nd__library_open(library, table);
}

const ndh_library_1 nd__library_service = {.size = sizeof(ndh_library_1), .open = service_open};

void nd__fork_libraries(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}
