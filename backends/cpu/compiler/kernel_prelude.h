/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The end of the text that programs of kernels include as ndock_kernel.h, behind half.h and
 * vmath.h: short names of types, and math functions by the type of their argument, so that float
 * stays float and gets the bits that the library's own operations give. This file is compiled with
 * programs alone. */
#include <stdbool.h>
#include <stddef.h>

typedef int8_t int8;
typedef int16_t int16;
typedef int32_t int32;
typedef int64_t int64;
typedef uint8_t uint8;
typedef uint16_t uint16;
typedef uint32_t uint32;
typedef uint64_t uint64;
typedef float float32;
typedef double float64;

#define ND_BLOCK_KERNEL(name)                                                        \
    void name(const uint32_t at[3], const uint32_t grid[3], const uint32_t block[3], \
              void *const *argument)
#define ND_ARGUMENT(type, i) (*(type const *)argument[i])

/* ---- functions of one and of two arguments ---- */
#define ND_MATH1(fn, x) _Generic((x), float : vm_f32_##fn, default : vm_f64_##fn)(x)
#define ND_MATH2(fn, x, y) _Generic((x) + (y), float : vm_f32_##fn, default : vm_f64_##fn)(x, y)
#define exp(x) ND_MATH1(exp, x)
#define expm1(x) ND_MATH1(expm1, x)
#define log(x) ND_MATH1(log, x)
#define log1p(x) ND_MATH1(log1p, x)
#define log2(x) ND_MATH1(log2, x)
#define log10(x) ND_MATH1(log10, x)
#define sin(x) ND_MATH1(sin, x)
#define cos(x) ND_MATH1(cos, x)
#define tan(x) ND_MATH1(tan, x)
#define asin(x) ND_MATH1(asin, x)
#define acos(x) ND_MATH1(acos, x)
#define atan(x) ND_MATH1(atan, x)
#define sinh(x) ND_MATH1(sinh, x)
#define cosh(x) ND_MATH1(cosh, x)
#define tanh(x) ND_MATH1(tanh, x)
#define asinh(x) ND_MATH1(asinh, x)
#define acosh(x) ND_MATH1(acosh, x)
#define atanh(x) ND_MATH1(atanh, x)
#define erf(x) ND_MATH1(erf, x)
#define sqrt(x) ND_MATH1(sqrt, x)
#define fabs(x) ND_MATH1(fabs, x)
#define floor(x) ND_MATH1(floor, x)
#define ceil(x) ND_MATH1(ceil, x)
#define trunc(x) ND_MATH1(trunc, x)
#define rint(x) ND_MATH1(rint, x)
#define pow(x, y) ND_MATH2(pow, x, y)
#define atan2(y, x) ND_MATH2(atan2, y, x)
#define hypot(x, y) ND_MATH2(hypot, x, y)
#define fmod(x, y) ND_MATH2(fmod, x, y)
#define copysign(x, y) ND_MATH2(copysign, x, y)
#define nextafter(x, y) ND_MATH2(nextafter, x, y)
#define fma(x, y, z) _Generic((x) + (y) + (z), float : vm_f32_fma, default : vm_f64_fma)(x, y, z)

static inline float nd_f32_rsqrt(float x)
{
    return 1 / __builtin_sqrtf(x);
}
static inline double nd_f64_rsqrt(double x)
{
    return 1 / __builtin_sqrt(x);
}
#define rsqrt(x) _Generic((x), float : nd_f32_rsqrt, default : nd_f64_rsqrt)(x)
static inline float nd_f32_erfc(float x)
{
    return (float)vm_erfc(x);
}
static inline double nd_f64_erfc(double x)
{
    return __builtin_erfc(x);
}
#define erfc(x) _Generic((x), float : nd_f32_erfc, default : nd_f64_erfc)(x)
#define lgamma(x) _Generic((x), float : __builtin_lgammaf, default : __builtin_lgamma)(x)
#define tgamma(x) _Generic((x), float : __builtin_tgammaf, default : __builtin_tgamma)(x)
#define exp2(x) _Generic((x), float : __builtin_exp2f, default : __builtin_exp2)(x)
#define cbrt(x) _Generic((x), float : __builtin_cbrtf, default : __builtin_cbrt)(x)
#define round(x) _Generic((x), float : __builtin_roundf, default : __builtin_round)(x)

/* ---- least, greatest and magnitude, of integers too; of NaN and a number, the number ---- */
#define ND_ORDER(T, name)                   \
    static inline T nd_min_##name(T a, T b) \
    {                                       \
        return a < b ? a : b;               \
    }                                       \
    static inline T nd_max_##name(T a, T b) \
    {                                       \
        return a > b ? a : b;               \
    }                                       \
    static inline T nd_abs_##name(T a)      \
    {                                       \
        return a < 0 ? (T)-a : a;           \
    }
ND_ORDER(int, i)
ND_ORDER(unsigned, u)
ND_ORDER(long, l)
ND_ORDER(unsigned long, ul)
ND_ORDER(long long, ll)
ND_ORDER(unsigned long long, ull)
#define ND_FLOAT_ORDER(T, name)              \
    static inline T nd_min_##name(T a, T b)  \
    {                                        \
        return ((a < b) | (b != b)) ? a : b; \
    }                                        \
    static inline T nd_max_##name(T a, T b)  \
    {                                        \
        return ((a > b) | (b != b)) ? a : b; \
    }
ND_FLOAT_ORDER(float, f)
ND_FLOAT_ORDER(double, d)
#define ND_BY_TYPE(fn, x)                       \
    _Generic((x), float                         \
             : nd_##fn##_f, double              \
             : nd_##fn##_d, unsigned            \
             : nd_##fn##_u, long                \
             : nd_##fn##_l, unsigned long       \
             : nd_##fn##_ul, long long          \
             : nd_##fn##_ll, unsigned long long \
             : nd_##fn##_ull, default           \
             : nd_##fn##_i)
#define nd_abs_f __builtin_fabsf
#define nd_abs_d __builtin_fabs
#define min(a, b) ND_BY_TYPE(min, (a) + (b))(a, b)
#define max(a, b) ND_BY_TYPE(max, (a) + (b))(a, b)
#define fmin(a, b) _Generic((a) + (b), float : nd_min_f, default : nd_min_d)(a, b)
#define fmax(a, b) _Generic((a) + (b), float : nd_max_f, default : nd_max_d)(a, b)
#define abs(a) ND_BY_TYPE(abs, +(a))(a)
