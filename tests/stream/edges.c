/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Every edge counts: programs are run once as they are, without a race, and once for each wait in
 * them with that wait taken away, which the checker must find. So no wait is missing, none is too
 * many, and the checker finds whatever is missing. */
#include "tests/stream/harness.h"

enum { N = 300 };
typedef struct {
    const char *name;
    void (*run)(void);
    int waits;  /* of streams, of both devices */
    int sights; /* times that the host learns something which the program needs; 0: not tried */
} scenario;

static void on(nd_stream *s)
{
    DO(nd_stream_push(s));
}
static void off(nd_stream *s)
{
    DO(nd_stream_pop(s));
}

/* Reading and writing on whatever stream is current. */
static void touch(nd_array *a)
{
    DO(nd_add_into(a, a, a));
}
static void read_it(const nd_array *a)
{
    nd_array *r = NULL;
    DO(nd_sum(a, NULL, &r));
    nd_release(r);
}
static void run_all(void)
{
    while (step(0, NULL, 1000) + step(1, NULL, 1000) > 0)
        ;
}

/* ---- what programs say themselves ---- */
static void with_events(void)
{
    nd_stream *s = new_stream(0), *t = new_stream(0);
    nd_event *written = NULL, *read = NULL;
    DO(nd_event_create(sim[0], NULL, &written));
    DO(nd_event_create(sim[0], NULL, &read));
    on(s);
    nd_array *a = filled(sim[0], N, 1);
    DO(nd_event_record(written, s));
    DO(nd_stream_wait_event(t, written));
    on(t);
    read_it(a);
    DO(nd_event_record(read, t));
    off(t);
    DO(nd_stream_wait_event(s, read));
    touch(a);
    nd_release(a);
    off(s);
    nd_event_release(written);
    nd_event_release(read);
    nd_stream_release(s);
    nd_stream_release(t);
}

static void with_wait_stream(void)
{
    nd_stream *s = new_stream(0), *t = new_stream(0);
    nd_array *a = filled(sim[0], N, 1);
    DO(nd_stream_wait_stream(s, default_stream(0)));
    DO(nd_stream_wait_stream(t, default_stream(0)));
    on(s);
    read_it(a);
    off(s);
    on(t);
    read_it(a);
    off(t);
    DO(nd_stream_wait_stream(default_stream(0), s));
    DO(nd_stream_wait_stream(default_stream(0), t));
    touch(a);
    nd_release(a);
    nd_stream_release(s);
    nd_stream_release(t);
}

/* Through a third stream. */
static void in_a_chain(void)
{
    nd_stream *s = new_stream(0), *t = new_stream(0);
    nd_array *a = filled(sim[0], N, 1);
    DO(nd_stream_wait_stream(s, default_stream(0)));
    DO(nd_stream_wait_stream(t, s));
    on(t);
    touch(a);
    off(t);
    DO(nd_stream_wait_stream(s, t));
    DO(nd_stream_wait_stream(default_stream(0), s));
    touch(a);
    nd_release(a);
    nd_stream_release(s);
    nd_stream_release(t);
}

/* The tape's forward ran on s; the caller makes the first gradient and uses the last. */
static void backward(void)
{
    nd_stream *used[] = {new_stream(0), new_stream(0)};
    nd_array *initial = filled(sim[0], N, 1), *g[2];
    DO(nd_backward_enter(used, 2));
    for (int i = 0; i < 2; i++) {
        on(used[i]);
        g[i] = vector(sim[0], N);
        DO(nd_exp_into(initial, g[i]));
        off(used[i]);
    }
    DO(nd_backward_exit(used, 2));
    touch(g[0]);
    touch(g[1]);
    for (int i = 0; i < 2; i++)
        DO(nd_record_use(g[i], default_stream(0)));
    nd_release(initial);
    nd_release(g[0]);
    nd_release(g[1]);
    nd_stream_release(used[0]);
    nd_stream_release(used[1]);
}

/* ---- what the library says for them ---- */
/* D15: both devices' streams use their array before and after. */
static void between_devices(void)
{
    nd_stream *s = new_stream(0), *t = new_stream(1);
    on(t);
    on(s);
    nd_array *a = filled(sim[0], N, 1), *b = filled(sim[1], N, 2);
    DO(nd_copy_to(a, b, NULL));
    touch(b);
    touch(a);
    nd_release(a);
    nd_release(b);
    off(s);
    off(t);
    nd_stream_release(s);
    nd_stream_release(t);
}

static void record_stream(void)
{
    nd_stream *s = new_stream(0);
    nd_array *a = filled(sim[0], N, 1);
    DO(nd_stream_wait_stream(s, default_stream(0)));
    on(s);
    touch(a);
    off(s);
    DO(nd_record_stream(a, s));
    nd_release(a);
    run_all();
    nd_array *b = filled(sim[0], N, 2);
    nd_release(b);
    nd_stream_release(s);
}

static void record_use(void)
{
    nd_stream *s = new_stream(0);
    nd_array *a = filled(sim[0], N, 1);
    DO(nd_stream_wait_stream(s, default_stream(0)));
    on(s);
    touch(a);
    off(s);
    DO(nd_record_use(a, s));
    nd_release(a);
    nd_array *b = filled(sim[0], N, 2);
    nd_release(b);
    nd_stream_release(s);
}

