/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Pinned host memory (C29, C31, P10) over a mock device. */
#include <time.h>
#include <unistd.h>
#include "tests/allocators/mock.h"

static nd_block *take(mock *m, uint64_t n)
{
    nd_block *b;
    must(nd__pinned_alloc(&m->device, n, &b));
    return b;
}

static nd_memory_stats stats(mock *m)
{
    nd_memory_stats st = {0};
    nd__pinned_stats(&m->device, &st);
    return st;
}

static mock *start(void)
{
    mock *m = mock_device(0);
    must(nd_memory_conf_set("pinned_reserve_mb:0,pinned_exact_above_mb:0,pinned_cap_mb:0,"
                            "pinned_background:false"));
    must(nd_memory_empty_host_cache(&m->device));
    must(nd_memory_pinned_cap_set(&m->device, 0));
    nd__pinned_reset(&m->device, true, true);
    m->in_use = 0;
    m->pins = m->frees = 0;
    return m;
}

/* Every size from 512 bytes, by steps that meet each class's edges. */
static void waste(void)
{
    mock *m = start();
    int worse = 0, short_of = 0;
    for (uint64_t n = 512; n < (uint64_t)1 << 22; n += n / 61 + 1) {
        nd_block *b = take(m, n);
        worse += b->nbytes > n + n / 8;
        short_of += b->nbytes < n;
        nd__pinned_free(b);
        must(nd_memory_empty_host_cache(&m->device));
    }
    nd_block *b = take(m, ((uint64_t)1 << 20) + 1);
    is_int(b->nbytes, (1 << 20) + (1 << 17), "C29: 1 MiB + 1 takes 1 MiB and an eighth");
    nd__pinned_free(b);
    is_int(worse, 0, "C29: no size wastes more than 12.5 %");
    is_int(short_of, 0, "C29: and none is too short");
    must(nd_memory_empty_host_cache(&m->device));
    is_int(m->in_use, 0, "C26: empty_host_cache gives everything back");
    must(nd_memory_conf_set("pinned_exact_above_mb:1"));
    b = take(m, ((uint64_t)1 << 20) + 1);
    is_int(b->nbytes, (1 << 20) + 64, "C29: exact above the threshold, but for alignment");
    nd__pinned_free(b);
    must(nd_memory_empty_host_cache(&m->device));
}

static void reuse(void)
{
    mock *m = start();
    mock_stream *s = mock_stream_new(m, 1), *t = mock_stream_new(m, 2);
    nd_block *b = take(m, 5000);
    char *host = b->host;
    ok(host && b->mem->p == host, "a host address");
    memset(host, 7, 5000);
    mock_work(s);
    must(nd__pinned_record(b, &s->s));
    mock_work(t);
    must(nd__pinned_record(b, &t->s));
    mock_work(s); /* after the copy: does not count */
    nd__pinned_free(b);
    is_int(m->waits, 0, "P1: the free does not wait");
    nd_block *c = take(m, 5000);
    ok(c->host != host, "P1, C29: the block is not used again before its copies are done");
    s->done = 1;
    nd_block *d = take(m, 5000);
    ok(d->host != host, "C29: every one of them");
    t->done = 1;
    nd_block *e = take(m, 4800);
    ok(e->host == host, "C29: then it is, also for a little less");
    nd_block *f = take(m, 2000);
    nd__pinned_free(e);
    nd_block *g = take(m, 2000);
    ok(g->host != host, "C29: but not for a much smaller request");
    is_int(m->pins, 5, "C31: five calls of the device");
    nd_memory_stats st = stats(m);
    is_int(st.num_host_alloc, 5, "C31: num_host_alloc");
    is_int(st.pinned_blocks.current, 4, "C31: four blocks in use");
    is_int(st.pinned_bytes.current, 2 * 5120 + 2 * 2048, "C31: their bytes");
    is_int(st.pinned_owned_bytes.current, 3 * 5120 + 2 * 2048, "C31: owned bytes");
    is_int(m->in_use, 3 * 5120 + 2 * 2048, "C31: which is what the device gave");
    nd__pinned_free(c);
    nd__pinned_free(d);
    nd__pinned_free(f);
    nd__pinned_free(g);
    must(nd_memory_empty_host_cache(&m->device));
    st = stats(m);
    is_int(st.num_host_free, 5, "C31: num_host_free");
    is_int(st.pinned_owned_bytes.current, 0, "C31: nothing owned");
    is_int(st.pinned_bytes.peak, 3 * 5120 + 2048, "C31: the peak");
    ok(st.host_alloc_us >= 0 && st.host_free_us >= 0, "C31: time");
    is_int(m->events, 0, "every event went back");
    free(s);
    free(t);
}

static void cap(void)
{
    mock *m = start();
    nd_block *b, *none;
    must(nd_memory_pinned_cap_set(&m->device, 10000));
    b = take(m, 8000);
    is_int(nd__pinned_alloc(&m->device, 4000, &none), ND_ERR_MEMORY, "P10: the cap");
    has_text(nd_last_error()->message, "cap of 10000", "P10: is told");
    is_int(m->pins, 1, "P10: the device was not asked");
    nd__pinned_free(b);
    b = take(m, 4000);
    ok(b != NULL, "P10: what is kept makes room");
    nd__pinned_free(b);
    must(nd_memory_empty_host_cache(&m->device));
    must(nd_memory_pinned_cap_set(&m->device, 0));
    must(nd_memory_conf_set("pinned_cap_mb:0.001"));
    is_int(nd__pinned_alloc(&m->device, 4000, &none), ND_ERR_MEMORY, "P10: the settings' cap");
    must(nd_memory_conf_set("pinned_cap_mb:0"));
    is_int(nd__pinned_alloc(&m->device, (uint64_t)1 << 60, &none), ND_ERR_MEMORY,
           "P10: the default cap");
    is_int(nd__pinned_alloc(&m->device, UINT64_MAX, &none), ND_ERR_MEMORY, "no wrap-around");
    m->device.map.pin = NULL;
    is_int(nd__pinned_alloc(&m->device, 1, &none), ND_ERR_UNSUPPORTED, "a device that has none");
}

