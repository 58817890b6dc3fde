/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which threads are inside the device for an allocator. Memory that one of them has set aside, or
 * may yet give back, is found by nobody else meanwhile, so that a request may be refused for that
 * alone. Such a request is made again when they are through, by one thread at a time: else two
 * threads that undo what they got could refuse each other for ever. */
#include <errno.h>
#include <time.h>
#include "core/memory/memory.h"

/* how long to wait for those inside: a driver that hangs must not hold every request, and a busy machine
 * may keep a thread from its processor for seconds */
enum { PATIENCE_S = 10 };

/* A request, from before it looks for memory until it has it or is refused. */
typedef struct attempt {
    nd_calls *of;
    uint64_t seen;
    bool turn;
    struct attempt *outer; /* of the same thread */
} attempt;

ND_TLS attempt *attempts; /* the calling thread's, innermost first */
ND_TLS int depth;         /* calls of any allocator that the thread is inside of */

void nd__calls_init(nd_calls *c)
{
    pthread_condattr_t monotonic;
    *c = (nd_calls){0};
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->turn, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&c->left, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void nd__calls_destroy(nd_calls *c)
{
    pthread_cond_destroy(&c->left);
    pthread_mutex_destroy(&c->turn);
    pthread_mutex_destroy(&c->lock);
}

void nd__calls_enter(nd_calls *c)
{
    depth++;
    pthread_mutex_lock(&c->lock);
    c->inside++;
    pthread_mutex_unlock(&c->lock);
}

void nd__calls_leave(nd_calls *c, bool gave)
{
    depth--;
    pthread_mutex_lock(&c->lock);
    c->inside--;
    c->given += gave;
    for (attempt *a = attempts; gave && a; a = a->outer)
        a->seen += a->of == c; /* a thread's own giving is no reason for it to try again */
    pthread_cond_broadcast(&c->left);
    pthread_mutex_unlock(&c->lock);
}

static void begin(attempt *a, nd_calls *c)
{
    pthread_mutex_lock(&c->lock);
    *a = (attempt){.of = c, .seen = c->given, .outer = attempts};
    pthread_mutex_unlock(&c->lock);
    attempts = a;
}

/* Waits, under c->lock, until another thread has given something or nobody is inside any more. */
static bool others_gave(attempt *a)
{
    nd_calls *c = a->of;
    struct timespec end;
    int waited = 0;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += PATIENCE_S;
    while (c->given == a->seen && c->inside > 0 && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&c->left, &c->lock, &end);
    bool gave = c->given != a->seen;
    a->seen = c->given;
    return gave;
}

/* Whether to look again, as other threads gave something since the last look. A thread inside a
 * call (of an allocator of the program's own) would wait for itself, so that it does not. */
static bool worth_another(attempt *a)
{
    if (depth > 0)
        return false;
    if (!a->turn)
        pthread_mutex_lock(&a->of->turn);
    a->turn = true;
    pthread_mutex_lock(&a->of->lock);
    bool again = others_gave(a);
    pthread_mutex_unlock(&a->of->lock);
    return again;
}

void nd__request(nd_calls *c, bool (*make)(void *request, bool again), void *request)
{
    attempt a;
    begin(&a, c);
    bool answered = make(request, false);
    while (!answered && worth_another(&a))
        answered = make(request, true);
    attempts = a.outer;
    if (a.turn)
        pthread_mutex_unlock(&c->turn);
}

/* In the child nobody is inside, and no thread waits. */
void nd__calls_fork(nd_calls *c, nd_fork now)
{
    if (now == ND_FORK_CHILD)
        nd__calls_init(c);
}
