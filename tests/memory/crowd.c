/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * C27: eight threads on every allocator backend and every key of NDOCK_ALLOC_CONF, on the simulated
 * device and on the CPU, through the public functions alone. Each array is filled with a number of
 * its own and read back whole; arrays change hands, and are freed by others than made them. Where
 * all that is alive at once fits, no request may be refused.
 *
 * NDOCK_CROWD_SECONDS=N goes round and round for so long (make check-memory-long). */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

enum { THREADS = 8, ROUNDS = 8, SLOTS = 16, HELD = 3, DEVICES = 2 };

typedef struct {
    nd_array *array;
    int64_t value;
} owned;
typedef struct {
    nd_device *device[DEVICES];
    _Atomic(owned *) slots[SLOTS];
    atomic_long wrong, refused, made;
    int rounds;
    bool tight;    /* requests may be refused */
    int64_t exact; /* not 0: every request has so many elements, of the simulated device alone */
    const char *settle; /* NULL, or settings that threads set again and again */
} crowd;
typedef struct {
    crowd *c;
    int number;
    unsigned random;
    nd_stream *own[DEVICES];
} person;

static int below(person *p, int n)
{
    return rand_r(&p->random) % n;
}

/* A failure that is none of memory is a failure of the test. */
static bool fine(crowd *c, nd_status status, const char *what)
{
    if (status == ND_OK)
        return true;
    if (status == ND_ERR_MEMORY) {
        if (atomic_fetch_add(&c->refused, 1) == 0 && !c->tight)
            diag("%s: %s", what, nd_last_error()->message);
    } else if (atomic_fetch_add(&c->wrong, 1) < 3) {
        diag("%s: %s", what, nd_last_error()->message);
    }
    return false;
}

static bool holds(const int64_t *data, int64_t n, int64_t value)
{
    for (int64_t i = 0; i < n; i++)
        if (data[i] != value)
            return false;
    return true;
}

/* Reads all of it back and lets it go. */
static void look_and_free(crowd *c, owned *o)
{
    int64_t n = nd_size(o->array);
    size_t nbytes = (size_t)n * sizeof(int64_t);
    int64_t *data = malloc(nbytes);
    if (data && fine(c, nd_to_host(o->array, data, nbytes), "to_host") &&
        !holds(data, n, o->value) && atomic_fetch_add(&c->wrong, 1) < 3)
        diag("an array of %lld holds something else", (long long)o->value);
    free(data);
    nd_release(o->array);
    free(o);
}

static int64_t elements(person *p)
{
    static const int most[] = {64, 2048, 30000, 200000};
    return p->c->exact ? p->c->exact : 1 + below(p, most[below(p, 4)]);
}

static owned *make_one(person *p, nd_device *device, int64_t value)
{
    owned *o = malloc(sizeof *o);
    int64_t n = elements(p);
    if (!o)
        return NULL;
    o->value = value;
    if (fine(p->c, nd_full(device, ND_I64, 1, &n, nd_int(value), &o->array), "full")) {
        atomic_fetch_add(&p->c->made, 1);
        return o;
    }
    free(o);
    return NULL;
}

/* Through page-locked memory and back, with the copy under way while others allocate. */
static void pinned(person *p, nd_device *device, int64_t value)
{
    const nd_copy_opts async = {.size = sizeof async, .non_blocking = 1};
    int64_t n = 1 + below(p, 40000);
    nd_array *host = NULL;
    owned *o = make_one(p, device, 0);
    if (o) {
        n = nd_size(o->array);
        if (fine(p->c, nd_empty_pinned(device, ND_I64, 1, &n, &host), "pinned") &&
            fine(p->c, nd_fill(host, nd_int(value)), "fill") &&
            fine(p->c, nd_copy_to(host, o->array, &async), "copy_to"))
            o->value = value;
        nd_release(host);
        look_and_free(p->c, o);
    }
}

static void hand_over(person *p, nd_device *device, owned *o)
{
    if (!fine(p->c, nd_synchronize(device), "synchronize"))
        return;
    owned *other = atomic_exchange(&p->c->slots[below(p, SLOTS)], o);
    if (other)
        look_and_free(p->c, other);
}

/* What programs do beside allocating. */
static void disturb(person *p, nd_device *device)
{
    nd_memory_stats stats = {.size = sizeof stats};
    char *text = NULL;
    switch (below(p, 8)) {
    case 0:
        fine(p->c, nd_memory_empty_cache(device), "empty_cache");
        break;
    case 1:
        fine(p->c, nd_memory_empty_host_cache(device), "empty_host_cache");
        break;
    case 2:
        fine(p->c, nd_memory_stats_get(device, &stats), "stats");
        break;
    case 3:
        fine(p->c, nd_memory_snapshot_text(device, &text), "snapshot");
        free(text);
        break;
    case 4:
        if (p->c->settle)
            fine(p->c, nd_memory_conf_set(p->c->settle), "conf_set");
        break;
    default:
        break;
    }
}

