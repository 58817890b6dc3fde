/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which streams are in a capture, and what each one's next operation comes after. */
#include <stdio.h>
#include <stdlib.h>
#include "core/stream/tape.h"

static nd_status no_memory(const char *op)
{
    return nd__fail(ND_ERR_MEMORY, op, -1, "no host memory for a stream in a capture");
}

static nd_tape_member *member_of(nd_tape *t, const nd_stream *s) /* under the lock */
{
    for (uint32_t i = 0; i < t->n_members; i++)
        if (t->member[i].stream == s)
            return &t->member[i];
    return NULL;
}

static bool enlist(nd_tape *t, nd_stream *s) /* under the lock */
{
    nd_tape_member *grown = realloc(t->member, (t->n_members + 1) * sizeof *grown);
    if (!grown)
        return false;
    t->member = grown;
    t->member[t->n_members++] = (nd_tape_member){.stream = s, .id = s->id};
    nd__stream_hold(s);
    atomic_fetch_add(&s->device->noted, 1);
    atomic_store_explicit(&s->tape, nd__tape_retain(t), memory_order_release);
    return true;
}

nd_status nd__tape_enlist(nd_tape *t, nd_stream *s, const char *op)
{
    pthread_mutex_lock(&t->lock);
    bool done = enlist(t, s);
    pthread_mutex_unlock(&t->lock);
    return done ? (nd_status)ND_OK : no_memory(op);
}

nd_status nd__tape_mark(nd_tape *t, nd_stream *s, const char *op, uint32_t **seen, uint32_t *n)
{
    pthread_mutex_lock(&t->lock);
    const nd_tape_member *m = member_of(t, s);
    *n = m ? m->n_tail : 0;
    *seen = malloc(*n * sizeof **seen + 1);
    if (*seen && *n)
        memcpy(*seen, m->tail, *n * sizeof **seen);
    pthread_mutex_unlock(&t->lock);
    return *seen ? (nd_status)ND_OK : no_memory(op);
}

static bool has(const nd_tape_member *m, uint32_t node)
{
    for (uint32_t i = 0; i < m->n_tail; i++)
        if (m->tail[i] == node)
            return true;
    return false;
}

static bool come_after(nd_tape_member *m, const uint32_t *seen, uint32_t n)
{
    uint32_t *tail = realloc(m->tail, (m->n_tail + n) * sizeof *tail + 1);
    if (!tail)
        return false;
    m->tail = tail;
    for (uint32_t i = 0; i < n; i++)
        if (!has(m, seen[i]))
            m->tail[m->n_tail++] = seen[i];
    return true;
}

nd_status nd__tape_join(nd_tape *t, nd_stream *s, const char *op, const uint32_t *seen, uint32_t n)
{
    pthread_mutex_lock(&t->lock);
    bool done =
        !t->ended && (member_of(t, s) || enlist(t, s)) && come_after(member_of(t, s), seen, n);
    bool ended = t->ended;
    pthread_mutex_unlock(&t->lock);
    if (ended)
        return nd__fail(ND_ERR_CAPTURE, op, 0,
                        "the event was recorded in a capture that has ended; record it again");
    return done ? (nd_status)ND_OK : no_memory(op);
}

void nd__tape_end(nd_tape *t)
{
    pthread_mutex_lock(&t->lock);
    t->ended = true;
    const uint32_t n = t->n_members;
    pthread_mutex_unlock(&t->lock);
    for (uint32_t i = 0; i < n; i++) { /* nobody joins any more */
        nd_stream *s = t->member[i].stream;
        t->member[i].stream = NULL;
        if (s && atomic_exchange(&s->tape, NULL)) {
            atomic_fetch_sub(&s->device->noted, 1);
            nd__tape_release(t);
        }
        nd__stream_unhold(s);
    }
}

/* Marks the nodes that those of the list come after, and these. */
static void reach(const nd_tape *t, const uint32_t *from, uint32_t n, unsigned char *reached)
{
    for (uint32_t i = 0; i < n; i++)
        reached[from[i]] = 1;
    for (uint32_t i = t->n; i-- > 0;) /* a node comes after earlier ones alone */
        for (uint32_t b = 0; reached[i] && b < t->node[i]->n_before; b++)
            reached[t->node[i]->before[b]] = 1;
}

uint32_t nd__tape_length(const nd_stream *s)
{
    nd_tape *t = nd__tape_of(s);
    if (!t)
        return 0;
    pthread_mutex_lock(&t->lock);
    const uint32_t n = t->n;
    pthread_mutex_unlock(&t->lock);
    return n;
}

/* The latest of the first n nodes that was queued on a member's stream; n: there is none. */
static uint32_t latest(const nd_tape *t, uint32_t n, const nd_tape_member *m)
{
    for (uint32_t i = n; i-- > 0;)
        if (t->node[i]->member == (uint32_t)(m - t->member))
            return i;
    return n;
}

bool nd__tape_follows(const nd_stream *s, const nd_stream *other, uint32_t n)
{
    nd_tape *t = nd__tape_of(s);
    if (!t || nd__tape_of(other) != t)
        return false;
    pthread_mutex_lock(&t->lock);
    const nd_tape_member *mine = member_of(t, s), *theirs = member_of(t, other);
    n = n < t->n ? n : t->n;
    const uint32_t last = theirs ? latest(t, n, theirs) : n;
    unsigned char *reached = mine && theirs ? calloc(1, t->n + 1) : NULL;
    bool follows = reached && last == n;
    if (reached && !follows) {
        reach(t, mine->tail, mine->n_tail, reached);
        follows = reached[last];
    }
    pthread_mutex_unlock(&t->lock);
    free(reached);
    return follows;
}

bool nd__tape_unjoined(nd_tape *t, char *text, size_t n)
{
    size_t length = 0;
    text[0] = 0;
    unsigned char *reached = calloc(1, t->n + 1);
    pthread_mutex_lock(&t->lock);
    if (reached)
        reach(t, t->member[0].tail, t->member[0].n_tail, reached);
    for (uint32_t m = 1; reached && m < t->n_members; m++) {
        bool joined = true;
        for (uint32_t i = 0; i < t->n && joined; i++)
            joined = t->node[i]->member != m || reached[i];
        if (!joined && length < n)
            length += (size_t)snprintf(text + length, n - length, "%s%llu", length ? ", " : "",
                                       (unsigned long long)t->member[m].id);
    }
    pthread_mutex_unlock(&t->lock);
    free(reached);
    return length > 0;
}
