/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Planted faults of the simulated device (F3), bad indices, and its call log (F4). */
#include <time.h>
#include "harness.h"

static ndp_mem *a, *b;
static ndp_stream *s1, *s2;

static void setup(void)
{
    start();
    a = block(dev, 4096);
    b = block(dev, 4096);
    s1 = new_stream(dev);
    s2 = new_stream(dev);
    is_int(streams->sync(dev, s1), NDP_OK, "F3: no fault unless planted");
}

static void f3_calls_that_fail(void)
{
    ndp_mem *m = NULL;
    ndp_stream *s = NULL;
    ndp_event *e = NULL;
    float x = 1;
    int32_t done;
    control->fail_call(dev, "alloc", 2, NDP_ERR_MEMORY, 2);
    is_int(sim->alloc(dev, 64, &m), NDP_OK, "F3: the first call goes well");
    sim->free(dev, m);
    refused(sim->alloc(dev, 64, &m), NDP_ERR_MEMORY, 2, "alloc was told to fail");
    ok(m == NULL, "F3: and gives nothing");
    is_int(sim->alloc(dev, 64, &m), NDP_OK, "F3: the third goes well");
    sim->free(dev, m);
    control->fail_call(dev, "stream_create", 1, NDP_ERR_MEMORY, 46);
    refused(streams->create(dev, 0, 0, &s), NDP_ERR_MEMORY, 46, "stream_create");
    control->fail_call(dev, "event_create", 1, NDP_ERR_MEMORY, 46);
    refused(streams->event_create(dev, 0, &e), NDP_ERR_MEMORY, 46, "event_create");
    control->fail_call(dev, "write", 1, NDP_ERR_ASYNC, 719);
    refused(sim->write(dev, NULL, a, 0, &x, 4), NDP_ERR_ASYNC, 719, "write");
    control->fail_call(dev, "run", 1, NDP_ERR_ASYNC, 98);
    refused(fill(dev, s1, VEC(a, 4), 1), NDP_ERR_ASYNC, 98, "run");
    control->fail_call(dev, "stream_query", 1, NDP_ERR_ASYNC, 4);
    refused(streams->query(dev, s1, &done), NDP_ERR_ASYNC, 4, "stream_query");
    is_int(control->fail_call(dev, "no such call", 1, NDP_ERR_ASYNC, 1), NDP_ERR_ARGUMENT,
           "F3: a name that is none is refused");
    control->fail_call(dev, "sync", 1, NDP_ERR_ASYNC, 1);
    control->clear_faults(dev);
    is_int(sim->sync(dev, NULL), NDP_OK, "F3: planted faults can be taken back");
}

static void f3_asynchronous(void)
{
    float x = 0;
    fill(dev, s1, VEC(a, 4), 1);
    streams->sync(dev, s1);
    control->fault(dev, s1, 2, 701, 0);
    is_int(fill(dev, s1, VEC(b, 4), 5), NDP_OK, "F3: before the fault");
    is_int(fill(dev, s1, VEC(a, 4), 6), NDP_OK, "F3: the fault's call itself goes well");
    is_int(fill(dev, s1, VEC(b, 4), 7), NDP_OK, "F3: so does the next");
    is_int(streams->sync(dev, s2), NDP_OK, "A4: another stream knows of nothing");
    refused(streams->sync(dev, s1), NDP_ERR_ASYNC, 701, "operation 3 (fill) faulted");
    is_int(streams->sync(dev, s1), NDP_OK, "A4: it is told once");
    sim->read(dev, s1, a, 0, &x, 4);
    ok(x == 1, "F3: the operation that faulted did nothing");
    sim->read(dev, s1, b, 0, &x, 4);
    ok(x == 7, "F3: those around it ran");
    control->fault(dev, NDSIM_ANY, 1, 702, 0);
    fill(dev, s2, VEC(b, 4), 8);
    refused(sim->read(dev, s2, b, 0, &x, 4), NDP_ERR_ASYNC, 702, "faulted with code 702");
}

