/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions and their gradients as products of matrices of which none is in memory: a block sums a
 * tile of the result, and takes what it needs from the operands as it goes. */
#include "conv/diagonal.cuh"
#include "conv/gathered_terms.cuh"
#include "conv/short.cuh"
#include "conv/thin.cuh"

typedef WINDOW_ELEMENT(CUDA_DTYPE) T;
typedef neural_computed<T>::type C;
enum { TILE = CONV_TILE, DEPTH = CONV_DEPTH, EACH = TILE / 16, PITCH = TILE + 4 };

/* Row m of the left matrix at k: weights, or for their gradient the grid's. */
template <int KIND> WINDOW_FN C left(const cuda_convolving &p, int32_t group, int64_t m, int64_t k)
{
    if (m >= p.m || k >= p.k)
        return 0;
    if (KIND == CONV_WEIGHT) {
        const conv_place w = conv_split(k, p.by_grid);
        return neural_widen(
            ((const T *)
                 p.grid)[conv_offset(p.grid_stride, w.outer, group * p.co + (int32_t)m, w.at)]);
    }
    const conv_place t = conv_split(k, p.by_kernel);
    const int32_t o = group * p.co + (KIND == CONV_FORWARD ? (int32_t)m : t.outer);
    const int32_t c = KIND == CONV_FORWARD ? t.outer : (int32_t)m;
    return neural_widen(((const T *)p.weight)[conv_offset(p.weight_stride, o, c, t.at)]);
}

/* Column n of the right matrix at k; `column` is n's place. */
template <int KIND>
WINDOW_FN C right(const cuda_convolving &p, int32_t group, const conv_place &column, int64_t k)
{
    int32_t at[3];
    if (KIND == CONV_WEIGHT) {
        const conv_place w = conv_split(k, p.by_grid);
        if (!conv_meets(p, w.at, column.at, at))
            return 0;
        return neural_widen(
            ((const T *)
                 p.image)[conv_offset(p.image_stride, w.outer, group * p.ci + column.outer, at)]);
    }
    const conv_place t = conv_split(k, p.by_kernel);
    if (KIND == CONV_FORWARD) {
        if (!conv_meets(p, column.at, t.at, at))
            return 0;
        return neural_widen(
            ((const T *)
                 p.image)[conv_offset(p.image_stride, column.outer, group * p.ci + t.outer, at)]);
    }
    if (!conv_met_by(p, column.at, t.at, at))
        return 0;
    return neural_widen(
        ((const T *)p.grid)[conv_offset(p.grid_stride, column.outer, group * p.co + t.outer, at)]);
}

template <int KIND> WINDOW_FN conv_place place_of(const cuda_convolving &p, int64_t n)
{
    return KIND == CONV_FORWARD ? conv_split(n, p.by_grid)
           : KIND == CONV_INPUT ? conv_split(n, p.by_image)
                                : conv_split(n, p.by_kernel);
}

template <int KIND>
WINDOW_FN void save(const cuda_convolving &p, int32_t group, int32_t split, int64_t m, int64_t n,
                    C sum)
{
    if (KIND == CONV_WEIGHT && p.partial) {
        ((C *)p.partial)[((split * (int64_t)p.groups + group) * p.m + m) * p.n + n] = sum;
        return;
    }
    const conv_place place = place_of<KIND>(p, n);
    const int32_t channel = group * (KIND == CONV_INPUT ? p.ci : p.co) + (int32_t)m;
    if (KIND == CONV_WEIGHT)
        neural_narrow((T *)p.weight + conv_offset(p.weight_stride, channel, place.outer, place.at),
                      sum);
    else if (KIND == CONV_FORWARD)
        neural_narrow((T *)p.grid + conv_offset(p.grid_stride, place.outer, channel, place.at),
                      conv_finished<T>(p, sum, channel));
    else
        neural_narrow((T *)p.image + conv_offset(p.image_stride, place.outer, channel, place.at),
                      conv_finished<T>(p, sum, channel));
}

template <int KIND> WINDOW_FN void multiply(const cuda_convolving &p)
{
    __shared__ C a[DEPTH][PITCH], b[DEPTH][PITCH];
    const uint32_t rest = cuda_quotient(blockIdx.y, p.tiles_m);
    const int64_t m0 = (int64_t)(blockIdx.y - rest * p.tiles_m.value) * TILE;
    const int32_t group = (int32_t)(rest % (uint32_t)p.groups),
                  split = (int32_t)(rest / (uint32_t)p.groups);
    const int64_t n0 = (int64_t)blockIdx.x * TILE, begin = split * p.part;
    const int64_t end = begin + p.part < p.k ? begin + p.part : p.k;
    const int thread = (int)threadIdx.x, x = thread % 16, y = thread / 16;
    /* Columns whose elements lie side by side are taken by threads side by side: of images, columns;
     * for the gradient of weights, k. */
    constexpr bool ALONG = KIND != CONV_WEIGHT;
    conv_place column[ALONG ? 1 : EACH];
#pragma unroll
    for (int i = 0; i < (ALONG ? 1 : EACH); i++) {
        const int64_t n = n0 + (ALONG ? thread % TILE : y + 16 * i);
        column[i] = place_of<KIND>(p, n < p.n ? n : p.n - 1);
    }
    C sum[EACH][EACH] = {};
    for (int64_t k0 = begin; k0 < end; k0 += DEPTH) {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int64_t k = k0 + x;
            a[x][y + 16 * i] = k < end ? left<KIND>(p, group, m0 + y + 16 * i, k) : (C)0;
        }
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int row = ALONG ? thread / TILE + i * (CONV_THREADS / TILE) : x;
            const int at = ALONG ? thread % TILE : y + 16 * i;
            b[row][at] = k0 + row < end && n0 + at < p.n
                             ? right<KIND>(p, group, column[ALONG ? 0 : i], k0 + row)
                             : (C)0;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            C u[EACH], v[EACH];
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                u[i] = a[k][y * EACH + i];
                v[i] = b[k][x * EACH + i];
            }
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++)
                    sum[i][j] = neural_fma(u[i], v[j], sum[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int64_t m = m0 + y * EACH + i, n = n0 + x * EACH + j;
            if (m < p.m && n < p.n)
                save<KIND>(p, group, split, m, n, sum[i][j]);
        }
}

