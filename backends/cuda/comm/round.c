/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Calls of ranks that share a process. NCCL may want the calls of all of them at once, while a thread
 * may make them one after the other. So a call outside a group is kept until every rank that is here
 * has called, and its stream is told to wait for a word in memory, which is written when the exchange
 * is done: the exchange runs on a stream of the rank's own, its lane, between the two. The calls are
 * compared on the way. */
#include <stdlib.h>
#include <string.h>
#include "comm/comm.h"

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

/* ---- rounds: what belongs together among the first calls that are kept of each rank ---- */
/* A part, and whose it is. */
typedef struct {
    ndp_comm *comm;
    cuda_part *part;
} member_part;

/* The next part after p, of those that were called at once with the first of the rank. */
static cuda_part *next_of_first(const ndp_comm *c, const cuda_part *p)
{
    cuda_part *next = p ? p->next : c->parts;
    return next && next->ticket == c->parts->ticket ? next : NULL;
}

/* The other end of rank c's message, which a rank that is here has called; NULL: it has not. */
static cuda_part *other_end(const ndp_comm *c, const cuda_part *p)
{
    const ndp_comm *other = c->team->member[p->peer];
    for (cuda_part *at = NULL; (at = next_of_first(other, at)) != NULL;)
        if (at->kind == (p->kind == CUDA_SEND ? CUDA_RECV : CUDA_SEND) && at->peer == c->rank &&
            !at->taken)
            return at;
    return NULL;
}

static void take(member_part *out, ndp_comm *c, cuda_part *p)
{
    p->taken = 1;
    *out = (member_part){c, p};
}

/* A message needs both its ends, where the other is here. */
static int pick_messages(const cuda_team *t, member_part *out)
{
    int n = 0;
    for (int r = 0; r < t->n; r++) {
        ndp_comm *m = t->member[r];
        for (cuda_part *p = NULL; m && (p = next_of_first(m, p)) != NULL;) {
            ndp_comm *other = t->member[p->peer];
            if (!cuda_comm_is_message(p) || p->taken)
                continue;
            cuda_part *end = other ? other_end(m, p) : NULL;
            if (other && !end)
                continue;
            take(&out[n++], m, p);
            if (end)
                take(&out[n++], other, end);
        }
    }
    return n;
}

/* Anything else needs every rank that is here. */
static int pick_collective(const cuda_team *t, member_part *out)
{
    int n = 0;
    for (int r = 0; r < t->n; r++) {
        ndp_comm *m = t->member[r];
        cuda_part *p = NULL;
        while (m && (p = next_of_first(m, p)) != NULL && cuda_comm_is_message(p))
            ;
        if (m && !p)
            return 0;
        if (m)
            out[n++] = (member_part){m, p};
    }
    for (int i = 0; i < n; i++)
        out[i].part->taken = 1;
    return n;
}

