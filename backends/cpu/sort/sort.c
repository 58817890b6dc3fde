/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * sort and argsort along the last dimension: rows in parallel, or the whole team on one long row.
 */
#include <stdatomic.h>
#include <string.h>
#include "sort/sort.h"
#include "walk/walk.h"

#define BLOCK 256

static uint64_t row_flip(const sort_row *r)
{
    return sort_keys_of(r->dtype)->bias ^ r->descending;
}

static int bit_length(uint64_t x)
{
    return x ? 64 - __builtin_clzll(x) : 0;
}

/* ---- the range of a row's keys: small ranges need few digits ---- */
typedef struct {
    const sort_row *r;
    int64_t grain;
} range_job;

static void range_chunk(void *ctx, int64_t begin, int64_t end)
{
    range_job *w = ctx;
    const sort_row *r = w->r;
    uint64_t *result = (uint64_t *)r->counts + begin / w->grain * 2;
    sort_keys_of(r->dtype)->range(r->a + begin * r->stride * ndp_dtype_size(r->dtype), r->stride,
                                  end - begin, row_flip(r), &result[0], &result[1]);
}

/* The least key and the bits of the greatest less the least. */
static int key_range(const sort_row *r, uint64_t *min)
{
    *min = 0;
    if (r->n <= SORT_SMALL)
        return 8 * (int)ndp_dtype_size(r->dtype);
    range_job w = {.r = r, .grain = sort_grain(r->n)};
    cpu_parallel(r->n, w.grain, range_chunk, &w);
    uint64_t max = 0, *result = (uint64_t *)r->counts;
    *min = UINT64_MAX;
    for (int64_t c = 0; c * w.grain < r->n; c++) {
        *min = result[2 * c] < *min ? result[2 * c] : *min;
        max = result[2 * c + 1] > max ? result[2 * c + 1] : max;
    }
    return bit_length(max - *min);
}

/* ---- values ---- */
typedef struct {
    const sort_row *r;
    uint64_t flip, min;
    int64_t nbytes;
    char *keys;
    atomic_int special;
} values_job;

static void load_chunk(void *ctx, int64_t begin, int64_t end)
{
    values_job *w = ctx;
    const sort_row *r = w->r;
    if (sort_keys_of(r->dtype)->load(r->a + begin * r->stride * w->nbytes, r->stride, end - begin,
                                     w->flip, w->min, w->keys + begin * w->nbytes))
        atomic_store_explicit(&w->special, 1, memory_order_relaxed);
}

static void store_chunk(void *ctx, int64_t begin, int64_t end)
{
    values_job *w = ctx;
    const sort_row *r = w->r;
    sort_keys_of(r->dtype)->store(w->keys + begin * w->nbytes, end - begin, w->flip, w->min,
                                  r->out + begin * r->out_stride * w->nbytes, r->out_stride);
}

static void sort_values(const sort_row *r)
{
    static void *(*const sorts[9])(void *, void *, int64_t, int, int,
                                   int64_t *) = {[2] = sort_u16, [4] = sort_u32, [8] = sort_u64};
    const sort_keys *k = sort_keys_of(r->dtype);
    values_job w = {r, row_flip(r), 0, ndp_dtype_size(r->dtype), r->buffer[0], 0};
    int bits = key_range(r, &w.min);
    cpu_parallel(r->n, sort_grain(r->n), load_chunk, &w);
    w.keys = sorts[w.nbytes](w.keys, r->buffer[1], r->n, 0, bits, r->counts);
    if (atomic_load(&w.special)) /* before anything is written: out may be a */
        k->restore(r->a, r->stride, r->n, w.flip, w.min, w.keys);
    cpu_parallel(r->n, sort_grain(r->n), store_chunk, &w);
}

/* Any byte but 0 is true, and sorts as 1. */
static void join_true(int64_t counts[4][256])
{
    for (int j = 0; j < 4; j++)
        for (int value = 2; value < 256; value++) {
            counts[j][1] += counts[j][value];
            counts[j][value] = 0;
        }
}

