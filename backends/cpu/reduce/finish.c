/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The last step of a reduction: from states to results of the destination's dtype. */
#include <math.h>
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

void cpu_reduce_finish(const cpu_finish *o, const void *state, int64_t cap, int64_t n, char *out,
                       int64_t stride_bytes)
{
    for (int64_t i = 0; i < n; i++, out += stride_bytes) {
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
}
