/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention of f32 by tiles of registers of a kind T (tiled.cuh, tripled.cuh). A block has rows of queries and goes over
 * the keys, OTHERS at a time. While weights are made and values added, the next keys are copied to where the last ones were,
 * and the next values while scores are made. What was summed is scaled down whenever a larger score is met, as
 * in flash_rows.cuh. */
#ifndef NDOCK_CUDA_TILED_FORWARD_CUH
#define NDOCK_CUDA_TILED_FORWARD_CUH
#include "neural/flash_weight.cuh"
#include "neural/tiled_block.cuh"

template <class T> struct tiled_forward : T {
    typedef T base;
    typedef typename base::products products;
    using base::HELD;
    using base::OTHERS;
    using base::OWNED;
    using base::p;
    using base::PITCH;
    using base::ROWS;
    int b, h, kh, first, end; /* end: of keys that some row sees */
    float *queries, *keys, *values, *weights;
    float *tops; /* where warps that have the same rows show each other numbers of these */
    float top[HELD], sum[HELD]; /* sum: of the others that the thread has */
    typename base::sums y;

    __device__ __forceinline__ explicit tiled_forward(const attention_params &params) : base(params)
    {
        MMA_SHARED(memory);
        const attention_place place(p, (int)blockIdx.x, (int)(p.batch * p.heads));
        first = (p.row_blocks - 1 - place.at) * ROWS; /* the longest first */
        b = place.head / (int)p.heads;
        h = place.head % (int)p.heads;
        kh = h / ((int)p.heads / (int)p.key_heads);
        end = base::seen_by((first + ROWS < p.m ? first + ROWS : (int)p.m) - 1);
        queries = (float *)memory;
        keys = queries + ROWS * PITCH;
        values = keys + OTHERS * PITCH;
        weights = values + OTHERS * PITCH;
        tops = weights + base::WEIGHTS;
        base::clear(y);
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            top[i] = TILED_NOTHING;
            sum[i] = 0;
        }
    }
    __device__ __forceinline__ void fetch_keys(int j) const
    {
        if (j < end)
            base::template fetch<OTHERS>(keys, base::source(p.k, b, kh, p.d), j, (int)p.n);
        mma_commit();
    }
    __device__ __forceinline__ void fetch_values(int j) const
    {
        if (j < end)
            base::template fetch<OTHERS>(values, base::source(p.v, b, kh, p.e), j, (int)p.n);
        mma_commit();
    }
    /* Scores of keys j and on, from products. */
    __device__ __forceinline__ void finish(products &s, int j)
    {
        base::multiply_by(s, (float)p.scale);
        if (p.mask_kind)
            base::edit(s, weights, [&](float &score, int row, int other) {
                base::mask(score, b, h, first + row, j + other);
            });
        if (j + OTHERS <= base::seen_by(first))
            return;
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            const int seen = base::seen_by(first + base::row_of(i)) - j - base::other_of(0);
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                s[i][k] = base::apart(k) < seen ? s[i][k] : TILED_NOTHING;
        }
    }
    /* x of each row, with that of the other warp that has the row. */
    template <class F> __device__ __forceinline__ void join(float (&x)[HELD], const F &joined) const
    {
        if constexpr (base::SPLIT > 1) {
#pragma unroll
            for (int i = 0; i < HELD; i++)
                if (base::tx == 0)
                    tops[base::part * ROWS + base::row_of(i)] = x[i];
            base::meet();
#pragma unroll
            for (int i = 0; i < HELD; i++)
                x[i] = joined(x[i], tops[(1 - base::part) * ROWS + base::row_of(i)]);
        }
    }
    /* The largest scores of rows so far. */
    __device__ __forceinline__ void find_most(float (&most)[HELD], const products &s) const
    {
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            most[i] = top[i];
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                most[i] = fmaxf(most[i], s[i][k]);
#pragma unroll
            for (int w = 1; w < base::BESIDE; w *= 2)
                most[i] = fmaxf(most[i], __shfl_xor_sync(0xffffffffu, most[i], w));
        }
        join(most, [](float a, float b) { return fmaxf(a, b); });
    }
    /* Weights of a row, their sum with what came before, and the result so far to their scale. */
    __device__ __forceinline__ void weigh(int i, float (&s)[OWNED], float most)
    {
        float all = 0;
        const float shift = most > TILED_NOTHING ? most : 0.0f;
        const float down = neural_exp(top[i] - shift);
#pragma unroll
        for (int k = 0; k < OWNED; k++) {
            s[k] = neural_exp(s[k] - shift);
            all += s[k];
        }
        top[i] = most;
        sum[i] = __fmaf_rn(sum[i], down, all);
#pragma unroll
        for (int e = 0; e < base::SUMS; e++)
            y[i][e] *= down;
    }
    __device__ __forceinline__ void drop(products &s, int j) const
    {
        base::edit(s, weights, [&](float &weight, int row, int other) {
            if (!flash_is_kept(p, b, h, first + row, j + other))
                weight = 0;
        });
    }
    __device__ __forceinline__ void step(int j)
    {
        products s;
        float most[HELD];
        mma_wait<1>(); /* all but the values, which were begun last */
        if (j == 0)
            base::template look_own<ROWS>(queries);
        base::template look<OTHERS>(keys);
        base::arrive();
        base::multiply(s, queries, keys, weights);
        __syncthreads();
        fetch_keys(j + OTHERS);
        finish(s, j);
        find_most(most, s);
#pragma unroll
        for (int i = 0; i < HELD; i++)
            weigh(i, s[i], most[i]);
        if (p.least)
            drop(s, j);
        base::put(weights, s);
        mma_wait<1>();
        base::template look<OTHERS>(values);
        base::arrive(); /* values are there, and weights */
        base::template add<false>(y, s, weights, values);
        __syncthreads();
        fetch_values(j + OTHERS);
    }
    /* Sums of weights of whole rows. */
    __device__ __forceinline__ void add_sums()
    {
#pragma unroll
        for (int i = 0; i < HELD; i++)
#pragma unroll
            for (int w = 1; w < base::BESIDE; w *= 2)
                sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], w);
        __syncthreads(); /* what was shown of the last step has been read */
        join(sum, [](float a, float b) { return a + b; });
    }
    __device__ __forceinline__ void write(int i) const
    {
        const int row = first + base::row_of(i);
        const float all = sum[i];
        if (row >= p.m)
            return;
        const int64_t *o = p.out[0].stride, *l = p.out[1].stride;
        base::write((float *)p.out[0].at + b * o[0] + h * o[1] + row * o[2], o[3], p.e, y[i],
                    all == 0 ? 0.0f : 1.0f / (all * (float)p.keep));
        if (base::leads())
            ((float *)p.out[1].at)[b * l[0] + h * l[1] + row * l[2]] =
                all == 0 ? TILED_NOTHING : top[i] + (float)log((double)all);
    }
    __device__ __forceinline__ void run()
    {
        base::template fetch<ROWS>(queries, base::source(p.q, b, h, p.d), first, (int)p.m);
        fetch_keys(0);
        fetch_values(0);
        for (int j = 0; j < end; j += OTHERS)
            step(j);
        mma_wait<0>();
        add_sums();
#pragma unroll
        for (int i = 0; i < HELD; i++)
            write(i);
    }
};

#endif
