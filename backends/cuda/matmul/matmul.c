/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Matrix products: the kernel that the core finds, and the run of a plan. */
#include "matmul/plan.h"

enum { TILES, PACK, FINISH, VECTOR };

/* ---- running it ---- */

static uint32_t blocks_for_lines(const cuda_kernel *k, const mm_params *p)
{
    uint64_t blocks =
        (uint64_t)p->batch * (uint64_t)p->m * (uint64_t)((p->n + MM_THREADS - 1) / MM_THREADS);
    uint64_t most = (uint64_t)k->dev->sm_count * 32;
    return (uint32_t)(blocks < most ? blocks : most);
}

static int32_t run_tiles(const cuda_kernel *k, ndp_stream *s, mm_params p)
{
    const int64_t most = 1 << 30;
    int64_t tiles = ((p.m + MM_TILE - 1) / MM_TILE) * ((p.n + MM_TILE - 1) / MM_TILE);
    int32_t status = NDP_OK;
    for (p.first = 0; p.first < p.batch && status == NDP_OK; p.first += MM_BATCH_MAX) {
        int64_t items = p.batch - p.first < MM_BATCH_MAX ? p.batch - p.first : MM_BATCH_MAX;
        status = cuda_launch_2d(k, k->function[TILES], s, (uint32_t)(tiles < most ? tiles : most),
                                (uint32_t)items, MM_THREADS, 0, &p);
    }
    return status;
}

/* A matrix by a vector, both in whole vectors of 16 bytes along k, of so many rows that their blocks
 * fill the device, and for 16 bits so long that a thread has four vectors of each: there it is faster
 * than the library (H100, H200), which is as fast or faster elsewhere and in double precision. */
static int is_by_vector(const cuda_kernel *k, const mm_plan *plan)
{
    const mm_params *p = &plan->p;
    const mm_matrix *matrix = p->m == 1 ? &p->b : &p->a, *vector = p->m == 1 ? &p->a : &p->b;
    const int64_t rows = p->m == 1 ? p->n : p->m, step = p->m == 1 ? p->b.column : p->a.row;
    return k->function[VECTOR] && (p->m == 1 || p->n == 1) && p->a.column == 1 && p->b.row == 1 &&
           p->batch == 1 && plan->n_outer == 0 && matrix->dtype == vector->dtype &&
           !p->scale_a.at && matrix->size > 1 &&
           p->k * matrix->size >= MM_THREADS * 16 * (matrix->size == 2 ? 4 : 1) &&
           p->k * matrix->size % 16 == 0 && step * matrix->size % 16 == 0 && matrix->at % 16 == 0 &&
           vector->at % 16 == 0 && rows >= (int64_t)k->dev->sm_count * 8 && rows <= INT32_MAX;
}

static int32_t run_vector(const cuda_kernel *k, ndp_stream *s, mm_params *p)
{
    const int64_t rows = p->m == 1 ? p->n : p->m;
    return cuda_launch(k, k->function[VECTOR], s,
                       (uint32_t)((rows + MM_VECTOR_ROWS - 1) / MM_VECTOR_ROWS), MM_THREADS, 0, p);
}

/* Lines of the copy are columns of the operand where those are closer together. */
static int32_t run_pack(const cuda_kernel *k, ndp_stream *s, const mm_plan *plan, int i,
                        const mm_matrix *to, int64_t offset)
{
    int64_t rows = i == A ? plan->p.m : plan->p.k, columns = i == A ? plan->p.k : plan->p.n;
    mm_params p = {.a = plan->from[i], .out = *to, .m = rows, .n = columns};
    p.batch = to->batch ? plan->p.batch : 1;
    if (to->size == 1) /* lines are filled up: bytes.c */
        p.k = to->column == 1 ? to->row : to->column;
    p.a.at += (uint64_t)offset;
    if (to->column != 1) {
        mm_swap(&p.a.row, &p.a.column);
        mm_swap(&p.out.row, &p.out.column);
        mm_swap(&p.m, &p.n);
    }
    return cuda_launch(k, k->function[PACK], s, blocks_for_lines(k, &p), MM_THREADS, 0, &p);
}

