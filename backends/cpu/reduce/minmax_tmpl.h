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

#ifdef IS_FLOAT
/* Elements of a step of FN(best): eight vectors of 32 bytes, which stay in registers. */
enum { FN(STEP) = 256 / (int)sizeof(T) };

CPU_INLINE void FN(narrow)(T *v, BITS *nan, int half)
{
    for (int l = 0; l < half; l++)
        v[l] = BEATS(v[l + half], v[l]) ? v[l + half] : v[l];
    for (int l = 0; l < half / 2; l++)
        nan[l] |= nan[l + half / 2];
}

/* The extreme of a run of at least one step, as plain comparison has it, and whether NaN is among the elements.
 * The last step overlaps the one before, for an extreme is the same if an element is seen twice. */
static T FN(best)(const T *x, int64_t n, int far, BITS *has_nan)
{
    enum { STEP = FN(STEP) };
    T v[STEP];
    BITS nan[STEP / 2];
    for (int l = 0; l < STEP; l++)
        v[l] = LOWEST;
    for (int l = 0; l < STEP / 2; l++)
        nan[l] = 0;
    for (int64_t i = 0; i < n; i += STEP) {
        const T *from = x + (i + STEP <= n ? i : n - STEP);
        if (far == CPU_FAR_ASKED)
            cpu_ask_ahead(from, STEP * (int)sizeof(T));
        for (int l = 0; l < STEP; l++)
            v[l] = BEATS(from[l], v[l]) ? from[l] : v[l];
        for (int l = 0; l < STEP / 2; l++)
            nan[l] |= -(BITS)__builtin_isunordered(from[l], from[l + STEP / 2]);
    }
    if (STEP == 64)
        FN(narrow)(v, nan, 32); /* constants make vectors of these */
    FN(narrow)(v, nan, 16);
    FN(narrow)(v, nan, 8);
    FN(narrow)(v, nan, 4);
    FN(narrow)(v, nan, 2);
    *has_nan = nan[0];
    return BEATS(v[1], v[0]) ? v[1] : v[0];
}

/* The "and" or "or" of the bits of a run. */
static BITS FN(bits_of)(const T *x, int64_t n)
{
    BITS bits = FN(zero)().bits;
    for (int64_t i = 0; i < n; i++) {
        BITS b;
        memcpy(&b, x + i, sizeof b);
        bits = IS_MAX ? bits & b : bits | b;
    }
    return bits;
}

#define INNER FN(short_run)
static void FN(short_run)(const cpu_fold *f, const void *src, int64_t n);
static void FN(inner)(const cpu_fold *f, const void *src, int64_t n)
{
    FN(acc) a = {0, 0, 0};
    if (n < 2 * FN(STEP)) {
        FN(short_run)(f, src, n);
        return;
    }
    a.v = FN(best)(src, n, f->far, &a.nan);
    if (a.v == 0) /* which zero it is; bits matter nowhere else */
        a.bits = FN(bits_of)(src, n);
    FN(flush)(a, f->state, f->cap);
}

/* Columns of states that are zero: which of both, of those that the states and the rows have. */
CPU_INLINE void FN(settle_zeros)(const T *const *x, T *restrict s, int64_t n)
{
    CPU_INDEPENDENT
    for (int64_t j = 0; j < n; j++) {
        BITS bits, b;
        memcpy(&bits, s + j, sizeof bits);
        CPU_UNROLL_ROWS
        for (int i = 0; i < CPU_SWEEP_ROWS; i++) {
            memcpy(&b, x[i] + j, sizeof b);
            bits = IS_MAX ? bits & b : bits | b;
        }
        const T zero = bits >> (8 * sizeof(BITS) - 1) ? (T)-0.0 : (T)0.0;
        s[j] = s[j] == 0 ? zero : s[j];
    }
}

/* Few columns at a time, so that rows are still in the cache where a second look is needed. Each step has as
 * little to do as it can: what processors ask of memory at a time is what they see of steps ahead. */
#define MANY_ROWS FN(extremes)
static void FN(extremes)(const void *const *rows, T *restrict s, int64_t n, int64_t cap, int fresh)
{
    enum { COLUMNS = 256 };
    (void)cap;
    for (int64_t at = 0; at < n; at += COLUMNS, s += COLUMNS) {
        const T *x[CPU_SWEEP_ROWS];
        const int64_t m = n - at < COLUMNS ? n - at : COLUMNS;
        int32_t zeros = 0;
        for (int i = 0; i < CPU_SWEEP_ROWS; i++)
            x[i] = (const T *)rows[i] + at;
        CPU_INDEPENDENT
        for (int64_t j = 0; j < m; j++) {
            T v = fresh ? LOWEST : s[j];
            BITS nan = -(BITS)(v != v);
            CPU_UNROLL_ROWS
            for (int i = 0; i < CPU_SWEEP_ROWS; i += 2) {
                v = BEATS(x[i][j], v) ? x[i][j] : v;
                v = BEATS(x[i + 1][j], v) ? x[i + 1][j] : v;
                nan |= -(BITS)__builtin_isunordered(x[i][j], x[i + 1][j]);
            }
            v = nan ? (T)NAN : v;
            zeros |= v == 0;
            s[j] = v;
        }
        if (zeros)
            FN(settle_zeros)(x, s, m);
    }
}
#endif

#define ANY_ORDER
#include "reduce/lanes_tmpl.h"
#undef BEATS
#undef IS_MAX
#undef LOWEST
#undef STATE
