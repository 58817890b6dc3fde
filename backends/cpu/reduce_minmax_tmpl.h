/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * min and max. The includer defines FN(name), T, LANES, IS_MAX, MIN and MAX (the ends of T's
 * range) and, for floating T, IS_FLOAT and BITS, the unsigned integer of its width.
 *
 * Floating lanes hold the extreme by plain comparison, which ignores NaN and the sign of zero, and
 * beside it whether a NaN was met and the "and" (max) or "or" (min) of all bits: when the extreme
 * is zero, all elements lie on one side of it, and only a zero has the other sign bit. */
#define NEUTRAL LOWEST
#define LOWEST (IS_MAX ? MIN : MAX)
#define STATE_BYTES ((int)sizeof(T))
#define BEATS(x, y) (IS_MAX ? (x) > (y) : (x) < (y))
typedef struct {
    T v[LANES];
#ifdef IS_FLOAT
    BITS bits[LANES], nan[LANES];
#endif
} FN(acc);

static inline void FN(zero)(FN(acc) *a)
{
    for (int l = 0; l < LANES; l++)
        a->v[l] = LOWEST;
#ifdef IS_FLOAT
    for (int l = 0; l < LANES; l++)
        a->bits[l] = IS_MAX ? ~(BITS)0 : 0;
    for (int l = 0; l < LANES; l++)
        a->nan[l] = 0;
#endif
}

static inline void FN(row)(FN(acc) *a, const T *x)
{
    for (int l = 0; l < LANES; l++)
        a->v[l] = BEATS(x[l], a->v[l]) ? x[l] : a->v[l];
#ifdef IS_FLOAT
    for (int l = 0; l < LANES; l++) {
        BITS u;
        memcpy(&u, x + l, sizeof u);
        a->bits[l] = IS_MAX ? a->bits[l] & u : a->bits[l] | u;
    }
    for (int l = 0; l < LANES; l++)
        a->nan[l] |= x[l] != x[l] ? ~(BITS)0 : 0;
#endif
}

static inline void FN(halve)(FN(acc) *a, int h)
{
    for (int l = 0; l < h; l++) {
        a->v[l] = BEATS(a->v[l + h], a->v[l]) ? a->v[l + h] : a->v[l];
#ifdef IS_FLOAT
        a->bits[l] = IS_MAX ? a->bits[l] & a->bits[l + h] : a->bits[l] | a->bits[l + h];
        a->nan[l] |= a->nan[l + h];
#endif
    }
}

/* The better of two finished values. */
static inline T FN(better)(T s, T v)
{
    T r = BEATS(v, s) ? v : s;
#ifdef IS_FLOAT
    BITS a, b, c;
    T tie;
    memcpy(&a, &s, sizeof a);
    memcpy(&b, &v, sizeof b);
    c = IS_MAX ? a & b : a | b;
    memcpy(&tie, &c, sizeof tie);
    r = v == s ? tie : r;
    r = v != v ? v : r;
#endif
    return r;
}

static inline void FN(flush)(const FN(acc) *a, const cpu_fold *f, int64_t j, int n)
{
    T *s = (T *)f->state + j;
    for (int l = 0; l < n; l++) {
        T v = a->v[l];
#ifdef IS_FLOAT
        T zero = a->bits[l] >> (8 * sizeof(BITS) - 1) ? (T)-0.0 : (T)0.0;
        v = v == 0 ? zero : v;
        v = a->nan[l] ? (T)NAN : v;
#endif
        s[l] = FN(better)(s[l], v);
    }
}

static void FN(init)(const cpu_fold *f, int64_t n)
{
    T *s = f->state;
    for (int64_t j = 0; j < n; j++)
        s[j] = LOWEST;
}

static void FN(merge)(const cpu_fold *f, const cpu_fold *from, int64_t n)
{
    T *s = f->state, *t = from->state;
    for (int64_t j = 0; j < n; j++)
        s[j] = FN(better)(s[j], t[j]);
}

#include "reduce_lanes_tmpl.h"
#undef BEATS
#undef LOWEST
#undef IS_MAX
