/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Rounds of a communicator: each call of a rank finds its round, the calls of the other ranks that
 * belong to it, and is compared with them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "comm.h"
#include "simulator.h"

int32_t sim_comms_wait;

/* ---- texts ---- */
const char *sim_signature_text(const sim_signature *s, char *text, size_t n)
{
    static const char *const names[NDP_COMM_OPS] = {"sum", "prod", "min", "max", "avg"};
    const char *name = sim_entry_name(s->entry);
    const char *dtype = ndp_dtype_known(s->dtype) ? ndp_dtype_name(s->dtype) : "?";
    const int32_t reduces =
        s->entry == SIM_all_reduce || s->entry == SIM_reduce || s->entry == SIM_reduce_scatter;
    if (s->entry == SIM_barrier || !s->entry)
        snprintf(text, n, "%s", s->entry ? name : "none");
    else if (s->root >= 0)
        snprintf(text, n, "%s of %lld %s%s%s, %s %d", name, (long long)s->count, dtype,
                 reduces ? " by " : "", reduces ? names[s->reduce] : "",
                 s->entry == SIM_send   ? "to rank"
                 : s->entry == SIM_recv ? "from rank"
                                        : "root",
                 s->root);
    else
        snprintf(text, n, "%s of %lld %s%s%s", name, (long long)s->count, dtype,
                 reduces ? " by " : "", reduces ? names[s->reduce] : "");
    return text;
}

void sim_team_fail(sim_team *t, const char *fmt, ...)
{
    va_list args;
    if (t->failed)
        return; /* the first reason is told */
    t->failed = 1;
    int n = snprintf(t->why, sizeof t->why, "communicator %d of %d ranks: ", t->number, t->n);
    va_start(args, fmt);
    vsnprintf(t->why + n, sizeof t->why - (size_t)n, fmt, args);
    va_end(args);
    pthread_cond_broadcast(&sim_changed);
}

int32_t sim_team_failed(const sim_team *t)
{
    return t->failed ? sim_fail(NDP_ERR_COMM, 0, "%s", t->why) : NDP_OK;
}

/* ---- rounds ---- */
void sim_team_free_unused(sim_team *t)
{
    if (t->here || t->uses || t->joined < t->n)
        return;
    sim_team **at = &sim_teams;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    for (sim_round *r; (r = t->rounds) != NULL; free(r))
        t->rounds = r->next;
    for (int32_t i = 0; i < t->n; i++)
        free(t->rank[i]);
    free(t);
}

static void round_free_unused(sim_round *r)
{
    if (r->parts)
        return;
    sim_round **at = &r->team->rounds;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    free(r);
}

static void part_drop(sim_part *p)
{
    sim_round *r = p->round;
    sim_team *t = p->comm->team;
    ndp_mem *const mems[2] = {p->in, p->out};
    sim_comms_wait -= p->active;
    if (r) {
        r->active -= p->active;
        r->part[p->place] = NULL;
        r->parts--;
        round_free_unused(r);
    }
    for (int i = 0; i < 2; i++)
        if (mems[i]) {
            if (mems[i]->base)
                sim_mem_unuse(mems[i]->base);
            sim_mem_unuse(mems[i]);
        }
    t->uses--;
    sim_team_free_unused(t);
    free(p);
}

void sim_part_free(sim_part *p)
{
    for (sim_part *next; p; p = next) {
        next = p->next;
        part_drop(p);
    }
}

static sim_round *find_round(sim_team *t, uint64_t number, int32_t src, int32_t dst)
{
    sim_round *r = t->rounds;
    while (r && (r->number != number || r->src != src || r->dst != dst || r->done))
        r = r->next;
    return r;
}

static sim_round *round_for(ndp_comm *c, const sim_signature *like, int32_t *place)
{
    const int32_t sends = like->entry == SIM_send, message = sends || like->entry == SIM_recv;
    const int32_t src = !message ? -1 : sends ? c->rank : like->root;
    const int32_t dst = !message ? -1 : sends ? like->root : c->rank;
    const uint64_t number = !message ? ++c->calls : sends ? ++c->sent[dst] : ++c->received[src];
    sim_round *r = find_round(c->team, number, src, dst);
    *place = !message ? c->rank : sends ? 0 : 1;
    if (r || (r = calloc(1, sizeof *r)) == NULL)
        return r;
    r->team = c->team;
    r->like = *like;
    r->number = number;
    r->src = src;
    r->dst = dst;
    r->need = message ? 2 : c->team->n;
    r->next = c->team->rounds;
    c->team->rounds = r;
    return r;
}

/* The other rank's call, with which this one does not agree; -1: it agrees with all. */
static int32_t disagrees(const sim_round *r, const sim_signature *like)
{
    const int32_t message = r->src >= 0;
    const int32_t same = r->like.dtype == like->dtype && r->like.count == like->count &&
                         (message || (r->like.entry == like->entry && r->like.root == like->root &&
                                      r->like.reduce == like->reduce));
    for (int32_t i = 0; i < r->need && !same; i++)
        if (r->part[i])
            return r->part[i]->comm->rank;
    return -1;
}

static int32_t left_by(const sim_round *r)
{
    for (int32_t i = 0; i < r->need; i++) {
        const ndp_comm *c = r->team->rank[r->src < 0 ? i : i ? r->dst : r->src];
        if (!r->part[i] && c && c->left)
            return c->rank;
    }
    return -1;
}

int32_t sim_join_round(ndp_comm *c, const sim_signature *like, sim_part *p)
{
    char mine[SIM_CALL_TEXT], theirs[SIM_CALL_TEXT];
    sim_round *r = round_for(c, like, &p->place);
    if (!r)
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a collective");
    int32_t other = disagrees(r, like), gone = left_by(r);
    sim_signature_text(like, mine, sizeof mine);
    if (other >= 0)
        sim_team_fail(c->team,
                      "call %llu of rank %d is %s, that of rank %d was %s; all ranks make the same "
                      "calls in the same order",
                      (unsigned long long)r->number, c->rank, mine, other,
                      sim_signature_text(&r->like, theirs, sizeof theirs));
    else if (gone >= 0)
        sim_team_fail(c->team,
                      "call %llu of rank %d is %s, but rank %d has left; its latest call was %s",
                      (unsigned long long)r->number, c->rank, mine, gone,
                      sim_signature_text(&c->team->rank[gone]->latest, theirs, sizeof theirs));
    c->latest = *like;
    r->part[p->place] = p;
    r->parts++;
    p->round = r;
    return sim_team_failed(c->team);
}
