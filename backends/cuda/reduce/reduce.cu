/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reduction kernels of one dtype, CUDA_DTYPE. Of each op there are four: "row" for lines that lie
 * dense in memory, "col" for dense neighbouring lines, "any" for all strides, and "join" for the
 * states of a line that was cut into chunks; of logsumexp also "held". Who is merged with whom follows from the parameters
 * alone, so the bits are the same in every run. */
#include "reduce/lse_rows.cuh"
#include "reduce/ops.cuh"

template <class T> struct reduce_sizes {
    enum {
        row_vector = 16 / sizeof(T),
        row_unroll = sizeof(T) <= 2 ? 2 : 4,
        col_vector = sizeof(T) <= 4 ? 4 : 16 / sizeof(T),
        col_unroll = sizeof(T) <= 2 ? 8 : 4
    };
};

/* Vectors of a row that a thread has under way at once. */
template <class OP, class = void> struct reduce_row_unroll {
    enum { U = reduce_sizes<typename OP::element>::row_unroll };
};
template <class OP> struct reduce_row_unroll<OP, typename OP::own_unroll> {
    enum { U = OP::row_unroll };
};

/* The state or, when the line is not cut, the result. o: which result, to: where it belongs. */
template <class OP>
LINE_FN void reduce_put(const reduce_params &p, typename OP::state s, uint64_t o, uint64_t results,
                        int64_t to)
{
    if (p.chunks > 1)
        ((typename OP::state *)p.scratch)[blockIdx.y * results + o] = s;
    else
        OP::store(p, to, s);
}

/* The items of a line that are a thread's, one after the other. */
struct reduce_walk {
    int64_t offset;
    uint32_t inner; /* its index in the inner dimension */
};
LINE_FN reduce_walk reduce_walk_from(const reduce_params &p, uint64_t item)
{
    const line_dim *dim = p.dim + p.n_kept;
    const int64_t offset = line_offset(dim, p.n_reduced, item);
    return {offset, p.n_reduced == 2 ? (uint32_t)line_index(dim[0], true, item) : 0};
}
/* Where the item is; the walk goes on to the next one. */
LINE_FN int64_t reduce_walk_next(const reduce_params &p, reduce_walk &w, uint64_t item)
{
    if (p.inner_extent == 0)
        return line_offset(p.dim + p.n_kept, p.n_reduced, item);
    const int64_t offset = w.offset;
    w.inner += p.inner_step;
    w.offset += p.step;
    if (w.inner >= p.inner_extent) {
        w.inner -= p.inner_extent;
        w.offset += p.carry;
    }
    return offset;
}

/* The items begin.. of a line that are the lane's, of V elements each, U at a time. */
template <class OP, int V, int U>
LINE_FN typename OP::state reduce_fold(const reduce_params &p, const typename OP::element *line,
                                       uint64_t lane)
{
    typedef typename OP::element T;
    typedef cuda_vector<T, V> vector;
    uint64_t step = (uint64_t)p.lanes, i = blockIdx.y * p.chunk, end = i + p.chunk;
    typename OP::state s = OP::zero();
    end = end < p.items ? end : p.items;
    i += lane;
    reduce_walk walk = reduce_walk_from(p, i);
    for (; i + (U - 1) * step < end; i += U * step) {
        vector v[U];
        T x[U * V];
#pragma unroll
        for (int u = 0; u < U; u++)
            v[u] = *(const vector *)(line + reduce_walk_next(p, walk, i + u * step));
#pragma unroll
        for (int k = 0; k < U * V; k++)
            x[k] = v[k / V].at[k % V];
        OP::template add<U * V, V>(s, x, (int64_t)i * V, (int64_t)step * V, p);
    }
    for (; i < end; i += step) {
        vector v = *(const vector *)(line + reduce_walk_next(p, walk, i));
        OP::template add<V, V>(s, v.at, (int64_t)i * V, 0, p);
    }
    uint64_t tail = V > 1 && blockIdx.y + 1 == gridDim.y ? p.tail : 0;
    for (uint64_t t = lane; t < tail; t += step)
        OP::template add<1, 1>(s, line + p.items * V + t, (int64_t)(p.items * V + t), 0, p);
    return s;
}

