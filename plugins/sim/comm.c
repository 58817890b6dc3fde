/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.comm/1": communicators among the simulated devices of this process, and how ranks join
 * and leave them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ndock/plugin_comm.h>
#include "comm.h"
#include "simulator.h"

sim_team *sim_teams;
static int32_t teams_made;

static uint64_t dtypes(ndp_dev *dev, int32_t reduce)
{
    (void)dev;
    return reduce >= 0 && reduce < NDP_COMM_OPS ? ndp_comm_combines(reduce) : 0;
}

static int32_t unique_id(ndp_dev *dev, void *id)
{
    static uint64_t made;
    sim_call c = {.entry = SIM_comm_id, .dev = dev};
    int32_t status = sim_enter(&c);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    memset(id, 0, NDP_COMM_ID_BYTES);
    snprintf(id, NDP_COMM_ID_BYTES, "sim %llu %lld.%ld", (unsigned long long)++made,
             (long long)now.tv_sec, now.tv_nsec);
    return sim_leave(&c, status);
}

static sim_team *team_of(const void *id, int32_t n, uint64_t timeout_ms)
{
    sim_team *t = sim_teams;
    while (t && memcmp(t->id, id, sizeof t->id) != 0)
        t = t->next;
    if (t || (t = calloc(1, sizeof *t)) == NULL)
        return t;
    memcpy(t->id, id, sizeof t->id);
    t->n = n;
    t->number = ++teams_made;
    t->timeout_ms = timeout_ms;
    t->next = sim_teams;
    sim_teams = t;
    return t;
}

static int32_t join_team(ndp_dev *dev, int32_t rank, int32_t n, const void *id, uint64_t timeout_ms,
                         ndp_comm **out)
{
    if (n < 1 || n > SIM_MAX_DEVICES || rank < 0 || rank >= n)
        return sim_fail(NDP_ERR_ARGUMENT, 0,
                        "rank %d of %d; sim has communicators of 1 to %d ranks", rank, n,
                        SIM_MAX_DEVICES);
    sim_team *t = team_of(id, n, timeout_ms);
    ndp_comm *c = t && t->n == n && !t->rank[rank] ? calloc(1, sizeof *c) : NULL;
    if (t && t->n != n)
        return sim_fail(NDP_ERR_COMM, 0, "rank %d joins %d ranks, others %d", rank, n, t->n);
    if (t && t->rank[rank])
        return sim_fail(NDP_ERR_COMM, 0, "there are two of rank %d", rank);
    if (!c)
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a communicator");
    *c = (ndp_comm){.team = t, .dev = dev, .rank = rank};
    t->rank[rank] = c;
    t->joined++;
    t->here++;
    *out = c;
    pthread_cond_broadcast(&sim_changed);
    return NDP_OK;
}

static int32_t await_team(sim_team *t, int32_t rank)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += (time_t)(t->timeout_ms / 1000);
    limit.tv_nsec += (long)(t->timeout_ms % 1000) * 1000000;
    limit.tv_sec += limit.tv_nsec / 1000000000;
    limit.tv_nsec %= 1000000000;
    int rc = 0;
    while (t->joined < t->n && !t->failed && rc == 0)
        rc = pthread_cond_timedwait(&sim_changed, &sim_mutex, &limit);
    for (int32_t i = 0; i < t->n && t->joined < t->n && !t->failed; i++)
        if (!t->rank[i])
            sim_team_fail(t, "rank %d waited %llu ms for rank %d, which did not join", rank,
                          (unsigned long long)t->timeout_ms, i);
    return sim_team_failed(t);
}

static void leave_team(ndp_comm *c)
{
    sim_team *t = c->team;
    c->left = 1;
    t->here--;
    if (t->failed) /* nobody else can join any more */
        t->joined = t->n;
    sim_team_free_unused(t);
    pthread_cond_broadcast(&sim_changed);
}

static int32_t init(ndp_dev *dev, int32_t rank, int32_t n, const void *id, uint64_t timeout_ms,
                    ndp_comm **out)
{
    sim_call c = {.entry = SIM_comm_init, .dev = dev, .nbytes = (uint64_t)rank};
    int32_t status = sim_enter(&c);
    *out = NULL;
    if (status == NDP_OK)
        status = join_team(dev, rank, n, id, timeout_ms, out);
    if (status == NDP_OK && !sim_in_group() &&
        (status = await_team((*out)->team, rank)) != NDP_OK) {
        leave_team(*out);
        *out = NULL;
    }
    return sim_leave(&c, status);
}

static void destroy(ndp_dev *dev, ndp_comm *comm)
{
    sim_call c = {.entry = SIM_comm_destroy, .dev = dev};
    int32_t status = sim_enter(&c);
    if (comm)
        leave_team(comm);
    (void)sim_leave(&c, status);
}

static int32_t abort_comm(ndp_dev *dev, ndp_comm *comm)
{
    sim_call c = {.entry = SIM_comm_abort, .dev = dev};
    int32_t status = sim_enter(&c);
    char text[SIM_CALL_TEXT];
    sim_team_fail(comm->team, "rank %d aborted it; its latest call was %s", comm->rank,
                  sim_signature_text(&comm->latest, text, sizeof text));
    return sim_leave(&c, status);
}

static int32_t async_error(ndp_dev *dev, ndp_comm *comm)
{
    (void)dev;
    pthread_mutex_lock(&sim_mutex);
    int32_t status = sim_team_failed(comm->team);
    pthread_mutex_unlock(&sim_mutex);
    return status;
}

static const ndp_comm_1 whole = {
    .size = sizeof(ndp_comm_1),
    .dtypes = dtypes,
    .unique_id = unique_id,
    .init = init,
    .destroy = destroy,
    .abort = abort_comm,
    .async_error = async_error,
};

static int32_t is_listed(const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = sim_set.comm; *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, name, n) == 0 && (p[n] == ',' || !p[n]))
            return 1;
    return strcmp(sim_set.comm, "all") == 0;
}

static ndp_comm_1 table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void make_table(void)
{
    table = whole;
    sim_comm_calls(&table);
#define KEEP(name)         \
    if (!is_listed(#name)) \
        table.name = NULL;
    KEEP(all_reduce)
    KEEP(reduce)
    KEEP(broadcast)
    KEEP(all_gather)
    KEEP(reduce_scatter)
    KEEP(all_to_all)
    KEEP(send)
    KEEP(recv)
    KEEP(barrier)
#undef KEEP
}

const ndp_comm_1 *sim_comm_group(void)
{
    pthread_once(&table_once, make_table);
    return &table;
}
