/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Matrix products of any strides, for what cuBLASLt does not take: tiles in shared memory, summed
 * in CUDA_DTYPE (F32 for f16 and bf16 too; U32 and U64 for all integers, which wrap), and the
 * passes before and after the library. */
#include "matmul/matmul.h"
#include "copy/convert_f8.cuh"
#include "math/scalar.cuh"

typedef cuda_computed T;
/* This file's kernels for f32 take f16, bf16 and the 8-bit formats as well. */
#define MM_HALVES_TOO (CUDA_KIND == CUDA_KIND_FLOAT && CUDA_BITS == 32)
enum { MM_EACH = 4, MM_LINE = MM_TILE + 4 };
enum { MM_VECTOR = 16 / sizeof(T) < MM_EACH ? 16 / sizeof(T) : MM_EACH };

template <class S> static __device__ __forceinline__ T load_as(uint64_t at, int64_t offset)
{
    return (T)cuda_widen(((const S *)at)[offset]);
}

static __device__ __forceinline__ T load(const mm_matrix &x, int64_t offset)
{
#if CUDA_KIND == CUDA_KIND_UINT
    switch (x.dtype) { /* signs are extended: sums agree modulo 2^32 or 2^64 */
    case NDP_I8:
        return load_as<int8_t>(x.at, offset);
    case NDP_U8:
        return load_as<uint8_t>(x.at, offset);
    case NDP_I16:
        return load_as<int16_t>(x.at, offset);
    case NDP_U16:
        return load_as<uint16_t>(x.at, offset);
    case NDP_I32:
        return load_as<int32_t>(x.at, offset);
    case NDP_U32:
        return load_as<uint32_t>(x.at, offset);
    default:
        return load_as<uint64_t>(x.at, offset);
    }
#elif MM_HALVES_TOO
    if (x.dtype == NDP_F16)
        return load_as<__half>(x.at, offset);
    if (x.dtype == NDP_BF16)
        return load_as<__nv_bfloat16>(x.at, offset);
    if (x.dtype == NDP_F8_E4M3)
        return load_as<cuda_f8_e4m3>(x.at, offset);
    if (x.dtype == NDP_F8_E5M2)
        return load_as<cuda_f8_e5m2>(x.at, offset);
    return load_as<float>(x.at, offset);
#else
    return ((const T *)x.at)[offset];
#endif
}

static __device__ __forceinline__ void store(const mm_matrix &x, int64_t offset, T value)
{
#if CUDA_KIND == CUDA_KIND_UINT
    if (x.size == 1)
        ((uint8_t *)x.at)[offset] = (uint8_t)value;
    else if (x.size == 2)
        ((uint16_t *)x.at)[offset] = (uint16_t)value;
    else if (x.size == 4)
        ((uint32_t *)x.at)[offset] = (uint32_t)value;
    else
        ((uint64_t *)x.at)[offset] = (uint64_t)value;
#elif MM_HALVES_TOO
    if (x.dtype == NDP_F16)
        ((__half *)x.at)[offset] = cuda_narrow<__half>(value);
    else if (x.dtype == NDP_BF16)
        ((__nv_bfloat16 *)x.at)[offset] = cuda_narrow<__nv_bfloat16>(value);
    else
        ((float *)x.at)[offset] = value;
#else
    ((T *)x.at)[offset] = value;
#endif
}

/* ---- arithmetic ---- */
#if CUDA_KIND == CUDA_KIND_COMPLEX
static __device__ __forceinline__ T multiply_add(T a, T b, T sum)
{
    sum.re = fma(-a.im, b.im, fma(a.re, b.re, sum.re));
    sum.im = fma(a.im, b.re, fma(a.re, b.im, sum.im));
    return sum;
}
static __device__ __forceinline__ T scale_add(double factor, T x, T sum)
{
    ND_R f = (ND_R)factor;
    sum.re += f * x.re;
    sum.im += f * x.im;
    return sum;
}
static __device__ __forceinline__ T plus(T a, T b)
{
    a.re += b.re;
    a.im += b.im;
    return a;
}
#elif CUDA_KIND == CUDA_KIND_FLOAT
static __device__ __forceinline__ T multiply_add(T a, T b, T sum)
{
    return fma(a, b, sum);
}
static __device__ __forceinline__ T scale_add(double factor, T x, T sum)
{
    return fma((T)factor, x, sum);
}
static __device__ __forceinline__ T plus(T a, T b)
{
    return a + b;
}
#else
static __device__ __forceinline__ T multiply_add(T a, T b, T sum)
{
    return a * b + sum;
}
static __device__ __forceinline__ T scale_add(double factor, T x, T sum)
{
    return (T)(int64_t)factor * x + sum;
}
static __device__ __forceinline__ T plus(T a, T b)
{
    return a + b;
}
#endif

