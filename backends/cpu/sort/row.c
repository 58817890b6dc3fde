/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One row, sorted by the caller or the whole team: its values, or their positions. */
#include <stdatomic.h>
#include <string.h>
#include "sort/sort.h"

#define BLOCK 256

static uint64_t row_flip(const sort_row *r)
{
    return sort_keys_of(r->dtype)->bias ^ r->descending;
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
    return sort_bit_length(max - *min);
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
    sort_keys_of(r->dtype)->store(w->keys + (r->first + begin) * w->nbytes, end - begin, w->flip,
                                  w->min, r->out + begin * r->out_stride * w->nbytes,
                                  r->out_stride);
}

int sort_is_quick(int32_t dtype)
{
    return ndp_dtype_size(dtype) == 4 && CPU_ISA_PICK(sort_table_of)->quick;
}

/* The team deals out a long row by digits, which is quicker from three threads on. */
static int is_for_team(int64_t n)
{
    return n >= SORT_PARALLEL && cpu_threads() > 2;
}

static void sort_values(const sort_row *r)
{
    static void *(*const sorts[9])(void *, void *, int64_t, int, int,
                                   int64_t *) = {[2] = sort_u16, [4] = sort_u32, [8] = sort_u64};
    const sort_keys *k = sort_keys_of(r->dtype);
    values_job w = {r, row_flip(r), 0, ndp_dtype_size(r->dtype), r->buffer[0], 0};
    int quick = sort_is_quick(r->dtype) && !is_for_team(r->n);
    int bits = quick ? 0 : key_range(r, &w.min);
    cpu_parallel(r->n, sort_grain(r->n), load_chunk, &w);
    if (quick)
        CPU_ISA_PICK(sort_table_of)->quick(w.keys, r->buffer[1], r->n);
    else
        w.keys = sorts[w.nbytes](w.keys, r->buffer[1], r->n, 0, bits, r->counts);
    if (atomic_load(&w.special)) /* before anything is written: out may be a */
        k->restore(r->a, r->stride, r->n, w.flip, w.min, w.keys);
    cpu_parallel(r->n_out, sort_grain(r->n), store_chunk, &w);
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
    int64_t counts[4][256] = {{0}}, at = -r->first; /* in out */
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
        int64_t from = at > 0 ? at : 0, to = at + n < r->n_out ? at + n : r->n_out;
        if (r->out_stride == 1 && from < to)
            memset(r->out + from, value, (size_t)(to - from));
        else
            for (i = from; i < to; i++)
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
    int bits = key_range(r, &w.min), index_bits = sort_bit_length((uint64_t)r->n - 1) + (r->n == 1);
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

void sort_row_values(const sort_row *r)
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

/* ---- memory ---- */
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

int64_t sort_values_nbytes(int32_t dtype, int64_t n)
{
    int64_t nbytes = ndp_dtype_size(dtype);
    return nbytes == 1 ? 0 : round_up(n * (dtype == NDP_C64 ? 16 : nbytes));
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
