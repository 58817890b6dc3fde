/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What becomes of work that fails after its call has returned. Faults are planted in the simulated
 * device; the expected answers follow from where they were planted. */
#include <time.h>
#include "core/ops/ops.h"
#include "tests/stream/lab.h"

enum { OPS = 12, SOFT = 9999 };

static sim at[2];

static void set_modes(int32_t mode)
{
    for (int i = 0; i < 2; i++)
        must(at[i].c->set_mode(at[i].dev, mode));
}

static void run_all(sim s)
{
    uint64_t ran = 0;
    must(s.c->step(s.dev, NDSIM_ANY, 1 << 20, &ran));
}

/* ---- A4: how a fault may be seen ---- */
typedef struct {
    nd_stream *stream;
    nd_event *event; /* recorded behind the work */
    nd_array *a;     /* of one element */
} scene;

static nd_status by_device(scene *s)
{
    (void)s;
    return nd_synchronize(at[0].d);
}
static nd_status by_stream(scene *s)
{
    return nd_stream_synchronize(s->stream);
}
static nd_status by_event(scene *s)
{
    return nd_event_synchronize(s->event);
}
static nd_status by_stream_query(scene *s)
{
    int32_t done;
    run_all(at[0]);
    return nd_stream_query(s->stream, &done);
}
static nd_status by_event_query(scene *s)
{
    int32_t done;
    run_all(at[0]);
    return nd_event_query(s->event, &done);
}
static nd_status by_item(scene *s)
{
    nd_scalar v;
    return nd_item(s->a, &v);
}
static nd_status by_to_host(scene *s)
{
    float v;
    return nd_to_host(s->a, &v, sizeof v);
}
static nd_status by_copy(scene *s)
{
    nd_array *r = NULL;
    nd_device *cpu = NULL;
    must(nd_device_get("cpu", &cpu));
    nd_status status = nd_copy(s->a, cpu, &r);
    nd_release(r);
    return status;
}
/* The allocator asks about the stream first, for memory that it uses: it cannot tell anybody. */
static nd_status by_next_op(scene *s)
{
    nd_array *r = NULL;
    run_all(at[0]);
    nd_release(vector(at[0].d, 4000, 0));
    nd_status given_back = nd_memory_empty_cache(at[0].d);
    if (given_back != ND_OK)
        return given_back;
    nd_status status = nd_add(s->a, s->a, &r);
    nd_release(r);
    return status;
}

static const struct {
    const char *name, *op;
    nd_status (*see)(scene *);
} ways[] = {{"synchronize", "synchronize", by_device},
            {"stream_synchronize", "stream_synchronize", by_stream},
            {"event_synchronize", "event_synchronize", by_event},
            {"stream_query", "stream_query", by_stream_query},
            {"event_query", "event_query", by_event_query},
            {"item", "item", by_item},
            {"to_host", "to_host", by_to_host},
            {"copy to the host", "copy", by_copy},
            {"the next operation", "add", by_next_op}};
enum { WAYS = sizeof ways / sizeof *ways, NEXT_OP = WAYS - 1 };

static scene new_scene(void)
{
    scene s = {new_stream(at[0].d), NULL, NULL};
    must(nd_event_create(at[0].d, NULL, &s.event));
    must(nd_stream_push(s.stream));
    s.a = vector(at[0].d, 1, 1);
    must(nd_stream_synchronize(s.stream));
    return s;
}

static void end_scene(scene *s)
{
    must(nd_stream_pop(s->stream));
    nd_release(s->a);
    nd_event_release(s->event);
    nd_stream_release(s->stream);
}

/* n operations, tagged "step 1" ...; some negate, so that names differ. */
static void queue_steps(scene *s, int from, int to)
{
    for (int i = from; i <= to; i++) {
        char tag[32];
        snprintf(tag, sizeof tag, "step %d", i);
        must(nd_tag_push(tag));
        must(i % 3 ? nd_add_into(s->a, s->a, s->a) : nd_negative_into(s->a, s->a));
        must(nd_tag_pop());
    }
}

