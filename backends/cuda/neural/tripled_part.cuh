/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a block of keys adds to the gradients of a step's queries, by products as in tripled.cuh: slopes of all its keys, which
 * lie in shared memory in rows of keys (T::show()), times these keys. A warp has 32 queries and 32 columns of them. Blocks
 * add to what those of earlier keys have left in global memory, one after another, so that the bits are always the same. */
#ifndef NDOCK_CUDA_TRIPLED_PART_CUH
#define NDOCK_CUDA_TRIPLED_PART_CUH
#include "neural/tripled.cuh"

template <class T> struct tripled_part_columns {
    enum { ALL = T::SHARE * T::SPLIT, OWN = 32 };
};
template <class T>
struct tripled_part : tripled<tripled_part_columns<T>::ALL, 2, T::ROWS, T::THREADS / 32,
                              tripled_part_columns<T>::ALL / tripled_part_columns<T>::OWN> {
    typedef tripled<tripled_part_columns<T>::ALL, 2, T::ROWS, T::THREADS / 32,
                    tripled_part_columns<T>::ALL / tripled_part_columns<T>::OWN>
        base;
    enum { QUERIES = T::OTHERS, KEYS = T::ROWS, SLOPE_PITCH = T::WEIGHT_PITCH };
    using base::HELD;
    using base::PITCH;
    using base::SHARE;
    using base::SUMS;
    using base::tx;
    using base::ty;
    static_assert((int)base::ROWS == (int)QUERIES, "warps have all queries and columns");
    typename base::sums y;

    __device__ __forceinline__ explicit tripled_part(const attention_params &params) : base(params)
    {
    }
    /* Begins with what lies in `rows` rows; from nothing, where nothing was added yet. */
    __device__ __forceinline__ void begin(const float *from, int rows, bool any)
    {
        const int64_t *stride = base::p.out[0].stride;
        base::clear(y);
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            const int row = base::row_of(i);
            const float *const at = from + row * stride[2];
            if (any && row < rows)
                read(y[i], at, stride[3], base::is_whole(at, stride[3]));
        }
    }
    __device__ __forceinline__ void read(float (&to)[SUMS], const float *from, int64_t step,
                                         bool whole) const
    {
#pragma unroll
        for (int e = 0; e < SUMS; e += 4) {
            const int column = base::part * SHARE + 8 * tx + e;
            if (whole && column + 4 <= base::p.d) {
                const float4 x = *(const float4 *)(from + column);
                to[e] = x.x;
                to[e + 1] = x.y;
                to[e + 2] = x.z;
                to[e + 3] = x.w;
                continue;
            }
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (column + k < base::p.d)
                    to[e + k] = from[(column + k) * step];
        }
    }
    __device__ __forceinline__ void write(float *to, int rows) const
    {
        const int64_t *stride = base::p.out[0].stride;
#pragma unroll
        for (int i = 0; i < HELD; i++)
            if (base::row_of(i) < rows)
                base::write(to + base::row_of(i) * stride[2], stride[3], base::p.d, y[i], 1.0f);
    }
    /* Where the slopes of the first of the lane's queries begin. */
    __device__ __forceinline__ int first_slope() const
    {
        return base::warp * 32 + base::place_of(ty);
    }
    /* y += slopes times keys; slowly: by multiply-adds. */
    __device__ __forceinline__ void add(const float *slopes, const float *keys, bool slowly)
    {
        slopes += first_slope();
        keys += base::part * SHARE;
        if (slowly) {
            add_slowly(slopes, keys + 8 * tx);
            return;
        }
        slopes += 2 * tx * SLOPE_PITCH;
        keys += 2 * tx * PITCH + ty * 4;
#pragma unroll 1
        for (int j = 0; j < KEYS; j += TRIPLED_DEEP) {
            typename base::left a;
            take(a, slopes + j * SLOPE_PITCH);
            base::add_deep(y, a, keys + j * PITCH, 0);
        }
    }
    /* Slopes of TRIPLED_DEEP keys, in the order in which add_deep() reads keys. */
    __device__ __forceinline__ void take(typename base::left &a, const float *slopes) const
    {
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int h = 0; h < base::STEPS; h++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    a[m][h].split(i, slopes[(8 * h + i / 2) * SLOPE_PITCH + (2 * m + i % 2) * 8]);
    }
    __device__ __forceinline__ void add_slowly(const float *slopes, const float *keys)
    {
#pragma unroll 1
        for (int j = 0; j < KEYS; j++, slopes += SLOPE_PITCH, keys += PITCH)
#pragma unroll
            for (int e = 0; e < SUMS; e++)
#pragma unroll
                for (int i = 0; i < HELD; i++)
                    y[i][e] = __fmaf_rn(slopes[8 * i], keys[e], y[i][e]);
    }
};

#endif
