/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Who used which bytes of a device last, and whether the next user is ordered after that: hazard
 * mode puts in the missing wait, the stream check reports it as a race. Vector clocks: an access is
 * (stream, number on it); a stream's clock says up to which number of every other stream it is
 * ordered. Memory that the allocator gives out again is ordered by the allocator, so its history is
 * dropped. Nothing here runs unless one of the two is on. */
#include <stdio.h>
#include <stdlib.h>
#include "core/core.h"
#include "core/memory/memory.h"

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
typedef struct {
    span at;
    nd_stream *stream; /* held */
    uint64_t seq;
    char name[32], tag[ND_TAG_SIZE];
} access;

/* One for each device that has been used since the switch was turned on. */
typedef struct history {
    struct history *next;
    nd_device *device;
    access *accesses;
    int n, room;
} history;
/* A stream's clock. */
typedef struct stream_clock {
    struct stream_clock *next;
    uint64_t stream;
    nd_clock clock;
} stream_clock;

enum { HAZARD_MODE = 1, STREAM_CHECK = 2 };
atomic_int nd__hazards = -1; /* HAZARD_MODE | STREAM_CHECK; -1: the environment was not read yet */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static history *histories;
static stream_clock *clocks;
static nd_clock host; /* what the host has waited for */
static int64_t races;
static nd_text report;

int nd__hazards_from_environment(void)
{
    const char *text = nd__getenv("NDOCK_STREAM_CHECK");
    int expected = -1;
    (void)atomic_compare_exchange_strong(&nd__hazards, &expected,
                                         text && strcmp(text, "0") != 0 ? STREAM_CHECK : 0);
    return atomic_load(&nd__hazards);
}

