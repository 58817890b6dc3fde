/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Calls of a communicator's ranks: checked, joined to their round and queued, alone or with others of
 * a group. */
#include <pthread.h>
#include <stdlib.h>
#include "comm.h"
#include "simulator.h"

/* The calls of a thread since group_begin. */
typedef struct {
    int32_t depth;
    sim_part *first, **end;
} sim_group;
static pthread_key_t group_key;
static pthread_once_t group_once = PTHREAD_ONCE_INIT;

static void make_group_key(void)
{
    (void)pthread_key_create(&group_key, free);
}

/* This thread's; NULL: none is open. No thread-local variable, for the reason that stream.c has. */
static sim_group *open_group(void)
{
    pthread_once(&group_once, make_group_key);
    return pthread_getspecific(group_key);
}

int32_t sim_in_group(void)
{
    return open_group() != NULL;
}

/* ---- a call ---- */
static int64_t elements(const ndp_view *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->ndim; d++)
        n *= v->shape[d];
    return n;
}

static int32_t use_view(ndp_comm *c, const ndp_view *v, const char *what, ndp_mem **mem,
                        uint64_t *offset, uint64_t *nbytes)
{
    *mem = NULL;
    if (!v->mem)
        return NDP_OK;
    if (!(v->flags & NDP_VIEW_CONTIGUOUS))
        return sim_fail(NDP_ERR_ARGUMENT, 0, "%s on sim:%d: an operand is not dense in C order",
                        what, c->dev->index);
    *offset = (uint64_t)v->offset_bytes;
    *nbytes = (uint64_t)(elements(v) * sim_dtype_size(v->dtype));
    int32_t status = sim_check_range(c->dev, v->mem, *offset, *nbytes, what);
    if (status != NDP_OK)
        return status;
    *mem = v->mem;
    v->mem->uses++;
    if (v->mem->base)
        v->mem->base->uses++;
    return NDP_OK;
}

/* The share of one rank: what is gathered, scattered or exchanged has an extent of n more. */
static int64_t share(const ndp_comm *c, int32_t entry, const ndp_exchange *x)
{
    const ndp_view *v = x->in.mem && entry != SIM_reduce_scatter ? &x->in : &x->out;
    return entry == SIM_all_to_all ? elements(v) / c->team->n : elements(v);
}

static int32_t check_exchange(const ndp_comm *c, int32_t entry, const ndp_exchange *x)
{
    const char *what = sim_entry_name(entry);
    const int64_t n = c->team->n, count = share(c, entry, x);
    const int64_t in = count * (entry == SIM_reduce_scatter || entry == SIM_all_to_all ? n : 1);
    const int64_t out = count * (entry == SIM_all_gather || entry == SIM_all_to_all ? n : 1);
    if (x->reduce < 0 || x->reduce >= NDP_COMM_OPS)
        return sim_fail(NDP_ERR_ARGUMENT, 0, "%s: %d is no reduction", what, x->reduce);
    if (x->peer < 0 || x->peer >= n)
        return sim_fail(NDP_ERR_ARGUMENT, 0, "%s: there is no rank %d of %d", what, x->peer,
                        (int)n);
    if ((x->in.mem && elements(&x->in) != in) || (x->out.mem && elements(&x->out) != out))
        return sim_fail(NDP_ERR_SHAPE, 0, "%s: operands of %lld and %lld elements do not fit", what,
                        (long long)elements(&x->in), (long long)elements(&x->out));
    return NDP_OK;
}

static sim_signature signature_of(const ndp_comm *c, int32_t entry, const ndp_exchange *x)
{
    sim_signature s = {.entry = entry, .root = -1};
    if (!x)
        return s;
    s.dtype = x->in.mem ? x->in.dtype : x->out.dtype;
    s.count = share(c, entry, x);
    if (entry == SIM_reduce || entry == SIM_broadcast || entry == SIM_send || entry == SIM_recv)
        s.root = x->peer;
    if (entry == SIM_all_reduce || entry == SIM_reduce || entry == SIM_reduce_scatter)
        s.reduce = x->reduce;
    return s;
}

/* One operation of the queue, of the parts from first on that are of it. */
static int32_t push_parts(sim_part *first)
{
    sim_queue *q = first->queue;
    uint64_t position = 0;
    sim_body *b =
        sim_body_new(SIM_OP_COMM, sim_entry_name(first->round->like.entry), q->dev, 0, NULL);
    if (!b) {
        sim_part_free(first);
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory to queue a collective");
    }
    b->parts = first;
    if (q->capture) {
        sim_body_unref(b);
        return sim_fail(NDP_ERR_CAPTURE, 900, "sim captures no collectives");
    }
    for (sim_part *p = first; p; p = p->next)
        p->position = q->queued + 1;
    return sim_push(q, b, &position);
}

