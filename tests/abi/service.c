/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Services of the host, as plain as their contracts allow: nothing is kept from one process to the
 * next, and what is kept in this one stays until its end. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int32_t refuse(int32_t status, const char *text, const char *detail)
{
    return abi_host.error(abi_host.ctx, status, 0, "%s%s", text, detail);
}

/* ---- ndh.plan/1: made once a key, never dropped ---- */
struct ndh_plan {
    ndh_plan *next;
    ndp_dev *dev;
    void *key, *value;
    size_t key_nbytes;
};
static ndh_plan *plans;

static int32_t plan_acquire(void *ctx, ndp_dev *dev, const void *key, size_t key_nbytes,
                            int32_t (*make)(void *arg, void **value, uint64_t *nbytes),
                            void (*destroy)(void *value), void *arg, ndh_plan **out, void **value)
{
    uint64_t nbytes = 0;
    (void)ctx;
    (void)destroy;
    pthread_mutex_lock(&lock);
    ndh_plan *p = plans;
    while (p && (p->dev != dev || p->key_nbytes != key_nbytes || memcmp(p->key, key, key_nbytes)))
        p = p->next;
    pthread_mutex_unlock(&lock);
    if (!p) {
        p = abi_bytes(sizeof *p);
        int32_t status = make(arg, &p->value, &nbytes);
        if (status != NDP_OK)
            return status;
        p->dev = dev;
        p->key_nbytes = key_nbytes;
        p->key = memcpy(abi_bytes(key_nbytes), key, key_nbytes);
        pthread_mutex_lock(&lock);
        p->next = plans;
        plans = p;
        pthread_mutex_unlock(&lock);
    }
    *out = p;
    *value = p->value;
    return NDP_OK;
}

static void plan_release(void *ctx, ndh_plan *p, ndp_stream *s)
{
    (void)ctx;
    (void)p;
    (void)s;
}

static void plan_clear(void *ctx, ndp_dev *dev)
{
    (void)ctx;
    (void)dev;
}

/* ---- ndh.kernel/1: compiled each time ---- */
struct ndh_code {
    ndh_compiled c;
};

static int32_t kernel_get(void *ctx, const ndh_kernel_key *key, uint32_t flags,
                          int32_t (*compile)(void *arg, ndh_compiled *out), void *arg,
                          ndh_code **out, const void **code, uint64_t *nbytes)
{
    (void)ctx;
    (void)key;
    (void)flags;
    ndh_code *k = abi_bytes(sizeof *k);
    k->c.size = sizeof k->c;
    int32_t status = compile(arg, &k->c);
    *out = k;
    *code = k->c.code;
    *nbytes = k->c.nbytes;
    return status;
}

static void kernel_release(void *ctx, ndh_code *k)
{
    (void)ctx;
    (void)k;
}

static int32_t kernel_log(void *ctx, const ndh_kernel_key *key, char *text, size_t n)
{
    (void)ctx;
    (void)key;
    (void)text;
    (void)n;
    return refuse(NDP_ERR_ARGUMENT, "conform-abi remembers no failed compile", "");
}

/* ---- ndh.workspace/1: a fresh block each time ---- */
struct ndh_workspace {
    ndp_mem *mem;
};

static int32_t workspace_acquire(void *ctx, ndp_dev *dev, const void *handle, ndp_stream *s,
                                 uint64_t nbytes, ndh_workspace **out, ndp_mem **mem,
                                 uint64_t *offset_bytes)
{
    (void)ctx;
    (void)handle;
    (void)s;
    ndh_workspace *w = abi_bytes(sizeof *w);
    int32_t status = abi.p.alloc(dev, nbytes, &w->mem);
    *out = w;
    *mem = w->mem;
    *offset_bytes = 0;
    return status;
}

static void workspace_release(void *ctx, ndh_workspace *w)
{
    (void)ctx;
    (void)w;
}

static void workspace_gone(void *ctx, ndp_dev *dev, const void *handle)
{
    (void)ctx;
    (void)dev;
    (void)handle;
}

static int32_t workspace_parse(void *ctx, const char *text, uint64_t *nbytes)
{
    (void)ctx;
    *nbytes = 0;
    while (text && *text == ':') {
        unsigned long long kib = 0, count = 0;
        int used = 0;
        if (sscanf(text, ":%llu:%llu%n", &kib, &count, &used) != 2)
            break;
        *nbytes += kib * 1024 * count;
        text += used;
    }
    return text && !*text ? NDP_OK : refuse(NDP_ERR_ARGUMENT, "no workspace sizes: ", text);
}

static uint64_t workspace_default(void *ctx, int32_t major)
{
    (void)ctx;
    return major == 9 || major == 10 || major == 12 ? UINT64_C(32) << 20 : UINT64_C(8519680);
}

