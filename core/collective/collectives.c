/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The collectives as programs call them: checks, shapes, where the result goes. */
#include "core/collective/collective.h"
#include "core/ops/prepare.h"

/* One call. result: a new array is wanted. */
typedef struct {
    nd_exchange x;
    nd_comm_opts opts;
    nd_scope scope;
} calling;

/* ---- checks ---- */
static nd_status check_operand(const calling *c, const nd_array *a, int32_t place)
{
    const nd_comm *comm = c->x.comm;
    ND_RETURN_IF(nd__check_array(c->x.op, a, place));
    return a->storage->device == comm->device
               ? (nd_status)ND_OK
               : nd__fail(ND_ERR_DEVICE, c->x.op, place,
                          "the array is on %s, the communicator's rank %d on %s; move one with "
                          "nd_to_device",
                          a->storage->device->name, comm->rank, comm->device->name);
}

static bool has_order(nd_dtype dtype)
{
    return dtype != ND_C64 && dtype != ND_C128;
}

static nd_status check_reduction(const calling *c, const nd_array *a)
{
    const int32_t reduce = c->opts.reduce;
    if (reduce < ND_COMM_SUM || reduce > ND_COMM_AVG)
        return nd__fail(ND_ERR_ARGUMENT, c->x.op, -1,
                        "%d is no reduction; ND_COMM_SUM, _PROD, _MIN, _MAX and _AVG are 0 to 4",
                        (int)reduce);
    if ((reduce == ND_COMM_MIN || reduce == ND_COMM_MAX) && !has_order(a->dtype))
        return nd__fail(ND_ERR_DTYPE, c->x.op, 1, "%s has no order: no least or greatest",
                        nd_dtype_name(a->dtype));
    if (reduce == ND_COMM_AVG && a->dtype == ND_BOOL)
        return nd__fail(ND_ERR_DTYPE, c->x.op, 1,
                        "there is no average of bool; convert with nd_astype");
    return ND_OK;
}

static nd_status check_peer(const calling *c, int32_t peer)
{
    const int32_t n = c->x.comm->n;
    return peer >= 0 && peer < n
               ? (nd_status)ND_OK
               : nd__fail(ND_ERR_ARGUMENT, c->x.op, 2, "there is no rank %d; ranks are 0 to %d",
                          (int)peer, (int)n - 1);
}

/* The first extent of what is scattered is the number of ranks. */
static nd_status check_rows(const calling *c, const nd_array *a)
{
    char text[ND_SHAPE_TEXT];
    const int32_t n = c->x.comm->n;
    return a->ndim > 0 && a->shape[0] == n
               ? (nd_status)ND_OK
               : nd__fail(ND_ERR_SHAPE, c->x.op, 1,
                          "shape %s; the first extent is the number of ranks, %d",
                          nd__shape_text(a->ndim, a->shape, text, sizeof text), (int)n);
}

/* ---- a call's frame ---- */
static nd_status begin(calling *c, const char *op, nd_exchange_kind kind, nd_comm *comm,
                       const nd_array *a, const nd_comm_opts *opts)
{
    memset(c, 0, sizeof *c);
    ND_NEED(op, 0, comm);
    c->x = (nd_exchange){.comm = comm, .op = op, .kind = kind};
    ND_RETURN_IF(
        nd__read_options(op, opts, &c->opts, sizeof c->opts, NDP_END(nd_comm_opts, stream)));
    if (c->opts.work)
        *c->opts.work = NULL;
    ND_RETURN_IF(check_operand(c, a, 1));
    c->x.reduce = c->opts.reduce;
    return nd__scope_enter(op, comm->device, c->opts.stream, &c->scope);
}

/* On copies of the operands that the CPU carries. */
static nd_status run_staged(const nd_exchange *x)
{
    nd_exchange staged = *x;
    nd_array *in = NULL, *out = NULL;
    nd_device *cpu = x->comm->carrier;
    nd_status status = ND_OK;
    ND_RETURN_IF(nd__may_stage(x->comm->device, x->op, NULL, "its plug-in has no communicators"));
    if (x->in)
        ND_GOTO_IF(done, nd_copy(x->in, cpu, &in));
    if (x->out)
        ND_GOTO_IF(done,
                   nd__array_alloc(x->op, cpu, x->out->dtype, x->out->ndim, x->out->shape, &out));
    staged.in = in;
    staged.out = out;
    ND_GOTO_IF(done, nd__exchange(&staged));
    if (out)
        status = nd_assign(out, x->out);
done:
    nd_release(in);
    nd_release(out);
    return status;
}

