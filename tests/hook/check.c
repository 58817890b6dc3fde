/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * NDOCK_HOOK=check: every defect of tests/hook/defect.c is told by the rule that is meant for it,
 * and every promise of the core that a call breaks, by a plug-in that would not notice. */
#include <dlfcn.h>
#include <pthread.h>
#include "tests/hook/child.h"
#include "tests/hook/defect.h"

/* ---- the plug-in's promises ---- */
static void use_array(nd_device *d)
{
    const int64_t shape[1] = {8};
    const float one[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = shape};
    nd_array *a = NULL, *b = NULL, *i = NULL;
    if (nd_from_host(&layout, one, d, &a) == ND_OK) {
        for (int k = 0; k < 300; k++) { /* as often as it takes to see what grows */
            (void)!nd_add(a, a, &b);
            nd_release(b);
            b = NULL;
        }
        (void)!nd_multiply(a, a, &b); /* which it lacks */
        nd_release(b);
        b = NULL;
        if (nd_arange(d, ND_I64, nd_int(0), nd_int(4), nd_int(1), &i) == ND_OK)
            (void)!nd_take(a, i, 0, &b);
        nd_release(b);
        nd_release(i);
    }
    nd_release(a);
}

static void use_groups(nd_device *d)
{
    ndp_dev *dev = NULL;
    const ndp_stream_1 *s = table_of(d, "ndp.stream/1", &dev);
    const ndp_graph_1 *g = table_of(d, "ndp.graph/1", &dev);
    const ndp_memory_1 *m = table_of(d, "ndp.memory/1", &dev);
    const ndp_plugin *p = table_of(d, "ndp.plugin/0", &dev);
    const ndp_map_1 *map = table_of(d, "ndp.map/1", &dev);
    ndp_event *a = NULL, *b = NULL;
    ndp_mem *mem = NULL;
    int32_t x, y;
    uint64_t u, v;
    double ms;
    void *at;
    if (!s)
        return;
    (void)s->query(dev, NULL, &x);
    (void)s->event_create(dev, 0, &a);
    (void)s->event_create(dev, 0, &b);
    (void)s->event_record(dev, a, NULL);
    (void)s->event_sync(dev, a);
    (void)s->event_record(dev, b, NULL);
    (void)s->event_elapsed(dev, a, b, &ms);
    (void)s->priority_range(dev, &x, &y);
    (void)g->info(dev, NULL, &x, &u);
    (void)m->usage(dev, &u, &v);
    (void)m->granularity(dev, &u);
    if (p->alloc(dev, 64, &mem) == NDP_OK) {
        (void)map->map(dev, mem, &at);
        p->free(dev, mem);
    }
    s->event_destroy(dev, a);
    s->event_destroy(dev, b);
}

/* 0: the log names the rule (NULL: none). */
static int look(const void *rule)
{
    char word[64];
    nd_device *d = NULL;
    if (nd_device_get("defect:0", &d) == ND_OK) {
        use_array(d);
        use_groups(d);
    }
    if (!rule)
        return strstr(log_text, "(rule ") ? 1 : d ? 0 : 2;
    snprintf(word, sizeof word, "(rule %s)", (const char *)rule);
    return strstr(log_text, word) && strstr(log_text, "check: defect") ? 0 : 3;
}

