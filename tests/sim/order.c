/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The simulated device's streams, events and clock (F2), stepped and by themselves. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "harness.h"

static ndp_stream *s1, *s2;
static ndp_event *e1, *e2;
static ndp_mem *a, *b, *c;

static uint64_t pending(ndp_stream *s)
{
    uint64_t n = 0;
    control->pending(dev, s, &n);
    return n;
}

static uint64_t step(ndp_stream *s, uint64_t n)
{
    uint64_t ran = 0;
    control->step(dev, s, n, &ran);
    return ran;
}

/* 395 operations on 8 streams joined by events: doubling and taking one away, in turn, from 3 anew
 * now and then. Any other order gives another value. */
static void chain(ndp_stream **s, ndp_event **e, ndp_mem *x, ndp_mem *one)
{
    fill(dev, s[0], VEC(one, 256), 1);
    for (int i = 0; i < 395; i++) {
        ndp_stream *from = s[(i * 5) % 8], *to = s[(i * 5 + 5) % 8];
        streams->event_record(dev, e[i % 16], from);
        streams->wait(dev, to, e[i % 16]);
        if (i % 20 == 0)
            fill(dev, to, VEC(x, 256), 3);
        else if (i % 2)
            binary(dev, to, NDP_OP_add, VEC(x, 256), VEC(x, 256), VEC(x, 256));
        else
            binary(dev, to, NDP_OP_subtract, VEC(x, 256), VEC(one, 256), VEC(x, 256));
    }
    for (int i = 0; i < 8; i++)
        streams->sync(dev, s[i]);
}

/* 3, then 7 times doubled and less one: 3*2^7 - (2^7 - 1). The last operation is number 394, the
 * last fill 380. */
#define CHAIN_RESULT 257.0f

/* In a new process with delays: the same result, whatever the seed. */
static int result_with(const char *seed)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        ndp_stream *s[8];
        ndp_event *e[16];
        setenv("NDOCK_SIM_SEED", seed, 1);
        setenv("NDOCK_SIM_LATENCY_US", "100", 1);
        setenv("NDOCK_SIM_CHECK", "1", 1);
        start();
        for (int i = 0; i < 8; i++)
            s[i] = new_stream(dev);
        for (int i = 0; i < 16; i++)
            e[i] = new_event(dev);
        ndp_mem *x = block(dev, 4096);
        uint64_t races = 9;
        chain(s, e, x, block(dev, 4096));
        control->race_count(dev, &races);
        int good = races == 0 && element(dev, x, 255) == CHAIN_RESULT;
        sim->shutdown();
        _exit(good ? 0 : 1);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void f2_delays(void)
{
    ok(result_with("1"), "F2: random delays, seed 1: the result of one stream, and no race");
    ok(result_with("77"), "F2: seed 77");
}

static void stepped_start(void)
{
    start();
    control->set_mode(dev, NDSIM_STEPPED);
    s1 = new_stream(dev);
    s2 = new_stream(dev);
    e1 = new_event(dev);
    e2 = new_event(dev);
    a = block(dev, 4096);
    b = block(dev, 4096);
    c = block(dev, 4096);
}

static void f2_nothing_runs_unless_stepped(void)
{
    float poison = peek_f32(dev, a, 0);
    is_int(fill(dev, s1, VEC(a, 100), 1), NDP_OK, "F2: queue one");
    fill(dev, s1, VEC(b, 100), 2);
    is_int(binary(dev, s1, NDP_OP_add, VEC(a, 100), VEC(b, 100), VEC(c, 100)), NDP_OK,
           "F2: queue three");
    is_int(pending(s1), 3, "F2: three are pending");
    ok(peek_f32(dev, a, 0) == poison, "F2: and nothing ran");
    is_int(step(s1, 1), 1, "F2: one step");
    ok(peek_f32(dev, a, 99) == 1 && peek_f32(dev, b, 0) == poison,
       "F2: ran the first and no other");
    is_int(step(s1, 9), 2, "F2: the rest");
    ok(peek_f32(dev, c, 99) == 3, "F2: in order");
    is_int(pending(NDSIM_ANY), 0, "F2: nothing is left");
}

