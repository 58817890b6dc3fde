/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Faults that a device does not recover from, and switches that a process reads once: each case is
 * a child of its own. */
#include "tests/stream/lab.h"

static sim at[2];
typedef struct {
    int code, sticky; /* of the driver; whether the plug-in itself says that the device is lost */
} kind;
typedef struct {
    nd_stream *stream;
    nd_event *event; /* recorded behind the work */
    nd_array *a;     /* of one element */
} scene;

/* ---- A6 ---- */
static void never(void *ctx)
{
    (void)ctx;
    abort();
}

static nd_status again(int i, scene *s, nd_array **r)
{
    nd_scalar v;
    int32_t done;
    nd_stream *stream = NULL;
    nd_event *event = NULL;
    uint64_t room, total;
    const int64_t n = 4;
    switch (i) {
    case 0:
        return nd_synchronize(at[0].d);
    case 1:
        return nd_add(s->a, s->a, r);
    case 2:
        return nd_item(s->a, &v);
    case 3:
        return nd_stream_synchronize(s->stream);
    case 4:
        return nd_stream_query(s->stream, &done);
    case 5:
        return nd_event_query(s->event, &done);
    case 6:
        return nd_event_synchronize(s->event);
    case 7:
        return nd_event_record(s->event, s->stream);
    case 8:
        return nd_stream_create(at[0].d, NULL, &stream);
    case 9:
        return nd_event_create(at[0].d, NULL, &event);
    case 10:
        return nd_full(at[0].d, ND_F32, 1, &n, nd_float(1), r);
    case 11:
        return nd_stream_wait_event(s->stream, s->event);
    case 14:
        return nd_memory_usage(at[0].d, &room, &total);
    case 15:
        return nd_empty_pinned(at[0].d, ND_F32, 1, &n, r);
    case 16:
        return nd_stream_wait_stream(s->stream, s->stream);
    case 17:
        return nd_stream_launch_host(s->stream, never, NULL);
    case 12:
        return nd_to_device(s->a, at[1].d, r);
    default:
        return nd_fill(s->a, nd_float(1));
    }
}

static int poisoned(void *arg)
{
    const kind *fault = arg;
    nd_array *r = NULL;
    at[0] = open_sim(0);
    at[1] = open_sim(1);
    nd_array *other = vector(at[1].d, 4, 1);
    scene s = {new_stream(at[0].d), NULL, NULL};
    must(nd_event_create(at[0].d, NULL, &s.event));
    must(nd_stream_push(s.stream));
    s.a = vector(at[0].d, 1, 1);
    must(nd_stream_synchronize(s.stream));
    must(at[0].c->set_mode(
        at[0].dev, NDSIM_STEPPED)); /* else it may be lost while work is still being queued */
    must(at[0].c->fault(at[0].dev, native(s.stream), 2, fault->code, fault->sticky));
    must(nd_add_into(s.a, s.a, s.a));
    must(nd_negative_into(s.a, s.a));
    must(nd_add_into(s.a, s.a, s.a));
    must(nd_event_record(s.event, s.stream));
    if (nd_stream_synchronize(s.stream) != ND_ERR_LOST || nd_last_error()->native != fault->code ||
        !strstr(nd_last_error()->message, "negative"))
        return 1;
    uint64_t before = calls(at[0], NULL);
    for (int i = 0; i <= 17; i++)
        if (again(i, &s, &r) != ND_ERR_LOST || nd_last_error()->native != fault->code ||
            strcmp(nd_last_error()->device, "sim:0") != 0)
            return 10 + i;
    must(nd_stream_pop(s.stream));
    nd_release(s.a);
    nd_event_release(s.event);
    nd_stream_release(s.stream);
    if (calls(at[0], NULL) != before)
        return 2; /* the plug-in was asked, or told to free something */
    if (nd_add_into(other, other, other) != ND_OK || first_of(other) != 2)
        return 3;
    nd_device *cpu = NULL;
    must(nd_device_get("cpu", &cpu));
    nd_array *host = vector(cpu, 4, 3);
    return first_of(host) == 3 ? 0 : 4;
}

/* A code that is not among the sticky ones is told once, and the device goes on. */
static int goes_on(void *arg)
{
    const kind *fault = arg;
    at[0] = open_sim(0);
    nd_stream *s = new_stream(at[0].d);
    must(nd_stream_push(s));
    nd_array *a = vector(at[0].d, 4, 1);
    must(nd_stream_synchronize(s));
    must(at[0].c->fault(at[0].dev, native(s), 1, fault->code, 0));
    must(nd_add_into(a, a, a));
    if (nd_stream_synchronize(s) != ND_ERR_ASYNC || nd_last_error()->native != fault->code)
        return 1;
    if (nd_stream_synchronize(s) != ND_OK || nd_fill(a, nd_float(5)) != ND_OK || first_of(a) != 5)
        return 2;
    must(nd_stream_pop(s));
    nd_release(a);
    nd_stream_release(s);
    return 0;
}

/* ---- A3 ---- */
/* In a child: the environment is read once. */
static int from_environment(void *arg)
{
    const char *const *text = arg;
    text[0] ? setenv("NDOCK_LAUNCH_BLOCKING", text[0], 1) : unsetenv("NDOCK_LAUNCH_BLOCKING");
    text[1] ? setenv("CUDA_LAUNCH_BLOCKING", text[1], 1) : unsetenv("CUDA_LAUNCH_BLOCKING");
    return nd_launch_blocking();
}

static void switches(void)
{
    const char *table[][2] = {{NULL, NULL}, {"1", NULL}, {NULL, "1"}, {"0", "1"}, {"", "1"}};
    static const int want[] = {0, 1, 1, 0, 1};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        is_int(in_child(from_environment, table[i]), want[i],
               "A3 NDOCK_, then CUDA_LAUNCH_BLOCKING");
}

/* The codes of A6, and those beside them. */
static void sticky_faults(void)
{
    static const int lost[] = {700, 702, 710, 714, 715, 716, 717, 718, 719};
    static const int passing[] = {699, 701, 703, 709, 711, 713, 720};
    kind fault = {700, 1};
    is_int(in_child(poisoned, &fault), 0,
           "A6 a sticky fault poisons its device alone: the same error without asking it, silent "
           "frees");
    fault.sticky = 0;
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        fault.code = lost[i];
        if (!is_int(in_child(poisoned, &fault), 0,
                    "A6 so does a sticky code of a plug-in that calls it recoverable"))
            diag("code %d", fault.code);
    }
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
        fault.code = passing[i];
        if (!is_int(in_child(goes_on, &fault), 0, "A6 another code does not"))
            diag("code %d", fault.code);
    }
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"sticky_faults", sticky_faults}, {"switches", switches}};
    setenv("NDOCK_DEVICE", "cpu", 1);
    return tap_main(argc, argv, cases, (int)(sizeof cases / sizeof *cases));
}
