/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise operations: which kernel, and its parameters. */
#include "elementwise.h"
#include <stdio.h>
#include <string.h>
#include "backend.h"

enum { EW_DENSE, EW_STRIDED };

static uint64_t dtypes(int32_t op)
{
    uint64_t mask = 0;
    for (int32_t d = 1; d < NDP_DTYPE_END; d++)
        if (cuda_module_of("elementwise", d) >= 0)
            mask |= (uint64_t)1 << d;
    return mask & cuda_domain_dtypes(op);
}

static uint32_t blocks_for(const cuda_kernel *k, uint64_t items)
{
    uint64_t blocks = (items + CUDA_THREADS - 1) / CUDA_THREADS;
    uint64_t most = (uint64_t)k->dev->sm_count * 32;
    return (uint32_t)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

static void set_input(ew_input *in, const ndp_call *call, uint32_t i)
{
    in->at = 0;
    if (call->in[i].mem)
        in->at = cuda_ptr(&call->in[i]);
    else
        cuda_store_scalar(&call->scalar[call->in[i].offset_bytes], in->scalar);
}

/* Vectors want 16-byte addresses; the others are served as strided. */
static int is_dense(const ndp_call *call)
{
    for (uint32_t i = 0; i < call->n_in; i++)
        if (call->in[i].mem &&
            (!(call->in[i].flags & NDP_VIEW_CONTIGUOUS) || cuda_ptr(&call->in[i]) % 16 != 0))
            return 0;
    return (call->out->flags & NDP_VIEW_CONTIGUOUS) && cuda_ptr(call->out) % 16 == 0;
}

static int32_t run_dense(const cuda_kernel *k, ndp_stream *s, const ndp_call *call, int64_t n)
{
    ew_dense p = {.n = (uint64_t)n, .out = cuda_ptr(call->out)};
    for (uint32_t i = 0; i < call->n_in; i++)
        set_input(&p.in[i], call, i);
    uint64_t vector = 16 / (uint64_t)cuda_dtype_size(k->dtype[call->n_in - 1]);
    return cuda_launch(k, k->function[EW_DENSE], s, blocks_for(k, p.n / vector + 1), CUDA_THREADS,
                       0, &p);
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    int64_t n = cuda_view_size(call->out);
    if (n == 0)
        return NDP_OK;
    if (is_dense(call))
        return run_dense(k, s, call, n);
    ew_strided p = {.n = (uint32_t)n, .ndim = call->out->ndim, .out = cuda_ptr(call->out)};
    if (p.ndim > EW_MAX_NDIM || n >= INT32_MAX)
        return cuda_error(NDP_ERR_UNSUPPORTED, "strided elementwise beyond rank %d", EW_MAX_NDIM);
    for (int d = 0; d < p.ndim; d++) {
        int from = p.ndim - 1 - d;
        p.extent[d] = cuda_divisor_of((uint32_t)call->out->shape[from]);
        p.out_stride[d] = call->out->stride[from];
        for (uint32_t i = 0; i < call->n_in; i++)
            p.in_stride[i][d] = call->in[i].mem ? call->in[i].stride[from] : 0;
    }
    for (uint32_t i = 0; i < call->n_in; i++)
        set_input(&p.in[i], call, i);
    return cuda_launch(k, k->function[EW_STRIDED], s, blocks_for(k, p.n), CUDA_THREADS, 0, &p);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    char name[64];
    int module = cuda_module_of("elementwise", like->in[like->n_in - 1].dtype);
    k->base.run = run;
    snprintf(name, sizeof name, "%s_dense", cuda_op_name(like->op));
    int32_t status = cuda_function(k->dev, module, name, &k->function[EW_DENSE]);
    snprintf(name, sizeof name, "%s_strided", cuda_op_name(like->op));
    return status != NDP_OK ? status
                            : cuda_function(k->dev, module, name, &k->function[EW_STRIDED]);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    if (!(dtypes(like->op) >> like->in[like->n_in - 1].dtype & 1))
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_elementwise = {.dtypes = dtypes, .find = find};