static void f2_sync_runs_what_it_needs(void)
{
    float out = 0;
    fill(dev, s1, VEC(a, 4), 10);
    fill(dev, s2, VEC(b, 4), 20);
    is_int(streams->sync(dev, s1), NDP_OK, "F2: sync of one stream");
    is_int(pending(s1), 0, "F2: runs it");
    is_int(pending(s2), 1, "F2: and not the other");
    is_int(sim->read(dev, s2, b, 4, &out, 4), NDP_OK, "F2: read of the other");
    ok(out == 20, "F2: waits for the value");
}

static void f2_waits(void)
{
    fill(dev, s1, VEC(a, 4), 1);
    sim->sync(dev, NULL);
    streams->sync(dev, s1);
    fill(dev, s1, VEC(a, 4), 7);
    streams->event_record(dev, e1, s1);
    streams->wait(dev, s2, e1);
    binary(dev, s2, NDP_OP_add, VEC(a, 4), VEC(a, 4), VEC(b, 4));
    is_int(step(s2, 9), 0, "F2: a stream that waits cannot run");
    is_int(control->run_until(dev, e1), NDP_OK, "F2: run until the event");
    is_int(pending(s1), 0, "F2: did the event's stream");
    is_int(step(s2, 9), 2, "F2: now the other runs");
    ok(peek_f32(dev, b, 0) == 14, "F2: with what it waited for");
    int32_t done = 0;
    streams->event_query(dev, e1, &done);
    is_int(done, 1, "F2: the event is done");
}

static void f2_waits_bind_to_the_latest_record(void)
{
    ndp_event *e = new_event(dev);
    streams->wait(dev, s2, e);
    fill(dev, s2, VEC(b, 4), 3);
    is_int(step(s2, 9), 1, "A11: an event never recorded orders nothing");
    fill(dev, s1, VEC(a, 4), 1);
    streams->event_record(dev, e, s1);
    streams->wait(dev, s2, e);
    fill(dev, s1, VEC(a, 4), 2);
    streams->event_record(dev, e, s1); /* replaces the record, not the wait */
    fill(dev, s2, VEC(b, 4), 4);
    int32_t done = 1;
    is_int(step(s1, 2), 2, "A11: up to the first record");
    streams->event_query(dev, e, &done);
    is_int(done, 0, "A11: the event is the second record, not done");
    is_int(step(s2, 9), 2, "A11: the wait was for the first one");
    streams->event_destroy(dev, e); /* pending records live on */
    is_int(step(NDSIM_ANY, 9), 2, "A11: a destroyed event's record still runs");
    streams->wait(dev, s1, e1);
    is_int(pending(s1), 0, "S7: waiting for one's own event is nothing");
}

static void f2_sync_across_streams(void)
{
    fill(dev, s1, VEC(a, 4), 5);
    streams->event_record(dev, e1, s1);
    fill(dev, s1, VEC(c, 4), 6);
    streams->wait(dev, s2, e1);
    binary(dev, s2, NDP_OP_add, VEC(a, 4), VEC(a, 4), VEC(b, 4));
    streams->event_record(dev, e2, s2);
    is_int(streams->event_sync(dev, e2), NDP_OK, "F2: event_sync steps what it needs");
    ok(peek_f32(dev, b, 3) == 10, "F2: on both streams");
    is_int(pending(s1), 1, "F2: and no more");
    streams->sync(dev, s1);
}

static void f2_clock(void)
{
    uint64_t t0 = 0, t1 = 0;
    double ms = 0;
    control->clock(dev, &t0);
    control->set_cost(dev, 2500, 0);
    streams->event_record(dev, e1, s1);
    fill(dev, s1, VEC(a, 4), 1);
    fill(dev, s1, VEC(a, 4), 2);
    control->slow(dev, s1, 1, 1000000, 0);
    fill(dev, s1, VEC(a, 4), 3);
    streams->event_record(dev, e2, s1);
    is_int(streams->event_elapsed(dev, e1, e2, &ms), NDP_ERR_NOT_READY, "A10: not done yet");
    is_int(streams->event_sync(dev, e2), NDP_OK, "F2: wait");
    is_int(streams->event_elapsed(dev, e1, e2, &ms), NDP_OK, "F2: elapsed");
    ok(ms == 1.005, "F2: 2 of 2500 ticks and one of 1000000 are 1.005 ms exactly");
    control->clock(dev, &t1);
    is_int(t1 - t0, 1005000, "F2: the host's clock waited as long");
    control->advance(dev, 7);
    control->clock(dev, &t0);
    is_int(t0 - t1, 7, "F2: and can be moved");
    control->clear_faults(dev);
}

