/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Distributions with parameters among their operands: a kernel gamma_f32 for each op and dtype. */
#include "random/sampler.h"
#include <stdio.h>
#include <string.h>
#include "host/backend.h"
#include "random/random_class.h"
#include "walk/plan.h"

/* What a launch needs besides a piece of the plan. */
typedef struct {
    const cuda_kernel *kernel;
    ndp_stream *stream;
    const ndp_call *call;
    sampler_params *p;
} sampler_job;

/* Queues the elements from p->first on; p->first moves past them. */
static int32_t launch_piece(void *ctx, const walk_plan *piece)
{
    const sampler_job *job = ctx;
    const cuda_kernel *k = job->kernel;
    sampler_params *p = job->p;
    p->n = (uint64_t)walk_plan_size(piece);
    for (uint32_t i = 0; i <= job->call->n_in; i++)
        p->at[i] = i > 0 && !job->call->in[i - 1].mem ? 0 : piece->at[i];
    walk_few_of(piece, &p->walk, p->stride);
    const uint64_t blocks = (p->n + SAMPLER_THREADS - 1) / SAMPLER_THREADS,
                   most = (uint64_t)k->dev->sm_count * 32;
    const int32_t status =
        cuda_launch(k, k->function[0], job->stream, (uint32_t)(blocks < most ? blocks : most),
                    SAMPLER_THREADS, 0, p);
    p->first += p->n;
    return status;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const ndp_random *r = call->params;
    const ndp_view *out = call->out;
    sampler_params p = {.key = r->key, .counter = {r->counter[0], r->counter[1]}, .same = 1};
    sampler_job job = {(const cuda_kernel *)base, s, call, &p};
    walk_plan plan;
    if (ndp_view_size(out) == 0)
        return NDP_OK;
    walk_plan_begin(&plan);
    walk_plan_operand(&plan, cuda_ptr(out), ndp_dtype_size(out->dtype));
    for (uint32_t i = 0; i < call->n_in; i++) {
        const ndp_view *in = &call->in[i];
        walk_plan_operand(&plan, in->mem ? cuda_ptr(in) : 0, sizeof(double));
        p.value[i] = in->mem ? 0 : call->scalar[in->offset_bytes].v.f;
        p.same = p.same && !in->mem;
    }
    for (int32_t d = out->ndim - 1; d >= 0; d--) {
        int64_t stride[WALK_OPERANDS] = {out->stride[d]};
        for (uint32_t i = 0; i < call->n_in; i++)
            stride[1 + i] = call->in[i].mem ? call->in[i].stride[d] : 0;
        walk_plan_add(&plan, out->shape[d], stride);
    }
    return walk_plan_pieces(&plan, CUDA_WALK_FEW, launch_piece, &job);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    static const char *const dtypes[NDP_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = #name,
#include <ndock/dtype.def>
    };
    char name[64];
    k->base.run = run;
    snprintf(name, sizeof name, "%s_%s", ndp_op_name(like->op) + strlen("random_"),
             dtypes[like->out->dtype]);
    return cuda_function(k->dev, CUDA_MODULE_sampler_ANY, name, &k->function[0]);
}

int32_t cuda_sampler_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out)
{
    return cuda_kernel_get(dev, like, 0, make, out);
}
