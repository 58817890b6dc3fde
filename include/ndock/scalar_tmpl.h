/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Every elementwise formula of the real dtypes, once: one function per row of op.def that is legal
 * for the kind, with the row's result type. Text to be included once per dtype, in the common
 * subset of C11, C++, CUDA C++ (NVRTC) and OpenCL C 1.2. Deliberately no include guard and no
 * #include but of the special functions' formulas. The complex formulas are in
 * scalar_complex_tmpl.h.
 *
 * The includer defines, and this file leaves defined:
 *   ND_FN          function qualifiers (static inline ...)
 *   ND_NAME(op)    name of the function of an op
 *   ND_T           compute type; uint8_t (0 or 1) for bool, float for f16 and bf16
 *   ND_BOOL_T      result of comparisons and mask of where (uint8_t)
 *   ND_IS_BOOL ND_IS_INT ND_IS_UINT ND_IS_FLOAT   one is 1, the others 0
 *
 * for integers:
 *   ND_U           unsigned type at least as wide as ND_T and as unsigned int: what wraps is
 *                  computed in it, since narrower types promote to int, whose overflow is undefined
 *   ND_BITS        width of ND_T
 *
 * for floating types:
 *   ND_M(fn)       math functions of ND_T: fabs floor ceil trunc rint (halves to even) sqrt
 *                  copysign signbit (nonzero if set) fmod hypot atan2 pow exp expm1 log log1p log2
 *                  log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf fma
 *   ND_NEXTAFTER(a, b)  next value in the STORAGE format (so not that of ND_T for f16, bf16)
 *   ND_FMA(a, b, c)     a*b + c such that rounding it to the storage format rounds once
 *   ND_MANT_DIG    significand bits of ND_T, the hidden one included, known to the preprocessor
 *   ND_W, ND_MW(fn)  type in which composite formulas are computed, its exp and expm1, good for
 *                  ND_T only, its fabs, and its sqrt and fma, which are correctly rounded
 *   ND_W_WIDER     1 where ND_W has at least 8 bits and some exponent range more than ND_T,
 *                  0 where it is ND_T
 *   ND_X, ND_MX(fn)  the widest type at hand: exp and log1p good for all its bits, and erfc good
 *                  for ND_T
 *   ND_X_WIDER     as ND_W_WIDER
 *
 * A device whose own arithmetic serves some row of a floating type better has a function ND_NAME(op)
 * of its own for it, within the row's bounds and with its special cases. It defines, before this
 * file, ND_FORMULA_op as the name that the formula gets then, which it may call; this file undefines
 * it. There are ND_FORMULA_divide, ND_FORMULA_reciprocal, ND_FORMULA_logaddexp, ND_FORMULA_elu,
 * ND_FORMULA_sigmoid, ND_FORMULA_silu, ND_FORMULA_gelu_tanh and ND_FORMULA_gelu: the formulas that
 * divide, or compute in a wider type.
 *
 * Rules that are not the formula's own: no contraction of a*b + c, rounding to nearest,
 * NaN kept. */

/* ---- formulas that a device may replace ---- */
#ifndef ND_FORMULA_divide
#define ND_FORMULA_divide ND_NAME(divide)
#endif
#ifndef ND_FORMULA_reciprocal
#define ND_FORMULA_reciprocal ND_NAME(reciprocal)
#endif
#ifndef ND_FORMULA_logaddexp
#define ND_FORMULA_logaddexp ND_NAME(logaddexp)
#endif
#ifndef ND_FORMULA_elu
#define ND_FORMULA_elu ND_NAME(elu)
#endif
#ifndef ND_FORMULA_sigmoid
#define ND_FORMULA_sigmoid ND_NAME(sigmoid)
#endif
#ifndef ND_FORMULA_silu
#define ND_FORMULA_silu ND_NAME(silu)
#endif
#ifndef ND_FORMULA_gelu_tanh
#define ND_FORMULA_gelu_tanh ND_NAME(gelu_tanh)
#endif
#ifndef ND_FORMULA_gelu
#define ND_FORMULA_gelu ND_NAME(gelu)
#endif

