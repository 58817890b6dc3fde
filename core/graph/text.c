/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Graphs as text: JSON, which `ndock graph show` reads, and Graphviz's language. */
#include <stdlib.h>
#include "core/base/file.h"
#include "core/base/text.h"
#include "core/graph/graph.h"

static const char *const kinds[] = {[ND_NODE_KERNEL] = "kernel",
                                    [ND_NODE_COPY] = "copy",
                                    [ND_NODE_HOST] = "host",
                                    [ND_NODE_OTHER] = "other"};

/* What a node writes first, or reads if it writes nothing; NULL: it has no views. */
static const ndp_view *main_view(const nd_node *node)
{
    if (node->kind != ND_NODE_KERNEL)
        return NULL;
    return node->call.n_out ? node->call.out : node->call.n_in ? node->call.in : NULL;
}

/* ---- JSON ---- */
static void add_extents(nd_text *t, const ndp_view *v)
{
    nd__text_puts(t, "[");
    for (int d = 0; d < v->ndim; d++)
        nd__text_add(t, "%s%lld", d ? ", " : "", (long long)v->shape[d]);
    nd__text_puts(t, "]");
}

static void add_views(nd_text *t, const char *key, const ndp_view *views, uint32_t n)
{
    nd__text_add(t, ", \"%s\": [", key);
    for (uint32_t i = 0; i < n; i++) {
        const ndp_view *v = &views[i];
        nd__text_add(t, "%s{\"dtype\": \"%s\", \"shape\": ", i ? ", " : "",
                     nd_dtype_name(v->dtype));
        add_extents(t, v);
        if (v->mem)
            nd__text_add(t, ", \"block\": \"%p\", \"offset\": %lld", (const void *)v->mem,
                         (long long)v->offset_bytes);
        else
            nd__text_puts(t, ", \"scalar\": true");
        nd__text_puts(t, "}");
    }
    nd__text_puts(t, "]");
}

static void add_node(nd_text *t, const nd_tape *tape, uint32_t i)
{
    const nd_node *node = tape->node[i];
    nd__text_add(t, "%s\n    {\"id\": %u, \"op\": ", i ? "," : "", (unsigned)i);
    nd__text_json(t, node->name);
    nd__text_add(t, ", \"kind\": \"%s\", \"stream\": %llu", kinds[node->kind],
                 (unsigned long long)tape->member[node->member].id);
    if (node->tag[0]) {
        nd__text_puts(t, ", \"tag\": ");
        nd__text_json(t, node->tag);
    }
    nd__text_puts(t, ", \"after\": [");
    for (uint32_t b = 0; b < node->n_before; b++)
        nd__text_add(t, "%s%u", b ? ", " : "", (unsigned)node->before[b]);
    nd__text_puts(t, "]");
    if (node->kind == ND_NODE_KERNEL) {
        add_views(t, "reads", node->call.in, node->call.n_in);
        add_views(t, "writes", node->call.out, node->call.n_out);
    } else if (node->kind == ND_NODE_COPY) {
        nd__text_add(t, ", \"bytes\": %llu", (unsigned long long)node->nbytes);
    }
    nd__text_puts(t, "}");
}

static void add_arguments(nd_text *t, const nd_graph *g)
{
    nd__text_puts(t, "\"arguments\": [");
    for (uint32_t i = 0; i < g->n_arguments; i++) {
        const nd_graph_argument *a = &g->argument[i];
        const ndp_view v = {.shape = a->array->shape, .ndim = a->array->ndim};
        nd__text_add(t, "%s\n  {\"dtype\": \"%s\", \"shape\": ", i ? "," : "",
                     nd_dtype_name(a->array->dtype));
        add_extents(t, &v);
        nd__text_add(t, ", \"uses\": %u, \"written\": %s}", (unsigned)a->n,
                     a->writes ? "true" : "false");
    }
    nd__text_puts(t, "],\n");
}

