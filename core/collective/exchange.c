/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One exchange: the plug-in's function for it, with operands as that takes them, on the thread's
 * stream; or what takes its place. */
#include <stdlib.h>
#include "core/collective/collective.h"
#include "core/stream/tape.h"

typedef int32_t (*slot)(ndp_dev *, ndp_stream *, ndp_comm *, const ndp_exchange *);

static slot slot_of(const nd_comm *c, nd_exchange_kind kind)
{
    const slot slots[ND_EXCHANGE_KINDS] = {
        [ND_EXCHANGE_ALL_REDUCE] = c->table.all_reduce,
        [ND_EXCHANGE_REDUCE] = c->table.reduce,
        [ND_EXCHANGE_BROADCAST] = c->table.broadcast,
        [ND_EXCHANGE_ALL_GATHER] = c->table.all_gather,
        [ND_EXCHANGE_REDUCE_SCATTER] = c->table.reduce_scatter,
        [ND_EXCHANGE_ALL_TO_ALL] = c->table.all_to_all,
        [ND_EXCHANGE_SEND] = c->table.send,
        [ND_EXCHANGE_RECV] = c->table.recv,
    };
    return slots[kind];
}

static bool reduces(nd_exchange_kind kind)
{
    return kind == ND_EXCHANGE_ALL_REDUCE || kind == ND_EXCHANGE_REDUCE ||
           kind == ND_EXCHANGE_REDUCE_SCATTER;
}

bool nd__exchanges(const nd_comm *c, nd_exchange_kind kind, int32_t reduce, nd_dtype dtype)
{
    return slot_of(c, kind) &&
           (!reduces(kind) || (c->table.dtypes(c->dev, reduce) >> dtype & 1) != 0);
}

/* The accesses of the exchange, for hazard mode and the stream check. */
static nd_status note_accesses(const nd_exchange *x, nd_stream *s)
{
    for (int i = 0; i < 2; i++) {
        const nd_array *a = i ? x->out : x->in;
        if (a)
            ND_RETURN_IF(nd__hazard_bytes(s, a->storage->mem, (uint64_t)nd__byte_offset(a),
                                          (uint64_t)(a->size * nd__itemsize(a->dtype)), i == 1,
                                          x->op));
    }
    return ND_OK;
}

/* The end of a call that is part of a group: what the plug-in said, and no wait. */
static nd_status end_in_group(nd_stream *s, const char *op, nd_status status)
{
    status = nd__fault(s, op, status);
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* Operands are dense. */
static nd_status call_plugin(const nd_exchange *x)
{
    const nd_comm *c = x->comm;
    const slot function = slot_of(c, x->kind);
    ndp_exchange e = {.size = sizeof e, .reduce = x->reduce, .peer = x->peer};
    nd_stream *s = nd__stream(c->carrier);
    if (x->in)
        e.in = nd__view(x->in);
    if (x->out)
        e.out = nd__view(x->out);
    if (!s)
        return nd__comm_fails(x->comm, x->op, function(c->dev, NULL, c->handle, &e));
    if (nd__hazards_now())
        ND_RETURN_IF(note_accesses(x, s));
    ND_RETURN_IF(nd__queue_begin(s, x->op, x->in ? &e.in : &e.out));
    const nd_status status = function(c->dev, s->handle, c->handle, &e);
    if (nd__in_comm_group())
        ND_RETURN_IF(end_in_group(s, x->op, status));
    else
        ND_RETURN_IF(nd__queue_end(s, x->op, status));
    if (nd__captures_now() && nd__tape_of(s))
        ND_RETURN_IF(nd__tape_other(nd__tape_of(s), s, x->op));
    return nd__follow(s, (ndp_mem *const[]){e.in.mem, e.out.mem}, 2);
}

/* Copies of what the plug-in cannot take, and back. */
static nd_status run_dense(const nd_exchange *x)
{
    nd_exchange dense = *x;
    nd_array *in = NULL, *out = NULL;
    const bool strided = x->comm->table.flags & NDP_COMM_STRIDED;
    nd_status status = ND_OK;
    if (x->in && !strided && !(x->in->flags & ND_FLAG_CONTIGUOUS)) {
        ND_GOTO_IF(done, nd_compact(x->in, &in));
        dense.in = in;
    }
    if (x->out && !strided && !(x->out->flags & ND_FLAG_CONTIGUOUS)) {
        ND_GOTO_IF(done, nd__array_like(x->out, x->out->dtype, &out));
        dense.out = out;
    }
    ND_GOTO_IF(done, call_plugin(&dense));
    if (nd__in_comm_group()) {
        nd_stream *s = nd__stream(x->comm->carrier);
        if (dense.in)
            ND_GOTO_IF(done, nd__comm_group_keep(x->op, s, dense.in, NULL));
        if (dense.out)
            ND_GOTO_IF(done, nd__comm_group_keep(x->op, s, dense.out, out ? x->out : NULL));
    } else if (out) {
        status = nd__copy_into(out, x->out);
    }
done:
    nd_release(in);
    nd_release(out);
    return status;
}

/* ---- in a capture of a device that queues nothing: the exchange is made by each launch ---- */
static nd_status run_noted(void *arg)
{
    return nd__exchange(arg);
}

static void drop_noted(void *arg)
{
    nd_exchange *x = arg;
    nd_release((nd_array *)(uintptr_t)x->in);
    nd_release((nd_array *)(uintptr_t)x->out);
    nd_comm_release(x->comm);
    free(x);
}

static nd_status note(const nd_exchange *x, nd_tape *tape)
{
    nd_stream *s = nd__stream_current(x->comm->carrier);
    nd_exchange *noted = malloc(sizeof *noted);
    if (!noted)
        return nd__fail(ND_ERR_MEMORY, x->op, -1, "no memory for an exchange of a graph");
    *noted = *x;
    nd_retain((nd_array *)(uintptr_t)x->in);
    nd_retain((nd_array *)(uintptr_t)x->out);
    nd_comm_retain(x->comm);
    const nd_status status = nd__capture_keep(s, x->op, drop_noted, noted);
    if (status != ND_OK) {
        drop_noted(noted);
        return status;
    }
    return nd__tape_step(tape, s, x->op, run_noted, noted);
}

bool nd__comm_is_noted(const nd_comm *c)
{
    return nd__captures_now() && !nd__stream(c->carrier) && nd__tape_here(c->carrier);
}

nd_status nd__exchange(const nd_exchange *x)
{
    const nd_array *a = x->in ? x->in : x->out;
    ND_RETURN_IF(nd__usable(x->comm->carrier, x->op));
    if (a->size == 0) /* as on every other rank */
        return ND_OK;
    if (nd__comm_is_noted(x->comm)) {
        if (nd__in_comm_group())
            return nd__fail(ND_ERR_CAPTURE, x->op, -1,
                            "groups of %s are not captured; make these calls outside of the graph",
                            x->comm->transport);
        return note(x, nd__tape_here(x->comm->carrier));
    }
    if (nd__exchanges(x->comm, x->kind, x->reduce, a->dtype))
        return run_dense(x);
    if (nd__in_comm_group())
        return nd__fail(ND_ERR_STATE, x->op, -1,
                        "%s does it for %s in several steps, which a group cannot hold; call it "
                        "outside",
                        x->comm->transport, nd_dtype_name(a->dtype));
    nd__count_derived();
    return nd__exchange_derived(x);
}