/* The states of a group of lanes, a power of two up to the block, in its first lane. */
template <class OP>
LINE_FN typename OP::state reduce_lanes(const reduce_params &p, typename OP::state s)
{
    typedef typename OP::state S;
    __shared__ S warps[REDUCE_THREADS / 32];
    int width = p.lanes < 32 ? p.lanes : 32;
    s = state_level<OP>::of(s, width);
    for (int h = width / 2; h; h /= 2)
        s = state_level<OP>::join(s, state_shuffle_down(s, h, width), p);
    if (p.lanes <= 32)
        return s;
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = state_level<OP>::of(warps[threadIdx.x % (REDUCE_THREADS / 32)], 32);
        for (int h = REDUCE_THREADS / 64; h; h /= 2)
            s = state_level<OP>::join(s, state_shuffle_down(s, h, 32), p);
    }
    __syncthreads();
    return s;
}

/* Lines of one vector each: a thread has several, which are under way at once. */
template <class OP, int V> LINE_FN void reduce_vectors(const reduce_params &p)
{
    typedef typename OP::element T;
    typedef cuda_vector<T, V> vector;
    const int U = REDUCE_SHORT_UNROLL;
    uint64_t step = (uint64_t)gridDim.x * REDUCE_THREADS * U;
    for (uint64_t first = (uint64_t)blockIdx.x * REDUCE_THREADS * U; first < p.results;
         first += step) {
        vector v[U];
        int64_t to[U];
#pragma unroll
        for (int u = 0; u < U; u++) {
            uint64_t o = first + u * REDUCE_THREADS + threadIdx.x;
            int64_t from;
            v[u] = {};
            line_offsets(p.dim, p.n_kept, o < p.results ? o : 0, &from, &to[u]);
            if (o < p.results)
                v[u] = *(const vector *)((const T *)p.in + from);
        }
#pragma unroll
        for (int u = 0; u < U; u++) {
            uint64_t o = first + u * REDUCE_THREADS + threadIdx.x;
            typename OP::state s = OP::zero();
            OP::template add<V, V>(s, v[u].at, 0, 0, p);
            if (o < p.results)
                OP::store(p, to[u], s);
        }
    }
}

template <class OP> LINE_FN void reduce_row(const reduce_params &p)
{
    typedef typename OP::element T;
    const int V = reduce_sizes<T>::row_vector, U = reduce_row_unroll<OP>::U;
    if (p.lanes == 1 && p.chunks == 1 && p.items == 1 && p.tail == 0) {
        reduce_vectors<OP, V>(p);
        return;
    }
    uint64_t step = (uint64_t)gridDim.x * p.width, lane = threadIdx.x & (p.lanes - 1);
    for (uint64_t first = (uint64_t)blockIdx.x * p.width; first < p.results; first += step) {
        uint64_t o = first + threadIdx.x / p.lanes;
        int64_t from = 0, to = 0;
        typename OP::state s = OP::zero();
        if (o < p.results) {
            line_offsets(p.dim, p.n_kept, o, &from, &to);
            s = reduce_fold<OP, V, U>(p, (const T *)p.in + from, lane);
        }
        s = reduce_lanes<OP>(p, s);
        if (lane == 0 && o < p.results)
            reduce_put<OP>(p, s, o, p.results, to);
    }
}

/* How the states of a block's lanes are merged. */
template <class OP> struct reduce_merges {
    LINE_FN typename OP::state join(typename OP::state a, typename OP::state b,
                                    const reduce_params &p)
    {
        return OP::merge(a, b, p);
    }
};

/* States of lanes that are distance threads from one another, joined by BY into the first of them. */
template <class OP, class BY = reduce_merges<OP>>
LINE_FN typename OP::state reduce_tree(const reduce_params &p, typename OP::state s, int lane,
                                       int distance)
{
    typedef typename OP::state S;
    __shared__ S shared[REDUCE_THREADS];
    S *mine = shared + threadIdx.x;
    if (p.lanes == 1)
        return s;
    *mine = s;
    __syncthreads();
    for (int h = p.lanes / 2; h; h /= 2) {
        if (lane < h)
            *mine = s = BY::join(s, mine[h * distance], p);
        __syncthreads();
    }
    return s;
}

