/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A small host for the simulated device: it loads the plug-in and the CPU's by dlopen, as the core
 * would, so that tests speak to its C table alone. */
#ifndef NDOCK_TESTS_SIM_HARNESS_H
#define NDOCK_TESTS_SIM_HARNESS_H
#include <ctype.h>
#include <dlfcn.h>
#include <stdint.h>
#include <ndock/plugin.h>
#include <ndock/sim.h>
#include "tests/tap.h"

static _Thread_local struct {
    int32_t status;
    int64_t native;
    char text[512];
} last_error;

static const ndp_plugin *sim, *cpu;
static const ndp_op_1 *ops;
static const ndp_stream_1 *streams;
static const ndp_memory_1 *memory;
static const ndp_map_1 *map;
static const ndp_peer_1 *peer;
static const ndp_graph_1 *graphs;
static const ndsim_control_1 *control;
static ndp_dev *dev; /* sim:0 */

__attribute__((unused, format(printf, 4, 5))) static int32_t host_error(void *ctx, int32_t status,
                                                                        int64_t native,
                                                                        const char *fmt, ...)
{
    va_list ap;
    (void)ctx;
    last_error.status = status;
    last_error.native = native;
    va_start(ap, fmt);
    vsnprintf(last_error.text, sizeof last_error.text, fmt, ap);
    va_end(ap);
    return status;
}

__attribute__((unused, format(printf, 3, 4))) static void host_log(void *ctx, int32_t level,
                                                                   const char *fmt, ...)
{
    (void)ctx;
    (void)level;
    (void)fmt;
}

__attribute__((unused)) static void *host_alloc(void *ctx, size_t nbytes, size_t align)
{
    void *p = NULL;
    (void)ctx;
    return posix_memalign(&p, align < sizeof p ? sizeof p : align, nbytes) == 0 ? p : NULL;
}

__attribute__((unused)) static void host_free(void *ctx, void *p)
{
    (void)ctx;
    free(p);
}

/* ctx is the plug-in's name. */
__attribute__((unused)) static int32_t host_param(void *ctx, const char *name, int32_t type,
                                                  const char *help, void *out)
{
    char variable[96];
    int n = snprintf(variable, sizeof variable, "NDOCK_%s_%s", (const char *)ctx, name);
    for (int i = 0; i < n; i++)
        variable[i] = (char)toupper((unsigned char)variable[i]);
    const char *text = getenv(variable);
    (void)help;
    if (text && type == NDP_PARAM_I64)
        *(int64_t *)out = strtoll(text, NULL, 10);
    else if (text && type == NDP_PARAM_BOOL)
        *(int32_t *)out = atoi(text);
    else if (text && type == NDP_PARAM_TEXT)
        *(const char **)out = text;
    return NDP_OK;
}

__attribute__((unused)) static int32_t host_reclaim(void *ctx, ndp_dev *d, uint64_t n)
{
    (void)ctx;
    (void)d;
    (void)n;
    return 0;
}

__attribute__((unused)) static const void *host_service(void *ctx, const char *id)
{
    (void)ctx;
    (void)id;
    return NULL;
}

static const ndp_plugin *load(const char *name, ndp_host *host);

__attribute__((unused)) static const ndp_plugin *host_plugin(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "cpu") == 0 ? cpu : NULL;
}

#define HOST(plugin_name)                                                                       \
    {                                                                                           \
        .size = sizeof(ndp_host), .major = NDP_ABI_MAJOR, .minor = NDP_ABI_MINOR,               \
        .ctx = (plugin_name), .error = host_error, .log = host_log, .alloc = host_alloc,        \
        .free = host_free, .param = host_param, .reclaim = host_reclaim, .plugin = host_plugin, \
        .service = host_service                                                                 \
    }

/* ndock-NAME.so from a folder of NDOCK_PLUGIN_PATH. */
static const ndp_plugin *load(const char *name, ndp_host *host)
{
    char path[4096];
    const char *at = getenv("NDOCK_PLUGIN_PATH");
    while (at && *at) {
        int n = (int)strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/ndock-%s.so", n, at, name);
        void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        ndp_entry_fn entry;
        if (so) {
            *(void **)&entry = dlsym(so, NDP_ENTRY);
            return entry ? entry(host) : NULL;
        }
        at += n + (at[n] == ':');
    }
    return NULL;
}

__attribute__((unused)) static ndp_dev *open_sim(uint32_t index)
{
    ndp_dev *d = NULL;
    if (sim->open(index, &d) != NDP_OK)
        bail(last_error.text);
    return d;
}

/* Loads both and opens sim:0. */
__attribute__((unused)) static void start(void)
{
    static ndp_host sim_host = HOST("sim"), cpu_host = HOST("cpu");
    uint32_t count = 0;
    char why[256] = "";
    if (!(cpu = load("cpu", &cpu_host)) || !(sim = load("sim", &sim_host)))
        bail("ndock-cpu.so or ndock-sim.so is in no folder of NDOCK_PLUGIN_PATH");
    if (sim->probe(&count, why, sizeof why) != NDP_OK || count == 0)
        bail(why);
    dev = open_sim(0);
    ops = sim->group(dev, "ndp.op/1");
    streams = sim->group(dev, "ndp.stream/1");
    memory = sim->group(dev, "ndp.memory/1");
    map = sim->group(dev, "ndp.map/1");
    peer = sim->group(dev, "ndp.peer/1");
    graphs = sim->group(dev, "ndp.graph/1");
    control = sim->group(dev, NDSIM_GROUP);
}

