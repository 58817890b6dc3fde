/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Normalisations of dense rows that a block holds, or a part of a warp: read once, written once.
 * Elements are at most four bytes; sums over f32 are in double, over halves in float until lanes
 * are joined, which is more than a half shows. */
#ifndef NDOCK_CUDA_NORM_FIT_CUH
#define NDOCK_CUDA_NORM_FIT_CUH
#include "norm/norm.h"
#include "walk/lines.cuh"
#include "walk/stage.cuh"
#include "math/hw.cuh"
#include "math/types.cuh"

/* ---- of all lanes of a row: a part of a warp, or the block ---- */
struct fit_max {
    template <class C> LINE_FN C of(C a, C b) { return cm_larger(a, b); }
};
struct fit_add {
    template <class C> LINE_FN C of(C a, C b) { return a + b; }
};
/* Rows of a block (LONG) or of a part of a warp. Calls alternate between two slots, so that one
 * barrier a call is enough. */
template <class F, bool LONG, class C> LINE_FN C fit_all(C v, C neutral, int lanes, int slot)
{
    __shared__ C warps[2][NORM_LONG_THREADS / 32];
    int width = LONG ? 32 : lanes, lane = (int)threadIdx.x % 32;
    for (int h = width / 2; h; h /= 2)
        v = F::of(v, __shfl_xor_sync(0xffffffffu, v, h, width));
    if (!LONG || lanes == 32)
        return v;
    if (lane == 0)
        warps[slot][threadIdx.x / 32] = v;
    __syncthreads();
    /* Every span of the warp reads all the warps' values: up to eight of them, or sixteen. */
    int span = lanes > 256 ? 16 : 8, warp = lane & (span - 1);
    v = warp < lanes / 32 ? warps[slot][warp] : neutral;
    for (int h = span / 2; h; h /= 2)
        v = F::of(v, __shfl_xor_sync(0xffffffffu, v, h));
    return v;
}