/* ---- every kind ---- */
ND_FN ND_BOOL_T ND_NAME(equal)(ND_T a, ND_T b)
{
    return (ND_BOOL_T)(a == b);
}
ND_FN ND_BOOL_T ND_NAME(not_equal)(ND_T a, ND_T b)
{
    return (ND_BOOL_T)(a != b);
}
ND_FN ND_BOOL_T ND_NAME(less)(ND_T a, ND_T b)
{
    return (ND_BOOL_T)(a < b);
}
ND_FN ND_BOOL_T ND_NAME(less_equal)(ND_T a, ND_T b)
{
    return (ND_BOOL_T)(a <= b);
}
ND_FN ND_BOOL_T ND_NAME(greater)(ND_T a, ND_T b)
{
    return (ND_BOOL_T)(a > b);
}
ND_FN ND_BOOL_T ND_NAME(greater_equal)(ND_T a, ND_T b)
{
    return (ND_BOOL_T)(a >= b);
}
ND_FN ND_BOOL_T ND_NAME(logical_and)(ND_T a, ND_T b)
{
    return (ND_BOOL_T)((a != 0) & (b != 0));
}
ND_FN ND_BOOL_T ND_NAME(logical_or)(ND_T a, ND_T b)
{
    return (ND_BOOL_T)((a != 0) | (b != 0));
}
ND_FN ND_BOOL_T ND_NAME(logical_xor)(ND_T a, ND_T b)
{
    return (ND_BOOL_T)((a != 0) != (b != 0));
}
ND_FN ND_BOOL_T ND_NAME(logical_not)(ND_T a)
{
    return (ND_BOOL_T)(a == 0);
}
ND_FN ND_T ND_NAME(where)(ND_BOOL_T c, ND_T a, ND_T b)
{
    return c ? a : b;
}

#if !ND_IS_BOOL
ND_FN ND_T ND_NAME(positive)(ND_T a)
{
    return a;
}
ND_FN ND_T ND_NAME(real)(ND_T a)
{
    return a;
}
ND_FN ND_T ND_NAME(imag)(ND_T a)
{
    return (void)a, (ND_T)0;
}
ND_FN ND_T ND_NAME(conj)(ND_T a)
{
    return a;
}
#endif

#if ND_IS_BOOL || ND_IS_INT || ND_IS_UINT
ND_FN ND_T ND_NAME(bitwise_and)(ND_T a, ND_T b)
{
    return (ND_T)(a & b);
}
ND_FN ND_T ND_NAME(bitwise_or)(ND_T a, ND_T b)
{
    return (ND_T)(a | b);
}
ND_FN ND_T ND_NAME(bitwise_xor)(ND_T a, ND_T b)
{
    return (ND_T)(a ^ b);
}
ND_FN ND_T ND_NAME(maximum)(ND_T a, ND_T b)
{
    return a > b ? a : b;
}
ND_FN ND_T ND_NAME(minimum)(ND_T a, ND_T b)
{
    return a < b ? a : b;
}
ND_FN ND_BOOL_T ND_NAME(isfinite)(ND_T a)
{
    return (void)a, (ND_BOOL_T)1;
}
ND_FN ND_BOOL_T ND_NAME(isinf)(ND_T a)
{
    return (void)a, (ND_BOOL_T)0;
}
ND_FN ND_BOOL_T ND_NAME(isnan)(ND_T a)
{
    return (void)a, (ND_BOOL_T)0;
}
#endif

/* ---- bool ---- */
#if ND_IS_BOOL
ND_FN ND_T ND_NAME(add)(ND_T a, ND_T b)
{
    return (ND_T)(a | b);
}
ND_FN ND_T ND_NAME(multiply)(ND_T a, ND_T b)
{
    return (ND_T)(a & b);
}
ND_FN ND_T ND_NAME(bitwise_invert)(ND_T a)
{
    return (ND_T)(a == 0);
}
ND_FN ND_T ND_NAME(abs)(ND_T a)
{
    return a;
}
#endif

