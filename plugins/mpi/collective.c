/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.comm/1" by MPI's non-blocking collectives on copies. A reduction sends each rank a part
 * of everybody's elements (all to all), which that rank reduces by the CPU plug-in; then the parts are
 * gathered. That moves as many bytes as a ring does. */
#include <stdlib.h>
#include <string.h>
#include "ranks.h"

int64_t ranks_elements(const ndp_view *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->ndim; d++)
        n *= v->shape[d];
    return n;
}

/* One call: elements of a rank's share, and where they are. */
typedef struct {
    ndp_comm *c;
    int32_t reduce, dtype, root;
    int64_t count, item;
    char *in, *out, *send, *recv; /* send and recv: copies of n * step elements */
    int64_t step;
} call;

static int32_t begin(call *k, const char *name, ndp_comm *c, const ndp_exchange *x)
{
    memset(k, 0, sizeof *k);
    const ndp_view *v = x->in.mem ? &x->in : &x->out;
    int32_t status = ranks_failed(c);
    if (status == NDP_OK && ranks_in_group())
        status = ranks_error(NDP_ERR_UNSUPPORTED, "%s: groups of MPI hold messages alone", name);
    if (status != NDP_OK)
        return status;
    c->calls++;
    c->latest = name;
    k->c = c;
    k->reduce = x->reduce;
    k->dtype = v->dtype;
    k->root = x->peer;
    k->item = ndp_dtype_size(v->dtype);
    k->count = ranks_elements(v);
    k->step = RANKS_CHUNK / k->item;
    if (k->step > k->count)
        k->step = k->count ? k->count : 1;
    k->send = calloc((size_t)c->n, (size_t)(k->step * k->item));
    k->recv = calloc((size_t)c->n, (size_t)(k->step * k->item));
    if (!k->send || !k->recv)
        status = ranks_error(NDP_ERR_MEMORY, "%s: no memory for copies", name);
    if (status == NDP_OK && x->in.mem)
        status = ranks_address(&x->in, &k->in);
    if (status == NDP_OK && x->out.mem)
        status = ranks_address(&x->out, &k->out);
    return status;
}

/* Copies that MPI may still use are never freed. */
static int32_t end(call *k, int32_t status)
{
    if (!k->c || !k->c->failed) {
        free(k->send);
        free(k->recv);
    }
    return status;
}

static int32_t wait_for(const call *k, MPI_Request r)
{
    return ranks_wait(k->c, &r, 1, -1);
}

static int32_t exchange(const call *k, int64_t nbytes)
{
    MPI_Request r;
    MPI_Ialltoall(k->send, (int)nbytes, MPI_BYTE, k->recv, (int)nbytes, MPI_BYTE, k->c->mpi, &r);
    return wait_for(k, r);
}

/* The rows of recv, of n elements each, into out. */
static int32_t combine(const call *k, int64_t n, char *out)
{
    ndp_comm_cpu cpu;
    int32_t status = ranks_cpu(&cpu);
    if (status == NDP_OK)
        status = ndp_comm_combine(&cpu, k->reduce, k->dtype, k->c->n, n, n, k->recv, out);
    return status == NDP_OK ? status : ranks_fail(k->c, "rank %d could not reduce", k->c->rank);
}

/* ---- all_reduce, reduce: root -1: for all ---- */
static int32_t reduce_step(const call *k, int64_t at, int64_t n, int32_t root)
{
    const ndp_comm *c = k->c;
    const int64_t part = (n + c->n - 1) / c->n, nbytes = part * k->item;
    MPI_Request r;
    memset(k->send, 0, (size_t)(part * c->n * k->item));
    memcpy(k->send, k->in + at * k->item, (size_t)(n * k->item));
    int32_t status = exchange(k, nbytes);
    if (status == NDP_OK)
        status = combine(k, part, k->send);
    if (status != NDP_OK)
        return status;
    if (root < 0)
        MPI_Iallgather(k->send, (int)nbytes, MPI_BYTE, k->recv, (int)nbytes, MPI_BYTE, c->mpi, &r);
    else
        MPI_Igather(k->send, (int)nbytes, MPI_BYTE, k->recv, (int)nbytes, MPI_BYTE, root, c->mpi,
                    &r);
    status = wait_for(k, r);
    if (status == NDP_OK && k->out && (root < 0 || root == c->rank))
        memcpy(k->out + at * k->item, k->recv, (size_t)(n * k->item));
    return status;
}

static int32_t reduce_all(call *k, int32_t root)
{
    int32_t status = NDP_OK;
    for (int64_t at = 0; at < k->count && status == NDP_OK; at += k->step)
        status = reduce_step(k, at, k->count - at < k->step ? k->count - at : k->step, root);
    return status;
}

static int32_t all_reduce(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x)
{
    call k;
    (void)dev, (void)s;
    int32_t status = begin(&k, "all_reduce", c, x);
    return end(&k, status == NDP_OK ? reduce_all(&k, -1) : status);
}

static int32_t reduce(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x)
{
    call k;
    (void)dev, (void)s;
    int32_t status = begin(&k, "reduce", c, x);
    return end(&k, status == NDP_OK ? reduce_all(&k, x->peer) : status);
}

