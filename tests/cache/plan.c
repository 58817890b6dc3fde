/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The plan cache over a device that exists only here: events pass when the test says so. */
#include <pthread.h>
#include <stdatomic.h>
#include "core/plugin/service/service.h"
#include "tests/tap.h"

/* ---- the device ---- */
struct ndp_event {
    atomic_int done;
};
enum { EVENTS = 200000, STREAMS = 4 };
static struct ndp_event events[EVENTS];
static atomic_int recorded, given_back, early; /* early: a plan died before its event passed */
static atomic_int stream_of[EVENTS];
static atomic_bool at_once, broken;
static int capturing; /* stream number + 1 */
static uint64_t busy; /* the id of a stream whose end cannot be marked now */

static ndp_stream *stream(int i)
{
    return (ndp_stream *)&stream_of[i];
}

static int stream_number(const ndp_stream *s)
{
    return (int)((const atomic_int *)s - stream_of);
}

static bool stream_id(void *ctx, ndp_stream *s, uint64_t *id)
{
    (void)ctx;
    *id = s ? (uint64_t)stream_number(s) + 1 : 1;
    return true;
}

static nd_status record(void *ctx, uint64_t id, ndp_event **out)
{
    (void)ctx;
    *out = NULL;
    if (busy == id)
        return ND_ERR_NOT_READY;
    int i = atomic_fetch_add(&recorded, 1);
    if (broken || i >= EVENTS)
        return nd__fail(ND_ERR_MEMORY, NULL, -1, "no event");
    events[i].done = at_once;
    stream_of[i] = (int)id - 1;
    *out = &events[i];
    return ND_OK;
}

static nd_status query(void *ctx, ndp_event *e, int32_t *done)
{
    (void)ctx;
    *done = e->done;
    return ND_OK;
}

static nd_status synchronize(void *ctx, ndp_event *e)
{
    (void)ctx;
    e->done = 1;
    return ND_OK;
}

static void give_back(void *ctx, ndp_event *e)
{
    (void)ctx;
    early += !e->done;
    given_back++;
}

static bool captures(void *ctx, ndp_stream *s)
{
    (void)ctx;
    return capturing && stream_number(s) == capturing - 1;
}

static void run(int s) /* all work of the stream is done */
{
    for (int i = 0; i < recorded; i++)
        if (stream_of[i] == s)
            events[i].done = 1;
}

/* ---- plans ---- */
static atomic_int made, destroyed;
static uint64_t plan_bytes = 10;

static int32_t make(void *arg, void **value, uint64_t *nbytes)
{
    int *v = malloc(sizeof *v);
    *v = arg ? *(int *)arg : 0;
    *value = v;
    *nbytes = plan_bytes;
    made++;
    return ND_OK;
}

static int32_t make_fails(void *arg, void **value, uint64_t *nbytes)
{
    (void)arg;
    (void)value;
    (void)nbytes;
    return nd__fail(ND_ERR_UNSUPPORTED, NULL, -1, "no plan of size 7");
}

static void destroy(void *value)
{
    free(value);
    destroyed++;
}

static nd_plan_cache *fresh(void)
{
    const nd_plan_hooks hooks = {NULL, stream_id, record, query, synchronize, give_back, captures};
    nd_plan_cache *c;
    if (nd__plan_cache_create(&hooks, &c) != ND_OK)
        bail("no cache");
    recorded = given_back = early = made = destroyed = capturing = 0;
    busy = 0;
    at_once = broken = false;
    return c;
}

static ndh_plan *acquire(nd_plan_cache *c, int key)
{
    ndh_plan *p;
    void *value;
    if (nd__plan_acquire(c, &key, sizeof key, make, destroy, &key, &p, &value) != ND_OK)
        bail(nd_last_error()->message);
    if (*(int *)value != key)
        ok(0, "plan %d is plan %d", key, *(int *)value);
    return p;
}

static void use(nd_plan_cache *c, int key, int s)
{
    nd__plan_release(acquire(c, key), stream(s));
}