static void one_round(person *p, int round)
{
    crowd *c = p->c;
    nd_device *device = c->device[c->exact ? 0 : below(p, DEVICES)];
    const int64_t value = (int64_t)p->number << 32 | round << 8;
    owned *held[HELD] = {NULL};
    const int most = c->exact ? 1 : HELD;
    for (int k = 0; k < most; k++)
        held[k] = make_one(p, device, value + k);
    disturb(p, device);
    if (!c->exact)
        pinned(p, device, value + HELD);
    for (int k = 0; k < most; k++)
        if (held[k] && k == 0 && !c->exact)
            hand_over(p, device, held[k]);
        else if (held[k])
            look_and_free(c, held[k]);
}

static void *live(void *arg)
{
    person *p = arg;
    crowd *c = p->c;
    for (int d = 0; d < DEVICES; d++) /* half of them share the default stream */
        if ((p->number % 2 || c->exact) &&
            fine(c, nd_stream_create(c->device[d], NULL, &p->own[d]), "stream_create"))
            fine(c, nd_stream_set_current(p->own[d]), "stream_set_current");
    for (int round = 0; round < c->rounds; round++)
        one_round(p, round);
    for (int d = 0; d < DEVICES; d++)
        nd_stream_release(p->own[d]);
    return NULL;
}

static int64_t allocated(const crowd *c)
{
    int64_t sum = 0;
    for (int d = 0; d < DEVICES; d++) {
        nd_memory_stats s = {.size = sizeof s};
        if (nd_synchronize(c->device[d]) != ND_OK || nd_memory_stats_get(c->device[d], &s) != ND_OK)
            return -1;
        sum += s.allocated_bytes.all.current + s.pinned_bytes.current;
    }
    return sum;
}

static int verdict(crowd *c, int64_t before)
{
    for (int i = 0; i < SLOTS; i++)
        if (atomic_load(&c->slots[i]))
            look_and_free(c, atomic_load(&c->slots[i]));
    int64_t left = allocated(c) - before;
    diag("%ld arrays, %ld refused, %ld wrong, %lld bytes left", atomic_load(&c->made),
         atomic_load(&c->refused), atomic_load(&c->wrong), (long long)left);
    return atomic_load(&c->wrong) || (atomic_load(&c->refused) && !c->tight) || left ||
           atomic_load(&c->made) == 0;
}

