/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The happens-before checker: vector clocks for the host, streams and events, and the byte ranges
 * that operations read and write.
 *
 * Order is decided when work is queued, so that what is found depends on the program alone and not
 * on when things ran. A queued operation comes after everything its stream has done or waited for,
 * and after everything the host knew when it queued it; the host learns by sync, event_sync, read,
 * and queries that said done. Every access is kept as an epoch (slot, tick), as in Flanagan and
 * Freund, FastTrack, PLDI 2009: it comes before an operation whose clock has reached that tick in
 * that slot. Two accesses of which one writes, whose bytes meet and of which none comes before the
 * other, are a race.
 *
 * Forgotten is what can no longer matter: accesses the host knows of, since all later work comes
 * after them, and those that a later, ordered access covers, since whatever races with the former
 * races with the latter. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "checker.h"
#include "comm.h"
#include "graph.h"
#include "simulator.h"

enum { KEPT_RACES = 64, KEPT_SLOTS = 256 };

struct sim_access {
    sim_access *next;
    sim_span span;
    uint32_t slot;
    int32_t writes, device;
    uint64_t tick, sequence, stream, position;
    const char *name;
};

/* Who accesses now. */
typedef struct {
    const sim_clock *clock;
    uint32_t slot;
    uint64_t sequence, stream, position;
    int32_t device;
    const char *name;
} accessor;

int32_t sim_checking;
uint64_t sim_drop_sight;
static sim_clock host;
static uint32_t slots; /* given out so far; 0 is the host's */
static uint32_t free_slots[KEPT_SLOTS], n_free_slots;
static uint64_t races;
static uint64_t logged;
static char texts[KEPT_RACES][SIM_RACE_TEXT];
/* Operations that the present one was already found to race with. */
static uint64_t present, partners[KEPT_RACES];
static uint32_t n_partners;

void sim_clock_free(sim_clock *c)
{
    free(c->t);
    *c = (sim_clock){NULL, 0};
}

static int32_t clock_reserve(sim_clock *c, uint32_t n)
{
    if (n <= c->n)
        return 1;
    uint64_t *t = realloc(c->t, n * sizeof *t);
    if (!t)
        return 0;
    memset(t + c->n, 0, (n - c->n) * sizeof *t);
    c->t = t;
    c->n = n;
    return 1;
}

static uint64_t clock_at(const sim_clock *c, uint32_t slot)
{
    return slot < c->n ? c->t[slot] : 0;
}

/* Out of host memory, the checker gives up rather than report races that are none. */
static void give_up(void)
{
    sim_checking = 0;
}

void sim_clock_join(sim_clock *into, const sim_clock *from)
{
    if (!clock_reserve(into, from->n)) {
        give_up();
        return;
    }
    for (uint32_t i = 0; i < from->n; i++)
        if (from->t[i] > into->t[i])
            into->t[i] = from->t[i];
}

void sim_host_saw(const sim_clock *c)
{
    bool dropped = sim_drop_sight && --sim_drop_sight == 0;
    if (sim_checking && !dropped)
        sim_clock_join(&host, c);
}

static void tick(sim_queue *q)
{
    if (q->slot == 0)
        q->slot = n_free_slots ? free_slots[--n_free_slots] : ++slots;
    if (clock_reserve(&q->clock, q->slot + 1))
        q->clock.t[q->slot]++;
    else
        give_up();
}

/* A slot may have another owner once the host knows all of the last one's work: then everybody
 * does, and the next owner counts on from there. */
void sim_slot_release(sim_queue *q)
{
    if (sim_checking && q->slot && n_free_slots < KEPT_SLOTS &&
        clock_at(&q->clock, q->slot) <= clock_at(&host, q->slot))
        free_slots[n_free_slots++] = q->slot;
    q->slot = 0;
}

static int32_t comes_before(const sim_access *a, const sim_clock *clock)
{
    return a->tick <= clock_at(clock, a->slot);
}

static int32_t known_pair(const sim_access *a, const accessor *who)
{
    if (present != who->sequence) {
        present = who->sequence;
        n_partners = 0;
    }
    for (uint32_t i = 0; i < n_partners; i++)
        if (partners[i] == a->sequence)
            return 1;
    if (n_partners < KEPT_RACES)
        partners[n_partners++] = a->sequence;
    return 0;
}

static void report(const ndp_mem *mem, const sim_access *a, const accessor *who, int32_t writes)
{
    char second[96] = "by the host";
    if (known_pair(a, who))
        return;
    if (races++ >= KEPT_RACES)
        return;
    if (who->stream)
        snprintf(second, sizeof second, "in stream %llu of sim:%d, operation %llu",
                 (unsigned long long)who->stream, who->device, (unsigned long long)who->position);
    snprintf(texts[races - 1], SIM_RACE_TEXT,
             "%s (%s, in stream %llu of sim:%d, operation %llu) and %s (%s, %s) use bytes %lld to "
             "%lld of the block at %p and are not ordered; let the second wait for an event "
             "recorded after the first",
             a->name, a->writes ? "writes" : "reads", (unsigned long long)a->stream, a->device,
             (unsigned long long)a->position, who->name, writes ? "writes" : "reads", second,
             (long long)a->span.low, (long long)a->span.high, (void *)mem->address);
}

