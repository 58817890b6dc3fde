/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The formulas of the op table for one dtype, CUDA_DTYPE: cuda_add(a, b) and so on, over the type
 * that is computed in. */
#ifndef NDOCK_CUDA_SCALAR_CUH
#define NDOCK_CUDA_SCALAR_CUH
#include "math/types.cuh"

#define CUDA_CAT_(a, b) a##b
#define CUDA_CAT(a, b) CUDA_CAT_(a, b)
#define CUDA_DTYPE_ID CUDA_CAT(NDP_, CUDA_DTYPE)

/* What the preprocessor has to know of a dtype: its kind, by its bit in opdomain.def, and bits. */
#define CUDA_KIND_BOOL 1
#define CUDA_KIND_INT 2
#define CUDA_KIND_UINT 4
#define CUDA_KIND_FLOAT 8
#define CUDA_KIND_COMPLEX 16
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
#define ND_FN_LONG static __device__ __noinline__ /* the same for all kernels of the op */
#define ND_FN_APART ND_FN_LONG
#define ND_NAME(op) cuda_##op
#define ND_BOOL_T uint8_t
#define ND_T cuda_computed
#define ND_IS_BOOL (CUDA_KIND == CUDA_KIND_BOOL)
#define ND_IS_INT (CUDA_KIND == CUDA_KIND_INT)
#define ND_IS_UINT (CUDA_KIND == CUDA_KIND_UINT)
#define ND_IS_FLOAT (CUDA_KIND == CUDA_KIND_FLOAT)

/* 1 for f16, 2 for bf16, else 0. */
#define CUDA_HALF_F16 1
#define CUDA_HALF_BF16 2
#define CUDA_HALF CUDA_CAT(CUDA_HALF_, CUDA_DTYPE)

/* Whether a function of the op takes and gives what is stored. So do those of f16 and bf16 that
 * move, or change only, bits: widening and narrowing would lose the sign and payload of NaN. */
static constexpr bool cuda_on_stored(int op)
{
    switch (CUDA_DTYPE_ID == NDP_F16 || CUDA_DTYPE_ID == NDP_BF16 ? op : -1) {
    case NDP_OP_copysign:
    case NDP_OP_positive:
    case NDP_OP_real:
    case NDP_OP_conj:
    case NDP_OP_negative:
    case NDP_OP_abs:
    case NDP_OP_signbit:
    case NDP_OP_where:
        return true;
    default:
        return false;
    }
}
template <bool STORED> struct cuda_operand {
    template <class T> static __device__ __forceinline__ T of(T x) { return x; }
};
/* Any byte but 0 of a bool is true. */
template <> struct cuda_operand<false> {
#if CUDA_KIND == CUDA_KIND_BOOL
    static __device__ __forceinline__ uint8_t of(uint8_t x)
    {
        return x != 0;
    }
#else
    template <class T> static __device__ __forceinline__ auto of(T x) -> decltype(cuda_widen(x))
    {
        return cuda_widen(x);
    }
#endif
};

#if CUDA_KIND == CUDA_KIND_COMPLEX
#include "math/scalar_complex.cuh"
#elif CUDA_KIND == CUDA_KIND_FLOAT
#include "math/scalar_float.cuh"
#else
#define ND_BITS CUDA_BITS
#if CUDA_BITS == 64
#define ND_U uint64_t
#else
#define ND_U uint32_t
#endif
#include <ndock/scalar_tmpl.h>
#endif

#endif
