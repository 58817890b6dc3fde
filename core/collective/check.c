/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * NDOCK_COMM_CHECK=1: before each exchange the ranks gather what each is about to do, so that the
 * first that differs is named, where the plug-in itself would wait or exchange nonsense. Plug-ins
 * compare the calls of ranks of one process themselves. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "core/base/env.h"
#include "core/collective/collective.h"

enum { TEXT = 96 };

static void describe(const nd_exchange *x, char text[TEXT])
{
    static const char *const reductions[] = {"sum", "prod", "min", "max", "avg"};
    const nd_array *a = x->in ? x->in : x->out;
    memset(text, 0, TEXT);
    int n = snprintf(text, TEXT, "%s of %" PRId64 " %s", x->op, a->size, nd_dtype_name(a->dtype));
    if (x->kind == ND_EXCHANGE_ALL_REDUCE || x->kind == ND_EXCHANGE_REDUCE ||
        x->kind == ND_EXCHANGE_REDUCE_SCATTER)
        n += snprintf(text + n, (size_t)(TEXT - n), " by %s", reductions[x->reduce]);
    if (x->kind == ND_EXCHANGE_REDUCE || x->kind == ND_EXCHANGE_BROADCAST)
        snprintf(text + n, (size_t)(TEXT - n), ", root %d", (int)x->peer);
}

nd_status nd__comm_differs(const nd_comm *c, const char *op)
{
    return c->differs ? nd__fail(ND_ERR_COMM, op, -1, "%s", c->differs) : (nd_status)ND_OK;
}

/* Every rank finds the same difference, so that no plug-in has to be told that the communicator has
 * failed. */
static nd_status remember(nd_comm *c)
{
    if (!c->differs)
        c->differs = strdup(nd_last_error()->message);
    return ND_ERR_COMM;
}

static nd_status compare(const nd_exchange *x, const nd_array *rows)
{
    char first[TEXT], other[TEXT];
    nd_comm *c = x->comm;
    ND_RETURN_IF(nd__read(c->carrier, x->op, ND_WAIT_RANKS, rows->storage->mem,
                          (uint64_t)nd__byte_offset(rows), first, TEXT));
    for (int32_t r = 1; r < c->n; r++) {
        ND_RETURN_IF(nd__read(c->carrier, x->op, ND_WAIT_RANKS, rows->storage->mem,
                              (uint64_t)(nd__byte_offset(rows) + r * TEXT), other, TEXT));
        if (memcmp(first, other, TEXT) != 0) {
            (void)nd__fail(ND_ERR_COMM, x->op, -1,
                           "call %" PRIu64
                           " of rank %d is %.95s, that of rank 0 is %.95s; all ranks "
                           "make the same calls in the same order",
                           c->calls, (int)r, other, first);
            return remember(c);
        }
    }
    return ND_OK;
}

nd_status nd__comm_check(const nd_exchange *x)
{
    char text[TEXT];
    int64_t shape[2] = {x->comm->n, TEXT};
    nd_array *mine = NULL, *rows = NULL;
    nd_layout layout = {.size = sizeof layout, .dtype = ND_U8, .ndim = 1, .shape = shape + 1};
    nd_status status;
    if (!nd__env_bool(ND_ENV_COMM_CHECK) || nd__in_comm_group() || x->comm->local ||
        nd__comm_is_noted(x->comm) || x->kind >= ND_EXCHANGE_SEND)
        return ND_OK;
    ND_RETURN_IF(nd__comm_differs(x->comm, x->op));
    x->comm->calls++;
    describe(x, text);
    ND_GOTO_IF(done, nd__from_host(x->op, &layout, text, x->comm->carrier, &mine));
    ND_GOTO_IF(done, nd__array_alloc(x->op, x->comm->carrier, ND_U8, 2, shape, &rows));
    const nd_exchange gather = {
        .comm = x->comm, .op = x->op, .kind = ND_EXCHANGE_ALL_GATHER, .in = mine, .out = rows};
    status = nd__exchange(&gather);
    if (status == ND_ERR_COMM) { /* the gathering's own words say nothing of this call */
        char why[512];
        snprintf(why, sizeof why, "%s", nd_last_error()->message);
        status =
            nd__fail(ND_ERR_COMM, x->op, -1,
                     "call %" PRIu64 " of rank %d, %.95s, was to be compared with the others': "
                     "%s",
                     x->comm->calls, (int)x->comm->rank, text, why);
    }
    if (status == ND_OK)
        status = compare(x, rows);
done:
    nd_release(rows);
    nd_release(mine);
    return status;
}
