/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Normalisations with weights of any dimensions, and gradients with those for weights, of one dtype,
 * CUDA_DTYPE: sums of cells, what follows from them for rows, and one pass that writes. Where rows
 * lie side by side, threads have columns. */
#include "neural/group.cuh"

/* ---- items of cells: a warp or a block has a part of a cell ---- */
template <class T, int V, bool GRAD, bool WARP> NEURAL_FN void cell_sums(const group_params &p)
{
    typedef typename neural_computed<T>::type C;
    typedef group_sums<C, GRAD> sums;
    const int64_t beside = WARP ? GROUP_THREADS / 32 : 1, lanes = WARP ? 32 : GROUP_THREADS;
    const int64_t lane = WARP ? threadIdx.x % 32 : threadIdx.x;
    int64_t unit = (int64_t)blockIdx.x * beside + (WARP ? threadIdx.x / 32 : 0);
    for (; unit < p.cells * p.parts; unit += (int64_t)gridDim.x * beside) {
        const int64_t cell = unit / p.parts, part = unit - cell * p.parts;
        const group_at from = group_place(p.dim, p.n_cell, (uint64_t)cell);
        const double shift = group_shift<T>(p, cell);
        const int64_t most = (part + 1) * p.chunk, end = most < p.items ? most : p.items;
        sums all;
        for (int64_t i = part * p.chunk + lane; i < end; i += GROUP_UNROLL * lanes) {
            C x[GROUP_UNROLL][V], g[GROUP_UNROLL][V];
#pragma unroll
            for (int u = 0; u < GROUP_UNROLL; u++)
                if (i + u * lanes < end) {
                    const group_at at = group_item(p, (uint64_t)(i + u * lanes));
                    neural_load<T, V>((const T *)p.x + from.x + at.x, 0, x[u]);
                    if (GRAD)
                        neural_load<T, V>((const T *)p.g + from.g + at.g, 0, g[u]);
                }
#pragma unroll
            for (int u = 0; u < GROUP_UNROLL; u++)
                if (i + u * lanes < end)
                    all.template take<T, V>(x[u], g[u], shift);
        }
        neural_sum<sums::N, WARP>(all.s);
        double *to =
            (double *)p.partial + (cell * p.cell_step + part * p.part_step) * sums::N;
        if (lane == 0)
#pragma unroll
            for (int k = 0; k < sums::N; k++)
                to[k] = all.s[k];
    }
}

/* The last parts come first: some of what was read last is in the cache still. */
template <class T, int V, bool GRAD, bool WARP> NEURAL_FN void cell_apply(const group_params &p)
{
    typedef typename neural_computed<T>::type C;
    const int64_t beside = WARP ? GROUP_THREADS / 32 : 1, lanes = WARP ? 32 : GROUP_THREADS;
    const int64_t lane = WARP ? threadIdx.x % 32 : threadIdx.x, units = p.cells * p.parts;
    int64_t turn = (int64_t)blockIdx.x * beside + (WARP ? threadIdx.x / 32 : 0);
    for (; turn < units; turn += (int64_t)gridDim.x * beside) {
        const int64_t unit = units - 1 - turn, cell = unit / p.parts, part = unit - cell * p.parts;
        const group_at from = group_place(p.dim, p.n_cell, (uint64_t)cell);
        const double *row = group_row(p, cell / p.per_row);
        const group_affine<C> affine(row);
        const group_slope<C> slope(row);
        const C scale = p.scale ? neural_widen(((const T *)p.scale)[from.scale]) : (C)1;
        const C bias = p.bias ? neural_widen(((const T *)p.bias)[from.bias]) : (C)0;
        const int64_t most = (part + 1) * p.chunk, end = most < p.items ? most : p.items;
        for (int64_t i = part * p.chunk + lane; i < end; i += GROUP_UNROLL * lanes) {
            C x[GROUP_UNROLL][V], g[GROUP_UNROLL][V];
            int64_t to[GROUP_UNROLL];
#pragma unroll
            for (int u = 0; u < GROUP_UNROLL; u++)
                if (i + u * lanes < end) {
                    const group_at at = group_item(p, (uint64_t)(i + u * lanes));
                    to[u] = from.out + at.out;
                    neural_load<T, V>((const T *)p.x + from.x + at.x, 0, x[u]);
                    if (GRAD)
                        neural_load<T, V>((const T *)p.g + from.g + at.g, 0, g[u]);
                }
#pragma unroll
            for (int u = 0; u < GROUP_UNROLL; u++)
                if (i + u * lanes < end) {
#pragma unroll
                    for (int k = 0; k < V; k++) {
                        if (GRAD)
                            x[u][k] = slope.of(x[u][k], g[u][k] * scale);
                        else if (p.bias)
                            x[u][k] = neural_fma(affine.of(x[u][k]), scale, bias);
                        else
                            x[u][k] = affine.of(x[u][k]) * scale;
                    }
                    neural_store<T, V>((T *)p.out + to[u], 0, x[u]);
                }
        }
    }
}

