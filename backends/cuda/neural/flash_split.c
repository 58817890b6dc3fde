/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of attention of heads too wide for one pass, by flash_wide_split.cuh in two: of queries, and of
 * keys with values. */
#include <stdio.h>
#include "neural/flash.h"

/* Functions: of each pass one for calls that are plain, and one for any. */
enum { QUERIES = FLASH_SPLIT, KEYS = QUERIES + 2 };
/* Of flash_wide_split.cuh: columns, rows of a block and of a step, threads. */
enum {
#define FLASH_WIDE_SPLIT(columns) COLUMNS = columns,
#include "neural/flash_wide.def"
    ROWS = 64,
    THREADS = 384
};

/* Own rows, two steps of the other side's with their sums, what warpgroups hand each other, the beginning and
 * the end. */
static uint32_t shared_bytes(void)
{
    return (2 + 2 * 2) * ROWS * COLUMNS * 2 + ROWS * ROWS * 6 + 2 * 2 * ROWS * 4 + 1024 + 128;
}

int32_t flash_split_make(cuda_kernel *k, int32_t dtype)
{
    char name[48];
    int32_t status = NDP_OK;
    for (int i = 0; i < 4 && status == NDP_OK; i++) {
        snprintf(name, sizeof name, "flash_wide_%s_%s%d_%s", i < 2 ? "queries" : "keys",
                 i % 2 ? "any_" : "", COLUMNS, dtype == NDP_F16 ? "F16" : "BF16");
        status = flash_function(k, cuda_module_of("flash_wide_grad", dtype), name, shared_bytes(),
                                &k->function[QUERIES + i]);
    }
    return status;
}

int flash_split_serves(const cuda_kernel *k, int columns)
{
    return columns == COLUMNS && k->function[QUERIES] && k->function[KEYS];
}

static int32_t run_pass(const cuda_kernel *k, ndp_stream *s, attention_params *p, int keys,
                        int plain)
{
    p->rows = (int32_t)(keys ? p->n : p->m);
    p->row_blocks = (p->rows + ROWS - 1) / ROWS;
    const int64_t blocks = p->batch * (keys ? p->key_heads : p->heads) * p->row_blocks;
    if (blocks > INT32_MAX)
        return cuda_error(NDP_ERR_UNSUPPORTED, "attention_grad of %lld blocks", (long long)blocks);
    if (blocks == 0)
        return NDP_OK;
    return cuda_launch(k, k->function[(keys ? KEYS : QUERIES) + !plain], s, (uint32_t)blocks,
                       THREADS, shared_bytes(), p);
}

int32_t flash_split_run(const cuda_kernel *k, ndp_stream *s, attention_params *p, int plain)
{
    const int32_t status = run_pass(k, s, p, 0, plain);
    return status == NDP_OK ? run_pass(k, s, p, 1, plain) : status;
}
