/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams: which is current, that none is another, waiting for each other, and their end. */
#include <pthread.h>
#include "tests/stream/harness.h"

/* ---- S1, S2 ---- */
static void *look_around(void *out)
{
    ((nd_stream **)out)[0] = current_stream(0);
    ((nd_stream **)out)[1] = current_stream(1);
    return NULL;
}

static void test_current(void)
{
    nd_stream *s = new_stream(0), *seen[2];
    pthread_t t;
    ok(current_stream(0) == default_stream(0), "S1: a thread starts on the default stream");
    DO(nd_stream_set_current(s));
    ok(current_stream(0) == s, "S1: the current stream is the one set");
    ok(current_stream(1) == default_stream(1), "S1: of that device alone");
    pthread_create(&t, NULL, look_around, seen);
    pthread_join(t, NULL);
    ok(seen[0] == default_stream(0) && seen[1] == default_stream(1),
       "S1: a new thread does not inherit it");
    control->log_clear(dev[0]);
    nd_array *a = filled(sim[0], 8, 1);
    is_int(pending(0, s), 1, "S1: operations are queued on the current stream");
    nd_release(a);
    DO(nd_stream_set_current(default_stream(0)));
    nd_stream_release(s);
    settle();
}

static nd_device *current_device(void)
{
    nd_device *d = NULL;
    DO(nd_device_current(&d));
    return d;
}

static void test_guards(void)
{
    nd_stream *s0 = new_stream(0), *s1 = new_stream(1), *t1 = new_stream(1);
    DO(nd_stream_push(s1));
    ok(current_device() == sim[1] && current_stream(1) == s1,
       "S2: pushing a stream of another device makes both current");
    ok(current_stream(0) == default_stream(0), "S2: and leaves the first device's alone");
    DO(nd_stream_push(t1));
    DO(nd_stream_push(s0));
    ok(current_device() == sim[0] && current_stream(0) == s0 && current_stream(1) == t1,
       "S2: guards nest");
    is_int(nd_stream_pop(s1), ND_ERR_STATE, "S2: popping out of order is refused");
    ok(current_stream(0) == s0, "S2: and changes nothing");
    DO(nd_stream_pop(s0));
    ok(current_device() == sim[1] && current_stream(0) == default_stream(0), "S2: pop restores");
    DO(nd_stream_pop(t1));
    ok(current_stream(1) == s1, "S2: the stream before");
    DO(nd_stream_pop(s1));
    ok(current_device() == sim[0] && current_stream(1) == default_stream(1),
       "S2: in the end both are as before");
    is_int(nd_stream_pop(s1), ND_ERR_STATE, "S2: nothing is left to pop");
    DO(nd_stream_push(NULL));
    DO(nd_stream_set_current(s0));
    DO(nd_stream_pop(NULL));
    ok(current_device() == sim[0], "S2: NULL pushes what is current");
    DO(nd_stream_set_current(default_stream(0)));
    nd_stream_release(s0);
    nd_stream_release(s1);
    nd_stream_release(t1);
}

/* ---- S3, S8 ---- */
static void test_distinct(void)
{
    enum { N = 100 };
    nd_stream *s[N];
    int same = 0;
    for (int i = 0; i < N; i++)
        s[i] = new_stream(0);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++)
            same += s[i] == s[j] || nd_stream_id(s[i]) == nd_stream_id(s[j]) ||
                    handle_of(s[i]) == handle_of(s[j]);
    is_int(same, 0, "S3: 100 streams are 100 different ones");
    uint64_t old = nd_stream_id(s[0]);
    ndp_stream *handle = handle_of(s[0]);
    nd_stream_release(s[0]);
    s[0] = new_stream(0);
    ok(handle_of(s[0]) == handle, "S8: the plug-in hands the handle out again at once");
    ok(nd_stream_id(s[0]) > old, "S8: the id is new all the same");
    for (int i = 0; i < N; i++)
        nd_stream_release(s[i]);
    settle();
}

/* A block freed on a destroyed stream is not the new stream's own, though the handle is the same:
 * it comes with a wait. */
