/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of matrices in expressions, alone or with what follows them as their epilogue. */
#include "core/fuse/fuse.h"
#include <ndock/linalg.h>

/* What a product takes with it. */
typedef struct {
    int32_t bias, last; /* nodes: of the vector (-1: none), whose value the result is */
    int32_t epilogue;   /* ND_EPILOGUE_* */
} tail;

static int32_t epilogue_of(nd_op op)
{
    switch (op) {
    case ND_OP_relu:
        return ND_EPILOGUE_RELU;
    case ND_OP_gelu:
        return ND_EPILOGUE_GELU;
    case ND_OP_gelu_tanh:
        return ND_EPILOGUE_GELU_TANH;
    case ND_OP_sigmoid:
        return ND_EPILOGUE_SIGMOID;
    case ND_OP_silu:
        return ND_EPILOGUE_SILU;
    case ND_OP_tanh:
        return ND_EPILOGUE_TANH;
    default:
        return ND_EPILOGUE_NONE;
    }
}

/* The one node that reads the node; -1: it is a result, or more read it, or one reads it twice. */
static int32_t only_reader(const nd_expr *e, int32_t node)
{
    int32_t reader = -1;
    for (int32_t i = 0; i < e->n_out; i++)
        if (e->out[i] == node)
            return -1;
    for (int32_t i = node + 1; i < e->n; i++)
        for (int32_t k = 0; k < e->node[i].n; k++) {
            if (e->node[i].arg[k] != node)
                continue;
            if (reader >= 0)
                return -1;
            reader = i;
        }
    return reader;
}

static bool is_apply(const nd_expr_node *n, int32_t operands)
{
    return n->kind == ND_NODE_APPLY && n->n == operands && !n->dtype;
}

/* Whether the value is a vector of the dtype with an element for each column of the operand. */
static bool is_bias(const nd_fusing *run, int32_t node, const nd_array *b)
{
    const nd_array *a = run->value[node].array;
    return a && a->dtype == b->dtype && a->ndim == 1 && a->shape[0] == b->shape[b->ndim - 1];
}

/* An operation on the product alone becomes its epilogue, a sum its bias. */
static void find_tail(const nd_fusing *run, int32_t node, tail *t)
{
    const nd_expr *e = run->expr;
    const nd_array *a = run->value[e->node[node].arg[0]].array;
    const nd_array *b = run->value[e->node[node].arg[1]].array;
    int32_t next = only_reader(e, node);
    *t = (tail){-1, node, ND_EPILOGUE_NONE};
    if (a->dtype != b->dtype || nd__kind(a->dtype) != ND_KIND_FLOAT || a->ndim < 2 || b->ndim < 2)
        return;
    if (next >= 0 && is_apply(&e->node[next], 2) && e->node[next].op == ND_OP_add) {
        const int32_t *arg = e->node[next].arg, other = arg[0] == node ? arg[1] : arg[0];
        if (!is_bias(run, other, b))
            return;
        t->bias = other;
        t->last = next;
        next = only_reader(e, next);
    }
    if (next >= 0 && is_apply(&e->node[next], 1) && epilogue_of(e->node[next].op)) {
        t->epilogue = epilogue_of(e->node[next].op);
        t->last = next;
    }
}

nd_status nd__fuse_product(nd_fusing *run, int32_t node)
{
    const nd_expr_node *n = &run->expr->node[node];
    nd_matmul_opts opts = {.size = sizeof opts};
    nd_array *made = NULL;
    tail t = {-1, node, ND_EPILOGUE_NONE};
    if (run->epilogues && !run->eager)
        find_tail(run, node, &t);
    opts.bias = t.bias < 0 ? NULL : run->value[t.bias].array;
    opts.epilogue = t.epilogue;
    ND_RETURN_IF(nd_matmul(run->value[n->arg[0]].array, run->value[n->arg[1]].array,
                           t.last == node ? NULL : &opts, &made));
    nd__fuse_take(run, node, made, t.last == node);
    if (t.last == node)
        return ND_OK;
    /* The product itself has a dtype and a shape, but no array. */
    run->value[node].array = NULL;
    nd__fuse_take(run, t.last, made, true);
    return ND_OK;
}
