/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which streams have used a storage of an asynchronous device, so that it can be handed to another
 * library in order; and, for memory of others, the way back: their stream waits for our uses.
 *
 * A storage remembers the stream that used it last, which is one compare a use while there is only
 * one. The others, and all that has to do with strangers, are in a record that most storages never
 * have. Streams are remembered by id: they may be gone by the time somebody asks. */
#include <stdlib.h>
#include "core/lib/fork.h"
#include "core/interop/interop.h"
#include "core/memory/memory.h"

struct nd_sharing {
    uint64_t *ids; /* of streams, beside the last one */
    int n, room;
    nd_stream **lent;    /* exported, each retained */
    nd_stream *producer; /* retained */
    ndp_mem *mem;        /* with follow: the key of the table below */
    nd_sharing *next;
    bool follow;
};

enum { BUCKETS = 64 };
/* In the place of an id: there was no memory to remember one more, so all streams may be meant. */
#define EVERYONE UINT64_MAX
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static nd_sharing *followed[BUCKETS]; /* of imported memory whose producer waits for us */
atomic_int nd__followed;

static void count_followed(int more) /* under the lock */
{
    atomic_store(&nd__followed, atomic_load_explicit(&nd__followed, memory_order_relaxed) + more);
}

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
    return r && r->follow;
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

static nd_sharing **bucket_of(const ndp_mem *mem)
{
    return &followed[(uint64_t)(uintptr_t)mem * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}

void nd__import_from(nd_storage *storage, nd_stream *producer, bool follow)
{
    pthread_mutex_lock(&lock);
    nd_sharing *r = record_of(storage);
    r->producer = nd_stream_retain(producer);
    r->follow = follow;
    r->mem = storage->mem;
    if (follow) {
        nd_sharing **bucket = bucket_of(r->mem);
        r->next = *bucket;
        *bucket = r;
        count_followed(1);
    }
    pthread_mutex_unlock(&lock);
}

/* Retained; NULL: the memory is nobody's who would have to wait. */
static nd_stream *follower(const ndp_mem *mem)
{
    pthread_mutex_lock(&lock);
    const nd_sharing *r = *bucket_of(mem);
    while (r && r->mem != mem)
        r = r->next;
    nd_stream *producer = r ? nd_stream_retain(r->producer) : NULL;
    pthread_mutex_unlock(&lock);
    return producer;
}

nd_status nd__follow_slow(nd_stream *s, ndp_mem *const *mem, int n)
{
    nd_stream *done[8];
    int n_done = 0;
    nd_status status = ND_OK;
    if (nd__capture_id(s)) /* it runs with the graph, if ever */
        return ND_OK;
    for (int i = 0; i < n; i++) {
        nd_stream *producer = mem[i] ? follower(mem[i]) : NULL;
        bool known = !producer || producer == s;
        for (int k = 0; k < n_done && !known; k++)
            known = done[k] == producer;
        if (!known && status == ND_OK)
            status = nd_stream_wait_stream(producer, s);
        if (!known && n_done < 8)
            done[n_done++] = producer;
        else
            nd_stream_release(producer);
    }
    while (n_done)
        nd_stream_release(done[--n_done]);
    return status;
}

nd_status nd__follow_call_slow(nd_stream *s, const ndp_call *call)
{
    ndp_mem *mem[16];
    int n = 0;
    for (uint32_t i = 0; i < call->n_in && n < 8; i++)
        mem[n++] = call->in[i].mem;
    for (uint32_t i = 0; i < call->n_out && n < 16; i++)
        mem[n++] = call->out[i].mem;
    return nd__follow_slow(s, mem, n);
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
            nd__drain_stream(stream, "release");
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
    pthread_mutex_lock(&lock);
    for (nd_sharing **at = r->follow ? bucket_of(r->mem) : NULL; at && *at; at = &(*at)->next)
        if (*at == r) {
            *at = r->next;
            count_followed(-1);
            break;
        }
    pthread_mutex_unlock(&lock);
    for (int i = 0; r->lent && r->lent[i]; i++)
        nd_stream_release(r->lent[i]);
    nd_stream_release(r->producer);
    free(r->lent);
    free(r->ids);
    if (!foreign)
        free(r);
}