/* ---- ndh.library/1 ---- */
static int32_t library_open(void *ctx, const ndh_library *l, void *table)
{
    void *handle = NULL;
    (void)ctx;
    for (uint32_t i = 0; i < l->n_sonames && !handle; i++)
        handle = dlopen(l->sonames[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return abi_host.error(abi_host.ctx, NDP_ERR_UNSUPPORTED, 0, "no %s here (%s): %s", l->name,
                              l->n_sonames ? l->sonames[0] : "no file name", l->install);
    for (uint32_t i = 0; i < l->n_symbols; i++) {
        void *symbol = dlsym(handle, l->symbols[i].name);
        if (!symbol && l->symbols[i].required)
            return refuse(NDP_ERR_UNSUPPORTED, "the library lacks ", l->symbols[i].name);
        memcpy((char *)table + l->symbols[i].offset, &symbol, sizeof symbol);
    }
    return NDP_OK;
}

/* ---- ndh.visible/1: numbers alone; for names, ask the driver ---- */
static int32_t visible_parse(void *ctx, const char *text, int32_t count, const char *const *uuids,
                             int32_t *out, int32_t *n)
{
    (void)ctx;
    (void)uuids;
    *n = 0;
    for (int32_t i = 0; !text && i < count; i++)
        out[(*n)++] = i;
    while (text && *text) {
        char *end = NULL;
        long v = strtol(text, &end, 10);
        if (end == text) {
            *n = NDH_VISIBLE_UNKNOWN;
            return NDP_OK;
        }
        if (v < 0 || v >= count || *n >= count)
            return NDP_OK;
        out[(*n)++] = (int32_t)v;
        text = end + (*end == ',');
    }
    return NDP_OK;
}

/* ---- ndh.conf/1: nobody sets anything ---- */
static int32_t conf_add(void *ctx, const char *key, const char *help, const char *initial,
                        int32_t (*set)(void *arg, const char *value), void *arg)
{
    (void)ctx;
    (void)arg;
    abi_expect(key && help && initial && set, "ndh.conf/1: add is called with a NULL");
    return NDP_OK;
}

static const ndh_plan_1 plan_service = {NDP_END(ndh_plan_1, clear), 0, plan_acquire, plan_release,
                                        plan_clear};
static const ndh_kernel_1 kernel_service = {NDP_END(ndh_kernel_1, log), 0, kernel_get,
                                            kernel_release, kernel_log};
static const ndh_workspace_1 workspace_service = {NDP_END(ndh_workspace_1, default_nbytes),
                                                  0,
                                                  workspace_acquire,
                                                  workspace_release,
                                                  workspace_gone,
                                                  workspace_parse,
                                                  workspace_default};
static const ndh_library_1 library_service = {NDP_END(ndh_library_1, open), 0, library_open};
static const ndh_visible_1 visible_service = {NDP_END(ndh_visible_1, parse), 0, visible_parse};
static const ndh_conf_1 conf_service = {NDP_END(ndh_conf_1, add), 0, conf_add};

const void *abi_service(void *ctx, const char *id)
{
    static const struct {
        const char *id;
        const void *table;
    } services[] = {{"ndh.plan/1", &plan_service},           {"ndh.kernel/1", &kernel_service},
                    {"ndh.workspace/1", &workspace_service}, {"ndh.library/1", &library_service},
                    {"ndh.visible/1", &visible_service},     {"ndh.conf/1", &conf_service}};
    (void)ctx;
    for (size_t i = 0; id && !abi_no_services && i < sizeof services / sizeof *services; i++)
        if (strcmp(services[i].id, id) == 0)
            return services[i].table;
    return NULL;
}

/* ---- ndp_host.plugin: ndock-NAME.so of NDOCK_PLUGIN_PATH, beside the file, or installed ---- */
const ndp_plugin *abi_open_file(const char *file, const ndp_host *host)
{
    ndp_entry_fn entry = NULL;
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = handle ? dlsym(handle, NDP_ENTRY) : NULL;
    memcpy(&entry, &symbol, sizeof entry);
    return entry ? entry(host) : NULL;
}

static const ndp_plugin *try_folder(const char *folder, int n, const char *name)
{
    char path[PATH_MAX];
    static ndp_host hosts[8];
    static int n_hosts;
    snprintf(path, sizeof path, "%.*s/ndock-%s.so", n, folder, name);
    if (n_hosts == (int)(sizeof hosts / sizeof *hosts))
        return NULL;
    abi_host_of(&hosts[n_hosts], name);
    return abi_open_file(path, &hosts[n_hosts++]);
}

const ndp_plugin *abi_other_plugin(void *ctx, const char *name)
{
    const char *path = getenv("NDOCK_PLUGIN_PATH"), *slash = strrchr(abi.file, '/');
    const ndp_plugin *table = NULL;
    uint32_t count = 0;
    char why[256] = "";
    (void)ctx;
    if (abi_no_plugins)
        return NULL;
    for (; path && *path && !table; path += strcspn(path, ":"), path += *path == ':')
        table = try_folder(path, (int)strcspn(path, ":"), name);
    if (!table && slash)
        table = try_folder(abi.file, (int)(slash - abi.file), name);
    if (!table)
        table = try_folder(ABI_PLUGINDIR, (int)strlen(ABI_PLUGINDIR), name);
    return table && table->probe(&count, why, sizeof why) == NDP_OK && count > 0 ? table : NULL;
}
