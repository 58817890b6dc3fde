/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * searchsorted: insertion positions into a sorted row; histogram: how many values have each. */
#include <stdbool.h>
#include <string.h>
#include "index/search.h"

#define BLOCK 1024
#define FEW 32          /* values that are looked at together, where most lie outside the row */
#define FROM 256        /* values: for fewer, nothing is prepared */
#define COUNT_CHUNKS 16 /* most tables of counts */
#define COUNT_GRAIN 16384
#define COUNT_LANES 4       /* tables of a chunk: runs of one value do not wait for each other */
#define COUNT_LANES_TO 1024 /* positions */
/* From so many positions on, values are counted in bytes, which stay in a cache where the counts would
 * not; each time a byte begins again at 0, the count has 256 more. */
#define BYTES_FROM 65536

typedef struct {
    search_row of;
    search_fn *search;
    const char *values;
    int64_t *out;
    int64_t nbytes, row, value_stride,
        out_stride; /* of the innermost dimension of values and out */
    cpu_walk outer;
    int64_t element[2]; /* a value that is a scalar */
    /* Of histogram: */
    uint32_t *counts; /* one chunk has fewer than 2^32 values */
    int64_t grain, chunk_counts;
    int lanes;
    int64_t (*outside)(const search_row *w, const char *values, int64_t m);
    uint8_t *bytes; /* of each chunk one a position; NULL: there are none */
} search_job;

/* ---- how ---- */
static int64_t cells_nbytes(const ndp_call *call)
{
    int64_t n = call->in[0].shape[0], m = ndp_view_size(&call->in[1]);
    const bool fit = m >= FROM && n > 1 && n <= SEARCH_CELLS_MAX && m >= 8 * n;
    return fit ? search_nbytes(n, search_cells(n, m)) : 0;
}

static void choose(search_job *w, const ndp_call *call)
{
    const ndp_view *sorted = &call->in[0], *values = &call->in[1];
    const search_table *table = CPU_ISA_PICK(search_table_of);
    const search_functions *f =
        values->dtype == sorted->dtype ? &table->same[values->dtype] : &table->wide[values->dtype];
    const int64_t room = cells_nbytes(call), m = ndp_view_size(values);
    w->of.cells = search_cells(w->of.n, m);
    w->search = f->by_halves;
    w->outside = f->outside;
    if (m >= FROM && 2 * m >= w->of.n && f->follow && f->follow(&w->of))
        w->search = f->by_distance;
    else if (room > 0 && f->cells(&w->of, cpu_ptr(&call->scratch)))
        w->search = f->by_cells;
}

/* All but the results' place. operands: how many of values and out are walked. */
static void begin(search_job *w, const ndp_call *call, int operands)
{
    const ndp_view *sorted = &call->in[0], *values = &call->in[1];
    const ndp_view *both[2] = {values, &call->out[0]};
    int64_t stride[CPU_WALK_OPERANDS] = {0};
    w->of.n = sorted->shape[0];
    w->of.stride = sorted->stride[0];
    w->of.sorted = w->of.n > 0 ? cpu_ptr(sorted) : NULL;
    w->of.right = ((const ndp_search *)call->params)->right != 0;
    w->nbytes = ndp_dtype_size(values->dtype);
    cpu_walk_views(&w->outer, operands, both, 0, both[operands - 1]->ndim);
    w->row = cpu_walk_pop(&w->outer, stride);
    w->value_stride = stride[0];
    w->out_stride = operands > 1 ? stride[1] : 1;
    if (values->mem)
        w->values = cpu_ptr(values);
    else { /* strides of a scalar are 0 */
        cpu_store_scalar(&call->scalar[values->offset_bytes], w->element);
        w->values = (const char *)w->element;
    }
    choose(w, call);
}