/* Streams overlap in virtual time; a wait moves its stream to the event's time. */
static void f2_clock_of_two_streams(void)
{
    ndp_event *begin = new_event(dev), *end = new_event(dev);
    double ms = 0;
    control->set_cost(dev, 1000, 0);
    streams->event_record(dev, begin, s1);
    for (int i = 0; i < 4; i++)
        fill(dev, s1, VEC(a, 4), i);
    streams->event_record(dev, e1, s1);
    for (int i = 0; i < 3; i++)
        fill(dev, s2, VEC(b, 4), i);
    streams->wait(dev, s2, e1);
    fill(dev, s2, VEC(c, 4), 1);
    streams->event_record(dev, end, s2);
    streams->event_sync(dev, end);
    streams->event_elapsed(dev, begin, end, &ms);
    ok(ms == 0.005, "F2: 4 operations beside 3, then 1 more, are 5 long");
    streams->event_destroy(dev, begin);
    streams->event_destroy(dev, end);
    control->clear_faults(dev);
}

static void a10_events(void)
{
    ndp_event *plain = NULL, *fresh = new_event(dev), *far;
    ndp_dev *d1 = open_sim(1);
    double ms;
    ndp_event *none = NULL;
    streams->event_create(dev, 0, &plain);
    streams->event_record(dev, plain, s1);
    streams->event_sync(dev, plain);
    refused(streams->event_elapsed(dev, plain, plain, &ms), NDP_ERR_NOT_TIMED, 400,
            "without timing");
    refused(streams->event_elapsed(dev, e1, fresh, &ms), NDP_ERR_NOT_RECORDED, 400, "stop event");
    far = new_event(d1);
    refused(streams->event_record(dev, far, s1), NDP_ERR_DEVICE, 400, "of one device");
    refused(streams->event_create(dev, NDP_EVENT_INTERPROCESS, &none), NDP_ERR_UNSUPPORTED, 1,
            "not supported by sim");
    streams->event_destroy(d1, far);
    streams->event_destroy(dev, fresh);
    streams->event_destroy(dev, plain);
}

static void count_up(void *arg)
{
    ++*(int *)arg;
}

static void f2_host_functions(void)
{
    int calls = 0;
    fill(dev, s1, VEC(a, 4), 41);
    streams->launch_host(dev, s1, count_up, &calls);
    is_int(calls, 0, "F2: a host function waits for its place");
    step(s1, 1);
    is_int(calls, 0, "F2: still");
    step(s1, 1);
    is_int(calls, 1, "F2: and runs there, once");
}

static void call_back(void *arg)
{
    *(int32_t *)arg = sim->sync(dev, NULL);
}

static void s16_host_functions_may_not_call(void)
{
    int32_t status[2] = {NDP_OK, NDP_OK};
    streams->launch_host(dev, s1, call_back, &status[0]);
    streams->sync(dev, s1);
    is_int(status[0], NDP_ERR_STATE, "S16: a host function's call is refused, stepped");
    control->set_mode(dev, NDSIM_AUTO);
    streams->launch_host(dev, s1, call_back, &status[1]);
    streams->sync(dev, s1);
    is_int(status[1], NDP_ERR_STATE, "S16: and by itself");
    control->set_mode(dev, NDSIM_STEPPED);
}

