/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random numbers with parameters of their own for each element, and blocks of Philox of their own:
 * any cut into threads gives the same bits. */
#include "random/sampler.h"
#include <stdio.h>
#include "copy/copy.h"

enum { GRAIN = 2 << 10, LANES = PHILOX_LANES }; /* elements that a thread takes at a time */

typedef struct {
    const ndp_call *call;
    const ndp_random *p;
    const cpu_sampler *op;
    int same; /* all parameters are the same for all elements; state is prepared */
    _Alignas(16) char state[CPU_SAMPLER_STATE];
} sampler_job;

static int is_same(const ndp_view *v)
{
    int same = 1;
    for (int d = 0; v->mem && d < v->ndim; d++)
        same = same && (v->stride[d] == 0 || v->shape[d] == 1);
    return same;
}

/* Element i in C order of a parameter. */
static double value_at(const ndp_call *call, const ndp_view *v, int64_t i)
{
    int64_t offset = 0;
    if (!v->mem)
        return call->scalar[v->offset_bytes].v.f;
    for (int d = v->ndim - 1; d >= 0; d--) {
        offset += i % v->shape[d] * v->stride[d];
        i /= v->shape[d];
    }
    return ((const double *)(const void *)cpu_ptr(v))[offset];
}

static void read_params(const sampler_job *job, cpu_sampler_batch *b, int64_t first)
{
    for (int d = 0; d < job->op->n_params; d++) {
        const ndp_view *v = &job->call->in[d];
        const int same = is_same(v);
        for (int j = 0; j < b->n; j++)
            b->param[d][j] = same && j ? b->param[d][0] : value_at(job->call, v, first + j);
    }
}

static void run_batches(void *ctx, int64_t begin, int64_t end)
{
    const sampler_job *job = ctx;
    double values[LANES];
    cpu_sampler_batch b = {
        .key = job->p->key, .counter = {job->p->counter[0], job->p->counter[1]}, .same = job->same};
    for (int64_t i = begin; i < end; i += LANES) {
        b.first = (uint64_t)i;
        b.n = (int)(end - i < LANES ? end - i : LANES);
        if (!job->same)
            read_params(job, &b, i);
        job->op->draw(&b, job->state, values);
        cpu_copy_put(&job->call->out[0], i, b.n, NDP_F64, values);
    }
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    (void)kernel;
    (void)stream;
    const cpu_sampler_loops *loops = CPU_ISA_PICK(cpu_sampler_table);
    sampler_job job = {.call = call, .p = call->params, .op = &loops->op[call->op], .same = 1};
    double param[CPU_SAMPLER_PARAMS];
    if (ndp_view_size(&call->out[0]) == 0)
        return NDP_OK;
    for (int d = 0; d < job.op->n_params; d++) {
        job.same = job.same && is_same(&call->in[d]);
        param[d] = value_at(call, &call->in[d], 0);
    }
    if (job.same)
        job.op->prepare(param, job.state);
    cpu_parallel(ndp_view_size(&call->out[0]), GRAIN, run_batches, &job);
    return NDP_OK;
}

static const ndp_kernel kernel = {.size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = run};

const ndp_kernel *cpu_sampler_find(const ndp_call *like, char *why, size_t n)
{
    const int32_t dtype = like->n_out == 1 ? like->out[0].dtype : 0;
    const cpu_sampler *op = like->op > 0 && like->op < NDP_OP_END
                                ? &CPU_ISA_PICK(cpu_sampler_table)->op[like->op]
                                : NULL;
    if (op && op->draw && op->n_params == (int)like->n_in && dtype > 0 && dtype < NDP_DTYPE_END &&
        cpu_domain_dtypes(like->op) >> dtype & 1)
        return &kernel;
    snprintf(why, n, "%s has no kernel for dtype %d and %u parameters", cpu_op_name(like->op),
             (int)dtype, (unsigned)like->n_in);
    return NULL;
}
