/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Events: what they can be asked, what a record replaces and what it leaves, and where they come
 * from. The simulated device's clock is virtual, so times are exact. */
#include "tests/stream/lab.h"

static sim at[2];
static nd_stream *s1, *s2;
static nd_array *a1, *a2; /* one for each stream */

static nd_event *event(int32_t flags)
{
    nd_event_opts opts = {.size = sizeof opts, .flags = flags};
    nd_event *e = NULL;
    must(nd_event_create(at[0].d, &opts, &e));
    return e;
}

static void work(nd_stream *s)
{
    nd_array *a = s == s1 ? a1 : a2;
    must(nd_stream_push(s));
    must(nd_add_into(a, a, a));
    must(nd_stream_pop(s));
}

static uint64_t step(nd_stream *s, uint64_t n)
{
    uint64_t ran = 0;
    must(at[0].c->step(at[0].dev, native(s), n, &ran));
    return ran;
}

static int is_done(nd_event *e)
{
    int32_t done = -1;
    must(nd_event_query(e, &done));
    return done;
}

static void stepped(void)
{
    must(nd_synchronize(at[0].d));
    must(at[0].c->set_mode(at[0].dev, NDSIM_STEPPED));
}

static void automatic(void)
{
    must(at[0].c->set_mode(at[0].dev, NDSIM_AUTO));
    must(nd_synchronize(at[0].d));
}

/* ---- A10 ---- */
static void refusals(void)
{
    nd_event_opts opts = {.size = sizeof opts, .flags = 8};
    nd_event *e = NULL, *elsewhere = NULL;
    double ms = 5;
    is_int(nd_event_create(at[0].d, &opts, &e), ND_ERR_ARGUMENT, "A10 unknown flags are refused");
    has_text(nd_last_error()->message, "0x8", "A10 by their value");
    opts = (nd_event_opts){.size = 2};
    is_int(nd_event_create(at[0].d, &opts, &e), ND_ERR_ARGUMENT, "A10 so is a wrong size");
    opts = (nd_event_opts){.size = sizeof opts, .flags = ND_EVENT_INTERPROCESS};
    is_int(nd_event_create(at[0].d, &opts, &e), ND_ERR_UNSUPPORTED,
           "A10 what the plug-in lacks is its answer");
    must(nd_event_create(at[1].d, NULL, &elsewhere));
    is_int(nd_event_record(elsewhere, s1), ND_ERR_DEVICE,
           "A10 recording on another device's stream is an error");
    has_text(nd_last_error()->message, "sim:1", "A10 that names both");
    nd_event *timed = event(ND_EVENT_TIMING), *plain = event(0);
    is_int(nd_event_elapsed(timed, elsewhere, &ms), ND_ERR_NOT_TIMED, "A10 elapsed: not timed");
    is_int(nd_event_elapsed(plain, timed, &ms), ND_ERR_NOT_TIMED, "A10 on either side");
    nd_event *second = event(ND_EVENT_TIMING);
    is_int(nd_event_elapsed(timed, second, &ms), ND_ERR_NOT_RECORDED, "A10 elapsed: not recorded");
    must(nd_event_record(timed, s1));
    is_int(nd_event_elapsed(timed, second, &ms), ND_ERR_NOT_RECORDED, "A10 on either side");
    is_int(nd_last_error()->argument, 1, "A10 which of them is told");
    ok(nd_event_record(NULL, s1) == ND_ERR_ARGUMENT &&
           nd_event_synchronize(NULL) == ND_ERR_ARGUMENT,
       "A10 no event is refused");
    nd_event *all[4] = {elsewhere, timed, plain, second};
    for (int i = 0; i < 4; i++)
        nd_event_release(all[i]);
}

