/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention of f32 by tiles of registers: which kernel, and its parameters. */
#include "neural/tiled.h"
#include <stdio.h>
#include "neural/flash.h"

enum { WIDTH_64, WIDTH_128, WIDTH_256, WIDTHS };
/* What kernels do, in the order of their functions: of a call, or of its gradients. */
enum { FORWARD, QUERIES, KEYS, KINDS };

typedef struct {
    int rows, others, warps, split; /* of a thread's tile, of a block; warps that share rows */
} tile_shape;
static const int widths[WIDTHS] = {64, 128, 256};
static const tile_shape shapes[KINDS][WIDTHS] = {
#define TILED(columns, rows, others, warps, split) \
    [FORWARD][WIDTH_##columns] = {rows, others, warps, split},
#define TILED_QUERIES(columns, rows, others, warps, split) \
    [QUERIES][WIDTH_##columns] = {rows, others, warps, split},
#define TILED_KEYS(columns, rows, others, warps, split) \
    [KEYS][WIDTH_##columns] = {rows, others, warps, split},
#include "neural/tiled.def"
};
static const char *const names[KINDS] = {"tiled", "tiled_queries", "tiled_keys"};

static int place_of(int kind, int width)
{
    return ATTENTION_OWN + (kind == KEYS ? WIDTHS : 0) + width;
}

static int rows_of(int kind, int width)
{
    const tile_shape *t = &shapes[kind][width];
    return 4 * t->rows * (t->warps / t->split);
}

/* Own rows, one operand of them or two, a step of two of the other side's with what sums there are of it, weights,
 * and numbers of rows that warps show each other. */
static uint32_t shared_of(int kind, int width)
{
    const int rows = rows_of(kind, width), others = 8 * shapes[kind][width].others,
              pitch = widths[width] + 4, own = kind == FORWARD ? 1 : 2;
    return (uint32_t)((own * rows + 2 * others) * pitch + rows * (others + 8) +
                      (kind == KEYS      ? 2 * others
                       : kind == FORWARD ? 2 * rows
                                         : 0)) *
           4;
}

int32_t tiled_make(cuda_kernel *k, const ndp_call *like)
{
    char name[32];
    const int gradient = like->op == NDP_OP_attention_grad;
    int32_t status = NDP_OK;
    for (int kind = gradient ? QUERIES : FORWARD; kind < (gradient ? KINDS : QUERIES); kind++)
        for (int i = 0; i < WIDTHS && status == NDP_OK; i++) {
            snprintf(name, sizeof name, "%s_%d_F32", names[kind], widths[i]);
            status = flash_function(k, cuda_module_of("tiled", NDP_F32), name, shared_of(kind, i),
                                    &k->function[place_of(kind, i)]);
        }
    return status;
}

int tiled_width(const cuda_kernel *k, const attention_params *p)
{
    const int64_t columns = p->d > p->e ? p->d : p->e;
    int i = 0;
    if (columns > widths[WIDTHS - 1] || p->d == 0 || p->e == 0 || p->m > INT32_MAX - 256 ||
        p->n > INT32_MAX - 256 || p->heads > INT32_MAX)
        return -1;
    while (widths[i] < columns)
        i++;
    return k->function[place_of(FORWARD, i)] && (!p->g.at || k->function[place_of(KEYS, i)]) ? i
                                                                                             : -1;
}

static int32_t launch(const cuda_kernel *k, ndp_stream *s, attention_params *p, int kind, int width)
{
    const int rows = rows_of(kind, width);
    p->rows = (int32_t)(kind == KEYS ? p->n : p->m);
    p->row_blocks = (p->rows + rows - 1) / rows;
    const int64_t blocks = p->batch * (kind == KEYS ? p->key_heads : p->heads) * p->row_blocks;
    if (blocks > INT32_MAX)
        return cuda_error(NDP_ERR_UNSUPPORTED, "%s of %lld blocks", cuda_op_name(k->op),
                          (long long)blocks);
    if (blocks == 0)
        return NDP_OK;
    return cuda_launch(k, k->function[place_of(kind, width)], s, (uint32_t)blocks,
                       32 * (uint32_t)shapes[kind][width].warps, shared_of(kind, width), p);
}

/* Blocks of all heads begin together where they differ in length: products are slower than what they read of the
 * others. */
static void set_up(attention_params *p)
{
    flash_set_whole(p, 4);
    p->together = p->causal && p->batch * p->heads < 1 << 15 ? (int32_t)(p->batch * p->heads) : 1;
}

int32_t tiled_run(const cuda_kernel *k, ndp_stream *s, attention_params *p, int width)
{
    set_up(p);
    return launch(k, s, p, FORWARD, width);
}

int32_t tiled_grad_run(const cuda_kernel *k, ndp_stream *s, attention_params *p, int width)
{
    set_up(p);
    const int32_t status = launch(k, s, p, QUERIES, width);
    return status == NDP_OK ? launch(k, s, p, KEYS, width) : status;
}
