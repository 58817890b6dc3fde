/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The communicator of the processes that were started together, by whoever started them: torchrun's
 * variables (`ndock run` sets them too), those of Open MPI and of PMI (MPICH), Slurm's. */
#include <stdio.h>
#include <stdlib.h>
#include "core/base/env.h"
#include "core/collective/collective.h"

typedef struct {
    const char *who, *rank, *size, *local;
    bool mpi; /* they meet by MPI, else at MASTER_PORT */
} launcher;
static const launcher launchers[] = {
    {"ndock run or torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", false},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     true},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", true},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", true},
};

static nd_status number(const char *op, const char *name, int32_t low, int32_t *out)
{
    const char *text = nd__getenv(name);
    char *end = NULL;
    const long n = text ? strtol(text, &end, 10) : -1;
    *out = (int32_t)n;
    if (!text || end == text || *end || n < low || n > 1 << 20)
        return nd__fail(ND_ERR_ARGUMENT, op, -1, "%s is \"%s\", not a number from %d on", name,
                        text ? text : "", (int)low);
    return ND_OK;
}

/* Who started this process, NULL: nobody; its place. */
static nd_status place(const char *op, const launcher **by, int32_t *rank, int32_t *size,
                       int32_t *local)
{
    *by = NULL;
    *rank = *local = 0;
    *size = 1;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers && !*by; i++)
        if (nd__getenv(launchers[i].rank) && nd__getenv(launchers[i].size))
            *by = &launchers[i];
    if (!*by)
        return ND_OK;
    ND_RETURN_IF(number(op, (*by)->rank, 0, rank));
    ND_RETURN_IF(number(op, (*by)->size, 1, size));
    *local = -1;
    if (nd__getenv((*by)->local))
        ND_RETURN_IF(number(op, (*by)->local, 0, local));
    return *rank < *size ? (nd_status)ND_OK
                         : nd__fail(ND_ERR_ARGUMENT, op, -1, "%s is %d of %s %d", (*by)->rank,
                                    (int)*rank, (*by)->size, (int)*size);
}

nd_status nd_comm_launched(int32_t *rank, int32_t *size, int32_t *local)
{
    const launcher *by;
    ND_NEED("comm_launched", 0, rank);
    ND_NEED("comm_launched", 1, size);
    ND_NEED("comm_launched", 2, local);
    return place("comm_launched", &by, rank, size, local);
}

/* ---- at MASTER_PORT ---- */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static nd_store *own_store; /* of rank 0, until the process ends */
static int32_t worlds;      /* how many were asked for: every process counts alike */

static nd_status serve_if_first(int32_t rank, int32_t port, const char *token)
{
    nd_status status = ND_OK;
    if (rank != 0 || nd__env_bool(ND_ENV_COMM_STORE))
        return ND_OK;
    pthread_mutex_lock(&lock);
    if (!own_store)
        status = nd__error_as("comm_world", nd_comm_store_serve(port, token, &own_store));
    pthread_mutex_unlock(&lock);
    return status;
}

static nd_status find_store(int32_t *port, const char **token)
{
    static const char op[] = "comm_world";
    const char *address = nd__getenv("MASTER_ADDR");
    *token = nd__env(ND_ENV_COMM_TOKEN);
    if (!address || (strcmp(address, "127.0.0.1") != 0 && strcmp(address, "localhost") != 0))
        return nd__fail(
            ND_ERR_UNSUPPORTED, op, -1,
            "MASTER_ADDR is \"%s\"; processes of one machine meet at 127.0.0.1, those of "
            "several are started by mpirun or srun, with plug-in mpi",
            address ? address : "");
    ND_RETURN_IF(number(op, "MASTER_PORT", 1, port));
    return *token ? (nd_status)ND_OK
                  : nd__fail(ND_ERR_ARGUMENT, op, -1,
                             "NDOCK_COMM_TOKEN is not set; give all processes the same 16 to 63 "
                             "letters and digits, or start them with `ndock run`");
}

static nd_status meet_at_store(const nd_comm *like, int32_t rank, int32_t n, nd_comm **out)
{
    static const char op[] = "comm_world";
    char key[ND_STORE_KEY];
    const char *token;
    int32_t port;
    nd_comm_id id;
    const uint64_t limit = nd__comm_timeout_ms();
    ND_RETURN_IF(find_store(&port, &token));
    ND_RETURN_IF(serve_if_first(rank, port, token));
    pthread_mutex_lock(&lock);
    snprintf(key, sizeof key, "world %d %s", (int)worlds++, like->transport);
    pthread_mutex_unlock(&lock);
    if (rank == 0) {
        ND_RETURN_IF(
            nd__comm_fails((nd_comm *)like, op, like->table.unique_id(like->dev, id.bytes)));
        ND_RETURN_IF(nd__store_set(op, port, token, key, &id, limit));
    } else {
        ND_RETURN_IF(nd__store_get(op, port, token, key, &id, limit));
    }
    return nd__comm_join(op, like, rank, n, &id, out);
}

