/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of the row normalisations of one dtype, CUDA_DTYPE. A warp or a block serves a row: one
 * pass for its sums, in doubles, and one that writes (for f64 a first one for the mean, too). */
#include "neural/neural.h"
#include "neural/neural.cuh"
#include "neural/norm_held.cuh"
#include "neural/norm_weighed.cuh"

enum { SOFTMAX, LOG_SOFTMAX, LAYER_NORM, RMS_NORM };

typedef struct {
    int64_t at[NEURAL_OPERANDS];
} offsets;

/* Where item i lies along dimensions innermost first. */
NEURAL_FN offsets offsets_of(const neural_dim *dim, int ndim, int64_t i)
{
    offsets r = {{0, 0, 0, 0}};
#pragma unroll 1
    for (int d = 0; d < ndim; d++) {
        int64_t above = d + 1 < ndim ? i / dim[d].extent : 0, x = i - above * dim[d].extent;
#pragma unroll
        for (int o = 0; o < NEURAL_OPERANDS; o++)
            r.at[o] += x * dim[d].stride[o];
        i = above;
    }
    return r;
}

template <class T, int V> struct grad_row {
    typedef typename neural_computed<T>::type C;
    const neural_norm &p;
    const T *x, *g, *scale;
    T *out;
    int64_t lane, lanes;

    __device__ __forceinline__ offsets where(int64_t i) const
    {
        if (p.reduced == 1) {
            offsets r;
#pragma unroll
            for (int o = 0; o < NEURAL_OPERANDS; o++)
                r.at[o] = i * p.dim[p.kept].stride[o];
            return r;
        }
        return offsets_of(p.dim + p.kept, p.reduced, i);
    }
    /* Item i of x, and of g times scale. */
    __device__ __forceinline__ void load(int64_t i, C (&a)[V], C (&b)[V]) const
    {
        offsets o = where(i);
        neural_load<T, V>(x, o.at[NEURAL_X], a);
        neural_load<T, V>(g, o.at[NEURAL_G], b);
        if (!scale)
            return;
        if (V > 1 && p.dim[p.kept].stride[NEURAL_SCALE] == 0) { /* one for the whole vector */
#pragma unroll
            for (int k = 0; k < V; k++)
                b[k] *= neural_widen(scale[o.at[NEURAL_SCALE]]);
            return;
        }
        C s[V];
        neural_load<T, V>(scale, o.at[NEURAL_SCALE], s);
#pragma unroll
        for (int k = 0; k < V; k++)
            b[k] *= s[k];
    }
    __device__ __forceinline__ void store(int64_t i, const C (&a)[V]) const
    {
        neural_store<T, V>(out, where(i).at[NEURAL_OUT], a);
    }
};

template <class T, int V, bool WARP, bool LOG> NEURAL_FN void softmax_row(const grad_row<T, V> &r)
{
    typedef typename neural_computed<T>::type C;
    double s[1] = {0};
    for (int64_t i = r.lane; i < r.p.items; i += r.lanes) {
        C y[V], g[V], part = 0;
        r.load(i, y, g);
#pragma unroll
        for (int k = 0; k < V; k++)
            part += LOG ? g[k] : g[k] * y[k];
        s[0] += part;
    }
    neural_sum<1, WARP>(s);
    const C sum = (C)s[0];
    for (int64_t i = r.lane; i < r.p.items; i += r.lanes) {
        C y[V], g[V];
        r.load(i, y, g);
#pragma unroll
        for (int k = 0; k < V; k++)
            y[k] = LOG ? g[k] - neural_exp(y[k]) * sum : y[k] * (g[k] - sum);
        r.store(i, y);
    }
}

/* The mean of x, for a shift that keeps the sums of f64 exact enough. */
template <class T, int V, bool WARP>
NEURAL_FN double row_mean(const grad_row<T, V> &r, double shift)
{
    typedef typename neural_computed<T>::type C;
    double s[1] = {0};
    for (int64_t i = r.lane; i < r.p.items; i += r.lanes) {
        C x[V], g[V];
        r.load(i, x, g);
#pragma unroll
        for (int k = 0; k < V; k++)
            s[0] += (double)x[k] - shift;
    }
    neural_sum<1, WARP>(s);
    return shift + s[0] / r.p.count;
}

template <class T, int V, bool WARP, bool CENTRED>
NEURAL_FN void norm_row(const grad_row<T, V> &r, int64_t number)
{
    typedef typename neural_computed<T>::type C;
    const double n = r.p.count;
    double s[4] = {0, 0, 0, 0}; /* of d = x - shift: d, d*d; g, g*d */
    double shift = CENTRED ? (double)neural_widen(*r.x) : 0.0;
    if (CENTRED && sizeof(C) == 8)
        shift = row_mean<T, V, WARP>(r, shift);
    const C first = (C)shift;
    for (int64_t i = r.lane; i < r.p.items; i += r.lanes) {
        C x[V], g[V], part[4] = {0, 0, 0, 0};
        r.load(i, x, g);
#pragma unroll
        for (int k = 0; k < V; k++) {
            C d = x[k] - first;
            part[0] += d;
            part[1] += d * d;
            part[2] += g[k];
            part[3] += g[k] * d;
        }
#pragma unroll
        for (int k = 0; k < 4; k++)
            s[k] += part[k];
    }
    neural_sum<4, WARP>(s);
    const double d = CENTRED ? s[0] / n : 0.0, mean = CENTRED ? (double)first + d : 0.0;
    double variance = s[1] / n - d * d;
    variance = variance > 0 || !(variance == variance) ? variance : 0.0;
    const double factor = 1.0 / sqrt(variance + r.p.eps);
    if (r.lane == 0)
        neural_row_known(r.p, number, mean, factor);
    const double a = CENTRED ? s[2] / n : 0.0, b = (s[3] - d * s[2]) / n * factor * factor;
    const C high = (C)mean, low = (C)(mean - (double)high), ca = (C)a, cb = (C)b, cf = (C)factor;
    for (int64_t i = r.lane; i < r.p.items; i += r.lanes) {
        C x[V], g[V];
        r.load(i, x, g);
#pragma unroll
        for (int k = 0; k < V; k++)
            x[k] = ((g[k] - ca) - ((x[k] - high) - low) * cb) * cf;
        r.store(i, x);
    }
}

