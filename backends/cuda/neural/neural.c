/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Cross entropy, rope and dropout: which kernel, and its parameters. */
#include "neural/neural.h"
#include <stdio.h>
#include "host/backend.h"

static const char *dtype_name(int32_t dtype)
{
    return dtype == NDP_F16 ? "f16" : dtype == NDP_BF16 ? "bf16" : dtype == NDP_F32 ? "f32" : "f64";
}

static int is_aligned(uint64_t address, int64_t bytes)
{
    return address % (uint64_t)bytes == 0;
}

/* ---- cross entropy ---- */
enum { WARP_VECTORS, WARP, BLOCK_VECTORS, BLOCK, LONG, HELD, ENTROPY_KERNELS };
/* Of a row that a warp serves; of one that a block takes in tiles, which count in 32 bits. */
enum { SHORT_CLASSES = 1024, MOST_CLASSES = 1 << 30 };
static const char *const suffixes[ENTROPY_KERNELS] = {"warp_vec", "warp", "block_vec",
                                                      "block",    "long", "held"};

static neural_entropy entropy_of(const ndp_call *call)
{
    const ndp_entropy *params = call->params;
    const int gradient = call->op == NDP_OP_cross_entropy_grad;
    const ndp_view *a = &call->in[0], *y = &call->in[1], *out = &call->out[0];
    const ndp_view *weights = params->has_weights ? &call->in[call->n_in - 1] : NULL;
    const int64_t bytes = ndp_dtype_size(a->dtype), V = 16 / bytes;
    neural_entropy p = {.a = cuda_ptr(a),
                        .y = cuda_ptr(y),
                        .g = gradient ? cuda_ptr(&call->in[2]) : 0,
                        .weights = weights ? cuda_ptr(weights) : 0,
                        .out = cuda_ptr(out),
                        .status = call->status.mem ? cuda_ptr(&call->status) : 0,
                        .rows = a->shape[0],
                        .n = a->shape[1],
                        .a_row = a->stride[0],
                        .a_step = a->stride[1],
                        .y_step = y->stride[0],
                        .g_step = gradient ? call->in[2].stride[0] : 0,
                        .weights_step = weights ? weights->stride[0] : 0,
                        .out_row = out->stride[0],
                        .out_step = gradient ? out->stride[1] : 0,
                        .ignore = params->ignore,
                        .smoothing = params->smoothing,
                        .op = call->op};
    p.vectors = p.n % V == 0 && p.a_step == 1 && p.a_row % V == 0 && is_aligned(p.a, 16);
    if (gradient)
        p.vectors &= p.out_step == 1 && p.out_row % V == 0 && is_aligned(p.out, 16);
    return p;
}

/* Few threads a row have most rows under way; more only where there are not rows enough for all
 * processors, and as many as a held row takes. */
static uint32_t long_threads(const cuda_kernel *k, const neural_entropy *p, int64_t vectors,
                             int held)
{
    uint32_t threads = NEURAL_THREADS;
    while (threads < NEURAL_ENTROPY_THREADS && threads * NEURAL_ENTROPY_VECTORS < vectors &&
           (held || p->rows * threads < (int64_t)k->dev->sm_count * NEURAL_ENTROPY_THREADS))
        threads *= 2;
    return threads;
}

/* Rows of vectors without smoothing: a gradient's row is held by as many threads as that takes. */
static int32_t run_long(const cuda_kernel *k, ndp_stream *s, int64_t size, neural_entropy *p)
{
    const int64_t vectors = p->n * size / 16;
    const int held = k->op == NDP_OP_cross_entropy_grad &&
                     vectors <= NEURAL_ENTROPY_THREADS * NEURAL_ENTROPY_VECTORS;
    return cuda_launch(k, k->function[held ? HELD : LONG], s,
                       (uint32_t)(p->rows < NEURAL_GRID ? p->rows : NEURAL_GRID),
                       long_threads(k, p, vectors, held), 0, p);
}

