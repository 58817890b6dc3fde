/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of one row of a with rows of blocks by tiles. A multiprocessor has one block of threads and a share of the rows,
 * of which it takes 16 at a time. One warp has whole rows of them, or parts of rows, copied to shared memory, several tiles
 * at once; each of the others multiplies one span of a part, and keeps its sums until those of all warps are added. */
#ifndef NDOCK_CUDA_QUANT_TILES_CUH
#define NDOCK_CUDA_QUANT_TILES_CUH
#include "quant/tile_small.cuh"
#include "quant/tile_super.cuh"
#include "walk/earlier.cuh"

/* ---- barriers of shared memory ---- */

static __device__ __forceinline__ uint32_t gate_at(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}
static __device__ __forceinline__ void gate_init(uint64_t *gate, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(gate_at(gate)), "r"(arrivals)
                 : "memory");
}
static __device__ __forceinline__ void gate_arrive(uint64_t *gate)
{
    asm volatile(
        "{\n.reg .b64 state;\nmbarrier.arrive.shared::cta.b64 state, [%0];\n}" ::"r"(gate_at(gate))
        : "memory");
}
static __device__ __forceinline__ void gate_wait(uint64_t *gate, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@!p bra again;\n"
                 "}" ::"r"(gate_at(gate)),
                 "r"(parity)
                 : "memory");
}
static __device__ __forceinline__ void gate_expect(uint64_t *gate, uint32_t nbytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(gate_at(gate)),
                 "r"(nbytes)
                 : "memory");
}
static __device__ __forceinline__ void gate_copy(uint64_t *gate, void *to, const void *from,
                                                 uint32_t nbytes)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(gate_at(to)),
                 "l"(from), "r"(nbytes), "r"(gate_at(gate))
                 : "memory");
}

/* How shared memory is used. */
struct tile_room {
    unsigned char *tiles, *rounded;
    float *kept;
    uint64_t *full, *empty;
    __device__ __forceinline__ tile_room(const quant_params &p, unsigned char *bytes)
    {
        tiles = bytes;
        rounded = tiles + p.stage_bytes * p.stages;
        kept = (float *)(rounded + p.n / TILE_SPAN * TILE_ROUNDED);
        full = (uint64_t *)(kept + TILES_KEPT * TILE_ROWS * TILE_SPANS);
        empty = full + p.stages;
    }
};

/* W warps, of which each multiplies T spans of every part of a row; PAIR tiles at once. HELD: rows are one part, and a's codes
 * stay in registers. A piece is a part of a tile, a step PAIR pieces. */
