/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The happens-before checker (F5): every kind of planted race is found, once, with both operations
 * named, and ordered programs have none. In stepped mode, so that nothing depends on luck. */
#include <pthread.h>
#include "harness.h"

static ndp_mem *a, *b, *c, *d;
static ndp_stream *s1, *s2, *s3;
static ndp_event *e;
static uint64_t id1, id2;

static void setup(void)
{
    start();
    control->set_mode(dev, NDSIM_STEPPED);
    s1 = new_stream(dev);
    s2 = new_stream(dev);
    s3 = new_stream(dev);
    e = new_event(dev);
    a = block(dev, 65536);
    b = block(dev, 65536);
    c = block(dev, 65536);
    d = block(dev, 65536);
    control->stream_id(dev, s1, &id1);
    control->stream_id(dev, s2, &id2);
    fill(dev, s1, VEC(a, 100), 0);
    fill(dev, s2, VEC(a, 100), 0);
    uint64_t n = 9;
    control->race_count(dev, &n);
    is_int(n, 0, "F5: off by default");
}

/* A clean slate: all work known to the host, no races. */
static void fresh(void)
{
    sim->sync(dev, NULL);
    streams->sync(dev, s1);
    streams->sync(dev, s2);
    streams->sync(dev, s3);
    control->set_checker(dev, 1);
    control->race_clear(dev);
}

static void no_race(const char *what)
{
    uint64_t n = 9;
    char text[512] = "";
    control->race_count(dev, &n);
    is_int(n, 0, what);
    if (n && control->race_text(dev, 0, text, sizeof text) == NDP_OK)
        diag("%s", text);
}

/* Exactly one race, whose text has both names. */
static void one_race(const char *first, const char *second, const char *what)
{
    uint64_t n = 9;
    char text[512] = "";
    control->race_count(dev, &n);
    is_int(n, 1, what);
    control->race_text(dev, 0, text, sizeof text);
    const char *at = strstr(text, first);
    ok(at && strstr(at + strlen(first), second), "F5: it names \"%s\", then \"%s\"", first, second);
    if (!at || !strstr(at, second))
        diag("%s", text);
    is_int(control->race_text(dev, 1, text, sizeof text), NDP_ERR_INDEX, "F5: and no other");
}

static int32_t add(ndp_stream *s, ndp_mem *x, ndp_mem *out)
{
    return binary(dev, s, NDP_OP_add, VEC(x, 100), VEC(x, 100), VEC(out, 100));
}

static void f5_write_then_read(void)
{
    char word[64];
    fresh();
    fill(dev, s1, VEC(a, 100), 1);
    add(s2, a, b);
    one_race("fill (writes", "add (reads", "F5: a read of what another stream writes");
    snprintf(word, sizeof word, "stream %llu", (unsigned long long)id1);
    char text[512];
    control->race_text(dev, 0, text, sizeof text);
    has_text(text, word, "F5: the first stream is named");
    snprintf(word, sizeof word, "stream %llu", (unsigned long long)id2);
    has_text(text, word, "F5: and the second");
    fresh();
    fill(dev, s1, VEC(a, 100), 1);
    streams->event_record(dev, e, s1);
    streams->wait(dev, s2, e);
    add(s2, a, b);
    no_race("F5: none with an event between");
}

static void f5_read_then_write(void)
{
    fresh();
    add(s1, a, b);
    fill(dev, s2, VEC(a, 100), 1);
    one_race("add (reads", "fill (writes", "F5: a write of what another stream reads");
    fresh();
    add(s1, a, b);
    add(s2, a, c);
    no_race("F5: two readers are none");
}

static void f5_write_then_write(void)
{
    fresh();
    fill(dev, s1, VEC(a, 100), 1);
    binary(dev, s2, NDP_OP_multiply, VEC(b, 100), VEC(b, 100), VEC(a, 100));
    one_race("fill (writes", "multiply (writes", "F5: two writers");
}