/* Bytes have so few values that counting them is sorting them. */
static void sort_bytes(const sort_row *r)
{
    int64_t counts[4][256] = {{0}}, at = 0;
    uint8_t flip = (uint8_t)row_flip(r);
    const uint8_t *a = (const uint8_t *)r->a;
    int64_t i = 0;
    for (; i + 4 <= r->n; i += 4) /* four tables: runs of one value do not wait for each other */
        for (int64_t j = 0; j < 4; j++)
            counts[j][a[(i + j) * r->stride]]++;
    for (; i < r->n; i++)
        counts[0][a[i * r->stride]]++;
    if (r->dtype == NDP_BOOL)
        join_true(counts);
    for (int key = 0; key < 256; key++) {
        uint8_t value = (uint8_t)key ^ flip;
        int64_t n = counts[0][value] + counts[1][value] + counts[2][value] + counts[3][value];
        if (r->out_stride == 1)
            memset(r->out + at, value, (size_t)n);
        else
            for (i = at; i < at + n; i++)
                r->out[i * r->out_stride] = (char)value;
        at += n;
    }
}

/* ---- pairs of a key and what goes with it ---- */
typedef struct {
    const sort_row *r;
    uint64_t min;
    int index_bits; /* 0: pairs, else a key and its position in one word */
    char *to, *sorted;
} pair_job;

static void pair_chunk(void *ctx, int64_t begin, int64_t end)
{
    const pair_job *w = ctx;
    const sort_row *r = w->r;
    int64_t nbytes = ndp_dtype_size(r->dtype);
    uint64_t block[BLOCK];
    for (; begin < end; begin += BLOCK) {
        int64_t n = end - begin < BLOCK ? end - begin : BLOCK;
        uint64_t *packed = (uint64_t *)w->to + begin;
        sort_pair *pair = (sort_pair *)w->to + begin;
        sort_keys_of(r->dtype)->keys(r->a + begin * r->stride * nbytes, r->stride, n, row_flip(r),
                                     block);
        for (int64_t i = 0; i < n && w->index_bits; i++)
            packed[i] = (block[i] - w->min) << w->index_bits | (uint64_t)(begin + i);
        for (int64_t i = 0; i < n && !w->index_bits; i++)
            pair[i] = (sort_pair){block[i] - w->min, (uint64_t)(begin + i)};
    }
}

static void positions_chunk(void *ctx, int64_t begin, int64_t end)
{
    const pair_job *w = ctx;
    int64_t *out = (int64_t *)w->r->out, stride = w->r->out_stride;
    const uint64_t *packed = (const uint64_t *)w->sorted;
    const sort_pair *pair = (const sort_pair *)w->sorted;
    uint64_t mask = ((uint64_t)1 << w->index_bits) - 1;
    if (w->index_bits)
        for (int64_t i = begin; i < end; i++)
            out[i * stride] = (int64_t)(packed[i] & mask);
    else
        for (int64_t i = begin; i < end; i++)
            out[i * stride] = (int64_t)pair[i].with;
}

static void c128_positions(const sort_row *r)
{
    const sort_c128 *a = (const sort_c128 *)r->a;
    sort_c128_at *x = (sort_c128_at *)r->buffer[0];
    int64_t *out = (int64_t *)r->out, n = r->n;
    /* Descending and stable: a stable ascending sort of the reversed row, read in reverse. */
    for (int64_t i = 0; i < n; i++) {
        int64_t at = r->descending ? n - 1 - i : i;
        x[i] = (sort_c128_at){a[at * r->stride].re, a[at * r->stride].im, at};
    }
    x = sort_c128s_at(x, r->buffer[1], n, 0, 0, NULL);
    for (int64_t i = 0; i < r->n_out; i++)
        out[i * r->out_stride] = x[r->descending ? n - 1 - i : i].at;
}

void sort_row_positions(const sort_row *r)
{
    if (r->dtype == NDP_C128) {
        c128_positions(r);
        return;
    }
    pair_job w = {.r = r, .to = r->buffer[0]};
    int bits = key_range(r, &w.min), index_bits = bit_length((uint64_t)r->n - 1) + (r->n == 1);
    int packed = bits + index_bits <= 64;
    w.index_bits = packed ? index_bits : 0;
    cpu_parallel(r->n, sort_grain(r->n), pair_chunk, &w);
    w.sorted = packed ? sort_u64(w.to, r->buffer[1], r->n, index_bits, bits, r->counts)
                      : sort_pairs(w.to, r->buffer[1], r->n, 0, bits, r->counts);
    cpu_parallel(r->n_out, sort_grain(r->n), positions_chunk, &w);
}