static void s11_destroyed_with_work(void)
{
    ndp_stream *s = new_stream(dev), *again;
    fill(dev, s, VEC(a, 4), 66);
    streams->destroy(dev, s);
    again = new_stream(dev);
    ok(s == again, "S11: the handle is free at once");
    is_int(pending(again), 0, "S11: the new stream has no work");
    is_int(pending(NDSIM_ANY), 1, "S11: the old one's work is still there");
    is_int(step(NDSIM_ANY, 9), 1, "S11: and runs");
    ok(peek_f32(dev, a, 0) == 66, "S11: as it should");
    streams->destroy(dev, again);
}

static void s9_foreign_streams(void)
{
    uint64_t handle = 0;
    ndp_stream *w = NULL;
    ndp_dev *d1 = open_sim(1);
    streams->native(dev, NULL, &handle);
    is_int(handle, 1, "S9: the default stream is 1");
    streams->native(dev, s1, &handle);
    is_int(streams->wrap(dev, handle, &w), NDP_OK, "S9: wrap");
    fill(dev, s1, VEC(a, 4), 1);
    fill(dev, w, VEC(a, 4), 2);
    is_int(pending(s1), 2, "S9: the wrapper is the same stream");
    streams->sync(dev, w);
    ok(peek_f32(dev, a, 0) == 2, "S9: in order");
    streams->destroy(dev, w);
    is_int(fill(dev, s1, VEC(a, 4), 3), NDP_OK, "S9: dropping it leaves the stream");
    streams->sync(dev, s1);
    ndp_stream *owner = new_stream(dev);
    uint64_t owners = 0;
    streams->native(dev, owner, &owners);
    streams->wrap(dev, owners, &w);
    streams->destroy(dev, owner);
    fill(dev, w, VEC(a, 4), 4);
    streams->destroy(dev, w);
    is_int(step(NDSIM_ANY, 9), 1,
           "S9: work queued through a wrapper runs when all handles are gone");
    refused(streams->wrap(dev, 0, &w), NDP_ERR_ARGUMENT, 400, "0 is ambiguous");
    refused(streams->wrap(d1, handle, &w), NDP_ERR_DEVICE, 400, "of sim:0, not of sim:1");
}

/* The source of a copy from pinned memory is read when the copy runs. */
static void p9_pinned_copies(void)
{
    ndp_mem *pinned = NULL;
    float *host = NULL;
    map->pin(dev, 64, &pinned, (void **)&host);
    host[0] = 1;
    is_int(sim->copy(dev, s1, a, 0, pinned, 0, 4), NDP_OK,
           "P1: a copy from pinned memory is queued");
    host[0] = 2;
    is_int(pending(s1), 1, "P1: and has not run");
    streams->sync(dev, s1);
    ok(peek_f32(dev, a, 0) == 2, "P9: so a change of the source meanwhile is seen");
    fill(dev, s1, VEC(a, 4), 9);
    sim->copy(dev, s1, pinned, 0, a, 0, 4);
    ok(host[0] == 2, "P3: a copy into pinned memory waits too");
    streams->sync(dev, s1);
    ok(host[0] == 9, "P3: until it has run");
    sim->free(dev, pinned);
}

static void freed_blocks_stay_until_used(void)
{
    ndp_mem *t = block(dev, 64), *u;
    uint64_t free_before = 0, free_after = 0, total;
    memory->usage(dev, &free_before, &total);
    fill(dev, s1, VEC(t, 4), 8);
    binary(dev, s1, NDP_OP_add, VEC(t, 4), VEC(t, 4), VEC(a, 4));
    sim->free(dev, t);
    u = block(dev, 64);
    fill(dev, s2, VEC(u, 4), 1000);
    streams->sync(dev, s2);
    streams->sync(dev, s1);
    ok(peek_f32(dev, a, 0) == 16, "a freed block is given away only when queued work is done");
    sim->free(dev, u);
    memory->usage(dev, &free_after, &total);
    is_int(free_after - free_before, 64, "and then it is free");
}

