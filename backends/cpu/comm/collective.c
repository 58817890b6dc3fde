/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.comm/1" of the CPU. A collective goes in steps of as many elements as the buffers hold:
 * each rank writes its part of the step, all meet, each reads what it wants. The buffers are used in
 * turn, so that a rank which is ahead writes where nobody reads any more. */
#include <string.h>
#include <ndock/plugin_comm.h>
#include "comm/comm.h"

/* A rank's buffer of this step. */
static char *buffer_of(const ndp_comm *c, int32_t rank)
{
    return c->buffers + ((c->phase & 1) * (uint64_t)c->n + (uint64_t)rank) * CPU_CHUNK;
}

/* Whether each rank's buffer has a part for each other one. */
static int32_t has_parts(const cpu_signature *s)
{
    return s->kind == CPU_CALL_reduce_scatter || s->kind == CPU_CALL_all_to_all;
}

static void write_step(const cpu_later *l, int64_t at, int64_t n, int64_t item)
{
    const ndp_comm *c = l->comm;
    char *mine = buffer_of(c, c->rank);
    if (!l->in || n == 0)
        return;
    if (!has_parts(&l->call)) {
        memcpy(mine, l->in + at * item, (size_t)(n * item));
        return;
    }
    for (int32_t r = 0; r < c->n; r++)
        memcpy(mine + r * n * item, l->in + (r * l->call.count + at) * item, (size_t)(n * item));
}

static int32_t reduce_step(const cpu_later *l, int64_t at, int64_t n, int64_t item)
{
    const ndp_comm *c = l->comm;
    const ndp_comm_cpu cpu = {&cpu_device, &cpu_op_group, &cpu_map_group, cpu_free};
    const int64_t skip = has_parts(&l->call) ? c->rank * n * item : 0;
    return ndp_comm_combine(&cpu, l->call.reduce, l->call.dtype, c->n, n, CPU_CHUNK / item,
                            buffer_of(c, 0) + skip, l->out + at * item);
}

static int32_t read_step(const cpu_later *l, int64_t at, int64_t n, int64_t item)
{
    const ndp_comm *c = l->comm;
    const int32_t kind = l->call.kind;
    if (!l->out || n == 0)
        return NDP_OK;
    if (kind == CPU_CALL_all_reduce || kind == CPU_CALL_reduce || kind == CPU_CALL_reduce_scatter)
        return reduce_step(l, at, n, item);
    if (kind == CPU_CALL_broadcast) {
        memcpy(l->out + at * item, buffer_of(c, l->call.root), (size_t)(n * item));
        return NDP_OK;
    }
    const int64_t skip = has_parts(&l->call) ? c->rank * n * item : 0;
    for (int32_t r = 0; r < c->n; r++)
        memcpy(l->out + (r * l->call.count + at) * item, buffer_of(c, r) + skip,
               (size_t)(n * item));
    return NDP_OK;
}

/* All ranks are in this call: do they make the same? */
static int32_t compare(const cpu_later *l)
{
    ndp_comm *c = l->comm;
    char mine[CPU_CALL_TEXT], theirs[CPU_CALL_TEXT];
    for (int32_t r = 0; r < c->n; r++) {
        const cpu_signature *other = &c->shared->rank[r].signature[c->calls & 1];
        if (memcmp(other, &l->call, sizeof *other) != 0)
            return cpu_comm_fail(
                c,
                "call %llu of rank %d is %s, that of rank %d is %s; all ranks make "
                "the same calls in the same order",
                (unsigned long long)c->calls, c->rank, cpu_call_text(&l->call, mine, sizeof mine),
                r, cpu_call_text(other, theirs, sizeof theirs));
    }
    return NDP_OK;
}

static void announce(const cpu_later *l)
{
    ndp_comm *c = l->comm;
    cpu_rank *me = &c->shared->rank[c->rank];
    c->calls++;
    me->signature[c->calls & 1] = l->call;
    atomic_store(&me->calls, c->calls);
    atomic_store(&me->kind, l->call.kind);
}

int32_t cpu_comm_run(const cpu_later *l)
{
    ndp_comm *c = l->comm;
    const int64_t item = l->call.kind == CPU_CALL_barrier ? 1 : ndp_dtype_size(l->call.dtype);
    const int64_t step = CPU_CHUNK / item / (has_parts(&l->call) ? c->n : 1);
    int64_t at = 0;
    announce(l);
    do {
        const int64_t n = l->call.count - at < step ? l->call.count - at : step;
        c->phase++; /* the buffers of the step that they meet in */
        write_step(l, at, n, item);
        c->phase--;
        int32_t status = cpu_comm_meet(c);
        if (status == NDP_OK && at == 0)
            status = compare(l);
        if (status == NDP_OK && (status = read_step(l, at, n, item)) != NDP_OK)
            status = cpu_comm_fail(c, "rank %d could not compute call %llu", c->rank,
                                   (unsigned long long)c->calls);
        if (status != NDP_OK)
            return status;
        at += n;
    } while (at < l->call.count);
    return NDP_OK;
}

