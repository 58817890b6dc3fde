/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Nodes computed by the operations that they name, one after the other: what a run is compared with,
 * and what it does where the device has no loops. */
#include "core/fuse/fuse.h"

typedef nd_status reduction(const nd_array *a, const nd_reduce_opts *opts, nd_array **out);

static reduction *reduction_of(nd_op op)
{
    static reduction *const functions[ND_OP_END] = {
#define ROW(name, DOMAIN, RESULT, ulp, doc) [ND_OP_##name] = nd_##name,
#define ND_EXPAND_REDUCE ND_EXPAND_BY(ROW)
#define ND_EXPAND_ARGREDUCE ND_EXPAND_BY(ROW)
#include <ndock/op_expand.h>
    };
    return functions[op];
}

static nd_status reduce(const nd_fusing *run, const nd_expr_node *n, nd_array **out)
{
    const nd_reduce_opts opts = {.size = sizeof opts,
                                 .dtype = n->dtype,
                                 .axes = n->axes,
                                 .naxes = n->naxes,
                                 .keepdims = n->keepdims,
                                 .correction = n->correction};
    bool plain = !n->dtype && !n->naxes && !n->keepdims && n->correction == 0;
    return reduction_of(n->op)(run->value[n->arg[0]].array, plain ? NULL : &opts, out);
}

static nd_status apply(const nd_fusing *run, const nd_expr_node *n, nd_array **out)
{
    const nd_apply_opts opts = {.size = sizeof opts, .dtype = n->dtype};
    nd_arg args[3];
    for (int32_t i = 0; i < n->n; i++) {
        const nd_fuse_value *v = &run->value[n->arg[i]];
        args[i] = (nd_arg){.array = v->dtype ? v->array : NULL, .scalar = v->scalar};
    }
    return nd_apply(n->op, args, n->n, n->dtype ? &opts : NULL, out);
}

nd_status nd__fuse_apart(nd_fusing *run, int32_t node)
{
    const nd_expr_node *n = &run->expr->node[node];
    nd_array *made = NULL;
    if (n->kind == ND_NODE_PRODUCT)
        return nd__fuse_product(run, node);
    if (n->kind == ND_NODE_REDUCE)
        ND_RETURN_IF(reduce(run, n, &made));
    else if (n->kind == ND_NODE_CAST)
        ND_RETURN_IF(nd_astype(run->value[n->arg[0]].array, n->dtype, &made));
    else
        ND_RETURN_IF(apply(run, n, &made));
    nd__fuse_take(run, node, made, true);
    return ND_OK;
}

/* What the stage alone needed goes; the next one makes it again, as a loop would. */
static void drop_parts(nd_fusing *run, const bool *had)
{
    for (int32_t i = 0; i < run->expr->n; i++) {
        nd_fuse_value *v = &run->value[i];
        if (v->needed && !v->wanted && v->owned && !had[i]) {
            nd_release((nd_array *)v->array);
            v->array = NULL;
            v->owned = false;
        }
    }
}

nd_status nd__fuse_eager(nd_fusing *run, const int32_t *roots, int32_t n)
{
    bool had[ND_EXPR_MAX_NODES];
    nd_status status = ND_OK;
    nd__fuse_record_drop(run);
    nd__fuse_need(run, roots, n);
    for (int32_t i = 0; i < run->expr->n; i++)
        had[i] = run->value[i].array != NULL;
    for (int32_t i = 0; status == ND_OK && i < run->expr->n; i++)
        if (run->value[i].needed && !run->value[i].array &&
            run->expr->node[i].kind >= ND_NODE_APPLY)
            status = nd__fuse_apart(run, i);
    if (!run->eager)
        drop_parts(run, had);
    return status;
}
