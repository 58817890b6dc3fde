/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Starting and ending MPI, and communicators by their names: that of all processes, and those whose
 * members tell the process that made the name who they are. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ranks.h"

int32_t ranks_unfinished;
static int started;                      /* by us */
static MPI_Comm service = MPI_COMM_NULL; /* for messages about names */

int32_t ranks_start(void)
{
    int there = 0, over = 0, level;
    if (MPI_Initialized(&there) != MPI_SUCCESS || MPI_Finalized(&over) != MPI_SUCCESS || over)
        return ranks_error(NDP_ERR_STATE, "MPI has been finalised");
    if (there)
        return NDP_OK;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS)
        return ranks_error(NDP_ERR_PLUGIN, "MPI_Init_thread failed");
    started = 1;
    return NDP_OK;
}

/* A rank that ends without this makes mpirun end the others; where an exchange did not end, that is
 * what is wanted. */
__attribute__((destructor)) static void finish(void)
{
    int over = 0;
    if (started && !ranks_unfinished && MPI_Finalized(&over) == MPI_SUCCESS && !over)
        MPI_Finalize();
}

/* ---- failing, waiting ---- */
int32_t ranks_failed(ndp_comm *c)
{
    return c->failed ? ranks_error(NDP_ERR_COMM, "%s", c->why) : NDP_OK;
}

