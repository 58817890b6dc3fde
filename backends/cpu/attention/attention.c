/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention: a block of queries against all keys, with the softmax kept up to date from block to
 * block. Source: Dao et al., FlashAttention (2022), algorithm 1. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "attention/attention.h"

/* What is known of the rows of a block of queries so far. */
typedef struct {
    double max[AT_BLOCK], sum[AT_BLOCK];
} row_sums;

/* Scores of one row become weights; the sums before count less by what the maximum rose. */
static void take_row(const at_plan *p, row_sums *s, int64_t r, char *scores, char *out, int64_t n)
{
    const double most = p->rows->max(scores, n), max = most > s->max[r] ? most : s->max[r];
    const double shift = max > -INFINITY ? max : 0;
    const double down = s->max[r] > -INFINITY ? exp(s->max[r] - shift) : 0;
    s->sum[r] = s->sum[r] * down + p->rows->exp(scores, n, shift);
    s->max[r] = max;
    if (down != 1)
        p->rows->scale(out, p->e, down);
}

static void finish_row(const at_plan *p, const row_sums *s, int64_t r, char *out, int64_t b,
                       int64_t h, int64_t i)
{
    const double sum = s->sum[r], none = -INFINITY;
    const ndp_view *o = p->out[0], *lse = p->out[1];
    p->rows->scale(out, p->e, sum == 0 ? 0 : 1 / (sum * p->keep));
    if (mm_is_native(p->k, o->dtype)) {
        const int64_t size = p->k->element;
        for (int64_t c = 0; c < p->e; c++)
            memcpy(at_row(o, b, h, i) + c * o->stride[3] * size, out + c * size, (size_t)size);
    } else {
        p->k->save[o->dtype](out, p->e, at_row(o, b, h, i), o->stride[3]);
    }
    const double total = sum == 0 ? none : s->max[r] + log(sum);
    if (lse->dtype == NDP_F64)
        *(double *)(void *)at_row(lse, b, h, i) = total;
    else
        *(float *)(void *)at_row(lse, b, h, i) = (float)total;
}

static void queries(const at_plan *p, char *slot, int64_t b, int64_t h, int64_t i)
{
    const int64_t m = p->m - i < AT_BLOCK ? p->m - i : AT_BLOCK, size = p->k->element;
    const int64_t seen = at_seen(p, i + m), key_head = at_key_head(p, h);
    char *out = slot + p->slot_first;
    row_sums s;
    memset(out, 0, (size_t)(m * p->e * size));
    for (int64_t r = 0; r < m; r++) {
        s.max[r] = -INFINITY;
        s.sum[r] = 0;
    }
    for (int64_t j = 0; j < seen; j += AT_BLOCK) {
        const int64_t n = seen - j < AT_BLOCK ? seen - j : AT_BLOCK;
        at_scores(p, slot, b, h, i, m, j, n);
        for (int64_t r = 0; r < m; r++) {
            char *row = slot + r * AT_BLOCK * size;
            take_row(p, &s, r, row, out + r * p->e * size, n);
            at_drop(p, row, b, h, i + r, j, n);
        }
        const at_side weights = {slot, p->k->dtype, AT_BLOCK, 1};
        const at_side v = {at_row(p->v, b, key_head, j), p->v->dtype, p->v->stride[3],
                           p->v->stride[2]};
        at_product(p, slot, m, p->e, n, &weights, &v, out, p->e, 1);
    }
    for (int64_t r = 0; r < m; r++)
        finish_row(p, &s, r, out + r * p->e * size, b, h, i + r);
}

static void query_blocks(void *ctx, int64_t begin, int64_t end)
{
    at_plan *p = ctx;
    char *slot = at_take(p);
    const int64_t blocks = (p->m + AT_BLOCK - 1) / AT_BLOCK;
    for (int64_t u = begin; u < end; u++)
        queries(p, slot, u / blocks / p->heads, u / blocks % p->heads, u % blocks * AT_BLOCK);
    at_give(p, slot);
}

static uint64_t scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    at_plan p;
    (void)kernel;
    at_plan_call(&p, call);
    return (uint64_t)(mm_round_up(p.slots, 64) + p.slots * p.slot_bytes + at_delta_bytes(&p));
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    at_plan p;
    (void)kernel;
    (void)stream;
    at_plan_call(&p, call);
    const int64_t slots = mm_round_up(p.slots, 64) + p.slots * p.slot_bytes;
    const int64_t need = slots + at_delta_bytes(&p);
    if (!call->scratch.mem || ndp_view_size(&call->scratch) < need)
        return cpu_error(NDP_ERR_INTERNAL, "%s was called without its scratch memory",
                         cpu_op_name(call->op));
    p.busy = (atomic_uchar *)cpu_ptr(&call->scratch);
    p.memory = (char *)p.busy + mm_round_up(p.slots, 64);
    p.delta = (double *)(void *)((char *)p.busy + slots);
    memset(p.busy, 0, (size_t)p.slots);
    if (call->op == NDP_OP_attention_grad) {
        at_gradient(&p);
        return NDP_OK;
    }
    const int64_t blocks = (p.m + AT_BLOCK - 1) / AT_BLOCK;
    const int64_t work = (p.m < AT_BLOCK ? p.m : AT_BLOCK) * (p.n + 1) * (p.d + p.e + 8);
    if (p.batch * p.heads * blocks > 0)
        cpu_parallel(p.batch * p.heads * blocks, (MM_TASK_WORK + work - 1) / work, query_blocks,
                     &p);
    return NDP_OK;
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .scratch = scratch, .run = run};

static uint64_t dtypes(int32_t op)
{
    return cpu_domain_dtypes(op);
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    if (cpu_domain_dtypes(like->op) >> dtype & 1 && like->in[1].dtype == dtype &&
        like->in[2].dtype == dtype && like->out[0].dtype == dtype)
        return &the_kernel;
    snprintf(why, n, "the CPU plug-in has no %s of dtype %d", cpu_op_name(like->op), (int)dtype);
    return NULL;
}

const cpu_class cpu_attention = {dtypes, find};
