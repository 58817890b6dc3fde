/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops over rows. The includer defines PL_NAME, f32 or f64, PL_T, the type, and maybe PL_PICK_NEAR, a faster way
 * for some elements. */
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

/* PL_PICKED elements, which do not descend. */
static inline void PL_FN(pick_some)(PL_T *restrict out, const PL_T *restrict x, int64_t m,
                                    const int64_t *restrict at)
{
    (void)m;
#ifdef PL_PICK_NEAR
    if (PL_PICK_NEAR(out, x, m, at))
        return;
#endif
    for (int l = 0; l < PL_PICKED; l++)
        out[l] = x[at[l]];
}

static void PL_FN(pick)(void *out_, const void *x_, int64_t m, const int64_t *restrict at,
                        int64_t n)
{
    PL_T *restrict out = out_;
    const PL_T *restrict x = x_;
    int64_t i = 0;
    for (; i + PL_PICKED <= n; i += PL_PICKED)
        PL_FN(pick_some)(out + i, x, m, at + i);
    for (; i < n; i++)
        out[i] = x[at[i]];
}

/* The sum of 2 or 4 products. */
static inline PL_T PL_FN(weighed)(const PL_T *restrict s, int64_t pitch, PL_T a, PL_T b, PL_T c,
                                  PL_T d, int taps)
{
    const PL_T two = s[0] * a + s[pitch] * b;
    return taps == 2 ? two : two + (s[2 * pitch] * c + s[3 * pitch] * d);
}

static inline __attribute__((always_inline)) void PL_FN(gather_taps)(
    PL_T *restrict out, const PL_T *restrict x, int64_t m, const int64_t *restrict at,
    const PL_T *restrict s, const int taps, int64_t n)
{
    PL_T v[4][PL_PICKED];
    int64_t i = 0;
    for (; i + PL_PICKED <= n; i += PL_PICKED) {
        for (int t = 0; t < taps; t++)
            PL_FN(pick_some)(v[t], x, m, at + t * n + i);
        for (int l = 0; l < PL_PICKED; l++)
            out[i + l] = PL_FN(weighed)(s + i + l, n, v[0][l], v[1][l], taps == 4 ? v[2][l] : 0,
                                        taps == 4 ? v[3][l] : 0, taps);
    }
    for (; i < n; i++)
        out[i] = PL_FN(weighed)(s + i, n, x[at[i]], x[at[n + i]], taps == 4 ? x[at[2 * n + i]] : 0,
                                taps == 4 ? x[at[3 * n + i]] : 0, taps);
}

static void PL_FN(gather)(void *out, const void *x, int64_t m, const int64_t *at, const void *share,
                          int taps, int64_t n)
{
    if (taps == 2)
        PL_FN(gather_taps)(out, x, m, at, share, 2, n);
    else
        PL_FN(gather_taps)(out, x, m, at, share, 4, n);
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
#undef PL_PICK_NEAR
