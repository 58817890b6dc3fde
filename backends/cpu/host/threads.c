/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The one place with threads: a team that claims chunks of work. The caller claims too and never
 * waits for a thread that has not begun, so a machine that is busy elsewhere costs little more than
 * running serially; OpenMP's barrier would wait whole scheduler ticks for a thread that has lost
 * its processor. OpenMP says how many threads there should be, and whether a program is parallel
 * already.
 *
 * One job at a time: whoever finds the team busy runs alone. Chunks are the same however many claim
 * them, and so are the bits. Each thread begins with a span of its own, the same in every job of as many
 * chunks, so that operations one after the other find their data in its cache, and then helps others.
 * A job of few chunks is for as many threads: if all raced for it, its data would be in another processor's
 * cache every time. What different threads write lies in different cache lines, since lines that move cost
 * as much as some hundred elements. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* syscall, of host/bell.h */
#endif
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "host/bell.h"
#include "host/cpu.h"
#include "host/quota.h"

/* How long an idle thread looks for the next job before it sleeps: as long as jobs have lately been
 * apart, within these bounds. A thread that loses its processor while it looks, so that somebody
 * else has use for it, sleeps at once and looks for a shorter time. */
#define SPIN_LEAST_NS 20000
#define SPIN_NS 50000
#define SPIN_MOST_NS 500000
#define LOST_NS 30000 /* between two looks; they are less than 5 us apart */

static int thread_limit = 1;
static atomic_int forked_child;
static pthread_once_t threads_once = PTHREAD_ONCE_INIT;
/* Read at every operation; also, LeakSanitizer takes garbage for the bounds of dynamic TLS. */
static _Thread_local int inside_team __attribute__((tls_model("initial-exec"))),
    own_number __attribute__((tls_model("initial-exec")));

static pthread_t *team; /* under busy */
static int team_size;

/* The job. Its fields change only when all units of the job before are finished, and only a thread
 * that has claimed a unit reads them. A unit is a chunk, or several where there are more chunks than
 * 31 bits count. */
static struct {
    _Alignas(64) void (*fn)(void *ctx, int64_t begin, int64_t end);
    void *ctx;
    int64_t n, grain, chunks, per_unit;
} job;

/* What is left of a span: the next unit, and above it in the same word the first one behind, so that a
 * thread that comes too late for one job claims a unit of the next one, or none. */
enum { MOST_SPANS = 64 };
static struct {
    _Alignas(64) _Atomic uint64_t left;
    _Atomic int64_t done;
    int64_t units; /* the caller's */
} spans[MOST_SPANS];

/* generation << 32 | threads that the job is for: what idle threads look at. */
static _Alignas(64) _Atomic uint64_t gate;

static _Alignas(64) atomic_flag busy = ATOMIC_FLAG_INIT;
static _Alignas(64) atomic_int stopping;
static atomic_int numbered; /* threads of this team that have begun */

static void child_after_fork(void)
{
    atomic_store(&forked_child, 1); /* the team does not exist there: a child works serially */
}

/* As many as there are processors to run on, of those that the process may use: more would only
 * take turns within a container's quota. What a program or OMP_NUM_THREADS asked for is left alone.
 */
static int default_threads(void)
{
#ifdef _OPENMP
    int threads = omp_get_max_threads(), quota = 0;
    if (threads == omp_get_num_procs())
        quota = cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    return quota > 0 && quota < threads ? quota : threads;
#else
    return 1;
#endif
}

static void threads_init(void)
{
    const int64_t wanted = cpu_set.num_threads;
    thread_limit = wanted > 0 && wanted < 4096 ? (int)wanted : default_threads();
    (void)pthread_atfork(NULL, NULL, child_after_fork);
}

int cpu_team(void)
{
    pthread_once(&threads_once, threads_init);
    return thread_limit;
}

int cpu_threads(void)
{
    pthread_once(&threads_once, threads_init);
    return atomic_load_explicit(&forked_child, memory_order_relaxed) ? 1 : thread_limit;
}

int cpu_thread(void)
{
    return own_number;
}

static int spans_of(uint64_t threads)
{
    return threads < MOST_SPANS ? (int)threads : MOST_SPANS;
}

