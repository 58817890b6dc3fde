/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Planning a matrix product.
 *
 * The library takes matrices one of whose strides is 1. Its result is final where nothing but
 * alpha, beta and a bias of one element a column is to be done; else it leaves sums (f32 for f16
 * and bf16, so that there is one rounding) in scratch memory, and matmul_finish makes the result of
 * them. Operands of other strides are packed into scratch where the product is large, else the own
 * kernel, matmul_tiles, reads them as they are; so do all integers but i8. Large products of 8-bit
 * operands are bytes.c's. */
#include "matmul/plan.h"
#include <string.h>

enum {
    EXACT_I8_DEPTH = 1 << 16 /* sums of as many i8 products cannot leave i32 */
};
#define PACK_WORK 2e6 /* multiplications for which packing beats the own kernel */

/* ---- the problem ---- */

/* The longest batch dimension goes with the kernels, the host steps through the others. */
static void split_batch(mm_plan *plan, const ndp_view *const views[OPERANDS])
{
    const ndp_view *out = views[OUT];
    int n = out->ndim - 2, longest = 0;
    for (int d = 1; d < n; d++)
        if (out->shape[d] > out->shape[longest])
            longest = d;
    plan->p.batch = n > 0 ? out->shape[longest] : 1;
    for (int d = 0; d < n; d++) {
        if (d != longest)
            plan->outer[plan->n_outer] = out->shape[d];
        for (int i = 0; i < OPERANDS; i++) {
            int64_t stride = views[i] ? views[i]->stride[d] : 0;
            if (d == longest)
                mm_operand(plan, i)->batch = plan->p.batch > 1 ? stride : 0;
            else
                plan->outer_stride[i][plan->n_outer] = stride * mm_operand(plan, i)->size;
        }
        plan->n_outer += d != longest;
    }
}

/* More products than one launch of the library takes, as equal shares that the host steps through,
 * if they can be made. */
static void cut_batch(mm_plan *plan)
{
    mm_params *p = &plan->p;
    int64_t shares = (p->batch + MM_BATCH_MAX - 1) / MM_BATCH_MAX, most = 64 * shares;
    if (p->batch <= MM_BATCH_MAX || plan->n_outer == NDP_MAX_NDIM)
        return;
    while (shares < most && p->batch % shares != 0)
        shares++;
    if (p->batch % shares != 0)
        return;
    p->batch /= shares;
    plan->outer[plan->n_outer] = shares;
    for (int i = 0; i < OPERANDS; i++)
        plan->outer_stride[i][plan->n_outer] =
            mm_operand(plan, i)->batch * p->batch * mm_operand(plan, i)->size;
    plan->n_outer++;
}

/* A result whose columns are dense is computed as its transpose: out^T = b^T a^T. */
static void transpose(mm_plan *plan)
{
    mm_params *p = &plan->p;
    for (int i = 0; i < OPERANDS; i++)
        mm_swap(&mm_operand(plan, i)->row, &mm_operand(plan, i)->column);
    mm_swap(&p->m, &p->n);
    mm_matrix was = p->a;
    p->a = p->b;
    p->b = was;
    was = p->scale_a;
    p->scale_a = p->scale_b;
    p->scale_b = was;
    for (int d = 0; d < plan->n_outer; d++)
        mm_swap(&plan->outer_stride[A][d], &plan->outer_stride[B][d]);
}

/* Products that share b, their lines evenly spaced, are one taller product. */
static void fold_batch(mm_params *p)
{
    mm_matrix *const all[] = {&p->a, &p->out, &p->bias};
    if (p->batch == 1 || p->b.batch != 0 || p->scale_a.at)
        return;
    for (int i = 0; i < 3; i++)
        if (p->m > 1 && all[i]->at && all[i]->batch != p->m * all[i]->row)
            return;
    for (int i = 0; i < 3; i++) {
        if (p->m == 1)
            all[i]->row = all[i]->batch;
        all[i]->batch = 0;
    }
    p->m *= p->batch;
    p->batch = 1;
}