static void slab(void)
{
    mock *m = start();
    must(nd_memory_conf_set("pinned_reserve_mb:1"));
    nd_block *b = take(m, 1000), *c = take(m, 2000);
    is_int(m->pins, 1, "C29: the reserve is taken at once");
    is_int(m->in_use, 1 << 20, "C29: all of it");
    ok(b->mem == c->mem && c->host == b->host + b->nbytes, "C29: blocks are cut from it");
    is_int(c->offset, b->nbytes, "C29: with their offset");
    nd_block *big = take(m, 2 << 20);
    is_int(m->pins, 2, "C29: what does not fit comes from the device");
    nd__pinned_free(big);
    nd__pinned_free(b);
    must(nd_memory_empty_host_cache(&m->device));
    is_int(m->in_use, 1 << 20, "C26: a slab in use stays");
    nd_block *again = take(m, 1000);
    ok(again == b, "C29: a freed piece is used again");
    nd__pinned_free(again);
    nd__pinned_free(c);
    must(nd_memory_empty_host_cache(&m->device));
    is_int(m->in_use, 0, "C26: and goes when nothing of it is in use");
}

static void background(void)
{
    const struct timespec pause = {0, 2000000};
    mock *m = start();
    mock_stream *s = mock_stream_new(m, 1);
    must(nd_memory_conf_set("pinned_background:true"));
    nd_block *b = take(m, 4096);
    mock_work(s);
    must(nd__pinned_record(b, &s->s));
    nd__pinned_free(b);
    is_int(m->events, 1, "an event is pending");
    atomic_thread_fence(memory_order_seq_cst);
    s->done = 1;
    for (int i = 0; i < 30000 && m->events; i++)
        nanosleep(&pause, NULL);
    is_int(m->events, 0, "C29: the poller found it done, with no call of ours");
    must(nd_memory_conf_set("pinned_background:false"));
    for (int i = 0; i < 30000 && m->frees < m->pins; i++) { /* until the poller let go of all */
        must(nd_memory_empty_host_cache(&m->device));
        nanosleep(&pause, NULL);
    }
    is_int(m->frees, m->pins, "C29: what it found is kept, and given back");
    free(s);
    b = take(m, 4096);
    s = mock_stream_new(m, 2);
    mock_work(s);
    must(nd__pinned_record(b, &s->s));
    nd__pinned_free(b);
    s->done = s->queued;
    for (int i = 0; i < 20; i++)
        nanosleep(&pause, NULL);
    is_int(m->events, 1, "C29: pinned_background:false ends the poller");
    must(nd_memory_empty_host_cache(&m->device));
    free(s);
}

/* ---- a foreign stream's owner is told when the last block that remembers the stream lets go
 * ---- */
static int owners_told;
static void owner_wants_memory(void *ctx)
{
    mock *m = ctx;
    nd_block *b = take(m, 3000);
    memset(b->host, 3, 3000);
    nd__pinned_free(b);
    must(nd_memory_empty_host_cache(&m->device));
    owners_told++;
}

/* Block and event of a stream that only they remember. */
static nd_block *used_by_foreign(mock *m, mock_stream **s)
{
    nd_block *b = take(m, 5000);
    *s = mock_stream_new(m, 7);
    (*s)->s.release = owner_wants_memory;
    (*s)->s.ctx = m;
    mock_work(*s);
    must(nd__pinned_record(b, &(*s)->s));
    nd__stream_unhold(&(*s)->s);
    return b;
}

static void owners(void)
{
    mock *m = start();
    mock_stream *s;
    owners_told = 0;
    alarm(600); /* a lock that is held around the owner's function hangs */
    nd_block *b = used_by_foreign(m, &s);
    s->done = s->queued;
    nd__pinned_free(b);
    is_int(owners_told, 1, "C29: free tells the owner, who takes and frees pinned memory itself");
    b = used_by_foreign(m, &s);
    nd__pinned_free(b);
    is_int(owners_told, 1, "C29: not before the work is done");
    s->done = s->queued;
    b = take(m, 100);
    is_int(owners_told, 2, "C29: a later request does");
    nd__pinned_free(b);
    b = used_by_foreign(m, &s);
    nd__pinned_free(b);
    s->done = s->queued;
    must(nd_memory_empty_host_cache(&m->device));
    is_int(owners_told, 3, "C29: so does empty_host_cache");
    alarm(0);
    must(nd_memory_empty_host_cache(&m->device));
    is_int(m->in_use, 0, "C29: nothing is lost");
    is_int(m->events, 0, "C29: nor an event");
}

TAP_MAIN({"waste", waste}, {"reuse", reuse}, {"cap", cap}, {"slab", slab},
         {"background", background}, {"owners", owners})