static int32_t run_entropy(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const int32_t dtype = call->in[0].dtype;
    if (call->in[0].shape[0] == 0)
        return NDP_OK;
    neural_entropy p = entropy_of(call);
    const int narrow = p.n <= SHORT_CLASSES;
    if (!narrow && p.vectors && p.smoothing == 0 && dtype != NDP_F64 && p.n <= MOST_CLASSES)
        return run_long(k, s, ndp_dtype_size(dtype), &p);
    const int64_t beside = narrow ? NEURAL_THREADS / 32 : 1,
                  blocks = (p.rows + beside - 1) / beside;
    const uint32_t threads =
        narrow || p.n <= 8 * SHORT_CLASSES ? NEURAL_THREADS : NEURAL_LONG_THREADS;
    return cuda_launch(k, k->function[(narrow ? WARP_VECTORS : BLOCK_VECTORS) + !p.vectors], s,
                       (uint32_t)(blocks < NEURAL_GRID ? blocks : NEURAL_GRID), threads, 0, &p);
}

static int32_t make_entropy(cuda_kernel *k, const ndp_call *like)
{
    char name[64];
    int32_t status = NDP_OK;
    const int gradient = like->op == NDP_OP_cross_entropy_grad;
    const int n = like->in[0].dtype == NDP_F64 ? LONG : gradient ? HELD + 1 : LONG + 1;
    k->base.run = run_entropy;
    for (int i = 0; i < n && status == NDP_OK; i++) {
        snprintf(name, sizeof name, "%s_%s_%s", cuda_op_name(like->op),
                 dtype_name(like->in[0].dtype), suffixes[i]);
        status =
            cuda_function(k->dev, i < LONG ? CUDA_MODULE_entropy_ANY : CUDA_MODULE_entropy_long_ANY,
                          name, &k->function[i]);
    }
    return status;
}

static int32_t find_entropy(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                            size_t n)
{
    if (!(cuda_domain_dtypes(like->op) >> like->in[0].dtype & 1) || like->in[1].dtype != NDP_I64)
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make_entropy, out);
}

const cuda_class cuda_entropy = {.dtypes = cuda_domain_dtypes, .find = find_entropy};

/* ---- rope ---- */
enum { ROPE_PLAIN, ROPE_VECTORS, ROPE_PAIRS, ROPE_KERNELS };

/* Whether the rows of a view, but for the strides of its last axis, suit vectors of so many
 * elements. */
static int rows_suit(const ndp_view *v, int64_t vector)
{
    if (v->stride[3] != 1 || !is_aligned(cuda_ptr(v), vector * ndp_dtype_size(v->dtype)))
        return 0;
    for (int d = 0; d < 3; d++)
        if (v->shape[d] > 1 && v->stride[d] % vector)
            return 0;
    return 1;
}

static int how_to_turn(const ndp_call *call, int64_t pairs)
{
    const int interleaved = ((const ndp_rope *)call->params)->interleaved;
    const int64_t V = 16 / ndp_dtype_size(call->out[0].dtype), angles = interleaved ? V / 2 : V;
    if (pairs % angles || !rows_suit(&call->in[0], V) || !rows_suit(&call->out[0], V) ||
        !rows_suit(&call->in[1], angles) || !rows_suit(&call->in[2], angles))
        return ROPE_PLAIN;
    return interleaved ? ROPE_PAIRS : ROPE_VECTORS;
}