/* ---- integers ---- */
#if ND_IS_INT || ND_IS_UINT
ND_FN ND_T ND_NAME(add)(ND_T a, ND_T b)
{
    return (ND_T)((ND_U)a + (ND_U)b);
}
ND_FN ND_T ND_NAME(subtract)(ND_T a, ND_T b)
{
    return (ND_T)((ND_U)a - (ND_U)b);
}
ND_FN ND_T ND_NAME(multiply)(ND_T a, ND_T b)
{
    return (ND_T)((ND_U)a * (ND_U)b);
}
ND_FN ND_T ND_NAME(fma)(ND_T a, ND_T b, ND_T c)
{
    return (ND_T)((ND_U)a * (ND_U)b + (ND_U)c);
}
ND_FN ND_T ND_NAME(negative)(ND_T a)
{
    return (ND_T)((ND_U)0 - (ND_U)a);
}
ND_FN ND_T ND_NAME(square)(ND_T a)
{
    return (ND_T)((ND_U)a * (ND_U)a);
}
ND_FN ND_T ND_NAME(bitwise_invert)(ND_T a)
{
    return (ND_T)~a;
}
ND_FN ND_T ND_NAME(floor)(ND_T a)
{
    return a;
}
ND_FN ND_T ND_NAME(ceil)(ND_T a)
{
    return a;
}
ND_FN ND_T ND_NAME(trunc)(ND_T a)
{
    return a;
}
ND_FN ND_T ND_NAME(round)(ND_T a)
{
    return a;
}
ND_FN ND_T ND_NAME(relu)(ND_T a)
{
    return a > 0 ? a : (ND_T)0;
}

/* A negative count becomes a large one by the conversion to ND_U. */
ND_FN ND_T ND_NAME(bitwise_left_shift)(ND_T a, ND_T b)
{
    return (ND_T)((ND_U)b < ND_BITS ? (ND_U)a << ((ND_U)b & (ND_BITS - 1)) : (ND_U)0);
}
ND_FN ND_T ND_NAME(pow_wrap)(ND_T a, ND_T b)
{
    ND_U r = 1, base = (ND_U)a, e = (ND_U)b;
    for (; e; e >>= 1) {
        r = e & 1 ? r * base : r;
        base *= base;
    }
    return (ND_T)r;
}
#endif

#if ND_IS_INT
ND_FN ND_T ND_NAME(bitwise_right_shift)(ND_T a, ND_T b)
{
    return (ND_T)(a >> ((ND_U)b < ND_BITS ? (ND_U)b & (ND_BITS - 1) : (ND_U)(ND_BITS - 1)));
}
ND_FN ND_T ND_NAME(abs)(ND_T a)
{
    return a < 0 ? (ND_T)((ND_U)0 - (ND_U)a) : a;
}
ND_FN ND_T ND_NAME(sign)(ND_T a)
{
    return (ND_T)((a > 0) - (a < 0));
}
/* Division by -1 is a negation: MIN / -1 would trap. */
ND_FN ND_T ND_NAME(floor_divide)(ND_T a, ND_T b)
{
    ND_T q;
    if (b == 0)
        return 0;
    if (b == -1)
        return (ND_T)((ND_U)0 - (ND_U)a);
    q = (ND_T)(a / b);
    return (ND_T)(q - ((a % b != 0) & ((a < 0) != (b < 0))));
}
ND_FN ND_T ND_NAME(remainder)(ND_T a, ND_T b)
{
    ND_T r;
    if (b == 0 || b == -1)
        return 0;
    r = (ND_T)(a % b);
    return (ND_T)(r != 0 && (r < 0) != (b < 0) ? r + b : r);
}
/* The exact value of a negative power lies strictly between -1 and 1 unless a is 1, -1 or 0; of 0
 * it is infinite, and 0 is given as for other divisions by zero. */
ND_FN ND_T ND_NAME(pow)(ND_T a, ND_T b)
{
    if (b < 0)
        return (ND_T)(a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0);
    return ND_NAME(pow_wrap)(a, b);
}
#endif