/* Two devices: sim:1 waits for sim:0. */
static void f2_two_devices(void)
{
    ndp_dev *d1 = open_sim(1);
    ndp_mem *far = block(d1, 64);
    ndp_stream *t = new_stream(d1);
    control->set_mode(d1, NDSIM_STEPPED);
    fill(dev, s1, VEC(a, 4), 12);
    peer->copy(dev, s1, a, 0, d1, far, 0, 16);
    streams->event_record(dev, e1, s1);
    streams->wait(d1, t, e1);
    binary(d1, t, NDP_OP_add, VEC(far, 4), VEC(far, 4), VEC(far, 4));
    is_int(streams->sync(d1, t), NDP_OK, "F2: a stream waits for another device's event");
    ok(peek_f32(d1, far, 0) == 24, "F2: and runs that device's work first");
    control->set_mode(d1, NDSIM_AUTO);
    fill(dev, s1, VEC(a, 4), 13);
    peer->copy(dev, s1, a, 0, d1, far, 0, 16);
    streams->event_record(dev, e1, s1);
    streams->wait(d1, t, e1);
    binary(d1, t, NDP_OP_add, VEC(far, 4), VEC(far, 4), VEC(far, 4));
    control->run_until(dev, e1);
    streams->sync(d1, t);
    ok(peek_f32(d1, far, 0) == 26, "F2: whether stepped or by itself");
    sim->free(d1, far);
    streams->destroy(d1, t);
}

static void f2_automatic(void)
{
    ndp_stream *s[8];
    ndp_event *e[16];
    control->set_mode(dev, NDSIM_AUTO);
    for (int i = 0; i < 8; i++)
        s[i] = new_stream(dev);
    for (int i = 0; i < 16; i++)
        e[i] = new_event(dev);
    chain(s, e, c, b);
    ok(element(dev, c, 255) == CHAIN_RESULT, "F2: by itself, events order eight streams");
    fill(dev, s[0], VEC(c, 256), 1);
    for (int i = 0; i < 20; i++)
        binary(dev, s[0], NDP_OP_add, VEC(c, 256), VEC(c, 256), VEC(c, 256));
    streams->sync(dev, s[0]);
    ok(element(dev, c, 0) == 1048576, "F2: and one stream is in order");
    uint64_t ran;
    refused(control->step(dev, NULL, 1, &ran), NDP_ERR_STATE, 0, "runs by itself");
    for (int i = 0; i < 8; i++)
        streams->destroy(dev, s[i]);
    for (int i = 0; i < 16; i++)
        streams->event_destroy(dev, e[i]);
}

typedef struct {
    int number, good;
} job;

static void *work(void *arg)
{
    job *j = arg;
    ndp_stream *s = new_stream(dev);
    ndp_mem *m = block(dev, 4096);
    j->good = 1;
    for (int i = 0; i < 50; i++) {
        float out = 0;
        fill(dev, s, VEC(m, 1000), j->number);
        binary(dev, s, NDP_OP_add, VEC(m, 1000), VEC(m, 1000), VEC(m, 1000));
        sim->read(dev, s, m, 3996, &out, 4);
        j->good &= out == (float)(2 * j->number);
    }
    sim->free(dev, m);
    streams->destroy(dev, s);
    return NULL;
}

static void many_threads(void)
{
    pthread_t thread[8];
    job jobs[8];
    int good = 1;
    for (int i = 0; i < 8; i++) {
        jobs[i] = (job){i + 1, 0};
        pthread_create(&thread[i], NULL, work, &jobs[i]);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(thread[i], NULL);
        good &= jobs[i].good;
    }
    ok(good, "eight threads on eight streams");
}

TAP_MAIN({"delays", f2_delays}, {"start", stepped_start},
         {"stepped", f2_nothing_runs_unless_stepped}, {"sync", f2_sync_runs_what_it_needs},
         {"wait", f2_waits}, {"bind", f2_waits_bind_to_the_latest_record},
         {"across", f2_sync_across_streams}, {"clock", f2_clock},
         {"clocks", f2_clock_of_two_streams}, {"events", a10_events}, {"host", f2_host_functions},
         {"s16", s16_host_functions_may_not_call}, {"destroy", s11_destroyed_with_work},
         {"foreign", s9_foreign_streams}, {"pinned", p9_pinned_copies},
         {"freed", freed_blocks_stay_until_used}, {"devices", f2_two_devices},
         {"automatic", f2_automatic}, {"threads", many_threads}, {"finish", finish})
