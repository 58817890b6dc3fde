/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention: a call's plan, slots of scratch memory, and one block of scores. */
#include <string.h>
#include "attention/attention.h"
#include "math/philox.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Where the parts of a slot are, and how many slots there are. */
static void plan_slots(at_plan *p)
{
    const int64_t size = p->k->element, width = larger(larger(p->d, p->e), AT_BLOCK);
    int64_t at = AT_BLOCK * AT_BLOCK * size;
    p->slot_grads = at;
    at += AT_BLOCK * AT_BLOCK * size;
    p->slot_first = at;
    at += mm_round_up(AT_BLOCK * width * size, 64);
    p->slot_second = at;
    at += mm_round_up(AT_BLOCK * width * size, 64);
    p->slot_a = at;
    at += mm_round_up((AT_BLOCK + p->k->rows) * MM_MAX_DEPTH * size, 64);
    p->slot_b = at;
    at += mm_round_up((width + p->k->columns) * MM_MAX_DEPTH * size, 64);
    p->slot_bytes = at;
    p->slots = cpu_threads();
}

void at_plan_call(at_plan *p, const ndp_call *call)
{
    const int gradient = call->op == NDP_OP_attention_grad;
    const ndp_view *in = call->in;
    memset(p, 0, sizeof *p);
    p->params = call->params;
    p->q = &in[0];
    p->key = &in[1];
    p->v = &in[2];
    p->g = gradient ? &in[3] : NULL;
    p->lse = gradient ? &in[4] : NULL;
    p->o = gradient ? &in[5] : NULL;
    p->mask = p->params->has_mask ? &in[call->n_in - 1] : NULL;
    for (uint32_t i = 0; i < call->n_out; i++)
        p->out[i] = &call->out[i];
    p->batch = p->q->shape[0];
    p->heads = p->q->shape[1];
    p->m = p->q->shape[2];
    p->d = p->q->shape[3];
    p->key_heads = p->key->shape[1];
    p->n = p->key->shape[2];
    p->e = p->v->shape[3];
    p->k = mm_kernels_for(p->q->dtype, p->q->dtype);
    p->rows = p->k->element == 4 ? CPU_ISA_PICK(cpu_attention_rows_f32)
                                 : CPU_ISA_PICK(cpu_attention_rows_f64);
    p->least = (uint32_t)(p->params->dropout * 0x1p32);
    p->keep = 1 - p->params->dropout;
    plan_slots(p);
}

char *at_row(const ndp_view *v, int64_t b, int64_t h, int64_t i)
{
    return cpu_ptr(v) +
           (b * v->stride[0] + h * v->stride[1] + i * v->stride[2]) * ndp_dtype_size(v->dtype);
}

char *at_take(at_plan *p)
{
    int64_t s = 0;
    while (atomic_exchange_explicit(&p->busy[s], 1, memory_order_acquire))
        s = s + 1 < p->slots ? s + 1 : 0;
    return p->memory + s * p->slot_bytes;
}

void at_give(at_plan *p, const char *slot)
{
    atomic_store_explicit(&p->busy[(slot - p->memory) / p->slot_bytes], 0, memory_order_release);
}

void at_product(const at_plan *p, char *slot, int64_t m, int64_t n, int64_t depth, const at_side *a,
                const at_side *b, char *c, int64_t ldc, int add)
{
    const mm_kernels *k = p->k;
    const int64_t size_a = ndp_dtype_size(a->dtype), size_b = ndp_dtype_size(b->dtype);
    for (int64_t i = 0; i < depth; i += MM_MAX_DEPTH) {
        const int64_t kc = depth - i < MM_MAX_DEPTH ? depth - i : MM_MAX_DEPTH;
        mm_pack(k, k->pack_a, k->rows, a->data + i * a->along * size_a, a->dtype, a->lane, a->along,
                m, kc, slot + p->slot_a);
        mm_pack(k, k->pack_b, k->columns, b->data + i * b->along * size_b, b->dtype, b->lane,
                b->along, n, kc, slot + p->slot_b);
        k->block(m, n, kc, slot + p->slot_a, slot + p->slot_b, c, ldc, add || i > 0);
    }
    for (int64_t row = 0; depth == 0 && !add && row < m; row++)
        memset(c + row * ldc * k->element, 0, (size_t)(n * k->element));
}

int64_t at_seen(const at_plan *p, int64_t end)
{
    if (!p->params->causal || end + p->params->diagonal >= p->n)
        return p->n;
    return larger(end + p->params->diagonal, 0);
}

/* A row of the mask, of queries i and keys j..j+n, converted to the type of the sums. */
static void mask_row(const at_plan *p, char *row, int64_t b, int64_t h, int64_t i, int64_t j,
                     int64_t n)
{
    const ndp_view *mask = p->mask;
    const char *at = at_row(mask, b, h, i) + j * mask->stride[3] * ndp_dtype_size(mask->dtype);
    _Alignas(64) char dense[AT_BLOCK * 8];
    if (mask->dtype == NDP_BOOL) {
        p->rows->hide_by(row, (const uint8_t *)at, mask->stride[3], n);
    } else if (mm_is_native(p->k, mask->dtype)) {
        p->rows->add_mask(row, at, mask->stride[3], n);
    } else {
        p->k->load[mask->dtype](at, 0, mask->stride[3], 1, n, dense);
        p->rows->add_mask(row, dense, 1, n);
    }
}

void at_scores(const at_plan *p, char *slot, int64_t b, int64_t h, int64_t i, int64_t m, int64_t j,
               int64_t n)
{
    const int64_t key_head = at_key_head(p, h);
    const at_side q = {at_row(p->q, b, h, i), p->q->dtype, p->q->stride[2], p->q->stride[3]};
    const at_side key = {at_row(p->key, b, key_head, j), p->key->dtype, p->key->stride[2],
                         p->key->stride[3]};
    at_product(p, slot, m, n, p->d, &q, &key, slot, AT_BLOCK, 0);
    for (int64_t r = 0; r < m; r++) {
        char *row = slot + r * AT_BLOCK * p->k->element;
        const int64_t seen = at_seen(p, i + r + 1) - j;
        p->rows->scale(row, n, p->params->scale);
        if (p->mask)
            mask_row(p, row, b, h, i + r, j, n);
        if (seen < n)
            p->rows->hide(row, seen > 0 ? seen : 0, n);
    }
}

void at_drop(const at_plan *p, void *x, int64_t b, int64_t h, int64_t i, int64_t j, int64_t n)
{
    uint32_t word[2 * 4 * PHILOX_LANES];
    const int64_t first = ((b * p->heads + h) * p->m + i) * p->n + j;
    if (p->least == 0)
        return;
    philox_blocks(p->params->key, p->params->counter, (uint64_t)(first / 4), word);
    philox_blocks(p->params->key, p->params->counter, (uint64_t)(first / 4 + PHILOX_LANES),
                  word + 4 * PHILOX_LANES);
    p->rows->drop(x, word + first % 4, p->least, n);
}
