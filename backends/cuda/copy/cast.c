/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Copies between views of two dtypes. */
#include "copy/cast.h"
#include <stdio.h>
#include <string.h>
#include "host/backend.h"
#include "walk/plan.h"

enum { CAST_DENSE, CAST_WALK };

typedef struct {
    const cuda_kernel *kernel;
    ndp_stream *stream;
    const unsigned char *scalar;
} cast_job;

static int32_t launch_walk(void *ctx, const walk_plan *piece)
{
    const cast_job *job = ctx;
    line_rows rows = {.kind = job->kernel->dtype[0]};
    uint32_t blocks = line_rows_of(piece, CAST_ITEMS, &rows);
    if (job->scalar) {
        rows.src = 0;
        memcpy(rows.pattern, job->scalar, sizeof rows.pattern);
    }
    return cuda_launch(job->kernel, job->kernel->function[CAST_WALK], job->stream, blocks,
                       LINE_THREADS, 0, &rows);
}

static int32_t run_dense(const cuda_kernel *k, ndp_stream *s, const ndp_call *call, int64_t n)
{
    cast_dense p = {cuda_ptr(call->out), cuda_ptr(call->in), (uint64_t)n, call->in->dtype};
    int64_t from = ndp_dtype_size(call->in->dtype), to = ndp_dtype_size(call->out->dtype);
    uint64_t wider = (uint64_t)(from > to ? from : to),
             vector = wider == 1 ? CAST_MOST : 16 / wider;
    uint64_t blocks = p.n / vector / (LINE_THREADS * CAST_VECTORS) + 1;
    return cuda_launch(k, k->function[CAST_DENSE], s,
                       (uint32_t)(blocks < INT32_MAX ? blocks : INT32_MAX), LINE_THREADS, 0, &p);
}

/* Vectors want 16-byte addresses; the others are served as strided. */
static int is_dense(const ndp_call *call)
{
    return call->in->mem && (call->in->flags & call->out->flags & NDP_VIEW_CONTIGUOUS) &&
           cuda_ptr(call->in) % 16 == 0 && cuda_ptr(call->out) % 16 == 0;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const ndp_view *in = call->in, *out = call->out;
    int64_t n = ndp_view_size(out), to = ndp_dtype_size(out->dtype);
    int64_t from = in->mem ? ndp_dtype_size(in->dtype) : 0;
    unsigned char scalar[16] = {0};
    cast_job job = {k, s, in->mem ? NULL : scalar};
    walk_plan plan;
    if (n == 0)
        return NDP_OK;
    if (is_dense(call))
        return run_dense(k, s, call, n);
    if (job.scalar)
        cuda_store_scalar(&call->scalar[in->offset_bytes], scalar);
    walk_plan_begin(&plan);
    walk_plan_operand(&plan, cuda_ptr(out), 1);
    walk_plan_operand(&plan, in->mem ? cuda_ptr(in) : 0, 1);
    for (int d = 0; d < out->ndim; d++)
        walk_plan_add(&plan, out->shape[d], (int64_t[]){out->stride[d] * to, in->stride[d] * from});
    walk_plan_turn(&plan);
    walk_plan_sort(&plan);
    walk_plan_merge(&plan);
    return walk_plan_pieces(&plan, CUDA_WALK_FEW + 1, launch_walk, &job);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    static const char *const names[NDP_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = #name,
#include <ndock/dtype.def>
    };
    char name[32];
    k->base.run = run;
    snprintf(name, sizeof name, "cast_dense_%s", names[like->out->dtype]);
    int32_t status = cuda_function(k->dev, CUDA_MODULE_cast_ANY, name, &k->function[CAST_DENSE]);
    snprintf(name, sizeof name, "cast_walk_%s", names[like->out->dtype]);
    return status != NDP_OK
               ? status
               : cuda_function(k->dev, CUDA_MODULE_cast_ANY, name, &k->function[CAST_WALK]);
}

int32_t cuda_cast_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out)
{
    return cuda_kernel_get(dev, like, 0, make, out);
}