static nd_plan_stats stats(nd_plan_cache *c)
{
    nd_plan_stats s = {.size = sizeof s};
    nd__plan_cache_stats(c, &s);
    return s;
}

/* ---- W6 ---- */
static void limits(void)
{
    nd_plan_cache *c = fresh();
    at_once = true;
    for (int i = 0; i < 5; i++)
        use(c, i, 0);
    use(c, 0, 0);
    is_int(stats(c).count, 5, "W6 five plans are kept");
    is_int(stats(c).hits, 1, "W6 one hit");
    is_int(stats(c).misses, 5, "W6 five misses");
    is_int(stats(c).nbytes, 50, "W6 their bytes are summed");
    is_int(nd__plan_cache_limit(c, 3, -1), ND_OK, "W6 shrinking to three");
    is_int(destroyed, 2, "W6 two are destroyed");
    use(c, 0, 0), use(c, 3, 0), use(c, 4, 0);
    is_int(made, 5, "W6 the three used last are still there: 0, 3, 4");
    use(c, 1, 0);
    is_int(made, 6, "W6 plan 1 was evicted");
    use(c, 3, 0), use(c, 4, 0);
    is_int(made, 6, "W6 its return evicts the oldest, 0");
    use(c, 0, 0);
    is_int(made, 7, "W6 0 is made again");
    is_int(stats(c).evictions, 4, "W6 four evictions");
    nd__plan_cache_clear(c);
    is_int(stats(c).count, 0, "W6 clear leaves none");
    is_int(destroyed, made, "W6 and destroys all");
    nd__plan_cache_destroy(c);
}

static void byte_limit(void)
{
    nd_plan_cache *c = fresh();
    at_once = true;
    for (int i = 0; i < 6; i++)
        use(c, i, 0);
    nd__plan_cache_limit(c, -1, 35);
    is_int(stats(c).count, 3, "W6 35 bytes hold three plans of 10");
    plan_bytes = 30;
    use(c, 10, 0);
    is_int(stats(c).count, 1, "W6 one of 30 bytes drives them out");
    plan_bytes = 36;
    use(c, 11, 0);
    is_int(stats(c).count, 1, "W6 one of 36 bytes is not kept, and drives nothing out");
    is_int(made - destroyed, 1, "W6 it is destroyed after its use");
    plan_bytes = 10;
    nd__plan_cache_destroy(c);
    is_int(destroyed, made, "W6 destroying the cache destroys the rest");
}

static void disabled(void)
{
    nd_plan_cache *c = fresh();
    at_once = true;
    nd__plan_cache_limit(c, 0, -1);
    use(c, 1, 0), use(c, 1, 0);
    is_int(made, 2, "W6 max_size 0: every use makes a plan");
    is_int(destroyed, 2, "W6 and destroys it");
    is_int(stats(c).count + stats(c).in_flight, 0, "W6 nothing is left");
    nd__plan_cache_destroy(c);
}

static void failing(void)
{
    nd_plan_cache *c = fresh();
    ndh_plan *p = (ndh_plan *)c;
    void *value = c;
    is_int(nd__plan_acquire(c, "k", 1, make_fails, destroy, NULL, &p, &value), ND_ERR_UNSUPPORTED,
           "W6 a failure of make is returned");
    has_text(nd_last_error()->message, "size 7", "W6 in its own words");
    ok(!p && !value, "W6 with no plan");
    is_int(stats(c).count + stats(c).in_flight, 0, "W6 and nothing kept");
    nd__plan_cache_destroy(c);
}

static void keys(void)
{
    nd_plan_cache *c = fresh();
    ndh_plan *p[4];
    void *value;
    int n = 0;
    const char *const key[4] = {"", "a", "ab", "ab\0c"};
    const size_t length[4] = {0, 1, 2, 4};
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 4; i++) {
            n +=
                nd__plan_acquire(c, key[i], length[i], make, destroy, NULL, &p[i], &value) == ND_OK;
            nd__plan_release(p[i], NULL);
        }
    is_int(n, 8, "W6 keys of any bytes and length");
    is_int(made, 4, "W6 are compared as a whole");
    nd__plan_cache_destroy(c);
    is_int(early, 0, "W6 destroying the cache waits for their work");
}

