/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Rows of attention that a warp has, whose scores of some keys at a time are in its registers as of
 * mma.m16n8k16: what is done to scores, weights of them, and the results. What was summed is scaled
 * down whenever a larger score is met (Milakov and Gimelshein, arXiv 1805.02867; Dao et al., arXiv
 * 2205.14135). Which products make the scores is up to flash.cuh and flash_wide.cuh. */
#ifndef NDOCK_CUDA_FLASH_ROWS_CUH
#define NDOCK_CUDA_FLASH_ROWS_CUH
#include "neural/attention_place.cuh"
#include "neural/flash_weight.cuh"

/* Where rows are, and keys that they see. */
struct flash_place {
    int b, kh, h0, first; /* first: number of the block's first row */
    int own;              /* that of the warp */
    int from, to, clear;  /* keys; all rows see those below clear */
    int split, part;
};
/* M pieces of 16 rows, D columns of results, KEYS scores of a row at once. */
template <class T, int D, int M, int KEYS> struct flash_rows : flash_place {
    typedef float scores[M][KEYS / 8][4];
    const attention_params &p;
    int warp, lane;
    float c;     /* by which scores are multiplied, for powers of 2 */
    bool scaled; /* they are first, because something is added, or c is no good multiplier */
    float y[M][D / 8][4], top[M][2], sum[M][2];

    /* Of the block number `block`, of `rows` rows; the caller sets `own`, and `part` where it is not `split`. */
    __device__ __forceinline__ flash_rows(const attention_params &params, int block, int rows)
        : p(params)
    {
        warp = (int)threadIdx.x / 32;
        lane = (int)threadIdx.x % 32;
        c = (float)(p.scale * FLASH_LOG2E);
        scaled = p.mask_kind == ATTENTION_ADDED || !(c >= 0x1p-100f);
        go_to(block, rows);
        clear_sums();
    }
    __device__ __forceinline__ void go_to(int block, int rows)
    {
        const int groups = p.pack == 1 ? (int)p.heads : (int)p.heads / p.pack;
        const int tile = p.splits == 1 ? block : block / p.splits;
        const attention_place place(p, tile, (int)p.batch * groups);
        split = block - tile * p.splits;
        part = split;
        first = (p.row_blocks - 1 - place.at) * rows; /* the longest first */
        own = first;
        b = place.head / groups;
        h0 = place.head % groups * p.pack;
        kh = p.heads == p.key_heads ? h0 : h0 / ((int)p.heads / (int)p.key_heads);
        set_keys(rows);
    }
    /* Keys that a query sees, if it is the last one. */
    __device__ __forceinline__ int seen_by(int i) const
    {
        const int64_t seen = p.causal && i + 1 + p.diagonal < p.n ? i + 1 + p.diagonal : p.n;
        return seen > 0 ? (int)seen : 0;
    }
    __device__ __forceinline__ void set_keys(int rows)
    {
        const int end = first + rows < p.rows ? first + rows : p.rows;
        const int seen = seen_by((end - 1) / p.pack);
        from = split * p.keys_each;
        to = from + p.keys_each < seen ? from + p.keys_each : seen;
        clear = seen_by(first / p.pack);
    }
    __device__ __forceinline__ void clear_sums()
    {
#pragma unroll
        for (int m = 0; m < M; m++) {
#pragma unroll
            for (int e = 0; e < D / 8; e++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    y[m][e][k] = 0;
#pragma unroll
            for (int h = 0; h < 2; h++) {
                top[m][h] = FLASH_NOTHING;
                sum[m][h] = 0;
            }
        }
    }
    /* Row of piece m's upper or lower half that this thread has columns of. */
    __device__ __forceinline__ int row_of(int m, int half) const
    {
        return row_of(*this, m, half);
    }
    __device__ __forceinline__ int row_of(const flash_place &of, int m, int half) const
    {
        return of.own + m * 16 + half * 8 + lane / 4;
    }

    /* ---- one step ---- */
    /* What is to be done to each score that keys j and on have, of a row below p.rows. Numbers of
     * rows are found anew each time, in place of being kept in registers for a rare need. */
    template <class F> __device__ __forceinline__ void each(scores &x, int j, const F &f) const
    {
        int base = row_of(0, 0);
        MMA_OPAQUE(base);
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int row = base + m * 16 + half * 8, i = p.pack == 1 ? row : row / p.pack;
                const int h = h0 + (row - i * p.pack);
                if (row >= p.rows)
                    continue;
#pragma unroll
                for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
                    for (int k = 0; k < 2; k++)
                        f(x[m][n][2 * half + k], h, i, j + n * 8 + lane % 4 * 2 + k);
            }
    }
    __device__ __forceinline__ void hide(scores &x, int j) const
    {
        int base = row_of(0, 0);
        MMA_OPAQUE(base);
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int row = base + m * 16 + half * 8, i = p.pack == 1 ? row : row / p.pack;
                const int seen = seen_by(i) - j - lane % 4 * 2;
#pragma unroll
                for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
                    for (int k = 0; k < 2; k++)
                        if (n * 8 + k >= seen)
                            x[m][n][2 * half + k] = FLASH_NOTHING;
            }
    }
    __device__ __forceinline__ void mask(scores &x, int j) const
    {
        const int64_t *s = p.mask.stride;
        each(x, j, [&](float &score, int h, int i, int key) {
            const int64_t at = b * s[0] + h * s[1] + i * s[2] + key * s[3];
            if (key >= p.n)
                return;
            if (p.mask_kind == ATTENTION_BOOL)
                score = ((const uint8_t *)p.mask.at)[at] ? score : FLASH_NOTHING;
            else
                score += neural_widen(((const T *)p.mask.at)[at]) * (float)FLASH_LOG2E;
        });
    }
    __device__ __forceinline__ void drop(scores &x, int j) const
    {
        each(x, j, [&](float &weight, int h, int i, int key) {
            if (!flash_is_kept(p, b, h, i, key))
                weight = 0;
        });
    }
    /* The scores of keys `key` and on, from products: as weigh() takes them. `edge`: some row does not
     * see some of the keys. */
    __device__ __forceinline__ void finish(scores &x, int key, bool edge) const
    {
        if (scaled)
            each(x, key, [&](float &score, int, int, int) { score *= c; });
        if (p.mask_kind)
            mask(x, key);
        if (edge)
            hide(x, key);
    }
    /* Weights of scores, and the sums of them with what came before; true: some largest score of the
     * warp's grew, and results so far are to be multiplied by `down`. */
    __device__ __forceinline__ bool weigh(scores &x, float (&down)[M][2])
    {
        const float by = scaled ? 1.0f : c;
        bool moved = false;
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                float most = top[m][h];
#pragma unroll
                for (int n = 0; n < KEYS / 8; n++)
                    most = fmaxf(most, fmaxf(x[m][n][2 * h], x[m][n][2 * h + 1]));
                most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
                most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
                const float shift = most > FLASH_NOTHING ? most * by : 0.0f;
                down[m][h] = most > top[m][h] ? mma_exp2(__fmaf_rn(top[m][h], by, -shift)) : 1.0f;
                moved = moved || most > top[m][h];
                top[m][h] = most;
                float all = 0;
#pragma unroll
                for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
                    for (int k = 0; k < 2; k++) {
                        float &w = x[m][n][2 * h + k];
                        w = mma_exp2(__fmaf_rn(w, by, -shift));
                        all += w;
                    }
                sum[m][h] = __fmaf_rn(sum[m][h], down[m][h], all);
            }
        return __any_sync(0xffffffffu, moved);
    }
    __device__ __forceinline__ void scale_down(const float (&down)[M][2])
    {
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int e = 0; e < D / 8; e++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    y[m][e][k] *= down[m][k / 2];
    }
};

#endif
