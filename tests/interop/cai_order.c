/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The order that the CUDA Array Interface asks of producers and consumers, under the race checker
 * of the simulated device: each rule with its wait, and without it the race. */
#include "core/core.h"
#include "tests/interop/exchange.h"

enum { N = 96 };

static nd_cai export_of(const nd_array *a, int32_t policy)
{
    nd_cai c = {.size = sizeof c};
    const nd_cai_export_opts opts = {.size = sizeof opts, .policy = policy};
    DO(nd_cai_export(a, &opts, &c));
    return c;
}

static nd_array *import_of(const nd_cai *c, int32_t sync)
{
    nd_array *a = NULL;
    const nd_cai_import_opts opts = {.size = sizeof opts, .sync = sync, .device = sim[0]};
    DO(nd_cai_import(c, &opts, &a));
    return a;
}

/* A description as another library would give it. */
static nd_cai described(const nd_array *a, int64_t stream)
{
    nd_cai c = export_of(a, ND_CAI_EXPORT_NONE);
    c.stream = stream;
    return c;
}

static nd_array *part(const nd_array *a, int64_t start, int64_t stop)
{
    nd_array *v = NULL;
    nd_index at = nd_range(start, stop, 1);
    DO(nd_slice(a, &at, 1, &v));
    return v;
}

static nd_array *idle_array(void)
{
    nd_array *a = filled(sim[0], N, 1);
    DO(nd_synchronize(sim[0]));
    check_on();
    return a;
}

/* The document's example: work on 7, 9 and 15, an event on each, 3 waits for them. */
static void three_producers(int32_t policy, const char *what)
{
    nd_stream *s[3] = {new_stream(0), new_stream(0), new_stream(0)}, *three = new_stream(0);
    nd_array *a = idle_array();
    for (int i = 0; i < 3; i++) {
        nd_array *third = part(a, i * N / 3, (i + 1) * N / 3);
        DO(nd_stream_push(s[i]));
        DO(nd_fill(third, nd_float(i)));
        DO(nd_stream_pop(s[i]));
        nd_release(third);
    }
    DO(nd_stream_push(three));
    uint64_t records = calls(0, "event_record"), waits = calls(0, "stream_wait"),
             blocked = host_waits();
    nd_cai c = export_of(a, policy);
    if (policy == ND_CAI_EXPORT_STREAM) {
        is_int(c.stream, handle_number(three), "I5: the export names stream 3");
        is_int(calls(0, "event_record") - records, 3, "I5: one event on each of 7, 9, 15");
        is_int(calls(0, "stream_wait") - waits, 3, "I5: for which stream 3 waits");
        is_int(host_waits(), blocked, "I5: the host waits for nothing");
        nd_cai again = export_of(a, policy);
        is_int(again.stream, c.stream, "I16: a second export says the same");
        is_int(calls(0, "event_record") - records, 3, "I16: and queues nothing");
    }
    DO(nd_stream_pop(three));
    on_handle(handle_number(three), a, 0);
    if (policy == ND_CAI_EXPORT_STREAM)
        no_race(what);
    else
        ok(races() > 0, "%s", what);
    nd_release(a);
    for (int i = 0; i < 3; i++)
        nd_stream_release(s[i]);
    nd_stream_release(three);
    settle();
}

static void i5_join(void)
{
    three_producers(ND_CAI_EXPORT_STREAM, "I5: a consumer on stream 3 races with nobody");
    three_producers(ND_CAI_EXPORT_NONE, "I5: without the three waits it does");
}

