/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random numbers in graphs: which nodes draw with a key of the program, and where each launch
 * begins. Places of a key are 128 bits. */
#include <stdlib.h>
#include "core/graph/graph.h"

static void plus(const uint64_t a[2], const uint64_t b[2], uint64_t out[2])
{
    const uint64_t low = a[0] + b[0];
    out[1] = a[1] + b[1] + (low < a[0]);
    out[0] = low;
}

static void minus(const uint64_t a[2], const uint64_t b[2], uint64_t out[2])
{
    const uint64_t low = a[0] - b[0];
    out[1] = a[1] - b[1] - (a[0] < b[0]);
    out[0] = low;
}

static bool below(const uint64_t a[2], const uint64_t b[2])
{
    return a[1] != b[1] ? a[1] < b[1] : a[0] < b[0];
}

static nd_status add_key(nd_graph *g, nd_random_key *key)
{
    for (uint32_t i = 0; i < g->n_keys; i++)
        if (g->key[i].key == key)
            return ND_OK;
    nd_graph_key *grown = realloc(g->key, (g->n_keys + 1) * sizeof *grown);
    if (!grown)
        return nd__fail(ND_ERR_MEMORY, "graph_random", -1, "no host memory for a key");
    g->key = grown;
    g->key[g->n_keys++] = (nd_graph_key){.key = key, .first = *key};
    return ND_OK;
}

nd_status nd_graph_random(nd_graph *g, nd_random_key *key)
{
    static const char op[] = "graph_random";
    ND_NEED(op, 0, g);
    ND_NEED(op, 1, key);
    ND_RETURN_IF(nd__graph_take(g, op));
    nd_status status = g->state == ND_GRAPH_OPEN
                           ? add_key(g, key)
                           : nd__fail(ND_ERR_STATE, op, 0,
                                      "keys are named while the graph is captured: between "
                                      "nd_graph_begin and nd_graph_end");
    nd__graph_drop(g);
    return status;
}

/* The parameters of a node that draws numbers; NULL: it does not. */
static ndp_random *draws(const nd_node *node)
{
    const nd_op_info *info = node->kind == ND_NODE_KERNEL ? nd_op_get(node->call.op) : NULL;
    return info && info->op_class == ND_CLASS_RANDOM ? (ndp_random *)(uintptr_t)node->call.params
                                                     : NULL;
}

static nd_status add_draw(nd_graph_key *k, nd_graph_draw draw)
{
    nd_graph_draw *grown = realloc(k->draw, (k->n + 1) * sizeof *grown);
    if (!grown)
        return nd__fail(ND_ERR_MEMORY, "graph_end", -1, "no host memory for a key");
    k->draw = grown;
    k->draw[k->n++] = draw;
    return ND_OK;
}

static nd_status find_draws_of(nd_graph *g, nd_graph_key *k)
{
    minus(k->key->counter, k->first.counter, k->amount);
    const bool other = k->key->key != k->first.key;
    *k->key = k->first;
    if (other)
        return nd__fail(ND_ERR_STATE, "graph_end", -1,
                        "the key of random numbers was given another seed during the capture");
    for (uint32_t s = 0; s < g->n; s++) {
        const nd_tape *t = nd__segment_tape(&g->segment[s]);
        for (uint32_t i = 0; i < t->n; i++) {
            const ndp_random *p = draws(t->node[i]);
            nd_graph_draw d = {.segment = s, .node = i};
            if (!p || p->key != k->first.key)
                continue;
            minus(p->counter, k->first.counter, d.base);
            if (below(d.base, k->amount))
                ND_RETURN_IF(add_draw(k, d));
        }
    }
    return ND_OK;
}

nd_status nd__graph_find_draws(nd_graph *g)
{
    for (uint32_t i = 0; i < g->n_keys; i++)
        ND_RETURN_IF(find_draws_of(g, &g->key[i]));
    return ND_OK;
}

static nd_status draw_with(nd_graph *g, nd_graph_key *k)
{
    for (uint32_t i = 0; i < k->n; i++) {
        const nd_graph_draw *d = &k->draw[i];
        ndp_random *p = draws(nd__graph_node(g, d->segment, d->node));
        uint64_t at[2];
        plus(k->key->counter, d->base, at);
        if (p->key == k->key->key && p->counter[0] == at[0] && p->counter[1] == at[1])
            continue;
        p->key = k->key->key;
        p->counter[0] = at[0];
        p->counter[1] = at[1];
        ND_RETURN_IF(nd__graph_patch(g, d->segment, d->node));
    }
    plus(k->key->counter, k->amount, k->key->counter);
    return ND_OK;
}

nd_status nd__graph_draw(nd_graph *g)
{
    for (uint32_t i = 0; i < g->n_keys; i++)
        ND_RETURN_IF(draw_with(g, &g->key[i]));
    return ND_OK;
}
