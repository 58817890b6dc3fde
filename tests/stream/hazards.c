/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * S13: hazard mode, which puts in the waits that a program lacks and costs one stream nothing. */
#include "tests/stream/order.h"

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

TAP_MAIN({"hazard_mode", test_hazard_mode}, {"no_cost", test_no_cost}, {"gone", test_gone})
