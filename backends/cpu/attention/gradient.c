/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of attention: weights are computed again, block by block, once for the gradient of q and
 * once for those of k and v, so that every sum has one owner and one order. */
#include <math.h>
#include <string.h>
#include "attention/attention.h"

/* The side of an operand's rows i... : lanes are rows, or columns. */
static at_side rows_of(const ndp_view *v, int64_t b, int64_t h, int64_t i)
{
    return (at_side){at_row(v, b, h, i), v->dtype, v->stride[2], v->stride[3]};
}

static at_side columns_of(const ndp_view *v, int64_t b, int64_t h, int64_t i)
{
    return (at_side){at_row(v, b, h, i), v->dtype, v->stride[3], v->stride[2]};
}

/* The block's weights, dropped ones 0 and the others as if none were, and the gradients of its
 * scores. */
static void block(const at_plan *p, char *slot, int64_t b, int64_t h, int64_t i, int64_t m,
                  int64_t j, int64_t n)
{
    const at_side g = rows_of(p->g, b, h, i), v = rows_of(p->v, b, at_key_head(p, h), j);
    char *grads = slot + p->slot_grads;
    at_scores(p, slot, b, h, i, m, j, n);
    at_product(p, slot, m, n, p->e, &g, &v, grads, AT_BLOCK, 0);
    for (int64_t r = 0; r < m; r++) {
        char *x = slot + r * AT_BLOCK * p->k->element, *d = grads + r * AT_BLOCK * p->k->element;
        const double lse = p->rows->get(at_row(p->lse, b, h, i + r)),
                     delta = p->delta[(b * p->heads + h) * p->m + i + r];
        if (p->least) {
            at_drop(p, d, b, h, i + r, j, n);
            p->rows->scale(d, n, 1 / p->keep);
        }
        if (lse == -INFINITY) { /* it sees no key */
            memset(x, 0, (size_t)(n * p->k->element));
            memset(d, 0, (size_t)(n * p->k->element));
            continue;
        }
        p->rows->grad(x, d, n, lse, delta, p->params->scale);
        at_drop(p, x, b, h, i + r, j, n);
    }
}

static void store(const at_plan *p, const ndp_view *to, int64_t b, int64_t h, int64_t i, int64_t m,
                  int64_t width, const char *from)
{
    const int64_t size = p->k->element;
    for (int64_t r = 0; r < m; r++, from += width * size) {
        char *dst = at_row(to, b, h, i + r);
        if (!mm_is_native(p->k, to->dtype))
            p->k->save[to->dtype](from, width, dst, to->stride[3]);
        for (int64_t c = 0; mm_is_native(p->k, to->dtype) && c < width; c++)
            memcpy(dst + c * to->stride[3] * size, from + c * size, (size_t)size);
    }
}

static void queries(const at_plan *p, char *slot, int64_t b, int64_t h, int64_t i)
{
    const int64_t m = p->m - i < AT_BLOCK ? p->m - i : AT_BLOCK, seen = at_seen(p, i + m);
    char *dq = slot + p->slot_first;
    memset(dq, 0, (size_t)(m * p->d * p->k->element));
    for (int64_t j = 0; j < seen; j += AT_BLOCK) {
        const int64_t n = seen - j < AT_BLOCK ? seen - j : AT_BLOCK;
        const at_side grads = {slot + p->slot_grads, p->k->dtype, AT_BLOCK, 1};
        const at_side key = columns_of(p->key, b, at_key_head(p, h), j);
        block(p, slot, b, h, i, m, j, n);
        at_product(p, slot, m, p->d, n, &grads, &key, dq, p->d, 1);
    }
    store(p, p->out[0], b, h, i, m, p->d, dq);
}

/* What the block of queries i... of one head adds to the gradients of its keys j... */
static void add_queries(const at_plan *p, char *slot, int64_t b, int64_t h, int64_t i, int64_t j,
                        int64_t n)
{
    const int64_t m = p->m - i < AT_BLOCK ? p->m - i : AT_BLOCK;
    const at_side weights = {slot, p->k->dtype, 1, AT_BLOCK};
    const at_side grads = {slot + p->slot_grads, p->k->dtype, 1, AT_BLOCK};
    const at_side q = columns_of(p->q, b, h, i), g = columns_of(p->g, b, h, i);
    block(p, slot, b, h, i, m, j, n);
    at_product(p, slot, n, p->d, m, &grads, &q, slot + p->slot_first, p->d, 1);
    at_product(p, slot, n, p->e, m, &weights, &g, slot + p->slot_second, p->e, 1);
}