static void add_json(nd_text *t, const nd_graph *g)
{
    nd__text_puts(t, "{\"ndock_graph\": 1,\n\"device\": ");
    nd__text_json(t, g->device->name);
    nd__text_add(t, ",\n\"recorded\": %s,\n", g->device->has_graph ? "false" : "true");
    if (g->pool)
        nd__text_add(t, "\"pool\": {\"id\": %llu, \"segments\": %lld, \"reserved_bytes\": %lld},\n",
                     (unsigned long long)nd_pool_id(g->pool), (long long)nd_pool_segments(g->pool),
                     (long long)nd_pool_reserved_bytes(g->pool));
    add_arguments(t, g);
    nd__text_puts(t, "\"segments\": [");
    for (uint32_t s = 0; s < g->n; s++) {
        const nd_tape *tape = nd__segment_tape(&g->segment[s]);
        const nd_graph_condition *condition = nd__graph_condition(&g->segment[s]);
        nd__text_add(t, "%s\n  {\"then_eager\": %s, ", s ? "," : "",
                     g->segment[s].fn && !condition ? "true" : "false");
        if (condition)
            nd__text_add(t, "\"then\": \"%s\", \"decided_by\": \"%s\", ",
                         nd__graph_condition_name(condition), g->composed ? "device" : "host");
        nd__text_add(t, "\"kept\": %u, \"nodes\": [", (unsigned)tape->n_kept);
        for (uint32_t i = 0; i < tape->n; i++)
            add_node(t, tape, i);
        nd__text_puts(t, "]}");
    }
    nd__text_puts(t, "]}\n");
}

/* ---- Graphviz ---- */
static void add_label(nd_text *t, const nd_node *node)
{
    const ndp_view *v = main_view(node);
    char shape[ND_SHAPE_TEXT];
    nd_text label = {0};
    nd__text_puts(&label, node->name);
    if (v)
        nd__text_add(&label, " %s %s", nd_dtype_name(v->dtype),
                     nd__shape_text(v->ndim, v->shape, shape, sizeof shape));
    else if (node->kind == ND_NODE_COPY)
        nd__text_add(&label, " %llu bytes", (unsigned long long)node->nbytes);
    if (node->tag[0])
        nd__text_add(&label, " [%s]", node->tag);
    nd__text_json(t, label.data ? label.data : node->name);
    free(label.data);
}

static void add_dot(nd_text *t, const nd_graph *g)
{
    nd__text_puts(t, "digraph ndock {\n  node [shape=box, fontname=\"sans-serif\"];\n");
    for (uint32_t s = 0; s < g->n; s++) {
        const nd_tape *tape = nd__segment_tape(&g->segment[s]);
        nd__text_add(t, "  subgraph cluster_%u {\n    label=\"segment %u of %u on %s\";\n",
                     (unsigned)s, (unsigned)(s + 1), (unsigned)g->n, g->device->name);
        for (uint32_t i = 0; i < tape->n; i++) {
            nd__text_add(t, "    n%u_%u [label=", (unsigned)s, (unsigned)i);
            add_label(t, tape->node[i]);
            nd__text_puts(t, "];\n");
            for (uint32_t b = 0; b < tape->node[i]->n_before; b++)
                nd__text_add(t, "    n%u_%u -> n%u_%u;\n", (unsigned)s,
                             (unsigned)tape->node[i]->before[b], (unsigned)s, (unsigned)i);
        }
        nd__text_puts(t, "  }\n");
    }
    nd__text_puts(t, "}\n");
}

/* ---- both ---- */
static nd_status build(const nd_graph *graph, const char *op, int32_t format, nd_text *t)
{
    nd_graph *g = (nd_graph *)(uintptr_t)graph;
    if (format != ND_GRAPH_JSON && format != ND_GRAPH_DOT)
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "%d is no format; ND_GRAPH_JSON is 0, ND_GRAPH_DOT 1", (int)format);
    ND_RETURN_IF(nd__graph_take_ready(g, op));
    if (format == ND_GRAPH_JSON)
        add_json(t, g);
    else
        add_dot(t, g);
    nd__graph_drop(g);
    if (!t->failed)
        return ND_OK;
    free(t->data);
    *t = (nd_text){0};
    return nd__fail(ND_ERR_MEMORY, op, -1, "no host memory for the text of a graph");
}

nd_status nd_graph_text(const nd_graph *g, int32_t format, char **out)
{
    nd_text t = {0};
    ND_OUT("graph_text", 2, out, NULL);
    ND_NEED("graph_text", 0, g);
    ND_RETURN_IF(build(g, "graph_text", format, &t));
    *out = t.data;
    return ND_OK;
}

nd_status nd_graph_dump(const nd_graph *g, const char *path, int32_t format)
{
    static const char op[] = "graph_dump";
    const nd_save_opts opts = {.size = sizeof opts};
    nd__writer w;
    nd_text t = {0};
    ND_NEED(op, 0, g);
    ND_NEED(op, 1, path);
    ND_RETURN_IF(build(g, op, format, &t));
    nd_status status = nd__writer_open(op, path, &w);
    if (status == ND_OK) {
        status = nd__writer_put(&w, t.data, t.len);
        if (status == ND_OK)
            status = nd__writer_commit(&w, &opts);
        nd__writer_close(&w);
    }
    free(t.data);
    return status;
}