static void i4_which_stream(void)
{
    nd_array *a = idle_array();
    nd_cai c = export_of(a, ND_CAI_EXPORT_STREAM);
    ok(c.stream == ND_CAI_NO_STREAM, "I4: nothing pending: no stream");
    DO(nd_fill(a, nd_float(2)));
    c = export_of(a, ND_CAI_EXPORT_STREAM);
    is_int(c.stream, 1, "I4: pending on the default stream: 1, never 0");
    nd_stream *s = new_stream(0);
    DO(nd_stream_push(s));
    DO(nd_fill(a, nd_float(3)));
    c = export_of(a, ND_CAI_EXPORT_STREAM);
    is_int(c.stream, handle_number(s), "I4: pending on one of our own: its handle");
    c = export_of(a, ND_CAI_EXPORT_NONE);
    ok(c.stream == ND_CAI_NO_STREAM, "I7: policy none never names one");
    DO(nd_stream_pop(s));
    c = export_of(a, ND_CAI_EXPORT_SYNC);
    ok(c.stream == ND_CAI_NO_STREAM, "I7: policy sync names none");
    is_int(pending(0, s), 0, "I7: since it has waited");
    nd_array *fresh = vector(sim[0], N);
    DO(nd_fill(a, nd_float(3)));
    nd_release(fresh);
    nd_array *again = vector(sim[0], N);
    c = export_of(again, ND_CAI_EXPORT_STREAM);
    is_int(c.stream, 1, "I4: memory that is used again may have work of before pending");
    nd_release(again);
    nd_release(a);
    nd_stream_release(s);
    settle();
}

static void i6_stream_lives(void)
{
    nd_stream *s = new_stream(0);
    nd_array *a = idle_array();
    DO(nd_stream_push(s));
    DO(nd_fill(a, nd_float(2)));
    nd_cai c = export_of(a, ND_CAI_EXPORT_STREAM);
    DO(nd_stream_pop(s));
    nd_stream_release(s);
    uint64_t gone = calls(0, "stream_destroy");
    on_handle((uint64_t)c.stream, a, 1);
    is_int(calls(0, "stream_destroy") - gone, 1,
           "I6: the exported stream lives after its user (only the wrapper of it went)");
    gone = calls(0, "stream_destroy");
    nd_release(a);
    is_int(calls(0, "stream_destroy") - gone, 1, "I6: and goes with the array");
    settle();
}

/* Our memory played by another library: what it does, it does on the stream of that handle. */
static void consume(int32_t sync, int clean)
{
    uint64_t p = strangers_stream();
    nd_array *theirs = idle_array();
    on_handle(p, theirs, 1);
    nd_cai c = described(theirs, (int64_t)p);
    nd_stream *mine = new_stream(0);
    DO(nd_stream_push(mine));
    uint64_t blocked = host_waits();
    nd_array *a = import_of(&c, sync), *r = NULL;
    DO(nd_negative(a, &r));
    is_int(host_waits(), blocked, "I10: the host waits for nothing");
    if (clean)
        no_race("I10: we read behind what the producer wrote");
    else
        ok(races() > 0, "I10: without the wait that is a race");
    control->race_clear(dev[0]);
    on_handle(p, theirs, 1);
    if (clean)
        no_race("I11: the producer's next write lies behind our read");
    else
        ok(races() > 0, "I11: without the way back that is a race");
    DO(nd_stream_pop(mine));
    nd_release(r);
    nd_release(a);
    nd_release(theirs);
    nd_stream_release(mine);
    settle();
}

static void i10_i11_consumer(void)
{
    consume(ND_CAI_SYNC_ON, 1);
    consume(ND_CAI_SYNC_OFF, 0);
}

/* Their next use races with nothing; ours after that is ordered by hand, as between any two
 * streams.
 */
static void theirs_next(uint64_t p, const nd_array *a, int write, nd_stream *mine, const char *what)
{
    nd_stream *s = NULL;
    on_handle(p, a, write);
    no_race(what);
    DO(nd_stream_wrap(sim[0], p, NULL, NULL, &s));
    DO(nd_stream_wait_stream(mine, s));
    nd_stream_release(s);
}

/* Every kind of use is followed: a write, a strided one, a copy to the host's pinned memory, a
 * launch of several kernels. */