static void two_uses(void)
{
    nd_stream *s = new_stream(0), *t = new_stream(0);
    nd_array *a = filled(sim[0], N, 1);
    DO(nd_stream_wait_stream(s, default_stream(0)));
    DO(nd_stream_wait_stream(t, default_stream(0)));
    on(s);
    read_it(a);
    DO(nd_record_use(a, s));
    off(s);
    on(t);
    read_it(a);
    DO(nd_record_use(a, t));
    off(t);
    nd_release(a);
    nd_array *b = filled(sim[0], N, 2);
    nd_release(b);
    nd_stream_release(s);
    nd_stream_release(t);
}

static void steal(void)
{
    nd_stream *s = new_stream(0);
    DO(nd_memory_conf_set("cross_stream:before_grow"));
    nd_array *a = filled(sim[0], N, 1);
    nd_release(a);
    on(s);
    nd_array *b = filled(sim[0], N, 2);
    nd_release(b);
    off(s);
    DO(nd_memory_conf_set("cross_stream:before_oom"));
    nd_stream_release(s);
}

static void orphan(void)
{
    nd_stream *s = new_stream(0);
    on(s);
    nd_array *a = filled(sim[0], N, 1);
    nd_release(a);
    off(s);
    nd_stream_release(s);
    nd_array *b = filled(sim[0], N, 2);
    nd_release(b);
}

/* The array goes after its stream. */
static void late_orphan(void)
{
    nd_stream *s = new_stream(0);
    on(s);
    nd_array *a = filled(sim[0], N, 1);
    off(s);
    nd_stream_release(s);
    nd_release(a);
    nd_array *b = filled(sim[0], N, 2);
    nd_release(b);
}

/* The copy from a pinned block, then one into it. */
static void pinned(void)
{
    const int64_t n = N;
    nd_stream *s = new_stream(0), *t = new_stream(0);
    nd_array *h = NULL, *d = vector(sim[0], N), *e = filled(sim[0], N, 1);
    nd_copy_opts first = {.size = sizeof first, .non_blocking = 1, .stream = s}, second = first;
    second.stream = t;
    DO(nd_stream_wait_stream(t, default_stream(0)));
    DO(nd_empty_pinned(sim[0], ND_F32, 1, &n, &h));
    DO(nd_copy_to(h, d, &first));
    nd_release(h);
    run_all();
    DO(nd_empty_pinned(sim[0], ND_F32, 1, &n, &h));
    DO(nd_copy_to(e, h, &second));
    nd_release(h);
    DO(nd_record_use(e, t));
    DO(nd_record_use(d, s));
    nd_release(d);
    nd_release(e);
    nd_stream_release(s);
    nd_stream_release(t);
}

/* Hazard mode finds both edges, and the one to a stream that is gone. */
static void hazard_mode(void)
{
    nd_stream *s = new_stream(0), *t = new_stream(0);
    nd_hazard_mode_set(1);
    nd_array *a = filled(sim[0], N, 1);
    on(s);
    read_it(a);
    off(s);
    on(t);
    read_it(a);
    off(t);
    nd_stream_release(t);
    touch(a);
    nd_hazard_mode_set(0);
    nd_release(a);
    nd_stream_release(s);
}

static const scenario scenarios[] = {
    {"events, there and back", with_events, 2, 0},
    {"S7: wait_stream, there and back", with_wait_stream, 4, 0},
    {"S7: through a third stream", in_a_chain, 4, 0},
    {"S15: the backward rule", backward, 4, 0},
    {"D15: a copy between devices", between_devices, 2, 0},
    {"C7: memory after record_stream", record_stream, 1, 1},
    {"C8: memory after record_use", record_use, 2, 0},
    {"C8: memory after two uses", two_uses, 4, 0},
    {"C9: memory of another stream", steal, 1, 0},
    {"S11: memory of a stream that is gone", orphan, 1, 0},
    {"S11: memory freed after its stream", late_orphan, 1, 0},
    {"P1: pinned memory", pinned, 1, 1},
    {"S13: hazard mode", hazard_mode, 4, 0},
};

static uint64_t run_once(const scenario *s)
{
    settle();
    DO(nd_memory_empty_host_cache(sim[0]));
    check_on();
    s->run();
    return races();
}

/* With each wait of the device's streams taken away in turn: how many there are, and how many of
 * them were missed. */
static void drop_each(const scenario *s, int d, int32_t (*drop)(ndp_dev *, uint64_t), int *there,
                      int *missed)
{
    for (uint64_t k = 1, left = 0; k < 100; k++) {
        settle();
        DO(nd_memory_empty_host_cache(sim[0]));
        check_on();
        drop(dev[d], k);
        s->run();
        control->drops_left(dev[d], &left);
        drop(dev[d], 0);
        if (left)
            return;
        ++*there;
        *missed += races() > 0;
        if (races() == 0)
            diag("%s: nothing is missed without number %d of sim:%d", s->name, (int)k, d);
    }
}

static void test_edges(void)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        const scenario *s = &scenarios[i];
        int waits = 0, missed = 0, sights = 0, seen = 0;
        if (!ok(run_once(s) == 0, "%s: no race", s->name))
            show_races();
        drop_each(s, 0, control->drop_wait, &waits, &missed);
        drop_each(s, 1, control->drop_wait, &waits, &missed);
        is_int(waits, s->waits, s->name);
        ok(missed == waits, "%s: each of %d waits is missed when it is not there", s->name, waits);
        if (s->sights) {
            drop_each(s, 0, control->drop_sight, &sights, &seen);
            ok(seen >= s->sights, "%s: so is what the host sees (%d of %d)", s->name, seen, sights);
        }
    }
    settle();
}

TAP_MAIN({"edges", test_edges})
