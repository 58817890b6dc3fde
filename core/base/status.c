/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Status codes, and the calling thread's error detail. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "core/base/base.h"

typedef struct {
    nd_error e;
    char message[1024], op[48], device[80], plugin[64];
} error_record;

/* Of the thread, made with its first failure: on the heap, since the static thread-local storage of
 * a process is scarce and a library that dlopen() brings must leave it to others. */
ND_TLS error_record *own_record;
static const error_record none = {
    .e = {.argument = -1, .op = "", .message = "", .device = "", .plugin = "", .file = ""}};
static error_record no_memory = {.e = {.status = ND_ERR_MEMORY,
                                       .argument = -1,
                                       .op = "",
                                       .message = "no memory for the detail of an error",
                                       .device = "",
                                       .plugin = "",
                                       .file = ""}};
static pthread_key_t record_key;
static pthread_once_t record_once = PTHREAD_ONCE_INIT;

static void free_record(void *record)
{
    own_record = NULL;
    free(record);
}

static void make_record_key(void)
{
    (void)pthread_key_create(&record_key, free_record);
}

/* NULL: no memory, and nd_last_error() says that. */
static error_record *writable_record(void)
{
    if (own_record && own_record != &no_memory)
        return own_record;
    pthread_once(&record_once, make_record_key);
    own_record = calloc(1, sizeof *own_record);
    if (!own_record) {
        own_record = &no_memory;
        return NULL;
    }
    own_record->e = (nd_error){.argument = -1,
                               .op = own_record->op,
                               .message = own_record->message,
                               .device = own_record->device,
                               .plugin = own_record->plugin,
                               .file = ""};
    (void)pthread_setspecific(record_key, own_record);
    return own_record;
}

static const struct {
    const char *name, *text;
} statuses[ND_STATUS_END] = {
#define ND_STATUS(name, value, text, python) [value] = {"ND_ERR_" #name, text},
#include <ndock/status.def>
};

const char *nd_status_name(nd_status status)
{
    if (status == ND_OK)
        return "ND_OK";
    return status > 0 && status < ND_STATUS_END ? statuses[status].name : "?";
}

const char *nd_status_text(nd_status status)
{
    return status >= 0 && status < ND_STATUS_END ? statuses[status].text : "?";
}

const nd_error *nd_last_error(void)
{
    return own_record ? &own_record->e : &none.e;
}

static void set_text(char *dst, size_t n, const char *src)
{
    snprintf(dst, n, "%s", src ? src : "");
}

/* Formats before the record is overwritten, since arguments may point into it. */
static nd_status record_error(const char *file, int line, nd_status status, const char *op,
                              int32_t argument, int64_t native, const char *fmt, va_list ap)
{
    error_record *r = writable_record();
    char text[sizeof r->message];
    if (!r)
        return status;
    int n = op && op[0] ? snprintf(text, sizeof text, "%s: ", op) : 0;
    vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
    set_text(r->op, sizeof r->op, op);
    set_text(r->message, sizeof r->message, text);
    r->device[0] = r->plugin[0] = 0;
    r->e.status = status;
    r->e.argument = argument;
    r->e.native = native;
    r->e.file = file;
    r->e.line = line;
    return status;
}

nd_status nd__fail_at(const char *file, int line, nd_status status, const char *op,
                      int32_t argument, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    record_error(file, line, status, op, argument, 0, fmt, ap);
    va_end(ap);
    return status;
}

nd_status nd__fail_errno_at(const char *file, int line, nd_status status, const char *op, int err,
                            const char *fmt, ...)
{
    va_list ap;
    char reason[128] = "";
    va_start(ap, fmt);
    record_error(file, line, status, op, -1, err, fmt, ap);
    va_end(ap);
    const char *text = strerror_r(err, reason, sizeof reason);
    error_record *r = writable_record();
    size_t n = r ? strlen(r->message) : 0;
    if (r)
        snprintf(r->message + n, sizeof r->message - n, ": %s", text);
    return status;
}

nd_status nd__refuse_null(const char *op, int32_t i, const char *name)
{
    return nd__fail(ND_ERR_ARGUMENT, op, i, "argument %d (%s) is NULL, where one is needed", (int)i,
                    name);
}

nd_status nd__error_as(const char *op, nd_status status)
{
    error_record *r = status == ND_OK ? NULL : writable_record();
    if (!r || strcmp(r->op, op) == 0)
        return status;
    size_t n = strlen(r->op);
    bool named = n && strncmp(r->message, r->op, n) == 0 && r->message[n] == ':';
    char text[sizeof r->message + sizeof r->op];
    snprintf(text, sizeof text, "%.40s: %s", op, r->message + (named ? n + 2 : 0));
    text[sizeof r->message - 1] = 0;
    strcpy(r->message, text);
    set_text(r->op, sizeof r->op, op);
    return status;
}

void nd__error_context(const char *op, const char *device, const char *plugin)
{
    error_record *r = writable_record();
    if (!r)
        return;
    if (!r->op[0])
        set_text(r->op, sizeof r->op, op);
    if (!r->device[0])
        set_text(r->device, sizeof r->device, device);
    if (!r->plugin[0])
        set_text(r->plugin, sizeof r->plugin, plugin);
}

void nd__error_native(int64_t native)
{
    if (own_record && own_record != &no_memory)
        own_record->e.native = native;
}