static void test_stale_keys(void)
{
    nd_stream *s = new_stream(0);
    ndp_stream *handle = handle_of(s);
    check_on();
    DO(nd_stream_push(s));
    nd_array *a = filled(sim[0], 256, 1);
    nd_release(a);
    DO(nd_stream_pop(s));
    nd_stream_release(s); /* a's fill is still queued */
    nd_stream *t = new_stream(0);
    ok(handle_of(t) == handle, "S8: a new stream with the old handle");
    control->log_clear(dev[0]);
    DO(nd_stream_push(t));
    nd_array *b = filled(sim[0], 256, 2);
    DO(nd_stream_pop(t));
    is_int(calls(0, "alloc"), 0, "S8: takes the block over");
    is_int(calls(0, "stream_wait"), 1, "S8: after a wait for the work of the old stream");
    ok(races() == 0, "S8: without a race");
    show_races();
    DO(nd_stream_push(t));
    ok(value_of(b) == 2, "S8: its own work comes last");
    DO(nd_stream_pop(t));
    nd_release(b);
    nd_stream_release(t);
    settle();
}

/* ---- S4, S5 ---- */
static void test_pools(void)
{
    nd_stream *a, *b, *c, *d;
    DO(nd_stream_pool_get(sim[0], 0, 3, &a));
    DO(nd_stream_pool_get(sim[0], 0, 3, &b));
    DO(nd_stream_pool_get(sim[0], 0, 4, &c));
    DO(nd_stream_pool_get(sim[0], -1, 3, &d));
    ok(a == b, "S4: one slot of the pool is one stream");
    ok(a != c && a != d, "S4: another slot, or priority, is another");
    is_int(nd_stream_priority(d), -1, "S4: the pool's streams have its priority");
    is_int(nd_stream_pool_get(sim[0], 0, ND_STREAM_POOL_SLOTS, &b), ND_ERR_ARGUMENT,
           "S4: a slot out of range is refused");
    ok(b == NULL, "S4: without a result");
    nd_stream *own = new_stream(0);
    ok(own != a && own != c && own != d, "S4: a stream of one's own is none of the pool's");
    uint64_t id = nd_stream_id(a);
    nd_stream_release(own);
    nd_stream_release(a);
    nd_stream_release(a);
    nd_stream_release(c);
    nd_stream_release(d);
    DO(nd_stream_pool_get(sim[0], 0, 3, &a));
    ok(nd_stream_id(a) == id, "S4: it lives without users");
    nd_stream_release(a);
}

static int32_t priority_given(int32_t asked)
{
    nd_stream *s = NULL;
    nd_stream_opts o = {.size = sizeof o, .priority = asked};
    DO(nd_stream_create(sim[0], &o, &s));
    int32_t p = nd_stream_priority(s);
    nd_stream_release(s);
    return p;
}

static void test_priorities(void)
{
    int32_t lowest, highest;
    DO(nd_stream_priority_range(sim[0], &lowest, &highest));
    ok(lowest == 0 && highest == -2, "S5: the range, lower numbers being higher");
    is_int(priority_given(-1), -1, "S5: a priority within");
    is_int(priority_given(-9), -2, "S5: one too high is clamped");
    is_int(priority_given(7), 0, "S5: one too low is clamped");
    DO(nd_stream_priority_range(cpu, &lowest, &highest));
    ok(lowest == 0 && highest == 0, "S5: a device without streams has one priority");
}

/* ---- S7 ---- */
static uint64_t host_waits(int d)
{
    return calls(d, "sync") + calls(d, "stream_sync") + calls(d, "event_sync") + calls(d, "read");
}

