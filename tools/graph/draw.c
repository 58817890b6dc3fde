/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A picture of a graph without Graphviz: a row for each depth, segments below one another. */
#include <stdlib.h>
#include "tools/graph/graph.h"

enum { WIDTH = 190, HEIGHT = 40, GAP_X = 24, GAP_Y = 32, MARGIN = 20 };

typedef struct {
    uint32_t column, row;
} spot;

/* Rows go on from segment to segment; columns count nodes of one row. */
static uint32_t place(const graph_dump *g, spot *at, uint32_t *columns)
{
    uint32_t base = 0, rows = 0;
    uint32_t *used = calloc(g->n + 1, sizeof *used);
    *columns = 1;
    for (uint32_t i = 0; used && i < g->n; i++) {
        if (i && g->node[i].segment != g->node[i - 1].segment)
            base = rows;
        const uint32_t row = base + g->node[i].depth;
        at[i] = (spot){used[row]++, row};
        rows = row + 1 > rows ? row + 1 : rows;
        *columns = used[row] > *columns ? used[row] : *columns;
    }
    free(used);
    return rows;
}

static int x_of(spot s)
{
    return MARGIN + (int)s.column * (WIDTH + GAP_X);
}
static int y_of(spot s)
{
    return MARGIN + (int)s.row * (HEIGHT + GAP_Y);
}

static void put_escaped(nd_text *t, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '>' || *text == '&' || *text == '"')
            nd__text_add(t, "&#%d;", *text);
        else
            nd__text_bytes(t, text, 1);
}

static void draw_node(const graph_node *node, spot at, nd_text *t)
{
    const int x = x_of(at), y = y_of(at);
    nd__text_add(t,
                 "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"#%s\" "
                 "stroke=\"#555\"/>\n<text x=\"%d\" y=\"%d\">",
                 x, y, WIDTH, HEIGHT, node->segment % 2 ? "fff4e0" : "e8f0fe", x + 8, y + 17);
    put_escaped(t, node->op);
    if (node->tag[0]) {
        nd__text_puts(t, " [");
        put_escaped(t, node->tag);
        nd__text_puts(t, "]");
    }
    nd__text_add(t, "</text>\n<text x=\"%d\" y=\"%d\" fill=\"#555\">%s %s</text>\n", x + 8, y + 32,
                 node->dtype, node->shape);
}

static void draw_edges(const graph_node *node, const spot *at, spot to, nd_text *t)
{
    for (uint32_t a = 0; a < node->n_after; a++) {
        const spot from = at[node->after[a]];
        nd__text_add(t,
                     "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#888\" "
                     "marker-end=\"url(#a)\"/>\n",
                     x_of(from) + WIDTH / 2, y_of(from) + HEIGHT, x_of(to) + WIDTH / 2, y_of(to));
    }
}

void graph_draw(const graph_dump *g, nd_text *t)
{
    uint32_t columns = 1;
    spot *at = calloc(g->n + 1, sizeof *at);
    const uint32_t rows = at ? place(g, at, &columns) : 0;
    nd__text_add(t,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                 "font-family=\"sans-serif\" font-size=\"12\">\n<defs><marker id=\"a\" "
                 "markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"3\" orient=\"auto\">"
                 "<path d=\"M0,0 L7,3 L0,6 z\" fill=\"#888\"/></marker></defs>\n",
                 2 * MARGIN + (int)columns * (WIDTH + GAP_X),
                 2 * MARGIN + (int)rows * (HEIGHT + GAP_Y));
    for (uint32_t i = 0; at && i < g->n; i++) {
        draw_edges(&g->node[i], at, at[i], t);
        draw_node(&g->node[i], at[i], t);
    }
    nd__text_puts(t, "</svg>\n");
    free(at);
}
