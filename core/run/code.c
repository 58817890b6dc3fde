/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Code of programs: modules loaded for one device, and their functions. */
#include <stdlib.h>
#include "core/run/code.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static nd_module *kept; /* of nd_module_get; never removed */

void nd__fork_code(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}

/* ---- modules ---- */
static const char *kind_name(int32_t kind)
{
    static const char *const names[] = {"?", "source", "PTX", "binary", "host"};
    return names[kind >= ND_CODE_SOURCE && kind <= ND_CODE_HOST ? kind : 0];
}

static bool is_text(int32_t kind)
{
    return kind == ND_CODE_SOURCE || kind == ND_CODE_PTX;
}

static nd_status check_opts(const char *op, const nd_module_opts *opts)
{
    if (!opts || opts->size < NDP_END(nd_module_opts, options))
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "the options are needed, their size field set to sizeof(nd_module_opts)");
    if (opts->kind < ND_CODE_SOURCE || opts->kind > ND_CODE_HOST)
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "%d is no kind of code; ND_CODE_SOURCE, _PTX, _BINARY and _HOST are 1 to 4",
                        (int)opts->kind);
    if (!opts->code || (!opts->nbytes && !is_text(opts->kind)))
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "the code is NULL, or of 0 bytes");
    if (opts->kind == ND_CODE_HOST && opts->nbytes % sizeof(nd_host_function))
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "%zu bytes are no whole number of host functions, which have %zu each",
                        opts->nbytes, sizeof(nd_host_function));
    return ND_OK;
}

static nd_status check_kind(const char *op, const nd_device *d, int32_t kind)
{
    if (d->has_code && d->code.kinds >> kind & 1)
        return ND_OK;
    nd__fail(ND_ERR_UNSUPPORTED, op, 0, "the plug-in %s of %s takes no code of kind %s",
             d->slot->name, d->name, kind_name(kind));
    nd__error_context(NULL, d->name, d->slot->name);
    return ND_ERR_UNSUPPORTED;
}

static void module_free(nd_module *m)
{
    free(m->name);
    free(m->code);
    free(m->options);
    for (nd_function *f; (f = m->functions) != NULL; free(f))
        m->functions = f->next;
    free(m);
}

/* Copies what nd_module_get compares; a text gets the 0 that plug-ins may count on. */
static nd_module *module_new(nd_device *d, const nd_module_opts *opts)
{
    nd_module *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    atomic_init(&m->refs, 1);
    m->device = d;
    m->kind = opts->kind;
    m->nbytes = opts->nbytes ? opts->nbytes : strlen(opts->code);
    m->name = strdup(opts->name && opts->name[0] ? opts->name : "module");
    m->options = strdup(opts->options ? opts->options : "");
    char *code = malloc(m->nbytes + 1);
    if (code) {
        memcpy(code, opts->code, m->nbytes);
        code[m->nbytes] = 0;
    }
    m->code = code;
    if (m->name && m->options && code)
        return m;
    module_free(m);
    return NULL;
}

static nd_status load(const char *op, nd_device *d, const nd_module_opts *opts, nd_module **out)
{
    ND_RETURN_IF(nd__usable(d, op));
    ND_RETURN_IF(nd__refuse_unsafe(d, op, "load the module before the capture"));
    nd_module *m = module_new(d, opts);
    if (!m)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for a module");
    ndp_module_source source = {.size = sizeof source,
                                .kind = m->kind,
                                .code = m->code,
                                .nbytes = m->nbytes,
                                .name = m->name,
                                .options = m->options};
    nd__note_wait(ND_WAIT_MODULE_LOAD, d, op);
    nd_status status = d->code.load(d->dev, &source, &m->handle);
    if (status != ND_OK) {
        nd__error_context(op, d->name, d->slot->name);
        module_free(m);
        return status;
    }
    *out = m;
    return ND_OK;
}

nd_status nd_module_load(nd_device *device, const nd_module_opts *opts, nd_module **out)
{
    nd_status status;
    ND_OUT("module_load", 2, out, NULL);
    ND_RETURN_IF(check_opts("module_load", opts));
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    ND_RETURN_IF(check_kind("module_load", device, opts->kind));
    ND_RETURN_IF(load("module_load", device, opts, out));
    free((*out)->code); /* nobody compares */
    (*out)->code = NULL;
    return ND_OK;
}

