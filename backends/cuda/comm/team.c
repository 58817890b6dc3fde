/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Ranks of one communicator in one process. NCCL may want the calls of all of them at once, while a
 * thread may make them one after the other. So a call outside a group is kept until every rank that
 * is here has called, and its stream is told to wait for a word in memory, which is written when the
 * exchange is done: the exchange runs on a stream of the rank's own, between the two. The calls are
 * compared on the way. */
#include "comm/comm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cuda_team {
    char id[NDP_COMM_ID_BYTES];
    pthread_mutex_t lock;
    ndp_comm **member; /* by rank, NULL: not here; under cuda_comm_lock too */
    int n, local;      /* under cuda_comm_lock */
    cuda_team *next;
};
static cuda_team *teams; /* under cuda_comm_lock */

/* ---- who is here ---- */
ndp_comm *cuda_team_next(const ndp_comm *of, const ndp_comm *after)
{
    const cuda_team *t = of->team;
    for (int r = after ? after->rank + 1 : 0; r < t->n; r++)
        if (t->member[r])
            return t->member[r];
    return NULL;
}

static cuda_team *team_of(const void *id, int n)
{
    cuda_team *t = teams;
    while (t && memcmp(t->id, id, sizeof t->id) != 0)
        t = t->next;
    if (t || (t = calloc(1, sizeof *t)) == NULL)
        return t;
    t->member = calloc((size_t)n, sizeof(ndp_comm *));
    if (!t->member) {
        free(t);
        return NULL;
    }
    memcpy(t->id, id, sizeof t->id);
    pthread_mutex_init(&t->lock, NULL);
    t->n = n;
    t->next = teams;
    teams = t;
    return t;
}

int32_t cuda_team_join(ndp_comm *c, const void *id)
{
    int32_t status = NDP_OK;
    pthread_mutex_lock(&cuda_comm_lock);
    cuda_team *t = team_of(id, c->n);
    if (!t)
        status = cuda_error(NDP_ERR_MEMORY, "no memory for a communicator of %d ranks", c->n);
    else if (t->n != c->n)
        status = cuda_error(NDP_ERR_COMM, "rank %d joins %d ranks, others %d", c->rank, c->n, t->n);
    else if (t->member[c->rank])
        status = cuda_error(NDP_ERR_COMM, "there are two of rank %d", c->rank);
    if (status == NDP_OK) {
        t->member[c->rank] = c;
        t->local++;
        c->team = t;
        c->next = cuda_comms;
        cuda_comms = c;
    }
    pthread_mutex_unlock(&cuda_comm_lock);
    return status;
}

void cuda_team_leave(ndp_comm *c)
{
    pthread_mutex_lock(&cuda_comm_lock);
    cuda_team *t = c->team, **at = &teams;
    t->member[c->rank] = NULL;
    const int empty = --t->local == 0;
    while (empty && *at != t)
        at = &(*at)->next;
    if (empty)
        *at = t->next;
    pthread_mutex_unlock(&cuda_comm_lock);
    for (cuda_part *p; (p = c->parts) != NULL; free(p))
        c->parts = p->next;
    if (!empty)
        return;
    pthread_mutex_destroy(&t->lock);
    free(t->member);
    free(t);
}

int cuda_team_local(const ndp_comm *c)
{
    pthread_mutex_lock(&cuda_comm_lock);
    const int n = c->team->local;
    pthread_mutex_unlock(&cuda_comm_lock);
    return n;
}

/* ---- a rank's lane ---- */
static CUresult make_lane(ndp_comm *c)
{
    if (c->lane)
        return CUDA_SUCCESS;
    CUstreamCaptureMode mode = cuda_capture_relax();
    CUresult r = cu.cuMemAlloc(&c->flag, sizeof(cuuint32_t));
    if (r == CUDA_SUCCESS)
        r = cu.cuEventCreate(&c->ready, CU_EVENT_DISABLE_TIMING);
    if (r == CUDA_SUCCESS)
        r = cu.cuStreamCreateWithPriority(&c->lane, CU_STREAM_NON_BLOCKING, 0);
    if (r == CUDA_SUCCESS)
        r = cu.cuMemsetD8Async(c->flag, 0, sizeof(cuuint32_t), c->lane);
    if (r == CUDA_SUCCESS)
        r = cu.cuStreamSynchronize(c->lane);
    cuda_capture_restore(mode);
    return r;
}