static void times(void)
{
    nd_event *start = event(ND_EVENT_TIMING), *stop = event(ND_EVENT_TIMING | ND_EVENT_BLOCKING);
    double ms = -1;
    stepped();
    must(at[0].c->set_cost(at[0].dev, 5000, 0));
    must(nd_event_record(start, s1));
    for (int i = 0; i < 3; i++)
        work(s1);
    must(nd_event_record(stop, s1));
    is_int(nd_event_elapsed(start, stop, &ms), ND_ERR_NOT_READY, "A10 elapsed: not ready");
    ok(!is_done(stop), "A10 query says so");
    (void)step(s1, 100);
    ok(is_done(stop), "A10 and then that it is");
    must(nd_event_elapsed(start, stop, &ms));
    ok(ms == 15e3 * 1e-6, "A10 three operations of 5000 ns took %g ms", ms);
    ok(nd_event_elapsed(stop, start, &ms) == ND_OK && ms == -15e3 * 1e-6, "A10 backwards as well");
    ok(nd_event_elapsed(stop, stop, &ms) == ND_OK && ms == 0,
       "A10 none between an event and itself");
    /* A new record of one of them. */
    work(s1);
    must(nd_event_record(stop, s1));
    is_int(nd_event_elapsed(start, stop, &ms), ND_ERR_NOT_READY,
           "A11 a new record replaces the old one, in elapsed too");
    must(nd_event_synchronize(stop));
    must(nd_event_elapsed(start, stop, &ms));
    ok(ms == 20e3 * 1e-6, "A11 and then its time counts: %g ms", ms);
    must(nd_event_record(start, s1));
    must(nd_event_synchronize(start));
    ok(nd_event_elapsed(start, stop, &ms) == ND_OK && ms == 0, "A11 for the first one as well");
    must(at[0].c->clear_faults(at[0].dev));
    automatic();
    nd_event_release(start);
    nd_event_release(stop);
}

/* ---- A11 ---- */
static void waits_bind(void)
{
    nd_event *e = event(0);
    stepped();
    work(s1);
    must(nd_event_record(e, s1));
    must(nd_stream_wait_event(s2, e));
    work(s2);
    work(s1);
    must(nd_event_record(e, s1)); /* the wait keeps the earlier record */
    is_int(step(s2, 10), 0, "A11 the waiting stream stands still");
    (void)step(s1, 2); /* the first operation and the first record */
    ok(!is_done(e), "A11 the event's latest record is not reached yet");
    is_int(step(s2, 10), 2, "A11 a wait binds to the record current when it was issued");
    automatic();
    nd_event_release(e);
}

static void released_early(void)
{
    nd_event *e = event(0);
    stepped();
    work(s1);
    must(nd_event_record(e, s1));
    must(nd_stream_wait_event(s2, e));
    nd_event_release(e);
    e = event(0);                 /* perhaps the same handle */
    must(nd_event_record(e, s2)); /* behind the wait: no deadlock either */
    work(s2);
    is_int(step(s2, 10), 0, "A11 the wait holds although its event is gone and used anew");
    (void)step(s1, 2);
    ok(step(s2, 10) > 0 && is_done(e), "A11 until its record is reached");
    automatic();
    nd_event_release(e);
}

static void never_recorded(void)
{
    nd_event *e = event(0);
    stepped();
    work(s1); /* not waited for by anything below */
    must(at[0].c->log_clear(at[0].dev));
    must(nd_stream_wait_event(s2, e));
    is_int(calls(at[0], NULL), 0, "A11 waiting on an event never recorded is a no-op");
    ok(is_done(e) == 1 && nd_event_synchronize(e) == ND_OK,
       "A11 it is done, and waits for nothing");
    must(nd_event_record(e, s1));
    nd_event_release(e);
    e = event(0); /* an old handle, but a new event */
    ok(is_done(e) == 1 && nd_stream_wait_event(s2, e) == ND_OK && nd_event_synchronize(e) == ND_OK,
       "A11 so it is on a handle that somebody recorded before");
    work(s2);
    is_int(step(s2, 10), 1, "A11 nothing waits");
    automatic();
    nd_event_release(e);
}

/* ---- A12 ---- */
static void one_round(void)
{
    nd_event *e = event(0), *timed = event(ND_EVENT_TIMING);
    work(s1);
    must(nd_event_record(e, s1));
    must(nd_event_record(timed, s1));
    must(nd_stream_wait_event(s2, e));
    work(s2);
    must(nd_stream_wait_stream(s1, s2));
    must(nd_event_synchronize(timed));
    must(nd_record_use(a1, s2));
    must(nd_stream_push(s2));
    nd_array *used = vector(at[0].d, 3000, 1);
    must(nd_stream_pop(s2));
    must(nd_record_use(used, s1));
    nd_release(used);
    must(nd_stream_synchronize(s1));
    nd_event_release(e);
    nd_event_release(timed);
}

