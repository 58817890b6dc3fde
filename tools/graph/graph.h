/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A graph as nd_graph_dump writes it, read again. */
#ifndef NDOCK_TOOL_GRAPH_H
#define NDOCK_TOOL_GRAPH_H
#include "core/base/text.h"
#include "tools/tool.h"

typedef struct {
    const char *op, *tag, *dtype; /* dtype, shape: of what it writes first; "" for copies */
    char shape[64];
    uint64_t stream, segment;
    uint32_t *after, n_after; /* places in the list of nodes */
    uint32_t depth;           /* the longest way to it */
} graph_node;
typedef struct {
    const char *device;
    graph_node *node;
    uint32_t n, segments, first; /* first: node of the segment that is read */
    uint64_t reserved_bytes;
    char *file, *arena;
} graph_dump;

/* read.c: an exit status; freed in any case. */
int graph_read(const char *path, graph_dump *out);
void graph_free(graph_dump *g);
/* draw.c */
void graph_draw(const graph_dump *g, nd_text *svg);
#endif
