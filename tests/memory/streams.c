/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The caching allocator and several streams: record_stream, record_use, stealing, streams that go
 * away. The mock refuses every reuse that is not ordered. */
#include "tests/memory/audit.h"
#include "tests/memory/mock.h"

static void set(const char *conf)
{
    if (nd_memory_conf_set(conf) != ND_OK)
        bail(nd_last_error()->message);
}

static int count(const mock *m, const char *what)
{
    int n = 0;
    for (const char *at = m->log; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

static void uses(nd_backend *k, mock *m, nd_block *b, int s)
{
    if (k->type->record_stream(b, &m->stream[s]) != ND_OK)
        bail("record_stream");
    mock_use(m, b, s);
}

static void uses_now(nd_backend *k, mock *m, nd_block *b, int s)
{
    mock_use(m, b, s);
    if (k->type->record_use(b, &m->stream[s]) != ND_OK)
        bail("record_use");
}

static void done(nd_backend *k, mock *m, const char *what)
{
    const char *wrong = audit_all(k);
    ok(!wrong, "%s: the books are right", what);
    if (wrong)
        diag("%s", wrong);
    for (int i = 1; i < STREAMS; i++)
        finish_work(m, i);
    nd__backend_release(k);
    mock_end(m, what);
}

/* ---- C7 ---- */
static void record_stream(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *b = take(k, m, 1, 1000), *c;
    uint64_t at = place(b);
    uses(k, m, b, 1);
    give(k, m, b);
    is_str(m->log, "alloc 2097152;", "C7 its own stream is not worth an event");
    b = take(k, m, 1, 1000);
    uses(k, m, b, 2);
    uses(k, m, b, 3);
    uses(k, m, b, 2);
    mock_forget(m);
    give(k, m, b);
    ok(count(m, "record 2;") == 1 && count(m, "record 3;") == 1 && m->calls == 2,
       "C7 one event a recorded stream, at the free");
    c = take(k, m, 1, 1000);
    ok(place(c) != at, "C7 not reused before");
    finish_work(m, 2);
    nd_block *d = take(k, m, 1, 1000);
    ok(place(d) != at, "C7 nor when one of two is done");
    finish_work(m, 3);
    nd_block *e = take(k, m, 1, 1000);
    ok(place(e) == at, "C7 reused when all are");
    give(k, m, c);
    give(k, m, d);
    give(k, m, e);
    done(k, m, "C7");
}

static void slow_stream(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *slow = take(k, m, 1, 1000), *fast = take(k, m, 1, 1000);
    uint64_t at = place(fast);
    uses(k, m, slow, 2);
    uses(k, m, fast, 3);
    give(k, m, slow);
    give(k, m, fast);
    finish_work(m, 3);
    nd_block *b = take(k, m, 1, 1000);
    ok(place(b) == at, "C7 a slow stream does not delay the blocks of others");
    mock_forget(m);
    nd_block *c = take(k, m, 1, 1000);
    is_str(m->log, "query 2;", "C7 one query a stream, however much it holds back");
    give(k, m, b);
    give(k, m, c);
    done(k, m, "C7 slow");
}

/* Two blocks wait for one stream. */
static void one_stream_twice(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *b[2] = {take(k, m, 1, 1000), take(k, m, 1, 1000)};
    const uint64_t at[2] = {place(b[0]), place(b[1])};
    for (int i = 0; i < 2; i++) {
        uses(k, m, b[i], 2);
        give(k, m, b[i]);
    }
    nd_block *c = take(k, m, 1, 1000);
    ok(place(c) != at[0] && place(c) != at[1], "C7 two blocks that one stream uses");
    finish_work(m, 2);
    for (int i = 0; i < 2; i++) {
        b[i] = take(k, m, 1, 1000);
        ok(b[i] && place(b[i]) == at[i], "C7 are both free when it is done");
    }
    give(k, m, b[0]);
    give(k, m, b[1]);
    give(k, m, c);
    done(k, m, "C7 twice");
}

/* ---- C8 ---- */
static void record_use(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *b = take(k, m, 1, 1000);
    uint64_t at = place(b);
    mock_forget(m);
    uses_now(k, m, b, 1);
    is_str(m->log, "", "C8 its own stream is not worth an event");
    uses_now(k, m, b, 2);
    uses_now(k, m, b, 3);
    is_str(m->log, "record 2;record 3;", "C8 the event is recorded at the call");
    mock_use(m, b, 1);
    mock_forget(m);
    give(k, m, b);
    is_str(m->log, "", "C8 the free costs nothing");
    nd_memory_stats s = stats_of(k);
    is_int(s.active.all.current, 0, "C8 the block is free at once");
    b = take(k, m, 1, 1000);
    ok(b && place(b) == at, "C8 and reused at once");
    ok(count(m, "wait 1 on 2;") == 1 && count(m, "wait 1 on 3;") == 1 && count(m, "query") == 0 &&
           count(m, "synchronize") == 0,
       "C8 its stream waits for all of them; the host does not ask");
    give(k, m, b);
    mock_forget(m);
    b = take(k, m, 1, 1000);
    is_str(m->log, "", "C8 and once only");
    uses_now(k, m, b, 2);
    uses_now(k, m, b, 2);
    give(k, m, b);
    mock_forget(m);
    b = take(k, m, 1, 1000);
    is_str(m->log, "wait 1 on 2;", "C8 of two uses by one stream the later covers both");
    give(k, m, b);
    done(k, m, "C8");
}

static void both(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *b = take(k, m, 1, 1000), *c;
    uint64_t at = place(b);
    uses(k, m, b, 2);
    uses_now(k, m, b, 3);
    give(k, m, b);
    c = take(k, m, 1, 1000);
    ok(place(c) != at, "C7 C8 a recorded stream holds the block back");
    finish_work(m, 2);
    mock_forget(m);
    b = take(k, m, 1, 1000);
    ok(place(b) == at && count(m, "wait 1 on 3;") == 1, "C7 C8 then the exact use is waited for");
    give(k, m, b);
    give(k, m, c);
    done(k, m, "C7 C8");
}

/* A use by a neighbour's former owner goes along when free blocks join. */
static void joined_uses(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *a = take(k, m, 1, MIB(3)), *b = take(k, m, 1, MIB(3)), *c = take(k, m, 1, MIB(14));
    uses_now(k, m, a, 2);
    uses_now(k, m, b, 3);
    give(k, m, a);
    give(k, m, b);
    mock_forget(m);
    a = take(k, m, 1, MIB(6));
    ok(a && count(m, "wait 1 on 2;") == 1 && count(m, "wait 1 on 3;") == 1,
       "C8 joined blocks keep what either has to wait for");
    give(k, m, a);
    give(k, m, c);
    done(k, m, "C8 joined");
}

/* Of two uses by one stream the later counts, whichever of the blocks it was of. */
static void joined_later(void)
{
    for (int last = 0; last < 2; last++) {
        mock *m = mock_new(MIB(1000));
        nd_backend *k = mock_backend(m);
        nd_block *b[2] = {take(k, m, 1, MIB(3)), take(k, m, 1, MIB(3))};
        nd_block *c = take(k, m, 1, MIB(14));
        uses_now(k, m, b[!last], 2);
        uses_now(k, m, b[last], 2);
        give(k, m, b[0]);
        give(k, m, b[1]);
        mock_forget(m);
        b[0] = take(k, m, 1, MIB(6)); /* the mock refuses it before the later use */
        ok(b[0] && count(m, "wait 1 on 2;") == 1, "C8 joined blocks keep the later of two uses");
        give(k, m, b[0]);
        give(k, m, c);
        done(k, m, "C8 later");
    }
}

static void wait_fails(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *b = take(k, m, 1, 1000), *c = NULL;
    uses_now(k, m, b, 2);
    give(k, m, b);
    m->fail_in = 1;
    m->fail_with = ND_ERR_LOST;
    is_int(k->type->alloc(k, &m->stream[1], 1000, &c), ND_ERR_LOST,
           "C8 a failing wait is reported");
    b = take(k, m, 1, 1000);
    ok(!c && b, "C8 and nothing is lost");
    give(k, m, b);
    done(k, m, "C8 fault");
}

/* ---- C9 ---- */
static void steal_before_oom(void)
{
    mock *m = mock_new(MIB(64));
    nd_backend *k = mock_backend(m);
    nd_block *a = take(k, m, 1, MIB(40));
    uint64_t at = place(a);
    give(k, m, a);
    mock_forget(m);
    a = take(k, m, 2, MIB(38));
    ok(a && place(a) == at, "C9 before_oom: a block of another stream");
    is_str(m->log, "alloc 39845888;record 1;wait 2 on 1;",
           "C9 after the device refused, by a wait of the stream, without the host");
    give(k, m, a);
    mock_forget(m);
    a = take(k, m, 2, MIB(40));
    ok(a && place(a) == at, "C9 a whole segment has changed sides");
    is_str(m->log, "", "C9 for good");
    give(k, m, a);
    done(k, m, "C9 before_oom");
}

static void steal_never(void)
{
    mock *m = mock_new(MIB(64));
    set("cross_stream:never");
    nd_backend *k = mock_backend(m);
    nd_block *a = take(k, m, 1, MIB(40));
    give(k, m, a);
    mock_forget(m);
    a = take(k, m, 2, MIB(38));
    ok(a && !strstr(m->log, "wait 2"), "C9 never: no stream waits for another");
    ok(strstr(m->log, "synchronize 1;free 41943040;alloc 39845888;"),
       "C9 never: the memory goes through the device");
    give(k, m, a);
    done(k, m, "C9 never");
    set("cross_stream:before_oom");
}

static void steal_part(void)
{
    mock *m = mock_new(MIB(1000));
    set("cross_stream:before_grow");
    nd_backend *k = mock_backend(m);
    nd_block *a = take(k, m, 1, MIB(4)), *b = take(k, m, 1, MIB(4)), *c;
    uint64_t at = place(a);
    give(k, m, a);
    mock_forget(m);
    a = take(k, m, 2, MIB(3));
    ok(a && place(a) == at, "C9 before_grow: a part of another stream's segment is lent");
    is_str(m->log, "record 1;wait 2 on 1;", "C9 before_grow: the device is not asked");
    mock_forget(m);
    give(k, m, a);
    is_str(m->log, "record 2;", "C9 given home with an event");
    c = take(k, m, 1, MIB(4));
    ok(c && place(c) == at && strstr(m->log, "wait 1 on 2;"),
       "C9 whose owner waits for the lender");
    give(k, m, b);
    give(k, m, c);
    done(k, m, "C9 before_grow");
    set("cross_stream:before_oom");
}

/* Who borrows a part has waited for its users; the part that stays has not. */
static void lent_part_keeps_gates(void)
{
    mock *m = mock_new(MIB(2));
    nd_backend *k = mock_backend(m);
    nd_block *kept = take(k, m, 1, 1000), *used = take(k, m, 1, 100000), *lent, *rest;
    uses_now(k, m, used, 2);
    give(k, m, used);
    lent = take(k, m, 3, 1000);
    ok(lent && count(m, "wait 3 on 2;") == 1, "C9 a part is lent when its user is waited for");
    mock_forget(m);
    rest = take(k, m, 1, 1000);
    ok(rest && count(m, "wait 1 on 2;") == 1, "C8 C9 of the rest its owner waits for the same");
    give(k, m, kept);
    give(k, m, lent);
    give(k, m, rest);
    done(k, m, "C9 rest");
}

/* ---- S11 ---- */
static void stream_gone(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *freed = take(k, m, 1, MIB(30)), *live = take(k, m, 1, MIB(40));
    uint64_t at = place(freed), later = place(live);
    give(k, m, freed);
    int holds = atomic_load(&m->stream[1].holds);
    mock_forget(m);
    k->type->stream_gone(k, &m->stream[1]);
    is_str(m->log, "record 1;", "S11 the end of the stream's work is marked, not waited for");
    freed = take(k, m, 2, MIB(30));
    ok(place(freed) == at, "S11 another stream may have its memory");
    is_str(m->log, "record 1;wait 2 on 1;", "S11 after waiting for that end");
    ok(holds > 1 && atomic_load(&m->stream[1].holds) > 1, "S11 a live block remembers the stream");
    mock_forget(m);
    give(k, m, live);
    ok(atomic_load(&m->stream[1].holds) == 1, "S11 until it is freed");
    live = take(k, m, 3, MIB(40));
    ok(place(live) == later && strstr(m->log, "wait 3 on 1;") && !strstr(m->log, "record 1;"),
       "S11 C27 freed after its stream went, it is gated by the same end");
    give(k, m, freed);
    give(k, m, live);
    done(k, m, "S11");
}

static void gone_with_uses(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *b = take(k, m, 1, 1000), *c = take(k, m, 2, 1000);
    uint64_t at = place(b);
    uses(k, m, b, 2);
    k->type->stream_gone(k, &m->stream[2]);
    mock_forget(m);
    give(k, m, b);
    ok(!strstr(m->log, "record 2;"), "S11 nothing is recorded on a stream that went");
    b = take(k, m, 1, 1000);
    ok(place(b) != at, "S11 but its use still holds a block back");
    give(k, m, b);
    finish_work(m, 2);
    b = take(k, m, 1, 1000);
    ok(b != NULL, "S11 until it is done");
    give(k, m, b);
    give(k, m, c);
    k->type->stream_gone(k, &m->stream[1]);
    k->type->stream_gone(k, &m->stream[5]);
    done(k, m, "S11 uses");
}

/* S11 empty_cache waits for a stream that went as for any other. */
static void gone_and_emptied(void)
{
    mock *m = mock_new(MIB(1000));
    nd_backend *k = mock_backend(m);
    nd_block *b = take(k, m, 1, MIB(30));
    give(k, m, b);
    k->type->stream_gone(k, &m->stream[1]);
    ok(k->type->empty_cache(k) == ND_OK && m->used == MIB(30), "S11 C26 queued work keeps memory");
    finish_work(m, 1);
    ok(k->type->empty_cache(k) == ND_OK && m->used == 0, "S11 C26 which goes when that is done");
    done(k, m, "S11 C26");
}

TAP_MAIN({"record_stream", record_stream}, {"slow_stream", slow_stream},
         {"one_stream_twice", one_stream_twice}, {"record_use", record_use}, {"both", both},
         {"joined_uses", joined_uses}, {"joined_later", joined_later}, {"wait_fails", wait_fails},
         {"steal_before_oom", steal_before_oom}, {"steal_never", steal_never},
         {"steal_part", steal_part}, {"lent_part_keeps_gates", lent_part_keeps_gates},
         {"stream_gone", stream_gone}, {"gone_with_uses", gone_with_uses},
         {"gone_and_emptied", gone_and_emptied})
