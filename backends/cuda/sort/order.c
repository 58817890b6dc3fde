/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * order_statistics, partition and argpartition along the last dimension: elements of rows up to
 * ORDER_ROW_LEAST long are those of the sorted row, others are found digit by digit. */
#include "sort/order.h"
#include <string.h>
#include "sort/small.h"
#include "walk/plan.h"

enum { BEGIN, COUNT, PICK, STORE, PARTS, SCAN, MOVE, ROWS, SMALL };

typedef struct {
    int64_t problems, at_once, groups; /* groups: for a block each; 0: not by blocks */
    int32_t partition;
    uint64_t states, counts, parts, total; /* places in scratch memory; all of it */
} order_plan;

static int is_partition(const ndp_call *call)
{
    return call->op != NDP_OP_order_statistics;
}

static int64_t length_of(const ndp_call *call)
{
    return call->in[0].shape[call->in[0].ndim - 1];
}

static uint64_t reserve(order_plan *p, uint64_t nbytes)
{
    const uint64_t at = p->total;
    p->total += (nbytes + 255) / 256 * 256;
    return at;
}

/* Groups of neighbours of the order, where blocks are to find them: rows are short, or so many that
 * blocks of a row each fill the device. */
static int64_t groups_for_blocks(const ndp_call *call, const cuda_kernel *k)
{
    const int64_t n = length_of(call), wanted = call->out[0].shape[call->out[0].ndim - 1];
    int64_t groups = (wanted + ORDER_TOGETHER - 1) / ORDER_TOGETHER;
    for (int d = 0; d < call->in[0].ndim - 1; d++)
        groups *= call->in[0].shape[d];
    return n <= (int64_t)UINT32_MAX && (n <= ORDER_ROW_MOST || groups >= 2 * k->dev->sm_count)
               ? groups
               : 0;
}

static void plan_order(order_plan *p, const ndp_call *call, const cuda_kernel *k)
{
    const ndp_view *a = &call->in[0], *out = &call->out[0];
    *p = (order_plan){.partition = is_partition(call)};
    p->problems = p->partition ? 1 : out->shape[out->ndim - 1];
    for (int d = 0; d < a->ndim - 1; d++)
        p->problems *= a->shape[d];
    p->at_once = p->problems < ORDER_AT_ONCE ? p->problems : ORDER_AT_ONCE;
    if (p->problems == 0 || length_of(call) == 0 ||
        (!p->partition && length_of(call) <= ORDER_ROW_LEAST)) {
        p->problems = 0;
        return;
    }
    p->groups = p->partition ? 0 : groups_for_blocks(call, k);
    if (p->groups > 0)
        return;
    p->states = reserve(p, (uint64_t)p->at_once * sizeof(order_state));
    p->counts = reserve(p, (uint64_t)p->at_once * ORDER_DIGITS * 8);
    if (p->partition)
        p->parts = reserve(p, (uint64_t)p->at_once * 2 * ORDER_PARTS * 8);
}

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    order_plan p;
    plan_order(&p, call, (const cuda_kernel *)base);
    return p.total;
}

/* ---- running ---- */

typedef struct {
    const cuda_kernel *k;
    ndp_stream *stream;
    order_params params;
    uint32_t problems; /* at this time */
} order_run;

static void set_params(order_params *p, const ndp_call *call, const order_plan *plan)
{
    const ndp_view *a = &call->in[0], *out = &call->out[0];
    const int last = a->ndim - 1, positions = call->op == NDP_OP_argpartition;
    const CUdeviceptr base = plan->total ? cuda_ptr(&call->scratch) : 0;
    memset(p, 0, sizeof *p);
    cuda_walk_begin(&p->rows);
    for (int d = last - 1; d >= 0; d--) {
        int at = cuda_walk_add(&p->rows, a->shape[d]);
        p->row_stride[at] = a->stride[d];
        p->row_values_stride[at] = positions ? 0 : out->stride[d];
        p->row_positions_stride[at] = positions ? out->stride[d] : 0;
    }
    cuda_walk_end(&p->rows);
    p->a = cuda_ptr(a);
    p->values = positions ? 0 : cuda_ptr(out);
    p->positions = positions ? cuda_ptr(out) : 0;
    p->n = (uint64_t)a->shape[last];
    p->k = plan->partition ? 1 : (uint64_t)out->shape[last];
    p->first = (uint64_t)((const ndp_sort *)call->params)->first;
    p->stride = a->stride[last];
    p->values_stride = positions ? 0 : out->stride[last];
    p->positions_stride = positions ? out->stride[last] : 0;
    p->dtype = a->dtype;
    p->nbytes = (int32_t)ndp_dtype_size(a->dtype);
    p->states = base + plan->states;
    p->counts = base + plan->counts;
    p->parts = base + plan->parts;
}

