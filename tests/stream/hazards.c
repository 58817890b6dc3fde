/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Order between streams: the simulator's checker, the library's own stream check, and hazard mode,
 * over the examples of PyTorch's CUDA note and over random programs. */
#include <stdbool.h>
#include <unistd.h>
#include "tests/stream/harness.h"

/* ---- what both checkers say of a program ---- */
typedef struct {
    int64_t sim, core;
    char *text; /* of the core's */
} verdict;

static verdict judge(void (*program)(void *), void *arg)
{
    verdict v = {0};
    DO(nd_synchronize(sim[0]));
    check_on();
    nd_stream_check_set(1);
    program(arg);
    DO(nd_stream_check_report(&v.text, &v.core));
    nd_stream_check_set(0);
    v.sim = (int64_t)races();
    DO(nd_synchronize(sim[0]));
    return v;
}

static void expect(void (*program)(void *), void *arg, int racy, const char *what)
{
    verdict v = judge(program, arg);
    if (!ok((v.sim > 0) == racy, "%s: %s for the simulator's checker", what,
            racy ? "a race" : "no race"))
        show_races();
    if (!ok((v.core > 0) == racy, "%s: %s for the stream check", what, racy ? "a race" : "no race"))
        diag("%s", v.text);
    free(v.text);
}

/* ---- S12: the note's three examples ---- */
enum { WAIT = 1, RECORD = 2 };
enum { N = 300 };

/* A = empty().normal_(); B = sum(A) on another stream. */
static void read_elsewhere(void *flags)
{
    int has = *(int *)flags;
    nd_array *a = filled(sim[0], N, 1), *b = NULL;
    nd_stream *s = new_stream(0);
    if (has & WAIT)
        DO(nd_stream_wait_stream(s, default_stream(0)));
    DO(nd_stream_push(s));
    DO(nd_sum(a, NULL, &b));
    DO(nd_stream_pop(s));
    if (has & RECORD)
        DO(nd_record_stream(a, s));
    nd_release(a);
    nd_array *next = filled(sim[0], N, 2); /* A's memory, if A is free */
    nd_release(next);
    nd_release(b);
    nd_stream_release(s);
}

/* A = empty(); A.normal_() on another stream. A's memory was used before. */
static void write_elsewhere(void *flags)
{
    int has = *(int *)flags;
    nd_array *before = filled(sim[0], N, 1), *a;
    nd_stream *s = new_stream(0);
    nd_release(before);
    a = vector(sim[0], N);
    if (has & WAIT)
        DO(nd_stream_wait_stream(s, default_stream(0)));
    DO(nd_stream_push(s));
    DO(nd_fill(a, nd_float(2)));
    DO(nd_stream_pop(s));
    if (has & RECORD)
        DO(nd_record_stream(a, s));
    nd_release(a);
    nd_stream_release(s);
}

/* The host reads on another stream than the one that writes. */
static void read_by_host(void *flags)
{
    int has = *(int *)flags;
    float got[N];
    nd_array *a = vector(sim[0], N);
    nd_stream *s = new_stream(0);
    DO(nd_stream_wait_stream(s, default_stream(0)));
    DO(nd_stream_push(s));
    DO(nd_fill(a, nd_float(2)));
    DO(nd_stream_pop(s));
    if (has & WAIT)
        DO(nd_stream_wait_stream(default_stream(0), s));
    DO(nd_to_host(a, got, sizeof got));
    DO(nd_record_stream(a, s));
    nd_release(a);
    nd_stream_release(s);
}

static void test_examples(void)
{
    int none = 0, wait = WAIT, record = RECORD, both = WAIT | RECORD;
    expect(read_elsewhere, &none, 1, "S12: the first example, without a wait");
    expect(read_elsewhere, &both, 0, "S12: the second, with wait_stream and record_stream");
    expect(read_elsewhere, &wait, 1, "S12: the second without record_stream");
    expect(read_elsewhere, &record, 1, "S12: the second without wait_stream");
    expect(write_elsewhere, &both, 0, "S12: the third, which reads nothing");
    expect(write_elsewhere, &record, 1, "S12: the third without wait_stream");
    expect(read_by_host, &wait, 0, "S12: the host reads what another stream wrote, after a wait");
    expect(read_by_host, &none, 1, "S12: and without one");
    settle();
}

