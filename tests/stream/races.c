/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The stream check: the races of PyTorch's examples, what a report says, the backward rule of a
 * tape, two devices, and how the check is turned on. */
#include <unistd.h>
#include "tests/stream/order.h"

/* ---- S12 ---- */
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

TAP_MAIN({"environment", test_environment}, {"examples", test_examples}, {"report", test_report},
         {"backward", test_backward}, {"peers", test_peers})
