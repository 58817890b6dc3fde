/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The caching allocator on one stream: sizes, alignment, reuse, statistics, giving back. */
#include "tests/memory/audit.h"
#include "tests/memory/mock.h"

static void set(const char *conf)
{
    if (nd_memory_conf_set(conf) != ND_OK)
        bail(nd_last_error()->message);
}

/* ---- C2 ---- */
static const struct {
    uint64_t request, block, segment;
} rounding[] = {{1, 512, MIB(2)},
                {512, 512, MIB(2)},
                {513, 1024, MIB(2)},
                {MIB(1), MIB(1), MIB(2)},
                {MIB(1) + 1, MIB(1) + 512, MIB(20)},
                {MIB(10) - 512, MIB(10) - 512, MIB(20)},
                {MIB(10), MIB(10), MIB(10)},
                {MIB(10) + 1, MIB(10) + 512, MIB(12)},
                {MIB(19), MIB(19), MIB(20)}, /* a rest of 1 MiB stays, one of more is split off */
                {MIB(19) - 512, MIB(19) - 512, MIB(20)},
                {MIB(100) + 1, MIB(100) + 512, MIB(102)}};

static void rounding_table(void)
{
    for (size_t i = 0; i < sizeof rounding / sizeof rounding[0]; i++) {
        mock *m = mock_new(MIB(1000));
        nd_backend *k = mock_backend(m);
        nd_block *b = take(k, m, 1, rounding[i].request);
        int64_t active = stats_of(k).active_bytes.all.current;
        uint64_t rest = rounding[i].segment - rounding[i].block;
        bool split = rounding[i].request <= MIB(1) ? rest >= 512 : rest > MIB(1);
        ok(b && active == (int64_t)(split ? rounding[i].block : rounding[i].segment) &&
               m->used == rounding[i].segment && b->requested == rounding[i].request,
           "C2 %llu bytes: block %llu of a segment of %llu",
           (unsigned long long)rounding[i].request, (unsigned long long)active,
           (unsigned long long)m->used);
        give(k, m, b);
        nd__backend_release(k);
        mock_end(m, "C2");
    }
}

static void overflowing(void)
{
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 511, (uint64_t)INT64_MAX,
                                     (uint64_t)INT64_MAX + 1, UINT64_C(1) << 62};
    mock *m = mock_new(MIB(100));
    nd_backend *k = mock_backend(m);
    for (int i = 0; i < 5; i++) {
        nd_block *b = NULL;
        is_int(k->type->alloc(k, &m->stream[1], sizes[i], &b), ND_ERR_MEMORY,
               "C2 an overflowing size is out of memory");
        ok(!b && m->used == 0, "C2 and takes nothing");
    }
    is_int(stats_of(k).num_ooms, 5, "C2 counted as such");
    nd__backend_release(k);
    mock_end(m, "C2");
}

/* ---- C3, C5 ---- */
static void alignment(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *b[200], *none = NULL;
    bool aligned = true;
    for (int i = 0; i < 200; i++) {
        b[i] = take(k, m, 1, (uint64_t)i * 777 + 1);
        aligned = aligned && b[i] && b[i]->offset % 512 == 0;
    }
    ok(aligned, "C3 every block begins at a multiple of 512 bytes");
    int64_t before = stats_of(k).allocation.all.allocated;
    is_int(k->type->alloc(k, &m->stream[1], 0, &none), ND_OK, "C3 no bytes are no block");
    k->type->free(NULL);
    ok(!none && stats_of(k).allocation.all.allocated == before, "C3 nor do they count");
    for (int i = 0; i < 200; i++)
        give(k, m, b[i]);
    nd__backend_release(k);
    mock_end(m, "C3");
}

static void immediate_reuse(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *b = take(k, m, 1, 5000);
    uint64_t at = place(b);
    bool same = true;
    mock_forget(m);
    for (int i = 0; i < 100; i++) {
        give(k, m, b);
        b = take(k, m, 1, 5000 - (uint64_t)i);
        same = same && b && place(b) == at;
    }
    ok(same, "C5 freed memory of the stream is the next allocation's, work pending or not");
    is_str(m->log, "", "C5 without any call of the device");
    give(k, m, b);
    nd__backend_release(k);
    mock_end(m, "C5");
}

/* Best fit: the smallest block that is large enough, the lowest of equals. */
static void best_fit(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *b[6];
    static const uint64_t sizes[6] = {8192, 512, 2048, 512, 2048, 512};
    for (int i = 0; i < 6; i++)
        b[i] = take(k, m, 1, sizes[i]);
    uint64_t low = place(b[2]), high = place(b[0]);
    give(k, m, b[4]);
    give(k, m, b[2]);
    give(k, m, b[0]);
    b[0] = take(k, m, 1, 1800);
    b[2] = take(k, m, 1, 1800);
    b[4] = take(k, m, 1, 1800);
    ok(place(b[0]) == low && place(b[4]) == high,
       "the smallest fitting block, the lowest of equals");
    for (int i = 0; i < 6; i++)
        give(k, m, b[i]);
    nd__backend_release(k);
    mock_end(m, "best fit");
}

