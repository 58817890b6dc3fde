/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A matrix of f32, f16 or bf16 whose rows lie dense in memory times a vector: a block reads some rows
 * at once, each from one end to the other. For matmul.cu, whose functions it calls. */
#ifndef NDOCK_CUDA_MATMUL_VECTOR_CUH
#define NDOCK_CUDA_MATMUL_VECTOR_CUH

/* Read once: what others read again stays in the cache. */
template <class VECTOR> static __device__ __forceinline__ VECTOR vector_once(const VECTOR *at)
{
    union {
        uint4 words;
        VECTOR vector;
    } x = {__ldcs((const uint4 *)at)};
    return x.vector;
}

/* The sums of all threads, of each row, in its first one. */
static __device__ __forceinline__ void vector_join(T (&sum)[MM_VECTOR_ROWS])
{
    __shared__ T warps[MM_THREADS / 32][MM_VECTOR_ROWS];
#pragma unroll
    for (int r = 0; r < MM_VECTOR_ROWS; r++)
        for (int h = 16; h; h /= 2)
            sum[r] = plus(sum[r], __shfl_down_sync(0xffffffffu, sum[r], h));
    if (threadIdx.x % 32 == 0)
#pragma unroll
        for (int r = 0; r < MM_VECTOR_ROWS; r++)
            warps[threadIdx.x / 32][r] = sum[r];
    __syncthreads();
    if (threadIdx.x < MM_VECTOR_ROWS) {
        sum[0] = warps[0][threadIdx.x];
        for (int w = 1; w < MM_THREADS / 32; w++)
            sum[0] = plus(sum[0], warps[w][threadIdx.x]);
    }
}

/* a: the matrix, or b where the first operand is the vector. */
template <class S> static __device__ __forceinline__ void vector_rows(const mm_params &p)
{
    const int V = 16 / sizeof(S), R = MM_VECTOR_ROWS;
    struct alignas(16) vector {
        S at[V];
    };
    const bool turned = p.m == 1;
    const int64_t rows = turned ? p.n : p.m, step = turned ? p.b.column : p.a.row;
    const int64_t first = (int64_t)blockIdx.x * R, items = p.k / V;
    const S *const matrix = (const S *)(turned ? p.b.at : p.a.at);
    const vector *const x = (const vector *)(turned ? p.a.at : p.b.at), *line[R];
    T sum[R];
#pragma unroll
    for (int r = 0; r < R; r++) {
        line[r] = (const vector *)(matrix + (first + r < rows ? first + r : rows - 1) * step);
        sum[r] = T();
    }
    for (int64_t i = threadIdx.x; i < items; i += MM_THREADS) {
        vector v[R];
        const vector factor = x[i];
#pragma unroll
        for (int r = 0; r < R; r++)
            v[r] = vector_once(line[r] + i);
#pragma unroll
        for (int r = 0; r < R; r++)
#pragma unroll
            for (int k = 0; k < V; k++)
                sum[r] =
                    multiply_add((T)cuda_widen(v[r].at[k]), (T)cuda_widen(factor.at[k]), sum[r]);
    }
    vector_join(sum);
    const int64_t row = first + threadIdx.x;
    if (threadIdx.x < R && row < rows)
        finish(p, 0, turned ? 0 : row, turned ? row : 0, sum[0]);
}

extern "C" __global__ void __launch_bounds__(MM_THREADS)
    matmul_vector(const __grid_constant__ mm_params p)
{
    if (p.a.dtype == NDP_F16)
        vector_rows<__half>(p);
    else if (p.a.dtype == NDP_BF16)
        vector_rows<__nv_bfloat16>(p);
    else
        vector_rows<float>(p);
}

#endif
