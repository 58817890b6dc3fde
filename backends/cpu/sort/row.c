/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One row, sorted by the caller or the whole team: its values, or their positions. */
#include <stdatomic.h>
#include <string.h>
#include "sort/sort.h"

#define BLOCK 256

uint64_t sort_row_flip(const sort_row *r)
{
    return sort_keys_of(r->dtype)->bias ^ r->descending;
}

/* ---- the range of a row's keys: small ranges need few digits ---- */
typedef struct {
    const sort_row *r;
    int64_t grain;
    uint64_t *result;
} range_job;

static void range_chunk(void *ctx, int64_t begin, int64_t end)
{
    range_job *w = ctx;
    const sort_row *r = w->r;
    uint64_t *result = w->result + begin / w->grain * 2;
    sort_keys_of(r->dtype)->range(r->a + begin * r->stride * ndp_dtype_size(r->dtype), r->stride,
                                  end - begin, sort_row_flip(r), &result[0], &result[1]);
}

int sort_key_range(const sort_row *r, uint64_t *min)
{
    uint64_t max = 0, few[2], *result = r->n <= SORT_SMALL ? few : (uint64_t *)r->counts;
    range_job w = {.r = r, .grain = sort_grain(r->n), .result = result};
    cpu_parallel(r->n, w.grain, range_chunk, &w);
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
    return dtype != NDP_C64 && CPU_ISA_PICK(sort_table_of)->quick[ndp_dtype_size(dtype)];
}

/* The team deals out a long row by digits, which is quicker from three threads on. */
int sort_is_for_team(int64_t n)
{
    return n >= SORT_PARALLEL && cpu_threads() > 2;
}

/* Bits in which keys differ, and the least one, where a few of them from all over the row differ
 * in so few that counting or two digits sort them; else 64. */
static int small_range(const sort_row *r, uint64_t *min)
{
    enum { SOME = 16, FROM = 4096 };
    const int64_t nbytes = ndp_dtype_size(r->dtype), step = r->n / SOME;
    const int most = nbytes == 8 ? SORT_DIGIT_BITS * 2 : SORT_DIGIT_BITS;
    uint64_t max;
    if (nbytes < 4 || r->n < FROM)
        return 64;
    sort_keys_of(r->dtype)->range(r->a, r->stride * step, SOME, sort_row_flip(r), min, &max);
    if (sort_bit_length(max - *min) > most)
        return 64;
    const int bits = sort_key_range(r, min);
    return bits <= most ? bits : 64;
}

static void fill(char *to, int64_t stride, int64_t n, const void *value, int64_t nbytes)
{
    uint32_t u4;
    uint64_t u8;
    memcpy(&u4, value, 4);
    memcpy(&u8, value, 8);
    for (int64_t i = 0; i < n && nbytes == 4; i++)
        ((uint32_t *)to)[i * stride] = u4;
    for (int64_t i = 0; i < n && nbytes == 8; i++)
        ((uint64_t *)to)[i * stride] = u8;
}

/* Integers of so few values that counting them is sorting them. */
static void sort_by_counts(const sort_row *r, uint64_t min)
{
    const sort_keys *k = sort_keys_of(r->dtype);
    const int64_t nbytes = ndp_dtype_size(r->dtype);
    const uint64_t flip = sort_row_flip(r);
    int64_t counts[2][SORT_DIGITS] = {{0}}, at = -r->first; /* in out */
    union {
        uint32_t u4[BLOCK];
        uint64_t u8[BLOCK];
    } block;
    for (int64_t begin = 0; begin < r->n; begin += BLOCK) {
        const int64_t n = r->n - begin < BLOCK ? r->n - begin : BLOCK;
        k->load(r->a + begin * r->stride * nbytes, r->stride, n, flip, min, &block);
        for (int64_t i = 0; i < n && nbytes == 4; i++) /* runs of one value wait less */
            counts[i & 1][block.u4[i]]++;
        for (int64_t i = 0; i < n && nbytes == 8; i++)
            counts[i & 1][block.u8[i]]++;
    }
    for (uint64_t key = 0; key < SORT_DIGITS; key++) {
        const int64_t n = counts[0][key] + counts[1][key];
        const int64_t from = at > 0 ? at : 0, to = at + n < r->n_out ? at + n : r->n_out;
        uint64_t narrow = key, value = 0;
        if (from < to) {
            k->store(&narrow, 1, flip, min, (char *)&value, 1);
            fill(r->out + from * r->out_stride * nbytes, r->out_stride, to - from, &value, nbytes);
        }
        at += n;
    }
}

/* bits: 64 where the range of keys is not known. */
static void sort_by_digits(const sort_row *r, values_job *w, int bits)
{
    static void *(*const sorts[9])(void *, void *, int64_t, int, int,
                                   int64_t *) = {[2] = sort_u16, [4] = sort_u32, [8] = sort_u64};
    if (bits == 64)
        bits = r->n > SORT_SMALL ? sort_key_range(r, &w->min) : 8 * (int)w->nbytes;
    cpu_parallel(r->n, sort_grain(r->n), load_chunk, w);
    w->keys = sorts[w->nbytes](w->keys, r->buffer[1], r->n, 0, bits, r->counts);
}

