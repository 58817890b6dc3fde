/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Ramps: start + i*step, exact modulo 2^width for integers, in f64 and rounded once for the rest.
 */
#include <stdio.h>
#include "copy/copy.h"

enum {
    BATCH = 256,     /* elements staged in the first cache */
    GRAIN = 64 << 10 /* elements that a thread takes at a time; a multiple of BATCH */
};

typedef struct {
    const ndp_view *out;
    const ndp_iota *ramp;
} iota_job;

/* Sums, for vectors of products of 64 bits take many instructions. */
static void ramp(uint64_t *to, uint64_t first, uint64_t step, int64_t n)
{
    for (int64_t k = 0; k < n; k++, first += step)
        to[k] = first;
}

static void iota_integers(void *ctx, int64_t begin, int64_t end)
{
    const iota_job *job = ctx;
    uint64_t start = job->ramp->start.v.u, step = job->ramp->step.v.u, v[BATCH];
    if (job->out->flags & NDP_VIEW_CONTIGUOUS && ndp_dtype_size(job->out->dtype) == 8) {
        ramp((uint64_t *)(void *)cpu_ptr(job->out) + begin, start + (uint64_t)begin * step, step,
             end - begin);
        return;
    }
    for (int64_t i = begin; i < end; i += BATCH) {
        int64_t n = end - i < BATCH ? end - i : BATCH;
        ramp(v, start + (uint64_t)i * step, step, n);
        cpu_copy_put(job->out, i, n, NDP_U64, v);
    }
}

static void iota_reals(void *ctx, int64_t begin, int64_t end)
{
    const iota_job *job = ctx;
    double start = job->ramp->start.v.f, step = job->ramp->step.v.f, v[BATCH];
    for (int64_t i = begin; i < end; i += BATCH) {
        int64_t n = end - i < BATCH ? end - i : BATCH;
        double first = (double)i; /* exact below 2^53, as is the sum */
        for (int32_t k = 0; k < (int32_t)n; k++)
            v[k] = start + (first + (double)k) * step;
        cpu_copy_put(job->out, i, n, NDP_F64, v);
    }
}

static void iota_complex(void *ctx, int64_t begin, int64_t end)
{
    const iota_job *job = ctx;
    const double *start = job->ramp->start.v.c, *step = job->ramp->step.v.c;
    double v[2 * BATCH];
    for (int64_t i = begin; i < end; i += BATCH) {
        int64_t n = end - i < BATCH ? end - i : BATCH;
        for (int64_t k = 0; k < n; k++) {
            v[2 * k] = start[0] + (double)(i + k) * step[0];
            v[2 * k + 1] = start[1] + (double)(i + k) * step[1];
        }
        cpu_copy_put(job->out, i, n, NDP_C128, v);
    }
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    (void)kernel;
    (void)stream;
    iota_job job = {&call->out[0], call->params};
    int32_t kind = ndp_dtype_kind(job.out->dtype);
    cpu_parallel(ndp_view_size(job.out), GRAIN,
                 kind == NDP_KIND_FLOAT     ? iota_reals
                 : kind == NDP_KIND_COMPLEX ? iota_complex
                                            : iota_integers,
                 &job);
    return NDP_OK;
}

static const ndp_kernel iota_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = run};

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    uint64_t legal = cpu_domain_dtypes(like->op);
    if (like->n_out == 1 && like->out[0].dtype > 0 && like->out[0].dtype < NDP_DTYPE_END &&
        legal >> like->out[0].dtype & 1)
        return &iota_kernel;
    snprintf(why, n, "%s has no kernel for dtype %d", cpu_op_name(like->op),
             like->n_out ? (int)like->out[0].dtype : 0);
    return NULL;
}

const cpu_class cpu_iota = {cpu_domain_dtypes, find};
