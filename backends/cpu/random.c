/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random numbers from Philox by explicit key and counter; plugin.h, ndp_random, has the formulas. Each
 * element depends on its position alone, so any cut into threads gives the same bits. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "copy.h"
#include "half.h"
#include "philox.h"

enum {
    BATCH = 4 * PHILOX_LANES, /* words of one call of the generator */
    GRAIN = 16 << 10,         /* elements that a thread takes at a time; a multiple of BATCH */
};

typedef struct random_job random_job;
struct random_job {
    const ndp_view *out;
    const ndp_random *r;
    int per_block;        /* elements of a block: 4, or 2 of 64 bits */
    int32_t dtype;        /* of the values that make() leaves: f32, f64, u32 or u64 */
    uint16_t below_high;  /* uniform f16 and bf16: the largest value below high */
    void (*make)(const random_job *, const uint32_t words[BATCH], void *values);
};

static inline uint64_t word64(const uint32_t *words, int i)
{
    return words[2 * i] | (uint64_t)words[2 * i + 1] << 32;
}

/* ---- uniform ---- */

static void uniform_f32(const random_job *job, const uint32_t *words, void *values)
{
    float low = (float)job->r->a, high = (float)job->r->b, range = high - low, *v = values;
    float below = low < high ? nextafterf(high, -INFINITY) : INFINITY;
    for (int i = 0; i < BATCH; i++) {
        float x = low + (float)(int32_t)(words[i] >> 8) * 0x1p-24f * range;
        v[i] = x > below ? below : x;
    }
}

static void uniform_f64(const random_job *job, const uint32_t *words, void *values)
{
    double low = job->r->a, high = job->r->b, range = high - low, *v = values;
    double below = low < high ? nextafter(high, -INFINITY) : INFINITY;
    for (int i = 0; i < BATCH / 2; i++) {
        double x = low + (double)(int64_t)(word64(words, i) >> 11) * 0x1p-53 * range;
        v[i] = x > below ? below : x;
    }
}

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
    float high = (float)job->r->b;
    for (int64_t i = 0; i < n; i++)
        v[i] = half_value(job->out->dtype, v[i]) >= high ? job->below_high : v[i];
}

/* ---- normal ----
 * The f32 path computes in f64 with polynomials of its own, of basic operations only, and rounds z
 * once: fast, within one unit in the last place, and the same bits wherever f64 is IEEE 754's. */

/* log of x in (0, 1]: x = m * 2^e with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh((m-1)/(m+1)). */
static inline double log_poly(double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    int64_t biased = (int64_t)(u + 0x00095f619980c433) >> 52; /* carries from the mantissa of sqrt(2) */
    u -= (uint64_t)(biased - 1023) << 52;
    double m, e = (double)(int32_t)(biased - 1023);
    memcpy(&m, &u, 8);
    double s = (m - 1) / (m + 1), t = s * s, p = 1.0 / 17;
    p = p * t + 1.0 / 15;
    p = p * t + 1.0 / 13;
    p = p * t + 1.0 / 11;
    p = p * t + 1.0 / 9;
    p = p * t + 1.0 / 7;
    p = p * t + 1.0 / 5;
    p = p * t + 1.0 / 3;
    return e * 0.69314718055994530942 + 2 * (s + s * t * p);
}

/* Taylor polynomials on [-pi/4, pi/4], to 1e-15. */
static inline double sin_poly(double x)
{
    double t = x * x, p = -1.0 / 1307674368000;
    p = p * t + 1.0 / 6227020800;
    p = p * t - 1.0 / 39916800;
    p = p * t + 1.0 / 362880;
    p = p * t - 1.0 / 5040;
    p = p * t + 1.0 / 120;
    p = p * t - 1.0 / 6;
    return x + x * t * p;
}
static inline double cos_poly(double x)
{
    double t = x * x, p = 1.0 / 20922789888000;
    p = p * t - 1.0 / 87178291200;
    p = p * t + 1.0 / 479001600;
    p = p * t - 1.0 / 3628800;
    p = p * t + 1.0 / 40320;
    p = p * t - 1.0 / 720;
    p = p * t + 1.0 / 24;
    p = p * t - 0.5;
    return 1 + t * p;
}

/* Angles are reduced in turns, where it is exact: u = quarter/4 + t, |t| <= 1/8. From the sine and
 * cosine of 2 pi t to those of 2 pi u. */
static inline void turn(int quarter, double *cosine, double *sine)
{
    double c = quarter & 1 ? *sine : *cosine, s = quarter & 1 ? *cosine : *sine;
    *cosine = (quarter + 1) & 2 ? -c : c;
    *sine = quarter & 2 ? -s : s;
}

#define TWO_PI 6.283185307179586476925

