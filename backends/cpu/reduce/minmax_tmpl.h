/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * min and max. The includer defines T, OP, IS_MAX, MIN and MAX (the ends of T's range) and, for
 * floating T, IS_FLOAT and BITS, the unsigned integer of its width.
 *
 * A floating accumulator holds the extreme by plain comparison, which ignores NaN and the sign of
 * zero, and beside it whether a NaN was met and the "and" (max) or "or" (min) of all bits: when the
 * extreme is zero, all elements lie on one side of it, and only a zero has the other sign bit. */
#define STATE T
#define LOWEST (IS_MAX ? MIN : MAX)
#define STATE_BYTES ((int)sizeof(T))
#define BEATS(x, y) (IS_MAX ? (x) > (y) : (x) < (y))
#ifdef IS_FLOAT
typedef struct {
    T v;
    BITS bits, nan;
} FN(acc);
typedef struct {
    T v[CPU_LANES];
    BITS bits[CPU_LANES], nan[CPU_LANES];
} FN(lanes);

CPU_INLINE FN(acc) FN(get)(const FN(lanes) * a, int64_t j)
{
    return (FN(acc)){a->v[j], a->bits[j], a->nan[j]};
}

CPU_INLINE void FN(put)(FN(lanes) * a, int64_t j, FN(acc) v)
{
    a->v[j] = v.v;
    a->bits[j] = v.bits;
    a->nan[j] = v.nan;
}

CPU_INLINE FN(acc) FN(zero)(void)
{
    return (FN(acc)){LOWEST, IS_MAX ? ~(BITS)0 : 0, 0};
}

CPU_INLINE FN(acc) FN(both)(FN(acc) a, FN(acc) b)
{
    a.v = BEATS(b.v, a.v) ? b.v : a.v;
    a.bits = IS_MAX ? a.bits & b.bits : a.bits | b.bits;
    a.nan |= b.nan;
    return a;
}

CPU_INLINE FN(acc) FN(step)(FN(acc) a, T x)
{
    FN(acc) b = {x, 0, x != x ? ~(BITS)0 : 0};
    memcpy(&b.bits, &x, sizeof x);
    return FN(both)(a, b);
}

CPU_INLINE FN(acc) FN(settle)(FN(acc) a)
{
    return a;
}

/* The better of two finished values. */
CPU_INLINE T FN(better)(T s, T v)
{
    BITS a, b, c;
    T tie, r = BEATS(v, s) ? v : s;
    memcpy(&a, &s, sizeof a);
    memcpy(&b, &v, sizeof b);
    c = IS_MAX ? a & b : a | b;
    memcpy(&tie, &c, sizeof tie);
    r = v == s ? tie : r;
    return v != v ? v : r;
}

CPU_INLINE void FN(flush)(FN(acc) a, T *s, int64_t cap)
{
    T zero = a.bits >> (8 * sizeof(BITS) - 1) ? (T)-0.0 : (T)0.0;
    a.v = a.v == 0 ? zero : a.v;
    s[0] = FN(better)(s[0], a.nan ? (T)NAN : a.v);
    (void)cap;
}
#else
typedef T FN(acc);
typedef struct {
    T v[CPU_LANES];
} FN(lanes);

CPU_INLINE T FN(get)(const FN(lanes) * a, int64_t j)
{
    return a->v[j];
}
CPU_INLINE void FN(put)(FN(lanes) * a, int64_t j, T v)
{
    a->v[j] = v;
}
CPU_INLINE T FN(zero)(void)
{
    return LOWEST;
}
CPU_INLINE T FN(both)(T a, T b)
{
    return BEATS(b, a) ? b : a;
}
CPU_INLINE T FN(step)(T a, T x)
{
    return FN(both)(a, READ(x));
}
CPU_INLINE T FN(settle)(T a)
{
    return a;
}
CPU_INLINE T FN(better)(T s, T v)
{
    return FN(both)(s, v);
}

CPU_INLINE void FN(flush)(T v, T *s, int64_t cap)
{
    s[0] = FN(both)(s[0], v);
    (void)cap;
}
#endif

CPU_INLINE void FN(begin)(T *s, int64_t cap)
{
    s[0] = LOWEST;
    (void)cap;
}

static void FN(merge)(const cpu_fold *f, const cpu_fold *from, int64_t n)
{
    T *s = f->state, *t = from->state;
    for (int64_t j = 0; j < n; j++)
        s[j] = FN(better)(s[j], t[j]);
}

#define ANY_ORDER
#include "reduce/lanes_tmpl.h"
#undef BEATS
#undef IS_MAX
#undef LOWEST
#undef STATE
