/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What may block the host, and who is told: the closed list of reasons, the sync watch, and host
 * functions, which may not come back. In stepped mode the simulated device runs nothing until
 * somebody waits, so work still queued proves that nobody did. */
#include "tests/stream/lab.h"

static sim at[2];
static nd_device *cpu;
static nd_stream *stream;
static nd_event *behind; /* recorded behind the queued work */
static nd_array *a, *host, *pinned, *mask;

static uint64_t pending(void)
{
    uint64_t n = 0;
    must(at[0].c->pending(at[0].dev, NDSIM_ANY, &n));
    return n;
}

static uint64_t count(int32_t reason)
{
    uint64_t n[ND_WAIT_REASONS];
    nd_sync_watch_counts(n);
    return n[reason];
}

/* ---- A1: everything that waits ---- */
static void twice(void *ctx, nd_dtype dtype, int64_t n, char *const *p, const int64_t *stride)
{
    (void)ctx;
    (void)dtype;
    for (int64_t i = 0; i < n; i++)
        *(float *)(void *)(p[0] + i * stride[0]) = 2 * *(float *)(void *)(p[1] + i * stride[1]);
}
static nd_op twice_op;

static nd_status do_item(void)
{
    nd_scalar v;
    nd_array *one = NULL;
    const nd_index first = {.kind = ND_INDEX_INT, .start = 0};
    must(nd_slice(a, &first, 1, &one));
    nd_status status = nd_item(one, &v);
    nd_release(one);
    return status;
}
static nd_status do_to_host(void)
{
    float v[4];
    return nd_to_host(a, v, sizeof v);
}
static nd_status do_format(void)
{
    char *text = NULL;
    nd_status status = nd_format(a, NULL, &text);
    free(text);
    return status;
}
static nd_status do_copy(void)
{
    nd_array *r = NULL;
    nd_status status = nd_copy(a, cpu, &r);
    nd_release(r);
    return status;
}
static nd_status do_upload(void)
{
    return nd_assign(host, a);
}
static nd_status do_pageable(void)
{
    const nd_copy_opts opts = {.size = sizeof opts, .non_blocking = 1};
    return nd_copy_to(host, a, &opts);
}
static nd_status do_pageable_back(void)
{
    const nd_copy_opts opts = {.size = sizeof opts, .non_blocking = 1};
    return nd_copy_to(a, host, &opts);
}
static nd_status do_device(void)
{
    return nd_synchronize(at[0].d);
}
static nd_status do_stream(void)
{
    return nd_stream_synchronize(stream);
}
static nd_status do_event(void)
{
    return nd_event_synchronize(behind);
}
static nd_status do_pending(void)
{
    nd_array *r = NULL;
    nd_status status = nd_add(pinned, pinned, &r);
    nd_release(r);
    return status;
}
static nd_status do_pending_one(void)
{
    nd_array *r = NULL;
    nd_status status = nd_negative(pinned, &r);
    nd_release(r);
    return status;
}
static nd_status do_select(void)
{
    nd_array *r = NULL;
    nd_status status = nd_select(a, mask, &r);
    nd_release(r);
    return status;
}
static nd_status do_nonzero(void)
{
    nd_array *r = NULL;
    nd_status status = nd_nonzero(a, &r);
    nd_release(r);
    return status;
}
static nd_status do_staging(void)
{
    nd_array *r = NULL;
    const nd_arg arg = nd_array_arg(a);
    nd_status status = nd_apply(twice_op, &arg, 1, NULL, &r);
    nd_release(r);
    return status;
}
static nd_status do_launch(void)
{
    nd_launch_blocking_set(1);
    nd_status status = nd_add_into(a, a, a);
    nd_launch_blocking_set(0);
    return status;
}
static nd_status do_data(void)
{
    void *p = NULL;
    return nd_data(a, &p);
}
static nd_status do_other_plugin(void)
{
    nd_stream *s = NULL;
    must(nd_stream_default(cpu, &s));
    return nd_stream_wait_stream(s, stream);
}
static nd_status do_other_event(void)
{
    nd_stream *s = NULL;
    must(nd_stream_default(cpu, &s));
    return nd_stream_wait_event(s, behind);
}
static nd_status do_first_use(void)
{
    nd_device *d = NULL;
    return nd_device_get("sim:3", &d);
}