static CUresult enter_lane(ndp_comm *c, CUstream stream)
{
    CUresult r = make_lane(c);
    if (r == CUDA_SUCCESS)
        r = cu.cuEventRecord(c->ready, stream);
    return r == CUDA_SUCCESS ? cu.cuStreamWaitEvent(c->lane, c->ready, 0) : r;
}

/* ---- rounds: the first call of each rank that is kept ---- */
static int is_message(const cuda_part *p)
{
    return p->kind == CUDA_SEND || p->kind == CUDA_RECV;
}

/* The rank here that a message is for or from, NULL: it is elsewhere. */
static ndp_comm *other_end(const ndp_comm *c, const cuda_part *p)
{
    return is_message(p) ? c->team->member[p->peer] : NULL;
}

static int same_call(const cuda_part *a, const cuda_part *b)
{
    return strcmp(a->text, b->text) == 0;
}

static int fits(const ndp_comm *c, const cuda_part *p, const cuda_part *other)
{
    return other && other->kind == (p->kind == CUDA_SEND ? CUDA_RECV : CUDA_SEND) &&
           other->peer == c->rank;
}

/* Whether this rank's first call is a message that may run now: the number of its ends that are
 * here. */
static int pick_message(ndp_comm *c, ndp_comm **out)
{
    const cuda_part *p = c->parts;
    ndp_comm *other = p && is_message(p) ? other_end(c, p) : NULL;
    if (!p || !is_message(p) || (other && other != c && !fits(c, p, other->parts)))
        return 0;
    out[0] = c;
    out[1] = other;
    return other && other != c ? 2 : 1;
}

/* Which ranks' first calls may run now; 0: none. A message needs both its ends, anything else every
 * rank that is here. */
static int pick(const ndp_comm *c, ndp_comm **out)
{
    int n = 0;
    for (int r = 0; r < c->n; r++) {
        ndp_comm *m = c->team->member[r];
        if (m && (n = pick_message(m, out)) > 0)
            return n;
    }
    for (int r = 0; r < c->n; r++) {
        ndp_comm *m = c->team->member[r];
        if (m && (!m->parts || is_message(m->parts)))
            return 0;
        if (m)
            out[n++] = m;
    }
    return n;
}

static int32_t compare(ndp_comm *const *all, int n)
{
    const cuda_part *first = all[0]->parts;
    for (int i = 1; i < n && !is_message(first); i++) {
        const cuda_part *p = all[i]->parts;
        if (same_call(first, p))
            continue;
        cuda_comm_fail(all[0],
                       "call %llu of rank %d is %s, that of rank %d was %s; all ranks make the "
                       "same calls in the same order",
                       (unsigned long long)p->number, all[i]->rank, p->text, all[0]->rank,
                       first->text);
        return cuda_comm_error(all[0]);
    }
    return NDP_OK;
}

/* For the keeper: whether a call of the rank waits for others here, and since when. */
static void note_waiting(ndp_comm *c)
{
    pthread_mutex_lock(&cuda_comm_lock);
    c->waits_ms = c->parts ? cuda_comm_now_ms() : 0;
    if (c->parts) {
        memcpy(c->waiting, c->parts->text, sizeof c->waiting);
        c->waiting_stream = c->parts->stream;
        cuda_keeper_wake();
    }
    pthread_mutex_unlock(&cuda_comm_lock);
}

/* The call has been given to NCCL, or has failed. */
static int32_t finish_part(ndp_comm *c, int r)
{
    cuda_scope scope;
    cuda_part *p = c->parts;
    int32_t status = cuda_comm_said(c, cuda_comm_until_queued(c, r), p->text);
    const int32_t entered = cuda_enter(c->dev, &scope);
    if (entered == NDP_OK) {
        CUresult w = cu.cuStreamWriteValue32(c->lane, c->flag, (cuuint32_t)p->number, 0);
        if (status == NDP_OK)
            status = cuda_fail(w, "ending a collective on cuda:%u", c->dev->index);
        if (status == NDP_OK)
            status = cuda_comm_watch(c, p, c->lane);
        cuda_leave(&scope);
    }
    cuda_comm_leave(c);
    c->parts = p->next;
    if (!c->parts)
        c->parts_end = &c->parts;
    free(p);
    note_waiting(c);
    return status == NDP_OK ? entered : status;
}

