/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quantised blocks: parameters of their kernels. quantize is left to the CPU. */
#include "quant/quant.h"
#include "host/backend.h"

enum {
    DEQUANTIZE,
    ACTIVATE,
    PRODUCT_ONE,
    PRODUCT_MANY,
    PRODUCT_FEW_1,
    PRODUCT_FEW_2,
    PRODUCT_FEW_4,
    PRODUCT_HELD,
    FUNCTIONS
};

enum { MOST_BLOCKS = 1 << 20, MOST_TILES = 65535, FEW_MOST_ROWS = 1 << 30 };

static const struct {
    int16_t block, nbytes;
} sizes[] = {
#define ND_QUANT(NAME, id, block, nbytes, min, writes, name, doc) [id] = {block, nbytes},
#include <ndock/quant.def>
};
enum { FORMATS = sizeof sizes / sizeof *sizes };
#define ND_QUANT(NAME, id, block, nbytes, min, writes, name, doc) NAME = id,
enum {
#include <ndock/quant.def>
};

static void set_blocks(quant_params *p, const ndp_call *call, const ndp_view *v)
{
    p->format = ((const ndp_quant *)call->params)->format;
    p->blocks = cuda_ptr(v);
    p->rows = v->shape[0];
    p->row_bytes = v->shape[1];
    p->n = v->shape[1] / sizes[p->format].nbytes * sizes[p->format].block;
    p->word = p->blocks % 4 == 0 && p->row_bytes % 4 == 0 ? 4 : p->blocks % 2 == 0 ? 2 : 1;
}

static uint32_t blocks_for(int64_t n, int64_t of_a_block)
{
    const int64_t blocks = (n + of_a_block - 1) / of_a_block;
    return (uint32_t)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
}

static int32_t run_dequantize(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    quant_params p = {.out = cuda_ptr(&call->out[0]), .dtype = call->out[0].dtype};
    set_blocks(&p, call, &call->in[0]);
    if (p.rows == 0 || p.n == 0)
        return NDP_OK;
    return cuda_launch(k, k->function[DEQUANTIZE], s, blocks_for(p.rows * p.n, QUANT_THREADS),
                       QUANT_THREADS, 0, &p);
}

/* Of m rows of n elements: codes, then d of each 32, then sums of each 16. */
static uint64_t product_scratch(const ndp_kernel *base, const ndp_call *call)
{
    (void)base;
    const uint64_t n = (uint64_t)(call->in[0].shape[0] * call->in[0].shape[1]);
    return n + n / 32 * 3 * sizeof(float);
}

/* How a product of few rows is launched: rows of a at a time, and blocks of threads. */
typedef struct {
    CUfunction f;
    uint32_t rows, blocks, tiles, threads, shared;
} few_launch;

/* Bytes of a row of a in shared memory: of 32 units at a time, codes, and 8 bytes for each unit's part of each of
 * its groups of 32 (few.cuh). */
static int64_t rounded_bytes(const quant_params *p)
{
    const int f = p->format, pairs = f == Q2_K || f == Q3_K, quarters = f == Q6_K,
              sixes = f == Q4_K || f == Q5_K;
    const int64_t elements = 32 * (pairs               ? 128
                                   : quarters || sixes ? 64
                                                       : 32),
                  groups = pairs      ? 8
                           : quarters ? 4
                           : sixes    ? 2
                                      : 1;
    return (p->n + elements - 1) / elements * (elements + 256 * groups);
}

/* Warps of a block of threads, of `most` that fit, that takes so many pairs of rows: no more than have work, but for those
 * that round. */
static int64_t few_warps(int64_t most, uint32_t rows, int64_t pairs)
{
    if (pairs < FEW_LEAST)
        return FEW_LEAST;
    if (rows == 1 && pairs > FEW_WARPS && most > FEW_MANY_TURNS)
        return FEW_MANY_TURNS;
    return pairs < most ? pairs : most;
}

/* One row of a that is short, and rows of blocks that begin at multiples of 16 bytes. */
static int is_held(const quant_params *p)
{
    return p->m == 1 && p->n <= HELD_MOST && p->row_bytes % 16 == 0;
}

/* Whether so many rows of a, beside blocks on their way to at least FEW_LEAST warps, fit into shared memory. */
static int fits_few(const cuda_kernel *k, const quant_params *p, uint32_t rows, few_launch *l)
{
    const int64_t room = k->dev->shared_most - rows * (int64_t)p->rounded -
                         16, /* words may be read whole */
        tiles = (p->m + rows - 1) / rows, pairs = (p->rows + FEW_ROWS - 1) / FEW_ROWS;
    const int64_t most = is_held(p) ? FEW_MANY_TURNS : FEW_WARPS;
    int64_t warps = room / FEW_STAGED, blocks = k->dev->sm_count / tiles;
    if (warps < FEW_LEAST || tiles > MOST_TILES)
        return 0;
    blocks = blocks < 1 ? 1 : blocks < pairs ? blocks : pairs;
    warps = few_warps(warps < most ? warps : most, rows, (pairs + blocks - 1) / blocks);
    *l = (few_launch){.rows = rows,
                      .blocks = (uint32_t)blocks,
                      .tiles = (uint32_t)tiles,
                      .threads = (uint32_t)warps * 32,
                      .shared = (uint32_t)(warps * FEW_STAGED + rows * (int64_t)p->rounded + 16)};
    return 1;
}

