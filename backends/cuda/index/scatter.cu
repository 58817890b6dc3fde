/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * scatter in its four modes, for every dtype. The updates of one element happen in C order of the
 * source, each rounded, so that results are those of the CPU and the same from run to run. */
#include "index/scatter.h"
#include "index/status.cuh"
#include "math/types.cuh"

template <int DTYPE> struct element {
    typedef typename cuda_dtype<DTYPE>::stored stored;
    typedef typename cuda_dtype<DTYPE>::computed computed;
    static const bool floating =
        DTYPE == NDP_F16 || DTYPE == NDP_BF16 || DTYPE == NDP_F32 || DTYPE == NDP_F64;
};

static __device__ __forceinline__ bool is_negative(float x)
{
    return __float_as_int(x) < 0;
}
static __device__ __forceinline__ bool is_negative(double x)
{
    return __double_as_longlong(x) < 0;
}

/* A NaN stays and wins; -0 is below +0. */
template <bool FLOATING, class C>
static __device__ __forceinline__ bool replaces(int32_t mode, C old, C x)
{
    bool better = mode == SCATTER_MIN ? x < old : x > old;
    if constexpr (FLOATING) {
        bool better_zero = x == old && is_negative(x) == (mode == SCATTER_MIN);
        return old == old && (better || x != x || better_zero);
    }
    return better;
}

template <class T> static __device__ __forceinline__ T sum(T a, T b)
{
    return (T)((uint64_t)a + (uint64_t)b); /* wraps */
}
static __device__ __forceinline__ float sum(float a, float b)
{
    return a + b;
}
static __device__ __forceinline__ double sum(double a, double b)
{
    return a + b;
}

template <int DTYPE>
static __device__ __forceinline__ typename element<DTYPE>::stored update(
    int32_t mode, typename element<DTYPE>::stored old, typename element<DTYPE>::stored x)
{
    typedef typename element<DTYPE>::stored S;
    typedef typename element<DTYPE>::computed C;
    if (mode == SCATTER_SET)
        return x;
    if constexpr (DTYPE == NDP_C64 || DTYPE == NDP_C128) {
        return S{old.re + x.re, old.im + x.im};
    } else {
        C a = cuda_widen(old), b = cuda_widen(x);
        if (mode == SCATTER_ADD)
            return cuda_narrow<S>(sum(a, b));
        return replaces<element<DTYPE>::floating>(mode, a, b) ? x : old;
    }
}

template <class S>
static __device__ __forceinline__ S source_at(const scatter_params &p, int64_t at)
{
    return p.source ? ((const S *)p.source)[at] : *(const S *)p.scalar;
}

/* ---- a thread for each lane ---- */

/* The number of the j-th index of a lane in the walk of all indices cannot be had from the two, so
 * that a bad one is told of with its position along the axis. */
static __device__ __noinline__ void report(const scatter_params &p, int64_t position, int64_t index)
{
    unsigned long long *word = (unsigned long long *)p.status;
    if (!word || atomicCAS(word, 0ull, (unsigned long long)NDP_ERR_INDEX) != 0ull)
        return;
    word[1] = (unsigned long long)p.op;
    word[2] = (unsigned long long)position;
    word[3] = (unsigned long long)index;
    word[4] = (unsigned long long)p.extent;
}

template <int DTYPE> static __device__ __forceinline__ void lanes(const scatter_params &p)
{
    typedef typename element<DTYPE>::stored S;
    for (uint64_t lane = cuda_thread(); lane < p.lanes.size; lane += cuda_threads()) {
        int64_t out = 0, at = 0, source = 0;
        cuda_walk_indices(p.lanes, lane, [&](int d, int64_t x) {
            out += x * p.lane_out_stride[d];
            at += x * p.lane_at_stride[d];
            source += x * p.lane_source_stride[d];
        });
        S *to = (S *)p.out + out;
        const long long *from = (const long long *)p.at + at;
#pragma unroll 4
        for (int64_t j = 0; j < p.k; j++) {
            int64_t index = __ldg(from + j * p.at_axis_stride);
            if (cuda_index_is_bad(index, p.extent)) {
                report(p, j, index);
                continue;
            }
            S x = source_at<S>(p, source + j * p.source_axis_stride);
            S *it = to + cuda_index_wrap(index, p.extent) * p.out_axis_stride;
            *it = p.mode == SCATTER_SET ? x : update<DTYPE>(p.mode, *it, x);
        }
    }
}

/* ---- sorted by destination ---- */

