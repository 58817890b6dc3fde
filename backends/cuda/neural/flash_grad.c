/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of attention by tensor cores: which kernels, how rows and keys are shared among blocks, and their
 * parameters. */
#include <stdio.h>
#include "neural/flash_widths.h"

/* Functions of a kernel: the class's own come first. */
enum { QUERIES = ATTENTION_OWN, KEYS = QUERIES + WIDTHS, WIDE_GRAD = KEYS + WIDTHS };
enum { WIDE_GRAD_ANY = WIDE_GRAD + WIDTHS, WIDE_FINISH = WIDE_GRAD_ANY + WIDTHS };
_Static_assert((int)WIDE_FINISH < (int)FLASH_SPLIT, "those of flash_split.c come last");
static const int wide_grad_steps[WIDTHS] = {
#define FLASH_WIDE_GRAD(columns, step) [WIDTH_##columns] = step,
#include "neural/flash_wide.def"
};
/* Of flash_wide_grad.cuh: keys of a block and its threads. */
enum { WIDE_GRAD_KEYS = 128, WIDE_GRAD_THREADS = 384 };

/* Of gradients: own rows, and two steps of those of the other side, with their sums. */
static int grad_rows_of(int width, int keys)
{
    return keys && width > 64 ? 64 : 128;
}
static uint32_t grad_shared_of(int width, int keys)
{
    const int rows = grad_rows_of(width, keys);
    return (uint32_t)((2 * rows + 4 * FLASH_GRAD_STEP) * (width + 8) * 2 + 4 * FLASH_GRAD_STEP * 4);
}

/* Keys and values, two steps of queries and gradients with their sums, slopes of two steps, a part of
 * gradients of queries, the beginning and the end. */
static uint32_t wide_grad_shared_of(int i)
{
    const int slabs = (flash_widths[i] + 63) / 64, step = wide_grad_steps[i];
    return (uint32_t)((slabs * (2 * WIDE_GRAD_KEYS + 4 * step) + 2 * step / 64 * WIDE_GRAD_KEYS) *
                          128 +
                      step * flash_widths[i] * 4 + 4 * step * 4 + 1024 + 64);
}

static int32_t make_wide_gradient(cuda_kernel *k, int32_t dtype)
{
    uint32_t shared[WIDTHS];
    for (int i = 0; i < WIDTHS; i++)
        shared[i] = wide_grad_steps[i] ? wide_grad_shared_of(i) : 0;
    int32_t status = flash_make_wide(k, "flash_wide_grad", dtype, WIDE_GRAD, shared);
    if (!CUDA_HAS_90A || k->dev->capability != 90 || status != NDP_OK)
        return status;
    status = flash_split_make(k, dtype);
    if (status != NDP_OK)
        return status;
    return flash_function(k, cuda_module_of("flash_wide_grad", dtype),
                          dtype == NDP_F16 ? "flash_wide_finish_F16" : "flash_wide_finish_BF16", 0,
                          &k->function[WIDE_FINISH]);
}

int32_t flash_grad_make(cuda_kernel *k, int32_t dtype)
{
    static const char *const names[2] = {"queries", "keys"};
    char name[32];
    const int module = cuda_module_of("flash_grad", dtype);
    int32_t status = NDP_OK;
    for (int i = 0; i < 2 * WIDTHS && status == NDP_OK; i++) {
        const int keys = i / WIDTHS, width = flash_widths[i % WIDTHS];
        k->function[QUERIES + i] = NULL;
        if (width > FLASH_GRAD_WIDEST)
            continue;
        snprintf(name, sizeof name, "flash_%s_%d_%s", names[keys], width,
                 dtype == NDP_F16 ? "F16" : "BF16");
        status =
            flash_function(k, module, name, grad_shared_of(width, keys), &k->function[QUERIES + i]);
    }
    return status == NDP_OK ? make_wide_gradient(k, dtype) : status;
}

/* One of the gradient's kernels: of queries, or of keys and values. */
static int32_t run_gradient(const cuda_kernel *k, ndp_stream *s, attention_params *p, int width,
                            int keys)
{
    p->rows = (int32_t)(keys ? p->n : p->m);
    p->row_blocks = (int32_t)flash_steps_of(p->rows, grad_rows_of(flash_widths[width], keys));
    const int64_t blocks = p->batch * (keys ? p->key_heads : p->heads) * p->row_blocks;
    if (blocks > INT32_MAX)
        return cuda_error(NDP_ERR_UNSUPPORTED, "attention_grad of %lld blocks", (long long)blocks);
    if (blocks == 0)
        return NDP_OK;
    return cuda_launch(k, k->function[(keys ? KEYS : QUERIES) + width], s, (uint32_t)blocks,
                       FLASH_THREADS, grad_shared_of(flash_widths[width], keys), p);
}

int flash_grad_plans(const cuda_kernel *k, attention_params *p, flash_grad_plan *plan)
{
    const int i = flash_width_of(p);
    if (i == WIDTHS)
        return 0;
    *plan = (flash_grad_plan){.width = i};
    p->pack = 1;
    flash_set_whole(p, 8);
    flash_set_place(p);
    plan->split = flash_split_serves(k, flash_widths[i]);
    if (plan->split)
        return 1;
    if (!k->function[QUERIES + i] || !k->function[KEYS + i])
        return 0;
    p->tile_rows = wide_grad_steps[i];
    p->tile_columns = flash_widths[i];
    p->rows = (int32_t)p->n;
    p->row_blocks = (int32_t)flash_steps_of(p->n, WIDE_GRAD_KEYS);
    if (!k->function[WIDE_GRAD + i] || p->key_heads * p->batch * p->row_blocks > INT32_MAX)
        return 1;
    plan->blocks = p->key_heads * p->batch * p->row_blocks;
    p->tiles = (int32_t)flash_steps_of(p->m, p->tile_rows);
    p->turn_count = p->batch * p->heads * p->tiles;
    plan->tile_bytes = (int64_t)p->tile_rows * p->tile_columns * 4;
    const int64_t head = p->tiles * plan->tile_bytes * (p->key_heads ? p->heads / p->key_heads : 1);
    flash_set_together(p, head);
    return 1;
}

/* In one pass: turns, then the sums. */
static int32_t run_wide_gradient(const cuda_kernel *k, ndp_stream *s, attention_params *p,
                                 const flash_grad_plan *plan)
{
    int32_t status = NDP_OK;
    if (plan->blocks > 0)
        status = cuda_launch(
            k, k->function[(flash_is_plain(p) ? WIDE_GRAD : WIDE_GRAD_ANY) + plan->width], s,
            (uint32_t)plan->blocks, WIDE_GRAD_THREADS, wide_grad_shared_of(plan->width), p);
    if (status == NDP_OK && p->turn_count > 0)
        status = cuda_launch(k, k->function[WIDE_FINISH], s, (uint32_t)p->turn_count, FLASH_THREADS,
                             0, p);
    return status;
}

int32_t flash_grad_run(const cuda_kernel *k, ndp_stream *s, attention_params *p,
                       const flash_grad_plan *plan)
{
    if (plan->tile_bytes > 0)
        return run_wide_gradient(k, s, p, plan);
    if (plan->split)
        return flash_split_run(k, s, p, flash_is_plain(p));
    const int32_t status = run_gradient(k, s, p, plan->width, 0);
    return status == NDP_OK ? run_gradient(k, s, p, plan->width, 1) : status;
}
