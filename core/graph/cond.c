/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conditional work: graphs that another one runs by the value of an array, between two of its
 * segments. */
#include <stdlib.h>
#include "core/graph/graph.h"

/* ---- while the graph runs ---- */
/* Which body is next; n or above: none. A bool or integer has 64 bits here, whatever its sign. */
static nd_status choose(const nd_graph_condition *c, uint64_t *next)
{
    nd_scalar x = {0};
    ND_RETURN_IF(nd_item(c->value, &x));
    if (c->kind == ND_GRAPH_SWITCH)
        *next = x.v.u;
    else
        *next = x.v.u ? 0 : c->kind == ND_GRAPH_IF ? 1 : (uint64_t)c->n;
    return ND_OK;
}

static nd_status run_bodies(void *ctx)
{
    const nd_graph_condition *c = ctx;
    for (;;) {
        uint64_t next;
        ND_RETURN_IF(choose(c, &next));
        if (next >= (uint64_t)c->n)
            return ND_OK;
        ND_RETURN_IF(nd_graph_launch(c->body[next], NULL, NULL));
        if (c->kind != ND_GRAPH_WHILE)
            return ND_OK;
    }
}

static void free_condition(void *ctx)
{
    nd_graph_condition *c = ctx;
    for (int32_t i = 0; i < c->n; i++)
        nd_graph_release(c->body[i]);
    nd_release(c->value);
    free(c);
}

/* ---- what may be a body ---- */
static nd_status check_node(const nd_node *node, int32_t number)
{
    if (node->kind == ND_NODE_KERNEL || node->kind == ND_NODE_COPY)
        return ND_OK;
    return nd__fail(ND_ERR_ARGUMENT, "graph_cond", 3,
                    "body %d has the host function %s; bodies have operations and copies of the "
                    "device alone",
                    (int)number, node->name);
}

static nd_status check_content(const nd_graph *body, int32_t number)
{
    if (body->n_keys)
        return nd__fail(ND_ERR_ARGUMENT, "graph_cond", 3,
                        "body %d draws random numbers with a key that moves, and how often it runs "
                        "is not known; draw before, and let it read the numbers",
                        (int)number);
    for (uint32_t s = 0; s < body->n; s++) {
        const nd_tape *t = nd__segment_tape(&body->segment[s]);
        if (body->segment[s].fn && body->segment[s].fn != run_bodies)
            return nd__fail(ND_ERR_ARGUMENT, "graph_cond", 3,
                            "body %d is split by nd_graph_break; only another condition may split "
                            "a body",
                            (int)number);
        for (uint32_t i = 0; i < t->n; i++)
            ND_RETURN_IF(check_node(t->node[i], number));
    }
    return ND_OK;
}

static nd_status check_body(const nd_graph *g, nd_graph *body, int32_t number)
{
    if (body == g || body->device != g->device)
        return nd__fail(body == g ? ND_ERR_ARGUMENT : ND_ERR_DEVICE, "graph_cond", 3,
                        "body %d is %s%s", (int)number,
                        body == g ? "the graph itself" : "a graph of ",
                        body == g ? "" : body->device->name);
    ND_RETURN_IF(nd__graph_take_ready(body, "graph_cond"));
    nd_status status = check_content(body, number);
    nd__graph_drop(body);
    return status;
}

static nd_status check_kind(int32_t kind, int32_t n)
{
    static const int32_t most[] = {
        [ND_GRAPH_IF] = 2, [ND_GRAPH_WHILE] = 1, [ND_GRAPH_SWITCH] = 1 << 16};
    if (kind < ND_GRAPH_IF || kind > ND_GRAPH_SWITCH)
        return nd__fail(ND_ERR_ARGUMENT, "graph_cond", 1,
                        "%d is no condition; if is 0, while 1, switch 2", (int)kind);
    if (n < 1 || n > most[kind])
        return nd__fail(ND_ERR_ARGUMENT, "graph_cond", 4,
                        "%d bodies: an if has one or two, a while one, a switch up to %d", (int)n,
                        (int)most[ND_GRAPH_SWITCH]);
    return ND_OK;
}

static nd_status check_value(const nd_graph *g, const nd_array *value)
{
    ND_RETURN_IF(nd__check_array("graph_cond", value, 2));
    if (value->storage->device != g->device)
        return nd__fail(ND_ERR_DEVICE, "graph_cond", 2, "the graph is of %s, the value on %s",
                        g->device->name, value->storage->device->name);
    if (value->size != 1)
        return nd__fail(ND_ERR_SHAPE, "graph_cond", 2,
                        "the value has %lld elements; a condition has one", (long long)value->size);
    if (nd__kind(value->dtype) & (ND_KIND_BOOL | ND_KIND_INT | ND_KIND_UINT))
        return ND_OK;
    return nd__fail(ND_ERR_DTYPE, "graph_cond", 2, "the value is %s; it must be bool or an integer",
                    nd_dtype_name(value->dtype));
}

/* ---- nd_graph_cond ---- */
static nd_status check(const nd_graph *g, int32_t kind, const nd_array *value,
                       nd_graph *const *bodies, int32_t n)
{
    ND_RETURN_IF(check_kind(kind, n));
    for (int32_t i = 0; i < n; i++)
        ND_NEED("graph_cond", 3, bodies[i]);
    ND_RETURN_IF(check_value(g, value));
    for (int32_t i = 0; i < n; i++)
        ND_RETURN_IF(check_body(g, bodies[i], i));
    return ND_OK;
}

static nd_graph_condition *new_condition(int32_t kind, const nd_array *value,
                                         nd_graph *const *bodies, int32_t n)
{
    nd_graph_condition *c = calloc(1, sizeof *c + (size_t)n * sizeof *c->body);
    if (!c)
        return NULL;
    c->kind = kind;
    c->n = n;
    c->value = nd_retain((nd_array *)(uintptr_t)value);
    for (int32_t i = 0; i < n; i++)
        c->body[i] = nd_graph_retain(bodies[i]);
    return c;
}

nd_status nd_graph_cond(nd_graph *g, int32_t kind, const nd_array *value, nd_graph *const *bodies,
                        int32_t n)
{
    ND_NEED("graph_cond", 0, g);
    ND_NEED("graph_cond", 3, bodies);
    ND_RETURN_IF(check(g, kind, value, bodies, n));
    nd_graph_condition *c = new_condition(kind, value, bodies, n);
    if (!c)
        return nd__fail(ND_ERR_MEMORY, "graph_cond", -1, "no host memory for a condition");
    return nd_graph_break(g, run_bodies, c, free_condition);
}

const nd_graph_condition *nd__graph_condition(const nd_segment_of_graph *s)
{
    return s->fn == run_bodies ? s->ctx : NULL;
}

const char *nd__graph_condition_name(const nd_graph_condition *c)
{
    static const char *const names[] = {
        [ND_GRAPH_IF] = "if", [ND_GRAPH_WHILE] = "while", [ND_GRAPH_SWITCH] = "switch"};
    return names[c->kind];
}