int32_t mm_compute_dtype(int32_t dtype, int32_t out)
{
    switch (dtype) {
    case NDP_F16:
    case NDP_BF16:
    case NDP_F32:
    case NDP_F8_E4M3:
    case NDP_F8_E5M2:
        return NDP_F32;
    case NDP_F64:
    case NDP_C64:
    case NDP_C128:
        return dtype;
    default:
        return ndp_dtype_size(out) > 4 || ndp_dtype_size(dtype) > 4 ? NDP_U64 : NDP_U32;
    }
}

static void read_call(mm_plan *plan, const ndp_call *call)
{
    const ndp_matmul *given = call->params;
    const ndp_view *views[OPERANDS] = {&call->in[0], &call->in[1], &call->out[0],
                                       given->has_bias ? &call->in[2] : NULL};
    const int scaled = call->op == NDP_OP_scaled_mm;
    for (int i = 0; scaled && i < 2; i++)
        views[SCALE_A + i] = &call->in[2 + given->has_bias + i];
    memset(plan, 0, offsetof(mm_plan, outer));
    mm_params *p = &plan->p;
    for (int i = 0; i < OPERANDS; i++)
        if (views[i]) {
            const int64_t *stride = views[i]->stride + views[i]->ndim - 2;
            *mm_operand(plan, i) = (mm_matrix){.at = cuda_ptr(views[i]),
                                               .row = stride[0],
                                               .column = stride[1],
                                               .dtype = views[i]->dtype,
                                               .size = (int32_t)ndp_dtype_size(views[i]->dtype)};
        }
    p->m = views[OUT]->shape[views[OUT]->ndim - 2];
    p->n = views[OUT]->shape[views[OUT]->ndim - 1];
    p->k = views[A]->shape[views[A]->ndim - 1];
    p->alpha = given->alpha;
    p->beta = given->beta;
    p->epilogue = given->epilogue;
    plan->compute = mm_compute_dtype(p->a.dtype, p->out.dtype);
    split_batch(plan, views);
}

int mm_is_empty(const mm_plan *plan)
{
    int64_t n = plan->p.m * plan->p.n * plan->p.batch;
    for (int d = 0; d < plan->n_outer; d++)
        n *= plan->outer[d];
    return n == 0;
}

/* ---- what the library takes ---- */

/* Lines of dense elements, far enough apart: their distance, or 0. One line may be anywhere. */
static int64_t line_of(int64_t lines, int64_t length, int64_t line, int64_t element)
{
    if (length > 1 && element != 1)
        return 0;
    if (lines <= 1)
        return (length + 15) / 16 * 16 + (length == 0) * 16;
    return line >= length && line > 0 && line <= INT32_MAX ? line : 0;
}

static int fits(const mm_matrix *x, int64_t rows, int64_t columns, int may_turn, int64_t *line,
                int32_t *transposed)
{
    const int turn_first = may_turn && columns == 1 && rows > 1; /* one long line, not many short */
    *line = *transposed = 0;
    for (int t = 0; t <= may_turn && x->batch >= 0 && !*line; t++) {
        *transposed = t != turn_first;
        *line = *transposed ? line_of(columns, rows, x->column, x->row)
                            : line_of(rows, columns, x->row, x->column);
    }
    return *line != 0;
}

int32_t mm_alignment(const mm_plan *plan, int i, uint64_t at)
{
    uint64_t bits = at | MM_ALIGN;
    for (int d = 0; d < plan->n_outer && at; d++)
        bits |= (uint64_t)plan->outer_stride[i][d];
    return (int32_t)(bits & (~bits + 1));
}

uint64_t mm_take_scratch(mm_plan *plan, uint64_t nbytes)
{
    uint64_t at = plan->scratch;
    plan->scratch += (nbytes + MM_ALIGN - 1) / MM_ALIGN * MM_ALIGN;
    return at;
}

/* A place for a dense copy of a or b, in the order of its smaller stride, lines 16 bytes apart. */
static void plan_pack(mm_plan *plan, int i)
{
    mm_matrix *x = mm_operand(plan, i);
    int64_t rows = i == A ? plan->p.m : plan->p.k, columns = i == A ? plan->p.k : plan->p.n;
    int64_t step = x->row < 0 ? -x->row : x->row, along = x->column < 0 ? -x->column : x->column;
    int64_t unit = 16 / x->size;
    int turn = columns == 1 || (rows > 1 && step < along);
    int64_t length = turn ? rows : columns, lines = turn ? columns : rows;
    int64_t line = (length + unit - 1) / unit * unit, items = x->batch ? plan->p.batch : 1;
    plan->from[i] = *x;
    plan->packed[i] = 1;
    plan->packed_at[i] = mm_take_scratch(plan, (uint64_t)(items * lines * line * x->size));
    x->row = turn ? 1 : line;
    x->column = turn ? line : 1;
    x->batch = x->batch ? lines * line : 0;
}

