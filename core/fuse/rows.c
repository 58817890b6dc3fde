/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Expressions over rows in one loop: every reduction reduces the same last axes of arrays of one
 * shape, and what is computed of its results has that shape, or one value for each row. Softmax,
 * norms and variances by hand are such; memory is read once. Where one is none, or the device has no
 * loop with the bits of the operations, run.c cuts it at its reductions. */
#include <stdlib.h>
#include "core/fuse/fuse.h"
#include "core/run/dispatch.h"

/* How a node's array lies beside the rows: one value for each element (also broadcast), for each
 * row, or for each row without the reduced axes. */
enum { NEITHER, FULL, ROW, DROPPED };
enum { OPERANDS = NDP_PROGRAM_MAX_IN + NDP_PROGRAM_MAX_OUT };

typedef struct {
    nd_fusing *run;
    nd_fuse_program program;
    int32_t full;   /* shape of what is reduced */
    int32_t n_axes; /* how many of its last axes are; 0: not known yet */
    int64_t length; /* of a row */
    bool works;     /* there is a full operation */
    int32_t n_roots, root[NDP_PROGRAM_MAX_OUT];
    int8_t kind[ND_EXPR_MAX_NODES];
    bool aligned[ND_EXPR_MAX_NODES]; /* of inputs: used beside full arrays; */
    bool dropped[ND_EXPR_MAX_NODES]; /* beside those without the reduced axes */
} rows;

/* Operands of the call, results first. */
typedef struct {
    const nd_array *result[NDP_PROGRAM_MAX_OUT];
    bool owned[NDP_PROGRAM_MAX_OUT];
    int n, ndim;
    ndp_view view[OPERANDS];
    int64_t shape[ND_MAX_NDIM + 1], stride[OPERANDS][ND_MAX_NDIM + 1];
    int64_t of_rows[ND_MAX_NDIM + 1]; /* shape of what has one element for each row */
} operands;

static bool is_reduction(const nd_expr_node *n)
{
    switch (n->kind == ND_NODE_REDUCE && !n->dtype ? n->op : ND_OP_NONE) {
    case ND_OP_sum:
    case ND_OP_mean:
    case ND_OP_prod:
    case ND_OP_min:
    case ND_OP_max:
    case ND_OP_var:
    case ND_OP_std:
        return true;
    default:
        return false;
    }
}

/* What is computed apart must be such reductions; looked at in every run, so nothing more is. */
static bool may_be_rows(const nd_fusing *run)
{
    const nd_expr *e = run->expr;
    if (run->eager || e->n_levels < 2 || !run->device->has_fused || !run->device->fused.takes)
        return false;
    for (int32_t i = 0; i < e->n; i++)
        if (nd__node_is_apart(&e->node[i]) && !is_reduction(&e->node[i]))
            return false;
    return true;
}

/* ---- dtypes and shapes ---- */
static const nd_fuse_shape *shape_of(const rows *r, int32_t node)
{
    return &r->run->shape[r->run->value[node].shape];
}

/* Takes the first reduction's operand as what rows are of, and those like it. */
static bool same_rows(rows *r, int32_t shape, uint64_t mask)
{
    const nd_fuse_shape *s = &r->run->shape[shape];
    int32_t k = 0;
    while (k < s->ndim && (mask >> (s->ndim - 1 - k) & 1))
        k++;
    if (k == 0 || mask != (((uint64_t)2 << (k - 1)) - 1) << (s->ndim - k))
        return false;
    if (r->n_axes)
        return r->full == shape && r->n_axes == k;
    r->full = shape;
    r->n_axes = k;
    r->length = 1;
    for (int d = s->ndim - k; d < s->ndim; d++)
        r->length *= s->dim[d];
    return r->length > 1 && s->size > 0;
}

static nd_status type_reduce(rows *r, int32_t node, bool *fits)
{
    const nd_expr_node *n = &r->run->expr->node[node];
    nd_fuse_value *v = &r->run->value[node];
    const nd_fuse_value *from = &r->run->value[n->arg[0]];
    const nd_op_info *info = nd_op_get(n->op);
    uint64_t mask;
    *fits = false;
    if (nd__kind(from->dtype) != ND_KIND_FLOAT || nd__op_result(info, from->dtype) != from->dtype)
        return ND_OK;
    const nd_fuse_shape *s = &r->run->shape[from->shape];
    ND_RETURN_IF(nd__axes_option(info->name, n->naxes, n->axes, s->ndim, &mask));
    if (!same_rows(r, from->shape, mask))
        return ND_OK;
    int64_t dim[ND_MAX_NDIM];
    const int kept = s->ndim - r->n_axes;
    for (int d = 0; d < s->ndim; d++)
        dim[d] = d < kept ? s->dim[d] : 1;
    v->dtype = v->compute = from->dtype;
    v->shape = nd__fuse_shape_number(r->run, n->keepdims ? s->ndim : kept, dim);
    *fits = true;
    return ND_OK;
}

