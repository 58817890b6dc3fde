/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sums of T in a wider type, or in two parts where there is none (Knuth's two-sum). */
#define IS_COMPLEX (T_KIND == KIND_COMPLEX)
#define COMPENSATED (!HAVE_F64 || T_BITS == (IS_COMPLEX ? 128 : 64))

typedef struct {
    wide sum, lost;
} total;
static inline void total_add(total *t, wide x)
{
    wide s = t->sum + x;
#if COMPENSATED
    wide b = s - t->sum;
    t->lost += (t->sum - (s - b)) + (x - b);
#endif
    t->sum = s;
}
static inline void total_join(total *t, const total *u)
{
    total_add(t, u->sum);
    t->lost += u->lost;
}
/* What was lost of an infinite sum is NaN; a zero loss must not turn -0 into +0. */
static inline wide total_value(const total *t)
{
    return t->lost == t->lost && t->lost != 0 ? t->sum + t->lost : t->sum;
}
static inline wide total_of(const total *t, ulong n)
{
    return n ? total_value(t) : 0;
}