static nd_status run_now(void *arg)
{
    const calling *c = arg;
    const nd_exchange *x = &c->x;
    ND_RETURN_IF(nd__comm_check(x));
    return x->comm->carrier == x->comm->device ? nd__exchange(x) : run_staged(x);
}

/* in and out may overlap. */
static nd_status run(calling *c, const nd_array *in, const nd_array *out)
{
    nd_array *apart = NULL;
    nd_status status = ND_OK;
    const bool reduces = c->x.kind == ND_EXCHANGE_ALL_REDUCE || c->x.kind == ND_EXCHANGE_REDUCE;
    if (in && out && !(reduces && nd__same_view(in, out)) && nd__may_overlap(in, out))
        ND_GOTO_IF(done, nd_copy(in, NULL, &apart));
    c->x.in = apart ? apart : in;
    c->x.out = out;
    status =
        c->opts.work ? nd__comm_work(c->x.op, c->x.comm, run_now, c, c->opts.work) : run_now(c);
done:
    nd_release(apart);
    return status;
}

static nd_status into_new(calling *c, nd_status status, const nd_array *a, int ndim,
                          const int64_t *shape, nd_array **out)
{
    nd_array *r = NULL;
    if (status == ND_OK)
        status = nd__array_alloc(c->x.op, c->x.comm->device, a->dtype, ndim, shape, &r);
    if (status == ND_OK)
        status = run(c, a, r);
    nd__scope_leave(&c->scope);
    return nd__hand_over(status, r, out);
}

static nd_status check_dst(const calling *c, const nd_array *a, int ndim, const int64_t *shape,
                           const nd_array *dst, int32_t place)
{
    ND_RETURN_IF(check_operand(c, dst, place));
    ND_RETURN_IF(nd__check_writable(c->x.op, dst, place));
    ND_RETURN_IF(nd__check_dst_shape(c->x.op, dst, ndim, shape, place));
    return dst->dtype == a->dtype
               ? (nd_status)ND_OK
               : nd__fail(ND_ERR_DTYPE, c->x.op, place, "the destination is %s, the result %s",
                          nd_dtype_name(dst->dtype), nd_dtype_name(a->dtype));
}

static nd_status into(calling *c, nd_status status, const nd_array *a, int ndim,
                      const int64_t *shape, const nd_array *dst, int32_t place)
{
    if (status == ND_OK)
        status = check_dst(c, a, ndim, shape, dst, place);
    if (status == ND_OK)
        status = run(c, a, dst);
    nd__scope_leave(&c->scope);
    return status;
}

/* ---- all_reduce ---- */
static nd_status begin_all_reduce(calling *c, nd_comm *comm, const nd_array *a,
                                  const nd_comm_opts *opts)
{
    ND_RETURN_IF(begin(c, "comm_all_reduce", ND_EXCHANGE_ALL_REDUCE, comm, a, opts));
    return check_reduction(c, a);
}

nd_status nd_comm_all_reduce(nd_comm *comm, const nd_array *a, const nd_comm_opts *opts,
                             nd_array **out)
{
    calling c;
    ND_OUT("comm_all_reduce", 3, out, NULL);
    nd_status status = begin_all_reduce(&c, comm, a, opts);
    return into_new(&c, status, a, a ? a->ndim : 0, a ? a->shape : NULL, out);
}

nd_status nd_comm_all_reduce_into(nd_comm *comm, const nd_array *a, const nd_comm_opts *opts,
                                  const nd_array *dst)
{
    calling c;
    nd_status status = begin_all_reduce(&c, comm, a, opts);
    return into(&c, status, a, a ? a->ndim : 0, a ? a->shape : NULL, dst, 3);
}

/* ---- reduce ---- */
static nd_status begin_reduce(calling *c, nd_comm *comm, const nd_array *a, int32_t root,
                              const nd_comm_opts *opts)
{
    ND_RETURN_IF(begin(c, "comm_reduce", ND_EXCHANGE_REDUCE, comm, a, opts));
    ND_RETURN_IF(check_peer(c, root));
    c->x.peer = root;
    return check_reduction(c, a);
}