static int32_t run_round(ndp_comm *const *all, int n)
{
    cuda_scope scope;
    int entered = 0, r = NCCL_SUCCESS;
    int32_t status = compare(all, n);
    for (; entered < n && status == NDP_OK; entered += status == NDP_OK)
        status = cuda_comm_enter(all[entered], all[entered]->parts);
    if (status == NDP_OK && (r = cuda_nccl.ncclGroupStart()) == NCCL_SUCCESS) {
        for (int i = 0; i < n && r == NCCL_SUCCESS; i++) {
            if (cuda_enter(all[i]->dev, &scope) != NDP_OK) {
                r = NCCL_UNHANDLED_CUDA_ERROR;
                break;
            }
            r = cuda_comm_issue(all[i], all[i]->parts, all[i]->lane);
            r = r == NCCL_IN_PROGRESS ? NCCL_SUCCESS : r;
            cuda_leave(&scope);
        }
        const int ended = cuda_nccl.ncclGroupEnd();
        r = r == NCCL_SUCCESS ? ended : r;
    }
    if (status != NDP_OK) {
        for (int i = 0; i < entered; i++)
            cuda_comm_leave(all[i]);
        return status;
    }
    for (int i = 0; i < n; i++) {
        const int32_t ended = finish_part(all[i], r);
        status = status == NDP_OK ? ended : status;
    }
    return status;
}

static int32_t keep(ndp_comm *c, const cuda_part *part)
{
    cuda_part *p = malloc(sizeof *p);
    if (!p)
        return cuda_error(NDP_ERR_MEMORY, "no memory for a collective of cuda:%u", c->dev->index);
    *p = *part;
    p->next = NULL;
    *c->parts_end = p;
    c->parts_end = &p->next;
    if (c->parts == p)
        note_waiting(c);
    return NDP_OK;
}

static int32_t refuse_capture(const cuda_part *part)
{
    CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
    if (cu.cuStreamIsCapturing(part->stream, &state) == CUDA_SUCCESS &&
        state == CU_STREAM_CAPTURE_STATUS_NONE)
        return NDP_OK;
    return cuda_error(NDP_ERR_CAPTURE,
                      "%s: ranks of one process are captured in a group (nd_comm_group_begin)",
                      part->text);
}

int32_t cuda_team_call(ndp_comm *c, const cuda_part *part)
{
    ndp_comm **round = malloc((size_t)(c->n + 1) * sizeof(ndp_comm *));
    if (!round)
        return cuda_error(NDP_ERR_MEMORY, "no memory for a collective of %d ranks", c->n);
    pthread_mutex_lock(&c->team->lock);
    int32_t status = refuse_capture(part);
    if (status == NDP_OK)
        status = cuda_fail(enter_lane(c, part->stream), "%s on cuda:%u", part->text, c->dev->index);
    if (status == NDP_OK)
        status = keep(c, part);
    const int32_t kept = status;
    for (int n; status == NDP_OK && (n = pick(c, round)) > 0;)
        status = run_round(round, n);
    pthread_mutex_unlock(&c->team->lock);
    free(round);
    if (kept != NDP_OK)
        return kept;
    const CUresult r = cu.cuStreamWaitValue32(part->stream, c->flag, (cuuint32_t)part->number,
                                              CU_STREAM_WAIT_VALUE_GEQ);
    return status == NDP_OK ? cuda_fail(r, "waiting for %s on cuda:%u", part->text, c->dev->index)
                            : status;
}

void cuda_team_release(ndp_comm *c)
{
    if (c->lane)
        (void)cu.cuStreamWriteValue32(c->lane, c->flag, (cuuint32_t)c->calls, 0);
}
