/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops over rows. The includer defines PL_NAME, f32 or f64, and PL_T, the type. */
#define PL_FN(name) CPU_CAT(pl_##name, PL_NAME)

static void PL_FN(add)(void *sum_, const void *x_, int64_t step, int64_t n)
{
    PL_T *restrict sum = sum_;
    const PL_T *restrict x = x_;
    if (step == 1)
        for (int64_t i = 0; i < n; i++)
            sum[i] += x[i];
    else if (step == 2)
        for (int64_t i = 0; i < n; i++)
            sum[i] += x[2 * i];
    else
        for (int64_t i = 0; i < n; i++)
            sum[i] += x[i * step];
}

/* Lanes first, then halves of them: an order of its own, the same at every SIMD level. */
static void PL_FN(add_run)(void *sum_, const void *x_, int64_t n)
{
    enum { LANES = 32 };
    const PL_T *x = x_;
    PL_T *sum = sum_, lane[LANES] = {0}, total = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += x[i + l];
    for (int half = LANES / 2; half > 0 && i > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    for (; i < n; i++)
        total += x[i];
    sum[0] += lane[0] + total;
}

static inline PL_T PL_FN(larger_of)(PL_T best, PL_T x)
{
    return (x > best) | (x != x) ? x : best;
}

static void PL_FN(larger)(void *best_, const void *x_, int64_t step, int64_t n)
{
    PL_T *restrict best = best_;
    const PL_T *restrict x = x_;
    if (step == 1)
        for (int64_t i = 0; i < n; i++)
            best[i] = PL_FN(larger_of)(best[i], x[i]);
    else if (step == 2)
        for (int64_t i = 0; i < n; i++)
            best[i] = PL_FN(larger_of)(best[i], x[2 * i]);
    else
        for (int64_t i = 0; i < n; i++)
            best[i] = PL_FN(larger_of)(best[i], x[i * step]);
}

static void PL_FN(larger_run)(void *best_, const void *x_, int64_t n)
{
    const PL_T *x = x_;
    PL_T best = *(PL_T *)best_;
    for (int64_t i = 0; i < n; i++)
        best = PL_FN(larger_of)(best, x[i]);
    *(PL_T *)best_ = best;
}

static void PL_FN(larger_at)(void *best_, int64_t *restrict position, const void *x_, int64_t step,
                             int64_t n, int64_t at, int64_t by)
{
    PL_T *restrict best = best_;
    const PL_T *restrict x = x_;
    for (int64_t i = 0; i < n; i++) {
        const PL_T new = x[i * step], old = best[i];
        const int take = (new > old) | (position[i] < 0) | ((new != new) & (old == old));
        best[i] = take ? new : old;
        position[i] = take ? at + i * by : position[i];
    }
}

/* By counts[i]*count, or by count where counts is NULL. */
static void PL_FN(divide)(void *x_, const void *counts, int64_t count, int64_t n)
{
    PL_T *restrict x = x_;
    const PL_T *restrict each = counts, all = (PL_T)count;
    if (counts)
        for (int64_t i = 0; i < n; i++)
            x[i] /= each[i] * all;
    else
        for (int64_t i = 0; i < n; i++)
            x[i] /= all;
}

static void PL_FN(fill)(void *x_, double value, int64_t n)
{
    PL_T *x = x_;
    for (int64_t i = 0; i < n; i++)
        x[i] = (PL_T)value;
}

static void PL_FN(scaled)(void *sum_, const void *x_, double scale_, int64_t n)
{
    PL_T *restrict sum = sum_;
    const PL_T *restrict x = x_;
    const PL_T scale = (PL_T)scale_;
    for (int64_t i = 0; i < n; i++)
        sum[i] += scale * x[i];
}

static void PL_FN(gather)(void *out_, const void *x_, const int64_t *restrict at,
                          const void *share_, int taps, int64_t n)
{
    PL_T *restrict out = out_;
    const PL_T *restrict x = x_, *restrict s = share_;
    if (taps == 1)
        for (int64_t i = 0; i < n; i++)
            out[i] = x[at[i]];
    else if (taps == 2)
        for (int64_t i = 0; i < n; i++)
            out[i] = s[i] * x[at[i]] + s[n + i] * x[at[n + i]];
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = (s[i] * x[at[i]] + s[n + i] * x[at[n + i]]) +
                     (s[2 * n + i] * x[at[2 * n + i]] + s[3 * n + i] * x[at[3 * n + i]]);
}

static void PL_FN(scatter)(void *x_, const void *out_, const int64_t *restrict at,
                           const void *share_, int taps, int64_t n)
{
    PL_T *restrict x = x_;
    const PL_T *restrict out = out_, *restrict s = share_;
    for (int64_t i = 0; i < n; i++)
        for (int t = 0; t < taps; t++)
            x[at[t * n + i]] += s[t * n + i] * out[i];
}

static void PL_FN(route)(void *x_, const void *grad_, const int64_t *position, int64_t base,
                         int64_t width, int64_t n)
{
    PL_T *restrict x = x_;
    const PL_T *restrict grad = grad_;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = position[i] - base;
        if (at >= 0 && at < width)
            x[at] += grad[i];
    }
}

static void PL_FN(spread_twice)(void *sum_, const void *x_, int64_t n)
{
    PL_T *restrict sum = sum_;
    const PL_T *restrict x = x_;
    for (int64_t i = 0; i < n; i++) {
        sum[2 * i] += x[i];
        sum[2 * i + 1] += x[i];
    }
}

static void PL_FN(add_pairs)(void *sum_, const void *x_, int64_t n)
{
    PL_T *restrict sum = sum_;
    const PL_T *restrict x = x_;
    for (int64_t i = 0; i < n; i++)
        sum[i] += x[2 * i] + x[2 * i + 1];
}

static void PL_FN(spread)(void *sum_, int64_t step, const void *x_, int64_t n)
{
    PL_T *restrict sum = sum_;
    const PL_T *restrict x = x_;
    if (step == 1)
        for (int64_t i = 0; i < n; i++)
            sum[i] += x[i];
    else
        for (int64_t i = 0; i < n; i++)
            sum[i * step] += x[i];
}

#undef PL_FN
#undef PL_NAME
#undef PL_T
