/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The CPU plug-in's team of threads alone: every element once, whoever claims it; several callers;
 * threads that do not get to run, as where processors are busy; stopping; forks; quotas of control groups
 * as files. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sys/stat.h>
#include <pthread.h>
#include "backends/cpu/host/quota.c"
#include "backends/cpu/host/grain.h"
static int held_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                       void *arg);
#define pthread_create held_create
#include "backends/cpu/host/threads.c"
#undef pthread_create
#include "tests/tap.h"

cpu_parameters cpu_set = {.num_threads = 4};

enum { N = 10000, ROUNDS = 600 };

static void add_index(void *ctx, int64_t begin, int64_t end)
{
    int64_t *x = ctx;
    for (int64_t i = begin; i < end; i++)
        x[i] += i;
}

static int64_t wrong(const int64_t *x, int64_t n, int64_t times)
{
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++)
        bad += x[i] != i * times;
    return bad;
}

/* Many sizes of chunk, and pauses in which the team falls asleep. */
static void *caller(void *bad)
{
    int64_t *x = calloc(N, sizeof *x);
    const struct timespec pause = {0, 300000};
    for (int r = 0; x && r < ROUNDS; r++) {
        cpu_parallel(N, 100 + r % 300, add_index, x);
        if (r % 100 == 99)
            nanosleep(&pause, NULL);
    }
    *(int64_t *)bad = x ? wrong(x, N, ROUNDS) : N;
    free(x);
    return NULL;
}

static void callers(void)
{
    pthread_t threads[4];
    int64_t bad[4] = {1, 1, 1, 1};
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, caller, &bad[i]) != 0)
            bail("no thread");
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        is_int(bad[i], 0, "every element once, with four callers");
    }
}

/* Threads of the team begin only when they are let go. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int held, waiting;
    void *(*fn)(void *);
} hold = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *begin_late(void *arg)
{
    pthread_mutex_lock(&hold.lock);
    hold.waiting++;
    while (hold.held)
        pthread_cond_wait(&hold.changed, &hold.lock);
    hold.waiting--;
    void *(*fn)(void *) = hold.fn;
    pthread_mutex_unlock(&hold.lock);
    return fn(arg);
}

static int held_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                       void *arg)
{
    pthread_mutex_lock(&hold.lock);
    hold.fn = fn;
    pthread_mutex_unlock(&hold.lock);
    return pthread_create(thread, attr, begin_late, arg);
}

static void let_go(int held)
{
    pthread_mutex_lock(&hold.lock);
    hold.held = held;
    pthread_cond_broadcast(&hold.changed);
    pthread_mutex_unlock(&hold.lock);
}

/* A busy machine gives the others no processor: jobs must not wait for them. Were one to, this would hang. */
static void neighbours(void)
{
    static int64_t x[1000];
    cpu_threads_stop();
    let_go(1);
    for (int r = 0; r < 20; r++)
        cpu_parallel(1000, 10, add_index, x);
    is_int(wrong(x, 1000, 20), 0, "jobs end while no other thread gets a processor");
    is_int(team_size, 3, "though a team has been started");
    let_go(0);
    for (int r = 0; r < 200; r++)
        cpu_parallel(1000, 10, add_index, x);
    is_int(wrong(x, 1000, 220), 0, "late ones join later jobs");
    cpu_threads_stop();
    is_int(hold.waiting, 0, "and end");
}

static void nested(void *ctx, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++)
        cpu_parallel(100, 10, add_index, (int64_t *)ctx + 100 * row);
}

static void inside(void)
{
    static int64_t x[20 * 100];
    int64_t bad = 0;
    cpu_parallel(20, 1, nested, x);
    for (int row = 0; row < 20; row++)
        bad += wrong(x + 100 * row, 100, 1);
    is_int(bad, 0, "a chunk that asks for threads itself");
}

