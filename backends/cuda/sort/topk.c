/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * topk of few elements by selection: a warp finds the first few of a short row; of others a block finds the
 * first k of each chunk, then others the first k of what those found, until one chunk is left. Of long rows
 * only what comes up to a bound is looked at so, unless the bound fails. */
#include "host/backend.h"
#include "sort/sort.h"

static int64_t chunks_of(int64_t n)
{
    return (n + SORT_TOPK_CHUNK - 1) / SORT_TOPK_CHUNK;
}

static int64_t row_length(const ndp_call *call)
{
    const ndp_view *a = &call->in[0];
    return a->shape[a->ndim - 1];
}

static int64_t wanted(const ndp_call *call)
{
    return call->out[0].shape[call->in[0].ndim - 1];
}

static int64_t rows_of(const ndp_call *call)
{
    const ndp_view *a = &call->in[0];
    int64_t rows = 1;
    for (int d = 0; d < a->ndim - 1; d++)
        rows *= a->shape[d];
    return rows;
}

static int by_warps(const ndp_call *call)
{
    return wanted(call) <= SORT_TOPK_FEW && row_length(call) >= SORT_TOPK_WARP &&
           row_length(call) <= SORT_TOPK_SHORT;
}

int cuda_topk_fits(const ndp_call *call)
{
    const int64_t n = row_length(call), k = wanted(call), rows = rows_of(call);
    return call->op == NDP_OP_topk && ndp_dtype_size(call->in[0].dtype) <= 4 && k > 0 && rows > 0 &&
           (by_warps(call) || (k <= SORT_TOPK_MOST && n >= SORT_TOPK_LEAST)) &&
           n < (int64_t)UINT32_MAX && rows <= INT32_MAX / chunks_of(n);
}

/* What the first k of n words of each row take, chunk by chunk. */
static uint64_t chunks_scratch(const ndp_call *call)
{
    const int64_t k = wanted(call), first = chunks_of(row_length(call));
    if (first == 1)
        return 0;
    return (uint64_t)(rows_of(call) * k * (first + chunks_of(first * k))) * 8;
}

/* Long rows: a sample of one element of `sample` is taken, whose first `first` give the bound. Of numbers
 * in any order that has nothing to do with the sample, fewer than k come up to it, or more than `room`, some times
 * in a million: how many of the first k are in the sample, k / sample on average, is nearly a Poisson
 * variable. Offsets are those in scratch memory. */
typedef struct {
    int64_t sample, first, room;
    uint64_t counts, bound, near, stages;
} topk_long;

static int is_long(const ndp_call *call)
{
    const int64_t n = row_length(call);
    return n >= SORT_TOPK_LONG && rows_of(call) >= (SORT_TOPK_AT_ALL + n - 1) / n;
}

static topk_long long_of(const ndp_call *call)
{
    const int64_t n = row_length(call), rows = rows_of(call), k = wanted(call);
    topk_long r = {.sample = SORT_TOPK_SPARSE};
    if (n / SORT_TOPK_MOST_SAMPLES > r.sample)
        r.sample = n / SORT_TOPK_MOST_SAMPLES;
    r.first = 6 + 3 * k / r.sample;
    r.room = 4 * r.first * r.sample;
    r.bound = (uint64_t)((rows + 1) / 2) * 8; /* behind the counts */
    r.near = r.bound + (uint64_t)(rows * r.first) * 8;
    r.stages = r.near + (uint64_t)(rows * r.room) * 8;
    return r;
}

uint64_t cuda_topk_scratch(const ndp_call *call)
{
    if (by_warps(call))
        return 0;
    return chunks_scratch(call) + (is_long(call) ? long_of(call).stages : 0);
}

typedef struct {
    const cuda_kernel *k;
    const CUfunction *function;
    ndp_stream *stream;
    uint64_t rows;
    uint64_t memory;      /* of what stages find */
    uint64_t most_blocks; /* of a launch */
} topk_run;