/* As run.c goes: a level's reductions, then what is computed of them. */
static nd_status type_all(rows *r, bool *fits)
{
    const nd_expr *e = r->run->expr;
    for (int32_t level = 0; level < e->n_levels; level++) {
        for (int32_t i = 0; i < e->n; i++) {
            if (e->node[i].level != level || e->node[i].kind != ND_NODE_REDUCE)
                continue;
            ND_RETURN_IF(type_reduce(r, i, fits));
            if (!*fits)
                return ND_OK;
        }
        ND_RETURN_IF(nd__fuse_type(r->run, level));
    }
    return nd__fuse_check_destinations(r->run, e->n_levels - 1);
}

/* ---- kinds ---- */
/* An array that broadcasts to the full shape: whether it changes along a row. */
static int8_t kind_of_shape(const rows *r, const nd_fuse_shape *s)
{
    const nd_fuse_shape *full = &r->run->shape[r->full];
    const int off = full->ndim - s->ndim;
    int8_t kind = ROW;
    if (off < 0)
        return NEITHER;
    for (int d = 0; d < s->ndim; d++) {
        if (s->dim[d] != 1 && s->dim[d] != full->dim[off + d])
            return NEITHER;
        if (s->dim[d] != 1 && off + d >= full->ndim - r->n_axes)
            kind = FULL;
    }
    return kind;
}

/* Whether it is the full shape without the reduced axes. */
static bool is_dropped_shape(const rows *r, const nd_fuse_shape *s)
{
    const nd_fuse_shape *full = &r->run->shape[r->full];
    return nd__same_shape(s->ndim, s->dim, full->ndim - r->n_axes, full->dim);
}

static bool is_one(const rows *r, int32_t node)
{
    return shape_of(r, node)->size == 1;
}

/* Of an operation on arrays without the reduced axes. */
static int8_t kind_of_dropped(rows *r, const nd_expr_node *n)
{
    for (int32_t k = 0; k < n->n; k++) {
        const int32_t from = n->arg[k];
        if (!r->run->value[from].dtype || is_one(r, from) || r->kind[from] == DROPPED)
            continue;
        if (r->run->expr->node[from].kind != ND_NODE_INPUT ||
            !is_dropped_shape(r, shape_of(r, from)))
            return NEITHER;
        r->dropped[from] = true;
    }
    return DROPPED;
}

static int8_t kind_of_operation(rows *r, int32_t node)
{
    const nd_expr_node *n = &r->run->expr->node[node];
    int8_t kind = ROW;
    for (int32_t k = 0; k < n->n; k++)
        if (r->kind[n->arg[k]] == DROPPED)
            return is_dropped_shape(r, shape_of(r, node)) ? kind_of_dropped(r, n) : NEITHER;
    for (int32_t k = 0; k < n->n; k++) {
        const int32_t from = n->arg[k];
        if (!r->run->value[from].dtype)
            continue;
        r->aligned[from] = true;
        kind = r->kind[from] == NEITHER ? NEITHER : r->kind[from] == FULL ? FULL : kind;
        if (kind == NEITHER)
            return NEITHER;
    }
    r->works = r->works || kind == FULL;
    return kind;
}

/* Reductions have the bits that they have by themselves only where these read dense memory. */
static int8_t kind_of_reduction(const rows *r, int32_t node)
{
    const nd_expr_node *n = &r->run->expr->node[node];
    const nd_array *a = r->run->value[n->arg[0]].array;
    if (r->kind[n->arg[0]] != FULL || (a && !(a->flags & ND_FLAG_CONTIGUOUS)))
        return NEITHER;
    return n->keepdims || is_one(r, node) ? ROW : DROPPED;
}

