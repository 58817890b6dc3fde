/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The last step of a reduction: from states to results of the destination's dtype. */
#include <math.h>
#include <string.h>
#include "reduce/reduce.h"

static void store_int(int32_t dtype, char *out, uint64_t v)
{
    switch (ndp_dtype_size(dtype)) {
    case 1:
        *(uint8_t *)out = (uint8_t)(dtype == NDP_BOOL ? v != 0 : v);
        break;
    case 2:
        *(uint16_t *)out = (uint16_t)v;
        break;
    case 4:
        *(uint32_t *)out = (uint32_t)v;
        break;
    default:
        *(uint64_t *)out = v;
        break;
    }
}

/* A real, or one part of a complex number. Which of two NaN an instruction passes on depends on the
 * order of its operands, so there is but one NaN here. */
static void store_real(int32_t dtype, char *out, double v)
{
    v = v != v ? NAN : v;
    switch (dtype) {
    case NDP_F16:
        *(uint16_t *)out = cpu_f16_from_f32(cpu_f32_round_odd(v));
        break;
    case NDP_BF16:
        *(uint16_t *)out = cpu_bf16_from_f32(cpu_f32_round_odd(v));
        break;
    case NDP_F32:
    case NDP_C64:
        *(float *)out = (float)v;
        break;
    default:
        *(double *)out = v;
        break;
    }
}

/* Minima, maxima and flags are in their own dtype already; halves were compared as f32. */
static void store_value(int32_t dtype, char *out, const void *state, int64_t i)
{
    if (dtype == NDP_F16 || dtype == NDP_BF16) {
        store_real(dtype, out, (double)((const float *)state)[i]);
        return;
    }
    switch (ndp_dtype_size(dtype)) {
    case 1:
        store_int(dtype, out, ((const uint8_t *)state)[i]);
        break; /* all of nothing is 255 */
    case 2:
        *(uint16_t *)out = ((const uint16_t *)state)[i];
        break;
    case 4:
        *(uint32_t *)out = ((const uint32_t *)state)[i];
        break;
    default:
        *(uint64_t *)out = ((const uint64_t *)state)[i];
        break;
    }
}

static double total(const cpu_finish *o, const double *s, int64_t cap)
{
    double error = o->planes == 2 ? s[cap] : 0;
    /* An infinite sum has a meaningless error; a zero error must not turn -0.0 into +0.0. */
    if (error != 0 && s[0] - s[0] == 0)
        return s[0] + error;
    return o->count == 0 && s[0] == 0 ? 0.0 : s[0];
}

static void finish_float(const cpu_finish *o, const double *s, int64_t cap, char *out)
{
    int64_t part = o->comps == 2 ? ndp_dtype_size(o->dtype) / 2 : 0;
    double divisor = o->finish == CPU_FINISH_MEAN ? (double)o->count : 1;
    for (int64_t c = 0; c < o->comps; c++)
        store_real(o->dtype, out + c * part, total(o, s + c, cap) / divisor);
}

static void finish_var(const cpu_finish *o, const double *s, int64_t cap, char *out)
{
    double squares = 0, divisor = (double)o->count - o->correction;
    for (int64_t c = 0; c < o->comps; c++)
        squares += s[2 * cap + c] + s[3 * cap + c];
    double v = divisor > 0 ? squares / divisor : NAN;
    store_real(o->dtype, out, o->finish == CPU_FINISH_STD ? sqrt(v) : v);
}

static double finish_logsumexp(const double *s, int64_t cap)
{
    return s[0] - s[0] == 0 ? s[0] + log1p((s[2 * cap] - 1) + s[cap]) : s[0];
}

static void finish_product(const cpu_finish *o, const double *s, int64_t cap, char *out)
{
    int64_t part = o->comps == 2 ? ndp_dtype_size(o->dtype) / 2 : 0;
    double power = s[cap] > 4000 ? 4000 : s[cap] < -4000 ? -4000 : s[cap];
    for (int64_t c = 0; c < o->comps; c++)
        store_real(o->dtype, out + c * part, ldexp(s[c], (int)power));
}