/* ---- S13 ---- */
static void test_hazard_mode(void)
{
    int none = 0;
    nd_hazard_mode_set(1);
    is_int(nd_hazard_mode(), 1, "S13: hazard mode is on");
    expect(read_elsewhere, &none, 0, "S13: hazard mode puts in the first example's wait");
    expect(write_elsewhere, &none, 0, "S13: and the third's");
    expect(read_by_host, &none, 0, "S13: and that of a read by the host");
    nd_hazard_mode_set(0);
    is_int(nd_hazard_mode(), 0, "S13: hazard mode is off");
    expect(read_elsewhere, &none, 1, "S13: without it the race is back");
    settle();
}

/* All on one stream: fills, sums, copies, frees. */
static void one_stream(nd_stream *s)
{
    DO(nd_stream_push(s));
    nd_array *a = filled(sim[0], N, 1), *b = filled(sim[0], N, 2), *c = NULL, *d = NULL;
    DO(nd_add(a, b, &c));
    nd_release(a);
    DO(nd_sum(c, NULL, &d));
    DO(nd_multiply_into(c, b, c));
    ok(value_of(d) == 3 * N, "S13: the sum");
    nd_release(b);
    nd_release(c);
    nd_release(d);
    DO(nd_stream_pop(s));
}

static int log_of(nd_stream *s, ndsim_call *out, int n)
{
    int count = 0;
    control->log_clear(dev[0]);
    one_stream(s);
    while (count < n && control->log_get(dev[0], (uint64_t)count, &out[count]) == NDP_OK)
        count++;
    return count;
}

static void test_no_cost(void)
{
    enum { MOST = 500 };
    static ndsim_call off[MOST], on[MOST];
    nd_stream *s = new_stream(0);
    one_stream(s); /* memory and kernels are there */
    int n_off = log_of(s, off, MOST), same = 0;
    nd_hazard_mode_set(1);
    int n_on = log_of(s, on, MOST);
    nd_hazard_mode_set(0);
    for (int i = 0; i < n_off && i < n_on; i++)
        same += strcmp(off[i].entry, on[i].entry) == 0 && strcmp(off[i].op, on[i].op) == 0 &&
                off[i].stream == on[i].stream && off[i].nbytes == on[i].nbytes;
    ok(n_off > 5 && n_off < MOST, "S13: one stream's program makes %d calls", n_off);
    is_int(n_on, n_off, "S13: as many with hazard mode");
    is_int(same, n_off, "S13: and the same ones");
    nd_stream_release(s);
    settle();
}

/* A stream that used the array is gone by the time somebody else does. */
static void use_after_stream(void *arg)
{
    nd_array *a = filled(sim[0], N, 1);
    nd_stream *s = new_stream(0);
    (void)arg;
    DO(nd_stream_wait_stream(s, default_stream(0)));
    DO(nd_stream_push(s));
    DO(nd_fill(a, nd_float(2)));
    DO(nd_stream_pop(s));
    nd_stream_release(s);
    DO(nd_fill(a, nd_float(3)));
    nd_release(a);
}

static void test_gone(void)
{
    expect(use_after_stream, NULL, 1, "S13: a stream that is gone still races");
    nd_hazard_mode_set(1);
    expect(use_after_stream, NULL, 0, "S13: hazard mode waits for its end");
    nd_hazard_mode_set(0);
    settle();
}

/* ---- S14 ---- */
static void tagged(void *arg)
{
    nd_array *a = filled(sim[0], N, 1), *b = NULL;
    nd_stream *s = arg;
    DO(nd_tag_push("loss of batch 7"));
    DO(nd_multiply_into(a, a, a));
    DO(nd_tag_pop());
    DO(nd_stream_push(s));
    DO(nd_tag_push("metrics"));
    DO(nd_exp(a, &b));
    DO(nd_tag_pop());
    DO(nd_stream_pop(s));
    nd_release(b);
    DO(nd_synchronize(sim[0]));
    nd_release(a);
}

