/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Normalisations with weights of any dimensions, and gradients with those for weights, of one dtype,
 * CUDA_DTYPE: sums of cells, what follows from them for rows, and one pass that writes. Where rows
 * lie side by side, threads have columns. */
#include "neural/group_cells.cuh"
#include "neural/group_columns.cuh"
#include "neural/group_resident.cuh"

/* ---- a warp a row, or a weight ---- */
template <class T, bool GRAD> NEURAL_FN void row_finish(const group_params &p)
{
    typedef typename neural_computed<T>::type C;
    enum { N = GRAD ? 4 : 2 };
    const int64_t lane = threadIdx.x % 32, rows = p.cells / p.per_row;
    int64_t row = (int64_t)blockIdx.x * (GROUP_THREADS / 32) + threadIdx.x / 32;
    for (; row < rows; row += (int64_t)gridDim.x * (GROUP_THREADS / 32)) {
        double s[N];
#pragma unroll
        for (int k = 0; k < N; k++)
            s[k] = 0;
        for (int64_t i = lane; i < p.per_row * p.parts; i += 32) {
            const int64_t in_row = i / p.parts, part = i - in_row * p.parts;
            const int64_t cell = row * p.per_row + in_row;
            const double *from =
                (const double *)p.partial + (cell * p.cell_step + part * p.part_step) * N;
            double by = 1;
            if (GRAD && p.scale)
                by = (double)neural_widen(
                    ((const T *)p.scale)[group_place(p.dim, p.n_cell, (uint64_t)cell).scale]);
#pragma unroll
            for (int k = 0; k < N; k++)
                s[k] += k < 2 ? from[k] : from[k] * by;
        }
        neural_sum<N, true>(s);
        const double shift = group_shift<T>(p, row * p.per_row), n = p.count;
        if (lane)
            continue;
        const double d = p.centred ? s[0] / n : 0;
        double variance = s[1] / n - d * d, *to = group_row(p, row);
        variance = variance > 0 || !(variance == variance) ? variance : 0.0;
        const double factor = 1.0 / sqrt(variance + p.eps);
        to[GROUP_SHIFT] = sizeof(C) == 8 && !p.shifted && p.centred ? shift + d : shift;
        to[GROUP_MEAN] = p.centred ? shift + d : 0;
        to[GROUP_DELTA] = d;
        to[GROUP_FACTOR] = factor;
        if (GRAD) {
            to[GROUP_A] = p.centred ? s[N - 2] / n : 0;
            to[GROUP_B] = (s[N - 1] - d * s[N - 2]) / n * factor * factor;
        } else if (p.mean || p.variance) {
            const group_at at = group_place(p.dim, p.n_cell, (uint64_t)(row * p.per_row));
            if (p.mean)
                ((C *)p.mean)[at.g] = (C)(shift + d);
            if (p.variance)
                ((C *)p.variance)[at.bias] = (C)variance;
        }
    }
}

template <class T> NEURAL_FN void weight_finish(const group_weights &p)
{
    const int64_t lane = threadIdx.x % 32;
    int64_t w = (int64_t)blockIdx.x * (GROUP_THREADS / 32) + threadIdx.x / 32;
    for (; w < p.weights; w += (int64_t)gridDim.x * (GROUP_THREADS / 32)) {
        const group_at to = group_place(p.dim, p.n_weight, (uint64_t)w);
        double s[2] = {0, 0};
        for (int64_t i = lane; i < p.sums * p.parts; i += 32) {
            const int64_t number = i / p.parts, part = i - number * p.parts;
            const int64_t cell =
                to.x + group_place(p.dim + p.n_weight, p.n_sum, (uint64_t)number).x;
            const int64_t at = cell * p.cell_step + part * p.part_step;
            if (p.rows_at) {
                const double *from = (const double *)p.partial + at * 4;
                const double *row = (const double *)p.rows_at + cell / p.per_row * GROUP_ROW;
                s[0] += (from[3] - row[GROUP_DELTA] * from[2]) * row[GROUP_FACTOR];
                s[1] += from[2];
            } else {
                s[0] += ((const double *)p.partial)[at * 2];
                s[1] += ((const double *)p.partial)[at * 2 + 1];
            }
        }
        neural_sum<2, true>(s);
        if (lane)
            continue;
        if (p.scale)
            neural_narrow((T *)p.scale + to.out, (typename neural_computed<T>::type)s[0]);
        if (p.bias)
            neural_narrow((T *)p.bias + to.bias, (typename neural_computed<T>::type)s[1]);
    }
}

/* The same of weights whose sums are complete and lie side by side: a lane a weight, the parts of a block's
 * weights shared among its warps, so that memory is read in whole lines. */
