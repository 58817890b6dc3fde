/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Rounds of a communicator run: when every rank has come, one of their devices' threads does the
 * whole of it. Who waits too long, for whomever, makes the communicator fail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ndock/plugin_comm.h>
#include "comm.h"
#include "simulator.h"

enum { POLL_NS = 5000000 };

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sim_wait_changed(void)
{
    if (!sim_comms_wait) {
        pthread_cond_wait(&sim_changed, &sim_mutex);
        return;
    }
    const uint64_t until = now_ns(CLOCK_REALTIME) + POLL_NS;
    struct timespec t = {.tv_sec = (time_t)(until / 1000000000u),
                         .tv_nsec = (long)(until % 1000000000u)};
    (void)pthread_cond_timedwait(&sim_changed, &sim_mutex, &t);
}

/* ---- who is missing ---- */
static ndp_comm *member_of(const sim_round *r, int32_t place)
{
    return r->team->rank[r->src < 0 ? place : place ? r->dst : r->src];
}

static const char *call_text(const sim_part *p, char *text, size_t n)
{
    const sim_round *r = p->round;
    int at =
        snprintf(text, n, "call %llu of rank %d, ", (unsigned long long)r->number, p->comm->rank);
    sim_signature like = r->like;
    if (r->src >= 0) {
        like.entry = p->place ? SIM_recv : SIM_send;
        like.root = p->place ? r->src : r->dst;
    }
    sim_signature_text(&like, text + at, n - (size_t)at);
    return text;
}

/* The part waits for c, which is not coming, or has not come. */
static void give_up(const sim_part *p, const ndp_comm *c, const char *because)
{
    char mine[SIM_CALL_TEXT + 40], theirs[SIM_CALL_TEXT];
    call_text(p, mine, sizeof mine);
    sim_team_fail(c->team, "%s, waits for rank %d, which %s; its latest call was %s", mine, c->rank,
                  because, sim_signature_text(&c->latest, theirs, sizeof theirs));
}

static void look_for_missing(const sim_part *p, uint64_t now)
{
    const sim_round *r = p->round;
    char late[80];
    for (int32_t i = 0; i < r->need; i++) {
        const ndp_comm *c = member_of(r, i);
        const sim_part *other = r->part[i];
        if (c && c->dev->lost && (!other || !other->active))
            give_up(p, c, "is lost with its device");
        else if (c && c->left && !other)
            give_up(p, c, "has left");
    }
    if (now < p->deadline)
        return;
    snprintf(late, sizeof late, "did not come within %llu ms",
             (unsigned long long)p->comm->team->timeout_ms);
    for (int32_t i = 0; i < r->need; i++) {
        const ndp_comm *c = member_of(r, i);
        if (c && (!r->part[i] || !r->part[i]->active))
            give_up(p, c, late);
    }
    for (int32_t i = 0; i < p->comm->team->n; i++)
        if (!p->comm->team->rank[i])
            sim_team_fail(p->comm->team,
                          "rank %d waits for rank %d, which did not join within %llu ms",
                          p->comm->rank, i, (unsigned long long)p->comm->team->timeout_ms);
}

static void activate(sim_part *p, uint64_t now)
{
    if (p->active)
        return;
    p->active = 1;
    p->deadline = now + p->comm->team->timeout_ms * 1000000u;
    p->round->active++;
    sim_comms_wait++;
}

int32_t sim_comm_ready(sim_queue *q)
{
    const uint64_t now = now_ns(CLOCK_MONOTONIC);
    int32_t all = 1;
    for (sim_part *p = q->head->body->parts; p; p = p->next)
        activate(p, now);
    if (q->head->faulty || q->dev->lost)
        return 1;
    for (sim_part *p = q->head->body->parts; p; p = p->next) {
        if (!p->round->done && p->round->active < p->round->need)
            look_for_missing(p, now);
        if (p->comm->team->failed || (!p->round->done && p->round->active == p->round->need))
            return 1;
        all = all && p->round->done;
    }
    return all;
}

void sim_comm_need(sim_queue *q)
{
    for (const sim_part *p = q->head->body->parts; p; p = p->next)
        for (int32_t i = 0; i < p->round->need; i++) {
            const sim_part *other = p->round->part[i];
            if (!other || other->active || !other->position || other->queue->needed ||
                other->queue == q)
                continue;
            sim_queue *of = other->queue;
            of->needed = 1;
            of->refs++;
            sim_need(of, other->position - 1);
            of->needed = 0;
            if (of->head && of->head->kind == SIM_OP_COMM && !of->running)
                (void)sim_comm_ready(of);
            sim_queue_unref(of);
            return; /* anything may have changed */
        }
    sim_wait_changed();
}

/* ---- exchanges ---- */
static char *in_of(const sim_round *r, int32_t rank)
{
    return r->part[rank]->in->alias + r->part[rank]->in_offset;
}

static char *out_of(const sim_round *r, int32_t rank)
{
    const sim_part *p = r->part[rank];
    return p->out ? p->out->alias + p->out_offset : NULL;
}

