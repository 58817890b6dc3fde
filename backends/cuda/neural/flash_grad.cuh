/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of attention by tensor cores. A block has rows of its own, queries or keys, and goes
 * over those of the other side, STEP at a time; weights are computed again from logsumexp. Both
 * kinds are the same but for names: with the own operands x0, x1 (queries q, g; keys k, v) and the
 * others y0, y1,
 *     s = x0 y0T,  dp = x1 y1T,  w = exp(scale*s - logsumexp),  ds = w*(dp - delta),
 * the gradient of x0 is scale*ds*y0, and that of values w*y1. Warps share out the rows. */
#ifndef NDOCK_CUDA_FLASH_GRAD_CUH
#define NDOCK_CUDA_FLASH_GRAD_CUH
#include "neural/flash.cuh"

template <class T, int D, int M, bool KEYS> struct flash_grad {
    enum {
        ROWS = FLASH_WARPS * 16 * M,
        STEP = FLASH_GRAD_STEP,
        HELD = M == 1, /* own operands stay in registers */
        PITCH = tile<D>::PITCH,
        STAGE = STEP * PITCH,
        SUMS = 4 * STAGE, /* logsumexp and delta of STEP queries, after the stages */
        OUTS = KEYS ? 2 : 1
    };
    typedef float scores[M][STEP / 8][4];
    const attention_params &p;
    int b, h, kh, first; /* h: of the step, of keys */
    int begin, per_head, steps;
    int warp, lane;
    mma_address own, stages;
    float c;
    bool scaled; /* as in flash */
    float y[OUTS][M][D / 8][4], lse[M][2], delta[M][2];
    uint32_t x[HELD ? 2 : 1][HELD ? D / 16 : 1][4];

    __device__ __forceinline__ explicit flash_grad(const attention_params &params) : p(params)
    {
        MMA_SHARED(memory);
        const int heads = (int)(KEYS ? p.key_heads : p.heads), group = (int)(p.heads / p.key_heads);
        int block = (int)blockIdx.x, at = block % p.row_blocks;
        block /= p.row_blocks;
        warp = (int)threadIdx.x / 32;
        lane = (int)threadIdx.x % 32;
        own = mma_address_of(memory);
        stages = own + 2 * ROWS * PITCH;
        first = (KEYS ? at : p.row_blocks - 1 - at) * (int)ROWS; /* the longest first */
        b = block / heads;
        h = KEYS ? block % heads * group : block % heads;
        kh = h / group;
        set_steps(KEYS ? group : 1);
        c = (float)(p.scale * FLASH_LOG2E);
        scaled = p.mask_kind == ATTENTION_ADDED || !(c >= 0x1p-100f);
        for (int o = 0; o < OUTS; o++)
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int e = 0; e < D / 8; e++)
#pragma unroll
                    for (int k = 0; k < 4; k++)
                        y[o][m][e][k] = 0;
    }
    /* Queries from the first that sees a key of the block, or keys up to the last that is seen. */
    __device__ __forceinline__ void set_steps(int group)
    {
        const int64_t last = (first + ROWS < p.rows ? first + ROWS : p.rows) - 1;
        int64_t from = 0, to = KEYS ? p.m : p.n;
        if (KEYS && p.causal && first - p.diagonal > 0)
            from = (first - p.diagonal) / STEP * STEP;
        if (!KEYS && p.causal && last + 1 + p.diagonal < to)
            to = last + 1 + p.diagonal;
        begin = (int)(from < to ? from : 0);
        per_head = from < to ? (int)((to - from + STEP - 1) / STEP) : 0;
        steps = per_head * group;
    }
    __device__ __forceinline__ int row_of(int m, int half) const
    {
        return first + warp * 16 * M + m * 16 + half * 8 + lane / 4;
    }

    /* ---- operands ---- */
    __device__ __forceinline__ tile_source<T> source(const attention_view &v, int head,
                                                     int64_t columns) const
    {
        return {(const T *)v.at + b * v.stride[0] + head * v.stride[1], v.stride[2], v.stride[3],
                (int)columns, p.whole};
    }
    __device__ __forceinline__ void fetch_own() const
    {
        tile_fetch<ROWS, D>(own, KEYS ? source(p.k, kh, p.d) : source(p.q, h, p.d), first, p.rows);
        tile_fetch<ROWS, D>(own + ROWS * PITCH, KEYS ? source(p.v, kh, p.e) : source(p.g, h, p.e),
                            first, p.rows);
    }
    __device__ __forceinline__ void fetch(int step, int stage) const
    {
        const int head = h + step / per_head, from = begin + step % per_head * (int)STEP;
        const mma_address at = stages + (mma_address)(stage * 2 * STAGE);
        const int64_t end = KEYS ? p.m : p.n;
        tile_fetch<STEP, D>(at, KEYS ? source(p.q, head, p.d) : source(p.k, kh, p.d), from, end);
        tile_fetch<STEP, D>(at + STAGE, KEYS ? source(p.g, head, p.e) : source(p.v, kh, p.e), from,
                            end);
        if (KEYS && threadIdx.x < 2 * STEP) {
            const int i = (int)threadIdx.x % STEP;
            const attention_view &v = threadIdx.x < STEP ? p.lse : p.delta;
            const bool inside = from + i < p.m;
            const float *row = (const float *)v.at + b * v.stride[0] + head * v.stride[1];
            mma_fetch_word(stages + (mma_address)(SUMS + (stage * 2 * STEP + threadIdx.x) * 4),
                           inside ? row + (from + i) * v.stride[2] : (const float *)v.at, inside);
        }
    }
    __device__ __forceinline__ mma_address mine(int which) const
    {
        return tile_down<D>(own + (mma_address)((which * ROWS + warp * 16 * M) * PITCH), lane);
    }
    /* What the block keeps of its rows: operands, and sums of queries. */
    __device__ __forceinline__ void hold()
    {
#pragma unroll
        for (int which = 0; which < (HELD ? 2 : 0); which++)
#pragma unroll
            for (int k = 0; k < D / 16; k++)
                mma_load(x[which][HELD ? k : 0], mine(which) + (mma_address)(k * 32));
#pragma unroll
        for (int m = 0; m < (KEYS ? 0 : M); m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int row = row_of(m, half);
                const bool inside = row < p.rows;
                const int64_t *l = p.lse.stride, *d = p.delta.stride;
                lse[m][half] = shift_of(
                    inside ? ((const float *)p.lse.at)[b * l[0] + h * l[1] + row * l[2]] : 0);
                delta[m][half] =
                    inside ? ((const float *)p.delta.at)[b * d[0] + h * d[1] + row * d[2]] : 0;
            }
    }
    /* In powers of 2; of a query that sees nothing, so that its weights are 0. */
    __device__ __forceinline__ static float shift_of(float lse)
    {
        return lse > FLASH_NOTHING || lse != lse ? lse * (float)FLASH_LOG2E : -FLASH_NOTHING;
    }

    /* ---- one step ---- */
    __device__ __forceinline__ void multiply_rows(scores &s, int which, mma_address others)
    {
        const mma_address left = mine(which);
        tile_multiply<T, D, M, STEP>(
            s,
            [&](uint32_t(&r)[4], int m, int k) {
                if (!HELD)
                    mma_load(r, left + (mma_address)(m * 16 * PITCH + k * 32));
#pragma unroll
                for (int i = 0; i < 4; i++)
                    r[i] = HELD ? x[HELD ? which : 0][HELD ? k : 0][i] : r[i];
            },
            tile_along<D>(others, lane));
    }
    /* f(m, n, k, query, key) for those that there are; `from` is the first of the other side. */
    template <class F> __device__ __forceinline__ void each(int from, const F &f) const
    {
        int base = row_of(0, 0);
        MMA_OPAQUE(base);
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int n = 0; n < STEP / 8; n++)
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    const int row = base + m * 16 + k / 2 * 8,
                              column = from + n * 8 + lane % 4 * 2 + k % 2;
                    f(m, n, k, KEYS ? column : row, KEYS ? row : column);
                }
    }
    __device__ __forceinline__ void hide(scores &s, int from) const
    {
        each(from, [&](int m, int n, int k, int i, int j) {
            if (j >= p.n || (p.causal && j > i + p.diagonal))
                s[m][n][k] = FLASH_NOTHING;
        });
    }
    __device__ __forceinline__ void mask(scores &s, int head, int from) const
    {
        const int64_t *stride = p.mask.stride;
        each(from, [&](int m, int n, int k, int i, int j) {
            const int64_t at = b * stride[0] + head * stride[1] + i * stride[2] + j * stride[3];
            if (i >= p.m || j >= p.n)
                return;
            if (p.mask_kind == ATTENTION_BOOL)
                s[m][n][k] = ((const uint8_t *)p.mask.at)[at] ? s[m][n][k] : FLASH_NOTHING;
            else
                s[m][n][k] += neural_widen(((const T *)p.mask.at)[at]) * (float)FLASH_LOG2E;
        });
    }
    /* Some row of the block does not see some key of the step, or it is not there. */
    __device__ __forceinline__ bool is_edge(int from) const
    {
        const int64_t query = KEYS ? from : first, key = KEYS ? first + ROWS : from + STEP;
        return key > p.n || (p.causal && key > query + 1 + p.diagonal);
    }
    /* Dropout of dp, and which weights it takes: a bit each. */
    __device__ __forceinline__ void drop(scores &dp, uint32_t (&gone)[M], int head, int from) const
    {
        const float by = 1.0f / (float)p.keep;
        each(from, [&](int m, int n, int k, int i, int j) {
            const bool is_kept = i < p.m && j < p.n && flash_is_kept(p, b, head, i, j);
            dp[m][n][k] = is_kept ? dp[m][n][k] * by : 0.0f;
            gone[m] |= is_kept ? 0u : 1u << (n * 4 + k);
        });
    }
    /* Weights in place of scores, and gradients of scores in place of those of weights. */
    __device__ __forceinline__ void weigh(scores &s, scores &dp, mma_address sums) const
    {
        const float by = scaled ? 1.0f : c;
#pragma unroll
        for (int n = 0; n < STEP / 8; n++) {
            float l[2], d[2];
#pragma unroll
            for (int k = 0; k < (KEYS ? 2 : 0); k++) {
                const mma_address at = sums + (mma_address)(n * 8 + lane % 4 * 2 + k) * 4;
                l[k] = shift_of(mma_word(at));
                d[k] = mma_word(at + STEP * 4);
            }
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    const float shift = KEYS ? l[k % 2] : lse[m][k / 2],
                                less = KEYS ? d[k % 2] : delta[m][k / 2],
                                w = mma_exp2(__fmaf_rn(s[m][n][k], by, -shift));
                    s[m][n][k] = w;
                    dp[m][n][k] = w * (dp[m][n][k] - less);
                }
        }
    }
    __device__ __forceinline__ void forget(scores &w, const uint32_t (&gone)[M]) const
    {
        const float by = 1.0f / (float)p.keep;
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int n = 0; n < STEP / 8; n++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    w[m][n][k] = gone[m] >> (n * 4 + k) & 1 ? 0.0f : w[m][n][k] * by;
    }
    __device__ __forceinline__ void step(int number, int stage)
    {
        const int head = h + number / per_head, from = begin + number % per_head * (int)STEP;
        const mma_address at = stages + (mma_address)(stage * 2 * STAGE);
        scores s = {}, dp = {};
        uint32_t gone[M] = {};
        multiply_rows(s, 0, at);
        multiply_rows(dp, 1, at + STAGE);
        if (scaled)
            each(from, [&](int m, int n, int k, int, int) { s[m][n][k] *= c; });
        if (p.mask_kind)
            mask(s, head, from);
        if (is_edge(from))
            hide(s, from);
        if (p.least)
            drop(dp, gone, head, from);
        weigh(s, dp, stages + (mma_address)(SUMS + stage * 2 * STEP * 4));
        tile_add<T, D, M, STEP>(y[0], dp, tile_down<D>(at, lane));
        if (KEYS && p.least)
            forget(s, gone);
        if (KEYS)
            tile_add<T, D, M, STEP>(y[OUTS - 1], s, tile_down<D>(at + STAGE, lane));
    }

    /* ---- the results ---- */
    __device__ __forceinline__ void write(const attention_view &to, int which, int head,
                                          int64_t columns, float by) const
    {
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int row = row_of(m, half);
                T *at = (T *)to.at + b * to.stride[0] + head * to.stride[1] + row * to.stride[2];
                if (row >= p.rows)
                    continue;
#pragma unroll
                for (int e = 0; e < D / 8; e++)
#pragma unroll
                    for (int k = 0; k < 2; k++) {
                        const int column = e * 8 + lane % 4 * 2 + k;
                        if (column < columns)
                            neural_narrow(at + column * to.stride[3],
                                          y[which][m][e][2 * half + k] * by);
                    }
            }
    }
    __device__ __forceinline__ void run()
    {
        fetch_own();
        if (steps > 0)
            fetch(0, 0);
        mma_commit();
        for (int i = 0; i < steps; i++) {
            mma_wait<0>();
            __syncthreads(); /* this step's operands are there, those of the last one are free */
            if (i + 1 < steps)
                fetch(i + 1, (i + 1) % 2);
            mma_commit();
            if (i == 0)
                hold();
            step(i, i % 2);
        }
        mma_wait<0>();
        write(p.out[KEYS ? 1 : 0], 0, KEYS ? kh : h, p.d, (float)p.scale);
        if (KEYS)
            write(p.out[2], OUTS - 1, kh, p.e, 1.0f);
    }
};

#endif
