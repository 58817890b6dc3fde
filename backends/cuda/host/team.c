/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Threads that copy between pageable and pinned host memory: one core reads or writes memory at a
 * fraction of what the bus to the device takes. They start with the first copy that is worth it
 * and sleep in between. */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "host/backend.h"

enum { PIECE = 256 << 10, MOST_THREADS = 64, DEFAULT_THREADS = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of everything here, jobs too */
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, copied = PTHREAD_COND_INITIALIZER;
static cuda_job *jobs;
static pthread_t threads[MOST_THREADS];
static int n_threads, started, stopping;
static pid_t owner; /* a forked child has no threads to join */

/* The next piece of a job that nobody has begun: false if there is none. */
static int begin_piece(cuda_job *j, uint64_t *part, size_t *offset, size_t *nbytes)
{
    if (j->first == j->added)
        return 0;
    *part = j->first % CUDA_JOB_PARTS;
    *offset = j->part[*part].begun;
    size_t left = j->part[*part].nbytes - *offset;
    *nbytes = left < PIECE ? left : PIECE;
    j->part[*part].begun += *nbytes;
    j->first += *nbytes == left;
    return 1;
}

/* Under the lock, which is left meanwhile. The job lives until its last piece is copied. */
static int copy_piece(cuda_job *j)
{
    uint64_t i;
    size_t offset, nbytes;
    if (!begin_piece(j, &i, &offset, &nbytes))
        return 0;
    char *dst = j->part[i].dst + offset;
    const char *src = j->part[i].src + offset;
    pthread_mutex_unlock(&lock);
    memcpy(dst, src, nbytes);
    pthread_mutex_lock(&lock);
    j->part[i].copied += nbytes;
    if (j->part[i].copied == j->part[i].nbytes)
        pthread_cond_broadcast(&copied);
    return 1;
}

static int copy_any(void)
{
    for (cuda_job *j = jobs; j; j = j->next)
        if (copy_piece(j))
            return 1; /* the list may have changed meanwhile */
    return 0;
}

static void *thread_main(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    while (!stopping)
        if (!copy_any())
            pthread_cond_wait(&work, &lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static int wanted_threads(void)
{
    cpu_set_t set;
    int cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    int64_t n = cpus < DEFAULT_THREADS ? cpus : DEFAULT_THREADS;
    cuda_host->param(cuda_host->ctx, "COPY_THREADS", NDP_PARAM_I64,
                     "threads that copy between pageable memory and the staging buffers, the "
                     "calling one included; default: one per processor, at most 8",
                     &n);
    return n < 1 ? 0 : n > MOST_THREADS ? MOST_THREADS : (int)n - 1;
}

/* Under the lock. Fewer threads than wanted are fine: the caller copies too. */
static void start_threads(void)
{
    sigset_t all, before;
    int wanted = wanted_threads();
    started = 1;
    stopping = 0;
    owner = getpid();
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return;
    while (n_threads < wanted && pthread_create(&threads[n_threads], NULL, thread_main, NULL) == 0)
        n_threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void cuda_job_begin(cuda_job *j)
{
    memset(j, 0, sizeof *j);
    pthread_mutex_lock(&lock);
    j->next = jobs;
    jobs = j;
    pthread_mutex_unlock(&lock);
}

void cuda_job_add(cuda_job *j, char *dst, const char *src, size_t nbytes)
{
    uint64_t i = j->added % CUDA_JOB_PARTS;
    pthread_mutex_lock(&lock);
    if (!started && nbytes > PIECE)
        start_threads();
    j->part[i].dst = dst;
    j->part[i].src = src;
    j->part[i].nbytes = nbytes;
    j->part[i].begun = j->part[i].copied = 0;
    j->added++;
    if (nbytes > PIECE)
        pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&lock);
}

void cuda_job_wait(cuda_job *j, uint64_t i)
{
    i %= CUDA_JOB_PARTS;
    pthread_mutex_lock(&lock);
    while (j->part[i].copied < j->part[i].nbytes)
        if (!copy_piece(j))
            pthread_cond_wait(&copied, &lock);
    pthread_mutex_unlock(&lock);
}

void cuda_job_end(cuda_job *j)
{
    uint64_t oldest = j->added > CUDA_JOB_PARTS ? j->added - CUDA_JOB_PARTS : 0;
    for (uint64_t i = oldest; i < j->added; i++)
        cuda_job_wait(j, i);
    pthread_mutex_lock(&lock);
    cuda_job **at = &jobs;
    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    pthread_mutex_unlock(&lock);
}

void cuda_team_stop(void)
{
    pthread_mutex_lock(&lock);
    int n = owner == getpid() ? n_threads : 0;
    stopping = 1;
    started = n_threads = 0;
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}
