/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise kernels of one dtype, CUDA_DTYPE: add_dense and add_strided for the row add of
 * op.def, and so on for every row that is legal for it. */
#include "elementwise.h"
#include "index.cuh"
#include "scalar.cuh"

typedef cuda_dtype<CUDA_DTYPE_ID>::real cuda_real_stored;
enum { EW_VECTORS = 4, EW_THREADS = 256 };

template <class T> static __device__ __forceinline__ T scalar_of(const ew_input &in)
{
    return *(const T *)in.scalar;
}

/* N consecutive elements from the i-th on; of a scalar, N copies. */
template <class T, int N>
static __device__ __forceinline__ cuda_vector<T, N> load(const ew_input &in, uint64_t i)
{
    if (in.at)
        return *(const cuda_vector<T, N> *)((const T *)in.at + i);
    cuda_vector<T, N> v;
    for (int k = 0; k < N; k++)
        v.at[k] = scalar_of<T>(in);
    return v;
}

/* OP::in1, in2, in3 are the stored types of its inputs, OP::out that of its result, OP::inputs how
 * many there are; OP::f computes one element. */
template <class OP, int N>
static __device__ __forceinline__ void dense_span(const ew_dense &p, uint64_t i)
{
    cuda_vector<typename OP::in1, N> a = load<typename OP::in1, N>(p.in[0], i);
    cuda_vector<typename OP::in2, N> b;
    cuda_vector<typename OP::in3, N> c;
    cuda_vector<typename OP::out, N> r;
    if (OP::inputs > 1)
        b = load<typename OP::in2, N>(p.in[1], i);
    if (OP::inputs > 2)
        c = load<typename OP::in3, N>(p.in[2], i);
    for (int k = 0; k < N; k++)
        r.at[k] = OP::f(a.at[k], b.at[k], c.at[k]);
    *(cuda_vector<typename OP::out, N> *)((typename OP::out *)p.out + i) = r;
}

template <class OP> static __device__ __forceinline__ void dense(const ew_dense &p)
{
    const int N = 16 / sizeof(cuda_stored);
    uint64_t step = (uint64_t)gridDim.x * blockDim.x, vectors = p.n / N;
    uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (uint64_t v = t; v < vectors; v += step)
        dense_span<OP, N>(p, v * N);
    for (uint64_t i = vectors * N + t; i < p.n; i += step)
        dense_span<OP, 1>(p, i);
}

template <class T>
static __device__ __forceinline__ T load_strided(const ew_input &in, int64_t offset)
{
    return in.at ? ((const T *)in.at)[offset] : scalar_of<T>(in);
}

template <class OP> static __device__ __forceinline__ void strided(const ew_strided &p)
{
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < p.n; i += gridDim.x * blockDim.x) {
        int64_t to = 0, from[EW_INPUTS] = {0, 0, 0};
        uint32_t rest = i;
#pragma unroll
        for (int d = 0; d < EW_MAX_NDIM; d++) {
            if (d == p.ndim)
                break;
            uint32_t above = cuda_quotient(rest, p.extent[d]), x = rest - above * p.extent[d].value;
            rest = above;
            to += x * p.out_stride[d];
            for (int k = 0; k < OP::inputs; k++)
                from[k] += x * p.in_stride[k][d];
        }
        typename OP::in1 a = load_strided<typename OP::in1>(p.in[0], from[0]);
        typename OP::in2 b = {};
        typename OP::in3 c = {};
        if (OP::inputs > 1)
            b = load_strided<typename OP::in2>(p.in[1], from[1]);
        if (OP::inputs > 2)
            c = load_strided<typename OP::in3>(p.in[2], from[2]);
        ((typename OP::out *)p.out)[to] = OP::f(a, b, c);
    }
}

/* ---- one pair of kernels for each row of the op table ---- */
#define EW_KERNELS(op)                                       \
    extern "C" __global__ void __launch_bounds__(EW_THREADS) \
        op##_dense(const __grid_constant__ ew_dense p)       \
    {                                                        \
        dense<op_##op>(p);                                   \
    }                                                        \
    extern "C" __global__ void __launch_bounds__(EW_THREADS) \
        op##_strided(const __grid_constant__ ew_strided p)   \
    {                                                        \
        strided<op_##op>(p);                                 \
    }
#define EW_OP(op, IN1, OUT, N, expression)                           \
    struct op_##op {                                                 \
        typedef IN1 in1;                                             \
        typedef cuda_stored in2, in3;                                \
        typedef OUT out;                                             \
        enum { inputs = N };                                         \
        static __device__ __forceinline__ OUT f(in1 a, in2 b, in3 c) \
        {                                                            \
            return cuda_narrow<OUT>(expression);                     \
        }                                                            \
    };                                                               \
    EW_KERNELS(op)
