/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention of any dtype and width, and its gradients, by multiply-adds: a block of 64 queries goes
 * over blocks of 64 keys, whose scores live in registers; 256 threads have 4 * 4 of them each. A
 * block has 64 columns of a result; wider ones are shared out among blocks, each of which computes
 * the scores itself. */
#include "neural/attention.h"
#include "neural/neural.cuh"

enum { B = ATTENTION_BLOCK, DEPTH = 16, PITCH = B + 4 };

/* Blocks of both sides of a product, DEPTH of the sums at a time; scores or weights. */
template <class C> struct stage {
    C a[DEPTH][PITCH], b[DEPTH][PITCH];
    C scores[B][PITCH];
    C max[B], sum[B], down[B];
};

template <class T>
NEURAL_FN const T *row_of(const attention_view &v, int64_t b, int64_t h, int64_t i)
{
    return (const T *)v.at + b * v.stride[0] + h * v.stride[1] + i * v.stride[2];
}

/* Rows `from` to from + B of a view, columns c to c + DEPTH, turned; zero beyond its ends. */
template <class T, class C>
NEURAL_FN void fetch(C (&to)[DEPTH][PITCH], const attention_view &v, int64_t b, int64_t h,
                     int64_t from, int64_t rows, int64_t c, int64_t columns)
{
    const T *base = row_of<T>(v, b, h, 0);
    for (int i = threadIdx.x; i < B * DEPTH; i += ATTENTION_THREADS) {
        const int row = i / DEPTH, column = i % DEPTH;
        const bool inside = from + row < rows && c + column < columns;
        to[column][row] =
            inside ? (C)neural_widen(base[(from + row) * v.stride[2] + (c + column) * v.stride[3]])
                   : (C)0;
    }
}

/* x[4][4] += rows i of a times rows j of b over `columns` columns: of scores, and their like. */
template <class T, class C>
NEURAL_FN void rows_by_rows(stage<C> &s, C (&x)[4][4], const attention_view &a, int64_t b,
                            int64_t ha, int64_t i, int64_t rows_a, const attention_view &other,
                            int64_t hb, int64_t j, int64_t rows_b, int64_t columns)
{
    const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
    for (int64_t c = 0; c < columns; c += DEPTH) {
        fetch<T, C>(s.a, a, b, ha, i, rows_a, c, columns);
        fetch<T, C>(s.b, other, b, hb, j, rows_b, c, columns);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
#pragma unroll
            for (int r = 0; r < 4; r++)
#pragma unroll
                for (int q = 0; q < 4; q++)
                    x[r][q] = neural_fma(s.a[k][ty * 4 + r], s.b[k][tx * 4 + q], x[r][q]);
        __syncthreads();
    }
}

