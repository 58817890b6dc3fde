/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of 8-bit operands in the library (integers, and floating ones with scales). Its kernels for
 * them want a and b dense along k and lines of a multiple of 16 bytes, so other layouts are packed and
 * filled up with zeros. What the library does not do to its sums is done by matmul_finish. */
#include "matmul/plan.h"
#include <string.h>

enum {
    LINE = 16,               /* bytes, and elements */
    EXACT_I8_DEPTH = 1 << 16 /* sums of as many i8 products cannot leave i32 */
};
#define WORK 2e6 /* multiplications for which packing beats the own kernel */

static int64_t round_up(int64_t n)
{
    return (n + LINE - 1) / LINE * LINE;
}

static int is_f8(int32_t dtype)
{
    return dtype == NDP_F8_E4M3 || dtype == NDP_F8_E5M2;
}

/* M11: never e5m2 by e5m2. */
int mm_takes_bytes(const mm_plan *plan, ndp_dev *dev)
{
    const mm_params *p = &plan->p;
    const int whole = p->a.dtype == NDP_I8 && plan->compute == NDP_U32 && p->k <= EXACT_I8_DEPTH;
    const int f8 = is_f8(p->a.dtype) && is_f8(p->b.dtype) && p->scale_a.at &&
                   (p->a.dtype == NDP_F8_E4M3 || p->b.dtype == NDP_F8_E4M3);
    return dev->blaslt && (whole || f8) && p->k > 0 && p->alpha != 0 && p->batch <= MM_BATCH_MAX &&
           p->m <= INT32_MAX - LINE && p->n <= INT32_MAX - LINE && p->k <= INT32_MAX - LINE &&
           (double)p->m * (double)p->n * (double)p->k * (double)p->batch >= WORK;
}

/* Operand i as lines that are dense along k, packed where it is not. lines: as many as the library
 * reads. */
static void take_lines(mm_plan *plan, int i, int64_t lines, int64_t given)
{
    mm_matrix *x = mm_operand(plan, i);
    const int64_t depth = round_up(plan->p.k);
    const int64_t along = i == A ? x->column : x->row, step = i == A ? x->row : x->column;
    const int fits = depth == plan->p.k && lines == given && along == 1 && x->batch >= 0 &&
                     x->batch % LINE == 0 && mm_alignment(plan, i, x->at) >= LINE &&
                     (given == 1 || (step >= depth && step % LINE == 0 && step <= INT32_MAX));
    plan->key.line[i] = fits && given > 1 ? step : depth;
    plan->key.transposed[i] = i == B;
    plan->key.align[i] = fits ? mm_alignment(plan, i, x->at) : MM_ALIGN;
    plan->key.step[i] = x->batch;
    if (fits)
        return;
    plan->from[i] = *x;
    plan->packed[i] = 1;
    plan->packed_at[i] =
        mm_take_scratch(plan, (uint64_t)((x->batch ? plan->p.batch : 1) * lines * depth));
    x->row = i == A ? depth : 1;
    x->column = i == A ? 1 : depth;
    x->batch = x->batch ? lines * depth : 0;
    plan->key.step[i] = x->batch;
}

/* How the library is told of the scales, or BLASLT_PLAIN where it cannot be: it refuses those that do not begin at
 * whole lines when the product is run, though it chose an algorithm. */
static int32_t scales_of(const mm_params *p)
{
    if ((p->scale_a.at | p->scale_b.at) % BLASLT_SCALE_ALIGN != 0)
        return BLASLT_PLAIN;
    const int one_a = p->m == 1 || p->scale_a.row == 0, one_b = p->n == 1 || p->scale_b.column == 0;
    if (one_a && one_b)
        return BLASLT_SCALED;
    return !one_a && !one_b && p->scale_a.row == 1 && p->scale_b.column == 1 ? BLASLT_SCALED_LINES
                                                                             : BLASLT_PLAIN;
}

/* The library's result is the final one. */
static int try_whole(mm_plan *plan, ndp_dev *dev, uint64_t *workspace)
{
    const mm_params *p = &plan->p;
    blaslt_key *k = &plan->key;
    const int f8 = p->scale_a.at != 0;
    k->scaled = f8 ? scales_of(p) : BLASLT_PLAIN;
    if (k->n != p->n || p->out.column != 1 || (p->out.row * p->out.size) % LINE != 0 ||
        p->out.row < p->n || p->out.row > INT32_MAX || p->alpha != 1 || p->beta != 0 ||
        p->epilogue || mm_alignment(plan, OUT, p->out.at) < LINE || p->out.batch < 0 ||
        (f8 ? k->scaled == BLASLT_PLAIN : p->out.dtype != NDP_I32 || p->bias.at) ||
        (p->bias.at && !mm_bias_fits(plan)))
        return 0;
    k->line[OUT] = p->out.row;
    k->step[OUT] = p->out.batch;
    k->out = p->out.dtype;
    k->align[OUT] = mm_alignment(plan, OUT, p->out.at);
    k->has_bias = p->bias.at != 0;
    k->align[BIAS] = p->bias.at ? mm_alignment(plan, BIAS, p->bias.at) : 0;
    return cuda_blaslt_serves(dev, k, workspace);
}

/* The library leaves sums in scratch. */
static int try_sums(mm_plan *plan, ndp_dev *dev, uint64_t *workspace)
{
    const mm_params *p = &plan->p;
    blaslt_key *k = &plan->key;
    const int64_t step = p->batch > 1 ? p->m * k->n : 0;
    k->scaled = BLASLT_PLAIN;
    k->has_bias = k->align[BIAS] = 0;
    k->out = p->scale_a.at ? NDP_F32 : NDP_I32;
    k->line[OUT] = k->n;
    k->step[OUT] = step;
    k->align[OUT] = MM_ALIGN;
    plan->sums_at = mm_take_scratch(plan, (uint64_t)(p->batch * p->m * k->n) * 4);
    plan->finish = 1;
    plan->final = *p;
    plan->final.a =
        (mm_matrix){.row = k->n, .column = 1, .batch = step, .dtype = plan->compute, .size = 4};
    return cuda_blaslt_serves(dev, k, workspace);
}

int mm_plan_bytes(mm_plan *plan, ndp_dev *dev, const ndp_call *call)
{
    const mm_params *p = &plan->p;
    blaslt_key *k = &plan->key;
    uint64_t workspace = 0;
    *k = (blaslt_key){.m = p->m, .n = round_up(p->n), .k = round_up(p->k), .batch = p->batch};
    k->dtype = p->a.dtype;
    k->dtype_b = p->b.dtype;
    k->mode = cuda_blaslt_mode(dev, k->dtype, call->mode);
    take_lines(plan, A, p->m, p->m);
    take_lines(plan, B, k->n, p->n);
    if (!try_whole(plan, dev, &workspace) && !try_sums(plan, dev, &workspace))
        return 0;
    plan->workspace_at = mm_take_scratch(plan, workspace);
    return 1;
}