/* The first p->k of each row's p->n elements or words, as words to `to` or as results (0). */
static int32_t run_chunks(const topk_run *r, sort_params *p, uint64_t to)
{
    uint64_t memory = r->memory;
    for (int turn = 0;; turn++) {
        const uint64_t chunks = (uint64_t)chunks_of((int64_t)p->n);
        p->chunks = (uint32_t)chunks;
        p->blocks = r->rows * chunks;
        p->found = chunks > 1 ? memory : to;
        const uint64_t blocks = p->blocks < r->most_blocks ? p->blocks : r->most_blocks;
        const int32_t status = cuda_launch(r->k, r->function[TOPK_CHUNKS], r->stream,
                                           (uint32_t)blocks, SORT_THREADS, 0, p);
        if (status != NDP_OK || chunks == 1)
            return status;
        /* The second stage writes behind the first, the third over the first, and so on. */
        p->words = p->found;
        memory = turn % 2 ? r->memory : p->found + p->blocks * p->k * 8;
        p->n = chunks * p->k;
        p->counted = 0;
    }
}

/* Words up to the bound, by as many blocks as occupy the device. */
static int32_t run_bounded(const topk_run *r, const sort_params *all)
{
    sort_params p = *all;
    const uint64_t tile = (uint64_t)SORT_TOPK_EACH * SORT_THREADS, tiles = (p.n + tile - 1) / tile;
    const uint64_t each = (uint64_t)r->k->dev->sm_count * 16 / r->rows + 1;
    p.chunks = (uint32_t)(tiles < each ? tiles : each);
    return cuda_launch(r->k, r->function[TOPK_BOUNDED], r->stream, (uint32_t)(r->rows * p.chunks),
                       SORT_THREADS, 0, &p);
}

static int32_t run_long(topk_run *r, const ndp_call *call, const sort_params *all)
{
    const topk_long plan = long_of(call);
    const uint64_t base = r->memory;
    sort_params common = *all, p;
    r->memory = base + plan.stages;
    common.bounded = base;
    common.bound = base + plan.bound + (uint64_t)(plan.first - 1) * 8;
    common.bound_step = (uint32_t)plan.first;
    common.near = base + plan.near;
    common.room = (uint32_t)plan.room;
    p = common;
    p.k = (uint64_t)plan.first;
    p.n /= (uint64_t)plan.sample;
    p.sample = (uint32_t)plan.sample;
    p.zero = common.bounded;
    int32_t status = run_chunks(r, &p, base + plan.bound);
    if (status == NDP_OK)
        status = run_bounded(r, &common);
    p = common;
    p.only = SORT_TOPK_NEAR;
    p.counted = 1;
    p.words = common.near;
    p.n = common.room;
    if (status == NDP_OK)
        status = run_chunks(r, &p, 0);
    p = common;
    p.only = SORT_TOPK_REST;
    r->most_blocks = (uint64_t)r->k->dev->sm_count * 8;
    return status == NDP_OK ? run_chunks(r, &p, 0) : status;
}

int32_t cuda_topk_run(const cuda_kernel *k, const CUfunction f[TOPK_FUNCTIONS], ndp_stream *s,
                      const ndp_call *call, sort_params *p)
{
    const uint64_t warps = SORT_TOPK_ROWS_THREADS / 32;
    topk_run r = {.k = k,
                  .function = f,
                  .stream = s,
                  .rows = (uint64_t)rows_of(call),
                  .memory = cuda_topk_scratch(call) ? cuda_ptr(&call->scratch) : 0,
                  .most_blocks = INT32_MAX};
    if (by_warps(call))
        return cuda_launch(k, f[TOPK_ROWS], s, (uint32_t)((p->rows.size + warps - 1) / warps),
                           SORT_TOPK_ROWS_THREADS, 0, p);
    return is_long(call) ? run_long(&r, call, p) : run_chunks(&r, p, 0);
}

int32_t cuda_topk_find(const cuda_kernel *k, int32_t dtype, CUfunction f[TOPK_FUNCTIONS])
{
    static const char *const names[][2] = {[1] = {"sort_topk_rows_1", "sort_topk_bounded_1"},
                                           [2] = {"sort_topk_rows_2", "sort_topk_bounded_2"},
                                           [4] = {"sort_topk_rows_4", "sort_topk_bounded_4"}};
    const int64_t nbytes = ndp_dtype_size(dtype);
    if (nbytes > 4) /* these are sorted */
        return NDP_OK;
    const char *const kernels[TOPK_FUNCTIONS] = {[TOPK_ROWS] = names[nbytes][0],
                                                 [TOPK_CHUNKS] = "sort_topk_chunk",
                                                 [TOPK_BOUNDED] = names[nbytes][1]};
    int32_t status = NDP_OK;
    for (int i = 0; i < TOPK_FUNCTIONS && status == NDP_OK; i++)
        status = cuda_function(k->dev, CUDA_MODULE_sort_ANY, kernels[i], &f[i]);
    return status;
}