static void test_report(void)
{
    char name[64];
    nd_stream *s = new_stream(0);
    verdict v = judge(tagged, s);
    is_int(v.core, 1, "S14: one race");
    is_int(v.sim, 1, "S14: as the simulator's checker sees it");
    has_text(v.text, "multiply", "S14: the report names the first operation");
    has_text(v.text, "loss of batch 7", "S14: with its tag");
    has_text(v.text, "exp", "S14: the second");
    has_text(v.text, "metrics", "S14: with its tag");
    snprintf(name, sizeof name, "stream %llu", (unsigned long long)nd_stream_id(s));
    has_text(v.text, name, "S14: the stream");
    has_text(v.text, "nd_stream_wait", "S14: and what to do");
    free(v.text);
    DO(nd_stream_check_report(&v.text, &v.core));
    ok(v.core == 0 && v.text[0] == 0, "S14: the report empties itself");
    free(v.text);
    nd_stream_release(s);
    settle();
}

/* ---- S14: random programs of three streams ---- */
typedef struct {
    uint64_t random;
    int steps;
} plan;

static uint64_t draw(plan *p, uint64_t below)
{
    p->random ^= p->random << 13;
    p->random ^= p->random >> 7;
    p->random ^= p->random << 17;
    return (p->random >> 11) % below;
}

enum { ARRAYS = 3, EVENTS = 2, STREAMS = 3, ROWS = 4, COLUMNS = 8 };

static nd_array *matrix(void)
{
    nd_array *a = NULL;
    DO(nd_empty(sim[0], ND_F32, 2, (int64_t[]){ROWS, COLUMNS}, &a));
    return a;
}

/* The whole, some rows, one column, every other column. */
static nd_array *view_of(const nd_array *a, plan *p)
{
    nd_array *v = NULL;
    nd_index i[2] = {nd_range(0, ROWS, 1), nd_range(0, COLUMNS, 1)};
    switch (draw(p, 4)) {
    case 1:
        i[0] = nd_range((int64_t)draw(p, 2), ROWS, 1);
        break;
    case 2:
        i[1] = nd_at((int64_t)draw(p, COLUMNS));
        break;
    case 3:
        i[1] = nd_range((int64_t)draw(p, 2), COLUMNS, 2);
    }
    DO(nd_slice(a, i, 2, &v));
    return v;
}

static void one_step(plan *p, nd_array **a, nd_stream **s, nd_event **e)
{
    nd_stream *on = s[draw(p, STREAMS)], *other = s[draw(p, STREAMS)];
    nd_array **which = &a[draw(p, ARRAYS)], *v = view_of(*which, p), *out = NULL;
    nd_event *event = e[draw(p, EVENTS)];
    int32_t finished;
    DO(nd_stream_push(on));
    switch (draw(p, 14)) {
    case 0:
    case 1:
    case 2:
        DO(nd_fill(v, nd_float(1)));
        break;
    case 3:
    case 4:
    case 5: /* read */
        DO(nd_sum(v, NULL, &out));
        break;
    case 6:
    case 7:
        DO(nd_event_record(event, on));
        break;
    case 8:
    case 9:
        DO(nd_stream_wait_event(on, event));
        break;
    case 10:
        DO(nd_stream_wait_stream(on, other));
        break;
    case 11: /* free, with or without a word to the allocator, and take memory again */
        if (draw(p, 2))
            DO(nd_record_stream(*which, other));
        else if (draw(p, 2))
            DO(nd_record_use(*which, other));
        nd_release(*which);
        *which = matrix();
        break;
    case 12:
        if (draw(p, 2))
            DO(nd_stream_synchronize(other));
        else
            DO(nd_event_synchronize(event));
        break;
    case 13:
        step(0, NULL, draw(p, 20));
        if (draw(p, 2))
            DO(nd_stream_query(other, &finished));
        else
            DO(nd_event_query(event, &finished));
    }
    DO(nd_stream_pop(on));
    nd_release(v);
    nd_release(out);
}