static void test_waiting(void)
{
    nd_stream *s = new_stream(0), *t = new_stream(0);
    nd_event *e = NULL;
    uint64_t waits[ND_WAIT_REASONS], sum = 0;
    DO(nd_event_create(sim[0], NULL, &e));
    DO(nd_stream_push(s));
    nd_array *a = filled(sim[0], 16, 1);
    control->log_clear(dev[0]);
    DO(nd_sync_watch_set(ND_SYNC_COUNT));
    nd_sync_watch_reset();
    DO(nd_event_record(e, s));
    DO(nd_stream_wait_event(t, e));
    DO(nd_stream_wait_stream(t, s));
    nd_sync_watch_counts(waits);
    for (int i = 0; i < ND_WAIT_REASONS; i++)
        sum += waits[i];
    is_int(host_waits(0), 0, "S7: record, wait_event and wait_stream ask the driver for no wait");
    is_int(sum, 0, "S7: and the sync watch sees none");
    is_int(pending(0, s), 3, "S7: nothing ran meanwhile: the fill and two records are queued");
    control->log_clear(dev[0]);
    DO(nd_stream_wait_stream(s, s));
    is_int(calls(0, NULL), 0, "S7: waiting for oneself calls nothing");
    DO(nd_fill(a, nd_float(2))); /* after wait_stream */
    DO(nd_stream_pop(s));
    is_int(step(0, t, 100), 0, "S7: the waiting stream cannot go on");
    is_int(step(0, s, 3), 3, "S7: until what was queued at the time");
    is_int(step(0, t, 100), 2, "S7: is done");
    is_int(pending(0, s), 1, "S7: later work is not waited for");
    is_int(nd_stream_wait_event(t, NULL), ND_ERR_ARGUMENT, "S7: no event is refused");
    is_int(nd_stream_wait_stream(NULL, s), ND_ERR_ARGUMENT, "S7: no stream is refused");
    DO(nd_sync_watch_set(ND_SYNC_OFF));
    nd_release(a);
    nd_event_release(e);
    nd_stream_release(s);
    nd_stream_release(t);
    settle();
}

/* ---- S9 ---- */
static int owner_told;
static void tell_owner(void *ctx)
{
    (void)ctx;
    owner_told++;
}

static void test_foreign(void)
{
    nd_stream *w = (nd_stream *)1, *owned = new_stream(0);
    uint64_t handle = 0;
    is_int(nd_stream_wrap(sim[0], 0, tell_owner, NULL, &w), ND_ERR_ARGUMENT,
           "S9: stream 0 is refused");
    ok(w == NULL, "S9: without a result");
    has_text(nd_last_error()->message, "1 for the legacy", "S9: with what to say instead");
    for (uint64_t i = 1; i <= 2; i++) {
        DO(nd_stream_wrap(sim[0], i, NULL, NULL, &w));
        ok(w != NULL, "S9: stream %d is accepted", (int)i);
        nd_stream_release(w);
    }
    is_int(owner_told, 0, "S9: a refused owner is not told anything");
    DO(nd_stream_native(owned, &handle));
    DO(nd_stream_wrap(sim[0], handle, tell_owner, NULL, &w));
    ok(nd_stream_id(w) != nd_stream_id(owned), "S9: a wrapped stream has an id of its own");
    nd_array *a = filled(sim[0], 64, 1);
    DO(nd_stream_wait_stream(w, default_stream(0)));
    DO(nd_record_stream(a, w));
    nd_stream_release(w);
    is_int(owner_told, 0, "S9: the owner keeps the stream while a block remembers it");
    nd_release(a);
    DO(nd_synchronize(sim[0]));
    a = vector(sim[0], 64); /* frees what is pending */
    is_int(owner_told, 1, "S9: and is told once the last such block is free");
    nd_release(a);
    nd_event *e = NULL;
    owner_told = 0;
    DO(nd_event_create(sim[0], NULL, &e));
    DO(nd_stream_wrap(sim[0], handle, tell_owner, NULL, &w));
    DO(nd_event_record(e, w));
    DO(nd_stream_synchronize(w));
    nd_stream_release(w);
    is_int(owner_told, 0, "S9: the owner keeps the stream while an event remembers it");
    DO(nd_event_record(e, default_stream(0)));
    is_int(owner_told, 1, "S9: and is told once the event is of another stream");
    nd_event_release(e);
    is_int(nd_stream_wrap(sim[1], handle, tell_owner, NULL, &w), ND_ERR_DEVICE,
           "S9: a stream of another device is refused");
    is_int(owner_told, 1, "S9: and stays its owner's");
    is_int(nd_stream_wrap(cpu, 5, tell_owner, NULL, &w), ND_ERR_UNSUPPORTED,
           "S9: the cpu has no streams of others");
    nd_stream_release(owned);
    settle();
}