#if ND_IS_UINT
ND_FN ND_T ND_NAME(bitwise_right_shift)(ND_T a, ND_T b)
{
    return (ND_T)((ND_U)b < ND_BITS ? (ND_U)a >> ((ND_U)b & (ND_BITS - 1)) : (ND_U)0);
}
ND_FN ND_T ND_NAME(abs)(ND_T a)
{
    return a;
}
ND_FN ND_T ND_NAME(sign)(ND_T a)
{
    return (ND_T)(a != 0);
}
ND_FN ND_T ND_NAME(floor_divide)(ND_T a, ND_T b)
{
    return b == 0 ? (ND_T)0 : (ND_T)(a / b);
}
ND_FN ND_T ND_NAME(remainder)(ND_T a, ND_T b)
{
    return b == 0 ? (ND_T)0 : (ND_T)(a % b);
}
ND_FN ND_T ND_NAME(pow)(ND_T a, ND_T b)
{
    return ND_NAME(pow_wrap)(a, b);
}
#endif

/* ---- floating point: two operands and three ---- */
#if ND_IS_FLOAT
ND_FN ND_T ND_NAME(add)(ND_T a, ND_T b)
{
    return a + b;
}
ND_FN ND_T ND_NAME(subtract)(ND_T a, ND_T b)
{
    return a - b;
}
ND_FN ND_T ND_NAME(multiply)(ND_T a, ND_T b)
{
    return a * b;
}
ND_FN ND_T ND_FORMULA_divide(ND_T a, ND_T b)
{
    return a / b;
}
ND_FN ND_T ND_NAME(fma)(ND_T a, ND_T b, ND_T c)
{
    return ND_FMA(a, b, c);
}
ND_FN ND_T ND_NAME(nextafter)(ND_T a, ND_T b)
{
    return ND_NEXTAFTER(a, b);
}
ND_FN ND_T ND_NAME(copysign)(ND_T a, ND_T b)
{
    return ND_M(copysign)(a, b);
}
ND_FN ND_T ND_NAME(hypot)(ND_T a, ND_T b)
{
    return ND_M(hypot)(a, b);
}
ND_FN ND_T ND_NAME(atan2)(ND_T a, ND_T b)
{
    return ND_M(atan2)(a, b);
}
ND_FN ND_T ND_NAME(pow)(ND_T a, ND_T b)
{
    return ND_M(pow)(a, b);
}

/* Only where the quotient rounds to an integer can its floor be wrong, by one: the remainder a -
 * f*b tells, whose sign fma gets right. Quotients too large for a fraction need no floor. Where
 * an operand is infinite or b is zero it is a / b, as the array API standard prefers (Python has
 * NaN for an infinite a, and -1 for small a of the other sign than an infinite b). */
ND_FN ND_T ND_NAME(floor_divide)(ND_T a, ND_T b)
{
    ND_T q = a / b, f = ND_M(floor)(q), rest = ND_M(fma)(-f, b, a);
    int below = (a != 0) & ((a < 0) != (b < 0)) & (b - b == 0),
        rounded_up = b < 0 ? rest > 0 : rest < 0;
    int large = ND_M(fabs)(q) >= (ND_T)(ND_MANT_DIG > 24 ? 9007199254740992.0 : 16777216.0);
    ND_T r = f == 0                             ? (below ? (ND_T)-1 : ND_M(copysign)((ND_T)0, q))
             : ((f == q) & rounded_up & !large) ? f - 1
                                                : f;
    return a - a != 0 ? q : r;
}
ND_FN ND_T ND_NAME(remainder)(ND_T a, ND_T b)
{
    ND_T m = ND_M(fmod)(a, b);
    if (m == 0)
        return ND_M(copysign)((ND_T)0, b);
    return (b < 0) != (m < 0) ? m + b : m;
}

/* Equal operands differ at most in the sign of zero, where the sign decides. */
ND_FN ND_T ND_NAME(maximum)(ND_T a, ND_T b)
{
    return ((b > a) | (b != b) | ((a == b) & (ND_M(signbit)(a) != 0))) ? b : a;
}
ND_FN ND_T ND_NAME(minimum)(ND_T a, ND_T b)
{
    return ((b < a) | (b != b) | ((a == b) & (ND_M(signbit)(b) != 0))) ? b : a;
}
ND_FN ND_T ND_NAME(clip)(ND_T a, ND_T b, ND_T c)
{
    return ND_NAME(minimum)(ND_NAME(maximum)(a, b), c);
}
ND_FN ND_T ND_NAME(relu)(ND_T a)
{
    return a > 0 ? a : a != a ? a : (ND_T)0;
}