/* Position of step k in the thread's window, with its right name; -1. */
static int position(int k)
{
    nd_op_note note[64];
    int32_t n = 0;
    char tag[32];
    snprintf(tag, sizeof tag, "step %d", k);
    must(nd_fault_window(note, 64, &n));
    for (int i = 0; i < n; i++)
        if (strcmp(note[i].tag, tag) == 0)
            return strcmp(note[i].name, k % 3 ? "add" : "negative") == 0 && note[i].ndim == 1 &&
                           note[i].shape[0] == 1 && note[i].dtype == ND_F32
                       ? i
                       : -1;
    return -1;
}

static int window_size(void)
{
    int32_t n = -1;
    must(nd_fault_window(NULL, 0, &n));
    return n;
}

static int told_well(const scene *s, nd_status status, int k, int way)
{
    const nd_error *e = nd_last_error();
    char id[32];
    snprintf(id, sizeof id, "stream %llu of sim:0", (unsigned long long)nd_stream_id(s->stream));
    int good = status == ND_ERR_ASYNC && e->status == ND_ERR_ASYNC && e->native == SOFT + k &&
               strcmp(e->device, "sim:0") == 0 && strcmp(e->plugin, "sim") == 0 &&
               strcmp(e->op, ways[way].op) == 0 && strstr(e->message, id) && position(k) >= 0;
    if (!good)
        diag("k = %d: %s, native %lld, device \"%s\", op \"%s\", %s, position %d", k,
             nd_status_name(status), (long long)e->native, e->device, e->op, e->message,
             position(k));
    return good;
}

/* The fault is at step k of OPS. */
static int plant_and_see(int k, int way)
{
    scene s = new_scene();
    nd_array *used = NULL;
    if (way == NEXT_OP) { /* memory of another stream that this one uses, freed */
        nd_stream *home = NULL;
        must(nd_stream_default(at[0].d, &home));
        must(nd_stream_push(home));
        used = vector(at[0].d, 4000, 1);
        must(nd_stream_synchronize(home));
        must(nd_stream_pop(home));
    }
    set_modes(NDSIM_STEPPED);
    must(at[0].c->fault(at[0].dev, native(s.stream), (uint64_t)k, SOFT + k, 0));
    queue_steps(&s, 1, OPS);
    if (used)
        must(nd_record_use(used, s.stream));
    nd_release(used);
    must(nd_event_record(s.event, s.stream));
    nd_status status = ways[way].see(&s);
    int good = told_well(&s, status, k, way);
    int n = window_size();
    if (n > OPS + 2) { /* the next operation and the one that made it ask */
        diag("k = %d: %d suspects of %d operations", k, n, OPS);
        good = 0;
    }
    set_modes(NDSIM_AUTO);
    if (nd_synchronize(at[0].d) != ND_OK || nd_stream_synchronize(s.stream) != ND_OK) {
        diag("k = %d: told twice: %s", k, nd_last_error()->message);
        good = 0;
    }
    end_scene(&s);
    return good;
}

static void seen_once(void)
{
    for (int way = 0; way < WAYS; way++) {
        int good = 0;
        for (int k = 1; k <= OPS; k++)
            good += plant_and_see(k, way);
        is_int(good, OPS, "A4 a fault at any k comes once, with all detail and k in the window");
        diag("seen by %s", ways[way].name);
    }
}

