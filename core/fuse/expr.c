/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Expressions: a list of nodes, appended to by one thread until it runs for the first time. */
#include <stdlib.h>
#include "core/fuse/fuse.h"

nd_status nd_expr_create(nd_expr **out)
{
    ND_OUT("expr_create", 0, out, NULL);
    nd_expr *e = calloc(1, sizeof *e);
    if (!e)
        return nd__fail(ND_ERR_MEMORY, "expr_create", -1, "no memory for an expression");
    atomic_init(&e->refs, 1);
    *out = e;
    return ND_OK;
}

nd_expr *nd_expr_retain(nd_expr *expr)
{
    if (expr)
        atomic_fetch_add_explicit(&expr->refs, 1, memory_order_relaxed);
    return expr;
}

void nd_expr_release(nd_expr *expr)
{
    if (!expr || !nd__last(&expr->refs))
        return;
    for (int32_t i = 0; i < expr->n; i++)
        free(expr->node[i].axes);
    nd__fuse_plans_release(expr);
    free(expr->node);
    free(expr);
}

/* ---- appending ---- */
static nd_status check_open(const char *op, const nd_expr *e)
{
    if (atomic_load(&e->used))
        return nd__fail(ND_ERR_STATE, op, 0,
                        "the expression has run, and takes no more nodes; make another one");
    if (e->n >= ND_EXPR_MAX_NODES)
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "the expression has %d nodes, the most there can be", (int)e->n);
    return ND_OK;
}

static nd_status check_node(const char *op, const nd_expr *e, int32_t node, int32_t argument)
{
    if (node >= 0 && node < e->n)
        return ND_OK;
    return nd__fail(ND_ERR_INDEX, op, argument,
                    "%d is no node of the expression, which has nodes 0 to %d", (int)node,
                    (int)e->n - 1);
}

/* Takes over the axes. */
static nd_status append(const char *op, nd_expr *e, nd_expr_node *n, int32_t *node)
{
    if (e->n == e->room) {
        int32_t room = e->room ? 2 * e->room : 16;
        nd_expr_node *grown = realloc(e->node, (size_t)room * sizeof *grown);
        if (!grown) {
            free(n->axes);
            return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for %d nodes", (int)room);
        }
        e->node = grown;
        e->room = room;
    }
    for (int32_t i = 0; n->kind > ND_NODE_SCALAR && i < n->n; i++)
        if (e->node[n->arg[i]].level > n->level)
            n->level = e->node[n->arg[i]].level;
    n->level += nd__node_is_apart(n);
    if (n->level >= e->n_levels)
        e->n_levels = n->level + 1;
    e->node[ *node = e->n++] = *n;
    return ND_OK;
}

nd_status nd_expr_input(nd_expr *expr, int32_t *node)
{
    ND_NEED("expr_input", 0, expr);
    ND_OUT("expr_input", 1, node, -1);
    ND_RETURN_IF(check_open("expr_input", expr));
    nd_expr_node n = {.kind = ND_NODE_INPUT, .arg = {expr->n_in}};
    ND_RETURN_IF(append("expr_input", expr, &n, node));
    expr->n_in++;
    return ND_OK;
}

nd_status nd_expr_scalar(nd_expr *expr, nd_scalar value, int32_t *node)
{
    nd_dtype same;
    ND_NEED("expr_scalar", 0, expr);
    ND_OUT("expr_scalar", 2, node, -1);
    ND_RETURN_IF(check_open("expr_scalar", expr));
    ND_RETURN_IF(nd__promote_scalar("expr_scalar", 0, value, &same)); /* whether it is one */
    nd_expr_node n = {.kind = ND_NODE_SCALAR, .scalar = value};
    return append("expr_scalar", expr, &n, node);
}

static int arity(const nd_op_info *info)
{
    int c = info ? info->op_class : 0;
    return c == ND_CLASS_UNARY ? 1 : c == ND_CLASS_BINARY ? 2 : c == ND_CLASS_TERNARY ? 3 : 0;
}

nd_status nd_expr_apply(nd_expr *expr, nd_op op, const int32_t *operands, int n, nd_dtype dtype,
                        int32_t *node)
{
    const nd_op_info *info = nd_op_get(op);
    ND_NEED("expr_apply", 0, expr);
    ND_OUT("expr_apply", 5, node, -1);
    ND_NEED_LIST("expr_apply", 2, n, operands);
    ND_RETURN_IF(check_open("expr_apply", expr));
    if (!arity(info))
        return nd__fail(ND_ERR_ARGUMENT, "expr_apply", 1, "op %d is not an elementwise operation",
                        (int)op);
    if (n != arity(info))
        return nd__fail(ND_ERR_ARGUMENT, info->name, 3, "%d operands given, %d needed", n,
                        arity(info));
    if (dtype)
        ND_RETURN_IF(nd__check_dtype(info->name, dtype));
    nd_expr_node made = {.kind = ND_NODE_APPLY, .n = n, .op = op, .dtype = dtype};
    bool some = false;
    for (int i = 0; i < n; i++) {
        ND_RETURN_IF(check_node(info->name, expr, made.arg[i] = operands[i], 2));
        some |= expr->node[operands[i]].kind != ND_NODE_SCALAR;
    }
    if (!some)
        return nd__fail(ND_ERR_ARGUMENT, info->name, 2,
                        "every operand is a scalar; at least one must be an array");
    return append(info->name, expr, &made, node);
}

