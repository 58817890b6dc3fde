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
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(gate_at(gate)), "r"(arrivals) : "memory");
}
static __device__ __forceinline__ void gate_arrive(uint64_t *gate)
{
    asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared::cta.b64 state, [%0];\n}" ::"r"(gate_at(gate)) : "memory");
}
static __device__ __forceinline__ void gate_wait(uint64_t *gate, uint32_t parity)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@!p bra again;\n"
                 "}" ::"r"(gate_at(gate)),
                 "r"(parity)
                 : "memory");
#endif
}
static __device__ __forceinline__ void gate_copy(uint64_t *gate, void *to, const void *from, uint32_t nbytes)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(gate_at(gate)), "r"(nbytes) : "memory");
    if (nbytes)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], %2, [%3];" ::"r"(gate_at(to)),
                     "l"(from), "r"(nbytes), "r"(gate_at(gate))
                     : "memory");
#endif
}

/* How shared memory is used. */
struct tile_room {
    unsigned char *tiles, *rounded;
    float *kept;
    uint64_t *full, *empty;
    __device__ __forceinline__ tile_room(const quant_params &p, unsigned char *bytes, int warps)
    {
        tiles = bytes;
        rounded = tiles + p.stages * TILE_ROWS * p.stride;
        kept = (float *)(rounded + p.n / TILE_SPAN * TILE_ROUNDED);
        full = (uint64_t *)(kept + TILES_KEPT * TILE_ROWS * warps);
        empty = full + p.stages;
    }
};

