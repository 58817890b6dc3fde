/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * C10 to C14: what the caching allocator does when nothing fits, rung by rung, by the log of
 * calls. */
#include "tests/memory/audit.h"
#include "tests/memory/mock.h"

static void set(const char *conf)
{
    if (nd_memory_conf_set(conf) != ND_OK)
        bail(nd_last_error()->message);
}

typedef struct {
    mock *m;
    nd_backend *k;
    nd_block *b; /* what a callback frees */
    int calls;
    int32_t answer;
    uint64_t asked;
} setting;

static setting start(uint64_t memory)
{
    setting s = {.m = mock_new(memory)};
    s.k = mock_backend(s.m);
    return s;
}

static void finish(setting *s, const char *what)
{
    const char *wrong = audit_all(s->k);
    ok(!wrong, "%s: the books are right", what);
    if (wrong)
        diag("%s", wrong);
    for (int i = 1; i < STREAMS; i++)
        finish_work(s->m, i);
    nd__backend_release(s->k);
    mock_end(s->m, what);
}

static void keep_free(setting *s, int stream, uint64_t nbytes)
{
    give(s->k, s->m, take(s->k, s->m, stream, nbytes));
}

static void counters(nd_backend *k, int retries, int ooms, int syncs, int allocs, int frees)
{
    nd_memory_stats s = stats_of(k);
    ok(s.num_alloc_retries == retries && s.num_ooms == ooms && s.num_sync_all_streams == syncs &&
           s.num_device_alloc == allocs && s.num_device_free == frees,
       "C10 counters: %d retries, %d out of memory, %d waits for all, %d and %d device calls",
       retries, ooms, syncs, allocs, frees);
}

/* Frees its block once. */
static int32_t callback(void *ctx, nd_device *device, uint64_t nbytes)
{
    setting *s = ctx;
    (void)device;
    s->calls++;
    s->asked = nbytes;
    if (s->b)
        give(s->k, s->m, s->b);
    s->b = NULL;
    return s->answer;
}

static void pending_events(void)
{
    setting s = start(MIB(64));
    nd_block *b = take(s.k, s.m, 1, MIB(40));
    if (s.k->type->record_stream(b, &s.m->stream[2]) != ND_OK)
        bail("record_stream");
    mock_use(s.m, b, 2);
    give(s.k, s.m, b);
    finish_work(s.m, 2);
    mock_forget(s.m);
    b = take(s.k, s.m, 1, MIB(40));
    is_str(s.m->log, "query 2;", "C10 rung 1: a pending block whose event is done");
    counters(s.k, 0, 0, 0, 1, 0);
    give(s.k, s.m, b);
    finish(&s, "rung 1");
}

static void cached(void)
{
    setting s = start(MIB(64));
    keep_free(&s, 1, MIB(40));
    mock_forget(s.m);
    if (nd_memory_free_callback_add(callback, &s) != ND_OK)
        bail("callback");
    nd_block *b = take(s.k, s.m, 1, MIB(40));
    is_str(s.m->log, "", "C10 rung 2: a cached block costs no call");
    is_int(s.calls, 0, "C10 rung 2: and no callback");
    give(s.k, s.m, b);
    is_int(nd_memory_free_callback_remove(callback, &s), ND_OK, "the callback is removed");
    is_int(nd_memory_free_callback_remove(callback, &s), ND_ERR_ARGUMENT, "once");
    finish(&s, "rung 2");
}

/* One that needs memory itself, of which there is none. */
static int32_t hungry(void *ctx, nd_device *device, uint64_t nbytes)
{
    setting *s = ctx;
    nd_block *b = NULL;
    (void)device;
    (void)nbytes;
    if (s->calls++ < 100 && s->k->type->alloc(s->k, &s->m->stream[1], MIB(70), &b) != ND_ERR_MEMORY)
        s->calls = 1000;
    return 1;
}

