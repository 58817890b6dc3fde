/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Communicators: who carries one, how its ranks come together, and how one becomes several. */
#include <stdio.h>
#include <stdlib.h>
#include "core/base/env.h"
#include "core/collective/collective.h"

uint64_t nd__comm_timeout_ms(void)
{
    return (uint64_t)nd__env_integer(ND_ENV_COMM_TIMEOUT);
}

nd_status nd__comm_fails(nd_comm *c, const char *op, nd_status status)
{
    if (status != ND_OK)
        nd__error_context(op, c->device->name, c->transport);
    return status;
}

/* Whether the device's own plug-in carries them. Why it does not is the thread's error then. */
bool nd__comm_carries(const nd_device *device)
{
    const ndp_comm_1 *t = &device->comm;
    return device->has_comm && (!t->available || t->available(device->dev) == ND_OK);
}

nd_status nd__comm_carrier(const char *op, nd_device *device, nd_comm *c)
{
    char why[300] = "its plug-in has no communicators";
    nd_device *carrier = device;
    if (!nd__comm_carries(device)) {
        if (device->has_comm)
            snprintf(why, sizeof why, "%s", nd_last_error()->message);
        ND_RETURN_IF(nd__cpu_device(&carrier));
        if (!carrier->has_comm || carrier == device)
            return nd__fail(ND_ERR_UNSUPPORTED, op, 0,
                            "the plug-in of %s has no communicators, nor has the CPU's that could "
                            "stand in",
                            device->name);
        ND_RETURN_IF(nd__may_stage(device, op, NULL, why));
    }
    c->device = device;
    c->carrier = carrier;
    c->table = carrier->comm;
    c->dev = carrier->dev;
    c->transport = carrier->slot->name;
    return ND_OK;
}

nd_status nd_comm_unique_id(nd_device *device, nd_comm_id *out)
{
    nd_status status;
    nd_comm c = {0};
    ND_NEED("comm_unique_id", 1, out);
    memset(out, 0, sizeof *out);
    device = nd__or_current(device, &status);
    if (status == ND_OK)
        status = nd__usable(device, "comm_unique_id");
    if (status == ND_OK)
        status = nd__comm_carrier("comm_unique_id", device, &c);
    return status == ND_OK
               ? nd__comm_fails(&c, "comm_unique_id", c.table.unique_id(c.dev, out->bytes))
               : status;
}

nd_status nd_comm_carrier(nd_device *device, const char **transport, char *missing, size_t n)
{
    static const char op[] = "comm_carrier";
    nd_status status;
    nd_device *cpu = NULL;
    ND_OUT(op, 1, transport, "");
    ND_NEED(op, 2, missing);
    if (n)
        *missing = 0;
    device = nd__or_current(device, &status);
    if (status == ND_OK)
        status = nd__usable(device, op);
    if (status != ND_OK)
        return status;
    if (nd__comm_carries(device)) {
        *transport = device->slot->name;
        return ND_OK;
    }
    snprintf(missing, n, "%s",
             device->has_comm ? nd_last_error()->message : "its plug-in has no communicators");
    if (nd__cpu_device(&cpu) == ND_OK && cpu != device && cpu->has_comm)
        *transport = cpu->slot->name;
    return ND_OK;
}

static nd_status check_rank(const char *op, int32_t rank, int32_t n)
{
    return n < 1 || rank < 0 || rank >= n
               ? nd__fail(ND_ERR_ARGUMENT, op, 1, "rank %d of %d; ranks are 0 to n-1", rank, n)
               : (nd_status)ND_OK;
}

nd_status nd__comm_join(const char *op, const nd_comm *like, int32_t rank, int32_t n,
                        const nd_comm_id *id, nd_comm **out)
{
    nd_comm *c = calloc(1, sizeof *c);
    if (!c)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for a communicator");
    *c = *like;
    atomic_init(&c->refs, 1);
    c->rank = rank;
    c->n = n;
    c->calls = 0;
    c->side = NULL;
    c->differs = NULL;
    c->handle = NULL;
    const nd_status status = nd__comm_fails(
        c, op, c->table.init(c->dev, rank, n, id->bytes, nd__comm_timeout_ms(), &c->handle));
    if (status != ND_OK) {
        free(c);
        return status;
    }
    *out = c;
    return ND_OK;
}

