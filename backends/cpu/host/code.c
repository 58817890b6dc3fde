/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.code/1": functions of the process as modules, so that programs with kernels of their
 * own run without a GPU. */
#include <stdlib.h>
#include <string.h>
#include "host/cpu.h"

enum { MAX_ARGUMENTS = 256 };

struct ndp_module {
    uint32_t n;
    ndp_host_function function[]; /* names are the program's until load() returns, then ours */
};

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
    for (uint32_t i = 0; i < m->n; i++)
        free((char *)m->function[i].name);
    free(m);
}

static int32_t load(ndp_dev *dev, const ndp_module_source *s, ndp_module **out)
{
    const ndp_host_function *given = s->code;
    size_t n = s->nbytes / sizeof *given;
    *out = NULL;
    ndp_module *m = calloc(1, sizeof *m + n * sizeof *given);
    if (!m)
        return cpu_error(NDP_ERR_MEMORY, "no memory for %zu functions of %s", n, s->name);
    for (m->n = 0; m->n < n; m->n++) {
        const ndp_host_function *f = &given[m->n];
        char *name = f->name && f->run ? strdup(f->name) : NULL;
        if (!name) {
            unload(dev, m);
            return cpu_error(f->name && f->run ? NDP_ERR_MEMORY : NDP_ERR_ARGUMENT,
                             "function %u of %s has no name, or no code, or no memory",
                             (unsigned)(f - given), s->name);
        }
        m->function[m->n] = (ndp_host_function){name, f->run};
    }
    *out = m;
    return NDP_OK;
}

static int32_t function(ndp_dev *dev, ndp_module *m, const char *name, ndp_function **out,
                        ndp_code_limits *most)
{
    *out = NULL;
    for (uint32_t i = 0; i < m->n; i++)
        if (strcmp(m->function[i].name, name) == 0)
            *out = (ndp_function *)(void *)&m->function[i];
    return *out ? limits(dev, most)
                : cpu_error(NDP_ERR_ARGUMENT, "the module has no function \"%s\"", name);
}

static int32_t launch(ndp_dev *dev, ndp_stream *s, ndp_function *f, const ndp_launch *l)
{
    void *pointer[MAX_ARGUMENTS];
    (void)dev;
    (void)s;
    if (l->n_arguments > MAX_ARGUMENTS)
        return cpu_error(NDP_ERR_ARGUMENT, "%u arguments; at most %d are passed", l->n_arguments,
                         MAX_ARGUMENTS);
    for (uint32_t i = 0; i < l->n_arguments; i++) {
        const ndp_launch_argument *a = &l->argument[i];
        pointer[i] = a->value ? (void *)(uintptr_t)a->value : a->mem->base + a->offset_bytes;
    }
    ((const ndp_host_function *)(const void *)f)->run(l->grid, l->block, pointer);
    return NDP_OK;
}

const ndp_code_1 cpu_code_group = {
    .size = sizeof(ndp_code_1),
    .kinds = 1u << NDP_CODE_HOST,
    .limits = limits,
    .load = load,
    .unload = unload,
    .function = function,
    .launch = launch,
};