static void window_begins_at_good(void)
{
    scene s = new_scene();
    queue_steps(&s, 1, 5);
    must(nd_stream_synchronize(s.stream));
    must(at[0].c->fault(at[0].dev, native(s.stream), 3, SOFT, 0));
    queue_steps(&s, 6, 9);
    is_int(nd_stream_synchronize(s.stream), ND_ERR_ASYNC, "A4 a fault after a good point");
    ok(position(5) < 0 && position(6) == 0 && position(8) == 2 && position(9) == 3,
       "A4 the window begins after it, oldest first");
    queue_steps(&s, 10, 11);
    must(nd_event_record(s.event, s.stream));
    queue_steps(&s, 12, 12);
    must(nd_event_synchronize(s.event));
    must(at[0].c->fault(at[0].dev, native(s.stream), 1, SOFT, 0));
    queue_steps(&s, 13, 13);
    is_int(nd_stream_synchronize(s.stream), ND_ERR_ASYNC, "A4 an event is a good point as well");
    ok(position(11) < 0 && position(12) == 0 && position(13) == 1, "A4 as far as it reaches");
    int32_t over = 0;
    queue_steps(&s, 14, 15);
    while (!over)
        must(nd_stream_query(s.stream, &over));
    must(at[0].c->fault(at[0].dev, native(s.stream), 1, SOFT, 0));
    queue_steps(&s, 16, 16);
    is_int(nd_stream_synchronize(s.stream), ND_ERR_ASYNC, "A4 so is a query that finds all done");
    ok(position(15) < 0 && position(16) == 0, "A4 the window begins after it");
    end_scene(&s);
}

/* A query that sees the first fault says nothing of what is still queued. */
static void two_faults(void)
{
    scene s = new_scene();
    int32_t done = 1;
    uint64_t ran;
    set_modes(NDSIM_STEPPED);
    must(at[0].c->fault(at[0].dev, native(s.stream), 2, SOFT, 0));
    must(at[0].c->fault(at[0].dev, native(s.stream), 5, SOFT + 1, 0));
    queue_steps(&s, 1, 6);
    must(at[0].c->step(at[0].dev, native(s.stream), 3, &ran));
    ok(nd_stream_query(s.stream, &done) == ND_ERR_ASYNC && position(2) >= 0, "A4 the first fault");
    ok(nd_stream_synchronize(s.stream) == ND_ERR_ASYNC && nd_last_error()->native == SOFT + 1 &&
           position(5) >= 0,
       "A4 the second one, whose window holds it although a fault was told since it was queued");
    set_modes(NDSIM_AUTO);
    must(nd_stream_synchronize(s.stream));
    end_scene(&s);
}

/* The allocator met a fault and kept it; the first to be told is another one, which came later. */
static void kept_behind_another(void)
{
    scene s = new_scene();
    nd_stream *home = NULL;
    uint64_t ran;
    must(nd_stream_default(at[0].d, &home));
    must(nd_stream_push(home));
    nd_array *used = vector(at[0].d, 4000, 1);
    must(nd_stream_synchronize(home));
    must(nd_stream_pop(home));
    set_modes(NDSIM_STEPPED);
    must(at[0].c->fault(at[0].dev, native(s.stream), 2, SOFT, 0));
    must(at[0].c->fault(at[0].dev, native(s.stream), 6, SOFT + 1, 0));
    queue_steps(&s, 1, 3);
    must(nd_record_stream(used, s.stream));
    nd_release(used); /* behind step 3 */
    queue_steps(&s, 4, 6);
    must(at[0].c->step(at[0].dev, native(s.stream), 4, &ran));
    is_int(nd_memory_empty_cache(at[0].d), ND_OK,
           "A4 the allocator meets the first, and tells nobody");
    is_int(nd_stream_synchronize(s.stream), ND_ERR_ASYNC, "A4 the later fault is told");
    const int64_t first = nd_last_error()->native;
    is_int(nd_stream_synchronize(s.stream), ND_ERR_ASYNC, "A4 and the one that was kept");
    const int64_t second = nd_last_error()->native;
    is_int(first + second, 2 * SOFT + 1, "A4 each once");
    ok(position(2) >= 0,
       "A4 a fault that was kept has its suspects, though another was told first");
    set_modes(NDSIM_AUTO);
    is_int(nd_stream_synchronize(s.stream), ND_OK, "A4 then there is nothing to tell");
    end_scene(&s);
}

