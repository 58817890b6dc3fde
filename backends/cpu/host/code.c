/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.code/1": functions of the process as modules, and programs in C, so that programs with
 * kernels of their own run without a GPU. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "compiler/compiler.h"

enum { MAX_ARGUMENTS = 256 };

struct ndp_function {
    ndp_function *next;
    char *name;
    void (*run)(const uint32_t *, const uint32_t *, void *const *); /* of a launch, or NULL: */
    cpu_block_fn block;
};
struct ndp_module {
    ndp_function *functions; /* under the lock, where they are looked up one by one */
    void *library;           /* NULL: the functions are the process's */
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int32_t limits(ndp_dev *dev, ndp_code_limits *out)
{
    (void)dev;
    if (out->size < NDP_END(ndp_code_limits, shared_bytes))
        return cpu_error(NDP_ERR_PLUGIN, "ndp_code_limits of %u bytes is too short", out->size);
    for (int i = 0; i < 3; i++)
        out->grid[i] = out->block[i] = INT32_MAX;
    out->block_threads = INT32_MAX;
    out->n_arguments = UINT32_MAX;
    out->shared_bytes = 0;
    return NDP_OK;
}

static void unload(ndp_dev *dev, ndp_module *m)
{
    (void)dev;
    for (ndp_function *f; (f = m->functions) != NULL; free(f)) {
        m->functions = f->next;
        free(f->name);
    }
    if (m->library)
        (void)dlclose(m->library);
    free(m);
}

static ndp_function *add_function(ndp_module *m, const char *name)
{
    ndp_function *f = calloc(1, sizeof *f);
    if (f)
        f->name = strdup(name);
    if (!f || !f->name) {
        free(f);
        return NULL;
    }
    f->next = m->functions;
    return m->functions = f;
}

static int32_t load_host(ndp_module *m, const ndp_module_source *s)
{
    const ndp_host_function *given = s->code;
    const size_t n = s->nbytes / sizeof *given;
    for (size_t i = n; i-- > 0;) { /* so that the first of a name is found first */
        ndp_function *f = given[i].name && given[i].run ? add_function(m, given[i].name) : NULL;
        if (!f)
            return cpu_error(given[i].name && given[i].run ? NDP_ERR_MEMORY : NDP_ERR_ARGUMENT,
                             "function %u of %s has no name, or no code, or no memory", (unsigned)i,
                             s->name);
        f->run = given[i].run;
    }
    return NDP_OK;
}

static int32_t load(ndp_dev *dev, const ndp_module_source *s, ndp_module **out)
{
    *out = NULL;
    ndp_module *m = calloc(1, sizeof *m);
    if (!m)
        return cpu_error(NDP_ERR_MEMORY, "no memory for the record of %s", s->name);
    const int32_t status =
        s->kind == NDP_CODE_SOURCE ? cpu_compiler_open(s, &m->library) : load_host(m, s);
    if (status == NDP_OK)
        *out = m;
    else
        unload(dev, m);
    return status;
}

/* Of the library, the first time that it is asked for. */
static ndp_function *find_in_library(ndp_module *m, const char *name)
{
    void *symbol = m->library ? dlsym(m->library, name) : NULL;
    ndp_function *f = symbol ? add_function(m, name) : NULL;
    if (f)
        memcpy(&f->block, &symbol, sizeof symbol);
    return f;
}

static int32_t function(ndp_dev *dev, ndp_module *m, const char *name, ndp_function **out,
                        ndp_code_limits *most)
{
    pthread_mutex_lock(&lock);
    ndp_function *f = m->functions;
    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    *out = f ? f : find_in_library(m, name);
    pthread_mutex_unlock(&lock);
    return *out ? limits(dev, most)
                : cpu_error(NDP_ERR_ARGUMENT, "the module has no function \"%s\"", name);
}

/* ---- launches ---- */
typedef struct {
    cpu_block_fn run;
    const uint32_t *grid, *block;
    void *const *argument;
} blocks;

static void run_blocks(void *ctx, int64_t begin, int64_t end)
{
    const blocks *b = ctx;
    for (int64_t i = begin; i < end; i++) {
        const int64_t rest = i / b->grid[0];
        const uint32_t at[3] = {(uint32_t)(i % b->grid[0]), (uint32_t)(rest % b->grid[1]),
                                (uint32_t)(rest / b->grid[1])};
        b->run(at, b->grid, b->block, b->argument);
    }
}

static int32_t launch(ndp_dev *dev, ndp_stream *s, ndp_function *f, const ndp_launch *l)
{
    void *pointer[MAX_ARGUMENTS];
    int64_t n = l->grid[0], most = INT64_MAX;
    (void)dev;
    (void)s;
    if (l->n_arguments > MAX_ARGUMENTS)
        return cpu_error(NDP_ERR_ARGUMENT, "%u arguments; at most %d are passed", l->n_arguments,
                         MAX_ARGUMENTS);
    if (f->block && (__builtin_mul_overflow(n, (int64_t)l->grid[1], &n) ||
                     __builtin_mul_overflow(n, (int64_t)l->grid[2], &n) || n == most))
        return cpu_error(NDP_ERR_ARGUMENT, "%s: a grid of %u x %u x %u blocks is too large",
                         f->name, l->grid[0], l->grid[1], l->grid[2]);
    for (uint32_t i = 0; i < l->n_arguments; i++) {
        const ndp_launch_argument *a = &l->argument[i];
        pointer[i] = a->value ? (void *)(uintptr_t)a->value : a->mem->base + a->offset_bytes;
    }
    if (f->run) {
        f->run(l->grid, l->block, pointer);
    } else {
        blocks b = {f->block, l->grid, l->block, pointer};
        cpu_parallel(n, 1, run_blocks, &b);
    }
    return NDP_OK;
}

const ndp_code_1 cpu_code_group = {
    .size = sizeof(ndp_code_1),
    .kinds = 1u << NDP_CODE_HOST | 1u << NDP_CODE_SOURCE,
    .limits = limits,
    .load = load,
    .unload = unload,
    .function = function,
    .launch = launch,
};
