/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention by tensor cores. A block has rows of queries and goes over the keys, FLASH_KEYS at a
 * time, whose scores, those of N keys, stay in registers (flash_rows.cuh). The keys and values that
 * come next are copied meanwhile. Warps share out the rows (M pieces of 16 each), or of SPREAD
 * kernels the keys, whose parts of results then are joined as those of blocks are. */
#ifndef NDOCK_CUDA_FLASH_CUH
#define NDOCK_CUDA_FLASH_CUH
#include "neural/flash_results.cuh"
#include "neural/tile.cuh"

/* Keys of a warp at once. */
enum { FLASH_SPREAD_KEYS = FLASH_KEYS / FLASH_WARPS };

template <class T, int D, int M, int N, bool SPREAD>
struct flash : flash_results<T, D, M, SPREAD ? FLASH_SPREAD_KEYS : N> {
    enum {
        ROWS = SPREAD ? FLASH_SPREAD_ROWS : FLASH_WARPS * 16 * M,
        KEYS = SPREAD ? FLASH_SPREAD_KEYS : N,
        HELD = D <= 64, /* queries stay in registers */
        PITCH = tile<D>::PITCH,
        STAGE = FLASH_KEYS * PITCH, /* bytes of keys, or values */
        SHARED = ROWS * PITCH + 4 * STAGE
    };
    typedef flash_results<T, D, M, KEYS> base;
    using base::b;
    using base::first;
    using base::from;
    using base::h0;
    using base::kh;
    using base::lane;
    using base::own;
    using base::p;
    using base::to;
    using base::warp;
    mma_address queries, stages;
    tile_left<T, D, M, HELD> left;

    __device__ __forceinline__ explicit flash(const attention_params &params)
        : base(params, (int)blockIdx.x, ROWS)
    {
        MMA_SHARED(memory);
        queries = mma_address_of(memory);
        stages = queries + ROWS * PITCH;
        if (SPREAD)
            base::part = base::split * FLASH_WARPS + warp;
        else
            own += warp * 16 * M;
    }
    __device__ __forceinline__ bool is_idle() const { return !SPREAD && own >= p.rows; }

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

    __device__ __forceinline__ void step(int j, int stage, int offset)
    {
        const mma_address at = stages + (mma_address)(stage * 2 * STAGE + offset * PITCH);
        typename base::scores x = {};
        float down[M][2];
        left.template multiply<KEYS>(x, own_queries(), tile_along<D>(at, lane));
        base::finish(x, j + offset, j + FLASH_KEYS > base::clear);
        if (base::weigh(x, down))
            base::scale_down(down);
        if (p.least)
            base::drop(x, j + offset);
        tile_add<T, D, M, KEYS>(base::y, x, tile_down<D>(at + STAGE, lane));
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
            if (j == from)
                left.hold(own_queries());
#pragma unroll 1
            for (int offset = SPREAD ? warp * KEYS : 0; offset < FLASH_KEYS;
                 offset += SPREAD ? (int)FLASH_KEYS : (int)KEYS)
                step(j, stage, offset);
        }
        mma_wait<0>();
        if (!is_idle())
            base::write();
    }
};

#endif