/* The same for neighbours in memory, without a choice in the loop, so that it becomes vectors: where each
 * result is of few elements, most of the time would go here. */
static void many_singles(const double *s, double divisor, int64_t n, float *out)
{
    for (int64_t j = 0; divisor == 1 && j < n; j++)
        out[j] = (float)(s[j] != s[j] ? NAN : s[j]);
    for (int64_t j = 0; divisor != 1 && j < n; j++) {
        double v = s[j] / divisor;
        out[j] = (float)(v != v ? NAN : v);
    }
}

static void many_doubles(const double *s, const double *errors, double divisor, int64_t n,
                         double *out)
{
    for (int64_t j = 0; j < n; j++) {
        double v = s[j] + errors[j];
        v = errors[j] == 0 ? s[j] : v;
        v = s[j] - s[j] == 0 ? v : s[j];
        out[j] = v != v ? NAN : v;
    }
    for (int64_t j = 0; divisor != 1 && j < n; j++)
        out[j] /= divisor;
}

/* Significands in [1, 2), or special values, times powers of two; 0 where one leaves the range. */
static int many_products(const cpu_finish *o, const double *s, int64_t cap, int64_t n, char *out)
{
    const double *power = s + cap;
    int32_t far = 0;
    for (int64_t j = 0; j < n; j++)
        far |= (power[j] > 1000) | (power[j] < -1000);
    if (far)
        return 0;
    for (int64_t j = 0; j < n; j++) {
        double scale = power[j] + (0x1p52 + 1023); /* an integer in the low bits */
        uint64_t bits;
        memcpy(&bits, &scale, 8);
        bits <<= 52;
        memcpy(&scale, &bits, 8);
        double v = s[j] * scale;
        v = v != v ? NAN : v;
        if (o->dtype == NDP_F32)
            ((float *)out)[j] = (float)v;
        else
            ((double *)out)[j] = v;
    }
    return 1;
}

static void many_var(const cpu_finish *o, const double *s, int64_t cap, int64_t n, char *out)
{
    const double divisor = (double)o->count - o->correction;
    const int is_std = o->finish == CPU_FINISH_STD;
    for (int64_t i = 0; i < n; i += 256) {
        double v[256];
        const int64_t m = n - i < 256 ? n - i : 256;
        for (int64_t j = 0; j < m; j++)
            v[j] = (s[2 * cap + i + j] + s[3 * cap + i + j]) / divisor;
        for (int64_t j = 0; is_std && j < m; j++)
            v[j] = sqrt(v[j]);
        for (int64_t j = 0; j < m; j++)
            v[j] = v[j] != v[j] ? NAN : v[j];
        for (int64_t j = 0; o->dtype == NDP_F32 && j < m; j++)
            ((float *)out)[i + j] = (float)v[j];
        if (o->dtype == NDP_F64)
            memcpy(out + 8 * i, v, (size_t)m * 8);
    }
}

static void many_int(const cpu_finish *o, const uint64_t *s, int64_t n, char *out)
{
    switch (ndp_dtype_size(o->dtype)) {
    case 2:
        for (int64_t j = 0; j < n; j++)
            ((uint16_t *)out)[j] = (uint16_t)s[j];
        break;
    case 4:
        for (int64_t j = 0; j < n; j++)
            ((uint32_t *)out)[j] = (uint32_t)s[j];
        break;
    default:
        memcpy(out, s, (size_t)n * 8);
        break;
    }
}

static void many_halves(const cpu_finish *o, const double *s, double divisor, int64_t n, char *out)
{
    uint16_t *to = (uint16_t *)out;
    for (int64_t j = 0; j < n; j++) {
        double v = s[j] / divisor;
        float f = cpu_f32_round_odd(v != v ? NAN : v);
        to[j] = o->dtype == NDP_F16 ? cpu_f16_from_f32(f) : cpu_bf16_from_f32(f);
    }
}