static nd_status join(const char *op, nd_device *device, int32_t rank, int32_t n,
                      const nd_comm_id *id, nd_comm **out)
{
    nd_comm like = {0};
    ND_RETURN_IF(nd__comm_carrier(op, device, &like));
    return nd__comm_join(op, &like, rank, n, id, out);
}

nd_status nd_comm_init(nd_device *device, int32_t rank, int32_t n, const nd_comm_id *id,
                       nd_comm **out)
{
    nd_status status;
    ND_OUT("comm_init", 4, out, NULL);
    ND_NEED("comm_init", 3, id);
    ND_RETURN_IF(check_rank("comm_init", rank, n));
    device = nd__or_current(device, &status);
    if (status == ND_OK)
        status = nd__usable(device, "comm_init");
    if (status == ND_OK && device->async)
        status = nd__may_wait(ND_WAIT_RANKS, device, "comm_init");
    return status == ND_OK ? join("comm_init", device, rank, n, id, out) : status;
}

/* ---- ranks of one process ---- */
static void release_all(int32_t n, nd_comm **all)
{
    for (int32_t i = 0; i < n; i++) {
        nd_comm_release(all[i]);
        all[i] = NULL;
    }
}

static nd_status check_local(int32_t n, nd_device *const *devices)
{
    static const char op[] = "comm_local";
    for (int32_t i = 0; i < n; i++) {
        ND_NEED(op, 1, devices[i]);
        ND_RETURN_IF(nd__usable(devices[i], op));
        if (devices[i]->slot != devices[0]->slot)
            return nd__fail(ND_ERR_DEVICE, op, 1,
                            "%s and %s have different plug-ins; the ranks of one process have "
                            "devices of one",
                            devices[0]->name, devices[i]->name);
        for (int32_t j = 0; j < i; j++)
            if (devices[i] == devices[j])
                return nd__fail(ND_ERR_DEVICE, op, 1, "%s is named twice; ranks have a device each",
                                devices[i]->name);
    }
    if (devices[0]->has_comm && devices[0]->comm.available && n > 1)
        return nd__error_as(op, devices[0]->comm.available(devices[0]->dev));
    return n == 1 || devices[0]->has_comm
               ? (nd_status)ND_OK
               : nd__fail(ND_ERR_UNSUPPORTED, op, 1, "the plug-in of %s has no communicators",
                          devices[0]->name);
}

nd_status nd_comm_local(int32_t n, nd_device *const *devices, nd_comm **out)
{
    nd_comm_id id;
    if (n < 1)
        return nd__fail(ND_ERR_ARGUMENT, "comm_local", 0, "%d devices; there is at least one", n);
    ND_NEED("comm_local", 1, devices);
    ND_NEED("comm_local", 2, out);
    for (int32_t i = 0; i < n; i++)
        out[i] = NULL;
    ND_RETURN_IF(check_local(n, devices));
    ND_RETURN_IF(nd_comm_unique_id(devices[0], &id));
    const ndp_comm_1 *table = &devices[0]->comm;
    nd_status status = n > 1 ? table->group_begin(devices[0]->dev) : ND_OK;
    if (status != ND_OK)
        return status;
    for (int32_t i = 0; i < n && status == ND_OK; i++) {
        status = join("comm_local", devices[i], i, n, &id, &out[i]);
        if (out[i])
            out[i]->local = true;
    }
    if (n > 1) {
        nd_status ended = table->group_end(devices[0]->dev);
        status = status == ND_OK ? ended : status;
    }
    if (status != ND_OK)
        release_all(n, out);
    return status;
}

