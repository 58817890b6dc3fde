/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * C17: segments that grow page by page, and what a failure at each step leaves behind. The mock
 * refuses pages that are mapped twice, used without access, or left behind. */
#include "tests/memory/audit.h"
#include "tests/memory/mock.h"

static void set(const char *conf)
{
    if (nd_memory_conf_set(conf) != ND_OK)
        bail(nd_last_error()->message);
}

static nd_backend *start(mock **m, uint64_t memory)
{
    set("expandable_segments:true");
    *m = mock_new(memory);
    return mock_backend(*m);
}

static void finish(nd_backend *k, mock *m, const char *what)
{
    const char *wrong = audit_all(k);
    ok(!wrong, "%s: the books are right", what);
    if (wrong)
        diag("%s", wrong);
    for (int i = 1; i < STREAMS; i++)
        finish_work(m, i);
    nd__backend_release(k);
    mock_end(m, what);
    set("expandable_segments:false,expandable_segments_reserve:1.125");
}

static void growing(void)
{
    mock *m;
    nd_backend *k = start(&m, MIB(800));
    nd_block *a = take(k, m, 1, MIB(30));
    is_str(m->log,
           "reserve 943718400;commit 0+20971520;commit 20971520+20971520;access 0+41943040;",
           "C17 nine eighths of the memory are reserved; pages of 20 MiB are mapped as needed");
    mock_forget(m);
    nd_block *b = take(k, m, 1, MIB(30));
    is_str(m->log, "commit 41943040+20971520;access 41943040+20971520;",
           "C17 the rest of the last page is used, and one more is mapped");
    ok(place(b) == place(a) + MIB(30), "C17 at the lowest free address");
    give(k, m, a);
    give(k, m, b);
    mock_forget(m);
    a = take(k, m, 1, MIB(60));
    is_str(m->log, "", "C17 two freed blocks serve one of their size together");
    nd_memory_stats s = stats_of(k);
    ok(s.reserved_bytes.all.current == (int64_t)MIB(60) && s.num_device_alloc == 2 &&
           s.inactive_split.all.current == 0,
       "C17 C24 mapped bytes are reserved bytes; free pages are no split blocks");
    mock_forget(m);
    b = take(k, m, 1, 1000);
    is_str(m->log, "reserve 943718400;commit 0+2097152;access 0+2097152;",
           "C17 small blocks have a range of their own, of 2 MiB pages");
    give(k, m, a);
    give(k, m, b);
    finish(k, m, "C17");
}

/* C26 for pages: those without a live block go, in the middle too. */
static void shrinking(void)
{
    mock *m;
    nd_backend *k = start(&m, MIB(800));
    nd_block *b[3];
    for (int i = 0; i < 3; i++)
        b[i] = take(k, m, 1, MIB(50));
    give(k, m, b[1]);
    finish_work(m, 1);
    mock_forget(m);
    is_int(k->type->empty_cache(k), ND_OK, "C26 empty_cache");
    is_str(m->log, "record 1;query 1;decommit 62914560+20971520;decommit 83886080+20971520;",
           "C26 the two whole pages without a live block are unmapped");
    is_int(m->committed, MIB(120), "C26 the others stay");
    mock_forget(m);
    b[1] = take(k, m, 1, MIB(40));
    is_str(m->log, "commit 62914560+20971520;commit 83886080+20971520;access 62914560+41943040;",
           "C17 the hole is mapped again, after the free part before it");
    ok(place(b[1]) == place(b[0]) + MIB(50), "C17 and used");
    for (int i = 0; i < 3; i++)
        give(k, m, b[i]);
    finish_work(m, 1);
    ok(k->type->empty_cache(k) == ND_OK && m->used == 0 && m->ranges == 0,
       "C26 in the end even the addresses go");
    is_int(stats_of(k).reserved_bytes.all.current, 0, "C26 nothing is reserved");
    finish(k, m, "C26");
}

/* Every call that can fail does so once, at each place where there is a choice of states. */
static void faults(void)
{
    int failures = 0, successes = 0;
    for (int nth = 1; nth <= 12; nth++) {
        for (int first = 0; first < 3; first++) {
            mock *m;
            nd_backend *k = start(&m, MIB(800));
            nd_block *a = first > 0 ? take(k, m, 1, MIB(30)) : NULL;
            nd_block *kept = first > 1 ? take(k, m, 1, MIB(50)) : NULL, *b = NULL;
            if (a)
                give(k, m, a);
            nd_memory_stats before = stats_of(k);
            m->fail_in = nth;
            m->fail_with = ND_ERR_LOST;
            nd_status status = k->type->alloc(k, &m->stream[1], MIB(170), &b);
            bool failed = m->fail_in == 0;
            m->fail_in = 0;
            const char *wrong = audit_all(k);
            nd_memory_stats after = stats_of(k);
            if (wrong || (failed && (status != ND_ERR_LOST || b ||
                                     memcmp(&before, &after, sizeof before) != 0)))
                ok(0, "C17 fault %d after %d blocks: %s", nth, first, wrong ? wrong : "changed");
            failures += failed;
            if (!failed && mock_own(m, b, 1) && status == ND_OK)
                give(k, m, b);
            b = take(k, m, 1, MIB(170));
            successes += b != NULL;
            if (b)
                give(k, m, b);
            if (kept)
                give(k, m, kept);
            for (int i = 1; i < STREAMS; i++)
                finish_work(m, i);
            nd__backend_release(k);
            if (m->live_segments || m->ranges || m->used || m->live_events)
                ok(0, "C17 fault %d after %d blocks leaks", nth, first);
            free(m);
        }
    }
    diag("%d faults", failures);
    ok(failures >= 27, "C17 reserve, each commit and set_access failed");
    is_int(successes, 36, "C17 each time the allocator works afterwards");
    set("expandable_segments:false");
}