static void steady(void)
{
    for (int i = 0; i < 20; i++)
        one_round();
    must(at[0].c->log_clear(at[0].dev));
    for (int i = 0; i < 200; i++)
        one_round();
    is_int(calls(at[0], "event_create"), 0, "A12 a steady state creates no events");
    is_int(calls(at[0], "event_destroy"), 0, "A12 nor destroys any");
    ok(calls(at[0], "event_record") >= 600, "A12 although it records hundreds");
}

static void prefilled(void)
{
    nd_event *e[8];
    must(at[1].c->log_clear(at[1].dev));
    nd_event_opts opts = {.size = sizeof opts, .flags = ND_EVENT_TIMING | ND_EVENT_BLOCKING};
    for (int i = 0; i < 8; i++)
        must(nd_event_create(at[1].d, &opts, &e[i]));
    is_int(calls(at[1], "event_create"), 8, "A12 the first of a kind brings eight");
    for (int i = 0; i < 8; i++)
        nd_event_release(e[i]);
}

/* ---- nothing here waits for somebody else's wait ---- */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static void wait_at_gate(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
}

static _Atomic pid_t synchronizing; /* the thread that does; 0: none yet */
static void *synchronize(void *arg)
{
    nd_status *status = arg;
    synchronizing = gettid();
    *status = nd_stream_synchronize(s1);
    return NULL;
}

static void while_others_wait(void)
{
    pthread_t t;
    nd_status status = -1;
    int32_t done = 1;
    nd_event *e = event(0);
    pthread_mutex_lock(&gate);
    must(nd_stream_launch_host(s1, wait_at_gate, NULL));
    pthread_create(&t, NULL, synchronize, &status);
    alarm(600);
    until_asleep(&synchronizing);
    must(nd_event_record(e, s1));
    must(nd_stream_query(s1, &done));
    work(s1);
    must(nd_stream_wait_stream(s2, s1));
    nd_release(vector(at[0].d, 4, 1));
    ok(!done && !is_done(e),
       "S7 A10 recording, asking, queueing and waiting streams go on while a thread synchronizes");
    pthread_mutex_unlock(&gate);
    pthread_join(t, NULL);
    alarm(0);
    is_int(status, ND_OK, "S7 A10 and that one ends well");
    must(nd_synchronize(at[0].d));
    nd_event_release(e);
}

/* ---- sixteen threads on two streams and four events ---- */
enum { THREADS = 16, ROUNDS = 60 };
static nd_event *shared[4];

typedef struct {
    uint32_t state;
    int failed, wrong;
} worker;

static uint32_t random_below(worker *w, uint32_t n)
{
    w->state = w->state * 1664525u + 1013904223u;
    return (w->state >> 16) % n;
}

static nd_status something(worker *w)
{
    nd_event *e = shared[random_below(w, 4)], *f = shared[random_below(w, 4)];
    nd_stream *s = random_below(w, 2) ? s1 : s2;
    double ms;
    int32_t done;
    nd_status status;
    switch (random_below(w, 8)) {
    case 0:
        return nd_event_record(e, s);
    case 1:
        return nd_stream_wait_event(s, e);
    case 2:
        return nd_event_synchronize(e);
    case 3:
        return nd_event_query(e, &done);
    case 4:
        status = nd_event_elapsed(e, f, &ms);
        return status == ND_ERR_NOT_READY || status == ND_ERR_NOT_RECORDED ? ND_OK : status;
    case 5:
        return nd_stream_synchronize(s);
    case 6:
        return nd_stream_wait_stream(s, s == s1 ? s2 : s1);
    default:
        return random_below(w, 8) ? nd_stream_query(s, &done) : nd_synchronize(at[0].d);
    }
}