template <typename F, int W, int T, int PAIR, bool HELD, int PROD, int CHUNK> struct tile_products {
    static_assert(W * T == TILE_SPANS, "spans of a part");
    static constexpr int span_bytes = TILE_SPAN / F::block * F::nbytes,
                         part_bytes = TILE_SPANS * span_bytes, step_rows = PAIR * TILE_ROWS,
                         kept_rows = TILES_KEPT * TILE_ROWS;
    typedef typename tile<F>::half halves[2];
    const quant_params &p;
    const tile_room room;
    const int warp, lane, spans, parts, rows, steps;
    const int64_t begin;
    __device__ __forceinline__ tile_products(const quant_params &params, unsigned char *shared,
                                             int64_t first, int count)
        : p(params), room(params, shared), warp((int)threadIdx.x / 32), lane((int)threadIdx.x % 32),
          spans((int)(p.n / TILE_SPAN)), parts(HELD ? 1 : (spans + TILE_SPANS - 1) / TILE_SPANS),
          rows(count), steps((count + step_rows - 1) / step_rows * parts), begin(first)
    {
    }
    /* Bytes from a row of a chunk, which are CHUNK neighbours, to the one of the next. */
    __device__ __forceinline__ int chunk_stride(void) const { return p.stride; }
    /* Has chunks `first` to `first` + R - 1 of a piece copied, if there are so many pieces and rows; by one thread. */
    template <int R> __device__ __forceinline__ void fetch(int piece, int slot, int first) const
    {
        const int step = piece / PAIR,
                  row = step / parts * step_rows + piece % PAIR * TILE_ROWS + first * CHUNK;
        const int done = step % parts * part_bytes, left = (int)p.row_bytes - done;
        const unsigned char *from =
            (const unsigned char *)p.blocks + (begin + row) * p.row_bytes + done;
        const int take = CHUNK > 1 || left < part_bytes ? left : part_bytes;
        unsigned char *to = room.tiles + (slot * (TILE_ROWS / CHUNK) + first) * p.stride;
        uint32_t bytes[R], all = 0;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int have = min(CHUNK, rows - row - r * CHUNK);
            bytes[r] =
                have <= 0 ? 0
                : CHUNK > 1
                    ? (uint32_t)(have * take)
                    : (uint32_t)((int)((uintptr_t)(from + r * p.row_bytes) % 16) + take + 15 & ~15);
            all += bytes[r];
        }
        gate_expect(&room.full[slot], all);
#pragma unroll
        for (int r = 0; r < R; r++) {
            if (bytes[r])
                gate_copy(&room.full[slot], to, from - (uintptr_t)from % 16, bytes[r]);
            from += CHUNK * p.row_bytes;
            to += p.stride;
        }
    }
    /* All pieces, by warps that do nothing else. */
    __device__ __forceinline__ void fetch_all(void) const
    {
        constexpr int R = TILE_ROWS / CHUNK / (PROD ? PROD : 1);
        int slot = 0;
        uint32_t parity = 1;
        for (int piece = 0; piece < steps * PAIR; piece++) {
            gate_wait(&room.empty[slot], parity); /* the first time, at once */
            fetch<R>(piece, slot, (warp - W) * R);
            if (++slot == p.stages) {
                slot = 0;
                parity ^= 1;
            }
        }
    }
    /* The warp's rows of what comes after the pieces of a step, when all warps have these no more. */
    __device__ __forceinline__ void refill(int step) const
    {
#pragma unroll
        for (int k = 0; k < PAIR; k++) {
            const int piece = step * PAIR + k, slot = piece % p.stages;
            if (piece + p.stages >= steps * PAIR)
                return;
            gate_wait(&room.empty[slot], (uint32_t)(piece / p.stages) & 1);
            if (lane == 0)
                fetch<TILE_ROWS / W>(piece + p.stages, slot, warp * (TILE_ROWS / W));
            __syncwarp();
        }
    }
    /* The warp's spans, which no other warp reads: of each, 16 threads take 16 elements. */
    __device__ __forceinline__ void round(void) const
    {
        const tile_row row(room.rounded);
#pragma unroll 1
        for (int k = lane / 16; k - lane / 16 < T * parts; k += 2) {
            const int span = k * W + warp, part = lane % 16;
            uint4 raw[4];
            unsigned codes[4];
            float d;
            int sum;
            few_load(p, 0, span * 16 + part, raw);
            few_codes(p.dtype, raw, codes, d, sum);
            const int other = __shfl_xor_sync(~0u, sum, 1);
            if (span >= spans)
                continue;
            ((int4 *)row.codes(span))[part] =
                int4{(int)codes[0], (int)codes[1], (int)codes[2], (int)codes[3]};
            if (part % 2 == 0)
                row.groups(span)[part / 2] = tile_group{d, (sum & 0xffff) | other << 16};
        }
        __syncwarp();
    }
    __device__ __forceinline__ void load(halves &x, int span) const
    {
#pragma unroll
        for (int j = 0; j < 2; j++)
            x[j].load(tile_row(room.rounded), span, j, tile<F>::mixed, T == 1 && HELD);
    }
    /* The warp's sums of a tile's rows, each of four threads, of which each keeps one or none. */
    __device__ __forceinline__ void keep(float (&sum)[2], int number) const
    {
        const bool upper = lane & 1;
        float own = upper ? sum[1] : sum[0];
        own += __shfl_xor_sync(~0u, upper ? sum[0] : sum[1], 1);
        own += __shfl_xor_sync(~0u, own, 2);
        if (lane % 4 < 2)
            room.kept[(number % TILES_KEPT * W + warp) * TILE_ROWS +
                      (CHUNK == 2 ? lane / 4 * 2 + lane % 4 : lane / 4 + lane % 4 * 8)] = own;
    }
    /* Adds up the warps' sums of `count` rows and stores them. */
    __device__ __forceinline__ void meet(void) const
    {
        asm volatile("bar.sync 1, %0;" ::"n"(W * 32) : "memory");
    }
    __device__ __forceinline__ void finish(int first, int count) const
    {
        meet();
        for (int r = (int)threadIdx.x; r < count; r += W * 32) {
            float all = 0;
#pragma unroll
            for (int w = 0; w < W; w++)
                all += room.kept[(r / TILE_ROWS * W + w) * TILE_ROWS + r % TILE_ROWS];
            store(p.out, p.dtype, begin + first + r, all);
        }
        if (first + count < rows)
            meet();
    }
    /* ODD: some rows have the warp's span begin 2 bytes after a whole word. */
    template <bool ODD> __device__ __forceinline__ void multiply(int over) const
    {
        const int own = lane / 4 * p.stride + over + warp * span_bytes;
        halves x[HELD ? T : 1];
        if (HELD)
#pragma unroll
            for (int t = 0; t < T; t++)
                load(x[t], t * W + warp < spans ? t * W + warp : 0);
        int slot = 0, step = 0;
        uint32_t parity = 0;
#pragma unroll 1
        for (int first = 0; first < rows; first += step_rows) {
            float sum[PAIR][2] = {};
#pragma unroll 1
            for (int part = 0; part < parts; part++, step++) {
                int at[PAIR];
                uint64_t *empty[PAIR];
#pragma unroll
                for (int k = 0; k < PAIR; k++) {
                    gate_wait(&room.full[slot], parity);
                    at[k] = slot * (TILE_ROWS / CHUNK) * p.stride + own;
                    empty[k] = &room.empty[slot];
                    if (++slot == p.stages) {
                        slot = 0;
                        parity ^= 1;
                    }
                }
#pragma unroll
                for (int t = 0; t < T; t++) {
                    const int span = part * TILE_SPANS + t * W + warp;
                    if (span >= spans)
                        break;
                    if (!HELD)
                        load(x[0], span);
#pragma unroll
                    for (int k = 0; k < PAIR; k++)
                        tile<F>::add(tile_lane<ODD>(room.tiles + at[k] + t * W * span_bytes,
                                                    CHUNK == 2 ? (int)p.row_bytes : 8 * p.stride),
                                     x[HELD ? t : 0], sum[k]);
                }
                __syncwarp();
                if (lane == 0)
#pragma unroll
                    for (int k = 0; k < PAIR; k++)
                        gate_arrive(empty[k]);
                if (PROD == 0 && step >= p.late)
                    refill(step - p.late);
            }
#pragma unroll
            for (int k = 0; k < PAIR; k++)
                keep(sum[k], first / TILE_ROWS + k);
            const int from = first / kept_rows * kept_rows;
            if (first + step_rows >= rows || first + step_rows == from + kept_rows)
                finish(from, rows - from < kept_rows ? rows - from : kept_rows);
        }
    }
    static __device__ __forceinline__ void run(const quant_params &p)
    {
#if __CUDA_ARCH__ >= 900
        extern __shared__ uint4 few_bytes[];
        const int64_t begin = p.rows * blockIdx.x / gridDim.x,
                      end = p.rows * (blockIdx.x + 1) / gridDim.x;
        const tile_products own(p, (unsigned char *)few_bytes, begin, (int)(end - begin));
        if (threadIdx.x == 0) {
            for (int i = 0; i < p.stages; i++) {
                gate_init(&own.room.full[i], PROD ? PROD : W);
                gate_init(&own.room.empty[i], W);
            }
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        }
        __syncthreads();
        next_may_begin();
        cuda_after_earlier();
        if (own.warp >= W) {
            if (own.lane == 0)
                own.fetch_all();
            return;
        }
        if (PROD == 0 && own.lane == 0)
            for (int k = 0; k < p.stages && k < own.steps * PAIR; k++)
                own.template fetch<TILE_ROWS / W>(k, k, own.warp * (TILE_ROWS / W));
        own.round();
        /* The same of row + 8, since 8 rows are so many times 16 bytes, and of all parts and tiles. */
        const int over =
            (int)((p.blocks + (uint64_t)(begin + own.lane / 4) * (uint64_t)p.row_bytes) % 16);
        if (span_bytes % 4 && __any_sync(~0u, (over + own.warp * span_bytes) % 4))
            own.template multiply<true>(over);
        else
            own.template multiply<false>(over);
#endif
    }
};
#endif
