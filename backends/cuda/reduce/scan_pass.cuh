/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Running sums of long dense lines in one reading. A block takes the next tile, says its sum as
 * soon as it is known, sends for the tile that it will take after this one, and waits for what lies
 * in front (walk/look_back.cuh). */
#ifndef NDOCK_CUDA_SCAN_PASS_CUH
#define NDOCK_CUDA_SCAN_PASS_CUH
#include "walk/look_back.cuh"

enum { PASS_WARPS = SCAN_PASS_THREADS / 32 };
template <class OP> struct pass_shared {
    typename OP::state sums[PASS_WARPS], front;
    uint32_t ticket;
};

/* One tile: the thread's vectors, and what lies in front of each within its warp. */
template <class OP> struct pass_tile {
    enum { bytes = sizeof(typename OP::element), V = bytes <= 4 ? 4 : 16 / bytes };
    typedef typename OP::state S;
    typedef typename OP::element T;
    typedef typename OP::result R;
    typedef cuda_vector<T, V> vector;
    vector v[UNROLL];
    S front[UNROLL];

    /* Where the thread's vector u of a tile begins, and how many of its vectors there are. */
    LINE_FN uint64_t at(uint32_t tile, int u)
    {
        return scan_at<V>((uint64_t)tile * (SCAN_PASS_THREADS * UNROLL * V), u);
    }
    LINE_FN int count(const scan_params &p, uint32_t tile)
    {
        const uint64_t first = at(tile, 0), step = 32 * V;
        const uint64_t left = first < p.n ? (p.n - first + step - 1) / step : 0;
        return left < UNROLL ? (int)left : UNROLL;
    }
    /* Sends for the thread's vectors of a tile: none where there is no such tile. */
    LINE_FN void send(const scan_params &p, uint32_t ticket, vector *stage)
    {
        int64_t from, to;
        const uint32_t line = ticket / (uint32_t)p.tiles, tile = ticket - line * (uint32_t)p.tiles;
        const int n = line < p.lines ? count(p, tile) : 0;
        line_offsets(p.dim, p.ndim, line, &from, &to);
        const vector *x = (const vector *)((const T *)p.in + from + at(tile, 0));
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (u < n)
                stage_copy(stage + u * SCAN_PASS_THREADS, x + u * 32);
    }
    /* Takes them, n of them; the others are zeros, which are not stored. Returns the warp's sum. */
    LINE_MEMBER S take(const vector *stage, int n)
    {
        S whole = OP::zero();
        stage_wait();
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            v[u] = {};
            if (u < n)
                v[u] = stage[u * SCAN_PASS_THREADS];
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            S sum;
            front[u] = OP::zero();
            if (u < n) {
                front[u] = OP::one(v[u].at[0]);
#pragma unroll
                for (int k = 1; k < V; k++)
                    front[u] = OP::merge(front[u], OP::one(v[u].at[k]));
            }
            scan_warp<OP>(&front[u], &sum);
            front[u] = OP::merge(whole, front[u]);
            whole = OP::merge(whole, sum);
        }
        return whole;
    }
    /* mine: what lies in front of the warp. */
    LINE_MEMBER void store(const scan_params &p, uint64_t line, uint32_t tile, int n, S mine) const
    {
        int64_t from, to;
        line_offsets(p.dim, p.ndim, line, &from, &to);
        cuda_vector<R, V> *out = (cuda_vector<R, V> *)((R *)p.out + to + at(tile, 0));
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            S s = OP::merge(mine, front[u]);
            cuda_vector<R, V> r;
#pragma unroll
            for (int k = 0; k < V; k++) {
                s = OP::merge(s, OP::one(v[u].at[k]));
                r.at[k] = OP::value(s);
            }
            if (u < n)
                out[u * 32] = r;
        }
    }
};

/* Each thread sends for the vectors that it will take itself: no barrier stands between. */
template <class OP> LINE_FN void scan_pass(const scan_params &p)
{
    typedef typename OP::state S;
    __shared__ typename pass_tile<OP>::vector stage[UNROLL * SCAN_PASS_THREADS];
    __shared__ pass_shared<OP> shared;
    const int warp = (int)threadIdx.x / 32;
    const auto slots = look_back_slots_of<S>(p.scratch, p.lines, p.tiles);
    if (look_back_serves<SCAN_PASS_THREADS, OP>(p.scratch, slots))
        return;
    uint32_t ticket = look_back_ticket(p.scratch);
    if (threadIdx.x == 0)
        shared.ticket = ticket;
    __syncthreads();
    ticket = shared.ticket;
    __syncthreads();
    pass_tile<OP>::send(p, ticket, stage + threadIdx.x);
    while (ticket < slots.lines * slots.tiles) {
        const uint32_t line = ticket / (uint32_t)p.tiles, tile = ticket - line * (uint32_t)p.tiles;
        pass_tile<OP> mine;
        const uint32_t next = look_back_ticket(p.scratch);
        const int n = pass_tile<OP>::count(p, tile);
        const S sum = mine.take(stage + threadIdx.x, n);
        if (threadIdx.x % 32 == 0)
            shared.sums[warp] = sum;
        if (threadIdx.x == 0)
            shared.ticket = next;
        __syncthreads();
        S before = OP::zero(), whole = OP::zero();
        for (int w = 0; w < PASS_WARPS; w++) {
            before = w == warp ? whole : before;
            whole = OP::merge(whole, shared.sums[w]);
        }
        const uint32_t here = ticket;
        look_back_tell(slots, here, whole);
        ticket = shared.ticket;
        pass_tile<OP>::send(p, ticket, stage + threadIdx.x);
        const S front = look_back<OP>(slots, here, &shared.front);
        mine.store(p, line, tile, n, OP::merge(front, before));
    }
}

extern "C" __global__ void scan_clear(const __grid_constant__ scan_params p)
{
    look_back_clear(p.scratch, p.scratch_words);
}

#endif