extern "C" __global__ void scatter_keys(const __grid_constant__ scatter_params p)
{
    for (uint64_t i = cuda_thread(); i < p.items.size; i += cuda_threads()) {
        int64_t at = 0;
        uint64_t lane = 0, count = 1;
        cuda_walk_indices(p.items, i, [&](int d, int64_t x) {
            at += x * p.item_at_stride[d];
            if (d != p.axis) {
                lane += (uint64_t)x * count;
                count *= (uint64_t)p.items.shape[d];
            }
        });
        int64_t index = ((const int64_t *)p.at)[at];
        uint64_t key = p.bad_key;
        if (cuda_index_is_bad(index, p.extent))
            cuda_index_report(p.status, p.op, p.items, p.item_at_stride, i, index, p.extent);
        else
            key = lane * (uint64_t)p.extent + (uint64_t)cuda_index_wrap(index, p.extent);
        if (p.wide_keys)
            ((uint64_t *)p.keys)[i] = key;
        else
            ((uint32_t *)p.keys)[i] = (uint32_t)key;
        if (p.wide_order)
            ((uint64_t *)p.order)[i] = i;
        else
            ((uint32_t *)p.order)[i] = (uint32_t)i;
    }
}

static __device__ __forceinline__ uint64_t key_at(const scatter_params &p, uint64_t i)
{
    return p.wide_keys ? ((const uint64_t *)p.keys)[i] : ((const uint32_t *)p.keys)[i];
}
static __device__ __forceinline__ uint64_t order_at(const scatter_params &p, uint64_t i)
{
    return p.wide_order ? ((const uint64_t *)p.order)[i] : ((const uint32_t *)p.order)[i];
}

/* All updates of the element that the i-th of the sorted items is the first for. */
template <int DTYPE>
static __device__ __forceinline__ void segment(const scatter_params &p, uint64_t i, uint64_t row)
{
    typedef typename element<DTYPE>::stored S;
    uint64_t key = key_at(p, i);
    if (key == p.bad_key || (i > 0 && key_at(p, i - 1) == key))
        return;
    int64_t out = 0, at = 0, source = 0;
    cuda_walk_indices(p.items, order_at(p, i), [&](int d, int64_t x) {
        out += x * p.item_out_stride[d];
        at += x * p.item_at_stride[d];
    });
    cuda_walk_indices(p.lanes, row, [&](int d, int64_t x) {
        out += x * p.lane_out_stride[d];
        source += x * p.lane_source_stride[d];
    });
    int64_t index = cuda_index_wrap(((const int64_t *)p.at)[at], p.extent);
    S *to = (S *)p.out + out + index * p.out_axis_stride, sum = *to;
    for (; i < p.items.size && key_at(p, i) == key; i++)
        sum = update<DTYPE>(p.mode, sum,
                            source_at<S>(p, source + cuda_walk_offset(p.items, order_at(p, i),
                                                                      p.item_source_stride)));
    *to = sum;
}

/* Rows are innermost, so that neighbours read and write neighbours. */
template <int DTYPE> static __device__ __forceinline__ void segments(const scatter_params &p)
{
    uint64_t rows = p.lanes.size, n = p.items.size * rows;
    for (uint64_t t = cuda_thread(); t < n; t += cuda_threads()) {
        uint64_t i = rows == 1 ? t : n <= UINT32_MAX ? (uint32_t)t / (uint32_t)rows : t / rows;
        segment<DTYPE>(p, i, t - i * rows);
    }
}

/* ---- rows of 16-byte vectors, 32 beside each other; piece blockIdx.y of a row and its likes ----
 */

/* A vector as elements. */
template <class S> union row_vector {
    uint4 words;
    S at[16 / sizeof(S)];
    __device__ row_vector() {}
};

/* The rows of the segment that begins at the i-th of the sorted items, added up in order: a lane
 * reads the number of one row for all, and several rows are under way at once. */
template <int DTYPE>
static __device__ __forceinline__ void row_segment(const scatter_params &p, uint64_t i,
                                                   uint64_t key, uint32_t v)
{
    typedef typename element<DTYPE>::stored S;
    const int U = SCATTER_SEGMENT_UNROLL, N = 16 / sizeof(S);
    uint32_t lane = threadIdx.x % 32, count;
    uint4 *to = (uint4 *)p.out + (int64_t)key * p.out_row_vectors + v;
    const uint4 *from = (const uint4 *)p.source + v;
    bool mine = v < p.vectors;
    row_vector<S> sum;
    if (mine)
        sum.words = *to;
    do {
        bool same = i + lane < p.items.size && key_at(p, i + lane) == key;
        int64_t row = same ? (int64_t)order_at(p, i + lane) : 0;
        count = __popc(__ballot_sync(0xffffffffu, same));
        for (uint32_t first = 0; first < count; first += U) {
            row_vector<S> x[U];
#pragma unroll
            for (int u = 0; u < U; u++) {
                int64_t r = __shfl_sync(0xffffffffu, row, (first + u) % 32);
                if (mine && first + u < count)
                    x[u].words = from[r * p.source_row_vectors];
            }
#pragma unroll
            for (int u = 0; u < U; u++)
                if (mine && first + u < count)
#pragma unroll
                    for (int n = 0; n < N; n++)
                        sum.at[n] = update<DTYPE>(p.mode, sum.at[n], x[u].at[n]);
        }
        i += 32;
    } while (count == 32);
    if (mine)
        *to = sum.words;
}