static void f3_memory(void)
{
    ndp_mem *m[3] = {NULL};
    control->memory_after(dev, 1000);
    is_int(sim->alloc(dev, 600, &m[0]), NDP_OK, "F3: 600 of 1000 bytes");
    refused(sim->alloc(dev, 600, &m[1]), NDP_ERR_MEMORY, 2, "400 are left");
    is_int(sim->alloc(dev, 400, &m[1]), NDP_OK, "F3: the other 400");
    is_int(sim->alloc(dev, 1, &m[2]), NDP_ERR_MEMORY, "F3: and not one more");
    control->clear_faults(dev);
    control->fail_allocs(dev, 2);
    is_int(sim->alloc(dev, 1, &m[2]), NDP_ERR_MEMORY, "F3: the next two fail: one");
    is_int(sim->alloc(dev, 1, &m[2]), NDP_ERR_MEMORY, "F3: two");
    is_int(sim->alloc(dev, 1, &m[2]), NDP_OK, "F3: and no more");
    for (int i = 0; i < 3; i++)
        sim->free(dev, m[i]);
    refused(sim->alloc(dev, (uint64_t)2 << 30, &m[0]), NDP_ERR_MEMORY, 2, "1073741824");
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* An operation that takes real time, and a look at it while it runs. A busy machine may stop us for
 * longer than that: then it is made slower and tried again. */
static void f3_slow(void)
{
    uint64_t us = 200000;
    int32_t done = 1;
    double begin = 0, queued = 0;
    for (; us < 10000000; us *= 2) {
        streams->sync(dev, s1);
        control->slow(dev, s1, 1, 10, us);
        begin = seconds();
        fill(dev, s1, VEC(a, 4), 1);
        queued = seconds() - begin;
        streams->query(dev, s1, &done);
        if (queued < (double)us * 1e-6 && (!done || seconds() - begin < (double)us * 1e-6))
            break;
    }
    ok(queued < (double)us * 1e-6, "F3: queueing a slow operation takes no time");
    is_int(done, 0, "F3: it is not done");
    streams->sync(dev, s1);
    ok(seconds() - begin >= (double)us * 1e-6, "F3: waiting for it does");
    streams->query(dev, s1, &done);
    is_int(done, 1, "F3: then it is");
}

/* out[i] = x[index[i]] of n f32 and two indices; status: i64[4] or NULL. */
static int32_t take(ndp_stream *s, ndp_mem *x, int64_t n, ndp_mem *index, ndp_mem *out,
                    ndp_mem *status)
{
    int64_t shape[2] = {n, 2}, one = 1, four = 4;
    ndp_index params = {.size = sizeof params, .axis = 0};
    ndp_view v[3] = {{.mem = x,
                      .shape = &shape[0],
                      .stride = &one,
                      .dtype = NDP_F32,
                      .ndim = 1,
                      .flags = NDP_VIEW_CONTIGUOUS},
                     {.mem = index,
                      .shape = &shape[1],
                      .stride = &one,
                      .dtype = NDP_I64,
                      .ndim = 1,
                      .flags = NDP_VIEW_CONTIGUOUS},
                     {.mem = out,
                      .shape = &shape[1],
                      .stride = &one,
                      .dtype = NDP_F32,
                      .ndim = 1,
                      .flags = NDP_VIEW_CONTIGUOUS}};
    ndp_call call = {.size = sizeof call,
                     .op = NDP_OP_take,
                     .n_in = 2,
                     .n_out = 1,
                     .in = v,
                     .out = v + 2,
                     .params = &params};
    if (status)
        call.status = (ndp_view){.mem = status,
                                 .shape = &four,
                                 .stride = &one,
                                 .dtype = NDP_I64,
                                 .ndim = 1,
                                 .flags = NDP_VIEW_CONTIGUOUS};
    return find_and_run(dev, s, &call);
}

static void bad_indices(void)
{
    ndp_mem *index = block(dev, 16), *status = block(dev, 32);
    int64_t good[2] = {-1, 0}, bad[2] = {3, 9}, worse[2] = {-11, 0}, word[4] = {0, 0, 0, 0};
    float x[2];
    fill(dev, s1, VEC(a, 9), 3);
    sim->write(dev, s1, index, 0, good, sizeof good);
    is_int(take(s1, a, 9, index, b, NULL), NDP_OK, "take");
    is_int(sim->read(dev, s1, b, 0, x, sizeof x), NDP_OK, "of good indices");
    ok(x[0] == 3 && x[1] == 3, "gives the elements");
    sim->write(dev, s1, index, 0, bad, sizeof bad);
    is_int(take(s1, a, 9, index, b, NULL), NDP_OK, "of a bad index, it returns first");
    is_int(streams->sync(dev, s1), NDP_ERR_INDEX, "and is refused when waited for");
    has_text(last_error.text, "index 9 at position 1", "which names the index");
    has_text(last_error.text, "-9 to 8", "and what is allowed");
    sim->write(dev, s1, status, 0, word, sizeof word);
    take(s1, a, 9, index, b, status);
    sim->write(dev, s1, index, 0, worse, sizeof worse);
    take(s1, a, 9, index, b, status);
    is_int(streams->sync(dev, s1), NDP_OK, "with a status word, the stream has no error");
    sim->read(dev, s1, status, 0, word, sizeof word);
    ok(word[0] == NDP_ERR_INDEX && word[1] == NDP_OP_take && word[2] == 1 && word[3] == 9,
       "the word has status, operation, position and value of the first bad index");
    sim->free(dev, index);
    sim->free(dev, status);
}

static void f4_log(void)
{
    ndsim_call c;
    uint64_t n = 0, id = 0;
    float x[4] = {0};
    ndp_event *e = new_event(dev);
    uint64_t address = 0;
    map->address(dev, a, &address);
    control->stream_id(dev, s1, &id);
    control->log_clear(dev);
    sim->write(dev, NULL, a, 8, x, 16);
    binary(dev, s1, NDP_OP_multiply, VEC(a, 4), VEC(a, 4), VEC(b, 4));
    streams->event_record(dev, e, s1);
    sim->write(dev, s1, a, 4000, x, 400);
    control->log_count(dev, NULL, &n);
    is_int(n, 5, "F4: five calls, find among them");
    control->log_get(dev, 0, &c);
    is_str(c.entry, "write", "F4: the first was write");
    ok(c.stream == 1 && c.address == address && c.offset == 8 && c.nbytes == 16 && c.result == 0,
       "F4: on the default stream, with block, offset and size");
    control->log_get(dev, 2, &c);
    ok(strcmp(c.entry, "run") == 0 && strcmp(c.op, "multiply") == 0 && c.stream == id,
       "F4: then multiply ran on its stream");
    control->log_get(dev, 3, &c);
    ok(strcmp(c.entry, "event_record") == 0 && c.event == (uint64_t)(uintptr_t)e && c.stream == id,
       "F4: then the event");
    control->log_get(dev, 4, &c);
    is_int(c.result, NDP_ERR_ARGUMENT, "F4: refused calls are there with their result");
    is_int(control->log_get(dev, 5, &c), NDP_ERR_INDEX, "F4: and that is all");
    control->log_count(dev, "write", &n);
    is_int(n, 2, "F4: two writes");
    control->log_count(dev, "alloc", &n);
    is_int(n, 0, "F4: and no alloc");
    for (int i = 0; i < 10000; i++) {
        int32_t done;
        streams->event_query(dev, e, &done);
    }
    control->log_count(dev, "event_query", &n);
    is_int(n, 10000, "F4: counts go on when the log is full");
    is_int(control->log_get(dev, 4095, &c), NDP_OK, "F4: which keeps 4096 calls and more");
    is_int(control->log_count(dev, "nothing", &n), NDP_ERR_ARGUMENT, "F4: a name that is none");
    streams->event_destroy(dev, e);
}

/* What a lost device answers; d is lost with code 700. */
static void lost_answers(ndp_dev *d, ndp_mem *m, ndp_stream *s)
{
    float x = 0;
    int32_t done;
    ndp_mem *other = NULL;
    refused(streams->sync(d, s), NDP_ERR_LOST, 700, "code 700");
    refused(streams->sync(d, s), NDP_ERR_LOST, 700, "code 700");
    refused(sim->write(d, NULL, m, 0, &x, 4), NDP_ERR_LOST, 700, "start a new process");
    refused(sim->read(d, NULL, m, 0, &x, 4), NDP_ERR_LOST, 700, "lost");
    refused(sim->alloc(d, 64, &other), NDP_ERR_LOST, 700, "lost");
    refused(fill(d, s, VEC(m, 4), 1), NDP_ERR_LOST, 700, "lost");
    refused(streams->query(d, s, &done), NDP_ERR_LOST, 700, "lost");
    sim->free(d, m);
    streams->destroy(d, s);
    ok(1, "A6: free and destroy do no harm");
}

static void f3_sticky(void)
{
    ndp_dev *d1 = open_sim(1);
    ndp_mem *m = block(d1, 64);
    ndp_stream *s = new_stream(d1);
    control->fault(d1, s, 3, 700, 1);
    for (int i = 0; i < 5; i++)
        fill(d1, s, VEC(m, 4), i);
    lost_answers(d1, m, s);
    is_int(sim->sync(dev, NULL), NDP_OK, "A6: the other devices go on");
    ok(fill(dev, s1, VEC(a, 4), 4) == NDP_OK && element(dev, a, 0) != 77, "A6: and compute");
    control->clear_faults(d1);
    is_int(sim->sync(d1, NULL), NDP_ERR_LOST, "A6: nothing brings it back");
}

/* A real illegal access: memory that was reserved and never committed. */
static void a6_illegal_address(void)
{
    ndp_dev *d2 = open_sim(2);
    ndp_mem *r = NULL;
    ndp_stream *s = new_stream(d2);
    uint64_t g = 0;
    memory->granularity(d2, &g);
    memory->reserve(d2, 2 * g, &r);
    memory->commit(d2, r, 0, g);
    memory->set_access(d2, r, 0, g);
    fill(d2, s, VEC(r, (int64_t)g / 4), 1);
    is_int(streams->sync(d2, s), NDP_OK, "A6: the committed half can be used");
    fill(d2, s, (vec){r, 1, (int64_t)g / 4, 1}, 1);
    lost_answers(d2, r, s);
}

TAP_MAIN({"setup", setup}, {"calls", f3_calls_that_fail}, {"async", f3_asynchronous},
         {"memory", f3_memory}, {"slow", f3_slow}, {"index", bad_indices}, {"log", f4_log},
         {"sticky", f3_sticky}, {"illegal", a6_illegal_address}, {"finish", finish})
