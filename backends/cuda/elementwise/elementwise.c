/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise operations: which kernel, and its parameters. */
#include "elementwise/elementwise.h"
#include <stdio.h>
#include <string.h>
#include "host/backend.h"
#include "walk/plan.h"

enum {
    EW_VECTORS_KERNEL,
    EW_ROWS_KERNEL,
    EW_ELEMENTS_KERNEL,
    EW_TILES_KERNEL,
    EW_SMALL_KERNEL,
    EW_KERNELS
};
enum { EW_MIN_TILE = 8 }; /* shorter dimensions are not worth a tile */

static uint64_t dtypes(int32_t op)
{
    uint64_t mask = 0;
    for (int32_t d = 1; d < NDP_DTYPE_END; d++)
        if (cuda_module_of("elementwise", d) >= 0)
            mask |= (uint64_t)1 << d;
    return mask & cuda_domain_dtypes(op);
}

/* The dtype of the module, which is that of the last input: where's first one is bool. */
static uint32_t element_size(const ndp_call *call)
{
    return (uint32_t)ndp_dtype_size(call->in[call->n_in - 1].dtype);
}

/* Returns which of them are scalars. */
static uint32_t set_inputs(ew_input *in, const ndp_call *call)
{
    uint32_t scalars = 0;
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (call->in[i].mem) {
            in[i].at = cuda_ptr(&call->in[i]);
            continue;
        }
        cuda_store_scalar(&call->scalar[call->in[i].offset_bytes], in[i].scalar);
        scalars |= 1u << i;
    }
    return scalars;
}

/* ---- dense ---- */

/* Vectors want 16-byte addresses; the others are rows. */
static int is_dense(const ndp_call *call)
{
    CUdeviceptr bits = cuda_ptr(call->out);
    uint64_t flags = call->out->flags;
    for (uint32_t i = 0; i < call->n_in; i++)
        if (call->in[i].mem) {
            bits |= cuda_ptr(&call->in[i]);
            flags &= call->in[i].flags;
        }
    return (flags & NDP_VIEW_CONTIGUOUS) && bits % EW_VECTOR_BYTES == 0;
}

/* A thread takes so many vectors; a block so many times as many as it has threads. */
static int32_t launch_vectors(const cuda_kernel *k, ndp_stream *s, ew_params *p, uint64_t vectors,
                              uint32_t each)
{
    uint64_t blocks = (vectors + EW_THREADS * each - 1) / (EW_THREADS * each);
    p->many = each > 1;
    return cuda_launch(k, k->function[EW_VECTORS_KERNEL], s, (uint32_t)blocks, EW_THREADS, 0, p);
}

/* As many as run at once: then no thread has more to do than one vector. */
static int is_small(const cuda_kernel *k, const ndp_call *call, uint64_t vectors)
{
    return vectors <= (uint64_t)k->dev->sm_count * EW_SM_THREADS &&
           !ew_is_heavy(call->op, call->in[call->n_in - 1].dtype);
}

static int32_t run_small(const cuda_kernel *k, ndp_stream *s, const ndp_call *call,
                         uint64_t vectors)
{
    ew_small p;
    p.n = (uint32_t)ndp_view_size(call->out);
    p.out = cuda_ptr(call->out);
    p.scalars = set_inputs(p.in, call);
    return cuda_launch_early(k, k->function[EW_SMALL_KERNEL], s,
                             (uint32_t)((vectors + EW_THREADS - 1) / EW_THREADS), EW_THREADS, 0,
                             &p);
}

static int32_t run_dense(const cuda_kernel *k, ndp_stream *s, const ndp_call *call)
{
    ew_params p;
    uint32_t per = EW_VECTOR_BYTES / element_size(call);
    uint32_t many = (uint32_t)ew_many(call->op, call->in[call->n_in - 1].dtype, (int)call->n_in);
    p.n = (uint64_t)ndp_view_size(call->out);
    uint64_t vectors = (p.n + per - 1) / per, threads = (uint64_t)k->dev->sm_count * EW_SM_THREADS;
    if (p.n == 0)
        return NDP_OK;
    if (is_small(k, call, vectors))
        return run_small(k, s, call, vectors);
    p.out = cuda_ptr(call->out);
    p.walk.ndim = 0;
    p.splats = 0;
    p.scalars = set_inputs(p.in, call);
    p.vectors = ~p.scalars;
    return launch_vectors(k, s, &p, vectors, vectors < threads * many ? 1 : many);
}

/* ---- any strides ---- */

/* What a launch needs besides a piece of the plan. */
typedef struct {
    const cuda_kernel *kernel;
    ndp_stream *stream;
    const ndp_call *call;
    int tiled;
} ew_job;