static void keys(const at_plan *p, char *slot, int64_t b, int64_t key_head, int64_t j)
{
    const int64_t n = p->n - j < AT_BLOCK ? p->n - j : AT_BLOCK, size = p->k->element;
    const int64_t group = p->heads / p->key_heads;
    char *dk = slot + p->slot_first, *dv = slot + p->slot_second;
    memset(dk, 0, (size_t)(n * p->d * size));
    memset(dv, 0, (size_t)(n * p->e * size));
    for (int64_t h = key_head * group; h < (key_head + 1) * group; h++)
        for (int64_t i = 0; i < p->m; i += AT_BLOCK) {
            const int64_t end = i + AT_BLOCK < p->m ? i + AT_BLOCK : p->m;
            if (at_seen(p, end) > j)
                add_queries(p, slot, b, h, i, j, n);
        }
    for (int64_t r = 0; r < n && p->least; r++)
        p->rows->scale(dv + r * p->e * size, p->e, 1 / p->keep);
    store(p, p->out[1], b, key_head, j, n, p->d, dk);
    store(p, p->out[2], b, key_head, j, n, p->e, dv);
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

static void key_blocks(void *ctx, int64_t begin, int64_t end)
{
    at_plan *p = ctx;
    char *slot = at_take(p);
    const int64_t blocks = (p->n + AT_BLOCK - 1) / AT_BLOCK;
    for (int64_t u = begin; u < end; u++)
        keys(p, slot, u / blocks / p->key_heads, u / blocks % p->key_heads, u % blocks * AT_BLOCK);
    at_give(p, slot);
}

int64_t at_delta_bytes(const at_plan *p)
{
    return p->o ? p->batch * p->heads * p->m * (int64_t)sizeof *p->delta : 0;
}

/* One row's sum of g*o, in the type of the sums. */
static double delta_of(const at_plan *p, char *g, char *o, int64_t b, int64_t h, int64_t i)
{
    const int64_t size = p->k->element;
    const ndp_view *const views[2] = {p->g, p->o};
    char *const to[2] = {g, o};
    double sum = 0;
    for (int64_t c = 0; c < p->e; c += AT_BLOCK) {
        const int64_t n = p->e - c < AT_BLOCK ? p->e - c : AT_BLOCK;
        for (int k = 0; k < 2; k++) {
            const ndp_view *v = views[k];
            const char *row = at_row(v, b, h, i) + c * v->stride[3] * ndp_dtype_size(v->dtype);
            p->k->load[v->dtype](row, 0, v->stride[3], 1, n, to[k]);
        }
        for (int64_t k = 0; k < n; k++)
            sum += p->rows->get(g + k * size) * p->rows->get(o + k * size);
    }
    return sum;
}

static void deltas(void *ctx, int64_t begin, int64_t end)
{
    at_plan *p = ctx;
    char *slot = at_take(p);
    for (int64_t row = begin; row < end; row++)
        p->delta[row] = delta_of(p, slot, slot + p->slot_grads, row / p->m / p->heads,
                                 row / p->m % p->heads, row % p->m);
    at_give(p, slot);
}

void at_gradient(at_plan *p)
{
    const int64_t rows = p->batch * p->heads * p->m;
    const int64_t q_blocks = (p->m + AT_BLOCK - 1) / AT_BLOCK,
                  k_blocks = (p->n + AT_BLOCK - 1) / AT_BLOCK,
                  work = 2 * AT_BLOCK * (p->n + p->m + 1) * (p->d + p->e + 8),
                  grain = (MM_TASK_WORK + work - 1) / work;
    if (rows > 0)
        cpu_parallel(rows, MM_TASK_WORK / (8 * p->e + 8) + 1, deltas, p);
    if (p->batch * p->heads * q_blocks > 0)
        cpu_parallel(p->batch * p->heads * q_blocks, grain, query_blocks, p);
    if (p->batch * p->key_heads * k_blocks > 0)
        cpu_parallel(p->batch * p->key_heads * k_blocks, grain, key_blocks, p);
}
