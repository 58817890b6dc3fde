/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What kernels of neural operations share: elements and vectors of them in the type of computation,
 * sums over a warp or a block, and Philox. */
#ifndef NDOCK_CUDA_NEURAL_CUH
#define NDOCK_CUDA_NEURAL_CUH
#include "math/types.cuh"

#define NEURAL_FN static __device__ __forceinline__

template <class T> struct neural_computed {
    typedef float type;
};
template <> struct neural_computed<double> {
    typedef double type;
};

NEURAL_FN float neural_widen(float x)
{
    return x;
}
NEURAL_FN double neural_widen(double x)
{
    return x;
}
NEURAL_FN float neural_widen(__half x)
{
    return __half2float(x);
}
NEURAL_FN float neural_widen(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
NEURAL_FN void neural_narrow(float *to, float x)
{
    *to = x;
}
NEURAL_FN void neural_narrow(double *to, double x)
{
    *to = x;
}
NEURAL_FN void neural_narrow(__half *to, float x)
{
    *to = __float2half_rn(x);
}
NEURAL_FN void neural_narrow(__nv_bfloat16 *to, float x)
{
    *to = __float2bfloat16_rn(x);
}
NEURAL_FN float neural_fma(float a, float b, float c)
{
    return __fmaf_rn(a, b, c);
}
NEURAL_FN double neural_fma(double a, double b, double c)
{
    return __fma_rn(a, b, c);
}
NEURAL_FN float neural_exp(float x)
{
    return expf(x);
}
NEURAL_FN double neural_exp(double x)
{
    return exp(x);
}

template <class T, int V> struct alignas(sizeof(T) * V) neural_vector {
    T at[V];
};

/* Vector i of a row of them, computed; and back. */
template <class T, int V>
NEURAL_FN void neural_load(const T *from, int64_t i, typename neural_computed<T>::type (&x)[V])
{
    neural_vector<T, V> v = ((const neural_vector<T, V> *)from)[i];
#pragma unroll
    for (int k = 0; k < V; k++)
        x[k] = neural_widen(v.at[k]);
}
/* A vector as words of memory. Code that reads several before it uses any keeps these: of elements of 16 bits the compiler
 * makes registers as soon as they are read, and so waits for each. */
template <int SIZE> struct neural_word {
    typedef uint32_t type;
};
template <> struct neural_word<2> {
    typedef uint16_t type;
};
template <class T, int V> struct alignas(sizeof(T) * V) neural_raw {
    typedef typename neural_word<sizeof(T) * V>::type word;
    word at[sizeof(T) * V / sizeof(word)];
};
template <class T, int V> NEURAL_FN neural_raw<T, V> neural_read(const T *from)
{
    return *(const neural_raw<T, V> *)from;
}
template <class T, int V>
NEURAL_FN void neural_widen(const neural_raw<T, V> &raw, typename neural_computed<T>::type (&x)[V])
{
    neural_vector<T, V> v;
    memcpy((void *)&v, &raw, sizeof v);
#pragma unroll
    for (int k = 0; k < V; k++)
        x[k] = neural_widen(v.at[k]);
}
template <class T, int V>
NEURAL_FN void neural_store(T *to, int64_t i, const typename neural_computed<T>::type (&x)[V])
{
    neural_vector<T, V> v;
#pragma unroll
    for (int k = 0; k < V; k++)
        neural_narrow(&v.at[k], x[k]);
    ((neural_vector<T, V> *)to)[i] = v;
}

/* Two-sum: the error is what rounding took from the sum, which neural_whole() gives back; beside an infinity it means nothing. */
NEURAL_FN void neural_carry(double &sum, double &error, double x)
{
    const double s = sum + x, b = s - sum;
    error += (sum - (s - b)) + (x - b);
    sum = s;
}
NEURAL_FN double neural_whole(double sum, double error)
{
    return sum - sum == 0 ? sum + error : sum;
}
/* The sums of N values over a warp, or over the block, in every thread, in one order. */
template <int N, bool WARP> NEURAL_FN void neural_sum(double (&s)[N])
{
    __shared__ double all[WARP ? 1 : 32][N];
#pragma unroll
    for (int k = 0; k < N; k++)
        for (int h = 16; h; h /= 2)
            s[k] += __shfl_xor_sync(0xffffffffu, s[k], h);
    if (WARP)
        return;
    if (threadIdx.x % 32 == 0)
        for (int k = 0; k < N; k++)
            all[threadIdx.x / 32][k] = s[k];
    __syncthreads();
    for (int k = 0; k < N; k++) {
        s[k] = 0;
        for (int w = 0; w < (int)blockDim.x / 32; w++)
            s[k] += all[w][k];
    }
    __syncthreads();
}
template <bool WARP> NEURAL_FN double neural_max(double x)
{
    __shared__ double all[32];
    for (int h = 16; h; h /= 2) {
        double other = __shfl_xor_sync(0xffffffffu, x, h);
        x = other > x ? other : x;
    }
    if (WARP)
        return x;
    if (threadIdx.x % 32 == 0)
        all[threadIdx.x / 32] = x;
    __syncthreads();
    for (int w = 0; w < (int)blockDim.x / 32; w++)
        x = all[w] > x ? all[w] : x;
    __syncthreads();
    return x;
}

/* Philox 4x32-10 of counter + step, carry included. */
NEURAL_FN void neural_philox(const uint64_t (&counter)[2], uint32_t key0, uint32_t key1,
                             uint64_t step, uint32_t (&x)[4])
{
    uint64_t low = counter[0] + step, high = counter[1] + (low < step);
    x[0] = (uint32_t)low;
    x[1] = (uint32_t)(low >> 32);
    x[2] = (uint32_t)high;
    x[3] = (uint32_t)(high >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * x[0], b = (uint64_t)0xCD9E8D57u * x[2];
        x[0] = (uint32_t)(b >> 32) ^ x[1] ^ key0;
        x[1] = (uint32_t)b;
        x[2] = (uint32_t)(a >> 32) ^ x[3] ^ key1;
        x[3] = (uint32_t)a;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

#endif
