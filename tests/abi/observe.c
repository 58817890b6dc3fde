/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the process has: threads, and who started them; open files; memory in use. */
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "abi.h"

static int entries(const char *folder)
{
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

int abi_threads(void)
{
    return entries("/proc/self/task");
}

int abi_threads_above(int threads)
{
    for (int i = 0; i < 2000 && abi_threads() > threads; i++)
        abi_sleep_ms(1);
    int more = abi_threads() - threads;
    return more > 0 ? more : 0;
}

int abi_fds(void)
{
    return entries("/proc/self/fd") - 1; /* the folder itself is open meanwhile */
}

int64_t abi_heap_bytes(void)
{
#if defined(__GLIBC_PREREQ) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 m = mallinfo2();
    return (int64_t)(m.uordblks + m.hblkhd);
#endif
#endif
    return 0;
}

/* This program's pthread_create comes before the C library's, so it sees who calls it: threads of a
 * driver or of OpenMP are not the plug-in's own. Sanitizers have one themselves. */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
typedef int (*create_fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef struct {
    void *(*fn)(void *);
    void *arg;
} own_thread;
static atomic_int own_threads;

static void end_own(void *arg)
{
    (void)arg;
    atomic_fetch_sub(&own_threads, 1);
}

static void *run_own(void *arg)
{
    own_thread t = *(own_thread *)arg;
    void *result = NULL;
    free(arg);
    pthread_cleanup_push(end_own, NULL);
    result = t.fn(t.arg);
    pthread_cleanup_pop(1);
    return result;
}

static bool is_plugin(const void *code)
{
    Dl_info info;
    struct stat a, b;
    return abi.file && dladdr(code, &info) && info.dli_fname && stat(info.dli_fname, &a) == 0 &&
           stat(abi.file, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *out,
                                                          const pthread_attr_t *attr,
                                                          void *(*fn)(void *), void *arg)
{
    static create_fn real;
    void *symbol = real ? NULL : dlsym(RTLD_NEXT, "pthread_create");
    if (symbol)
        memcpy(&real, &symbol, sizeof real);
    if (!is_plugin(__builtin_return_address(0)))
        return real(out, attr, fn, arg);
    own_thread *t = malloc(sizeof *t);
    if (!t)
        return 11; /* EAGAIN */
    *t = (own_thread){fn, arg};
    atomic_fetch_add(&own_threads, 1);
    int rc = real(out, attr, run_own, t);
    if (rc != 0) {
        atomic_fetch_sub(&own_threads, 1);
        free(t);
    }
    return rc;
}

int abi_plugin_threads(void)
{
    return atomic_load(&own_threads);
}
#else
int abi_plugin_threads(void)
{
    return -1;
}
#endif
