/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arguments: arrays of a graph in whose place others can be put. */
#include <stdlib.h>
#include "core/graph/graph.h"

enum { ALIGNMENT = 16 }; /* of the widest accesses that kernels choose by addresses */

/* Bytes of a block. */
typedef struct {
    const ndp_mem *mem;
    int64_t low, high;
} span;

static span span_of(const ndp_mem *mem, int64_t offset, int32_t dtype, int ndim,
                    const int64_t *shape, const int64_t *stride)
{
    int64_t low = 0, high = 0, n = nd__itemsize(dtype);
    (void)nd__extent(ndim, shape, stride, &low, &high); /* of arrays that are there */
    return (span){mem, offset + low * n, offset + high * n};
}

static span span_of_array(const nd_array *a)
{
    return span_of(a->storage->mem, nd__byte_offset(a), a->dtype, a->ndim, a->shape, a->stride);
}

static bool meet(span a, span b)
{
    return a.mem == b.mem && a.low < b.high && b.low < a.high;
}

/* ---- where nodes name memory ---- */
static ndp_view *view_of(const nd_node *node, uint32_t i)
{
    const ndp_call *c = &node->call;
    return (ndp_view *)(uintptr_t)(i < c->n_in ? &c->in[i] : &c->out[i - c->n_in]);
}

static uint32_t operands(const nd_node *node)
{
    return node->kind == ND_NODE_KERNEL ? node->call.n_in + node->call.n_out
           : node->kind == ND_NODE_COPY ? 2
                                        : 0;
}

/* NULL: a scalar. */
static const ndp_mem *mem_of(const nd_node *node, uint32_t i)
{
    return node->kind != ND_NODE_COPY ? view_of(node, i)->mem : i ? node->dst : node->src;
}

static uint32_t first_written(const nd_node *node)
{
    return node->kind == ND_NODE_COPY ? 1 : node->call.n_in;
}

static bool writes(const nd_node *node, uint32_t i)
{
    return i >= first_written(node);
}

/* Whether the operand lies in the block's memory, and then where. Most do not, and their extents are not
 * looked at. */
static bool operand_meets(const nd_node *node, uint32_t i, const span *block, span *out)
{
    if (mem_of(node, i) != block->mem)
        return false;
    if (node->kind == ND_NODE_COPY) {
        const int64_t at = (int64_t)(i ? node->dst_offset : node->src_offset);
        *out = (span){block->mem, at, at + (int64_t)node->nbytes};
    } else {
        const ndp_view *v = view_of(node, i);
        *out = span_of(v->mem, v->offset_bytes, v->dtype, v->ndim, v->shape, v->stride);
    }
    return meet(*out, *block);
}

static void set_operand(nd_node *node, uint32_t i, ndp_mem *mem, int64_t offset)
{
    if (node->kind != ND_NODE_COPY) {
        view_of(node, i)->mem = mem;
        view_of(node, i)->offset_bytes = offset;
    } else if (i) {
        node->dst = mem;
        node->dst_offset = (uint64_t)offset;
    } else {
        node->src = mem;
        node->src_offset = (uint64_t)offset;
    }
}

static int64_t offset_of(const nd_node *node, uint32_t i)
{
    return node->kind != ND_NODE_COPY ? view_of(node, i)->offset_bytes
                                      : (int64_t)(i ? node->dst_offset : node->src_offset);
}

/* ---- nd_graph_arg ---- */
static nd_status add_use(nd_graph_argument *a, nd_graph_use use)
{
    nd_graph_use *grown = realloc(a->use, (a->n + 1) * sizeof *grown);
    if (!grown)
        return nd__fail(ND_ERR_MEMORY, "graph_arg", -1, "no host memory for an argument");
    a->use = grown;
    a->use[a->n++] = use;
    return ND_OK;
}