/* ---- W7 ---- */
static void in_flight(void)
{
    nd_plan_cache *c = fresh();
    use(c, 1, 0);
    nd__plan_cache_clear(c);
    is_int(destroyed, 0, "W7 a plan whose work is queued outlives clear");
    is_int(stats(c).in_flight, 1, "W7 and is counted as in flight");
    use(c, 1, 1);
    is_int(made, 2, "W7 it is not found again");
    run(0);
    is_int(stats(c).in_flight, 0, "W7 it goes when its event has passed");
    is_int(destroyed, 1, "W7 and only it");
    use(c, 1, 2);
    nd__plan_cache_limit(c, 0, -1);
    run(1);
    is_int(stats(c).in_flight, 1, "W7 a plan on two streams waits for both: one has passed");
    run(2);
    is_int(stats(c).in_flight, 0, "W7 both have");
    is_int(destroyed, made, "W7 all are destroyed");
    is_int(early, 0, "W7 none before its event");
    is_int(given_back, recorded, "W7 every event is given back");
    nd__plan_cache_destroy(c);
}

static void held(void)
{
    nd_plan_cache *c = fresh();
    ndh_plan *p = acquire(c, 1), *q = acquire(c, 1);
    at_once = true;
    nd__plan_cache_clear(c);
    is_int(destroyed, 0, "W7 a plan that is acquired outlives clear");
    nd__plan_release(p, stream(0));
    is_int(destroyed, 0, "W7 until the last of two has released it");
    nd__plan_release(q, stream(0));
    is_int(destroyed, 1, "W7 then it goes");
    nd__plan_cache_destroy(c);
}

static void long_use(void)
{
    nd_plan_cache *c = fresh();
    at_once = true;
    for (int i = 0; i < 1000; i++)
        use(c, 1, 0);
    is_int(recorded, 0, "W7 a plan used a thousand times records no event while it is kept");
    nd__plan_cache_clear(c);
    is_int(recorded, 1, "W7 and one when it is not");
    is_int(destroyed, 1, "W7 behind which it goes");
    nd__plan_cache_destroy(c);
}

/* More streams than there is room for at first, one after the other; the work of all but the last has
 * been done when the ends of theirs are marked. */
static void used_on_many(void)
{
    nd_plan_cache *c = fresh();
    int most = 0;
    at_once = true;
    for (int i = 0; i < 1000; i++) {
        use(c, 1, i);
        most = recorded - given_back > most ? recorded - given_back : most;
    }
    ok(most <= 8, "W7 used by a thousand streams it keeps %d events", most);
    at_once = false;
    use(c, 1, 1000);
    nd__plan_cache_clear(c);
    is_int(destroyed, 0, "W7 the last of them is to be marked, and has not passed");
    for (int i = 0; i <= 1000; i++)
        run(i);
    is_int(stats(c).in_flight, 0, "W7 it dies behind all");
    is_int(early, 0, "W7 and behind each");
    is_int(given_back, recorded, "W7 whose events are given back");
    nd__plan_cache_destroy(c);
}

/* A stream that another thread queues work on while the plan goes. */
static void busy_stream(void)
{
    nd_plan_cache *c = fresh();
    at_once = true;
    use(c, 1, 0), use(c, 1, 2);
    busy = 1 + 2;
    nd__plan_cache_clear(c);
    is_int(stats(c).in_flight, 1, "W7 a plan waits for a stream whose end cannot be marked now");
    is_int(destroyed, 0, "W7 and is not destroyed");
    for (int i = 0; i < 40; i++)
        use(c, 2, i % 20);
    nd__plan_cache_clear(c);
    is_int(stats(c).in_flight, 2, "W7 so does one of many streams");
    busy = 0;
    is_int(stats(c).in_flight, 0, "W7 until it can be");
    is_int(destroyed, made, "W7 then both go");
    nd__plan_cache_destroy(c);
}