static const struct {
    const char *name;
    int32_t reason;
    nd_status (*wait)(void);
    int nothing_runs; /* the device is another one */
} waits[] = {{"nd_item", ND_WAIT_ITEM, do_item, 0},
             {"nd_to_host", ND_WAIT_ITEM, do_to_host, 0},
             {"nd_format", ND_WAIT_ITEM, do_format, 0},
             {"nd_copy to the host", ND_WAIT_COPY, do_copy, 0},
             {"nd_assign from the host", ND_WAIT_COPY, do_upload, 1},
             {"nd_copy_to from pageable memory", ND_WAIT_PAGEABLE, do_pageable, 1},
             {"nd_copy_to into pageable memory", ND_WAIT_PAGEABLE, do_pageable_back, 0},
             {"nd_synchronize", ND_WAIT_SYNCHRONIZE, do_device, 0},
             {"nd_stream_synchronize", ND_WAIT_SYNCHRONIZE, do_stream, 0},
             {"nd_event_synchronize", ND_WAIT_EVENT, do_event, 0},
             {"an operation on two pending host arrays", ND_WAIT_EVENT, do_pending, 0},
             {"an operation on a pending host array", ND_WAIT_EVENT, do_pending_one, 0},
             {"nd_select", ND_WAIT_SHAPE, do_select, 0},
             {"nd_nonzero", ND_WAIT_SHAPE, do_nonzero, 0},
             {"an operation that the device lacks", ND_WAIT_STAGING, do_staging, 0},
             {"launch blocking", ND_WAIT_LAUNCH_BLOCKING, do_launch, 0},
             {"nd_data", ND_WAIT_DATA, do_data, 0},
             {"nd_stream_wait_stream of another plug-in", ND_WAIT_EVENT, do_other_plugin, 0},
             {"nd_stream_wait_event of another plug-in", ND_WAIT_EVENT, do_other_event, 0},
             {"nd_device_get, first use", ND_WAIT_FIRST_USE, do_first_use, 1}};

/* Something is queued that only a wait runs. */
static void queue_work(void)
{
    const nd_copy_opts opts = {.size = sizeof opts, .non_blocking = 1};
    must(nd_add_into(a, a, a));
    must(nd_copy_to(a, pinned, &opts));
    must(nd_event_record(behind, stream));
}

static void closed_list(void)
{
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        must(nd_synchronize(at[0].d));
        queue_work();
        must(nd_sync_watch_set(ND_SYNC_ERROR));
        nd_sync_watch_reset();
        uint64_t before = pending();
        nd_status status = waits[i].wait();
        const nd_error *e = nd_last_error();
        int told = status == ND_ERR_STATE && strstr(e->message, nd_wait_name(waits[i].reason)) &&
                   strstr(e->message, "sim:");
        ok(told && pending() >= before && count(waits[i].reason) >= 1,
           "A1 A2 %s is refused before it waits, as \"%s\"", waits[i].name,
           nd_wait_name(waits[i].reason));
        if (!told)
            diag("%s: %s; %llu to %llu pending", nd_status_name(status), e->message,
                 (unsigned long long)before, (unsigned long long)pending());
        must(nd_sync_watch_set(ND_SYNC_COUNT));
        nd_sync_watch_reset();
        status = waits[i].wait();
        ok(status == ND_OK && count(waits[i].reason) >= 1 &&
               (waits[i].nothing_runs || pending() < before),
           "A1 A2 nothing is lost: allowed, it waits, and is counted");
        if (status != ND_OK)
            diag("%s", nd_last_error()->message);
        must(nd_sync_watch_set(ND_SYNC_OFF));
    }
}

/* Everything else only queues. */
static void others_do_not_wait(void)
{
    nd_array *r[8] = {NULL};
    int32_t done = 1;
    nd_stream *other = new_stream(at[0].d);
    const int64_t shape[2] = {2, 2};
    nd_array *square = NULL, *indices = NULL, *there = vector(at[1].d, 4, 1);
    const int64_t two = 2;
    must(nd_reshape(a, 2, shape, &square));
    must(nd_full(at[0].d, ND_I64, 1, &two, nd_int(1), &indices));
    must(nd_take(a, indices, 0, &r[0])); /* the first index operation clears its status word */
    nd_release(r[0]);
    r[0] = NULL;
    must(nd_synchronize(at[0].d));
    must(nd_sync_watch_set(ND_SYNC_ERROR));
    const nd_status all[] = {nd_add(a, a, &r[0]),
                             nd_matmul(square, square, NULL, &r[1]),
                             nd_sum(a, NULL, &r[2]),
                             nd_copy(a, NULL, &r[3]),
                             nd_take(a, indices, 0, &r[4]),
                             nd_add_scalar(a, nd_int(3), &r[5]),
                             nd_astype(a, ND_F64, &r[6]),
                             nd_to_device(a, at[1].d, &r[7]),
                             nd_assign(there, a),
                             nd_fill(a, nd_float(2)),
                             nd_event_record(behind, stream),
                             nd_stream_wait_event(other, behind),
                             nd_stream_wait_stream(stream, other),
                             nd_stream_query(stream, &done),
                             nd_event_query(behind, &done)};
    int failed = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] != ND_OK && ++failed)
            diag("call %zu: %s", i, nd_status_name(all[i]));
    for (int i = 0; i < 8; i++)
        nd_release(r[i]);
    nd_release(there);
    is_int(failed, 0, "A1 whatever else queues work does not wait");
    ok(pending() > 10, "A1 nothing of it has run: %d pending", (int)pending());
    must(nd_sync_watch_set(ND_SYNC_OFF));
    must(nd_synchronize(at[0].d));
    nd_release(square);
    nd_release(indices);
    nd_stream_release(other);
}

