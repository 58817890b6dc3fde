/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * searchsorted: parameters of its kernel. */
#include "index/search.h"
#include "host/backend.h"
#include "index/histogram.h"
#include "walk/plan.h"

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const ndp_view *sorted = &call->in[0], *values = &call->in[1], *out = &call->out[0];
    search_params p = {.n = sorted->shape[0], .stride = sorted->stride[0], .dtype = sorted->dtype};
    if (ndp_view_size(out) == 0)
        return NDP_OK;
    p.sorted = p.n > 0 ? cuda_ptr(sorted) : 0;
    p.out = cuda_ptr(out);
    p.right = ((const ndp_search *)call->params)->right != 0;
    if (values->mem)
        p.values = cuda_ptr(values);
    else
        cuda_store_scalar(&call->scalar[values->offset_bytes], p.scalar);
    cuda_walk_begin(&p.walk);
    for (int d = out->ndim - 1; d >= 0; d--) {
        int at = cuda_walk_add(&p.walk, out->shape[d]);
        p.out_stride[at] = out->stride[d];
        p.value_stride[at] = values->mem ? values->stride[d] : 0;
    }
    cuda_walk_end(&p.walk);
    uint64_t blocks = (p.walk.size + CUDA_THREADS - 1) / CUDA_THREADS;
    return cuda_launch(k, k->function[0], s, (uint32_t)(blocks < 1 << 20 ? blocks : 1 << 20),
                       CUDA_THREADS, 0, &p);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    (void)like;
    k->base.run = run;
    return cuda_function(k->dev, CUDA_MODULE_search_ANY, "search", &k->function[0]);
}

static uint64_t dtypes(int32_t op)
{
    return op == NDP_OP_searchsorted ? cuda_domain_dtypes(op)
           : op == NDP_OP_histogram  ? cuda_histogram_dtypes()
                                     : 0;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    if (!dtypes(like->op))
        return cuda_unsupported(like, why, n);
    return like->op == NDP_OP_histogram ? cuda_histogram_find(dev, like, out, why, n)
                                        : cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_search = {.dtypes = dtypes, .find = find};
