/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of single channels that lie side by side in memory, two axes of windows: a thread sums
 * vectors of channels of some neighbouring windows; a block keeps the weights of its channels. */
#ifndef NDOCK_CUDA_CONV_BESIDE_CUH
#define NDOCK_CUDA_CONV_BESIDE_CUH
#include "conv/conv.cuh"

/* The weights of `count` channels from `channel` on, tap by tap, in the dtype of sums; flip: the last tap
 * comes first. */
template <class T, class C>
WINDOW_FN void beside_keep(const cuda_convolving &p, C *kept, int32_t channel, int32_t count)
{
    const int32_t taps = p.kernel[1] * p.kernel[2];
    __syncthreads();
    for (int32_t i = (int32_t)threadIdx.x; i < taps * count; i += (int32_t)blockDim.x) {
        const int32_t tap = i / count, c = channel + i - tap * count;
        const int32_t from = p.flip ? taps - 1 - tap : tap, row = from / p.kernel[2];
        kept[i] = c < p.groups
                      ? neural_widen((
                            (const T *)p.weight)[c * p.weight_stride[0] + row * p.weight_stride[3] +
                                                 (from - row * p.kernel[2]) * p.weight_stride[4]])
                      : (C)0;
    }
    __syncthreads();
}

/* f(row, channel, weights of the channels from there on) for all vectors of V channels that this thread
 * has; weights of one tap and the next are p.walk.lanes * V apart. */
template <class T, int V, class C, class F>
WINDOW_FN void beside_each(const cuda_convolving &p, F f)
{
    CONV_SHARED(memory);
    C *kept = (C *)memory;
    const window_walk &w = p.walk;
    const uint32_t beside = blockDim.x >> w.lane_bits;
    const uint32_t lane = threadIdx.x & (w.lanes - 1), first = threadIdx.x >> w.lane_bits;
    for (uint64_t from = (uint64_t)blockIdx.y * w.lanes; from < w.items;
         from += (uint64_t)gridDim.y * w.lanes) {
        beside_keep<T>(p, kept, (int32_t)from * V, (int32_t)w.lanes * V);
        if (from + lane >= w.items)
            continue;
        for (uint64_t row = (uint64_t)blockIdx.x * beside + first; row < w.rows;
             row += (uint64_t)gridDim.x * beside)
            f((uint32_t)row, ((int32_t)from + (int32_t)lane) * V, kept + lane * V);
    }
}

/* sum += x * weight, channel by channel. */
template <class T, int V, class C>
WINDOW_FN void beside_add(const T *x, const C (&weight)[V], C (&sum)[V])
{
    C some[V];
    neural_load<T, V>(x, 0, some);
#pragma unroll
    for (int k = 0; k < V; k++)
        sum[k] = neural_fma(some[k], weight[k], sum[k]);
}

/* Of floats by the one copy of the code (conv_activate_apart): a thread that has many sums would else skip a hundred
 * kilobytes of instructions for each. */
template <class C, int V> WINDOW_FN void beside_activate(int32_t epilogue, C (&sum)[V])
{
#pragma unroll
    for (int k = 0; k < V; k += 4) {
        float four[4] = {};
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (k + i < V)
                four[i] = (float)sum[k + i];
        if (sizeof(C) == 4)
            conv_activate_four(epilogue, four);
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (k + i < V)
                sum[k + i] = sizeof(C) == 4 ? (C)four[i] : conv_activate(epilogue, sum[k + i]);
    }
}

template <class T, int V, class C>
WINDOW_FN void beside_save(const cuda_convolving &p, T *to, int32_t channel, C (&sum)[V])
{
    if (p.bias)
#pragma unroll
        for (int k = 0; k < V; k++)
            sum[k] += neural_widen(((const T *)p.bias)[(channel + k) * p.bias_stride]);
    if (p.epilogue)
        beside_activate(p.epilogue, sum);
    neural_store<T, V>(to, 0, sum);
}

/* sum[a] += weight*x[a], vectors of channels; x are APART places from one to the next. */
template <class T, int V, class C, int N, int APART>
WINDOW_FN void beside_tap(const C *weight, const neural_vector<T, V> *x, C (*sum)[V])
{
    C share[V];
    neural_load<C, V>(weight, 0, share);
#pragma unroll
    for (int a = 0; a < N; a++)
#pragma unroll
        for (int k = 0; k < V; k++)
            sum[a][k] = neural_fma(share[k], neural_widen(x[a * APART].at[k]), sum[a][k]);
}

/* N vectors from `from` on, `step` elements apart, zero where the first's number and on is not below
 * extent. */
template <class T, int V, int N>
WINDOW_FN void beside_load(const T *from, int64_t step, int32_t first, int32_t extent,
                           neural_vector<T, V> (&x)[N])
{
#pragma unroll
    for (int j = 0; j < N; j++) {
        x[j] = neural_vector<T, V>();
        if ((uint32_t)(first + j) < (uint32_t)extent)
            x[j] = *(const neural_vector<T, V> *)(from + j * step);
    }
}

