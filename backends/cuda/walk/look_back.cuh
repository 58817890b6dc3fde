/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What lies in front of a tile of a line, where blocks take tiles in order and each says its own sum: one
 * block hears the sums, adds them up in the order of the tiles, 32 at a time, and says what lies in front
 * of each, for which its block waits in one place. Who is waited for has begun: tiles are taken in order,
 * and waits for none behind. Which sums are merged with which follows from the number of tiles alone,
 * unlike where a block takes whatever its neighbours know already (Merrill and Garland, Single-pass
 * parallel prefix scan with decoupled look-back, NVIDIA 2016). There have to be two blocks. */
#ifndef NDOCK_CUDA_LOOK_BACK_CUH
#define NDOCK_CUDA_LOOK_BACK_CUH
#include "walk/look_back.h"
#include "walk/shuffle.cuh"

#ifdef __CUDA_ARCH__
enum { LOOK_BACK_AT_ONCE = 8 };
#else
enum { LOOK_BACK_AT_ONCE = 0 }; /* the host that runs kernels for tests has no such store */
#endif

/* A state, and a mark that it is set. States of 8 bytes go with the mark in one store of 16, which
 * is seen whole or not at all; the others are stored first, the mark once everybody can see them. */
template <class S> struct alignas(16) look_back_slot {
    uint32_t word[sizeof(S) / 4];
    uint32_t set, unused;
};
static_assert(sizeof(look_back_slot<double>) == 16, "one store");

template <class S> LINE_FN void look_back_say(look_back_slot<S> *slot, S s)
{
    union {
        S state;
        uint32_t word[sizeof(S) / 4];
    } u = {s};
    if constexpr (sizeof(S) == LOOK_BACK_AT_ONCE) {
        asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(slot),
                     "r"(u.word[0]), "r"(u.word[1]), "r"(1), "r"(0)
                     : "memory");
    } else {
#pragma unroll
        for (int i = 0; i < (int)(sizeof(S) / 4); i++)
            ((volatile look_back_slot<S> *)slot)->word[i] = u.word[i];
        __threadfence();
        ((volatile look_back_slot<S> *)slot)->set = 1;
    }
}

template <class S> LINE_FN S look_back_hear(const look_back_slot<S> *slot)
{
    union {
        S state;
        uint32_t word[sizeof(S) / 4];
    } u;
    if constexpr (sizeof(S) == LOOK_BACK_AT_ONCE) {
        uint32_t set, unused;
        do
            asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(u.word[0]), "=r"(u.word[1]), "=r"(set), "=r"(unused)
                         : "l"(slot)
                         : "memory");
        while (set == 0);
    } else {
        while (((const volatile look_back_slot<S> *)slot)->set == 0)
            ;
        __threadfence();
#pragma unroll
        for (int i = 0; i < (int)(sizeof(S) / 4); i++)
            u.word[i] = ((const volatile look_back_slot<S> *)slot)->word[i];
    }
    return u.state;
}

/* Tiles are numbered line after line: each has a slot for its sum and one for what lies in front. */
template <class S> struct look_back_slots {
    look_back_slot<S> *sums, *fronts;
    uint32_t lines, tiles; /* of a line */
};
template <class S>
LINE_FN look_back_slots<S> look_back_slots_of(uint64_t memory, uint64_t lines, uint64_t tiles)
{
    look_back_slot<S> *sums = (look_back_slot<S> *)(memory + LOOK_BACK_TICKET_NBYTES);
    return {sums, sums + lines * tiles, (uint32_t)lines, (uint32_t)tiles};
}

/* A warp's 32 tiles of a line from `first` on: their sums become what lies in front of each within the
 * warp; returns the sum of all. */
