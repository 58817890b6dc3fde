/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The formulas of scalar_complex_tmpl.h for the complex dtype of scalar.cuh, which includes this.
 * Functions of the parts are called, not inlined: a complex function uses several of each, and
 * inlining them all would make kernels of tens of thousands of instructions. */
#define ND_R cuda_part
#if CUDA_BITS == 32
typedef float cuda_part;
#include "math/f32.cuh"
#define CUDA_PART(fn) cuda_f32_##fn
#define ND_R_MANT_DIG 24
#define ND_R_MAX 3.40282347e+38f
#define ND_R_MIN 1.17549435e-38f
#define ND_R_EPSILON 1.1920929e-07f
#define ND_INFINITY cm_infinity(0.0f)
#define ND_NAN_VALUE cm_nan(0.0f)
#else
typedef double cuda_part;
#include "math/f64.cuh"
#define CUDA_PART(fn) cuda_f64_##fn
#define ND_R_MANT_DIG 53
#define ND_R_MAX 1.7976931348623157e+308
#define ND_R_MIN 2.2250738585072014e-308
#define ND_R_EPSILON 2.2204460492503131e-16
#define ND_INFINITY cm_infinity(0.0)
#define ND_NAN_VALUE cm_nan(0.0)
#endif

#define CUDA_CALLED(fn)                                                  \
    static __device__ __noinline__ cuda_part cuda_part_##fn(cuda_part x) \
    {                                                                    \
        return CUDA_PART(fn)(x);                                         \
    }
#define CUDA_CALLED_2(fn)                                                             \
    static __device__ __noinline__ cuda_part cuda_part_##fn(cuda_part x, cuda_part y) \
    {                                                                                 \
        return CUDA_PART(fn)(x, y);                                                   \
    }
#define CUDA_INLINE(fn)                         \
    ND_FN cuda_part cuda_part_##fn(cuda_part x) \
    {                                           \
        return CUDA_PART(fn)(x);                \
    }
CUDA_CALLED(atan)
CUDA_CALLED(asin)
CUDA_CALLED(acos)
CUDA_CALLED(cos)
CUDA_CALLED(sin)
CUDA_CALLED(exp)
CUDA_CALLED(expm1)
CUDA_CALLED(log)
CUDA_CALLED(log10)
CUDA_CALLED(log1p)
CUDA_CALLED(log2)
CUDA_CALLED_2(atan2)
CUDA_INLINE(fabs)
CUDA_INLINE(rint)
CUDA_INLINE(sqrt)
#undef CUDA_CALLED
#undef CUDA_CALLED_2
#undef CUDA_INLINE
ND_FN cuda_part cuda_part_hypot(cuda_part x, cuda_part y)
{
    return CUDA_PART(hypot)(x, y);
}
ND_FN cuda_part cuda_part_copysign(cuda_part x, cuda_part y)
{
    return CUDA_PART(copysign)(x, y);
}
ND_FN cuda_part cuda_part_fma(cuda_part a, cuda_part b, cuda_part c)
{
    return CUDA_PART(fma)(a, b, c);
}
ND_FN cuda_part cuda_part_ldexp(cuda_part x, int n)
{
    return CUDA_PART(ldexp)(x, n);
}
ND_FN int cuda_part_ilogb(cuda_part x)
{
    return CUDA_PART(ilogb)(x);
}
#define ND_M(fn) cuda_part_##fn
#include <ndock/scalar_complex_tmpl.h>
#include <ndock/scalar_complex_log_tmpl.h>