/* y[4][4] += the block in s.scores (turned: its transpose) times rows j... of v, columns c... */
template <class T, class C, bool TURNED>
NEURAL_FN void scores_by_rows(stage<C> &s, C (&y)[4][4], const attention_view &v, int64_t b,
                              int64_t h, int64_t j, int64_t rows, int64_t c, int64_t columns)
{
    const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
    const T *base = row_of<T>(v, b, h, 0);
    for (int from = 0; from < B; from += DEPTH) {
        for (int i = threadIdx.x; i < B * DEPTH; i += ATTENTION_THREADS) {
            const int k = i / B, column = i % B;
            const bool inside = j + from + k < rows && c + column < columns;
            s.b[k][column] =
                inside ? (C)neural_widen(
                             base[(j + from + k) * v.stride[2] + (c + column) * v.stride[3]])
                       : (C)0;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
#pragma unroll
            for (int r = 0; r < 4; r++) {
                C w = TURNED ? s.scores[from + k][ty * 4 + r] : s.scores[ty * 4 + r][from + k];
#pragma unroll
                for (int q = 0; q < 4; q++)
                    y[r][q] = neural_fma(w, s.b[k][tx * 4 + q], y[r][q]);
            }
        __syncthreads();
    }
}

template <class C> NEURAL_FN C nothing(void)
{
    return (C)__longlong_as_double((long long)0xfff0000000000000ull);
}

/* Score (i, j) from a product. */
template <class T, class C>
NEURAL_FN C score_of(const attention_params &p, C product, int64_t b, int64_t h, int64_t i,
                     int64_t j)
{
    if (i >= p.m || j >= p.n || (p.causal && j > i + p.diagonal))
        return nothing<C>();
    const int64_t at =
        b * p.mask.stride[0] + h * p.mask.stride[1] + i * p.mask.stride[2] + j * p.mask.stride[3];
    C x = product * (C)p.scale;
    if (p.mask_kind == ATTENTION_BOOL)
        return ((const uint8_t *)p.mask.at)[at] ? x : nothing<C>();
    return p.mask_kind == ATTENTION_ADDED ? x + (C)neural_widen(((const T *)p.mask.at)[at]) : x;
}

/* Whether weight (i, j) is kept. */
NEURAL_FN bool is_kept(const attention_params &p, int64_t b, int64_t h, int64_t i, int64_t j)
{
    uint32_t word[4];
    if (p.least == 0)
        return true;
    const uint64_t at = ((uint64_t)(b * p.heads + h) * p.m + i) * p.n + j;
    neural_philox(p.counter, p.key[0], p.key[1], at / 4, word);
    const int which = (int)(at % 4);
    return (which == 0   ? word[0]
            : which == 1 ? word[1]
            : which == 2 ? word[2]
                         : word[3]) >= p.least;
}

NEURAL_FN int64_t seen_by(const attention_params &p, int64_t end)
{
    int64_t seen = p.causal && end + p.diagonal < p.n ? end + p.diagonal : p.n;
    return seen > 0 ? seen : 0;
}

/* ---- forward ---- */
template <class T> NEURAL_FN void forward(const attention_params &p)
{
    typedef typename neural_computed<T>::type C;
    extern __shared__ __align__(16) unsigned char memory[];
    stage<C> &s = *(stage<C> *)memory;
    const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
    const int64_t chunk = blockIdx.x % p.e_chunks, rest = blockIdx.x / p.e_chunks;
    const int64_t i = (p.q_blocks - 1 - rest % p.q_blocks) * B, bh = rest / p.q_blocks;
    const int64_t b = bh / p.heads, h = bh % p.heads, kh = h / (p.heads / p.key_heads);
    const int64_t end = i + B < p.m ? i + B : p.m, seen = seen_by(p, end);
    C y[4][4] = {};
    for (int r = threadIdx.x; r < B; r += ATTENTION_THREADS) {
        s.max[r] = nothing<C>();
        s.sum[r] = 0;
    }
    __syncthreads();
    for (int64_t j = 0; j < seen; j += B) {
        C x[4][4] = {};
        rows_by_rows<T, C>(s, x, p.q, b, h, i, p.m, p.k, kh, j, p.n, p.d);
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
            for (int q = 0; q < 4; q++)
                s.scores[ty * 4 + r][tx * 4 + q] =
                    score_of<T, C>(p, x[r][q], b, h, i + ty * 4 + r, j + tx * 4 + q);
        __syncthreads();
        /* Four threads have a row, 16 of its scores each. */
        const int row = threadIdx.x / 4, part = threadIdx.x % 4;
        C top = nothing<C>(), sum = 0;
        for (int q = part; q < B; q += 4)
            top = s.scores[row][q] > top ? s.scores[row][q] : top;
        for (int w = 1; w < 4; w *= 2) {
            C other = __shfl_xor_sync(0xffffffffu, top, w);
            top = other > top ? other : top;
        }
        const C before = s.max[row], most = top > before ? top : before;
        const C shift = most > nothing<C>() ? most : (C)0;
        for (int q = part; q < B; q += 4) {
            C weight = neural_exp(s.scores[row][q] - shift);
            sum += weight;
            s.scores[row][q] = is_kept(p, b, h, i + row, j + q) ? weight : (C)0;
        }
        for (int w = 1; w < 4; w *= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, w);
        __syncthreads();
        if (part == 0) {
            const C down = before > nothing<C>() ? neural_exp(before - shift) : (C)0;
            s.down[row] = down;
            s.sum[row] = s.sum[row] * down + sum;
            s.max[row] = most;
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
            for (int q = 0; q < 4; q++)
                y[r][q] *= s.down[ty * 4 + r];
        scores_by_rows<T, C, false>(s, y, p.v, b, kh, j, p.n, chunk * B, p.e);
    }
#pragma unroll
    for (int r = 0; r < 4; r++) {
        const int64_t row = i + ty * 4 + r;
        const C sum = s.sum[ty * 4 + r], by = sum == 0 ? (C)0 : (C)1 / (sum * (C)p.keep);
        T *to = (T *)row_of<T>(p.out[0], b, h, row);
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const int64_t column = chunk * B + tx * 4 + q;
            if (row < p.m && column < p.e)
                neural_narrow(&to[column * p.out[0].stride[3]], y[r][q] * by);
        }
        if (chunk == 0 && tx == 0 && row < p.m)
            *(C *)row_of<C>(p.out[1], b, h, row) =
                sum == 0 ? nothing<C>() : s.max[ty * 4 + r] + (C)log((double)sum);
    }
}

/* ---- gradients ---- */
/* The weights of a block, those dropped 0, and the gradients of its scores, which GRADS leaves in
 * s.scores; else the weights. */
template <class T, class C, bool GRADS>
NEURAL_FN void weights_of(const attention_params &p, stage<C> &s, int64_t b, int64_t h, int64_t kh,
                          int64_t i, int64_t j)
{
    const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
    C x[4][4] = {}, dp[4][4] = {};
    rows_by_rows<T, C>(s, x, p.q, b, h, i, p.m, p.k, kh, j, p.n, p.d);
    if (GRADS)
        rows_by_rows<T, C>(s, dp, p.g, b, h, i, p.m, p.v, kh, j, p.n, p.e);
#pragma unroll
    for (int r = 0; r < 4; r++) {
        const int64_t row = i + ty * 4 + r;
        const C lse = row < p.m ? *row_of<C>(p.lse, b, h, row) : nothing<C>();
        const C delta = row < p.m ? *row_of<C>(p.delta, b, h, row) : (C)0;
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const int64_t column = j + tx * 4 + q;
            const C score = score_of<T, C>(p, x[r][q], b, h, row, column);
            const C weight = lse > nothing<C>() || lse != lse ? neural_exp(score - lse) : (C)0;
            const bool kept = weight == 0 || is_kept(p, b, h, row, column);
            const C d = kept ? dp[r][q] / (C)p.keep : (C)0;
            s.scores[ty * 4 + r][tx * 4 + q] = GRADS  ? weight * (d - delta) * (C)p.scale
                                               : kept ? weight / (C)p.keep
                                                      : (C)0;
        }
    }
    __syncthreads();
}

