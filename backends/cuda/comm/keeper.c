/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A thread of the process that watches what communicators have queued: when work does not end within
 * the time limit, or NCCL tells of an error, the communicator fails and NCCL is told to give up, so
 * that streams go on. It also ends communicators whose ranks have left. */
#include "comm/comm.h"
#include <stdio.h>
#include <time.h>

/* SOON_MS: so long after it was queued, the others are asked about a call. */
enum { POLL_MS = 10, SOON_MS = 50 };

ndp_comm *cuda_comms;
static pthread_cond_t changed; /* by the monotonic clock */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int state = -1; /* of starting the thread: 0 it runs */
static int asleep;

static void wait_ms(int64_t ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(ms / 1000);
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&changed, &cuda_comm_lock, &t);
}

void cuda_keeper_wake(void)
{
    if (asleep)
        pthread_cond_broadcast(&changed);
}

void cuda_keeper_await(const ndp_comm *c, int64_t at_most_ms)
{
    const int64_t until = cuda_comm_now_ms() + at_most_ms;
    for (;;) {
        const ndp_comm *at = cuda_comms;
        while (at && at != c)
            at = at->next;
        if (!at || cuda_comm_now_ms() >= until)
            return;
        wait_ms(POLL_MS);
    }
}

/* ---- looking ---- */
/* Takes away what is done. */
static void look_at_work(ndp_comm *c, int64_t now)
{
    while (c->work && cu.cuEventQuery(c->work->done) != CUDA_ERROR_NOT_READY) {
        cuda_comm_work *w = c->work;
        c->work = w->next;
        if (c->work)
            c->work->since_ms = now;
        else
            c->work_end = &c->work;
        w->next = c->spare;
        c->spare = w;
    }
}

/* A collective that does not end though it is old enough to ask the board: whether it can. */
static void look_at_others(ndp_comm *c, int64_t now)
{
    char why[CUDA_BOARD_TEXT];
    const cuda_comm_work *w = c->work;
    if ((w && w->peer < 0 && now - w->since_ms > SOON_MS &&
         cuda_board_hopeless(c->board, w->number, w->text, why, sizeof why)) ||
        (c->in_call_ms && c->in_call && now - c->in_call_ms > SOON_MS &&
         cuda_board_hopeless(c->board, c->in_call, c->latest, why, sizeof why)))
        cuda_comm_fail_locked(c, why);
}

/* The first rank that is gone, of the ends of a message the other one; -1: none is known to be. */
static int32_t find_gone(const ndp_comm *c, int32_t peer, const char **how)
{
    for (int32_t r = peer < 0 ? 0 : peer; r < (peer < 0 ? c->n : peer + 1); r++)
        if ((*how = cuda_board_gone(c->board, r)) != NULL)
            return r;
    return -1;
}

static void tell_late(const ndp_comm *c, const cuda_comm_work *w, char *why, size_t n)
{
    const char *how = NULL;
    const long long limit = (long long)c->timeout_ms;
    if (w->peer < 0 && cuda_board_late(c->board, w->number, w->text, limit, why, n))
        return;
    const int32_t gone = find_gone(c, w->peer, &how);
    int k = snprintf(why, n, "%s %llu of rank %d, %s, did not end within %lld ms: ",
                     w->peer < 0 ? "call" : "message", (unsigned long long)w->number, c->rank,
                     w->text, limit);
    if (k < 0 || (size_t)k >= n)
        return;
    if (gone >= 0)
        snprintf(why + k, n - (size_t)k, "rank %d %s", gone, how);
    else
        snprintf(why + k, n - (size_t)k,
                 "another rank died, is late, or made another call (NDOCK_COMM_CHECK=1 names the "
                 "first that differs)");
}

static void look_at_time(ndp_comm *c, int64_t now)
{
    char why[CUDA_BOARD_TEXT];
    const int64_t limit = (int64_t)c->timeout_ms;
    const cuda_comm_work *w = c->work;
    if (w && now - w->since_ms > limit)
        tell_late(c, w, why, sizeof why);
    else if (c->in_call_ms && now - c->in_call_ms > limit) {
        if (!c->in_call ||
            !cuda_board_late(c->board, c->in_call, c->latest, (long long)limit, why, sizeof why))
            snprintf(why, sizeof why,
                     "rank %d, %s, waited %lld ms inside NCCL: another rank died or is late",
                     c->rank, c->latest, (long long)limit);
    } else if (c->waits_ms && now - c->waits_ms > limit)
        snprintf(why, sizeof why,
                 "rank %d, %s, waits for a rank of this process, which did not call within %lld ms",
                 c->rank, c->waiting, (long long)limit);
    else
        return;
    cuda_comm_fail_locked(c, why);
}

