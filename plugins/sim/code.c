/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.code/1": functions of the process as modules, and programs in C, which the CPU plug-in
 * compiles and calls. A launch is queued with copies of its values, and the function sees the
 * device's memory through the plug-in's alias. */
#include <stdlib.h>
#include <string.h>
#include "simulator.h"

enum { MAX_ARGUMENTS = 64 };

struct ndp_function {
    ndp_function *next;
    char *name;
    void (*run)(const uint32_t *, const uint32_t *, void *const *); /* NULL: the CPU plug-in's: */
    ndp_function *cpu;
};
struct ndp_module {
    ndp_function *functions; /* under the lock, where they are looked up one by one */
    ndp_module *cpu;         /* of a program in C; else NULL */
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What a queued launch needs; arguments, pointers and values follow it in the body's extra
 * bytes. */
typedef struct {
    const ndp_function *function;
    ndp_launch launch;
    ndp_launch_argument *argument;
    void **pointer; /* the same for functions of the process */
} task;

static const ndp_code_1 *cpu_code(void)
{
    const ndp_code_1 *code = sim_cpu->group(sim_cpu_dev, "ndp.code/1");
    return code && code->size >= NDP_END(ndp_code_1, launch) ? code : NULL;
}

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
    for (ndp_function *f; (f = m->functions) != NULL; free(f)) {
        m->functions = f->next;
        free(f->name);
    }
    if (m->cpu)
        cpu_code()->unload(sim_cpu_dev, m->cpu);
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
    for (size_t i = s->nbytes / sizeof *given; i-- > 0;) { /* the first of a name is found first */
        ndp_function *f = given[i].name && given[i].run ? add_function(m, given[i].name) : NULL;
        if (!f)
            return sim_fail(given[i].name && given[i].run ? NDP_ERR_MEMORY : NDP_ERR_ARGUMENT, 0,
                            "function %u of %s has no name, or no code, or no memory", (unsigned)i,
                            s->name);
        f->run = given[i].run;
    }
    return NDP_OK;
}

static int32_t load_source(ndp_module *m, const ndp_module_source *s)
{
    const ndp_code_1 *code = cpu_code();
    if (code && code->kinds >> NDP_CODE_SOURCE & 1)
        return code->load(sim_cpu_dev, s, &m->cpu);
    return sim_fail(NDP_ERR_UNSUPPORTED, 0, "%s is C, and the cpu plug-in compiles none", s->name);
}

static int32_t load(ndp_dev *dev, const ndp_module_source *s, ndp_module **out)
{
    *out = NULL;
    ndp_module *m = calloc(1, sizeof *m);
    if (!m)
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a module");
    const int32_t status = s->kind == NDP_CODE_SOURCE ? load_source(m, s) : load_host(m, s);
    if (status == NDP_OK)
        *out = m;
    else
        unload(dev, m);
    return status;
}

/* Of a program in C, the first time that it is asked for. */
static int32_t find_in_program(ndp_module *m, const char *name, ndp_function **out)
{
    ndp_function *cpu;
    ndp_code_limits most = {.size = sizeof most};
    int32_t status = cpu_code()->function(sim_cpu_dev, m->cpu, name, &cpu, &most);
    if (status != NDP_OK)
        return status;
    *out = add_function(m, name);
    if (!*out)
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a function");
    (*out)->cpu = cpu;
    return NDP_OK;
}

static int32_t function(ndp_dev *dev, ndp_module *m, const char *name, ndp_function **out,
                        ndp_code_limits *most)
{
    int32_t status = NDP_OK;
    pthread_mutex_lock(&lock);
    *out = m->functions;
    while (*out && strcmp((*out)->name, name) != 0)
        *out = (*out)->next;
    if (!*out && m->cpu)
        status = find_in_program(m, name, out);
    pthread_mutex_unlock(&lock);
    if (status != NDP_OK)
        return status;
    if (!*out)
        return sim_fail(NDP_ERR_ARGUMENT, 0, "sim:%d: the module has no function \"%s\"",
                        dev->index, name);
    status = limits(dev, most);
    if (status == NDP_OK && (*out)->cpu)
        most->grid[0] = INT32_MAX; /* the blocks of programs in C are many */
    return status;
}

/* The CPU plug-in can fail only by what check_arguments has looked at. */
static void run_task(void *arg)
{
    task *t = arg;
    if (t->function->run)
        t->function->run(t->launch.grid, t->launch.block, t->pointer);
    else
        (void)cpu_code()->launch(sim_cpu_dev, NULL, t->function->cpu, &t->launch);
}

static int32_t check_arguments(ndp_dev *dev, const ndp_launch *l, size_t *nbytes)
{
    uint32_t operands = 0;
    *nbytes = sizeof(task) + l->n_arguments * (sizeof(void *) + sizeof(ndp_launch_argument)) + 48;
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

/* The body of a launch: the task, its arguments and pointers, the values. */
static sim_body *new_body(ndp_dev *dev, const ndp_function *f, const ndp_launch *l, size_t nbytes)
{
    void *extra;
    int32_t operands = 0;
    sim_body *b = sim_body_new(SIM_OP_HOST, "function of a program", dev, nbytes, &extra);
    if (!b)
        return NULL;
    task *t = extra;
    t->function = f;
    t->launch = *l;
    t->argument = (ndp_launch_argument *)(t + 1);
    t->launch.argument = t->argument;
    t->pointer = (void **)(t->argument + l->n_arguments);
    char *at = (char *)(t->pointer + l->n_arguments);
    at += (16 - (uintptr_t)at % 16) % 16;
    for (uint32_t i = 0; i < l->n_arguments; i++) {
        const ndp_launch_argument *a = &l->argument[i];
        t->argument[i] = *a;
        if (a->value) {
            t->pointer[i] = memcpy(at, a->value, (size_t)a->nbytes);
            t->argument[i].value = at;
            at += (a->nbytes + 15) / 16 * 16;
        } else {
            sim_body_use(b, operands++, a->mem);
            t->pointer[i] = a->mem->alias + a->offset_bytes;
            t->argument[i].mem = a->mem->cpu;
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
        sim_body *b = new_body(dev, f, l, nbytes);
        status = b ? sim_push(q, b, NULL)
                   : sim_fail(NDP_ERR_MEMORY, 0, "no host memory to queue a launch");
    }
    return sim_leave(&c, status);
}

const ndp_code_1 sim_code_group = {
    .size = sizeof(ndp_code_1),
    .kinds = 1u << NDP_CODE_HOST | 1u << NDP_CODE_SOURCE,
    .limits = limits,
    .load = load,
    .unload = unload,
    .function = function,
    .launch = launch,
};
