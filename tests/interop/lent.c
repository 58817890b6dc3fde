/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams and memory that a stranger has by now: what was named to it stays busy although the host
 * has asked, memory lent is used again behind its work, and the handle 2 is each thread's own. */
#include <pthread.h>
#include "core/ops/ops.h"
#include "tests/interop/exchange.h"

enum { N = 96 };

static nd_array *idle_array(void)
{
    nd_array *a = filled(sim[0], N, 1);
    DO(nd_synchronize(sim[0]));
    check_on();
    return a;
}

/* Another library's copy, by the plug-in's own table. */
static void strangers_copy(ndp_stream *s, const nd_array *from, const nd_array *to)
{
    is_int(sim[0]->p.copy(sim[0]->dev, s, to->storage->mem, to->storage->base, from->storage->mem,
                          from->storage->base, N * sizeof(float)),
           NDP_OK, "the other library copies");
}

/* The stream was named to a stranger, the host asked whether it is done, and then the stranger
 * queued work there. */
static void i5_named_then_asked(void)
{
    nd_array *a = idle_array(), *from = idle_array();
    nd_stream *s = new_stream(0);
    nd_cai c = {.size = sizeof c};
    int32_t over = 0;
    DO(nd_stream_push(s));
    DO(nd_fill(a, nd_float(2)));
    DO(nd_cai_export(a, NULL, &c));
    DO(nd_stream_pop(s));
    is_int(c.stream, handle_number(s), "I5: the export names the stream");
    step(0, s, 100);
    DO(nd_stream_query(s, &over));
    is_int(over, 1, "the stream is done when it is asked");
    strangers_copy(s->handle, from, a);
    DO(nd_cai_export(a, NULL, &c));
    is_int(c.stream, 1,
           "I5: a stream that was named to a stranger is not quiet for having been asked");
    on_handle(1, a, 1);
    no_race("I5: so the next consumer lies behind what the stranger queued");
    nd_release(a);
    nd_release(from);
    nd_stream_release(s);
    settle();
}

/* The host waited for a stream of a stranger's, who then went on. */
static void i5_strangers_stream(void)
{
    const uint64_t p = strangers_stream();
    nd_array *a = idle_array(), *from = idle_array();
    nd_stream *s = NULL;
    nd_cai c = {.size = sizeof c};
    DO(nd_stream_wrap(sim[0], p, NULL, NULL, &s));
    DO(nd_stream_push(s));
    DO(nd_fill(a, nd_float(2)));
    DO(nd_stream_pop(s));
    DO(nd_stream_synchronize(s));
    strangers_copy(s->handle, from, a);
    DO(nd_cai_export(a, NULL, &c));
    is_int(c.stream, 1, "I5: a stranger's stream is not quiet for having been waited for");
    on_handle(1, a, 1);
    no_race("I5: so the next consumer lies behind what the stranger queued there");
    nd_release(a);
    nd_release(from);
    nd_stream_release(s);
    settle();
}

/* The stream of a pending use was released. */
static void i5_released_stream(void)
{
    nd_array *a = idle_array();
    nd_stream *s = new_stream(0);
    nd_cai c = {.size = sizeof c};
    DO(nd_stream_push(s));
    DO(nd_fill(a, nd_float(2)));
    DO(nd_stream_pop(s));
    nd_stream_release(s);
    DO(nd_cai_export(a, NULL, &c));
    is_int(c.stream, 1, "I5: work on a stream that was released is pending");
    on_handle(1, a, 1);
    no_race("I5: and lies before the consumer's");
    nd_release(a);
    settle();
}

/* Three streams use it, and the first of them again: the others' uses are still known. */
static void i5_used_again(void)
{
    nd_stream *s[3] = {new_stream(0), new_stream(0), new_stream(0)};
    nd_array *a = idle_array(), *r[4] = {NULL};
    nd_cai c = {.size = sizeof c};
    for (int i = 0; i < 4; i++) {
        DO(nd_stream_push(s[i % 3]));
        DO(nd_negative(a, &r[i]));
        DO(nd_stream_pop(s[i % 3]));
    }
    DO(nd_cai_export(a, NULL, &c));
    on_handle((uint64_t)c.stream, a, 1);
    no_race("I5: a consumer lies behind all of three streams, one of which came twice");
    for (int i = 0; i < 4; i++)
        nd_release(r[i]);
    nd_release(a);
    for (int i = 0; i < 3; i++)
        nd_stream_release(s[i]);
    settle();
}

/* Work from before a capture is pending on the stream that is captured now. */
static void i5_pending_on_captured(void)
{
    nd_captured *graph = NULL;
    nd_stream *s = new_stream(0);
    nd_array *a = idle_array();
    nd_cai c = {.size = sizeof c};
    DO(nd_stream_push(s));
    DO(nd_fill(a, nd_float(2)));
    DO(nd_stream_pop(s));
    DO(nd__capture_begin(s, NDP_CAPTURE_RELAXED));
    is_int(nd_cai_export(a, NULL, &c), ND_ERR_CAPTURE, "I5: work behind which nobody can wait now");
    has_text(nd_last_error()->message, "exchange it after the capture has ended",
             "I5: the error says what to do");
    DO(nd__capture_end(s, &graph));
    nd__captured_free(graph);
    nd_release(a);
    nd_stream_release(s);
    settle();
}