static void callback_that_allocates(void)
{
    setting s = start(MIB(64));
    nd_block *b = NULL;
    if (nd_memory_free_callback_add(hungry, &s) != ND_OK)
        bail("callback");
    is_int(s.k->type->alloc(s.k, &s.m->stream[1], MIB(80), &b), ND_ERR_MEMORY, "C12 out of memory");
    is_int(s.calls, 1, "C12 a callback that asks for memory is not called for that again");
    is_int(s.k->type->alloc(s.k, &s.m->stream[1], MIB(80), &b), ND_ERR_MEMORY, "C12 out of memory");
    is_int(s.calls, 2, "C12 but for the next request");
    is_int(nd_memory_free_callback_remove(hungry, &s), ND_OK, "the callback is removed");
    finish(&s, "C12");
}

static void callbacks(void)
{
    setting s = start(MIB(64));
    s.b = take(s.k, s.m, 1, MIB(40));
    s.answer = 1;
    if (nd_memory_free_callback_add(callback, &s) != ND_OK)
        bail("callback");
    mock_forget(s.m);
    nd_block *b = take(s.k, s.m, 1, MIB(39) + 7);
    ok(b && s.calls == 1 && s.asked == MIB(39) + 7, "C10 C12 rung 3: a callback frees an array");
    is_str(s.m->log, "", "C10 rung 3: the device is not called");
    nd_block *c = take(s.k, s.m, 1, MIB(10));
    ok(c && s.calls == 2, "C10 rung 3: one that frees nothing");
    is_str(s.m->log, "alloc 10485760;", "C10 is followed by the device");
    give(s.k, s.m, b);
    give(s.k, s.m, c);
    is_int(nd_memory_free_callback_remove(callback, &s), ND_OK, "the callback is removed");
    finish(&s, "rung 3");
}

/* ---- C14 ---- */
static void collection(void)
{
    setting s = start(MIB(200));
    set("garbage_collection_threshold:0.5");
    nd_block *a = take(s.k, s.m, 1, MIB(60)), *b = take(s.k, s.m, 1, MIB(60));
    give(s.k, s.m, a);
    finish_work(s.m, 1);
    mock_forget(s.m);
    a = take(s.k, s.m, 1, MIB(64));
    is_str(s.m->log, "record 1;query 1;free 62914560;alloc 67108864;",
           "C10 C14 rung 4: old segments go before the device is asked");
    ok(stats_of(s.k).garbage_collections == 1, "C14 counted");
    give(s.k, s.m, a);
    give(s.k, s.m, b);
    set("garbage_collection_threshold:0");
    finish(&s, "rung 4");
}

/* Of three free segments the oldest is enough; with a cap, the threshold is a part of the cap. */
static void collection_by_age(void)
{
    setting s = start(MIB(400));
    set("garbage_collection_threshold:0.5");
    s.k->type->cap_set(s.k, MIB(200));
    nd_block *a = take(s.k, s.m, 1, MIB(30)), *b = take(s.k, s.m, 1, MIB(32));
    nd_block *c = take(s.k, s.m, 1, MIB(34)), *d = take(s.k, s.m, 1, MIB(34));
    give(s.k, s.m, a);
    for (int i = 0; i < 20; i++) {
        give(s.k, s.m, d);
        d = take(s.k, s.m, 1, MIB(34));
    }
    give(s.k, s.m, b);
    give(s.k, s.m, c);
    finish_work(s.m, 1);
    mock_forget(s.m);
    nd_block *e = take(s.k, s.m, 1, MIB(36));
    is_str(s.m->log, "record 1;query 1;free 31457280;alloc 37748736;",
           "C14 older than the mean, until under the threshold");
    mock_forget(s.m);
    nd_block *f = take(s.k, s.m, 1, MIB(50));
    ok(!strstr(s.m->log, "free"), "C14 a stream's queued work keeps its memory");
    ok(!strstr(s.m->log, "synchronize"), "C14 and is not waited for");
    give(s.k, s.m, d);
    give(s.k, s.m, e);
    give(s.k, s.m, f);
    set("garbage_collection_threshold:0");
    finish(&s, "C14");
}

