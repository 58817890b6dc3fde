/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * topk along the last dimension. Where k is small a row is read once, and only elements better than
 * the k-th best so far are looked at; else it is sorted.
 *
 * Keys ascend from the best. Candidates are collected in order of position and sorted stably, so of
 * equal ones the first stay. */
#include <string.h>
#include "sort/sort.h"
#include "walk/walk.h"

#define BLOCK 64
#define SAMPLE 1024

#define CHUNKS_MAX 16

/* Pairs that selection from one chunk needs: the best, their successors, candidates and room to
 * sort them. */
static int64_t chunk_pairs(int64_t k)
{
    return 4 * k + 2 * BLOCK;
}

/* ---- selection ---- */
typedef struct {
    sort_pair *best, *spare, *fresh, *room;
    int64_t n_best, n_fresh, k;
} selection;

static void selection_start(selection *s, sort_pair *memory, int64_t k)
{
    s->best = memory;
    s->spare = memory + k;
    s->fresh = memory + 2 * k;
    s->room = s->fresh + k + BLOCK;
    s->n_best = s->n_fresh = 0;
    s->k = k;
}

static void selection_merge(selection *s, const sort_pair *more, int64_t n)
{
    int64_t both = s->n_best + n < s->k ? s->n_best + n : s->k;
    sort_merge_pairs(s->best, s->n_best, more, n, s->spare, both);
    sort_pair *best = s->spare;
    s->spare = s->best;
    s->best = best;
    s->n_best = both;
}

static void selection_settle(selection *s, int bits, int64_t *counts)
{
    selection_merge(s, sort_pairs(s->fresh, s->room, s->n_fresh, 0, bits, counts), s->n_fresh);
    s->n_fresh = 0;
}

typedef struct {
    const sort_row *r;
    int64_t k, grain;
    selection *chunk;
} select_job;

/* Elements from begin to end-1 with keys below limit, or all while there are fewer than k. */
static void select_scan(const select_job *w, int64_t c, int64_t begin, int64_t end, uint64_t limit,
                        uint64_t open)
{
    const sort_row *r = w->r;
    const sort_keys *keys = sort_keys_of(r->dtype);
    int64_t nbytes = ndp_dtype_size(r->dtype);
    selection *s = &w->chunk[c];
    uint64_t block[BLOCK], least, most, flip = keys->bias ^ r->descending;
    for (; begin < end; begin += BLOCK) {
        int64_t n = end - begin < BLOCK ? end - begin : BLOCK;
        const char *a = r->a + begin * r->stride * nbytes;
        keys->range(a, r->stride, n, flip, &least, &most);
        if (least >= limit && !open)
            continue;
        keys->keys(a, r->stride, n, flip, block);
        for (int64_t i = 0; i < n; i++) {
            s->fresh[s->n_fresh] = (sort_pair){block[i], (uint64_t)(begin + i)};
            s->n_fresh += (block[i] < limit) | open;
        }
        if (s->n_fresh >= s->k) {
            selection_settle(s, 8 * (int)nbytes, r->counts + c * SORT_DIGITS);
            limit = s->best[s->n_best - 1].key;
            open = 0;
        }
    }
    if (s->n_fresh > 0)
        selection_settle(s, 8 * (int)nbytes, r->counts + c * SORT_DIGITS);
}

/* A key that about twice k and some more elements of the range are below, judged by a sample;
 * without it, data that get ever better would be sorted as a whole. */
static uint64_t sampled_limit(const select_job *w, int64_t c, int64_t begin, int64_t end)
{
    const sort_row *r = w->r;
    const sort_keys *keys = sort_keys_of(r->dtype);
    uint64_t sample[2][SAMPLE], *sorted;
    int64_t n = end - begin, step = n / SAMPLE, nbytes = ndp_dtype_size(r->dtype);
    int64_t rank = w->k * SAMPLE / n * 2 + 16;
    keys->keys(r->a + begin * r->stride * nbytes, r->stride * step, SAMPLE,
               keys->bias ^ r->descending, sample[0]);
    sorted =
        sort_u64(sample[0], sample[1], SAMPLE, 0, 8 * (int)nbytes, r->counts + c * SORT_DIGITS);
    return sorted[rank] < UINT64_MAX ? sorted[rank] + 1 : UINT64_MAX;
}