/* How many of the sorted keys are below this one: 32 places are looked at together. */
static __device__ __forceinline__ uint64_t keys_below(const scatter_params &p, uint64_t key)
{
    uint64_t from = 0, left = p.items.size;
    while (left > 0) {
        uint64_t step = (left + 31) / 32, at = from + threadIdx.x % 32 * step;
        bool below = at < from + left && key_at(p, at) < key;
        uint32_t count = __popc(__ballot_sync(0xffffffffu, below));
        if (count == 0)
            break;
        uint64_t begin = from + (count - 1) * step + 1, end = from + count * step;
        end = end < from + left ? end : from + left;
        from = begin;
        left = end - begin;
    }
    return from;
}

/* A warp for each destination: visit(i, key, v) for its vectors v, of those that have sorted items, the
 * i-th first. */
template <class F>
static __device__ __forceinline__ void row_destinations(const scatter_params &p, F visit)
{
    uint64_t warps = cuda_threads() / 32;
    for (uint64_t key = cuda_thread() / 32; key < (uint64_t)p.extent; key += warps) {
        uint64_t i = keys_below(p, key);
        if (i == p.items.size || key_at(p, i) != key)
            continue;
        for (uint32_t piece = blockIdx.y; piece * 32 < p.vectors; piece += gridDim.y)
            visit(i, key, piece * 32 + threadIdx.x % 32);
    }
}

/* A warp looks at 32 of the sorted items for those that are the first of their destination. */
template <int DTYPE> static __device__ __forceinline__ void row_segments(const scatter_params &p)
{
    uint32_t lane = threadIdx.x % 32;
    uint64_t warps = cuda_threads() / 32;
    if (p.by_destination) {
        row_destinations(
            p, [&](uint64_t i, uint64_t key, uint32_t v) { row_segment<DTYPE>(p, i, key, v); });
        return;
    }
    for (uint64_t w = cuda_thread() / 32; w * 32 < p.items.size; w += warps) {
        uint64_t i = w * 32 + lane, key = i < p.items.size ? key_at(p, i) : p.bad_key;
        bool first = key != p.bad_key && (i == 0 || key_at(p, i - 1) != key);
        for (uint32_t starts = __ballot_sync(0xffffffffu, first); starts; starts &= starts - 1) {
            int at = __ffs(starts) - 1;
            uint64_t its = __shfl_sync(0xffffffffu, key, at);
            for (uint32_t piece = blockIdx.y; piece * 32 < p.vectors; piece += gridDim.y)
                row_segment<DTYPE>(p, w * 32 + at, its, piece * 32 + lane);
        }
    }
}

/* ---- sums of rows with few destinations: a warp for each of them, which finds its rows in the order and has some under
 * way while it adds others ---- */

/* What a lane knows of 32 items that follow each other in the order: the row of one, 0 where that is another key's. */
static __device__ __forceinline__ int64_t row_of(const scatter_params &p, uint64_t i, uint64_t key,
                                                 bool *same)
{
    i += threadIdx.x % 32;
    *same = i < p.items.size && key_at(p, i) == key;
    return *same ? (int64_t)order_at(p, i) * p.source_row_vectors : 0;
}

/* A vector each of rows whose numbers lanes `first` and on know. */
template <class S>
static __device__ __forceinline__ void load_rows(row_vector<S> *x, const uint4 *from, int64_t row,
                                                 int first)
{
#pragma unroll
    for (int u = 0; u < SCATTER_SUM_UNROLL; u++)
        x[u].words = from[__shfl_sync(0xffffffffu, row, first + u)];
}

template <int DTYPE, class S>
static __device__ __forceinline__ void add_rows(row_vector<S> &sum, const row_vector<S> *x,
                                                int count)
{
#pragma unroll
    for (int u = 0; u < SCATTER_SUM_UNROLL; u++)
        if (u < count)
#pragma unroll
            for (int n = 0; n < (int)(16 / sizeof(S)); n++)
                sum.at[n] = update<DTYPE>(SCATTER_ADD, sum.at[n], x[u].at[n]);
}

