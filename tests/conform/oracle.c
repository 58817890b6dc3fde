/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What elementwise operations give, computed the slow way: 128-bit integers, long double, long
 * double complex. Complex functions are asked about finite arguments only; their special values
 * have golden vectors of their own (tests/unit/complex_formulas.c). */
#include <complex.h>
#include <math.h>
#include "tests/conform/conform.h"

typedef long double real;
typedef complex long double cplx;

static bool nonzero(cell x)
{
    return x.kind == ND_KIND_COMPLEX ? x.re != 0 || x.im != 0
           : x.kind == ND_KIND_FLOAT ? x.re != 0
                                     : x.i != 0;
}

/* ---- integers ---- */

static __int128 floor_div(__int128 a, __int128 b)
{
    __int128 q = b ? a / b : 0;
    return b && q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

/* a to the b modulo 2^128, which wraps right in every width; negative exponents truncate the exact
 * value. */
static __int128 power(__int128 a, __int128 b)
{
    unsigned __int128 r = 1, base = (unsigned __int128)a;
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    for (; b; b >>= 1, base *= base)
        if (b & 1)
            r *= base;
    return (__int128)r;
}

/* By subtraction and halving (Stein). */
static unsigned __int128 common_divisor(unsigned __int128 a, unsigned __int128 b)
{
    int twos = 0;
    if (a == 0 || b == 0)
        return a + b;
    for (; !(a & 1) && !(b & 1); a >>= 1, b >>= 1)
        twos++;
    while (a != b) {
        if (!(a & 1))
            a >>= 1;
        else if (!(b & 1))
            b >>= 1;
        else if (a > b)
            a -= b;
        else
            b -= a;
    }
    return a << twos;
}

static __int128 divisor_or_multiple(nd_op op, __int128 a, __int128 b)
{
    unsigned __int128 x = (unsigned __int128)(a < 0 ? -a : a),
                      y = (unsigned __int128)(b < 0 ? -b : b), d = common_divisor(x, y);
    return (__int128)(op == ND_OP_gcd ? d : x == 0 || y == 0 ? 0 : x / d * y);
}

static __int128 shift(nd_op op, nd_dtype dtype, __int128 a, __int128 b)
{
    int bits = 8 * (int)nd_dtype_size(dtype);
    bool out_of_range = b < 0 || b >= bits;
    if (op == ND_OP_bitwise_left_shift)
        return out_of_range ? 0 : (__int128)((unsigned __int128)a << b);
    return out_of_range ? (a < 0 ? -1 : 0) : a >> b;
}

static bool integer_binary(nd_op op, nd_dtype dtype, __int128 a, __int128 b, __int128 *r)
{
    bool boolean = dtype == ND_BOOL;
    switch (op) {
    case ND_OP_add:
        *r = boolean ? a | b : a + b;
        return true;
    case ND_OP_subtract:
        *r = a - b;
        return true;
    case ND_OP_multiply:
        *r = (__int128)((unsigned __int128)a * (unsigned __int128)b);
        return true;
    case ND_OP_floor_divide:
        *r = floor_div(a, b);
        return true;
    case ND_OP_remainder:
        *r = b ? a - floor_div(a, b) * b : 0;
        return true;
    case ND_OP_pow:
        *r = power(a, b);
        return true;
    case ND_OP_maximum:
        *r = a > b ? a : b;
        return true;
    case ND_OP_minimum:
        *r = a < b ? a : b;
        return true;
    case ND_OP_bitwise_and:
        *r = a & b;
        return true;
    case ND_OP_bitwise_or:
        *r = a | b;
        return true;
    case ND_OP_bitwise_xor:
        *r = a ^ b;
        return true;
    case ND_OP_bitwise_left_shift:
    case ND_OP_bitwise_right_shift:
        *r = shift(op, dtype, a, b);
        return true;
    case ND_OP_fmod:
        *r = b ? a % b : 0;
        return true;
    case ND_OP_gcd:
    case ND_OP_lcm:
        *r = divisor_or_multiple(op, a, b);
        return true;
    default:
        return false;
    }
}

static bool integer_unary(nd_op op, nd_dtype dtype, __int128 a, __int128 *r)
{
    switch (op) {
    case ND_OP_bitwise_invert:
        *r = dtype == ND_BOOL ? !a : ~a;
        return true;
    case ND_OP_positive:
    case ND_OP_floor:
    case ND_OP_ceil:
    case ND_OP_trunc:
    case ND_OP_round:
    case ND_OP_real:
    case ND_OP_conj:
        *r = a;
        return true;
    case ND_OP_negative:
        *r = -a;
        return true;
    case ND_OP_abs:
        *r = a < 0 ? -a : a;
        return true;
    case ND_OP_sign:
        *r = (a > 0) - (a < 0);
        return true;
    case ND_OP_square:
        *r = (__int128)((unsigned __int128)a * (unsigned __int128)a);
        return true;
    case ND_OP_imag:
        *r = 0;
        return true;
    case ND_OP_relu:
        *r = a > 0 ? a : 0;
        return true;
    default:
        return false;
    }
}

/* ---- comparisons and predicates of any kind ---- */

static int order(cell a, cell b) /* -1, 0, 1; 2: unordered */
{
    if (a.kind == ND_KIND_FLOAT)
        return isnan(a.re) || isnan(b.re) ? 2 : (a.re > b.re) - (a.re < b.re);
    return (a.i > b.i) - (a.i < b.i);
}

static bool equal(cell a, cell b)
{
    if (a.kind == ND_KIND_COMPLEX)
        return a.re == b.re && a.im == b.im;
    return order(a, b) == 0;
}

static bool predicate(nd_op op, const cell *x, bool *r)
{
    cell a = x[0], b = x[1];
    bool number = a.kind == ND_KIND_FLOAT || a.kind == ND_KIND_COMPLEX;
    real im = a.kind == ND_KIND_COMPLEX ? a.im : 0;
    switch (op) {
    case ND_OP_equal:
        *r = equal(a, b);
        return true;
    case ND_OP_not_equal:
        *r = !equal(a, b);
        return true;
    case ND_OP_less:
        *r = order(a, b) == -1;
        return true;
    case ND_OP_less_equal:
        *r = order(a, b) == -1 || order(a, b) == 0;
        return true;
    case ND_OP_greater:
        *r = order(a, b) == 1;
        return true;
    case ND_OP_greater_equal:
        *r = order(a, b) == 1 || order(a, b) == 0;
        return true;
    case ND_OP_logical_and:
        *r = nonzero(a) && nonzero(b);
        return true;
    case ND_OP_logical_or:
        *r = nonzero(a) || nonzero(b);
        return true;
    case ND_OP_logical_xor:
        *r = nonzero(a) != nonzero(b);
        return true;
    case ND_OP_logical_not:
        *r = !nonzero(a);
        return true;
    case ND_OP_signbit:
        *r = signbit(a.re);
        return true;
    case ND_OP_isnan:
        *r = number && (isnan(a.re) || isnan(im));
        return true;
    case ND_OP_isinf:
        *r = number && (isinf(a.re) || isinf(im));
        return true;
    case ND_OP_isfinite:
        *r = !number || (isfinite(a.re) && isfinite(im));
        return true;
    default:
        return false;
    }
}

/* ---- floating ---- */

/* Python's and NumPy's: the remainder has the divisor's sign, the quotient fits it; but where an
 * operand is infinite the quotient is a / b, as the array API standard prefers. */
static real floored(real a, real b, real *quotient)
{
    real mod = fmodl(a, b), div = (a - mod) / b;
    *quotient = a / b;
    if (b == 0)
        return fmodl(a, b);
    if (mod != 0 && (b < 0) != (mod < 0)) {
        mod += b;
        div -= 1;
    } else if (mod == 0) {
        mod = copysignl(0, b);
    }
    if (isfinite(a) && isfinite(b))
        *quotient = div != 0 ? floorl(div) + (div - floorl(div) > 0.5L) : copysignl(0, a / b);
    return mod;
}

static real next_after(nd_dtype dtype, real a, real b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    if (a == b)
        return b;
    bool up = a < b;
    if (isinf(a))
        return copysignl(cell_max(dtype), a);
    if (a == 0)
        return up ? cell_ulp(dtype, 0) : -cell_ulp(dtype, 0);
    real step = cell_ulp(dtype, a);
    bool outward = up == (a > 0);
    if (!outward && frexpl(fabsl(a), &(int){0}) == 0.5L && cell_ulp(dtype, a) != cell_ulp(dtype, 0))
        step /= 2; /* below a power of two the spacing halves */
    real r = up ? a + step : a - step;
    if (r == 0)
        return copysignl(0, a);
    return fabsl(r) > cell_max(dtype) ? copysignl(INFINITY, r) : r;
}

static real log_add_exp(real a, real b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    real high = fmaxl(a, b), low = fminl(a, b);
    return isinf(high) ? high : high + log1pl(expl(low - high));
}

static real larger(real a, real b)
{
    return isnan(a) || isnan(b) ? NAN : a > b || (a == b && !signbit(a)) ? a : b;
}

static real smaller(real a, real b)
{
    return -larger(-a, -b);
}

static bool float_binary(nd_op op, nd_dtype dtype, real a, real b, real *r)
{
    real q;
    switch (op) {
    case ND_OP_add:
        *r = a + b;
        return true;
    case ND_OP_subtract:
        *r = a - b;
        return true;
    case ND_OP_multiply:
        *r = a * b;
        return true;
    case ND_OP_divide:
        *r = a / b;
        return true;
    case ND_OP_floor_divide:
        floored(a, b, r);
        return true;
    case ND_OP_remainder:
        *r = floored(a, b, &q);
        return true;
    case ND_OP_pow:
        *r = powl(a, b);
        return true;
    case ND_OP_atan2:
        *r = atan2l(a, b);
        return true;
    case ND_OP_hypot:
        *r = hypotl(a, b);
        return true;
    case ND_OP_copysign:
        *r = copysignl(a, b);
        return true;
    case ND_OP_nextafter:
        *r = next_after(dtype, a, b);
        return true;
    case ND_OP_logaddexp:
        *r = log_add_exp(a, b);
        return true;
    case ND_OP_maximum:
        *r = larger(a, b);
        return true;
    case ND_OP_minimum:
        *r = smaller(a, b);
        return true;
    case ND_OP_elu:
        *r = a > 0 || isnan(a) ? a : b * expm1l(a);
        return true;
    default:
        return oracle_special_binary(op, a, b, r);
    }
}

static real sign_of(real a)
{
    return isnan(a) || a == 0 ? a : a > 0 ? 1 : -1;
}

static bool float_unary(nd_op op, real a, real *r)
{
    switch (op) {
    case ND_OP_positive:
    case ND_OP_real:
    case ND_OP_conj:
        *r = a;
        return true;
    case ND_OP_negative:
        *r = -a;
        return true;
    case ND_OP_abs:
        *r = fabsl(a);
        return true;
    case ND_OP_sign:
        *r = a == 0 ? 0 : sign_of(a);
        return true;
    case ND_OP_square:
        *r = a * a;
        return true;
    case ND_OP_reciprocal:
        *r = 1 / a;
        return true;
    case ND_OP_sqrt:
        *r = sqrtl(a);
        return true;
    case ND_OP_exp:
        *r = expl(a);
        return true;
    case ND_OP_expm1:
        *r = expm1l(a);
        return true;
    case ND_OP_log:
        *r = logl(a);
        return true;
    case ND_OP_log1p:
        *r = log1pl(a);
        return true;
    case ND_OP_log2:
        *r = log2l(a);
        return true;
    case ND_OP_log10:
        *r = log10l(a);
        return true;
    case ND_OP_sin:
        *r = sinl(a);
        return true;
    case ND_OP_cos:
        *r = cosl(a);
        return true;
    case ND_OP_tan:
        *r = tanl(a);
        return true;
    case ND_OP_asin:
        *r = asinl(a);
        return true;
    case ND_OP_acos:
        *r = acosl(a);
        return true;
    case ND_OP_atan:
        *r = atanl(a);
        return true;
    case ND_OP_sinh:
        *r = sinhl(a);
        return true;
    case ND_OP_cosh:
        *r = coshl(a);
        return true;
    case ND_OP_tanh:
        *r = tanhl(a);
        return true;
    case ND_OP_asinh:
        *r = asinhl(a);
        return true;
    case ND_OP_acosh:
        *r = acoshl(a);
        return true;
    case ND_OP_atanh:
        *r = atanhl(a);
        return true;
    case ND_OP_floor:
        *r = floorl(a);
        return true;
    case ND_OP_ceil:
        *r = ceill(a);
        return true;
    case ND_OP_trunc:
        *r = truncl(a);
        return true;
    case ND_OP_round:
        *r = rintl(a);
        return true;
    case ND_OP_imag:
        *r = 0;
        return true;
    case ND_OP_erf:
        *r = erfl(a);
        return true;
    case ND_OP_relu:
        *r = isnan(a) ? a : a > 0 ? a : 0;
        return true;
    case ND_OP_sigmoid:
        *r = 1 / (1 + expl(-a));
        return true;
    case ND_OP_silu:
        *r = a / (1 + expl(-a));
        return true;
    case ND_OP_gelu:
        *r = a / 2 * erfcl(-a * 0.70710678118654752440084436210484903928L);
        return true;
    case ND_OP_gelu_tanh: { /* a/2 (1 + tanh u) as a / (1 + exp(-2u)), which does not cancel */
        real u = 0.79788456080286535587989211986876373L * (a + 0.044715L * a * a * a);
        *r = a / (1 + expl(-2 * u));
        return true;
    }
    default:
        return oracle_special_unary(op, a, r);
    }
}

/* ---- complex, finite arguments ---- */

static cplx to_c(cell x)
{
    cplx z;
    ((real *)&z)[0] = x.re; /* x.re + I*x.im would lose signs of zeros */
    ((real *)&z)[1] = x.im;
    return z;
}

static bool complex_unary(nd_op op, cplx a, cplx *r)
{
    real m = cabsl(a);
    switch (op) {
    case ND_OP_positive:
        *r = a;
        return true;
    case ND_OP_negative:
        *r = -a;
        return true;
    case ND_OP_conj:
        *r = conjl(a);
        return true;
    case ND_OP_sign:
        *r = m == 0 ? a : a / m;
        return true;
    case ND_OP_square:
        *r = a * a;
        return true;
    case ND_OP_reciprocal:
        *r = 1 / a;
        return m != 0;
    case ND_OP_sqrt:
        *r = csqrtl(a);
        return true;
    case ND_OP_exp:
        *r = cexpl(a);
        return true;
    case ND_OP_log:
        *r = clogl(a);
        return m != 0;
    case ND_OP_log2:
        *r = clogl(a) / 0.693147180559945309417232121458176568L;
        return m != 0;
    case ND_OP_log10:
        *r = clogl(a) / 2.302585092994045684017991454684364208L;
        return m != 0;
    case ND_OP_sin:
        *r = csinl(a);
        return true;
    case ND_OP_cos:
        *r = ccosl(a);
        return true;
    case ND_OP_tan:
        *r = ctanl(a);
        return true;
    case ND_OP_asin:
        *r = casinl(a);
        return true;
    case ND_OP_acos:
        *r = cacosl(a);
        return true;
    case ND_OP_atan:
        *r = catanl(a);
        return fabsl(creall(a)) + fabsl(fabsl(cimagl(a)) - 1) > 0;
    case ND_OP_sinh:
        *r = csinhl(a);
        return true;
    case ND_OP_cosh:
        *r = ccoshl(a);
        return true;
    case ND_OP_tanh:
        *r = ctanhl(a);
        return true;
    case ND_OP_asinh:
        *r = casinhl(a);
        return true;
    case ND_OP_acosh:
        *r = cacoshl(a);
        return true;
    case ND_OP_atanh:
        *r = catanhl(a);
        return fabsl(fabsl(creall(a)) - 1) + fabsl(cimagl(a)) > 0;
    case ND_OP_round:
        *r = rintl(creall(a)) + I * rintl(cimagl(a));
        return true;
    default:
        return false; /* expm1, log1p cancel in long double too: golden vectors have them */
    }
}

static bool complex_binary(nd_op op, cplx a, cplx b, cplx *r)
{
    switch (op) {
    case ND_OP_add:
        *r = a + b;
        return true;
    case ND_OP_subtract:
        *r = a - b;
        return true;
    case ND_OP_multiply:
        *r = a * b;
        return true;
    case ND_OP_divide:
        *r = a / b;
        return b != 0;
    default:
        return false; /* pow: golden vectors */
    }
}

static bool oracle_complex(nd_op op, const cell *in, cell *out)
{
    cplx r = 0;
    if (op == ND_OP_abs) {
        *out = cell_real(hypotl(in[0].re, in[0].im));
        return true;
    }
    if (op == ND_OP_real || op == ND_OP_imag) {
        *out = cell_real(op == ND_OP_real ? in[0].re : in[0].im);
        return true;
    }
    bool binary = nd_op_get(op)->op_class == ND_CLASS_BINARY;
    if (binary ? !complex_binary(op, to_c(in[0]), to_c(in[1]), &r)
               : !complex_unary(op, to_c(in[0]), &r))
        return false;
    *out = cell_complex(creall(r), cimagl(r));
    return true;
}

static bool oracle_integer(nd_op op, nd_dtype dtype, const cell *in, cell *out)
{
    __int128 r;
    if (op == ND_OP_clip)
        r = in[0].i > in[1].i ? in[0].i : in[1].i, r = r < in[2].i ? r : in[2].i;
    else if (op == ND_OP_fma)
        r = (__int128)((unsigned __int128)in[0].i * (unsigned __int128)in[1].i +
                       (unsigned __int128)in[2].i);
    else if (!integer_unary(op, dtype, in[0].i, &r) &&
             !integer_binary(op, dtype, in[0].i, in[1].i, &r))
        return false;
    *out = dtype == ND_BOOL ? cell_bool(r != 0) : cell_wrap(dtype, r);
    return true;
}

static bool oracle_float(nd_op op, nd_dtype dtype, const cell *in, cell *out)
{
    real r;
    if (op == ND_OP_clip)
        r = smaller(larger(in[0].re, in[1].re), in[2].re);
    else if (op == ND_OP_fma)
        r = fmal(in[0].re, in[1].re, in[2].re);
    else if (nd_op_get(op)->op_class == ND_CLASS_UNARY
                 ? !float_unary(op, in[0].re, &r)
                 : !float_binary(op, dtype, in[0].re, in[1].re, &r))
        return false;
    *out = cell_real(r);
    return true;
}

bool oracle(nd_op op, nd_dtype dtype, const cell *in, cell *out)
{
    bool truth;
    if (op == ND_OP_where) {
        *out = in[0].i ? in[1] : in[2];
        return true;
    }
    if (predicate(op, in, &truth)) {
        *out = cell_bool(truth);
        return true;
    }
    switch (nd_dtype_get(dtype)->kind) {
    case ND_KIND_FLOAT:
        return oracle_float(op, dtype, in, out);
    case ND_KIND_COMPLEX:
        return oracle_complex(op, in, out);
    default:
        return oracle_integer(op, dtype, in, out);
    }
}
