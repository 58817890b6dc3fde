/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The one place where the OpenMP team is used. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "cpu.h"

static int thread_limit = 1;
static atomic_int forked_child;
static pthread_once_t threads_once = PTHREAD_ONCE_INIT;

static void child_after_fork(void)
{
    /* GCC's OpenMP team does not exist in a forked child, and using it there hangs: a child works
     * serially. */
    atomic_store(&forked_child, 1);
}

static void threads_init(void)
{
#ifdef _OPENMP
    int64_t wanted = 0;
    cpu_host->param(cpu_host->ctx, "NUM_THREADS", NDP_PARAM_I64,
                    "threads of a parallel region; 0: OMP_NUM_THREADS, else the processors allowed",
                    &wanted);
    thread_limit = wanted > 0 && wanted < 4096 ? (int)wanted : omp_get_max_threads();
#endif
    (void)pthread_atfork(NULL, NULL, child_after_fork);
}

int cpu_threads(void)
{
    pthread_once(&threads_once, threads_init);
    return atomic_load_explicit(&forked_child, memory_order_relaxed) ? 1 : thread_limit;
}

void cpu_parallel(int64_t n, int64_t grain, void (*fn)(void *ctx, int64_t begin, int64_t end),
                  void *ctx)
{
    int64_t chunks = grain > 0 ? (n + grain - 1) / grain : 1;
    int threads = chunks > 1 ? cpu_threads() : 1;
#ifdef _OPENMP
    if (threads > 1 && !omp_in_parallel()) {
        if (chunks < threads)
            threads = (int)chunks;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (int64_t c = 0; c < chunks; c++)
            fn(ctx, c * grain, (c + 1) * grain < n ? (c + 1) * grain : n);
        return;
    }
#endif
    (void)threads;
    for (int64_t c = 0; c < chunks; c++)
        fn(ctx, c * grain, chunks == 1 || (c + 1) * grain > n ? n : (c + 1) * grain);
}