/* Adds up column v of the rows whose keys, from the i-th item on, are this one. */
template <int DTYPE>
static __device__ __forceinline__ void sum_column(const scatter_params &p, uint64_t i, uint64_t key,
                                                  uint32_t v)
{
    typedef typename element<DTYPE>::stored S;
    const int U = SCATTER_SUM_UNROLL, PARTS = 32 / U;
    const uint32_t column = v < p.vectors ? v : 0;
    uint4 *to = (uint4 *)p.out + (int64_t)key * p.out_row_vectors + column;
    const uint4 *from = (const uint4 *)p.source + column;
    row_vector<S> sum, x[2][U];
    bool same, next_same, later_same;
    int64_t row = row_of(p, i, key, &same), next = row_of(p, i + 32, key, &next_same);
    sum.words = *to;
    load_rows(x[0], from, row, 0);
    for (int count = 32; count == 32; i += 32) {
        const int64_t later = row_of(p, i + 64, key, &later_same);
        count = __popc(__ballot_sync(0xffffffffu, same));
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            const bool last = part == PARTS - 1;
            load_rows(x[(part + 1) % 2], from, last ? next : row, last ? 0 : (part + 1) * U);
            add_rows<DTYPE>(sum, x[part % 2], count - part * U);
        }
        row = next;
        same = next_same;
        next = later;
        next_same = later_same;
    }
    if (v < p.vectors)
        *to = sum.words;
}

template <int DTYPE> static __device__ __forceinline__ void row_sums(const scatter_params &p)
{
    row_destinations(
        p, [&](uint64_t i, uint64_t key, uint32_t v) { sum_column<DTYPE>(p, i, key, v); });
}

extern "C" __global__ void scatter_clear(const __grid_constant__ scatter_params p)
{
    for (uint64_t i = cuda_thread(); i < (uint64_t)p.extent; i += cuda_threads())
        ((uint32_t *)p.winner)[i] = 0;
}

extern "C" __global__ void scatter_winners(const __grid_constant__ scatter_params p)
{
    for (uint64_t i = cuda_thread(); i < (uint64_t)p.k; i += cuda_threads()) {
        int64_t index = ((const int64_t *)p.at)[(int64_t)i * p.at_axis_stride];
        if (cuda_index_is_bad(index, p.extent))
            report(p, (int64_t)i, index);
        else
            atomicMax((uint32_t *)p.winner + cuda_index_wrap(index, p.extent), (uint32_t)i + 1);
    }
}

/* Rows are read before it is known who wins: most do. */
extern "C" __global__ void __launch_bounds__(SCATTER_ROW_THREADS)
    scatter_rows(const __grid_constant__ scatter_params p)
{
    const int U = SCATTER_ROW_UNROLL;
    uint32_t lane = threadIdx.x % 32;
    uint64_t warps = cuda_threads() / 32;
    for (uint64_t first = cuda_thread() / 32 * U; first < (uint64_t)p.k; first += warps * U) {
        int64_t mine = -1; /* where the row goes that this lane asks for; -1: nowhere */
        if (lane < U && first + lane < (uint64_t)p.k) {
            int64_t index = ((const int64_t *)p.at)[(int64_t)(first + lane) * p.at_axis_stride];
            int64_t to = cuda_index_wrap(index, p.extent);
            if (!cuda_index_is_bad(index, p.extent) &&
                ((const uint32_t *)p.winner)[to] == (uint32_t)(first + lane) + 1)
                mine = to;
        }
        for (uint32_t v = blockIdx.y * 32 + lane; v - lane < p.vectors; v += gridDim.y * 32) {
            uint4 x[U];
#pragma unroll
            for (int u = 0; u < U; u++)
                if (v < p.vectors && first + u < (uint64_t)p.k)
                    x[u] =
                        ((const uint4 *)p.source)[(int64_t)(first + u) * p.source_row_vectors + v];
#pragma unroll
            for (int u = 0; u < U; u++) {
                int64_t to = __shfl_sync(0xffffffffu, mine, u);
                if (v < p.vectors && to >= 0)
                    ((uint4 *)p.out)[to * p.out_row_vectors + v] = x[u];
            }
        }
    }
}

/* scatter_lanes_F32, scatter_segments_F32 and scatter_row_segments_F32 for every dtype. */
#define SCATTER(kind, NAME)                                                                      \
    extern "C" __global__ void scatter_##kind##_##NAME(const __grid_constant__ scatter_params p) \
    {                                                                                            \
        kind<NDP_##NAME>(p);                                                                     \
    }
#define SCATTER_SUMS(NAME)                                                \
    extern "C" __global__ void __launch_bounds__(SCATTER_FEW_THREADS)     \
        scatter_row_sums_##NAME(const __grid_constant__ scatter_params p) \
    {                                                                     \
        row_sums<NDP_##NAME>(p);                                          \
    }
#define SCATTERS(NAME)          \
    SCATTER(lanes, NAME)        \
    SCATTER(segments, NAME)     \
    SCATTER(row_segments, NAME) \
    SCATTER_SUMS(NAME)
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) \
    CUDA_OF_KIND(KIND, SCATTERS)(NAME)
#include <ndock/dtype.def>