static void promises_of_plugins(void)
{
    static const char *const defects[][2] = {{"status", "status"},
                                             {"status_negative", "status"},
                                             {"out_on_success", "out_on_success"},
                                             {"out_on_failure", "out_on_failure"},
                                             {"handle_given_twice", "handle_given_twice"},
                                             {"why", "why"},
                                             {"why_probe", "why"},
                                             {"text_end", "text_end"},
                                             {"text_size", "text_size"},
                                             {"find_depends", "find_depends"},
                                             {"find_kernel", "find_depends"},
                                             {"found_runs", "found_runs"},
                                             {"rounding_mode", "rounding_mode"},
                                             {"number_modes", "number_modes"},
                                             {"growth", "growth"},
                                             {"find_extents", "find_depends"},
                                             {"elapsed_clock", "elapsed"},
                                             {"untouched", "untouched"},
                                             {"kernel", "kernel"},
                                             {"size_kernel", "size"},
                                             {"size_info", "size"},
                                             {"info_align", "info"},
                                             {"info_dtypes", "info"},
                                             {"info_name", "info"},
                                             {"count", "count"},
                                             {"flag", "flag"},
                                             {"unset", "out_on_success"},
                                             {"out_host", "out_on_success"},
                                             {"elapsed", "elapsed"},
                                             {"priorities", "priorities"},
                                             {"capture", "capture"},
                                             {"capture_id", "capture"},
                                             {"usage", "usage"},
                                             {"granularity", "granularity"},
                                             {"alignment", "alignment"}};
    char kind[64], what[128];
    const char *env[] = {"NDOCK_HOOK=check", "NDOCK_FALLBACK=allow", kind, NULL, NULL};
    snprintf(kind, sizeof kind, "NDOCK_DEFECT_KIND=none");
    is_int(in_child(look, NULL, env), 0, "a plug-in without a defect breaks no rule");
    for (size_t i = 0; i < sizeof defects / sizeof *defects; i++) {
        snprintf(kind, sizeof kind, "NDOCK_DEFECT_KIND=%s", defects[i][0]);
        snprintf(what, sizeof what, "defect %s is told by rule %s", defects[i][0], defects[i][1]);
        env[3] = NULL;
        is_int(in_child(look, defects[i][1], env), 0, what);
        snprintf(what, sizeof what, "and so it is with NDOCK_HOOK_CHECK=warn");
        env[3] = "NDOCK_HOOK_CHECK=warn";
        if (i % 5 == 0)
            is_int(in_child(look, defects[i][1], env), 0, what);
    }
}

/* ---- the core's promises, broken by this test on the simulated device ---- */
typedef struct {
    nd_device *d;
    ndp_dev *dev, *dev1;
    const ndp_plugin *p;
    const ndp_stream_1 *s;
    const ndp_op_1 *op;
    ndp_mem *mem, *mem1;
} bench;

static bench set_up(void)
{
    bench b = {0};
    nd_device *d1 = NULL;
    if (nd_device_get("sim:0", &b.d) != ND_OK || nd_device_get("sim:1", &d1) != ND_OK)
        return b;
    b.p = table_of(d1, "ndp.plugin/0", &b.dev1);
    b.p = table_of(b.d, "ndp.plugin/0", &b.dev);
    b.s = table_of(b.d, "ndp.stream/1", &b.dev);
    b.op = table_of(b.d, "ndp.op/1", &b.dev);
    if (b.p->alloc(b.dev, 256, &b.mem) != NDP_OK || b.p->alloc(b.dev1, 256, &b.mem1) != NDP_OK)
        b.d = NULL;
    return b;
}

static int broke(int32_t status, const char *rule)
{
    char word[64];
    snprintf(word, sizeof word, "(rule %s)", rule);
    return status == NDP_ERR_PLUGIN && strstr(nd_last_error()->message, word) ? 0 : 1;
}

static int look_at_handles(const void *arg)
{
    bench b = set_up();
    char bytes[512] = {0};
    ndp_event *e = NULL;
    ndp_stream *s = NULL;
    int32_t done;
    (void)arg;
    if (!b.d || b.p->write(b.dev, NULL, b.mem, 0, bytes, 256) != NDP_OK)
        return 10;
    if (broke(b.p->write(b.dev, NULL, b.mem, 1, bytes, 256), "bounds") ||
        broke(b.p->read(b.dev, NULL, b.mem, UINT64_MAX, bytes, 2), "bounds"))
        return 11;
    if (broke(b.p->write(b.dev, NULL, b.mem1, 0, bytes, 8), "handles"))
        return 12; /* of another device */
    b.p->free(b.dev, b.mem);
    if (broke(b.p->read(b.dev, NULL, b.mem, 0, bytes, 8), "handles") ||
        !strstr(nd_last_error()->message, "has ended"))
        return 13;
    b.p->free(b.dev, b.mem); /* returns nothing: the next call tells */
    if (broke(b.p->sync(b.dev, NULL), "handles") ||
        !strstr(nd_last_error()->message, "it goes twice") || b.p->sync(b.dev, NULL) != NDP_OK)
        return 14;
    if (b.s->create(b.dev, 0, 0, &s) != NDP_OK || b.s->event_create(b.dev, 0, &e) != NDP_OK)
        return 15;
    b.s->destroy(b.dev, s);
    if (broke(b.s->sync(b.dev, s), "handles") || broke(b.s->query(b.dev, s, &done), "handles"))
        return 16;
    b.s->event_destroy(b.dev, e);
    if (broke(b.s->wait(b.dev, NULL, e), "handles"))
        return 17;
    if (broke(b.s->wait(b.dev, NULL, (ndp_event *)(void *)bytes), "handles") ||
        !strstr(nd_last_error()->message, "no event that this plug-in gave"))
        return 18; /* of another plug-in */
    if (broke(b.s->wait(b.dev, NULL, NULL), "handles"))
        return 19;
    return broke(b.p->alloc(b.dev, 0, &b.mem), "nbytes") ||
                   broke(b.p->alloc(b.dev, 8, NULL), "null")
               ? 20
               : 0;
}