static void turn(int bit, int32_t on)
{
    (void)nd__hazards_now();
    if (on)
        atomic_fetch_or(&nd__hazards, bit);
    else
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

static nd_clock *clock_of(uint64_t stream)
{
    static nd_clock spare;
    stream_clock *c = clocks;
    while (c && c->stream != stream)
        c = c->next;
    if (!c && (c = calloc(1, sizeof *c)) != NULL) {
        *c = (stream_clock){.next = clocks, .stream = stream};
        clocks = c;
    }
    return c ? &c->clock : &spare;
}

/* Everything queued on s so far, as seen from behind it. */
static void join_stream(nd_clock *to, const nd_stream *s)
{
    join(to, clock_of(s->id));
    advance(to, s->id, s->seq);
}

void nd__hazard_record(nd_event *e, nd_stream *s)
{
    pthread_mutex_lock(&lock);
    if (!e->clock)
        e->clock = calloc(1, sizeof *e->clock);
    if (e->clock) {
        e->clock->n = 0;
        join_stream(e->clock, s);
    }
    pthread_mutex_unlock(&lock);
}

void nd__hazard_clock_free(nd_clock *c)
{
    if (c)
        free(c->ticks);
    free(c);
}

void nd__hazard_wait_event(nd_stream *s, const nd_event *e)
{
    pthread_mutex_lock(&lock);
    if (e->clock)
        join(s ? clock_of(s->id) : &host, e->clock);
    pthread_mutex_unlock(&lock);
}

void nd__hazard_wait_stream(nd_stream *s, const nd_stream *other)
{
    pthread_mutex_lock(&lock);
    join_stream(s ? clock_of(s->id) : &host, other);
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
static history *history_of(nd_device *device)
{
    history *h = histories;
    while (h && h->device != device)
        h = h->next;
    if (!h && (h = calloc(1, sizeof *h)) != NULL) {
        *h = (history){.next = histories, .device = device};
        histories = h;
    }
    return h;
}

static void drop(history *h, int i)
{
    nd__stream_unhold(h->accesses[i].stream);
    h->accesses[i] = h->accesses[--h->n];
}

/* A write behind everything it covers makes that history; so does a stream's next read. */
static void append(history *h, const span *at, nd_stream *s, uint64_t seq, const char *name)
{
    for (int i = h->n - 1; i >= 0; i--) {
        const access *old = &h->accesses[i];
        if (covers(at, &old->at) && (at->write || (!old->at.write && old->stream == s)))
            drop(h, i);
    }
    if (h->n == h->room) {
        access *grown = realloc(h->accesses, (size_t)(h->room + 64) * sizeof *grown);
        if (!grown)
            return;
        h->accesses = grown;
        h->room += 64;
    }
    access *a = &h->accesses[h->n++];
    *a = (access){.at = *at, .stream = s, .seq = seq};
    snprintf(a->name, sizeof a->name, "%s", name);
    snprintf(a->tag, sizeof a->tag, "%s", nd__tag());
    nd__stream_hold(s);
}

static void tell(const access *old, nd_stream *s, const span *now, const char *name)
{
    const char *tag = nd__tag();
    races++;
    nd_text t = {0};
    nd__text_add(&t,
                 "%s: %s%s%s%s on stream %llu %s what %s%s%s%s on stream %llu %s, and nothing "
                 "orders them; make one stream wait (nd_stream_wait_stream, nd_stream_wait_event)",
                 s->device->name, name, tag[0] ? " \"" : "", tag, tag[0] ? "\"" : "",
                 (unsigned long long)s->id, now->write ? "writes" : "reads", old->name,
                 old->tag[0] ? " \"" : "", old->tag, old->tag[0] ? "\"" : "",
                 (unsigned long long)old->stream->id, old->at.write ? "wrote" : "reads");
    if (t.data) {
        nd__text_add(&report, "%s%s", report.len ? "\n" : "", t.data);
        nd__log(ND_LOG_ERROR, "race on %s", t.data);
    }
    free(t.data);
}

/* The first access not ordered before s; its stream is held for the caller. */
static nd_stream *find_unordered(history *h, nd_stream *s, const span *at, const char *name,
                                 bool check)
{
    const nd_clock *mine = clock_of(s->id);
    for (int i = 0; i < h->n; i++) {
        const access *old = &h->accesses[i];
        if (old->stream == s || !conflict(&old->at, at) || seen(mine, old->stream->id) >= old->seq)
            continue;
        if (check)
            tell(old, s, at, name);
        nd__stream_hold(old->stream);
        return old->stream;
    }
    return NULL;
}

static nd_status use(nd_stream *s, const span *at, const char *name, uint64_t seq)
{
    int modes = nd__hazards_now();
    nd_stream *other;
    pthread_mutex_lock(&lock);
    join(clock_of(s->id), &host);
    history *h = history_of(s->device);
    while (h && (other = find_unordered(h, s, at, name, modes & STREAM_CHECK)) != NULL) {
        nd_status status = ND_OK;
        if (modes & HAZARD_MODE) {
            pthread_mutex_unlock(&lock);
            status = nd_stream_wait_stream(s, other);
            pthread_mutex_lock(&lock);
        } else {
            join_stream(clock_of(s->id), other); /* reported once, not with every later access */
        }
        nd__stream_unhold(other);
        if (status != ND_OK) {
            pthread_mutex_unlock(&lock);
            return status;
        }
    }
    if (h)
        append(h, at, s, seq, name);
    pthread_mutex_unlock(&lock);
    return ND_OK;
}

nd_status nd__hazard_call(nd_stream *s, const ndp_call *call, const char *name)
{
    uint64_t seq = s->seq + 1;
    for (uint32_t i = 0; i < call->n_in; i++)
        if (call->in[i].mem) {
            span at = span_of(&call->in[i], false);
            ND_RETURN_IF(use(s, &at, name, seq));
        }
    for (uint32_t i = 0; i < call->n_out; i++) {
        span at = span_of(&call->out[i], true);
        ND_RETURN_IF(use(s, &at, name, seq));
    }
    return ND_OK;
}

nd_status nd__hazard_bytes(nd_stream *s, ndp_mem *mem, uint64_t offset, uint64_t nbytes, bool write,
                           const char *name)
{
    span at = {
        .mem = mem, .low = (int64_t)offset, .high = (int64_t)(offset + nbytes), .write = write};
    return use(s, &at, name, s->seq + 1);
}

void nd__hazard_forget(nd_device *device, ndp_mem *mem, uint64_t offset, uint64_t nbytes)
{
    const span block = {.mem = mem, .low = (int64_t)offset, .high = (int64_t)(offset + nbytes)};
    pthread_mutex_lock(&lock);
    history *h = history_of(device);
    for (int i = h ? h->n - 1 : -1; i >= 0; i--)
        if (covers(&block, &h->accesses[i].at))
            drop(h, i);
    pthread_mutex_unlock(&lock);
}

nd_status nd_stream_check_report(char **out, int64_t *count)
{
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