/* ---- complex values: the bits travel with the key, which does not have them ---- */
static void sort_c64_values(const sort_row *r)
{
    uint64_t min, key[BLOCK];
    sort_pair *x = (sort_pair *)r->buffer[0];
    int bits = key_range(r, &min);
    for (int64_t at = 0; at < r->n; at += BLOCK) {
        int64_t n = r->n - at < BLOCK ? r->n - at : BLOCK;
        sort_keys_of(NDP_C64)->keys(r->a + at * r->stride * 8, r->stride, n, row_flip(r), key);
        for (int64_t i = 0; i < n; i++) {
            x[at + i].key = key[i] - min;
            memcpy(&x[at + i].with, r->a + (at + i) * r->stride * 8, 8);
        }
    }
    x = sort_pairs(x, r->buffer[1], r->n, 0, bits, r->counts);
    for (int64_t i = 0; i < r->n; i++)
        memcpy(r->out + i * r->out_stride * 8, &x[i].with, 8);
}

static void sort_c128_values(const sort_row *r)
{
    const sort_c128 *a = (const sort_c128 *)r->a;
    sort_c128 *x = (sort_c128 *)r->buffer[0], *out = (sort_c128 *)r->out;
    int64_t n = r->n;
    for (int64_t i = 0; i < n; i++)
        x[i] = a[(r->descending ? n - 1 - i : i) * r->stride];
    x = sort_c128s(x, r->buffer[1], n, 0, 0, NULL);
    for (int64_t i = 0; i < n; i++)
        out[i * r->out_stride] = x[r->descending ? n - 1 - i : i];
}

static void sort_row_values(const sort_row *r)
{
    switch (ndp_dtype_size(r->dtype)) {
    case 1:
        sort_bytes(r);
        break;
    case 16:
        sort_c128_values(r);
        break;
    default:
        if (r->dtype == NDP_C64)
            sort_c64_values(r);
        else
            sort_values(r);
    }
}

/* ---- a call ---- */
static int64_t round_up(int64_t nbytes)
{
    return (nbytes + 63) / 64 * 64;
}

int64_t sort_positions_nbytes(int32_t dtype, int64_t n)
{
    int64_t nbytes = ndp_dtype_size(dtype);
    int64_t element = nbytes == 16                          ? (int64_t)sizeof(sort_c128_at)
                      : nbytes == 8 || n > (int64_t)1 << 32 ? (int64_t)sizeof(sort_pair)
                                                            : 8;
    return round_up(n * element);
}

int64_t sort_counts_nbytes(int64_t n)
{
    return n <= SORT_SMALL ? 0 : sort_chunks(n) * SORT_DIGITS * 8;
}

static int64_t values_nbytes(int32_t dtype, int64_t n)
{
    int64_t nbytes = ndp_dtype_size(dtype);
    return nbytes == 1 ? 0 : round_up(n * (dtype == NDP_C64 ? 16 : nbytes));
}

static int64_t buffer_nbytes(const ndp_call *call)
{
    const ndp_view *a = &call->in[0];
    int64_t n = a->shape[a->ndim - 1];
    return call->op == NDP_OP_sort ? values_nbytes(a->dtype, n)
                                   : sort_positions_nbytes(a->dtype, n);
}

int64_t sort_rows(const ndp_call *call)
{
    const ndp_view *a = &call->in[0];
    int64_t rows = 1;
    for (int d = 0; d < a->ndim - 1; d++)
        rows *= a->shape[d];
    return rows;
}

int64_t sort_slots(const ndp_call *call)
{
    const ndp_view *a = &call->in[0];
    int64_t rows = sort_rows(call), threads = cpu_threads();
    if (rows < threads && a->shape[a->ndim - 1] >= SORT_PARALLEL)
        return 1;
    return rows < threads ? rows : threads;
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

static int uses_lanes(const ndp_call *call)
{
    const ndp_view *a = &call->in[0];
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
        cpu_parallel(w.rows, 1 + 16384 / (n * bit_length((uint64_t)n)), small_rows, &w);
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
    if (cpu_op_class(like->op) == NDP_CLASS_SEARCH)
        return &search_kernel;
    return like->op == NDP_OP_topk ? &sort_topk_kernel : &sort_kernel;
}

const cpu_class cpu_sort = {cpu_domain_dtypes, find};
