/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * NDOCK_COMM_CHECK=1: before each exchange the ranks gather what each is about to do, so that the
 * first that differs is named, where the plug-in itself would wait or exchange nonsense. Plug-ins
 * compare the calls of ranks of one process themselves. */
#include <inttypes.h>
#include <stdio.h>
#include "core/base/env.h"
#include "core/collective/collective.h"

enum { TEXT = 96 };

static void describe(const nd_exchange *x, char text[TEXT])
{
    const nd_array *a = x->in ? x->in : x->out;
    memset(text, 0, TEXT);
    snprintf(text, TEXT, "%s of %" PRId64 " %s, reduction %d, root %d", x->op, a->size,
             nd_dtype_name(a->dtype), (int)x->reduce, (int)x->peer);
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
        if (memcmp(first, other, TEXT) != 0)
            return nd__fail(ND_ERR_COMM, x->op, -1,
                            "call %" PRIu64
                            " of rank %d is %.95s, that of rank 0 is %.95s; all ranks "
                            "make the same calls in the same order",
                            c->calls, (int)r, other, first);
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
        x->kind >= ND_EXCHANGE_SEND)
        return ND_OK;
    x->comm->calls++;
    describe(x, text);
    ND_GOTO_IF(done, nd__from_host(x->op, &layout, text, x->comm->carrier, &mine));
    ND_GOTO_IF(done, nd__array_alloc(x->op, x->comm->carrier, ND_U8, 2, shape, &rows));
    const nd_exchange gather = {
        .comm = x->comm, .op = x->op, .kind = ND_EXCHANGE_ALL_GATHER, .in = mine, .out = rows};
    ND_GOTO_IF(done, nd__exchange(&gather));
    status = compare(x, rows);
done:
    nd_release(rows);
    nd_release(mine);
    return status;
}
