/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Messages between two ranks: a head of count and dtype, then the elements in pieces, by copies, so
 * that what did not end by the time limit harms no memory of the program. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ranks.h"

typedef struct message message;
struct message {
    message *next;
    ndp_comm *comm;
    int32_t sends, peer;
    int64_t head[2], came[2]; /* elements, dtype */
    uint64_t nbytes, done;    /* of the elements */
    char *at, *copy;
    int32_t step; /* 0 head to start, 1 head under way, 2 pieces, 3 piece under way, 4 ended */
    MPI_Request request;
};
static _Thread_local struct {
    int32_t depth;
    message *first, **end;
} group;

enum { TAG = 7 };

int32_t ranks_in_group(void)
{
    return group.depth > 0;
}

static void start(message *m, void *p, uint64_t n)
{
    if (m->sends)
        MPI_Isend(p, (int)n, MPI_BYTE, m->peer, TAG, m->comm->mpi, &m->request);
    else
        MPI_Irecv(p, (int)n, MPI_BYTE, m->peer, TAG, m->comm->mpi, &m->request);
}

static uint64_t piece(const message *m)
{
    const uint64_t left = m->nbytes - m->done;
    return left < RANKS_PIECE ? left : RANKS_PIECE;
}

/* One step further, if the request under way has ended; *moved. */
static int32_t move_on(message *m, int *moved)
{
    int done = 1;
    if (m->step == 1 || m->step == 3)
        if (MPI_Test(&m->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return ranks_fail(m->comm, "a message with rank %d: MPI failed", m->peer);
    if (!done)
        return NDP_OK;
    *moved = 1;
    if (m->step == 0) {
        start(m, m->sends ? m->head : m->came, sizeof m->head);
        m->step = 1;
        return NDP_OK;
    }
    if (m->step == 1 && !m->sends && memcmp(m->head, m->came, sizeof m->head) != 0)
        return ranks_fail(m->comm, "rank %d receives %lld %s, what rank %d sent is %lld %s",
                          m->comm->rank, (long long)m->head[0], ndp_dtype_name((int32_t)m->head[1]),
                          m->peer, (long long)m->came[0], ndp_dtype_name((int32_t)m->came[1]));
    if (m->step == 3) {
        if (!m->sends)
            memcpy(m->at + m->done, m->copy, piece(m));
        m->done += piece(m);
    }
    m->step = m->done < m->nbytes ? 3 : 4;
    if (m->step == 3) {
        if (m->sends)
            memcpy(m->copy, m->at + m->done, piece(m));
        start(m, m->copy, piece(m));
    }
    return NDP_OK;
}

/* An earlier message between the same two has not ended. */
static int is_behind(const message *first, const message *m)
{
    for (const message *e = first; e != m; e = e->next)
        if (e->comm == m->comm && e->sends == m->sends && e->peer == m->peer && e->step < 4)
            return 1;
    return 0;
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int32_t run(message *first)
{
    uint64_t since = now_ms();
    for (;;) {
        int moved = 0;
        const message *waits = NULL;
        for (message *m = first; m; m = m->next) {
            const int32_t status =
                m->step == 4 || is_behind(first, m) ? NDP_OK : move_on(m, &moved);
            if (status != NDP_OK)
                return status;
            if (m->step < 4)
                waits = m;
        }
        if (!waits)
            return NDP_OK;
        if (moved)
            since = now_ms();
        else if (now_ms() - since > waits->comm->timeout_ms) {
            ranks_unfinished = 1;
            return ranks_fail(waits->comm,
                              "%s of %lld %s of rank %d waits for rank %d, which did not "
                              "come within %llu ms",
                              waits->sends ? "send" : "recv", (long long)waits->head[0],
                              ndp_dtype_name((int32_t)waits->head[1]), waits->comm->rank,
                              waits->peer, (unsigned long long)waits->comm->timeout_ms);
        }
    }
}

/* Messages whose request may still run are never freed. */
static void free_all(message *first)
{
    for (message *next; first; first = next) {
        next = first->next;
        if (first->step == 1 || first->step == 3)
            continue;
        free(first->copy);
        free(first);
    }
}

int32_t ranks_group_begin(ndp_dev *dev)
{
    (void)dev;
    if (!group.depth++) {
        group.first = NULL;
        group.end = &group.first;
    }
    return NDP_OK;
}

int32_t ranks_group_end(ndp_dev *dev)
{
    (void)dev;
    if (!group.depth)
        return ranks_error(NDP_ERR_STATE, "no group was begun on this thread");
    if (--group.depth)
        return NDP_OK;
    const int32_t status = run(group.first);
    free_all(group.first);
    group.first = NULL;
    return status;
}

static int32_t call(ndp_comm *c, const ndp_exchange *x, int32_t sends)
{
    const ndp_view *v = sends ? &x->in : &x->out;
    int32_t status = ranks_failed(c);
    message *m = status == NDP_OK ? calloc(1, sizeof *m) : NULL;
    if (!m)
        return status != NDP_OK ? status : ranks_error(NDP_ERR_MEMORY, "no memory for a message");
    m->comm = c;
    m->sends = sends;
    m->peer = x->peer;
    m->head[0] = ranks_elements(v);
    m->head[1] = v->dtype;
    m->nbytes = (uint64_t)(m->head[0] * ndp_dtype_size(v->dtype));
    m->copy = malloc(piece(m) + 1);
    status = m->copy ? ranks_address(v, &m->at) : ranks_error(NDP_ERR_MEMORY, "no memory");
    if (status != NDP_OK) {
        free_all(m);
        return status;
    }
    if (group.depth) {
        *group.end = m;
        group.end = &m->next;
        return NDP_OK;
    }
    status = run(m);
    free_all(m);
    return status;
}

int32_t ranks_send(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x)
{
    (void)dev, (void)s;
    return call(c, x, 1);
}

int32_t ranks_recv(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x)
{
    (void)dev, (void)s;
    return call(c, x, 0);
}