static void f5_event_too_early(void)
{
    fresh();
    streams->event_record(dev, e, s1);
    fill(dev, s1, VEC(a, 100), 1);
    streams->wait(dev, s2, e);
    add(s2, a, b);
    one_race("fill (writes", "add (reads", "F5: the event was recorded before the write");
    fresh();
    fill(dev, s1, VEC(a, 100), 1);
    streams->event_record(dev, e, s1);
    streams->wait(dev, s2, e);
    fill(dev, s1, VEC(a, 100), 2);
    add(s2, a, b);
    one_race("fill (writes", "add (reads", "F5: a second write after the event");
}

static void f5_chains(void)
{
    ndp_event *f = new_event(dev);
    fresh();
    fill(dev, s1, VEC(a, 100), 1);
    streams->event_record(dev, e, s1);
    streams->wait(dev, s3, e);
    streams->event_record(dev, f, s3);
    streams->wait(dev, s2, f);
    add(s2, a, b);
    no_race("F5: order through a third stream");
    fresh();
    fill(dev, s1, VEC(a, 100), 1);
    streams->event_record(dev, e, s1);
    streams->event_record(dev, e, s3); /* replaces it */
    streams->wait(dev, s2, e);
    add(s2, a, b);
    one_race("fill (writes", "add (reads", "F5: an event recorded again elsewhere");
    streams->event_destroy(dev, f);
}

static void f5_host(void)
{
    float x = 0;
    int32_t done = 0;
    fresh();
    fill(dev, s1, VEC(a, 100), 1);
    streams->sync(dev, s1);
    add(s2, a, b);
    no_race("F5: order through the host's sync");
    fresh();
    fill(dev, s1, VEC(a, 100), 1);
    streams->event_record(dev, e, s1);
    streams->event_sync(dev, e);
    add(s2, a, b);
    no_race("F5: order through event_sync");
    fresh();
    fill(dev, s1, VEC(a, 100), 1);
    sim->read(dev, s1, a, 0, &x, 4);
    add(s2, a, b);
    no_race("F5: order through a read");
    fresh();
    fill(dev, s1, VEC(a, 100), 1);
    streams->event_record(dev, e, s1);
    control->run_until(dev, e);
    streams->event_query(dev, e, &done);
    add(s2, a, b);
    no_race("F5: order through a query that said done");
    fresh();
    fill(dev, s1, VEC(a, 100), 1);
    streams->event_record(dev, e, s1);
    streams->event_query(dev, e, &done);
    add(s2, a, b);
    one_race("fill (writes", "add (reads", "F5: a query that said no orders nothing");
    fresh();
    fill(dev, s1, VEC(a, 100), 1);
    sim->read(dev, s2, a, 0, &x, 4);
    one_race("fill (writes", "read (reads", "F5: a read on another stream");
    fresh();
    add(s1, a, b);
    sim->write(dev, s2, a, 0, &x, 4);
    one_race("add (reads", "write (writes", "F5: a write on another stream");
    fresh();
    add(s1, a, b);
    sim->copy(dev, s2, b, 4, c, 0, 4);
    one_race("add (writes", "copy (writes", "F5: a copy on another stream");
}

static void f5_free(void)
{
    ndp_mem *t = block(dev, 4096), *pinned = NULL;
    void *host = NULL;
    fresh();
    fill(dev, s1, VEC(t, 100), 1);
    sim->free(dev, t);
    one_race("fill (writes", "free (writes, by the host", "F5: freed while work is queued");
    t = block(dev, 4096);
    fresh();
    fill(dev, s1, VEC(t, 100), 1);
    streams->sync(dev, s1);
    sim->free(dev, t);
    no_race("F5: freed after a sync");
    map->pin(dev, 4096, &pinned, &host);
    fresh();
    sim->copy(dev, s1, a, 0, pinned, 0, 64);
    sim->free(dev, pinned);
    one_race("copy (reads", "free (writes", "P1: pinned memory freed before the copy ran");
}

