/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random numbers from Philox by explicit key and counter: parameters, and destinations with strides
 * cut into what a kernel walks. Each element depends on its position alone. */
#include "random/random.h"
#include <math.h>
#include <stdio.h>
#include "host/backend.h"
#include "random/random_class.h"
#include "walk/plan.h"
#include "backends/cpu/math/half.h"

/* ---- parameters, rounded as the CPU rounds them ---- */

static float half_value(int32_t dtype, uint16_t h)
{
    return dtype == NDP_F16 ? cpu_f16_to_f32(h) : cpu_bf16_to_f32(h);
}

/* The largest value below high. */
static uint16_t half_below(int32_t dtype, float high)
{
    uint16_t h = dtype == NDP_F16 ? cpu_f16_from_f32(high) : cpu_bf16_from_f32(high);
    while (half_value(dtype, h) >= high) /* once or twice */
        h = (h & 0x7fff) == 0 ? 0x8001 : (uint16_t)(h & 0x8000 ? h + 1 : h - 1);
    return h;
}

/* Whether low + k * range needs no rounding but the sum's, and stays below high. */
static int is_plain(double range, double largest, double below)
{
    int exponent;
    return range > 0x1p-64 && range < 0x1p64 && frexp(range, &exponent) == 0.5 && largest <= below;
}

static void set_uniform(random_params *p, const ndp_random *r, int32_t dtype)
{
    float low = (float)r->a, high = (float)r->b;
    p->range = r->b - r->a;
    p->below = r->a < r->b ? nextafter(r->b, -INFINITY) : INFINITY;
    p->range_f32 = high - low;
    p->below_f32 = low < high ? nextafterf(high, -INFINITY) : INFINITY;
    p->high = high;
    if (dtype == NDP_F64)
        p->plain = is_plain(p->range, r->a + (1 - 0x1p-53) * p->range, p->below);
    else
        p->plain = is_plain(p->range_f32, low + (1 - 0x1p-24f) * p->range_f32, p->below_f32);
    if ((dtype == NDP_F16 || dtype == NDP_BF16) && low < high) {
        p->half_below = half_below(dtype, high);
        p->below_half = half_value(dtype, (uint16_t)p->half_below);
    }
}

