/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Rotary position embedding, and dropout. */
#include "neural/neural.h"
#include "neural/neural.cuh"
#include "walk/divisor.cuh"

/* x, y turned by an angle: products are rounded, as on the CPU, once in the type of computation. */
template <class C> NEURAL_FN void turn(C &x, C &y, C c, C s)
{
    const C turned = x * c - y * s;
    y = x * s + y * c;
    x = turned;
}

template <class T, int V> NEURAL_FN void rope_rows(const neural_rope &p)
{
    typedef typename neural_computed<T>::type C;
    const uint32_t bh = cuda_quotient(blockIdx.x, p.chunks);
    const uint32_t b = cuda_quotient(bh, p.heads), h = bh - b * p.heads.value;
    const T *in = (const T *)p.in + b * p.in_stride[0] + h * p.in_stride[1];
    const T *cosine = (const T *)p.cosine + b * p.cos_stride[0] + h * p.cos_stride[1];
    const T *sine = (const T *)p.sine + b * p.sin_stride[0] + h * p.sin_stride[1];
    T *out = (T *)p.out + b * p.out_stride[0] + h * p.out_stride[1];
    const int64_t all = p.t * p.pairs, step = (int64_t)p.chunks.value * blockDim.x;
    int64_t i = (int64_t)(blockIdx.x - bh * p.chunks.value) * blockDim.x + threadIdx.x;
    for (; i < all; i += step) {
        const int64_t t = i / p.pairs, j = (i - t * p.pairs) * V;
        const T *a = in + t * p.in_stride[2];
        T *to = out + t * p.out_stride[2];
        C x[V], y[V], c[V], s[V];
        if (V > 1) {
            neural_load<T, V>(a + j, 0, x);
            neural_load<T, V>(a + j + p.apart, 0, y);
            neural_load<T, V>(cosine + t * p.cos_stride[2] + j, 0, c);
            neural_load<T, V>(sine + t * p.sin_stride[2] + j, 0, s);
        } else {
            x[0] = neural_widen(a[j * p.step * p.in_stride[3]]);
            y[0] = neural_widen(a[(j * p.step + p.apart) * p.in_stride[3]]);
            c[0] = neural_widen(cosine[t * p.cos_stride[2] + j * p.cos_stride[3]]);
            s[0] = neural_widen(sine[t * p.sin_stride[2] + j * p.sin_stride[3]]);
        }
#pragma unroll
        for (int k = 0; k < V; k++)
            turn(x[k], y[k], c[k], s[k] * (C)p.sign);
        if (V > 1) {
            neural_store<T, V>(to + j, 0, x);
            neural_store<T, V>(to + j + p.apart, 0, y);
        } else {
            neural_narrow(&to[j * p.step * p.out_stride[3]], x[0]);
            neural_narrow(&to[(j * p.step + p.apart) * p.out_stride[3]], y[0]);
        }
    }
}

/* Pairs side by side, V/2 of them in a vector of a. */
template <class T, int V> NEURAL_FN void rope_interleaved(const neural_rope &p)
{
    typedef typename neural_computed<T>::type C;
    const uint32_t bh = cuda_quotient(blockIdx.x, p.chunks);
    const uint32_t b = cuda_quotient(bh, p.heads), h = bh - b * p.heads.value;
    const T *in = (const T *)p.in + b * p.in_stride[0] + h * p.in_stride[1];
    const T *cosine = (const T *)p.cosine + b * p.cos_stride[0] + h * p.cos_stride[1];
    const T *sine = (const T *)p.sine + b * p.sin_stride[0] + h * p.sin_stride[1];
    T *out = (T *)p.out + b * p.out_stride[0] + h * p.out_stride[1];
    const int64_t all = p.t * p.pairs, step = (int64_t)p.chunks.value * blockDim.x;
    int64_t i = (int64_t)(blockIdx.x - bh * p.chunks.value) * blockDim.x + threadIdx.x;
    for (; i < all; i += step) {
        const int64_t t = i / p.pairs, j = (i - t * p.pairs) * (V / 2);
        C x[V], c[V / 2], s[V / 2];
        neural_load<T, V>(in + t * p.in_stride[2] + 2 * j, 0, x);
        neural_load<T, V / 2>(cosine + t * p.cos_stride[2] + j, 0, c);
        neural_load<T, V / 2>(sine + t * p.sin_stride[2] + j, 0, s);
#pragma unroll
        for (int k = 0; k < V / 2; k++)
            turn(x[2 * k], x[2 * k + 1], c[k], s[k] * (C)p.sign);
        neural_store<T, V>(out + t * p.out_stride[2] + 2 * j, 0, x);
    }
}

#define ROPE_KERNEL(name, f, T, V)                               \
    extern "C" __global__ void __launch_bounds__(NEURAL_THREADS) \
        name(const __grid_constant__ neural_rope p)              \
    {                                                            \
        f<T, V>(p);                                              \
    }
#define ROPE(dtype, T)                                            \
    ROPE_KERNEL(rope_##dtype, rope_rows, T, 1)                    \
    ROPE_KERNEL(rope_##dtype##_vec, rope_rows, T, 16 / sizeof(T)) \
    ROPE_KERNEL(rope_##dtype##_pairs, rope_interleaved, T, 16 / sizeof(T))
ROPE(f16, __half)
ROPE(bf16, __nv_bfloat16)
ROPE(f32, float)
ROPE(f64, double)

/* ---- dropout: a thread takes the four elements of a block of Philox ---- */
NEURAL_FN float divided(float x, double by)
{
    return __fdiv_rn(x, (float)by);
}
NEURAL_FN double divided(double x, double by)
{
    return __ddiv_rn(x, by);
}

template <class T> NEURAL_FN void drop(const neural_dropout &p)
{
    typedef typename neural_computed<T>::type C;
    const T *in = (const T *)p.in;
    T *out = (T *)p.out;
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    const bool whole = p.in % (4 * sizeof(T)) == 0 && p.out % (4 * sizeof(T)) == 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i * 4 < p.n; i += step) {
        uint32_t word[4];
        C x[4];
        neural_philox(p.counter, p.key[0], p.key[1], i, word);
        if (whole && i * 4 + 4 <= p.n) {
            neural_load<T, 4>(in, (int64_t)i, x);
#pragma unroll
            for (int k = 0; k < 4; k++)
                x[k] = word[k] < p.least ? (C)0 : divided(x[k], p.divisor);
            neural_store<T, 4>(out, (int64_t)i, x);
            continue;
        }
        for (int k = 0; k < 4 && i * 4 + k < p.n; k++) {
            C v = neural_widen(in[i * 4 + k]);
            neural_narrow(&out[i * 4 + k], word[k] < p.least ? (C)0 : divided(v, p.divisor));
        }
    }
}

#define DROPOUT(dtype, T)                                         \
    extern "C" __global__ void __launch_bounds__(NEURAL_THREADS)  \
        dropout_##dtype(const __grid_constant__ neural_dropout p) \
    {                                                             \
        drop<T>(p);                                               \
    }
DROPOUT(f16, __half)
DROPOUT(bf16, __nv_bfloat16)
DROPOUT(f32, float)
DROPOUT(f64, double)