static void collection_off(void)
{
    setting s = start(MIB(100));
    keep_free(&s, 1, MIB(60));
    finish_work(s.m, 1);
    mock_forget(s.m);
    nd_block *b = take(s.k, s.m, 1, MIB(2));
    is_str(s.m->log, "", "a part of the cached block");
    nd_block *c = take(s.k, s.m, 2, MIB(12));
    is_str(s.m->log, "alloc 12582912;", "C14 is off unless asked for");
    give(s.k, s.m, b);
    give(s.k, s.m, c);
    finish(&s, "C14 off");
}

static void device(void)
{
    setting s = start(MIB(64));
    set("max_split_size_mb:20,cross_stream:before_oom");
    keep_free(&s, 2, MIB(2));
    mock_forget(s.m);
    nd_block *b = take(s.k, s.m, 1, MIB(30));
    is_str(s.m->log, "alloc 31457280;", "C10 rung 5: the device has room, and no rung follows");
    counters(s.k, 0, 0, 0, 2, 0);
    give(s.k, s.m, b);
    set("max_split_size_mb:none");
    finish(&s, "rung 5");
}

static void device_lost(void)
{
    setting s = start(MIB(64));
    nd_block *b = NULL;
    keep_free(&s, 1, MIB(30));
    s.m->fail_in = 1;
    s.m->fail_with = ND_ERR_LOST;
    mock_forget(s.m);
    is_int(s.k->type->alloc(s.k, &s.m->stream[1], MIB(32), &b), ND_ERR_LOST,
           "C10 another error than lack of memory is the answer");
    is_str(s.m->log, "alloc 33554432;", "C10 and ends the ladder");
    counters(s.k, 0, 0, 0, 1, 0);
    finish(&s, "rung 5 lost");
}

static void oversize(void)
{
    setting s = start(MIB(64));
    set("max_split_size_mb:20");
    keep_free(&s, 1, MIB(50));
    mock_forget(s.m);
    nd_block *b = take(s.k, s.m, 1, MIB(25));
    is_str(s.m->log, "alloc 27262976;record 1;synchronize 1;free 52428800;alloc 27262976;",
           "C10 rung 6: one oversize block of the stream that is large enough");
    counters(s.k, 0, 0, 0, 2, 1);
    is_int(stats_of(s.k).oversize_segments.current, 1, "C24 oversize segments");
    is_int(stats_of(s.k).oversize_allocations.current, 1, "C24 oversize allocations");
    give(s.k, s.m, b);
    is_int(stats_of(s.k).oversize_allocations.current, 0, "C24 and when freed");
    set("max_split_size_mb:none");
    finish(&s, "rung 6");
}

static void oversize_many(void)
{
    setting s = start(MIB(110));
    set("max_split_size_mb:20");
    nd_block *b[4];
    static const uint64_t mib[] = {22, 24, 26, 28};
    for (int i = 0; i < 4; i++)
        b[i] = take(s.k, s.m, 1, MIB(mib[i]));
    for (int i = 0; i < 4; i++)
        give(s.k, s.m, b[i]);
    mock_forget(s.m);
    nd_block *c = take(s.k, s.m, 1, MIB(50));
    is_str(s.m->log,
           "alloc 52428800;record 1;synchronize 1;free 29360128;free 27262976;alloc 52428800;",
           "C10 rung 6: the largest, until they are enough");
    give(s.k, s.m, c);
    set("max_split_size_mb:none");
    finish(&s, "rung 6 many");
}

/* A cached block of just max_split_size is oversize: kept for requests of its size. */
static void oversize_limit(void)
{
    setting s = start(MIB(64));
    set("max_split_size_mb:20");
    nd_block *b = take(s.k, s.m, 1, MIB(20));
    is_int(stats_of(s.k).oversize_allocations.current, 1,
           "C24 a block of just the limit is oversize");
    give(s.k, s.m, b);
    mock_forget(s.m);
    b = take(s.k, s.m, 1, MIB(12));
    is_str(s.m->log, "alloc 12582912;", "C15 and is not cut for a smaller request");
    give(s.k, s.m, b);
    set("max_split_size_mb:none");
    finish(&s, "limit");
}

