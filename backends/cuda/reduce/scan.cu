/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Cumulative sums and products, for all dtypes. A block goes along a line tile by tile ("vec" by
 * vectors, "row" by elements; "pass" tiles of one line in many blocks), each warp over a dense part
 * of the tile; a block along neighbouring lines ("strip"); or each thread along a line of its own
 * ("col"). The order in which states are merged follows from the parameters alone. */
#include "reduce/scan.h"
#include "reduce/scan_warp.cuh"
#include "reduce/sums.cuh"

enum { WARPS = SCAN_THREADS / 32, UNROLL = SCAN_UNROLL };

/* Integers to what the call's destination holds; floating elements to their own dtype. */
template <class A> struct scan_int {
    typedef typename A::element element;
    typedef typename A::state state;
    typedef uint64_t result;
    LINE_FN state zero() { return A::zero(); }
    LINE_FN state one(element x) { return A::one(x); }
    LINE_FN state merge(state a, state b) { return A::merge(a, b); }
    LINE_FN void put(const scan_params &p, int64_t at, state s)
    {
        state_store_int((void *)p.out, at, p.out_nbytes, p.out_is_bool, s);
    }
    LINE_FN result value(state s) { return s; }
};
template <class A> struct scan_float {
    typedef typename A::element element, result;
    typedef typename A::state state;
    LINE_FN state zero() { return A::zero(); }
    LINE_FN state one(element x) { return A::one(x); }
    LINE_FN state merge(state a, state b) { return A::merge(a, b); }
    LINE_FN result value(state s)
    {
        result r;
        A::value(&r, s, 1.0);
        return r;
    }
    LINE_FN void put(const scan_params &p, int64_t at, state s)
    {
        ((result *)p.out)[at] = value(s);
    }
};

/* The states of the line's earlier chunks, in every thread of the block. */
template <class OP>
LINE_FN typename OP::state scan_before(const scan_params &p, uint64_t line, uint64_t chunk,
                                       typename OP::state *shared)
{
    typedef typename OP::state S;
    const S *total = (const S *)p.scratch + line;
    S s = OP::zero();
    for (uint64_t c = threadIdx.x; c < chunk; c += SCAN_THREADS)
        s = OP::merge(s, total[c * p.lines]);
    for (int h = 16; h; h /= 2)
        s = OP::merge(s, state_shuffle_down(s, h, 32));
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = s;
    __syncthreads();
    s = shared[0];
    for (int w = 1; w < WARPS; w++)
        s = OP::merge(s, shared[w]);
    __syncthreads();
    return s;
}

/* A tile of a line, UNROLL vectors a thread: where the thread's vector u begins. */
template <int V> LINE_FN uint64_t scan_at(uint64_t tile, int u)
{
    uint64_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return tile + ((warp * UNROLL + (uint64_t)u) * 32 + lane) * V;
}

template <class OP, int V, bool DENSE>
LINE_FN void scan_load(const scan_params &p, const typename OP::element *line, uint64_t tile,
                       uint64_t end, typename OP::state (*s)[V])
{
    typedef typename OP::element T;
    cuda_vector<T, V> v[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        uint64_t i = scan_at<V>(tile, u);
        if (i < end)
            v[u] = *(const cuda_vector<T, V> *)(line + (int64_t)i * (DENSE ? 1 : p.in_step));
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
#pragma unroll
        for (int k = 0; k < V; k++) {
            s[u][k] = scan_at<V>(tile, u) < end ? OP::one(v[u].at[k]) : OP::zero();
            if (k)
                s[u][k] = OP::merge(s[u][k - 1], s[u][k]);
        }
}

/* front: what lies before the tile; V elements are stored at once where the line is dense. */
template <class OP, int V, bool DENSE>
LINE_FN void scan_store(const scan_params &p, int64_t to, uint64_t tile, uint64_t end,
                        typename OP::state (*s)[V], typename OP::state *front)
{
    typedef typename OP::result R;
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        uint64_t i = scan_at<V>(tile, u);
        cuda_vector<R, V> v;
        if (i >= end)
            continue;
        if (DENSE) {
#pragma unroll
            for (int k = 0; k < V; k++)
                v.at[k] = OP::value(OP::merge(front[u], s[u][k]));
            *(cuda_vector<R, V> *)((R *)p.out + to + i) = v;
        } else {
            OP::put(p, to + (int64_t)i * p.out_step, OP::merge(front[u], s[u][0]));
        }
    }
}

template <class OP, int V, bool DENSE>
LINE_FN void scan_chunk(const scan_params &p, uint64_t line, uint64_t chunk,
                        typename OP::state (*shared)[WARPS])
{
    typedef typename OP::state S;
    int64_t from, to;
    uint64_t begin = chunk * p.chunk, end = begin + p.chunk;
    int warp = threadIdx.x / 32, turn = 0;
    end = end < p.n ? end : p.n;
    line_offsets(p.dim, p.ndim, line, &from, &to);
    S carry =
        p.chunks > 1 && !p.totals_only ? scan_before<OP>(p, line, chunk, shared[0]) : OP::zero();
    for (uint64_t tile = begin; tile < end; tile += SCAN_THREADS * UNROLL * V, turn ^= 1) {
        S s[UNROLL][V], front[UNROLL], whole = OP::zero();
        scan_load<OP, V, DENSE>(p, (const typename OP::element *)p.in + from, tile, end, s);
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            S sum;
            front[u] = s[u][V - 1];
            scan_warp<OP>(&front[u], &sum);
            front[u] = OP::merge(whole, front[u]);
            whole = OP::merge(whole, sum);
        }
        if (threadIdx.x % 32 == 0)
            shared[turn][warp] = whole;
        __syncthreads();
        S mine = carry;
        for (int w = 0; w < WARPS; w++) {
            mine = w == warp ? carry : mine;
            carry = OP::merge(carry, shared[turn][w]);
        }
        if (p.totals_only)
            continue;
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            front[u] = OP::merge(mine, front[u]);
        scan_store<OP, V, DENSE>(p, to, tile, end, s, front);
    }
    if (p.totals_only && threadIdx.x == 0)
        ((S *)p.scratch)[chunk * p.lines + line] = carry;
    __syncthreads();
}

