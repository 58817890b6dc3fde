/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The current device, guards, mixed devices, copies between devices, and what a forked child may
 * do. */
#include <stdatomic.h>
#include <stdbool.h>
#include "tests/stream/lab.h"

static sim at[3];
static int right; /* of threads and children, which do not speak TAP */

static nd_device *current(void)
{
    nd_device *d = NULL;
    must(nd_device_current(&d));
    return d;
}

/* ---- D1 ---- */
static void *look_around(void *arg)
{
    nd_device *d = NULL, *named = NULL;
    (void)arg;
    right = nd_device_current(&d) == ND_OK && strcmp(nd_device_name(d), "cpu:0") == 0 &&
            nd_device_get("sim", &named) == ND_OK && named == at[0].d &&
            nd_device_set_current(at[1].d) == ND_OK && nd_device_get("sim", &named) == ND_OK &&
            named == at[1].d && nd_device_current(&d) == ND_OK && d == at[1].d;
    return NULL;
}

static void per_thread(void)
{
    nd_device *named = NULL;
    must(nd_device_set_current(at[2].d));
    in_thread(look_around, NULL);
    ok(right, "D1 a new thread starts on the default device, inherits nothing, and sets its own");
    must(nd_device_get("sim", &named));
    ok(current() == at[2].d && named == at[2].d,
       "D1 the first thread's current device is untouched, and \"sim\" means it there");
}

/* ---- D2 ---- */
static void guards(void)
{
    nd_stream *s = new_stream(at[1].d), *now = NULL;
    must(nd_device_set_current(at[0].d));
    must(nd_device_push(at[1].d));
    must(nd_device_push(NULL));
    ok(current() == at[1].d, "D2 pushing NULL changes nothing");
    must(nd_device_push(at[2].d));
    must(nd_stream_push(s));
    must(nd_stream_current(NULL, &now));
    ok(current() == at[1].d && now == s, "D2 guards nest: the latest push counts");
    nd_stream_release(now);
    is_int(nd_device_pop(at[1].d), ND_ERR_STATE, "D2 popping out of order is refused");
    has_text(nd_last_error()->message, "out of order", "D2 and says so");
    ok(current() == at[1].d, "D2 and changes nothing");
    must(nd_stream_pop(s));
    ok(current() == at[2].d, "D2 the device comes back");
    must(nd_stream_current(at[1].d, &now));
    ok(now != s, "D2 and so does its stream");
    nd_stream_release(now);
    must(nd_device_pop(at[2].d));
    must(nd_device_pop(NULL));
    must(nd_device_pop(at[1].d));
    ok(current() == at[0].d, "D2 all the way down");
    is_int(nd_device_pop(at[1].d), ND_ERR_STATE, "D2 popping what was not pushed is refused");
    nd_stream_release(s);
}

/* Calls that fail inside must leave the current device and stream as they were. */
static void guards_on_errors(void)
{
    nd_stream *s = new_stream(at[0].d), *other = new_stream(at[1].d), *now = NULL;
    nd_array *a = vector(at[0].d, 4, 1), *r = NULL;
    nd_array *there = vector(at[1].d, 4, 0);
    const nd_arg args[2] = {nd_array_arg(a), nd_array_arg(a)};
    nd_apply_opts opts = {.size = sizeof opts, .stream = other};
    must(nd_device_push(at[1].d));
    is_int(nd_apply(ND_OP_add, args, 2, &opts, &r), ND_ERR_DEVICE,
           "D2 a stream of another device is refused");
    opts.stream = s;
    const char *entries[3] = {"run", "alloc", "peer_copy"};
    for (int i = 0; i < 3; i++) {
        const nd_copy_opts copy = {.size = sizeof copy, .stream = s};
        if (i == 1)
            must(nd_memory_empty_cache(at[0].d));
        must(at[0].c->fail_call(at[0].dev, entries[i], 1, NDP_ERR_INTERNAL, 77));
        nd_array *big = NULL;
        const int64_t n = 9 << 20;
        nd_status status = i == 0   ? nd_apply(ND_OP_add, args, 2, &opts, &r)
                           : i == 1 ? nd_empty(at[0].d, ND_F32, 1, &n, &big)
                                    : nd_copy_to(a, there, &copy);
        must(at[0].c->clear_faults(at[0].dev));
        nd_release(big);
        must(nd_stream_current(at[0].d, &now));
        ok(status != ND_OK && now != s && current() == at[1].d,
           "D2 after a failed %s the current device and stream are as before", entries[i]);
        nd_stream_release(now);
    }
    must(nd_device_pop(at[1].d));
    nd_release(a);
    nd_release(there);
    nd_stream_release(s);
    nd_stream_release(other);
}

