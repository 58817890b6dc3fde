/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * topk of few elements by selection: a warp finds the first few of a short row; of others a block finds the
 * first k of each chunk, then others the first k of what those found, until one chunk is left. */
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

uint64_t cuda_topk_scratch(const ndp_call *call)
{
    const int64_t k = wanted(call), first = chunks_of(row_length(call));
    if (first == 1)
        return 0;
    return (uint64_t)(rows_of(call) * k * (first + chunks_of(first * k))) * 8;
}

static int32_t run_chunks(const cuda_kernel *k, CUfunction f, ndp_stream *s, const ndp_call *call,
                          sort_params *p)
{
    uint64_t rows = (uint64_t)rows_of(call), from = 0;
    uint64_t memory = cuda_topk_scratch(call) ? cuda_ptr(&call->scratch) : 0;
    for (int turn = 0;; turn++) {
        uint64_t chunks = (uint64_t)chunks_of((int64_t)p->n), first = rows * chunks * p->k * 8;
        p->chunks = (uint32_t)chunks;
        p->words = from;
        p->found = chunks > 1 ? memory : 0;
        int32_t status = cuda_launch(k, f, s, (uint32_t)(rows * chunks), SORT_THREADS, 0, p);
        if (status != NDP_OK || chunks == 1)
            return status;
        /* The second stage writes behind the first, the third over the first, and so on. */
        from = p->found;
        memory = turn % 2 ? cuda_ptr(&call->scratch) : from + first;
        p->n = chunks * p->k;
    }
}

int32_t cuda_topk_run(const cuda_kernel *k, const CUfunction f[TOPK_FUNCTIONS], ndp_stream *s,
                      const ndp_call *call, sort_params *p)
{
    const uint64_t warps = SORT_TOPK_ROWS_THREADS / 32;
    if (!by_warps(call))
        return run_chunks(k, f[TOPK_CHUNKS], s, call, p);
    return cuda_launch(k, f[TOPK_ROWS], s, (uint32_t)((p->rows.size + warps - 1) / warps),
                       SORT_TOPK_ROWS_THREADS, 0, p);
}

int32_t cuda_topk_find(const cuda_kernel *k, int32_t dtype, CUfunction f[TOPK_FUNCTIONS])
{
    static const char *const names[] = {
        [1] = "sort_topk_rows_1", [2] = "sort_topk_rows_2", [4] = "sort_topk_rows_4"};
    const int64_t nbytes = ndp_dtype_size(dtype);
    if (nbytes > 4) /* these are sorted */
        return NDP_OK;
    const int32_t status =
        cuda_function(k->dev, CUDA_MODULE_sort_ANY, "sort_topk_chunk", &f[TOPK_CHUNKS]);
    return status == NDP_OK
               ? cuda_function(k->dev, CUDA_MODULE_sort_ANY, names[nbytes], &f[TOPK_ROWS])
               : status;
}
