/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Groups: what a thread calls between group_begin and group_end goes to NCCL as one, be it joining
 * or exchanges. */
#include <stdlib.h>
#include <time.h>
#include "comm/comm.h"

typedef struct {
    ndp_comm *comm;
    cuda_part part;
    int given; /* NCCL has it */
    int32_t status;
} grouped;
/* A thread's group. */
typedef struct {
    int depth;
    grouped *parts;
    int n_parts, parts_room;
    ndp_comm **joining;
    int n_joining, joining_room;
} group;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
    (void)pthread_key_create(&key, free);
}

/* NULL: none is open. By a key, so that no static thread-local storage is used up. */
static group *open_group(void)
{
    pthread_once(&once, make_key);
    return pthread_getspecific(key);
}

int cuda_comm_grouped(void)
{
    return open_group() != NULL;
}

/* Room for one more; NULL: there is no memory. */
static void *grow(void *all, int n, int *room, size_t size)
{
    if (n < *room)
        return all;
    void *larger = realloc(all, (size_t)(*room ? 2 * *room : 8) * size);
    if (larger)
        *room = *room ? 2 * *room : 8;
    return larger;
}

int32_t cuda_comm_group_init(ndp_comm *c)
{
    group *g = open_group();
    ndp_comm **all = grow(g->joining, g->n_joining, &g->joining_room, sizeof *all);
    if (!all)
        return cuda_error(NDP_ERR_MEMORY, "no memory for a group of %d ranks", g->n_joining);
    g->joining = all;
    g->joining[g->n_joining++] = c;
    return NDP_OK;
}

int32_t cuda_comm_group_part(ndp_comm *c, const cuda_part *part, int given)
{
    group *g = open_group();
    grouped *all = grow(g->parts, g->n_parts, &g->parts_room, sizeof *all);
    if (!all)
        return cuda_error(NDP_ERR_MEMORY, "no memory for a group of %d calls", g->n_parts);
    g->parts = all;
    g->parts[g->n_parts++] = (grouped){c, *part, given, NDP_OK};
    return NDP_OK;
}

int32_t cuda_comm_group_begin(ndp_dev *dev)
{
    group *g = open_group();
    (void)dev;
    if (g) {
        g->depth++;
        return NDP_OK;
    }
    int32_t status = cuda_nccl_open();
    if (status != NDP_OK)
        return status;
    g = calloc(1, sizeof *g);
    if (!g || pthread_setspecific(key, g) != 0) {
        free(g);
        return cuda_error(NDP_ERR_MEMORY, "no memory for a group");
    }
    g->depth = 1;
    const int r = cuda_nccl.ncclGroupStart();
    return r == NCCL_SUCCESS
               ? NDP_OK
               : cuda_error(NDP_ERR_COMM, "beginning a group: NCCL says %s", cuda_nccl_result(r));
}

/* ---- joining ---- */
enum { LOOK_EVERY = 64 };

static void pause_shortly(void)
{
    const struct timespec t = {.tv_nsec = 200000};
    nanosleep(&t, NULL);
}

static int32_t nobody_comes(ndp_comm *c)
{
    char absent[CUDA_CALL_TEXT];
    cuda_board_absent(c->board, absent, sizeof absent);
    if (absent[0])
        cuda_comm_fail(c, "rank %d waited %llu ms for others; %s did not join on this machine",
                       c->rank, (unsigned long long)c->timeout_ms, absent);
    else
        cuda_comm_fail(c, "rank %d waited %llu ms for others, of which one did not join", c->rank,
                       (unsigned long long)c->timeout_ms);
    return cuda_comm_error(c);
}

/* A rank that is gone joins no more; others may have told why on the board. */
static int32_t look_at_board(ndp_comm *c)
{
    for (int32_t r = 0; r < c->n; r++) {
        const char *gone = cuda_board_gone(c->board, r);
        if (gone)
            cuda_comm_fail(c, "rank %d waits for rank %d to join, which %s", c->rank, r, gone);
    }
    return cuda_comm_error(c);
}