static nd_status end_without_result(calling *c, nd_status status, const nd_array *a)
{
    if (status == ND_OK)
        status = run(c, a, NULL);
    nd__scope_leave(&c->scope);
    return status;
}

nd_status nd_comm_reduce(nd_comm *comm, const nd_array *a, int32_t root, const nd_comm_opts *opts,
                         nd_array **out)
{
    calling c;
    ND_OUT("comm_reduce", 4, out, NULL);
    nd_status status = begin_reduce(&c, comm, a, root, opts);
    if (status == ND_OK && comm->rank != root)
        return end_without_result(&c, status, a);
    return into_new(&c, status, a, a ? a->ndim : 0, a ? a->shape : NULL, out);
}

nd_status nd_comm_reduce_into(nd_comm *comm, const nd_array *a, int32_t root,
                              const nd_comm_opts *opts, const nd_array *dst)
{
    calling c;
    nd_status status = begin_reduce(&c, comm, a, root, opts);
    if (status == ND_OK && comm->rank != root)
        return end_without_result(&c, status, a);
    return into(&c, status, a, a ? a->ndim : 0, a ? a->shape : NULL, dst, 4);
}

/* ---- broadcast, send, recv ---- */
static nd_status move(nd_exchange_kind kind, const char *op, nd_comm *comm, const nd_array *a,
                      int32_t peer, bool writes, const nd_comm_opts *opts)
{
    calling c;
    nd_status status = begin(&c, op, kind, comm, a, opts);
    if (status == ND_OK)
        status = check_peer(&c, peer);
    if (status == ND_OK && (writes || kind == ND_EXCHANGE_BROADCAST))
        status = nd__check_writable(op, a, 1);
    c.x.peer = peer;
    if (status == ND_OK)
        status = run(&c, writes ? NULL : a, writes ? a : NULL);
    nd__scope_leave(&c.scope);
    return status;
}

nd_status nd_comm_broadcast(nd_comm *comm, const nd_array *dst, int32_t root,
                            const nd_comm_opts *opts)
{
    return move(ND_EXCHANGE_BROADCAST, "comm_broadcast", comm, dst, root,
                comm && comm->rank != root, opts);
}

nd_status nd_comm_send(nd_comm *comm, const nd_array *a, int32_t peer, const nd_comm_opts *opts)
{
    return move(ND_EXCHANGE_SEND, "comm_send", comm, a, peer, false, opts);
}

nd_status nd_comm_recv(nd_comm *comm, const nd_array *dst, int32_t peer, const nd_comm_opts *opts)
{
    return move(ND_EXCHANGE_RECV, "comm_recv", comm, dst, peer, true, opts);
}

/* ---- all_gather ---- */
static nd_status begin_all_gather(calling *c, nd_comm *comm, const nd_array *a,
                                  const nd_comm_opts *opts, int64_t *shape)
{
    ND_RETURN_IF(begin(c, "comm_all_gather", ND_EXCHANGE_ALL_GATHER, comm, a, opts));
    if (a->ndim == ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, c->x.op, 1,
                        "an array of rank %d has no room for another axis", ND_MAX_NDIM);
    shape[0] = comm->n;
    memcpy(shape + 1, a->shape, (size_t)a->ndim * sizeof *shape);
    return ND_OK;
}

nd_status nd_comm_all_gather(nd_comm *comm, const nd_array *a, const nd_comm_opts *opts,
                             nd_array **out)
{
    calling c;
    int64_t shape[ND_MAX_NDIM];
    ND_OUT("comm_all_gather", 3, out, NULL);
    nd_status status = begin_all_gather(&c, comm, a, opts, shape);
    return into_new(&c, status, a, a ? a->ndim + 1 : 0, shape, out);
}

nd_status nd_comm_all_gather_into(nd_comm *comm, const nd_array *a, const nd_comm_opts *opts,
                                  const nd_array *dst)
{
    calling c;
    int64_t shape[ND_MAX_NDIM];
    nd_status status = begin_all_gather(&c, comm, a, opts, shape);
    return into(&c, status, a, a ? a->ndim + 1 : 0, shape, dst, 3);
}