template <class T> NEURAL_FN void weight_finish_beside(const group_weights &p)
{
    typedef typename neural_computed<T>::type C;
    enum { WARPS = GROUP_THREADS / 32 };
    __shared__ double all[WARPS][2][32];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int64_t w = (int64_t)blockIdx.x * 32 + lane;
    double s[2] = {0, 0};
#pragma unroll 4
    for (int part = warp; w < p.weights && part < p.parts; part += WARPS) {
        const neural_vector<double, 2> from =
            ((const neural_vector<double, 2> *)p.partial)[w + part * p.part_step];
        s[0] += from.at[0];
        s[1] += from.at[1];
    }
    all[warp][0][lane] = s[0];
    all[warp][1][lane] = s[1];
    __syncthreads();
    if (warp > 1 || w >= p.weights)
        return;
    double sum = 0; /* of the scale by one warp, of the bias by another */
    for (int k = 0; k < WARPS; k++)
        sum += all[k][warp][lane];
    const uint64_t to = warp ? p.bias : p.scale;
    if (to) {
        const group_at at = group_place(p.dim, p.n_weight, (uint64_t)w);
        neural_narrow((T *)to + (warp ? at.bias : at.out), (C)sum);
    }
}

#define GROUP_DTYPE_(dtype) cuda_dtype<NDP_##dtype>::stored
#define GROUP_DTYPE(dtype) GROUP_DTYPE_(dtype)
typedef GROUP_DTYPE(CUDA_DTYPE) group_element;
enum {
    GROUP_V = 16 / sizeof(group_element),
    GROUP_COLUMNS = sizeof(group_element) == 8 ? 2 : 4 /* of a thread */
};
#define GROUP_NAME_(name, dtype) group_##name##_##dtype
#define GROUP_NAME(name, dtype) GROUP_NAME_(name, dtype)
#define GROUP_KERNEL(name, params, ...) GROUP_KERNEL_OF(1, name, params, __VA_ARGS__)
#define GROUP_KERNEL_OF(blocks, name, params, ...)                      \
    extern "C" __global__ void __launch_bounds__(GROUP_THREADS, blocks) \
        GROUP_NAME(name, CUDA_DTYPE)(const __grid_constant__ params p)  \
    {                                                                   \
        __VA_ARGS__(p);                                                 \
    }
#define GROUP_BOTH(end, GRAD)                                                                      \
    GROUP_KERNEL(sums##end, group_params, cell_sums<group_element, 1, GRAD, false>)                \
    GROUP_KERNEL(sums_vec##end, group_params, cell_sums<group_element, GROUP_V, GRAD, false>)      \
    GROUP_KERNEL(sums_warp##end, group_params, cell_sums<group_element, 1, GRAD, true>)            \
    GROUP_KERNEL(sums_warp_vec##end, group_params, cell_sums<group_element, GROUP_V, GRAD, true>)  \
    GROUP_KERNEL(sums_columns##end, group_params, column_sums<group_element, GROUP_COLUMNS, GRAD>) \
    GROUP_KERNEL(apply##end, group_params, cell_apply<group_element, 1, GRAD, false>)              \
    GROUP_KERNEL(apply_vec##end, group_params, cell_apply<group_element, GROUP_V, GRAD, false>)    \
    GROUP_KERNEL(apply_warp##end, group_params, cell_apply<group_element, 1, GRAD, true>)          \
    GROUP_KERNEL(apply_warp_vec##end, group_params,                                                \
                 cell_apply<group_element, GROUP_V, GRAD, true>)                                   \
    GROUP_KERNEL_OF(3, apply_columns##end, group_params,                                           \
                    column_apply<group_element, GROUP_COLUMNS, GRAD>)                              \
    GROUP_KERNEL(rows##end, group_params, row_finish<group_element, GRAD>)
GROUP_BOTH(, false)
GROUP_BOTH(_grad, true)
extern "C" __global__ void __launch_bounds__(GROUP_HELD_THREADS, 2)
    GROUP_NAME(held, CUDA_DTYPE)(const __grid_constant__ group_params p)
{
    cell_held<group_element, GROUP_V>(p);
}
GROUP_KERNEL(columns, group_params, column_weights<group_element, GROUP_COLUMNS>)
GROUP_KERNEL(column, group_params, column_weights<group_element, 1>)
GROUP_KERNEL(weights, group_weights, weight_finish<group_element>)
GROUP_KERNEL(weights_beside, group_weights, weight_finish_beside<group_element>)
#define GROUP_RESIDENT_F16 GROUP_RESIDENT(, false) GROUP_RESIDENT(_grad, true)
#define GROUP_RESIDENT_BF16 GROUP_RESIDENT_F16
#define GROUP_RESIDENT_F32 GROUP_RESIDENT_F16
#define GROUP_RESIDENT_F64 /* needs two passes over a row */
#define GROUP_RESIDENT_OF_(dtype) GROUP_RESIDENT_##dtype
#define GROUP_RESIDENT_OF(dtype) GROUP_RESIDENT_OF_(dtype)
GROUP_RESIDENT_OF(CUDA_DTYPE)
