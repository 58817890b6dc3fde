/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sums and products. The includer defines FN(name), T, LANES and
 *   WIDE    what a lane accumulates in, wide enough for one fold
 *   STATE   what a state is: the same or wider; integers wrap in unsigned types
 *   IS_PROD, and COMPENSATED for sums whose state carries the rounding errors in a second plane
 * The neutral element of floating sums is -0.0, so that a sum of negative zeros stays one. */
#define INIT (IS_PROD ? (STATE)1 : (STATE) - 0.0)
#define NEUTRAL (IS_PROD ? (T)1 : (T) - 0.0)
#define STATE_BYTES ((COMPENSATED ? 2 : 1) * (int)sizeof(STATE))
typedef struct {
    WIDE v[LANES];
} FN(acc);

static inline void FN(zero)(FN(acc) *a)
{
    for (int l = 0; l < LANES; l++)
        a->v[l] = (WIDE)INIT;
}

static inline void FN(row)(FN(acc) *a, const T *x)
{
    for (int l = 0; l < LANES; l++)
        a->v[l] = IS_PROD ? a->v[l] * (WIDE)x[l] : a->v[l] + (WIDE)x[l];
}

static inline void FN(halve)(FN(acc) *a, int h)
{
    for (int l = 0; l < h; l++)
        a->v[l] = IS_PROD ? a->v[l] * a->v[l + h] : a->v[l] + a->v[l + h];
}

/* Add v to a state. Knuth's two-sum: the error of the rounded sum is exact. */
static inline void FN(add)(STATE *s, int64_t cap, STATE v)
{
    STATE sum = IS_PROD ? s[0] * v : s[0] + v;
    if (COMPENSATED) {
        STATE b = sum - s[0];
        s[cap] += (s[0] - (sum - b)) + (v - b);
    }
    s[0] = sum;
}

static inline void FN(flush)(const FN(acc) *a, const cpu_fold *f, int64_t j, int n)
{
    STATE *s = (STATE *)f->state + j;
    for (int l = 0; l < n; l++)
        FN(add)(s + l, f->cap, (STATE)a->v[l]);
}

static void FN(init)(const cpu_fold *f, int64_t n)
{
    STATE *s = f->state;
    for (int64_t j = 0; j < n; j++)
        s[j] = INIT;
    for (int64_t j = 0; COMPENSATED && j < n; j++)
        s[f->cap + j] = 0;
}

static void FN(merge)(const cpu_fold *f, const cpu_fold *from, int64_t n)
{
    STATE *s = f->state, *t = from->state;
    for (int64_t j = 0; j < n; j++) {
        FN(add)(s + j, f->cap, t[j]);
        if (COMPENSATED)
            s[f->cap + j] += t[from->cap + j];
    }
}

#include "reduce_lanes_tmpl.h"
#undef INIT
#undef IS_PROD