/* Windows of three by three, STEP apart both ways: ACROSS side by side and DOWN below each other, which
 * share rows of the image. A row of the walk is (image, tile across, tile down). */
template <class T, int V, class C, int STEP, int ACROSS, int DOWN>
WINDOW_FN void beside_square(const cuda_convolving &p)
{
    constexpr int SPAN = (ACROSS - 1) * STEP + 3, ROWS = (DOWN - 1) * STEP + 3;
    beside_each<T, V, C>(p, [&](uint32_t row, int32_t channel, const C *weights) {
        int32_t at[3];
        window_split<2>(p.walk, row, at);
        const int32_t right = at[1] * ACROSS, down = at[2] * DOWN;
        const int32_t left = right * STEP - p.before[2], top = down * STEP - p.before[1];
        const int32_t apart = (int32_t)p.walk.lanes * V;
        const T *from = (const T *)p.image + at[0] * p.image_stride[0] + channel +
                        top * p.image_stride[3] + left * p.image_stride[4];
        C sum[DOWN][ACROSS][V] = {};
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            neural_vector<T, V> span[SPAN];
            const bool inside = (uint32_t)(top + i) < (uint32_t)p.image_extent[1];
            beside_load<T, V, SPAN>(from + i * p.image_stride[3], p.image_stride[4], left,
                                    inside ? p.image_extent[2] : 0, span);
#pragma unroll
            for (int d = 0; d < DOWN; d++)
#pragma unroll
                for (int t = 0; t < 3; t++)
                    if (i >= d * STEP && i < d * STEP + 3)
                        beside_tap<T, V, C, ACROSS, STEP>(
                            weights + ((i - d * STEP) * 3 + t) * apart, span + t, sum[d]);
        }
        T *to = (T *)p.grid + at[0] * p.grid_stride[0] + channel + down * p.grid_stride[3] +
                right * p.grid_stride[4];
#pragma unroll
        for (int d = 0; d < DOWN; d++)
#pragma unroll
            for (int a = 0; a < ACROSS; a++)
                if (down + d < p.grid_extent[1] && right + a < p.grid_extent[2])
                    beside_save<T, V>(p, to + d * p.grid_stride[3] + a * p.grid_stride[4], channel,
                                      sum[d][a]);
    });
}

/* The gradient for the image of windows of three by three, two apart, that begin an odd number of elements
 * before it: two rows of 2*PAIRS elements, which are met by two rows of PAIRS + 1 windows. Even elements
 * are met by tap 1 of one window, odd ones by tap 0 of the next and tap 2 of the same. */
template <class T, int V, class C, int PAIRS>
WINDOW_FN void beside_met_square(const cuda_convolving &p)
{
    beside_each<T, V, C>(p, [&](uint32_t row, int32_t channel, const C *weights) {
        int32_t at[3];
        window_split<2>(p.walk, row, at);
        const int32_t right = at[1] * PAIRS, left = right + p.before[2] / 2;
        const int32_t top = at[2] + p.before[1] / 2, apart = (int32_t)p.walk.lanes * V;
        const T *from = (const T *)p.grid + at[0] * p.grid_stride[0] + channel +
                        top * p.grid_stride[3] + left * p.grid_stride[4];
        C sum[2][2][PAIRS][V] = {}; /* rows, even and odd elements */
#pragma unroll
        for (int i = 1; i >= 0; i--) {
            neural_vector<T, V> x[PAIRS + 1];
            const bool inside = (uint32_t)(top + i) < (uint32_t)p.grid_extent[1];
            beside_load<T, V, PAIRS + 1>(from + i * p.grid_stride[3], p.grid_stride[4], left,
                                         inside ? p.grid_extent[2] : 0, x);
#pragma unroll
            for (int r = i; r < 2; r++) {
                const C *w = weights + (i ? 0 : r ? 2 : 1) * 3 * apart;
                beside_tap<T, V, C, PAIRS, 1>(w + apart, x, sum[r][0]);
                beside_tap<T, V, C, PAIRS, 1>(w, x + 1, sum[r][1]);
                beside_tap<T, V, C, PAIRS, 1>(w + 2 * apart, x, sum[r][1]);
            }
        }
        T *to = (T *)p.image + at[0] * p.image_stride[0] + channel +
                2 * (at[2] * p.image_stride[3] + right * p.image_stride[4]);
#pragma unroll
        for (int r = 0; r < 2; r++)
#pragma unroll
            for (int a = 0; a < 2 * PAIRS; a++)
                if (2 * at[2] + r < p.image_extent[1] && 2 * right + a < p.image_extent[2])
                    beside_save<T, V>(p, to + r * p.image_stride[3] + a * p.image_stride[4],
                                      channel, sum[r][a & 1][a >> 1]);
    });
}

/* ACROSS windows side by side whose rows are of KERNEL elements, STEP apart; a row of the walk is (image,
 * tile, h), so that the windows of a block lie below each other and share elements. */