/* Its own array, always on one of the streams; memory of one that the other uses. */
static void *crowd(void *arg)
{
    worker *w = arg;
    nd_stream *mine = w->state % 2 ? s1 : s2, *other = w->state % 2 ? s2 : s1;
    must(nd_stream_set_current(mine));
    nd_array *a = vector(at[0].d, 4, 0), *one = vector(at[0].d, 4, 1);
    for (int i = 0; i < ROUNDS; i++) {
        nd_array *lent = NULL;
        w->failed += something(w) != ND_OK;
        w->failed += nd_add_into(a, one, a) != ND_OK;
        w->failed += nd_copy(a, NULL, &lent) != ND_OK;
        w->failed += nd_record_use(lent, other) != ND_OK;
        nd_release(lent);
    }
    w->wrong += first_of(a) != ROUNDS;
    nd_release(a);
    nd_release(one);
    return NULL;
}

static void crowded(void)
{
    pthread_t t[THREADS];
    worker w[THREADS];
    int failed = 0, wrong = 0;
    alarm(600);
    for (int i = 0; i < 4; i++)
        shared[i] = event(ND_EVENT_TIMING);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (worker){(uint32_t)i, 0, 0};
        pthread_create(&t[i], NULL, crowd, &w[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        failed += w[i].failed;
        wrong += w[i].wrong;
    }
    alarm(0);
    is_int(failed, 0, "A10 sixteen threads share streams and events: every call succeeds");
    is_int(wrong, 0, "A10 and every sum is right");
    for (int i = 0; i < 4; i++)
        nd_event_release(shared[i]);
}

/* ---- a device without queues ---- */
static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void on_the_host(void)
{
    nd_device *cpu = NULL;
    nd_stream *s = NULL;
    nd_event *e[2] = {NULL, NULL}, *plain = NULL;
    nd_event_opts opts = {.size = sizeof opts, .flags = ND_EVENT_TIMING};
    int32_t done = 0;
    double ms = -1;
    must(nd_device_get("cpu", &cpu));
    must(nd_stream_create(cpu, NULL, &s));
    must(nd_event_create(cpu, NULL, &plain));
    for (int i = 0; i < 2; i++)
        must(nd_event_create(cpu, &opts, &e[i]));
    is_int(nd_event_elapsed(e[0], e[1], &ms), ND_ERR_NOT_RECORDED, "A10 the CPU: not recorded");
    is_int(nd_event_elapsed(e[0], plain, &ms), ND_ERR_NOT_TIMED, "A10 the CPU: not timed");
    double before = now_ms();
    must(nd_event_record(e[0], s));
    struct timespec a_while = {0, 2000000};
    nanosleep(&a_while, NULL);
    must(nd_event_record(e[1], s));
    double most = now_ms() - before;
    ok(nd_event_query(e[1], &done) == ND_OK && done == 1 && nd_event_synchronize(e[1]) == ND_OK,
       "A10 the CPU: a record is done at once");
    ok(nd_event_elapsed(e[0], e[1], &ms) == ND_OK && ms >= 2 && ms <= most,
       "A10 the CPU: and timed by the host's clock");
    must(nd_stream_wait_event(s1, e[1]));
    must(nd_event_record(plain, s));
    stepped();
    nd_event *late = event(0);
    work(s1);
    must(nd_event_record(late, s1));
    must(nd_stream_wait_event(s, late));
    ok(is_done(late), "A11 a stream of another plug-in that waits makes the host wait");
    automatic();
    nd_event *all[4] = {e[0], e[1], plain, late};
    for (int i = 0; i < 4; i++)
        nd_event_release(all[i]);
    nd_stream_release(s);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"refusals", refusals},        {"times", times},
                                     {"waits_bind", waits_bind},    {"released", released_early},
                                     {"never", never_recorded},     {"steady", steady},
                                     {"prefilled", prefilled},      {"crowded", crowded},
                                     {"others", while_others_wait}, {"host", on_the_host}};
    setenv("NDOCK_DEVICE", "cpu", 1);
    for (int i = 0; i < 2; i++)
        at[i] = open_sim(i);
    s1 = new_stream(at[0].d);
    s2 = new_stream(at[0].d);
    must(nd_stream_push(s1));
    a1 = vector(at[0].d, 4, 1);
    must(nd_stream_pop(s1));
    must(nd_stream_push(s2));
    a2 = vector(at[0].d, 4, 1);
    must(nd_stream_pop(s2));
    return tap_main(argc, argv, cases, (int)(sizeof cases / sizeof *cases));
}