/* The quicksort of 64-bit keys takes signed ones. */
static void sort_quickly(const sort_row *r, values_job *w)
{
    const uint64_t sign = w->nbytes == 8 ? (uint64_t)1 << 63 : 0;
    w->flip ^= sign;
    cpu_parallel(r->n, sort_grain(r->n), load_chunk, w);
    CPU_ISA_PICK(sort_table_of)->quick[w->nbytes](w->keys, r->n);
    if (!sign || !atomic_load(&w->special))
        return;
    w->flip ^= sign;
    for (int64_t i = 0; i < r->n; i++)
        ((uint64_t *)w->keys)[i] ^= sign;
}

/* Whether the sorted values may be computed where they go: out is the whole row, and none of a. */
static int is_apart(const sort_row *r, int64_t nbytes)
{
    const char *a_end = r->a + ((r->n - 1) * r->stride + 1) * nbytes;
    const char *low = r->stride < 0 ? a_end - nbytes : r->a,
               *high = r->stride < 0 ? r->a + nbytes : a_end;
    return r->out_stride == 1 && r->first == 0 && r->n_out == r->n &&
           (r->out + r->n * nbytes <= low || r->out >= high);
}

/* Floats in vectors of them. */
static void sort_floats(const sort_row *r)
{
    const sort_keys *k = sort_keys_of(r->dtype);
    const int64_t nbytes = ndp_dtype_size(r->dtype);
    char *values = is_apart(r, nbytes) ? r->out : r->buffer[0];
    const int special = k->load_values(r->a, r->stride, r->n, r->descending, values);
    CPU_ISA_PICK(sort_table_of)->quick_values[nbytes](values, r->n);
    if (special) /* before anything is written: out may be a */
        k->restore_values(r->a, r->stride, r->n, r->descending, values);
    if (values != r->out || r->descending)
        k->store_values(values + r->first * nbytes, r->n_out, r->descending, r->out, r->out_stride);
}

/* Keys of 16 bits are exact as floats, whose network is in vectors. */
static void sort_narrow(const sort_row *r, values_job *w)
{
    float *wide = (float *)r->buffer[0];
    uint16_t *keys = (uint16_t *)r->buffer[1];
    w->keys = r->buffer[1];
    cpu_parallel(r->n, sort_grain(r->n), load_chunk, w);
    for (int64_t i = 0; i < r->n; i++)
        wide[i] = keys[i];
    CPU_ISA_PICK(sort_table_of)->quick_values[4](wide, r->n);
    for (int64_t i = 0; i < r->n; i++)
        keys[i] = (uint16_t)(int32_t)wide[i];
}

int sort_is_narrow(int32_t dtype)
{
    return ndp_dtype_size(dtype) == 2 && CPU_ISA_PICK(sort_table_of)->quick_values[4];
}

static void sort_values(const sort_row *r)
{
    const sort_keys *k = sort_keys_of(r->dtype);
    values_job w = {r, sort_row_flip(r), 0, ndp_dtype_size(r->dtype), r->buffer[0], 0};
    const int bits = sort_is_for_team(r->n) ? 64 : small_range(r, &w.min);
    if (bits <= SORT_DIGIT_BITS && !k->restore) {
        sort_by_counts(r, w.min);
        return;
    }
    if (bits == 64 && k->load_values && CPU_ISA_PICK(sort_table_of)->quick_values[w.nbytes] &&
        !sort_is_for_team(r->n)) {
        sort_floats(r);
        return;
    }
    w.min = bits < 64 ? w.min : 0;
    if (bits == 64 && sort_is_quick(r->dtype) && !sort_is_for_team(r->n))
        sort_quickly(r, &w);
    else if (sort_is_narrow(r->dtype) && !sort_is_for_team(r->n))
        sort_narrow(r, &w);
    else
        sort_by_digits(r, &w, bits);
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
    uint8_t flip = (uint8_t)sort_row_flip(r);
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

/* ---- complex values: the bits travel with the key, which does not have them ---- */
static void sort_c64_values(const sort_row *r)
{
    uint64_t min, key[BLOCK];
    sort_pair *x = (sort_pair *)r->buffer[0];
    int bits = sort_key_range(r, &min);
    for (int64_t at = 0; at < r->n; at += BLOCK) {
        int64_t n = r->n - at < BLOCK ? r->n - at : BLOCK;
        sort_keys_of(NDP_C64)->keys(r->a + at * r->stride * 8, r->stride, n, sort_row_flip(r), key);
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
    if (nbytes == 2)
        nbytes = 4; /* see sort_narrow */
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