/* ---- D3 ---- */
static void where_arrays_live(void)
{
    nd_array *a = vector(at[1].d, 4, 3), *r = NULL;
    must(nd_device_set_current(at[0].d));
    must(at[0].c->log_clear(at[0].dev));
    must(nd_add(a, a, &r));
    ok(nd_device_of(r) == at[1].d && first_of(r) == 6,
       "D3 an operation runs where its inputs live, and so does its result");
    is_int(calls(at[0], NULL), 0, "D3 the current device is not asked for anything");
    nd_release(a);
    nd_release(r);
}

/* ---- D4 ---- */
static nd_array *indices_there;
typedef nd_status (*mixed_call)(nd_array *here, nd_array *there, nd_array **out);
static nd_status mix_add(nd_array *h, nd_array *t, nd_array **out)
{
    return nd_add(h, t, out);
}
static nd_status mix_into(nd_array *h, nd_array *t, nd_array **out)
{
    *out = NULL;
    return nd_add_into(h, h, t);
}
static nd_status mix_where(nd_array *h, nd_array *t, nd_array **out)
{
    return nd_where(h, h, t, out);
}
static nd_status mix_concat(nd_array *h, nd_array *t, nd_array **out)
{
    const nd_array *both[2] = {h, t};
    return nd_concat(2, both, 0, out);
}
static nd_status mix_matmul(nd_array *h, nd_array *t, nd_array **out)
{
    return nd_matmul(h, t, NULL, out);
}
static nd_status mix_take(nd_array *h, nd_array *t, nd_array **out)
{
    (void)t; /* floats are no indices */
    return nd_take(h, indices_there, 0, out);
}

static void mixed(void)
{
    static const struct {
        const char *op, *first, *second;
        mixed_call call;
    } table[] = {{"add", "argument 0", "argument 1", mix_add},
                 {"add", "sim:0", "sim:1", mix_into},
                 {"where", "argument 0", "argument 2", mix_where},
                 {"concat", "argument 0", "argument 1", mix_concat},
                 {"matmul", "argument 0", "argument 1", mix_matmul},
                 {"take", "argument 0", "argument 1", mix_take}};
    nd_array *here = vector(at[0].d, 4, 1), *there = vector(at[1].d, 4, 1), *r = NULL;
    const int64_t two = 2;
    must(nd_full(at[1].d, ND_I64, 1, &two, nd_int(0), &indices_there));
    must(at[0].c->log_clear(at[0].dev));
    must(at[1].c->log_clear(at[1].dev));
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        nd_status status = table[i].call(here, there, &r);
        const char *text = nd_last_error()->message;
        ok(status == ND_ERR_DEVICE && r == NULL && strstr(text, table[i].op) &&
               strstr(text, table[i].first) && strstr(text, table[i].second) &&
               strstr(text, "sim:0") && strstr(text, "sim:1"),
           "D4 %s of two devices is refused: %s", table[i].op, text);
    }
    is_int(calls(at[0], NULL) + calls(at[1], NULL), 0, "D4 before anything is enqueued");
    nd_release(indices_there);
    nd_release(here);
    nd_release(there);
}

static void exempt(void)
{
    nd_device *cpu = NULL;
    must(nd_device_get("cpu", &cpu));
    nd_array *here = vector(at[0].d, 4, 1), *there = vector(at[1].d, 4, 2), *r = NULL;
    nd_array *zero_dim = NULL;
    must(nd_full(cpu, ND_F32, 0, NULL, nd_float(5), &zero_dim));
    ok(nd_assign(here, there) == ND_OK && first_of(there) == 1, "D4 exempt: assign");
    ok(nd_to_device(here, at[2].d, &r) == ND_OK && nd_device_of(r) == at[2].d && first_of(r) == 1,
       "D4 exempt: to_device");
    nd_release(r);
    r = NULL;
    ok(nd_copy(here, cpu, &r) == ND_OK && first_of(r) == 1, "D4 exempt: copy");
    nd_release(r);
    r = NULL;
    ok(nd_add(here, zero_dim, &r) == ND_OK && nd_device_of(r) == at[0].d && first_of(r) == 6,
       "D4 exempt: a zero-dimensional array of the host");
    nd_release(r);
    r = NULL;
    ok(nd_subtract(zero_dim, here, &r) == ND_OK && nd_device_of(r) == at[0].d && first_of(r) == 4,
       "D4 on either side");
    nd_release(r);
    nd_release(here);
    nd_release(there);
    nd_release(zero_dim);
}