/* Out of memory: the last resort waits for everything. */
static void memory(void)
{
    const int64_t n = 3 << 20;
    nd_array *used = NULL, *r = NULL;
    nd_stream *other = new_stream(at[0].d);
    must(nd_empty(at[0].d, ND_F32, 1, &n, &used));
    must(nd_stream_push(other));
    must(nd_fill(used, nd_float(1)));
    must(nd_stream_pop(other));
    must(nd_record_use(used, other));
    nd_release(used);
    must(at[0].c->fail_allocs(at[0].dev, 3));
    must(nd_sync_watch_set(ND_SYNC_ERROR));
    uint64_t before = pending();
    const int64_t more = 40 << 20;
    nd_status status = nd_empty(at[0].d, ND_F32, 1, &more, &r);
    ok(status != ND_OK && pending() == before && count(ND_WAIT_MEMORY) > 0,
       "A1 A2 waiting for memory is refused: %s", nd_status_name(status));
    must(nd_sync_watch_set(ND_SYNC_OFF));
    must(at[0].c->clear_faults(at[0].dev));
    must(nd_empty(at[0].d, ND_F32, 1, &more, &r));
    nd_release(r);
    must(nd_synchronize(at[0].d));
    nd_stream_release(other);
}

/* ---- A2 ---- */
static void modes(void)
{
    must(nd_sync_watch_set(ND_SYNC_OFF));
    nd_sync_watch_reset();
    must(do_stream());
    is_int(count(ND_WAIT_SYNCHRONIZE), 0, "A2 off: nothing is counted");
    must(nd_sync_watch_set(ND_SYNC_COUNT));
    must(do_stream());
    must(do_device());
    must(do_to_host());
    is_int(count(ND_WAIT_SYNCHRONIZE), 2, "A2 count: by reason");
    is_int(count(ND_WAIT_ITEM), 1, "A2 count: another reason");
    nd_sync_watch_reset();
    is_int(count(ND_WAIT_SYNCHRONIZE), 0, "A2 reset");
    is_int(nd_sync_watch_set(4), ND_ERR_ARGUMENT, "A2 there is no mode 4");
    is_int(nd_sync_watch(), ND_SYNC_COUNT, "A2 and nothing has changed");
    ok(strcmp(nd_wait_name(-1), "?") == 0 && strcmp(nd_wait_name(ND_WAIT_REASONS), "?") == 0,
       "A2 unknown reasons have no name");
    must(nd_sync_watch_set(ND_SYNC_OFF));
}

static int warnings;
static char warned[256];
static void sink(void *ctx, int32_t level, const char *text)
{
    (void)ctx;
    if (level != ND_LOG_WARN)
        return;
    warnings++;
    snprintf(warned, sizeof warned, "%s", text);
}

static void warns(void)
{
    nd_log_set(sink, NULL, ND_LOG_WARN);
    must(nd_sync_watch_set(ND_SYNC_WARN));
    must(do_stream());
    must(do_event());
    must(nd_sync_watch_set(ND_SYNC_OFF));
    must(do_stream());
    nd_log_set(NULL, NULL, 0);
    is_int(warnings, 2, "A2 warn: one line for each wait");
    ok(strstr(warned, "event_synchronize") && strstr(warned, "sim:0") && strstr(warned, "event"),
       "A2 that says which call, device, reason: %s", warned);
}

