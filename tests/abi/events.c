/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group E: events, and the ends of streams and events. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ndock/sim.h>
#include "streams.h"

void abi_check_event_query(void)
{
    ndp_stream *s = abi_stream();
    ndp_event *e = abi_event(0);
    for (int round = 0; round < 3;
         round++) { /* again and again, so that old records do not count */
        abi_gate *g = abi_gate_close(s);
        abi_call(abi.stream.event_record(abi.dev, e, s), "event_record");
        if (g)
            abi_expect(!event_done(e), "event_query says done of an event behind work that stands "
                                       "still");
        abi_gate_open(g);
        double end = abi_seconds() + 5;
        while (!event_done(e) && abi_seconds() < end)
            abi_sleep_ms(1);
        abi_expect(event_done(e), "event_query still says after 5 s that an event is not done");
        abi_call(abi.stream.event_sync(abi.dev, e), "event_sync");
        abi_expect(event_done(e), "after event_sync, event_query says not done");
    }
}

void abi_check_event_sync(void)
{
    ndp_stream *s = abi_stream();
    /* Often: see E.sync_waits. */
    for (int i = 0; i < 16; i++) {
        ndp_event *e = abi_event(i % 2 ? NDP_EVENT_BLOCKING : 0);
        chain c = chain_new(12, 1 << 18);
        chain_run(&c, s);
        abi_call(abi.stream.event_record(abi.dev, e, s), "event_record");
        abi_gate *g = abi_gate_close(s); /* behind the event */
        abi_call(abi.stream.event_sync(abi.dev, e), "event_sync");
        bool good = abi_expect(event_done(e), "after event_sync, event_query says not done");
        good &= abi_expect(abi_gate_open(g), "event_sync waited for work behind its event");
        abi_call(abi.stream.sync(abi.dev, s), "sync");
        if (!good ||
            !chain_moved(&c, c.n - 1, NULL, "the last of a chain of copies, after event_sync"))
            return;
        chain_free(&c);
        abi.stream.event_destroy(abi.dev, e);
    }
}

/* Milliseconds by the host's clock, which a device with a clock of its own, simulated, does not
 * keep. The start is done before the sleep begins, and the stop is recorded after its end. */
static void elapsed_by_the_clock(ndp_stream *s)
{
    enum { SLEEP_MS = 60 };
    const ndsim_control_1 *sim = abi_group(abi.dev, NDSIM_GROUP);
    ndp_event *start = abi_event(NDP_EVENT_TIMING), *stop = abi_event(NDP_EVENT_TIMING);
    double ms = -1;
    if (sim && sim->size >= NDP_END(ndsim_control_1, clock) && sim->clock) {
        abi_diag("its clock is simulated, and not compared with the host's");
        return;
    }
    const double begin = abi_seconds();
    abi_call(abi.stream.event_record(abi.dev, start, s), "event_record");
    abi_call(abi.stream.event_sync(abi.dev, start), "event_sync");
    const double slept_from = abi_seconds();
    abi_sleep_ms(SLEEP_MS);
    const double slept = (abi_seconds() - slept_from) * 1e3;
    abi_call(abi.stream.event_record(abi.dev, stop, s), "event_record");
    abi_call(abi.stream.event_sync(abi.dev, stop), "event_sync");
    const double most = (abi_seconds() - begin) * 1e3;
    abi_call(abi.stream.event_elapsed(abi.dev, start, stop, &ms), "event_elapsed");
    abi_expect(ms >= 0.95 * slept - 1 && ms <= 1.05 * most + 1,
               "event_elapsed says %g between two events that lie %.1f to %.1f milliseconds apart "
               "by the clock: it answers in milliseconds",
               ms, slept, most);
}

