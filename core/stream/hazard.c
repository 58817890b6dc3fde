/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Who used which bytes of a device last, and whether the next user is ordered after that: hazard
 * mode puts in the missing wait, the stream check reports it as a race. Vector clocks: an access is
 * (stream, number on it); a stream's clock says up to which number of every other stream it is
 * ordered, an event's what a wait for it brings. The allocator's own events count like a program's,
 * so that memory which is used again before its last user is done is a race too. Nothing here runs
 * unless one of the two is on. */
#include <stdio.h>
#include <stdlib.h>
#include "core/stream/streams.h"
#include "core/base/env.h"

typedef struct {
    uint64_t stream, seq;
} tick;
struct nd_clock {
    tick *ticks;
    int n, room;
};

/* Bytes of mem from low to high; with period > 0 only those at phase to phase + item of each
 * period, which tells interleaved views apart. */
typedef struct {
    ndp_mem *mem;
    int64_t low, high, period, phase, item;
    bool write;
} span;
/* Streams are remembered by id: they may be gone by the time somebody asks. */
typedef struct {
    span at;
    nd_device *device; /* of the stream */
    uint64_t stream, seq;
    char name[32], tag[ND_TAG_SIZE];
} access;

/* Of one block of device memory. Memory of others has a block of its own, and yet may be a part of
 * one of ours: then the addresses tell. */
typedef struct history {
    struct history *next;
    ndp_mem *mem;
    nd_device *device;
    uint64_t base; /* address where mem begins; 0: not known */
    bool foreign;
    access *accesses;
    int n, room;
} history;
/* What the latest record of an event is behind. */
typedef struct event_clock {
    struct event_clock *next;
    const ndp_event *event;
    nd_clock clock;
} event_clock;

enum { HAZARD_MODE = 1, STREAM_CHECK = 2, BUCKETS = 256 };
atomic_int nd__hazards = -1; /* HAZARD_MODE | STREAM_CHECK; -1: the environment was not read yet */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static history *histories[BUCKETS];
static event_clock *event_clocks[BUCKETS];
static nd_clock host;  /* what the host has waited for */
static uint64_t since; /* streams' clocks of an earlier time are void */
static int64_t races;
static nd_text report;
atomic_int nd__hazard_histories;
static int foreign_histories; /* those of them whose memory is not ours; under the lock */

/* Hazard mode keeps no history while one stream alone has been used. The first op of another stream
 * waits for all of that: `first` stands for the history that there is not. */
#define SEVERAL UINT64_MAX
static atomic_uint_fast64_t only, only_seq; /* id, 0: none was used yet; the latest op there */
static nd_device *only_device;
static struct {
    nd_device *device;
    uint64_t stream, seq;
} first;

int nd__hazards_from_environment(void)
{
    int expected = -1;
    (void)atomic_compare_exchange_strong(&nd__hazards, &expected,
                                         nd__env_bool(ND_ENV_STREAM_CHECK) ? STREAM_CHECK : 0);
    return atomic_load(&nd__hazards);
}