static void look_at_errors(ndp_comm *c)
{
    char why[300];
    int r = NCCL_SUCCESS;
    if (!c->joined || c->in_call_ms ||
        cuda_nccl.ncclCommGetAsyncError(c->handle, &r) != NCCL_SUCCESS || r == NCCL_SUCCESS ||
        r == NCCL_IN_PROGRESS)
        return;
    snprintf(why, sizeof why, "rank %d: NCCL says %s (%d); its latest call was %s", c->rank,
             cuda_nccl_result(r), r, c->latest[0] ? c->latest : "none");
    cuda_comm_fail_locked(c, why);
}

/* ---- ending ---- */
static void end_handles(ndp_comm *c, nccl_handle handle, nccl_handle root, int aborts)
{
    cuda_scope scope;
    if (c->epoch != atomic_load(&c->dev->epoch) || cuda_enter(c->dev, &scope) != NDP_OK)
        return;
    CUstreamCaptureMode mode = cuda_capture_relax();
    int (*const end)(nccl_handle) = aborts ? cuda_nccl.ncclCommAbort : cuda_nccl.ncclCommDestroy;
    if (handle && handle != root)
        (void)end(handle);
    if (root)
        (void)end(root);
    if (aborts)
        cuda_team_release(c);
    cuda_capture_restore(mode);
    cuda_leave(&scope);
}

static void unlink_comm(const ndp_comm *c)
{
    ndp_comm **at = &cuda_comms;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
}

/* Ends what is to end, without the lock. Whether anything was. */
static int end_one(ndp_comm *c, int64_t now)
{
    const int aborts = c->aborting, leaves = c->left && (c->failed || aborts || !c->work);
    if (c->in_call_ms && now - c->in_call_ms <= (int64_t)c->timeout_ms)
        return 0;
    if (!aborts && !leaves)
        return 0;
    const nccl_handle handle = c->handle, root = c->root;
    c->handle = c->root = NULL;
    c->joined = c->aborting = 0;
    if (leaves)
        unlink_comm(c);
    pthread_mutex_unlock(&cuda_comm_lock);
    end_handles(c, handle, root, aborts);
    if (leaves)
        cuda_comm_free(c);
    pthread_mutex_lock(&cuda_comm_lock);
    return 1;
}

/* One round; whether there is anything that has to be looked at again soon. */
static int look(void)
{
    int busy = 0;
    const int64_t now = cuda_comm_now_ms();
    for (ndp_comm *c = cuda_comms, *next; c; c = next) {
        cuda_scope scope;
        next = c->next;
        if (c->work && cuda_enter(c->dev, &scope) == NDP_OK) {
            CUstreamCaptureMode mode = cuda_capture_relax();
            look_at_work(c, now);
            cuda_capture_restore(mode);
            cuda_leave(&scope);
        }
        if (!c->failed && !c->left)
            look_at_errors(c);
        cuda_comm_read_board_locked(c);
        if (!c->failed)
            look_at_others(c, now);
        if (!c->failed)
            look_at_time(c, now);
        if (end_one(c, now))
            return 1; /* the list may be another */
        busy |= c->work || c->in_call_ms || c->waits_ms || c->left || c->aborting;
    }
    return busy;
}

static void *watch(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&cuda_comm_lock);
    for (;;) {
        const int busy = look();
        pthread_cond_broadcast(&changed);
        if (busy) {
            wait_ms(POLL_MS);
            continue;
        }
        asleep = 1;
        pthread_cond_wait(&changed, &cuda_comm_lock);
        asleep = 0;
    }
    return NULL;
}

static void start(void)
{
    pthread_t thread;
    pthread_attr_t detached;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    state = pthread_create(&thread, &detached, watch, NULL);
    pthread_attr_destroy(&detached);
}

int32_t cuda_keeper_start(void)
{
    pthread_once(&once, start);
    return state == 0
               ? NDP_OK
               : cuda_error(NDP_ERR_MEMORY, "no thread to watch communicators (error %d)", state);
}