/* ---- floating point: signs and classes ---- */
ND_FN ND_T ND_NAME(negative)(ND_T a)
{
    return -a;
}
ND_FN ND_T ND_NAME(abs)(ND_T a)
{
    return ND_M(fabs)(a);
}
ND_FN ND_T ND_NAME(sign)(ND_T a)
{
    return a > 0 ? (ND_T)1 : a < 0 ? (ND_T)-1 : a == 0 ? (ND_T)0 : a;
}
ND_FN ND_BOOL_T ND_NAME(signbit)(ND_T a)
{
    return (ND_BOOL_T)(ND_M(signbit)(a) != 0);
}
ND_FN ND_BOOL_T ND_NAME(isfinite)(ND_T a)
{
    return (ND_BOOL_T)(a - a == 0);
}
ND_FN ND_BOOL_T ND_NAME(isinf)(ND_T a)
{
    return (ND_BOOL_T)((a == a) & (a - a != 0));
}
ND_FN ND_BOOL_T ND_NAME(isnan)(ND_T a)
{
    return (ND_BOOL_T)(a != a);
}
ND_FN ND_T ND_NAME(square)(ND_T a)
{
    return a * a;
}
ND_FN ND_T ND_FORMULA_reciprocal(ND_T a)
{
    return (ND_T)1 / a;
}

/* ---- floating point: rounding, and the functions of ND_M ---- */
ND_FN ND_T ND_NAME(floor)(ND_T a)
{
    return ND_M(floor)(a);
}
ND_FN ND_T ND_NAME(ceil)(ND_T a)
{
    return ND_M(ceil)(a);
}
ND_FN ND_T ND_NAME(trunc)(ND_T a)
{
    return ND_M(trunc)(a);
}
ND_FN ND_T ND_NAME(round)(ND_T a)
{
    return ND_M(rint)(a);
}

ND_FN ND_T ND_NAME(sqrt)(ND_T a)
{
    return ND_M(sqrt)(a);
}
ND_FN ND_T ND_NAME(exp)(ND_T a)
{
    return ND_M(exp)(a);
}
ND_FN ND_T ND_NAME(expm1)(ND_T a)
{
    return ND_M(expm1)(a);
}
ND_FN ND_T ND_NAME(log)(ND_T a)
{
    return ND_M(log)(a);
}
ND_FN ND_T ND_NAME(log1p)(ND_T a)
{
    return ND_M(log1p)(a);
}
ND_FN ND_T ND_NAME(log2)(ND_T a)
{
    return ND_M(log2)(a);
}
ND_FN ND_T ND_NAME(log10)(ND_T a)
{
    return ND_M(log10)(a);
}
ND_FN ND_T ND_NAME(sin)(ND_T a)
{
    return ND_M(sin)(a);
}
ND_FN ND_T ND_NAME(cos)(ND_T a)
{
    return ND_M(cos)(a);
}
ND_FN ND_T ND_NAME(tan)(ND_T a)
{
    return ND_M(tan)(a);
}
ND_FN ND_T ND_NAME(asin)(ND_T a)
{
    return ND_M(asin)(a);
}
ND_FN ND_T ND_NAME(acos)(ND_T a)
{
    return ND_M(acos)(a);
}
ND_FN ND_T ND_NAME(atan)(ND_T a)
{
    return ND_M(atan)(a);
}
ND_FN ND_T ND_NAME(sinh)(ND_T a)
{
    return ND_M(sinh)(a);
}
ND_FN ND_T ND_NAME(cosh)(ND_T a)
{
    return ND_M(cosh)(a);
}
ND_FN ND_T ND_NAME(tanh)(ND_T a)
{
    return ND_M(tanh)(a);
}
ND_FN ND_T ND_NAME(asinh)(ND_T a)
{
    return ND_M(asinh)(a);
}
ND_FN ND_T ND_NAME(acosh)(ND_T a)
{
    return ND_M(acosh)(a);
}
ND_FN ND_T ND_NAME(atanh)(ND_T a)
{
    return ND_M(atanh)(a);
}
ND_FN ND_T ND_NAME(erf)(ND_T a)
{
    return ND_M(erf)(a);
}