static void set_keys(random_params *p, uint64_t key)
{
    uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
    for (int round = 0; round < RANDOM_ROUNDS; round++) {
        p->round_key[0][round] = key0;
        p->round_key[1][round] = key1;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

/* The words of the counter above the lowest give half of the first round's result; that, half of
 * the second's. */
static void set_known(random_params *p)
{
    uint64_t product1 = (uint64_t)RANDOM_M1 * (uint32_t)p->counter[1];
    uint32_t w0 = (uint32_t)(product1 >> 32) ^ (uint32_t)(p->counter[0] >> 32) ^ p->round_key[0][0];
    uint64_t product0 = (uint64_t)RANDOM_M0 * w0;
    p->known[0] = (uint32_t)(p->counter[1] >> 32) ^ p->round_key[1][0];
    p->known[1] = (uint32_t)product1 ^ p->round_key[0][1];
    p->known[2] = (uint32_t)(product0 >> 32) ^ p->round_key[1][1];
    p->known[3] = (uint32_t)product0 ^ p->round_key[1][2];
}

static void set_parameters(random_params *p, const ndp_random *r, int32_t op, int32_t dtype)
{
    set_keys(p, r->key);
    p->counter[0] = r->counter[0];
    p->counter[1] = r->counter[1];
    p->a = r->a;
    p->a_f32 = (float)r->a;
    p->low = (uint64_t)r->low;
    p->width = (uint64_t)r->high - (uint64_t)r->low;
    if (op == NDP_OP_random_uniform) {
        set_uniform(p, r, dtype);
    } else if (op == NDP_OP_random_normal) {
        p->range = r->b;
        p->range_f32 = (float)r->b;
        p->plain = r->b == 1 && !(p->a_f32 == 0 && signbit(p->a_f32));
    }
    p->finite = isfinite(p->a_f32) && isfinite(p->range_f32);
}

/* ---- launches ---- */

enum { ALL, MANY };                    /* functions; MANY: NULL where there are none */
#define MANY_LEAST (UINT64_C(1) << 22) /* deviates that are worth tables */

static int32_t per_block(int32_t dtype)
{
    return ndp_dtype_size(dtype) == 8 ? 2 : 4;
}

/* Blocks of uniform numbers are many, for memory takes them faster in nearly the order of addresses. */
static int32_t launch(const cuda_kernel *k, ndp_stream *s, random_params *p)
{
    uint64_t items = p->n / (uint64_t)per_block(k->dtype[0]) + 2;
    uint64_t blocks = (items + RANDOM_THREADS - 1) / RANDOM_THREADS;
    uint64_t most = (uint64_t)k->dev->sm_count * (k->op == NDP_OP_random_normal ? 20 : 256);
    return cuda_launch(k, k->function[ALL], s, (uint32_t)(blocks < most ? blocks : most),
                       RANDOM_THREADS, 0, p);
}

/* Normal deviates of deviation 1, a multiple of a Philox block's. */
static int32_t launch_many(const cuda_kernel *k, ndp_stream *s, random_params *p)
{
    return cuda_launch(k, k->function[MANY], s, (uint32_t)k->dev->sm_count, RANDOM_MANY_THREADS,
                       RANDOM_MANY_BYTES, p);
}
static int is_many(const cuda_kernel *k, const random_params *p)
{
    return k->function[MANY] && p->plain && p->n >= MANY_LEAST &&
           p->n % (uint64_t)per_block(k->dtype[0]) == 0;
}

/* As many elements at once as the low 32 bits of the counter can count, and 2^31 blocks at most. */
static int32_t run_dense(const cuda_kernel *k, ndp_stream *s, random_params *p)
{
    const uint64_t most = UINT64_C(1) << 31;
    uint64_t left = p->n, each = (uint64_t)per_block(k->dtype[0]);
    int32_t status = NDP_OK;
    while (left > 0 && status == NDP_OK) {
        uint64_t blocks = (UINT64_C(1) << 32) - (uint32_t)p->counter[0];
        blocks = blocks < most ? blocks : most;
        p->n = left < blocks * each ? left : blocks * each;
        set_known(p);
        status = is_many(k, p) ? launch_many(k, s, p) : launch(k, s, p);
        left -= p->n;
        p->dst += p->n * (uint64_t)ndp_dtype_size(k->dtype[0]);
        p->counter[0] += blocks;
        p->counter[1] += p->counter[0] < blocks;
    }
    return status;
}

/* What a launch needs besides a piece of the plan. */
typedef struct {
    const cuda_kernel *kernel;
    ndp_stream *stream;
    random_params *p;
} random_job;

/* Queues the elements from p->first on; p->first moves past them. */
static int32_t launch_piece(void *ctx, const walk_plan *piece)
{
    const random_job *job = ctx;
    random_params *p = job->p;
    p->dst = piece->at[0];
    p->n = (uint64_t)walk_plan_size(piece);
    walk_few_of(piece, &p->walk, &p->stride);
    int32_t status = launch(job->kernel, job->stream, p);
    p->first += p->n;
    return status;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const ndp_view *out = call->out;
    int64_t n = ndp_view_size(out);
    uint64_t vector = (uint64_t)(per_block(out->dtype) * ndp_dtype_size(out->dtype));
    random_params p = {.dst = cuda_ptr(out), .n = (uint64_t)n};
    random_job job = {k, s, &p};
    walk_plan plan;
    if (n == 0)
        return NDP_OK;
    set_parameters(&p, call->params, call->op, out->dtype);
    p.dense = (out->flags & NDP_VIEW_CONTIGUOUS) && p.dst % vector == 0;
    if (p.dense)
        return run_dense(k, s, &p);
    walk_plan_begin(&plan);
    walk_plan_operand(&plan, p.dst, ndp_dtype_size(out->dtype));
    for (int32_t d = out->ndim - 1; d >= 0; d--)
        walk_plan_add(&plan, out->shape[d], &out->stride[d]);
    return walk_plan_pieces(&plan, CUDA_WALK_FEW, launch_piece, &job);
}

/* ---- the class ---- */

/* Kernels with tables, where a block may have as much shared memory. */
static int32_t find_many(cuda_kernel *k, const char *dtype)
{
    char name[32];
    snprintf(name, sizeof name, "normal_many_%s", dtype);
    if (k->dev->shared_most < RANDOM_MANY_BYTES)
        return NDP_OK;
    int32_t status = cuda_function(k->dev, CUDA_MODULE_random_ANY, name, &k->function[MANY]);
    return status != NDP_OK
               ? status
               : cuda_fail(cu.cuFuncSetAttribute(k->function[MANY],
                                                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                 RANDOM_MANY_BYTES),
                           "shared memory for %s", name);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    static const char *const dtypes[NDP_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = #name,
#include <ndock/dtype.def>
    };
    char name[32];
    int32_t dtype = like->out->dtype;
    k->base.run = run;
    if (like->op == NDP_OP_random_integers)
        snprintf(name, sizeof name, "integers_%d", (int)ndp_dtype_size(dtype));
    else
        snprintf(name, sizeof name, "%s_%s",
                 like->op == NDP_OP_random_normal ? "normal" : "uniform", dtypes[dtype]);
    int32_t status = cuda_function(k->dev, CUDA_MODULE_random_ANY, name, &k->function[ALL]);
    return status == NDP_OK && like->op == NDP_OP_random_normal && dtype != NDP_F64
               ? find_many(k, dtypes[dtype])
               : status;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    if (!(cuda_domain_dtypes(like->op) >> like->out->dtype & 1))
        return cuda_unsupported(like, why, n);
    if (like->n_in > 0)
        return cuda_sampler_find(dev, like, out);
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_random = {.dtypes = cuda_domain_dtypes, .find = find};