/* Whether results that follow each other without a gap were finished so. */
static int finish_many(const cpu_finish *o, const void *state, int64_t cap, int64_t n, char *out)
{
    const int half = o->dtype == NDP_F16 || o->dtype == NDP_BF16;
    const int64_t size = ndp_dtype_size(o->dtype);
    const double *s = state, divisor = o->finish == CPU_FINISH_MEAN ? (double)o->count : 1;
    if (o->count == 0)
        return 0;
    switch (o->finish) {
    case CPU_FINISH_INT:
        if (size > 1)
            many_int(o, state, n, out);
        return size > 1;
    case CPU_FINISH_FLOAT:
    case CPU_FINISH_MEAN:
        if (half && o->planes == 1)
            many_halves(o, s, divisor, n, out);
        else if (!half && o->planes == 2 && size / o->comps == 8)
            many_doubles(s, s + cap, divisor, n * o->comps, (double *)out);
        else if (!half && o->planes == 1 && size / o->comps == 4)
            many_singles(s, divisor, n * o->comps, (float *)out);
        else
            return 0;
        return 1;
    case CPU_FINISH_PRODUCT:
        return !half && o->comps == 1 && many_products(o, s, cap, n, out);
    case CPU_FINISH_VAR:
    case CPU_FINISH_STD:
        if (half || o->comps != 1 || (double)o->count <= o->correction)
            return 0;
        many_var(o, s, cap, n, out);
        return 1;
    case CPU_FINISH_VALUE:
        for (int64_t j = 0; o->dtype == NDP_BOOL && j < n; j++)
            out[j] = ((const char *)state)[j] != 0;
        if (!half && o->dtype != NDP_BOOL)
            memcpy(out, state, (size_t)(n * size));
        return !half;
    case CPU_FINISH_POSITION:
        memcpy(out, (const int64_t *)state + cap, (size_t)n * 8);
        return 1;
    default:
        return 0;
    }
}

static void spread(const char *from, int64_t size, int64_t n, char *out, int64_t stride_bytes)
{
    for (int64_t i = 0; i < n; i++)
        switch (size) { /* constants make single moves of these */
        case 1:
            memcpy(out + i * stride_bytes, from + i, 1);
            break;
        case 2:
            memcpy(out + i * stride_bytes, from + 2 * i, 2);
            break;
        case 4:
            memcpy(out + i * stride_bytes, from + 4 * i, 4);
            break;
        default:
            memcpy(out + i * stride_bytes, from + 8 * i, 8);
        }
}

static void finish_one(const cpu_finish *o, const void *state, int64_t cap, int64_t i, char *out)
{
    const double *s = (const double *)state + i * o->comps;
    switch (o->finish) {
    case CPU_FINISH_INT:
        store_int(o->dtype, out, ((const uint64_t *)state)[i]);
        break;
    case CPU_FINISH_FLOAT:
    case CPU_FINISH_MEAN:
        finish_float(o, s, cap, out);
        break;
    case CPU_FINISH_PRODUCT:
        finish_product(o, s, cap, out);
        break;
    case CPU_FINISH_VAR:
    case CPU_FINISH_STD:
        finish_var(o, s, cap, out);
        break;
    case CPU_FINISH_VALUE:
        store_value(o->dtype, out, state, i);
        break;
    case CPU_FINISH_LOGSUMEXP:
        store_real(o->dtype, out, finish_logsumexp(s, cap));
        break;
    default:
        *(int64_t *)out = ((const int64_t *)state)[i + cap];
        break;
    }
}

void cpu_reduce_finish(const cpu_finish *o, const void *state, int64_t cap, int64_t n, char *out,
                       int64_t stride_bytes)
{
    const int64_t size = ndp_dtype_size(o->dtype);
    _Alignas(16) char dense[CPU_SWEEP_REALS * 8];
    if (n > 1 && stride_bytes == size && finish_many(o, state, cap, n, out))
        return;
    if (n > 1 && n <= CPU_SWEEP_REALS && size <= 8 && finish_many(o, state, cap, n, dense)) {
        spread(dense, size, n, out, stride_bytes);
        return;
    }
    for (int64_t i = 0; i < n; i++, out += stride_bytes)
        finish_one(o, state, cap, i, out);
}