static void f5_ranges(void)
{
    fresh();
    fill(dev, s1, (vec){a, 0, 100, 1}, 1);
    fill(dev, s2, (vec){a, 100, 100, 1}, 1);
    no_race("F5: two halves of a block");
    fill(dev, s3, (vec){a, 99, 1, 1}, 1);
    one_race("fill (writes", "fill (writes", "F5: but not one element of another's half");
    fresh();
    fill(dev, s1, (vec){a, 0, 100, 4}, 1);
    fill(dev, s2, (vec){a, 1, 100, 4}, 1);
    fill(dev, s3, (vec){a, 6, 99, 4}, 1);
    no_race("F5: interleaved columns");
    fill(dev, s3, (vec){a, 397, 100, -4}, 1);
    one_race("fill (writes", "fill (writes", "F5: one column from both ends");
    fresh();
    fill(dev, s1, (vec){a, 0, 50, 6}, 1);
    fill(dev, s2, (vec){a, 1, 75, 4}, 1);
    no_race("F5: even and odd positions of other strides");
    fill(dev, s3, (vec){a, 9, 30, 9}, 1);
    uint64_t n = 0;
    control->race_count(dev, &n);
    is_int(n, 2, "F5: strides of 9 meet both");
}

/* A view of up to three dimensions in block a, of 8-bit elements. */
typedef struct {
    int64_t shape[3], stride[3], first;
} random_view;