static nd_status check_array_node(const char *op, const nd_expr *e, int32_t node, int32_t argument)
{
    ND_RETURN_IF(check_node(op, e, node, argument));
    if (e->node[node].kind == ND_NODE_SCALAR)
        return nd__fail(ND_ERR_ARGUMENT, op, argument, "node %d is a scalar, not an array",
                        (int)node);
    return ND_OK;
}

nd_status nd_expr_cast(nd_expr *expr, int32_t operand, nd_dtype dtype, int32_t *node)
{
    ND_NEED("expr_cast", 0, expr);
    ND_OUT("expr_cast", 3, node, -1);
    ND_RETURN_IF(check_open("expr_cast", expr));
    ND_RETURN_IF(check_array_node("expr_cast", expr, operand, 1));
    ND_RETURN_IF(nd__check_dtype("expr_cast", dtype));
    nd_expr_node made = {.kind = ND_NODE_CAST, .n = 1, .dtype = dtype, .arg = {operand}};
    return append("expr_cast", expr, &made, node);
}

static nd_status copy_axes(const char *op, const nd_reduce_opts *o, nd_expr_node *made)
{
    made->dtype = o->dtype;
    made->keepdims = o->keepdims;
    made->correction = o->correction;
    made->naxes = o->naxes;
    if (!o->axes || o->naxes <= 0)
        return ND_OK;
    if (o->naxes > ND_MAX_NDIM)
        return nd__fail(ND_ERR_ARGUMENT, op, 3, "%d axes given; allowed are 0 to %d", (int)o->naxes,
                        ND_MAX_NDIM);
    made->axes = malloc((size_t)o->naxes * sizeof *made->axes);
    if (!made->axes)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for %d axes", (int)o->naxes);
    memcpy(made->axes, o->axes, (size_t)o->naxes * sizeof *made->axes);
    return ND_OK;
}

nd_status nd_expr_reduce(nd_expr *expr, nd_op op, int32_t operand, const nd_reduce_opts *opts,
                         int32_t *node)
{
    const nd_op_info *info = nd_op_get(op);
    ND_NEED("expr_reduce", 0, expr);
    ND_OUT("expr_reduce", 4, node, -1);
    ND_RETURN_IF(check_open("expr_reduce", expr));
    if (!info || (info->op_class != ND_CLASS_REDUCE && info->op_class != ND_CLASS_ARGREDUCE))
        return nd__fail(ND_ERR_ARGUMENT, "expr_reduce", 1, "op %d is not a reduction", (int)op);
    ND_RETURN_IF(check_array_node(info->name, expr, operand, 2));
    if (opts && opts->size < NDP_END(nd_reduce_opts, correction))
        return nd__fail(ND_ERR_ARGUMENT, "expr_reduce", 3,
                        "the options' size field is %u; set it to sizeof", opts->size);
    nd_expr_node made = {.kind = ND_NODE_REDUCE, .n = 1, .op = op, .arg = {operand}};
    if (opts)
        ND_RETURN_IF(copy_axes(info->name, opts, &made));
    return append(info->name, expr, &made, node);
}

nd_status nd_expr_matmul(nd_expr *expr, int32_t a, int32_t b, int32_t *node)
{
    ND_NEED("expr_matmul", 0, expr);
    ND_OUT("expr_matmul", 3, node, -1);
    ND_RETURN_IF(check_open("expr_matmul", expr));
    ND_RETURN_IF(check_array_node("expr_matmul", expr, a, 1));
    ND_RETURN_IF(check_array_node("expr_matmul", expr, b, 2));
    nd_expr_node made = {.kind = ND_NODE_PRODUCT, .n = 2, .op = ND_OP_matmul, .arg = {a, b}};
    return append("expr_matmul", expr, &made, node);
}

nd_status nd_expr_output(nd_expr *expr, int32_t node)
{
    ND_NEED("expr_output", 0, expr);
    if (atomic_load(&expr->used))
        return nd__fail(ND_ERR_STATE, "expr_output", 0,
                        "the expression has run, and takes no more results; make another one");
    ND_RETURN_IF(check_array_node("expr_output", expr, node, 1));
    if (expr->n_out == ND_EXPR_MAX_RESULTS)
        return nd__fail(ND_ERR_ARGUMENT, "expr_output", 0,
                        "the expression has %d results, the most there can be", (int)expr->n_out);
    expr->out[expr->n_out++] = node;
    return ND_OK;
}