/* ---- S11, A16 ---- */
static void test_end(void)
{
    nd_stream *s = new_stream(0);
    DO(nd_stream_push(s));
    nd_array *a = filled(sim[0], 300, 1), *b = filled(sim[0], 300, 2);
    nd_release(a);
    DO(nd_stream_pop(s));
    control->log_clear(dev[0]);
    nd_stream_release(s);
    is_int(host_waits(0), 0, "S11: destroying a stream with pending work waits for nothing");
    ok(pending(0, NULL) >= 2, "S11: the work is still queued");
    check_on();
    control->log_clear(dev[0]);
    nd_array *c = filled(sim[0], 300, 3);
    is_int(calls(0, "alloc"), 0, "S11: its cached block goes to whoever asks");
    is_int(calls(0, "stream_wait"), 1, "S11: gated by an event");
    is_int(races(), 0, "S11: without a race");
    DO(nd_synchronize(sim[0]));
    is_int(pending(0, NULL), 0, "A16: nd_synchronize waits for streams that are gone, too");
    nd_release(b); /* after its stream */
    ok(value_of(c) == 3, "S11: values are the last owner's");
    nd_release(c);
    settle();
    is_int(reserved(0), 0, "S11: nothing stays with the allocator");
}

/* ---- S17: threads with streams of their own ---- */
static void *write_on_own(void *arg)
{
    nd_stream *s = NULL;
    if (nd_stream_wrap(sim[0], 2, NULL, NULL, &s) != ND_OK || nd_stream_set_current(s) != ND_OK ||
        nd_fill(arg, nd_float(1)) != ND_OK)
        diag("%s", nd_last_error()->message);
    nd_stream_release(s);
    return NULL;
}

static void *write_on_stream(void *arg)
{
    nd_stream *s = NULL;
    if (nd_stream_create(sim[0], NULL, &s) != ND_OK || nd_stream_set_current(s) != ND_OK ||
        nd_fill(arg, nd_float(1)) != ND_OK)
        diag("%s", nd_last_error()->message);
    nd_stream_release(s);
    return NULL;
}

static void test_threads(void)
{
    pthread_t t;
    char *text;
    int64_t n;
    nd_array *a = filled(sim[0], 64, 0);
    DO(nd_synchronize(sim[0]));
    check_on();
    nd_stream_check_set(1);
    for (int i = 0; i < 2; i++) {
        pthread_create(&t, NULL, write_on_stream, a);
        pthread_join(t, NULL);
    }
    DO(nd_stream_check_report(&text, &n));
    nd_stream_check_set(0);
    free(text);
    ok(races() > 0, "S17: streams of two threads are not ordered by the threads' order");
    ok(n > 0, "S17: and the stream check knows");
    DO(nd_synchronize(sim[0]));
    nd_stream_check_set(1);
    for (int i = 0; i < 2; i++) {
        pthread_create(&t, NULL, write_on_own, a);
        pthread_join(t, NULL);
    }
    DO(nd_stream_check_report(&text, &n));
    nd_stream_check_set(0);
    free(text);
    ok(n > 0, "S17: per-thread default streams (2) of two threads are two streams");
    nd_release(a);
    settle();
}

/* Streams come and go on four threads while a fifth waits for the device. */
enum { WORKERS = 4, ROUNDS = 60 };
static nd_array *shared;

static void *come_and_go(void *arg)
{
    int *good = arg;
    for (int i = 0; i < ROUNDS; i++) {
        nd_stream *s = NULL, *t = NULL;
        nd_array *a = NULL, *b = NULL;
        nd_event *e = NULL;
        nd_scalar v = {0};
        int32_t is_done;
        nd_status st[] = {nd_stream_create(sim[0], NULL, &s),
                          nd_stream_create(sim[0], NULL, &t),
                          nd_event_create(sim[0], NULL, &e),
                          nd_stream_push(s),
                          nd_add_scalar(shared, nd_float(i), &a),
                          nd_record_stream(shared, s),
                          nd_event_record(e, s),
                          nd_stream_wait_event(t, e),
                          nd_stream_push(t),
                          nd_sum(a, NULL, &b),
                          nd_record_use(a, t),
                          nd_stream_query(s, &is_done),
                          nd_item(b, &v),
                          nd_stream_pop(t),
                          nd_stream_pop(s)};
        int all = v.v.f == 64.0 * (i + 1);
        for (size_t k = 0; k < sizeof st / sizeof *st; k++)
            all &= st[k] == ND_OK;
        *good += all;
        nd_stream_release(s); /* before the array that lives on it */
        nd_release(a);
        nd_release(b);
        nd_stream_release(t);
        nd_event_release(e);
    }
    return NULL;
}