static int32_t run_library(const cuda_kernel *k, ndp_stream *s, const mm_plan *plan,
                           const int64_t offset[OPERANDS], CUdeviceptr scratch)
{
    const mm_params *p = &plan->p;
    mm_matrix in[2] = {p->a, p->b};
    int32_t status = NDP_OK;
    for (int i = A; i <= B && status == NDP_OK; i++) {
        in[i].at += (uint64_t)offset[i];
        if (plan->packed[i]) {
            in[i].at = scratch + plan->packed_at[i];
            status = run_pack(k, s, plan, i, &in[i], offset[i]);
        }
    }
    CUdeviceptr out = p->out.at + (CUdeviceptr)offset[OUT];
    CUdeviceptr sums = plan->sums_at == UINT64_MAX ? out : scratch + plan->sums_at;
    blaslt_operands x = {.a = in[A].at,
                         .b = in[B].at,
                         .out = plan->finish ? sums : out,
                         .bias = plan->key.has_bias ? p->bias.at + (CUdeviceptr)offset[BIAS] : 0,
                         .workspace = scratch + plan->workspace_at,
                         .scale = {p->scale_a.at, p->scale_b.at},
                         .alpha = plan->finish ? 1 : p->alpha,
                         .beta = plan->finish ? 0 : p->beta};
    if (status == NDP_OK)
        status = cuda_blaslt_run(k->dev, s, &plan->key, &x);
    if (status != NDP_OK || !plan->finish)
        return status;
    mm_params last = plan->final;
    last.a.at = sums;
    last.out.at = out;
    last.bias.at += last.bias.at ? (uint64_t)offset[BIAS] : 0;
    return cuda_launch(k, k->function[FINISH], s, blocks_for_lines(k, &last), MM_THREADS, 0, &last);
}

/* One step of the outer dimensions. */
static int32_t run_step(const cuda_kernel *k, ndp_stream *s, mm_plan *plan, int64_t step,
                        CUdeviceptr scratch)
{
    int64_t offset[OPERANDS] = {0};
    for (int d = plan->n_outer - 1; d >= 0; d--) {
        for (int i = 0; i < OPERANDS; i++)
            offset[i] += step % plan->outer[d] * plan->outer_stride[i][d];
        step /= plan->outer[d];
    }
    if (plan->use_library)
        return run_library(k, s, plan, offset, scratch);
    mm_params p = plan->p;
    p.a.at += (uint64_t)offset[A];
    p.b.at += (uint64_t)offset[B];
    p.out.at += (uint64_t)offset[OUT];
    p.bias.at += p.bias.at ? (uint64_t)offset[BIAS] : 0;
    return run_tiles(k, s, p);
}

/* Where the library refuses the first step, the own kernel computes all. */
static int32_t run_steps(const cuda_kernel *k, ndp_stream *s, mm_plan *plan, const ndp_call *call)
{
    const CUdeviceptr scratch = plan->scratch ? cuda_ptr(&call->scratch) : 0;
    int64_t steps = 1;
    int32_t status = NDP_OK;
    for (int d = 0; d < plan->n_outer; d++)
        steps *= plan->outer[d];
    for (int64_t step = 0; step < steps && status == NDP_OK; step++) {
        status = run_step(k, s, plan, step, scratch);
        if (status == BLASLT_REFUSED && step > 0)
            return cuda_error(NDP_ERR_INTERNAL,
                              "cuBLASLt refuses product %lld of %lld, and not those before it",
                              (long long)step + 1, (long long)steps);
    }
    return status;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const ndp_matmul *given = call->params;
    mm_plan plan;
    mm_plan_call(&plan, k->dev, call);
    if (mm_is_empty(&plan))
        return NDP_OK;
    if (given->epilogue && plan.compute != NDP_F32 && plan.compute != NDP_F64)
        return cuda_error(NDP_ERR_DTYPE, "matmul has no epilogue %d for dtype %d",
                          (int)given->epilogue, (int)plan.p.out.dtype);
    if (is_by_vector(k, &plan))
        return run_vector(k, s, &plan.p);
    if (plan.scratch &&
        (!call->scratch.mem || ndp_view_size(&call->scratch) < (int64_t)plan.scratch))
        return cuda_error(NDP_ERR_INTERNAL, "matmul was called without its scratch memory");
    const int32_t status = run_steps(k, s, &plan, call);
    if (status != BLASLT_REFUSED)
        return status;
    mm_plan_own(&plan, call);
    return run_steps(k, s, &plan, call);
}

