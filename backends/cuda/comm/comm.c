/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.comm/1" by NCCL: how a rank joins and leaves a communicator, and how it fails.
 *
 * A rank joins without blocking, so that the time limit holds, and its calls are made with a
 * communicator split off without a change, which blocks: calls of a non-blocking one start a thread
 * each. What a call queued is watched by keeper.c until it has run. */
#include "comm/comm.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

pthread_mutex_t cuda_comm_lock = PTHREAD_MUTEX_INITIALIZER;

int64_t cuda_comm_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- failures ---- */
void cuda_comm_fail_locked(ndp_comm *c, const char *why)
{
    for (ndp_comm *m = cuda_team_next(c, NULL); m; m = cuda_team_next(c, m)) {
        if (m->failed)
            continue; /* the first reason is told */
        m->failed = 1;
        snprintf(m->why, sizeof m->why, "communicator of %d ranks: %s", m->n, why);
        for (const cuda_comm_work *w = m->work; w; w = w->next)
            cuda_stream_fault(w->stream, m->why);
        if (m->waits_ms)
            cuda_stream_fault(m->waiting_stream, m->why);
        m->aborting = 1;
    }
    cuda_board_fail(c->board, why);
    cuda_keeper_wake();
}

void cuda_comm_read_board_locked(ndp_comm *c)
{
    char why[CUDA_BOARD_TEXT];
    if (!c->failed && cuda_board_failed(c->board, why, sizeof why))
        cuda_comm_fail_locked(c, why);
}