/* A rest of the smallest size is a block of its own. */
static void smallest_rest(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *hole = take(k, m, 1, 1024), *after = take(k, m, 1, 512), *b, *c;
    uint64_t at = place(hole);
    give(k, m, hole);
    b = take(k, m, 1, 512);
    c = take(k, m, 1, 512);
    ok(place(b) == at && place(c) == at + 512, "C5 512 of 1024 bytes leave a block of 512");
    give(k, m, b);
    give(k, m, c);
    give(k, m, after);
    nd__backend_release(k);
    mock_end(m, "smallest rest");
}

/* ---- C24: figures worked out by hand from the rules of section 5 ---- */
typedef struct {
    int64_t allocation, allocated, requested, segment, reserved, inactive, inactive_bytes;
} figures;

static void expect(nd_backend *k, const char *step, figures want)
{
    nd_memory_stats s = stats_of(k);
    figures got = {s.allocation.all.current,          s.allocated_bytes.all.current,
                   s.requested_bytes.all.current,     s.segment.all.current,
                   s.reserved_bytes.all.current,      s.inactive_split.all.current,
                   s.inactive_split_bytes.all.current};
    ok(memcmp(&got, &want, sizeof got) == 0, "C24 %s", step);
    if (memcmp(&got, &want, sizeof got) != 0)
        diag("%lld %lld %lld %lld %lld %lld %lld", (long long)got.allocation,
             (long long)got.allocated, (long long)got.requested, (long long)got.segment,
             (long long)got.reserved, (long long)got.inactive, (long long)got.inactive_bytes);
    ok(s.active.all.current == want.allocation && s.active_bytes.all.current == want.allocated,
       "C24 %s: active as allocated", step);
}

static void statistics(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *a = take(k, m, 1, 1000);
    expect(k, "1000 bytes", (figures){1, 1024, 1000, 1, 2097152, 1, 2096128});
    nd_block *b = take(k, m, 1, 600);
    expect(k, "600 bytes", (figures){2, 2048, 1600, 1, 2097152, 1, 2095104});
    give(k, m, a);
    expect(k, "a free piece apart", (figures){1, 1024, 600, 1, 2097152, 2, 2096128});
    nd_block *c = take(k, m, 1, MIB(3));
    expect(k, "3 MiB", (figures){2, 3146752, 3146328, 2, 23068672, 3, 19921920});
    nd_block *d = take(k, m, 1, MIB(12));
    expect(k, "12 MiB", (figures){3, 15729664, 15729240, 2, 23068672, 3, 7339008});
    nd_block *e = take(k, m, 1, 4718592);
    expect(k, "4.5 MiB, not split", (figures){4, 20972544, 20447832, 2, 23068672, 2, 2096128});
    nd_block *f = take(k, m, 1, MIB(30) + 1);
    expect(k, "30 MiB and 1", (figures){5, 52430336, 51905113, 3, 56623104, 3, 4192768});
    nd_memory_stats s = stats_of(k);
    ok(s.allocation.small_pool.current == 1 && s.allocated_bytes.small_pool.current == 1024 &&
           s.allocated_bytes.large_pool.current == 52429312 && s.segment.small_pool.current == 1 &&
           s.segment.large_pool.current == 2,
       "C24 small and large apart");
    give(k, m, d);
    expect(k, "12 MiB freed", (figures){4, 39847424, 39322201, 3, 56623104, 4, 16775680});
    give(k, m, c);
    expect(k, "joined with it", (figures){3, 36701696, 36176473, 3, 56623104, 4, 19921408});
    give(k, m, e);
    expect(k, "a whole segment is not split",
           (figures){2, 31458816, 31457881, 3, 56623104, 3, 4192768});
    give(k, m, f);
    give(k, m, b);
    expect(k, "all freed", (figures){0, 0, 0, 3, 56623104, 0, 0});
    s = stats_of(k);
    is_int(s.allocated_bytes.all.peak, 52430336, "C24 peak of allocated bytes");
    is_int(s.allocated_bytes.all.allocated, 52431360, "C24 sum of allocated bytes");
    is_int(s.allocated_bytes.all.freed, s.allocated_bytes.all.allocated, "C24 as much was freed");
    is_int(s.requested_bytes.all.peak, 51905113, "C24 peak of requested bytes");
    is_int(s.num_device_alloc, 3, "C24 device allocations");
    is_int(s.allocation.all.allocated, 6, "C24 number of allocations");
    k->type->reset(k, true, false);
    is_int(stats_of(k).allocated_bytes.all.peak, 0, "C24 reset_peak: the peak is what there is");
    is_int(stats_of(k).reserved_bytes.all.peak, 56623104, "C24 reset_peak: of each");
    k->type->reset(k, false, true);
    s = stats_of(k);
    ok(s.allocated_bytes.all.allocated == 0 && s.allocated_bytes.all.freed == 0 &&
           s.num_device_alloc == 0 && s.reserved_bytes.all.current == 56623104,
       "C24 reset_accumulated: sums and counters, not what there is");
    nd__backend_release(k);
    mock_end(m, "C24");
}