void abi_check_event_elapsed(void)
{
    ndp_stream *s = abi_stream();
    ndp_event *start = abi_event(NDP_EVENT_TIMING), *stop = abi_event(NDP_EVENT_TIMING);
    ndp_event *never = abi_event(NDP_EVENT_TIMING);
    chain c = chain_new(12, 1 << 20);
    double ms = -1, back = 1;
    abi_call(abi.stream.event_record(abi.dev, start, s), "event_record");
    chain_run(&c, s);
    abi_call(abi.stream.event_record(abi.dev, stop, s), "event_record");
    abi_call(abi.stream.event_sync(abi.dev, stop), "event_sync");
    abi_call(abi.stream.event_elapsed(abi.dev, start, stop, &ms), "event_elapsed");
    abi_expect(isfinite(ms) && ms >= 0 && ms < 60e3, "event_elapsed says %g ms", ms);
    if (abi.stream.event_elapsed(abi.dev, stop, start, &back) == NDP_OK)
        abi_expect(fabs(ms + back) <= 1e-3 * ms + 1e-6,
                   "event_elapsed says %g ms one way and %g the other", ms, back);
    abi_error_clear();
    abi_refused(abi.stream.event_elapsed(abi.dev, start, never, &ms), 0,
                "event_elapsed to an event that was never recorded");
    elapsed_by_the_clock(s);
}

void abi_check_unrecorded(void)
{
    ndp_stream *s = abi_stream();
    ndp_event *e = abi_event(0);
    abi_call(abi.stream.wait(abi.dev, s, e), "wait for an event that was never recorded");
    abi_call(abi.stream.sync(abi.dev, s), "sync after it");
    abi_expect(stream_done(s), "a stream stands still that waits for an event never recorded");
    abi.stream.event_destroy(abi.dev, e);
}

/* What is copied behind work that stands still has not moved yet, as another stream sees it. */
void abi_check_copy_queued(void)
{
    static const size_t sizes[] = {1000, 1 << 16, 1 << 18, 1 << 20, (5 << 20) + 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t n = sizes[i];
        ndp_stream *s = abi_stream(), *other = abi_stream();
        ndp_mem *from = abi_alloc(n), *to = abi_alloc(n);
        unsigned char *bytes = abi_bytes(n);
        abi_fill(bytes, n, 1);
        abi_write(s, from, 0, bytes, n);
        abi_fill(bytes, n, 2);
        abi_write(s, to, 0, bytes, n);
        abi_call(abi.stream.sync(abi.dev, s), "sync of what is written before");
        abi_gate *g = abi_gate_close(s);
        if (!g)
            abi_skip("without launch_host no stream can be made to stand still");
        abi_copy(s, to, 0, from, 0, n);
        abi_read(other, to, n - 1, bytes, 1);
        const bool in_time = abi_gate_open(g);
        unsigned char *before = abi_bytes(n);
        abi_fill(before, n, 2);
        abi_expect(!in_time || bytes[0] == before[n - 1],
                   "a copy of %zu bytes overtakes work that was queued before it", n);
        abi_read(s, to, 0, bytes, n);
        abi_filled(bytes, n, 1, 0, "the destination of a copy behind work that stood still");
        free(bytes);
        free(before);
        abi_free(from);
        abi_free(to);
    }
}

/* One stream stands still, another one's work is waited for. */
void abi_check_sync_own(void)
{
    ndp_stream *still = abi_stream(), *s = abi_stream();
    ndp_mem *a = abi_alloc(4096), *b = abi_alloc(4096);
    abi_gate *g = abi_gate_close(still);
    if (!g)
        abi_skip("without launch_host no stream can be made to stand still");
    abi_sleep_ms(20); /* so that it stands there, whatever is queued next */
    abi_copy(s, b, 0, a, 0, 4096);
    abi_call(abi.stream.sync(abi.dev, s), "sync of a stream beside one that stands still");
    abi_expect(abi_gate_open(g), "sync of one stream waits for another one that stands still");
    abi_call(abi.stream.sync(abi.dev, still), "sync");
}