static void select_chunk(void *ctx, int64_t begin, int64_t end)
{
    const select_job *w = ctx;
    int64_t c = begin / w->grain, n = end - begin;
    selection *s = &w->chunk[c];
    if (n >= 64 * SAMPLE)
        select_scan(w, c, begin, end, sampled_limit(w, c, begin, end), 0);
    if (s->n_best < s->k && s->n_best < n) { /* no sample, or it misled */
        s->n_best = 0;
        select_scan(w, c, begin, end, UINT64_MAX, 1);
    }
}

/* How many chunks a row is selected from in parallel; 0: it is better sorted. Depends on shapes
 * alone. */
static int64_t select_chunks(int64_t n, int64_t k)
{
    if (n <= SORT_SMALL || k > n / 16 || k + BLOCK >= SORT_PARALLEL)
        return 0;
    int64_t chunks = n < SORT_PARALLEL ? 1 : n / 65536, most = n / (16 * (k + BLOCK));
    chunks = chunks < CHUNKS_MAX ? chunks : CHUNKS_MAX;
    chunks = chunks < most ? chunks : most;
    return chunks > 1 ? chunks : 1;
}

static void select_row(const sort_row *r, int64_t chunks)
{
    selection chunk[CHUNKS_MAX];
    int64_t k = r->n_out, *out = (int64_t *)r->out;
    select_job w = {r, k, (r->n + chunks - 1) / chunks, chunk};
    for (int64_t c = 0; c < chunks; c++)
        selection_start(&chunk[c], (sort_pair *)r->buffer[0] + c * chunk_pairs(k), k);
    cpu_parallel(r->n, w.grain, select_chunk, &w);
    for (int64_t c = 1; c < chunks; c++) /* later chunks hold later positions */
        selection_merge(&chunk[0], chunk[c].best, chunk[c].n_best);
    for (int64_t i = 0; i < k; i++)
        out[i * r->out_stride] = (int64_t)chunk[0].best[i].with;
}

/* ---- rows of a few thousand elements of 32 bits ---- */
#define WORDS 2048
#define WORDS_BLOCK 512
#define WORDS_LONGEST 16384
#define WORDS_SAMPLE 64

/* A key that k elements and some more are likely to be below. */
static uint64_t words_limit(const sort_row *r, uint64_t flip)
{
    const int64_t step = r->n / WORDS_SAMPLE, rank = r->n_out * WORDS_SAMPLE * 2 / r->n + 3;
    uint32_t sample[WORDS_SAMPLE];
    for (int64_t i = 0; i < WORDS_SAMPLE; i++) {
        const int64_t at = i * step + i * 37 % step; /* not at even distances, as data may be */
        sort_keys_of(r->dtype)->load(r->a + at * r->stride * 4, r->stride, 1, flip, 0, sample + i);
    }
    CPU_ISA_PICK(sort_table_of)->quick[4](sample, WORDS_SAMPLE);
    return (uint64_t)sample[rank] + 1;
}

/* Whether the k best were found among the elements that a sample leaves: sorted as words of key and
 * position, by the level's quicksort. */
static int words_row(const sort_row *r)
{
    const sort_table *level = CPU_ISA_PICK(sort_table_of);
    const uint64_t flip = sort_row_flip(r), sign = (uint64_t)1 << 63;
    uint64_t words[WORDS];
    uint32_t block[WORDS_BLOCK];
    int64_t count = 0, *out = (int64_t *)r->out;
    const uint64_t limit = words_limit(r, flip);
    for (int64_t at = 0; at < r->n; at += WORDS_BLOCK) {
        const int64_t n = r->n - at < WORDS_BLOCK ? r->n - at : WORDS_BLOCK;
        if (count + n > WORDS)
            return 0;
        sort_keys_of(r->dtype)->load(r->a + at * r->stride * 4, r->stride, n, flip, 0, block);
        count += level->words(block, n, limit, at, words + count);
    }
    if (count < r->n_out)
        return 0;
    for (int64_t i = 0; i < count; i++)
        words[i] ^= sign;
    level->quick[8](words, count);
    for (int64_t i = 0; i < r->n_out; i++)
        out[i * r->out_stride] = (int64_t)(words[i] & UINT32_MAX);
    return 1;
}

static int takes_words(const sort_row *r)
{
    return ndp_dtype_size(r->dtype) == 4 && sort_is_quick(r->dtype) && r->n <= WORDS_LONGEST;
}

/* ---- a call ---- */
typedef struct {
    sort_row row; /* positions are its out */
    const ndp_call *call;
    char *values;
    int64_t value_stride, rows, slots, slot_nbytes, chunks;
    cpu_walk outer; /* a, values, positions */
} job;

