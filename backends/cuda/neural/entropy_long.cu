/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Cross entropy without smoothing of long rows of vectors, and its gradient. A block serves a row: each
 * thread has several vectors under way at once and takes maxima and sums of exponentials a tile of them at
 * a time. A gradient's row is held in registers where it fits, and read twice where not. */
#include "neural/entropy.cuh"
#include "neural/entropy_tile.cuh"

enum { U = NEURAL_ENTROPY_VECTORS, WARPS = NEURAL_ENTROPY_THREADS / 32 };

/* A row's maximum, and the sum of exponentials below it. */
struct entropy_whole {
    float max;
    double sum;
};

NEURAL_FN float warp_max(float x)
{
    for (int h = 16; h; h /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, h));
    return x;
}
NEURAL_FN double warp_sum(double x)
{
    for (int h = 16; h; h /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, h);
    return x;
}

/* Of the sums of all threads below their warps' maxima; turn: of the block's rows, so that the next row's
 * words are others and one barrier is enough. */
NEURAL_FN entropy_whole joined(float max, float sum, int turn)
{
    static __shared__ entropy_whole part[2][WARPS];
    const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    const double all = warp_sum((double)sum);
    if (lane == 0)
        part[turn % 2][threadIdx.x / 32] = {max, all};
    __syncthreads();
    const entropy_whole own = lane < warps ? part[turn % 2][lane] : entropy_whole{-INFINITY, 0};
    const float top = warp_max(own.max);
    return {top, warp_sum(own.sum * entropy_exp(own.max - entropy_base(top)))};
}

/* A row that the threads hold. */
template <class T> NEURAL_FN entropy_whole sums_of(const entropy_tile<T, U> &held, int turn)
{
    const float top = warp_max(held.max());
    return joined(top, held.sum(entropy_base(top)), turn);
}

/* A row of any length, a tile after the other. */
template <class T> NEURAL_FN entropy_whole sums_of(const T *row, int items, int turn)
{
    float max = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < items; i += U * blockDim.x) {
        entropy_tile<T, U> t;
        t.read(row, i, blockDim.x, items);
        const float top = fmaxf(max, t.max()), base = entropy_base(top);
        sum = sum * entropy_exp(max - base) + t.sum(base);
        max = top;
    }
    const float top = warp_max(max);
    return joined(top, sum * entropy_exp(max - entropy_base(top)), turn);
}

template <class T> NEURAL_FN double weight_of(const neural_entropy &p, int64_t y)
{
    return p.weights ? (double)neural_widen(((const T *)p.weights)[y * p.weights_step]) : 1.0;
}

template <class T> NEURAL_FN void losses_of(const neural_entropy &p)
{
    const int items = (int)(p.n / (16 / (int)sizeof(T)));
    int turn = 0;
    for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
        const T *a = (const T *)p.a + row * p.a_row;
        const int64_t y = entropy_target(p, row, threadIdx.x == 0);
        double loss = 0;
        if (y >= 0) {
            const entropy_whole t = sums_of(a, items, turn++);
            if (threadIdx.x == 0)
                loss = weight_of<T>(p, y) *
                       (((double)t.max - (double)neural_widen(a[y])) + log(t.sum));
        }
        if (threadIdx.x == 0)
            ((float *)p.out)[row * p.out_row] = (float)loss;
    }
}

/* A row that does not count. */
template <class T> NEURAL_FN void write_zeros(T *out, int items)
{
    const float zero[16 / sizeof(T)] = {};
    for (int i = threadIdx.x; i < items; i += blockDim.x)
        neural_store<T, 16 / sizeof(T)>(out, i, zero);
}

template <class T, bool HELD> NEURAL_FN void gradients_of(const neural_entropy &p)
{
    enum { V = 16 / sizeof(T) };
    const int items = (int)(p.n / V), first = threadIdx.x, step = blockDim.x;
    int turn = 0;
    for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
        const T *a = (const T *)p.a + row * p.a_row;
        T *out = (T *)p.out + row * p.out_row;
        const int64_t y = entropy_target(p, row, threadIdx.x == 0);
        if (y < 0) {
            write_zeros(out, items);
            continue;
        }
        entropy_tile<T, U> tile;
        if (HELD)
            tile.read(a, first, step, items);
        const entropy_whole t = HELD ? sums_of(tile, turn++) : sums_of(a, items, turn++);
        const float g = (float)(weight_of<T>(p, y) * ((const float *)p.g)[row * p.g_step]);
        const float factor = __fdiv_rn(g, (float)t.sum);
        const bool owns = (int)(y / V) % step == first; /* writes the target's vector */
        const float own = owns ? neural_widen(a[y]) : 0;
        if (HELD)
            tile.write(out, first, step, items, t.max, factor);
        for (int i = first; !HELD && i < items; i += U * step) {
            tile.read(a, i, step, items);
            tile.write(out, i, step, items, t.max, factor);
        }
        if (owns)
            neural_narrow(&out[y], entropy_exp(own - t.max) * factor - g);
    }
}

#define ENTROPY_KERNEL(name, ...)                                        \
    extern "C" __global__ void __launch_bounds__(NEURAL_ENTROPY_THREADS) \
        name(const __grid_constant__ neural_entropy p)                   \
    {                                                                    \
        __VA_ARGS__(p);                                                  \
    }
#define ENTROPY_OF(dtype, T)                                                 \
    ENTROPY_KERNEL(cross_entropy_##dtype##_long, losses_of<T>)               \
    ENTROPY_KERNEL(cross_entropy_grad_##dtype##_held, gradients_of<T, true>) \
    ENTROPY_KERNEL(cross_entropy_grad_##dtype##_long, gradients_of<T, false>)
ENTROPY_OF(f16, __half)
ENTROPY_OF(bf16, __nv_bfloat16)
ENTROPY_OF(f32, float)