static int32_t run_reduction(const sim_round *r, size_t share)
{
    const int32_t n = r->team->n, scatters = r->like.entry == SIM_reduce_scatter;
    const size_t row = scatters ? share * (size_t)n : share;
    const int64_t count = r->like.count * (scatters ? n : 1);
    const ndp_comm_cpu cpu = {sim_cpu_dev, sim_cpu_op, sim_cpu_map, sim_cpu->free};
    char *rows = sim_host->alloc(sim_host->ctx, row * (size_t)(n + 1) + 64, 64);
    if (!rows)
        return NDP_ERR_MEMORY;
    char *sum = rows + (row * (size_t)n + 63) / 64 * 64;
    for (int32_t i = 0; i < n; i++)
        memcpy(rows + row * (size_t)i, in_of(r, i), row);
    int32_t status =
        ndp_comm_combine(&cpu, r->like.reduce, r->like.dtype, n, count, count, rows, sum);
    for (int32_t i = 0; i < n && status == NDP_OK; i++)
        if (out_of(r, i) && (r->like.entry != SIM_reduce || i == r->like.root))
            memcpy(out_of(r, i), scatters ? sum + share * (size_t)i : sum, share);
    sim_host->free(sim_host->ctx, rows);
    return status;
}

static int32_t run_moves(const sim_round *r, size_t share)
{
    const int32_t n = r->team->n;
    if (r->src >= 0) {
        memmove(out_of(r, 1), in_of(r, 0), share);
        return NDP_OK;
    }
    for (int32_t i = 0; i < n; i++) {
        char *out = out_of(r, i);
        for (int32_t j = 0; j < n && out && r->like.entry == SIM_all_gather; j++)
            memcpy(out + share * (size_t)j, in_of(r, j), share);
        for (int32_t j = 0; j < n && out && r->like.entry == SIM_all_to_all; j++)
            memcpy(out + share * (size_t)j, in_of(r, j) + share * (size_t)i, share);
        if (out && r->like.entry == SIM_broadcast && out != in_of(r, r->like.root))
            memcpy(out, in_of(r, r->like.root), share);
    }
    return NDP_OK;
}

static int32_t is_backed(const sim_round *r)
{
    for (int32_t i = 0; i < r->need; i++) {
        const sim_part *p = r->part[i];
        if ((p->in && !sim_is_backed(p->in, p->in_offset, p->in_nbytes)) ||
            (p->out && !sim_is_backed(p->out, p->out_offset, p->out_nbytes)))
            return 0;
    }
    return 1;
}

static void run_round(sim_round *r)
{
    const size_t share =
        (size_t)(r->like.count * (r->like.dtype ? sim_dtype_size(r->like.dtype) : 0));
    char text[SIM_CALL_TEXT];
    int32_t status = NDP_OK;
    for (int32_t i = 0; i < r->need; i++)
        if (r->part[i]->queue->time > r->begin)
            r->begin = r->part[i]->queue->time;
    if (!is_backed(r))
        status = NDP_ERR_LOST;
    else if (share && (r->like.entry == SIM_all_reduce || r->like.entry == SIM_reduce ||
                       r->like.entry == SIM_reduce_scatter))
        status = run_reduction(r, share);
    else if (share)
        status = run_moves(r, share);
    if (status != NDP_OK)
        sim_team_fail(r->team, "call %llu, %s, failed with status %d",
                      (unsigned long long)r->number,
                      sim_signature_text(&r->like, text, sizeof text), status);
    r->done = 1;
    pthread_cond_broadcast(&sim_changed);
}

static const sim_team *failed_team(const sim_op *op)
{
    for (const sim_part *p = op->body->parts; p; p = p->next)
        if (p->comm->team->failed && !p->round->done)
            return p->comm->team;
    return NULL;
}

int32_t sim_comm_run(sim_queue *q, uint64_t *begin)
{
    const sim_op *op = q->head;
    int32_t all = 1;
    for (sim_part *p = op->body->parts; p; p = p->next) {
        sim_round *r = p->round;
        if (!r->done && !r->team->failed && r->active == r->need)
            run_round(r);
        all = all && r->done;
        if (r->done && r->begin > *begin)
            *begin = r->begin;
    }
    const sim_team *t = failed_team(op);
    if (t && q->error.status == NDP_OK) {
        q->error.status = NDP_ERR_ASYNC;
        q->error.native = NDP_ERR_COMM;
        snprintf(q->error.text, sizeof q->error.text, "%s", t->why);
    }
    return all || t != NULL;
}

void sim_comm_lost(const sim_op *op)
{
    char text[SIM_CALL_TEXT + 40];
    for (const sim_part *p = op->body->parts; p; p = p->next)
        if (!p->round->done)
            sim_team_fail(p->comm->team, "%s, did not run: work of sim:%d failed",
                          call_text(p, text, sizeof text), p->comm->dev->index);
}
