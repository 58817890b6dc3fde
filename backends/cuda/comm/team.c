/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Teams: the ranks of one communicator that are in this process. */
#include <stdlib.h>
#include <string.h>
#include "comm/comm.h"

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