/* A stream of device 1 waits for an event of device 0. */
void abi_check_other_device(void)
{
    enum { BYTES = 4096 };
    ndp_dev *other = NULL;
    ndp_stream *a = abi_stream(), *b = NULL;
    ndp_event *e = abi_event(0);
    int32_t done = 0, lowest = 0, highest = 0;
    if (abi.n_devices < 2)
        abi_skip("there is one device here");
    abi_call(abi.p.open(1, &other), "open(1)");
    if (abi.stream.priority_range)
        abi_call(abi.stream.priority_range(other, &lowest, &highest), "priority_range");
    abi_call(abi.stream.create(other, lowest, 0, &b), "create of a stream of device 1");
    abi_gate *g = abi_gate_close(a);
    if (!g)
        abi_skip("without launch_host no stream can be made to stand still");
    abi_call(abi.stream.event_record(abi.dev, e, a), "event_record on device 0");
    abi_call(abi.stream.wait(other, b, e), "wait on device 1 for an event of device 0");
    abi_sleep_ms(20);
    abi_call(abi.stream.query(other, b, &done), "query of a stream of device 1");
    abi_expect(!done,
               "a stream of device 1 does not wait for an event of device 0 that is not done");
    abi_gate_open(g);
    abi_call(abi.stream.sync(other, b), "sync of the stream of device 1");
    abi_call(abi.stream.event_query(abi.dev, e, &done), "event_query");
    abi_expect(done, "a stream waited for an event of another device that is not done yet");
    abi.stream.destroy(other, b);
    abi.p.close(other);
}

void abi_check_rerecord(void)
{
    ndp_stream *a = abi_stream(), *b = abi_stream();
    ndp_event *e = abi_event(0);
    chain c = chain_new(12, 1 << 18);
    ndp_mem *last = abi_alloc(c.nbytes);
    unsigned char *bytes = abi_bytes(c.nbytes);
    abi_call(abi.stream.event_record(abi.dev, e, a), "event_record");
    abi_call(abi.stream.event_sync(abi.dev, e), "event_sync");
    abi_gate *g = abi_gate_close(a);
    chain_run(&c, a);
    abi_call(abi.stream.event_record(abi.dev, e, a), "event_record");
    abi_call(abi.stream.wait(abi.dev, b, e), "wait");
    abi_copy(b, last, 0, c.mem[c.n - 1], 0, c.nbytes);
    stands_still(g, b, "a stream waits for an event's first record, not its latest");
    abi_gate_open(g);
    abi_read(b, last, 0, bytes, c.nbytes);
    abi_filled(bytes, c.nbytes, 1000, 0, "what a stream copied after an event's second record");
}

void abi_check_destroy_returns(void)
{
    ndp_stream *s = abi_stream();
    ndp_event *e = abi_event(0);
    chain c = chain_new(12, 1 << 18);
    abi_gate *g = abi_gate_close(s);
    chain_run(&c, s);
    abi_call(abi.stream.event_record(abi.dev, e, s), "event_record");
    double begin = abi_seconds();
    abi.stream.destroy(abi.dev, s);
    double took = abi_seconds() - begin;
    abi_expect(abi_gate_open(g) && took < 4, "destroy of a stream that stands still took %.1f s",
               took);
    ndp_stream *other = abi_stream(); /* may have the same handle */
    abi_call(abi.stream.event_sync(abi.dev, e), "event_sync after destroy of the stream");
    chain_moved(&c, c.n - 1, other, "the last of a chain of copies on a stream then destroyed");
}

