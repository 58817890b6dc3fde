/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * topk of few elements by selection: a block finds the first k of each chunk of a row, then others
 * the first k of what those found, until one chunk is left. */
#include "host/backend.h"
#include "sort/sort.h"

static int64_t chunks_of(int64_t n)
{
    return (n + SORT_TOPK_CHUNK - 1) / SORT_TOPK_CHUNK;
}

static int64_t rows_of(const ndp_call *call)
{
    const ndp_view *a = &call->in[0];
    int64_t rows = 1;
    for (int d = 0; d < a->ndim - 1; d++)
        rows *= a->shape[d];
    return rows;
}

int cuda_topk_fits(const ndp_call *call)
{
    const ndp_view *a = &call->in[0];
    int64_t n = a->shape[a->ndim - 1], k = call->out[0].shape[a->ndim - 1];
    return call->op == NDP_OP_topk && ndp_dtype_size(a->dtype) <= 4 && k > 0 &&
           k <= SORT_TOPK_MOST && n >= SORT_TOPK_LEAST && n < (int64_t)UINT32_MAX &&
           rows_of(call) > 0 && rows_of(call) <= INT32_MAX / chunks_of(n);
}

uint64_t cuda_topk_scratch(const ndp_call *call)
{
    const ndp_view *a = &call->in[0];
    int64_t k = call->out[0].shape[a->ndim - 1], first = chunks_of(a->shape[a->ndim - 1]);
    if (first == 1)
        return 0;
    return (uint64_t)(rows_of(call) * k * (first + chunks_of(first * k))) * 8;
}

int32_t cuda_topk_run(const cuda_kernel *k, CUfunction f, ndp_stream *s, const ndp_call *call,
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