/* Memory of a producer whom we do not follow, and never used: the consumer still needs him. */
static void i12_unused_import(void)
{
    const uint64_t p = strangers_stream();
    nd_array *theirs = idle_array(), *a = NULL;
    nd_cai c = {.size = sizeof c}, again = {.size = sizeof again};
    const nd_cai_export_opts described = {.size = sizeof described, .policy = ND_CAI_EXPORT_NONE};
    const nd_cai_import_opts in = {.size = sizeof in, .sync = ND_CAI_SYNC_OFF, .device = sim[0]};
    DO(nd_cai_export(theirs, &described, &c));
    c.stream = (int64_t)p;
    DO(nd_cai_import(&c, &in, &a));
    DO(nd_cai_export(a, NULL, &again));
    is_int(again.stream, (int64_t)p,
           "I12: an import that was never used names its producer's stream");
    nd_release(a);
    nd_release(theirs);
    settle();
}

/* The tensor went to a stream of ours, on which its consumer reads; then it is given back. */
static void s15_lent_and_used_again(void)
{
    nd_array *a = idle_array(), *to = filled(sim[0], N, 0);
    nd_stream *s = new_stream(0);
    nd_dl_managed *m = NULL;
    const nd_dl_export_opts opts = {.size = sizeof opts, .stream = (int64_t)handle_number(s)};
    DO(nd_dlpack_export(a, &opts, &m));
    DO(nd_stream_wait_stream(s, default_stream(0)));
    strangers_copy(s->handle, a, to);
    m->deleter(m);
    nd_release(a);
    nd_array *again = filled(sim[0], N, 3);
    no_race("S15: memory lent through DLPack is used again after its consumer's work");
    nd_release(again);
    nd_release(to);
    nd_stream_release(s);
    settle();
}

static void i7_sync_waits_for_producer(void)
{
    uint64_t p = strangers_stream(), left = 9;
    nd_array *theirs = idle_array(), *a = NULL;
    nd_cai c = {.size = sizeof c}, e = {.size = sizeof e};
    nd_cai_export_opts opts = {.size = sizeof opts, .policy = ND_CAI_EXPORT_NONE};
    const nd_cai_import_opts in = {.size = sizeof in, .sync = ND_CAI_SYNC_ON, .device = sim[0]};
    on_handle(p, theirs, 1);
    DO(nd_cai_export(theirs, &opts, &c));
    c.stream = (int64_t)p;
    DO(nd_cai_import(&c, &in, &a));
    opts.policy = ND_CAI_EXPORT_SYNC;
    DO(nd_cai_export(a, &opts, &e));
    control->pending(dev[0], (ndp_stream *)(uintptr_t)p, &left);
    is_int(left, 0, "I7: policy sync waits for the producer of what was imported");
    nd_release(a);
    nd_release(theirs);
    settle();
}

/* In a thread of its own: a stranger writes on this thread's stream 2, and ndock imports with it.
 */
static void *import_with_own_stream(void *arg)
{
    const nd_array *theirs = arg;
    const void *table = NULL;
    struct ndp_dev *d;
    ndp_stream *own = NULL;
    nd_array *from = filled(sim[0], N, 5), *a = NULL, *r = NULL;
    nd_cai c = {.size = sizeof c};
    const nd_cai_export_opts described = {.size = sizeof described, .policy = ND_CAI_EXPORT_NONE};
    const nd_cai_import_opts in = {.size = sizeof in, .device = sim[0]};
    DO(nd_device_group(sim[0], "ndp.stream/1", &table, &d));
    const ndp_stream_1 *streams = table;
    if (streams->wrap(d, 2, &own) != NDP_OK)
        bail("the plug-in has no stream of each thread");
    DO(nd_synchronize(sim[0]));
    control->race_clear(dev[0]);
    strangers_copy(own, from, theirs);
    DO(nd_cai_export(theirs, &described, &c));
    c.stream = 2;
    DO(nd_cai_import(&c, &in, &a));
    DO(nd_negative(a, &r));
    no_race("I10: stream 2 of an import is the importing thread's, though another thread has one");
    nd_release(r);
    nd_release(a);
    nd_release(from);
    streams->destroy(d, own);
    return NULL;
}

static void i10_stream_of_each_thread(void)
{
    nd_stream *mine = NULL;
    pthread_t t;
    DO(nd_stream_wrap(sim[0], 2, NULL, NULL, &mine)); /* this thread keeps its own */
    nd_array *theirs = idle_array();
    if (pthread_create(&t, NULL, import_with_own_stream, theirs) != 0)
        bail("no thread");
    pthread_join(t, NULL);
    nd_stream_release(mine);
    nd_release(theirs);
    settle();
}

TAP_MAIN({"i5_named_then_asked", i5_named_then_asked}, {"i5_strangers_stream", i5_strangers_stream},
         {"i5_released_stream", i5_released_stream}, {"i5_used_again", i5_used_again},
         {"i5_pending_on_captured", i5_pending_on_captured},
         {"i12_unused_import", i12_unused_import},
         {"s15_lent_and_used_again", s15_lent_and_used_again},
         {"i7_sync_waits_for_producer", i7_sync_waits_for_producer},
         {"i10_stream_of_each_thread", i10_stream_of_each_thread})