template <class T, int OP, int V, bool WARP> NEURAL_FN void grad_rows(const neural_norm &p)
{
    const int64_t beside = WARP ? blockDim.x / 32 : 1;
    const int64_t step = (int64_t)gridDim.x * beside;
    int64_t row = blockIdx.x * beside + (WARP ? threadIdx.x / 32 : 0);
    for (; row < p.rows; row += step) {
        offsets o = offsets_of(p.dim, p.kept, row);
        grad_row<T, V> r = {p,
                            (const T *)p.at[NEURAL_X] + o.at[NEURAL_X],
                            (const T *)p.at[NEURAL_G] + o.at[NEURAL_G],
                            p.at[NEURAL_SCALE] ? (const T *)p.at[NEURAL_SCALE] + o.at[NEURAL_SCALE]
                                               : (const T *)0,
                            (T *)p.at[NEURAL_OUT] + o.at[NEURAL_OUT],
                            WARP ? threadIdx.x % 32 : threadIdx.x,
                            WARP ? 32 : blockDim.x};
        if (OP == SOFTMAX || OP == LOG_SOFTMAX)
            softmax_row<T, V, WARP, OP == LOG_SOFTMAX>(r);
        else
            norm_row<T, V, WARP, OP == LAYER_NORM>(r, row);
    }
}

#define GRAD_DTYPE_(dtype) cuda_dtype<NDP_##dtype>::stored
#define GRAD_DTYPE(dtype) GRAD_DTYPE_(dtype)
typedef GRAD_DTYPE(CUDA_DTYPE) element;
enum { VECTOR = 16 / sizeof(element) };
#define GRAD_KERNEL(name, OP, V, WARP)                           \
    extern "C" __global__ void __launch_bounds__(NEURAL_THREADS) \
        name(const __grid_constant__ neural_norm p)              \
    {                                                            \
        grad_rows<element, OP, V, WARP>(p);                      \
    }
#define GRAD(name, OP)                               \
    GRAD_KERNEL(name##_warp_vec, OP, VECTOR, true)   \
    GRAD_KERNEL(name##_warp, OP, 1, true)            \
    GRAD_KERNEL(name##_block_vec, OP, VECTOR, false) \
    GRAD_KERNEL(name##_block, OP, 1, false)
GRAD(softmax_grad, SOFTMAX)
GRAD(log_softmax_grad, LOG_SOFTMAX)
GRAD(layer_norm_grad, LAYER_NORM)
GRAD(rms_norm_grad, RMS_NORM)

/* Rows that threads hold: four vectors each, or eight. */
#define HELD_KERNEL(name, K, CENTRED, WARP, MOST, BLOCKS)      \
    extern "C" __global__ void __launch_bounds__(MOST, BLOCKS) \
        name(const __grid_constant__ neural_norm p)            \
    {                                                          \
        held_rows<element, K, CENTRED, WARP>(p);               \
    }
#define HELD(name, CENTRED)                                              \
    HELD_KERNEL(name##_held, 4, CENTRED, true, NEURAL_THREADS, 4)        \
    HELD_KERNEL(name##_held4, 4, CENTRED, false, NEURAL_HELD_THREADS, 2) \
    HELD_KERNEL(name##_held8, 8, CENTRED, false, NEURAL_HELD_THREADS, 1)
/* Rows with gradients for weights: a warp has a short one, a block others. */
#define WEIGHED_KERNEL(name, CENTRED, WARP, MOST, BLOCKS)      \
    extern "C" __global__ void __launch_bounds__(MOST, BLOCKS) \
        name(const __grid_constant__ neural_norm p)            \
    {                                                          \
        weighed_rows<element, CENTRED, WARP>(p);               \
    }
#define WEIGHED(name, CENTRED)                                            \
    WEIGHED_KERNEL(name##_weighed_warp, CENTRED, true, NEURAL_THREADS, 2) \
    WEIGHED_KERNEL(name##_weighed_block, CENTRED, false, NEURAL_HELD_THREADS, 1)
#define HELD_F16                \
    HELD(layer_norm_grad, true) \
    HELD(rms_norm_grad, false) WEIGHED(layer_norm_grad, true) WEIGHED(rms_norm_grad, false)
#define HELD_BF16 HELD_F16
#define HELD_F32 HELD_F16
#define HELD_F64
#define HELD_OF_(dtype) HELD_##dtype
#define HELD_OF(dtype) HELD_OF_(dtype)
HELD_OF(CUDA_DTYPE)