/* ---- columns: a thread has a vector of cells side by side, and every so many items ---- */
struct column_place {
    int64_t cell, end; /* of items */
    int lane, line, lines;
    bool has;
    group_at from;
    __device__ __forceinline__ column_place(const group_params &p, int V)
    {
        lane = (int)threadIdx.x & (p.lanes - 1);
        line = (int)threadIdx.x / p.lanes;
        lines = GROUP_THREADS / p.lanes;
        cell = ((int64_t)blockIdx.x * p.lanes + lane) * V;
        has = cell < p.cells;
        from = group_place(p.dim, p.n_cell, has ? (uint64_t)cell : 0);
        const int64_t most = ((int64_t)blockIdx.y + 1) * p.chunk;
        end = most < p.items ? most : p.items;
    }
};

/* The sums of all lines of a block, by its first one, in order; N of each of V columns. */
template <int V, int N>
NEURAL_FN void column_join(const group_params &p, const column_place &at, double (&s)[V][N])
{
    __shared__ double all[GROUP_THREADS][V * N];
#pragma unroll
    for (int k = 0; k < V * N; k++)
        all[threadIdx.x][k] = s[k / N][k % N];
    __syncthreads();
    if (at.line || !at.has)
        return;
    double *to = (double *)p.partial +
                 (at.cell * p.cell_step + (int64_t)blockIdx.y * p.part_step) * N;
#pragma unroll
    for (int k = 0; k < V * N; k++) {
        double sum = all[at.lane][k];
        for (int l = 1; l < at.lines; l++)
            sum += all[l * p.lanes + at.lane][k];
        to[(k / N) * p.cell_step * N + k % N] = sum;
    }
}

template <class T, int V, bool GRAD> NEURAL_FN void column_sums(const group_params &p)
{
    typedef typename neural_computed<T>::type C;
    typedef group_sums<C, GRAD> sums;
    const column_place at(p, V);
    sums all[V];
    double shift[V], s[V][sums::N];
#pragma unroll
    for (int k = 0; k < V; k++)
        shift[k] = at.has ? group_shift<T>(p, at.cell + k) : 0;
    int64_t i = (int64_t)blockIdx.y * p.chunk + at.line;
    for (; at.has && i < at.end; i += GROUP_UNROLL * at.lines) {
        C x[GROUP_UNROLL][V], g[GROUP_UNROLL][V];
        const bool whole = i + (GROUP_UNROLL - 1) * at.lines < at.end;
#pragma unroll
        for (int u = 0; u < GROUP_UNROLL; u++)
            if (i + u * at.lines < at.end) {
                const group_at item = group_item(p, (uint64_t)(i + u * at.lines));
                neural_load<T, V>((const T *)p.x + at.from.x + item.x, 0, x[u]);
                if (GRAD)
                    neural_load<T, V>((const T *)p.g + at.from.g + item.g, 0, g[u]);
            }
#pragma unroll
        for (int k = 0; k < V; k++) {
            C down[GROUP_UNROLL], by[GROUP_UNROLL];
#pragma unroll
            for (int u = 0; u < GROUP_UNROLL; u++) {
                down[u] = x[u][k];
                by[u] = GRAD ? g[u][k] : (C)0;
            }
            if (whole)
                all[k].template take<T, GROUP_UNROLL>(down, by, shift[k]);
#pragma unroll
            for (int u = 0; u < GROUP_UNROLL; u++)
                if (!whole && i + u * at.lines < at.end) {
                    const C one[1] = {down[u]}, with[1] = {by[u]};
                    all[k].add(one, with, shift[k]);
                }
        }
    }
#pragma unroll
    for (int k = 0; k < V * sums::N; k++)
        s[k / sums::N][k % sums::N] = all[k / sums::N].s[k % sums::N];
    column_join<V, sums::N>(p, at, s);
}

