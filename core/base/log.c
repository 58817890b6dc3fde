/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The log: the program's sink, or else lines on descriptor 2 or in the file that NDOCK_LOG
 * names. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "core/base/base.h"
#include "core/base/env.h"

#define UNSET (-1)
/* Warnings and errors on the terminal: so many at once, then one a second. What the user asked for
 * (a file, or a level of notes) is not limited. */
#define BURST 10

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static nd_log_sink sink; /* NULL: the default one */
static void *sink_ctx;
static atomic_int level_now = UNSET;

/* Of the default sink; all under the lock. */
static int descriptor = UNSET;
static bool limited;
static int room = BURST;
static int64_t refilled; /* in seconds, when room was last counted */
static int64_t left_out;

void nd__fork_log(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}

static int32_t level_from_environment(void)
{
    return nd__env_choice(ND_ENV_LOG); /* its words are in the order of ND_LOG_* */
}

static int level(void)
{
    int now = atomic_load_explicit(&level_now, memory_order_relaxed);
    if (now != UNSET)
        return now;
    (void)atomic_compare_exchange_strong(&level_now, &now, level_from_environment());
    return atomic_load(&level_now);
}

void nd_log_set(nd_log_sink fn, void *ctx, int32_t wanted)
{
    pthread_mutex_lock(&lock);
    sink = fn;
    sink_ctx = ctx;
    atomic_store(&level_now, wanted < 0 ? level_from_environment() : wanted);
    pthread_mutex_unlock(&lock);
}

bool nd__log_wants(int32_t l)
{
    return l <= level();
}

/* ---- the default sink ---- */
static void put(const char *kind, const char *text)
{
    char line[1200];
    int n = snprintf(line, sizeof line, "ndock: %s: %s\n", kind, text);
    size_t size = n < (int)sizeof line ? (size_t)n : sizeof line - 1;
    line[size - 1] = '\n';
    if (write(descriptor, line, size) < 0) { /* nobody is left to tell */
    }
}

/* Under the lock. */
static void tell_left_out(void)
{
    char text[80];
    if (left_out == 0)
        return;
    snprintf(text, sizeof text,
             "%lld further messages were left out; NDOCK_LOG=warn:FILE keeps all",
             (long long)left_out);
    left_out = 0;
    put("note", text);
}

static void tell_at_exit(void)
{
    pthread_mutex_lock(&lock);
    tell_left_out();
    pthread_mutex_unlock(&lock);
}

/* "warn:FILE" names a file, which lines are added to; else they go to descriptor 2. */
static void open_default(void)
{
    const char *text = nd__env(ND_ENV_LOG), *colon = text ? strchr(text, ':') : NULL;
    if (colon && colon[1])
        descriptor = open(colon + 1, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    limited = descriptor < 0 && nd__env_choice(ND_ENV_DEBUG) == 0;
    if (descriptor >= 0)
        return;
    descriptor = STDERR_FILENO;
    (void)atexit(tell_at_exit);
    if (colon && colon[1])
        put("error", "the file of NDOCK_LOG cannot be opened; messages come here");
}

static bool has_room(int32_t l)
{
    struct timespec now;
    if (!limited || l > ND_LOG_WARN || level() > ND_LOG_WARN)
        return true;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t earned = refilled ? now.tv_sec - refilled : 0;
    refilled = now.tv_sec;
    room = earned >= BURST - room ? BURST : room + (int)earned;
    if (room == 0)
        left_out++;
    return room > 0;
}

static void put_default(int32_t l, const char *text)
{
    static const char *const kinds[] = {"", "error", "warning", "note", "debug", "trace"};
    if (descriptor == UNSET)
        open_default();
    if (!has_room(l))
        return;
    tell_left_out();
    room--;
    put(l > 0 && l <= ND_LOG_TRACE ? kinds[l] : "note", text);
}

void nd__log(int32_t l, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    if (!nd__log_wants(l))
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&lock);
    if (sink)
        sink(sink_ctx, l, text);
    else
        put_default(l, text);
    pthread_mutex_unlock(&lock);
}
