/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * sort and argsort along the last dimension: rows in parallel, or the whole team on one long row.
 */
#include "sort/sort.h"
#include "walk/walk.h"

static int64_t buffer_nbytes(const ndp_call *call)
{
    const ndp_view *a = &call->in[0];
    int64_t n = a->shape[a->ndim - 1];
    return call->op == NDP_OP_sort ? sort_values_nbytes(a->dtype, n)
                                   : sort_positions_nbytes(a->dtype, n);
}

typedef struct {
    sort_row row; /* of slot 0 */
    const ndp_call *call;
    cpu_walk outer;
    int64_t rows, slots, buffer_nbytes, counts_nbytes;
} job;

static void sort_rows_of(const job *w, sort_row r, int64_t begin, int64_t end)
{
    cpu_place c;
    const char *a = r.a;
    char *out = r.out;
    int positions = w->call->op == NDP_OP_argsort;
    int64_t nbytes = ndp_dtype_size(r.dtype), out_nbytes = positions ? 8 : nbytes;
    cpu_place_seek(&c, &w->outer, begin);
    for (; begin < end; begin++) {
        r.a = a + c.offset[0] * nbytes;
        r.out = out + c.offset[1] * out_nbytes;
        if (positions)
            sort_row_positions(&r);
        else
            sort_row_values(&r);
        cpu_place_step(&c, 1);
    }
}

static void small_rows(void *ctx, int64_t begin, int64_t end)
{
    const job *w = ctx;
    sort_row r = w->row;
    sort_c128_at buffer[2][SORT_SMALL]; /* the largest element */
    r.buffer[0] = (char *)buffer[0];
    r.buffer[1] = (char *)buffer[1];
    sort_rows_of(w, r, begin, end);
}

static void lanes_rows(void *ctx, int64_t begin, int64_t end)
{
    const job *w = ctx;
    cpu_place c;
    int positions = w->call->op == NDP_OP_argsort;
    int64_t nbytes = ndp_dtype_size(w->row.dtype), out_nbytes = positions ? 8 : nbytes;
    cpu_place_seek(&c, &w->outer, begin);
    while (begin < end) {
        sort_row r[SORT_LANES];
        int rows = 0;
        for (; rows < SORT_LANES && begin < end; rows++, begin++) {
            r[rows] = w->row;
            r[rows].a += c.offset[0] * nbytes;
            r[rows].out += c.offset[1] * out_nbytes;
            cpu_place_step(&c, 1);
        }
        if (positions)
            sort_lanes_positions(r, rows);
        else
            sort_lanes_values(r, rows);
    }
}

static void slot_rows(void *ctx, int64_t begin, int64_t end)
{
    const job *w = ctx;
    for (int64_t slot = begin; slot < end; slot++) {
        sort_row r = w->row;
        char *memory =
            cpu_ptr(&w->call->scratch) + slot * (2 * w->buffer_nbytes + w->counts_nbytes);
        r.counts = (int64_t *)memory;
        r.buffer[0] = memory + w->counts_nbytes;
        r.buffer[1] = r.buffer[0] + w->buffer_nbytes;
        sort_rows_of(w, r, w->rows * slot / w->slots, w->rows * (slot + 1) / w->slots);
    }
}

#define LANES_QUICK 64 /* longer rows are quicker one by one where there is a quicksort */

static int uses_lanes(const ndp_call *call)
{
    const ndp_view *a = &call->in[0];
    if (call->op == NDP_OP_sort && a->shape[a->ndim - 1] > LANES_QUICK &&
        (sort_is_quick(a->dtype) || sort_is_narrow(a->dtype)))
        return 0;
    return sort_rows(call) >= SORT_LANES / 2 &&
           sort_lanes_fit(a->dtype, a->shape[a->ndim - 1], call->op == NDP_OP_argsort);
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *s, const ndp_call *call)
{
    (void)kernel;
    (void)s;
    const ndp_view *a = &call->in[0], *out = &call->out[0], *both[2] = {a, out};
    if (ndp_view_size(a) == 0)
        return NDP_OK;
    int last = a->ndim - 1;
    int64_t n = a->shape[last];
    job w = {.call = call, .rows = sort_rows(call), .buffer_nbytes = buffer_nbytes(call)};
    w.row = (sort_row){.a = cpu_ptr(a),
                       .stride = a->stride[last],
                       .n = n,
                       .dtype = a->dtype,
                       .out = cpu_ptr(out),
                       .out_stride = out->stride[last],
                       .n_out = n};
    w.row.descending = ((const ndp_sort *)call->params)->descending ? UINT64_MAX : 0;
    w.counts_nbytes = sort_counts_nbytes(n);
    cpu_walk_views(&w.outer, 2, both, 0, last);
    if (uses_lanes(call)) {
        cpu_parallel(w.rows, SORT_LANES * (1 + 2048 / n), lanes_rows, &w);
        return NDP_OK;
    }
    if (n <= SORT_SMALL) {
        cpu_parallel(w.rows, 1 + 16384 / (n * sort_bit_length((uint64_t)n)), small_rows, &w);
        return NDP_OK;
    }
    w.slots = (int64_t)call->scratch.shape[0] / (2 * w.buffer_nbytes + w.counts_nbytes);
    cpu_parallel(w.slots, 1, slot_rows, &w);
    return NDP_OK;
}

static uint64_t scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    (void)kernel;
    const ndp_view *a = &call->in[0];
    int64_t n = a->shape[a->ndim - 1];
    if (n <= SORT_SMALL || ndp_view_size(a) == 0 || uses_lanes(call))
        return 0;
    return (uint64_t)(sort_slots(call) * (2 * buffer_nbytes(call) + sort_counts_nbytes(n)));
}

static const ndp_kernel sort_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .scratch = scratch, .run = run};

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    (void)why;
    (void)n;
    switch (like->op) {
    case NDP_OP_topk:
        return &sort_topk_kernel;
    case NDP_OP_order_statistics:
    case NDP_OP_partition:
    case NDP_OP_argpartition:
        return &sort_select_kernel;
    default:
        return &sort_kernel;
    }
}

const cpu_class cpu_sort = {cpu_domain_dtypes, find};