static int run_crowd(crowd *c)
{
    pthread_t thread[THREADS];
    person people[THREADS];
    nd_scalar one;
    nd_array *first = NULL; /* status words of default streams and the like are no leak */
    const int64_t n = 1;
    for (int d = 0; d < DEVICES; d++) {
        if (nd_device_get(d ? "cpu" : "sim:0", &c->device[d]) != ND_OK ||
            nd_full(c->device[d], ND_I64, 1, &n, nd_int(1), &first) != ND_OK ||
            nd_item(first, &one) != ND_OK)
            return diag("%s", nd_last_error()->message), 1;
        nd_release(first);
    }
    int64_t before = allocated(c);
    for (int i = 0; i < THREADS; i++) {
        people[i] = (person){.c = c, .number = i + 1, .random = (unsigned)(i * 7919 + 1)};
        if (pthread_create(&thread[i], NULL, live, &people[i]) != 0)
            return 1;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return verdict(c, before);
}

/* ---- settings ---- */
typedef struct {
    const char *conf;
    bool tight;
    int64_t exact;
    const char *settle;
    bool costs; /* as much as twenty others below sanitizers: a slice leaves it out */
} setting;

#define MIB(n) ((int64_t)(n) << 20)
#define BLOCK (MIB(12) / (int64_t)sizeof(int64_t)) /* such blocks are segments of their own */
static const setting settings[] = {
    {.conf = ""},
    {.conf = "backend:debug"},
    {.conf = "backend:none"},
    {.conf = "backend:async"},
    {.conf = "backend:caching,expandable_segments:true"},
    {.conf = "expandable_segments:true,expandable_segments_reserve:67108864"},
    {.conf = "expandable_segments:true,cross_stream:before_grow,large_segment_size_mb:4"},
    {.conf = "max_split_size_mb:20"},
    {.conf = "max_split_size_mb:20,max_non_split_rounding_mb:30"},
    {.conf = "large_segment_size_mb:4"},
    {.conf = "large_segment_size_mb:64"},
    {.conf = "roundup_power2_divisions:8"},
    {.conf = "roundup_power2_divisions:[1:4,2:8,>:16]"},
    {.conf = "garbage_collection_threshold:0.05"},
    {.conf = "garbage_collection_threshold:0.5,per_process_memory_fraction:0.9"},
    {.conf = "per_process_memory_fraction:0.01", .tight = true},
    {.conf = "throw_on_device_alloc_oom:true"},
    {.conf = "cross_stream:never"},
    {.conf = "cross_stream:before_oom"},
    {.conf = "cross_stream:before_grow"},
    {.conf = "thread_cache:false"},
    {.conf = "max_cached_mb:0"},
    {.conf = "max_cached_mb:1"},
    {.conf = "backend:async,max_cached_mb:1"},
    {.conf = "backend:async,per_process_memory_fraction:0.001", .tight = true},
    {.conf = "backend:debug,quarantine_blocks:0"},
    {.conf = "backend:debug,quarantine_blocks:5"},
    {.conf = "pinned_reserve_mb:2"},
    {.conf = "pinned_exact_above_mb:0.01"},
    {.conf = "pinned_cap_mb:1", .tight = true},
    {.conf = "pinned_background:true"},
    {.conf = "pinned_background:true,pinned_reserve_mb:1"},
    {.conf = "sim.memory_mb:8", .tight = true},
    {.conf = "sim.memory_mb:8,expandable_segments:true", .tight = true},
    {.conf = "sim.memory_mb:8,backend:debug", .tight = true},
    {.conf = "sim.memory_mb:8,backend:none", .tight = true},
    {.conf = "sim.memory_mb:8,backend:async", .tight = true},
    {.conf = "", .settle = "expandable_segments:true"},
    {.conf = "", .settle = "cross_stream:before_grow,thread_cache:false"},
    {.conf = "sim.memory_mb:96,cross_stream:never", .exact = BLOCK, .costs = true},
    {.conf = "sim.memory_mb:96", .exact = BLOCK},
    {.conf = "sim.memory_mb:96,max_cached_mb:1", .exact = BLOCK, .costs = true},
    {.conf = "sim.memory_mb:160,expandable_segments:true", .exact = BLOCK},
    /* What it keeps to watch counts. */
    {.conf = "sim.memory_mb:160,backend:debug", .exact = BLOCK, .costs = true},
    /* Its requests wait for nobody. */
    {.conf = "sim.memory_mb:160,backend:none", .exact = BLOCK, .costs = true},
    {.conf = "sim.memory_mb:160,backend:async", .exact = BLOCK},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* Settings are read once a process, so each has a child of its own. */
static int in_child(const setting *s, int rounds)
{
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        crowd c = {.rounds = rounds, .tight = s->tight, .exact = s->exact, .settle = s->settle};
        setenv("NDOCK_ALLOC_CONF", s->conf, 1);
        alarm(600); /* none of them waits for ever */
        exit(run_crowd(&c));
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void crowds(void)
{
    const char *text = getenv("NDOCK_CROWD_SECONDS");
    const time_t end = time(NULL) + (text ? atoi(text) : 0);
    const int rounds = text ? 20 * ROUNDS : getenv("NDOCK_TEST_SLICE") ? ROUNDS / 8 : ROUNDS / 2;
    unsetenv("NDOCK_NO_CACHE");
    do
        for (int i = 0; i < SETTINGS; i++) {
            const setting *s = &settings[i];
            if (s->costs && !text && getenv("NDOCK_TEST_SLICE"))
                continue;
            ok(in_child(s, rounds) == 0, "C27 8 threads, \"%s\"%s%s%s", s->conf,
               s->exact ? ", memory just enough" : "", s->settle ? ", and again " : "",
               s->settle ? s->settle : "");
        }
    while (time(NULL) < end);
}

static bool is_used(const char *key, size_t n)
{
    for (int i = 0; i < SETTINGS; i++)
        for (const char *at = settings[i].conf; *at; at += strcspn(at, ","), at += *at == ',')
            if (strncmp(at, key, n) == 0 && at[n] == ':')
                return true;
    return false;
}

/* A key that comes later needs a row as well. */
static void every_key(void)
{
    char *conf = NULL;
    int keys = 0, missing = 0;
    if (nd_memory_conf_get(&conf) != ND_OK)
        bail(nd_last_error()->message);
    for (const char *at = conf; *at; keys++) {
        size_t n = strcspn(at, ":");
        if (!is_used(at, n)) {
            diag("no row for %.*s", (int)n, at);
            missing++;
        }
        const char *list = at[n] == ':' && at[n + 1] == '[' ? strchr(at, ']') : at;
        at = list + strcspn(list, ",");
        at += *at == ',';
    }
    free(conf);
    ok(keys >= 18 && missing == 0, "every key of NDOCK_ALLOC_CONF has a row");
}

TAP_MAIN({"crowds", crowds}, {"every_key", every_key})