template <class T, int V, class C, int KERNEL, int STEP, int ACROSS>
WINDOW_FN void beside_tile(const cuda_convolving &p)
{
    constexpr int SPAN = (ACROSS - 1) * STEP + KERNEL;
    beside_each<T, V, C>(p, [&](uint32_t row, int32_t channel, const C *weights) {
        int32_t at[3];
        window_split<2>(p.walk, row, at);
        const int32_t first = at[1] * ACROSS, left = first * STEP - p.before[2];
        const int32_t apart = (int32_t)p.walk.lanes * V;
        const T *image = (const T *)p.image + at[0] * p.image_stride[0] + channel;
        C sum[ACROSS][V] = {};
        for (int32_t r = 0; r < p.kernel[1]; r++) {
            int32_t h;
            if (!conv_meets_along(p, 1, at[2], r, &h))
                continue;
            const T *line = image + h * p.image_stride[3];
            neural_vector<T, V> span[SPAN];
#pragma unroll
            for (int j = 0; j < SPAN; j++) {
                span[j] = neural_vector<T, V>();
                if ((uint32_t)(left + j) < (uint32_t)p.image_extent[2])
                    span[j] = *(const neural_vector<T, V> *)(line + (left + j) * p.image_stride[4]);
            }
#pragma unroll
            for (int t = 0; t < KERNEL; t++) {
                C share[V];
                neural_load<C, V>(weights + (r * KERNEL + t) * apart, 0, share);
#pragma unroll
                for (int a = 0; a < ACROSS; a++)
#pragma unroll
                    for (int k = 0; k < V; k++)
                        sum[a][k] =
                            neural_fma(share[k], neural_widen(span[a * STEP + t].at[k]), sum[a][k]);
            }
        }
        T *to = (T *)p.grid + at[0] * p.grid_stride[0] + channel + at[2] * p.grid_stride[3];
#pragma unroll
        for (int a = 0; a < ACROSS; a++)
            if (first + a < p.grid_extent[2])
                beside_save<T, V>(p, to + (first + a) * p.grid_stride[4], channel, sum[a]);
    });
}

/* An element of the image, by the windows that meet it, without dilation; rows are (image, h, w). */
template <class T, int V, class C> WINDOW_FN void beside_met(const cuda_convolving &p)
{
    beside_each<T, V, C>(p, [&](uint32_t row, int32_t channel, const C *weights) {
        int32_t at[3], tap[2], window[2];
        window_split<2>(p.walk, row, at);
        conv_first_met(p, 1, at[1], &tap[0], &window[0]);
        conv_first_met(p, 2, at[2], &tap[1], &window[1]);
        const T *grid = (const T *)p.grid + at[0] * p.grid_stride[0] + channel;
        C sum[V] = {};
        for (int32_t i = tap[0], h = window[0]; i < p.kernel[1] && h >= 0; i += p.stride[1], h--) {
            const T *line = grid + h * p.grid_stride[3];
            for (int32_t j = tap[1], w = window[1]; j < p.kernel[2] && w >= 0;
                 j += p.stride[2], w--) {
                C share[V];
                if (h >= p.grid_extent[1] || w >= p.grid_extent[2])
                    continue;
                neural_load<C, V>(weights + (i * p.kernel[2] + j) * (int32_t)p.walk.lanes * V, 0,
                                  share);
                beside_add<T, V>(line + w * p.grid_stride[4], share, sum);
            }
        }
        beside_save<T, V>(p,
                          (T *)p.image + at[0] * p.image_stride[0] + channel +
                              at[1] * p.image_stride[3] + at[2] * p.image_stride[4],
                          channel, sum);
    });
}

/* An element of the grid, or (INPUT) of the image, windows as they may be; rows are (image, h, w). */
template <class T, int V, class C, bool INPUT> WINDOW_FN void beside_one(const cuda_convolving &p)
{
    beside_each<T, V, C>(p, [&](uint32_t row, int32_t channel, const C *weights) {
        int32_t split[3], tap[3] = {0, 0, 0}, at[3];
        window_split<2>(p.walk, row, split);
        const int32_t here[3] = {0, split[1], split[2]};
        const T *from = (const T *)(INPUT ? p.grid : p.image);
        C sum[V] = {};
        for (tap[1] = 0; tap[1] < p.kernel[1]; tap[1]++)
            for (tap[2] = 0; tap[2] < p.kernel[2]; tap[2]++) {
                if (INPUT ? !conv_met_by(p, here, tap, at) : !conv_meets(p, here, tap, at))
                    continue;
                C share[V];
                neural_load<C, V>(weights +
                                      (tap[1] * p.kernel[2] + tap[2]) * (int32_t)p.walk.lanes * V,
                                  0, share);
                beside_add<T, V>(from + conv_offset(INPUT ? p.grid_stride : p.image_stride,
                                                    split[0], channel, at),
                                 share, sum);
            }
        beside_save<T, V>(
            p,
            (T *)(INPUT ? p.image : p.grid) +
                conv_offset(INPUT ? p.image_stride : p.grid_stride, split[0], channel, here),
            channel, sum);
    });
}

#endif