static uint32_t next_number(uint32_t n)
{
    static uint32_t state = 2026;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

static random_view make_view(int negative)
{
    random_view v = {.first = 500 + next_number(60)};
    for (int axis = 0; axis < 3; axis++) {
        v.shape[axis] = 2 + (int64_t)next_number(3);
        v.stride[axis] = (int64_t)next_number(24) - (negative ? 12 : 0);
    }
    return v;
}

static void touch_all(const random_view *v, char *bytes)
{
    for (int64_t i = 0; i < v->shape[0]; i++)
        for (int64_t j = 0; j < v->shape[1]; j++)
            for (int64_t k = 0; k < v->shape[2]; k++)
                bytes[v->first + i * v->stride[0] + j * v->stride[1] + k * v->stride[2]] = 1;
}

static int meet(const random_view *x, const random_view *y)
{
    char in_x[1000] = {0}, in_y[1000] = {0};
    touch_all(x, in_x);
    touch_all(y, in_y);
    for (int i = 0; i < 1000; i++)
        if (in_x[i] && in_y[i])
            return 1;
    return 0;
}

/* x is copied to a block of the stream's own; y is filled. */
static void copy_out(ndp_stream *s, const random_view *x, ndp_mem *to)
{
    int64_t dense[3] = {x->shape[1] * x->shape[2], x->shape[2], 1};
    ndp_view v[2] = {{.mem = a,
                      .offset_bytes = x->first,
                      .shape = x->shape,
                      .stride = x->stride,
                      .dtype = NDP_I8,
                      .ndim = 3},
                     {.mem = to,
                      .shape = x->shape,
                      .stride = dense,
                      .dtype = NDP_I8,
                      .ndim = 3,
                      .flags = NDP_VIEW_CONTIGUOUS}};
    ndp_call call = {
        .size = sizeof call, .op = NDP_OP_copy, .n_in = 1, .n_out = 1, .in = v, .out = v + 1};
    find_and_run(dev, s, &call);
}

static void fill_in(ndp_stream *s, const random_view *y)
{
    static const int64_t zero[3];
    ndp_scalar value = {.dtype = NDP_I8, .v.i = 1};
    ndp_view v[2] = {{.shape = y->shape, .stride = zero, .dtype = NDP_I8, .ndim = 3},
                     {.mem = a,
                      .offset_bytes = y->first,
                      .shape = y->shape,
                      .stride = y->stride,
                      .dtype = NDP_I8,
                      .ndim = 3}};
    ndp_call call = {.size = sizeof call,
                     .op = NDP_OP_fill,
                     .n_in = 1,
                     .n_out = 1,
                     .n_scalar = 1,
                     .in = v,
                     .out = v + 1,
                     .scalar = &value};
    find_and_run(dev, s, &call);
}

static void f5_random_views(void)
{
    int wrong = 0, races = 0;
    for (int i = 0; i < 2000; i++) {
        uint64_t n = 0;
        random_view x = make_view(1), y = make_view(i % 2);
        fresh();
        copy_out(s1, &x, b);
        fill_in(s2, &y);
        control->race_count(dev, &n);
        races += n == 1;
        wrong += n != (uint64_t)meet(&x, &y);
    }
    is_int(wrong, 0, "F5: 2000 pairs of random views: a race exactly where they share a byte");
    ok(races > 200 && races < 1800, "F5: of which some do and some do not (%d)", races);
}

static void f5_two_in_one(void)
{
    fresh();
    binary(dev, s1, NDP_OP_add, VEC(a, 100), VEC(b, 100), VEC(c, 100));
    binary(dev, s2, NDP_OP_multiply, VEC(c, 100), VEC(c, 100), VEC(b, 100));
    one_race("add (", "multiply (",
             "F5: a pair of operations is one race, in however many operands");
    fresh();
    binary(dev, s1, NDP_OP_add, VEC(a, 100), VEC(a, 100), VEC(a, 100));
    binary(dev, s1, NDP_OP_add, VEC(a, 100), VEC(a, 100), VEC(a, 100));
    no_race("F5: in place, on one stream");
}

/* 6000 operations on three streams that hand a block around; the history must not hide a race. */
static void f5_long(void)
{
    ndp_stream *s[3] = {s1, s2, s3};
    fresh();
    for (int i = 0; i < 6000; i++) {
        add(s[i % 3], a, i % 2 ? b : c);
        add(s[i % 3], i % 2 ? b : c, a);
        streams->event_record(dev, e, s[i % 3]);
        streams->wait(dev, s[(i + 1) % 3], e);
    }
    no_race("F5: a long ordered program");
    add(s[1], a, d); /* the last one ran on s[2] */
    one_race("add (writes", "add (reads", "F5: and one operation out of order");
}

static void f5_long_setup_race(void)
{
    ndp_stream *s[2] = {s1, s2};
    fresh();
    for (int i = 0; i < 3000; i++) {
        add(s[i % 2], a, b);
        streams->event_record(dev, e, s[i % 2]);
        streams->wait(dev, s[(i + 1) % 2], e);
    }
    no_race("F5: another long ordered program");
    fill(dev, s3, VEC(a, 100), 0);
    uint64_t n = 0;
    control->race_count(dev, &n);
    is_int(n, 1, "F5: a write beside it races with the last reader alone: the others come before");
}

/* S12: the three examples of PyTorch's note on streams. */
static void s12_examples(void)
{
    ndp_mem *t;
    fresh();
    fill(dev, NULL, VEC(a, 100), 1);
    add(s1, a, b);
    one_race("fill (writes", "add (reads", "S12: first example: no wait");
    fresh();
    t = block(dev, 400);
    fill(dev, NULL, VEC(t, 100), 1);
    streams->event_record(dev, e, NULL);
    streams->wait(dev, s1, e);
    add(s1, t, b);
    streams->event_record(dev, e, s1); /* record_stream: the block is freed after its event */
    streams->event_sync(dev, e);
    sim->free(dev, t);
    no_race("S12: second example: wait, and record_stream");
    fresh();
    fill(dev, NULL, VEC(a, 100), 1);
    streams->event_record(dev, e, NULL);
    streams->wait(dev, s1, e);
    fill(dev, s1, VEC(a, 100), 2);
    no_race("S12: third example: write only, with wait");
    fresh();
    fill(dev, NULL, VEC(a, 100), 1);
    fill(dev, s1, VEC(a, 100), 2);
    one_race("fill (writes", "fill (writes", "S12: and without it");
}

/* D15: both edges of a copy between devices. */
static void d15_two_devices(void)
{
    ndp_dev *d1 = open_sim(1);
    ndp_mem *far = block(d1, 400);
    ndp_stream *t = new_stream(d1);
    ndp_event *f = new_event(d1);
    control->set_mode(d1, NDSIM_STEPPED);
    fresh();
    fill(d1, t, VEC(far, 100), 1);
    fill(dev, s1, VEC(a, 100), 1);
    peer->copy(dev, s1, a, 0, d1, far, 0, 400);
    one_race("fill (writes", "peer copy (writes", "D15: without the first edge");
    streams->sync(d1, t);
    fresh();
    fill(d1, t, VEC(far, 100), 1);
    streams->event_record(d1, f, t);
    streams->wait(dev, s1, f);
    peer->copy(dev, s1, a, 0, d1, far, 0, 400);
    binary(d1, t, NDP_OP_add, VEC(far, 100), VEC(far, 100), VEC(far, 100));
    one_race("peer copy (writes", "add (", "D15: without the second");
    streams->sync(d1, t);
    fresh();
    fill(d1, t, VEC(far, 100), 1);
    streams->event_record(d1, f, t);
    streams->wait(dev, s1, f);
    peer->copy(dev, s1, a, 0, d1, far, 0, 400);
    streams->event_record(dev, e, s1);
    streams->wait(d1, t, e);
    binary(d1, t, NDP_OP_add, VEC(far, 100), VEC(far, 100), VEC(far, 100));
    no_race("D15: none with both");
    streams->sync(d1, t);
    streams->destroy(d1, t);
    streams->event_destroy(d1, f);
}

static void *on_own_stream(void *arg)
{
    ndp_stream *s = NULL;
    int32_t status = streams->wrap(dev, 2, &s);
    if (status == NDP_OK)
        status = fill(dev, s, VEC(a, 100), 1);
    streams->destroy(dev, s);
    *(int32_t *)arg = status;
    return NULL;
}

static void s17_per_thread_streams(void)
{
    pthread_t t;
    int32_t status = -1;
    fresh();
    on_own_stream(&status);
    on_own_stream(&status);
    is_int(status, NDP_OK, "S17: handle 2 is the thread's own stream");
    no_race("S17: the same one each time");
    pthread_create(&t, NULL, on_own_stream, &status);
    pthread_join(t, NULL);
    is_int(status, NDP_OK, "S17: another thread has one too");
    one_race("fill (writes", "fill (writes", "S17: and they are not ordered");
}

static void f5_new_stream_knows_nothing(void)
{
    fresh();
    ndp_stream *s = new_stream(dev), *again;
    fill(dev, s, VEC(a, 100), 1);
    streams->destroy(dev, s);
    again = new_stream(dev);
    ok(s == again, "F6: the handle is used again");
    add(again, a, b);
    one_race("fill (writes", "add (reads", "F5: but it is another stream");
    streams->sync(dev, again);
    streams->destroy(dev, again);
    fresh();
    for (int i = 0; i < 1000; i++) { /* and so with many, whether or not the host waited for them */
        s = new_stream(dev);
        fill(dev, s, VEC(a, 100), 1);
        streams->sync(dev, s);
        streams->destroy(dev, s);
    }
    no_race("F5: a thousand streams, each waited for");
    fill(dev, s1, VEC(a, 100), 1);
    s = new_stream(dev);
    add(s, a, b);
    one_race("fill (writes", "add (reads", "F5: the next one is not ordered with another's work");
    streams->destroy(dev, s);
}

TAP_MAIN({"setup", setup}, {"raw", f5_write_then_read}, {"war", f5_read_then_write},
         {"waw", f5_write_then_write}, {"early", f5_event_too_early}, {"chains", f5_chains},
         {"host", f5_host}, {"free", f5_free}, {"ranges", f5_ranges}, {"views", f5_random_views},
         {"pairs", f5_two_in_one}, {"long", f5_long}, {"readers", f5_long_setup_race},
         {"s12", s12_examples}, {"d15", d15_two_devices}, {"s17", s17_per_thread_streams},
         {"handles", f5_new_stream_knows_nothing}, {"finish", finish})
