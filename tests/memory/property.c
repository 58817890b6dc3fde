/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * C4, C6: a long run of random allocations, frees, uses on other streams and faults, with settings
 * and stream lifetimes changing, checked by a mock that knows every byte's users.
 * NDOCK_MEMORY_OPS: how many operations; 50,000 unless told. */
#include "tests/memory/audit.h"
#include "tests/memory/mock.h"

#define LIVE 400

static uint64_t state = 88172645463325252u;
static uint32_t draw(uint32_t n)
{
    state ^= state << 13; /* xorshift64: Marsaglia, 2003 */
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 16) % n);
}

static uint64_t random_size(void)
{
    switch (draw(8)) {
    case 0:
        return 1 + draw(2u << 20);
    case 1:
        return 1 + draw(12u << 20);
    case 2:
        return 1 + draw(30u << 20);
    default:
        return 1 + draw(40000);
    }
}

typedef struct {
    mock *m;
    nd_backend *k;
    nd_block *live[LIVE];
    int n, failed, faults;
} world;

static void one_alloc(world *w)
{
    nd_block *b = w->n < LIVE ? take(w->k, w->m, 1 + (int)draw(STREAMS - 1), random_size()) : NULL;
    if (b)
        w->live[w->n++] = b;
    else
        w->failed += w->n < LIVE;
}

static void one_free(world *w)
{
    if (w->n == 0)
        return;
    int i = (int)draw((uint32_t)w->n);
    give(w->k, w->m, w->live[i]);
    w->live[i] = w->live[--w->n];
}

/* A use recorded only when it can be told to the allocator; without that the program would be
 * wrong. */
static void one_use(world *w, bool exact)
{
    if (w->n == 0)
        return;
    nd_block *b = w->live[draw((uint32_t)w->n)];
    int s = 1 + (int)draw(STREAMS - 1);
    mock_join(&w->m->clock[s], &w->m->clock[0]);
    if (!exact && w->k->type->record_stream(b, &w->m->stream[s]) == ND_OK)
        mock_use(w->m, b, s);
    if (exact) {
        int fault = w->m->fail_in;
        w->m->fail_in = 0;
        mock_use(w->m, b, s);
        if (w->k->type->record_use(b, &w->m->stream[s]) != ND_OK)
            bail("record_use failed without a fault");
        w->m->fail_in = fault;
    }
}

static void one_step(world *w, bool faults)
{
    uint32_t what = draw(100);
    if (faults && w->m->fail_in == 0 && draw(4) == 0) {
        w->m->fail_in = 1 + (int)draw(6);
        w->m->fail_with = draw(2) ? ND_ERR_MEMORY : ND_ERR_LOST;
        w->faults++;
    }
    if (what < 42)
        one_alloc(w);
    else if (what < 82)
        one_free(w);
    else if (what < 88)
        one_use(w, false);
    else if (what < 93)
        one_use(w, true);
    else if (what < 99)
        finish_work(w->m, 1 + (int)draw(STREAMS - 1));
    else if (w->k->type->empty_cache(w->k) != ND_OK)
        bail("empty_cache failed");
}

static void run(const char *name, const char *conf, uint64_t memory, int64_t ops, bool faults)
{
    world w = {.m = mock_new(memory)};
    const char *wrong = NULL;
    w.m->quiet = true;
    if (nd_memory_conf_set(conf) != ND_OK)
        bail(nd_last_error()->message);
    w.k = mock_backend(w.m);
    for (int64_t i = 0; i < ops && !wrong; i++) {
        one_step(&w, faults);
        if (i % 64 == 0)
            wrong = audit_all(w.k);
    }
    w.m->fail_in = 0;
    ok(!wrong, "C4 C6 %s: %lld operations, no overlap, tiled, ordered, statistics equal a recount",
       name, (long long)ops);
    if (wrong)
        diag("%s", wrong);
    diag("%d requests failed; %d faults were injected", w.failed, w.faults);
    if (faults && ops >= 10000)
        ok(w.faults >= 1000, "C10 a thousand faults");
    nd_memory_stats s = stats_of(w.k);
    is_int(s.allocation.all.current, w.n, "C4 as many live blocks as the test has");
    while (w.n)
        give(w.k, w.m, w.live[--w.n]);
    for (int i = 1; i < STREAMS; i++)
        finish_work(w.m, i);
    (void)stats_of(w.k);
    ok(w.k->type->empty_cache(w.k) == ND_OK && stats_of(w.k).reserved_bytes.all.current == 0,
       "C26 everything goes back in the end");
    nd__backend_release(w.k);
    mock_end(w.m, name);
    if (nd_memory_conf_set("expandable_segments:0,max_split_size_mb:none,cross_stream:before_oom,"
                           "garbage_collection_threshold:0") != ND_OK)
        bail("settings");
}

static int64_t operations(void)
{
    const char *text = getenv("NDOCK_MEMORY_OPS");
    return text ? strtoll(text, NULL, 10) : 50000;
}

static void plain(void)
{
    run("plenty of memory", "", MIB(4096), operations() / 5, false);
}
static void tight(void)
{
    run("little memory", "max_split_size_mb:20,garbage_collection_threshold:0.8", MIB(300),
        operations() / 5, false);
}
static void stealing(void)
{
    run("stealing before growing", "cross_stream:before_grow", MIB(400), operations() / 5, false);
}
static void expandable(void)
{
    run("expandable segments", "expandable_segments:1", MIB(500), operations() / 5, false);
}
static void faulty(void)
{
    run("1,000 faults and more", "cross_stream:before_grow", MIB(300), operations() / 5, true);
}
static void faulty_expandable(void)
{
    run("faults in expandable segments", "expandable_segments:1", MIB(300), operations() / 5, true);
}

TAP_MAIN({"plain", plain}, {"tight", tight}, {"stealing", stealing}, {"expandable", expandable},
         {"faulty", faulty}, {"faulty_expandable", faulty_expandable})