static uint64_t scratch_bytes(const ndp_kernel *base, const ndp_call *call)
{
    mm_plan plan;
    mm_plan_call(&plan, ((const cuda_kernel *)base)->dev, call);
    return plan.scratch;
}

/* ---- finding it ---- */

static uint64_t dtypes(int32_t op)
{
    return cuda_domain_dtypes(op);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    static const char *const names[] = {[TILES] = "matmul_tiles",
                                        [PACK] = "matmul_pack",
                                        [FINISH] = "matmul_finish",
                                        [VECTOR] = "matmul_vector"};
    const int32_t compute = mm_compute_dtype(like->in[0].dtype, like->out[0].dtype);
    const int last = compute == NDP_F32 ? VECTOR : FINISH;
    int module = cuda_module_of("matmul", compute);
    int32_t status = NDP_OK;
    k->base.run = run;
    k->base.scratch = scratch_bytes;
    cuda_blaslt_open(k->dev);
    for (int i = 0; i <= last && status == NDP_OK; i++)
        status = cuda_function(k->dev, module, names[i], &k->function[i]);
    return status;
}

/* The scales are the last operands. */
static int32_t find_scaled(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                           size_t n)
{
    const int32_t result = like->out[0].dtype;
    const uint64_t narrow = dtypes(like->op);
    int fits = like->n_in >= 4 && narrow >> like->in[0].dtype & 1 &&
               narrow >> like->in[1].dtype & 1 &&
               (result == NDP_F16 || result == NDP_BF16 || result == NDP_F32);
    for (uint32_t i = 0; i < like->n_in; i++)
        fits = fits && like->in[i].mem && (i + 2 < like->n_in || like->in[i].dtype == NDP_F32);
    return fits ? cuda_kernel_get(dev, like, 0, make, out) : cuda_unsupported(like, why, n);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    const int32_t in = like->in[0].dtype, result = like->out[0].dtype;
    if (like->op == NDP_OP_scaled_mm)
        return find_scaled(dev, like, out, why, n);
    const uint64_t whole = (uint64_t)1 << NDP_I8 | (uint64_t)1 << NDP_I16 | (uint64_t)1 << NDP_I32 |
                           (uint64_t)1 << NDP_I64 | (uint64_t)1 << NDP_U8 | (uint64_t)1 << NDP_U16 |
                           (uint64_t)1 << NDP_U32 | (uint64_t)1 << NDP_U64;
    int integers =
        (whole >> in & 1) && (whole >> result & 1) && ndp_dtype_size(result) >= ndp_dtype_size(in);
    int halves = (in == NDP_F16 || in == NDP_BF16) && result == NDP_F32;
    if (!(dtypes(like->op) >> in & 1) || like->in[1].dtype != in ||
        !(in == result || integers || halves))
        return cuda_unsupported(like, why, n);
    for (uint32_t i = 0; i < like->n_in; i++)
        if (!like->in[i].mem)
            return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_matmul = {.dtypes = dtypes, .find = find};

/* ---- ndp.math/1 ---- */

static uint32_t effective(ndp_dev *dev, int32_t op, int32_t dtype, const int64_t *mnk,
                          uint32_t mode)
{
    cuda_scope scope;
    (void)mnk;
    if (cuda_op_class(op) != NDP_CLASS_MATMUL || cuda_enter(dev, &scope) != NDP_OK)
        return mode & NDP_MODE_DETERMINISTIC;
    pthread_mutex_lock(&dev->lock);
    cuda_blaslt_open(dev);
    pthread_mutex_unlock(&dev->lock);
    cuda_leave(&scope);
    return cuda_blaslt_mode(dev, dtype, mode);
}

const ndp_math_1 cuda_math_group = {.size = sizeof(ndp_math_1), .effective = effective};