template <class OP>
LINE_FN typename OP::state look_back_hear_warp(const look_back_slots<typename OP::state> &slots,
                                               uint64_t first, uint32_t count,
                                               typename OP::state *front)
{
    typedef typename OP::state S;
    const uint32_t lane = threadIdx.x % 32;
    S s = lane < count ? look_back_hear(slots.sums + first + lane) : OP::zero();
    for (uint32_t h = 1; h < 32; h *= 2) {
        const S before = state_shuffle_up(s, (int)h);
        s = lane >= h ? OP::merge(before, s) : s;
    }
    const S before = state_shuffle_up(s, 1);
    *front = lane ? before : OP::zero();
    return s; /* the last lane's is the whole */
}

/* Whether the block is the one that adds up: it has done so for all tiles, 32 at a time, each of its
 * warps in turn. Another block takes tiles. */
template <int THREADS, class OP>
LINE_FN bool look_back_serves(uint64_t memory, const look_back_slots<typename OP::state> &slots)
{
    typedef typename OP::state S;
    __shared__ volatile uint32_t turn;
    __shared__ uint32_t role;
    __shared__ S carry;
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t parts = (slots.tiles + 31) / 32;
    if (threadIdx.x == 0) {
        role = LOOK_BACK_AT_ONCE ? atomicAdd((uint32_t *)memory + 32, 1u) : 1;
        turn = 0;
    }
    __syncthreads();
    if (role != 0)
        return false;
    for (uint64_t part = warp; part < (uint64_t)slots.lines * parts; part += THREADS / 32) {
        const uint32_t line = (uint32_t)(part / parts),
                       at = (uint32_t)(part - (uint64_t)line * parts) * 32;
        const uint64_t first = (uint64_t)line * slots.tiles + at;
        const uint32_t count = slots.tiles - at < 32 ? slots.tiles - at : 32;
        S front;
        const S sum = look_back_hear_warp<OP>(slots, first, count, &front);
        while (turn != (uint32_t)part)
            ;
        __syncwarp();
        __threadfence_block();
        const S before = at ? carry : OP::zero();
        __syncwarp();
        if (lane == 31) {
            carry = OP::merge(before, sum);
            __threadfence_block();
            turn = (uint32_t)part + 1;
        }
        if (lane < count)
            look_back_say(slots.fronts + first + lane, OP::merge(before, front));
        __syncwarp();
    }
    return true;
}

/* A tile's sum for the block that adds up. */
template <class S>
LINE_FN void look_back_tell(const look_back_slots<S> &slots, uint32_t tile, S whole)
{
    if (threadIdx.x == 0)
        look_back_say(slots.sums + tile, whole);
}

/* What lies in front of a tile in its line, in every thread of the block. front: shared; nobody uses it
 * since the block last met. */
template <class OP>
LINE_FN typename OP::state look_back(const look_back_slots<typename OP::state> &slots,
                                     uint32_t tile, typename OP::state *front)
{
    typedef typename OP::state S;
    if (threadIdx.x == 0) {
        S s = OP::zero(); /* in front of a line's first tile */
        if (tile % slots.tiles && LOOK_BACK_AT_ONCE)
            s = look_back_hear(slots.fronts + tile);
        else if (tile % slots.tiles) /* blocks run one after another: the one before is done */
            s = OP::merge(look_back_hear(slots.fronts + tile - 1),
                          look_back_hear(slots.sums + tile - 1));
        if (!LOOK_BACK_AT_ONCE)
            look_back_say(slots.fronts + tile, s);
        *front = s;
    }
    __syncthreads();
    return *front;
}

/* The number of the next tile, in the first thread. */
LINE_FN uint32_t look_back_ticket(uint64_t memory)
{
    return threadIdx.x == 0 ? atomicAdd((uint32_t *)memory, 1u) : 0;
}

/* Before each run: no tile is taken and no state is set. */
LINE_FN void look_back_clear(uint64_t memory, uint64_t words)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < words;
         i += (uint64_t)gridDim.x * blockDim.x)
        ((uint4 *)memory)[i] = make_uint4(0, 0, 0, 0);
}

#endif