/* The next unit of a span; -1: none is left. */
static int64_t claim(int k)
{
    uint64_t w = atomic_load_explicit(&spans[k].left, memory_order_relaxed);
    while ((uint32_t)w < w >> 32)
        if (atomic_compare_exchange_weak_explicit(&spans[k].left, &w, w + 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return (uint32_t)w;
    return -1;
}

static void run_unit(int64_t unit)
{
    const int64_t after = (unit + 1) * job.per_unit;
    for (int64_t c = unit * job.per_unit; c < after && c < job.chunks; c++) {
        const int64_t end = (c + 1) * job.grain;
        job.fn(job.ctx, c * job.grain, end < job.n ? end : job.n);
    }
}

static void claim_units(int thread, int n_spans)
{
    for (int i = 0; i < n_spans; i++) {
        const int k = (thread + i) % n_spans;
        for (int64_t unit; (unit = claim(k)) >= 0;) {
            run_unit(unit);
            atomic_fetch_add_explicit(&spans[k].done, 1, memory_order_release);
        }
    }
}

/* Cuts so many chunks into spans; returns for how many threads they are. */
static uint64_t cut_spans(int64_t chunks)
{
    const int64_t threads = chunks < team_size + 1 ? chunks : team_size + 1;
    const int n_spans = spans_of((uint64_t)threads);
    job.chunks = chunks;
    job.per_unit = (chunks >> 31) + 1;
    const int64_t units = (chunks + job.per_unit - 1) / job.per_unit;
    for (int i = 0; i < n_spans; i++) {
        const int64_t first = units * i / n_spans, end = units * (i + 1) / n_spans;
        spans[i].units = end - first;
        atomic_store_explicit(&spans[i].done, 0, memory_order_relaxed);
        atomic_store_explicit(&spans[i].left, (uint64_t)end << 32 | (uint64_t)first,
                              memory_order_release);
    }
    return (uint64_t)threads;
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t generation(uint64_t w)
{
    return w >> 32;
}

/* Looks for a new generation for that long; 0: the time is over, or the processor was lost. */
static uint64_t look(uint64_t last, int64_t *spin_ns)
{
    int64_t before = now_ns(), until = before + *spin_ns;
    for (;;) {
        for (int i = 0; i < 32; i++) {
            uint64_t w = atomic_load_explicit(&gate, memory_order_acquire);
            if (generation(w) != last)
                return w;
            relax();
        }
        int64_t now = now_ns();
        if (now - before > LOST_NS) {
            *spin_ns = *spin_ns / 2 > SPIN_LEAST_NS ? *spin_ns / 2 : SPIN_LEAST_NS;
            return 0;
        }
        if (now > until || atomic_load(&stopping))
            return 0;
        before = now;
    }
}

/* A job this thread has not looked at, or 0 when the team is to stop; woken: the thread slept. Only
 * threads that have been woken wake others: if all did, all would ask for the cache line that the
 * caller writes. */
static uint64_t wait_for_job(uint64_t last, int64_t *spin_ns, int *woken)
{
    uint64_t w = look(last, spin_ns);
    int64_t slept = w ? 0 : now_ns();
    *woken = w == 0;
    while (w == 0) {
        uint32_t seen = atomic_load(&cpu_bell);
        if (atomic_load(&stopping))
            return 0;
        w = atomic_load(&gate);
        if (generation(w) == last) {
            cpu_bell_sleep(seen);
            cpu_bell_pass_on();
            w = 0;
        }
    }
    if (slept) { /* a little more, and the job would have been seen; or far more */
        slept = now_ns() - slept;
        if (slept < SPIN_MOST_NS)
            *spin_ns = 2 * *spin_ns < SPIN_MOST_NS ? 2 * *spin_ns : SPIN_MOST_NS;
        else if (*spin_ns > SPIN_NS)
            *spin_ns /= 2;
    }
    return w;
}

static void *work(void *arg)
{
    uint64_t last = (uint64_t)(uintptr_t)arg, w;
    int64_t spin_ns = SPIN_NS;
    const int thread = atomic_fetch_add(&numbered, 1) + 1;
    int woken;
    own_number = thread;
    inside_team = 1;
    while ((w = wait_for_job(last, &spin_ns, &woken)) != 0) {
        const uint64_t threads = w & UINT32_MAX;
        last = generation(w);
        if ((uint64_t)thread < threads || woken)
            claim_units(thread, spans_of(threads));
    }
    return NULL;
}

/* Threads that cannot be had are done without. Signals are the program's own threads' affair. */
static void start_team(int threads)
{
    sigset_t all, before;
    team = malloc((size_t)threads * sizeof *team);
    if (!team)
        return;
    atomic_store(&numbered, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    void *seen = (void *)(uintptr_t)generation(atomic_load(&gate));
    while (team_size < threads - 1 && pthread_create(&team[team_size], NULL, work, seen) == 0)
        team_size++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void cpu_threads_stop(void)
{
    if (atomic_load(&forked_child))
        return;
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        sched_yield();
    atomic_store(&stopping, 1);
    atomic_fetch_add(&cpu_bell, 1);
    cpu_bell_wake(INT_MAX);
    while (team_size > 0)
        pthread_join(team[--team_size], NULL);
    free(team);
    team = NULL;
    atomic_store(&stopping, 0);
    atomic_flag_clear_explicit(&busy, memory_order_release);
}

static void open_job(uint64_t threads)
{
    uint64_t next =
        (generation(atomic_load_explicit(&gate, memory_order_relaxed)) + 1) & UINT32_MAX;
    atomic_store_explicit(&gate, (next ? next : 1) << 32 | threads, memory_order_release);
    cpu_bell_ring((int64_t)threads - 1);
}

/* Nothing is left to claim: units that others have begun are waited for; the processor is theirs if they
 * have lost their own. */
static void await_units(int n_spans)
{
    for (int k = 0, turns = 0; k < n_spans; turns++) {
        if (atomic_load_explicit(&spans[k].done, memory_order_acquire) == spans[k].units)
            k++;
        else if (turns < 1000)
            relax();
        else
            sched_yield();
    }
}

static int have_team(void)
{
    int threads = cpu_threads();
#ifdef _OPENMP
    if (threads > 1 && omp_in_parallel())
        return 0;
#endif
    if (threads < 2 || inside_team ||
        atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        return 0;
    if (!team)
        start_team(threads);
    return 1;
}

void cpu_parallel(int64_t n, int64_t grain, void (*fn)(void *ctx, int64_t begin, int64_t end),
                  void *ctx)
{
    int64_t chunks = 1;
    if (grain > 0 && (n > grain || n == 0)) /* small work is spared the division */
        chunks = (n + grain - 1) / grain;
    if (chunks > 1 && have_team()) {
        job.fn = fn;
        job.ctx = ctx;
        job.n = n;
        job.grain = grain;
        const uint64_t threads = cut_spans(chunks);
        inside_team = 1;
        open_job(threads);
        claim_units(0, spans_of(threads));
        await_units(spans_of(threads));
        inside_team = 0;
        atomic_flag_clear_explicit(&busy, memory_order_release);
        return;
    }
    for (int64_t c = 0; c < chunks; c++)
        fn(ctx, c * grain, chunks == 1 || (c + 1) * grain > n ? n : (c + 1) * grain);
}
