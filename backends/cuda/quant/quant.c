/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quantised blocks: parameters of their kernels. quantize is left to the CPU. */
#include "quant/quant.h"
#include "host/backend.h"

enum { DEQUANTIZE, ACTIVATE, PRODUCT_ONE, PRODUCT_STAGED, PRODUCT_MANY, FUNCTIONS };
enum { MOST_BLOCKS = 1 << 20, MOST_TILES = 65535 };

static const struct {
    int16_t block, nbytes;
} sizes[] = {
#define ND_QUANT(NAME, id, block, nbytes, min, writes, name, doc) [id] = {block, nbytes},
#include <ndock/quant.def>
};
enum { FORMATS = sizeof sizes / sizeof *sizes };

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

/* Shared memory of a block of threads: two pieces for each warp, and what reading whole words may reach
 * beyond the last. */
static uint32_t staged_bytes(int32_t format)
{
    return (uint32_t)(QUANT_WARPS * 2 * QUANT_PIECE / (sizes[format].block / 32) *
                      sizes[format].nbytes) +
           16;
}

/* The kernel behind `activate`, whose blocks of threads may begin while that ends: not where a graph is
 * made or changed, whose nodes are ordered whole. */
static int32_t launch_staged(const cuda_kernel *k, ndp_stream *s, uint32_t blocks, uint32_t shared,
                             quant_params *p)
{
    const CUfunction f = k->function[PRODUCT_STAGED];
    const CUstream stream = cuda_stream(k->dev, s);
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value.programmaticStreamSerializationAllowed = 1};
    CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
    void *arguments[] = {p};
    cuda_scope scope;
    if (k->dev->capability < 90 || !cu.cuLaunchKernelEx || cuda_patching())
        return cuda_launch(k, f, s, blocks, QUANT_THREADS, shared, p);
    int32_t status = cuda_enter(k->dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = s ? cu.cuStreamIsCapturing(stream, &capturing) : CUDA_SUCCESS;
    if (r == CUDA_SUCCESS)
        r = cu.cuLaunchKernelEx(
            &(CUlaunchConfig){.gridDimX = blocks,
                              .gridDimY = 1,
                              .gridDimZ = 1,
                              .blockDimX = QUANT_THREADS,
                              .blockDimY = 1,
                              .blockDimZ = 1,
                              .sharedMemBytes = shared,
                              .hStream = stream,
                              .attrs = &early,
                              .numAttrs = capturing == CU_STREAM_CAPTURE_STATUS_NONE},
            f, arguments, NULL);
    cuda_leave(&scope);
    return cuda_fail(r, "matmul_q on cuda:%u", k->dev->index);
}

static int32_t run_product(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    quant_params p = {.out = cuda_ptr(&call->out[0]),
                      .a = cuda_ptr(&call->in[0]),
                      .m = call->in[0].shape[0],
                      .dtype = call->out[0].dtype};
    set_blocks(&p, call, &call->in[1]);
    if (p.rows == 0 || p.m == 0)
        return NDP_OK;
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
    const int staged = !many && p.n > 0 && p.blocks % 16 == 0 && p.row_bytes % 16 == 0;
    if (staged)
        return launch_staged(k, s, (uint32_t)row_blocks, staged_bytes(p.format), &p);
    return cuda_launch_2d(k, k->function[many ? PRODUCT_MANY : PRODUCT_ONE], s,
                          (uint32_t)row_blocks, (uint32_t)tiles, QUANT_THREADS, 0, &p);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    static const char *const names[] = {"dequantize", "activate", "product_one", "product_staged",
                                        "product_many"};
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