static int look_at_devices(const void *arg)
{
    bench b = set_up();
    ndp_device_info info = {.size = sizeof info};
    ndp_dev *dev = NULL;
    (void)arg;
    if (!b.d || broke(b.p->info(1000, &info), "index") || broke(b.p->open(4, &dev), "index") || dev)
        return 10;
    if (broke(b.p->sync((ndp_dev *)(void *)&info, NULL), "handles"))
        return 11;
    b.p->shutdown();
    if (broke(b.p->sync(b.dev, NULL), "shutdown"))
        return 12;
    b.p->close(b.dev1);
    return broke(b.p->sync(b.dev1, NULL), "handles") ||
                   !strstr(nd_last_error()->message, "was closed")
               ? 13
               : 0;
}

static int32_t find_with(const bench *b, ndp_view *in, ndp_view *out, uint32_t size)
{
    char why[64];
    const ndp_kernel *k = NULL;
    ndp_call call = {
        .size = size, .op = NDP_OP_negative, .n_in = 1, .n_out = 1, .in = in, .out = out};
    return b->op->find(b->dev, &call, &k, why, sizeof why);
}

static int look_at_calls(const void *arg)
{
    bench b = set_up();
    const int64_t four = 4, many = 65, one = 1, two = 2, zero = 0;
    (void)arg;
    if (!b.d)
        return 9;
    const ndp_view good = {.mem = b.mem,
                           .shape = &four,
                           .stride = &one,
                           .dtype = NDP_F32,
                           .ndim = 1,
                           .flags = NDP_VIEW_CONTIGUOUS};
    ndp_view in = good, out = good;
    if (find_with(&b, &in, &out, sizeof(ndp_call)) != NDP_OK)
        return 10;
    if (broke(find_with(&b, &in, &out, 16), "size"))
        return 11;
    in.shape = &many;
    if (broke(find_with(&b, &in, &out, sizeof(ndp_call)), "bounds"))
        return 12;
    in = good;
    in.offset_bytes = -4;
    if (broke(find_with(&b, &in, &out, sizeof(ndp_call)), "bounds"))
        return 13;
    in = good;
    in.offset_bytes = 2; /* inside, but no place for an f32 */
    if (broke(find_with(&b, &in, &out, sizeof(ndp_call)), "bounds"))
        return 33;
    in = good;
    in.stride = &two;
    if (broke(find_with(&b, &in, &out, sizeof(ndp_call)), "contiguous"))
        return 14;
    in = good;
    in.dtype = NDP_DTYPE_END;
    if (broke(find_with(&b, &in, &out, sizeof(ndp_call)), "operands"))
        return 15;
    in = good;
    in.mem = NULL;
    if (broke(find_with(&b, &in, &out, sizeof(ndp_call)), "operands"))
        return 16; /* a scalar that there is not */
    in = good;
    in.mem = b.mem1;
    if (broke(find_with(&b, &in, &out, sizeof(ndp_call)), "handles"))
        return 17;
    in = good;
    out.flags = 0;
    out.stride = &zero;
    return broke(find_with(&b, &in, &out, sizeof(ndp_call)), "operands") ? 18 : 0;
}