void cuda_comm_fail(ndp_comm *c, const char *fmt, ...)
{
    char why[CUDA_BOARD_TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    pthread_mutex_lock(&cuda_comm_lock);
    cuda_comm_fail_locked(c, why);
    pthread_mutex_unlock(&cuda_comm_lock);
}

int32_t cuda_comm_error(ndp_comm *c)
{
    int32_t status = NDP_OK;
    pthread_mutex_lock(&cuda_comm_lock);
    cuda_comm_read_board_locked(c);
    if (c->failed)
        status = cuda_error(NDP_ERR_COMM, "%s", c->why);
    else if (c->epoch != atomic_load(&c->dev->epoch))
        status = cuda_error(NDP_ERR_COMM, "cuda:%u was closed since rank %d joined", c->dev->index,
                            c->rank);
    pthread_mutex_unlock(&cuda_comm_lock);
    return status;
}

int32_t cuda_comm_said(ndp_comm *c, int result, const char *what)
{
    if (result == NCCL_SUCCESS)
        return cuda_comm_error(c);
    cuda_comm_fail(c, "rank %d, %s: NCCL says %s (%d)", c->rank, what, cuda_nccl_result(result),
                   result);
    return cuda_comm_error(c);
}

/* ---- work that was queued ---- */
static cuda_comm_work *take_record(ndp_comm *c)
{
    pthread_mutex_lock(&cuda_comm_lock);
    cuda_comm_work *w = c->spare;
    if (w)
        c->spare = w->next;
    pthread_mutex_unlock(&cuda_comm_lock);
    if (w || (w = calloc(1, sizeof *w)) == NULL)
        return w;
    if (cu.cuEventCreate(&w->done, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS)
        return w;
    free(w);
    return NULL;
}

int cuda_comm_is_captured(CUstream stream)
{
    CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
    return cu.cuStreamIsCapturing(stream, &state) != CUDA_SUCCESS ||
           state != CU_STREAM_CAPTURE_STATUS_NONE;
}

int32_t cuda_comm_watch(ndp_comm *c, const cuda_part *part, CUstream stream)
{
    if (cuda_comm_is_captured(stream))
        return NDP_OK;
    cuda_comm_work *w = take_record(c);
    if (!w)
        return cuda_error(NDP_ERR_MEMORY, "no memory to watch a collective of cuda:%u",
                          c->dev->index);
    const CUresult r = cu.cuEventRecord(w->done, stream);
    w->stream = part->stream;
    w->since_ms = cuda_comm_now_ms();
    w->number = part->number;
    w->peer = cuda_comm_is_message(part) ? part->peer : -1;
    memcpy(w->text, part->text, sizeof w->text);
    w->next = NULL;
    pthread_mutex_lock(&cuda_comm_lock);
    *c->work_end = w;
    c->work_end = &w->next;
    cuda_keeper_wake();
    pthread_mutex_unlock(&cuda_comm_lock);
    return cuda_fail(r, "marking the end of a collective on cuda:%u", c->dev->index);
}

static void free_records(cuda_comm_work *w)
{
    for (cuda_comm_work *next; w; w = next) {
        next = w->next;
        cu.cuEventDestroy(w->done);
        free(w);
    }
}

void cuda_comm_free(ndp_comm *c)
{
    cuda_scope scope;
    cuda_team_leave(c);
    cuda_board_close(c->board);
    if (c->epoch == atomic_load(&c->dev->epoch) && cuda_enter(c->dev, &scope) == NDP_OK) {
        CUstreamCaptureMode mode = cuda_capture_relax();
        free_records(c->work);
        free_records(c->spare);
        if (c->lane) {
            cu.cuStreamDestroy(c->lane);
            cu.cuEventDestroy(c->ready);
            cu.cuMemFree(c->flag);
        }
        cuda_capture_restore(mode);
        cuda_leave(&scope);
    }
    free(c);
}

/* ---- joining ---- */
static int32_t available(ndp_dev *dev)
{
    (void)dev;
    return cuda_nccl_open();
}

static int32_t unique_id(ndp_dev *dev, void *id)
{
    cuda_scope scope;
    nccl_id made;
    int32_t status = cuda_nccl_open();
    if (status == NDP_OK)
        status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    const int r = cuda_nccl.ncclGetUniqueId(&made);
    cuda_leave(&scope);
    memcpy(id, made.bytes, sizeof made.bytes);
    return r == NCCL_SUCCESS
               ? NDP_OK
               : cuda_error(NDP_ERR_COMM, "naming a communicator of cuda:%u: NCCL says %s (%d)",
                            dev->index, cuda_nccl_result(r), r);
}

/* NCCL copies between GPUs of one process by their addresses, so that the memory of each has to be
 * within the others' reach. Where it is not, NCCL goes another way. */
static void reach_others(ndp_comm *c)
{
    for (ndp_comm *m = cuda_team_next(c, NULL); m; m = cuda_team_next(c, m))
        if (m != c) {
            (void)cuda_peer_group.enable(c->dev, m->dev);
            (void)cuda_peer_group.enable(m->dev, c->dev);
        }
}

static int32_t begin_joining(ndp_comm *c, const void *id)
{
    cuda_scope scope;
    nccl_id name;
    nccl_config config = cuda_nccl_config(0);
    memcpy(name.bytes, id, sizeof name.bytes);
    int32_t status = cuda_enter(c->dev, &scope);
    if (status != NDP_OK)
        return status;
    const int r = cuda_nccl.ncclCommInitRankConfig(&c->root, c->n, name, c->rank, &config);
    cuda_leave(&scope);
    if (r == NCCL_SUCCESS || r == NCCL_IN_PROGRESS)
        return NDP_OK;
    c->root = NULL;
    return cuda_comm_said(c, r, "joining");
}

static int32_t new_comm(ndp_dev *dev, int32_t rank, int32_t n, uint64_t timeout_ms, ndp_comm **out)
{
    ndp_comm *c = calloc(1, sizeof *c);
    *out = c;
    if (!c)
        return cuda_error(NDP_ERR_MEMORY, "no memory for a communicator of cuda:%u", dev->index);
    c->dev = dev;
    c->epoch = atomic_load(&dev->epoch);
    c->rank = rank;
    c->n = n;
    c->timeout_ms = timeout_ms;
    c->work_end = &c->work;
    c->parts_end = &c->parts;
    return NDP_OK;
}

/* What is left of a rank that did not join. */
static void give_up(ndp_comm *c)
{
    cuda_board_unname(c->board);
    cuda_board_leave(c->board);
    pthread_mutex_lock(&cuda_comm_lock);
    c->left = c->aborting = 1;
    cuda_keeper_wake();
    pthread_mutex_unlock(&cuda_comm_lock);
}

static int32_t init(ndp_dev *dev, int32_t rank, int32_t n, const void *id, uint64_t timeout_ms,
                    ndp_comm **out)
{
    ndp_comm *c = NULL;
    *out = NULL;
    if (n < 1 || rank < 0 || rank >= n)
        return cuda_error(NDP_ERR_ARGUMENT, "rank %d of %d; ranks are 0 to n-1", rank, n);
    int32_t status = cuda_nccl_open();
    if (status == NDP_OK)
        status = cuda_keeper_start();
    if (status == NDP_OK)
        status = new_comm(dev, rank, n, timeout_ms, &c);
    if (status == NDP_OK && (status = cuda_team_join(c, id)) != NDP_OK) {
        free(c);
        return status;
    }
    if (status != NDP_OK)
        return status;
    reach_others(c);
    c->board = n > 1 ? cuda_board_open(id, NDP_COMM_ID_BYTES, rank, n) : NULL;
    status = begin_joining(c, id);
    if (status == NDP_OK)
        status = cuda_comm_grouped() ? cuda_comm_group_init(c) : cuda_comm_finish(&c, 1);
    if (status == NDP_OK)
        *out = c;
    else
        give_up(c);
    return status;
}

/* ---- leaving ---- */
/* How long leaving may take when all work is done, and when some may still run. */
enum { LEAVING_MS = 2000, SHORTLY_MS = 50 };

static void destroy(ndp_dev *dev, ndp_comm *c)
{
    (void)dev;
    if (!c)
        return;
    cuda_board_leave(c->board);
    pthread_mutex_lock(&cuda_comm_lock);
    c->left = 1;
    cuda_keeper_wake();
    cuda_keeper_await(c, c->work && !c->failed ? SHORTLY_MS : LEAVING_MS);
    pthread_mutex_unlock(&cuda_comm_lock);
}

static int32_t abort_comm(ndp_dev *dev, ndp_comm *c)
{
    (void)dev;
    char latest[CUDA_CALL_TEXT];
    pthread_mutex_lock(&cuda_comm_lock);
    memcpy(latest, c->latest, sizeof latest);
    pthread_mutex_unlock(&cuda_comm_lock);
    cuda_comm_fail(c, "rank %d aborted it; its latest call was %s", c->rank,
                   latest[0] ? latest : "none");
    return NDP_OK;
}

static int32_t async_error(ndp_dev *dev, ndp_comm *c)
{
    (void)dev;
    return cuda_comm_error(c);
}

#define CALL(name, kind)                                                                 \
    static int32_t name(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x) \
    {                                                                                    \
        return cuda_comm_call(dev, s, c, kind, x);                                       \
    }
CALL(all_reduce, CUDA_ALL_REDUCE)
CALL(reduce, CUDA_REDUCE)
CALL(broadcast, CUDA_BROADCAST)
CALL(all_gather, CUDA_ALL_GATHER)
CALL(reduce_scatter, CUDA_REDUCE_SCATTER)
CALL(all_to_all, CUDA_ALL_TO_ALL)
CALL(send, CUDA_SEND)
CALL(recv, CUDA_RECV)

const ndp_comm_1 cuda_comm_group = {
    .size = sizeof(ndp_comm_1),
    .dtypes = cuda_comm_dtypes,
    .unique_id = unique_id,
    .init = init,
    .destroy = destroy,
    .abort = abort_comm,
    .async_error = async_error,
    .group_begin = cuda_comm_group_begin,
    .group_end = cuda_comm_group_end,
    .all_reduce = all_reduce,
    .reduce = reduce,
    .broadcast = broadcast,
    .all_gather = all_gather,
    .reduce_scatter = reduce_scatter,
    .all_to_all = all_to_all,
    .send = send,
    .recv = recv,
    .available = available,
};