static nd_status find_uses_in(const nd_node *node, uint32_t segment, uint32_t number,
                              nd_graph_argument *a)
{
    const span whole = span_of_array(a->array);
    for (uint32_t i = 0; i < operands(node); i++) {
        span s;
        if (!operand_meets(node, i, &whole, &s))
            continue;
        if (s.low < whole.low || s.high > whole.high)
            return nd__fail(ND_ERR_ARGUMENT, "graph_arg", 1,
                            "operation %u (%s) uses memory across the array's ends; name the "
                            "whole array that it is a part of",
                            (unsigned)number, node->name);
        a->writes |= writes(node, i);
        ND_RETURN_IF(add_use(
            a, (nd_graph_use){segment, number, i, offset_of(node, i) - nd__byte_offset(a->array)}));
    }
    return ND_OK;
}

static nd_status find_uses(const nd_graph *g, nd_graph_argument *a)
{
    for (uint32_t i = 0; i < g->n_arguments; i++)
        if (meet(span_of_array(g->argument[i].array), span_of_array(a->array)))
            return nd__fail(ND_ERR_ARGUMENT, "graph_arg", 1,
                            "the array shares memory with argument %u", (unsigned)i);
    for (uint32_t s = 0; s < g->n; s++) {
        const nd_tape *t = nd__segment_tape(&g->segment[s]);
        for (uint32_t i = 0; i < t->n; i++)
            ND_RETURN_IF(find_uses_in(t->node[i], s, i, a));
    }
    return a->n ? (nd_status)ND_OK
                : nd__fail(ND_ERR_ARGUMENT, "graph_arg", 1,
                           "the graph neither reads nor writes this array");
}

static nd_status add_argument(nd_graph *g, const nd_array *a, int32_t *index)
{
    nd_graph_argument made = {.array = nd_retain((nd_array *)(uintptr_t)a)};
    nd_graph_argument *grown = realloc(g->argument, (g->n_arguments + 1) * sizeof *grown);
    nd_status status =
        grown ? ND_OK : nd__fail(ND_ERR_MEMORY, "graph_arg", -1, "no host memory for an argument");
    g->argument = grown ? grown : g->argument;
    if (status == ND_OK)
        status = find_uses(g, &made);
    if (status != ND_OK) {
        free(made.use);
        nd_release(made.array);
        return status;
    }
    *index = (int32_t)g->n_arguments;
    g->argument[g->n_arguments++] = made;
    return ND_OK;
}

nd_status nd_graph_arg(nd_graph *g, const nd_array *a, int32_t *index)
{
    static const char op[] = "graph_arg";
    ND_OUT(op, 2, index, -1);
    ND_NEED(op, 1, a);
    ND_RETURN_IF(nd__graph_take_ready(g, op));
    nd_status status = a->storage->device == g->device
                           ? add_argument(g, a, index)
                           : nd__fail(ND_ERR_DEVICE, op, 1, "the graph is of %s, the array on %s",
                                      g->device->name, a->storage->device->name);
    nd__graph_drop(g);
    return status;
}

/* ---- nd_graph_set_arg ---- */
static nd_status check_alike(const nd_graph_argument *to, const nd_array *a)
{
    static const char op[] = "graph_set_arg";
    const nd_array *was = to->array;
    char text[ND_SHAPE_TEXT];
    if (a->storage->device != was->storage->device)
        return nd__fail(ND_ERR_DEVICE, op, 2, "the argument is on %s, the array on %s",
                        was->storage->device->name, a->storage->device->name);
    if (a->dtype != was->dtype)
        return nd__fail(ND_ERR_DTYPE, op, 2, "the argument is %s, the array %s",
                        nd_dtype_name(was->dtype), nd_dtype_name(a->dtype));
    if (!nd__same_shape(a->ndim, a->shape, was->ndim, was->shape))
        return nd__check_shape_is(op, a, was->ndim, was->shape, 2);
    for (int d = 0; d < a->ndim; d++)
        if (a->stride[d] != was->stride[d] && a->shape[d] > 1)
            return nd__fail(ND_ERR_SHAPE, op, 2,
                            "the argument's strides are %s, the array's are others; copy it with "
                            "nd_compact",
                            nd__shape_text(was->ndim, was->stride, text, sizeof text));
    if ((nd__byte_offset(a) - nd__byte_offset(was)) % ALIGNMENT)
        return nd__fail(ND_ERR_ARGUMENT, op, 2,
                        "the array begins %lld bytes past a multiple of %d, the argument %lld",
                        (long long)(nd__byte_offset(a) % ALIGNMENT), ALIGNMENT,
                        (long long)(nd__byte_offset(was) % ALIGNMENT));
    return to->writes ? nd__check_writable(op, a, 2) : (nd_status)ND_OK;
}