/* ---- the calls ---- */
static int64_t elements(const ndp_view *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->ndim; d++)
        n *= v->shape[d];
    return n;
}

static cpu_signature signature_of(const ndp_comm *c, int32_t kind, const ndp_exchange *x)
{
    cpu_signature s;
    memset(&s, 0, sizeof s); /* compared as bytes */
    s.kind = kind;
    s.root = kind == CPU_CALL_reduce || kind == CPU_CALL_broadcast ? x->peer : -1;
    if (!x)
        return s;
    const ndp_view *v = x->in.mem && kind != CPU_CALL_reduce_scatter ? &x->in : &x->out;
    s.dtype = v->dtype;
    s.count = kind == CPU_CALL_all_to_all ? elements(v) / c->n : elements(v);
    if (kind == CPU_CALL_all_reduce || kind == CPU_CALL_reduce || kind == CPU_CALL_reduce_scatter)
        s.reduce = x->reduce;
    return s;
}

static int32_t call(ndp_comm *c, int32_t kind, const ndp_exchange *x)
{
    const int32_t status = cpu_comm_failed(c);
    if (status != NDP_OK)
        return status;
    const cpu_later l = {.comm = c,
                         .call = signature_of(c, kind, x),
                         .in = x && x->in.mem ? cpu_ptr(&x->in) : NULL,
                         .out = x && x->out.mem ? cpu_ptr(&x->out) : NULL};
    return cpu_comm_in_group() ? cpu_comm_later(&l) : cpu_comm_run(&l);
}

#define CALL(name)                                                                       \
    static int32_t name(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x) \
    {                                                                                    \
        (void)dev, (void)s;                                                              \
        return call(c, CPU_CALL_##name, x);                                              \
    }
CALL(all_reduce)
CALL(reduce)
CALL(broadcast)
CALL(all_gather)
CALL(reduce_scatter)
CALL(all_to_all)

static int32_t barrier(ndp_dev *dev, ndp_stream *s, ndp_comm *c)
{
    (void)dev, (void)s;
    return call(c, CPU_CALL_barrier, NULL);
}

/* ---- life ---- */
static uint64_t dtypes(ndp_dev *dev, int32_t reduce)
{
    (void)dev;
    return reduce >= 0 && reduce < NDP_COMM_OPS ? ndp_comm_combines(reduce) : 0;
}

static int32_t init(ndp_dev *dev, int32_t rank, int32_t n, const void *id, uint64_t timeout_ms,
                    ndp_comm **out)
{
    (void)dev;
    return cpu_comm_join(rank, n, id, timeout_ms, !cpu_comm_in_group(), out);
}

static void destroy(ndp_dev *dev, ndp_comm *comm)
{
    (void)dev;
    cpu_comm_leave(comm);
}

static int32_t abort_comm(ndp_dev *dev, ndp_comm *c)
{
    char text[CPU_CALL_TEXT];
    (void)dev;
    const cpu_signature *latest = &c->shared->rank[c->rank].signature[c->calls & 1];
    (void)cpu_comm_fail(c, "rank %d aborted it; its latest call was %s", c->rank,
                        cpu_call_text(latest, text, sizeof text));
    return NDP_OK;
}

static int32_t async_error(ndp_dev *dev, ndp_comm *c)
{
    (void)dev;
    return cpu_comm_failed(c);
}

const ndp_comm_1 cpu_comm_group = {
    .size = sizeof(ndp_comm_1),
    .dtypes = dtypes,
    .unique_id = cpu_comm_unique_id,
    .init = init,
    .destroy = destroy,
    .abort = abort_comm,
    .async_error = async_error,
    .group_begin = cpu_comm_group_begin,
    .group_end = cpu_comm_group_end,
    .all_reduce = all_reduce,
    .reduce = reduce,
    .broadcast = broadcast,
    .all_gather = all_gather,
    .reduce_scatter = reduce_scatter,
    .all_to_all = all_to_all,
    .send = cpu_comm_send,
    .recv = cpu_comm_recv,
    .barrier = barrier,
};