/* Scalars have strides of zero. */
static void make_plan(walk_plan *plan, const ndp_call *call)
{
    const ndp_view *out = call->out, *in = call->in;
    walk_plan_begin(plan);
    walk_plan_operand(plan, cuda_ptr(out), ndp_dtype_size(out->dtype));
    for (uint32_t i = 0; i < call->n_in; i++)
        walk_plan_operand(plan, in[i].mem ? cuda_ptr(&in[i]) : 0, ndp_dtype_size(in[i].dtype));
    for (int d = out->ndim - 1; d >= 0; d--) {
        int64_t stride[EW_OPERANDS] = {out->stride[d]};
        for (uint32_t i = 0; i < call->n_in; i++)
            stride[i + 1] = in[i].mem && in[i].shape[d] > 1 ? in[i].stride[d] : 0;
        walk_plan_add(plan, out->shape[d], stride);
    }
    walk_plan_turn(plan);
}

/* The dimension along which an input lies together, if that is not the output's innermost one, and
 * both are long enough for tiles; else 0, the innermost. */
static int32_t tile_dimension(const walk_plan *plan, const int64_t *stride)
{
    int32_t best = 0;
    uint64_t nearest = ndp_magnitude(stride[0]);
    for (int32_t d = plan->ndim - 1; d > 0 && nearest > 1; d--) {
        uint64_t m = ndp_magnitude(stride[d]);
        if (m != 0 && m < nearest && plan->extent[d] >= EW_MIN_TILE) {
            nearest = m;
            best = d;
        }
    }
    return best;
}

/* Brings the dimension of the first input that wants tiles beside the innermost one. */
static int choose_tiles(walk_plan *plan)
{
    if (plan->ndim < 2 || plan->extent[0] < EW_MIN_TILE)
        return 0;
    for (int32_t i = 1; i < plan->operands; i++) {
        int32_t d = tile_dimension(plan, plan->stride[i]);
        if (d == 0)
            continue;
        for (; d > 1; d--)
            walk_plan_swap(plan, d, d - 1);
        return 1;
    }
    return 0;
}

/* One dimension is there at least: none would be a dense call. */
static void set_strided(ew_params *p, const ndp_call *call, const walk_plan *piece)
{
    memset(p, 0, sizeof *p);
    p->scalars = set_inputs(p->in, call);
    p->out = piece->at[0];
    for (uint32_t i = 0; i < call->n_in; i++)
        if (!(p->scalars >> i & 1))
            p->in[i].at = piece->at[i + 1];
    walk_few_of(piece, &p->walk, p->stride);
    if (p->walk.ndim == 0)
        p->walk.extent[p->walk.ndim++] = cuda_divisor_of(1);
}

static uint32_t quotient_up(uint64_t n, uint32_t d)
{
    return (uint32_t)((n + d - 1) / d);
}

static int32_t launch_tiled(const ew_job *job, ew_params *p)
{
    uint32_t side = EW_TILE_SIDE(job->call->n_in, element_size(job->call));
    uint64_t tiles;
    p->columns = cuda_divisor_of(quotient_up(p->walk.extent[0].value, side));
    p->lines = cuda_divisor_of(quotient_up(p->walk.extent[1].value, side));
    tiles = (uint64_t)p->columns.value * p->lines.value;
    for (int d = 2; d < p->walk.ndim; d++)
        tiles *= p->walk.extent[d].value;
    for (uint32_t i = 0; i < job->call->n_in; i++) {
        uint64_t x = ndp_magnitude(p->stride[i + 1][0]), y = ndp_magnitude(p->stride[i + 1][1]);
        p->transposed |= (uint32_t)(y != 0 && y < x) << i;
    }
    p->n = tiles;
    return cuda_launch(job->kernel, job->kernel->function[EW_TILES_KERNEL], job->stream,
                       (uint32_t)tiles, EW_ELEMENT_THREADS,
                       (job->call->n_in - 1) * EW_TILE_BYTES(side, element_size(job->call)) +
                           EW_TILE_BYTES(side, (uint32_t)ndp_dtype_size(job->call->in[0].dtype)),
                       p);
}

/* What addresses and strides beyond the rows leave of an operand's vectors, in elements. */
static uint64_t row_bits(const walk_plan *piece, int32_t operand)
{
    uint64_t bits = piece->at[operand] / (uint64_t)piece->unit[operand];
    for (int32_t d = 1; d < piece->ndim; d++)
        bits |= (uint64_t)piece->stride[operand][d];
    return bits;
}

/* Vectors of a row; 0: they would be mostly empty, or cannot be stored as such. Rows that do not
 * all begin at a vector's address may need one more. */
