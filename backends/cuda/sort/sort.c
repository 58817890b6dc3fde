/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * sort, argsort and topk along the last dimension. Short rows are sorted by one block each, long
 * ones by radix sorts of the whole device: keys alone where nothing else is wanted, integers from
 * where they are to where they go, else keys with positions, of several rows at once with the row's
 * number as the highest digits (plan.c). */
#include "sort/sort.h"
#include <string.h>
#include "host/backend.h"
#include "sort/order.h"
#include "sort/plan.h"
#include "sort/small.h"
#include "walk/plan.h"

enum { SMALL, KEYS, RESULTS, LOAD, STORE, COUNT, SCAN, RESTORE, ROWS, TOPK = ROWS + 4 };

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    sort_plan p;
    if (cuda_topk_fits(call))
        return cuda_topk_scratch(call);
    cuda_sort_plan(&p, call);
    if (p.kind == PLAN_SMALL || cuda_sort_plan_temp(&p, (const cuda_kernel *)base) != NDP_OK)
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
    cuda_sort_plan(&r.plan, call);
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
    r->buffers = (cuda_cub_buffers){.selector = 0};
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
    p->moved = (uint64_t)(uintptr_t)r->buffers.keys[!r->buffers.selector];
    p->moves = (uint64_t)(uintptr_t)r->buffers.moves;
    if (status == NDP_OK && !(p->as_f32 && r->buffers.selector == 0))
        status = launch(r, STORE, blocks_for(r, p->n), SORT_THREADS);
    return status == NDP_OK && floats ? restore_special(r) : status;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    sort_run r = {.k = (const cuda_kernel *)base, .stream = s, .call = call};
    int32_t status = NDP_OK;
    cuda_sort_plan(&r.plan, call);
    if (r.plan.rows == 0 || r.plan.k == 0)
        return NDP_OK;
    set_params(&r);
    if (cuda_topk_fits(call))
        return cuda_topk_run(r.k, &r.k->function[TOPK], s, call, &r.params);
    if (r.plan.kind == PLAN_SMALL)
        return fits_rows(call, &r.plan) && r.params.rows.size < INT32_MAX
                   ? run_rows(&r)
                   : run_small(&r, r.k->function[SMALL]);
    if ((status = cuda_sort_plan_temp(&r.plan, r.k)) != NDP_OK)
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
        "sort_rows_4", "sort_rows_8",        "sort_rows_16",      "sort_rows_32"};
    int32_t status = cuda_sort_small_find(k, like->in[0].dtype, &k->function[SMALL]);
    k->base.run = run;
    k->base.scratch = scratch;
    for (int i = KEYS; i < TOPK && status == NDP_OK; i++)
        status = cuda_function(k->dev, CUDA_MODULE_sort_ANY, names[i], &k->function[i]);
    return status == NDP_OK && like->op == NDP_OP_topk
               ? cuda_topk_find(k, like->in[0].dtype, &k->function[TOPK])
               : status;
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
