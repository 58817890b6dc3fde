/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * G21: conditional nodes, on a driver that pretends: what is made of steps, and which drivers leave
 * them to the host. */
#include <ndock/ndock.h>
#include <ndock/plugin.h>
#include "tests/cuda/stubs.h"

static const ndp_graph_1 *g;
static const ndp_stream_1 *st;
static const ndp_map_1 *map;
static ndp_dev *dev;
static ndp_stream *s;
static int8_t value;
static int32_t inner;

static void fine(int32_t status)
{
    if (status == NDP_OK)
        return;
    printf("%s: %s\n", nd_status_name(status), nd_last_error()->message);
    exit(1);
}

static const void *group(nd_device *d, const char *id)
{
    const void *table = NULL;
    fine(nd_device_group(d, id, &table, &dev));
    return table;
}

/* ---- what graphs do: each says its letter ---- */
static void say(void *letter)
{
    putchar(*(char *)letter);
}

static void count_down(void *letter)
{
    say(letter);
    value--;
}

static ndp_graph *captured(void (*fn)(void *), const char *letter)
{
    ndp_graph *out = NULL;
    fine(g->begin(dev, s, NDP_CAPTURE_THREAD_LOCAL));
    if (fn)
        fine(st->launch_host(dev, s, fn, (void *)(uintptr_t)letter));
    fine(g->end(dev, s, &out));
    return out;
}

static ndp_view view_of(void *at, int32_t dtype, ndp_mem **mem)
{
    fine(map->register_host(dev, at, 8, mem));
    return (ndp_view){.mem = *mem, .dtype = dtype};
}

static void runs(const char *what, const ndp_steps *steps, int from, int to)
{
    ndp_exec *x = NULL;
    printf("%s:", what);
    const int32_t status = g->compose(dev, steps, &x);
    for (int v = from; status == NDP_OK && v <= to; v++) {
        value = (int8_t)v;
        printf(" %d ", v);
        fine(g->launch(dev, x, s));
    }
    if (status == NDP_OK)
        g->exec_destroy(dev, x);
    else
        printf(" %s %s", nd_status_name(status), nd_last_error()->message);
    printf("\n");
}

static void compose_all(ndp_graph *const *a, const ndp_view *v, const ndp_view *deep)
{
    const ndp_step leaf[] = {{.graph = a[0]}, {.graph = a[1]}, {.graph = a[3]}};
    const ndp_steps one[] = {{leaf, 1, 0}, {leaf + 1, 1, 0}}, down = {leaf + 2, 1, 0};
    const ndp_step if_deep[] = {
        {.graph = a[2]}, {.condition = NDP_STEP_IF, .n_bodies = 1, .body = one, .value = deep}};
    const ndp_steps bodies[] = {one[0], {if_deep, 2, 0}, one[1]};
#define AROUND(...)                                                                        \
    (&(ndp_steps){                                                                         \
        (ndp_step[]){                                                                      \
            {.graph = a[2]}, {.value = v, __VA_ARGS__}, {.graph = a[4]}, {.graph = a[2]}}, \
        4, 0})
    runs("if", AROUND(.condition = NDP_STEP_IF, .n_bodies = 1, .body = one), -1, 1);
    runs("while", AROUND(.condition = NDP_STEP_WHILE, .n_bodies = 1, .body = &down), 0, 3);
    runs("else", AROUND(.condition = NDP_STEP_IF, .n_bodies = 2, .body = one), -1, 1);
    runs("switch", AROUND(.condition = NDP_STEP_SWITCH, .n_bodies = 3, .body = bodies), -1, 3);
    inner = 1 << 20;
    runs("inner", AROUND(.condition = NDP_STEP_SWITCH, .n_bodies = 3, .body = bodies), 1, 1);
}

static int look(void)
{
    static const char letters[] = "abcd";
    nd_device *d = NULL;
    ndp_mem *mem[2];
    fine(nd_device_get("cuda:0", &d));
    g = group(d, "ndp.graph/1");
    st = group(d, "ndp.stream/1");
    map = group(d, "ndp.map/1");
    fine(st->create(dev, 0, 0, &s));
    ndp_graph *a[] = {captured(say, letters), captured(say, letters + 1),
                      captured(say, letters + 2), captured(count_down, letters + 3),
                      captured(NULL, NULL)};
    const ndp_view v = view_of(&value, NDP_I8, &mem[0]), deep = view_of(&inner, NDP_I32, &mem[1]);
    compose_all(a, &v, &deep);
    for (int i = 0; i < 5; i++)
        g->destroy(dev, a[i]);
    printf("left %d, conditions %d\n", counted("libcuda.so.1", "stub_graphs"),
           counted("libcuda.so.1", "stub_conditions"));
    return 0;
}

/* ---- what is expected: c before and behind, and what runs between ---- */
#define SAYS(text, ...) has_text(answer, text, __VA_ARGS__)
#define WORKS "STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1"

static void new_driver(void)
{
    ask(MACHINE(WORKS), NO_NVML);
    SAYS("if: -1 cac 0 cc 1 cac\n", "an if runs its body where the value is not 0");
    SAYS("while: 0 cc 1 cdc 2 cddc 3 cdddc\n", "a while as long as it is not");
    SAYS("else: -1 cac 0 cbc 1 cac\n", "if-else has two bodies");
    SAYS("switch: -1 cc 0 cac 1 ccc 2 cbc 3 cc\n", "a switch runs that of its number, or none");
    SAYS("inner: 1 ccac\n", "a body has a condition itself");
    SAYS("left 0, conditions 7\n", "and nothing is left of them");
}

static void older_drivers(void)
{
    ask(MACHINE(WORKS, "STUB_CUDA_VERSION=12040"), NO_NVML);
    SAYS("while: 0 cc 1 cdc 2 cddc 3 cdddc\n", "CUDA 12.4 has loops");
    SAYS("else: ND_ERR_UNSUPPORTED", "but no second body");
    SAYS("from CUDA 12.8 on\nswitch: ND_ERR_UNSUPPORTED", "and no switch");
    SAYS("left 0, conditions 2\n", "of which nothing is made");
    ask(MACHINE(WORKS, "STUB_CUDA_VERSION=12030"), NO_NVML);
    SAYS("if: ND_ERR_UNSUPPORTED", "CUDA 12.3 leaves all to the host");
    SAYS("left 0, conditions 0\n", "and is not asked");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"new", new_driver}, {"older", older_drivers}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
