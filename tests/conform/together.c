/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: kernels that run in several threads, and on several streams of one thread, give what
 * they give alone. All threads make the same call at the same time, on arrays of their own. */
#include <pthread.h>
#include <stdatomic.h>
#include "tests/conform/works.h"

enum { THREADS = 4, STREAMS = 2, ROUNDS = 12, ROWS = 160, COLUMNS = 48 };

typedef struct {
    works_in in[STREAMS];
    nd_stream *stream[STREAMS]; /* NULL: the device's default one */
    char *want[STREAMS];        /* the current call's result, made alone */
    size_t nbytes[STREAMS];
    char failure[512]; /* "": none */
} worker;
static worker workers[THREADS];
static pthread_barrier_t start;
static const work *current; /* the call in hand; NULL: the threads end */
static atomic_int stopped;  /* some thread has failed */

static void note(worker *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(worker *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!w->failure[0])
        vsnprintf(w->failure, sizeof w->failure, fmt, ap);
    va_end(ap);
    atomic_store(&stopped, 1);
}

static bool is_fine(worker *w, nd_status status, const char *what)
{
    if (status != ND_OK)
        note(w, "%s in several threads gave %s: %s", what, nd_status_name(status),
             nd_last_error()->message);
    return status == ND_OK;
}

static size_t bytes_of(const nd_array *a)
{
    return (size_t)nd_size(a) * nd_dtype_size(nd_dtype_of(a));
}

/* Work on two streams is ordered by nobody, so a result is fetched on its own. */
static bool is_current(worker *w, int i)
{
    return !w->stream[i] || is_fine(w, nd_stream_set_current(w->stream[i]), "set_current");
}

static void compare(worker *w, int i, const nd_array *got)
{
    const size_t n = bytes_of(got);
    char *bytes = malloc(n + 1);
    size_t at = 0;
    if (n != w->nbytes[i]) {
        note(w, "%s gave %zu bytes alone and %zu beside others", current->name, w->nbytes[i], n);
    } else if (bytes && is_current(w, i) && is_fine(w, nd_to_host(got, bytes, n), "to_host")) {
        while (at < n && bytes[at] == w->want[i][at])
            at++;
        if (at < n)
            note(w,
                 "%s gives other bits when it runs in %d threads, on %s, than alone: byte %zu of "
                 "%zu is 0x%02x, not 0x%02x",
                 current->name, THREADS, w->stream[0] ? "two streams each" : "one stream", at, n,
                 (unsigned char)bytes[at], (unsigned char)w->want[i][at]);
    }
    free(bytes);
}

/* The call on every stream of the thread before any result is looked at. */
static void one_round(worker *w)
{
    nd_array *out[STREAMS] = {NULL};
    for (int i = 0; i < STREAMS; i++) {
        if (!is_current(w, i) || !is_fine(w, current->call(&w->in[i], &out[i]), current->name))
            break;
    }
    for (int i = 0; i < STREAMS; i++) {
        if (out[i])
            compare(w, i, out[i]);
        nd_release(out[i]);
    }
}

static void *serve(void *arg)
{
    worker *w = arg;
    for (;;) {
        pthread_barrier_wait(&start);
        if (!current)
            return NULL;
        for (int round = 0; round < ROUNDS && !atomic_load(&stopped); round++)
            one_round(w);
        pthread_barrier_wait(&start);
    }
}

/* What the call gives alone. */
static bool expect(const work *what)
{
    bool fine = true;
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < STREAMS && fine; i++) {
            worker *w = &workers[t];
            nd_array *out = NULL;
            free(w->want[i]);
            w->want[i] = NULL;
            fine = good(what->call(&w->in[i], &out), what->name);
            w->nbytes[i] = fine ? bytes_of(out) : 0;
            w->want[i] = fine ? malloc(w->nbytes[i] + 1) : NULL;
            fine = fine && w->want[i] && good(nd_to_host(out, w->want[i], w->nbytes[i]), "to_host");
            nd_release(out);
        }
    return fine;
}

static bool set_up(worker *w)
{
    bool fine = true;
    for (int i = 0; i < STREAMS && fine; i++) {
        fine = works_make(&w->in[i], ROWS, COLUMNS);
        if (fine && run.async)
            fine = good(nd_stream_create(run.device, NULL, &w->stream[i]), "stream_create");
    }
    return fine;
}

static void take_down(worker *w)
{
    for (int i = 0; i < STREAMS; i++) {
        works_release(&w->in[i]);
        nd_stream_release(w->stream[i]);
        free(w->want[i]);
    }
    memset(w, 0, sizeof *w);
}

static void report(void)
{
    for (int t = 0; t < THREADS; t++) {
        if (workers[t].failure[0])
            fail_case("%s", workers[t].failure);
        workers[t].failure[0] = 0;
    }
    atomic_store(&stopped, 0);
}

static void run_all(void)
{
    pthread_t threads[THREADS];
    int n = 0;
    pthread_barrier_init(&start, NULL, THREADS + 1);
    while (n < THREADS && pthread_create(&threads[n], NULL, serve, &workers[n]) == 0)
        n++;
    if (n < THREADS)
        bail("no threads for D.threads");
    for (int i = 0; works[i].name && !failing(); i++) {
        if (!begin_case(i) || !expect(&works[i]))
            continue;
        current = &works[i];
        pthread_barrier_wait(&start);
        pthread_barrier_wait(&start);
        report();
    }
    current = NULL;
    pthread_barrier_wait(&start);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    pthread_barrier_destroy(&start);
}

void conform_together(void)
{
    bool fine = true;
    if (run.probing || !wanted("threads"))
        return;
    begin_op("threads");
    for (int t = 0; t < THREADS; t++)
        fine = fine && set_up(&workers[t]);
    if (fine && good(nd_synchronize(run.device), "synchronize"))
        run_all();
    for (int t = 0; t < THREADS; t++)
        take_down(&workers[t]);
    end_op();
}