static int32_t launch(order_run *r, int function, uint32_t blocks)
{
    return cuda_launch_2d(r->k, r->k->function[function], r->stream, blocks, r->problems,
                          ORDER_THREADS, 0, &r->params);
}

/* Blocks of a problem, so that the device is full and each has some elements a thread. */
static uint32_t blocks_for(const order_run *r)
{
    const uint64_t each = 8 * ORDER_THREADS, wanted = (r->params.n + each - 1) / each;
    uint64_t most = (uint64_t)r->k->dev->sm_count * 8 / r->problems;
    most = most ? most : 1;
    return (uint32_t)(wanted < most ? wanted : most);
}

static int32_t find_keys(order_run *r)
{
    order_params *p = &r->params;
    int32_t status = launch(r, BEGIN, 1);
    for (int left = 8 * p->nbytes; left > 0 && status == NDP_OK; left -= p->bits) {
        p->bits = left < ORDER_BITS ? left : ORDER_BITS;
        p->shift = left - p->bits;
        status = launch(r, COUNT, blocks_for(r));
        if (status == NDP_OK)
            status = launch(r, PICK, 1);
    }
    return status;
}

/* One part fewer than there is room for, which has the sums. */
static int32_t part_rows(order_run *r)
{
    order_params *p = &r->params;
    const uint64_t tiles = (p->n + ORDER_THREADS - 1) / ORDER_THREADS, most = ORDER_PARTS - 1;
    p->per_part = (tiles + most - 1) / most * ORDER_THREADS;
    p->n_parts = (p->n + p->per_part - 1) / p->per_part;
    int32_t status = launch(r, PARTS, (uint32_t)p->n_parts);
    if (status == NDP_OK)
        status = launch(r, SCAN, 1);
    return status == NDP_OK ? launch(r, MOVE, (uint32_t)p->n_parts) : status;
}

static int32_t find_by_blocks(order_run *r, int64_t groups)
{
    r->params.from = (uint64_t)groups;
    return cuda_launch(r->k, r->k->function[ROWS], r->stream,
                       (uint32_t)(groups < INT32_MAX ? groups : INT32_MAX), ORDER_THREADS, 0,
                       &r->params);
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    order_run r = {.k = (const cuda_kernel *)base, .stream = s};
    order_plan plan;
    int32_t status = NDP_OK;
    plan_order(&plan, call, r.k);
    if (plan.problems == 0)
        return ndp_view_size(&call->out[0]) == 0
                   ? NDP_OK
                   : cuda_sort_small(r.k, r.k->function[SMALL], s, call);
    set_params(&r.params, call, &plan);
    if (plan.groups > 0)
        return find_by_blocks(&r, plan.groups);
    for (int64_t from = 0; from < plan.problems && status == NDP_OK; from += plan.at_once) {
        const int64_t left = plan.problems - from;
        r.params.from = (uint64_t)from;
        r.problems = (uint32_t)(left < plan.at_once ? left : plan.at_once);
        status = find_keys(&r);
        if (status == NDP_OK)
            status = plan.partition ? part_rows(&r) : launch(&r, STORE, 1);
    }
    return status;
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    static const char *const names[] = {"order_begin", "order_count", "order_pick", "order_store",
                                        "order_parts", "order_scan",  "order_move", "order_rows"};
    int32_t status = NDP_OK;
    k->base.run = run;
    k->base.scratch = scratch;
    for (int i = BEGIN; i <= ROWS && status == NDP_OK; i++)
        status = cuda_function(k->dev, CUDA_MODULE_order_ANY, names[i], &k->function[i]);
    return status == NDP_OK ? cuda_sort_small_find(k, like->in[0].dtype, &k->function[SMALL])
                            : status;
}

int32_t cuda_order_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                        size_t n)
{
    (void)why;
    (void)n;
    return cuda_kernel_get(dev, like, 0, make, out);
}
