/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * C27: many threads at once, with and without magazines; blocks freed by other threads than those
 * that took them; threads that end. To be run under -fsanitize=thread as well. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/memory/audit.h"
#include "tests/memory/mock.h"

#define THREADS 16
#define ROUNDS 3000
#define SLOTS 64

typedef struct {
    mock *m;
    nd_backend *k;
    bool hosted;
    _Atomic(nd_block *) slots[SLOTS]; /* where blocks change hands */
    atomic_int wrong, inside;
} world;
typedef struct {
    world *w;
    int number;
} worker;

static void drop(world *w, nd_block *b, int number)
{
    char *at = b->host;
    if (at && (at[0] != at[b->requested - 1]))
        atomic_fetch_add(&w->wrong, 1);
    if (!w->hosted && number % 3 == 0 &&
        w->k->type->record_stream(b, &w->m->stream[1 + number % (STREAMS - 1)]) != ND_OK)
        atomic_fetch_add(&w->wrong, 1);
    w->k->type->free(b);
}

static void *work(void *arg)
{
    worker *me = arg;
    world *w = me->w;
    uint32_t x = 12345u + (uint32_t)me->number;
    for (int i = 0; i < ROUNDS; i++) {
        nd_block *b = NULL;
        x = x * 1664525u + 1013904223u;
        uint64_t nbytes = 1 + (x >> 8) % ((x & 15) == 0 ? 3000000 : 20000);
        nd_stream *s = w->hosted ? NULL : &w->m->stream[1 + (int)(x >> 28) % (STREAMS - 1)];
        if (w->k->type->alloc(w->k, s, nbytes, &b) != ND_OK)
            continue;
        if (b->host)
            b->host[0] = b->host[nbytes - 1] = (char)me->number;
        b = atomic_exchange(&w->slots[(x >> 12) % SLOTS], b);
        if (b)
            drop(w, b, me->number);
        if (i % 500 == 0 && me->number == 1 && w->k->type->empty_cache(w->k) != ND_OK)
            atomic_fetch_add(&w->wrong, 1);
        if (i % 200 == 0 && me->number == 2)
            (void)stats_of(w->k);
    }
    return NULL;
}

static void run_all(world *w)
{
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){w, i};
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
            bail("no thread");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void close_world(world *w, const char *what)
{
    int n = 0;
    for (int i = 0; i < SLOTS; i++)
        n += atomic_load(&w->slots[i]) != NULL;
    for (int i = 1; i < STREAMS; i++)
        finish_work(w->m, i);
    nd_memory_stats s = stats_of(w->k);
    const char *wrong = audit_all(w->k);
    is_int(s.allocation.all.current, n, "C27 as many live blocks as there are");
    ok(!wrong && atomic_load(&w->wrong) == 0, "C27 %s: the books are right, no block was shared",
       what);
    if (wrong)
        diag("%s", wrong);
    for (int i = 0; i < SLOTS; i++) {
        nd_block *b = atomic_load(&w->slots[i]);
        if (b)
            w->k->type->free(b);
    }
    nd__backend_release(w->k);
}

static void with_streams(void)
{
    world w = {.m = mock_new(MIB(500))};
    w.m->checks = false; /* uses are not simulated: every event is done at once */
    w.m->quiet = true;
    w.k = mock_backend(w.m);
    run_all(&w);
    close_world(&w, "streams");
    mock_end(w.m, "C27 streams");
}

static nd_status host_alloc(void *ctx, nd_stream *s, uint64_t nbytes, ndp_mem **mem, char **host)
{
    world *w = ctx;
    (void)s;
    *host = aligned_alloc(4096, nbytes);
    *mem = (ndp_mem *)(void *)*host;
    atomic_fetch_add(&w->inside, 1);
    return *host ? (nd_status)ND_OK : nd__fail(ND_ERR_MEMORY, "test", -1, "no memory");
}

static void host_free(void *ctx, nd_stream *s, ndp_mem *mem, uint64_t nbytes)
{
    world *w = ctx;
    (void)s;
    (void)nbytes;
    atomic_fetch_sub(&w->inside, 1);
    free(mem);
}

static void hosted(world *w)
{
    nd_hooks hooks = {.segment_ctx = w, .segment_alloc = host_alloc, .segment_free = host_free};
    w->hosted = true;
    if (nd__caching_create(NULL, &hooks, &w->k) != ND_OK)
        bail(nd_last_error()->message);
}

static void with_magazines(void)
{
    world w = {.m = mock_new(MIB(1))};
    hosted(&w);
    run_all(&w);
    close_world(&w, "magazines");
    is_int(atomic_load(&w.inside), 0, "C27 magazines: all memory is back");
    mock_end(w.m, "C27 magazines");
}

/* One thread's figures are exact, magazines or not. */
static void exact_figures(void)
{
    world w = {.m = mock_new(MIB(1))};
    nd_block *b[100];
    hosted(&w);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++)
            if (w.k->type->alloc(w.k, NULL, 1000, &b[i]) != ND_OK)
                bail("alloc");
        for (int i = 0; i < 100; i++)
            w.k->type->free(b[i]);
    }
    for (int i = 0; i < 7; i++)
        if (w.k->type->alloc(w.k, NULL, 600 + (uint64_t)i, &b[i]) != ND_OK)
            bail("alloc");
    nd_memory_stats s = stats_of(w.k);
    ok(s.allocation.all.current == 7 && s.allocation.all.peak == 100 &&
           s.allocation.all.allocated == 307 && s.allocation.all.freed == 300,
       "C24 C28 magazines: allocations: now, peak, sums");
    ok(s.requested_bytes.all.current == 4221 && s.requested_bytes.all.peak == 100000 &&
           s.requested_bytes.small_pool.freed == 300000,
       "C24 C28 magazines: requested bytes");
    ok(s.active_bytes.all.current == 7168 && s.active_bytes.all.peak == 102400 &&
           s.active_bytes.all.allocated == 314368,
       "C24 C28 magazines: active bytes");
    ok(!audit_all(w.k), "C24 C28 a query joins what magazines keep: the books are right");
    for (int i = 0; i < 7; i++)
        w.k->type->free(b[i]);
    is_int(w.k->type->empty_cache(w.k), ND_OK, "C26 C28 empty_cache");
    is_int(atomic_load(&w.inside), 0, "C26 C28 takes what magazines keep");
    nd__backend_release(w.k);
    mock_end(w.m, "magazines");
}