static void many_threads(int hazards, int check)
{
    pthread_t t[WORKERS];
    int good[WORKERS] = {0}, sum = 0, waited = 0;
    char *text = NULL;
    int64_t n = 0;
    control->set_mode(dev[0], NDSIM_AUTO);
    shared = filled(sim[0], 64, 1);
    DO(nd_synchronize(sim[0]));
    check_on();
    nd_hazard_mode_set(hazards);
    nd_stream_check_set(check);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&t[i], NULL, come_and_go, &good[i]);
    for (int i = 0; i < 50; i++)
        waited += nd_synchronize(sim[0]) == ND_OK;
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(t[i], NULL);
        sum += good[i];
    }
    DO(nd_stream_check_report(&text, &n));
    nd_stream_check_set(0);
    nd_hazard_mode_set(0);
    is_int(sum, WORKERS * ROUNDS, "S7, S11: four threads' streams come and go, with right values");
    is_int(waited, 50, "A16: while another thread waits for the device");
    if (!ok(races() == 0, "C6: without a race"))
        show_races();
    if (!ok(n == 0, "S14: for the stream check, too"))
        diag("%s", text);
    free(text);
    nd_release(shared);
    settle();
    control->set_mode(dev[0], NDSIM_STEPPED);
}

static void test_many_threads(void)
{
    many_threads(0, 0);
    many_threads(1, 1);
}

/* Whether the device is done; -1: an error. */
static int device_done(int d)
{
    int32_t done;
    return nd_device_query(sim[d], &done) == ND_OK ? done : -1;
}
static int array_done(const nd_array *a)
{
    int32_t done;
    return nd_array_query(a, &done) == ND_OK ? done : -1;
}

/* Looking never waits, and in stepped mode nothing runs but by step(). */
static void test_queries(void)
{
    static const int64_t n = 16;
    nd_array *host = NULL, *plain = NULL;
    DO(nd_synchronize(sim[1]));
    is_int(device_done(1), 1, "a device with nothing queued is done");
    is_int(device_done(1) && nd_device_query(NULL, &(int32_t){0}) == ND_OK, 1, "NULL: current");
    nd_stream *s = new_stream(1);
    DO(nd_stream_push(s));
    nd_array *a = filled(sim[1], n, 3);
    is_int(array_done(a), 0, "an array on the current stream, where work is queued, is not");
    DO(nd_empty_pinned(sim[1], ND_F32, 1, &n, &host));
    DO(nd_copy_to(a, host, &(nd_copy_opts){.size = sizeof(nd_copy_opts), .non_blocking = 1}));
    is_int(array_done(host), 0, "nor is host memory that is still written to");
    DO(nd_stream_pop(s));
    is_int(array_done(a), 1, "another stream's work is none of the current one's");
    is_int(device_done(1), 0, "but of the device's");
    nd_stream_release(s);
    is_int(device_done(1), 0, "also once the stream is released");
    DO(nd_full(cpu, ND_F32, 1, &n, nd_float(1), &plain));
    is_int(array_done(plain), 1, "a plain array on the CPU is done");
    step(1, NULL, 1000);
    is_int(device_done(1), 1, "all is done once it ran");
    is_int(array_done(host), 1, "the copy too");
    is_int(array_done(NULL), -1, "NULL is no array");
    nd_release(a);
    nd_release(host);
    nd_release(plain);
}

TAP_MAIN({"queries", test_queries}, {"many_threads", test_many_threads}, {"current", test_current},
         {"guards", test_guards}, {"distinct", test_distinct}, {"stale", test_stale_keys},
         {"pools", test_pools}, {"priorities", test_priorities}, {"waiting", test_waiting},
         {"foreign", test_foreign}, {"end", test_end}, {"threads", test_threads})