void abi_check_event_destroy(void)
{
    ndp_stream *a = abi_stream(), *b = abi_stream();
    chain c = chain_new(12, 1 << 18);
    ndp_mem *last = abi_alloc(c.nbytes);
    unsigned char *bytes = abi_bytes(c.nbytes);
    ndp_event *e = abi_event(0);
    abi_gate *g = abi_gate_close(a);
    chain_run(&c, a);
    abi_call(abi.stream.event_record(abi.dev, e, a), "event_record");
    abi_call(abi.stream.wait(abi.dev, b, e), "wait");
    abi.stream.event_destroy(abi.dev, e);
    ndp_event *other = abi_event(0); /* may have the same handle */
    abi_copy(b, last, 0, c.mem[c.n - 1], 0, c.nbytes);
    stands_still(g, b, "a stream runs past its wait for an event that was then destroyed");
    abi_gate_open(g);
    abi_read(b, last, 0, bytes, c.nbytes);
    abi_filled(bytes, c.nbytes, 1000, 0, "what a stream copied after an event then destroyed");
    abi.stream.event_destroy(abi.dev, other);
}

/* A stream of device 1 is refused by device 0. */
static void wrap_foreign(void)
{
    ndp_dev *second = NULL;
    ndp_stream *s = NULL, *w = NULL;
    uint64_t handle = 0;
    if (abi.n_devices < 2 || abi.p.open(1, &second) != NDP_OK)
        return;
    abi_call(abi.stream.create(second, 0, 0, &s), "create of a stream of device 1");
    abi_call(abi.stream.native(second, s, &handle), "native");
    abi_refused(abi.stream.wrap(abi.dev, handle, &w), 0, "wrap of a stream of another device");
}

void abi_check_wrap_stream(void)
{
    ndp_stream *s = abi_stream(), *w = NULL;
    uint64_t handle = 0;
    chain c = chain_new(12, 1 << 18);
    if (!abi.stream.native || !abi.stream.wrap)
        abi_skip("the device has no native and wrap");
    int32_t status = abi.stream.native(abi.dev, s, &handle);
    if (status == NDP_ERR_UNSUPPORTED)
        abi_skip("streams of this device have no native handle: %s", abi_error_text());
    abi_call(status, "native");
    status = abi.stream.wrap(abi.dev, handle, &w);
    if (status == NDP_ERR_UNSUPPORTED)
        abi_skip("this device wraps no streams: %s", abi_error_text());
    abi_call(status, "wrap");
    abi_gate *g = abi_gate_close(s);
    if (g)
        abi_expect(!stream_done(w), "a wrapper is done whose stream stands still");
    chain_run(&c, w);
    abi.stream.destroy(abi.dev, w);
    abi_gate_open(g);
    chain_moved(&c, c.n - 1, s, "the last of a chain of copies on a wrapper, read on its stream");
    abi_call(abi.stream.sync(abi.dev, s), "sync of a stream whose wrapper was destroyed");
    chain d = chain_new(3, 1 << 12);
    chain_run(&d, s);
    chain_moved(&d, 2, s, "a chain of copies on a stream whose wrapper was destroyed");
    wrap_foreign();
}

void abi_check_default_stream(void)
{
    ndp_stream *b = abi_stream();
    ndp_event *e = abi_event(NDP_EVENT_TIMING);
    chain c = chain_new(12, 1 << 16), last = chain_new(1, 1 << 16);
    uint64_t handle = 0;
    abi_gate *g = abi_gate_close(NULL);
    chain_run(&c, NULL);
    abi_call(abi.stream.event_record(abi.dev, e, NULL), "event_record on the default stream");
    abi_call(abi.stream.wait(abi.dev, b, e), "wait");
    abi_copy(b, last.mem[0], 0, c.mem[c.n - 1], 0, c.nbytes);
    stands_still(g, b, "a stream runs past its wait for an event of the default stream");
    abi_gate_open(g);
    chain_moved(&last, 0, b, "the last of a chain of copies on the default stream");
    abi_call(abi.stream.event_record(abi.dev, e, b), "event_record");
    abi_call(abi.stream.wait(abi.dev, NULL, e), "wait of the default stream");
    abi_call(abi.stream.sync(abi.dev, NULL), "sync of the default stream");
    abi_expect(stream_done(NULL), "after sync, query says that the default stream has work to do");
    if (abi.stream.native)
        (void)abi.stream.native(abi.dev, NULL, &handle);
    abi_call(abi.p.sync(abi.dev, NULL), "sync of the default stream");
}