#define EW_A cuda_widen(a)
#define EW_B cuda_widen(b)
#define EW_C cuda_widen(c)
#define EW_OUT_SAME cuda_stored
#define EW_OUT_BOOL uint8_t
#define EW_OUT_REAL cuda_real_stored
#define EW_UNARY(op, OUT) EW_OP(op, cuda_stored, OUT, 1, cuda_##op(EW_A))
#define EW_BINARY(op, OUT) EW_OP(op, cuda_stored, OUT, 2, cuda_##op(EW_A, EW_B))
#define EW_TERNARY_where(OUT) EW_OP(where, uint8_t, OUT, 3, cuda_where(a, EW_B, EW_C))
#define EW_TERNARY_clip(OUT) EW_OP(clip, cuda_stored, OUT, 3, cuda_clip(EW_A, EW_B, EW_C))
#define EW_TERNARY_fma(OUT) EW_OP(fma, cuda_stored, OUT, 3, cuda_fma(EW_A, EW_B, EW_C))
#define EW_TERNARY(op, OUT) EW_TERNARY_##op(OUT)

/* A row expands when its class is elementwise and its domain has the kind of CUDA_DTYPE. */
#if CUDA_KIND == CUDA_KIND_BOOL
#define EW_DOMAIN(B, I, U, F, C) B
#elif CUDA_KIND == CUDA_KIND_INT
#define EW_DOMAIN(B, I, U, F, C) I
#elif CUDA_KIND == CUDA_KIND_UINT
#define EW_DOMAIN(B, I, U, F, C) U
#elif CUDA_KIND == CUDA_KIND_FLOAT
#define EW_DOMAIN(B, I, U, F, C) F
#else
#define EW_DOMAIN(B, I, U, F, C) C
#endif
#define EW_IN_F EW_DOMAIN(0, 0, 0, 1, 0)
#define EW_IN_FC EW_DOMAIN(0, 0, 0, 1, 1)
#define EW_IN_IU EW_DOMAIN(0, 1, 1, 0, 0)
#define EW_IN_BIU EW_DOMAIN(1, 1, 1, 0, 0)
#define EW_IN_IUF EW_DOMAIN(0, 1, 1, 1, 0)
#define EW_IN_BIUF EW_DOMAIN(1, 1, 1, 1, 0)
#define EW_IN_IUFC EW_DOMAIN(0, 1, 1, 1, 1)
#define EW_IN_BIUFC EW_DOMAIN(1, 1, 1, 1, 1)
#define EW_IF_0(row, op, OUT)
#define EW_IF_1(row, op, OUT) row(op, OUT)
#define EW_IF_(legal, row, op, OUT) EW_IF_##legal(row, op, OUT)
#define EW_IF(legal, row, op, OUT) EW_IF_(legal, row, op, OUT)
#define EW_ROW_UNARY(op, DOMAIN, RESULT) EW_IF(EW_IN_##DOMAIN, EW_UNARY, op, EW_OUT_##RESULT)
#define EW_ROW_BINARY(op, DOMAIN, RESULT) EW_IF(EW_IN_##DOMAIN, EW_BINARY, op, EW_OUT_##RESULT)
#define EW_ROW_TERNARY(op, DOMAIN, RESULT) EW_IF(EW_IN_##DOMAIN, EW_TERNARY, op, EW_OUT_##RESULT)
#define EW_ROW_FILL(op, DOMAIN, RESULT)
#define EW_ROW_COPY(op, DOMAIN, RESULT)
#define EW_ROW_IOTA(op, DOMAIN, RESULT)
#define EW_ROW_REDUCE(op, DOMAIN, RESULT)
#define EW_ROW_ARGREDUCE(op, DOMAIN, RESULT)
#define EW_ROW_SCAN(op, DOMAIN, RESULT)
#define EW_ROW_NORM(op, DOMAIN, RESULT)
#define EW_ROW_MATMUL(op, DOMAIN, RESULT)
#define EW_ROW_TAKE(op, DOMAIN, RESULT)
#define EW_ROW_GATHER(op, DOMAIN, RESULT)
#define EW_ROW_SCATTER(op, DOMAIN, RESULT)
#define EW_ROW_COMPRESS(op, DOMAIN, RESULT)
#define EW_ROW_NONZERO(op, DOMAIN, RESULT)
#define EW_ROW_SORT(op, DOMAIN, RESULT)
#define EW_ROW_SEARCH(op, DOMAIN, RESULT)
#define EW_ROW_RANDOM(op, DOMAIN, RESULT)
#define ND_OP(op, CLASS, DOMAIN, RESULT, ulp, doc) EW_ROW_##CLASS(op, DOMAIN, RESULT)
#include <ndock/op.def>