/* The last case: threads stop. */
__attribute__((unused)) static void finish(void)
{
    sim->close(dev);
    sim->shutdown();
    sim->shutdown();
    ok(1, "shutdown, twice");
}

__attribute__((unused)) static ndp_mem *block(ndp_dev *d, uint64_t nbytes)
{
    ndp_mem *mem = NULL;
    if (sim->alloc(d, nbytes, &mem) != NDP_OK)
        bail(last_error.text);
    return mem;
}

__attribute__((unused)) static ndp_stream *new_stream(ndp_dev *d)
{
    ndp_stream *s = NULL;
    if (streams->create(d, 0, 0, &s) != NDP_OK)
        bail(last_error.text);
    return s;
}

__attribute__((unused)) static ndp_event *new_event(ndp_dev *d)
{
    ndp_event *e = NULL;
    if (streams->event_create(d, NDP_EVENT_TIMING, &e) != NDP_OK)
        bail(last_error.text);
    return e;
}

/* f32 operands: n elements from element `first`, `step` apart. */
typedef struct {
    ndp_mem *mem;
    int64_t first, n, step;
} vec;
#define VEC(mem, n) ((vec){(mem), 0, (n), 1})

typedef struct {
    ndp_view view[4];
    int64_t shape[4], stride[4];
    ndp_scalar scalar;
    ndp_call call;
} f32_call;

static void put_vec(f32_call *c, int i, vec v)
{
    c->shape[i] = v.n;
    c->stride[i] = v.step;
    c->view[i] = (ndp_view){.mem = v.mem,
                            .offset_bytes = v.first * 4,
                            .shape = &c->shape[i],
                            .stride = &c->stride[i],
                            .dtype = NDP_F32,
                            .ndim = 1,
                            .flags = v.step == 1 ? NDP_VIEW_CONTIGUOUS : 0};
}

static int32_t find_and_run(ndp_dev *d, ndp_stream *s, const ndp_call *call)
{
    const ndp_kernel *k = NULL;
    char why[256] = "";
    int32_t status = ops->find(d, call, &k, why, sizeof why);
    if (status != NDP_OK) {
        if (why[0])
            diag("find: %s", why);
        return status;
    }
    return k->run(k, s, call);
}

/* out = a op b. Everything passed lives on this stack frame and is overwritten on return. */
__attribute__((unused)) static int32_t binary(ndp_dev *d, ndp_stream *s, int32_t op, vec a, vec b,
                                              vec out)
{
    f32_call c;
    memset(&c, 0, sizeof c);
    put_vec(&c, 0, a);
    put_vec(&c, 1, b);
    put_vec(&c, 2, out);
    c.call = (ndp_call){
        .size = sizeof c.call, .op = op, .n_in = 2, .n_out = 1, .in = c.view, .out = c.view + 2};
    int32_t status = find_and_run(d, s, &c.call);
    memset(&c, 0xEE, sizeof c); /* what the plug-in kept must be its own */
    return status;
}

__attribute__((unused)) static int32_t fill(ndp_dev *d, ndp_stream *s, vec out, double value)
{
    f32_call c;
    static const int64_t zero = 0;
    memset(&c, 0, sizeof c);
    put_vec(&c, 1, out);
    c.scalar = (ndp_scalar){.dtype = NDP_F32, .v.f = value};
    c.view[0] = (ndp_view){.shape = &c.shape[1], .stride = &zero, .dtype = NDP_F32, .ndim = 1};
    c.call = (ndp_call){.size = sizeof c.call,
                        .op = NDP_OP_fill,
                        .n_in = 1,
                        .n_out = 1,
                        .n_scalar = 1,
                        .in = c.view,
                        .out = c.view + 1,
                        .scalar = &c.scalar};
    int32_t status = find_and_run(d, s, &c.call);
    memset(&c, 0xEE, sizeof c);
    return status;
}

__attribute__((unused)) static float element(ndp_dev *d, ndp_mem *mem, int64_t i)
{
    float v = NAN;
    if (sim->read(d, NULL, mem, (uint64_t)i * 4, &v, 4) != NDP_OK)
        diag("read: %s", last_error.text);
    return v;
}

/* What a block holds, without asking the device to do anything. */
__attribute__((unused)) static float peek_f32(ndp_dev *d, ndp_mem *mem, int64_t i)
{
    void *host = NULL;
    float v = NAN;
    if (control->peek(d, mem, (uint64_t)i * 4, 4, &host) == NDP_OK)
        memcpy(&v, host, 4);
    return v;
}

/* A refused call: status, native code, and a word of its text. */
#define refused(call, status_, native_, word)                                                      \
    do {                                                                                           \
        last_error.native = -1;                                                                    \
        int32_t got_ = (call);                                                                     \
        ok(got_ == (status_) && last_error.native == (native_) && strstr(last_error.text, (word)), \
           "%s: status %d, code %lld, \"%s\"", #call, (int)(status_), (long long)(native_),        \
           (word));                                                                                \
        if (got_ != (status_) || last_error.native != (native_) ||                                 \
            !strstr(last_error.text, (word)))                                                      \
            diag("got %d, %lld, \"%s\"", (int)got_, (long long)last_error.native,                  \
                 last_error.text);                                                                 \
    } while (0)

#endif