/* ---- elements ---- */
LINE_FN float fit_widen(float x)
{
    return x;
}
LINE_FN float fit_widen(__half x)
{
    return __half2float(x);
}
LINE_FN float fit_widen(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
LINE_FN void fit_narrow(float *to, float x)
{
    *to = x;
}
LINE_FN void fit_narrow(__half *to, float x)
{
    *to = __float2half_rn(x);
}
LINE_FN void fit_narrow(__nv_bfloat16 *to, float x)
{
    *to = __float2bfloat16_rn(x);
}
template <class T> struct fit_sum {
    typedef float type;
};
template <> struct fit_sum<float> {
    typedef double type;
};

/* Vectors of a thread are 32 apart in long rows, each warp's together: then addresses differ by
 * constants. In short rows they are as far apart as the row has lanes. They wait in shared memory,
 * where nobody but their thread looks at them: there they cost no barrier and leave registers for
 * three long rows on an SM. */
template <class T, bool IS_LONG> struct fit_row {
    enum {
        V = 16 / sizeof(T),
        WIDE = sizeof(T) == 4,
        LONG = IS_LONG,
        K = LONG ? NORM_LONG_VECTORS : NORM_SHORT_VECTORS
    };
    typedef T element;
    typedef cuda_vector<T, V> vector;
    typedef typename fit_sum<T>::type S;
    const norm_params &p;
    uint32_t first, items; /* vectors; no items: the thread has no row */
    vector *stage, *out;

    LINE_MEMBER uint32_t of(int k) const { return first + k * (LONG ? 32u : (uint32_t)p.lanes); }
    LINE_MEMBER bool has(int k) const { return of(k) < items; }
    LINE_MEMBER void load(const T *in) const
    {
#pragma unroll
        for (int k = 0; k < K; k++)
            if (has(k))
                stage_copy(stage + k * 32, (const vector *)in + of(k));
        stage_wait();
    }
    LINE_MEMBER vector get(int k) const
    {
        return stage[k * 32];
    }
    LINE_MEMBER void set(int k, const vector &x) const
    {
        stage[k * 32] = x;
    }
    LINE_MEMBER void put(int k, const vector &x) const
    {
        out[of(k)] = x;
    }
    LINE_MEMBER float largest(float v) const
    {
        return fit_all<fit_max, LONG>(v, __int_as_float(0xff800000), p.lanes, 0);
    }
    LINE_MEMBER double sum(S v, int slot) const
    {
        return fit_all<fit_add, LONG>((double)v, 0.0, p.lanes, slot);
    }
};
#define FIT_VECTORS(row, k) _Pragma("unroll") for (int k = 0; k < R::K; k++) if ((row).has(k))
#define FIT_ELEMENTS(i) _Pragma("unroll") for (int i = 0; i < V; i++)

/* ---- softmax, log_softmax ---- */
/* exp(x - m) times a power of two, the same for all of the row: it cancels in quotients. It is 2^60
 * for halves: what is subnormal in the end is a normal number here. */
template <class T> struct fit_exp {
    float most;
    LINE_MEMBER void set(float m) { most = m; }
    LINE_MEMBER bool is_nothing(float) const { return false; }
    LINE_MEMBER float of(float x) const
    {
        return cm_exp2_flushed(__fmaf_rn(x - most, 1.44269504f, 60.0f));
    }
};
/* Of f32, x itself is split in n*ln2 + r: taking m away first would lose bits of a large
 * difference. It is only taken away from elements so large that the difference to all that count is
 * exact. What is 125 below m is nothing in the end; scaled by 2^60 it is still a normal number
 * here. */
template <> struct fit_exp<float> {
    float base, least;
    uint32_t bias;
    LINE_MEMBER void set(float m)
    {
        base = fabsf(m) < 32768.0f ? 0.0f : m;
        m -= base;
        least = m - 125.0f;
        bias = (uint32_t)(60 - __float2int_rn(m * 1.44269504f)) << 23;
    }
    LINE_MEMBER bool is_nothing(float x) const { return x - base <= least; }
    LINE_MEMBER float of(float x) const
    {
        const float magic = 12582912.0f; /* 1.5*2^23: the sum's low bits are the nearest integer */
        float d = fmaxf(x - base, least);
        float t = __fmaf_rn(d, 1.44269504f, magic), n = t - magic;
        float r = __fmaf_rn(n, -0x1.62e430p-1f, d);
        r = __fmaf_rn(n, 0x1.05c610p-29f, r);
        float e = __fmaf_rn(r, 0x1.6a1a6ep-10f, 0x1.123fc6p-7f);
        e = __fmaf_rn(e, r, 0x1.555916p-5f);
        e = __fmaf_rn(e, r, 0x1.55548ap-3f);
        e = __fmaf_rn(e, r, 0x1.fffffcp-2f);
        e = __fmaf_rn(e, r, 1.0f);
        e = __fmaf_rn(e, r, 1.0f);
        return __uint_as_float(__float_as_uint(e) + (__float_as_uint(t) << 23) + bias);
    }
};

template <class R, bool LOG> LINE_FN void fit_softmax(const R &row)
{
    const int V = R::V;
    float m = __int_as_float(0xff800000);
    FIT_VECTORS(row, k)
    {
        typename R::vector v = row.get(k);
        FIT_ELEMENTS(i)
        m = cm_larger(m, fit_widen(v.at[i]));
    }
    m = row.largest(m);
    fit_exp<typename R::element> e;
    e.set(m);
    typename R::S total = 0, met = 0;
    FIT_VECTORS(row, k)
    {
        typename R::vector v = row.get(k);
        FIT_ELEMENTS(i)
        {
            float x = fit_widen(v.at[i]), y = e.of(x);
            if (LOG) {
                met += x == m;
                y = x == m || e.is_nothing(x) ? 0.0f : y;
            } else if (R::WIDE) {
                fit_narrow(&v.at[i], y);
            }
            total += y;
        }
        if (!LOG && R::WIDE)
            row.set(k, v);
    }
    double sum = row.sum(total, 0), last;
    if (LOG)
        last = log1p(row.sum(met, 1) - 1.0 + sum / (double)e.of(m));
    else
        last = 1.0 / sum;
    last = m - m == 0 ? last : __longlong_as_double(0x7ff8000000000000ll);
    float high = (float)last, low = (float)(last - (double)high);
    FIT_VECTORS(row, k)
    {
        typename R::vector v = row.get(k);
        FIT_ELEMENTS(i)
        {
            float x = fit_widen(v.at[i]);
            if (LOG)
                x = R::WIDE ? (float)(((double)x - (double)m) - last) : (x - m) - high;
            else
                x = R::WIDE ? __fmaf_rn(x, high, x * low) : e.of(x) * high;
            fit_narrow(&v.at[i], x);
        }
        row.put(k, v);
    }
}

/* ---- layer_norm, rms_norm ---- */
template <class R> LINE_FN double fit_mean(const R &row)
{
    const int V = R::V;
    typename R::S sum = 0;
    FIT_VECTORS(row, k)
    {
        typename R::vector v = row.get(k);
        FIT_ELEMENTS(i)
        sum += fit_widen(v.at[i]);
    }
    return row.sum(sum, 0) / row.p.count;
}

/* Each element times f and, of f32, what f lost. */
template <class R> LINE_FN void fit_write(const R &row, float high, float down, float f, float rest)
{
    const int V = R::V;
    FIT_VECTORS(row, k)
    {
        typename R::vector v = row.get(k), scale, bias;
        if (row.p.scale)
            scale = ((const typename R::vector *)row.p.scale)[row.of(k)];
        if (row.p.bias)
            bias = ((const typename R::vector *)row.p.bias)[row.of(k)];
        FIT_ELEMENTS(i)
        {
            float x = fit_widen(v.at[i]);
            if (R::WIDE)
                x *= down;
            else
                x -= high;
            x = R::WIDE ? __fmaf_rn(x, f, x * rest) : x * f;
            if (row.p.scale)
                x *= fit_widen(scale.at[i]);
            if (row.p.bias)
                x += fit_widen(bias.at[i]);
            fit_narrow(&v.at[i], x);
        }
        row.put(k, v);
    }
}

template <class R, bool CENTRED> LINE_FN void fit_scaled(const R &row)
{
    typedef typename R::S S;
    const int V = R::V;
    double mean = CENTRED ? fit_mean(row) : 0.0;
    float high = (float)mean, low = R::WIDE ? (float)(mean - (double)high) : 0.0f;
    S squares = 0;
    FIT_VECTORS(row, k)
    {
        typename R::vector v = row.get(k);
        FIT_ELEMENTS(i)
        {
            float x = fit_widen(v.at[i]);
            x = R::WIDE ? (x - high) - low : x - high;
            fit_narrow(&v.at[i], x);
            squares += (S)x * (S)x;
        }
        if (R::WIDE && CENTRED)
            row.set(k, v);
    }
    double q = row.sum(squares, 1) / row.p.count;
    double factor = 1.0 / sqrt(q + row.p.eps);
    /* A factor that a float does not hold well is moved into its range, and elements with it. */
    float down = factor > 1e-30 && factor < 1e30 ? 1.0f : factor < 1 ? 0x1p-64f : 0x1p64f;
    factor = R::WIDE ? factor / (double)down : factor;
    float f = (float)factor;
    fit_write(row, high, down, f, (float)(factor - (double)f));
}

enum { SOFTMAX, LOG_SOFTMAX, LAYER_NORM, RMS_NORM };
template <int OP, class T, bool LONG> LINE_FN void norm_fit(const norm_params &p)
{
    extern __shared__ __align__(32) unsigned char norm_stage[];
    typedef fit_row<T, LONG> R;
    int t = (int)threadIdx.x, warp = t / 32, inner = t % 32;
    R row = {p};
    row.first = LONG ? warp * 32 * R::K + inner : t & (p.lanes - 1);
    row.stage = (typename R::vector *)norm_stage + warp * 32 * R::K + inner;
    uint64_t step = (uint64_t)gridDim.x * p.width;
    for (uint64_t at = (uint64_t)blockIdx.x * p.width; at < p.rows; at += step) {
        uint64_t i = at + (LONG ? 0 : t / p.lanes);
        int64_t from = 0, to = 0;
        if (i < p.rows)
            line_offsets(p.dim, p.n_kept, i, &from, &to);
        row.items = i < p.rows ? (uint32_t)p.items : 0;
        row.out = (typename R::vector *)((T *)p.out + to);
        row.load((const T *)p.in + from);
        if (OP <= LOG_SOFTMAX)
            fit_softmax<R, OP == LOG_SOFTMAX>(row);
        else
            fit_scaled<R, OP == LAYER_NORM>(row);
        if (OP == RMS_NORM)
            __syncthreads(); /* its one slot of fit_all is free for the next row */
    }
}

#endif
