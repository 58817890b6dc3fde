/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the tests of devices, faults, events and the sync watch share: simulated devices seen from
 * both sides, by the public API and by their control table. */
#ifndef NDOCK_TESTS_STREAM_LAB_H
#define NDOCK_TESTS_STREAM_LAB_H
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <ndock/ndock.h>
#include <ndock/sim.h>
#include "tests/asleep.h"
#include "tests/tap.h"

typedef struct {
    nd_device *d;
    const ndsim_control_1 *c;
    ndp_dev *dev;
} sim;

__attribute__((unused)) static void must(nd_status status)
{
    if (status != ND_OK)
        bail(nd_last_error()->message);
}

__attribute__((unused)) static sim open_sim(int i)
{
    char name[16];
    sim s = {NULL, NULL, NULL};
    const void *table = NULL;
    snprintf(name, sizeof name, "sim:%d", i);
    must(nd_device_get(name, &s.d));
    must(nd_device_group(s.d, NDSIM_GROUP, &table, &s.dev));
    s.c = table;
    return s;
}

/* The plug-in's name of a stream. */
__attribute__((unused)) static ndp_stream *native(nd_stream *stream)
{
    uint64_t handle = 0;
    must(nd_stream_native(stream, &handle));
    return handle == 1 ? NULL : (ndp_stream *)(uintptr_t)handle;
}

__attribute__((unused)) static nd_stream *new_stream(nd_device *d)
{
    nd_stream *s = NULL;
    must(nd_stream_create(d, NULL, &s));
    return s;
}

/* Calls of the plug-in since the log was cleared; entry NULL: all. */
__attribute__((unused)) static uint64_t calls(sim s, const char *entry)
{
    uint64_t n = 0;
    must(s.c->log_count(s.dev, entry, &n));
    return n;
}

__attribute__((unused)) static uint64_t races(sim s)
{
    uint64_t n = 0;
    char text[512] = "";
    must(s.c->race_count(s.dev, &n));
    if (n && s.c->race_text(s.dev, 0, text, sizeof text) == NDP_OK)
        diag("%s", text);
    return n;
}

/* n times value, f32. */
__attribute__((unused)) static nd_array *vector(nd_device *d, int64_t n, double value)
{
    nd_array *a = NULL;
    must(nd_full(d, ND_F32, 1, &n, nd_float(value), &a));
    return a;
}

/* Element 0, whatever the shape; waits. */
__attribute__((unused)) static double first_of(const nd_array *a)
{
    float v[64] = {0};
    must(nd_to_host(a, v, (size_t)nd_size(a) * sizeof *v));
    return v[0];
}

/* A forked child has the memory of threads that it has not: what the leak checker of the address
 * sanitizer would find there says nothing. It asks this function. */
static int is_forked_child;
int __lsan_is_turned_off(void);
__attribute__((visibility("default"))) int __lsan_is_turned_off(void)
{
    return is_forked_child;
}

/* What look(arg) gives in a child of its own, 100 when the child died or hung. */
__attribute__((unused)) static int in_child(int (*look)(void *arg), void *arg)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        is_forked_child = 1;
        alarm(600);
        exit(look(arg)); /* not _exit: the library's end in a child is looked at as well */
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return 100;
    return WEXITSTATUS(status);
}

__attribute__((unused)) static void in_thread(void *(*run)(void *arg), void *arg)
{
    pthread_t t;
    if (pthread_create(&t, NULL, run, arg) != 0)
        bail("no thread");
    pthread_join(t, NULL);
}

#endif