/* Of a stream that comes later in the order of blocks. */
static void others_blocks(void)
{
    setting s = start(MIB(64));
    keep_free(&s, 2, MIB(12));
    mock_forget(s.m);
    nd_block *b = take(s.k, s.m, 1, MIB(12));
    is_str(s.m->log, "alloc 12582912;", "C5 another stream's cached block is not taken");
    give(s.k, s.m, b);
    finish(&s, "others");
}

/* More streams than the device has room for segments: each new one borrows, without asking the
 * device in vain each time. */
static void more_streams_than_segments(void)
{
    setting s = start(MIB(6));
    nd_block *b[70], *kept[5];
    set("cross_stream:before_oom");
    for (int i = 0; i < 3; i++)
        kept[i] = take(s.k, s.m, 1 + i, 1000);
    mock_forget(s.m);
    kept[3] = take(s.k, s.m, 4, 1000);
    has_text(s.m->log, "alloc 2097152;", "C10 the device is asked for a fourth segment");
    mock_forget(s.m);
    kept[4] = take(s.k, s.m, 5, 1000);
    ok(kept[4] && !strstr(s.m->log, "alloc"), "C10 and then no more: a block is borrowed");
    for (int i = 0; i < 70; i++)
        b[i] = take(s.k, s.m, 5, 1000);
    has_text(s.m->log, "alloc 2097152;", "C10 but now and then: others may have given it memory");
    for (int i = 0; i < 70; i++)
        give(s.k, s.m, b[i]);
    for (int i = 0; i < 5; i++)
        give(s.k, s.m, kept[i]);
    for (int i = 1; i < STREAMS; i++)
        finish_work(s.m, i);
    is_int(s.k->type->empty_cache(s.k), ND_OK, "C26 empty_cache");
    mock_forget(s.m);
    b[0] = take(s.k, s.m, 5, 1000);
    is_str(s.m->log, "alloc 2097152;", "C10 it is asked again when it has got some back");
    give(s.k, s.m, b[0]);
    set("cross_stream:never");
    finish(&s, "many streams");
}

/* Both rungs would serve: the stream's own oversize block, and another stream's block. */
static void oversize_before_others(void)
{
    setting s = start(MIB(80));
    set("max_split_size_mb:20,cross_stream:before_oom");
    keep_free(&s, 1, MIB(50));
    keep_free(&s, 2, MIB(26));
    mock_forget(s.m);
    nd_block *b = take(s.k, s.m, 1, MIB(25));
    is_str(s.m->log, "alloc 27262976;record 1;synchronize 1;free 52428800;alloc 27262976;",
           "C10 rung 6 comes before 7: the stream's own memory before another stream's");
    give(s.k, s.m, b);
    set("max_split_size_mb:none,cross_stream:never");
    finish(&s, "rungs 6 and 7");
}

static void wait_for_all(void)
{
    setting s = start(MIB(64));
    nd_block *b = take(s.k, s.m, 1, MIB(40));
    if (s.k->type->record_stream(b, &s.m->stream[2]) != ND_OK)
        bail("record_stream");
    mock_use(s.m, b, 2);
    give(s.k, s.m, b);
    mock_forget(s.m);
    b = take(s.k, s.m, 1, MIB(40));
    is_str(s.m->log, "query 2;alloc 41943040;query 2;synchronize 2;query 2;",
           "C10 rung 8: pending events are waited for, and a block is found");
    counters(s.k, 0, 0, 1, 1, 0);
    give(s.k, s.m, b);
    mock_forget(s.m);
    b = take(s.k, s.m, 1, MIB(50));
    is_str(s.m->log, "alloc 52428800;record 1;synchronize 1;free 41943040;alloc 52428800;",
           "C10 rung 8: unsplit segments go back, and the device is asked again");
    counters(s.k, 1, 0, 2, 2, 1);
    give(s.k, s.m, b);
    finish(&s, "rung 8");
}