/* ---- by MPI ---- */
static nd_status mpi_carrier(nd_device *device, nd_comm *c)
{
    static const char op[] = "comm_world";
    nd_plugin_slot *slot = NULL;
    ND_RETURN_IF(nd__registry_slot("mpi", &slot));
    const ndp_comm_1 *table = slot && slot->p.group ? slot->p.group(NULL, "ndp.comm/1") : NULL;
    if (!table || table->size < NDP_END(ndp_comm_1, group_end))
        return nd__fail(ND_ERR_UNSUPPORTED, op, -1,
                        "the processes were started by MPI or Slurm, and there is no plug-in mpi; "
                        "build plugins/mpi and name its folder in NDOCK_PLUGIN_PATH, or start them "
                        "with `ndock run`");
    ND_RETURN_IF(nd__cpu_device(&c->carrier));
    c->device = device;
    c->dev = NULL;
    c->transport = slot->name;
    memcpy(&c->table, table, table->size < sizeof c->table ? table->size : sizeof c->table);
    return ND_OK;
}

/* The name that rank 0 makes, to everybody. */
static nd_status spread_id(nd_comm *by, nd_comm_id *id)
{
    const int64_t n = sizeof id->bytes;
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_U8, .ndim = 1, .shape = &n};
    nd_array *a = NULL;
    nd_status status = nd__from_host("comm_world", &layout, id->bytes, by->device, &a);
    if (status == ND_OK)
        status = nd_comm_broadcast(by, a, 0, NULL);
    if (status == ND_OK)
        status = nd_to_host(a, id->bytes, sizeof id->bytes);
    nd_release(a);
    return nd__error_as("comm_world", status);
}

/* MPI carries it; of devices whose plug-in has communicators of its own, its name alone. */
static nd_status meet_by_mpi(nd_device *device, int32_t rank, int32_t n, nd_comm **out)
{
    static const nd_comm_id world = {{'w', 'o', 'r', 'l', 'd'}};
    nd_device *cpu;
    nd_comm like = {0}, own = {0};
    nd_comm *by = NULL;
    nd_comm_id id = {{0}};
    ND_RETURN_IF(nd__cpu_device(&cpu));
    const bool staged = device != cpu && nd__comm_carries(device);
    ND_RETURN_IF(mpi_carrier(staged ? cpu : device, &like));
    ND_RETURN_IF(nd__comm_join("comm_world", &like, rank, n, &world, &by));
    if (!staged) {
        *out = by;
        return ND_OK;
    }
    nd_status status = nd__comm_carrier("comm_world", device, &own);
    if (status == ND_OK && rank == 0)
        status = nd__comm_fails(&own, "comm_world", own.table.unique_id(own.dev, id.bytes));
    if (status == ND_OK)
        status = spread_id(by, &id);
    if (status == ND_OK)
        status = nd__comm_join("comm_world", &own, rank, n, &id, out);
    nd_comm_release(by);
    return status;
}

nd_status nd_comm_world(nd_device *device, nd_comm **out)
{
    static const char op[] = "comm_world";
    nd_status status;
    const launcher *by;
    int32_t rank, n, local;
    nd_comm like = {0};
    ND_OUT(op, 1, out, NULL);
    device = nd__or_current(device, &status);
    if (status == ND_OK)
        status = nd__usable(device, op);
    if (status == ND_OK)
        status = place(op, &by, &rank, &n, &local);
    if (status == ND_OK && device->async)
        status = nd__may_wait(ND_WAIT_RANKS, device, op);
    if (status != ND_OK)
        return status;
    if (by && by->mpi)
        return meet_by_mpi(device, rank, n, out);
    ND_RETURN_IF(nd__comm_carrier(op, device, &like));
    if (n > 1)
        return meet_at_store(&like, rank, n, out);
    nd_comm_id id;
    ND_RETURN_IF(nd__comm_fails(&like, op, like.table.unique_id(like.dev, id.bytes)));
    return nd__comm_join(op, &like, 0, 1, &id, out);
}