static void nested(void)
{
    must(nd_sync_watch_push(ND_SYNC_ERROR));
    is_int(do_stream(), ND_ERR_STATE, "A2 a region that denies");
    must(nd_sync_watch_push(ND_SYNC_OFF));
    is_int(do_stream(), ND_OK, "A2 a region within it that allows");
    must(nd_sync_watch_pop());
    is_int(do_stream(), ND_ERR_STATE, "A2 and the one around it again");
    must(nd_sync_watch_pop());
    is_int(do_stream(), ND_OK, "A2 and none");
    is_int(nd_sync_watch_pop(), ND_ERR_STATE, "A2 pop without push is refused");
    is_int(nd_sync_watch_push(9), ND_ERR_ARGUMENT, "A2 an unknown mode is no region");
    int pushed = 0;
    while (pushed < 100 && nd_sync_watch_push(ND_SYNC_COUNT) == ND_OK)
        pushed++;
    is_int(pushed, 16, "A2 regions nest 16 deep, then it is an error");
    for (int i = 0; i < pushed; i++)
        must(nd_sync_watch_pop());
}

static void *elsewhere(void *arg)
{
    int *good = arg;
    *good =
        nd_sync_watch() == ND_SYNC_OFF && do_device() == ND_OK && count(ND_WAIT_SYNCHRONIZE) == 0;
    return NULL;
}

static void per_thread(void)
{
    int good = 0;
    must(nd_sync_watch_set(ND_SYNC_ERROR));
    in_thread(elsewhere, &good);
    ok(good, "A2 another thread has a watch of its own");
    must(nd_sync_watch_set(ND_SYNC_OFF));
}

static void slow_things(void)
{
    const int64_t n = 50 << 20;
    nd_array *big = NULL, *r = NULL;
    must(at[0].c->set_mode(at[0].dev, NDSIM_AUTO)); /* only idle memory is given back */
    must(nd_synchronize(at[0].d));
    must(nd_sync_watch_set(ND_SYNC_ERROR));
    nd_sync_watch_reset();
    must(nd_empty(at[0].d, ND_F32, 1, &n, &big));
    is_int(count(ND_WAIT_DEVICE_ALLOC), 1, "A2 memory from the device is counted, not refused");
    nd_release(big);
    for (int i = 0; i < 1000 && count(ND_WAIT_DEVICE_ALLOC) < 2; i++)
        must(nd_memory_empty_cache(at[0].d));
    ok(count(ND_WAIT_DEVICE_ALLOC) >= 2, "A2 so is giving it back");
    must(nd_tan(a, &r)); /* used nowhere else */
    nd_release(r);
    is_int(count(ND_WAIT_MODULE_LOAD), 1, "A2 so is the look-up of a kernel");
    must(nd_tan(a, &r));
    nd_release(r);
    is_int(count(ND_WAIT_MODULE_LOAD), 1, "A2 once");
    must(nd_sync_watch_set(ND_SYNC_OFF));
    must(at[0].c->set_mode(at[0].dev, NDSIM_STEPPED));
}

/* ---- S16 ---- */
static int wrong_inside, ran_inside;

static void come_back(void *ctx)
{
    nd_array *r = NULL;
    nd_device *d = NULL;
    nd_stream *s = NULL;
    nd_event *e = NULL;
    nd_scalar v;
    int32_t done;
    const int64_t n = 4;
    (void)ctx;
    const nd_status all[] = {nd_add(a, a, &r),
                             nd_add_into(a, a, a),
                             nd_add(host, host, &r),
                             nd_negative(host, &r),
                             nd_fill(host, nd_float(1)),
                             nd_item(a, &v),
                             do_to_host(),
                             nd_synchronize(at[0].d),
                             nd_synchronize(cpu),
                             nd_stream_synchronize(stream),
                             nd_stream_query(stream, &done),
                             nd_stream_wait_event(stream, behind),
                             nd_stream_wait_stream(stream, stream),
                             nd_stream_launch_host(stream, come_back, NULL),
                             nd_event_record(behind, stream),
                             nd_event_query(behind, &done),
                             nd_event_synchronize(behind),
                             nd_stream_create(at[0].d, NULL, &s),
                             nd_event_create(at[0].d, NULL, &e),
                             nd_full(at[0].d, ND_F32, 1, &n, nd_float(0), &r),
                             nd_full(cpu, ND_F32, 1, &n, nd_float(0), &r),
                             nd_copy(a, cpu, &r),
                             nd_assign(host, a),
                             nd_device_get("sim:1", &d),
                             nd_device_current(&d),
                             do_data()};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] != ND_ERR_STATE) {
            diag("S16 call %zu inside: %s", i, nd_status_name(all[i]));
            wrong_inside++;
        }
    ran_inside++;
}

static nd_status do_nothing(void)
{
    return ND_OK;
}

