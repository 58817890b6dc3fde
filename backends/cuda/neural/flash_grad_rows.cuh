/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of attention of rows that a warp has, queries or keys (KEYS), beside STEP rows of the
 * other side at a time: which those are, what is done to scores and gradients of weights, whose
 * parts lie in registers as of mma.m16n8k16, and the results. Both kinds are the same but for names:
 * with the own operands x0, x1 (queries q, g; keys k, v) and the others y0, y1,
 *     s = x0 y0T,  dp = x1 y1T,  w = exp(scale*s - logsumexp),  ds = w*(dp - delta),
 * the gradient of x0 is scale*ds*y0, and that of values w*y1. */
#ifndef NDOCK_CUDA_FLASH_GRAD_ROWS_CUH
#define NDOCK_CUDA_FLASH_GRAD_ROWS_CUH
#include "neural/attention_place.cuh"
#include "neural/flash_weight.cuh"
#include "neural/tile.cuh"

/* M pieces of 16 rows of a warp, ROWS of a block, D columns. */
template <class T, int D, int M, int ROWS, int STEP, bool KEYS> struct flash_grad_rows {
    enum { OUTS = KEYS ? 2 : 1 };
    typedef float scores[M][STEP / 8][4];
    const attention_params &p;
    int b, h, kh, first; /* h: of the step, of keys */
    int row;             /* the first of the warp */
    int begin, per_head, steps;
    int warp, lane;
    float c;
    bool scaled; /* as in flash_rows */
    float y[OUTS][M][D / 8][4], lse[M][2], delta[M][2];

    __device__ __forceinline__ explicit flash_grad_rows(const attention_params &params)
        : flash_grad_rows(params, attention_place(params, (int)blockIdx.x,
                                                  (int)(params.batch *
                                                        (KEYS ? params.key_heads : params.heads))))
    {
    }
    /* The caller sets `row`. */
    __device__ __forceinline__ flash_grad_rows(const attention_params &params,
                                               const attention_place &place)
        : p(params)
    {
        const int heads = (int)(KEYS ? p.key_heads : p.heads),
                  group = (int)p.heads / (int)p.key_heads;
        warp = (int)threadIdx.x / 32;
        lane = (int)threadIdx.x % 32;
        first = (KEYS ? place.at : p.row_blocks - 1 - place.at) * ROWS; /* the longest first */
        row = first;
        b = place.head / heads;
        h = KEYS ? place.head % heads * group : place.head % heads;
        kh = h / group;
        set_steps<STEP>(KEYS ? group : 1);
        c = (float)(p.scale * FLASH_LOG2E);
        scaled = p.mask_kind == ATTENTION_ADDED || !(c >= 0x1p-100f);
#pragma unroll
        for (int o = 0; o < OUTS; o++)
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int e = 0; e < D / 8; e++)
#pragma unroll
                    for (int k = 0; k < 4; k++)
                        y[o][m][e][k] = 0;
    }
    /* Queries from the first that sees a key of the block, or keys up to the last that is seen, EACH
     * a step. */
    template <int EACH> __device__ __forceinline__ void set_steps(int group)
    {
        const int64_t last = (first + ROWS < p.rows ? first + ROWS : p.rows) - 1;
        int64_t from = 0, to = KEYS ? p.m : p.n;
        if (KEYS && p.causal && first - p.diagonal > 0)
            from = (first - p.diagonal) / EACH * EACH;
        if (!KEYS && p.causal && last + 1 + p.diagonal < to)
            to = last + 1 + p.diagonal;
        begin = (int)(from < to ? from : 0);
        per_head = from < to ? (int)((to - from + EACH - 1) / EACH) : 0;
        steps = per_head * group;
    }
    __device__ __forceinline__ int head_of(int step) const
    {
        return h + step / per_head;
    }
    __device__ __forceinline__ int from_of(int step) const
    {
        return begin + step % per_head * STEP;
    }
    __device__ __forceinline__ int row_of(int m, int half) const
    {
        return row + m * 16 + half * 8 + lane / 4;
    }

    __device__ __forceinline__ tile_source<T> source(const attention_view &v, int head,
                                                     int64_t columns) const
    {
        return {(const T *)v.at + b * v.stride[0] + head * v.stride[1], v.stride[2], v.stride[3],
                (int)columns, p.whole};
    }
    /* One of the sums of the other side's queries: logsumexp of each, and their delta. */
    __device__ __forceinline__ void fetch_sum(mma_address to, int head, int from, int which) const
    {
        const int i = which % STEP;
        const attention_view &v = which < STEP ? p.lse : p.delta;
        const bool inside = from + i < p.m;
        const float *row = (const float *)v.at + b * v.stride[0] + head * v.stride[1];
        mma_fetch_word(to + (mma_address)which * 4,
                       inside ? row + (from + i) * v.stride[2] : (const float *)v.at, inside);
    }
    /* Those of own queries. */
    __device__ __forceinline__ void hold_sums()
    {
#pragma unroll
        for (int m = 0; m < (KEYS ? 0 : M); m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int i = row_of(m, half);
                const bool inside = i < p.rows;
                const int64_t *l = p.lse.stride, *d = p.delta.stride;
                lse[m][half] = flash_shift(
                    inside ? ((const float *)p.lse.at)[b * l[0] + h * l[1] + i * l[2]] : 0);
                delta[m][half] =
                    inside ? ((const float *)p.delta.at)[b * d[0] + h * d[1] + i * d[2]] : 0;
            }
    }
    /* ---- one step ---- */
    /* f(m, n, k, query, key) for those that there are; `from` is the first of the other side. */
    template <class F> __device__ __forceinline__ void each(int from, const F &f) const
    {
        int own = row_of(0, 0);
        MMA_OPAQUE(own);
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int n = 0; n < STEP / 8; n++)
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    const int i = own + m * 16 + k / 2 * 8,
                              column = from + n * 8 + lane % 4 * 2 + k % 2;
                    f(m, n, k, KEYS ? column : i, KEYS ? i : column);
                }
    }
    /* The first query that sees key j, and the keys that query i sees. */
    __device__ __forceinline__ int first_that_sees(int j) const
    {
        const int64_t i = p.causal ? j - p.diagonal : 0;
        return j >= p.n || i > INT32_MAX ? INT32_MAX : i > 0 ? (int)i : 0;
    }
    __device__ __forceinline__ int seen_by(int i) const
    {
        const int64_t seen = p.causal && i + 1 + p.diagonal < p.n ? i + 1 + p.diagonal : p.n;
        return seen > 0 ? (int)seen : 0;
    }
    __device__ __forceinline__ void hide(scores &s, int from) const
    {
        int own = row_of(0, 0);
        MMA_OPAQUE(own);
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int i = own + m * 16 + half * 8,
                          bound = (KEYS ? first_that_sees(i) : seen_by(i)) - from - lane % 4 * 2;
#pragma unroll
                for (int n = 0; n < STEP / 8; n++)
#pragma unroll
                    for (int k = 0; k < 2; k++)
                        if (KEYS ? n * 8 + k < bound : n * 8 + k >= bound)
                            s[m][n][2 * half + k] = FLASH_NOTHING;
            }
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
    /* The scores of a step, from products: as weigh() takes them. */
    __device__ __forceinline__ void finish(scores &s, int head, int from) const
    {
        if (scaled)
            each(from, [&](int m, int n, int k, int, int) { s[m][n][k] *= c; });
        if (p.mask_kind)
            mask(s, head, from);
        if (is_edge(from))
            hide(s, from);
    }
    /* Which weights dropout takes: a bit each. */
    __device__ __forceinline__ void choose(uint64_t (&gone)[M], int head, int from) const
    {
        each(from, [&](int m, int n, int k, int i, int j) {
            const bool is_kept = i < p.m && j < p.n && flash_is_kept(p, b, head, i, j);
            gone[m] |= (uint64_t)!is_kept << (n * 4 + k);
        });
    }
    /* Without those, the others scaled up: of weights, and of their gradients. */
    __device__ __forceinline__ void drop(scores &x, const uint64_t (&gone)[M]) const
    {
        const float by = 1.0f / (float)p.keep;
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int n = 0; n < STEP / 8; n++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    x[m][n][k] = gone[m] >> (n * 4 + k) & 1 ? 0.0f : x[m][n][k] * by;
    }
    /* Weights in place of scores; `sums` has logsumexp, or what flash_shift() makes of it (SHIFTED), and
     * delta of the step's queries, where these are the other side. */
    template <bool SHIFTED> __device__ __forceinline__ void weigh(scores &s, mma_address sums) const
    {
        const float by = scaled ? 1.0f : c;
#pragma unroll
        for (int n = 0; n < STEP / 8; n++) {
            float l[2];
            if (KEYS)
                mma_pair(l, sums + (mma_address)(n * 8 + lane % 4 * 2) * 4);
#pragma unroll
            for (int k = 0; k < (KEYS && !SHIFTED ? 2 : 0); k++)
                l[k] = flash_shift(l[k]);
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    s[m][n][k] =
                        mma_exp2(__fmaf_rn(s[m][n][k], by, -(KEYS ? l[k % 2] : lse[m][k / 2])));
        }
    }
    /* Gradients of scores in place of those of weights. */
    __device__ __forceinline__ void derive(const scores &w, scores &dp, mma_address sums) const
    {
#pragma unroll
        for (int n = 0; n < STEP / 8; n++) {
            float d[2];
            if (KEYS)
                mma_pair(d, sums + (mma_address)(STEP + n * 8 + lane % 4 * 2) * 4);
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    dp[m][n][k] = w[m][n][k] * (dp[m][n][k] - (KEYS ? d[k % 2] : delta[m][k / 2]));
        }
    }
    /* ---- the results ---- */
    __device__ __forceinline__ void write(const attention_view &to, int which, int head,
                                          int64_t columns, float by) const
    {
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int i = row_of(m, half);
                T *at = (T *)to.at + b * to.stride[0] + head * to.stride[1] + i * to.stride[2];
                const bool pairs = to.stride[3] == 1 && (uint64_t)at % 4 == 0;
                if (i >= p.rows)
                    continue;
#pragma unroll
                for (int e = 0; e < D / 8; e++) {
                    const int column = e * 8 + lane % 4 * 2;
                    const float u = y[which][m][e][2 * half] * by,
                                v = y[which][m][e][2 * half + 1] * by;
                    if (pairs && column + 1 < columns) {
                        *(uint32_t *)(at + column) = mma_pack<T>(u, v);
                        continue;
                    }
                    if (column < columns)
                        neural_narrow(at + column * to.stride[3], u);
                    if (column + 1 < columns)
                        neural_narrow(at + (column + 1) * to.stride[3], v);
                }
            }
    }
    __device__ __forceinline__ void write_all() const
    {
        write(p.out[KEYS ? 1 : 0], 0, KEYS ? kh : h, p.d, (float)p.scale);
        if (KEYS)
            write(p.out[2], OUTS - 1, kh, p.e, 1.0f);
    }
};

#endif