/* ---- other threads of the same stream while this one is inside the device ---- */
typedef struct {
    nd_backend *k;
    mock *m;
    nd_block *given, *taken; /* freed meanwhile; taken meanwhile, kept if the flag says so */
    uint64_t nbytes;
    bool kept, emptied;
} other;

static void others_act(void *arg)
{
    other *o = arg;
    if (o->given)
        give(o->k, o->m, o->given);
    if (o->nbytes)
        o->taken = take(o->k, o->m, 1, o->nbytes);
    if (o->taken && !o->kept)
        give(o->k, o->m, o->taken);
    if (o->emptied && o->k->type->empty_cache(o->k) != ND_OK)
        bail("empty_cache");
}

/* Blocks of 10 MiB, those of the mask freed, then one of 40 MiB; others act in the nth call. */
static const char *one_meeting(int mask, int nth, int variant)
{
    mock *m;
    nd_backend *k = start(&m, MIB(160));
    nd_block *b[4];
    for (int i = 0; i < 4; i++)
        b[i] = take(k, m, 1, MIB(10));
    for (int i = 0; i < 4; i++)
        if (mask >> i & 1)
            give(k, m, b[i]);
    other o = {.k = k, .m = m, .nbytes = MIB(variant & 1 ? 10 : 50), .kept = variant & 2};
    o.given = (variant & 4) && !(mask & 8) ? b[3] : NULL;
    o.emptied = variant & 8;
    if (o.given)
        mask |= 8;
    m->fail_in = nth > 8 ? nth - 8 : 0; /* the call itself fails as well */
    m->meanwhile = others_act;
    m->meanwhile_arg = &o;
    nd_block *big = NULL;
    nd_status status = k->type->alloc(k, &m->stream[1], MIB(40), &big);
    m->meanwhile = NULL; /* if no page was needed */
    m->fail_in = 0;
    const char *wrong = audit_all(k);
    if (status == ND_OK && (!mock_own(m, big, 1) || (o.taken && o.kept && !o.taken->mem)))
        wrong = "the block is somebody's";
    if (status != ND_OK && nth <= 8)
        wrong = nd_last_error()->message;
    if (status == ND_OK)
        give(k, m, big);
    if (o.taken && o.kept)
        give(k, m, o.taken);
    for (int i = 0; i < 4; i++)
        if (!(mask >> i & 1))
            give(k, m, b[i]);
    finish_work(m, 1);
    wrong = wrong ? wrong : audit_all(k);
    nd__backend_release(k);
    if (m->live_segments || m->ranges || m->used || m->live_events)
        wrong = "something leaks";
    free(m);
    return wrong;
}

/* A slice takes every nineteenth: of each mask, call and variant some. */
static void meetings(void)
{
    const int step = getenv("NDOCK_TEST_SLICE") ? 19 : 1;
    int bad = 0;
    for (int i = 0; i < 16 * 3 * 16; i += step) {
        const int mask = i / 48, nth = 8 + i / 16 % 3, variant = i % 16;
        const char *wrong = one_meeting(mask, nth, variant);
        if (wrong && bad++ < 5)
            diag("freed %#x, call %d, variant %d: %s", mask, nth, variant, wrong);
    }
    ok(bad == 0,
       "C17 C27 a range is extended while others of the stream cut, join and free beside it");
    set("expandable_segments:false");
}

static void full(void)
{
    mock *m;
    nd_backend *k = start(&m, MIB(100));
    nd_block *a = take(k, m, 1, MIB(60)), *b = NULL;
    is_int(k->type->alloc(k, &m->stream[1], MIB(50), &b), ND_ERR_MEMORY, "C17 the device is full");
    is_int(m->committed, MIB(60), "C17 the pages that could be had went back");
    b = take(k, m, 1, MIB(40));
    ok(b != NULL, "C17 what fits fits");
    give(k, m, a);
    give(k, m, b);
    b = take(k, m, 2, MIB(90));
    ok(b != NULL, "C17 C10 pages of another stream make room");
    give(k, m, b);
    finish(k, m, "C17 full");
}

static void reserve_size(void)
{
    mock *m;
    set("expandable_segments_reserve:104857600");
    nd_backend *k = start(&m, MIB(1000));
    nd_block *a = take(k, m, 1, MIB(60)), *b = take(k, m, 1, MIB(60));
    ok(strncmp(m->log, "reserve 104857600;", 18) == 0, "C17 the reserve in bytes");
    ok(a && b && a->mem != b->mem, "C17 a second range follows a full one");
    give(k, m, a);
    give(k, m, b);
    finish(k, m, "C17 reserve");
}

/* C13 */
static void cap(void)
{
    mock *m;
    nd_backend *k = start(&m, MIB(1000));
    k->type->cap_set(k, MIB(50));
    nd_block *a = take(k, m, 1, MIB(30)), *b = NULL;
    is_int(k->type->alloc(k, &m->stream[1], MIB(30), &b), ND_ERR_MEMORY, "C13 C17 pages count");
    is_int(m->committed, MIB(40), "C13 C17 and are not asked for beyond the cap");
    is_int(stats_of(k).num_cap_rejections, 1, "C13 C17 counted");
    give(k, m, a);
    finish(k, m, "C13 C17");
}

TAP_MAIN({"growing", growing}, {"shrinking", shrinking}, {"faults", faults}, {"meetings", meetings},
         {"full", full}, {"reserve_size", reserve_size}, {"cap", cap})