/* ---- positions ---- */
/* Positions begin to end-1 of values in C order. */
static void search_chunk(void *ctx, int64_t begin, int64_t end)
{
    const search_job *w = ctx;
    cpu_place c;
    int64_t i = begin % w->row;
    cpu_place_seek(&c, &w->outer, begin / w->row);
    for (; begin < end; i = 0) {
        int64_t n = w->row - i < end - begin ? w->row - i : end - begin;
        w->search(&w->of, w->values + (c.offset[0] + i * w->value_stride) * w->nbytes,
                  w->value_stride, n, w->out + c.offset[1] + i * w->out_stride, w->out_stride);
        cpu_place_step(&c, 1);
        begin += n;
    }
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *s, const ndp_call *call)
{
    (void)kernel;
    (void)s;
    search_job w = {.out = (int64_t *)cpu_ptr(&call->out[0])};
    int64_t size = ndp_view_size(&call->out[0]);
    if (size == 0)
        return NDP_OK;
    begin(&w, call, 2);
    cpu_parallel(size, 4096, search_chunk, &w);
    return NDP_OK;
}

static uint64_t scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    (void)kernel;
    return (uint64_t)cells_nbytes(call);
}

static const ndp_kernel search_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .scratch = scratch, .run = run};

/* ---- counts: each chunk of values has tables of its own ---- */
static int64_t count_chunks(const ndp_call *call)
{
    int64_t size = ndp_view_size(&call->in[1]), positions = call->out[0].shape[0];
    int64_t chunks = size / COUNT_GRAIN, most = size / (8 * positions);
    chunks = chunks < most ? chunks : most;
    chunks = chunks < COUNT_CHUNKS ? chunks : COUNT_CHUNKS;
    most = 1 + (size >> 31);
    return chunks > most ? chunks : most;
}

static int count_lanes(const ndp_call *call)
{
    return call->out[0].shape[0] <= COUNT_LANES_TO && ndp_view_size(&call->in[1]) >= COUNT_GRAIN
               ? COUNT_LANES
               : 1;
}

static int64_t count_bytes(const ndp_call *call)
{
    const int64_t positions = call->out[0].shape[0];
    return positions >= BYTES_FROM ? positions : 0;
}

static void count_in_bytes(uint8_t *bytes, uint32_t *table, const int64_t *at, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (++bytes[at[i]] == 0)
            table[at[i]] += 256;
}

static void count_block(const search_job *w, uint32_t *table, const int64_t *at, int64_t n)
{
    int64_t i = 0;
    if (w->lanes == COUNT_LANES) {
        const int64_t positions = w->of.n + 1;
        uint32_t *second = table + positions, *third = second + positions,
                 *fourth = third + positions;
        for (; i + COUNT_LANES <= n; i += COUNT_LANES) {
            table[at[i]]++;
            second[at[i + 1]]++;
            third[at[i + 2]]++;
            fourth[at[i + 3]]++;
        }
    }
    for (; i < n; i++)
        table[at[i]]++;
}

/* Whether most of the positions are the first or the last one. */
static bool most_outside(const search_job *w, const int64_t *at, int64_t n)
{
    int64_t outside = 0;
    for (int64_t i = 0; i < n; i++)
        outside += (at[i] == 0) | (at[i] == w->of.n);
    return outside > n - n / 8;
}

/* Counts a few values at a time, without a search where none of them lies between the row's ends. */
static void count_few_inside(const search_job *w, uint32_t *table, const char *values, int64_t n)
{
    int64_t at[FEW];
    for (int64_t i = 0; i < n; i += FEW) {
        const int64_t m = n - i < FEW ? n - i : FEW,
                      behind = w->outside(&w->of, values + i * w->nbytes, m);
        if (behind < 0) {
            w->search(&w->of, values + i * w->nbytes, 1, m, at, 1);
            count_block(w, table, at, m);
        } else {
            table[0] += (uint32_t)(m - behind);
            table[w->of.n] += (uint32_t)behind;
        }
    }
}

