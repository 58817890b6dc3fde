/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Captures of programs' functions, and streams that are released before their capture ends. */
#include "tests/stream/capture.h"

/* ---- functions of the host ---- */
static int ran;
static void count_run(void *ctx)
{
    (void)ctx;
    ran++;
}

static void test_rest(void)
{
    nd_stream *s = new_stream(0), *t = new_stream(0);
    nd_array *a = filled(sim[0], N, 0);
    DO(nd_synchronize(sim[0]));
    session c = begin(s, NDP_CAPTURE_THREAD_LOCAL, NULL);
    nd_launch_blocking_set(1);
    nd_hazard_mode_set(1);
    DO(nd_stream_push(s));
    DO(nd_stream_launch_host(s, count_run, NULL));
    DO(nd_fill(a, nd_float(1)));
    DO(nd_stream_pop(s));
    nd_hazard_mode_set(0);
    nd_launch_blocking_set(0);
    end(&c, "A3: with launch blocking and hazard mode");
    is_int(ran, 0, "G23: a captured host function does not run");
    launch(&c);
    launch(&c);
    is_int(ran, 2, "G23: but each time the graph does");
    drop(&c);
    /* A stream destroyed while it is captured takes the capture along. */
    DO(nd__capture_begin(t, NDP_CAPTURE_GLOBAL));
    nd_stream_release(t);
    is_int(nd_synchronize(sim[0]), ND_OK, "G17: a stream that goes takes its capture along");
    nd_release(a);
    nd_stream_release(s);
    settle();
    is_int(reserved(0), 0, "G17: and nothing stays reserved");
}

/* ---- a stream that joined a capture and is released before its end ---- */
static void lend(nd_stream *s, double value)
{
    DO(nd_stream_push(s));
    nd_array *a = filled(sim[0], 1 << 20, value);
    nd_release(a); /* its memory stays the stream's, and its work is still queued */
    DO(nd_stream_pop(s));
}

static void test_released_inside(void)
{
    for (int32_t mode = NDP_CAPTURE_GLOBAL; mode <= NDP_CAPTURE_RELAXED; mode++) {
        nd_stream *s = new_stream(0), *t = new_stream(0);
        settle();
        DO(nd_memory_empty_cache(sim[0]));
        check_on();
        control->set_mode(dev[0], NDSIM_STEPPED);
        lend(t, 1);
        int64_t kept = reserved(0);
        session c = begin(s, mode, NULL);
        DO(nd_stream_wait_stream(t, s));
        DO(nd_stream_wait_stream(s, t));
        control->log_clear(dev[0]);
        nd_stream_release(t);
        is_int(calls(0, "event_record") + calls(0, "stream_destroy"), 0,
               "G17: a stream that is released inside a capture is asked nothing");
        end(&c, "G17: released inside");
        is_int(calls(0, "stream_destroy"), 1, "G17: it goes when the capture has ended");
        nd_array *b = filled(sim[0], 1 << 20, 2);
        is_int(reserved(0), kept, "G17: then its memory is used again");
        control->set_mode(dev[0], NDSIM_AUTO);
        ok(value_of(b) == 2, "G17: after the work of before");
        is_int(races(), 0, "G17: and not before its end");
        nd_release(b);
        drop(&c);
        nd_stream_release(s);
    }
}

/* Two captures; the released stream is of the one that ends later. */
static void test_released_in_the_other(void)
{
    nd_stream *s = new_stream(0), *other = new_stream(0), *t = new_stream(0);
    for (int first = 0; first < 2; first++) {
        session a = begin(first ? other : s, NDP_CAPTURE_RELAXED, NULL);
        session b = begin(first ? s : other, NDP_CAPTURE_RELAXED, NULL);
        DO(nd_stream_wait_stream(t, s));
        DO(nd_stream_wait_stream(s, t));
        control->log_clear(dev[0]);
        nd_stream_release(t);
        end(first ? &a : &b, "G17: the other one ends");
        is_int(calls(0, "stream_destroy"), 0, "G17: the stream stays for its own");
        end(first ? &b : &a, "G17: its own ends");
        is_int(calls(0, "stream_destroy"), 1, "G17: and it goes");
        drop(&a);
        drop(&b);
        t = new_stream(0);
    }
    /* The capture goes with the stream it began on: what was put off is done. */
    DO(nd__capture_begin(s, NDP_CAPTURE_RELAXED));
    DO(nd_stream_wait_stream(t, s));
    nd_stream_release(t);
    control->log_clear(dev[0]);
    nd_stream_release(s);
    is_int(calls(0, "stream_destroy"), 2, "G17: both go");
    nd_stream_release(other);
    settle();
}

/* A program's function: the graph keeps the module, and runs the function each time. */
static void add_one(const uint32_t grid[3], const uint32_t block[3], void *const *argument)
{
    float *x = argument[0];
    for (uint32_t i = 0; i < grid[0] * block[0]; i++)
        x[i] += 1;
}

static void test_functions(void)
{
    static const nd_host_function functions[] = {{"add_one", add_one}};
    const nd_module_opts opts = {
        .size = sizeof opts, .kind = ND_CODE_HOST, .code = functions, .nbytes = sizeof functions};
    nd_stream *s = new_stream(0);
    nd_module *m = NULL, *late = NULL;
    nd_function *f = NULL;
    nd_array *x = NULL;
    nd_scalar sum = nd_float(0);
    DO(nd_zeros(sim[0], ND_F32, 1, (const int64_t[]){N}, &x));
    DO(nd_module_load(sim[0], &opts, &m));
    DO(nd_module_function(m, "add_one", &f));
    const nd_launch_arg arg = nd_launch_out(x);
    const nd_launch_opts how = {.size = sizeof how, .stream = s, .grid = {N}, .block = {1}};
    DO(nd_synchronize(sim[0]));
    session c = begin(s, NDP_CAPTURE_GLOBAL, NULL);
    DO(nd_launch(f, &arg, 1, &how));
    is_int(nd_module_load(sim[0], &opts, &late), ND_ERR_CAPTURE, "X6: no loading in a capture");
    nd_module_release(m);
    end(&c, "X6: a launch is captured");
    launch(&c);
    launch(&c);
    nd_array *total = NULL;
    DO(nd_sum(x, NULL, &total));
    DO(nd_item(total, &sum));
    ok(sum.v.f == 2 * N, "X6: the graph runs the function of the released module");
    drop(&c);
    nd_release(total);
    nd_release(x);
    nd_stream_release(s);
    settle();
}

TAP_MAIN({"rest", test_rest}, {"released_inside", test_released_inside},
         {"released_in_the_other", test_released_in_the_other}, {"functions", test_functions})
