/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Exchanges that a plug-in lacks, or lacks for a dtype, made of those that it has. */
#include "core/collective/collective.h"

static nd_exchange step(const nd_exchange *x, nd_exchange_kind kind, const nd_array *in,
                        const nd_array *out)
{
    return (nd_exchange){.comm = x->comm,
                         .op = x->op,
                         .kind = kind,
                         .reduce = x->reduce,
                         .peer = x->peer,
                         .in = in,
                         .out = out};
}

/* The part of rank r, a view without the first axis. */
static nd_status row(const nd_array *a, int32_t r, nd_array **view)
{
    const nd_index at = nd_at(r);
    return nd_slice(a, &at, 1, view);
}

/* A new array of a's shape behind an axis of the ranks. */
static nd_status rows_like(const nd_exchange *x, const nd_array *a, nd_array **out)
{
    int64_t shape[ND_MAX_NDIM];
    if (a->ndim == ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, x->op, 0, "arrays of rank %d have no room for another axis",
                        ND_MAX_NDIM);
    shape[0] = x->comm->n;
    memcpy(shape + 1, a->shape, (size_t)a->ndim * sizeof *shape);
    return nd__array_alloc(x->op, a->storage->device, a->dtype, a->ndim + 1, shape, out);
}

static bool has(const nd_exchange *x, nd_exchange_kind kind)
{
    return nd__exchanges(x->comm, kind, x->reduce, x->in ? x->in->dtype : x->out->dtype);
}

static nd_status nothing_left(const nd_exchange *x)
{
    return nd__fail(ND_ERR_UNSUPPORTED, x->op, -1, "%s has nothing that it could be made of",
                    x->comm->transport);
}

/* ---- messages between pairs, in one group: to every rank a row of in, or in itself; from every
 * rank a row of out ---- */
static nd_status message(const nd_exchange *x, nd_exchange_kind kind, int32_t peer,
                         const nd_array *rows, bool whole)
{
    nd_array *part = NULL;
    if (!whole)
        ND_RETURN_IF(row(rows, peer, &part));
    const nd_array *a = whole ? rows : part;
    nd_exchange m =
        step(x, kind, kind == ND_EXCHANGE_SEND ? a : NULL, kind == ND_EXCHANGE_SEND ? NULL : a);
    m.peer = peer;
    const nd_status status = nd__exchange(&m);
    nd_release(part);
    return status;
}

static nd_status all_pairs(const nd_exchange *x, bool whole)
{
    ND_RETURN_IF(nd_comm_group_begin(x->comm));
    nd_status status = ND_OK;
    for (int32_t r = 0; r < x->comm->n && status == ND_OK; r++) {
        status = message(x, ND_EXCHANGE_SEND, r, x->in, whole);
        if (status == ND_OK)
            status = message(x, ND_EXCHANGE_RECV, r, x->out, false);
    }
    const nd_status ended = nd_comm_group_end(x->comm);
    return status == ND_OK ? ended : status;
}

static bool has_messages(const nd_exchange *x)
{
    return has(x, ND_EXCHANGE_SEND) && has(x, ND_EXCHANGE_RECV) && x->comm->table.group_begin;
}

/* ---- one by one ---- */
static nd_status gather(const nd_exchange *x)
{
    if (!has(x, ND_EXCHANGE_BROADCAST))
        return has_messages(x) ? all_pairs(x, true) : nothing_left(x);
    nd_status status = ND_OK;
    for (int32_t r = 0; r < x->comm->n && status == ND_OK; r++) {
        nd_array *part = NULL;
        ND_RETURN_IF(row(x->out, r, &part));
        const bool mine = r == x->comm->rank;
        nd_exchange b = step(x, ND_EXCHANGE_BROADCAST, mine ? part : NULL, mine ? NULL : part);
        b.peer = r;
        if (mine)
            status = nd__copy_into(x->in, part);
        if (status == ND_OK)
            status = nd__exchange(&b);
        nd_release(part);
    }
    return status;
}

static nd_status broadcast(const nd_exchange *x)
{
    nd_array *rows = NULL, *part = NULL;
    const nd_array *mine = x->in ? x->in : x->out;
    nd_status status;
    if (!has(x, ND_EXCHANGE_ALL_GATHER) && !has_messages(x))
        return nothing_left(x);
    ND_GOTO_IF(done, rows_like(x, mine, &rows));
    const nd_exchange all = step(x, ND_EXCHANGE_ALL_GATHER, mine, rows);
    ND_GOTO_IF(done, nd__exchange(&all));
    ND_GOTO_IF(done, row(rows, x->peer, &part));
    if (x->out)
        status = nd__copy_into(part, x->out);
done:
    nd_release(part);
    nd_release(rows);
    return status;
}