static void ring(void)
{
    scene s = new_scene();
    must(at[0].c->fault(at[0].dev, native(s.stream), 150, SOFT, 0));
    queue_steps(&s, 1, 200);
    is_int(nd_stream_synchronize(s.stream), ND_ERR_ASYNC, "A5 a fault among 200");
    is_int(window_size(), 64, "A5 the latest 64 are known");
    ok(position(137) == 0 && position(150) == 13 && position(200) == 63, "A5 those, in order");
    nd_op_note all[64], two[2];
    int32_t n = 0, right = 0;
    must(nd_fault_window(all, 64, &n));
    for (int i = 0; i < 64; i++)
        right += all[i].seq == all[0].seq + (uint64_t)i && all[i].ndim == 1 &&
                 all[i].shape[0] == 1 && all[i].dtype == ND_F32 && position(137 + i) == i;
    is_int(right, 64, "A5 each with its name, dtype, shape, tag and number on the stream");
    must(nd_fault_window(two, 2, &n));
    ok(n == 64 && strcmp(two[1].tag, "step 138") == 0, "A5 a short buffer gets the first ones");
    end_scene(&s);
}

/* A launch that the plug-in itself refuses with an earlier fault. */
static void at_launch(void)
{
    scene s = new_scene();
    must(at[0].c->fail_call(at[0].dev, "run", 3, NDP_ERR_ASYNC, SOFT));
    queue_steps(&s, 1, 2);
    is_int(nd_add_into(s.a, s.a, s.a), ND_ERR_ASYNC, "A4 a plug-in may tell at the next launch");
    ok(position(1) >= 0 && position(2) >= 0 && nd_last_error()->native == SOFT,
       "A4 with the window");
    is_int(nd_stream_synchronize(s.stream), ND_OK, "A4 once");
    end_scene(&s);
}

/* ---- A5 ---- */
static double queue_some(nd_stream *s, int n)
{
    struct timespec begin, end;
    const int64_t shape[2] = {3, 4};
    const ndp_view like = {.shape = shape, .ndim = 2, .dtype = ND_F32};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < n; i++)
        if (nd__queue_begin(s, "add", &like) == ND_OK)
            must(nd__queue_end(s, "add", ND_OK));
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / n;
}

static double lock_some(int n)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < n; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / n;
}

/* The best of many short runs, since the machine has other work. */
static void cost(void)
{
    nd_stream *s = new_stream(at[0].d);
    double plain = 1e9, tagged = 1e9, lock = 1e9;
    for (int i = 0; i < 200; i++) {
        double ns = queue_some(s, 1000);
        plain = ns < plain ? ns : plain;
        ns = lock_some(1000);
        lock = ns < lock ? ns : lock;
        must(nd_tag_push("a label"));
        ns = queue_some(s, 1000);
        must(nd_tag_pop());
        tagged = ns < tagged ? ns : tagged;
    }
    diag("A5 queueing an operation costs %.1f ns beside the plug-in, %.1f with a tag; %.1f of that "
         "is the lock",
         plain, tagged, lock);
    ok(plain < 2000, "A5 the record of an operation costs little");
    must(nd_stream_synchronize(s));
    nd_stream_release(s);
}

/* ---- A3 ---- */
static void launch_blocking(void)
{
    scene s = new_scene();
    int wrong = 0;
    nd_launch_blocking_set(1);
    for (int k = 1; k <= 5; k++) {
        must(at[0].c->fault(at[0].dev, native(s.stream), (uint64_t)k, SOFT, 0));
        for (int i = 1; i <= 6; i++) {
            nd_status status = nd_add_into(s.a, s.a, s.a);
            wrong += status != (i == k ? ND_ERR_ASYNC : ND_OK);
            if (i == k)
                wrong += window_size() != 1;
        }
    }
    nd_launch_blocking_set(0);
    is_int(wrong, 0, "A3 with launch blocking the faulty operation reports it, alone suspected");
    is_int(nd_stream_synchronize(s.stream), ND_OK, "A3 and nobody else");
    end_scene(&s);
}

