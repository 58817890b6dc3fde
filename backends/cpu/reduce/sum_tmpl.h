/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sums, and products of integers. The includer defines T, OP and
 *   WIDE    what a lane accumulates in, wide enough for one fold
 *   TOTAL   what a state is: the same or wider; integers wrap in unsigned types
 *   IS_PROD, and COMPENSATED for sums whose state carries the rounding errors in a second plane
 * and may define SUM_RUN, for RUN_OF_LANES of lanes_tmpl.h.
 * The neutral element of floating sums is -0.0, so that a sum of negative zeros stays one. */
#define STATE TOTAL
#define INIT(type) (IS_PROD ? (type)1 : (type)-0.0)
#define STATE_BYTES ((COMPENSATED ? 2 : 1) * (int)sizeof(STATE))
typedef WIDE FN(acc);
typedef struct {
    WIDE v[CPU_LANES];
} FN(lanes);

CPU_INLINE WIDE FN(get)(const FN(lanes) * a, int64_t j)
{
    return a->v[j];
}
CPU_INLINE void FN(put)(FN(lanes) * a, int64_t j, WIDE v)
{
    a->v[j] = v;
}
CPU_INLINE WIDE FN(zero)(void)
{
    return INIT(WIDE);
}
CPU_INLINE WIDE FN(both)(WIDE a, WIDE b)
{
    return IS_PROD ? a * b : a + b;
}
CPU_INLINE WIDE FN(step)(WIDE a, T x)
{
    return FN(both)(a, (WIDE)READ(x));
}
CPU_INLINE WIDE FN(settle)(WIDE a)
{
    return a;
}

/* Knuth's two-sum: the error of the rounded sum is exact. */
CPU_INLINE void FN(add)(STATE v, STATE *s, int64_t cap)
{
    STATE sum = IS_PROD ? s[0] * v : s[0] + v;
    if (COMPENSATED) {
        STATE b = sum - s[0];
        s[cap] += (s[0] - (sum - b)) + (v - b);
    }
    s[0] = sum;
}

CPU_INLINE void FN(flush)(WIDE v, STATE *s, int64_t cap)
{
    FN(add)((STATE)v, s, cap);
}

CPU_INLINE void FN(begin)(STATE *s, int64_t cap)
{
    s[0] = INIT(STATE);
    if (COMPENSATED)
        s[cap] = 0;
}

static void FN(merge)(const cpu_fold *f, const cpu_fold *from, int64_t n)
{
    STATE *s = f->state, *t = from->state;
    for (int64_t j = 0; j < n; j++) {
        FN(add)(t[j], s + j, f->cap);
        if (COMPENSATED)
            s[f->cap + j] += t[from->cap + j];
    }
}

#ifdef SUM_RUN
#define RUN_OF_LANES SUM_RUN
#endif
#include "reduce/lanes_tmpl.h"
#undef RUN_OF_LANES
#undef INIT
#undef STATE
#undef IS_PROD
