/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.code/1": functions of the process as modules; a launch is queued with copies of its
 * values, and the function sees the device's memory through the plug-in's alias. */
#include <stdlib.h>
#include <string.h>
#include "simulator.h"

enum { MAX_ARGUMENTS = 64 };

struct ndp_module {
    uint32_t n;
    ndp_host_function function[]; /* names are ours */
};

/* What a queued launch needs; values and pointers follow it in the body's extra bytes. */
typedef struct {
    void (*run)(const uint32_t *, const uint32_t *, void *const *);
    uint32_t grid[3], block[3];
    void **argument;
} task;

static int32_t limits(ndp_dev *dev, ndp_code_limits *out)
{
    (void)dev;
    if (out->size < NDP_END(ndp_code_limits, shared_bytes))
        return sim_fail(NDP_ERR_PLUGIN, 0, "ndp_code_limits of %u bytes is too short", out->size);
    for (int i = 0; i < 3; i++) {
        out->grid[i] = 65535;
        out->block[i] = 1024;
    }
    out->block_threads = 1024;
    out->n_arguments = UINT32_MAX;
    out->shared_bytes = 48 << 10;
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
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a module");
    for (m->n = 0; m->n < n; m->n++) {
        const ndp_host_function *f = &given[m->n];
        char *name = f->name && f->run ? strdup(f->name) : NULL;
        if (!name) {
            int32_t status = f->name && f->run ? NDP_ERR_MEMORY : NDP_ERR_ARGUMENT;
            status = sim_fail(status, 0, "function %u of %s has no name, or no code, or no memory",
                              m->n, s->name);
            unload(dev, m);
            return status;
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
                : sim_fail(NDP_ERR_ARGUMENT, 0, "sim:%d: the module has no function \"%s\"",
                           dev->index, name);
}

static void run_task(void *arg)
{
    task *t = arg;
    t->run(t->grid, t->block, t->argument);
}

static int32_t check_arguments(ndp_dev *dev, const ndp_launch *l, size_t *nbytes)
{
    uint32_t operands = 0;
    *nbytes = sizeof(task) + l->n_arguments * sizeof(void *) + 32;
    for (uint32_t i = 0; i < l->n_arguments; i++) {
        const ndp_launch_argument *a = &l->argument[i];
        *nbytes += a->value ? (size_t)(a->nbytes + 15) / 16 * 16 : 0;
        operands += !a->value;
        int32_t status =
            a->value ? NDP_OK : sim_check_range(dev, a->mem, a->offset_bytes, 0, "launch");
        if (status != NDP_OK)
            return status;
    }
    if (operands > SIM_MAX_MEMS || l->n_arguments > MAX_ARGUMENTS)
        return sim_fail(NDP_ERR_UNSUPPORTED, 0,
                        "sim:%d: a launch with %u arguments, %u of them arrays; %d and %d are "
                        "taken at most",
                        dev->index, l->n_arguments, operands, MAX_ARGUMENTS, SIM_MAX_MEMS);
    return NDP_OK;
}

/* The body of a launch: the task, its pointers, the values. */
static sim_body *new_body(ndp_dev *dev, const ndp_host_function *f, const ndp_launch *l,
                          size_t nbytes)
{
    void *extra;
    int32_t operands = 0;
    sim_body *b = sim_body_new(SIM_OP_HOST, "function of a program", dev, nbytes, &extra);
    if (!b)
        return NULL;
    task *t = extra;
    t->run = f->run;
    memcpy(t->grid, l->grid, sizeof t->grid);
    memcpy(t->block, l->block, sizeof t->block);
    t->argument = (void **)(t + 1);
    char *at = (char *)(t->argument + l->n_arguments);
    at += (16 - (uintptr_t)at % 16) % 16;
    for (uint32_t i = 0; i < l->n_arguments; i++) {
        const ndp_launch_argument *a = &l->argument[i];
        if (a->value) {
            t->argument[i] = memcpy(at, a->value, (size_t)a->nbytes);
            at += (a->nbytes + 15) / 16 * 16;
        } else {
            sim_body_use(b, operands++, a->mem);
            t->argument[i] = a->mem->alias + a->offset_bytes;
        }
    }
    b->fn = run_task;
    b->arg = t;
    return b;
}

static int32_t launch(ndp_dev *dev, ndp_stream *s, ndp_function *f, const ndp_launch *l)
{
    size_t nbytes;
    sim_call c = {.entry = SIM_run, .dev = dev, .stream = s, .op = "function of a program"};
    int32_t status = sim_enter(&c);
    sim_queue *q = sim_queue_of(dev, s);
    if (status == NDP_OK && (!q || q->dev != dev))
        status = sim_fail(NDP_ERR_DEVICE, 400, "the stream is not of sim:%d", dev->index);
    if (status == NDP_OK)
        status = check_arguments(dev, l, &nbytes);
    if (status == NDP_OK) {
        sim_body *b = new_body(dev, (const ndp_host_function *)(const void *)f, l, nbytes);
        status = b ? sim_push(q, b, NULL)
                   : sim_fail(NDP_ERR_MEMORY, 0, "no host memory to queue a launch");
    }
    return sim_leave(&c, status);
}

const ndp_code_1 sim_code_group = {
    .size = sizeof(ndp_code_1),
    .kinds = 1u << NDP_CODE_HOST,
    .limits = limits,
    .load = load,
    .unload = unload,
    .function = function,
    .launch = launch,
};