static void pending_is_active(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *a = take(k, m, 1, 1000);
    ok(k->type->record_stream(a, &m->stream[2]) == ND_OK, "a block is used on a second stream");
    mock_use(m, a, 2);
    give(k, m, a);
    nd_memory_stats s = stats_of(k);
    ok(s.allocation.all.current == 0 && s.allocated_bytes.all.current == 0 &&
           s.active.all.current == 1 && s.active_bytes.all.current == 1024 &&
           s.requested_bytes.all.current == 1000,
       "C24 freed but pending: active and requested, not allocated");
    finish_work(m, 2);
    s = stats_of(k);
    ok(s.active.all.current == 0 && s.requested_bytes.all.current == 0, "C24 done: neither");
    nd__backend_release(k);
    mock_end(m, "C24");
}

/* ---- C26 ---- */
static void empty_cache(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *small = take(k, m, 1, 1000), *large = take(k, m, 1, MIB(30));
    nd_block *kept = take(k, m, 1, MIB(3)), *pending = take(k, m, 1, MIB(40));
    ok(k->type->record_stream(pending, &m->stream[2]) == ND_OK, "a second stream");
    mock_use(m, pending, 2);
    give(k, m, small);
    give(k, m, large);
    give(k, m, pending);
    is_int(k->type->empty_cache(k), ND_OK, "C26 empty_cache");
    is_int(m->used, MIB(2) + MIB(30) + MIB(20) + MIB(40),
           "C26 a stream's queued work keeps its memory");
    ok(!strstr(m->log, "synchronize"), "C26 nothing is waited for");
    finish_work(m, 1);
    is_int(k->type->empty_cache(k), ND_OK, "C26 empty_cache");
    is_int(m->used, MIB(20) + MIB(40), "C26 idle segments go, live and pending ones stay");
    finish_work(m, 2);
    is_int(k->type->empty_cache(k), ND_OK, "C26 empty_cache");
    is_int(m->used, MIB(20), "C26 and then pending ones");
    is_int(stats_of(k).num_device_free, 3, "C26 three segments");
    give(k, m, kept);
    nd__backend_release(k);
    mock_end(m, "C26");
}

/* ---- C11 ---- */
static void out_of_memory(void)
{
    mock *m = mock_new(MIB(64));
    nd_backend *k = mock_backend(m);
    nd_block *a = take(k, m, 1, MIB(30)), *b = NULL;
    nd_memory_stats before = stats_of(k);
    is_int(k->type->alloc(k, &m->stream[1], MIB(40) + 1, &b), ND_ERR_MEMORY, "C11 a typed error");
    const char *text = nd_last_error()->message;
    ok(nd_last_error()->status == ND_ERR_MEMORY && !b, "C11 and no block");
    has_text(text, "41943041 bytes", "C11 says what was requested");
    has_text(text, "rounded to 41943552", "C11 ... rounded to");
    has_text(text, "total 64.00 MiB, free 34.00 MiB", "C11 ... what the device has");
    has_text(text, "allocated 30.00 MiB", "C11 ... what is allocated");
    has_text(text, "reserved but unused 0 B", "C11 ... what is reserved");
    has_text(text, "private pools 0 B", "C11 ... what pools have");
    has_text(text, "cap none", "C11 ... the cap");
    ok(strstr(text, "Hint:") && !strstr(strstr(text, "Hint:") + 1, "Hint:"), "C11 ... one hint");
    nd_memory_stats s = stats_of(k);
    is_int(s.num_ooms, 1, "C11 counted");
    s.num_ooms = s.num_alloc_retries = s.num_sync_all_streams = 0;
    ok(memcmp(&s, &before, sizeof s) == 0, "C11 nothing else has changed");
    b = take(k, m, 1, MIB(34));
    ok(b != NULL, "C11 a smaller request succeeds next");
    give(k, m, a);
    give(k, m, b);
    nd__backend_release(k);
    mock_end(m, "C11");
}

/* Host-visible devices keep so much and no more. */
static void max_cached(void)
{
    mock *m = mock_new(MIB(1000));
    set("max_cached_mb:50");
    nd_backend *k = mock_backend(m);
    nd_block *b[4];
    for (int i = 0; i < 4; i++)
        b[i] = take(k, m, 1, MIB(30));
    for (int i = 0; i < 4; i++) {
        finish_work(m, 1);
        give(k, m, b[i]);
    }
    is_int(m->used, MIB(30), "cached bytes above max_cached_mb go back at the free");
    nd__backend_release(k);
    mock_end(m, "max_cached_mb");
    set("max_cached_mb:auto");
}

TAP_MAIN({"rounding_table", rounding_table}, {"overflowing", overflowing}, {"alignment", alignment},
         {"immediate_reuse", immediate_reuse}, {"best_fit", best_fit},
         {"smallest_rest", smallest_rest}, {"statistics", statistics},
         {"pending_is_active", pending_is_active}, {"empty_cache", empty_cache},
         {"out_of_memory", out_of_memory}, {"max_cached", max_cached})