template <class T, int V, bool GRAD> NEURAL_FN void column_apply(const group_params &p)
{
    typedef typename neural_computed<T>::type C;
    const column_place at(p, V);
    C high[V], low[V], factor[V], rest[V], a[V], scale[V], bias[V];
    if (!at.has)
        return;
#pragma unroll
    for (int k = 0; k < V; k++) {
        const double *row = group_row(p, (at.cell + k) / p.per_row);
        const group_affine<C> affine(row);
        high[k] = affine.high;
        low[k] = affine.low;
        factor[k] = affine.factor;
        rest[k] = GRAD ? (C)row[GROUP_B] : affine.rest;
        a[k] = GRAD ? (C)row[GROUP_A] : (C)0;
        scale[k] = (C)1;
        bias[k] = (C)0;
        if (p.scale)
            scale[k] = neural_widen(((const T *)p.scale)[at.from.scale + k * p.dim[0].scale]);
        if (p.bias)
            bias[k] = neural_widen(((const T *)p.bias)[at.from.bias + k * p.dim[0].bias]);
    }
    int64_t i = (int64_t)blockIdx.y * p.chunk + at.line;
    for (; i < at.end; i += 2 * at.lines) {
        C x[2][V], g[2][V];
        int64_t to[2];
#pragma unroll
        for (int u = 0; u < 2; u++)
            if (i + u * at.lines < at.end) {
                const group_at item = group_item(p, (uint64_t)(i + u * at.lines));
                to[u] = at.from.out + item.out;
                neural_load<T, V>((const T *)p.x + at.from.x + item.x, 0, x[u]);
                if (GRAD)
                    neural_load<T, V>((const T *)p.g + at.from.g + item.g, 0, g[u]);
            }
#pragma unroll
        for (int u = 0; u < 2; u++)
            if (i + u * at.lines < at.end) {
#pragma unroll
                for (int k = 0; k < V; k++) {
                    const C t = (x[u][k] - high[k]) - low[k];
                    if (GRAD)
                        x[u][k] = ((g[u][k] * scale[k] - a[k]) - t * rest[k]) * factor[k];
                    else if (p.bias)
                        x[u][k] = neural_fma(neural_fma(t, factor[k], t * rest[k]), scale[k], bias[k]);
                    else
                        x[u][k] = neural_fma(t, factor[k], t * rest[k]) * scale[k];
                }
                neural_store<T, V>((T *)p.out + to[u], 0, x[u]);
            }
    }
}

/* Cells are weights, items are rows whose statistics are known: sums of g times the normalised x,
 * and of g. */
template <class T, int V> NEURAL_FN void column_weights(const group_params &p)
{
    typedef typename neural_computed<T>::type C;
    const column_place at(p, V);
    double s[V][2];
#pragma unroll
    for (int k = 0; k < V; k++)
        s[k][0] = s[k][1] = 0;
    int64_t i = (int64_t)blockIdx.y * p.chunk + at.line;
    for (; at.has && i < at.end; i += GROUP_UNROLL * at.lines) {
        C x[GROUP_UNROLL][V], g[GROUP_UNROLL][V], part[V][2];
#pragma unroll
        for (int k = 0; k < V; k++)
            part[k][0] = part[k][1] = 0;
#pragma unroll
        for (int u = 0; u < GROUP_UNROLL; u++)
            if (i + u * at.lines < at.end) {
                const group_at item = group_item(p, (uint64_t)(i + u * at.lines));
                neural_load<T, V>((const T *)p.x + at.from.x + item.x, 0, x[u]);
                neural_load<T, V>((const T *)p.g + at.from.g + item.g, 0, g[u]);
            }
#pragma unroll
        for (int u = 0; u < GROUP_UNROLL; u++)
            if (i + u * at.lines < at.end) {
                const double *row = group_row(p, i + u * at.lines);
                const C high = (C)row[GROUP_MEAN], factor = (C)row[GROUP_FACTOR];
                const C low = (C)(row[GROUP_MEAN] - (double)high);
#pragma unroll
                for (int k = 0; k < V; k++) {
                    const C t = ((x[u][k] - high) - low) * factor;
                    part[k][0] = neural_fma(g[u][k], t, part[k][0]);
                    part[k][1] += g[u][k];
                }
            }
#pragma unroll
        for (int k = 0; k < V; k++) {
            s[k][0] += (double)part[k][0];
            s[k][1] += (double)part[k][1];
        }
    }
    column_join<V, 2>(p, at, s);
}

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

/* ---- a block holds a dense row in shared memory, where each vector is its thread's alone ---- */
template <class T, int V>
NEURAL_FN void held_sum(double (&s)[2], const neural_vector<T, V> *stage, int vectors, double shift)
{
    typedef typename neural_computed<T>::type C;
    group_sums<C, false> all;
#pragma unroll 4
    for (int j = (int)threadIdx.x; j < vectors; j += (int)blockDim.x) {
        C x[V], none[V] = {};
        neural_load<T, V>((const T *)(stage + j), 0, x);
        all.template take<T, V>(x, none, shift);
    }
    s[0] = all.s[0];
    s[1] = all.s[1];
    neural_sum<2, false>(s);
}