static void captured(void)
{
    nd_plan_cache *c = fresh();
    at_once = true;
    capturing = 1 + 3;
    use(c, 1, 3);
    is_int(recorded, 0, "W7 no event is recorded in a capture");
    capturing = 0;
    nd__plan_cache_clear(c);
    is_int(stats(c).in_flight, 1, "W7 a plan used in a capture stays for the graph");
    broken = true;
    use(c, 2, 0);
    nd__plan_cache_clear(c);
    is_int(stats(c).in_flight, 2, "W7 so does one whose end cannot be marked");
    nd__plan_cache_destroy(c);
    is_int(destroyed, 2, "W7 until the cache goes");
}

enum { THREADS = 8, ROUNDS = 2000, KEYS = 24 };
static void *work(void *arg)
{
    nd_plan_cache *c = ((void **)arg)[0];
    uint64_t state = (uint64_t)(uintptr_t)((void **)arg)[1];
    for (int i = 0; i < ROUNDS; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int key = (int)(state >> 33) % KEYS;
        use(c, key, key % STREAMS);
        if (i % 500 == 499)
            nd__plan_cache_clear(c);
        if (i % 97 == 0)
            nd__plan_cache_limit(c, 8 + i % 8, -1);
    }
    return NULL;
}

static void threads(void)
{
    nd_plan_cache *c = fresh();
    pthread_t t[THREADS];
    void *args[THREADS][2];
    at_once = true;
    for (int i = 0; i < THREADS; i++) {
        args[i][0] = c;
        args[i][1] = (void *)(uintptr_t)(i + 1);
        pthread_create(&t[i], NULL, work, args[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    nd_plan_stats s = stats(c);
    is_int(s.hits + s.misses, THREADS * ROUNDS, "W6 threads: every acquire is a hit or a miss");
    ok(s.count <= s.max_size, "W6 threads: %lld plans kept of at most %lld", (long long)s.count,
       (long long)s.max_size);
    nd__plan_cache_clear(c);
    is_int(stats(c).in_flight, 0, "W7 threads: nothing is left in flight");
    is_int(destroyed, made, "W7 threads that ended leave no plan behind");
    is_int(given_back, recorded, "W7 nor an event");
    nd__plan_cache_destroy(c);
}

/* ---- the public calls, on a device ---- */
static void on_device(void)
{
    nd_device *d;
    int64_t n = -1;
    nd_plan_stats s = {.size = sizeof s};
    if (nd_device_get("cpu", &d) != ND_OK)
        bail(nd_last_error()->message);
    is_int(nd_plan_cache_stats(d, &s), ND_OK, "W6 statistics of a device");
    is_int(s.max_size, 4096, "W6 4096 plans by default");
    is_int(nd_plan_cache_set_max(d, -1), ND_ERR_ARGUMENT, "W6 a negative size is an error");
    has_text(nd_last_error()->message, "-1", "W6 which quotes it");
    is_int(nd_plan_cache_set_max_bytes(d, -5), ND_ERR_ARGUMENT, "W6 so are negative bytes");
    is_int(nd_plan_cache_set_max(d, 7), ND_OK, "W6 setting the size");
    s.size = NDP_END(nd_plan_stats, max_size);
    s.max_bytes = -3;
    is_int(nd_plan_cache_stats(NULL, &s), ND_OK, "W6 of the current device, into an older struct");
    is_int(s.max_size, 7, "W6 reads it back");
    is_int(s.max_bytes, -3, "W6 and nothing is written behind its size");
    is_int(nd_plan_cache_size(d, &n), ND_OK, "W6 the number of plans");
    is_int(n, 0, "W6 is none");
    is_int(nd_plan_cache_clear(d), ND_OK, "W6 clear");
}

TAP_MAIN({"limits", limits}, {"byte_limit", byte_limit}, {"disabled", disabled},
         {"failing", failing}, {"keys", keys}, {"in_flight", in_flight}, {"held", held},
         {"long_use", long_use}, {"used_on_many", used_on_many}, {"busy_stream", busy_stream},
         {"captured", captured}, {"threads", threads}, {"on_device", on_device})