static void random_program(void *arg)
{
    plan *p = arg;
    nd_array *a[ARRAYS];
    nd_stream *s[STREAMS] = {default_stream(0), new_stream(0), new_stream(0)};
    nd_event *e[EVENTS];
    for (int i = 0; i < ARRAYS; i++)
        a[i] = matrix();
    for (int i = 0; i < EVENTS; i++)
        DO(nd_event_create(sim[0], NULL, &e[i]));
    for (int i = 0; i < p->steps; i++)
        one_step(p, a, s, e);
    for (int i = 0; i < ARRAYS; i++)
        nd_release(a[i]);
    for (int i = 0; i < EVENTS; i++)
        nd_event_release(e[i]);
    for (int i = 1; i < STREAMS; i++)
        nd_stream_release(s[i]);
}

static void test_random(void)
{
    const char *text = getenv("NDOCK_TEST_PROGRAMS");
    int programs = text ? atoi(text) : 200, agree = 0, racy = 0;
    for (int i = 0; i < programs; i++) {
        plan p = {.random = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(i + 1), .steps = 3 + i % 14};
        verdict v = judge(random_program, &p);
        agree += (v.sim > 0) == (v.core > 0);
        racy += v.sim > 0;
        if ((v.sim > 0) != (v.core > 0)) {
            diag("program %d: %lld races for the simulator, %lld for the stream check: %s", i,
                 (long long)v.sim, (long long)v.core, v.text);
            show_races();
        }
        free(v.text);
    }
    is_int(agree, programs, "S14: both checkers agree on random programs");
    ok(racy > programs / 10 && racy < programs * 9 / 10, "S14: %d of %d are races", racy, programs);
    settle();
}

/* The same with hazard mode: no program races. */
static void test_random_hazards(void)
{
    int clean = 0, programs = 200;
    for (int i = 0; i < programs; i++) {
        plan p = {.random = UINT64_C(0xd6e8feb86659fd93) * (uint64_t)(i + 1), .steps = 15};
        verdict v = {0};
        nd_hazard_mode_set(1);
        if (i % 2) { /* with the stream check beside it, and alone */
            v = judge(random_program, &p);
        } else {
            check_on();
            random_program(&p);
            v.sim = (int64_t)races();
            DO(nd_synchronize(sim[0]));
        }
        nd_hazard_mode_set(0);
        clean += v.sim == 0 && v.core == 0;
        if (v.sim || v.core)
            show_races();
        free(v.text);
    }
    is_int(clean, programs, "S13: with hazard mode no random program races");
    settle();
}

/* ---- S15: the backward rule; the loss was computed on the stream `forward` ---- */
typedef struct {
    nd_array *loss, *gradient; /* of the loss; of what is trained */
} tape;

/* One node, whose forward ran on s. */
static void run_backward(tape *t, nd_stream *s, const nd_array *initial)
{
    DO(nd_backward_enter(&s, 1));
    DO(nd_stream_push(s));
    DO(nd_multiply_into(t->loss, initial, t->gradient));
    DO(nd_stream_pop(s));
    DO(nd_backward_exit(&s, 1));
}

static tape make_tape(nd_stream *forward)
{
    tape t = {vector(sim[0], N), vector(sim[0], N)};
    DO(nd_fill(t.gradient, nd_float(0)));
    DO(nd_stream_wait_stream(forward, default_stream(0)));
    DO(nd_stream_push(forward));
    DO(nd_fill(t.loss, nd_float(2)));
    DO(nd_stream_pop(forward));
    return t;
}

enum { USE_INSIDE = 1, USE_OUTSIDE = 2, SYNC = 4, INITIAL_INSIDE = 8, INITIAL_OUTSIDE = 16 };

