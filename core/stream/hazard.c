/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Who used which bytes of a device last, and whether the next user is ordered after that: hazard
 * mode puts in the missing wait, the stream check reports it as a race. Vector clocks: an access is
 * (stream, number on it); a stream's clock says up to which number of every other stream it is
 * ordered, an event's what a wait for it brings. The allocator's own events count like a program's,
 * so that memory which is used again before its last user is done is a race too. Nothing here runs
 * unless one of the two is on. */
#include <stdio.h>
#include <stdlib.h>
#include "core/base/env.h"
#include "core/stream/history.h"

/* What the latest record of an event is behind. */
typedef struct event_clock {
    struct event_clock *next;
    const ndp_event *event;
    nd_clock clock;
} event_clock;

enum { HAZARD_MODE = 1, STREAM_CHECK = 2 };
atomic_int nd__hazards = -1; /* HAZARD_MODE | STREAM_CHECK; -1: the environment was not read yet */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static event_clock *event_clocks[ND_HISTORY_BUCKETS];
static nd_clock host;  /* what the host has waited for */
static uint64_t since; /* streams' clocks of an earlier time are void */
static int64_t races;
static nd_text report;

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

/* What was queued while both were off is not known, so what was known before is of no use. */
static void forget_all(void)
{
    pthread_mutex_lock(&lock);
    nd__history_empty_all();
    for (int i = 0; i < ND_HISTORY_BUCKETS; i++)
        for (event_clock *e = event_clocks[i]; e; e = e->next)
            e->clock.n = 0;
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
    nd__clock_join(to, clock_of(s));
    nd__clock_advance(to, s->id, s->seq);
}

static event_clock *find_event(const ndp_event *event)
{
    event_clock *e = event_clocks[nd__history_bucket(event)];
    while (e && e->event != event)
        e = e->next;
    return e;
}

void nd__hazard_record(nd_stream *s, const ndp_event *event)
{
    pthread_mutex_lock(&lock);
    event_clock *e = find_event(event);
    if (!e && (e = calloc(1, sizeof *e)) != NULL) {
        *e = (event_clock){.next = event_clocks[nd__history_bucket(event)], .event = event};
        event_clocks[nd__history_bucket(event)] = e;
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
        nd__clock_join(s ? clock_of(s) : &host, &e->clock);
    pthread_mutex_unlock(&lock);
}

void nd__hazard_settled(nd_stream *s)
{
    pthread_mutex_lock(&lock);
    join_stream(&host, s);
    pthread_mutex_unlock(&lock);
}

static void tell(const nd_access *old, const nd_access *now)
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
        nd__clock_seen(clock_of(s), first.stream) >= first.seq)
        return ND_OK;
    pthread_mutex_unlock(&lock);
    status = nd__wait_stream_id(s, first.device, first.stream);
    pthread_mutex_lock(&lock);
    nd__clock_advance(clock_of(s), first.stream, first.seq);
    return status;
}

static nd_status use(nd_stream *s, nd_access *now)
{
    int modes = nd__hazards_now();
    nd_status status = ND_OK;
    nd_access old;
    pthread_mutex_lock(&lock);
    nd__clock_join(clock_of(s), &host);
    if (modes & HAZARD_MODE)
        status = follow_first(s);
    nd_history *h = nd__history_of(s->device, now->at.mem);
    while (status == ND_OK && h && nd__history_conflict(h, clock_of(s), &host, now, &old)) {
        if (modes & HAZARD_MODE) {
            pthread_mutex_unlock(&lock);
            status = nd__wait_stream_id(s, old.device, old.stream);
            pthread_mutex_lock(&lock);
            h = nd__history_of(s->device, now->at.mem);
        } else {
            tell(&old, now);
        }
        nd__clock_advance(clock_of(s), old.stream, old.seq); /* reported once */
    }
    if (status == ND_OK && h)
        nd__history_append(h, now);
    pthread_mutex_unlock(&lock);
    return status;
}

static nd_access access_of(const nd_stream *s, const char *name, uint64_t seq)
{
    nd_access now = {.device = s->device, .stream = s->id, .seq = seq};
    snprintf(now.name, sizeof now.name, "%s", name);
    snprintf(now.tag, sizeof now.tag, "%s", nd__tag());
    return now;
}

/* What is captured does not run now. */
nd_status nd__hazard_call(nd_stream *s, const ndp_call *call, const char *name)
{
    if (alone(s) || nd__capture_id(s))
        return ND_OK;
    nd_access now = access_of(s, name, s->seq + 1);
    for (uint32_t i = 0; i < call->n_in; i++)
        if (call->in[i].mem) {
            now.at = nd__span_of(&call->in[i], false);
            ND_RETURN_IF(use(s, &now));
        }
    for (uint32_t i = 0; i < call->n_out; i++) {
        now.at = nd__span_of(&call->out[i], true);
        ND_RETURN_IF(use(s, &now));
    }
    return ND_OK;
}

static nd_status use_bytes(nd_stream *s, ndp_mem *mem, uint64_t offset, uint64_t nbytes, bool write,
                           const char *name, uint64_t seq)
{
    if (alone(s) || nd__capture_id(s))
        return ND_OK;
    nd_access now = access_of(s, name, seq);
    now.at = (nd_span){
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
    nd__history_foreign(d, mem, address);
    pthread_mutex_unlock(&lock);
}

void nd__hazard_forget(ndp_mem *mem)
{
    pthread_mutex_lock(&lock);
    nd__history_drop(mem);
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