static __device__ __forceinline__ T activate(int32_t epilogue, T x)
{
#if CUDA_KIND == CUDA_KIND_FLOAT
    switch (epilogue) {
    case NDP_EPILOGUE_RELU:
        return cuda_relu(x);
    case NDP_EPILOGUE_GELU:
        return cuda_gelu(x);
    case NDP_EPILOGUE_GELU_TANH:
        return cuda_gelu_tanh(x);
    case NDP_EPILOGUE_SIGMOID:
        return cuda_sigmoid(x);
    case NDP_EPILOGUE_SILU:
        return cuda_silu(x);
    case NDP_EPILOGUE_TANH:
        return cuda_tanh(x);
    }
#endif
    return x;
}

/* One element of the result from its sum; one rounding at the end for f16 and bf16. */
static __device__ __forceinline__ void finish(const mm_params &p, int64_t item, int64_t i,
                                              int64_t j, T sum)
{
    const T zero = {};
    T value = p.alpha == 1 ? sum : scale_add(p.alpha, sum, zero);
#if MM_HALVES_TOO
    if (p.scale_a.at)
        value *= ((const float *)p.scale_a.at)[i * p.scale_a.row + j * p.scale_a.column] *
                 ((const float *)p.scale_b.at)[i * p.scale_b.row + j * p.scale_b.column];
#endif
    int64_t to = item * p.out.batch + i * p.out.row + j * p.out.column;
    if (p.beta != 0)
        value = scale_add(p.beta, load(p.out, to), value);
    if (p.bias.at)
        value = plus(value, load(p.bias, item * p.bias.batch + i * p.bias.row + j * p.bias.column));
    store(p.out, to, activate(p.epilogue, value));
}

/* ---- the product ---- */

/* Where a thread's x-th element of a tile of 64 lanes by 16 of k lies in it; neighbours run along k
 * or along lanes, whichever is closer together in memory. */
static __device__ __forceinline__ void place(bool along_k, int x, int &lane, int &depth)
{
    const int t = threadIdx.x;
    lane = along_k ? t / MM_DEPTH + x * (MM_THREADS / MM_DEPTH) : t % MM_TILE;
    depth = along_k ? t % MM_DEPTH : t / MM_TILE + x * (MM_THREADS / MM_TILE);
}

static __device__ __forceinline__ void fetch(const mm_matrix &m, int64_t base, int64_t lane_stride,
                                             int64_t k_stride, int64_t lanes, int64_t depths,
                                             bool along_k, T out[MM_EACH])
{
#pragma unroll
    for (int x = 0; x < MM_EACH; x++) {
        int lane, depth;
        const T zero = {};
        place(along_k, x, lane, depth);
        out[x] = lane < lanes && depth < depths
                     ? load(m, base + lane * lane_stride + depth * k_stride)
                     : zero;
    }
}

static __device__ __forceinline__ void put(T tile[MM_DEPTH][MM_LINE], bool along_k,
                                           const T in[MM_EACH])
{
#pragma unroll
    for (int x = 0; x < MM_EACH; x++) {
        int lane, depth;
        place(along_k, x, lane, depth);
        tile[depth][lane] = in[x];
    }
}

static __device__ __forceinline__ void take(const T *from, T out[MM_EACH])
{
#pragma unroll
    for (int v = 0; v < MM_EACH; v += MM_VECTOR)
        *(cuda_vector<T, MM_VECTOR> *)(out + v) = *(const cuda_vector<T, MM_VECTOR> *)(from + v);
}