/* The highest point lies between two looks of the bins. */
static void peak_in_a_magazine(void)
{
    world w = {.m = mock_new(MIB(1))};
    nd_block *b[10], *other = NULL;
    hosted(&w);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 10; i++)
            if (w.k->type->alloc(w.k, NULL, 1000, &b[i]) != ND_OK)
                bail("alloc");
        for (int i = 0; i < 10; i++)
            w.k->type->free(b[i]);
        if (round == 0 && w.k->type->alloc(w.k, NULL, 100000, &other) != ND_OK)
            bail("alloc");
    }
    nd_memory_stats s = stats_of(w.k);
    ok(s.allocation.all.peak == 11 && s.allocated_bytes.all.peak == 10240 + 100352 &&
           s.requested_bytes.all.peak == 110000 && s.allocation.all.current == 1,
       "C24 C28 magazines: a peak of blocks that never left one");
    w.k->type->free(other);
    nd__backend_release(w.k);
    mock_end(w.m, "peak");
}

static void *leave_some(void *arg)
{
    world *w = arg;
    nd_block *b[50];
    for (int i = 0; i < 50; i++)
        if (w->k->type->alloc(w->k, NULL, 700, &b[i]) != ND_OK)
            return NULL;
    for (int i = 0; i < 50; i++)
        w->k->type->free(b[i]);
    return NULL;
}

static void ended_thread(void)
{
    world w = {.m = mock_new(MIB(1))};
    pthread_t t;
    hosted(&w);
    if (pthread_create(&t, NULL, leave_some, &w) != 0)
        bail("no thread");
    pthread_join(t, NULL);
    is_int(((nd_caching *)w.k)->stats.allocation.all.freed, 50,
           "C28 a thread that ends gives its magazine back");
    is_int(w.k->type->empty_cache(w.k), ND_OK, "empty_cache");
    is_int(atomic_load(&w.inside), 0, "C28 nothing is left behind");
    nd__backend_release(w.k);
    mock_end(w.m, "ended");
}

typedef struct {
    world *w;
    atomic_bool stop;
} churn;
static void *churning(void *arg)
{
    churn *x = arg;
    nd_block *b = NULL;
    for (uint64_t i = 0; !atomic_load(&x->stop); i++) {
        if (x->w->k->type->alloc(x->w->k, NULL, 1 + i * 700 % 60000, &b) != ND_OK)
            return NULL;
        x->w->k->type->free(b);
    }
    return NULL;
}

/* A child that was forked in the middle of everything can allocate, and so can its parent. */
static void forking(void)
{
    world w = {.m = mock_new(MIB(1))};
    churn x = {.w = &w};
    pthread_t t;
    int good = 0;
    hosted(&w);
    if (pthread_create(&t, NULL, churning, &x) != 0)
        bail("no thread");
    for (int i = 0; i < 30; i++) {
        nd_block *b = NULL;
        int status = 0;
        w.k->type->fork(w.k, ND_FORK_TAKE);
        pid_t child = fork();
        w.k->type->fork(w.k, child == 0 ? ND_FORK_CHILD : ND_FORK_DROP);
        bool fine = w.k->type->alloc(w.k, NULL, 1000, &b) == ND_OK;
        w.k->type->free(b);
        fine = fine && w.k->type->empty_cache(w.k) == ND_OK;
        if (child == 0)
            _exit(fine ? 0 : 1);
        good += child > 0 && waitpid(child, &status, 0) == child && status == 0 && fine;
    }
    atomic_store(&x.stop, true);
    pthread_join(t, NULL);
    is_int(good, 30, "C27 forks while the locks are held");
    nd__backend_release(w.k);
    mock_end(w.m, "fork");
}

/* C22: the allocator outlives its last user while blocks are live. */
static void outliving(void)
{
    world w = {.m = mock_new(MIB(1))};
    nd_block *a = NULL, *b = NULL;
    hosted(&w);
    if (w.k->type->alloc(w.k, NULL, 700, &a) != ND_OK || w.k->type->alloc(w.k, NULL, 1u << 22, &b))
        bail("alloc");
    nd__backend_release(w.k);
    is_int(atomic_load(&w.inside), 2, "C22 live blocks keep their allocator");
    a->backend->type->free(a);
    ok(atomic_load(&w.inside) > 0, "C22 all of them");
    b->backend->type->free(b);
    is_int(atomic_load(&w.inside), 0, "C22 the last one takes it away");
    mock_end(w.m, "C22");
}

TAP_MAIN({"with_streams", with_streams}, {"with_magazines", with_magazines},
         {"exact_figures", exact_figures}, {"peak_in_a_magazine", peak_in_a_magazine},
         {"ended_thread", ended_thread}, {"forking", forking}, {"outliving", outliving})
