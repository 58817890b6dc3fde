/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Memory in captures: where it comes from and goes to, and what the graph keeps. */
#include "tests/stream/capture.h"

/* ---- G5 ---- */
static void test_routing(void)
{
    nd_stream *s = new_stream(0), *t = new_stream(0), *u = new_stream(0);
    DO(nd_synchronize(sim[0]));
    session c = begin(s, NDP_CAPTURE_RELAXED, NULL);
    is_int(nd_pool_segments(c.pool), 0, "G5: the pool is empty");
    nd_array *outside = filled(sim[0], N, 1);
    is_int(nd_pool_segments(c.pool), 0, "G5: allocations on other streams are not its business");
    DO(nd_stream_push(s));
    nd_array *a = filled(sim[0], N, 1);
    is_int(nd_pool_segments(c.pool), 1, "G5: those of the captured stream come from the pool");
    DO(nd_stream_pop(s));
    DO(nd_stream_wait_stream(t, s));
    DO(nd_stream_push(t));
    nd_array *b = filled(sim[0], 3 << 20, 2);
    is_int(nd_pool_segments(c.pool), 2, "G5: and of a stream that joined");
    DO(nd_stream_pop(t));
    DO(nd_stream_push(u));
    nd_array *d = filled(sim[0], 3 << 20, 2);
    DO(nd_stream_pop(u));
    is_int(nd_pool_segments(c.pool), 2, "G5: not of one that did not");
    is_int(in_thread(work_elsewhere, NULL), ND_OK, "G5: nor of other threads");
    is_int(nd_pool_segments(c.pool), 2, "G5: which get theirs elsewhere");
    DO(nd_stream_wait_stream(s, t));
    end(&c, "G5");
    DO(nd_stream_push(s));
    nd_array *later = filled(sim[0], 3 << 20, 2);
    is_int(nd_pool_segments(c.pool), 2, "G5: after the end the stream's memory is everybody's");
    DO(nd_stream_pop(s));
    nd_release(later);
    nd_release(outside);
    nd_release(a);
    nd_release(b);
    nd_release(d);
    drop(&c);
    nd_stream_release(s);
    nd_stream_release(t);
    nd_stream_release(u);
    settle();
    is_int(reserved(0), 0, "G5: in the end everything is given back");
}

/* A pool that was used before serves a capture that may not allocate. */
static void test_warm_pool(void)
{
    nd_pool *pool = NULL;
    nd_stream *s = new_stream(0);
    DO(nd_pool_create(sim[0], NULL, &pool));
    DO(nd_pool_push(pool));
    DO(nd_stream_push(s));
    nd_array *a = filled(sim[0], N, 1);
    nd_release(a);
    DO(nd_stream_pop(s));
    DO(nd_pool_pop(pool));
    session c = begin(s, NDP_CAPTURE_THREAD_LOCAL, pool);
    control->log_clear(dev[0]);
    DO(nd_stream_push(s));
    a = filled(sim[0], N, 2);
    is_int(calls(0, "alloc"), 0, "G5: a warm pool asks the device for nothing");
    nd_storage *first = a->storage;
    uint64_t base = first->base;
    nd_release(a);
    a = filled(sim[0], N, 3);
    ok(a->storage->base == base, "G6: a block freed in the capture is used again in it");
    nd_release(a);
    DO(nd_stream_pop(s));
    end(&c, "G5: with a warm pool");
    drop(&c);
    nd_pool_release(pool);
    nd_stream_release(s);
    settle();
}

/* ---- G6 ---- */
static int released;
static void count_release(void *ctx)
{
    (void)ctx;
    released++;
}

static void test_deferred(void)
{
    nd_stream *s = new_stream(0), *t = new_stream(0);
    nd_array *a = filled(sim[0], N, 1), *foreign = NULL, *owner = filled(sim[0], N, 1);
    nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = (int64_t[]){N}};
    void *address;
    DO(nd_data(owner, &address));
    DO(nd_wrap(&layout, address, sim[0], count_release, NULL, &foreign));
    DO(nd_stream_wait_stream(t, default_stream(0)));
    DO(nd_stream_push(t));
    DO(nd_fill(a, nd_float(2)));
    DO(nd_stream_pop(t));
    DO(nd_record_stream(a, t));
    uint64_t base = a->storage->base;
    check_on();
    session c = begin(s, NDP_CAPTURE_GLOBAL, NULL);
    control->log_clear(dev[0]);
    nd_release(a);
    nd_release(foreign);
    is_int(asked(), 0, "G6: freeing what was made before the capture asks the driver for nothing");
    is_int(released, 0, "G6: foreign memory stays with us meanwhile");
    nd_array *b = filled(sim[0], N, 3);
    ok(b->storage->base != base, "G6: and its block is not used again");
    nd_release(b);
    end(&c, "G6");
    is_int(released, 1, "G6: then its owner gets it back");
    DO(nd_synchronize(sim[0]));
    nd_array *first = filled(sim[0], N, 4), *second = filled(sim[0], N, 4);
    ok(first->storage->base == base || second->storage->base == base,
       "G6: after the end the block is used again");
    is_int(races(), 0, "G6: without a race");
    nd_release(first);
    nd_release(second);
    nd_release(owner);
    drop(&c);
    nd_stream_release(s);
    nd_stream_release(t);
    settle();
}