/* ---- D5 ---- */
static void out_of_range(void)
{
    nd_device *d = NULL;
    is_int(nd_device_get("sim:9", &d), ND_ERR_DEVICE, "D5 an index out of range is an error");
    has_text(nd_last_error()->message, "sim:0 to sim:3", "D5 that states the valid range");
    is_int(nd_device_get("sim:4", &d), ND_ERR_DEVICE, "D5 one past the last as well");
}

/* ---- D11 ---- */
typedef struct {
    nd_array *on_device, *on_host;
    nd_stream *stream;
    nd_event *event;
} inherited;

static int child_is_refused(const inherited *had)
{
    nd_array *r = NULL;
    nd_stream *s = NULL;
    nd_event *e = NULL;
    nd_scalar v;
    int32_t done;
    const int64_t n = 4;
    const nd_status all[] = {nd_add(had->on_device, had->on_device, &r),
                             nd_add_into(had->on_device, had->on_device, had->on_device),
                             nd_item(had->on_device, &v) == ND_ERR_SHAPE ? ND_ERR_FORKED : ND_OK,
                             nd_synchronize(at[0].d),
                             nd_stream_synchronize(had->stream),
                             nd_stream_query(had->stream, &done),
                             nd_event_query(had->event, &done),
                             nd_event_synchronize(had->event),
                             nd_event_record(had->event, had->stream),
                             nd_stream_wait_event(had->stream, had->event),
                             nd_stream_create(at[0].d, NULL, &s),
                             nd_event_create(at[0].d, NULL, &e),
                             nd_full(at[0].d, ND_F32, 1, &n, nd_float(0), &r),
                             nd_copy(had->on_device, NULL, &r),
                             nd_assign(had->on_host, had->on_device)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] != ND_ERR_FORKED) {
            fprintf(stderr, "# call %zu in the child: %s\n", i, nd_status_name(all[i]));
            return 0;
        }
    return nd_full(at[0].d, ND_F32, 1, &n, nd_float(0), &r) == ND_ERR_FORKED &&
           strstr(nd_last_error()->message, "spawn") != NULL;
}

static int host_arrays_work(const nd_array *a)
{
    nd_array *r = NULL;
    const int64_t large = 300000;
    int good = nd_empty(nd_device_of(a), ND_F32, 1, &large, &r) == ND_OK;
    nd_release(r);
    r = NULL;
    for (int i = 0; i < 100 && good; i++) {
        good = nd_add(a, a, &r) == ND_OK && first_of(r) == 14;
        nd_release(r);
        r = NULL;
    }
    return good;
}

static int fork_child(void *arg)
{
    inherited *had = arg;
    uint64_t before = 0, after = 0;
    (void)at[0].c->log_count(at[0].dev, NULL, &before);
    if (!child_is_refused(had))
        return 1;
    nd_release(had->on_device);
    nd_stream_release(had->stream);
    nd_event_release(had->event);
    (void)at[0].c->log_count(at[0].dev, NULL, &after);
    if (before != after)
        return 2; /* the plug-in was touched */
    if (!host_arrays_work(had->on_host))
        return 3;
    return 0;
}

static atomic_int churning;
static void *churn(void *arg)
{
    nd_device *d = arg;
    const int64_t n = 100, large = 300000; /* beyond what a thread keeps for itself */
    while (churning) {
        nd_array *a = NULL, *b = NULL, *c = NULL;
        for (int i = 0; i < 50 && nd_empty(d, ND_F32, 1, &large, &c) == ND_OK; i++)
            nd_release(c);
        if (nd_full(d, ND_F32, 1, &n, nd_float(1), &a) == ND_OK && nd_add(a, a, &b) == ND_OK)
            nd_release(b);
        nd_release(a);
    }
    return NULL;
}

static void forks(void)
{
    nd_device *cpu = NULL;
    pthread_t t[3];
    must(nd_device_get("cpu", &cpu));
    inherited had = {vector(at[0].d, 4, 7), vector(cpu, 4, 7), new_stream(at[0].d), NULL};
    must(nd_event_create(at[0].d, NULL, &had.event));
    must(nd_event_record(had.event, had.stream));
    nd_release(vector(at[0].d, 1000, 1)); /* cached memory */
    is_int(in_child(fork_child, &had), 0,
           "D11 a child is told FORKED, its frees are silent, host arrays work");
    churning = 1;
    nd_device *busy[3] = {cpu, at[0].d, at[1].d};
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, churn, busy[i]);
    const int children = getenv("NDOCK_TEST_SLICE") ? 6 : 30;
    int bad = 0;
    for (int i = 0; i < children && !bad; i++)
        bad = in_child(fork_child, &had);
    churning = 0;
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    ok(bad == 0, "D11 so it is in %d children forked while threads allocate and queue", children);
    ok(first_of(had.on_device) == 7 && nd_synchronize(at[0].d) == ND_OK,
       "D11 the parent's device goes on");
    nd_release(had.on_device);
    nd_release(had.on_host);
    nd_stream_release(had.stream);
    nd_event_release(had.event);
}