static int32_t observer(void *ctx, nd_device *device, uint64_t nbytes)
{
    (void)callback(ctx, device, nbytes);
    setting *s = ctx;
    keep_free(s, 3, 1000); /* would not return if a lock were held */
    return 0;
}

static void out_of_memory(void)
{
    setting s = start(MIB(64));
    nd_block *kept = take(s.k, s.m, 1, MIB(40)), *b = NULL;
    keep_free(&s, 3, 1000);
    if (nd_memory_oom_observer_add(observer, &s) != ND_OK)
        bail("observer");
    s.b = take(s.k, s.m, 1, MIB(3));
    is_int(s.k->type->alloc(s.k, &s.m->stream[1], MIB(30), &b), ND_ERR_MEMORY, "C10 rung 9");
    ok(s.calls == 1 && s.asked == MIB(30), "C12 an observer is told");
    ok(s.b == NULL, "C12 and may free memory, since no lock is held");
    is_int(stats_of(s.k).num_ooms, 1, "C10 rung 9 is counted");
    is_int(nd_memory_oom_observer_remove(observer, &s), ND_OK, "the observer is removed");
    give(s.k, s.m, kept);
    finish(&s, "rung 9");
}

/* ---- C13 ---- */
static void cap(void)
{
    setting s = start(MIB(200));
    s.k->type->cap_set(s.k, MIB(50));
    nd_block *a = take(s.k, s.m, 1, MIB(30)), *b = NULL;
    mock_forget(s.m);
    is_int(s.k->type->alloc(s.k, &s.m->stream[1], MIB(30), &b), ND_ERR_MEMORY, "C13 over the cap");
    ok(!strstr(s.m->log, "alloc"), "C13 the device is not asked");
    has_text(nd_last_error()->message, "cap 50.00 MiB", "C13 the error says so");
    is_int(stats_of(s.k).num_cap_rejections, 1, "C13 counted");
    b = take(s.k, s.m, 1, MIB(20));
    ok(b != NULL, "C13 up to the cap");
    give(s.k, s.m, a);
    finish_work(s.m, 1);
    a = take(s.k, s.m, 1, MIB(28) + 1);
    ok(a && s.m->used <= MIB(50), "C13 cached memory counts, and makes room");
    give(s.k, s.m, a);
    give(s.k, s.m, b);
    finish(&s, "C13");
}

static void throw_early(void)
{
    setting s = start(MIB(200));
    set("per_process_memory_fraction:0.25,throw_on_device_alloc_oom:true");
    setting t = start(MIB(200));
    nd_block *b = NULL;
    keep_free(&t, 1, MIB(40));
    mock_forget(t.m);
    is_int(t.k->type->alloc(t.k, &t.m->stream[2], MIB(20), &b), ND_ERR_MEMORY,
           "C13 a fraction of the memory is the cap; throw early fails at once");
    is_str(t.m->log, "", "C13 throw early skips the ladder");
    is_int(stats_of(t.k).num_cap_rejections, 1, "C13 and counts the rejection");
    set("per_process_memory_fraction:0,throw_on_device_alloc_oom:false");
    finish(&t, "C13 early");
    finish(&s, "C13 before");
}

TAP_MAIN({"pending_events", pending_events}, {"cached", cached}, {"callbacks", callbacks},
         {"callback_that_allocates", callback_that_allocates}, {"collection", collection},
         {"collection_by_age", collection_by_age}, {"collection_off", collection_off},
         {"device", device}, {"device_lost", device_lost}, {"oversize", oversize},
         {"oversize_many", oversize_many}, {"oversize_before_others", oversize_before_others},
         {"oversize_limit", oversize_limit}, {"others_blocks", others_blocks},
         {"more_streams_than_segments", more_streams_than_segments}, {"wait_for_all", wait_for_all},
         {"out_of_memory", out_of_memory}, {"cap", cap}, {"throw_early", throw_early})