static nd_module *find_kept(const nd_device *d, const nd_module_opts *opts, size_t nbytes)
{
    nd_module *m = kept;
    while (m && (m->device != d || m->kind != opts->kind || m->nbytes != nbytes ||
                 strcmp(m->options, opts->options ? opts->options : "") != 0 ||
                 memcmp(m->code, opts->code, nbytes) != 0))
        m = m->next;
    return m;
}

nd_status nd_module_get(nd_device *device, const nd_module_opts *opts, nd_module **out)
{
    nd_status status;
    nd_module *m = NULL, *first;
    ND_OUT("module_get", 2, out, NULL);
    ND_RETURN_IF(check_opts("module_get", opts));
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    ND_RETURN_IF(check_kind("module_get", device, opts->kind));
    size_t nbytes = opts->nbytes ? opts->nbytes : strlen(opts->code);
    pthread_mutex_lock(&lock);
    *out = find_kept(device, opts, nbytes);
    pthread_mutex_unlock(&lock);
    if (*out)
        return ND_OK;
    ND_RETURN_IF(load("module_get", device, opts, &m));
    pthread_mutex_lock(&lock);
    first = find_kept(device, opts, nbytes); /* of another thread, meanwhile */
    if (!first) {
        m->next = kept;
        *out = kept = m;
    }
    pthread_mutex_unlock(&lock);
    if (first) {
        nd_module_release(m);
        *out = first;
    }
    return ND_OK;
}

nd_module *nd_module_retain(nd_module *module)
{
    if (module)
        atomic_fetch_add_explicit(&module->refs, 1, memory_order_relaxed);
    return module;
}

/* Code goes when nothing that is queued runs it any more. */
static void unload(void *module)
{
    nd_module *m = module;
    nd_device *d = m->device;
    if (!nd__out_of_reach(d)) {
        if (atomic_load(&m->launched))
            nd__drain(d, "module_release");
        d->code.unload(d->dev, m->handle);
    }
    module_free(m);
}

void nd_module_release(nd_module *module)
{
    if (!module || !nd__last(&module->refs))
        return;
    if (!module->device->async || !nd__after_capture(module->device, unload, module))
        unload(module);
}

/* ---- functions ---- */
static nd_function *find_function(const nd_module *m, const char *name)
{
    nd_function *f = m->functions;
    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    return f;
}

static nd_status ask_for_function(nd_module *m, const char *name, nd_function *f)
{
    nd_device *d = m->device;
    ND_RETURN_IF(nd__usable(d, "module_function"));
    f->module = m;
    f->limits.size = sizeof f->limits;
    f->name = nd__text_keep(name);
    if (!f->name)
        return nd__fail(ND_ERR_MEMORY, "module_function", -1, "no memory for a name");
    nd_status status = d->code.function(d->dev, m->handle, name, &f->handle, &f->limits);
    if (status != ND_OK)
        nd__error_context("module_function", d->name, d->slot->name);
    return status;
}

nd_status nd_module_function(nd_module *module, const char *name, nd_function **out)
{
    ND_OUT("module_function", 2, out, NULL);
    if (!module || !name)
        return nd__fail(ND_ERR_ARGUMENT, "module_function", !module ? 0 : 1, "%s is NULL",
                        !module ? "the module" : "the name");
    pthread_mutex_lock(&lock);
    *out = find_function(module, name);
    pthread_mutex_unlock(&lock);
    if (*out)
        return ND_OK;
    nd_function *f = calloc(1, sizeof *f);
    nd_status status = f ? ask_for_function(module, name, f)
                         : nd__fail(ND_ERR_MEMORY, "module_function", -1, "no memory");
    if (status != ND_OK) {
        free(f);
        return status;
    }
    pthread_mutex_lock(&lock);
    *out = find_function(module, name);
    if (!*out) {
        f->next = module->functions;
        *out = module->functions = f;
        f = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(f);
    return ND_OK;
}

nd_status nd_function_limits_get(const nd_function *function, nd_function_limits *out)
{
    if (!function || !out || out->size < NDP_END(nd_function_limits, shared_bytes))
        return nd__fail(ND_ERR_ARGUMENT, "function_limits_get", !function ? 0 : 1,
                        !function ? "the function is NULL"
                                  : "set the size field to sizeof(nd_function_limits) first");
    const ndp_code_limits *l = &function->limits;
    memcpy(out->grid, l->grid, sizeof l->grid);
    memcpy(out->block, l->block, sizeof l->block);
    out->block_threads = l->block_threads;
    out->n_arguments = l->n_arguments;
    out->shared_bytes = l->shared_bytes;
    return ND_OK;
}
