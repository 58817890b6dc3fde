/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention by tensor cores. A block has rows of queries and goes over the keys, FLASH_KEYS at a
 * time, whose scores, those of N keys, stay in registers: what was summed is scaled down whenever a larger score is
 * met (Milakov and Gimelshein, arXiv 1805.02867; Dao et al., arXiv 2205.14135). The keys and values
 * that come next are copied meanwhile. Warps share out the rows (M pieces of 16 each), or of SPREAD
 * kernels the keys, whose parts of results then are joined as those of blocks are. */
#ifndef NDOCK_CUDA_FLASH_CUH
#define NDOCK_CUDA_FLASH_CUH
#include "neural/flash_weight.cuh"
#include "neural/tile.cuh"

template <class T, int D, int M, int N, bool SPREAD> struct flash {
    enum {
        ROWS = SPREAD ? FLASH_SPREAD_ROWS : FLASH_WARPS * 16 * M,
        KEYS = SPREAD ? FLASH_KEYS / FLASH_WARPS : N, /* of a warp, at once */
        HELD = D <= 64,                               /* queries stay in registers */
        PITCH = tile<D>::PITCH,
        STAGE = FLASH_KEYS * PITCH, /* bytes of keys, or values */
        SHARED = ROWS * PITCH + 4 * STAGE
    };
    const attention_params &p;
    int b, kh, h0, first; /* first: number of the block's first row */
    int from, to, clear;  /* keys; all rows see those below clear */
    int split, warp, lane;
    mma_address queries, stages;
    float c;     /* by which scores are multiplied, for powers of 2 */
    bool scaled; /* they are first, because something is added, or c is no good multiplier */
    float y[M][D / 8][4], top[M][2], sum[M][2];
    uint32_t q[HELD ? M : 1][HELD ? D / 16 : 1][4];

    __device__ __forceinline__ explicit flash(const attention_params &params) : p(params)
    {
        MMA_SHARED(memory);
        int block = (int)blockIdx.x;
        warp = (int)threadIdx.x / 32;
        lane = (int)threadIdx.x % 32;
        queries = mma_address_of(memory);
        stages = queries + ROWS * PITCH;
        split = block % p.splits;
        block /= p.splits;
        first = (p.row_blocks - 1 - block % p.row_blocks) * (int)ROWS; /* the longest first */
        block /= p.row_blocks;
        const int groups = (int)p.heads / p.pack;
        b = block / groups;
        h0 = block % groups * p.pack;
        kh = h0 / (int)(p.heads / p.key_heads);
        set_keys();
        c = (float)(p.scale * FLASH_LOG2E);
        scaled = p.mask_kind == ATTENTION_ADDED || !(c >= 0x1p-100f);
        clear_sums();
    }
    /* Keys that a query sees, if it is the last one. */
    __device__ __forceinline__ int seen_by(int i) const
    {
        const int64_t seen = p.causal && i + 1 + p.diagonal < p.n ? i + 1 + p.diagonal : p.n;
        return seen > 0 ? (int)seen : 0;
    }
    __device__ __forceinline__ void set_keys()
    {
        const int end = first + ROWS < p.rows ? first + ROWS : p.rows;
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
        return first + (SPREAD ? 0 : warp * 16 * M) + m * 16 + half * 8 + lane / 4;
    }
    __device__ __forceinline__ bool is_idle() const
    {
        return !SPREAD && first + warp * 16 * M >= p.rows;
    }

    /* ---- operands ---- */
    __device__ __forceinline__ void fetch_queries() const
    {
        const tile_source<T> source = {(const T *)p.q.at + b * p.q.stride[0], 0, p.q.stride[3],
                                       (int)p.d, p.whole};
        enum { CHUNKS = D / TILE_CHUNK };
        for (int i = threadIdx.x; i < ROWS * CHUNKS; i += FLASH_THREADS) {
            const int row = i / CHUNKS, chunk = i % CHUNKS;
            const int r = first + row, query = p.pack == 1 ? r : r / p.pack;
            tile_source<T> s = source;
            s.at += (h0 + (r - query * p.pack)) * p.q.stride[1] + query * p.q.stride[2];
            s.at = r < p.rows ? s.at : source.at;
            s.put(queries + (mma_address)(row * PITCH + chunk * 16), 0, chunk * TILE_CHUNK,
                  r < p.rows);
        }
    }
    __device__ __forceinline__ void fetch_keys(int j, int stage) const
    {
        const tile_source<T> k = {(const T *)p.k.at + b * p.k.stride[0] + kh * p.k.stride[1],
                                  p.k.stride[2], p.k.stride[3], (int)p.d, p.whole};
        const tile_source<T> v = {(const T *)p.v.at + b * p.v.stride[0] + kh * p.v.stride[1],
                                  p.v.stride[2], p.v.stride[3], (int)p.e, p.whole};
        const mma_address at = stages + (mma_address)(stage * 2 * STAGE);
        tile_fetch<FLASH_KEYS, D>(at, k, j, p.n);
        tile_fetch<FLASH_KEYS, D>(at + STAGE, v, j, p.n);
    }
    __device__ __forceinline__ mma_address own_queries() const
    {
        return tile_down<D>(queries + (mma_address)(SPREAD ? 0 : warp * 16 * M * PITCH), lane);
    }
    __device__ __forceinline__ void hold_queries()
    {
        const mma_address at = own_queries();
#pragma unroll
        for (int m = 0; m < (HELD ? M : 0); m++)
#pragma unroll
            for (int k = 0; k < D / 16; k++)
                mma_load(q[HELD ? m : 0][HELD ? k : 0],
                         at + (mma_address)(m * 16 * PITCH + k * 32));
    }

    /* ---- one step ---- */
    __device__ __forceinline__ void multiply_keys(float (&x)[M][KEYS / 8][4], mma_address keys)
    {
        const mma_address mine = own_queries();
        tile_multiply<T, D, M, KEYS>(
            x,
            [&](uint32_t(&r)[4], int m, int k) {
                if (!HELD)
                    mma_load(r, mine + (mma_address)(m * 16 * PITCH + k * 32));
#pragma unroll
                for (int i = 0; i < 4; i++)
                    r[i] = HELD ? q[HELD ? m : 0][HELD ? k : 0][i] : r[i];
            },
            tile_along<D>(keys, lane));
    }
    /* What is to be done to each score that keys j and on have, of a row below p.rows. Numbers of
     * rows are found anew each time, in place of being kept in registers for a rare need. */
    template <class F>
    __device__ __forceinline__ void each(float (&x)[M][KEYS / 8][4], int j, const F &f) const
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
    __device__ __forceinline__ void hide(float (&x)[M][KEYS / 8][4], int j) const
    {
        each(x, j, [&](float &score, int, int i, int key) {
            if (key >= p.n || (p.causal && key > i + p.diagonal))
                score = FLASH_NOTHING;
        });
    }
    __device__ __forceinline__ void mask(float (&x)[M][KEYS / 8][4], int j) const
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
    __device__ __forceinline__ void drop(float (&x)[M][KEYS / 8][4], int j) const
    {
        each(x, j, [&](float &weight, int h, int i, int key) {
            if (!flash_is_kept(p, b, h, i, key))
                weight = 0;
        });
    }
    /* Weights of scores, the sums of both with what came before. */
    __device__ __forceinline__ void weigh(float (&x)[M][KEYS / 8][4])
    {
        const float by = scaled ? 1.0f : c;
        float down[M][2];
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
        if (__any_sync(0xffffffffu, moved))
            scale_down(down);
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
    __device__ __forceinline__ void step(int j, int stage, int offset)
    {
        const mma_address at = stages + (mma_address)(stage * 2 * STAGE + offset * PITCH);
        float x[M][KEYS / 8][4] = {};
        multiply_keys(x, at);
        if (scaled)
            each(x, j, [&](float &score, int, int, int) { score *= c; });
        if (p.mask_kind)
            mask(x, j + offset);
        if (j + FLASH_KEYS > clear)
            hide(x, j + offset);
        weigh(x);
        if (p.least)
            drop(x, j + offset);
        tile_add<T, D, M, KEYS>(y, x, tile_down<D>(at + STAGE, lane));
    }

    /* ---- the result ---- */
    __device__ __forceinline__ void write_row(int m, int half, int h, int i, float by) const
    {
        T *to = (T *)p.out[0].at + b * p.out[0].stride[0] + h * p.out[0].stride[1] +
                i * p.out[0].stride[2];
        const int64_t step = p.out[0].stride[3];
        const bool pairs = step == 1 && (uint64_t)to % 4 == 0;
#pragma unroll
        for (int e = 0; e < D / 8; e++) {
            const int column = e * 8 + lane % 4 * 2;
            const float u = y[m][e][2 * half] * by, v = y[m][e][2 * half + 1] * by;
            if (pairs && column + 1 < p.e) {
                *(uint32_t *)(to + column) = mma_pack<T>(u, v);
                continue;
            }
            if (column < p.e)
                neural_narrow(to + column * step, u);
            if (column + 1 < p.e)
                neural_narrow(to + (column + 1) * step, v);
        }
    }
    __device__ __forceinline__ void write_part(int m, int half, int64_t row, float by) const
    {
        float *to = (float *)p.part + row * p.e;
#pragma unroll
        for (int e = 0; e < D / 8; e++)
#pragma unroll
            for (int k = 0; k < 2; k++) {
                const int column = e * 8 + lane % 4 * 2 + k;
                if (column < p.e)
                    to[column] = y[m][e][2 * half + k] * by;
            }
    }
    __device__ __forceinline__ void write() const
    {
        const float by = scaled ? 1.0f : c;
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int row = row_of(m, half), i = p.pack == 1 ? row : row / p.pack;
                const int h = h0 + (row - i * p.pack);
                float all = sum[m][half];
                all += __shfl_xor_sync(0xffffffffu, all, 1);
                all += __shfl_xor_sync(0xffffffffu, all, 2);
                const float factor = all == 0 ? 0.0f : 1.0f / (all * (float)p.keep);
                const float lse = all == 0
                                      ? FLASH_NOTHING
                                      : (top[m][half] * by + log2f(all)) * (float)(1 / FLASH_LOG2E);
                if (row >= p.rows)
                    continue;
                if (p.parts > 1) {
                    const int part = SPREAD ? split * FLASH_WARPS + warp : split;
                    const int64_t at = (((int64_t)part * p.batch + b) * p.heads + h) * p.m + i;
                    write_part(m, half, at, factor);
                    if (lane % 4 == 0)
                        ((float *)p.part_lse)[at] = lse;
                } else {
                    write_row(m, half, h, i, factor);
                    if (lane % 4 == 0)
                        ((float *)p.out[1].at)[b * p.out[1].stride[0] + h * p.out[1].stride[1] +
                                               i * p.out[1].stride[2]] = lse;
                }
            }
    }
    __device__ __forceinline__ void run()
    {
        fetch_queries();
        if (from < to)
            fetch_keys(from, 0);
        mma_commit();
        int stage = 0;
        for (int j = from; j < to; j += FLASH_KEYS, stage ^= 1) {
            mma_wait<0>();
            __syncthreads(); /* this step's operands are there, those of the last one are free */
            if (j + FLASH_KEYS < to)
                fetch_keys(j + FLASH_KEYS, stage ^ 1);
            mma_commit();
            if (is_idle())
                continue;
            if (HELD && j == from)
                hold_queries();
#pragma unroll 1
            for (int offset = SPREAD ? warp * KEYS : 0; offset < FLASH_KEYS;
                 offset += SPREAD ? (int)FLASH_KEYS : (int)KEYS)
                step(j, stage, offset);
        }
        mma_wait<0>();
        if (!is_idle())
            write();
    }
};

#endif