static int32_t run_rope(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const ndp_rope *params = call->params;
    const ndp_view *out = &call->out[0];
    const int64_t pairs = out->shape[3] / 2, V = 16 / ndp_dtype_size(out->dtype);
    if (ndp_view_size(out) == 0)
        return NDP_OK;
    const int how = how_to_turn(call, pairs);
    neural_rope p = {.in = cuda_ptr(&call->in[0]),
                     .cosine = cuda_ptr(&call->in[1]),
                     .sine = cuda_ptr(&call->in[2]),
                     .out = cuda_ptr(out),
                     .t = out->shape[2],
                     .pairs = pairs,
                     .apart = params->interleaved ? 1 : pairs,
                     .step = params->interleaved ? 2 : 1,
                     .sign = params->inverse ? -1 : 1};
    for (int d = 0; d < 4; d++) {
        p.in_stride[d] = call->in[0].stride[d];
        p.cos_stride[d] = call->in[1].stride[d];
        p.sin_stride[d] = call->in[2].stride[d];
        p.out_stride[d] = out->stride[d];
    }
    p.pairs /= how == ROPE_VECTORS ? V : how == ROPE_PAIRS ? V / 2 : 1;
    const int64_t rows = out->shape[0] * out->shape[1];
    int64_t chunks = (p.t * p.pairs + NEURAL_THREADS - 1) / NEURAL_THREADS;
    if (rows > INT32_MAX)
        return cuda_error(NDP_ERR_UNSUPPORTED, "rope of %lld heads", (long long)rows);
    chunks = chunks < INT32_MAX / rows ? chunks : INT32_MAX / rows;
    p.heads = cuda_divisor_of((uint32_t)out->shape[1]);
    p.chunks = cuda_divisor_of((uint32_t)chunks);
    return cuda_launch(k, k->function[how], s, (uint32_t)(rows * chunks), NEURAL_THREADS, 0, &p);
}

static int32_t make_rope(cuda_kernel *k, const ndp_call *like)
{
    static const char *const ends[ROPE_KERNELS] = {"", "_vec", "_pairs"};
    char name[32];
    int32_t status = NDP_OK;
    k->base.run = run_rope;
    for (int i = 0; i < ROPE_KERNELS && status == NDP_OK; i++) {
        snprintf(name, sizeof name, "rope_%s%s", dtype_name(like->in[0].dtype), ends[i]);
        status = cuda_function(k->dev, CUDA_MODULE_rope_ANY, name, &k->function[i]);
    }
    return status;
}

static int32_t find_rope(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                         size_t n)
{
    if (!(cuda_domain_dtypes(like->op) >> like->in[0].dtype & 1))
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make_rope, out);
}

const cuda_class cuda_rope = {.dtypes = cuda_domain_dtypes, .find = find_rope};

/* ---- dropout ---- */
static int32_t run_dropout(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const ndp_dropout *params = call->params;
    const int64_t n = ndp_view_size(call->out);
    if (n == 0)
        return NDP_OK;
    neural_dropout p = {.in = cuda_ptr(&call->in[0]),
                        .out = cuda_ptr(call->out),
                        .n = (uint64_t)n,
                        .counter = {params->counter[0], params->counter[1]},
                        .key = {(uint32_t)params->key, (uint32_t)(params->key >> 32)},
                        .least = (uint32_t)(params->p * 0x1p32),
                        .divisor = 1 - params->p};
    const int64_t each = 4 * NEURAL_THREADS, blocks = (n + each - 1) / each;
    return cuda_launch(k, k->function[0], s,
                       (uint32_t)(blocks < NEURAL_GRID ? blocks : NEURAL_GRID), NEURAL_THREADS, 0,
                       &p);
}

static int32_t make_dropout(cuda_kernel *k, const ndp_call *like)
{
    char name[32];
    k->base.run = run_dropout;
    k->base.needs = NDP_NEEDS_CONTIGUOUS;
    snprintf(name, sizeof name, "dropout_%s", dtype_name(like->in[0].dtype));
    return cuda_function(k->dev, CUDA_MODULE_rope_ANY, name, &k->function[0]);
}

static int32_t find_dropout(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                            size_t n)
{
    if (!(cuda_domain_dtypes(like->op) >> like->in[0].dtype & 1))
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make_dropout, out);
}

const cuda_class cuda_dropout = {.dtypes = cuda_domain_dtypes, .find = find_dropout};
