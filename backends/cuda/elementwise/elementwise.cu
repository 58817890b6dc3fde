/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise kernels of one dtype, CUDA_DTYPE: add_vectors and add_elements for the row add of
 * op.def, and so on for every row that is legal for it. */
#include "elementwise/dense.cuh"
#include "elementwise/elements.cuh"

typedef cuda_dtype<CUDA_DTYPE_ID>::real cuda_real_stored;

/* How many copies of a formula are made for a vector. */
static constexpr int copies_of(bool is_heavy)
{
    return is_heavy && CUDA_KIND != CUDA_KIND_FLOAT ? 1 : EW_N;
}
/* Blocks that a multiprocessor has room for. */
static constexpr int most_blocks(void)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 750
    const int threads = 2048;
#elif __CUDA_ARCH__ < 800
    const int threads = 1024;
#elif __CUDA_ARCH__ / 10 == 86 || __CUDA_ARCH__ / 10 == 87 || __CUDA_ARCH__ / 10 == 89 || \
    __CUDA_ARCH__ >= 1200
    const int threads = 1536;
#else
    const int threads = 2048;
#endif
    return threads / EW_THREADS;
}
/* Those that registers must suffice for where a thread takes many vectors: all of them, or of two inputs
 * three quarters. */
static constexpr int blocks_of(int many, int inputs)
{
    return many == 1 ? 0 : most_blocks() * (inputs == 1 ? 4 : 3) / 4;
}
/* The same of rows, which wait for memory alone: all, if vectors are of few elements. */
static constexpr int row_blocks_of(bool heavy)
{
    return heavy || EW_N > 4 ? 0 : most_blocks();
}

/* ---- five kernels for each row of the op table ---- */
#define EW_KERNELS(op)                                                        \
    extern "C" __global__ void __launch_bounds__(EW_THREADS, op_##op::blocks) \
        op##_vectors(const __grid_constant__ ew_params p)                     \
    {                                                                         \
        vectors<op_##op>(p);                                                  \
    }                                                                         \
    extern "C" __global__ void __launch_bounds__(EW_THREADS, op_##op::rows)   \
        op##_rows(const __grid_constant__ ew_params p)                        \
    {                                                                         \
        rows<op_##op>(p);                                                     \
    }                                                                         \
    extern "C" __global__ void __launch_bounds__(EW_THREADS)                  \
        op##_small(const __grid_constant__ ew_small p)                        \
    {                                                                         \
        if constexpr (!op_##op::heavy)                                        \
            small<op_##op>(p);                                                \
    }                                                                         \
    extern "C" __global__ void __launch_bounds__(EW_ELEMENT_THREADS)          \
        op##_elements(const __grid_constant__ ew_params p)                    \
    {                                                                         \
        elements<op_##op>(p);                                                 \
    }                                                                         \
    extern "C" __global__ void __launch_bounds__(EW_ELEMENT_THREADS)          \
        op##_tiles(const __grid_constant__ ew_params p)                       \
    {                                                                         \
        tiles<op_##op>(p);                                                    \
    }
#define EW_OP(op, IN1, OUT, N, expression)                                     \
    struct op_##op {                                                           \
        typedef IN1 in1;                                                       \
        typedef cuda_stored in2, in3;                                          \
        typedef OUT out;                                                       \
        enum { inputs = N };                                                   \
        static constexpr bool heavy = ew_is_heavy(NDP_OP_##op, CUDA_DTYPE_ID); \
        static constexpr int many = ew_many(NDP_OP_##op, CUDA_DTYPE_ID, N);    \
        static constexpr bool chooses = NDP_OP_##op == NDP_OP_where;           \
        static constexpr int blocks = blocks_of(many, N);                      \
        static constexpr int rows = row_blocks_of(heavy);                      \
        typedef cuda_operand<cuda_on_stored(NDP_OP_##op)> operand;             \
        static constexpr int copies = copies_of(heavy);                        \
        static __device__ __forceinline__ OUT f(in1 a, in2 b, in3 c)           \
        {                                                                      \
            return cuda_narrow<OUT>(expression);                               \
        }                                                                      \
    };                                                                         \
    EW_KERNELS(op)
#define EW_A operand::of(a)
#define EW_B operand::of(b)
#define EW_C operand::of(c)
#define EW_OUT_SAME cuda_stored
#define EW_OUT_BOOL uint8_t
#define EW_OUT_REAL cuda_real_stored
#define EW_UNARY(op, DOMAIN, RESULT, ulp, doc) \
    EW_OP(op, cuda_stored, EW_OUT_##RESULT, 1, cuda_##op(EW_A))
#define EW_BINARY(op, DOMAIN, RESULT, ulp, doc) \
    EW_OP(op, cuda_stored, EW_OUT_##RESULT, 2, cuda_##op(EW_A, EW_B))
#define EW_TERNARY(op, DOMAIN, RESULT, ulp, doc)                                      \
    EW_OP(op, ND_EXPAND_IF(EW_MASKED_##op, uint8_t, cuda_stored), EW_OUT_##RESULT, 3, \
          cuda_##op(ND_EXPAND_IF(EW_MASKED_##op, a, EW_A), EW_B, EW_C))
#define EW_MASKED_where ND_EXPAND_YES /* the one with a bool operand */

/* A row expands when its class is elementwise and its domain has the kind of CUDA_DTYPE. */
#define ND_EXPAND_UNARY ND_EXPAND_BY(EW_UNARY)
#define ND_EXPAND_BINARY ND_EXPAND_BY(EW_BINARY)
#define ND_EXPAND_TERNARY ND_EXPAND_BY(EW_TERNARY)
#define ND_EXPAND_KIND CUDA_KIND
#include <ndock/op_expand.h>
