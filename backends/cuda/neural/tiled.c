/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention of f32 by tiles of registers: which kernel, and its parameters. */
#include "neural/tiled.h"
#include <stdio.h>
#include "neural/flash.h"
#include "neural/tripled_wide.h"

enum { WIDTH_64, WIDTH_128, WIDTH_256, WIDTHS };
/* What kernels do, in the order of their functions: of a call, or of its gradients. */
enum { FORWARD, QUERIES, KEYS, KINDS };
enum { MULTIPLY_ADDS, TENSOR_CORES, WAYS };

typedef struct {
    int rows, others; /* of a block, the other side's of a step; of 0 rows: there is no kernel */
    int warps;
    int weights; /* floats of them in shared memory */
} tile_shape;
static const int widths[WIDTHS] = {64, 128, 256};
#define BY_MULTIPLY_ADDS(kind, columns, rows, others, warps, split) \
    [MULTIPLY_ADDS][kind][WIDTH_##columns] = {                      \
        4 * (rows) * ((warps) / (split)), 8 * (others), warps,      \
        4 * (rows) * ((warps) / (split)) * (8 * (others) + 8)},
#define BY_TENSOR_CORES(kind, columns, pieces, others, warps, split) \
    [TENSOR_CORES][kind][WIDTH_##columns] = {                        \
        16 * (pieces) * ((warps) / (split)), others, warps,          \
        (split) > 1 || (kind) == KEYS ? 16 * (pieces) * ((warps) / (split)) * ((others) + 4) : 0},
static const tile_shape shapes[WAYS][KINDS][WIDTHS] = {
#define TILED(...) BY_MULTIPLY_ADDS(FORWARD, __VA_ARGS__)
#define TILED_QUERIES(...) BY_MULTIPLY_ADDS(QUERIES, __VA_ARGS__)
#define TILED_KEYS(...) BY_MULTIPLY_ADDS(KEYS, __VA_ARGS__)
#define TRIPLED(...) BY_TENSOR_CORES(FORWARD, __VA_ARGS__)
#define TRIPLED_KEYS(...) BY_TENSOR_CORES(KEYS, __VA_ARGS__)
#include "neural/tiled.def"
};
static const char *const names[KINDS] = {"", "queries_", "keys_"};

static int place_of(int kind, int width)
{
    return ATTENTION_OWN + (kind == KEYS ? WIDTHS : 0) + width;
}

/* Kernels by products of warpgroups. */
static int wide_place_of(int width)
{
    return ATTENTION_OWN + 2 * WIDTHS + width;
}

/* Tensor cores of data centers multiply TF32 8 times as fast as others multiply f32 (compute capability 8.0) or more,
 * those of other devices as fast or twice as fast, of which three products are the slower way. */
static int is_tripled(const ndp_dev *dev, int kind, int width)
{
    return (dev->capability == 80 || dev->capability == 90 || dev->capability == 100) &&
           shapes[TENSOR_CORES][kind][width].rows > 0;
}

static const tile_shape *shape_of(const ndp_dev *dev, int kind, int width)
{
    return &shapes[is_tripled(dev, kind, width) ? TENSOR_CORES : MULTIPLY_ADDS][kind][width];
}

/* Own rows, one operand of them or two, a step of two of the other side's with what sums there are of it, weights,
 * and numbers of rows that warps show each other. */
static uint32_t shared_of(const tile_shape *t, int kind, int width)
{
    const int pitch = widths[width] + 4, own = kind == FORWARD ? 1 : 2;
    return (uint32_t)((own * t->rows + 2 * t->others) * pitch + t->weights +
                      (kind == KEYS      ? 2 * t->others
                       : kind == FORWARD ? 2 * t->rows
                                         : 0)) *
           4;
}

/* Kernels by products of warpgroups, for compute capability 9.0 alone, where the plug-in was built with them. */
static int32_t make_wide(cuda_kernel *k)
{
    static const uint32_t shared[WIDTHS] = {TRIPLED_WIDE_BYTES(64), TRIPLED_WIDE_BYTES(128),
                                            TRIPLED_WIDE_BYTES(256)};
    char name[32];
    int32_t status = NDP_OK;
    for (int i = 0; i < WIDTHS && status == NDP_OK; i++) {
        k->function[wide_place_of(i)] = NULL;
        if (!CUDA_HAS_90A || k->dev->capability != 90)
            continue;
        snprintf(name, sizeof name, "tripled_wide_%d_F32", widths[i]);
        status = flash_function(k, cuda_module_of("tripled_wide", NDP_F32), name, shared[i],
                                &k->function[wide_place_of(i)]);
    }
    return status;
}

