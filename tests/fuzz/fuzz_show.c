/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: what `ndock graph show` does with the dump of a graph: reads it and draws it. */
#include "tests/fuzz/fuzz.h"
#include "tools/graph/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    graph_dump g = {0};
    nd_text svg = {0};
    fuzz_mute(1);
    if (graph_read(fuzz_file(data, size), &g) == 0) {
        for (uint32_t i = 0; i < g.n; i++)
            for (uint32_t k = 0; k < g.node[i].n_after; k++)
                if (g.node[i].after[k] >= i || g.node[g.node[i].after[k]].depth >= g.node[i].depth)
                    abort();
        graph_draw(&g, &svg);
        if (!svg.failed && svg.len == 0)
            abort();
    }
    free(svg.data);
    graph_free(&g);
    fuzz_mute(0);
    return 0;
}
