/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What threads of the team sleep by and are woken by, for threads.c: a futex on Linux. */
#ifndef NDOCK_CPU_HOST_BELL_H
#define NDOCK_CPU_HOST_BELL_H
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { CPU_BELL_WAKES = 2 };
static _Atomic uint32_t cpu_bell; /* goes up with every job; what sleepers watch */
static atomic_int sleepers;
static _Atomic int64_t yet_to_wake; /* by threads that have been woken: the caller has work to do */
#if !defined(__linux__)
static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sleep_end = PTHREAD_COND_INITIALIZER;
#endif

/* Sleeps while the bell is what was seen, or a little longer; it may also return at once. */
static void cpu_bell_sleep(uint32_t seen)
{
    atomic_fetch_add(&sleepers, 1);
#if defined(__linux__)
    (void)syscall(SYS_futex, &cpu_bell, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
#else
    pthread_mutex_lock(&sleep_lock);
    while (atomic_load(&cpu_bell) == seen)
        pthread_cond_wait(&sleep_end, &sleep_lock);
    pthread_mutex_unlock(&sleep_lock);
#endif
    atomic_fetch_sub(&sleepers, 1);
}

static void cpu_bell_wake(int64_t threads)
{
#if defined(__linux__)
    (void)syscall(SYS_futex, &cpu_bell, FUTEX_WAKE_PRIVATE,
                  threads < INT_MAX ? (int)threads : INT_MAX, NULL, NULL, 0);
#else
    (void)threads;
    pthread_mutex_lock(&sleep_lock);
    pthread_cond_broadcast(&sleep_end);
    pthread_mutex_unlock(&sleep_lock);
#endif
}

/* Whoever is about to sleep has counted itself, or finds the bell changed. To wake a thread takes some
 * microseconds, so those that wake go on with it. */
static void cpu_bell_ring(int64_t threads)
{
    atomic_fetch_add(&cpu_bell, 1);
    if (atomic_load(&sleepers) == 0)
        return;
    atomic_store(&yet_to_wake, threads - CPU_BELL_WAKES);
    cpu_bell_wake(threads < CPU_BELL_WAKES ? threads : CPU_BELL_WAKES);
}
static void cpu_bell_pass_on(void)
{
    if (atomic_load(&sleepers) == 0 || atomic_load(&yet_to_wake) <= 0)
        return;
    const int64_t left = atomic_fetch_sub(&yet_to_wake, CPU_BELL_WAKES);
    if (left > 0)
        cpu_bell_wake(left < CPU_BELL_WAKES ? left : CPU_BELL_WAKES);
}
#endif