/* ---- reductions of gathered rows, by the device's own operations ---- */
static nd_status combine(const nd_exchange *x, const nd_array *rows, const nd_array *out)
{
    static const int32_t first = 0;
    const nd_reduce_opts opts = {
        .size = sizeof opts, .dtype = rows->dtype, .axes = &first, .naxes = 1};
    const nd_reduce_opts of_bool = {.size = sizeof of_bool, .axes = &first, .naxes = 1};
    const bool or = x->reduce == ND_COMM_SUM || x->reduce == ND_COMM_MAX;
    if (rows->dtype == ND_BOOL)
        return or ? nd_any_into(rows, &of_bool, out) : nd_all_into(rows, &of_bool, out);
    switch (x->reduce) {
    case ND_COMM_PROD:
        return nd_prod_into(rows, &opts, out);
    case ND_COMM_MIN:
        return nd_min_into(rows, &of_bool, out);
    case ND_COMM_MAX:
        return nd_max_into(rows, &of_bool, out);
    default:
        return nd_sum_into(rows, &opts, out);
    }
}

static nd_status all_reduce_gathered(const nd_exchange *x, const nd_array *out)
{
    nd_array *rows = NULL;
    nd_status status;
    ND_GOTO_IF(done, rows_like(x, x->in, &rows));
    const nd_exchange all = step(x, ND_EXCHANGE_ALL_GATHER, x->in, rows);
    ND_GOTO_IF(done, nd__exchange(&all));
    if (out)
        status = combine(x, rows, out);
done:
    nd_release(rows);
    return status;
}

/* The sum becomes the average, in place. */
static nd_status divide(const nd_exchange *x, const nd_array *sum)
{
    const int64_t n = x->comm->n;
    const nd_dtype d = sum->dtype;
    if (d == ND_F16 || d == ND_BF16 || d == ND_F32 || d == ND_F64 || d == ND_C64 || d == ND_C128)
        return nd_divide_scalar_into(sum, nd_float((double)n), sum);
    return nd_floor_divide_scalar_into(sum, nd_int(n), sum);
}

static nd_status average(const nd_exchange *x)
{
    nd_exchange sum = *x;
    sum.reduce = ND_COMM_SUM;
    ND_RETURN_IF(nd__exchange(&sum));
    return x->out ? divide(x, x->out) : (nd_status)ND_OK;
}

/* The reduction of everything, of which this rank wants the part of part_of; -1: all. */
static nd_status by_all_reduce(const nd_exchange *x, int32_t part_of, bool wanted)
{
    nd_array *all = NULL, *part = NULL;
    nd_status status;
    ND_GOTO_IF(done, nd__array_like(x->in, x->in->dtype, &all));
    const nd_exchange whole = step(x, ND_EXCHANGE_ALL_REDUCE, x->in, all);
    ND_GOTO_IF(done, nd__exchange(&whole));
    if (part_of >= 0)
        ND_GOTO_IF(done, row(all, part_of, &part));
    if (wanted)
        status = nd__copy_into(part ? part : all, x->out);
done:
    nd_release(part);
    nd_release(all);
    return status;
}

static nd_status all_to_all(const nd_exchange *x)
{
    nd_array *rows = NULL;
    nd_status status;
    if (has_messages(x))
        return all_pairs(x, false);
    ND_GOTO_IF(done, rows_like(x, x->in, &rows));
    const nd_exchange all = step(x, ND_EXCHANGE_ALL_GATHER, x->in, rows);
    ND_GOTO_IF(done, nd__exchange(&all));
    nd_array *mine = NULL;
    const nd_index at[2] = {nd_all_of(), nd_at(x->comm->rank)};
    ND_GOTO_IF(done, nd_slice(rows, at, 2, &mine));
    status = nd__copy_into(mine, x->out);
    nd_release(mine);
done:
    nd_release(rows);
    return status;
}

nd_status nd__exchange_derived(const nd_exchange *x)
{
    const bool at_root = x->comm->rank == x->peer;
    switch (x->kind) {
    case ND_EXCHANGE_ALL_GATHER:
        return gather(x);
    case ND_EXCHANGE_BROADCAST:
        return broadcast(x);
    case ND_EXCHANGE_ALL_TO_ALL:
        return all_to_all(x);
    case ND_EXCHANGE_ALL_REDUCE:
        return x->reduce == ND_COMM_AVG ? average(x) : all_reduce_gathered(x, x->out);
    case ND_EXCHANGE_REDUCE:
        return x->reduce == ND_COMM_AVG ? average(x) : by_all_reduce(x, -1, at_root);
    case ND_EXCHANGE_REDUCE_SCATTER:
        return x->reduce == ND_COMM_AVG ? average(x) : by_all_reduce(x, x->comm->rank, true);
    default:
        return nothing_left(x);
    }
}
