/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The formulas of the op table for one dtype, CUDA_DTYPE: cuda_add(a, b) and so on, over the type
 * that is computed in. */
#ifndef NDOCK_CUDA_SCALAR_CUH
#define NDOCK_CUDA_SCALAR_CUH
#include <float.h>
#include "types.cuh"

#define CUDA_CAT_(a, b) a##b
#define CUDA_CAT(a, b) CUDA_CAT_(a, b)
#define CUDA_DTYPE_ID CUDA_CAT(NDP_, CUDA_DTYPE)

/* What the preprocessor has to know of a dtype: kind and bits. */
#define CUDA_KIND_BOOL 1
#define CUDA_KIND_INT 2
#define CUDA_KIND_UINT 3
#define CUDA_KIND_FLOAT 4
#define CUDA_KIND_COMPLEX 5
#define CUDA_KIND_OF_BOOL CUDA_KIND_BOOL
#define CUDA_KIND_OF_I8 CUDA_KIND_INT
#define CUDA_KIND_OF_I16 CUDA_KIND_INT
#define CUDA_KIND_OF_I32 CUDA_KIND_INT
#define CUDA_KIND_OF_I64 CUDA_KIND_INT
#define CUDA_KIND_OF_U8 CUDA_KIND_UINT
#define CUDA_KIND_OF_U16 CUDA_KIND_UINT
#define CUDA_KIND_OF_U32 CUDA_KIND_UINT
#define CUDA_KIND_OF_U64 CUDA_KIND_UINT
#define CUDA_KIND_OF_F16 CUDA_KIND_FLOAT
#define CUDA_KIND_OF_BF16 CUDA_KIND_FLOAT
#define CUDA_KIND_OF_F32 CUDA_KIND_FLOAT
#define CUDA_KIND_OF_F64 CUDA_KIND_FLOAT
#define CUDA_KIND_OF_C64 CUDA_KIND_COMPLEX
#define CUDA_KIND_OF_C128 CUDA_KIND_COMPLEX
#define CUDA_KIND CUDA_CAT(CUDA_KIND_OF_, CUDA_DTYPE)
#define CUDA_BITS_OF_BOOL 8
#define CUDA_BITS_OF_I8 8
#define CUDA_BITS_OF_I16 16
#define CUDA_BITS_OF_I32 32
#define CUDA_BITS_OF_I64 64
#define CUDA_BITS_OF_U8 8
#define CUDA_BITS_OF_U16 16
#define CUDA_BITS_OF_U32 32
#define CUDA_BITS_OF_U64 64
#define CUDA_BITS_OF_F16 32
#define CUDA_BITS_OF_BF16 32
#define CUDA_BITS_OF_F32 32
#define CUDA_BITS_OF_F64 64
#define CUDA_BITS_OF_C64 32
#define CUDA_BITS_OF_C128 64
#define CUDA_BITS CUDA_CAT(CUDA_BITS_OF_, CUDA_DTYPE) /* of the compute type, or of its parts */

typedef cuda_dtype<CUDA_DTYPE_ID>::stored cuda_stored;
typedef cuda_dtype<CUDA_DTYPE_ID>::computed cuda_computed;

#define ND_FN static __device__ __forceinline__
#define ND_NAME(op) cuda_##op
#define ND_BOOL_T uint8_t
#define ND_T cuda_computed
#define ND_IS_BOOL (CUDA_KIND == CUDA_KIND_BOOL)
#define ND_IS_INT (CUDA_KIND == CUDA_KIND_INT)
#define ND_IS_UINT (CUDA_KIND == CUDA_KIND_UINT)
#define ND_IS_FLOAT (CUDA_KIND == CUDA_KIND_FLOAT)

#if CUDA_KIND == CUDA_KIND_FLOAT || CUDA_KIND == CUDA_KIND_COMPLEX
#include "math.cuh"
#if CUDA_BITS == 64
#define ND_M(fn) cuda_f64_##fn
#define ND_W double
#define ND_MW(fn) cuda_f64_##fn
#define ND_W_WIDER 0
#define ND_X double
#define ND_MX(fn) cuda_f64_##fn
#define ND_X_WIDER 0
#define ND_MANT_DIG 53
#else
#define ND_M(fn) cuda_f32_##fn
#define ND_W double
#define ND_MW(fn) cuda_f64_##fn
#define ND_W_WIDER 1
#define ND_X double
#define ND_MX(fn) cuda_f64_##fn
#define ND_X_WIDER 1
#define ND_MANT_DIG 24
#endif
#endif

#if CUDA_KIND == CUDA_KIND_COMPLEX
#if CUDA_BITS == 64
#define ND_R double
#define ND_R_MANT_DIG 53
#define ND_R_MAX DBL_MAX
#define ND_R_MIN DBL_MIN
#define ND_R_EPSILON DBL_EPSILON
#define ND_INFINITY __longlong_as_double(0x7ff0000000000000ll)
#define ND_NAN_VALUE __longlong_as_double(0x7ff8000000000000ll)
#else
#define ND_R float
#define ND_R_MANT_DIG 24
#define ND_R_MAX FLT_MAX
#define ND_R_MIN FLT_MIN
#define ND_R_EPSILON FLT_EPSILON
#define ND_INFINITY __int_as_float(0x7f800000)
#define ND_NAN_VALUE __int_as_float(0x7fc00000)
#endif
#include <ndock/scalar_complex_tmpl.h>
#include <ndock/scalar_complex_log_tmpl.h>
#else
#if CUDA_KIND == CUDA_KIND_INT || CUDA_KIND == CUDA_KIND_UINT
#define ND_BITS CUDA_BITS
#if CUDA_BITS == 64
#define ND_U uint64_t
#else
#define ND_U uint32_t
#endif
#elif CUDA_KIND == CUDA_KIND_FLOAT
#define ND_NEXTAFTER(a, b) cuda_nextafter_stored<cuda_stored>((a), (b))
#define ND_FMA(a, b, c) cuda_fma_stored<cuda_stored>((a), (b), (c))
#endif
#include <ndock/scalar_tmpl.h>
#endif

#endif
