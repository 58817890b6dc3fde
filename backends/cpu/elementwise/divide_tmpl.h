/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Division of integers by one divisor: a multiplication, an addition and a shift instead (A. Robison,
 * N-bit unsigned division via N-bit multiply-add, ARITH 17, 2005), which is exact. Text included by
 * loops_tmpl.h for each integer dtype, with what that defines, and EW_EACH_floor_divide and
 * EW_EACH_remainder, the loops for divisors that differ. */
#if ND_BITS == 8
#define DIV_U uint8_t
#define DIV_W uint16_t
#elif ND_BITS == 16
#define DIV_U uint16_t
#define DIV_W uint32_t
#elif ND_BITS == 32
#define DIV_U uint32_t
#define DIV_W uint64_t
#else
#define DIV_U uint64_t
#define DIV_W ew_u128
#endif

/* u / divisor == (u * factor + more) >> ND_BITS >> shift, for every u of DIV_U. */
typedef struct {
    DIV_U factor, more;
    int shift;
} EW_FN(inverse);

static EW_FN(inverse) EW_FN(inverse_of)(DIV_U d)
{
    EW_FN(inverse) v = {(DIV_U) ~(DIV_U)0, (DIV_U) ~(DIV_U)0, 0};
    while ((DIV_U)(d >> v.shift) > 1)
        v.shift++;
    if ((d & (DIV_U)(d - 1)) == 0) /* a power of two */
        return v;
    /* factor: 2^(ND_BITS + shift) / d, rounded up where that is near enough, else down. */
    const DIV_W top = (DIV_W)((DIV_W)1 << v.shift);
    const DIV_U down = (DIV_U)((DIV_W)(top << ND_BITS) / d);
    const DIV_U short_by = (DIV_U)(d - (DIV_U)((DIV_W)(top << ND_BITS) % d));
    v.factor = short_by <= (DIV_U)top ? (DIV_U)(down + 1) : down;
    v.more = short_by <= (DIV_U)top ? 0 : down;
    return v;
}

EW_INLINE DIV_U EW_FN(over)(DIV_U u, EW_FN(inverse) v)
{
    const DIV_W wide = (DIV_W)((DIV_W)((DIV_W)u * (DIV_W)v.factor) + v.more);
    return (DIV_U)((DIV_U)(wide >> ND_BITS) >> v.shift);
}

/* floor(a / b) of the divisor b whose magnitude's inverse v is: a negative quotient is the complement
 * of that of the complement. The product of -1 and the least a wraps. */
EW_INLINE ND_T EW_FN(quotient)(ND_T a, EW_FN(inverse) v, int negative)
{
#if ND_IS_INT
    const DIV_U n = (DIV_U)(negative ? (DIV_U)0 - (DIV_U)a : (DIV_U)a);
    const DIV_U below = (DIV_U)((negative ? a > 0 : a < 0) ? ~(DIV_U)0 : 0);
    return (ND_T)(EW_FN(over)((DIV_U)(n ^ below), v) ^ below);
#else
    (void)negative;
    return EW_FN(over)(a, v);
#endif
}

EW_INLINE void EW_FN(by_one_loop)(char *const *p, int64_t n, ND_T b, int negative, int remainder)
{
    const EW_FN(inverse) v = EW_FN(inverse_of)((DIV_U)(negative ? (DIV_U)0 - (DIV_U)b : (DIV_U)b));
    const ND_T *a = (const ND_T *)p[0];
    ND_T *out = (ND_T *)p[2];
    int64_t i = 0;
#if ND_BITS == 32
    i = ew_over_32(p, n, (ew_inverse_32){v.factor, v.more, v.shift}, (uint32_t)b, ND_IS_INT,
                   negative, remainder);
#elif ND_BITS < 32
    const ew_inverse_short inverse = {v.factor, v.more, v.shift, ND_IS_INT, negative, remainder};
    i = ew_over_short(p, n, ND_BITS, inverse, (uint32_t)b);
#else
    const ew_inverse_64 inverse = {v.factor, v.more, v.shift, ND_IS_INT, negative, remainder};
    i = ew_over_64(p, n, inverse, (uint64_t)b);
#endif
    EW_IVDEP
    for (; i < n; i++) {
        const ND_T q = EW_FN(quotient)(a[i], v, negative);
        out[i] = remainder ? (ND_T)((ND_U)a[i] - (ND_U)q * (ND_U)b) : q;
    }
}

/* Whether all n divisors are the same one, not 0. */
static int EW_FN(is_one)(const ND_T *b, int64_t n)
{
    ND_T differ = 0;
    if (b[0] == 0)
        return 0;
    EW_IVDEP
    for (int64_t i = 1; i < n; i++)
        differ |= (ND_T)(b[i] ^ b[0]);
    return differ == 0;
}

/* The inverse costs about as much as a few divisions. */
enum { EW_FN(by_one_least) = 16 };

EW_INLINE void EW_FN(by_one)(ew_loop each, char *const *p, int64_t n, int remainder)
{
    const ND_T *b = (const ND_T *)p[1];
    if (n < EW_FN(by_one_least) || b[n - 1] != b[0] || !EW_FN(is_one)(b, n))
        each(p, n);
#if ND_IS_INT
    else if (b[0] < 0)
        EW_FN(by_one_loop)(p, n, b[0], 1, remainder);
#endif
    else
        EW_FN(by_one_loop)(p, n, b[0], 0, remainder);
}
static void EW_LOOP(quotients)(char *const *p, int64_t n)
{
    EW_FN(by_one)(EW_EACH_floor_divide, p, n, 0);
}
static void EW_LOOP(remainders)(char *const *p, int64_t n)
{
    EW_FN(by_one)(EW_EACH_remainder, p, n, 1);
}
#undef DIV_U
#undef DIV_W
