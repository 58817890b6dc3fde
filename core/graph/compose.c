/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conditions that the device decides: all segments of a graph and of its bodies as one exec of the
 * plug-in. What that does not do cond.c decides on the host. */
#include <stdlib.h>
#include "core/graph/graph.h"

enum { MOST_GRAPHS = 64, MOST_STEPS = 1024 };

/* The graph and all that its conditions run, each once and with its lock. */
typedef struct {
    nd_graph *graph[MOST_GRAPHS]; /* the composed one first */
    uint32_t n;
    uint64_t version; /* of all together, which any change of one makes another */
} graphs;

/* ---- which graphs ---- */
static bool is_among(const graphs *all, const nd_graph *g)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->graph[i] == g)
            return true;
    return false;
}

/* Whether its segments are all that it does. */
static bool is_plain(const nd_graph *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        if ((g->segment[i].fn && !nd__graph_condition(&g->segment[i])) ||
            !nd__captured_graph(g->segment[i].captured))
            return false;
    return g->n_keys == 0;
}

/* Bodies that somebody else uses now are not waited for, since that one might wait for ours. */
static bool collect(graphs *all, nd_graph *g)
{
    if (is_among(all, g))
        return true;
    if (all->n == MOST_GRAPHS || (all->n && !nd__graph_try(g)))
        return false;
    all->graph[all->n++] = g;
    all->version = all->version * UINT64_C(0x9e3779b97f4a7c15) + g->version;
    if (!is_plain(g) || (all->n > 1 && !nd__sharers_alone(g)))
        return false;
    for (uint32_t i = 0; i < g->n; i++) {
        const nd_graph_condition *c = nd__graph_condition(&g->segment[i]);
        for (int32_t b = 0; c && b < c->n; b++)
            if (!collect(all, c->body[b]))
                return false;
    }
    return true;
}

static void drop(const graphs *all)
{
    for (uint32_t i = 1; i < all->n; i++)
        nd__graph_drop(all->graph[i]);
}

/* ---- one exec of them ---- */
static void free_steps(const ndp_steps *s)
{
    for (uint32_t i = 0; s->step && i < s->n; i++) {
        const ndp_step *step = &s->step[i];
        for (uint32_t b = 0; step->body && b < step->n_bodies; b++)
            free_steps(&step->body[b]);
        free((void *)(uintptr_t)step->body);
        free((void *)(uintptr_t)step->value);
    }
    free((void *)(uintptr_t)s->step);
}

static nd_status build(const nd_graph *g, ndp_steps *out, uint32_t *left);

static nd_status build_condition(const nd_graph_condition *c, ndp_step *step, uint32_t *left)
{
    ndp_view *value = calloc(1, sizeof *value);
    ndp_steps *bodies = calloc((size_t)c->n, sizeof *bodies);
    step->condition = c->kind;
    step->value = value;
    step->body = bodies;
    step->n_bodies = (uint32_t)c->n;
    if (!value || !bodies)
        return ND_ERR_MEMORY;
    *value = nd__view(c->value);
    for (int32_t b = 0; b < c->n; b++)
        ND_RETURN_IF(build(c->body[b], &bodies[b], left));
    return ND_OK;
}

static nd_status build(const nd_graph *g, ndp_steps *out, uint32_t *left)
{
    if (*left < 2 * g->n)
        return ND_ERR_UNSUPPORTED;
    *left -= 2 * g->n;
    ndp_step *step = calloc(2 * (size_t)g->n, sizeof *step);
    out->step = step;
    for (uint32_t i = 0; step && i < g->n; i++) {
        const nd_graph_condition *c = nd__graph_condition(&g->segment[i]);
        step[out->n++].graph = nd__captured_graph(g->segment[i].captured);
        if (c)
            ND_RETURN_IF(build_condition(c, &step[out->n++], left));
    }
    return step ? ND_OK : ND_ERR_MEMORY;
}

/* What the plug-in captured is as the tapes are: nodes that were changed in place are in an exec
 * alone. */
static nd_status refresh(const graphs *all)
{
    for (uint32_t k = 0; k < all->n; k++) {
        nd_graph *g = all->graph[k];
        for (uint32_t i = 0; i < g->n; i++)
            g->segment[i].stale |= g->segment[i].behind;
        ND_RETURN_IF(nd__graph_refresh(g));
    }
    return ND_OK;
}

static nd_status compose(nd_graph *g, const graphs *all)
{
    ndp_steps steps = {0};
    uint32_t left = MOST_STEPS;
    nd_status status = refresh(all);
    if (status == ND_OK)
        status = build(g, &steps, &left);
    if (status == ND_OK)
        status = g->device->graph.compose(g->device->dev, &steps, &g->composed);
    free_steps(&steps);
    g->composed_of = all->version;
    return status;
}

void nd__graph_uncompose(nd_graph *g)
{
    if (g->composed && !nd__out_of_reach(g->device))
        g->device->graph.exec_destroy(g->device->dev, g->composed);
    g->composed = NULL;
    g->composed_of = 0;
}

/* A graph that is changed from launch to launch is not composed each time. */
static bool need_exec(nd_graph *g, const graphs *all)
{
    const bool first = g->launched_of == 0, steady = g->launched_of == all->version;
    g->launched_of = all->version;
    if (g->composed_of == all->version)
        return g->composed != NULL;
    nd__graph_uncompose(g);
    return (first || steady) && compose(g, all) == ND_OK;
}

/* ---- a launch ---- */
static void use(const nd_graph *g, nd_stream *s)
{
    for (uint32_t i = 0; i < g->n; i++) {
        const nd_graph_condition *c = nd__graph_condition(&g->segment[i]);
        nd__graph_use(g, &g->segment[i], s);
        if (c)
            nd__used_on(c->value->storage, s);
    }
}

static nd_status launch(nd_graph *g, const graphs *all, nd_stream *s)
{
    nd_device *d = g->device;
    for (uint32_t i = 0; i < all->n; i++) {
        ND_RETURN_IF(nd__graph_follow(all->graph[i], s));
        use(all->graph[i], s);
    }
    ND_RETURN_IF(nd__queue_begin(s, "graph_launch", NULL));
    ND_RETURN_IF(nd__queue_end(s, "graph_launch", d->graph.launch(d->dev, g->composed, s->handle)));
    for (uint32_t k = 0; k < all->n; k++)
        for (uint32_t i = 0; i < all->graph[k]->n; i++)
            nd__graph_expect(all->graph[k], &all->graph[k]->segment[i]);
    return ND_OK;
}

nd_status nd__graph_launch_composed(nd_graph *g, nd_stream *s)
{
    graphs all = {.n = 0};
    nd_status status = ND_ERR_UNSUPPORTED;
    bool some = false;
    for (uint32_t i = 0; i < g->n; i++)
        some |= nd__graph_condition(&g->segment[i]) != NULL;
    if (!some || !g->device->graph.compose || nd__hazards_now() ||
        atomic_load_explicit(&nd__followed, memory_order_relaxed))
        return status;
    if (collect(&all, g) && need_exec(g, &all))
        status = launch(g, &all, s);
    drop(&all);
    return status;
}