/* Compares with the block's history, and takes out of it what is of no more use. */
static void compare(ndp_mem *mem, const sim_span *span, int32_t writes, const accessor *who)
{
    for (sim_access **at = &mem->accesses; *at;) {
        sim_access *a = *at;
        int32_t before = comes_before(a, who->clock);
        if (!before && (writes || a->writes) && a->sequence != who->sequence &&
            sim_spans_meet(&a->span, span))
            report(mem, a, who, writes);
        if (comes_before(a, &host) ||
            (before && (writes || !a->writes) && a->sequence != who->sequence &&
             sim_span_covers(span, &a->span))) {
            *at = a->next;
            free(a);
        } else {
            at = &a->next;
        }
    }
}

static void access(ndp_mem *mem, sim_span span, int32_t writes, const accessor *who)
{
    if (mem->base) { /* what a wrapped address touches is the block it lies in */
        int64_t shift = mem->alias - mem->base->alias;
        span.low += shift;
        span.high += shift;
        mem = mem->base;
    }
    if (span.low == span.high)
        return;
    compare(mem, &span, writes, who);
    sim_access *a = malloc(sizeof *a);
    if (!a) {
        give_up();
        return;
    }
    *a = (sim_access){.next = mem->accesses,
                      .span = span,
                      .slot = who->slot,
                      .writes = writes,
                      .device = who->device,
                      .tick = clock_at(who->clock, who->slot),
                      .sequence = who->sequence,
                      .stream = who->stream,
                      .position = who->position,
                      .name = who->name};
    mem->accesses = a;
}

static void access_kernel(const sim_body *b, const accessor *who)
{
    for (uint32_t i = 0; i < b->call.n_in + b->call.n_out; i++)
        if (b->mem[i])
            access(b->mem[i], sim_span_of(&b->views[i]), i >= b->call.n_in, who);
    if (b->mem[SIM_VIEW_SCRATCH])
        access(b->mem[SIM_VIEW_SCRATCH], sim_span_of(&b->views[SIM_VIEW_SCRATCH]), 1, who);
}

static void access_body(const sim_body *b, void *ctx)
{
    const accessor *who = ctx;
    if (b->kind == SIM_OP_KERNEL) {
        access_kernel(b, who);
        return;
    }
    if (b->branch)
        sim_branch_each(b->branch, access_body, ctx);
    for (const sim_part *p = b->parts; p; p = p->next) {
        if (p->in)
            access(p->in, sim_span_bytes(p->in_offset, p->in_nbytes), 0, who);
        if (p->out)
            access(p->out, sim_span_bytes(p->out_offset, p->out_nbytes), 1, who);
    }
    if (b->mem[1])
        access(b->mem[1], sim_span_bytes(b->src_offset, b->nbytes), 0, who);
    if (b->mem[0])
        access(b->mem[0], sim_span_bytes(b->dst_offset, b->nbytes), 1, who);
}

void sim_check_op(sim_queue *q, const sim_op *op)
{
    sim_clock_join(&q->clock, &host);
    if (op->kind == SIM_OP_WAIT)
        sim_clock_join(&q->clock, &op->record->clock);
    if (op->kind == SIM_OP_RECORD)
        sim_clock_join(&op->record->clock, &q->clock);
    if (!op->body || op->kind == SIM_OP_HOST)
        return;
    tick(q);
    accessor who = {.clock = &q->clock,
                    .slot = q->slot,
                    .sequence = op->sequence,
                    .stream = q->id,
                    .position = op->position,
                    .device = q->dev->index,
                    .name = op->body->name};
    access_body(op->body, &who);
}

void sim_check_host(ndp_mem *mem, uint64_t offset, uint64_t nbytes, const char *what)
{
    static uint64_t calls;
    if (!sim_checking)
        return;
    /* Calls of the host are told from operations by the highest bit. */
    accessor who = {.clock = &host, .name = what, .sequence = ++calls | UINT64_C(1) << 63};
    sim_span span = sim_span_bytes(offset, nbytes);
    compare(mem, &span, 1, &who);
}

void sim_accesses_free(ndp_mem *mem)
{
    while (mem->accesses) {
        sim_access *a = mem->accesses;
        mem->accesses = a->next;
        free(a);
    }
}

/* Clocks start anew: streams get slots again, and no recorded access names the old ones. */
void sim_checker_reset(int32_t on)
{
    for (int i = 0; i < SIM_MAX_DEVICES; i++) {
        for (ndp_mem *m = sim_devices[i].blocks; m; m = m->next)
            sim_accesses_free(m);
        for (ndp_mem *m = sim_devices[i].others; m; m = m->next)
            sim_accesses_free(m);
        for (sim_queue *q = sim_devices[i].queues; q; q = q->next) {
            sim_clock_free(&q->clock);
            q->slot = 0;
        }
    }
    sim_clock_free(&host);
    n_free_slots = 0;
    sim_checking = on != 0;
}

uint64_t sim_race_count(void)
{
    return races;
}

const char *sim_race_text(uint64_t i)
{
    return i < races && i < KEPT_RACES ? texts[i] : NULL;
}

const char *sim_race_unlogged(void)
{
    return logged < races && logged < KEPT_RACES ? texts[logged++] : NULL;
}

void sim_race_clear(void)
{
    races = logged = 0;
}
