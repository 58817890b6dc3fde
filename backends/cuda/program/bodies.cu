/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What kernels of programs are put together from where no compiler runs (ptx.c): each operation's
 * formula, and each reduction's steps, as a function over words of 32 bits, compiled to PTX when the
 * plug-in is built. A word is one element of f32, two of f16 or bf16, or a bool. Names: f32_add,
 * bf16_sum_merge and so on. */
#include "math/f32.cuh"
#include "math/f64.cuh"
#include "math/half.cuh"
#include "program/reduce_few.cuh" /* in place of reduce/reduce.h, as where kernels are compiled */
#include "program/rows.cuh"

#define WORD extern "C" __device__ uint32_t

template <class T> static __device__ __forceinline__ uint32_t to_word(T x)
{
    return pair_both(x);
}
static __device__ __forceinline__ uint32_t to_word(float x)
{
    return __float_as_uint(x);
}
static __device__ __forceinline__ uint32_t to_word(uint8_t x)
{
    return x;
}
/* The element, of two the first one. */
template <class T> static __device__ __forceinline__ T of_word(uint32_t word)
{
    T x;
    memcpy(&x, &word, sizeof x);
    return x;
}

/* ---- operations of f32: as elementwise.cu has them ---- */
#define CUDA_DTYPE F32
namespace d_F32
{
#include "math/scalar.cuh"
} // namespace d_F32
#include "program/undef.cuh"
#define F32_UNARY(op, DOMAIN, RESULT, ulp, doc)               \
    WORD f32_##op(uint32_t a)                                 \
    {                                                         \
        return to_word(d_F32::cuda_##op(__uint_as_float(a))); \
    }
#define F32_BINARY(op, DOMAIN, RESULT, ulp, doc)                                  \
    WORD f32_##op(uint32_t a, uint32_t b)                                         \
    {                                                                             \
        return to_word(d_F32::cuda_##op(__uint_as_float(a), __uint_as_float(b))); \
    }
#define F32_MASK_where ND_EXPAND_YES /* the one with a bool operand */
#define F32_TERNARY(op, DOMAIN, RESULT, ulp, doc)                                         \
    WORD f32_##op(uint32_t a, uint32_t b, uint32_t c)                                     \
    {                                                                                     \
        return to_word(                                                                   \
            d_F32::cuda_##op(ND_EXPAND_IF(F32_MASK_##op, (uint8_t)a, __uint_as_float(a)), \
                             __uint_as_float(b), __uint_as_float(c)));                    \
    }
#define ND_EXPAND_UNARY ND_EXPAND_BY(F32_UNARY)
#define ND_EXPAND_BINARY ND_EXPAND_BY(F32_BINARY)
#define ND_EXPAND_TERNARY ND_EXPAND_BY(F32_TERNARY)
#define ND_EXPAND_KIND 8
#include <ndock/op_expand.h>
#undef ND_EXPAND_UNARY
#undef ND_EXPAND_BINARY
#undef ND_EXPAND_TERNARY

/* ---- operations of halves, two at a time: as source_pairs.c has them ---- */
#define PAIR_ONE(f, P) P::of(f(P::hi(a)), f(P::lo(a)))
#define PAIR_TWO(f, P) P::of(f(P::hi(a), P::hi(b)), f(P::lo(a), P::lo(b)))
#define PAIR_THREE(f, P) P::of(f(P::hi(a), P::hi(b), P::hi(c)), f(P::lo(a), P::lo(b), P::lo(c)))
#define PAIR_UNARY_(op)                               \
    WORD PAIR_NAME(op)(uint32_t a)                    \
    {                                                 \
        return PAIR_ONE(PAIR_FORMULA(op), PAIR_TYPE); \
    }
#define PAIR_BINARY_(op)                              \
    WORD PAIR_NAME(op)(uint32_t a, uint32_t b)        \
    {                                                 \
        return PAIR_TWO(PAIR_FORMULA(op), PAIR_TYPE); \
    }
#define PAIR_TERNARY_(op)                                  \
    WORD PAIR_NAME(op)(uint32_t a, uint32_t b, uint32_t c) \
    {                                                      \
        return PAIR_THREE(PAIR_FORMULA(op), PAIR_TYPE);    \
    }
#define PAIR_NONE(op)
/* What takes what is stored, and what pair.cuh has for both at once. */
#define PAIR_APART_copysign ND_EXPAND_YES
#define PAIR_APART_positive ND_EXPAND_YES
#define PAIR_APART_real ND_EXPAND_YES
#define PAIR_APART_conj ND_EXPAND_YES
#define PAIR_APART_where ND_EXPAND_YES
#define PAIR_APART_add ND_EXPAND_YES
#define PAIR_APART_subtract ND_EXPAND_YES
#define PAIR_APART_multiply ND_EXPAND_YES
#define PAIR_APART_negative ND_EXPAND_YES
#define PAIR_APART_abs ND_EXPAND_YES
#define PAIR_RESULT_BOOL(op, then)
#define PAIR_RESULT_REAL PAIR_RESULT_SAME
#define PAIR_RESULT_SAME(op, then) ND_EXPAND_IF(PAIR_APART_##op, PAIR_NONE, then)(op)
#define PAIR_UNARY(op, DOMAIN, RESULT, ulp, doc) PAIR_RESULT_##RESULT(op, PAIR_UNARY_)
#define PAIR_BINARY(op, DOMAIN, RESULT, ulp, doc) PAIR_RESULT_##RESULT(op, PAIR_BINARY_)
#define PAIR_TERNARY(op, DOMAIN, RESULT, ulp, doc) PAIR_RESULT_##RESULT(op, PAIR_TERNARY_)
#define PAIR_BOTH(dtype, T)                       \
    WORD dtype##_add(uint32_t a, uint32_t b)      \
    {                                             \
        return pair<T>::add(a, b);                \
    }                                             \
    WORD dtype##_subtract(uint32_t a, uint32_t b) \
    {                                             \
        return pair<T>::subtract(a, b);           \
    }                                             \
    WORD dtype##_multiply(uint32_t a, uint32_t b) \
    {                                             \
        return pair<T>::multiply(a, b);           \
    }                                             \
    WORD dtype##_negative(uint32_t a)             \
    {                                             \
        return pair<T>::negative(a);              \
    }                                             \
    WORD dtype##_abs(uint32_t a)                  \
    {                                             \
        return pair<T>::abs(a);                   \
    }
PAIR_BOTH(f16, __half)
PAIR_BOTH(bf16, __nv_bfloat16)

#define ND_EXPAND_UNARY ND_EXPAND_BY(PAIR_UNARY)
#define ND_EXPAND_BINARY ND_EXPAND_BY(PAIR_BINARY)
#define ND_EXPAND_TERNARY ND_EXPAND_BY(PAIR_TERNARY)

#define CUDA_DTYPE F16
namespace d_F16
{
#include "math/scalar.cuh"
} // namespace d_F16
#include "program/undef.cuh"
#define PAIR_NAME(op) f16_##op
#define PAIR_FORMULA(op) d_F16::cuda_##op
#define PAIR_TYPE pair<__half>
#define ND_EXPAND_KIND 8
#include <ndock/op_expand.h>
#undef PAIR_NAME
#undef PAIR_FORMULA
#undef PAIR_TYPE

#define CUDA_DTYPE BF16
namespace d_BF16
{
#include "math/scalar.cuh"
} // namespace d_BF16
#include "program/undef.cuh"
#define PAIR_NAME(op) bf16_##op
#define PAIR_FORMULA(op) d_BF16::cuda_##op
#define PAIR_TYPE pair<__nv_bfloat16>
#define ND_EXPAND_KIND 8
#include <ndock/op_expand.h>

/* ---- steps of reductions: an item of 16 bytes added, states merged, the value of a state ---- */
template <class OP, class T>
static __device__ __forceinline__ typename OP::state add_item(typename OP::state s, uint32_t a,
                                                              uint32_t b, uint32_t c, uint32_t d)
{
    enum { V = 16 / sizeof(T) };
    const uint32_t word[4] = {a, b, c, d};
    const reduce_params p = {};
    typename OP::element x[16 / sizeof(typename OP::element)];
    memcpy(x, word, sizeof word);
    OP::template add<V, V>(s, x, 0, 0, p);
    return s;
}
#define EXTREME(dtype, T, op, LEAST)                                                    \
    typedef ROWS_EXTREME_OF(T, dtype, op, LEAST) dtype##_##op##_rows;                   \
    WORD dtype##_##op##_add(uint32_t s, uint32_t a, uint32_t b, uint32_t c, uint32_t d) \
    {                                                                                   \
        return add_item<dtype##_##op##_rows, T>(s, a, b, c, d);                         \
    }                                                                                   \
    WORD dtype##_##op##_merge(uint32_t a, uint32_t b)                                   \
    {                                                                                   \
        const reduce_params p = {};                                                     \
        return dtype##_##op##_rows::merge(a, b, p);                                     \
    }                                                                                   \
    WORD dtype##_##op##_value(uint32_t s, uint32_t nan_above, uint32_t nan_bits)        \
    {                                                                                   \
        reduce_params p = {};                                                           \
        p.nan_above = nan_above;                                                        \
        p.nan_bits = nan_bits;                                                          \
        return to_word(rows_value<dtype##_##op##_rows, T>(s, p));                       \
    }
#define REDUCTIONS(dtype, T, LEAST_MAX, LEAST_MIN)                                             \
    extern "C" __device__ double dtype##_sum_add(double s, uint32_t a, uint32_t b, uint32_t c, \
                                                 uint32_t d)                                   \
    {                                                                                          \
        return add_item<rows_sum<T>, T>(s, a, b, c, d);                                        \
    }                                                                                          \
    extern "C" __device__ double dtype##_sum_merge(double a, double b)                         \
    {                                                                                          \
        const reduce_params p = {};                                                            \
        return rows_sum<T>::merge(a, b, p);                                                    \
    }                                                                                          \
    WORD dtype##_sum_value(double s, int64_t count, double inverse)                            \
    {                                                                                          \
        reduce_params p = {};                                                                  \
        p.count = count;                                                                       \
        p.inverse = inverse;                                                                   \
        return to_word(rows_value<rows_sum<T>, T>(s, p));                                      \
    }                                                                                          \
    EXTREME(dtype, T, max, LEAST_MAX)                                                          \
    EXTREME(dtype, T, min, LEAST_MIN)                                                          \
    /* What divides a row's elements, by its parts, and their quotients. */                    \
    WORD dtype##_divisor_y(uint32_t x)                                                         \
    {                                                                                          \
        return to_word(rows_divisor_of(of_word<T>(x)).y);                                      \
    }                                                                                          \
    WORD dtype##_divisor_b(uint32_t x)                                                         \
    {                                                                                          \
        return to_word(rows_divisor_of(of_word<T>(x)).b);                                      \
    }                                                                                          \
    WORD dtype##_divisor_zero(uint32_t x)                                                      \
    {                                                                                          \
        return (uint32_t)rows_divisor_of(of_word<T>(x)).zero;                                  \
    }                                                                                          \
    WORD dtype##_quick(uint32_t w, uint32_t b, uint32_t y)                                     \
    {                                                                                          \
        return quick_of(T(), w, {__uint_as_float(b), __uint_as_float(y), 0, 0});               \
    }                                                                                          \
    extern "C" __device__ double dtype##_divisor_inverse(uint32_t x)                           \
    {                                                                                          \
        return inverse_of(cuda_widen(of_word<T>(x)));                                          \
    }                                                                                          \
    WORD dtype##_exact(uint32_t w, uint32_t b, double inverse)                                 \
    {                                                                                          \
        return exact_of(T(), w, __uint_as_float(b), inverse);                                  \
    }
/* What an element is to be, for the few steps to serve it; of bf16 that is asked of the divisor alone. */
#define QUOTIENTS_FIT(dtype, T)                                                \
    WORD dtype##_divisor_least(uint32_t x)                                     \
    {                                                                          \
        return to_word(rows_divisor_of(of_word<T>(x)).least);                  \
    }                                                                          \
    WORD dtype##_fits(uint32_t w, uint32_t least, uint32_t zero)               \
    {                                                                          \
        return fits_of(T(), w, {1, 1, __uint_as_float(least), (int32_t)zero}); \
    }
/* Which elements of a word the few steps of rows.cuh serve, and their quotients by these. */
template <class T>
static __device__ __forceinline__ uint32_t quick_of(T, uint32_t w, const rows_divisor &d)
{
    float hi, lo;
    rows_quotient_fits<T>(pair<T>::hi(w), d, &hi);
    rows_quotient_fits<T>(pair<T>::lo(w), d, &lo);
    return pair<T>::of(hi, lo);
}
static __device__ __forceinline__ uint32_t quick_of(float, uint32_t w, const rows_divisor &d)
{
    float r;
    rows_quotient_fits<float>(__uint_as_float(w), d, &r);
    return to_word(r);
}
template <class T>
static __device__ __forceinline__ uint32_t fits_of(T, uint32_t w, const rows_divisor &d)
{
    float r;
    return rows_quotient_fits<T>(pair<T>::hi(w), d, &r) &
           rows_quotient_fits<T>(pair<T>::lo(w), d, &r);
}
static __device__ __forceinline__ uint32_t fits_of(float, uint32_t w, const rows_divisor &d)
{
    float r;
    return rows_quotient_fits<float>(__uint_as_float(w), d, &r);
}
/* Quotients of any floats, in double, without branches and calls, for which an assembler takes long.
 * Of halves the product is rounded to the float that the quotient is rounded to, or to the same half:
 * that of numbers of 11 bits is more than 2^-37 of it away from what lies between two floats. Of
 * floats what a quotient in double lacks is exact, so the next step has it to 2^-53 of it and, where it
 * is of few bits, exactly; a quotient of floats is no nearer than 2^-49 of it to what lies between two
 * floats, or is that. Where there is nothing to correct, of 0, infinity and NaN, the product is the
 * quotient. A double that is not a number does not become the one NaN that arithmetic of f32 makes,
 * which a quotient of floats is: it is put in its place; conversions to halves do that themselves. */
static __device__ __forceinline__ double inverse_of(float b)
{
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"((double)b));
    const double rest = __fma_rn(-(double)b, y, 1.0), once = __fma_rn(rest, y, y);
    const double twice = __fma_rn(__fma_rn(-(double)b, once, 1.0), once, once);
    return rest == rest ? twice : y;
}
static __device__ __forceinline__ uint32_t the_nan(uint32_t f32)
{
    return (f32 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : f32;
}
template <class T>
static __device__ __forceinline__ uint32_t exact_of(T, uint32_t w, double, double y)
{
    return pair<T>::of((float)((double)pair<T>::hi(w) * y), (float)((double)pair<T>::lo(w) * y));
}
static __device__ __forceinline__ uint32_t exact_of(float, uint32_t w, double b, double y)
{
    const double a = (double)__uint_as_float(w), q = a * y, rest = __fma_rn(-b, q, a);
    return the_nan(to_word((float)(fabs(rest) > 0 ? __fma_rn(rest, y, q) : q)));
}
REDUCTIONS(f32, float, 0xff800000u, 0x7f800000u)
REDUCTIONS(f16, __half, 0xfc00fc00u, 0x7c007c00u)
REDUCTIONS(bf16, __nv_bfloat16, 0xff80ff80u, 0x7f807f80u)
QUOTIENTS_FIT(f32, float)
QUOTIENTS_FIT(f16, __half)

/* ---- one value for each row: of halves both of a word are that ---- */
/* The square root in double, which has none that is no call: two steps have it to 2^-52 of it, and that
 * of a float is no nearer than 2^-51 of it to what lies between two floats. Of 0, infinity and NaN the
 * steps make NaN, where the root is the number itself. */
template <class T> static __device__ __forceinline__ float row_root(T of)
{
    const double x = (double)cuda_widen(of);
    double y = cm_rsqrt_rough(x);
    y = __fma_rn(0.5 * y, __fma_rn(-x * y, y, 1.0), y);
    const double q = x * y, root = __fma_rn(__fma_rn(-q, q, x), 0.5 * y, q);
    return (float)(root == root || x < 0 ? root : x);
}
static __device__ __forceinline__ uint32_t row_word(float, float r)
{
    return the_nan(to_word(r));
}
template <class T> static __device__ __forceinline__ uint32_t row_word(T, float r)
{
    return to_word(cuda_narrow<T>(r));
}
#define ROW_VALUES(dtype, T)                           \
    WORD dtype##_row_sqrt(uint32_t w)                  \
    {                                                  \
        return row_word(T(), row_root(of_word<T>(w))); \
    }
ROW_VALUES(f32, float)
ROW_VALUES(f16, __half)
ROW_VALUES(bf16, __nv_bfloat16)