static int32_t compare(const member_part *all, int n)
{
    const cuda_part *first = all[0].part;
    for (int i = 1; i < n && !cuda_comm_is_message(first); i++) {
        const cuda_part *p = all[i].part;
        if (strcmp(first->text, p->text) == 0)
            continue;
        cuda_comm_fail(all[0].comm,
                       "call %llu of rank %d is %s, that of rank %d was %s; all ranks make the "
                       "same calls in the same order",
                       (unsigned long long)p->number, all[i].comm->rank, p->text, all[0].comm->rank,
                       first->text);
        return cuda_comm_error(all[0].comm);
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

/* The part is no longer kept; when it was the last of its ticket, streams that wait go on. */
static CUresult end_part(ndp_comm *c, cuda_part *p)
{
    cuda_part **at = &c->parts;
    const cuuint32_t ticket = p->ticket;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    if (!*at)
        c->parts_end = at;
    free(p);
    note_waiting(c);
    return c->parts && c->parts->ticket == ticket
               ? CUDA_SUCCESS
               : cu.cuStreamWriteValue32(c->lane, c->flag, ticket, 0);
}

/* The call has been given to NCCL, or has failed. */
static int32_t finish_part(ndp_comm *c, cuda_part *p, int r)
{
    cuda_scope scope;
    int32_t status = cuda_comm_said(c, cuda_comm_until_queued(c, r), p->text);
    const int32_t entered = cuda_enter(c->dev, &scope);
    if (entered != NDP_OK)
        return entered;
    if (status == NDP_OK)
        status = cuda_comm_watch(c, p, c->lane);
    const CUresult w = end_part(c, p);
    cuda_leave(&scope);
    return status == NDP_OK ? cuda_fail(w, "ending a collective on cuda:%u", c->dev->index)
                            : status;
}

static int give_all(const member_part *all, int n)
{
    cuda_scope scope;
    int r = cuda_nccl.ncclGroupStart();
    if (r != NCCL_SUCCESS)
        return r;
    for (int i = 0; i < n && r == NCCL_SUCCESS; i++) {
        if (cuda_enter(all[i].comm->dev, &scope) != NDP_OK) {
            r = NCCL_UNHANDLED_CUDA_ERROR;
            break;
        }
        r = cuda_comm_issue(all[i].comm, all[i].part, all[i].comm->lane);
        r = r == NCCL_IN_PROGRESS ? NCCL_SUCCESS : r;
        cuda_leave(&scope);
    }
    const int ended = cuda_nccl.ncclGroupEnd();
    return r == NCCL_SUCCESS ? ended : r;
}

static int32_t run_round(const member_part *all, int n)
{
    int entered = 0;
    int32_t status = compare(all, n);
    for (; entered < n && status == NDP_OK; entered += status == NDP_OK)
        status = cuda_comm_enter(all[entered].comm, all[entered].part);
    if (status == NDP_OK) {
        const int r = give_all(all, n);
        for (int i = 0; i < n; i++) {
            const int32_t ended = finish_part(all[i].comm, all[i].part, r);
            status = status == NDP_OK ? ended : status;
        }
    }
    for (int i = 0; i < entered; i++)
        cuda_comm_leave(all[i].comm);
    return status;
}

/* ---- calls ---- */
static int32_t refuse_capture(const cuda_part *part)
{
    CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
    if (cu.cuStreamIsCapturing(part->stream, &state) == CUDA_SUCCESS &&
        state == CU_STREAM_CAPTURE_STATUS_NONE)
        return NDP_OK;
    return cuda_error(NDP_ERR_CAPTURE,
                      "%s: ranks of one process are captured in one group with the calls of all "
                      "(nd_comm_group_begin)",
                      part->text);
}

int32_t cuda_team_keep(ndp_comm *c, cuda_part *part, int together)
{
    int32_t status = refuse_capture(part);
    cuda_part *p = malloc(sizeof *p);
    if (!p)
        return cuda_error(NDP_ERR_MEMORY, "no memory for a collective of cuda:%u", c->dev->index);
    pthread_mutex_lock(&c->team->lock);
    if (status == NDP_OK)
        status = cuda_fail(enter_lane(c, part->stream), "%s on cuda:%u", part->text, c->dev->index);
    if (status == NDP_OK) {
        part->ticket = c->tickets += !together;
        *p = *part;
        p->next = NULL;
        *c->parts_end = p;
        c->parts_end = &p->next;
        if (c->parts == p)
            note_waiting(c);
        p = NULL;
    }
    pthread_mutex_unlock(&c->team->lock);
    free(p);
    return status;
}

int32_t cuda_team_run(ndp_comm *c)
{
    int32_t status = NDP_OK;
    int n = 0;
    pthread_mutex_lock(&c->team->lock);
    for (int r = 0; r < c->n; r++)
        for (const cuda_part *p = c->team->member[r] ? c->team->member[r]->parts : NULL; p;
             p = p->next)
            n++;
    member_part *round = malloc((size_t)(n + 1) * sizeof *round);
    if (!round)
        status = cuda_error(NDP_ERR_MEMORY, "no memory for a round of %d calls", n);
    while (status == NDP_OK &&
           ((n = pick_messages(c->team, round)) > 0 || (n = pick_collective(c->team, round)) > 0))
        status = run_round(round, n);
    pthread_mutex_unlock(&c->team->lock);
    free(round);
    return status;
}

int32_t cuda_team_wait(ndp_comm *c, const cuda_part *part)
{
    return cuda_fail(
        cu.cuStreamWaitValue32(part->stream, c->flag, part->ticket, CU_STREAM_WAIT_VALUE_GEQ),
        "waiting for %s on cuda:%u", part->text, c->dev->index);
}

int32_t cuda_team_call(ndp_comm *c, cuda_part *part)
{
    int32_t status = cuda_team_keep(c, part, 0);
    if (status != NDP_OK)
        return status;
    status = cuda_team_run(c);
    const int32_t waits = cuda_team_wait(c, part);
    return status == NDP_OK ? waits : status;
}

void cuda_team_release(ndp_comm *c)
{
    if (c->lane)
        (void)cu.cuStreamWriteValue32(c->lane, c->flag, c->tickets, 0);
}
