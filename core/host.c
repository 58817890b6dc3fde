/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The services a plug-in gets from the core. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "core/cache/cache.h"
#include "core/memory/memory.h"

const char *nd__getenv(const char *name)
{
    const char *value = secure_getenv(name);
    return value && value[0] ? value : NULL;
}

static int32_t host_error(void *ctx, int32_t status, int64_t native, const char *fmt, ...)
{
    nd_plugin_slot *slot = ctx;
    char text[768];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    nd__fail(status, NULL, -1, "%s", text);
    nd__error_native(native);
    nd__error_context(NULL, NULL, slot->name);
    return status;
}

static void host_log(void *ctx, int32_t level, const char *fmt, ...)
{
    nd_plugin_slot *slot = ctx;
    char text[768];
    va_list ap;
    if (!nd__log_wants(level))
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    nd__log(level, "%s: %s", slot->name, text);
}

static void *host_alloc(void *ctx, size_t nbytes, size_t align)
{
    void *p = NULL;
    (void)ctx;
    return posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align,
                          nbytes ? nbytes : 1) == 0
               ? p
               : NULL;
}

static void host_free(void *ctx, void *p)
{
    (void)ctx;
    free(p);
}

/* Parameters asked for so far; rows are never removed. */
static nd_param *params;
static pthread_mutex_t params_lock = PTHREAD_MUTEX_INITIALIZER;

void nd__fork_params(nd_fork now)
{
    nd__fork_mutex(&params_lock, now);
}

static void remember_param(const char *name, int32_t type, const char *help, const char *value)
{
    pthread_mutex_lock(&params_lock);
    nd_param *p = params;
    while (p && strcmp(p->name, name) != 0)
        p = p->next;
    if (!p && (p = calloc(1, sizeof *p)) != NULL) {
        p->name = strdup(name);
        p->help = strdup(help ? help : "");
        p->value = value ? strdup(value) : NULL;
        p->type = type;
        p->next = params;
        params = p;
    }
    pthread_mutex_unlock(&params_lock);
}

static bool parse_bool(const char *text, int32_t *out)
{
    static const char *const words[] = {"0", "1", "off", "on", "no", "yes", "false", "true"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) {
            *out = (int32_t)(i & 1);
            return true;
        }
    return false;
}

static bool parse_param(int32_t type, const char *text, void *out)
{
    char *end = NULL;
    errno = 0;
    if (type == NDP_PARAM_I64) {
        long long v = strtoll(text, &end, 10);
        if (*end || errno)
            return false;
        *(int64_t *)out = v;
    } else if (type == NDP_PARAM_F64) {
        double v = strtod(text, &end);
        if (*end || errno)
            return false;
        *(double *)out = v;
    } else if (type == NDP_PARAM_BOOL) {
        return parse_bool(text, out);
    } else {
        *(const char **)out = text;
    }
    return true;
}

static int32_t host_param(void *ctx, const char *name, int32_t type, const char *help, void *out)
{
    nd_plugin_slot *slot = ctx;
    char variable[128];
    int n = snprintf(variable, sizeof variable, "NDOCK_%s_%s", slot->name, name);
    for (int i = 0; i < n && variable[i]; i++)
        if (variable[i] >= 'a' && variable[i] <= 'z')
            variable[i] = (char)(variable[i] - 'a' + 'A');
    const char *text = nd__getenv(variable);
    /* The team's size is everybody's affair, so the CPU plug-in's parameter may be given without
     * its name. */
    if (!text && strcmp(slot->name, "cpu") == 0 && strcmp(name, "NUM_THREADS") == 0) {
        snprintf(variable, sizeof variable, "NDOCK_NUM_THREADS");
        text = nd__getenv(variable);
    }
    remember_param(variable, type, help, text);
    if (!text || parse_param(type, text, out))
        return NDP_OK;
    nd__log(ND_LOG_WARN, "%s=%s is ignored: it is not of the right form (%s)", variable, text,
            help ? help : "");
    return NDP_ERR_ARGUMENT;
}

static int32_t host_reclaim(void *ctx, ndp_dev *dev, uint64_t need_bytes)
{
    nd_plugin_slot *slot = ctx;
    (void)need_bytes;
    for (nd_device *d = slot->devices; d; d = d->next)
        if (d->dev == dev)
            return nd__memory_trim(d);
    return 0;
}

static const ndp_plugin *host_plugin(void *ctx, const char *name)
{
    nd_plugin_slot *slot = NULL;
    (void)ctx;
    return nd__registry_slot(name, &slot) == ND_OK && slot ? slot->table : NULL;
}

nd_status nd__host_device(const nd_plugin_slot *slot, const ndp_dev *dev, nd_device **out)
{
    *out = slot->devices;
    while (*out && (*out)->dev != dev)
        *out = (*out)->next;
    return *out ? ND_OK
                : nd__fail(ND_ERR_DEVICE, NULL, -1, "%p is no open device of plug-in %s",
                           (const void *)dev, slot->name);
}

static const void *host_service(void *ctx, const char *id)
{
    static const struct {
        const char *id;
        const void *table;
    } services[] = {
        {"ndh.plan/1", &nd__plan_service},           {"ndh.kernel/1", &nd__kernel_service},
        {"ndh.workspace/1", &nd__workspace_service}, {"ndh.library/1", &nd__library_service},
        {"ndh.visible/1", &nd__visible_service},     {"ndh.conf/1", &nd__conf_service}};
    (void)ctx;
    for (size_t i = 0; id && i < sizeof services / sizeof *services; i++)
        if (strcmp(services[i].id, id) == 0)
            return services[i].table;
    return NULL;
}

void nd__host_init(nd_plugin_slot *slot)
{
    slot->host = (ndp_host){
        .size = sizeof(ndp_host),
        .major = NDP_ABI_MAJOR,
        .minor = NDP_ABI_MINOR,
        .ctx = slot,
        .error = host_error,
        .log = host_log,
        .alloc = host_alloc,
        .free = host_free,
        .param = host_param,
        .reclaim = host_reclaim,
        .plugin = host_plugin,
        .service = host_service,
    };
}
