/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What each node of an expression is in one run: dtypes and shapes, by the rules of the operations
 * called one by one, with their errors. */
#include "core/fuse/fuse.h"

enum { CHEAP = 1, COSTLY = 16 };

/* Shapes are few, so the same one is found and not listed twice. */
int32_t nd__fuse_shape_number(nd_fusing *run, int ndim, const int64_t *dim)
{
    for (int32_t i = 0; i < run->n_shapes; i++)
        if (nd__same_shape(ndim, dim, run->shape[i].ndim, run->shape[i].dim))
            return i;
    nd_fuse_shape *s = &run->shape[run->n_shapes];
    s->ndim = ndim;
    s->size = 1;
    for (int d = 0; d < ndim; d++)
        s->size *= s->dim[d] = dim[d];
    return run->n_shapes++;
}

void nd__fuse_take(nd_fusing *run, int32_t node, const nd_array *array, bool owned)
{
    nd_fuse_value *v = &run->value[node];
    v->dtype = array->dtype;
    v->shape = nd__fuse_shape_number(run, array->ndim, array->shape);
    v->array = array;
    v->owned = owned;
    v->cost = 0;
}

static nd_status broadcast(nd_fusing *run, const char *name, const nd_expr_node *n, nd_dtype dtype,
                           int32_t *out)
{
    int ndims[3], ndim, count = 0;
    const int64_t *shapes[3];
    int64_t dim[ND_MAX_NDIM], size;
    int32_t first = -1;
    bool same = true;
    for (int32_t i = 0; i < n->n; i++) {
        const nd_fuse_value *v = &run->value[n->arg[i]];
        if (!v->dtype)
            continue;
        same = same && (first < 0 || v->shape == first);
        first = first < 0 ? v->shape : first;
        ndims[count] = run->shape[v->shape].ndim;
        shapes[count++] = run->shape[v->shape].dim;
    }
    *out = first;
    if (same)
        return ND_OK;
    ND_RETURN_IF(nd__broadcast(name, count, ndims, shapes, &ndim, dim));
    ND_RETURN_IF(nd__check_shape(name, dtype, ndim, dim, &size));
    *out = nd__fuse_shape_number(run, ndim, dim);
    return ND_OK;
}

static bool is_condition(const nd_expr_node *n, int32_t i)
{
    return n->op == ND_OP_where && i == 0;
}

/* Arrays first, then weak scalars. */
static nd_status common_dtype(const nd_fusing *run, const char *name, const nd_expr_node *n,
                              nd_dtype *common)
{
    bool some = false;
    *common = 0;
    for (int32_t i = 0; i < n->n; i++) {
        nd_dtype own = run->value[n->arg[i]].dtype;
        some |= own != 0;
        if (!own || is_condition(n, i))
            continue;
        if (*common)
            ND_RETURN_IF(nd__promote(name, *common, own, common));
        else
            *common = own;
    }
    if (!some)
        return nd__fail(ND_ERR_ARGUMENT, name, 0,
                        "every operand is NULL or a scalar; at least one must be an array");
    for (int32_t i = 0; i < n->n; i++) {
        const nd_fuse_value *v = &run->value[n->arg[i]];
        if (!v->dtype && !is_condition(n, i))
            ND_RETURN_IF(nd__promote_scalar(name, *common, v->scalar, common));
    }
    return ND_OK;
}

static nd_status type_apply(nd_fusing *run, const nd_expr_node *n, nd_fuse_value *v)
{
    const nd_op_info *info = nd_op_get(n->op);
    nd_dtype common, first = run->value[n->arg[0]].dtype;
    ND_RETURN_IF(common_dtype(run, info->name, n, &common));
    if (n->dtype) {
        ND_RETURN_IF(nd__check_castable(info->name, common, n->dtype));
        common = n->dtype;
    }
    const bool rounds = nd__op_rounds(info, common);
    ND_RETURN_IF(nd__op_domain(info, rounds ? ND_F32 : common, &v->compute));
    v->dtype = nd__op_result(info, v->compute);
    if (rounds && v->dtype == ND_F32)
        v->dtype = common;
    if (n->op == ND_OP_where && first &&
        !(nd__kind(first) & (ND_KIND_BOOL | ND_KIND_INT | ND_KIND_UINT)))
        return nd__fail(ND_ERR_DTYPE, info->name, 0,
                        "the condition is %s, not bool or an integer; compare it, or convert with "
                        "nd_astype",
                        nd_dtype_name(first));
    v->cost = info->ulp[1] > 0.5f || n->op == ND_OP_divide ? COSTLY : CHEAP;
    return broadcast(run, info->name, n, v->dtype, &v->shape);
}

static nd_status type_cast(nd_fusing *run, const nd_expr_node *n, nd_fuse_value *v)
{
    const nd_fuse_value *from = &run->value[n->arg[0]];
    if (!from->dtype)
        return nd__fail(ND_ERR_ARGUMENT, "expr_cast", 1, "what is to be converted is a scalar");
    if (nd__kind(from->dtype) == ND_KIND_COMPLEX && nd__kind(n->dtype) != ND_KIND_COMPLEX &&
        n->dtype != ND_BOOL)
        return nd__fail(ND_ERR_DTYPE, "astype", 1,
                        "%s to %s would drop the imaginary part; take nd_real first",
                        nd_dtype_name(from->dtype), nd_dtype_name(n->dtype));
    v->dtype = n->dtype;
    v->compute = from->dtype;
    v->shape = from->shape;
    v->cost = CHEAP;
    return ND_OK;
}

/* A costly part of the expression that broadcasts is computed once for itself, not again for each
 * element that it broadcasts to. */
static void want_small_parts(nd_fusing *run, const nd_expr_node *n, const nd_fuse_value *v)
{
    for (int32_t i = 0; i < n->n; i++) {
        nd_fuse_value *part = &run->value[n->arg[i]];
        if (part->dtype && !part->array && part->shape != v->shape && part->cost >= COSTLY &&
            run->shape[part->shape].size <= run->shape[v->shape].size / 2)
            part->wanted = true;
    }
}

nd_status nd__fuse_type(nd_fusing *run, int32_t level)
{
    for (int32_t i = 0; i < run->expr->n; i++) {
        const nd_expr_node *n = &run->expr->node[i];
        nd_fuse_value *v = &run->value[i];
        if (n->level != level || nd__node_is_apart(n))
            continue;
        if (n->kind == ND_NODE_SCALAR)
            v->scalar = n->scalar;
        if (n->kind == ND_NODE_APPLY)
            ND_RETURN_IF(type_apply(run, n, v));
        else if (n->kind == ND_NODE_CAST)
            ND_RETURN_IF(type_cast(run, n, v));
        if (n->kind < ND_NODE_APPLY)
            continue;
        want_small_parts(run, n, v);
        for (int32_t k = 0; k < n->n; k++)
            if (!run->value[n->arg[k]].wanted)
                v->cost += run->value[n->arg[k]].cost;
        v->cost = v->cost > 1000 ? 1000 : v->cost;
    }
    return ND_OK;
}
