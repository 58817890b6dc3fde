/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Plans of sort, argsort and topk: by which radix sorts, of how many rows at a time, and where the
 * scratch memory's parts are. */
#include "sort/plan.h"
#include <string.h>

#define ROWS_AT_ONCE ((int64_t)1 << 26) /* elements of rows that are sorted as one */
#define WHOLE_DEVICE ((int64_t)1 << 20) /* a row that is worth sorts of its own */

static int bit_length(uint64_t x)
{
    return x ? 64 - __builtin_clzll(x) : 0;
}

static void add_pass(sort_plan *p, sort_by by, int bits)
{
    int wide = bits > 32 || p->nbytes >= 8;
    sort_pass *pass = &p->pass[p->n_passes++];
    wide = by == SORT_BY_ROW ? 0 : wide;
    pass->kind = p->wide_order ? CUB_PAIRS_WIDE : wide ? CUB_PAIRS_U64 : CUB_PAIRS_U32;
    pass->by = by;
    pass->bits = bits;
    p->wide_keys |= wide || p->wide_order;
}

static void plan_order(sort_plan *p)
{
    int64_t most = p->n < ROWS_AT_ONCE ? ROWS_AT_ONCE / p->n : 1;
    p->kind = PLAN_ORDER;
    p->rows_at_once = p->rows < most ? p->rows : most;
    p->wide_order = p->n * p->rows_at_once > (int64_t)UINT32_MAX;
    int row_bits = bit_length((uint64_t)p->rows_at_once - 1);
    if (p->nbytes == 16)
        add_pass(p, SORT_BY_SECOND, 64);
    if (p->nbytes == 16)
        add_pass(p, SORT_BY_FIRST, 64);
    else
        add_pass(p, SORT_BY_ELEMENT, 8 * (int)p->nbytes + (p->nbytes < 8 ? row_bits : 0));
    if (p->nbytes >= 8 && row_bits > 0)
        add_pass(p, SORT_BY_ROW, row_bits);
}

/* How integers, in ascending order and side by side, are sorted without making keys of them. */
static int kind_as_is(const ndp_call *call, cuda_cub_kind *kind)
{
    const ndp_view *a = &call->in[0], *out = &call->out[0];
    static const struct {
        int32_t dtype;
        cuda_cub_kind kind;
    } kinds[4] = {{NDP_I32, CUB_KEYS_I32},
                  {NDP_I64, CUB_KEYS_I64},
                  {NDP_U32, CUB_KEYS_U32},
                  {NDP_U64, CUB_KEYS_U64}};
    if (((const ndp_sort *)call->params)->descending || a->stride[a->ndim - 1] != 1 ||
        out->stride[out->ndim - 1] != 1)
        return 0;
    for (int i = 0; i < 4; i++)
        if (kinds[i].dtype == a->dtype) {
            *kind = kinds[i].kind;
            return 1;
        }
    return 0;
}

static void plan_values(sort_plan *p, const ndp_call *call)
{
    const ndp_view *out = &call->out[0];
    int descending = ((const ndp_sort *)call->params)->descending;
    p->kind = PLAN_VALUES;
    p->rows_at_once = 1;
    p->as_f32 = out->dtype == NDP_F32 && !descending && out->stride[out->ndim - 1] == 1;
    p->wide_keys = p->nbytes == 8;
    p->n_passes = 1;
    p->pass[0].kind = p->as_f32 ? CUB_KEYS_F32 : p->wide_keys ? CUB_KEYS_U64 : CUB_KEYS_U32;
    p->pass[0].bits = 8 * (int)p->nbytes;
    p->as_is = kind_as_is(call, &p->pass[0].kind);
}

static uint64_t reserve(sort_plan *p, uint64_t nbytes)
{
    uint64_t at = p->total;
    p->total += (nbytes + 255) / 256 * 256;
    return at;
}

static void plan_scratch(sort_plan *p)
{
    uint64_t elements = (uint64_t)(p->n * p->rows_at_once);
    for (int i = 0; i < 2 && !p->as_is; i++) {
        p->keys[i] = reserve(p, p->as_f32 && i == 0 ? 0 : elements * (p->wide_keys ? 8 : 4));
        if (p->kind == PLAN_ORDER)
            p->order[i] = reserve(p, elements * (p->wide_order ? 8 : 4));
    }
    if (p->kind == PLAN_VALUES && !p->as_is) {
        p->flag = reserve(p, 4);
        p->counts = reserve(p, 3 * SORT_PARTS * 8);
    }
    p->temp = p->total;
}

void cuda_sort_plan(sort_plan *p, const ndp_call *call)
{
    const ndp_view *a = &call->in[0], *out = &call->out[0];
    int last = a->ndim - 1, is_complex = a->dtype == NDP_C64 || a->dtype == NDP_C128;
    memset(p, 0, sizeof *p);
    p->n = a->shape[last];
    p->k = out->shape[last];
    p->nbytes = ndp_dtype_size(a->dtype);
    p->rows = 1;
    for (int d = 0; d < last; d++)
        p->rows *= a->shape[d];
    if (p->n <= SORT_SMALL || p->rows == 0 || p->k == 0)
        return;
    if (call->op == NDP_OP_sort && !is_complex && p->n <= (int64_t)UINT32_MAX &&
        (p->rows == 1 || p->n >= WHOLE_DEVICE))
        plan_values(p, call);
    else
        plan_order(p);
    plan_scratch(p);
}

int32_t cuda_sort_plan_temp(sort_plan *p, const cuda_kernel *k)
{
    cuda_scope scope;
    int32_t status = cuda_enter(k->dev, &scope);
    if (status != NDP_OK)
        return status;
    for (int i = 0; i < p->n_passes && status == NDP_OK; i++) {
        size_t nbytes = 0;
        cuda_cub_buffers none = {.keep = p->as_is};
        int r = cuda_cub_sort(p->pass[i].kind, NULL, &nbytes, &none,
                              (uint64_t)(p->n * p->rows_at_once), p->pass[i].bits, NULL);
        status =
            cuda_fail((CUresult)r, "memory for %s on cuda:%u", cuda_op_name(k->op), k->dev->index);
        p->temp_nbytes = nbytes > p->temp_nbytes ? nbytes : p->temp_nbytes;
    }
    cuda_leave(&scope);
    p->total = p->temp + p->temp_nbytes;
    return status;
}
