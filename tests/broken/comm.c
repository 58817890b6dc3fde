/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Communicators of one rank; others never join. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "device.h"

struct ndp_comm {
    bool aborted;
};
static const ndp_exchange *sending; /* in a group */

static uint64_t comm_dtypes(ndp_dev *dev, int32_t reduce)
{
    (void)dev, (void)reduce;
    return (uint64_t)1 << NDP_F32;
}

static int32_t comm_unique_id(ndp_dev *dev, void *id)
{
    static int made;
    (void)dev;
    memset(id, 0, NDP_COMM_ID_BYTES);
    snprintf(id, NDP_COMM_ID_BYTES, "sound %d", broken(break_comm_name) ? 1 : ++made);
    return NDP_OK;
}

static int32_t comm_init(ndp_dev *dev, int32_t rank, int32_t n, const void *id, uint64_t timeout_ms,
                         ndp_comm **out)
{
    (void)dev, (void)id;
    *out = NULL;
    if (rank < 0 || rank >= n)
        return host->error(host->ctx, NDP_ERR_ARGUMENT, 0, "there is no rank %d of %d", rank, n);
    if (n > 1 && !broken(break_comm_late)) {
        usleep((useconds_t)timeout_ms * 1000);
        return host->error(host->ctx, NDP_ERR_COMM, 0, "rank %d did not join", rank ? 0 : 1);
    }
    *out = take_memory(sizeof **out);
    return *out ? NDP_OK : NDP_ERR_MEMORY;
}

static void comm_destroy(ndp_dev *dev, ndp_comm *c)
{
    (void)dev;
    if (c)
        give_memory(c);
}

static int32_t comm_abort(ndp_dev *dev, ndp_comm *c)
{
    (void)dev;
    c->aborted = !broken(break_comm_abort);
    return NDP_OK;
}

static int32_t comm_error(ndp_dev *dev, ndp_comm *c)
{
    (void)dev;
    return c->aborted ? host->error(host->ctx, NDP_ERR_COMM, 0, "rank 0 aborted it") : NDP_OK;
}

static int32_t comm_group(ndp_dev *dev)
{
    (void)dev;
    return NDP_OK;
}

static int64_t nbytes_of(const ndp_view *v)
{
    int64_t n = (int64_t)sizeof(float);
    for (int d = 0; d < v->ndim; d++)
        n *= v->shape[d];
    return n;
}

static int32_t comm_move(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x)
{
    const int32_t status = comm_error(dev, c);
    const int64_t n = nbytes_of(&x->in) - (broken(break_comm_short) ? (int64_t)sizeof(float) : 0);
    if (status != NDP_OK)
        return status;
    return mem_copy(dev, s, x->out.mem, (uint64_t)x->out.offset_bytes, x->in.mem,
                    (uint64_t)x->in.offset_bytes, (uint64_t)n);
}

static int32_t comm_send(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x)
{
    static ndp_exchange copy;
    (void)s;
    copy = *x;
    sending = &copy;
    return comm_error(dev, c);
}

static int32_t comm_recv(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x)
{
    ndp_exchange both = *x;
    if (!sending || broken(break_comm_message))
        return comm_error(dev, c);
    both.in.mem = sending->in.mem;
    both.in.offset_bytes = sending->in.offset_bytes;
    both.in.shape = x->out.shape;
    both.in.ndim = x->out.ndim;
    return comm_move(dev, s, c, &both);
}

static int32_t comm_barrier(ndp_dev *dev, ndp_stream *s, ndp_comm *c)
{
    (void)s;
    return comm_error(dev, c);
}

const ndp_comm_1 comm_table = {
    .size = sizeof(ndp_comm_1),
    .dtypes = comm_dtypes,
    .unique_id = comm_unique_id,
    .init = comm_init,
    .destroy = comm_destroy,
    .abort = comm_abort,
    .async_error = comm_error,
    .group_begin = comm_group,
    .group_end = comm_group,
    .all_reduce = comm_move,
    .reduce = comm_move,
    .all_gather = comm_move,
    .reduce_scatter = comm_move,
    .all_to_all = comm_move,
    .send = comm_send,
    .recv = comm_recv,
    .barrier = comm_barrier,
};