template <class OP, int V, bool DENSE> LINE_FN void scan_lines(const scan_params &p)
{
    __shared__ typename OP::state shared[2][WARPS];
    for (uint64_t line = blockIdx.x; line < p.lines; line += gridDim.x)
        scan_chunk<OP, V, DENSE>(p, line, blockIdx.y, shared);
}

template <class OP> LINE_FN void scan_vec(const scan_params &p)
{
    const int bytes = (int)sizeof(typename OP::element);
    scan_lines<OP, bytes <= 4 ? 4 : 16 / bytes, true>(p);
}

template <class OP> LINE_FN void scan_row(const scan_params &p)
{
    scan_lines<OP, 1, false>(p);
}

template <class OP> LINE_FN void scan_col(const scan_params &p)
{
    typedef typename OP::state S;
    typedef typename OP::element T;
    uint64_t step = (uint64_t)gridDim.x * SCAN_THREADS;
    uint64_t begin = blockIdx.y * p.chunk, end = begin + p.chunk;
    end = end < p.n ? end : p.n;
    for (uint64_t line = (uint64_t)blockIdx.x * SCAN_THREADS + threadIdx.x; line < p.lines;
         line += step) {
        int64_t from, to;
        S s = OP::zero(), *total = (S *)p.scratch + line;
        line_offsets(p.dim, p.ndim, line, &from, &to);
        for (uint64_t c = 0; p.chunks > 1 && !p.totals_only && c < blockIdx.y; c++)
            s = OP::merge(s, total[c * p.lines]);
        const T *x = (const T *)p.in + from;
        for (uint64_t i = begin; i < end; i += UNROLL) {
            T v[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                if (i + u < end)
                    v[u] = x[(int64_t)(i + u) * p.in_step];
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                if (i + u >= end)
                    break;
                s = OP::merge(s, OP::one(v[u]));
                if (!p.totals_only)
                    OP::put(p, to + (int64_t)(i + u) * p.out_step, s);
            }
        }
        if (p.totals_only)
            total[blockIdx.y * p.lines] = s;
    }
}

#include "reduce/scan_pass.cuh"
#include "reduce/scan_strip.cuh"

/* ---- the kernels, by op and dtype ---- */
#define SCAN_KERNEL(name, how, ...)                            \
    extern "C" __global__ void __launch_bounds__(SCAN_THREADS) \
        name##_##how(const __grid_constant__ scan_params p)    \
    {                                                          \
        scan_##how<__VA_ARGS__>(p);                            \
    }
#define SCAN_STRIP(name, ...)                                           \
    extern "C" __global__ void __launch_bounds__(SCAN_STRIP_THREADS, 3) \
        name##_strip(const __grid_constant__ scan_params p)             \
    {                                                                   \
        scan_strip<__VA_ARGS__>(p);                                     \
    }
/* Tiles have room in shared memory for five blocks; states of more than 8 bytes need the registers. */
#define SCAN_PASS(name, ...)                                                                      \
    extern "C" __global__ void __launch_bounds__(SCAN_THREADS,                                    \
                                                 sizeof(typename __VA_ARGS__::state) > 8 ? 3 : 5) \
        name##_pass(const __grid_constant__ scan_params p)                                        \
    {                                                                                             \
        scan_pass<__VA_ARGS__>(p);                                                                \
    }
/* Products have no vectors: their arithmetic outweighs the loads. */
#define SCAN(dtype, SUM, PROD)           \
    SCAN_KERNEL(sum_##dtype, vec, SUM)   \
    SCAN_KERNEL(sum_##dtype, row, SUM)   \
    SCAN_KERNEL(sum_##dtype, col, SUM)   \
    SCAN_PASS(sum_##dtype, SUM)          \
    SCAN_STRIP(sum_##dtype, SUM)         \
    SCAN_KERNEL(prod_##dtype, row, PROD) \
    SCAN_KERNEL(prod_##dtype, col, PROD)
#define SCAN_INT(dtype, T) SCAN(dtype, scan_int<sum_int<T>>, scan_int<prod_int<T>>)
#define SCAN_FLOAT(dtype, SUM, PROD) SCAN(dtype, scan_float<SUM>, scan_float<PROD>)
SCAN_INT(BOOL, cuda_bool)
SCAN_INT(I8, int8_t)
SCAN_INT(I16, int16_t)
SCAN_INT(I32, int32_t)
SCAN_INT(I64, int64_t)
SCAN_INT(U8, uint8_t)
SCAN_INT(U16, uint16_t)
SCAN_INT(U32, uint32_t)
SCAN_FLOAT(F16, sum_float<__half>, prod_float<__half>)
SCAN_FLOAT(BF16, sum_float<__nv_bfloat16>, prod_float<__nv_bfloat16>)
SCAN_FLOAT(F32, sum_float<float>, prod_float<float>)
SCAN_FLOAT(F64, sum_f64, prod_float<double>)
typedef sum_complex<cuda_c64, sum_float<float>> scan_sum_c64;
typedef sum_complex<cuda_c128, sum_f64> scan_sum_c128;
SCAN_FLOAT(C64, scan_sum_c64, prod_complex<cuda_c64>)
SCAN_FLOAT(C128, scan_sum_c128, prod_complex<cuda_c128>)