int32_t ranks_fail(ndp_comm *c, const char *fmt, ...)
{
    va_list args;
    if (!c->failed) {
        va_start(args, fmt);
        vsnprintf(c->why, sizeof c->why, fmt, args);
        va_end(args);
        c->failed = 1;
    }
    return ranks_failed(c);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int32_t late(ndp_comm *c, int32_t peer)
{
    ranks_unfinished = 1;
    if (peer >= 0)
        return ranks_fail(c,
                          "call %llu of rank %d, %s, waits for rank %d, which did not come within "
                          "%llu ms",
                          (unsigned long long)c->calls, c->rank, c->latest, peer,
                          (unsigned long long)c->timeout_ms);
    return ranks_fail(c,
                      "call %llu of rank %d, %s, waits for other ranks, of which one or more did "
                      "not come within %llu ms; NDOCK_COMM_CHECK=1 names calls that differ",
                      (unsigned long long)c->calls, c->rank, c->latest,
                      (unsigned long long)c->timeout_ms);
}

#if defined(__GNUC__) && !defined(__clang__)
/* MPICH declares an array of statuses, which the constant for none is not. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif
int32_t ranks_wait(ndp_comm *c, MPI_Request *requests, int n, int32_t peer)
{
    const uint64_t until = now_ns() + c->timeout_ms * 1000000u;
    const struct timespec moment = {.tv_nsec = 20000};
    for (uint64_t looks = 0;; looks++) {
        int done = 0;
        if (MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS)
            return ranks_fail(c, "call %llu of rank %d, %s: MPI failed",
                              (unsigned long long)c->calls, c->rank, c->latest);
        if (done)
            return NDP_OK;
        if (looks % 64 == 63 && now_ns() > until)
            return late(c, peer);
        if (looks > 2000)
            nanosleep(&moment, NULL);
    }
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/* ---- names ---- */
typedef struct {
    char kind[8]; /* "world", "members" */
    int32_t leader, number;
} name;

int32_t ranks_unique_id(ndp_dev *dev, void *id)
{
    static int32_t made;
    name who = {.kind = "members"};
    (void)dev;
    int32_t status = ranks_start();
    if (status != NDP_OK)
        return status;
    MPI_Comm_rank(MPI_COMM_WORLD, &who.leader);
    who.number = ++made % 30000;
    memset(id, 0, NDP_COMM_ID_BYTES);
    memcpy(id, &who, sizeof who);
    return NDP_OK;
}

/* Each member tells the leader its two ranks, and gets everybody's. */
static int32_t find_members(ndp_comm *c, const name *who, int *members)
{
    int mine[2] = {c->rank, 0};
    int32_t status = NDP_OK;
    MPI_Request r;
    MPI_Comm_rank(MPI_COMM_WORLD, &mine[1]);
    if (mine[1] != who->leader) {
        MPI_Isend(mine, 2, MPI_INT, who->leader, who->number, service, &r);
        status = ranks_wait(c, &r, 1, -1);
        if (status == NDP_OK) {
            MPI_Irecv(members, c->n, MPI_INT, who->leader, 30000 + who->number % 2000, service, &r);
            status = ranks_wait(c, &r, 1, -1);
        }
        return status;
    }
    members[c->rank] = mine[1];
    for (int i = 1; i < c->n && status == NDP_OK; i++) {
        int other[2];
        MPI_Irecv(other, 2, MPI_INT, MPI_ANY_SOURCE, who->number, service, &r);
        status = ranks_wait(c, &r, 1, -1);
        if (status == NDP_OK && other[0] >= 0 && other[0] < c->n)
            members[other[0]] = other[1];
    }
    for (int i = 0; i < c->n && status == NDP_OK; i++)
        if (members[i] != mine[1]) {
            MPI_Isend(members, c->n, MPI_INT, members[i], 30000 + who->number % 2000, service, &r);
            status = ranks_wait(c, &r, 1, -1);
        }
    return status;
}

static int32_t join_members(ndp_comm *c, const name *who)
{
    int *members = calloc((size_t)c->n, sizeof *members);
    MPI_Group all, some;
    if (!members)
        return ranks_error(NDP_ERR_MEMORY, "no memory for %d ranks", c->n);
    int32_t status = service == MPI_COMM_NULL
                         ? ranks_error(NDP_ERR_STATE, "the communicator of all comes first")
                         : find_members(c, who, members);
    if (status == NDP_OK) {
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_incl(all, c->n, members, &some);
        if (MPI_Comm_create_group(MPI_COMM_WORLD, some, who->number, &c->mpi) != MPI_SUCCESS)
            status = ranks_fail(c, "MPI_Comm_create_group failed");
        MPI_Group_free(&some);
        MPI_Group_free(&all);
    }
    free(members);
    return status;
}

static int32_t join_world(ndp_comm *c)
{
    int n, rank;
    MPI_Request r;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (n != c->n || rank != c->rank)
        return ranks_error(NDP_ERR_COMM,
                           "rank %d of %d by the environment is rank %d of %d to MPI: "
                           "another MPI than that of plug-in mpi started the processes",
                           c->rank, c->n, rank, n);
    MPI_Comm_idup(MPI_COMM_WORLD, &c->mpi, &r);
    int32_t status = ranks_wait(c, &r, 1, -1);
    if (status == NDP_OK && service == MPI_COMM_NULL) {
        MPI_Comm_idup(MPI_COMM_WORLD, &service, &r);
        status = ranks_wait(c, &r, 1, -1);
    }
    return status;
}

int32_t ranks_init(ndp_dev *dev, int32_t rank, int32_t n, const void *id, uint64_t timeout_ms,
                   ndp_comm **out)
{
    name who;
    (void)dev;
    *out = NULL;
    memcpy(&who, id, sizeof who);
    int32_t status = ranks_start();
    ndp_comm *c = status == NDP_OK ? calloc(1, sizeof *c) : NULL;
    if (!c)
        return status != NDP_OK ? status : ranks_error(NDP_ERR_MEMORY, "no memory");
    *c = (ndp_comm){
        .mpi = MPI_COMM_NULL, .rank = rank, .n = n, .timeout_ms = timeout_ms, .latest = "joining"};
    if (memcmp(who.kind, "world", 6) == 0)
        status = join_world(c);
    else if (memcmp(who.kind, "members", 8) == 0)
        status = join_members(c, &who);
    else
        status = ranks_error(NDP_ERR_ARGUMENT, "the bytes are no name of a communicator of MPI");
    if (status != NDP_OK) {
        ranks_destroy(NULL, c);
        return status;
    }
    MPI_Comm_set_errhandler(c->mpi, MPI_ERRORS_RETURN);
    *out = c;
    return NDP_OK;
}

/* MPI_Comm_free may wait for the other ranks: it is left to MPI_Finalize, which does. */
void ranks_destroy(ndp_dev *dev, ndp_comm *c)
{
    (void)dev;
    free(c);
}