/* ---- reduce_scatter, all_to_all ---- */
static nd_status begin_rows(calling *c, const char *op, nd_exchange_kind kind, nd_comm *comm,
                            const nd_array *a, const nd_comm_opts *opts)
{
    ND_RETURN_IF(begin(c, op, kind, comm, a, opts));
    ND_RETURN_IF(check_rows(c, a));
    return kind == ND_EXCHANGE_REDUCE_SCATTER ? check_reduction(c, a) : (nd_status)ND_OK;
}

nd_status nd_comm_reduce_scatter(nd_comm *comm, const nd_array *a, const nd_comm_opts *opts,
                                 nd_array **out)
{
    calling c;
    ND_OUT("comm_reduce_scatter", 3, out, NULL);
    nd_status status =
        begin_rows(&c, "comm_reduce_scatter", ND_EXCHANGE_REDUCE_SCATTER, comm, a, opts);
    return into_new(&c, status, a, a ? a->ndim - 1 : 0, a ? a->shape + 1 : NULL, out);
}

nd_status nd_comm_reduce_scatter_into(nd_comm *comm, const nd_array *a, const nd_comm_opts *opts,
                                      const nd_array *dst)
{
    calling c;
    nd_status status =
        begin_rows(&c, "comm_reduce_scatter", ND_EXCHANGE_REDUCE_SCATTER, comm, a, opts);
    return into(&c, status, a, a ? a->ndim - 1 : 0, a ? a->shape + 1 : NULL, dst, 3);
}

nd_status nd_comm_all_to_all(nd_comm *comm, const nd_array *a, const nd_comm_opts *opts,
                             nd_array **out)
{
    calling c;
    ND_OUT("comm_all_to_all", 3, out, NULL);
    nd_status status = begin_rows(&c, "comm_all_to_all", ND_EXCHANGE_ALL_TO_ALL, comm, a, opts);
    return into_new(&c, status, a, a ? a->ndim : 0, a ? a->shape : NULL, out);
}

nd_status nd_comm_all_to_all_into(nd_comm *comm, const nd_array *a, const nd_comm_opts *opts,
                                  const nd_array *dst)
{
    calling c;
    nd_status status = begin_rows(&c, "comm_all_to_all", ND_EXCHANGE_ALL_TO_ALL, comm, a, opts);
    return into(&c, status, a, a ? a->ndim : 0, a ? a->shape : NULL, dst, 3);
}

/* ---- barrier ---- */
static nd_status barrier_of_one(nd_comm *c)
{
    const int64_t one = 1;
    nd_array *a = NULL;
    ND_RETURN_IF(nd_full(c->carrier, ND_U8, 1, &one, nd_int(1), &a));
    const nd_exchange x = {.comm = c,
                           .op = "comm_barrier",
                           .kind = ND_EXCHANGE_ALL_REDUCE,
                           .reduce = ND_COMM_MAX,
                           .in = a,
                           .out = a};
    const nd_status status = nd__exchange(&x);
    nd_release(a);
    return status;
}

nd_status nd_comm_barrier(nd_comm *comm)
{
    static const char op[] = "comm_barrier";
    ND_NEED(op, 0, comm);
    ND_RETURN_IF(nd__usable(comm->device, op));
    if (nd__in_comm_group())
        return nd__fail(ND_ERR_STATE, op, -1, "a group cannot wait; call it outside");
    if (comm->carrier != comm->device)
        ND_RETURN_IF(nd__wait(nd__stream(comm->device), ND_WAIT_RANKS, op));
    nd_stream *s = nd__stream(comm->carrier);
    if (!comm->table.barrier) {
        ND_RETURN_IF(barrier_of_one(comm));
    } else if (!s) {
        return nd__comm_fails(comm, op, comm->table.barrier(comm->dev, NULL, comm->handle));
    } else {
        ND_RETURN_IF(nd__may_wait(ND_WAIT_RANKS, comm->device, op));
        ND_RETURN_IF(nd__queue_begin(s, op, NULL));
        ND_RETURN_IF(nd__queue_end(s, op, comm->table.barrier(comm->dev, s->handle, comm->handle)));
    }
    return s ? nd__wait(s, ND_WAIT_RANKS, op) : (nd_status)ND_OK;
}
