/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which streams have used a storage of an asynchronous device, so that it can be handed to another
 * library in order; and, for imported memory, that the producer's stream waits until our work is
 * done (core/stream/follow.c).
 *
 * A storage remembers the stream that used it last, which is one compare a use while there is only
 * one. The others, and all that has to do with strangers, are in a record that most storages never
 * have. Streams are remembered by id: they may be gone by the time somebody asks. */
#include <stdlib.h>
#include "core/array/array.h"
#include "core/memory/memory.h"

struct nd_sharing {
    uint64_t *ids; /* of streams, beside the last one */
    int n, room;
    nd_stream **lent;    /* exported, each retained */
    nd_stream *producer; /* retained */
    bool followed;       /* the producer's stream waits for us: `follow` is in the table */
    nd_follow follow;
};

/* In the place of an id: there was no memory to remember one more, so all streams may be meant. */
#define EVERYONE UINT64_MAX
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void nd__fork_sharing(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}

const size_t nd__sharing_room = sizeof(nd_sharing);

/* Foreign storages have room behind them: most have a producer. */
static nd_sharing *record_of(nd_storage *s) /* under the lock; NULL: no memory */
{
    nd_sharing *r = atomic_load_explicit(&s->sharing, memory_order_relaxed);
    if (!r && (r = s->block ? malloc(sizeof *r) : (nd_sharing *)(s + 1)) != NULL) {
        *r = (nd_sharing){0};
        atomic_store_explicit(&s->sharing, r, memory_order_release);
    }
    return r;
}

/* ---- users ---- */
static void strike(nd_sharing *r, uint64_t id)
{
    for (int i = 0; i < r->n; i++)
        if (r->ids[i] == id)
            r->ids[i--] = r->ids[--r->n];
}

static bool note(nd_sharing *r, uint64_t id)
{
    strike(r, id);
    if (r->n == r->room) {
        int room = r->room ? 2 * r->room : 4;
        uint64_t *grown = realloc(r->ids, (size_t)room * sizeof *grown);
        if (!grown)
            return false;
        r->ids = grown;
        r->room = room;
    }
    r->ids[r->n++] = id;
    return true;
}

/* What is done already need not be remembered. */
static void prune(nd_storage *s)
{
    uint64_t *ids = NULL;
    int n = 0;
    pthread_mutex_lock(&lock);
    nd_sharing *r = atomic_load(&s->sharing);
    if (r && r->n && r->n == r->room && (ids = malloc((size_t)r->n * sizeof *ids)) != NULL)
        memcpy(ids, r->ids, (size_t)(n = r->n) * sizeof *ids);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n; i++)
        if (nd__stream_id_done(s->device, ids[i])) {
            pthread_mutex_lock(&lock);
            strike(r, ids[i]);
            pthread_mutex_unlock(&lock);
        }
    free(ids);
}