/* The sums of the splits, in order. */
WINDOW_FN void add_splits(const cuda_convolving &p)
{
    const int64_t all = p.groups * p.m * p.n;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < all;
         i += (int64_t)gridDim.x * blockDim.x) {
        C sum = 0;
        for (int32_t s = 0; s < p.splits; s++)
            sum += ((const C *)p.partial)[s * all + i];
        const int64_t row = i / p.n;
        conv_place place = conv_split(i - row * p.n, p.by_kernel);
        if (p.by_taps) {
            const int32_t tap = (int32_t)cuda_quotient((uint32_t)(i - row * p.n), p.by_ci);
            place = conv_split(tap, p.by_kernel);
            place.outer = (int32_t)(i - row * p.n) - tap * p.ci;
        }
        neural_narrow(
            (T *)p.weight + conv_offset(p.weight_stride, (int32_t)row, place.outer, place.at), sum);
    }
}

#define CONV_KERNEL(name, ...)                                       \
    extern "C" __global__ void __launch_bounds__(CONV_THREADS)       \
        WINDOW_NAME(name)(const __grid_constant__ cuda_convolving p) \
    {                                                                \
        __VA_ARGS__(p);                                              \
    }
CONV_KERNEL(conv_forward, multiply<CONV_FORWARD>)
CONV_KERNEL(conv_input, multiply<CONV_INPUT>)
CONV_KERNEL(conv_weight, multiply<CONV_WEIGHT>)
CONV_KERNEL(conv_splits, add_splits)
CONV_KERNEL(grouped_windows, grouped_windows<T, C>)
CONV_KERNEL(grouped_gradient, grouped_gradient<T, C>)
/* As many blocks of a processor as their shared memory allows. */
#define CONV_DIAGONAL_KERNEL(name, ...)                                              \
    extern "C" __global__ void __launch_bounds__(CONV_THREADS, CONV_DIAGONAL_BLOCKS) \
        WINDOW_NAME(name)(const __grid_constant__ cuda_convolving p)                 \
    {                                                                                \
        __VA_ARGS__(p);                                                              \
    }
CONV_DIAGONAL_KERNEL(diagonal_last, diagonal_windows_by_cores<T, true>)
CONV_DIAGONAL_KERNEL(diagonal_planes, diagonal_windows_by_cores<T, false>)
#define CONV_THIN_KERNEL(name, fast)                                                    \
    extern "C" __global__ void __launch_bounds__(                                       \
        sizeof(T) == 2 ? CONV_THIN_THREADS_16 : CONV_THIN_THREADS_32, CONV_THIN_BLOCKS) \
        WINDOW_NAME(name)(const __grid_constant__ cuda_convolving p)                    \
    {                                                                                   \
        thin_windows<T, fast>(p);                                                       \
    }
CONV_THIN_KERNEL(thin_windows, false)
CONV_THIN_KERNEL(thin_windows_fast, true) /* of f32, where TF32 is allowed */
/* Of f32 alone: others have better ways. */
CONV_KERNEL(short_gradient,
            short_gradient<T, C, sizeof(T) == 4 ? CONV_SHORT_COLUMNS / SHORT_LANES : 1>)
/* Of f32 alone, likewise. */
#define CONV_GATHER_KERNEL(name, ...)                                                     \
    extern "C" __global__ void __launch_bounds__(CONV_GATHER_THREADS, CONV_GATHER_BLOCKS) \
        WINDOW_NAME(name)(const __grid_constant__ cuda_convolving p)                      \
    {                                                                                     \
        if constexpr (CUDA_IS_F32 && CUDA_HAS_TF32)                                       \
            __VA_ARGS__(p);                                                               \
    }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
enum { CUDA_HAS_TF32 = 1 };
#else
enum { CUDA_HAS_TF32 = 0 };
#endif
enum { CUDA_IS_F32 = sizeof(T) == 4 };
CONV_KERNEL(gathered_weights, gather_weights)
enum { TALL = 2 * CONV_GATHER_ROWS };
typedef gather_tile<CONV_GATHER_ROWS, false> wide_tile;
typedef gather_tile<TALL, false> tall_tile;
CONV_GATHER_KERNEL(gathered_planes, gathered_windows<wide_tile>)
CONV_GATHER_KERNEL(gathered_planes_tall, gathered_windows<tall_tile>)
CONV_GATHER_KERNEL(gathered_beside, gathered_windows<gather_tile<CONV_GATHER_ROWS, true>>)
CONV_GATHER_KERNEL(gathered_beside_tall, gathered_windows<gather_tile<TALL, true>>)
CONV_GATHER_KERNEL(gathered_terms, gathered_gradient<wide_tile, gather_terms<wide_tile>>)
CONV_GATHER_KERNEL(gathered_terms_tall, gathered_gradient<tall_tile, gather_terms<tall_tile>>)
CONV_GATHER_KERNEL(gathered_terms_beside,
                   gathered_gradient<wide_tile, gather_terms_beside<wide_tile>>)
CONV_GATHER_KERNEL(gathered_terms_beside_tall,
                   gathered_gradient<tall_tile, gather_terms_beside<tall_tile>>)
