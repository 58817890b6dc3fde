/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * sort, argsort and topk along the last dimension. Short rows are sorted by one block each, long
 * ones by radix sorts of the whole device: keys alone where nothing else is wanted, integers from
 * where they are to where they go, else keys with positions, of several rows at once with the row's number as the highest digits. */
#include "sort/sort.h"
#include <string.h>
#include "host/backend.h"
#include "sort/cub.h"
#include "sort/order.h"
#include "sort/small.h"
#include "walk/plan.h"

enum { SMALL, KEYS, RESULTS, LOAD, STORE, COUNT, SCAN, RESTORE, TOPK, ROWS };
#define ROWS_AT_ONCE ((int64_t)1 << 26) /* elements of rows that are sorted as one */
#define WHOLE_DEVICE ((int64_t)1 << 20) /* a row that is worth sorts of its own */

typedef struct {
    cuda_cub_kind kind;
    sort_by by;
    int bits;
} sort_pass;

typedef enum { PLAN_SMALL, PLAN_VALUES, PLAN_ORDER } plan_kind;
typedef struct {
    plan_kind kind;
    int64_t n, k, rows, rows_at_once;
    int64_t nbytes;
    int as_f32, as_is, wide_keys, wide_order;
    int n_passes;
    sort_pass pass[3];
    /* scratch: offsets, and all of it */
    uint64_t keys[2], order[2], flag, counts, temp, temp_nbytes, total;
} sort_plan;

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

static void plan_make(sort_plan *p, const ndp_call *call)
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