/* Whether all nodes that are needed fit; an input that fits nowhere shows where it is used. */
static bool find_kinds(rows *r)
{
    const nd_expr *e = r->run->expr;
    for (int32_t i = 0; i < e->n; i++) {
        const nd_fuse_value *v = &r->run->value[i];
        const int32_t kind = e->node[i].kind;
        r->aligned[i] = r->dropped[i] = false;
        r->kind[i] = NEITHER;
        if (!v->needed || !v->dtype)
            continue;
        r->kind[i] = kind == ND_NODE_INPUT    ? kind_of_shape(r, shape_of(r, i))
                     : kind == ND_NODE_REDUCE ? kind_of_reduction(r, i)
                                              : kind_of_operation(r, i);
        if (kind != ND_NODE_INPUT && r->kind[i] == NEITHER)
            return false;
    }
    for (int32_t i = 0; i < e->n; i++)
        if (r->aligned[i] && r->dropped[i])
            return false;
    return r->works;
}

/* The nodes that are results, each once. */
static bool find_roots(rows *r)
{
    const nd_expr *e = r->run->expr;
    r->n_roots = 0;
    for (int32_t i = 0; i < e->n_out; i++) {
        int32_t at = 0, node = e->out[i];
        while (at < r->n_roots && r->root[at] != node)
            at++;
        if (at < r->n_roots || e->node[node].kind == ND_NODE_INPUT)
            continue;
        if (r->n_roots == NDP_PROGRAM_MAX_OUT)
            return false;
        r->root[r->n_roots++] = node;
    }
    return r->n_roots > 0;
}

/* Each has an element for each element, or each row, of the full shape. */
static bool are_results(const rows *r)
{
    const nd_fuse_shape *full = &r->run->shape[r->full];
    for (int32_t i = 0; i < r->n_roots; i++)
        if (shape_of(r, r->root[i])->size !=
            (r->kind[r->root[i]] == FULL ? full->size : full->size / r->length))
            return false;
    return true;
}

/* Marks inputs of rows; false: one array is used in both ways. */
static bool mark_inputs(rows *r)
{
    nd_fuse_program *p = &r->program;
    for (int32_t i = 0; i < r->run->expr->n; i++) {
        const nd_array *a = r->run->value[i].array;
        for (uint32_t k = 0; a && r->run->value[i].needed && k < p->n_in; k++)
            if (r->run->value[p->in[k]].array == a && r->dropped[i] != r->dropped[p->in[k]])
                return false;
    }
    for (uint32_t k = 0; k < p->n_in; k++)
        if (r->dropped[p->in[k]] || r->kind[p->in[k]] == ROW)
            p->row_in |= 1u << k;
    return true;
}

/* ---- the call ---- */
static void set_strides(const rows *r, operands *o, int i, const nd_array *a, bool dropped)
{
    const nd_fuse_shape *full = &r->run->shape[r->full];
    const int kept = full->ndim - r->n_axes, ndim = dropped ? kept : full->ndim;
    o->view[i] = nd__view(a);
    nd__broadcast_strides(ndim, full->dim, a->ndim, a->shape, a->stride, o->stride[i]);
    for (int d = ndim; d < full->ndim; d++)
        o->stride[i][d] = 0;
}

/* The reduced axes as one, behind the others, which are merged among themselves; false: they are
 * none. */
static bool merge_dims(const rows *r, operands *o)
{
    const nd_fuse_shape *full = &r->run->shape[r->full];
    const int kept = full->ndim - r->n_axes;
    int64_t reduced[ND_MAX_NDIM], outer[ND_MAX_NDIM];
    int64_t along[OPERANDS][ND_MAX_NDIM], across[OPERANDS][ND_MAX_NDIM];
    memcpy(outer, full->dim, (size_t)kept * sizeof *outer);
    memcpy(reduced, full->dim + kept, (size_t)r->n_axes * sizeof *reduced);
    for (int i = 0; i < o->n; i++) {
        memcpy(across[i], o->stride[i], (size_t)kept * sizeof *outer);
        memcpy(along[i], o->stride[i] + kept, (size_t)r->n_axes * sizeof *reduced);
    }
    if (nd__coalesce(r->n_axes, reduced, o->n, along, true) != 1)
        return false;
    int ndim = nd__coalesce(kept, outer, o->n, across, false);
    if (ndim == 0)
        outer[0] = 1;
    o->ndim = (ndim ? ndim : 1) + 1;
    memcpy(o->shape, outer, (size_t)(o->ndim - 1) * sizeof *outer);
    o->shape[o->ndim - 1] = reduced[0];
    for (int i = 0; i < o->n; i++) {
        o->stride[i][0] = 0;
        memcpy(o->stride[i], across[i], (size_t)ndim * sizeof *outer);
        o->stride[i][o->ndim - 1] = along[i][0];
    }
    return true;
}