/* Until NCCL has done what it began with the handle that each rank joined by. */
static int32_t await_joined(ndp_comm *const *all, int n, const char *what)
{
    const int64_t began = cuda_comm_now_ms();
    for (int i = 0, looks = 1; i < n; looks++) {
        ndp_comm *c = all[i];
        int r = NCCL_SUCCESS;
        const int asked = cuda_nccl.ncclCommGetAsyncError(c->root, &r);
        r = asked == NCCL_SUCCESS ? r : asked;
        i += r == NCCL_SUCCESS;
        if (r != NCCL_SUCCESS && r != NCCL_IN_PROGRESS)
            return cuda_comm_said(c, r, what);
        if (r != NCCL_IN_PROGRESS)
            continue;
        if (cuda_comm_now_ms() - began > (int64_t)c->timeout_ms)
            return nobody_comes(c);
        if (looks % LOOK_EVERY == 0 && look_at_board(c) != NDP_OK)
            return NDP_ERR_COMM;
        pause_shortly();
    }
    return NDP_OK;
}

static int split(ndp_comm *c)
{
    cuda_scope scope;
    nccl_config config = cuda_nccl_config(1);
    if (cuda_enter(c->dev, &scope) != NDP_OK)
        return NCCL_UNHANDLED_CUDA_ERROR;
    const int r = cuda_nccl.ncclCommSplit(c->root, 0, c->rank, &c->child, &config);
    cuda_leave(&scope);
    return r == NCCL_IN_PROGRESS ? NCCL_SUCCESS : r;
}

/* Calls are made with the communicator that blocks, where NCCL can split it off. */
static int32_t split_off(ndp_comm *const *all, int n)
{
    int r = cuda_nccl.ncclGroupStart();
    for (int i = 0; i < n && r == NCCL_SUCCESS; i++)
        r = split(all[i]);
    const int ended = cuda_nccl.ncclGroupEnd();
    r = r == NCCL_SUCCESS && ended != NCCL_IN_PROGRESS ? ended : r;
    return r == NCCL_SUCCESS ? await_joined(all, n, "splitting off what calls are made with")
                             : cuda_comm_said(all[0], r, "splitting off what calls are made with");
}

int32_t cuda_comm_finish(ndp_comm *const *all, int n)
{
    int32_t status = await_joined(all, n, "joining");
    if (status == NDP_OK && n && cuda_nccl.ncclCommSplit)
        status = split_off(all, n);
    pthread_mutex_lock(&cuda_comm_lock);
    for (int i = 0; i < n && status == NDP_OK; i++) {
        cuda_board_unname(all[i]->board);
        all[i]->handle = all[i]->child ? all[i]->child : all[i]->root;
        all[i]->joined = 1;
    }
    pthread_mutex_unlock(&cuda_comm_lock);
    return status;
}

/* ---- ranks of this process, at the end ---- */
/* How many collectives the rank has in the group; of messages of `kind` with peer, those. */
static int count_parts(const group *g, const ndp_comm *c, int messages, cuda_exchange_kind kind,
                       int32_t peer)
{
    int n = 0;
    for (int i = 0; i < g->n_parts; i++) {
        const cuda_part *p = &g->parts[i].part;
        n += g->parts[i].comm == c && cuda_comm_is_message(p) == messages &&
             (!messages || (p->kind == kind && p->peer == peer));
    }
    return n;
}

/* Whether the group has all calls that belong to those of c here, and none is kept from before: then
 * they go to NCCL together, each on its own stream. */
static int is_whole(const group *g, const ndp_comm *c)
{
    const int collectives = count_parts(g, c, 0, CUDA_SEND, 0);
    for (const ndp_comm *m = cuda_team_next(c, NULL); m; m = cuda_team_next(c, m)) {
        if (m->parts || count_parts(g, m, 0, CUDA_SEND, 0) != collectives)
            return 0;
        for (const ndp_comm *to = cuda_team_next(c, NULL); to; to = cuda_team_next(c, to))
            if (count_parts(g, m, 1, CUDA_SEND, to->rank) !=
                count_parts(g, to, 1, CUDA_RECV, m->rank))
                return 0;
    }
    return 1;
}

