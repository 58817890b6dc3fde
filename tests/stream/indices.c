/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Bad indices that the device finds when nobody can refuse the call any more: the stream's status
 * word tells of them once, to whoever waits first. */
#include "tests/stream/harness.h"

enum { N = 4 };

static nd_array *vector_of(nd_dtype dtype, int64_t n, const void *values)
{
    const nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = 1, .shape = &n};
    nd_array *a = NULL;
    DO(nd_from_host(&layout, values, sim[0], &a));
    return a;
}

static nd_array *ramp(void)
{
    const float values[N] = {0, 1, 2, 3};
    return vector_of(ND_F32, N, values);
}

/* Queues a take of the index at position 1; the one at position 0 is good. */
static void take(const nd_array *from, int64_t index)
{
    const int64_t values[2] = {0, index};
    nd_array *at = vector_of(ND_I64, 2, values), *r = NULL;
    DO(nd_take(from, at, 0, &r));
    nd_release(at);
    nd_release(r);
}

static void is_told(int64_t index, const char *what)
{
    char words[64];
    snprintf(words, sizeof words, "index %lld at position 1", (long long)index);
    is_int(nd_synchronize(sim[0]), ND_ERR_INDEX, what);
    has_text(nd_last_error()->message, words, "by its value and place");
}

/* What was told is over: a later operation is not blamed for it. */
static void told_once(void)
{
    nd_array *a = ramp();
    take(a, 9);
    is_told(9, "a bad index is told when the stream is waited for");
    is_int(nd_synchronize(sim[0]), ND_OK, "once");
    take(a, 3);
    is_int(nd_synchronize(sim[0]), ND_OK, "good indices after it are not blamed for it");
    take(a, -7);
    is_told(-7, "and the next bad one is told");
    take(a, 5);
    take(a, 3);
    take(a, 6);
    is_told(5, "of two bad ones the first is told");
    take(a, 2);
    is_int(nd_synchronize(sim[0]), ND_OK, "and with it the second is over");
    nd_release(a);
    settle();
}

/* Each stream has a word of its own. */
static void of_its_stream(void)
{
    nd_stream *s = new_stream(0);
    nd_array *a = ramp();
    DO(nd_synchronize(sim[0]));
    DO(nd_stream_push(s));
    take(a, 8);
    DO(nd_stream_pop(s));
    take(a, 1);
    is_int(nd_stream_synchronize(default_stream(0)), ND_OK,
           "another stream's bad index is not this one's");
    is_int(nd_stream_synchronize(s), ND_ERR_INDEX, "but of who waits for that stream");
    nd_release(a);
    nd_stream_release(s);
    settle();
}

TAP_MAIN({"told_once", told_once}, {"of_its_stream", of_its_stream})