static void count_chunk(void *ctx, int64_t begin, int64_t end)
{
    const search_job *w = ctx;
    int64_t at[BLOCK];
    uint32_t *table = w->counts + begin / w->grain * w->chunk_counts;
    uint8_t *bytes = w->bytes ? w->bytes + begin / w->grain * w->chunk_counts : NULL;
    cpu_place c;
    int64_t i = begin % w->row;
    bool few_inside = false, first = w->value_stride == 1 && !bytes && w->of.n > 1 && w->of.right;
    memset(table, 0, (size_t)w->chunk_counts * sizeof *table);
    if (bytes)
        memset(bytes, 0, (size_t)w->chunk_counts);
    cpu_place_seek(&c, &w->outer, begin / w->row);
    while (begin < end) {
        int64_t n = w->row - i < end - begin ? w->row - i : end - begin;
        n = n < (first ? FROM : BLOCK) ? n : first ? FROM : BLOCK;
        const char *values = w->values + (c.offset[0] + i * w->value_stride) * w->nbytes;
        if (few_inside) {
            count_few_inside(w, table, values, n);
        } else {
            w->search(&w->of, values, w->value_stride, n, at, 1);
            if (bytes)
                count_in_bytes(bytes, table, at, n);
            else
                count_block(w, table, at, n);
            few_inside = first && most_outside(w, at, n);
            first = false;
        }
        begin += n;
        i += n;
        if (i == w->row) {
            i = 0;
            cpu_place_step(&c, 1);
        }
    }
}

static void sum_tables(const search_job *w, int64_t tables, int64_t positions, int64_t *to,
                       int64_t stride)
{
    if (tables == 1 && !w->bytes && stride == 1) {
        for (int64_t i = 0; i < positions; i++)
            to[i] = w->counts[i];
        return;
    }
    for (int64_t i = 0; i < positions; i++) {
        int64_t sum = 0;
        for (int64_t t = 0; t < tables; t++)
            sum += w->counts[t * positions + i] + (w->bytes ? w->bytes[t * positions + i] : 0U);
        to[i * stride] = sum;
    }
}

static int32_t run_counts(const ndp_kernel *kernel, ndp_stream *s, const ndp_call *call)
{
    (void)kernel;
    (void)s;
    const ndp_view *out = &call->out[0];
    const int64_t size = ndp_view_size(&call->in[1]), positions = out->shape[0];
    const int64_t chunks = count_chunks(call);
    int64_t *to = (int64_t *)cpu_ptr(out);
    search_job w = {.lanes = count_lanes(call), .grain = (size + chunks - 1) / chunks};
    w.chunk_counts = w.lanes * positions;
    w.counts = (uint32_t *)(cpu_ptr(&call->scratch) + cells_nbytes(call));
    if (count_bytes(call))
        w.bytes = (uint8_t *)(w.counts + chunks * w.chunk_counts);
    if (size > 0) {
        begin(&w, call, 1);
        cpu_parallel(size, w.grain, count_chunk, &w);
    }
    const int64_t tables = size > 0 ? (size + w.grain - 1) / w.grain * w.lanes : 0;
    sum_tables(&w, tables, positions, to, out->stride[0]);
    return NDP_OK;
}

static uint64_t scratch_counts(const ndp_kernel *kernel, const ndp_call *call)
{
    (void)kernel;
    return (uint64_t)(cells_nbytes(call) + count_chunks(call) * count_bytes(call) +
                      4 * count_chunks(call) * count_lanes(call) * call->out[0].shape[0]);
}

static const ndp_kernel count_kernel = {.size = sizeof(ndp_kernel),
                                        .max_ndim = NDP_MAX_NDIM,
                                        .scratch = scratch_counts,
                                        .run = run_counts};

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    (void)why;
    (void)n;
    return like->op == NDP_OP_histogram ? &count_kernel : &search_kernel;
}

const cpu_class cpu_search = {cpu_domain_dtypes, find};