static int warnings;
static void count_warnings(void *ctx, int32_t level, const char *text)
{
    (void)ctx;
    warnings += level == ND_LOG_WARN && strstr(text, "NDOCK_LAUNCH_BLOCKING");
}

static void launch_blocking_in_capture(void)
{
    scene s = new_scene();
    nd_captured *graph = NULL;
    must(nd__capture_begin(s.stream, NDP_CAPTURE_RELAXED));
    nd_launch_blocking_set(1);
    nd_log_set(count_warnings, NULL, ND_LOG_WARN);
    queue_steps(&s, 1, 4);
    nd_log_set(NULL, NULL, 0);
    nd_launch_blocking_set(0);
    must(nd__capture_end(s.stream, &graph));
    is_int(warnings, 1, "A3 inside a capture it is ignored, with one warning");
    nd__captured_free(graph);
    end_scene(&s);
}

/* ---- A14 ---- */
static void tags(void)
{
    scene s = new_scene();
    char text[80];
    nd_op_note note[64];
    int32_t n = 0;
    memset(text, 'x', sizeof text);
    text[79] = 0;
    is_int(nd_tag_pop(), ND_ERR_STATE, "A14 pop without push is refused");
    is_int(nd_tag_push(NULL), ND_ERR_ARGUMENT, "A14 no text is refused");
    must(at[0].c->fault(at[0].dev, native(s.stream), 1, SOFT, 0));
    must(nd_tag_push("outer"));
    must(nd_add_into(s.a, s.a, s.a));
    must(nd_tag_push(text));
    text[0] = 'y'; /* it was copied */
    must(nd_add_into(s.a, s.a, s.a));
    must(nd_tag_pop());
    must(nd_add_into(s.a, s.a, s.a));
    must(nd_tag_pop());
    must(nd_add_into(s.a, s.a, s.a));
    is_int(nd_stream_synchronize(s.stream), ND_ERR_ASYNC, "A14 a fault among tagged operations");
    has_text(nd_last_error()->message, "\"outer\"", "A14 its text has the tags");
    must(nd_fault_window(note, 64, &n));
    ok(n == 4 && strcmp(note[0].tag, "outer") == 0 && strlen(note[1].tag) == 63 &&
           note[1].tag[0] == 'x' && strcmp(note[2].tag, "outer") == 0 && note[3].tag[0] == 0,
       "A14 tags nest, are copied and cut to 63 bytes");
    end_scene(&s);
}

/* ---- A16 ---- */
static void all_streams(void)
{
    const void *table = NULL;
    ndp_dev *dev = NULL;
    ndp_stream *raw = NULL;
    nd_stream *s[3] = {new_stream(at[0].d), new_stream(at[0].d), NULL};
    uint64_t left = 1;
    must(nd_device_group(at[0].d, "ndp.stream/1", &table, &dev));
    const ndp_stream_1 *streams = table;
    must(streams->create(dev, 0, 0, &raw));
    must(nd_stream_wrap(at[0].d, (uint64_t)(uintptr_t)raw, NULL, NULL, &s[2]));
    nd_array *a[3];
    set_modes(NDSIM_STEPPED);
    for (int i = 0; i < 3; i++) {
        must(nd_stream_push(s[i]));
        a[i] = vector(at[0].d, 4, i);
        must(nd_stream_pop(s[i]));
    }
    is_int(nd_synchronize(at[0].d), ND_OK, "A16 nd_synchronize");
    must(at[0].c->pending(at[0].dev, NDSIM_ANY, &left));
    is_int(left, 0, "A16 waits for all streams, a wrapped one included");
    for (int i = 0; i < 3; i++) {
        must(at[0].c->fault(at[0].dev, native(s[i]), 1, SOFT + i, 0));
        must(nd_stream_push(s[i]));
        must(nd_add_into(a[i], a[i], a[i]));
        must(nd_stream_pop(s[i]));
    }
    int seen = 0;
    for (int i = 0; i < 3; i++) {
        nd_status status = nd_synchronize(at[0].d);
        int64_t native = nd_last_error()->native;
        if (status == ND_ERR_ASYNC && native >= SOFT && native < SOFT + 3 && window_size() == 1)
            seen |= 1 << (native - SOFT);
        if (i == 0)
            must(at[0].c->pending(at[0].dev, NDSIM_ANY, &left));
    }
    is_int(left, 0, "A16 it waits for all of them although one failed");
    is_int(seen, 7, "A16 every stream's fault is told, one a call");
    is_int(nd_synchronize(at[0].d), ND_OK, "A16 and then it is well");
    set_modes(NDSIM_AUTO);
    for (int i = 0; i < 3; i++) {
        nd_release(a[i]);
        nd_stream_release(s[i]);
    }
    must(nd_synchronize(at[0].d));
    streams->destroy(dev, raw);
}

