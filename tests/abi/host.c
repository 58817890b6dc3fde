/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The host table that plug-ins get here: errors are kept for the checks, blocks of host memory are
 * counted and guarded, and can be refused. */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi.h"

ndp_host abi_host;
bool abi_no_services, abi_no_plugins;

static _Thread_local char error_text[768];
static _Thread_local int32_t error_status;

const char *abi_error_text(void)
{
    return error_text;
}

int32_t abi_error_status(void)
{
    return error_status;
}

void abi_error_clear(void)
{
    error_text[0] = 0;
    error_status = 0;
}

static int32_t host_error(void *ctx, int32_t status, int64_t native, const char *fmt, ...)
{
    va_list ap;
    (void)native;
    abi_expect(ctx != NULL, "host->error is called with ctx NULL instead of host->ctx");
    va_start(ap, fmt);
    vsnprintf(error_text, sizeof error_text, fmt, ap);
    va_end(ap);
    error_status = status;
    return status;
}

static void host_log(void *ctx, int32_t level, const char *fmt, ...)
{
    char text[768];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    abi_expect(ctx != NULL, "host->log is called with ctx NULL instead of host->ctx");
    abi_diag("log %d: %s", (int)level, text);
}

/* Each block of host->alloc has this before it and a mark after it. */
typedef struct {
    uint64_t magic;
    void *base;
    size_t nbytes;
} block;
#define BLOCK_MAGIC UINT64_C(0x6e646f636b616269)
#define BLOCK_END "end-of-block"

static atomic_llong live, total, fail_at;

static void *host_alloc(void *ctx, size_t nbytes, size_t align)
{
    void *base = NULL;
    (void)ctx;
    atomic_fetch_add(&total, 1);
    if (atomic_load(&fail_at) > 0 && atomic_fetch_sub(&fail_at, 1) == 1)
        return NULL;
    if (align < 16)
        align = 16;
    size_t head = (sizeof(block) + align - 1) / align * align;
    if (!abi_expect((align & (align - 1)) == 0, "host->alloc is asked for alignment %zu", align) ||
        nbytes > SIZE_MAX / 2 || posix_memalign(&base, align, head + nbytes + sizeof BLOCK_END))
        return NULL;
    char *p = (char *)base + head;
    block b = {BLOCK_MAGIC, base, nbytes};
    memcpy(p - sizeof b, &b, sizeof b);
    memcpy(p + nbytes, BLOCK_END, sizeof BLOCK_END);
    atomic_fetch_add(&live, 1);
    return p;
}

static void host_free(void *ctx, void *p)
{
    block b, none = {0};
    (void)ctx;
    if (!p)
        return;
    memcpy(&b, (char *)p - sizeof b, sizeof b);
    if (!abi_expect(b.magic == BLOCK_MAGIC,
                    "host->free gets %p, which host->alloc did not give, "
                    "or which was freed already",
                    p))
        return;
    abi_expect(memcmp((char *)p + b.nbytes, BLOCK_END, sizeof BLOCK_END) == 0,
               "the plug-in wrote past the end of a block of %zu bytes from host->alloc", b.nbytes);
    memcpy((char *)p - sizeof none, &none, sizeof none);
    atomic_fetch_sub(&live, 1);
    free(b.base);
}

int64_t abi_host_live(void)
{
    return atomic_load(&live);
}

int64_t abi_host_total(void)
{
    return atomic_load(&total);
}

void abi_host_fail_at(int64_t n)
{
    atomic_store(&fail_at, n);
}

static bool parse(int32_t type, const char *text, void *out)
{
    static const char *const words[] = {"0", "1", "off", "on", "no", "yes", "false", "true"};
    char *end = NULL;
    errno = 0;
    switch (type) {
    case NDP_PARAM_I64: {
        int64_t v = strtoll(text, &end, 10);
        memcpy(out, &v, *end || errno ? 0 : sizeof v);
        return !*end && !errno;
    }
    case NDP_PARAM_F64: {
        double v = strtod(text, &end);
        memcpy(out, &v, *end || errno ? 0 : sizeof v);
        return !*end && !errno;
    }
    case NDP_PARAM_BOOL:
        for (int32_t i = 0; i < (int32_t)(sizeof words / sizeof *words); i++)
            if (strcmp(words[i], text) == 0) {
                int32_t v = i & 1;
                memcpy(out, &v, sizeof v);
                return true;
            }
        return false;
    case NDP_PARAM_TEXT:
        memcpy(out, &text, sizeof text);
        return true;
    default:
        abi_fail("host->param is asked for type %d; types are NDP_PARAM_*", (int)type);
        return false;
    }
}

static int32_t host_param(void *ctx, const char *name, int32_t type, const char *help, void *out)
{
    char variable[160];
    abi_expect(help && help[0], "host->param(\"%s\") has no help text", name);
    snprintf(variable, sizeof variable, "NDOCK_%s_%s", (const char *)ctx, name);
    for (char *p = variable; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    const char *text = getenv(variable);
    return !text || !text[0] || parse(type, text, out) ? NDP_OK : NDP_ERR_ARGUMENT;
}

static int32_t host_reclaim(void *ctx, ndp_dev *dev, uint64_t need_bytes)
{
    (void)ctx;
    (void)dev;
    (void)need_bytes;
    return 0; /* there is no cache here */
}

/* The name of ".../ndock-NAME.so", which the names of its parameters begin with. */
static const char *name_of(const char *file)
{
    static char name[64];
    const char *base = strrchr(file, '/');
    base = base ? base + 1 : file;
    if (strncmp(base, "ndock-", 6) == 0)
        base += 6;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(base, "."), base);
    return name;
}

void abi_host_of(ndp_host *host, const char *plugin_name)
{
    *host = (ndp_host){.size = NDP_END(ndp_host, service),
                       .major = NDP_ABI_MAJOR,
                       .minor = NDP_ABI_MINOR,
                       .ctx = strdup(plugin_name),
                       .error = host_error,
                       .log = host_log,
                       .alloc = host_alloc,
                       .free = host_free,
                       .param = host_param,
                       .reclaim = host_reclaim,
                       .plugin = abi_other_plugin,
                       .service = abi_service};
}

void abi_host_init(void)
{
    abi_host_of(&abi_host, name_of(abi.file));
}