/* What CUB wants for the most demanding pass. */
static int32_t plan_temp(sort_plan *p, const cuda_kernel *k)
{
    cuda_scope scope;
    int32_t status = cuda_enter(k->dev, &scope);
    if (status != NDP_OK)
        return status;
    for (int i = 0; i < p->n_passes && status == NDP_OK; i++) {
        size_t nbytes = 0;
        cuda_cub_buffers none = {{NULL, NULL}, {NULL, NULL}, 0, p->as_is};
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

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    sort_plan p;
    if (cuda_topk_fits(call))
        return cuda_topk_scratch(call);
    plan_make(&p, call);
    if (p.kind == PLAN_SMALL || plan_temp(&p, (const cuda_kernel *)base) != NDP_OK)
        return p.total; /* run() reports what is the matter */
    return p.total;
}

/* ---- running ---- */
typedef struct {
    const cuda_kernel *k;
    ndp_stream *stream;
    const ndp_call *call;
    sort_plan plan;
    sort_params params;
    cuda_cub_buffers buffers;
} sort_run;

static void set_params(sort_run *r)
{
    const ndp_call *call = r->call;
    const ndp_view *a = &call->in[0], *values = NULL, *positions = NULL;
    sort_params *p = &r->params;
    int last = a->ndim - 1;
    memset(p, 0, sizeof *p);
    if (call->op == NDP_OP_argsort)
        positions = &call->out[0];
    else
        values = &call->out[0];
    if (call->op == NDP_OP_topk)
        positions = &call->out[1];
    cuda_walk_begin(&p->rows);
    for (int d = last - 1; d >= 0; d--) {
        int at = cuda_walk_add(&p->rows, a->shape[d]);
        p->row_stride[at] = a->stride[d];
        p->row_values_stride[at] = values ? values->stride[d] : 0;
        p->row_positions_stride[at] = positions ? positions->stride[d] : 0;
    }
    cuda_walk_end(&p->rows);
    p->a = cuda_ptr(a);
    p->values = values ? cuda_ptr(values) : 0;
    p->positions = positions ? cuda_ptr(positions) : 0;
    p->n = (uint64_t)r->plan.n;
    p->k = (uint64_t)r->plan.k;
    p->first =
        call->op == NDP_OP_order_statistics ? (uint64_t)((const ndp_sort *)call->params)->first : 0;
    p->flip = ((const ndp_sort *)call->params)->descending ? UINT64_MAX : 0;
    p->stride = a->stride[last];
    p->values_stride = values ? values->stride[last] : 0;
    p->positions_stride = positions ? positions->stride[last] : 0;
    p->dtype = a->dtype;
    p->nbytes = (int32_t)r->plan.nbytes;
}

static uint32_t blocks_for(const sort_run *r, uint64_t items)
{
    uint64_t blocks = (items + SORT_THREADS - 1) / SORT_THREADS;
    uint64_t most = (uint64_t)r->k->dev->sm_count * 32;
    return (uint32_t)(blocks < most ? blocks : most);
}

static int32_t launch(sort_run *r, int function, uint32_t blocks, uint32_t threads)
{
    return cuda_launch(r->k, r->k->function[function], r->stream, blocks, threads, 0, &r->params);
}

static int32_t run_small(sort_run *r, CUfunction f)
{
    sort_params *p = &r->params;
    uint32_t word_nbytes = p->nbytes <= 4 ? 8 : p->nbytes == 8 ? 16 : 24;
    p->padded = 2;
    while (p->padded < p->n)
        p->padded *= 2;
    p->together = p->padded < SORT_SMALL_LEAST ? SORT_SMALL_LEAST / p->padded : 1;
    uint32_t count = p->padded * p->together, threads = count / 2 < 1024 ? count / 2 : 1024;
    uint64_t blocks = (p->rows.size + p->together - 1) / p->together;
    return cuda_launch(r->k, f, r->stream, (uint32_t)(blocks < INT32_MAX ? blocks : INT32_MAX),
                       threads, count * word_nbytes, p);
}

int32_t cuda_sort_small(const cuda_kernel *k, CUfunction f, ndp_stream *s, const ndp_call *call)
{
    sort_run r = {.k = k, .stream = s, .call = call};
    plan_make(&r.plan, call);
    set_params(&r);
    return run_small(&r, f);
}

int32_t cuda_sort_small_find(const cuda_kernel *k, int32_t dtype, CUfunction *out)
{
    const int64_t nbytes = ndp_dtype_size(dtype);
    return cuda_function(k->dev, CUDA_MODULE_sort_ANY,
                         nbytes <= 4   ? "sort_small_4"
                         : nbytes == 8 ? "sort_small_8"
                                       : "sort_small_16",
                         out);
}

/* Values of 4 bytes, by warps. */
static int fits_rows(const ndp_call *call, const sort_plan *p)
{
    int32_t dtype = call->in[0].dtype;
    return call->op == NDP_OP_sort && p->n <= SORT_ROWS_MOST &&
           (dtype == NDP_F32 || dtype == NDP_I32 || dtype == NDP_U32);
}

static int32_t run_rows(sort_run *r)
{
    int function = ROWS;
    uint64_t rows = SORT_ROWS_THREADS / 32, blocks = (r->params.rows.size + rows - 1) / rows;
    for (uint64_t most = 128; most < r->params.n; most *= 2)
        function++;
    return cuda_launch(r->k, r->k->function[function], r->stream, (uint32_t)blocks,
                       SORT_ROWS_THREADS, 0, &r->params);
}

static int32_t radix_sort(sort_run *r, const sort_pass *pass)
{
    cuda_scope scope;
    const sort_plan *p = &r->plan;
    size_t nbytes = p->temp_nbytes;
    int32_t status = cuda_enter(r->k->dev, &scope);
    if (status != NDP_OK)
        return status;
    int rc = cuda_cub_sort(pass->kind, (void *)(uintptr_t)(cuda_ptr(&r->call->scratch) + p->temp),
                           &nbytes, &r->buffers, r->params.n_rows * r->params.n, pass->bits,
                           cuda_stream(r->k->dev, r->stream));
    cuda_leave(&scope);
    return cuda_fail((CUresult)rc, "%s on cuda:%u", cuda_op_name(r->k->op), r->k->dev->index);
}

static void *scratch_at(const sort_run *r, uint64_t offset)
{
    return (void *)(uintptr_t)(cuda_ptr(&r->call->scratch) + offset);
}

static void set_buffers(sort_run *r)
{
    r->buffers.selector = r->buffers.keep = 0;
    for (int i = 0; i < 2; i++) {
        r->buffers.keys[i] = scratch_at(r, r->plan.keys[i]);
        r->buffers.values[i] = scratch_at(r, r->plan.order[i]);
    }
}

static uint64_t selected(const sort_run *r, void *const pair[2])
{
    return (uint64_t)(uintptr_t)pair[r->buffers.selector];
}

static int32_t run_order(sort_run *r)
{
    sort_params *p = &r->params;
    int32_t status = NDP_OK;
    set_buffers(r);
    p->wide_order = r->plan.wide_order;
    p->first_pass = 1;
    for (int i = 0; i < r->plan.n_passes && status == NDP_OK; i++, p->first_pass = 0) {
        const sort_pass *pass = &r->plan.pass[i];
        p->by = (int32_t)pass->by;
        p->wide_keys = pass->kind != CUB_PAIRS_U32;
        p->key_bits = 8 * p->nbytes;
        p->keys = selected(r, r->buffers.keys);
        p->order = selected(r, r->buffers.values);
        status = launch(r, KEYS, blocks_for(r, p->n_rows * p->n), SORT_THREADS);
        if (status == NDP_OK)
            status = radix_sort(r, pass);
    }
    p->order = selected(r, r->buffers.values);
    return status != NDP_OK ? status
                            : launch(r, RESULTS, blocks_for(r, p->n_rows * p->k), SORT_THREADS);
}

static int32_t clear_flag(sort_run *r)
{
    cuda_scope scope;
    int32_t status = cuda_patch_refuse("a memset");
    if (status == NDP_OK)
        status = cuda_enter(r->k->dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult rc = cu.cuMemsetD8Async(r->params.flag, 0, 4, cuda_stream(r->k->dev, r->stream));
    cuda_leave(&scope);
    return cuda_fail(rc, "%s on cuda:%u", cuda_op_name(r->k->op), r->k->dev->index);
}

static int32_t restore_special(sort_run *r)
{
    sort_params *p = &r->params;
    uint64_t part = (p->n + SORT_PARTS - 1) / SORT_PARTS;
    p->per_part = (part + SORT_THREADS - 1) / SORT_THREADS * SORT_THREADS;
    uint32_t parts = (uint32_t)((p->n + p->per_part - 1) / p->per_part);
    int32_t status = launch(r, COUNT, parts, SORT_THREADS);
    if (status == NDP_OK)
        status = launch(r, SCAN, 1, 3);
    return status == NDP_OK ? launch(r, RESTORE, parts, SORT_THREADS) : status;
}

/* Where the row begins in an array whose rows have these strides. */
static void *row_at(const sort_run *r, uint64_t array, const int64_t *stride)
{
    const sort_params *p = &r->params;
    uint64_t rest = p->first_row;
    int64_t offset = 0;
    for (int d = 0; d < p->rows.ndim; d++) {
        offset += (int64_t)(rest % (uint64_t)p->rows.shape[d]) * stride[d];
        rest /= (uint64_t)p->rows.shape[d];
    }
    return (void *)(uintptr_t)(array + (uint64_t)(offset * p->nbytes));
}

static int32_t run_as_is(sort_run *r)
{
    const sort_params *p = &r->params;
    r->buffers = (cuda_cub_buffers){
        .keys = {row_at(r, p->a, p->row_stride), row_at(r, p->values, p->row_values_stride)},
        .keep = 1};
    return radix_sort(r, &r->plan.pass[0]);
}

static int32_t run_values(sort_run *r)
{
    sort_params *p = &r->params;
    int32_t dtype = p->dtype, status;
    int floats = dtype == NDP_F16 || dtype == NDP_BF16 || dtype == NDP_F32 || dtype == NDP_F64;
    if (r->plan.as_is)
        return run_as_is(r);
    set_buffers(r);
    if (r->plan.as_f32) /* the keys are the elements, and are sorted in the destination */
        r->buffers.keys[0] = row_at(r, p->values, p->row_values_stride);
    p->as_f32 = r->plan.as_f32;
    p->wide_keys = r->plan.wide_keys;
    p->flag = (uint64_t)(uintptr_t)scratch_at(r, r->plan.flag);
    p->counts = (uint64_t)(uintptr_t)scratch_at(r, r->plan.counts);
    p->keys = selected(r, r->buffers.keys);
    status = clear_flag(r);
    if (status == NDP_OK)
        status = launch(r, LOAD, blocks_for(r, p->n), SORT_THREADS);
    if (status == NDP_OK)
        status = radix_sort(r, &r->plan.pass[0]);
    p->keys = selected(r, r->buffers.keys);
    if (status == NDP_OK && !(p->as_f32 && r->buffers.selector == 0))
        status = launch(r, STORE, blocks_for(r, p->n), SORT_THREADS);
    return status == NDP_OK && floats ? restore_special(r) : status;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    sort_run r = {.k = (const cuda_kernel *)base, .stream = s, .call = call};
    int32_t status = NDP_OK;
    plan_make(&r.plan, call);
    if (r.plan.rows == 0 || r.plan.k == 0)
        return NDP_OK;
    set_params(&r);
    if (cuda_topk_fits(call))
        return cuda_topk_run(r.k, r.k->function[TOPK], s, call, &r.params);
    if (r.plan.kind == PLAN_SMALL)
        return fits_rows(call, &r.plan) && r.params.rows.size < INT32_MAX
                   ? run_rows(&r)
                   : run_small(&r, r.k->function[SMALL]);
    if ((status = plan_temp(&r.plan, r.k)) != NDP_OK)
        return status;
    for (int64_t row = 0; row < r.plan.rows && status == NDP_OK; row += r.plan.rows_at_once) {
        int64_t left = r.plan.rows - row;
        r.params.first_row = (uint64_t)row;
        r.params.n_rows = (uint64_t)(left < r.plan.rows_at_once ? left : r.plan.rows_at_once);
        status = r.plan.kind == PLAN_VALUES ? run_values(&r) : run_order(&r);
    }
    return status;
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    static const char *const names[] = {
        NULL,          "sort_keys",          "sort_results",      "sort_load",
        "sort_store",  "sort_count_special", "sort_scan_special", "sort_restore_special",
        "sort_topk",   "sort_rows_4",        "sort_rows_8",       "sort_rows_16",
        "sort_rows_32"};
    int32_t status = cuda_sort_small_find(k, like->in[0].dtype, &k->function[SMALL]);
    k->base.run = run;
    k->base.scratch = scratch;
    for (int i = KEYS; i <= ROWS + 3 && status == NDP_OK; i++)
        status = cuda_function(k->dev, CUDA_MODULE_sort_ANY, names[i], &k->function[i]);
    return status;
}

static uint64_t dtypes(int32_t op)
{
    switch (op) {
    case NDP_OP_sort:
    case NDP_OP_argsort:
    case NDP_OP_topk:
    case NDP_OP_order_statistics:
    case NDP_OP_partition:
    case NDP_OP_argpartition:
        return cuda_domain_dtypes(op);
    default:
        return 0;
    }
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    if (!dtypes(like->op))
        return cuda_unsupported(like, why, n);
    return like->op == NDP_OP_order_statistics || like->op == NDP_OP_partition ||
                   like->op == NDP_OP_argpartition
               ? cuda_order_find(dev, like, out, why, n)
               : cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_sorts = {.dtypes = dtypes, .find = find};