/* Which lane of which result of the block a thread is. */
LINE_FN void reduce_place(const reduce_params &p, int *lane, int *result)
{
    int t = (int)threadIdx.x;
    *lane = p.across ? t / p.width : t & (p.lanes - 1);
    *result = p.across ? t & (p.width - 1) : t / p.lanes;
}

template <class OP> LINE_FN void reduce_any(const reduce_params &p)
{
    typedef typename OP::element T;
    uint64_t step = (uint64_t)gridDim.x * p.width;
    int lane, result;
    reduce_place(p, &lane, &result);
    for (uint64_t first = (uint64_t)blockIdx.x * p.width; first < p.results; first += step) {
        uint64_t o = first + result;
        int64_t from = 0, to = 0;
        typename OP::state s = OP::zero();
        if (o < p.results) {
            line_offsets(p.dim, p.n_kept, o, &from, &to);
            s = reduce_fold<OP, 1, 4>(p, (const T *)p.in + from, lane);
        }
        s = reduce_tree<OP>(p, s, lane, p.across ? p.width : 1);
        if (lane == 0 && o < p.results)
            reduce_put<OP>(p, s, o, p.results, to);
    }
}

/* The states of a lane, every p.lanes-th from `c` on, in order; several are on their way at once. All are
 * measured from the centre of the line's first one where that spares divisions. */
template <class OP>
LINE_FN typename OP::state reduce_join_lane(const reduce_params &p, const typename OP::state *state,
                                            uint64_t c)
{
    typedef typename OP::state S;
    typedef state_centre<OP> centred;
    const double centre = centred::find(state[0]);
    const int U = sizeof(S) <= 16 ? 16 : 4;
    const uint64_t lanes = (uint64_t)p.lanes;
    S s = centred::from(OP::zero(), centre);
    for (; c + (U - 1) * lanes < p.items; c += U * lanes) {
        S next[U];
#pragma unroll
        for (int u = 0; u < U; u++)
            next[u] = state[(c + u * lanes) * p.results];
#pragma unroll
        for (int u = 0; u < U; u++)
            s = centred::join(s, centred::from(next[u], centre), p);
    }
    for (; c < p.items; c += lanes)
        s = centred::join(s, centred::from(state[c * p.results], centre), p);
    return s;
}

/* Chunk c of result o is state c*results + o. Nothing is cut any more: chunks is 1, items counts
 * the states. */
template <class OP> LINE_FN void reduce_join(const reduce_params &p)
{
    typedef typename OP::state S;
    const S *state = (const S *)p.scratch;
    uint64_t step = (uint64_t)gridDim.x * p.width;
    int lane, result;
    reduce_place(p, &lane, &result);
    for (uint64_t first = (uint64_t)blockIdx.x * p.width; first < p.results; first += step) {
        uint64_t o = first + result;
        int64_t from, to = 0;
        S s = OP::zero();
        if (o < p.results)
            s = reduce_join_lane<OP>(p, state + o, (uint64_t)lane);
        s = reduce_tree<OP, state_centre<OP>>(p, s, lane, p.across ? p.width : 1);
        if (lane == 0 && o < p.results) {
            line_offsets(p.dim, p.n_kept, o, &from, &to);
            OP::store(p, to, s);
        }
    }
}

