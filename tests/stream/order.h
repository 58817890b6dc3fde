/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the tests of order between streams share: what the simulator's checker and the library's
 * stream check say of a program, and the examples of PyTorch's CUDA note. */
#ifndef NDOCK_TESTS_STREAM_ORDER_H
#define NDOCK_TESTS_STREAM_ORDER_H
#include <stdbool.h>
#include "tests/stream/harness.h"

/* ---- what both checkers say of a program ---- */
typedef struct {
    int64_t sim, core;
    char *text; /* of the core's */
} verdict;

UNUSED static verdict judge(void (*program)(void *), void *arg)
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

UNUSED static void expect(void (*program)(void *), void *arg, int racy, const char *what)
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
UNUSED static void read_elsewhere(void *flags)
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
UNUSED static void write_elsewhere(void *flags)
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
UNUSED static void read_by_host(void *flags)
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

#endif