/* The mock's kernel wants dense operands of one dimension. */
static int look_at_needs(const void *arg)
{
    nd_device *d = NULL;
    ndp_dev *dev = NULL;
    ndp_mem *mem = NULL;
    const ndp_kernel *k = NULL, *again = NULL;
    const int64_t shape[2] = {2, 2}, wide[2] = {4, 1}, two = 2, one = 1;
    char why[64];
    if (nd_device_get("defect:0", &d) != ND_OK)
        return 9;
    const ndp_plugin *p = table_of(d, "ndp.plugin/0", &dev);
    const ndp_op_1 *op = table_of(d, "ndp.op/1", &dev);
    if (p->alloc(dev, 256, &mem) != NDP_OK)
        return 10;
    ndp_view v[3];
    ndp_call call = {
        .size = sizeof call, .op = NDP_OP_add, .n_in = 2, .n_out = 1, .in = v, .out = v + 2};
    for (int i = 0; i < 3; i++)
        v[i] = (ndp_view){.mem = mem,
                          .offset_bytes = 16 * i,
                          .shape = &two,
                          .stride = &one,
                          .dtype = NDP_F32,
                          .ndim = 1,
                          .flags = NDP_VIEW_CONTIGUOUS};
    if (op->find(dev, &call, &k, why, sizeof why) != NDP_OK ||
        op->find(dev, &call, &again, why, sizeof why) != NDP_OK || k != again)
        return 11; /* found twice is the same */
    if (arg)       /* the kernel asks for scratch memory, and gets none */
        return broke(k->run(k, NULL, &call), "scratch") ? 15 : 0;
    if (k->run(k, NULL, &call) != NDP_OK)
        return 12;
    v[0].stride = &two;
    v[0].flags = 0;
    if (broke(k->run(k, NULL, &call), "needs"))
        return 13;
    v[0] = v[1];
    v[0].ndim = 2;
    v[0].shape = shape;
    v[0].stride = wide;
    v[0].flags = 0;
    return broke(k->run(k, NULL, &call), "needs") ? 14 : 0;
}

typedef struct {
    const ndp_plugin *p;
    ndp_dev *dev;
    ndp_mem *mem;
    defect_gate gate;
} slow_write;

static void *write_slowly(void *arg)
{
    slow_write *w = arg;
    return w->p->write(w->dev, NULL, w->mem, 0, &w->gate, sizeof w->gate) == NDP_OK ? NULL : arg;
}

/* While another thread's write is inside the mock. */
static int look_at_threads(const void *arg)
{
    nd_device *d = NULL;
    slow_write w = {0};
    pthread_t other;
    void *failed = NULL;
    char bytes[4];
    (void)arg;
    if (nd_device_get("defect:0", &d) != ND_OK)
        return 9;
    w.p = table_of(d, "ndp.plugin/0", &w.dev);
    if (w.p->alloc(w.dev, 64, &w.mem) != NDP_OK || pthread_create(&other, NULL, write_slowly, &w))
        return 10;
    while (!atomic_load(&w.gate.inside))
        usleep(1000);
    int told = broke(w.p->write(w.dev, NULL, w.mem, 0, "abc", 4), "one_thread");
    int32_t meanwhile = w.p->read(w.dev, NULL, w.mem, 0, bytes, 4); /* which is allowed */
    atomic_store(&w.gate.open, 1);
    pthread_join(other, &failed);
    if (told || meanwhile != NDP_OK || failed)
        return 11;
    return write_slowly(&w) == NULL ? 0 : 12;
}

/* A kernel that gives a plan back has the host mark the end of its work on the kernel's own stream. */
static int look_at_plans(const void *arg)
{
    const int64_t shape[1] = {8};
    nd_device *d = NULL;
    nd_array *a = NULL, *b = NULL;
    nd_plan_stats stats = {.size = sizeof stats};
    (void)arg;
    if (nd_device_get("defect:0", &d) != ND_OK || nd_zeros(d, ND_F32, 1, shape, &a) != ND_OK)
        return 9;
    nd_status status = nd_add(a, a, &b);
    nd_release(b);
    nd_release(a);
    if (status != ND_OK || nd_plan_cache_stats(d, &stats) != ND_OK || stats.count != 1)
        return 10;
    return strstr(log_text, "(rule ") ? 11 : 0;
}

static void call_back(void *arg)
{
    const bench *b = arg;
    (void)b->p->sync(b->dev, NULL);
}

static int look_at_host_functions(const void *arg)
{
    bench b = set_up();
    (void)arg;
    if (!b.d || b.s->launch_host(b.dev, NULL, call_back, &b) != NDP_OK ||
        b.p->sync(b.dev, NULL) != NDP_OK)
        return 10;
    return strstr(log_text, "(rule host_function)") ? 0 : 11;
}