static int32_t add_part(sim_part *p)
{
    sim_group *group = open_group();
    if (!group)
        return push_parts(p);
    *group->end = p;
    group->end = &p->next;
    return NDP_OK;
}

static int32_t call(ndp_dev *dev, ndp_stream *s, ndp_comm *c, int32_t entry, const ndp_exchange *x)
{
    sim_call log = {.entry = entry, .dev = dev, .stream = s};
    int32_t status = sim_enter(&log);
    sim_queue *q = sim_queue_of(dev, s);
    sim_part *p = NULL;
    if (status == NDP_OK && (c->dev != dev || !q || q->dev != dev))
        status = sim_fail(NDP_ERR_DEVICE, 400,
                          "%s: the communicator's device is sim:%d, the stream "
                          "is not",
                          sim_entry_name(entry), c->dev->index);
    if (status == NDP_OK)
        status = sim_team_failed(c->team);
    if (status == NDP_OK && x)
        status = check_exchange(c, entry, x);
    if (status == NDP_OK && (p = calloc(1, sizeof *p)) == NULL)
        status = sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a collective");
    if (status != NDP_OK)
        return sim_leave(&log, status);
    const sim_signature like = signature_of(c, entry, x);
    p->comm = c;
    p->queue = q;
    c->team->uses++;
    if (x)
        status = use_view(c, &x->in, sim_entry_name(entry), &p->in, &p->in_offset, &p->in_nbytes);
    if (x && status == NDP_OK)
        status =
            use_view(c, &x->out, sim_entry_name(entry), &p->out, &p->out_offset, &p->out_nbytes);
    if (status == NDP_OK)
        status = sim_join_round(c, &like, p);
    if (status == NDP_OK)
        status = add_part(p);
    else
        sim_part_free(p);
    return sim_leave(&log, status);
}

#define CALL(name)                                                                       \
    static int32_t name(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x) \
    {                                                                                    \
        return call(dev, s, c, SIM_##name, x);                                           \
    }
CALL(all_reduce)
CALL(reduce)
CALL(broadcast)
CALL(all_gather)
CALL(reduce_scatter)
CALL(all_to_all)
CALL(send)
CALL(recv)

static int32_t barrier(ndp_dev *dev, ndp_stream *s, ndp_comm *c)
{
    return call(dev, s, c, SIM_barrier, NULL);
}

static int32_t group_begin(ndp_dev *dev)
{
    (void)dev;
    sim_group *group = open_group();
    if (!group) {
        group = malloc(sizeof *group);
        if (!group || pthread_setspecific(group_key, group) != 0) {
            free(group);
            return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a group");
        }
        *group = (sim_group){.end = &group->first};
    }
    group->depth++;
    return NDP_OK;
}

/* The parts of one queue become one operation of it, in the order of their calls. */
static int32_t group_end(ndp_dev *dev)
{
    int32_t status = NDP_OK;
    sim_group *group = open_group();
    if (!group)
        return sim_fail(NDP_ERR_STATE, 0, "group_end on sim:%d: no group was begun on this thread",
                        dev->index);
    if (--group->depth)
        return NDP_OK;
    pthread_mutex_lock(&sim_mutex);
    while (group->first) {
        sim_part *of_queue = NULL, **end = &of_queue, **at = &group->first;
        sim_queue *q = group->first->queue;
        while (*at) {
            sim_part *p = *at;
            if (p->queue != q) {
                at = &p->next;
                continue;
            }
            *at = p->next;
            p->next = NULL;
            *end = p;
            end = &p->next;
        }
        int32_t pushed = push_parts(of_queue);
        status = status == NDP_OK ? pushed : status;
    }
    pthread_mutex_unlock(&sim_mutex);
    (void)pthread_setspecific(group_key, NULL);
    free(group);
    return status;
}

void sim_comm_calls(ndp_comm_1 *t)
{
    t->group_begin = group_begin;
    t->group_end = group_end;
    t->all_reduce = all_reduce;
    t->reduce = reduce;
    t->broadcast = broadcast;
    t->all_gather = all_gather;
    t->reduce_scatter = reduce_scatter;
    t->all_to_all = all_to_all;
    t->send = send;
    t->recv = recv;
    t->barrier = barrier;
}