static void i11_every_use(void)
{
    uint64_t p = strangers_stream();
    nd_array *theirs = idle_array(), *r = NULL, *pinned = NULL;
    int64_t n = N;
    nd_cai c = described(theirs, (int64_t)p);
    nd_stream *mine = new_stream(0);
    DO(nd_stream_push(mine));
    nd_array *a = import_of(&c, ND_CAI_SYNC_ON);
    DO(nd_fill(a, nd_float(3)));
    theirs_next(p, theirs, 0, mine, "I11: their read lies behind our write");
    nd_array *half = part(a, 0, N / 2);
    DO(nd_fill(half, nd_float(4)));
    theirs_next(p, theirs, 0, mine, "I11: and behind one through a view");
    DO(nd_empty_pinned(sim[0], ND_F32, 1, &n, &pinned));
    DO(nd_copy_to(a, pinned, &(nd_copy_opts){.size = sizeof(nd_copy_opts), .non_blocking = 1}));
    theirs_next(p, theirs, 1, mine, "I11: their write lies behind our copy to pinned memory");
    DO(nd_copy_to(pinned, a, &(nd_copy_opts){.size = sizeof(nd_copy_opts), .non_blocking = 1}));
    theirs_next(p, theirs, 0, mine, "I11: and behind one from there");
    DO(nd_softmax(a, &(nd_norm_opts){.size = sizeof(nd_norm_opts)}, &r));
    theirs_next(p, theirs, 1, mine, "I11: and behind softmax");
    nd_release(r);
    DO(nd_copy(a, sim[1], &r));
    theirs_next(p, theirs, 1, mine, "I11: and behind a copy to another device");
    nd_release(r);
    DO(nd_stream_pop(mine));
    nd_release(half);
    nd_release(pinned);
    nd_release(a);
    nd_release(theirs);
    nd_stream_release(mine);
    settle();
}

static void re_export(void)
{
    uint64_t p = strangers_stream();
    nd_array *theirs = idle_array(), *r = NULL;
    nd_cai c = described(theirs, (int64_t)p);
    nd_array *a = import_of(&c, ND_CAI_SYNC_ON);
    nd_stream *mine = new_stream(0);
    DO(nd_stream_push(mine));
    DO(nd_negative(a, &r));
    nd_cai again = export_of(a, ND_CAI_EXPORT_STREAM);
    is_int(again.stream, (int64_t)p, "I6: imported memory re-exports its producer's stream");
    nd_release(a);
    c.stream = ND_CAI_NO_STREAM;
    a = import_of(&c, ND_CAI_SYNC_ON);
    again = export_of(a, ND_CAI_EXPORT_STREAM);
    ok(again.stream == ND_CAI_NO_STREAM, "I6: and none stays none");
    nd_release(r);
    DO(nd_fill(a, nd_float(1)));
    again = export_of(a, ND_CAI_EXPORT_STREAM);
    is_int(again.stream, handle_number(mine), "I5: unless work of ours is pending");
    nd_release(a);
    c.stream = (int64_t)p;
    check_on();
    a = import_of(&c, ND_CAI_SYNC_OFF);
    DO(nd_synchronize(sim[0]));
    DO(nd_fill(a, nd_float(1)));
    again = export_of(a, ND_CAI_EXPORT_STREAM);
    is_int(again.stream, (int64_t)p, "I12: sync off still re-exports the producer's");
    on_handle(p, theirs, 0);
    no_race("I12: and joins our own work into it");
    DO(nd_stream_pop(mine));
    nd_release(a);
    nd_release(theirs);
    nd_stream_release(mine);
    settle();
}

static int released;
static void release(void *ctx)
{
    released++;
    *(int *)ctx += 1;
}