/* ---- life ---- */
nd_comm *nd_comm_retain(nd_comm *c)
{
    if (c)
        atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

void nd_comm_release(nd_comm *c)
{
    if (!c || !nd__last(&c->refs))
        return;
    nd_stream_release(c->side);
    if (!nd__out_of_reach(c->carrier) && c->handle)
        c->table.destroy(c->dev, c->handle);
    free(c->differs);
    free(c);
}

int32_t nd_comm_rank(const nd_comm *comm)
{
    ND_NEED_OR("comm_rank", 0, comm, -1);
    return comm->rank;
}

int32_t nd_comm_size(const nd_comm *comm)
{
    ND_NEED_OR("comm_size", 0, comm, 0);
    return comm->n;
}

nd_device *nd_comm_device(const nd_comm *comm)
{
    ND_NEED_OR("comm_device", 0, comm, NULL);
    return comm->device;
}

const char *nd_comm_transport(const nd_comm *comm)
{
    ND_NEED_OR("comm_transport", 0, comm, "");
    return comm->transport;
}

nd_status nd_comm_status(nd_comm *comm)
{
    ND_NEED("comm_status", 0, comm);
    ND_RETURN_IF(nd__comm_differs(comm, "comm_status"));
    return nd__comm_fails(comm, "comm_status", comm->table.async_error(comm->dev, comm->handle));
}

nd_status nd_comm_abort(nd_comm *comm)
{
    ND_NEED("comm_abort", 0, comm);
    return nd__comm_fails(comm, "comm_abort", comm->table.abort(comm->dev, comm->handle));
}

/* ---- split ---- */
enum { WORDS = ND_COMM_ID_BYTES / 8 };

/* A row of i64 of every rank, on the host. */
static nd_status gather_rows(nd_comm *c, const void *mine, int64_t words, int64_t *all)
{
    nd_array *a = NULL, *rows = NULL;
    nd_layout layout = {.size = sizeof layout, .dtype = ND_I64, .ndim = 1, .shape = &words};
    nd_status status;
    ND_GOTO_IF(done, nd__from_host("comm_split", &layout, mine, c->device, &a));
    ND_GOTO_IF(done, nd_comm_all_gather(c, a, NULL, &rows));
    status = nd_to_host(rows, all, (size_t)(c->n * words) * sizeof *all);
done:
    nd_release(rows);
    nd_release(a);
    return nd__error_as("comm_split", status);
}

/* This rank's place among those of its colour; *leader: the first of them; returns how many. */
static int32_t place_of(const nd_comm *c, const int64_t *colors, int32_t *place, int32_t *leader)
{
    const int64_t color = colors[2 * c->rank], key = colors[2 * c->rank + 1];
    int32_t n = 0;
    *place = 0;
    *leader = c->rank;
    for (int32_t r = 0; r < c->n; r++) {
        const int64_t other = colors[2 * r + 1];
        const int64_t first = colors[2 * *leader + 1];
        if (colors[2 * r] != color)
            continue;
        n++;
        *place += other < key || (other == key && r < c->rank);
        if (other < first || (other == first && r < *leader))
            *leader = r;
    }
    return n;
}

static nd_status split_by_init(nd_comm *c, int32_t color, int32_t key, nd_comm **out)
{
    int64_t mine[2] = {color < 0 ? -1 : color, key};
    int64_t *all = calloc((size_t)c->n, (WORDS + 2) * sizeof *all), *ids = all + 2 * c->n;
    int32_t place, leader;
    nd_comm_id id = {{0}};
    nd_status status;
    if (!all)
        return nd__fail(ND_ERR_MEMORY, "comm_split", -1, "no memory for %d ranks", c->n);
    ND_GOTO_IF(done, gather_rows(c, mine, 2, all));
    const int32_t n = place_of(c, all, &place, &leader);
    if (color >= 0 && place == 0)
        ND_GOTO_IF(done, nd__comm_fails(c, "comm_split", c->table.unique_id(c->dev, id.bytes)));
    ND_GOTO_IF(done, gather_rows(c, id.bytes, WORDS, ids));
    memcpy(id.bytes, ids + WORDS * leader, sizeof id.bytes);
    if (color >= 0)
        status = nd__comm_join("comm_split", c, place, n, &id, out);
done:
    free(all);
    return status;
}

nd_status nd_comm_split(nd_comm *comm, int32_t color, int32_t key, nd_comm **out)
{
    ND_OUT("comm_split", 3, out, NULL);
    ND_NEED("comm_split", 0, comm);
    return split_by_init(comm, color, key, out);
}