/* V neighbouring lines of a thread, 32 threads side by side, 8 lanes of each line. */
enum { COL_LANES = REDUCE_THREADS / 32 };
template <class OP>
LINE_FN void reduce_fold_col(const reduce_params &p, typename OP::state *s,
                             const typename OP::element *lines)
{
    typedef typename OP::element T;
    const int V = reduce_sizes<T>::col_vector, U = reduce_sizes<T>::col_unroll;
    typedef cuda_vector<T, V> vector;
    uint64_t i = blockIdx.y * p.chunk, end = i + p.chunk;
    end = end < p.items ? end : p.items;
    i += threadIdx.x / 32;
    reduce_walk walk = reduce_walk_from(p, i);
    for (; i + (U - 1) * COL_LANES < end; i += U * COL_LANES) {
        vector v[U];
#pragma unroll
        for (int u = 0; u < U; u++)
            v[u] = *(const vector *)(lines + reduce_walk_next(p, walk, i + u * COL_LANES));
#pragma unroll
        for (int c = 0; c < V; c++) {
            T x[U];
#pragma unroll
            for (int u = 0; u < U; u++)
                x[u] = v[u].at[c];
            OP::template add<U, 1>(s[c], x, (int64_t)i, COL_LANES, p);
        }
    }
    for (; i < end; i += COL_LANES) {
        vector v = *(const vector *)(lines + reduce_walk_next(p, walk, i));
#pragma unroll
        for (int c = 0; c < V; c++)
            OP::template add<1, 1>(s[c], v.at + c, (int64_t)i, 0, p);
    }
}

/* The block's part of a folded line: the first warp joins the states of what belongs to the same result, those of
 * the other lanes first, and leaves one of each. */
template <class OP, int V>
LINE_FN void reduce_put_repeated(const reduce_params &p, typename OP::state (&s)[V], uint64_t part)
{
    const int width = p.repeated, lanes = width > V ? width / V : 1, x = (int)threadIdx.x % 32;
    typename OP::state *to = (typename OP::state *)p.scratch +
                             (blockIdx.y * (p.results / 32) + part) * (uint64_t)width + x * V;
#pragma unroll
    for (int c = 0; c < V; c++)
        for (int h = 16; h >= lanes; h /= 2)
            s[c] = OP::merge(s[c], state_shuffle_down(s[c], h, 32), p);
#pragma unroll
    for (int n = V / 2; n; n /= 2)
        if (n >= width)
#pragma unroll
            for (int c = 0; c < n; c++)
                s[c] = OP::merge(s[c], s[c + n], p);
#pragma unroll
    for (int c = 0; c < V; c++)
        if (x < lanes && c < width)
            to[c] = s[c];
}

template <class OP> LINE_FN void reduce_col(const reduce_params &p)
{
    typedef typename OP::element T;
    typedef typename OP::state S;
    const int V = reduce_sizes<T>::col_vector;
    __shared__ S shared[COL_LANES * V * 32];
    int x = threadIdx.x % 32, lane = threadIdx.x / 32;
    S *mine = shared + lane * V * 32 + x;
    uint64_t step = (uint64_t)gridDim.x * 32;
    for (uint64_t first = (uint64_t)blockIdx.x * 32; first < p.results; first += step) {
        uint64_t o = first + x;
        int64_t from = 0, to = 0;
        S s[V];
#pragma unroll
        for (int c = 0; c < V; c++)
            s[c] = OP::zero();
        if (o < p.results) {
            line_offsets(p.dim, p.n_kept, o, &from, &to);
            reduce_fold_col<OP>(p, s, (const T *)p.in + from);
        }
#pragma unroll
        for (int c = 0; c < V; c++)
            mine[c * 32] = s[c];
        __syncthreads();
        for (int h = COL_LANES / 2; h; h /= 2) {
#pragma unroll
            for (int c = 0; c < V; c++)
                if (lane < h)
                    mine[c * 32] = s[c] = OP::merge(s[c], mine[c * 32 + h * V * 32], p);
            __syncthreads();
        }
        if (p.repeated) {
            if (lane == 0)
                reduce_put_repeated<OP, V>(p, s, first / 32);
            continue;
        }
#pragma unroll
        for (int c = 0; c < V; c++)
            if (lane == 0 && o < p.results)
                reduce_put<OP>(p, s[c], o * V + c, p.results * V, to + c * p.out_step);
    }
}

/* ---- the kernels of each op ---- */
#define REDUCE_KERNEL(name, how, ...)                            \
    extern "C" __global__ void __launch_bounds__(REDUCE_THREADS) \
        name##_##how(const __grid_constant__ reduce_params p)    \
    {                                                            \
        reduce_##how<__VA_ARGS__>(p);                            \
    }