template <class T, class C>
NEURAL_FN void put(const attention_view &to, const C (&y)[4][4], int64_t b, int64_t h, int64_t i,
                   int64_t rows, int64_t c, int64_t columns)
{
    const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
        for (int q = 0; q < 4; q++)
            if (i + ty * 4 + r < rows && c + tx * 4 + q < columns)
                neural_narrow((T *)row_of<T>(to, b, h, i + ty * 4 + r) +
                                  (c + tx * 4 + q) * to.stride[3],
                              y[r][q]);
}

template <class T> NEURAL_FN void query_gradient(const attention_params &p)
{
    typedef typename neural_computed<T>::type C;
    extern __shared__ __align__(16) unsigned char memory[];
    stage<C> &s = *(stage<C> *)memory;
    const int64_t chunk = blockIdx.x % p.d_chunks, rest = blockIdx.x / p.d_chunks;
    const int64_t i = rest % p.q_blocks * B, bh = rest / p.q_blocks;
    const int64_t b = bh / p.heads, h = bh % p.heads, kh = h / (p.heads / p.key_heads);
    const int64_t end = i + B < p.m ? i + B : p.m, seen = seen_by(p, end);
    C y[4][4] = {};
    for (int64_t j = 0; j < seen; j += B) {
        weights_of<T, C, true>(p, s, b, h, kh, i, j);
        scores_by_rows<T, C, false>(s, y, p.k, b, kh, j, p.n, chunk * B, p.d);
    }
    put<T, C>(p.out[0], y, b, h, i, p.m, chunk * B, p.d);
}

/* VALUES: of v, else of k. */
template <class T, bool VALUES> NEURAL_FN void key_gradient(const attention_params &p)
{
    typedef typename neural_computed<T>::type C;
    extern __shared__ __align__(16) unsigned char memory[];
    stage<C> &s = *(stage<C> *)memory;
    const int64_t chunks = VALUES ? p.e_chunks : p.d_chunks, group = p.heads / p.key_heads;
    const int64_t chunk = blockIdx.x % chunks, rest = blockIdx.x / chunks;
    const int64_t j = rest % p.k_blocks * B, bh = rest / p.k_blocks;
    const int64_t b = bh / p.key_heads, kh = bh % p.key_heads;
    C y[4][4] = {};
    for (int64_t h = kh * group; h < (kh + 1) * group; h++)
        for (int64_t i = 0; i < p.m; i += B) {
            if (seen_by(p, i + B < p.m ? i + B : p.m) <= j)
                continue;
            weights_of<T, C, !VALUES>(p, s, b, h, kh, i, j);
            scores_by_rows<T, C, true>(s, y, VALUES ? p.g : p.q, b, h, i, p.m, chunk * B,
                                       VALUES ? p.e : p.d);
        }
    put<T, C>(p.out[VALUES ? 2 : 1], y, b, kh, j, p.n, chunk * B, VALUES ? p.e : p.d);
}

#define ATTENTION_KERNEL(name, f, ...)                              \
    extern "C" __global__ void __launch_bounds__(ATTENTION_THREADS) \
        name(const __grid_constant__ attention_params p)            \
    {                                                               \
        f<__VA_ARGS__>(p);                                          \
    }
#define ATTENTION(dtype, T)                                        \
    ATTENTION_KERNEL(attention_##dtype, forward, T)                \
    ATTENTION_KERNEL(attention_dq_##dtype, query_gradient, T)      \
    ATTENTION_KERNEL(attention_dk_##dtype, key_gradient, T, false) \
    ATTENTION_KERNEL(attention_dv_##dtype, key_gradient, T, true)
ATTENTION(f16, __half)
ATTENTION(bf16, __nv_bfloat16)
ATTENTION(f32, float)
ATTENTION(f64, double)