/* ---- floating point: composite formulas, in ND_W or ND_X ---- */
/* exp(x) as a sum of two numbers, for |x| < 64: the series of exp(x/64), squared six times. */
ND_FN ND_W ND_NAME(exp_parts)(ND_W x, ND_W *low)
{
    ND_W r = x / 64, high = 1, rest = 0, p, e, q;
    int n;
    for (n = 24; n > 0; n--) {
        p = high * r;
        e = ND_MW(fma)(high, r, -p) + rest * r;
        q = p / (ND_W)n;
        e = (ND_MW(fma)(-q, (ND_W)n, p) + e) / (ND_W)n;
        p = 1 + q;
        e += q - (p - 1);
        high = p + e;
        rest = e - (high - p);
    }
    for (n = 0; n < 6; n++) {
        p = high * high;
        e = ND_MW(fma)(high, high, -p) + 2 * high * rest;
        high = p + e;
        rest = e - (high - p);
    }
    *low = rest;
    return high;
}
/* Equal infinities have no difference. Near a zero of the result its two terms cancel: there the
 * sum of the exponentials, which is about 1, is formed with twice the bits. */
ND_FN ND_T ND_FORMULA_logaddexp(ND_T a, ND_T b)
{
    ND_X high = a > b ? a : b, low = a > b ? b : a;
    ND_X r = high + ND_MX(log1p)(ND_MX(exp)(a == b ? (ND_X)0 : low - high));
    if (r < (ND_X)(ND_X_WIDER ? 0.002 : 0.5) && r > (ND_X)(ND_X_WIDER ? -0.002 : -0.5) &&
        low > -60) {
        ND_W e_low, f_low, e = ND_NAME(exp_parts)((ND_W)high, &e_low);
        ND_W f = ND_NAME(exp_parts)((ND_W)low, &f_low), s = e + f;
        r = ND_MX(log1p)((ND_X)((s - 1) + ((f - (s - e)) + e_low + f_low)));
    }
    return (ND_T)r;
}
ND_FN ND_T ND_FORMULA_elu(ND_T a, ND_T b)
{
    ND_T below = (ND_T)((ND_W)b * ND_MW(expm1)((ND_W)a));
    return a > 0 ? a : below;
}
/* exp of a negative number only, so that nothing overflows. */
ND_FN ND_T ND_FORMULA_sigmoid(ND_T a)
{
    ND_W e = ND_MW(exp)(-ND_MW(fabs)((ND_W)a));
    return (ND_T)((a < 0 ? e : (ND_W)1) / (e + 1));
}
/* a*sigmoid(y + y_low), y_low being below the last place of y. Where ND_W is not wider the
 * exponential of a large negative y is kept clear of the subnormals, whose error a would magnify:
 * the last factor is exp(-64). */
ND_FN ND_T ND_NAME(gated)(ND_W a, ND_W y, ND_W y_low)
{
    ND_W e = ND_MW(exp)(-ND_MW(fabs)(y));
#if ND_W_WIDER
    (void)y_low;
#else
    if (y < (ND_MANT_DIG > 24 ? -670 : -80))
        return a * (ND_MW(exp)(y + 64) * (y_low + 1)) * (ND_W)1.603810890548637853e-28;
    e += y < 0 ? e * y_low : -(e * y_low);
#endif
    return (ND_T)(a * (y < 0 ? e : (ND_W)1) / (e + 1));
}
ND_FN ND_T ND_FORMULA_silu(ND_T a)
{
    return ND_NAME(gated)((ND_W)a, (ND_W)a, (ND_W)0);
}

/* (1 + tanh(u))/2 is sigmoid(2u), without cancellation; 2u = a*(c1 + c2*a*a), c1 = 2*sqrt(2/pi),
 * c2 = 0.044715*c1. Where ND_W is not wider, 2u is carried in two parts. */