static void ends(void)
{
    static int64_t x[1000];
    cpu_threads_stop();
    cpu_threads_stop();
    cpu_parallel(1000, 10, add_index, x);
    is_int(wrong(x, 1000, 1), 0, "a stopped team starts again");
    cpu_parallel(0, 10, add_index, x);
    cpu_parallel(1000, 0, add_index, x);
    is_int(wrong(x, 1000, 2), 0, "no grain: one chunk; nothing to do: none");
    pid_t child = fork();
    if (child == 0) {
        cpu_parallel(1000, 10, add_index, x);
        cpu_threads_stop();
        _exit(wrong(x, 1000, 3) == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    is_int(status, 0, "a forked child works, alone");
    cpu_threads_stop();
}

/* Chunks that 32 bits cannot count are claimed several at a time, and none is left out. */
static void counts(void)
{
    static const int64_t chunks[] = {1, 5, INT32_MAX, (int64_t)5 << 31, ((int64_t)1 << 40) + 7};
    cpu_threads_stop();
    team_size = 3;
    for (int i = 0; i < 5; i++) {
        const uint64_t threads = cut_spans(chunks[i]);
        int64_t units = 0, next = 0;
        is_int((int64_t)threads, chunks[i] < 4 ? chunks[i] : 4, "threads for so many chunks");
        for (int k = 0; k < (int)threads; k++) {
            next += units == (int64_t)(spans[k].left & UINT32_MAX);
            units += spans[k].units;
        }
        is_int(next, (int64_t)threads, "each span begins where the one before ends");
        ok(units <= INT32_MAX && units * job.per_unit >= chunks[i] &&
               (units - 1) * job.per_unit < chunks[i],
           "all chunks, and no unit without one");
        for (int k = 0; k < (int)threads; k++)
            spans[k].left = 0;
    }
    team_size = 0;
    cut_spans(3);
    is_int(claim(0), 0, "units are claimed in turn");
    is_int(claim(0), 1, "units are claimed in turn");
    is_int(claim(0), 2, "to the last");
    is_int(claim(0), -1, "and no further");
    int64_t x[7] = {0};
    job.fn = add_index, job.ctx = x, job.n = 7, job.grain = 2, job.chunks = 4, job.per_unit = 3;
    run_unit(0);
    is_int(x[6], 0, "a unit runs its own chunks alone");
    run_unit(1);
    is_int(wrong(x, 7, 1), 0, "and the last unit those that are left");
    is_int(claim(1), -1, "nor of a span that the job has not");
}

/* Chunks for four threads of work that may be cut anywhere: by hand. */
static void grains(void)
{
    is_int(cpu_even_grain(1000, 32768, 64), 32768, "what is one chunk stays one");
    is_int(cpu_even_grain(32768, 32768, 64), 32768, "to the last element");
    is_int(cpu_even_grain(32769, 32768, 64), 8256, "more is for all threads");
    is_int(cpu_even_grain(100000, 32768, 64), 25024,
           "one chunk for each, at a multiple of the step");
    is_int(cpu_even_grain(500000, 32768, 64), 31296, "four for each");
    is_int(cpu_even_grain(1000000, 32768, 64), 32768, "many even out by themselves");
    is_int(cpu_even_grain(5000, 4096, 64), 1280, "costly elements");
    is_int(cpu_even_grain(70000, 65536, 4096), 20480, "pages");
    is_int(cpu_even_grain(INT64_C(1) << 40, 4096, 64), 4096, "chunks without end");
}

/* Files below a temporary folder, whose folders are made as they are needed. */
static char folder[] = "/tmp/ndock-team-XXXXXX";

static const char *write_text(const char *name, const char *text)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *at = path + sizeof folder; (at = strchr(at, '/')) != NULL; at++) {
        *at = 0;
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        bail("cannot write a file");
    return path;
}

static int quota_of(const char *self)
{
    char root[64];
    snprintf(root, sizeof root, "%s/fs", folder);
    return cpu_quota(write_text("self", self), root);
}

static void quotas(void)
{
    if (!mkdtemp(folder))
        bail("no temporary folder");
    is_int(quota_of("0::/a/b\n"), 0, "no file, no quota");
    write_text("fs/a/b/cpu.max", "max 100000\n");
    is_int(quota_of("0::/a/b\n"), 0, "max is none");
    write_text("fs/a/b/cpu.max", "250000 100000\n");
    is_int(quota_of("0::/a/b\n"), 3, "two and a half processors are three");
    write_text("fs/a/cpu.max", "50000 50000\n");
    is_int(quota_of("0::/a/b\n"), 1, "an outer group's counts where it is less");
    is_int(quota_of("0::/gone/b\n"), 0, "a group that is not there, and no quota around it");
    write_text("fs/cpu.max", "200000 100000\n");
    is_int(quota_of("0::/gone/b\n"), 2, "a container sees its own as the root");
    write_text("fs/cpu/x/cpu.cfs_quota_us", "-1\n");
    write_text("fs/cpu/x/cpu.cfs_period_us", "100000\n");
    is_int(quota_of("5:cpu,cpuacct:/x\n2:cpuset:/x\n"), 0, "version 1 without a quota");
    write_text("fs/cpu/x/cpu.cfs_quota_us", "400000\n");
    is_int(quota_of("5:cpu,cpuacct:/x\n2:cpuset:/x\n"), 4, "version 1 with one");
    is_int(quota_of("5:cpuset:/x\nnonsense\n"), 0, "other controllers, and no line of a group");
    is_int(cpu_quota("/nowhere", "/nowhere"), 0, "no control groups");
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ok(system(command) == 0, "the files are removed");
}

TAP_MAIN({"quotas", quotas}, {"callers", callers}, {"neighbours", neighbours}, {"inside", inside},
         {"ends", ends}, {"counts", counts}, {"grains", grains})
