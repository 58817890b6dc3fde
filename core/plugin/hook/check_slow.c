/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Calls that do not return: a thread of the check tells of each, once and while it lasts, when it
 * has lasted NDOCK_HOOK_SLOW seconds. A program that hangs then says in which function. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include "core/plugin/hook/check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hook_call *flights; /* calls that are inside the plug-in; under the lock */
static uint64_t patience_ns;
static pid_t watched; /* the process that has the thread; a forked child has none */

static void describe(const hook_call *c, uint64_t now, char *text, size_t n)
{
    char device[16] = "";
    const int at = nd__hook_place(c->slot, HOOK_KIND_CALL);
    const ndp_call *call = at < 0 ? NULL : (const ndp_call *)(uintptr_t)c->word[at];
    const nd_op_info *info = call ? nd_op_get(call->op) : NULL;
    if (c->dev)
        snprintf(device, sizeof device, ":%u", c->dev->index);
    snprintf(text, n, "check: %s%s, %s.%s%s%s: it has not returned for %.1f s (rule slow)",
             c->of->plugin, device, c->slot->table, c->slot->name, info ? " of " : "",
             info ? info->name : "", (double)(now - c->began_ns) * 1e-9);
}

/* The text of a call that is to be told of now. It is logged without the lock, since who listens
 * may call the plug-in. */
static bool next_slow(char *text, size_t n)
{
    pthread_mutex_lock(&lock);
    const uint64_t now = nd__hook_now(); /* after all of them began */
    hook_call *c = flights;
    while (c && (c->told_slow || now - c->began_ns < patience_ns))
        c = c->flight;
    if (c) {
        c->told_slow = true;
        describe(c, now, text, n);
    }
    pthread_mutex_unlock(&lock);
    return c != NULL;
}

static void *watch(void *unused)
{
    const struct timespec pause = {0, 100000000};
    char text[256];
    (void)unused;
    for (;;) {
        nanosleep(&pause, NULL);
        while (next_slow(text, sizeof text))
            nd__log(ND_LOG_WARN, "%s", text);
    }
    return NULL;
}

/* The program's signals are for its own threads. Without the thread nothing is told. */
static void start_watch(void)
{
    pthread_t thread;
    sigset_t all, before;
    patience_ns = nd__hook_settings.slow_seconds * 1000000000u;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, watch, NULL) == 0) {
        (void)pthread_detach(thread);
        watched = getpid();
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void nd__hook_slow_enter(hook_call *c)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_watch);
    c->watched = watched == getpid();
    if (!c->watched)
        return;
    pthread_mutex_lock(&lock);
    c->flight = flights;
    flights = c;
    pthread_mutex_unlock(&lock);
}

void nd__hook_slow_leave(hook_call *c)
{
    if (!c->watched || watched != getpid())
        return;
    pthread_mutex_lock(&lock);
    hook_call **at = &flights;
    while (*at != c)
        at = &(*at)->flight;
    *at = c->flight;
    pthread_mutex_unlock(&lock);
}
