/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Row normalisations of one dtype, CUDA_DTYPE. A group of lanes, from a part of a warp to a block,
 * serves a row; a block may also serve neighbouring rows, a thread of each side by side. Rows that
 * fit are read once, the others once per pass. Statistics are in double. */
#include "norm/norm.h"
#include "norm/columns.cuh"
#include "norm/fit.cuh"
#pragma nv_diag_suppress 177 /* of overloads, a dtype uses its own alone */

enum { UNROLL = 4 };

template <class T> struct norm_computed {
    typedef float type;
};
template <> struct norm_computed<double> {
    typedef double type;
};

template <class C> LINE_FN C norm_widen(C x)
{
    return x;
}
LINE_FN float norm_widen(__half x)
{
    return __half2float(x);
}
LINE_FN float norm_widen(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
LINE_FN void norm_narrow(float *to, float x)
{
    *to = x;
}
LINE_FN void norm_narrow(double *to, double x)
{
    *to = x;
}
LINE_FN void norm_narrow(__half *to, float x)
{
    *to = __float2half_rn(x);
}
LINE_FN void norm_narrow(__nv_bfloat16 *to, float x)
{
    *to = __float2bfloat16_rn(x);
}

/* Sums of what was float fit a double well; of doubles, what rounding lost is kept too. */
template <class C> struct norm_sum {
    double sum, error;
    LINE_MEMBER void add(double x)
    {
        double s = sum + x;
        if (sizeof(C) == 8) {
            double t = s - sum;
            error += (sum - (s - t)) + (x - t);
        }
        sum = s;
    }
    LINE_MEMBER double value() const { return sum - sum == 0 ? sum + error : sum; }
};

/* ---- of all lanes of a row, in every one of them ---- */
struct norm_add {
    LINE_FN double of(double a, double b) { return a + b; }
};
struct norm_larger {
    LINE_FN double of(double a, double b) { return b > a ? b : a; }
};
/* Neighbouring rows: lane l of row r is thread l*width + r. */
template <class F> LINE_FN double norm_across(const norm_params &p, double v)
{
    __shared__ double all[NORM_THREADS];
    all[threadIdx.x] = v;
    __syncthreads();
    v = all[threadIdx.x & (p.width - 1)];
    for (int l = 1; l < p.lanes; l++)
        v = F::of(v, all[l * p.width + (threadIdx.x & (p.width - 1))]);
    __syncthreads();
    return v;
}
template <class F> LINE_FN double norm_all(const norm_params &p, double v)
{
    __shared__ double warps[NORM_THREADS / 32];
    if (p.across)
        return norm_across<F>(p, v);
    int width = p.lanes < 32 ? p.lanes : 32;
    for (int h = width / 2; h; h /= 2)
        v = F::of(v, __shfl_xor_sync(0xffffffffu, v, h, width));
    if (p.lanes <= 32)
        return v;
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = warps[0];
    for (int w = 1; w < (int)blockDim.x / 32; w++)
        v = F::of(v, warps[w]);
    __syncthreads();
    return v;
}

/* ---- items of a row ---- */
template <class T, int V> struct norm_row {
    typedef typename norm_computed<T>::type C;
    typedef cuda_vector<T, V> stored;
    typedef cuda_vector<C, V> computed;
    const norm_params &p;
    const T *in;
    T *out;
    C *stage;
    uint64_t lane, items; /* no items: the thread has no row */

    /* UNROLL items from j on, lanes apart; those beyond the row are left alone. */
    LINE_MEMBER void load(uint64_t j, computed *x) const
    {
        stored v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (j + u * p.lanes < items)
                v[u] = *(const stored *)(in + line_offset(p.dim + p.n_kept, p.n_reduced,
                                                          j + u * p.lanes));
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
#pragma unroll
            for (int k = 0; k < V; k++)
                x[u].at[k] = norm_widen(v[u].at[k]);
    }
    LINE_MEMBER computed *staged(uint64_t j) const
    {
        return (computed *)(stage + (int64_t)j * p.stage_step);
    }
    /* A first reading leaves the row in the stage, if it has one. */
    LINE_MEMBER void first(uint64_t j, computed *x) const
    {
        load(j, x);
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (p.staged && j + u * p.lanes < items)
                *staged(j + u * p.lanes) = x[u];
    }
    LINE_MEMBER void again(uint64_t j, computed *x) const
    {
        if (!p.staged) {
            load(j, x);
            return;
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (j + u * p.lanes < items)
                x[u] = *staged(j + u * p.lanes);
    }
    LINE_MEMBER int64_t out_offset(uint64_t j) const
    {
        int64_t from, to;
        if (p.n_reduced == 1)
            return (int64_t)j * p.dim[p.n_kept].out;
        line_offsets(p.dim + p.n_kept, p.n_reduced, j, &from, &to);
        return to;
    }
    LINE_MEMBER void put(uint64_t j, const computed &x) const
    {
        stored v;
#pragma unroll
        for (int k = 0; k < V; k++)
            norm_narrow(&v.at[k], x.at[k]);
        *(stored *)(out + out_offset(j)) = v;
    }
    /* Item j of scale and bias. */
    LINE_MEMBER void weights(uint64_t j, computed *scale, computed *bias) const
    {
        int64_t s = 0, b = 0;
#pragma unroll 1
        for (int d = 0; d < p.n_reduced; d++) {
            int64_t x = (int64_t)line_index(p.dim[p.n_kept + d], d + 1 < p.n_reduced, j);
            s += x * p.weight[d].scale;
            b += x * p.weight[d].bias;
        }
        if (p.scale)
            widen(scale, (const T *)p.scale + s);
        if (p.bias)
            widen(bias, (const T *)p.bias + b);
    }
    LINE_MEMBER void widen(computed *to, const T *from) const
    {
        stored v = *(const stored *)from;
#pragma unroll
        for (int k = 0; k < V; k++)
            to->at[k] = norm_widen(v.at[k]);
    }
};
#define NORM_ITEMS(row, j) \
    for (uint64_t j = (row).lane; j < (row).items; j += UNROLL * (uint64_t)(row).p.lanes)
#define NORM_EACH(row, j, u, k)                        \
    _Pragma("unroll") for (int u = 0; u < UNROLL; u++) \
        _Pragma("unroll") for (int k = 0; k < V; k++) if (j + u * (row).p.lanes < (row).items)

/* ---- softmax, log_softmax ---- */
LINE_FN float norm_exp_of(float d)
{
    return expf(d);
}
LINE_FN double norm_exp_of(double d)
{
    return exp(d);
}
/* exp(x - m), x <= m. The difference is taken with its rounding error: for a large one that alone
 * would cost many ulp. */
template <class C> LINE_FN C norm_exp(C x, C m)
{
    C d = x - m, b = x - d, error = (x - (d + b)) + (b - m), e = norm_exp_of(d);
    return e > 0 && e < 1 ? e + e * error : e;
}

/* The sum of all exponentials that are not 1, and the number of those that are: with the ones
 * apart, log1p loses nothing where one element outweighs the rest. A NaN comes back with the sum.
 */
template <class T, int V, bool KEEP>
LINE_FN void norm_exponentials(const norm_row<T, V> &row, typename norm_row<T, V>::C m, double *sum,
                               double *ones)
{
    typedef typename norm_row<T, V>::C C;
    norm_sum<C> total = {0.0, 0.0};
    uint32_t met = 0;
    NORM_ITEMS(row, j)
    {
        typename norm_row<T, V>::computed x[UNROLL];
        row.again(j, x);
        NORM_EACH(row, j, u, k)
        {
            C e = norm_exp(x[u].at[k], m);
            met += e == 1;
            total.add(e == 1 ? 0.0 : (double)e);
            x[u].at[k] = e;
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (KEEP && row.p.staged && j + u * row.p.lanes < row.items)
                *row.staged(j + u * row.p.lanes) = x[u];
    }
    *sum = norm_all<norm_add>(row.p, total.value());
    *ones = norm_all<norm_add>(row.p, (double)met);
}

LINE_FN float norm_divided(float e, double inverse)
{
    float high = (float)inverse, low = (float)(inverse - (double)high);
    return __fmaf_rn(e, high, e * low);
}
LINE_FN double norm_divided(double e, double inverse)
{
    return e * inverse;
}

template <class T, int V, bool LOG> LINE_FN void norm_softmax(const norm_row<T, V> &row)
{
    typedef typename norm_row<T, V>::C C;
    typename norm_row<T, V>::computed x[UNROLL];
    double sum, ones, largest = __longlong_as_double((long long)0xfff0000000000000ull);
    C most = (C)largest;
    NORM_ITEMS(row, j)
    {
        row.first(j, x);
        NORM_EACH(row, j, u, k)
        most = x[u].at[k] > most ? x[u].at[k] : most;
    }
    largest = norm_all<norm_larger>(row.p, (double)most);
    most = (C)largest;
    norm_exponentials<T, V, !LOG>(row, most, &sum, &ones);
    double last = LOG ? log1p((ones - 1.0) + sum) : 1.0 / (ones + sum);
    NORM_ITEMS(row, j)
    {
        row.again(j, x);
        NORM_EACH(row, j, u, k)
        {
            C v = x[u].at[k];
            if (LOG)
                v = (C)(((double)v - largest) - last);
            else
                v = norm_divided(row.p.staged ? v : norm_exp(v, most), last);
            x[u].at[k] = v;
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (j + u * row.p.lanes < row.items)
                row.put(j + u * row.p.lanes, x[u]);
    }
}

/* ---- layer_norm, rms_norm ---- */
/* (x - mean)*factor: in float with both split in two parts, unless the factor needs the range of a
 * double. */
struct norm_affine {
    double mean, error, factor;
    float mean_high, mean_low, factor_high, factor_low;
    int wide;
    LINE_MEMBER void set(double m, double e, double f)
    {
        mean = m;
        error = e;
        factor = f;
        mean_high = (float)(m + e);
        mean_low = (float)((m - (double)mean_high) + e);
        factor_high = (float)f;
        factor_low = (float)(f - (double)factor_high);
        wide = !(f > 1e-30 && f < 1e30);
    }
    LINE_MEMBER double of(double x) const { return ((x - mean) - error) * factor; }
    LINE_MEMBER float of(float x) const
    {
        if (wide)
            return (float)of((double)x);
        float t = (x - mean_high) - mean_low;
        return __fmaf_rn(t, factor_high, t * factor_low);
    }
};
LINE_FN float norm_fma(float a, float b, float c)
{
    return __fmaf_rn(a, b, c);
}
LINE_FN double norm_fma(double a, double b, double c)
{
    return __fma_rn(a, b, c);
}

template <class T, int V> LINE_FN void norm_write(const norm_row<T, V> &row, const norm_affine &f)
{
    typedef typename norm_row<T, V>::computed computed;
    NORM_ITEMS(row, j)
    {
        computed x[UNROLL];
        row.again(j, x);
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            uint64_t i = j + u * row.p.lanes;
            computed scale, bias;
            if (i >= row.items)
                continue;
            row.weights(i, &scale, &bias);
#pragma unroll
            for (int k = 0; k < V; k++) {
                auto v = f.of(x[u].at[k]);
                if (row.p.scale && row.p.bias)
                    v = norm_fma(v, scale.at[k], bias.at[k]);
                else if (row.p.scale)
                    v *= scale.at[k];
                else if (row.p.bias)
                    v += bias.at[k];
                x[u].at[k] = v;
            }
            row.put(i, x[u]);
        }
    }
}

template <class T, int V> LINE_FN void norm_layer(const norm_row<T, V> &row)
{
    typedef typename norm_row<T, V>::C C;
    typename norm_row<T, V>::computed x[UNROLL];
    norm_sum<C> sum = {0.0, 0.0}, rest = {0.0, 0.0}, squares = {0.0, 0.0};
    norm_affine f;
    NORM_ITEMS(row, j)
    {
        row.first(j, x);
        NORM_EACH(row, j, u, k)
        sum.add((double)x[u].at[k]);
    }
    double mean = norm_all<norm_add>(row.p, sum.value()) / row.p.count;
    NORM_ITEMS(row, j)
    {
        row.again(j, x);
        NORM_EACH(row, j, u, k)
        {
            double d = (double)x[u].at[k] - mean;
            rest.add(d);
            squares.add(d * d);
        }
    }
    double left = norm_all<norm_add>(row.p, rest.value()), error = left / row.p.count;
    double q = norm_all<norm_add>(row.p, squares.value());
    f.set(mean, error, 1.0 / sqrt((q - left * error) / row.p.count + row.p.eps));
    norm_write(row, f);
}

template <class T, int V> LINE_FN void norm_rms(const norm_row<T, V> &row)
{
    typedef typename norm_row<T, V>::C C;
    typename norm_row<T, V>::computed x[UNROLL];
    norm_sum<C> squares = {0.0, 0.0};
    norm_affine f;
    NORM_ITEMS(row, j)
    {
        row.first(j, x);
        NORM_EACH(row, j, u, k)
        squares.add((double)x[u].at[k] * (double)x[u].at[k]);
    }
    double q = norm_all<norm_add>(row.p, squares.value());
    f.set(0.0, 0.0, 1.0 / sqrt(q / row.p.count + row.p.eps));
    norm_write(row, f);
}

template <int OP, class T, int V> LINE_FN void norm_rows(const norm_params &p)
{
    extern __shared__ __align__(32) unsigned char norm_stage[];
    typedef typename norm_row<T, V>::C C;
    int t = (int)threadIdx.x, lane = p.across ? t / p.width : t % p.lanes;
    int r = p.across ? t & (p.width - 1) : t / p.lanes;
    uint64_t step = (uint64_t)gridDim.x * p.width;
    for (uint64_t first = (uint64_t)blockIdx.x * p.width; first < p.rows; first += step) {
        uint64_t i = first + r;
        int64_t from = 0, to = 0;
        if (i < p.rows)
            line_offsets(p.dim, p.n_kept, i, &from, &to);
        norm_row<T, V> row = {p,
                              (const T *)p.in + from,
                              (T *)p.out + to,
                              (C *)norm_stage + (int64_t)r * p.stage_row,
                              (uint64_t)lane,
                              i < p.rows ? p.items : 0};
        if (OP == SOFTMAX)
            norm_softmax<T, V, false>(row);
        else if (OP == LOG_SOFTMAX)
            norm_softmax<T, V, true>(row);
        else if (OP == LAYER_NORM)
            norm_layer<T, V>(row);
        else
            norm_rms<T, V>(row);
    }
}

/* ---- the kernels: "long" and "short" for rows that threads hold, "vec" where elements of rows lie
 * dense, "any" for all strides ---- */
#define NORM_KERNEL(name, OP, T, V)                               \
    extern "C" __global__ void __launch_bounds__(NORM_THREADS, 3) \
        name(const __grid_constant__ norm_params p)               \
    {                                                             \
        norm_rows<OP, T, V>(p);                                   \
    }
/* Long rows on an SM at once; Turing has threads for two. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define NORM_LONG_BLOCKS 2
#else
#define NORM_LONG_BLOCKS 3
#endif
#define NORM_FIT(name, OP, T)                                                         \
    extern "C" __global__ void __launch_bounds__(NORM_LONG_THREADS, NORM_LONG_BLOCKS) \
        name##_long(const __grid_constant__ norm_params p)                            \
    {                                                                                 \
        norm_fit<OP, T, true>(p);                                                     \
    }                                                                                 \
    extern "C" __global__ void __launch_bounds__(NORM_THREADS, 4)                     \
        name##_short(const __grid_constant__ norm_params p)                           \
    {                                                                                 \
        norm_fit<OP, T, false>(p);                                                    \
    }
#define NORM(name, OP)                                \
    NORM_KERNEL(name##_vec, OP, norm_element, NORM_V) \
    NORM_KERNEL(name##_any, OP, norm_element, 1)
#define NORM_DTYPE_(dtype) cuda_dtype<NDP_##dtype>::stored
#define NORM_DTYPE(dtype) NORM_DTYPE_(dtype)
typedef NORM_DTYPE(CUDA_DTYPE) norm_element;
enum { NORM_V = sizeof(norm_element) == 8 ? 2 : 4 };
NORM(softmax, SOFTMAX)
NORM(log_softmax, LOG_SOFTMAX)
NORM(layer_norm, LAYER_NORM)
NORM(rms_norm, RMS_NORM)
#define NORM_FITS_F16(name, OP) NORM_FIT(name, OP, norm_element)
#define NORM_FITS_BF16(name, OP) NORM_FIT(name, OP, norm_element)
#define NORM_FITS_F32(name, OP) NORM_FIT(name, OP, norm_element)
#define NORM_FITS_F64(name, OP)
#define NORM_COLUMNS_F16(name, LOG) NORM_COLUMNS(name, norm_element, LOG)
#define NORM_COLUMNS_BF16(name, LOG) NORM_COLUMNS(name, norm_element, LOG)
/* Of halves, twice as many columns of a thread would not keep to its registers. */
#define NORM_COLUMNS_F32(name, LOG)       \
    NORM_COLUMNS(name, norm_element, LOG) \
    NORM_TURNS(name, norm_element, LOG)
#define NORM_COLUMNS_F64(name, LOG)
#define NORM_COLUMNS_(dtype) NORM_COLUMNS_##dtype
#define NORM_COLUMNS_OF(dtype) NORM_COLUMNS_(dtype)
#define NORM_FITS_(dtype) NORM_FITS_##dtype
#define NORM_FITS(dtype) NORM_FITS_(dtype)
#define NORM_FIT_OF NORM_FITS(CUDA_DTYPE)
NORM_FIT_OF(softmax, SOFTMAX)
NORM_FIT_OF(log_softmax, LOG_SOFTMAX)
NORM_FIT_OF(layer_norm, LAYER_NORM)
NORM_FIT_OF(rms_norm, RMS_NORM)
#define NORM_COLUMN_OF NORM_COLUMNS_OF(CUDA_DTYPE)
NORM_COLUMN_OF(softmax, false)
NORM_COLUMN_OF(log_softmax, true)
