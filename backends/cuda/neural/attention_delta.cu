/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What gradients of attention begin with: the sum of g*o of each query, and for flash_wide_grad.cuh
 * shifts of scores and zeros in place of the turns of tiles. Some threads share a row. */
#include "neural/flash_weight.cuh"
#include "neural/neural.cuh"

#define DELTA_DTYPE_(dtype) cuda_dtype<NDP_##dtype>::stored
#define DELTA_DTYPE(dtype) DELTA_DTYPE_(dtype)
typedef DELTA_DTYPE(CUDA_DTYPE) delta_element;
typedef neural_computed<delta_element>::type delta_sum;

enum { DELTA_CHUNK = 16 / sizeof(delta_element) };
struct alignas(16) delta_piece {
    delta_element x[DELTA_CHUNK];
};

NEURAL_FN const delta_element *delta_row(const attention_view &v, int64_t b, int64_t h, int64_t i)
{
    return (const delta_element *)v.at + b * v.stride[0] + h * v.stride[1] + i * v.stride[2];
}
/* Columns of a thread, 16 bytes of both rows at a time. */
NEURAL_FN delta_sum delta_chunks(const delta_element *g, const delta_element *o, int64_t n,
                                 int thread)
{
    enum { CHUNK = DELTA_CHUNK };
    delta_sum sum = 0;
    for (int64_t c = thread * CHUNK; c < n; c += ATTENTION_DELTA_BESIDE * CHUNK) {
        const delta_piece x = *(const delta_piece *)(g + c), y = *(const delta_piece *)(o + c);
#pragma unroll
        for (int k = 0; k < CHUNK; k++)
            sum = neural_fma((delta_sum)neural_widen(x.x[k]), (delta_sum)neural_widen(y.x[k]), sum);
    }
    return sum;
}
NEURAL_FN delta_sum delta_columns(const delta_element *g, int64_t g_step, const delta_element *o,
                                  int64_t o_step, int64_t n, int thread)
{
    delta_sum sum = 0;
    for (int64_t c = thread; c < n; c += ATTENTION_DELTA_BESIDE)
        sum = neural_fma((delta_sum)neural_widen(g[c * g_step]),
                         (delta_sum)neural_widen(o[c * o_step]), sum);
    return sum;
}
/* What is taken from scores of query i; of one that there is not, so that weights are 0. */
NEURAL_FN float delta_shift(const attention_params &p, int64_t b, int64_t h, int64_t i)
{
    const int64_t *s = p.lse.stride;
    return i < p.m ? flash_shift(((const float *)p.lse.at)[b * s[0] + h * s[1] + i * s[2]])
                   : -FLASH_NOTHING;
}
NEURAL_FN void delta_run(const attention_params &p)
{
    const int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
                  row = thread / ATTENTION_DELTA_BESIDE;
    const int beside = (int)(thread % ATTENTION_DELTA_BESIDE);
    for (int64_t i = thread; i < p.turn_count; i += (int64_t)gridDim.x * blockDim.x)
        ((uint32_t *)p.turns)[i] = 0;
    const bool inside = row < p.batch * p.heads * p.sum_rows;
    const int64_t i = inside ? row % p.sum_rows : 0, b = inside ? row / p.sum_rows / p.heads : 0,
                  h = inside ? row / p.sum_rows % p.heads : 0;
    delta_sum sum = 0;
    if (inside && i < p.m) {
        const delta_element *g = delta_row(p.g, b, h, i), *o = delta_row(p.o, b, h, i);
        sum = p.whole_sums ? delta_chunks(g, o, p.e, beside)
                           : delta_columns(g, p.g.stride[3], o, p.o.stride[3], p.e, beside);
    }
#pragma unroll
    for (int by = ATTENTION_DELTA_BESIDE / 2; by > 0; by /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, by);
    if (!inside || beside != 0)
        return;
    ((delta_sum *)p.delta.at)[row] = sum;
    if (p.shift)
        ((float *)p.shift)[row] = delta_shift(p, b, h, i);
}

#define DELTA_KERNEL_(dtype)                                                \
    extern "C" __global__ void __launch_bounds__(ATTENTION_THREADS)         \
        attention_delta_##dtype(const __grid_constant__ attention_params p) \
    {                                                                       \
        delta_run(p);                                                       \
    }
#define DELTA_KERNEL(dtype) DELTA_KERNEL_(dtype)
DELTA_KERNEL(CUDA_DTYPE)
