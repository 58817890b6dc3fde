/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Graphs that have one pool: what one leaves free another overwrites, so that they run one after
 * another in the order of their captures. */
#include <stdlib.h>
#include "core/graph/graph.h"

struct nd_sharers {
    nd_sharers *next;
    nd_pool *pool;   /* held by each of the graphs */
    uint64_t *alive; /* ordinals, ascending */
    int n, room;
    uint64_t made, last; /* ordinals from 1 on; last 0: none has run */
    nd_stream *stream;   /* where that was; retained */
};
static nd_sharers *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void nd__fork_sharers(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}

static nd_sharers *find(nd_pool *pool) /* under the lock; NULL: no memory */
{
    nd_sharers *s = all;
    while (s && s->pool != pool)
        s = s->next;
    if (!s && (s = calloc(1, sizeof *s)) != NULL) {
        *s = (nd_sharers){.next = all, .pool = pool};
        all = s;
    }
    return s;
}

static bool add(nd_sharers *s)
{
    if (s->n == s->room) {
        int room = s->room ? 2 * s->room : 4;
        uint64_t *grown = realloc(s->alive, (size_t)room * sizeof *grown);
        if (!grown)
            return false;
        s->alive = grown;
        s->room = room;
    }
    s->alive[s->n++] = ++s->made;
    return true;
}

nd_status nd__sharers_join(nd_graph *g)
{
    if (!g->pool)
        return ND_OK;
    pthread_mutex_lock(&lock);
    nd_sharers *s = find(g->pool);
    bool done = s && add(s);
    if (done) {
        g->sharers = s;
        g->ordinal = s->made;
    }
    pthread_mutex_unlock(&lock);
    return done ? (nd_status)ND_OK
                : nd__fail(ND_ERR_MEMORY, "graph_end", -1, "no host memory for a graph");
}

void nd__sharers_leave(nd_graph *g)
{
    nd_sharers *s = g->sharers;
    nd_stream *stream = NULL;
    if (!s)
        return;
    pthread_mutex_lock(&lock);
    int i = 0;
    while (s->alive[i] != g->ordinal)
        i++;
    memmove(s->alive + i, s->alive + i + 1, (size_t)(--s->n - i) * sizeof *s->alive);
    if (s->n == 0) {
        nd_sharers **at = &all;
        while (*at != s)
            at = &(*at)->next;
        *at = s->next;
        stream = s->stream;
        free(s->alive);
        free(s);
    }
    pthread_mutex_unlock(&lock);
    nd_stream_release(stream);
    g->sharers = NULL;
}

bool nd__sharers_alone(const nd_graph *g)
{
    pthread_mutex_lock(&lock);
    const bool alone = !g->sharers || g->sharers->n == 1;
    pthread_mutex_unlock(&lock);
    return alone;
}

/* The one that is to run next: the one behind the last, or the first. */
static uint64_t expected(const nd_sharers *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->alive[i] > s->last)
            return s->alive[i];
    return s->alive[0];
}

nd_status nd__sharers_launch(nd_graph *g, nd_stream *stream, bool force)
{
    nd_sharers *s = g->sharers;
    nd_stream *before = NULL;
    if (!s)
        return ND_OK;
    pthread_mutex_lock(&lock);
    const bool alone = s->n == 1;
    const uint64_t next = expected(s);
    const bool fine = alone || force || g->ordinal == next || g->ordinal == s->alive[0];
    if (fine)
        s->last = g->ordinal;
    if (fine && !alone && s->stream != stream) {
        before = s->stream;
        s->stream = nd_stream_retain(stream);
    }
    pthread_mutex_unlock(&lock);
    nd_status status = ND_OK;
    if (!fine)
        status = nd__fail(ND_ERR_STATE, "graph_launch", 0,
                          "graphs that share pool %llu run in the order of their captures: number "
                          "%llu is next, this is number %llu; force it if no result of the others "
                          "is needed any more",
                          (unsigned long long)nd_pool_id(s->pool), (unsigned long long)next,
                          (unsigned long long)g->ordinal);
    else if (before)
        status = nd_stream_wait_stream(stream, before);
    nd_stream_release(before);
    return status;
}