/* Blocks must lie where they may be copied 16 bytes at once, and a where four elements may be read. */
static int choose_few(const cuda_kernel *k, quant_params *p, few_launch *l)
{
    if (p->n == 0 || p->m > FEW_MOST || p->blocks % 16 || p->row_bytes % 2 || p->a % 16 ||
        p->rows > FEW_MOST_ROWS || p->row_bytes > k->dev->shared_most)
        return 0;
    p->rounded = (int32_t)rounded_bytes(p);
    if (p->m > 2 && fits_few(k, p, 4, l))
        l->f = k->function[PRODUCT_FEW_4];
    else if (p->m > 1 && fits_few(k, p, 2, l))
        l->f = k->function[PRODUCT_FEW_2];
    else if (fits_few(k, p, 1, l))
        l->f = k->function[is_held(p) ? PRODUCT_HELD : PRODUCT_FEW_1];
    else
        return 0;
    return 1;
}

static int32_t run_product(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    quant_params p = {.out = cuda_ptr(&call->out[0]),
                      .a = cuda_ptr(&call->in[0]),
                      .m = call->in[0].shape[0],
                      .dtype = call->out[0].dtype};
    few_launch few = {0};
    set_blocks(&p, call, &call->in[1]);
    if (p.rows == 0 || p.m == 0)
        return NDP_OK;
    if (choose_few(k, &p, &few) && few.tiles == 1)
        return cuda_launch_early(k, few.f, s, few.blocks, few.threads, few.shared, &p);
    if (few.f)
        return cuda_launch_2d(k, few.f, s, few.blocks, few.tiles, few.threads, few.shared, &p);
    const int many = p.m > 1;
    const int64_t tiles = many ? (p.m + QUANT_TILE - 1) / QUANT_TILE : 1,
                  row_blocks = (p.rows + QUANT_WARPS - 1) / QUANT_WARPS;
    if (tiles > MOST_TILES || row_blocks > INT32_MAX)
        return cuda_error(NDP_ERR_UNSUPPORTED, "matmul_q of %lld rows times %lld", (long long)p.m,
                          (long long)p.rows);
    if (p.n > 0) {
        p.codes = cuda_ptr(&call->scratch);
        p.sums = p.codes + (uint64_t)(p.m * p.n);
        p.d = p.sums + (uint64_t)(p.m * p.n / 16) * sizeof(float);
        const int32_t status =
            cuda_launch(k, k->function[ACTIVATE], s, blocks_for(p.m * p.n / 32, QUANT_WARPS),
                        QUANT_THREADS, 0, &p);
        if (status != NDP_OK)
            return status;
    }
    return cuda_launch_2d(k, k->function[many ? PRODUCT_MANY : PRODUCT_ONE], s,
                          (uint32_t)row_blocks, (uint32_t)tiles, QUANT_THREADS, 0, &p);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    static const char *const names[] = {"dequantize",    "activate",      "product_one",
                                        "product_many",  "product_few_1", "product_few_2",
                                        "product_few_4", "product_held"};
    const int product = like->op == NDP_OP_matmul_q;
    k->base.run = product ? run_product : run_dequantize;
    k->base.scratch = product ? product_scratch : NULL;
    k->base.needs = NDP_NEEDS_CONTIGUOUS;
    for (int i = 0; i < FUNCTIONS; i++) {
        const int32_t status =
            cuda_function(k->dev, CUDA_MODULE_quant_ANY, names[i], &k->function[i]);
        if (status != NDP_OK)
            return status;
    }
    for (int i = PRODUCT_FEW_1; product && i < FUNCTIONS; i++) {
        const int32_t status = cuda_fail(
            cu.cuFuncSetAttribute(k->function[i], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  k->dev->shared_most),
            "shared memory for %s", names[i]);
        if (status != NDP_OK)
            return status;
    }
    return NDP_OK;
}

/* Of the floats, whichever side they are on. */
static uint64_t dtypes(int32_t op)
{
    return op == NDP_OP_quantize ? 0 : cuda_domain_dtypes(op);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    const int product = like->op == NDP_OP_matmul_q;
    const int32_t format = ((const ndp_quant *)like->params)->format,
                  blocks = like->in[product].dtype, floats = like->out[0].dtype;
    if (format <= 0 || format >= FORMATS || !sizes[format].block || blocks != NDP_U8 ||
        !(dtypes(like->op) >> floats & 1) || (product && like->in[0].dtype != floats))
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_quant = {.dtypes = dtypes, .find = find};