/* ---- X9 ---- */
static void in_destructors(void)
{
    scene s = new_scene();
    void *address = NULL;
    const int64_t four = 4;
    nd_array *owner = vector(at[0].d, 4, 1), *foreign = NULL;
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = &four};
    must(nd_data(owner, &address));
    must(nd_wrap(&layout, address, at[0].d, NULL, NULL, &foreign));
    must(nd_fill(foreign, nd_float(1)));
    must(at[0].c->fault(at[0].dev, native(s.stream), 2, SOFT, 0));
    queue_steps(&s, 1, 3);
    nd_release(foreign); /* waits for the stream that used it, and sees the fault */
    ok(nd_add_into(s.a, s.a, s.a) == ND_ERR_ASYNC && nd_last_error()->native == SOFT &&
           position(2) >= 0,
       "X9 a fault that a release saw is returned by the next call");
    is_int(nd_stream_synchronize(s.stream), ND_OK, "X9 once");
    nd_release(owner);
    end_scene(&s);
}

/* ---- A9 ---- */
typedef struct {
    int number, wrong;
} worker;

static void *own_errors(void *arg)
{
    worker *w = arg;
    char name[32];
    nd_device *d = NULL;
    nd_stream *s = new_stream(at[0].d);
    must(nd_stream_set_current(s));
    nd_array *a = vector(at[0].d, 4, 1);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "sim:%d", 1000 + w->number);
        w->wrong += nd_device_get(name, &d) != ND_ERR_DEVICE;
        w->wrong += !strstr(nd_last_error()->message, name);
        if (i % 10)
            continue;
        must(at[0].c->fault(at[0].dev, native(s), 1, 5000 + w->number, 0));
        must(nd_add_into(a, a, a));
        w->wrong += nd_stream_synchronize(s) != ND_ERR_ASYNC;
        w->wrong += nd_last_error()->native != 5000 + w->number;
    }
    nd_release(a);
    nd_stream_release(s);
    return NULL;
}

static void threads(void)
{
    pthread_t t[16];
    worker w[16];
    int wrong = 0;
    for (int i = 0; i < 16; i++) {
        w[i] = (worker){i, 0};
        pthread_create(&t[i], NULL, own_errors, &w[i]);
    }
    for (int i = 0; i < 16; i++) {
        pthread_join(t[i], NULL);
        wrong += w[i].wrong;
    }
    is_int(wrong, 0, "A9 sixteen threads have sixteen errors");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"seen_once", seen_once},
                                     {"kept_behind_another", kept_behind_another},
                                     {"good", window_begins_at_good},
                                     {"two", two_faults},
                                     {"ring", ring},
                                     {"at_launch", at_launch},
                                     {"cost", cost},
                                     {"launch_blocking", launch_blocking},
                                     {"in_capture", launch_blocking_in_capture},
                                     {"tags", tags},
                                     {"all_streams", all_streams},
                                     {"in_destructors", in_destructors},
                                     {"threads", threads}};
    setenv("NDOCK_DEVICE", "cpu", 1);
    for (int i = 0; i < 2; i++)
        at[i] = open_sim(i);
    return tap_main(argc, argv, cases, (int)(sizeof cases / sizeof *cases));
}
