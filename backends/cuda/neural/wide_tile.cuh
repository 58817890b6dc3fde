/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Rows of operands in slabs of shared memory for products of warpgroups, and their products: D
 * columns of 16 bits, 64 of them in a slab, whose rows of 128 bytes have their eight chunks of 16
 * bytes swizzled: chunk c of row r lies at c^(r%8) (PTX ISA, 128-byte swizzling). */
#ifndef NDOCK_CUDA_WIDE_TILE_CUH
#define NDOCK_CUDA_WIDE_TILE_CUH
#include "neural/tile.cuh"
#include "neural/wgmma.cuh"

enum { WGMMA_ROW = 128, WGMMA_COLUMNS = 64, WGMMA_ATOM = 8 * WGMMA_ROW };
enum { WGMMA_THREADS = 128 };

/* Where chunk c (16 bytes) of row r of a slab lies. */
MMA_FN uint32_t wgmma_chunk(int r, int c)
{
    return (uint32_t)(r * WGMMA_ROW + ((c ^ (r & 7)) << 4));
}
/* Of an operand whose slabs begin `lead` bytes apart. Eight rows are `WGMMA_ATOM` bytes. */
MMA_FN uint64_t wgmma_operand(mma_address at, uint32_t lead)
{
    return (uint64_t)(at >> 4 & 0x3fff) | (uint64_t)(lead >> 4 & 0x3fff) << 16 |
           (uint64_t)(WGMMA_ATOM >> 4) << 32 | (uint64_t)1 << 62;
}
/* The operand `nbytes` further. */
MMA_FN uint64_t wgmma_after(uint64_t operand, uint32_t nbytes)
{
    return operand + (nbytes >> 4);
}

/* The first place for slabs at or after an address. */
MMA_FN mma_address wide_begin(mma_address at)
{
    return (at + WGMMA_ATOM - 1) / WGMMA_ATOM * WGMMA_ATOM;
}

/* ROWS rows from `first` on, zeros from `end` on, to slabs one after another, by THREADS threads. */
template <int ROWS, int D, int THREADS = WGMMA_THREADS, class T>
MMA_FN void wide_fetch(mma_address to, const tile_source<T> &from, int64_t first, int64_t end,
                       int thread)
{
    enum { CHUNKS = D / TILE_CHUNK, SLAB = ROWS * WGMMA_ROW, BESIDE = THREADS / CHUNKS };
    if (from.whole) {
        const int begin = thread / CHUNKS, c = thread % CHUNKS;
        const int there = c * TILE_CHUNK >= from.columns ? 0
                          : end - first < ROWS           ? (int)(end - first)
                                                         : (int)ROWS;
        const T *at = from.at + (first + begin) * from.row + c * TILE_CHUNK;
        const int64_t step = BESIDE * from.row;
        to += (mma_address)(c / 8 * SLAB);
        if (THREADS % CHUNKS != 0 && begin >= BESIDE)
            return;
#pragma unroll
        for (int k = 0; k < (ROWS + BESIDE - 1) / BESIDE; k++, at += step) {
            const int row = begin + k * BESIDE;
            if (ROWS % BESIDE == 0 || row < ROWS)
                mma_fetch(to + wgmma_chunk(row, c % 8), row < there ? at : from.at, row < there);
        }
        return;
    }
#pragma unroll 1
    for (int i = thread; i < ROWS * CHUNKS; i += THREADS) {
        const int row = i / CHUNKS, c = i % CHUNKS;
        from.put(to + (mma_address)(c / 8 * SLAB) + wgmma_chunk(row, c % 8), first + row,
                 c * TILE_CHUNK, first + row < end);
    }
}

/* Begins s = left times the transposes of N rows; 64 columns of each are a slab further. */
template <class T, int D, int N>
MMA_FN void wide_multiply(float (&s)[N / 8][4], uint64_t left, uint32_t left_slab, uint64_t right,
                          uint32_t right_slab)
{
#pragma unroll
    for (int k = 0; k < D / 16; k++)
        wgmma<T, N>::shared(s, wgmma_after(left, k / 4 * left_slab + k % 4 * 32),
                            wgmma_after(right, k / 4 * right_slab + k % 4 * 32), k > 0);
    wgmma_commit();
}

/* Numbers, rounded to T, as the left operand of products. */
template <class T, int N>
MMA_FN void wide_pack(uint32_t (&to)[N / 16][4], const float (&from)[N / 8][4])
{
#pragma unroll
    for (int k = 0; k < N / 16; k++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            to[k][i] =
                mma_pack<T>(from[2 * k + i / 2][i % 2 * 2], from[2 * k + i / 2][i % 2 * 2 + 1]);
}
/* Begins y += left times N rows. */
template <class T, int D, int N>
MMA_FN void wide_add(float (&y)[D / 8][4], const uint32_t (&left)[N / 16][4], uint64_t rows)
{
#pragma unroll
    for (int k = 0; k < N / 16; k++)
        wgmma<T, D>::held(y, left[k], wgmma_after(rows, k * 16 * WGMMA_ROW));
    wgmma_commit();
}

/* A gate opens when all copies that were begun are there; nobody waits for that here. `whole`: of operands, else of
 * no more than words of their sums. */
MMA_FN void wide_announce(mma_address gate, bool whole)
{
    if (whole) {
        wgmma_gate_arrive_copied(gate);
        return;
    }
    mma_commit();
    mma_wait<0>();
    wgmma_publish();
    wgmma_gate_arrive(gate);
}

/* Copies that a thread has begun, one after another, and whose gates it opens when LATER others have been begun since: it
 * waits for them and makes them known to products, which those who wait at the gates then need not do. */
template <int LATER> struct wide_line {
    mma_address gates[LATER];
    int begun;

    __device__ __forceinline__ wide_line() : gates{}, begun(0) {}
    __device__ __forceinline__ void announce(mma_address gate)
    {
        mma_commit();
        mma_wait<LATER>();
        open();
        gates[LATER - 1] = gate;
        begun++;
    }
    /* Opens the first gate, if so many copies have been begun, and moves the others up. */
    __device__ __forceinline__ void open()
    {
        if (begun >= LATER) {
            wgmma_publish();
            wgmma_gate_arrive(gates[0]);
        }
#pragma unroll
        for (int i = 0; i + 1 < LATER; i++)
            gates[i] = gates[i + 1];
    }
    __device__ __forceinline__ void end()
    {
        mma_wait<0>();
#pragma unroll 1
        for (int i = 0; i < LATER; i++, begun++)
            open();
    }
};

#endif
