/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * histogram: which dtypes, and parameters of its kernels. */
#include "index/histogram.h"
#include "walk/plan.h"

enum { CLEAR, COUNT };

/* Edges are of the values' dtype, or f64. */
static const char *kernel_of(int32_t dtype)
{
    switch (dtype) {
    case NDP_F32:
        return "histogram_f32";
    case NDP_F64:
        return "histogram_f64";
    case NDP_I32:
        return "histogram_i32";
    case NDP_I64:
        return "histogram_i64";
    case NDP_U8:
        return "histogram_u8";
    case NDP_U16:
        return "histogram_u16";
    case NDP_U32:
        return "histogram_u32";
    case NDP_U64:
        return "histogram_u64";
    default:
        return NULL;
    }
}

uint64_t cuda_histogram_dtypes(void)
{
    uint64_t mask = 0;
    for (int32_t d = 0; d < NDP_DTYPE_END; d++)
        mask |= kernel_of(d) ? (uint64_t)1 << d : 0;
    return mask;
}

/* Counts of a block in shared memory, beside the edges, in several sets if there is room. */
static uint32_t plan_shared(histogram_params *p)
{
    const int64_t edges = p->n < HISTOGRAM_SHARED
                              ? (p->n * ndp_dtype_size(p->sorted_dtype) + 3) / 4 * 4
                              : HISTOGRAM_SHARED;
    const int64_t set = (p->n + 1) * 4, room = HISTOGRAM_SHARED - edges;
    const int64_t copies = room > 0 ? room / set : 0;
    p->copies = (int32_t)(copies < HISTOGRAM_COPIES ? copies : HISTOGRAM_COPIES);
    return p->copies ? (uint32_t)(edges + p->copies * set) : 0;
}

static void plan_values(histogram_params *p, const ndp_call *call)
{
    const ndp_view *values = &call->in[1];
    if (values->mem)
        p->values = cuda_ptr(values);
    else
        cuda_store_scalar(&call->scalar[values->offset_bytes], p->scalar);
    cuda_walk_begin(&p->walk);
    for (int d = values->ndim - 1; d >= 0; d--) {
        int at = cuda_walk_add(&p->walk, values->shape[d]);
        p->value_stride[at] = values->mem ? values->stride[d] : 0;
    }
    cuda_walk_end(&p->walk);
    p->dense = values->mem && (values->flags & NDP_VIEW_CONTIGUOUS) != 0;
}

static uint32_t blocks_for(const cuda_kernel *k, uint64_t items, uint32_t each)
{
    const uint64_t blocks = (items + each - 1) / each, most = (uint64_t)k->dev->sm_count * 4;
    return (uint32_t)(blocks < most ? blocks : most);
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const ndp_view *sorted = &call->in[0], *out = &call->out[0];
    histogram_params p = {.n = sorted->shape[0],
                          .stride = sorted->stride[0],
                          .out = cuda_ptr(out),
                          .out_stride = out->stride[0],
                          .sorted_dtype = sorted->dtype,
                          .dtype = call->in[1].dtype,
                          .right = ((const ndp_search *)call->params)->right != 0};
    p.sorted = p.n > 0 ? cuda_ptr(sorted) : 0;
    plan_values(&p, call);
    const uint32_t shared = plan_shared(&p);
    int32_t status =
        cuda_launch(k, k->function[CLEAR], s, blocks_for(k, (uint64_t)p.n + 1, HISTOGRAM_THREADS),
                    HISTOGRAM_THREADS, 0, &p);
    if (status != NDP_OK || p.walk.size == 0)
        return status;
    return cuda_launch(k, k->function[COUNT], s, blocks_for(k, p.walk.size, 4 * HISTOGRAM_THREADS),
                       HISTOGRAM_THREADS, shared, &p);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    int32_t status =
        cuda_function(k->dev, CUDA_MODULE_histogram_ANY, "histogram_clear", &k->function[CLEAR]);
    k->base.run = run;
    return status == NDP_OK ? cuda_function(k->dev, CUDA_MODULE_histogram_ANY,
                                            kernel_of(like->in[0].dtype), &k->function[COUNT])
                            : status;
}

int32_t cuda_histogram_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                            size_t n)
{
    const int32_t sorted = like->in[0].dtype, values = like->in[1].dtype;
    const int real = values != NDP_C64 && values != NDP_C128;
    if (!kernel_of(sorted) || !(sorted == values || (sorted == NDP_F64 && real)))
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}
