/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random numbers from Philox by explicit key and counter; plugin.h, ndp_random, has the formulas.
 * Each element depends on its position alone, so any cut into threads gives the same bits. */
#include <stdio.h>
#include "copy/copy.h"
#include "math/half.h"
#include "random/random.h"
#include "random/sampler.h"

enum { GRAIN = 16 << 10 }; /* elements that a thread takes at a time; a multiple of a batch */

typedef struct {
    const ndp_view *out;
    const ndp_random *p;
    int per_block;       /* elements of a block: 4, or 2 of 64 bits */
    int32_t dtype;       /* of the values that make() leaves: f32, f64, u32 or u64 */
    uint16_t below_high; /* uniform f16 and bf16: the largest value below high */
    const cpu_random_loops *loops;
    cpu_random_fn *make;
} random_job;

static float half_value(int32_t dtype, uint16_t h)
{
    return dtype == NDP_F16 ? cpu_f16_to_f32(h) : cpu_bf16_to_f32(h);
}

static uint16_t half_below(int32_t dtype, float high)
{
    uint16_t h = dtype == NDP_F16 ? cpu_f16_from_f32(high) : cpu_bf16_from_f32(high);
    while (half_value(dtype, h) >= high) /* once or twice */
        h = (h & 0x7fff) == 0 ? 0x8001 : (uint16_t)(h & 0x8000 ? h + 1 : h - 1);
    return h;
}

/* Rounding to 16 bits may reach high again. */
static void limit_half(const random_job *job, uint16_t *v, int64_t n)
{
    float high = (float)job->p->b;
    for (int64_t i = 0; i < n; i++)
        v[i] = half_value(job->out->dtype, v[i]) >= high ? job->below_high : v[i];
}

/* ---- the class ---- */

static void run_batches(void *ctx, int64_t begin, int64_t end)
{
    const random_job *job = ctx;
    uint32_t words[CPU_RANDOM_WORDS];
    _Alignas(64) char values[4 * CPU_RANDOM_WORDS], halves[2 * CPU_RANDOM_WORDS];
    int64_t batch = (int64_t)PHILOX_LANES * job->per_block;
    int limits = job->below_high != 0;
    for (int64_t i = begin; i < end; i += batch) {
        int64_t n = end - i < batch ? end - i : batch;
        job->loops->words(job->p->key, job->p->counter, (uint64_t)(i / job->per_block), words);
        job->make(job->p, words, values);
        if (limits) {
            cpu_copy_cast(job->dtype, job->out->dtype, halves, values, n);
            limit_half(job, (uint16_t *)(void *)halves, n);
        }
        cpu_copy_put(job->out, i, n, limits ? job->out->dtype : job->dtype,
                     limits ? halves : values);
    }
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    (void)kernel;
    (void)stream;
    const ndp_view *out = &call->out[0];
    random_job job = {.out = out, .p = call->params, .per_block = 4};
    int floating = call->op != NDP_OP_random_integers, normal = call->op == NDP_OP_random_normal;
    int wide = ndp_dtype_size(out->dtype) == 8;
    if (wide)
        job.per_block = 2;
    const cpu_random_loops *l = job.loops = CPU_ISA_PICK(cpu_random_table);
    if (normal)
        job.make = wide ? l->normal_f64 : l->normal_f32;
    else if (floating)
        job.make = wide ? l->uniform_f64 : l->uniform_f32;
    else
        job.make = wide ? l->integers_u64 : l->integers_u32;
    job.dtype = floating ? (wide ? NDP_F64 : NDP_F32) : (wide ? NDP_U64 : NDP_U32);
    if (floating && !normal && ndp_dtype_size(out->dtype) == 2 && (float)job.p->a < (float)job.p->b)
        job.below_high = half_below(out->dtype, (float)job.p->b);
    cpu_parallel(ndp_view_size(out), GRAIN, run_batches, &job);
    return NDP_OK;
}

static const ndp_kernel kernel = {.size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = run};

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    uint64_t legal = cpu_domain_dtypes(like->op);
    if (like->n_in > 0)
        return cpu_sampler_find(like, why, n);
    if (like->n_out == 1 && like->out[0].dtype > 0 && like->out[0].dtype < NDP_DTYPE_END &&
        legal >> like->out[0].dtype & 1)
        return &kernel;
    snprintf(why, n, "%s has no kernel for dtype %d", cpu_op_name(like->op),
             like->n_out ? (int)like->out[0].dtype : 0);
    return NULL;
}

const cpu_class cpu_random = {cpu_domain_dtypes, find};