static void backward_case(void *flags)
{
    int how = *(int *)flags;
    nd_stream *s = new_stream(0), *forward = new_stream(0);
    tape t = make_tape(forward);
    nd_array *initial = NULL, *used = NULL, *all = vector(sim[0], N);
    DO(nd_synchronize(sim[0])); /* the forward pass is not what is judged */
    if (how & INITIAL_OUTSIDE)
        initial = filled(sim[0], N, 1);
    if ((how & INITIAL_OUTSIDE) && (how & SYNC))
        DO(nd_stream_wait_stream(s, default_stream(0)));
    DO(nd_stream_push(s));
    if (!initial)
        initial = filled(sim[0], N, 1);
    run_backward(&t, forward, initial);
    if (how & USE_INSIDE)
        DO(nd_exp(t.gradient, &used));
    DO(nd_stream_pop(s));
    if ((how & USE_OUTSIDE) && (how & SYNC))
        DO(nd_stream_wait_stream(default_stream(0), s));
    if (how & USE_OUTSIDE)
        DO(nd_exp(t.gradient, &used));
    DO(nd_synchronize(sim[0]));
    nd_release(used);
    nd_release(initial);
    nd_release(all);
    nd_release(t.loss);
    nd_release(t.gradient);
    nd_stream_release(s);
    nd_stream_release(forward);
}

static void test_backward(void)
{
    int c[] = {USE_INSIDE,     USE_OUTSIDE,     USE_OUTSIDE | SYNC,
               INITIAL_INSIDE, INITIAL_OUTSIDE, INITIAL_OUTSIDE | SYNC};
    expect(backward_case, &c[0], 0, "S15: gradients used where backward was called");
    expect(backward_case, &c[1], 1, "S15: gradients used on another stream");
    expect(backward_case, &c[2], 0, "S15: the same after a wait");
    expect(backward_case, &c[3], 0, "S15: first gradients made where backward is called");
    expect(backward_case, &c[4], 1, "S15: first gradients made on another stream");
    expect(backward_case, &c[5], 0, "S15: the same after a wait");
    nd_stream *none = NULL;
    is_int(nd_backward_enter(&none, 1), ND_ERR_ARGUMENT, "S15: a NULL stream is refused");
    is_int(nd_backward_exit(NULL, 1), ND_ERR_ARGUMENT, "S15: no streams are refused");
    DO(nd_backward_enter(NULL, 0));
    settle();
}

/* ---- D15 ---- */
static void test_peers(void)
{
    nd_stream *from = new_stream(0), *to = new_stream(1);
    DO(nd_stream_push(to));
    nd_array *b = filled(sim[1], N, 1), *c = NULL;
    DO(nd_stream_pop(to));
    DO(nd_stream_push(from));
    nd_array *a = filled(sim[0], N, 5);
    DO(nd_stream_pop(from));
    DO(nd_synchronize(sim[0]));
    check_on();
    nd_stream_check_set(1);
    DO(nd_stream_push(to));
    DO(nd_stream_push(from));
    DO(nd_fill(a, nd_float(6)));
    DO(nd_fill(b, nd_float(2)));
    DO(nd_copy_to(a, b, NULL));
    DO(nd_exp(b, &c));
    DO(nd_stream_pop(from));
    DO(nd_stream_pop(to));
    char *text;
    int64_t n;
    DO(nd_stream_check_report(&text, &n));
    nd_stream_check_set(0);
    is_int(races(), 0, "D15: a copy between devices is ordered on both sides");
    is_int(n, 0, "D15: and the stream check agrees");
    free(text);
    DO(nd_synchronize(sim[1]));
    ok(value_of(b) == 6, "D15: with the right values");
    /* The destination was used on a stream that is not current: nothing orders that. */
    check_on();
    nd_stream_check_set(1);
    DO(nd_stream_push(to));
    DO(nd_fill(b, nd_float(2)));
    DO(nd_stream_pop(to));
    DO(nd_stream_push(from));
    DO(nd_copy_to(a, b, NULL));
    DO(nd_stream_pop(from));
    DO(nd_stream_check_report(&text, &n));
    nd_stream_check_set(0);
    ok(races() > 0, "D15: another stream's use of the destination is a race");
    ok(n > 0, "D15: that the stream check finds across devices");
    free(text);
    nd_release(a);
    nd_release(b);
    nd_release(c);
    nd_stream_release(from);
    nd_stream_release(to);
    settle();
}