static int library_dtypes(const mm_plan *plan)
{
    const mm_params *p = &plan->p;
    if (p->scale_a.at) /* bytes.c */
        return 0;
    if (plan->compute != NDP_U32 && plan->compute != NDP_U64)
        return 1;
    return p->a.dtype == NDP_I8 && p->out.dtype == NDP_I32 && p->k <= EXACT_I8_DEPTH &&
           p->alpha == 1 && (p->beta == 0 || p->beta == 1) && !p->bias.at && p->epilogue == 0 &&
           p->n % 4 == 0 && p->k % 4 == 0;
}

/* i8 in the library: addresses and lines of 4 bytes at least. */
static int integers_fit(const blaslt_key *k)
{
    return k->dtype != NDP_I8 ||
           (k->align[A] >= 4 && k->align[B] >= 4 && k->align[OUT] >= 4 && k->line[A] % 4 == 0 &&
            k->line[B] % 4 == 0 && k->line[OUT] % 4 == 0 && k->step[A] % 4 == 0 &&
            k->step[B] % 4 == 0);
}

static int32_t operand_align(const mm_plan *plan, int i)
{
    return plan->packed[i] ? MM_ALIGN : mm_alignment(plan, i, i == A ? plan->p.a.at : plan->p.b.at);
}

static void set_key(mm_plan *plan, ndp_dev *dev, const ndp_call *call)
{
    const mm_params *p = &plan->p;
    blaslt_key *k = &plan->key;
    k->m = p->m;
    k->n = p->n;
    k->k = p->k;
    k->batch = p->batch;
    k->step[A] = p->a.batch;
    k->step[B] = p->b.batch;
    k->step[OUT] = p->out.batch;
    k->dtype = p->a.dtype;
    k->dtype_b = p->b.dtype;
    k->out = p->out.dtype;
    k->align[A] = operand_align(plan, A);
    k->align[B] = operand_align(plan, B);
    k->align[OUT] = mm_alignment(plan, OUT, p->out.at);
    k->mode = cuda_blaslt_mode(dev, k->dtype, call->mode);
}

int mm_bias_fits(const mm_plan *plan)
{
    const mm_params *p = &plan->p;
    return p->bias.at && plan->compute == NDP_F32 && p->bias.dtype == p->out.dtype &&
           (p->m == 1 || p->bias.row == 0) && (p->n == 1 || p->bias.column == 1) &&
           p->bias.batch == 0 && mm_alignment(plan, BIAS, p->bias.at) >= 16;
}

/* Functions that the library has as well, as precise as the result shows. */
static int epilogue_fits(const mm_plan *plan)
{
    const mm_params *p = &plan->p;
    const int half = p->out.dtype == NDP_F16 || p->out.dtype == NDP_BF16;
    if (!p->epilogue)
        return 1;
    return plan->compute == NDP_F32 && (half || p->out.dtype == NDP_F32) &&
           (p->epilogue == NDP_EPILOGUE_RELU || (p->epilogue == NDP_EPILOGUE_GELU_TANH && half));
}

/* The library's result is the final one. */
static int try_whole(mm_plan *plan, ndp_dev *dev, uint64_t *workspace)
{
    const mm_params *p = &plan->p;
    int32_t turned;
    if (!epilogue_fits(plan) || p->alpha == 0 || (p->bias.at && !mm_bias_fits(plan)) ||
        !fits(&p->out, p->m, p->n, 0, &plan->key.line[OUT], &turned))
        return 0;
    plan->key.has_bias = p->bias.at != 0;
    plan->key.epilogue = p->epilogue;
    plan->key.align[BIAS] = plan->key.has_bias ? mm_alignment(plan, BIAS, p->bias.at) : 0;
    return integers_fit(&plan->key) && cuda_blaslt_serves(dev, &plan->key, workspace);
}