/* The function runs while the call waits, on a thread of the device or on this one. */
static void host_functions(void)
{
    static const struct {
        const char *name;
        nd_status (*wait)(void);
    } calls_around[] = {{"nd_stream_synchronize", do_stream},
                        {"nd_synchronize", do_device},
                        {"nd_event_synchronize", do_event},
                        {"nd_to_host", do_to_host},
                        {"an event of another plug-in", do_other_event},
                        {"nothing", do_nothing}};
    for (int mode = NDSIM_AUTO; mode <= NDSIM_STEPPED; mode++) {
        must(at[0].c->set_mode(at[0].dev, mode));
        for (size_t i = 0; i < sizeof calls_around / sizeof *calls_around; i++) {
            wrong_inside = ran_inside = 0;
            alarm(600);
            must(nd_stream_launch_host(stream, come_back, NULL));
            must(nd_event_record(behind, stream));
            must(calls_around[i].wait());
            must(nd_synchronize(at[0].d));
            alarm(0);
            ok(ran_inside == 1 && wrong_inside == 0,
               "S16 a host function may not call the library, during %s as well, %s",
               calls_around[i].name, mode == NDSIM_AUTO ? "on a thread" : "stepped");
        }
    }
    ran_inside = 0;
    nd_stream *s = NULL;
    must(nd_stream_default(cpu, &s));
    wrong_inside = 0;
    must(nd_stream_launch_host(s, come_back, NULL));
    ok(ran_inside == 1 && wrong_inside == 0, "S16 nor one on a stream of the CPU");
    must(nd_add_into(host, host, host));
    ok(1, "S16 afterwards the thread may");
}

static void let_go(void *ctx)
{
    nd_release(ctx);
    ran_inside++;
}

static int64_t live_bytes(void)
{
    nd_memory_stats stats = {.size = sizeof stats};
    must(nd_memory_stats_get(at[0].d, &stats));
    return stats.allocated_bytes.all.current;
}

/* Giving up a reference is no use of the device. */
static void releases_inside(void)
{
    nd_stream *other = new_stream(at[0].d);
    int64_t before = live_bytes();
    for (int mode = NDSIM_AUTO; mode <= NDSIM_STEPPED; mode++) {
        nd_array *lent = vector(at[0].d, 1000, 1);
        ran_inside = 0;
        must(at[0].c->set_mode(at[0].dev, mode));
        must(nd_record_stream(lent, other));
        alarm(600);
        must(nd_stream_launch_host(stream, let_go, lent));
        must(nd_synchronize(at[0].d));
        alarm(0);
        ok(ran_inside == 1 && live_bytes() == before, "S16 a host function may release arrays, %s",
           mode == NDSIM_AUTO ? "on a thread" : "stepped");
    }
    must(nd_add_into(a, a, a));
    must(nd_synchronize(at[0].d));
    nd_stream_release(other);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"closed_list", closed_list},
                                     {"others", others_do_not_wait},
                                     {"memory", memory},
                                     {"modes", modes},
                                     {"warns", warns},
                                     {"nested", nested},
                                     {"per_thread", per_thread},
                                     {"slow", slow_things},
                                     {"host", host_functions},
                                     {"releases", releases_inside}};
    const int64_t four = 4;
    const nd_op_info info = {.op_class = ND_CLASS_UNARY,
                             .domain = ND_KIND_FLOAT,
                             .result = ND_RESULT_SAME,
                             .name = "watch_twice",
                             .doc = "twice its operand"};
    setenv("NDOCK_DEVICE", "cpu", 1);
    setenv("NDOCK_LAUNCH_BLOCKING", "0", 1);
    for (int i = 0; i < 2; i++)
        at[i] = open_sim(i);
    must(nd_device_get("cpu", &cpu));
    must(nd_fallback_set(ND_FALLBACK_ALLOW));
    must(nd_op_register(&info, twice, NULL, &twice_op));
    stream = new_stream(at[0].d);
    must(nd_stream_push(stream));
    must(nd_event_create(at[0].d, NULL, &behind));
    a = vector(at[0].d, 4, 0);
    host = vector(cpu, 4, 0);
    must(nd_empty_pinned(at[0].d, ND_F32, 1, &four, &pinned));
    must(nd_full(at[0].d, ND_BOOL, 1, &four, nd_bool(1), &mask));
    must(nd_synchronize(at[0].d));
    must(at[0].c->set_mode(at[0].dev, NDSIM_STEPPED));
    return tap_main(argc, argv, cases, (int)(sizeof cases / sizeof *cases));
}
