/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Forks while other threads hold what locks there are: the child logs, traces, sets settings, and
 * takes and gives back memory of every allocator, and so does its parent afterwards. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/memory/memory.h"
#include "tests/tap.h"

enum { FORKS = 200, FORKS_SLICE = 40, PATIENCE_S = 600 };

static nd_device *cpu;
static nd_backend *backends[3]; /* none, debug, caching */
static atomic_bool stop;
static atomic_int logged, wrong;

static void sink(void *ctx, int32_t level, const char *message)
{
    (void)ctx;
    (void)level;
    sched_yield(); /* the log's lock is held a while */
    atomic_fetch_add(&logged, message[0] != 0);
}

/* ---- what is done, a lock or two each; x varies it ---- */
static bool take_array(uint32_t x)
{
    const int64_t shape[1] = {1 + x % 300000};
    nd_array *a = NULL;
    bool right = nd_zeros(cpu, ND_U8, 1, shape, &a) == ND_OK;
    nd_release(a);
    return right;
}

static bool take_block(nd_backend *m, uint32_t x)
{
    nd_block *b = NULL;
    nd_memory_stats stats;
    if (m->type->alloc(m, NULL, 1 + x % 5000, &b) != ND_OK)
        return false;
    b->host[0] = 1;
    m->type->free(b);
    m->type->stats(m, &stats);
    return true;
}

static bool take_none(uint32_t x)
{
    return take_block(backends[0], x);
}

static bool take_debug(uint32_t x)
{
    return take_block(backends[1], x);
}

static bool take_caching(uint32_t x)
{
    return take_block(backends[2], x);
}

static bool trace(uint32_t x)
{
    (void)x;
    return nd_memory_trace_note(cpu, "round") == ND_OK;
}

static bool change_settings(uint32_t x)
{
    char conf[64], *text = NULL;
    snprintf(conf, sizeof conf, "garbage_collection_threshold:0.%u", x % 10);
    bool right = nd_memory_conf_set(conf) == ND_OK && nd_memory_conf_get(&text) == ND_OK;
    free(text);
    return right;
}

static bool keep_text(uint32_t x)
{
    static const char *const texts[] = {"one", "two", "three"};
    return strcmp(nd__text_keep(texts[x % 3]), texts[x % 3]) == 0;
}

static bool log_line(uint32_t x)
{
    int before = atomic_load(&logged);
    nd__log(ND_LOG_WARN, "round %u", x);
    return atomic_load(&logged) > before;
}

static bool (*const jobs[])(uint32_t x) = {take_array, take_none,       take_debug, take_caching,
                                           trace,      change_settings, keep_text,  log_line};
enum { JOBS = sizeof jobs / sizeof *jobs };

static bool all_jobs(uint32_t x)
{
    bool right = true;
    for (int i = 0; i < JOBS; i++)
        if (!jobs[i](x)) {
            diag("job %d: %s", i, nd_last_error()->message);
            right = false;
        }
    return right;
}

static void *churn(void *arg)
{
    const struct timespec pause = {0, 20000}; /* or whoever forks would hardly get a lock */
    const uint32_t job = *(uint32_t *)arg;
    for (uint32_t x = job, i = 0; !atomic_load(&stop); i++) {
        x = x * 1664525u + 1013904223u;
        if (!jobs[job](x >> 8))
            atomic_fetch_add(&wrong, 1);
        if (i % 4 == 0)
            nanosleep(&pause, NULL);
    }
    return NULL;
}

static void start(void)
{
    nd_hooks hooks;
    nd_log_set(sink, NULL, ND_LOG_WARN);
    if (nd_device_get("cpu", &cpu) != ND_OK || nd_memory_trace_set(100) != ND_OK)
        bail(nd_last_error()->message);
    nd__device_hooks(cpu, &hooks);
    if (nd__single_create(cpu, &hooks, &backends[0]) != ND_OK ||
        nd__debug_create(cpu, &hooks, &backends[1]) != ND_OK ||
        nd__caching_create(cpu, &hooks, &backends[2]) != ND_OK)
        bail(nd_last_error()->message);
    for (int i = 0; i < 3; i++)
        nd__backend_register(backends[i]);
}

/* How many of the children, each forked at another moment, do everything right. */
static int fork_all(uint32_t forks)
{
    int good = 0;
    for (uint32_t i = 0; i < forks; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            alarm(PATIENCE_S);
            _exit(all_jobs(i) && all_jobs(i + 1) ? 0 : 1);
        }
        bool fine = child > 0 && waitpid(child, &status, 0) == child && status == 0;
        good += fine && all_jobs(i);
        if (!fine) /* the others would wait as long */
            return good;
    }
    return good;
}

static void forking(void)
{
    const int forks = getenv("NDOCK_TEST_SLICE") ? FORKS_SLICE : FORKS;
    pthread_t threads[JOBS];
    uint32_t seeds[JOBS];
    start();
    for (uint32_t i = 0; i < JOBS; i++) {
        seeds[i] = i;
        if (pthread_create(&threads[i], NULL, churn, &seeds[i]) != 0)
            bail("no thread");
    }
    fflush(stdout);
    is_int(fork_all((uint32_t)forks), forks,
           "children forked in the middle of everything, and their parent");
    atomic_store(&stop, true);
    for (int i = 0; i < JOBS; i++)
        pthread_join(threads[i], NULL);
    is_int(atomic_load(&wrong), 0, "the other threads go on meanwhile");
    char *report = NULL;
    int64_t mistakes = -1;
    if (nd_memory_debug_report(cpu, &report, &mistakes) != ND_OK)
        diag("%s", nd_last_error()->message);
    is_int(mistakes, 0, "no block was lost or written to after it was freed");
    free(report);
    nd_log_set(NULL, NULL, -1);
}

TAP_MAIN({"forking", forking})
