/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The positions of one row's sorted elements, by the caller or the whole team. */
#include <stdatomic.h>
#include "sort/sort.h"

#define BLOCK 256

typedef struct {
    const sort_row *r;
    uint64_t min;
    int index_bits;  /* 0: pairs, else a key and its position in one word */
    int drop;        /* so many low bits of the key are left out of the word */
    atomic_int lost; /* one of these was set */
    char *to, *sorted;
} pair_job;

static void pack(pair_job *w, const uint64_t *key, int64_t n, int64_t at)
{
    uint64_t *to = (uint64_t *)w->to + at, all = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t from_least = key[i] - w->min;
        to[i] = from_least >> w->drop << w->index_bits | (uint64_t)(at + i);
        all |= from_least;
    }
    if (all & (((uint64_t)1 << w->drop) - 1))
        atomic_store_explicit(&w->lost, 1, memory_order_relaxed);
}

static void pair_chunk(void *ctx, int64_t begin, int64_t end)
{
    pair_job *w = ctx;
    const sort_row *r = w->r;
    const sort_keys *k = sort_keys_of(r->dtype);
    const int64_t nbytes = ndp_dtype_size(r->dtype);
    uint64_t block[BLOCK];
    for (; begin < end; begin += BLOCK) {
        int64_t n = end - begin < BLOCK ? end - begin : BLOCK;
        sort_pair *pair = (sort_pair *)w->to + begin;
        k->keys(r->a + begin * r->stride * nbytes, r->stride, n, sort_row_flip(r), block);
        if (w->index_bits)
            pack(w, block, n, begin);
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

/* ---- by the quicksort of 64-bit keys: words are unique, so that it need not be stable ---- */
/* Sorts words from x on, which are equal but for their positions, by the bits left out of them. */
static void settle_run(const pair_job *w, uint64_t *x, int64_t n)
{
    const sort_row *r = w->r;
    const int64_t nbytes = ndp_dtype_size(r->dtype);
    const uint64_t positions = ((uint64_t)1 << w->index_bits) - 1,
                   dropped = ((uint64_t)1 << w->drop) - 1;
    sort_pair *pair = (sort_pair *)r->buffer[1];
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = (int64_t)(x[i] & positions);
        uint64_t key;
        sort_keys_of(r->dtype)->keys(r->a + at * r->stride * nbytes, r->stride, 1, sort_row_flip(r),
                                     &key);
        pair[i] = (sort_pair){(key - w->min) & dropped, (uint64_t)at};
    }
    pair = sort_pairs(pair, pair + n, n, 0, w->drop, r->counts);
    for (int64_t i = 0; i < n; i++)
        x[i] = pair[i].with;
}

/* 0: so many words are equal that there is no room to sort them. */
static int settle_ties(const pair_job *w)
{
    uint64_t *x = (uint64_t *)w->to;
    const int64_t n = w->r->n;
    for (int64_t i = 0, end; i < n; i = end) {
        const uint64_t key = x[i] >> w->index_bits;
        for (end = i + 1; end < n && x[end] >> w->index_bits == key; end++)
            ;
        if (end - i > n / 2)
            return 0;
        if (end - i > 1)
            settle_run(w, x + i, end - i);
    }
    return 1;
}

/* Few bits are sorted sooner by digits, as is what the team shares. */
static int prefers_digits(int64_t n, int bits)
{
    return !sort_is_quick(NDP_I64) || sort_is_for_team(n) || (n > SORT_SMALL && bits <= 22);
}

static int sort_quickly(pair_job *w, int bits, int index_bits)
{
    const int64_t n = w->r->n;
    w->index_bits = index_bits;
    w->drop = bits + index_bits > 63 ? bits + index_bits - 63 : 0; /* words are positive */
    cpu_parallel(n, sort_grain(n), pair_chunk, w);
    CPU_ISA_PICK(sort_table_of)->quick[8](w->to, n);
    w->sorted = w->to;
    return !atomic_load(&w->lost) || settle_ties(w);
}

static void sort_by_digits(pair_job *w, int bits, int index_bits)
{
    const sort_row *r = w->r;
    const int packed = bits + index_bits <= 64;
    w->index_bits = packed ? index_bits : 0;
    w->drop = 0;
    cpu_parallel(r->n, sort_grain(r->n), pair_chunk, w);
    w->sorted = packed ? sort_u64(w->to, r->buffer[1], r->n, index_bits, bits, r->counts)
                       : sort_pairs(w->to, r->buffer[1], r->n, 0, bits, r->counts);
}

void sort_row_positions(const sort_row *r)
{
    if (r->dtype == NDP_C128) {
        c128_positions(r);
        return;
    }
    pair_job w = {.r = r, .to = r->buffer[0]};
    const int bits = sort_key_range(r, &w.min);
    const int index_bits = sort_bit_length((uint64_t)r->n - 1) + (r->n == 1);
    if (prefers_digits(r->n, bits) || !sort_quickly(&w, bits, index_bits))
        sort_by_digits(&w, bits, index_bits);
    cpu_parallel(r->n_out, sort_grain(r->n), positions_chunk, &w);
}