/* ---- C10, C19 ---- */
static void test_memory_rules(void)
{
    nd_stream *s = new_stream(0);
    nd_array *a = NULL;
    int64_t n = N;
    session c = begin(s, NDP_CAPTURE_RELAXED, NULL);
    DO(nd_stream_push(s));
    control->fail_allocs(dev[0], 100);
    control->log_clear(dev[0]);
    is_int(nd_empty(sim[0], ND_F32, 1, &n, &a), ND_ERR_MEMORY, "C10: no memory in a capture");
    is_int(calls(0, "sync") + calls(0, "event_sync") + calls(0, "free"), 0,
           "C10: nothing is waited for, and nothing given back");
    control->fail_allocs(dev[0], 0);
    DO(nd_empty(sim[0], ND_F32, 1, &n, &a));
    DO(nd_fill(a, nd_float(1)));
    DO(nd_stream_pop(s));
    end(&c, "C10");
    nd_release(a);
    drop(&c);
    nd_allocator *none = NULL, *caching = NULL;
    DO(nd_allocator_named("none", &none));
    DO(nd_allocator_named("caching", &caching));
    settle();
    DO(nd_allocator_set(sim[0], none));
    DO(nd__capture_begin(s, NDP_CAPTURE_RELAXED));
    DO(nd_stream_push(s));
    control->log_clear(dev[0]);
    is_int(nd_empty(sim[0], ND_F32, 1, &n, &a), ND_ERR_CAPTURE,
           "C19: without a cache nothing is allocated in a capture");
    is_int(calls(0, "alloc"), 0, "C19: the device is not asked");
    DO(nd_stream_pop(s));
    nd_captured *graph = NULL;
    DO(nd__capture_end(s, &graph));
    ok(graph != NULL, "C19: the capture is still valid");
    nd__captured_free(graph);
    DO(nd_allocator_set(sim[0], caching));
    nd_allocator_release(none);
    nd_allocator_release(caching);
    nd_stream_release(s);
    settle();
}

/* ---- P8 ---- */
static void *address_of(const nd_array *a)
{
    void *p = NULL;
    DO(nd_data(a, &p));
    return p;
}

static void test_pinned(void)
{
    const nd_copy_opts no_wait = {.size = sizeof no_wait, .non_blocking = 1};
    const int64_t n = N;
    nd_stream *s = new_stream(0);
    nd_array *h = NULL, *back = NULL, *d = filled(sim[0], N, 0), *again = NULL;
    float *p;
    uint64_t operations = 0;
    DO(nd_empty_pinned(sim[0], ND_F32, 1, &n, &h));
    DO(nd_empty_pinned(sim[0], ND_F32, 1, &n, &back));
    DO(nd_fill(h, nd_float(3)));
    DO(nd_fill(back, nd_float(0)));
    p = address_of(h);
    DO(nd_synchronize(sim[0]));
    session c = begin(s, NDP_CAPTURE_THREAD_LOCAL, NULL);
    DO(nd_stream_push(s));
    DO(nd_copy_to(h, d, &no_wait));
    DO(nd_copy_to(d, back, &no_wait));
    DO(nd_stream_pop(s));
    ok(value_of(back) == 0, "P8: a captured copy leaves nothing pending");
    end(&c, "P8: pinned copies");
    control->graph_size(dev[0], nd__captured_graph(c.graph), &operations);
    is_int(operations, 2, "P8: are captured");
    nd_release(h);
    DO(nd_empty_pinned(sim[0], ND_F32, 1, &n, &again));
    ok(address_of(again) != p, "P8: the graph keeps the block that its program let go");
    nd_release(again);
    launch(&c);
    ok(value_of(d) == 3 && value_of(back) == 3, "P8: the graph copies");
    p[0] = 4;
    launch(&c);
    ok(value_of(d) == 4 && value_of(back) == 4, "P8: what is there when it runs");
    drop(&c);
    int found = 0;
    nd_array *many[4];
    for (int i = 0; i < 4; i++) {
        DO(nd_empty_pinned(sim[0], ND_F32, 1, &n, &many[i]));
        found += address_of(many[i]) == (void *)p;
    }
    is_int(found, 1, "P8: with the graph the block is given back");
    for (int i = 0; i < 4; i++)
        nd_release(many[i]);
    nd_release(back);
    nd_release(d);
    nd_stream_release(s);
    settle();
}

TAP_MAIN({"routing", test_routing}, {"warm_pool", test_warm_pool}, {"deferred", test_deferred},
         {"memory_rules", test_memory_rules}, {"pinned", test_pinned})