static void topk_rows(const job *w, sort_row r, int64_t begin, int64_t end)
{
    cpu_place c;
    const char *a = r.a;
    char *out = r.out;
    size_t nbytes = (size_t)ndp_dtype_size(r.dtype);
    cpu_place_seek(&c, &w->outer, begin);
    for (; begin < end; begin++) {
        char *values = w->values + c.offset[1] * (int64_t)nbytes;
        r.a = a + c.offset[0] * (int64_t)nbytes;
        r.out = out + c.offset[2] * 8;
        if (w->chunks > 0 && takes_words(&r) && words_row(&r))
            ;
        else if (w->chunks > 0)
            select_row(&r, w->chunks);
        else
            sort_row_positions(&r);
        for (int64_t i = 0; i < r.n_out; i++)
            memcpy(values + i * w->value_stride * (int64_t)nbytes,
                   r.a + ((int64_t *)r.out)[i * r.out_stride] * r.stride * (int64_t)nbytes, nbytes);
        cpu_place_step(&c, 1);
    }
}

static void small_rows(void *ctx, int64_t begin, int64_t end)
{
    const job *w = ctx;
    sort_row r = w->row;
    sort_pair buffer[2][SORT_SMALL];
    r.buffer[0] = (char *)buffer[0];
    r.buffer[1] = (char *)buffer[1];
    topk_rows(w, r, begin, end);
}

static void slot_rows(void *ctx, int64_t begin, int64_t end)
{
    const job *w = ctx;
    for (int64_t slot = begin; slot < end; slot++) {
        sort_row r = w->row;
        int64_t chunks = w->chunks > 0 ? w->chunks : sort_chunks(r.n);
        char *memory = cpu_ptr(&w->call->scratch) + slot * w->slot_nbytes;
        r.counts = (int64_t *)memory;
        r.buffer[0] = memory + chunks * SORT_DIGITS * 8;
        r.buffer[1] = r.buffer[0] + sort_positions_nbytes(r.dtype, r.n); /* when sorting */
        topk_rows(w, r, w->rows * slot / w->slots, w->rows * (slot + 1) / w->slots);
    }
}

static int64_t slot_nbytes(const ndp_call *call)
{
    const ndp_view *a = &call->in[0], *out = &call->out[0];
    int64_t n = a->shape[a->ndim - 1], k = out->shape[out->ndim - 1], chunks = select_chunks(n, k);
    if (chunks > 0)
        return chunks * (SORT_DIGITS * 8 + chunk_pairs(k) * (int64_t)sizeof(sort_pair));
    return 2 * sort_positions_nbytes(a->dtype, n) + sort_counts_nbytes(n);
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *s, const ndp_call *call)
{
    (void)kernel;
    (void)s;
    const ndp_view *a = &call->in[0], *values = &call->out[0], *at = &call->out[1];
    const ndp_view *all[3] = {a, values, at};
    if (ndp_view_size(values) == 0)
        return NDP_OK;
    int last = a->ndim - 1;
    int64_t n = a->shape[last], k = values->shape[last];
    job w = {.call = call,
             .values = cpu_ptr(values),
             .value_stride = values->stride[last],
             .rows = sort_rows(call),
             .chunks = select_chunks(n, k)};
    w.row = (sort_row){.a = cpu_ptr(a),
                       .stride = a->stride[last],
                       .n = n,
                       .dtype = a->dtype,
                       .out = cpu_ptr(at),
                       .out_stride = at->stride[last],
                       .n_out = k};
    w.row.descending = ((const ndp_sort *)call->params)->descending ? UINT64_MAX : 0;
    cpu_walk_views(&w.outer, 3, all, 0, last);
    if (n <= SORT_SMALL) {
        cpu_parallel(w.rows, 1 + 4096 / n, small_rows, &w);
        return NDP_OK;
    }
    w.slot_nbytes = slot_nbytes(call);
    w.slots = call->scratch.shape[0] / w.slot_nbytes;
    cpu_parallel(w.slots, 1, slot_rows, &w);
    return NDP_OK;
}

static uint64_t scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    (void)kernel;
    const ndp_view *a = &call->in[0];
    if (a->shape[a->ndim - 1] <= SORT_SMALL || ndp_view_size(&call->out[0]) == 0)
        return 0;
    return (uint64_t)(sort_slots(call) * slot_nbytes(call));
}

const ndp_kernel sort_topk_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .scratch = scratch, .run = run};
