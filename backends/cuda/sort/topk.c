/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * topk by selection: a warp finds the first few of a short row; a block the first k of each chunk of
 * others, then blocks the first k of what those found, until one chunk is left. Long rows and others
 * have kernels of their own. */
#include "host/backend.h"
#include "sort/sort.h"

/* Words that one block looks at in the time that another launch takes, and what blocks look at where
 * there are more. */
enum {
    TILE = SORT_TOPK_EACH * SORT_TOPK_THREADS,
    WORDS = SORT_TOPK_WORDS_EACH * SORT_TOPK_THREADS,
    WORDS_AT_ONCE = 8 * WORDS,
    WORDS_EACH = 4 * WORDS
};

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

/* Chunks of few elements are quicker where there is little to read. */
static int is_long(const ndp_call *call)
{
    const int64_t n = row_length(call);
    return n > SORT_TOPK_LONG &&
           (wanted(call) > SORT_TOPK_FIRST || rows_of(call) >= (SORT_TOPK_MANY + n - 1) / n);
}

static int by_warps(const ndp_call *call)
{
    return wanted(call) <= SORT_TOPK_FEW && row_length(call) >= SORT_TOPK_WARP &&
           row_length(call) <= SORT_TOPK_SHORT;
}

/* Tiles of the chunks of a row's elements: as many chunks as occupy the device. */
static int64_t tiles_each(int64_t n, int64_t rows, int sm_count)
{
    const int64_t tiles = (n + TILE - 1) / TILE;
    const int64_t chunks = (int64_t)sm_count * SORT_TOPK_BLOCKS / rows;
    return tiles <= 2 || chunks < 2 ? tiles : (tiles + chunks - 1) / chunks;
}

/* How many elements, or found words, a block of the next stage takes of n of a row. */
static int64_t chunk_of(const cuda_kernel *k, const ndp_call *call, int64_t n, int found)
{
    const int64_t rows = rows_of(call);
    if (!is_long(call))
        return SORT_TOPK_CHUNK;
    if (!found)
        return tiles_each(n, rows, k->dev->sm_count) * TILE;
    return n <= WORDS_AT_ONCE ? WORDS_AT_ONCE : WORDS_EACH;
}

static int64_t chunks_of(int64_t n, int64_t chunk)
{
    return (n + chunk - 1) / chunk;
}

int cuda_topk_fits(const ndp_call *call)
{
    const int64_t n = row_length(call), k = wanted(call), rows = rows_of(call);
    if (call->op != NDP_OP_topk || ndp_dtype_size(call->in[0].dtype) > 4 || k < 1 || rows < 1)
        return 0;
    const int selects =
        is_long(call) ? k <= SORT_TOPK_MOST : k <= SORT_TOPK_FIRST && n >= SORT_TOPK_LEAST;
    return (by_warps(call) || selects) && n < (int64_t)UINT32_MAX &&
           rows <= INT32_MAX / chunks_of(n, SORT_TOPK_CHUNK);
}

uint64_t cuda_topk_scratch(const cuda_kernel *k, const ndp_call *call)
{
    const int64_t rows = rows_of(call), n = row_length(call);
    const int64_t first = chunks_of(n, chunk_of(k, call, n, 0)) * wanted(call);
    const int64_t second = chunks_of(first, chunk_of(k, call, first, 1)) * wanted(call);
    return by_warps(call) || first == wanted(call) ? 0 : (uint64_t)(rows * (first + second)) * 8;
}

static int32_t run_chunks(const cuda_kernel *k, const CUfunction f[TOPK_FUNCTIONS], ndp_stream *s,
                          const ndp_call *call, sort_params *p)
{
    const uint64_t rows = (uint64_t)rows_of(call);
    uint64_t from = 0, memory = cuda_topk_scratch(k, call) ? cuda_ptr(&call->scratch) : 0;
    for (int turn = 0;; turn++) {
        p->per_chunk = (uint64_t)chunk_of(k, call, (int64_t)p->n, turn > 0);
        p->chunks = (uint32_t)chunks_of((int64_t)p->n, (int64_t)p->per_chunk);
        p->words = from;
        p->found = p->chunks > 1 ? memory : 0;
        const int how = !is_long(call) ? TOPK_CHUNKS : turn ? TOPK_FOUND : TOPK_LONG;
        const int32_t status =
            cuda_launch(k, f[how], s, (uint32_t)rows * p->chunks,
                        how == TOPK_CHUNKS ? SORT_THREADS : SORT_TOPK_THREADS, 0, p);
        if (status != NDP_OK || p->chunks == 1)
            return status;
        /* The second stage writes behind the first, the third over the first, and so on. */
        from = p->found;
        p->n = p->chunks * p->k;
        memory = turn % 2 ? cuda_ptr(&call->scratch) : from + rows * p->n * 8;
    }
}

int32_t cuda_topk_run(const cuda_kernel *k, const CUfunction f[TOPK_FUNCTIONS], ndp_stream *s,
                      const ndp_call *call, sort_params *p)
{
    const uint64_t warps = SORT_TOPK_ROWS_THREADS / 32;
    if (!by_warps(call))
        return run_chunks(k, f, s, call, p);
    return cuda_launch(k, f[TOPK_ROWS], s, (uint32_t)((p->rows.size + warps - 1) / warps),
                       SORT_TOPK_ROWS_THREADS, 0, p);
}

int32_t cuda_topk_find(const cuda_kernel *k, int32_t dtype, CUfunction f[TOPK_FUNCTIONS])
{
    static const char *const names[][2] = {[1] = {"sort_topk_1", "sort_topk_rows_1"},
                                           [2] = {"sort_topk_2", "sort_topk_rows_2"},
                                           [4] = {"sort_topk_4", "sort_topk_rows_4"}};
    const int64_t nbytes = ndp_dtype_size(dtype);
    if (nbytes > 4) /* these are sorted */
        return NDP_OK;
    const char *const kernels[TOPK_FUNCTIONS] = {[TOPK_LONG] = names[nbytes][0],
                                                 [TOPK_FOUND] = "sort_topk_words",
                                                 [TOPK_ROWS] = names[nbytes][1],
                                                 [TOPK_CHUNKS] = "sort_topk_chunk"};
    int32_t status = NDP_OK;
    for (int i = 0; i < TOPK_FUNCTIONS && status == NDP_OK; i++)
        status = cuda_function(k->dev, CUDA_MODULE_sort_ANY, kernels[i], &f[i]);
    return status;
}