int32_t tiled_make(cuda_kernel *k, const ndp_call *like)
{
    char name[32];
    const int gradient = like->op == NDP_OP_attention_grad;
    int32_t status = gradient ? NDP_OK : make_wide(k);
    for (int kind = gradient ? QUERIES : FORWARD; kind < (gradient ? KINDS : QUERIES); kind++)
        for (int i = 0; i < WIDTHS && status == NDP_OK; i++) {
            snprintf(name, sizeof name, "%s_%s%d_F32",
                     is_tripled(k->dev, kind, i) ? "tripled" : "tiled", names[kind], widths[i]);
            status = flash_function(k, cuda_module_of("tiled", NDP_F32), name,
                                    shared_of(shape_of(k->dev, kind, i), kind, i),
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

/* Whether gradients of queries are made with those of keys, of which there are some. */
static int is_once(const cuda_kernel *k, const attention_params *p, int width)
{
    return is_tripled(k->dev, KEYS, width) && p->n > 0 && p->key_heads > 0;
}

void tiled_grad_plan(const cuda_kernel *k, attention_params *p, int width)
{
    const int others = shape_of(k->dev, KEYS, width)->others;
    p->tiles = (int32_t)((p->m + others - 1) / others);
    p->turn_count = is_once(k, p, width) ? p->batch * p->heads * p->tiles : 0;
}

/* Blocks of so many of p's rows, of so many heads. */
static int32_t launch_rows(const cuda_kernel *k, ndp_stream *s, attention_params *p,
                           CUfunction function, int64_t heads, int rows, uint32_t threads,
                           uint32_t shared)
{
    p->row_blocks = (p->rows + rows - 1) / rows;
    const int64_t blocks = p->batch * heads * p->row_blocks;
    if (blocks > INT32_MAX)
        return cuda_error(NDP_ERR_UNSUPPORTED, "%s of %lld blocks", cuda_op_name(k->op),
                          (long long)blocks);
    if (blocks == 0)
        return NDP_OK;
    return cuda_launch(k, function, s, (uint32_t)blocks, threads, shared, p);
}

static int32_t launch(const cuda_kernel *k, ndp_stream *s, attention_params *p, int kind, int width)
{
    const tile_shape *t = shape_of(k->dev, kind, width);
    p->rows = (int32_t)(kind == KEYS ? p->n : p->m);
    return launch_rows(k, s, p, k->function[place_of(kind, width)],
                       kind == KEYS ? p->key_heads : p->heads, t->rows, 32 * (uint32_t)t->warps,
                       shared_of(t, kind, width));
}

/* Blocks of all heads begin together where they differ in length, or wait for earlier ones of their head: products are slower
 * than what they read of the others. */
static void set_up(attention_params *p, int once)
{
    const int64_t heads = p->batch * (once ? p->key_heads : p->heads);
    flash_set_whole(p, 4);
    p->together = (p->causal || once) && heads < 1 << 15 ? (int32_t)heads : 1;
}

int32_t tiled_run(const cuda_kernel *k, ndp_stream *s, attention_params *p, int width)
{
    const CUfunction wide = k->function[wide_place_of(width)];
    set_up(p, 0);
    if (!wide || p->mask_kind || p->least)
        return launch(k, s, p, FORWARD, width);
    p->rows = (int32_t)p->m;
    return launch_rows(k, s, p, wide, p->heads, TRIPLED_WIDE_ROWS, TRIPLED_WIDE_THREADS,
                       TRIPLED_WIDE_BYTES(widths[width]));
}

int32_t tiled_grad_run(const cuda_kernel *k, ndp_stream *s, attention_params *p, int width)
{
    const int once = is_once(k, p, width);
    set_up(p, once);
    const int32_t status = once ? NDP_OK : launch(k, s, p, QUERIES, width);
    return status == NDP_OK ? launch(k, s, p, KEYS, width) : status;
}