/* The library leaves sums, in the result's own place where they fit and nothing of it is read. */
static int try_sums(mm_plan *plan, ndp_dev *dev, uint64_t *workspace)
{
    mm_params *p = &plan->p, *last = &plan->final;
    blaslt_key *k = &plan->key;
    int32_t turned;
    if (plan->compute == NDP_U32 || plan->compute == NDP_U64)
        return 0;
    k->has_bias = k->align[BIAS] = k->epilogue = 0;
    *last = *p;
    plan->sums_at = UINT64_MAX;
    last->a = p->out;
    if (p->beta != 0 || p->out.dtype != plan->compute ||
        !fits(&p->out, p->m, p->n, 0, &k->line[OUT], &turned)) {
        int32_t size = (int32_t)ndp_dtype_size(plan->compute);
        int64_t line = (p->n * size + 15) / 16 * 16 / size;
        plan->sums_at =
            mm_take_scratch(plan, (uint64_t)p->batch * (uint64_t)p->m * (uint64_t)(line * size));
        last->a = (mm_matrix){.row = line,
                              .column = 1,
                              .batch = p->batch > 1 ? p->m * line : 0,
                              .dtype = plan->compute,
                              .size = size};
        k->line[OUT] = line;
        k->step[OUT] = last->a.batch;
        k->out = plan->compute;
        k->align[OUT] = MM_ALIGN;
    }
    plan->finish = 1;
    return cuda_blaslt_serves(dev, k, workspace);
}

static int plan_library(mm_plan *plan, ndp_dev *dev, const ndp_call *call)
{
    mm_params *p = &plan->p;
    uint64_t workspace = 0;
    int32_t integers = plan->compute == NDP_U32 || plan->compute == NDP_U64;
    if (!dev->blaslt || !library_dtypes(plan) || p->k == 0 || p->batch > MM_BATCH_MAX ||
        p->m > INT32_MAX || p->n > INT32_MAX || p->k > INT32_MAX)
        return 0;
    double work = (double)p->m * (double)p->n * (double)p->k * (double)p->batch;
    int pays = !integers && work >= PACK_WORK;
    for (int i = A; i <= B; i++) {
        int64_t rows = i == A ? p->m : p->k, columns = i == A ? p->k : p->n;
        if (fits(mm_operand(plan, i), rows, columns, 1, &plan->key.line[i],
                 &plan->key.transposed[i]))
            continue;
        if (!pays)
            return 0;
        plan_pack(plan, i);
        if (!fits(mm_operand(plan, i), rows, columns, 1, &plan->key.line[i],
                  &plan->key.transposed[i]))
            return 0;
    }
    int32_t turned;
    if (!pays && !fits(&p->out, p->m, p->n, 0, &plan->key.line[OUT], &turned))
        return 0;
    set_key(plan, dev, call);
    if (!try_whole(plan, dev, &workspace) && !try_sums(plan, dev, &workspace))
        return 0;
    plan->workspace_at = mm_take_scratch(plan, workspace);
    return 1;
}

/* The problem, in the form that the library would rather have. */
static void plan_problem(mm_plan *plan, const ndp_call *call)
{
    mm_params *p = &plan->p;
    int32_t turned;
    int64_t line;
    read_call(plan, call);
    if (mm_is_empty(plan))
        return;
    fold_batch(p);
    if (fits(&p->out, p->m, p->n, 1, &line, &turned) && turned)
        transpose(plan);
    fold_batch(p);
}

void mm_plan_own(mm_plan *plan, const ndp_call *call)
{
    plan_problem(plan, call);
}

/* What does not come about is planned anew from the beginning. */
void mm_plan_call(mm_plan *plan, ndp_dev *dev, const ndp_call *call)
{
    plan_problem(plan, call);
    if (mm_is_empty(plan))
        return;
    if (mm_takes_bytes(plan, dev)) {
        plan->use_library = mm_plan_bytes(plan, dev, call);
        if (plan->use_library)
            return;
        plan_problem(plan, call);
    }
    cut_batch(plan);
    plan->use_library = plan_library(plan, dev, call);
    if (!plan->use_library)
        plan_problem(plan, call);
}