static void lifetimes(void)
{
    int owner = 0;
    uint64_t p = strangers_stream();
    nd_array *theirs = idle_array(), *a = NULL;
    nd_cai c = described(theirs, (int64_t)p);
    nd_cai_import_opts opts = {.size = sizeof opts, .release = release, .ctx = &owner};
    DO(nd_cai_import(&c, &opts, &a));
    ok(nd_device_of(a) == sim[0], "I14: the device is found by the address");
    nd_array *view = part(a, 2, 9);
    nd_release(a);
    is_int(owner, 0, "I12: a view keeps the owner");
    uint64_t blocked = host_waits();
    DO(nd_fill(view, nd_float(5)));
    nd_release(view);
    is_int(owner, 1, "I12: which is let go once, with the last view");
    is_int(host_waits(), blocked, "I12: without waiting: its stream lies behind our work");
    c.stream = ND_CAI_NO_STREAM;
    DO(nd_cai_import(&c, &opts, &a));
    DO(nd_fill(a, nd_float(5)));
    nd_release(a);
    is_int(owner, 2, "I12: of an owner without stream as well");
    is_int(pending(0, default_stream(0)), 0,
           "I12: but behind our work, for which the host has waited");
    c.data += 1;
    a = NULL;
    is_int(nd_cai_import(&c, &opts, &a), ND_ERR_UNSUPPORTED, "I12: after a failure");
    is_int(owner, 2, "I12: the owner is still the caller's");
    nd_release(theirs);
    settle();
}

static void our_own_stream(void)
{
    nd_array *ours = idle_array(), *r = NULL;
    nd_stream *s = new_stream(0);
    DO(nd_stream_push(s));
    DO(nd_fill(ours, nd_float(2)));
    nd_cai c = export_of(ours, ND_CAI_EXPORT_STREAM);
    uint64_t records = calls(0, "event_record"), wraps = calls(0, "stream_wrap");
    nd_array *a = import_of(&c, ND_CAI_SYNC_ON);
    DO(nd_negative(a, &r));
    is_int(calls(0, "stream_wrap"), wraps, "a stream of ours is known by its handle");
    is_int(calls(0, "event_record"), records, "and needs no event where it is current");
    no_race("nor is there a race");
    DO(nd_stream_pop(s));
    nd_release(r);
    nd_release(a);
    nd_release(ours);
    nd_stream_release(s);
    settle();
}

/* I18 and captures: what is captured is neither waited for nor followed. */
static void captured(void)
{
    nd_captured *graph = NULL;
    uint64_t p = strangers_stream();
    nd_array *a = idle_array(), *r = vector(sim[0], N);
    nd_cai c = described(a, (int64_t)p);
    nd_array *theirs = import_of(&c, ND_CAI_SYNC_ON);
    nd_stream *s = new_stream(0), *other = new_stream(0);
    DO(nd_stream_push(other));
    DO(nd_fill(a, nd_float(3)));
    DO(nd_stream_pop(other));
    DO(nd__capture_begin(s, NDP_CAPTURE_RELAXED));
    DO(nd_stream_push(s));
    DO(nd_copy_to(theirs, r, NULL));
    nd_cai out = {.size = sizeof out};
    is_int(nd_cai_export(a, NULL, &out), ND_ERR_CAPTURE,
           "work outside of the capture cannot be joined into it");
    has_text(nd_last_error()->message, "captured", "the error says so");
    DO(nd_stream_pop(s));
    DO(nd__capture_end(s, &graph));
    nd__captured_free(graph);
    DO(nd_cai_export(a, NULL, &out));
    is_int(out.stream, 1, "afterwards it can");
    nd_release(theirs);
    nd_release(r);
    nd_release(a);
    nd_stream_release(s);
    nd_stream_release(other);
    settle();
}

TAP_MAIN({"i5_join", i5_join}, {"i4_which_stream", i4_which_stream},
         {"i6_stream_lives", i6_stream_lives}, {"i10_i11_consumer", i10_i11_consumer},
         {"i11_every_use", i11_every_use}, {"re_export", re_export}, {"lifetimes", lifetimes},
         {"our_own_stream", our_own_stream}, {"captured", captured})
