/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * C18: back end async, over the simulated device's stream-ordered pool, with its checker on. */
#include <stdbool.h>
#include "tests/stream/lab.h"

enum { MIB = 1 << 20 };

static nd_memory_stats stats_of(sim s)
{
    nd_memory_stats stats = {.size = sizeof stats};
    must(nd_memory_stats_get(s.d, &stats));
    return stats;
}

static nd_status mebibytes(sim s, int64_t n, nd_array **out)
{
    n *= MIB;
    return nd_empty(s.d, ND_U8, 1, &n, out);
}

static void by_setting(void)
{
    sim s = open_sim(0);
    nd_device *cpu = NULL;
    must(s.c->log_clear(s.dev));
    nd_array *a = vector(s.d, 50, 3), *b = vector(s.d, 50, 4), *sum = NULL;
    is_int(nd_add(a, b, &sum), ND_OK, "C18: backend:async adds");
    ok(first_of(sum) == 7, "with the right sum");
    is_int(calls(s, "pool_alloc"), 3, "C18: blocks are of the device's pool");
    is_int(calls(s, "alloc"), 0, "and none else is allocated");
    nd_memory_stats stats = stats_of(s);
    is_int(stats.allocation.all.current, 3, "C18: three blocks are live");
    is_int(stats.allocated_bytes.all.current, 600, "with their bytes");
    is_int(stats.reserved_bytes.all.current, 600, "C18: as the pool says itself");
    nd_release(a);
    nd_release(b);
    nd_release(sum);
    is_int(calls(s, "pool_free"), 3, "and go back to it");
    is_int(calls(s, "event_record"), 0, "C18: without an event");
    must(nd_synchronize(s.d));
    stats = stats_of(s);
    is_int(stats.allocated_bytes.all.current, 0, "C18: nothing is live");
    is_int(stats.reserved_bytes.all.current, 600, "but the pool keeps it");
    is_int(stats.reserved_bytes.all.peak, 600, "at its peak");
    is_int(nd_memory_empty_cache(s.d), ND_OK, "until the cache is emptied");
    is_int(stats_of(s).reserved_bytes.all.current, 0, "C18: then it is trimmed");
    must(nd_device_get("cpu", &cpu));
    a = vector(cpu, 50, 1);
    ok(first_of(a) == 1, "C18: a device without a pool goes on caching");
    nd_release(a);
}

/* a, of stream s, is read on t; record: and the allocator told so. */
static uint64_t shared(sim d, bool record, uint64_t *home_waits)
{
    nd_stream *s = new_stream(d.d), *t = new_stream(d.d);
    uint64_t found = 0, pending = 0;
    nd_array *b = NULL;
    must(d.c->race_clear(d.dev));
    must(nd_stream_push(s));
    nd_array *a = vector(d.d, 50, 5);
    must(nd_stream_pop(s));
    must(nd_stream_wait_stream(t, s));
    must(nd_stream_push(t));
    must(nd_add(a, a, &b));
    must(nd_stream_pop(t));
    if (record)
        must(nd_record_stream(a, t));
    must(d.c->pending(d.dev, native(s), &pending));
    nd_release(a);
    must(d.c->pending(d.dev, native(s), home_waits));
    *home_waits -= pending;
    must(nd_stream_push(s));
    a = vector(d.d, 50, 6); /* of the same size, on the first stream */
    must(nd_stream_pop(s));
    must(nd_synchronize(d.d));
    ok(first_of(b) == 10 && first_of(a) == 6, "C18: both results are right");
    found = races(d);
    nd_release(a);
    nd_release(b);
    nd_stream_release(s);
    nd_stream_release(t);
    return found;
}

static void several_streams(void)
{
    sim d = open_sim(1);
    uint64_t waits = 0;
    must(d.c->set_mode(d.dev, NDSIM_STEPPED));
    must(d.c->set_checker(d.dev, 1));
    is_int(shared(d, true, &waits), 0, "C18: a block of two streams is freed after both");
    is_int(waits, 1, "C18: and its own stream is given nothing but the event's record");
    ok(shared(d, false, &waits) > 0, "F5: untold, the allocator frees it too early");
    must(d.c->set_checker(d.dev, 0));
    must(d.c->set_mode(d.dev, NDSIM_AUTO));
}

/* The stream is gone before its array. */
static void stream_gone(void)
{
    sim d = open_sim(1);
    nd_stream *s = new_stream(d.d);
    must(d.c->set_checker(d.dev, 1));
    must(d.c->race_clear(d.dev));
    must(nd_stream_push(s));
    nd_array *a = vector(d.d, 50, 5), *b = NULL;
    must(nd_add(a, a, &b));
    must(nd_stream_pop(s));
    nd_stream_release(s);
    nd_release(a);
    must(nd_synchronize(d.d));
    ok(first_of(b) == 10, "C18: a block outlives its stream");
    nd_release(b);
    must(nd_synchronize(d.d));
    is_int(races(d), 0, "C18: and is freed after its work");
    must(d.c->set_checker(d.dev, 0));
}

