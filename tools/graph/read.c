/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reading the dump of a graph: keys in any order, unknown ones skipped, as the format may grow. */
#include <stdlib.h>
#include <string.h>
#include "tools/graph/graph.h"

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* A longer list for one more; ends the program without memory. */
static void *grown(void *list, size_t n, size_t size)
{
    bool full = n == 0 || (n >= 8 && (n & (n - 1)) == 0);
    void *p = full ? realloc(list, (n < 8 ? 8 : 2 * n) * size) : list;
    if (!p) {
        fprintf(stderr, "ndock: graph: out of memory\n");
        exit(1);
    }
    return p;
}

static void read_after(nd__json *j, const graph_dump *g, graph_node *node)
{
    int first = 1;
    (void)nd__json_enter(j, '[');
    while (nd__json_next(j, '[', &first)) {
        uint64_t id = json_read_count(j) + g->first;
        if (id >= g->n) {
            nd__json_fail(j, "a node comes after one that is not before it");
            return;
        }
        node->after = grown(node->after, node->n_after, sizeof *node->after);
        node->after[node->n_after++] = (uint32_t)id;
        if (g->node[id].depth >= node->depth)
            node->depth = g->node[id].depth + 1;
    }
}

static void read_shape(nd__json *j, graph_node *node)
{
    int first = 1;
    size_t at = 0;
    (void)nd__json_enter(j, '[');
    while (nd__json_next(j, '[', &first)) {
        unsigned long long extent = json_read_count(j);
        if (at < sizeof node->shape - 24)
            at += (size_t)snprintf(node->shape + at, sizeof node->shape - at, "%s%llu",
                                   at ? " x " : "", extent);
    }
}

/* Of the list of views, what the first one is. */
static void read_views(nd__json *j, graph_node *node)
{
    int first = 1, first_key;
    const char *key;
    (void)nd__json_enter(j, '[');
    for (int i = 0; nd__json_next(j, '[', &first); i++) {
        if (i > 0) {
            (void)nd__json_skip(j);
            continue;
        }
        first_key = 1;
        (void)nd__json_enter(j, '{');
        while (nd__json_next(j, '{', &first_key) && nd__json_key(j, &key))
            if (is(key, "dtype"))
                node->dtype = json_read_text(j);
            else if (is(key, "shape"))
                read_shape(j, node);
            else
                (void)nd__json_skip(j);
    }
}

static void read_node(nd__json *j, graph_dump *g)
{
    graph_node node = {.op = "", .tag = "", .dtype = "", .segment = g->segments};
    const char *key;
    int first = 1;
    (void)nd__json_enter(j, '{');
    while (nd__json_next(j, '{', &first) && nd__json_key(j, &key))
        if (is(key, "op"))
            node.op = json_read_text(j);
        else if (is(key, "tag"))
            node.tag = json_read_text(j);
        else if (is(key, "stream"))
            node.stream = json_read_count(j);
        else if (is(key, "after"))
            read_after(j, g, &node);
        else if (is(key, "writes"))
            read_views(j, &node);
        else
            (void)nd__json_skip(j);
    g->node = grown(g->node, g->n, sizeof *g->node);
    g->node[g->n++] = node;
}

static void read_segment(nd__json *j, graph_dump *g)
{
    const char *key;
    int first = 1, first_node = 1;
    g->first = g->n;
    (void)nd__json_enter(j, '{');
    while (nd__json_next(j, '{', &first) && nd__json_key(j, &key)) {
        if (!is(key, "nodes")) {
            (void)nd__json_skip(j);
            continue;
        }
        (void)nd__json_enter(j, '[');
        while (nd__json_next(j, '[', &first_node))
            read_node(j, g);
    }
    g->segments++;
}

static void read_pool(nd__json *j, graph_dump *g)
{
    const char *key;
    int first = 1;
    (void)nd__json_enter(j, '{');
    while (nd__json_next(j, '{', &first) && nd__json_key(j, &key))
        if (is(key, "reserved_bytes"))
            g->reserved_bytes = json_read_count(j);
        else
            (void)nd__json_skip(j);
}

static bool read_graph(nd__json *j, graph_dump *g)
{
    const char *key;
    int first = 1, first_segment;
    bool known = false;
    (void)nd__json_enter(j, '{');
    while (nd__json_next(j, '{', &first) && nd__json_key(j, &key))
        if (is(key, "ndock_graph")) {
            known = json_read_count(j) == 1;
        } else if (is(key, "device")) {
            g->device = json_read_text(j);
        } else if (is(key, "pool")) {
            read_pool(j, g);
        } else if (is(key, "segments")) {
            first_segment = 1;
            (void)nd__json_enter(j, '[');
            while (nd__json_next(j, '[', &first_segment))
                read_segment(j, g);
        } else {
            (void)nd__json_skip(j);
        }
    (void)nd__json_end(j);
    return known;
}

int graph_read(const char *path, graph_dump *g)
{
    size_t n;
    nd__json j;
    *g = (graph_dump){.device = ""};
    g->file = tool_read_file("ndock: graph", path, &n);
    g->arena = g->file ? malloc(n + 1) : NULL;
    if (!g->arena)
        return 1;
    nd__json_start(&j, g->file, n, g->arena);
    bool known = read_graph(&j, g);
    if (!j.error && known)
        return 0;
    fprintf(stderr, "ndock: graph: %s is no graph that nd_graph_dump wrote: %s at byte %zu\n", path,
            j.error ? j.error : "the key \"ndock_graph\" is not 1",
            j.error ? j.error_at : (size_t)0);
    return 1;
}

void graph_free(graph_dump *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        free(g->node[i].after);
    free(g->node);
    free(g->arena);
    free(g->file);
}