static uint32_t vectors_of_row(const ndp_call *call, const walk_plan *piece, const ew_params *p)
{
    uint32_t per = EW_VECTOR_BYTES / element_size(call), n = p->walk.extent[0].value;
    uint32_t vectors = quotient_up(n + (row_bits(piece, 0) % per ? per - 1 : 0), per);
    int storable = p->stride[0][0] == 1 || n == 1;
    return storable && (uint64_t)vectors * per <= 2 * (uint64_t)n ? vectors : 0;
}

/* Which inputs vectors are loaded from, at their own addresses, and which are constant along rows.
 * The rows of the output begin at a vector's address if those of all such inputs are to. */
static void set_rows(ew_params *p, const ndp_call *call, const walk_plan *piece)
{
    uint64_t per = EW_VECTOR_BYTES / element_size(call), out = row_bits(piece, 0);
    for (uint32_t i = 0; i < call->n_in; i++) {
        uint64_t bits = out | row_bits(piece, (int32_t)i + 1);
        p->vectors |= (uint32_t)(p->stride[i + 1][0] == 1 && bits % per == 0) << i;
        p->splats |= (uint32_t)(p->stride[i + 1][0] == 0) << i;
    }
}

/* Whether the mask is so much smaller than the result that it is read from caches: a line that stands
 * for many rows, or a column. */
static int mask_is_cached(const ndp_call *call, const walk_plan *piece)
{
    enum { SHARE = 16, MOST = 1 << 22 };
    uint64_t reach = 1, n = 1;
    for (int32_t d = 0; d < piece->ndim; d++) {
        reach += ndp_magnitude(piece->stride[1][d]) * (uint64_t)(piece->extent[d] - 1);
        n *= (uint64_t)piece->extent[d];
    }
    return call->op == NDP_OP_where && call->in[0].mem && reach <= n / SHARE && reach <= MOST;
}

/* How much of the general case rows need: see ew_params. */
static void set_kind_of_rows(ew_params *p, const ndp_call *call, const walk_plan *piece)
{
    const uint64_t per = EW_VECTOR_BYTES / element_size(call);
    const uint32_t all = (1u << call->n_in) - 1, simple = p->vectors | p->splats | p->scalars;
    if (piece->ndim < 2 || row_bits(piece, 0) % per || p->walk.extent[0].value % per)
        return;
    p->whole = (simple & all) == all;
    p->lazy = p->stride[1][0] == 1 && ((simple | 1) & all) == all && mask_is_cached(call, piece);
    p->vectors |= p->lazy ? 1 : 0;
}

static int32_t launch_rows(const ew_job *job, const walk_plan *piece, ew_params *p)
{
    uint32_t vectors = vectors_of_row(job->call, piece, p);
    p->n = vectors ? vectors : p->walk.extent[0].value;
    for (int d = 1; d < p->walk.ndim; d++)
        p->n *= p->walk.extent[d].value;
    if (vectors) {
        p->columns = cuda_divisor_of(vectors);
        set_rows(p, job->call, piece);
        set_kind_of_rows(p, job->call, piece);
        return cuda_launch(job->kernel, job->kernel->function[EW_ROWS_KERNEL], job->stream,
                           quotient_up(p->n, EW_THREADS), EW_THREADS, 0, p);
    }
    return cuda_launch(job->kernel, job->kernel->function[EW_ELEMENTS_KERNEL], job->stream,
                       quotient_up(p->n, EW_ELEMENT_THREADS * EW_ELEMENTS), EW_ELEMENT_THREADS, 0,
                       p);
}

static int32_t launch_piece(void *ctx, const walk_plan *piece)
{
    const ew_job *job = ctx;
    ew_params p;
    set_strided(&p, job->call, piece);
    return job->tiled && piece->ndim > 1 ? launch_tiled(job, &p) : launch_rows(job, piece, &p);
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    ew_job job = {.kernel = k, .stream = s, .call = call};
    walk_plan plan;
    if (is_dense(call))
        return run_dense(k, s, call);
    if (ndp_view_size(call->out) == 0)
        return NDP_OK;
    make_plan(&plan, call);
    job.tiled = choose_tiles(&plan);
    return walk_plan_pieces(&plan, CUDA_WALK_FEW, launch_piece, &job);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    static const char *const kernels[EW_KERNELS] = {"vectors", "rows", "elements", "tiles",
                                                    "small"};
    int module = cuda_module_of("elementwise", like->in[like->n_in - 1].dtype);
    char name[64];
    k->base.run = run;
    for (int i = 0; i < EW_KERNELS; i++) {
        snprintf(name, sizeof name, "%s_%s", cuda_op_name(like->op), kernels[i]);
        int32_t status = cuda_function(k->dev, module, name, &k->function[i]);
        if (status != NDP_OK)
            return status;
    }
    return NDP_OK;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    if (!(dtypes(like->op) >> like->in[like->n_in - 1].dtype & 1))
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_elementwise = {.dtypes = dtypes, .find = find};