static void normal_f32(const random_job *job, const uint32_t *words, void *values)
{
    float mean = (float)job->r->a, std = (float)job->r->b, *v = values;
    for (int i = 0; i < BATCH / 2; i++) {
        double u1 = ((int32_t)(words[2 * i] >> 8) + 1) * 0x1p-24;
        double u2 = (int32_t)(words[2 * i + 1] >> 8) * 0x1p-24;
        int quarter = (int32_t)(u2 * 4 + 0.5);
        double x = TWO_PI * (u2 - quarter * 0.25), c = cos_poly(x), s = sin_poly(x);
        double r = sqrt(-2 * log_poly(u1));
        turn(quarter, &c, &s);
        v[2 * i] = mean + std * (float)(r * c);
        v[2 * i + 1] = mean + std * (float)(r * s);
    }
}

static void normal_f64(const random_job *job, const uint32_t *words, void *values)
{
    double mean = job->r->a, std = job->r->b, *v = values;
    for (int i = 0; i < BATCH / 4; i++) {
        double u1 = (double)((int64_t)(word64(words, 2 * i) >> 11) + 1) * 0x1p-53;
        double u2 = (double)(int64_t)(word64(words, 2 * i + 1) >> 11) * 0x1p-53;
        int quarter = (int32_t)(u2 * 4 + 0.5);
        double x = TWO_PI * (u2 - quarter * 0.25), c = cos(x), s = sin(x), r = sqrt(-2 * log(u1));
        turn(quarter, &c, &s);
        v[2 * i] = mean + std * (r * c);
        v[2 * i + 1] = mean + std * (r * s);
    }
}

/* ---- integers ---- */

static void integers_u32(const random_job *job, const uint32_t *words, void *values)
{
    uint64_t range = (uint64_t)job->r->high - (uint64_t)job->r->low;
    uint32_t low = (uint32_t)job->r->low, *v = values;
    if (range == 0 || range > UINT32_MAX) /* the full width: multiplying by 2^32 */
        for (int i = 0; i < BATCH; i++)
            v[i] = low + words[i];
    else
        for (int i = 0; i < BATCH; i++)
            v[i] = low + (uint32_t)((uint64_t)words[i] * (uint32_t)range >> 32);
}

static uint64_t multiply_high(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    return a1 * b1 + (middle >> 32) + (((uint32_t)middle + a0 * b1) >> 32);
}

static void integers_u64(const random_job *job, const uint32_t *words, void *values)
{
    uint64_t low = (uint64_t)job->r->low, range = (uint64_t)job->r->high - low, *v = values;
    for (int i = 0; i < BATCH / 2; i++) {
        uint64_t w = word64(words, i);
        v[i] = low + (range == 0 ? w : multiply_high(w, range));
    }
}

/* ---- the class ---- */

static void run_batches(void *ctx, int64_t begin, int64_t end)
{
    const random_job *job = ctx;
    uint32_t words[BATCH];
    _Alignas(64) char values[4 * BATCH], halves[2 * BATCH];
    int64_t batch = (int64_t)PHILOX_LANES * job->per_block;
    int limits = job->below_high != 0;
    for (int64_t i = begin; i < end; i += batch) {
        int64_t n = end - i < batch ? end - i : batch;
        philox_blocks(job->r->key, job->r->counter, (uint64_t)(i / job->per_block), words);
        job->make(job, words, values);
        if (limits) {
            cpu_copy_cast(job->dtype, job->out->dtype, halves, values, n);
            limit_half(job, (uint16_t *)(void *)halves, n);
        }
        cpu_copy_put(job->out, i, n, limits ? job->out->dtype : job->dtype, limits ? halves : values);
    }
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    (void)kernel;
    (void)stream;
    const ndp_view *out = &call->out[0];
    random_job job = {.out = out, .r = call->params, .per_block = 4};
    int floating = call->op != NDP_OP_random_integers, normal = call->op == NDP_OP_random_normal;
    int wide = cpu_dtype_size(out->dtype) == 8;
    if (wide)
        job.per_block = 2;
    if (floating) {
        job.dtype = wide ? NDP_F64 : NDP_F32;
        job.make = normal ? (wide ? normal_f64 : normal_f32) : (wide ? uniform_f64 : uniform_f32);
    } else {
        job.dtype = wide ? NDP_U64 : NDP_U32;
        job.make = wide ? integers_u64 : integers_u32;
    }
    if (floating && !normal && cpu_dtype_size(out->dtype) == 2 && (float)job.r->a < (float)job.r->b)
        job.below_high = half_below(out->dtype, (float)job.r->b);
    cpu_parallel(cpu_view_size(out), GRAIN, run_batches, &job);
    return NDP_OK;
}

static const ndp_kernel kernel = {.size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = run};

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    uint64_t legal = cpu_domain_dtypes(like->op);
    if (like->n_out == 1 && like->out[0].dtype > 0 && like->out[0].dtype < NDP_DTYPE_END &&
        legal >> like->out[0].dtype & 1)
        return &kernel;
    snprintf(why, n, "%s has no kernel for dtype %d", cpu_op_name(like->op),
             like->n_out ? (int)like->out[0].dtype : 0);
    return NULL;
}

const cpu_class cpu_random = {cpu_domain_dtypes, find};