static void out_of_memory(void)
{
    sim d = open_sim(2);
    nd_array *a = NULL, *b = NULL;
    is_int(mebibytes(d, 40, &a), ND_OK, "40 of 64 MiB");
    nd_release(a);
    is_int(stats_of(d).reserved_bytes.all.current, 40 * MIB, "C18: the pool keeps them");
    is_int(mebibytes(d, 50, &a), ND_OK, "C18: and is trimmed before 50 are out of memory");
    nd_memory_stats stats = stats_of(d);
    ok(stats.num_alloc_retries > 0, "C18: which counts as a retry");
    is_int(stats.num_ooms, 0, "and not as out of memory");
    is_int(mebibytes(d, 20, &b), ND_ERR_MEMORY, "C18: 20 more are");
    has_text(nd_last_error()->message, "allocator async", "C18: by name");
    has_text(nd_last_error()->message, "allocated 50.00 MiB", "C18: with what is in use");
    is_int(stats_of(d).num_ooms, 1, "C18: which is counted");
    nd_release(a);
    is_int(mebibytes(d, 20, &b), ND_OK, "C18: the next array is not blamed for it");
    nd_release(b);
}

static void cap(void)
{
    sim d = open_sim(2);
    nd_array *a = NULL, *b = NULL;
    must(nd_memory_empty_cache(d.d));
    must(nd_memory_cap_set(d.d, 30 * MIB));
    is_int(mebibytes(d, 20, &a), ND_OK, "20 MiB under a cap of 30");
    is_int(mebibytes(d, 20, &b), ND_ERR_MEMORY, "C18: 20 more would pass it");
    has_text(nd_last_error()->message, "cap 30.00 MiB", "C18: the cap is named");
    is_int(stats_of(d).num_cap_rejections, 1, "C18: and the rejection counted");
    nd_release(a);
    must(nd_synchronize(d.d));
    is_int(mebibytes(d, 25, &b), ND_OK, "C18: what is kept makes way");
    ok(stats_of(d).reserved_bytes.all.current <= 30 * MIB, "C18: under the cap");
    nd_release(b);
    must(nd_memory_cap_set(d.d, 0));
}

static void threshold(void)
{
    nd_array *a[3] = {NULL};
    must(nd_memory_conf_set("max_cached_mb:1"));
    sim d = open_sim(3);
    for (int i = 0; i < 3; i++)
        must(mebibytes(d, 4 + i, &a[i]));
    for (int i = 0; i < 3; i++) {
        nd_release(a[i]);
        must(nd_synchronize(d.d));
    }
    nd_release(vector(d.d, 10, 1));
    ok(stats_of(d).reserved_bytes.all.current <= MIB + 200,
       "C18: the pool keeps no more than max_cached_mb");
    must(nd_memory_conf_set("max_cached_mb:auto"));
}

static void by_name(void)
{
    nd_allocator *async = NULL, *caching = NULL;
    nd_device *cpu = NULL;
    sim d = open_sim(0);
    must(nd_device_get("cpu", &cpu));
    must(nd_allocator_named("async", &async));
    must(nd_allocator_named("caching", &caching));
    is_int(nd_allocator_set(cpu, async), ND_ERR_UNSUPPORTED, "C22: not where there is no pool");
    has_text(nd_last_error()->message, "ndp.pool/1", "with the reason");
    is_int(nd_allocator_set(d.d, caching), ND_OK, "C22: another allocator");
    nd_array *a = vector(d.d, 10, 1);
    is_int(nd_allocator_set(d.d, async), ND_OK, "C22: and back to async");
    nd_array *b = vector(d.d, 10, 2), *sum = NULL;
    must(nd_add(a, b, &sum));
    ok(first_of(sum) == 3, "C22: arrays of both go together");
    nd_release(a);
    nd_release(b);
    nd_release(sum);
    nd_allocator_release(async);
    nd_allocator_release(caching);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {
        {"setting", by_setting},
        {"streams", several_streams},
        {"gone", stream_gone},
        {"oom", out_of_memory},
        {"cap", cap},
        {"threshold", threshold},
        {"named", by_name},
    };
    setenv("NDOCK_ALLOC_CONF", "backend:async", 1);
    setenv("NDOCK_SIM_MEMORY", "67108864", 1);
    unsetenv("NDOCK_NO_CACHE");
    return tap_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
