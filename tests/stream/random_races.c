/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Both checkers, and hazard mode, on random programs of three streams. */
#include "tests/stream/order.h"

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

TAP_MAIN({"random", test_random}, {"random_hazards", test_random_hazards})