/* NDOCK_STREAM_CHECK is read once, so another process tries it: this program with two variables. */
static int count_with(const char *value)
{
    char command[300], path[200] = {0};
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
        return -1;
    snprintf(command, sizeof command, "NDOCK_TEST_COUNT=1 NDOCK_STREAM_CHECK=%s '%s' environment",
             value, path);
    FILE *f = popen(command, "r");
    int n = -1;
    if (!f || fscanf(f, "races %d", &n) != 1)
        n = -1;
    if (f)
        pclose(f);
    return n;
}

static void test_environment(void)
{
    int none = 0;
    char *text;
    int64_t n;
    if (getenv("NDOCK_TEST_COUNT")) {
        read_elsewhere(&none);
        DO(nd_stream_check_report(&text, &n));
        printf("races %d\n", (int)n);
        free(text);
        exit(0);
    }
    ok(count_with("1") > 0, "S14: NDOCK_STREAM_CHECK=1 turns the check on");
    is_int(count_with("0"), 0, "S14: 0 does not");
}

/* An array, and an import of elements from..from + n of its memory. */
typedef struct {
    nd_array *own, *import;
    nd_stream *other;
    bool ordered;
} two_names;

static two_names make_names(int64_t from, int64_t n)
{
    const int64_t shape[1] = {n}, all[1] = {64};
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = shape};
    two_names t = {.other = new_stream(0)};
    void *data;
    DO(nd_full(sim[0], ND_F32, 1, all, nd_float(1), &t.own));
    DO(nd_data(t.own, &data));
    DO(nd_wrap(&layout, (float *)data + from, sim[0], NULL, NULL, &t.import));
    return t;
}

/* Elements 0 to 31 are written by the one name, the import is read by the other. */
static void both_names(void *arg)
{
    const two_names *t = arg;
    const nd_index lower[1] = {nd_range(0, 32, 1)};
    nd_array *half = NULL, *out = NULL;
    DO(nd_slice(t->own, lower, 1, &half));
    DO(nd_fill(half, nd_float(2)));
    if (t->ordered) {
        nd_stream *now = NULL;
        DO(nd_stream_current(sim[0], &now));
        DO(nd_stream_wait_stream(t->other, now));
        nd_stream_release(now);
    }
    DO(nd_stream_push(t->other));
    DO(nd_exp(t->import, &out));
    DO(nd_stream_pop(t->other));
    nd_release(half);
    nd_release(out);
}

/* The check must be on when the import is made. */
static int64_t races_of_names(int64_t from, int64_t n, bool ordered)
{
    nd_stream_check_set(1);
    two_names t = make_names(from, n);
    t.ordered = ordered;
    verdict v = judge(both_names, &t);
    DO(nd_synchronize(sim[0]));
    nd_release(t.import);
    nd_release(t.own);
    nd_stream_release(t.other);
    free(v.text);
    return v.core;
}

static void test_imports(void)
{
    is_int(races_of_names(0, 64, false), 1, "S14: an array and an import of its memory race");
    is_int(races_of_names(31, 8, false), 1, "S14: where one element is of both");
    is_int(races_of_names(32, 32, false), 0, "S14: not where the import lies beside");
    is_int(races_of_names(0, 64, true), 0, "S14: nor where a wait orders them");
}

TAP_MAIN({"imports", test_imports}, {"environment", test_environment}, {"examples", test_examples},
         {"hazard_mode", test_hazard_mode}, {"no_cost", test_no_cost}, {"gone", test_gone},
         {"report", test_report}, {"random", test_random}, {"random_hazards", test_random_hazards},
         {"backward", test_backward}, {"peers", test_peers})