/* ---- D15 ---- */
static uint64_t pending(sim s, nd_stream *stream)
{
    uint64_t n = 0;
    must(s.c->pending(s.dev, native(stream), &n));
    return n;
}

static uint64_t step(sim s)
{
    uint64_t ran = 0;
    must(s.c->step(s.dev, NDSIM_ANY, 1000, &ran));
    return ran;
}

/* (2, 3) of f32: 10 where it is written late. */
static nd_array *matrix(sim s, nd_dtype dtype, double value)
{
    const int64_t shape[2] = {2, 3};
    nd_array *a = NULL;
    must(nd_full(s.d, dtype, 2, shape, nd_float(value), &a));
    return a;
}

typedef struct {
    const char *what;
    bool turned, converted;
} crossing;

/* Late writes before it on the source, late reads before it on the destination: whichever device
 * runs first, the copy lies between them. */
static void cross(const crossing *how)
{
    nd_stream *s = new_stream(at[0].d), *d = new_stream(at[1].d);
    nd_array *src = matrix(at[0], ND_F32, 1),
             *dst = matrix(at[1], how->converted ? ND_F64 : ND_F32, 2);
    nd_array *from = NULL, *to = NULL, *before = NULL, *after = NULL;
    double was[6] = {0}, is[6] = {0};
    float was4[6] = {0}, is4[6] = {0};
    must(how->turned ? nd_transpose(src, &from) : nd_compact(src, &from));
    must(how->turned ? nd_transpose(dst, &to) : nd_compact(dst, &to));
    must(nd_synchronize(at[0].d));
    must(nd_synchronize(at[1].d));
    must(at[0].c->set_checker(at[0].dev, 1));
    for (int i = 0; i < 2; i++)
        must(at[i].c->set_mode(at[i].dev, NDSIM_STEPPED));
    must(nd_stream_push(s));
    must(nd_stream_push(d));
    must(nd_fill(src, nd_float(10)));  /* the copy must see it */
    must(nd_copy(dst, NULL, &before)); /* the copy must not be seen by it */
    must(nd_assign(from, to));
    must(nd_copy(dst, NULL, &after));
    uint64_t first = step(at[0]);
    ok(first > 0 && pending(at[0], s) > 0,
       "D15 %s: the source's stream stops before the copy, for the destination's", how->what);
    (void)step(at[1]);
    ok(pending(at[1], d) > 0, "D15 %s: the destination's stops after, for the copy", how->what);
    for (int i = 0; i < 2; i++)
        must(at[i].c->set_mode(at[i].dev, NDSIM_AUTO));
    if (how->converted) {
        must(nd_to_host(before, was, sizeof was));
        must(nd_to_host(after, is, sizeof is));
    } else {
        must(nd_to_host(before, was4, sizeof was4));
        must(nd_to_host(after, is4, sizeof is4));
    }
    int good = 1;
    for (int i = 0; i < 6; i++)
        good &= how->converted ? was[i] == 2 && is[i] == 10 : was4[i] == 2 && is4[i] == 10;
    ok(good, "D15 %s: earlier reads see the old values, later ones the new", how->what);
    is_int(races(at[0]), 0, "D15 and the checker finds both edges");
    must(nd_stream_pop(d));
    must(nd_stream_pop(s));
    must(at[0].c->set_checker(at[0].dev, 0));
    nd_array *all[6] = {src, dst, from, to, before, after};
    for (int i = 0; i < 6; i++)
        nd_release(all[i]);
    nd_stream_release(s);
    nd_stream_release(d);
}

static void crossings(void)
{
    static const crossing all[] = {{"dense", false, false},
                                   {"not contiguous", true, false},
                                   {"converted", false, true},
                                   {"not contiguous and converted", true, true}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cross(&all[i]);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"per_thread", per_thread},
                                     {"guards", guards},
                                     {"guards_on_errors", guards_on_errors},
                                     {"where", where_arrays_live},
                                     {"mixed", mixed},
                                     {"exempt", exempt},
                                     {"out_of_range", out_of_range},
                                     {"crossings", crossings},
                                     {"forks", forks}};
    setenv("NDOCK_DEVICE", "cpu", 1);
    setenv("NDOCK_SIM_DEVICES", "4", 1);
    for (int i = 0; i < 3; i++)
        at[i] = open_sim(i);
    return tap_main(argc, argv, cases, (int)(sizeof cases / sizeof *cases));
}