void abi_check_priorities(void)
{
    int32_t lowest = 0, highest = 0;
    if (!abi.stream.priority_range)
        abi_skip("the device has no priority_range");
    abi_call(abi.stream.priority_range(abi.dev, &lowest, &highest), "priority_range");
    abi_need(highest <= lowest,
             "priority_range says lowest %d, highest %d; lower numbers are more "
             "urgent",
             (int)lowest, (int)highest);
    for (int32_t p = highest; p <= lowest; p++) {
        ndp_stream *s = NULL;
        abi_call(abi.stream.create(abi.dev, p, 0, &s), "create of a stream within the range");
        abi_call(abi.stream.sync(abi.dev, s), "sync");
        abi.stream.destroy(abi.dev, s);
    }
}

/* Only a plug-in that lets faults be planted can show this: by fault() of <ndock/sim.h>. */
void abi_check_error_at_sync(void)
{
    const ndsim_control_1 *control = abi_group(abi.dev, NDSIM_GROUP);
    if (!control || control->size < NDP_END(ndsim_control_1, fault) || !control->fault)
        abi_skip("no fault can be planted: it has no group %s with fault()", NDSIM_GROUP);
    ndp_stream *a = abi_stream(), *b = abi_stream();
    chain c = chain_new(4, 1 << 12);
    abi_call(control->fault(abi.dev, a, 2, 77, 0), "fault");
    chain_run(&c, a);
    abi_call(abi.stream.sync(abi.dev, b), "sync of a stream that had no fault");
    abi_refused(abi.stream.sync(abi.dev, a), NDP_ERR_ASYNC, "sync after work that failed");
    abi_call(abi.stream.sync(abi.dev, a), "the second sync after work that failed");
    chain d = chain_new(4, 1 << 12);
    chain_run(&d, a);
    chain_moved(&d, 3, a, "a chain of copies after a fault that was told");
}

/* A block is freed in the order of stream s while it is in use there; another stream, which knows
 * nothing of that, allocates and writes. The gate holds the copy out of the block until the other
 * stream has written, or for a second where that one waits for s. */
void abi_check_pool_order(void)
{
    if (!abi.pool.alloc || !abi.pool.free)
        abi_skip("the device has no ndp.pool/1");
    ndp_stream *s = abi_stream(), *t = abi_stream();
    chain c = chain_new(3, 1 << 16);
    unsigned char *bytes = abi_bytes(c.nbytes);
    for (int round = 0; round < 4; round++) {
        ndp_mem *m = NULL, *other = NULL;
        abi_fill(bytes, c.nbytes, (uint64_t)round);
        abi_write(s, c.mem[0], 0, bytes, c.nbytes);
        abi_call(abi.pool.alloc(abi.dev, s, c.nbytes, &m), "alloc of the pool");
        abi_copy(s, m, 0, c.mem[0], 0, c.nbytes);
        abi_call(abi.stream.sync(abi.dev, s), "sync");
        abi_gate *g = abi_gate_close(s);
        abi_copy(s, c.mem[1], 0, m, 0, c.nbytes);
        abi.pool.free(abi.dev, s, m);
        abi_call(abi.pool.alloc(abi.dev, t, c.nbytes, &other), "alloc of the pool");
        abi_copy(t, other, 0, c.mem[2], 0, c.nbytes);
        for (int i = 0; g && i < 1000 && !stream_done(t); i++)
            abi_sleep_ms(1);
        abi_gate_open(g);
        abi_call(abi.stream.sync(abi.dev, t), "sync");
        abi_read(s, c.mem[1], 0, bytes, c.nbytes);
        abi_filled(bytes, c.nbytes, (uint64_t)round, 0, "what passed through a block of the pool");
        abi.pool.free(abi.dev, t, other);
    }
    abi_call(abi.stream.sync(abi.dev, s), "sync");
}