static void promises_of_the_core(void)
{
    const char *const env[] = {"NDOCK_HOOK=check", NULL};
    is_int(in_child(look_at_handles, NULL, env), 0,
           "handles that ended, of others, NULL; ranges; nothing reaches the plug-in");
    is_int(in_child(look_at_devices, NULL, env), 0, "devices that are not there, or closed");
    is_int(in_child(look_at_calls, NULL, env), 0, "operands outside their blocks, flags that lie");
    is_int(in_child(look_at_needs, NULL, env), 0, "operands that a kernel did not ask for");
    const char *env_of[] = {"NDOCK_HOOK=check", "NDOCK_DEFECT_KIND=scratch", NULL};
    is_int(in_child(look_at_needs, "scratch", env_of), 0, "scratch memory that is not there");
    env_of[1] = "NDOCK_DEFECT_KIND=slow";
    is_int(in_child(look_at_threads, NULL, env_of), 0, "two threads that queue on one stream");
    env_of[1] = "NDOCK_DEFECT_KIND=plan";
    is_int(in_child(look_at_plans, NULL, env_of), 0,
           "what the host queues for a kernel on its stream is no other thread's");
    is_int(in_child(look_at_host_functions, NULL, env), 0,
           "a function of a stream that calls the plug-in");
}

/* ---- calls that do not return ---- */
static _Atomic(char *) slow_text;

static void keep_slow(void *ctx, int32_t level, const char *text)
{
    (void)ctx;
    (void)level;
    if (strstr(text, "(rule slow)"))
        atomic_store(&slow_text, strdup(text));
}

/* A write waits at its gate until it was told of; the child has an alarm. */
static int look_at_slow(const void *arg)
{
    slow_write w = {.p = NULL};
    nd_device *d = NULL;
    pthread_t other;
    void *failed;
    (void)arg;
    nd_log_set(keep_slow, NULL, ND_LOG_WARN);
    if (nd_device_get("defect:0", &d) != ND_OK)
        return 9;
    w.p = table_of(d, "ndp.plugin/0", &w.dev);
    if (w.p->alloc(w.dev, 64, &w.mem) != NDP_OK || pthread_create(&other, NULL, write_slowly, &w))
        return 10;
    while (!atomic_load(&w.gate.inside) || !atomic_load(&slow_text))
        usleep(1000);
    static const char words[] = "check: defect:0, plugin.write: it has not returned for ";
    const char *said = strstr(slow_text, words);
    const int named = said && atof(said + strlen(words)) >= 1; /* or more, on a busy machine */
    atomic_store(&w.gate.open, 1);
    pthread_join(other, &failed);
    return failed ? 11 : named ? 0 : 12;
}

static void slow_calls(void)
{
    const char *env[] = {"NDOCK_HOOK=check", "NDOCK_DEFECT_KIND=slow", "NDOCK_HOOK_SLOW=1", NULL};
    is_int(in_child(look_at_slow, NULL, env), 0,
           "a call that does not return is told of with its function, and goes on");
}

/* ---- who pays ---- */
static int look_at_tables(const void *file)
{
    nd_device *d = NULL;
    ndp_dev *dev;
    Dl_info info;
    void *at;
    if (nd_device_get("defect:0", &d) != ND_OK)
        return 9;
    const ndp_plugin *p = table_of(d, "ndp.plugin/0", &dev);
    const ndp_op_1 *op = table_of(d, "ndp.op/1", &dev);
    memcpy(&at, &p->alloc, sizeof at);
    if (!dladdr(at, &info) || !strstr(info.dli_fname, file))
        return 1;
    memcpy(&at, &op->find, sizeof at);
    return dladdr(at, &info) && strstr(info.dli_fname, file) ? 0 : 2;
}

static void tables(void)
{
    const char *env[] = {"NDOCK_HOOK=", NULL, NULL};
    is_int(in_child(look_at_tables, "ndock-defect.so", env), 0,
           "without hooks the tables have the plug-in's own functions");
    env[0] = "NDOCK_HOOK=check";
    is_int(in_child(look_at_tables, "libndock", env), 0, "with one they have wrappers");
    env[1] = "NDOCK_HOOK_PLUGINS=^defect";
    is_int(in_child(look_at_tables, "ndock-defect.so", env), 0, "but not for a plug-in left out");
    env[1] = "NDOCK_HOOK_PLUGINS=cpu,defect";
    is_int(in_child(look_at_tables, "libndock", env), 0, "and for one that is named");
}

TAP_MAIN({"tables", tables}, {"plugins", promises_of_plugins}, {"core", promises_of_the_core},
         {"slow", slow_calls})