static int32_t give(grouped *p)
{
    cuda_scope scope;
    int32_t status = cuda_comm_enter(p->comm, &p->part);
    if (status == NDP_OK)
        status = cuda_enter(p->comm->dev, &scope);
    if (status != NDP_OK)
        return status;
    const int r = cuda_comm_issue(p->comm, &p->part, p->part.stream);
    cuda_leave(&scope);
    return cuda_comm_said(p->comm, r == NCCL_IN_PROGRESS ? NCCL_SUCCESS : r, p->part.text);
}

static void give_what_is_whole(group *g)
{
    for (int i = 0; i < g->n_parts; i++) {
        grouped *p = &g->parts[i];
        if (p->given || !is_whole(g, p->comm))
            continue;
        p->status = give(p);
        p->given = p->status == NDP_OK;
    }
}

/* The others are kept until the rest of their team has called, those of one rank at once. */
static int32_t keep_others(group *g)
{
    cuda_scope scope;
    int32_t status = NDP_OK;
    for (int i = 0; i < g->n_parts; i++) {
        grouped *p = &g->parts[i];
        int together = 0;
        if (p->given || p->status != NDP_OK || (p->status = cuda_enter(p->comm->dev, &scope)))
            continue;
        for (int k = 0; k < i; k++)
            together |= g->parts[k].comm == p->comm && !g->parts[k].given;
        p->status = cuda_team_keep(p->comm, &p->part, together);
        cuda_leave(&scope);
    }
    for (int i = 0; i < g->n_parts; i++) {
        grouped *p = &g->parts[i];
        if (!p->given && p->status == NDP_OK && (p->status = cuda_team_run(p->comm)) == NDP_OK &&
            (p->status = cuda_enter(p->comm->dev, &scope)) == NDP_OK) {
            p->status = cuda_team_wait(p->comm, &p->part);
            cuda_leave(&scope);
        }
        status = status == NDP_OK ? p->status : status;
    }
    return status;
}

/* ---- the end ---- */
static int32_t end_part(const grouped *p, int r)
{
    cuda_scope scope;
    ndp_comm *c = p->comm;
    int32_t status = cuda_comm_said(c, cuda_comm_until_queued(c, r), p->part.text);
    if (status == NDP_OK)
        status = cuda_enter(c->dev, &scope);
    if (status == NDP_OK) {
        status = cuda_comm_watch(c, &p->part, p->part.stream);
        cuda_leave(&scope);
    }
    return status;
}

static int32_t end_given(const group *g, int r)
{
    int32_t status = NDP_OK;
    for (int i = 0; i < g->n_parts; i++) {
        const int32_t ended = g->parts[i].given ? end_part(&g->parts[i], r) : NDP_OK;
        status = status == NDP_OK ? ended : status;
    }
    for (int i = 0; i < g->n_parts; i++)
        if (g->parts[i].given)
            cuda_comm_leave(g->parts[i].comm);
    return status;
}

static int32_t end_joining(const group *g, int r)
{
    if (g->n_joining)
        return r == NCCL_SUCCESS || r == NCCL_IN_PROGRESS
                   ? cuda_comm_finish(g->joining, g->n_joining)
                   : cuda_comm_said(g->joining[0], r, "joining");
    return r == NCCL_SUCCESS || r == NCCL_IN_PROGRESS || g->n_parts
               ? NDP_OK
               : cuda_error(NDP_ERR_COMM, "ending a group: NCCL says %s", cuda_nccl_result(r));
}

int32_t cuda_comm_group_end(ndp_dev *dev)
{
    group *g = open_group();
    if (!g)
        return cuda_error(NDP_ERR_STATE, "group_end on cuda:%u: no group was begun on this thread",
                          dev->index);
    if (--g->depth)
        return NDP_OK;
    give_what_is_whole(g);
    (void)pthread_setspecific(key, NULL);
    const int r = cuda_nccl.ncclGroupEnd();
    int32_t status = end_joining(g, r);
    const int32_t given = end_given(g, r), kept = keep_others(g);
    status = status != NDP_OK ? status : given != NDP_OK ? given : kept;
    free(g->parts);
    free(g->joining);
    free(g);
    return status;
}
