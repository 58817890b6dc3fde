/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The formulas of scalar_tmpl.h for the floating dtype of scalar.cuh, which includes this.
 * Composite functions that the template computes in a wider type are taken from the files of math/
 * instead: double is slow on consumer cards. */
#if CUDA_BITS == 64
#include "math/f64.cuh"
#define ND_M(fn) cuda_f64_##fn
#define ND_W double
#define ND_W_WIDER 0
#define ND_MW(fn) cuda_f64_##fn
#define ND_X double
#define ND_X_WIDER 0
#define ND_MX(fn) cuda_f64_##fn
#define ND_MANT_DIG 53
#define ND_NEXTAFTER(a, b) cuda_f64_nextafter(a, b)
#define ND_FMA(a, b, c) cuda_f64_fma(a, b, c)
#define ND_FORMULA_gelu cuda_gelu_formula
#include <ndock/scalar_tmpl.h>
ND_FN double cuda_gelu(double a)
{
    return cm_f64_gelu(a);
}
#else

#include "math/f64.cuh"
#if CUDA_HALF
#include "math/half.cuh"
#define ND_M(fn) cuda_half_##fn
#define ND_FMA(a, b, c) cm_half_fma(a, b, c)
#else
#include "math/f32.cuh"
#define ND_M(fn) cuda_f32_##fn
#define ND_FMA(a, b, c) cuda_f32_fma(a, b, c)
#endif
#if CUDA_HALF == 1
#define ND_NEXTAFTER(a, b) cm_f16_nextafter(a, b)
#elif CUDA_HALF == 2
#define ND_NEXTAFTER(a, b) cm_bf16_nextafter(a, b)
#else
#define ND_NEXTAFTER(a, b) cuda_f32_nextafter(a, b)
#endif
#define ND_W double
#define ND_W_WIDER 1
#define ND_MW(fn) cuda_f64_##fn
#define ND_X double
#define ND_X_WIDER 1
#define ND_MX(fn) cuda_f64_##fn
#define ND_MANT_DIG 24
#define ND_FORMULA_logaddexp cuda_logaddexp_formula
#define ND_FORMULA_elu cuda_elu_formula
#define ND_FORMULA_sigmoid cuda_sigmoid_formula
#define ND_FORMULA_silu cuda_silu_formula
#define ND_FORMULA_gelu cuda_gelu_formula
#define ND_FORMULA_gelu_tanh cuda_gelu_tanh_formula
#include <ndock/scalar_tmpl.h>

/* The template's own, for sums that cancel almost to nothing. */
static __device__ __noinline__ float cuda_logaddexp_slow(float a, float b)
{
    return cuda_logaddexp_formula(a, b);
}
#if CUDA_HALF
ND_FN uint16_t cm_half_bits(cuda_stored x)
{
    uint16_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
ND_FN cuda_stored cm_half_of_bits(int bits)
{
    uint16_t u = (uint16_t)bits;
    cuda_stored x;
    memcpy(&x, &u, sizeof x);
    return x;
}
ND_FN cuda_stored cuda_positive(cuda_stored a)
{
    return a;
}
ND_FN cuda_stored cuda_real(cuda_stored a)
{
    return a;
}
ND_FN cuda_stored cuda_conj(cuda_stored a)
{
    return a;
}
ND_FN cuda_stored cuda_negative(cuda_stored a)
{
    return cm_half_of_bits(cm_half_bits(a) ^ 0x8000);
}
ND_FN cuda_stored cuda_abs(cuda_stored a)
{
    return cm_half_of_bits(cm_half_bits(a) & 0x7fff);
}
ND_FN cuda_stored cuda_copysign(cuda_stored a, cuda_stored b)
{
    return cm_half_of_bits((cm_half_bits(a) & 0x7fff) | (cm_half_bits(b) & 0x8000));
}
ND_FN uint8_t cuda_signbit(cuda_stored a)
{
    return cm_half_bits(a) >> 15;
}
ND_FN cuda_stored cuda_where(uint8_t c, cuda_stored a, cuda_stored b)
{
    return c ? a : b;
}
static __device__ __noinline__ float cuda_logaddexp_f32(float a, float b)
{
    return cm_f32_logaddexp(a, b, cuda_logaddexp_slow);
}
#define CUDA_COMPOSITE(fn) cm_half_##fn
#define CUDA_LOGADDEXP_SLOW cuda_logaddexp_f32
#else
#define CUDA_COMPOSITE(fn) cm_f32_##fn
#define CUDA_LOGADDEXP_SLOW cuda_logaddexp_slow
#endif
ND_FN float cuda_logaddexp(float a, float b)
{
    return CUDA_COMPOSITE(logaddexp)(a, b, CUDA_LOGADDEXP_SLOW);
}
ND_FN float cuda_elu(float a, float b)
{
    return CUDA_COMPOSITE(elu)(a, b);
}
ND_FN float cuda_sigmoid(float a)
{
    return CUDA_COMPOSITE(sigmoid)(a);
}
ND_FN float cuda_silu(float a)
{
    return CUDA_COMPOSITE(silu)(a);
}
ND_FN float cuda_gelu(float a)
{
    return CUDA_COMPOSITE(gelu)(a);
}
ND_FN float cuda_gelu_tanh(float a)
{
    return CUDA_COMPOSITE(gelu_tanh)(a);
}
#endif