ND_FN ND_T ND_FORMULA_gelu_tanh(ND_T a)
{
    const ND_W c1 = (ND_W)1.5957691216057308, c2 = (ND_W)0.071354816272600243;
    ND_W w = (ND_W)a, y_low = (ND_W)0;
    ND_W s = w * w, t = c2 * s, v = c1 + t, y = w * v;
#if !ND_W_WIDER
    if (ND_MW(fabs)(w) < 64) {
        const ND_W c1_low =
            (ND_W)(ND_MANT_DIG > 24 ? -9.96930880911092e-17 : -4.534068042105272e-08);
        const ND_W c2_low =
            (ND_W)(ND_MANT_DIG > 24 ? -6.175149918155315e-19 : 2.3988323959931355e-09);
        ND_W t_low = ND_MW(fma)(c2, s, -t) + (c2 * ND_MW(fma)(w, w, -s) + c2_low * s);
        ND_W part = v - c1, v_low = (c1 - (v - part)) + (t - part) + (t_low + c1_low);
        y_low = ND_MW(fma)(w, v, -y) + w * v_low;
    }
#endif
    return ND_NAME(gated)(w, y, y_low);
}
#if !ND_X_WIDER
/* a Phi(a) far below 0, by the asymptotic series of Mills' ratio (Abramowitz and Stegun 26.2.12).
 * The exponential is kept clear of the subnormals, whose error the other factors would magnify; the
 * last factor, exp(-64), takes it there. */
ND_FN ND_T ND_NAME(gelu_far)(ND_T a)
{
    const ND_X density = (ND_X)0.39894228040143268, back = (ND_X)1.603810890548637853e-28;
    ND_X s = a * a, s_low = ND_M(fma)(a, a, -s), u = 1 / s, series = 135135;
    if (a < -64)
        return a * 0; /* NaN of -inf */
    series = 10395 - u * series;
    series = 945 - u * series;
    series = 105 - u * series;
    series = 15 - u * series;
    series = 3 - u * series;
    series = 1 - u * series;
    series = 1 - u * series;
    return ND_MX(exp)(64 - s / 2) * (density * (s_low / 2 * series - series)) * back;
}
#endif
/* The constants are sqrt(1/2) in two parts. The derivative of erfc corrects for what -a*sqrt(1/2)
 * lost in rounding, which the tail would magnify. */
ND_FN ND_T ND_FORMULA_gelu(ND_T a)
{
#if ND_X_WIDER
    ND_X root = (ND_X)0.70710678118654752 + (ND_X)-4.8336466567264567e-17;
    return (ND_T)((ND_X)a * (ND_X)0.5 * ND_MX(erfc)(-(ND_X)a * root));
#else
    const ND_X root = (ND_X)0.70710678118654752;
    const ND_X root_low = (ND_X)(ND_MANT_DIG > 24 ? -4.833646656726457e-17 : 1.210161710447897e-08);
    if (a < (ND_MANT_DIG > 24 ? -36 : -12))
        return ND_NAME(gelu_far)(a);
    ND_X z = -a * root, z_low = -(ND_M(fma)(a, root, z) + a * root_low);
    /* beyond, erfc is flat; z_low is NaN of an infinite a */
    ND_X low = z > -6 ? z_low * (ND_MX(exp)(-z * z) * (ND_X)1.1283791670955126) : (ND_X)0;
    return a * (ND_X)0.5 * (ND_MX(erfc)(z) - low);
#endif
}
#endif

#if ND_IS_INT || ND_IS_UINT
ND_FN ND_T ND_NAME(clip)(ND_T a, ND_T b, ND_T c)
{
    return ND_NAME(minimum)(ND_NAME(maximum)(a, b), c);
}
#include <ndock/scalar_special_integer_tmpl.h>
#endif
#if ND_IS_FLOAT
#include <ndock/scalar_special_tmpl.h>
#endif

#undef ND_FORMULA_divide
#undef ND_FORMULA_reciprocal
#undef ND_FORMULA_logaddexp
#undef ND_FORMULA_elu
#undef ND_FORMULA_sigmoid
#undef ND_FORMULA_silu
#undef ND_FORMULA_gelu_tanh
#undef ND_FORMULA_gelu