#define REDUCE(name, ...)                 \
    REDUCE_KERNEL(name, row, __VA_ARGS__) \
    REDUCE_KERNEL(name, col, __VA_ARGS__) \
    REDUCE_KERNEL(name, any, __VA_ARGS__) \
    REDUCE_KERNEL(name, join, __VA_ARGS__)
#define REDUCE_INTEGER(T)               \
    REDUCE(sum, reduce_int<sum_int<T>>) \
    REDUCE(prod, reduce_int<prod_int<T>>)
#define REDUCE_ORDER(T, KEY, FLOAT)                \
    REDUCE(extreme, reduce_extreme<T, KEY, FLOAT>) \
    REDUCE(position, reduce_position<T, KEY, FLOAT>)
#define REDUCE_COUNT(T) REDUCE(count, reduce_count<T>)
#define REDUCE_FLOAT(T, SUM, VAR, C)          \
    REDUCE(sum, reduce_float<SUM>)            \
    REDUCE(prod, reduce_float<prod_float<T>>) \
    REDUCE(var, reduce_var<VAR>)              \
    REDUCE(logsumexp, reduce_logsumexp<T, C>)
#define REDUCE_HELD(T)                                              \
    extern "C" __global__ void __launch_bounds__(REDUCE_THREADS, 3) \
        logsumexp_held(const __grid_constant__ reduce_params p)     \
    {                                                               \
        reduce_held<T>(p);                                          \
    }
#define REDUCE_COMPLEX(T, SUM, VAR)                \
    REDUCE(sum, reduce_float<sum_complex<T, SUM>>) \
    REDUCE(prod, reduce_float<prod_complex<T>>)    \
    REDUCE(var, reduce_var_complex<T, VAR>)

/* Ops that look at bits alone are made once per size. */
#define REDUCE_BOOL REDUCE_INTEGER(cuda_bool) REDUCE_ORDER(cuda_bool, int32_t, false)
#define REDUCE_I8 REDUCE_INTEGER(int8_t) REDUCE_ORDER(int8_t, int32_t, false) REDUCE_COUNT(uint8_t)
#define REDUCE_I16 \
    REDUCE_INTEGER(int16_t) REDUCE_ORDER(int16_t, int32_t, false) REDUCE_COUNT(uint16_t)
#define REDUCE_I32 \
    REDUCE_INTEGER(int32_t) REDUCE_ORDER(int32_t, int32_t, false) REDUCE_COUNT(uint32_t)
#define REDUCE_I64 \
    REDUCE_INTEGER(int64_t) REDUCE_ORDER(int64_t, int64_t, false) REDUCE_COUNT(uint64_t)
#define REDUCE_U8 REDUCE_INTEGER(uint8_t)
#define REDUCE_U16 REDUCE_INTEGER(uint16_t)
#define REDUCE_U32 REDUCE_INTEGER(uint32_t)
#define REDUCE_F16                                                     \
    REDUCE_FLOAT(__half, sum_float<__half>, var_single<__half>, float) \
    REDUCE_ORDER(int16_t, int32_t, true) REDUCE_HELD(__half)
#define REDUCE_BF16                                                                         \
    REDUCE_FLOAT(__nv_bfloat16, sum_float<__nv_bfloat16>, var_single<__nv_bfloat16>, float) \
    REDUCE_HELD(__nv_bfloat16)
#define REDUCE_F32                                                  \
    REDUCE_FLOAT(float, sum_float<float>, var_single<float>, float) \
    REDUCE_ORDER(int32_t, int32_t, true) REDUCE_HELD(float)
#define REDUCE_F64                                    \
    REDUCE_FLOAT(double, sum_f64, var_double, double) \
    REDUCE_ORDER(int64_t, int64_t, true)
#define REDUCE_C64 REDUCE_COMPLEX(cuda_c64, sum_float<float>, var_single<float>)
#define REDUCE_C128 REDUCE_COMPLEX(cuda_c128, sum_f64, var_double) REDUCE_COUNT(reduce_pair)
#define REDUCE_OF_(dtype) REDUCE_##dtype
#define REDUCE_OF(dtype) REDUCE_OF_(dtype)
REDUCE_OF(CUDA_DTYPE)