static int bucket_of(const void *p)
{
    return (int)(((uint64_t)(uintptr_t)p * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
}

/* What was queued while both were off is not known, so what was known before is of no use. */
static void forget_all(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < BUCKETS; i++) {
        for (history *h = histories[i]; h; h = h->next)
            h->n = 0;
        for (event_clock *e = event_clocks[i]; e; e = e->next)
            e->clock.n = 0;
    }
    host.n = 0;
    first.stream = 0;
    atomic_store(&only, 0);
    since++;
    pthread_mutex_unlock(&lock);
}

static void turn(int bit, int32_t on)
{
    if (on && nd__hazards_now() == 0)
        forget_all();
    if (on)
        atomic_fetch_or(&nd__hazards, bit);
    else if (nd__hazards_now())
        atomic_fetch_and(&nd__hazards, ~bit);
}

void nd_hazard_mode_set(int32_t on)
{
    turn(HAZARD_MODE, on);
}
int32_t nd_hazard_mode(void)
{
    return (nd__hazards_now() & HAZARD_MODE) != 0;
}
void nd_stream_check_set(int32_t on)
{
    turn(STREAM_CHECK, on);
}

/* ---- clocks ---- */
static uint64_t seen(const nd_clock *c, uint64_t stream)
{
    for (int i = 0; i < c->n; i++)
        if (c->ticks[i].stream == stream)
            return c->ticks[i].seq;
    return 0;
}

static void advance(nd_clock *c, uint64_t stream, uint64_t seq)
{
    for (int i = 0; i < c->n; i++)
        if (c->ticks[i].stream == stream) {
            c->ticks[i].seq = seq > c->ticks[i].seq ? seq : c->ticks[i].seq;
            return;
        }
    if (c->n == c->room) {
        tick *grown = realloc(c->ticks, (size_t)(c->room + 8) * sizeof *grown);
        if (!grown)
            return; /* an order forgotten: one wait too many, or a race reported that is none */
        c->ticks = grown;
        c->room += 8;
    }
    c->ticks[c->n++] = (tick){stream, seq};
}

static void join(nd_clock *to, const nd_clock *from)
{
    for (int i = 0; i < from->n; i++)
        advance(to, from->ticks[i].stream, from->ticks[i].seq);
}

static nd_clock *clock_of(nd_stream *s)
{
    static nd_clock spare;
    if (!s->clock)
        s->clock = calloc(1, sizeof *s->clock);
    nd_clock *c = s->clock ? s->clock : &spare;
    if (s->clock_since != since)
        c->n = 0;
    s->clock_since = since;
    return c;
}

void nd__hazard_clock_free(nd_clock *c)
{
    if (c)
        free(c->ticks);
    free(c);
}

/* Everything queued on s so far, as seen from behind it. */
static void join_stream(nd_clock *to, nd_stream *s)
{
    join(to, clock_of(s));
    advance(to, s->id, s->seq);
}

static event_clock *find_event(const ndp_event *event)
{
    event_clock *e = event_clocks[bucket_of(event)];
    while (e && e->event != event)
        e = e->next;
    return e;
}

void nd__hazard_record(nd_stream *s, const ndp_event *event)
{
    pthread_mutex_lock(&lock);
    event_clock *e = find_event(event);
    if (!e && (e = calloc(1, sizeof *e)) != NULL) {
        *e = (event_clock){.next = event_clocks[bucket_of(event)], .event = event};
        event_clocks[bucket_of(event)] = e;
    }
    if (e) {
        e->clock.n = 0;
        join_stream(&e->clock, s);
    }
    pthread_mutex_unlock(&lock);
}

void nd__hazard_wait(nd_stream *s, const ndp_event *event)
{
    pthread_mutex_lock(&lock);
    const event_clock *e = find_event(event);
    if (e)
        join(s ? clock_of(s) : &host, &e->clock);
    pthread_mutex_unlock(&lock);
}

void nd__hazard_settled(nd_stream *s)
{
    pthread_mutex_lock(&lock);
    join_stream(&host, s);
    pthread_mutex_unlock(&lock);
}

/* ---- spans ---- */
static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

static span span_of(const ndp_view *v, bool write)
{
    int64_t low = 0, high = 0, n = nd__itemsize(v->dtype), period = 0;
    (void)nd__extent(v->ndim, v->shape, v->stride, &low, &high); /* checked with the view */
    for (int d = 0; d < v->ndim; d++)
        period = v->shape[d] > 1 ? gcd(period, v->stride[d] * n) : period;
    span s = {.mem = v->mem,
              .low = v->offset_bytes + low * n,
              .high = v->offset_bytes + high * n,
              .period = period > n ? period : 0,
              .item = n,
              .write = write};
    s.phase = s.period ? ((v->offset_bytes % s.period) + s.period) % s.period : 0;
    return s;
}

/* Elements of both lie at their phase modulo a common period. */
static bool phases_meet(const span *a, const span *b)
{
    int64_t period = a->period && b->period ? gcd(a->period, b->period) : 0;
    if (period == 0)
        return true;
    int64_t apart = ((b->phase - a->phase) % period + period) % period;
    return apart < a->item || period - apart < b->item;
}

static bool conflict(const span *a, const span *b)
{
    return a->mem == b->mem && (a->write || b->write) && a->low < b->high && b->low < a->high &&
           phases_meet(a, b);
}

static bool covers(const span *a, const span *b)
{
    return a->mem == b->mem && !a->period && a->low <= b->low && b->high <= a->high;
}

/* ---- history ---- */
static history *history_of(nd_device *device, ndp_mem *mem)
{
    history **bucket = &histories[bucket_of(mem)], *h = *bucket;
    while (h && h->mem != mem)
        h = h->next;
    if (!h && (h = calloc(1, sizeof *h)) != NULL) {
        *h = (history){.next = *bucket, .mem = mem, .device = device};
        *bucket = h;
        atomic_fetch_add(&nd__hazard_histories, 1);
    }
    return h;
}

static void drop(history *h, int i)
{
    h->accesses[i] = h->accesses[--h->n];
}

/* A write behind everything it covers makes that history; so does a stream's next read. */
static void append(history *h, const access *now)
{
    for (int i = h->n - 1; i >= 0; i--) {
        const access *old = &h->accesses[i];
        if (covers(&now->at, &old->at) &&
            (now->at.write || (!old->at.write && old->stream == now->stream)))
            drop(h, i);
    }
    if (h->n == h->room) {
        access *grown = realloc(h->accesses, (size_t)(h->room + 64) * sizeof *grown);
        if (!grown)
            return;
        h->accesses = grown;
        h->room += 64;
    }
    h->accesses[h->n++] = *now;
}

static void tell(const access *old, const access *now)
{
    races++;
    nd_text t = {0};
    nd__text_add(&t,
                 "%s: %s%s%s%s on stream %llu %s what %s%s%s%s on stream %llu %s, and nothing "
                 "orders them; make one stream wait (nd_stream_wait_stream, nd_stream_wait_event)",
                 now->device->name, now->name, now->tag[0] ? " \"" : "", now->tag,
                 now->tag[0] ? "\"" : "", (unsigned long long)now->stream,
                 now->at.write ? "writes" : "reads", old->name, old->tag[0] ? " \"" : "", old->tag,
                 old->tag[0] ? "\"" : "", (unsigned long long)old->stream,
                 old->at.write ? "wrote" : "reads");
    if (t.data) {
        nd__text_add(&report, "%s%s", report.len ? "\n" : "", t.data);
        nd__log(ND_LOG_ERROR, "race on %s", t.data);
    }
    free(t.data);
}

/* The first access not ordered before now, copied; what the host has waited for is dropped, since
 * all later work comes after it. */
static bool find_unordered(history *h, const nd_clock *mine, const access *now, access *out)
{
    for (int i = h->n - 1; i >= 0; i--) {
        const access *old = &h->accesses[i];
        if (seen(&host, old->stream) >= old->seq) {
            drop(h, i);
        } else if (old->stream != now->stream && conflict(&old->at, &now->at) &&
                   seen(mine, old->stream) < old->seq) {
            *out = *old;
            return true;
        }
    }
    return false;
}

static uint64_t base_of(history *h)
{
    const nd_device *d = h->device;
    if (!h->base && d->map.address && d->map.address(d->dev, h->mem, &h->base) != NDP_OK)
        h->base = 0;
    return h->base;
}

/* The access as seen from another block, which begins elsewhere. */
static access seen_from(const access *now, const history *from, const history *to)
{
    access moved = *now;
    int64_t by = (int64_t)(from->base - to->base), period = now->at.period;
    moved.at.mem = to->mem;
    moved.at.low += by;
    moved.at.high += by;
    if (period)
        moved.at.phase = ((now->at.phase + by) % period + period) % period;
    return moved;
}

/* In the block's own history, and where foreign memory is about in those of other names for it. */
static bool find_anywhere(history *h, const nd_clock *mine, const access *now, access *out)
{
    if (find_unordered(h, mine, now, out))
        return true;
    for (int i = 0; foreign_histories && i < BUCKETS; i++)
        for (history *other = histories[i]; other; other = other->next) {
            if (other == h || other->device != h->device || !(other->foreign || h->foreign) ||
                !base_of(other) || !base_of(h))
                continue;
            const access moved = seen_from(now, h, other);
            if (find_unordered(other, mine, &moved, out))
                return true;
        }
    return false;
}

static bool alone(nd_stream *s)
{
    uint64_t id = atomic_load_explicit(&only, memory_order_relaxed);
    if (id == SEVERAL || nd__hazards_now() != HAZARD_MODE)
        return false;
    if (id == 0) {
        pthread_mutex_lock(&lock);
        if ((id = atomic_load(&only)) == 0) {
            only_device = s->device;
            atomic_store(&only, id = s->id);
        }
        pthread_mutex_unlock(&lock);
    }
    if (id == s->id)
        atomic_store_explicit(&only_seq, s->seq + 1, memory_order_relaxed);
    return id == s->id;
}

/* Behind what the first stream did while it was alone. The lock is held, but while s waits. */
static nd_status follow_first(nd_stream *s)
{
    nd_status status = ND_OK;
    uint64_t id = atomic_load(&only);
    if (id != 0 && id != SEVERAL) {
        first.device = only_device;
        first.stream = id;
        first.seq = atomic_load(&only_seq);
    }
    atomic_store(&only, SEVERAL);
    if (!first.stream || first.stream == s->id || first.device->slot != s->device->slot ||
        seen(clock_of(s), first.stream) >= first.seq)
        return ND_OK;
    pthread_mutex_unlock(&lock);
    status = nd__wait_stream_id(s, first.device, first.stream);
    pthread_mutex_lock(&lock);
    advance(clock_of(s), first.stream, first.seq);
    return status;
}

static nd_status use(nd_stream *s, access *now)
{
    int modes = nd__hazards_now();
    nd_status status = ND_OK;
    access old;
    pthread_mutex_lock(&lock);
    join(clock_of(s), &host);
    if (modes & HAZARD_MODE)
        status = follow_first(s);
    history *h = history_of(s->device, now->at.mem);
    while (status == ND_OK && h && find_anywhere(h, clock_of(s), now, &old)) {
        if (modes & HAZARD_MODE) {
            pthread_mutex_unlock(&lock);
            status = nd__wait_stream_id(s, old.device, old.stream);
            pthread_mutex_lock(&lock);
            h = history_of(s->device, now->at.mem);
        } else {
            tell(&old, now);
        }
        advance(clock_of(s), old.stream, old.seq); /* reported once */
    }
    if (status == ND_OK && h)
        append(h, now);
    pthread_mutex_unlock(&lock);
    return status;
}

static access access_of(const nd_stream *s, const char *name, uint64_t seq)
{
    access now = {.device = s->device, .stream = s->id, .seq = seq};
    snprintf(now.name, sizeof now.name, "%s", name);
    snprintf(now.tag, sizeof now.tag, "%s", nd__tag());
    return now;
}

/* What is captured does not run now. */
nd_status nd__hazard_call(nd_stream *s, const ndp_call *call, const char *name)
{
    if (alone(s) || nd__capture_id(s))
        return ND_OK;
    access now = access_of(s, name, s->seq + 1);
    for (uint32_t i = 0; i < call->n_in; i++)
        if (call->in[i].mem) {
            now.at = span_of(&call->in[i], false);
            ND_RETURN_IF(use(s, &now));
        }
    for (uint32_t i = 0; i < call->n_out; i++) {
        now.at = span_of(&call->out[i], true);
        ND_RETURN_IF(use(s, &now));
    }
    return ND_OK;
}

static nd_status use_bytes(nd_stream *s, ndp_mem *mem, uint64_t offset, uint64_t nbytes, bool write,
                           const char *name, uint64_t seq)
{
    if (alone(s) || nd__capture_id(s))
        return ND_OK;
    access now = access_of(s, name, seq);
    now.at = (span){
        .mem = mem, .low = (int64_t)offset, .high = (int64_t)(offset + nbytes), .write = write};
    return use(s, &now);
}

nd_status nd__hazard_bytes(nd_stream *s, ndp_mem *mem, uint64_t offset, uint64_t nbytes, bool write,
                           const char *name)
{
    return use_bytes(s, mem, offset, nbytes, write, name, s->seq + 1);
}

/* The host waits, so that what is behind the stream's end is behind the read. */
nd_status nd__hazard_read(nd_stream *s, ndp_mem *mem, uint64_t offset, uint64_t nbytes,
                          const char *name)
{
    return use_bytes(s, mem, offset, nbytes, false, name, s->seq);
}

void nd__hazard_foreign(nd_device *d, ndp_mem *mem, uint64_t address)
{
    pthread_mutex_lock(&lock);
    history *h = history_of(d, mem);
    if (h) {
        foreign_histories += !h->foreign;
        h->foreign = true;
        h->base = address;
    }
    pthread_mutex_unlock(&lock);
}

void nd__hazard_forget(ndp_mem *mem)
{
    pthread_mutex_lock(&lock);
    history **at = &histories[bucket_of(mem)], *h;
    while (*at && (*at)->mem != mem)
        at = &(*at)->next;
    if ((h = *at) != NULL) {
        *at = h->next;
        foreign_histories -= h->foreign;
        atomic_fetch_sub(&nd__hazard_histories, 1);
        free(h->accesses);
        free(h);
    }
    pthread_mutex_unlock(&lock);
}

nd_status nd_stream_check_report(char **out, int64_t *count)
{
    ND_OUT("stream_check_report", 0, out, NULL);
    ND_OUT("stream_check_report", 1, count, 0);
    pthread_mutex_lock(&lock);
    *count = races;
    *out = strdup(report.data ? report.data : "");
    free(report.data);
    report = (nd_text){0};
    races = 0;
    pthread_mutex_unlock(&lock);
    return *out ? (nd_status)ND_OK
                : nd__fail(ND_ERR_MEMORY, "stream_check_report", -1, "no memory for the text");
}
