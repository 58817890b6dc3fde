/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock graph`: what is in the dump of a graph, as a table, for Graphviz, or as a picture. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/graph/graph.h"

static int usage(FILE *out, int status)
{
    fputs("Usage: ndock graph show GRAPH.json [--dot | PICTURE.svg]\n\n"
          "Prints the operations of a graph with what they come after; with --dot in\n"
          "Graphviz's language; with a name that ends in .svg draws them there.\n"
          "nd_graph_dump(), or Graph.dump() of Python, writes the file.\n",
          out);
    return status;
}

static void print_after(const graph_node *node)
{
    for (uint32_t i = 0; i < node->n_after; i++)
        printf("%s%u", i ? "," : "", (unsigned)node->after[i]);
    puts(node->n_after ? "" : "-");
}

static void print_table(const graph_dump *g)
{
    printf("%s: %u operations in %u %s, %llu bytes of memory\n", g->device, (unsigned)g->n,
           (unsigned)g->segments, g->segments == 1 ? "segment" : "segments",
           (unsigned long long)g->reserved_bytes);
    printf("%5s  %-20s %-6s %-20s %7s  %-12s %s\n", "", "operation", "dtype", "shape", "stream",
           "tag", "after");
    for (uint32_t i = 0; i < g->n; i++) {
        const graph_node *node = &g->node[i];
        if (i && node->segment != g->node[i - 1].segment)
            puts("       ---- the program's own part ----");
        printf("%5u  %-20s %-6s %-20s %7llu  %-12s ", (unsigned)i, node->op, node->dtype,
               node->shape, (unsigned long long)node->stream, node->tag);
        print_after(node);
    }
}

static void print_dot(const graph_dump *g)
{
    puts("digraph ndock {\n  node [shape=box, fontname=\"sans-serif\"];");
    for (uint32_t i = 0; i < g->n; i++) {
        const graph_node *node = &g->node[i];
        nd_text label = {0}, quoted = {0};
        nd__text_add(&label, "%s %s %s", node->op, node->dtype, node->shape);
        nd__text_json(&quoted, label.data ? label.data : node->op);
        printf("  n%u [label=%s];\n", (unsigned)i, quoted.data ? quoted.data : "\"\"");
        free(label.data);
        free(quoted.data);
        for (uint32_t a = 0; a < node->n_after; a++)
            printf("  n%u -> n%u;\n", (unsigned)node->after[a], (unsigned)i);
    }
    puts("}");
}

static int draw(const graph_dump *g, const char *to)
{
    nd_text svg = {0};
    graph_draw(g, &svg);
    int failed = svg.failed || tool_replace_file(to, svg.data, svg.len) != 0;
    if (failed)
        fprintf(stderr, "ndock: graph: cannot write %s: %s\n", to,
                svg.failed ? "out of memory" : strerror(errno));
    else
        printf("%s\n", to);
    free(svg.data);
    return failed;
}

int tool_graph(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(stdout, 0);
    if (argc < 3 || argc > 4 || strcmp(argv[1], "show") != 0)
        return usage(stderr, EXIT_USAGE);
    const char *how = argc == 4 ? argv[3] : "";
    const size_t n = strlen(how);
    const bool dot = strcmp(how, "--dot") == 0, svg = n > 4 && strcmp(how + n - 4, ".svg") == 0;
    if (argc == 4 && !dot && !svg)
        return usage(stderr, EXIT_USAGE);
    graph_dump g;
    int status = graph_read(argv[2], &g);
    if (status == 0 && svg)
        status = draw(&g, how);
    else if (status == 0 && dot)
        print_dot(&g);
    else if (status == 0)
        print_table(&g);
    graph_free(&g);
    return status;
}