/* What is captured does not run now. */
void nd__used_elsewhere(nd_storage *s, nd_stream *stream)
{
    if (nd__capture_id(stream))
        return;
    prune(s);
    pthread_mutex_lock(&lock);
    uint64_t before = atomic_load_explicit(&s->user, memory_order_relaxed), now = stream->id;
    if (before != now && before != EVERYONE) {
        nd_sharing *r = before ? record_of(s) : atomic_load(&s->sharing);
        if (r)
            strike(r, now);
        if (before && (!r || !note(r, before)))
            now = EVERYONE;
        atomic_store_explicit(&s->user, now, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
}

static void forget(nd_storage *s, uint64_t id)
{
    pthread_mutex_lock(&lock);
    nd_sharing *r = atomic_load(&s->sharing);
    if (r)
        strike(r, id);
    if (atomic_load(&s->ready) == id)
        atomic_store(&s->ready, 0);
    if (atomic_load(&s->user) == id)
        atomic_store(&s->user, 0);
    pthread_mutex_unlock(&lock);
}

/* A copy of the ids, in fixed where they fit; NULL: no memory. contents: that of the stream which
 * brings them as well. */
enum { FEW = 16 };
static uint64_t *users(nd_storage *s, bool contents, uint64_t *fixed, int *n, bool *forgot)
{
    uint64_t *ids = fixed, last;
    *n = 0;
    *forgot = false;
    pthread_mutex_lock(&lock);
    const nd_sharing *r = atomic_load(&s->sharing);
    if (r && r->n >= FEW)
        ids = malloc((size_t)(r->n + 2) * sizeof *ids);
    if (ids && r && r->n)
        memcpy(ids, r->ids, (size_t)(*n = r->n) * sizeof *ids);
    const uint64_t ready = contents ? atomic_load(&s->ready) : 0;
    if (ids && ready)
        ids[(*n)++] = ready;
    last = atomic_load(&s->user);
    *forgot = last == EVERYONE;
    if (ids && last && !*forgot)
        ids[(*n)++] = last;
    pthread_mutex_unlock(&lock);
    return ids;
}

static bool follows(const nd_storage *s)
{
    const nd_sharing *r = atomic_load_explicit(&s->sharing, memory_order_acquire);
    return r && r->followed;
}

static nd_status no_memory(const char *op)
{
    return nd__fail(ND_ERR_MEMORY, op, -1, "no host memory for a list of streams");
}

/* s behind what is queued on the stream of that id; refused where one of the two is captured. */
static nd_status join_one(const char *op, nd_device *d, nd_stream *s, uint64_t id)
{
    nd_status status = ND_OK;
    nd_stream *other = nd__stream_by_id(d, id);
    uint64_t capture = other ? nd__capture_id(other) : 0;
    if (capture && capture != nd__capture_id(s))
        status = nd__fail(ND_ERR_CAPTURE, op, 0,
                          "the array has work pending on stream %llu, which is being captured; "
                          "exchange it after the capture has ended",
                          (unsigned long long)id);
    nd_stream_release(other);
    return status == ND_OK ? nd__wait_stream_id(s, d, id) : status;
}

nd_status nd__join_users(const char *op, nd_storage *storage, nd_stream *s, bool keep,
                         bool *pending)
{
    uint64_t fixed[FEW + 2];
    bool forgot;
    int n;
    nd_status status = ND_OK;
    nd_device *d = storage->device;
    *pending = follows(storage);
    if (*pending) /* all of ours lies behind that stream already */
        return nd_stream_wait_stream(s, nd__producer(storage));
    uint64_t *ids = users(storage, true, fixed, &n, &forgot);
    if (!ids)
        return no_memory(op);
    if (forgot) /* a rarity: everything is waited for */
        status = nd__wait_device(d, ND_WAIT_DATA, op);
    for (int i = 0; i < n && status == ND_OK; i++) {
        if (nd__stream_id_done(d, ids[i])) {
            forget(storage, ids[i]);
            continue;
        }
        *pending = true;
        if (ids[i] == s->id)
            continue;
        status = join_one(op, d, s, ids[i]);
        if (status == ND_OK && keep)
            forget(storage, ids[i]);
    }
    if (ids != fixed)
        free(ids);
    if (status == ND_OK && *pending && keep)
        nd__used_on(storage, s);
    return status;
}

nd_status nd__wait_users(const char *op, nd_storage *storage)
{
    uint64_t fixed[FEW + 2];
    bool forgot;
    int n;
    nd_status status = ND_OK;
    nd_device *d = storage->device;
    nd_stream *producer = nd__producer(storage);
    uint64_t *ids = users(storage, true, fixed, &n, &forgot);
    if (!ids || forgot)
        status = nd__wait_device(d, ND_WAIT_DATA, op);
    else if (producer)
        status = nd__wait(producer, ND_WAIT_DATA, op);
    for (int i = 0; ids && i < n && status == ND_OK; i++) {
        nd_stream *stream = nd__stream_id_done(d, ids[i]) ? NULL : nd__stream_by_id(d, ids[i]);
        if (stream)
            status = nd__wait(stream, ND_WAIT_DATA, op);
        else if (!nd__stream_id_done(d, ids[i]))
            status = nd__wait_ends(d, op);
        nd_stream_release(stream);
        if (status == ND_OK)
            forget(storage, ids[i]);
    }
    if (ids != fixed)
        free(ids);
    return status;
}

/* ---- strangers ---- */
nd_status nd__lend_stream(const char *op, nd_storage *storage, nd_stream *s)
{
    nd_block *block = storage->block;
    nd_status status = ND_OK;
    if (block && block->backend->type->record_stream)
        ND_RETURN_IF(block->backend->type->record_stream(block, s));
    atomic_store_explicit(&s->lent, true, memory_order_relaxed);
    if (s->immortal)
        return ND_OK;
    pthread_mutex_lock(&lock);
    nd_sharing *r = record_of(storage);
    int n = 0;
    while (r && r->lent && r->lent[n] && r->lent[n] != s)
        n++;
    if (r && !(r->lent && r->lent[n])) {
        nd_stream **grown = realloc(r->lent, (size_t)(n + 2) * sizeof *grown);
        if (grown) {
            r->lent = grown;
            r->lent[n] = nd_stream_retain(s);
            r->lent[n + 1] = NULL;
        }
        status = grown ? (nd_status)ND_OK : ND_ERR_MEMORY;
    }
    pthread_mutex_unlock(&lock);
    return r && status == ND_OK ? (nd_status)ND_OK : no_memory(op);
}

nd_stream *nd__producer(const nd_storage *storage)
{
    const nd_sharing *r = atomic_load_explicit(&storage->sharing, memory_order_acquire);
    return r ? r->producer : NULL;
}

void nd__import_from(nd_storage *storage, nd_stream *producer, bool follow)
{
    pthread_mutex_lock(&lock);
    nd_sharing *r = record_of(storage);
    r->producer = nd_stream_retain(producer);
    r->followed = follow;
    r->follow = (nd_follow){.mem = storage->mem, .producer = producer};
    pthread_mutex_unlock(&lock);
    if (follow)
        nd__follow_add(&r->follow);
}

/* ---- the end ---- */
bool nd__drain_waits(const nd_storage *s)
{
    if (!atomic_load_explicit(&s->sharing, memory_order_acquire))
        return atomic_load_explicit(&s->user, memory_order_relaxed) != 0;
    return !follows(s); /* else its owner's stream is behind our uses already */
}

void nd__drain_users(nd_storage *s)
{
    uint64_t fixed[FEW + 2];
    bool forgot;
    int n;
    nd_device *d = s->device;
    if (!nd__drain_waits(s))
        return;
    uint64_t *ids = users(s, false, fixed, &n, &forgot);
    for (int i = 0; ids && i < n && !forgot; i++) {
        nd_stream *stream = nd__stream_id_done(d, ids[i]) ? NULL : nd__stream_by_id(d, ids[i]);
        if (stream)
            (void)nd__drain_stream(stream, "release");
        else if (!nd__stream_id_done(d, ids[i]))
            (void)nd__wait_ends(d, "release");
        nd_stream_release(stream);
    }
    if (!ids || forgot)
        nd__drain(d, "release");
    if (ids != fixed)
        free(ids);
}

void nd__sharing_end(nd_sharing *r, bool foreign)
{
    if (!r)
        return;
    if (r->followed)
        nd__follow_remove(&r->follow);
    for (int i = 0; r->lent && r->lent[i]; i++)
        nd_stream_release(r->lent[i]);
    nd_stream_release(r->producer);
    free(r->lent);
    free(r->ids);
    if (!foreign)
        free(r);
}