static __device__ int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

static __device__ __forceinline__ void tile(const mm_params &p, int64_t item, int64_t i0,
                                            int64_t j0, T (*sa)[MM_LINE], T (*sb)[MM_LINE])
{
    const bool a_along = magnitude(p.a.column) <= magnitude(p.a.row);
    const bool b_along = magnitude(p.b.row) < magnitude(p.b.column);
    const int row = threadIdx.x / (MM_TILE / MM_EACH) * MM_EACH;
    const int column = threadIdx.x % (MM_TILE / MM_EACH) * MM_EACH;
    int64_t a = item * p.a.batch + i0 * p.a.row, b = item * p.b.batch + j0 * p.b.column;
    T sums[MM_EACH][MM_EACH] = {};
    alignas(16) T next_a[MM_EACH], next_b[MM_EACH];
    fetch(p.a, a, p.a.row, p.a.column, p.m - i0, p.k, a_along, next_a);
    fetch(p.b, b, p.b.column, p.b.row, p.n - j0, p.k, b_along, next_b);
    for (int64_t d = 0; d < p.k; d += MM_DEPTH) {
        put(sa, a_along, next_a);
        put(sb, b_along, next_b);
        __syncthreads();
        const int64_t e = d + MM_DEPTH; /* the next slice is on its way while this one is used */
        fetch(p.a, a + e * p.a.column, p.a.row, p.a.column, p.m - i0, p.k - e, a_along, next_a);
        fetch(p.b, b + e * p.b.row, p.b.column, p.b.row, p.n - j0, p.k - e, b_along, next_b);
#pragma unroll 4
        for (int depth = 0; depth < MM_DEPTH; depth++) {
            alignas(16) T x[MM_EACH], y[MM_EACH];
            take(&sa[depth][row], x);
            take(&sb[depth][column], y);
#pragma unroll
            for (int i = 0; i < MM_EACH; i++)
#pragma unroll
                for (int j = 0; j < MM_EACH; j++)
                    sums[i][j] = multiply_add(x[i], y[j], sums[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < MM_EACH; i++)
#pragma unroll
        for (int j = 0; j < MM_EACH; j++)
            if (i0 + row + i < p.m && j0 + column + j < p.n)
                finish(p, item, i0 + row + i, j0 + column + j, sums[i][j]);
}

extern "C" __global__ void __launch_bounds__(MM_THREADS)
    matmul_tiles(const __grid_constant__ mm_params p)
{
    __shared__ alignas(16) T sa[MM_DEPTH][MM_LINE];
    __shared__ alignas(16) T sb[MM_DEPTH][MM_LINE];
    const int64_t across = (p.n + MM_TILE - 1) / MM_TILE, down = (p.m + MM_TILE - 1) / MM_TILE;
    for (int64_t t = blockIdx.x; t < across * down; t += gridDim.x)
        tile(p, p.first + blockIdx.y, t / across * MM_TILE, t % across * MM_TILE, sa, sb);
}

/* ---- passes before and after the library: a block takes a piece of a line at a time ---- */
extern "C" __global__ void __launch_bounds__(MM_THREADS)
    matmul_finish(const __grid_constant__ mm_params p)
{
    const int64_t pieces = (p.n + MM_FINISH - 1) / MM_FINISH, lines = p.batch * p.m;
    for (int64_t t = blockIdx.x; t < lines * pieces; t += gridDim.x) {
        const int64_t line = t / pieces, item = line / p.m, i = line % p.m;
        const int64_t from = item * p.a.batch + i * p.a.row;
        const int64_t first = t % pieces * MM_FINISH + threadIdx.x;
        T sum[MM_FINISH / MM_THREADS];
#pragma unroll
        for (int x = 0; x < MM_FINISH / MM_THREADS; x++) {
            const int64_t j = first + x * MM_THREADS;
            if (j < p.n)
                sum[x] = ((const T *)p.a.at)[from + j * p.a.column];
        }
#pragma unroll
        for (int x = 0; x < MM_FINISH / MM_THREADS; x++) {
            const int64_t j = first + x * MM_THREADS;
            if (j < p.n)
                finish(p, item, i, j, sum[x]);
        }
    }
}

template <class S> static __device__ __forceinline__ void pack(const mm_params &p)
{
    const int64_t length = p.k > p.n ? p.k : p.n;
    const int64_t pieces = (length + MM_THREADS - 1) / MM_THREADS, lines = p.batch * p.m;
    for (int64_t t = blockIdx.x; t < lines * pieces; t += gridDim.x) {
        const int64_t line = t / pieces, item = line / p.m, i = line % p.m;
        const int64_t j = t % pieces * MM_THREADS + threadIdx.x;
        const S zero = {};
        if (j < length)
            ((S *)p.out.at)[item * p.out.batch + i * p.out.row + j] =
                j < p.n ? ((const S *)p.a.at)[item * p.a.batch + i * p.a.row + j * p.a.column]
                        : zero;
    }
}

/* Bytes whose neighbours in memory go to different lines: squares of them are turned in shared
 * memory. Lines of out are a multiple of 16 bytes long, and so aligned. */
enum { MM_SQUARE = 64, MM_WORDS = MM_SQUARE / 4 };

static __device__ __forceinline__ void fetch_square(const mm_params &p, int64_t from, int64_t i0,
                                                    int64_t j0, uint8_t (*square)[MM_SQUARE + 4])
{
    const uint64_t bits = p.a.at | (uint64_t)p.a.column | (uint64_t)p.a.batch;
    const bool words = p.a.row == 1 && bits % 4 == 0 && i0 + MM_SQUARE <= p.m;
    const int per_line = words ? MM_WORDS : MM_SQUARE;
    for (int x = threadIdx.x; x < MM_SQUARE * per_line; x += MM_THREADS) {
        const int j = x / per_line, i = x % per_line * (words ? 4 : 1);
        const uint64_t at = p.a.at + (uint64_t)(from + (i0 + i) * p.a.row + (j0 + j) * p.a.column);
        uint32_t v = 0;
        if (j0 + j < p.n && i0 + i < p.m)
            v = words ? *(const uint32_t *)at : *(const uint8_t *)at;
        square[i][j] = (uint8_t)v;
        if (words)
            for (int b = 1; b < 4; b++)
                square[i + b][j] = (uint8_t)(v >> 8 * b);
    }
}

static __device__ __forceinline__ void pack_turned(const mm_params &p)
{
    __shared__ alignas(4) uint8_t square[MM_SQUARE][MM_SQUARE + 4];
    const int64_t length = p.k > p.n ? p.k : p.n, down = (p.m + MM_SQUARE - 1) / MM_SQUARE;
    const int64_t across = (length + MM_SQUARE - 1) / MM_SQUARE;
    for (int64_t t = blockIdx.x; t < p.batch * down * across; t += gridDim.x) {
        const int64_t item = t / (down * across), i0 = t / across % down * MM_SQUARE;
        const int64_t j0 = t % across * MM_SQUARE;
        fetch_square(p, item * p.a.batch, i0, j0, square);
        __syncthreads();
        for (int x = threadIdx.x; x < MM_SQUARE * MM_WORDS; x += MM_THREADS) {
            const int i = x / MM_WORDS, j = x % MM_WORDS * 4;
            if (i0 + i < p.m && j0 + j < length)
                *(uint32_t *)(p.out.at + (uint64_t)(item * p.out.batch + (i0 + i) * p.out.row + j0 +
                                                    j)) = *(const uint32_t *)&square[i][j];
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(MM_THREADS)
    matmul_pack(const __grid_constant__ mm_params p)
{
#if MM_HALVES_TOO || CUDA_KIND == CUDA_KIND_UINT
    if (p.a.size == 1) {
        if (p.k && magnitude(p.a.row) < magnitude(p.a.column))
            pack_turned(p);
        else
            pack<uint8_t>(p);
        return;
    }
#endif
#if MM_HALVES_TOO
    if (p.a.size == 2) {
        pack<uint16_t>(p);
        return;
    }
#endif
    pack<T>(p);
}
#if MM_HALVES_TOO
#include "matmul/vector.cuh"
#endif