template <class T, int V> NEURAL_FN void held_apply(const group_params &p)
{
    typedef typename neural_computed<T>::type C;
    typedef neural_vector<T, V> vector;
    GROUP_SHARED(memory);
    vector *stage = (vector *)memory;
    const int vectors = (int)(p.per_row * p.items);
    for (int64_t row = blockIdx.x; row < p.cells / p.per_row; row += gridDim.x) {
        const group_at from = group_place(p.dim, p.n_cell, (uint64_t)(row * p.per_row));
        const T *x = (const T *)p.x + from.x;
        for (int j = (int)threadIdx.x; j < vectors; j += (int)blockDim.x)
            group_copy(stage + j, (const vector *)x + j);
        double shift = (double)neural_widen(*x), s[2], known[GROUP_ROW];
        group_copied();
        held_sum<T, V>(s, stage, vectors, shift);
        if (sizeof(C) == 8) {
            shift += s[0] / p.count;
            held_sum<T, V>(s, stage, vectors, shift);
        }
        const double d = s[0] / p.count, mean = shift + d;
        double variance = s[1] / p.count - d * d;
        variance = variance > 0 || !(variance == variance) ? variance : 0.0;
        known[GROUP_MEAN] = mean;
        known[GROUP_FACTOR] = 1.0 / sqrt(variance + p.eps);
        const group_affine<C> affine(known);
        for (int j = (int)threadIdx.x; j < vectors; j += (int)blockDim.x) {
            const int64_t cell = p.per_row == 1 ? 0 : cuda_quotient((uint32_t)j, p.by_items);
            C v[V], scale = (C)1, bias = (C)0;
            neural_load<T, V>((const T *)(stage + j), 0, v);
            if (p.scale)
                scale = neural_widen(((const T *)p.scale)[from.scale + cell * p.dim[0].scale]);
            if (p.bias)
                bias = neural_widen(((const T *)p.bias)[from.bias + cell * p.dim[0].bias]);
#pragma unroll
            for (int k = 0; k < V; k++)
                v[k] = p.bias ? neural_fma(affine.of(v[k]), scale, bias) : affine.of(v[k]) * scale;
            neural_store<T, V>((T *)p.out + from.out, j, v);
        }
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
#define GROUP_KERNEL(name, params, ...)                                  \
    extern "C" __global__ void __launch_bounds__(GROUP_THREADS)          \
        GROUP_NAME(name, CUDA_DTYPE)(const __grid_constant__ params p)   \
    {                                                                    \
        __VA_ARGS__(p);                                                  \
    }
#define GROUP_BOTH(end, GRAD)                                                                     \
    GROUP_KERNEL(sums##end, group_params, cell_sums<group_element, 1, GRAD, false>)               \
    GROUP_KERNEL(sums_vec##end, group_params, cell_sums<group_element, GROUP_V, GRAD, false>)     \
    GROUP_KERNEL(sums_warp##end, group_params, cell_sums<group_element, 1, GRAD, true>)           \
    GROUP_KERNEL(sums_warp_vec##end, group_params, cell_sums<group_element, GROUP_V, GRAD, true>) \
    GROUP_KERNEL(sums_columns##end, group_params, column_sums<group_element, GROUP_COLUMNS, GRAD>) \
    GROUP_KERNEL(apply##end, group_params, cell_apply<group_element, 1, GRAD, false>)             \
    GROUP_KERNEL(apply_vec##end, group_params, cell_apply<group_element, GROUP_V, GRAD, false>)   \
    GROUP_KERNEL(apply_warp##end, group_params, cell_apply<group_element, 1, GRAD, true>)         \
    GROUP_KERNEL(apply_warp_vec##end, group_params, cell_apply<group_element, GROUP_V, GRAD, true>) \
    GROUP_KERNEL(apply_columns##end, group_params, column_apply<group_element, GROUP_COLUMNS, GRAD>) \
    GROUP_KERNEL(rows##end, group_params, row_finish<group_element, GRAD>)
GROUP_BOTH(, false)
GROUP_BOTH(_grad, true)
extern "C" __global__ void __launch_bounds__(GROUP_HELD_THREADS, 2)
    GROUP_NAME(held, CUDA_DTYPE)(const __grid_constant__ group_params p)
{
    held_apply<group_element, GROUP_V>(p);
}
GROUP_KERNEL(columns, group_params, column_weights<group_element, GROUP_COLUMNS>)
GROUP_KERNEL(column, group_params, column_weights<group_element, 1>)
GROUP_KERNEL(weights, group_weights, weight_finish<group_element>)