static void set_shape(const rows *r, operands *o, int i, int32_t node)
{
    const int64_t *shape = r->dropped[node] || r->kind[node] != FULL ? o->of_rows : o->shape;
    o->view[i].ndim = o->ndim;
    o->view[i].shape = shape;
    o->view[i].stride = o->stride[i];
    o->view[i].flags = nd__is_c_order(o->ndim, shape, o->stride[i]) ? NDP_VIEW_CONTIGUOUS : 0;
}

static bool set_views(const rows *r, operands *o)
{
    const nd_fuse_program *p = &r->program;
    o->n = (int)(p->n_out + p->n_in);
    for (uint32_t i = 0; i < p->n_out; i++)
        set_strides(r, o, (int)i, o->result[i], r->kind[p->root[i]] == DROPPED);
    for (uint32_t i = 0; i < p->n_in; i++)
        set_strides(r, o, (int)(p->n_out + i), r->run->value[p->in[i]].array, r->dropped[p->in[i]]);
    if (!merge_dims(r, o))
        return false;
    memcpy(o->of_rows, o->shape, sizeof o->shape);
    o->of_rows[o->ndim - 1] = 1;
    for (uint32_t i = 0; i < p->n_out; i++)
        set_shape(r, o, (int)i, p->root[i]);
    for (uint32_t i = 0; i < p->n_in; i++)
        set_shape(r, o, (int)(p->n_out + i), p->in[i]);
    return true;
}

static nd_status call_rows(rows *r, operands *o, bool *done)
{
    nd_device *d = r->run->device;
    nd_fuse_program *p = &r->program;
    nd_fuse_loop *loop;
    const ndp_kernel *kernel;
    const char *why;
    ndp_call call;
    nd_status status = ND_OK;
    if (!set_views(r, o))
        return ND_OK;
    p->flags = NDP_PROGRAM_ROWS | (uint32_t)o->ndim << 8;
    ND_RETURN_IF(nd__fuse_loop_get(d, p, &loop, &kernel, &why));
    nd__set_call(&call, ND_OP_NONE, p->n_in, o->view + p->n_out, p->n_out, o->view);
    call.n_scalar = p->n_scalar;
    call.scalar = p->scalar;
    if (kernel && d->fused.takes(d->dev, kernel, &call) == NDP_OK) {
        status = nd__fuse_call(d, loop, kernel, &call);
        *done = status == ND_OK;
        nd__fuse_record_loop(r->run, p, loop, &call, o->result);
    }
    nd__fuse_loop_release(loop);
    return status;
}

static nd_status run_rows(rows *r, bool *done)
{
    operands o;
    int32_t n = 0;
    nd_status status = ND_OK;
    for (; n < r->n_roots && status == ND_OK; n++)
        status = nd__fuse_result(r->run, r->root[n], &o.result[n], &o.owned[n]);
    n -= status != ND_OK;
    if (status == ND_OK)
        status = call_rows(r, &o, done);
    for (int32_t i = 0; i < n; i++) {
        if (*done)
            nd__fuse_take(r->run, r->root[i], o.result[i], o.owned[i]);
        else if (o.owned[i])
            nd_release((nd_array *)o.result[i]);
    }
    return status;
}

static nd_status try_rows(rows *r, bool *done)
{
    bool fits = false;
    const char *why;
    ND_RETURN_IF(type_all(r, &fits));
    if (!fits || !find_roots(r))
        return ND_OK;
    nd__fuse_need(r->run, r->root, r->n_roots);
    if (!find_kinds(r) || !are_results(r))
        return ND_OK;
    ND_RETURN_IF(nd__fuse_lower(r->run, r->root, r->n_roots, &r->program, &why));
    if (why || !mark_inputs(r))
        return ND_OK;
    return run_rows(r, done);
}

nd_status nd__fuse_rows(nd_fusing *run, bool *done)
{
    if (!may_be_rows(run))
        return ND_OK;
    rows *r = malloc(sizeof *r);
    if (!r)
        return nd__fail(ND_ERR_MEMORY, run->name, -1, "no memory for a program");
    r->run = run;
    r->n_axes = 0;
    r->works = false;
    nd_status status = try_rows(r, done);
    free(r);
    if (status == ND_OK && !*done)
        nd__fuse_take_arguments(run);
    return status;
}
