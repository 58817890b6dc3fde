/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernel cache used by many threads, and by many processes at once. */
#include <pthread.h>
#include <sys/wait.h>
#include "tests/asleep.h"
#include "tests/cache/kernels.h"

enum { THREADS = 16, KERNELS = 12, ROUNDS = 20, PROCESSES = 32, SHARED = 8, PATIENCE_S = 600 };

static nd_kernel_cache *cache;
static compiler kernels[KERNELS];
static pthread_barrier_t start;
static atomic_int wrong;
static atomic_int compiling; /* while it is set, no compile of a kernel that is held ends */
static _Atomic pid_t asking[THREADS];

static void prepare(int n, size_t nbytes)
{
    for (int i = 0; i < n; i++) {
        kernels[i].number = i;
        kernels[i].nbytes = nbytes;
        kernels[i].fails = false;
        kernels[i].held = NULL;
        kernels[i].runs = 0;
    }
}

/* A kernel whose compile ends when `compiling` is cleared. */
static void prepare_held(size_t nbytes)
{
    prepare(1, nbytes);
    kernels[0].held = &compiling;
    compiling = 1;
}

/* A compile that is held goes on when all threads wait: one for that, the others for it. */
static void on_threads(void *(*work)(void *))
{
    pthread_t t[THREADS];
    wrong = 0;
    memset(asking, 0, sizeof asking);
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS && kernels[0].held; i++)
        until_asleep(&asking[i]);
    compiling = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    pthread_barrier_destroy(&start);
}

static void *ask_for_one(void *arg)
{
    pthread_barrier_wait(&start);
    asking[(intptr_t)arg] = gettid();
    wrong += !get_is_right(cache, &kernels[0]);
    return NULL;
}

static void *fail_at_one(void *arg)
{
    ndh_kernel_key key = key_of(0);
    ndh_code *h;
    const void *code;
    uint64_t n;
    pthread_barrier_wait(&start);
    asking[(intptr_t)arg] = gettid();
    wrong += nd__kernel_get(cache, &key, NDH_KERNEL_RETRY, compile, &kernels[0], &h, &code, &n) !=
                 ND_ERR_PLUGIN ||
             !strstr(nd_last_error()->message, "undeclared name qqq");
    return NULL;
}

static void one_compile(void)
{
    for (int disk = 0; disk < 2; disk++) {
        make_folder();
        prepare_held(5000);
        cache = open_cache(disk ? folder : NULL, UINT64_C(1) << 30);
        on_threads(ask_for_one);
        is_int(wrong, 0, "W11 sixteen threads get the kernel");
        is_int(kernels[0].runs, 1, "W11 compiled once");
        nd__kernel_clear(cache);
        prepare_held(5000);
        kernels[0].fails = true;
        on_threads(fail_at_one);
        is_int(wrong, 0, "W11 sixteen threads get the error of one compile, in its words");
        is_int(kernels[0].runs, 1, "W11 tried once, though all would retry an old failure");
        nd__kernel_cache_destroy(cache);
        remove_folder();
    }
}

static void *ask_for_all(void *arg)
{
    int me = (int)(intptr_t)arg;
    pthread_barrier_wait(&start);
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < KERNELS; i++) {
            wrong += !get_is_right(cache, &kernels[(i + me) % KERNELS]);
            if (me == 0 && i == 5 && r % 5 == 4)
                wrong += nd__kernel_clear(cache) != ND_OK;
        }
    return NULL;
}

static void many_threads(void)
{
    make_folder();
    prepare(KERNELS, 3000);
    cache = open_cache(folder, 20000); /* room for about six: loads, stores, evictions, clears */
    on_threads(ask_for_all);
    is_int(wrong, 0, "W9 sixteen threads, twelve kernels, room for six: all code is right");
    nd_kernel_stats s = stats_of(cache);
    is_int(s.dropped, 0, "W9 no entry was ever seen half written");
    ok(s.evicted > 0 && s.disk_bytes <= 20000, "W10 %llu evictions, %llu bytes left",
       (unsigned long long)s.evicted, (unsigned long long)s.disk_bytes);
    nd__kernel_cache_destroy(cache);
    remove_folder();
}

/* ---- a fork while others compile: the child compiles for itself, nobody hangs ---- */
static void *ask_slowly(void *arg)
{
    (void)arg;
    wrong += !get_is_right(cache, &kernels[0]);
    return NULL;
}

static int child_compiles(void)
{
    alarm(PATIENCE_S);
    prepare(1, 100);
    return get_is_right(cache, &kernels[0]) && kernels[0].runs == 1 ? 0 : 1;
}

static void forked(void)
{
    pthread_t t[2];
    int status = -1;
    prepare_held(100);
    wrong = 0;
    cache = open_cache(NULL, 1 << 20);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, ask_slowly, NULL);
    while (!kernels[0].runs)
        usleep(1000);
    nd__kernel_cache_lock(cache, true);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        nd__kernel_cache_forked(cache);
    nd__kernel_cache_lock(cache, false);
    if (pid == 0)
        _exit(child_compiles());
    waitpid(pid, &status, 0);
    compiling = 0; /* the fork is over */
    is_int(status, 0, "W11 forked while a thread compiles: the child compiles for itself");
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    is_int(wrong, 0, "W11 and the parent goes on");
    is_int(kernels[0].runs, 1, "W11 with one compile");
    nd__kernel_cache_destroy(cache);
}

/* 0: every kernel was right each time, and no file was damaged. */
static int one_process(int me)
{
    alarm(PATIENCE_S);
    prepare(SHARED, 40000);
    for (int r = 0; r < 4; r++) {
        nd_kernel_cache *c = open_cache(folder, UINT64_C(1) << 30);
        for (int i = 0; i < SHARED; i++)
            if (!get_is_right(c, &kernels[(i + me) % SHARED]))
                return 1;
        if (stats_of(c).dropped != 0)
            return 2;
        nd__kernel_cache_destroy(c);
    }
    for (int i = 0; i < SHARED; i++)
        if (kernels[i].runs > 1)
            return 3; /* what this process stored was gone */
    return 0;
}

static int temporaries(void)
{
    char command[160], line[32] = "-1";
    snprintf(command, sizeof command, "find %s -name '.tmp*' | wc -l", folder);
    FILE *p = popen(command, "r");
    if (!p || !fgets(line, sizeof line, p))
        return -1;
    pclose(p);
    return atoi(line);
}

static void many_processes(void)
{
    int failed = 0, status;
    make_folder();
    fflush(NULL);
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0)
            _exit(one_process(i));
    for (int i = 0; i < PROCESSES; i++)
        if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            diag("a process ended with %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
            failed++;
        }
    is_int(failed, 0, "W9 32 processes race: all code is right, nothing damaged, nothing lost");
    nd_kernel_cache *c = open_cache(folder, UINT64_C(1) << 30);
    is_int(stats_of(c).disk_entries, SHARED, "W9 one entry for each kernel is left");
    is_int(temporaries(), 0, "W9 and no temporary file");
    nd__kernel_cache_destroy(c);
    remove_folder();
}

TAP_MAIN({"one_compile", one_compile}, {"many_threads", many_threads},
         {"many_processes", many_processes}, {"forked", forked})