static bool is_use(const nd_graph_argument *a, uint32_t segment, uint32_t node, uint32_t i)
{
    for (uint32_t u = 0; u < a->n; u++)
        if (a->use[u].segment == segment && a->use[u].node == node && a->use[u].i == i)
            return true;
    return false;
}

/* What is written has no other name in the graph. */
static nd_status check_apart(const nd_graph *g, const nd_graph_argument *to, const nd_array *a)
{
    const span whole = span_of_array(a);
    for (uint32_t s = 0; s < g->n; s++) {
        const nd_tape *t = nd__segment_tape(&g->segment[s]);
        for (uint32_t n = 0; n < t->n; n++)
            for (uint32_t i = to->writes ? 0 : first_written(t->node[n]); i < operands(t->node[n]);
                 i++) {
                span other;
                if (operand_meets(t->node[n], i, &whole, &other) && !is_use(to, s, n, i))
                    return nd__fail(ND_ERR_ARGUMENT, "graph_set_arg", 2,
                                    "the array shares memory with what operation %u (%s) %s",
                                    (unsigned)n, t->node[n]->name,
                                    writes(t->node[n], i) ? "writes" : "reads");
            }
    }
    return ND_OK;
}

static nd_status set_argument(nd_graph *g, nd_graph_argument *to, const nd_array *a)
{
    for (uint32_t u = 0; u < to->n; u++) {
        const nd_graph_use *use = &to->use[u];
        set_operand(nd__graph_node(g, use->segment, use->node), use->i, a->storage->mem,
                    nd__byte_offset(a) + use->delta);
    }
    nd_array *was = to->array;
    to->array = nd_retain((nd_array *)(uintptr_t)a);
    nd_status recorded = g->last && was->storage->block ? nd_record_use(was, g->last) : ND_OK;
    nd_release(was); /* a launch that still runs may use it */
    ND_RETURN_IF(recorded);
    for (uint32_t u = 0; u < to->n; u++) {
        const nd_graph_use *use = &to->use[u], *before = u ? &to->use[u - 1] : NULL;
        if (!before || before->segment != use->segment || before->node != use->node)
            ND_RETURN_IF(nd__graph_patch(g, use->segment, use->node));
    }
    return ND_OK;
}

static nd_status replace(nd_graph *g, int32_t index, const nd_array *a)
{
    if (index < 0 || (uint32_t)index >= g->n_arguments)
        return nd__fail(ND_ERR_ARGUMENT, "graph_set_arg", 1,
                        "the graph has %u arguments, none of number %d; nd_graph_arg makes them",
                        (unsigned)g->n_arguments, (int)index);
    nd_graph_argument *to = &g->argument[index];
    ND_RETURN_IF(check_alike(to, a));
    if (a->storage == to->array->storage && a->offset == to->array->offset)
        return ND_OK;
    ND_RETURN_IF(check_apart(g, to, a));
    ND_RETURN_IF(nd__graph_instantiate(g));
    return set_argument(g, to, a);
}

nd_status nd_graph_set_arg(nd_graph *g, int32_t index, const nd_array *a)
{
    ND_NEED("graph_set_arg", 0, g);
    ND_RETURN_IF(nd__check_array("graph_set_arg", a, 2));
    ND_RETURN_IF(nd__graph_take_ready(g, "graph_set_arg"));
    nd_status status = replace(g, index, a);
    nd__graph_drop(g);
    return status;
}