/* ---- the others: steps of n elements of each rank's share ---- */
static int32_t broadcast_step(const call *k, int64_t at, int64_t n)
{
    MPI_Request r;
    if (k->in)
        memcpy(k->send, k->in + at * k->item, (size_t)(n * k->item));
    MPI_Ibcast(k->send, (int)(n * k->item), MPI_BYTE, k->root, k->c->mpi, &r);
    const int32_t status = wait_for(k, r);
    if (status == NDP_OK && k->out)
        memcpy(k->out + at * k->item, k->send, (size_t)(n * k->item));
    return status;
}

static void take_rows(const call *k, int64_t at, int64_t n)
{
    for (int32_t i = 0; i < k->c->n; i++)
        memcpy(k->out + (i * k->count + at) * k->item, k->recv + i * n * k->item,
               (size_t)(n * k->item));
}

static int32_t gather_step(const call *k, int64_t at, int64_t n)
{
    MPI_Request r;
    memcpy(k->send, k->in + at * k->item, (size_t)(n * k->item));
    MPI_Iallgather(k->send, (int)(n * k->item), MPI_BYTE, k->recv, (int)(n * k->item), MPI_BYTE,
                   k->c->mpi, &r);
    const int32_t status = wait_for(k, r);
    if (status == NDP_OK)
        take_rows(k, at, n);
    return status;
}

static int32_t scatter_rows(const call *k, int64_t at, int64_t n)
{
    for (int32_t i = 0; i < k->c->n; i++)
        memcpy(k->send + i * n * k->item, k->in + (i * k->count + at) * k->item,
               (size_t)(n * k->item));
    return exchange(k, n * k->item);
}

static int32_t reduce_scatter_step(const call *k, int64_t at, int64_t n)
{
    const int32_t status = scatter_rows(k, at, n);
    return status == NDP_OK ? combine(k, n, k->out + at * k->item) : status;
}

static int32_t all_to_all_step(const call *k, int64_t at, int64_t n)
{
    const int32_t status = scatter_rows(k, at, n);
    if (status == NDP_OK)
        take_rows(k, at, n);
    return status;
}

/* shares: how many of them in (or out) has. */
static int32_t in_steps(const char *name, ndp_comm *c, const ndp_exchange *x, int64_t shares,
                        int32_t (*step)(const call *k, int64_t at, int64_t n))
{
    call k;
    int32_t status = begin(&k, name, c, x);
    k.count /= shares;
    for (int64_t at = 0; at < k.count && status == NDP_OK; at += k.step)
        status = step(&k, at, k.count - at < k.step ? k.count - at : k.step);
    return end(&k, status);
}

static int32_t broadcast(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x)
{
    (void)dev, (void)s;
    return in_steps("broadcast", c, x, 1, broadcast_step);
}

static int32_t all_gather(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x)
{
    (void)dev, (void)s;
    return in_steps("all_gather", c, x, 1, gather_step);
}

static int32_t reduce_scatter(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x)
{
    (void)dev, (void)s;
    return in_steps("reduce_scatter", c, x, c->n, reduce_scatter_step);
}

static int32_t all_to_all(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x)
{
    (void)dev, (void)s;
    return in_steps("all_to_all", c, x, c->n, all_to_all_step);
}

static int32_t barrier(ndp_dev *dev, ndp_stream *s, ndp_comm *c)
{
    MPI_Request r;
    (void)dev, (void)s;
    const int32_t status = ranks_failed(c);
    if (status != NDP_OK)
        return status;
    c->calls++;
    c->latest = "barrier";
    MPI_Ibarrier(c->mpi, &r);
    return ranks_wait(c, &r, 1, -1);
}

static uint64_t dtypes(ndp_dev *dev, int32_t op)
{
    (void)dev;
    return op >= 0 && op < NDP_COMM_OPS ? ndp_comm_combines(op) : 0;
}

/* The others find out by the time limit: MPI has no message that all of its calls listen to. */
static int32_t abort_comm(ndp_dev *dev, ndp_comm *c)
{
    (void)dev;
    ranks_unfinished = 1;
    (void)ranks_fail(c, "rank %d aborted it; its latest call was %s", c->rank, c->latest);
    return NDP_OK;
}

static int32_t async_error(ndp_dev *dev, ndp_comm *c)
{
    (void)dev;
    return ranks_failed(c);
}

const ndp_comm_1 ranks_group = {
    .size = sizeof(ndp_comm_1),
    .dtypes = dtypes,
    .unique_id = ranks_unique_id,
    .init = ranks_init,
    .destroy = ranks_destroy,
    .abort = abort_comm,
    .async_error = async_error,
    .group_begin = ranks_group_begin,
    .group_end = ranks_group_end,
    .all_reduce = all_reduce,
    .reduce = reduce,
    .broadcast = broadcast,
    .all_gather = all_gather,
    .reduce_scatter = reduce_scatter,
    .all_to_all = all_to_all,
    .send = ranks_send,
    .recv = ranks_recv,
    .barrier = barrier,
};