template <typename F, int HELD> struct tile_products {
    static constexpr int span_bytes = TILE_SPAN / F::block * F::nbytes;
    const quant_params &p;
    const tile_room &room;
    const int warps, warp, lane, spans, parts, rows;
    const int64_t begin;
    __device__ __forceinline__ tile_products(const quant_params &params, const tile_room &shared, int64_t first, int count)
        : p(params), room(shared), warps((int)blockDim.x / 32 - 1), warp((int)threadIdx.x / 32), lane((int)threadIdx.x % 32),
          spans((int)(p.n / TILE_SPAN)), parts((spans + warps - 1) / warps), rows(count), begin(first)
    {
    }
    /* Sixteen threads of a warp copy a row of a part each. */
    __device__ __forceinline__ void fetch(void) const
    {
        const int part_bytes = warps * span_bytes;
        int slot = 0, turn = 0;
        for (int first = 0; first < rows; first += TILE_ROWS) {
            const bool inside = first + lane < rows;
            const unsigned char *row = (const unsigned char *)p.blocks + (begin + first + lane) * p.row_bytes;
            const int over = (int)((uintptr_t)row % 16);
            for (int left = (int)p.row_bytes; left > 0; left -= part_bytes) {
                if (turn > 0)
                    gate_wait(&room.empty[slot], (uint32_t)(turn - 1) & 1);
                const int take = over + (left < part_bytes ? left : part_bytes) + 15 & ~15;
                gate_copy(&room.full[slot], room.tiles + (slot * TILE_ROWS + lane) * p.stride, row - over, inside ? (uint32_t)take : 0);
                row += part_bytes;
                if (++slot == p.stages) {
                    slot = 0;
                    turn++;
                }
            }
        }
    }
    /* The warp's spans, which no other warp reads: of each, 16 threads take 16 elements. */
    __device__ __forceinline__ void round(void) const
    {
        const tile_row row(room.rounded);
#pragma unroll 1
        for (int k = lane / 16; k - lane / 16 < parts; k += 2) {
            const int span = k * warps + warp, part = lane % 16;
            uint4 raw[4];
            unsigned codes[4];
            float d;
            int sum;
            few_load(p, 0, span * 16 + part, raw);
            few_codes(p.dtype, raw, codes, d, sum);
            const int other = __shfl_xor_sync(~0u, sum, 1);
            if (span >= spans)
                continue;
            ((int4 *)row.codes(span))[part] = int4{(int)codes[0], (int)codes[1], (int)codes[2], (int)codes[3]};
            if (part % 2 == 0)
                row.groups(span)[part / 2] = tile_group{d, (sum & 0xffff) | other << 16};
        }
        __syncwarp();
    }
    __device__ __forceinline__ void meet(void) const
    {
        asm volatile("bar.sync 1, %0;" ::"r"(warps * 32) : "memory");
    }
    /* The warp's sums of a tile's rows, each of four threads. */
    __device__ __forceinline__ void keep(float (&sum)[2], int tile_number) const
    {
        float *const kept = room.kept + (tile_number % TILES_KEPT * warps + warp) * TILE_ROWS;
#pragma unroll
        for (int r = 0; r < 2; r++) {
            sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
            sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
        }
        if (lane % 4 < 2)
            kept[lane / 4 + lane % 4 * 8] = lane % 4 ? sum[1] : sum[0];
    }
    /* Adds up the warps' sums of `count` rows and stores them. */
    __device__ __forceinline__ void finish(int first, int count) const
    {
        meet();
        for (int r = (int)threadIdx.x; r < count; r += warps * 32) {
            float all = 0;
            for (int w = 0; w < warps; w++)
                all += room.kept[(r / TILE_ROWS * warps + w) * TILE_ROWS + r % TILE_ROWS];
            store(p.out, p.dtype, begin + first + r, all);
        }
        meet();
    }
    __device__ __forceinline__ void load(typename tile<F>::half (&x)[2], int span) const
    {
        x[0].load(tile_row(room.rounded), span, 0, tile<F>::mixed);
        x[1].load(tile_row(room.rounded), span, 1, tile<F>::mixed);
    }
    /* ODD: some rows have the warp's span begin 2 bytes after a whole word. */
    template <bool ODD> __device__ __forceinline__ void multiply(int over) const
    {
        const int warp_at = lane / 4 * p.stride + over + warp * span_bytes;
        typename tile<F>::half x[HELD > 0 ? HELD : 1][2];
#pragma unroll
        for (int t = 0; t < HELD; t++)
            load(x[t], t * warps + warp < spans ? t * warps + warp : 0);
        int slot = 0;
        uint32_t parity = 0;
#pragma unroll 1
        for (int first = 0; first < rows; first += TILE_ROWS) {
            float sum[2] = {0, 0};
            auto part = [&](int t, typename tile<F>::half(&of)[2]) {
                gate_wait(&room.full[slot], parity);
                if (t * warps + warp < spans) {
                    if (HELD == 0)
                        load(of, t * warps + warp);
                    const tile_lane<ODD> at(room.tiles + slot * TILE_ROWS * p.stride + warp_at, 8 * p.stride);
                    tile<F>::add(at, of, sum);
                }
                __syncwarp();
                if (lane == 0)
                    gate_arrive(&room.empty[slot]);
                if (++slot == p.stages) {
                    slot = 0;
                    parity ^= 1;
                }
            };
            if constexpr (HELD > 0) {
#pragma unroll
                for (int t = 0; t < HELD; t++)
                    part(t, x[t]);
            } else {
#pragma unroll 1
                for (int t = 0; t < parts; t++)
                    part(t, x[0]);
            }
            keep(sum, first / TILE_ROWS);
            const int full = TILE_ROWS * TILES_KEPT, from = first / full * full;
            if (first + TILE_ROWS >= rows || first + TILE_ROWS == from + full)
                finish(from, rows - from < full ? rows - from : full);
        }
    }
    static __device__ __forceinline__ void run(const quant_params &p)
    {
        extern __shared__ uint4 few_bytes[];
        const int64_t begin = p.rows * blockIdx.x / gridDim.x, end = p.rows * (blockIdx.x + 1) / gridDim.x;
        const tile_room room(p, (unsigned char *)few_bytes, (int)blockDim.x / 32 - 1);
        const tile_products own(p, room, begin, (int)(end - begin));
        if (threadIdx.x == 0) {
            for (int i = 0; i < p.stages; i++) {
                gate_init(&room.full[i], TILE_ROWS);
                gate_init(&room.empty[i], (uint32_t)own.warps);
            }
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        }
        __syncthreads();
        next_may_begin();
        cuda_after_earlier();
        if (own.warp == own.warps) {
            if (own.lane < TILE_ROWS)
                own.fetch();
            return;
        }
        own.round();
        /* The same of row + 8, since 8 rows are so many times 16 bytes, and of all parts and tiles. */
        const int over = (int)((p.blocks + (uint64_t)(begin + own.lane / 4) * (uint64_t)p.row_bytes) % 16);
        if (F::nbytes % 4 && __any_sync(~0u, (over + own.warp * span_bytes) % 4))
            own.template multiply<true>(over);
        else
            own.template multiply<false>(over);
    }
};
#endif
