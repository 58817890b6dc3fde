/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What lies in front of a tile of a line, where blocks take tiles in order and each says its own sum: a
 * block hears the sums of the earlier tiles of its group, one a thread, and the sum of everything before
 * the group, which the last tile of each group says. Who is waited for has begun, and waits for none
 * behind. Which sums are merged with which follows from the numbers of threads and tiles alone, unlike
 * where a block takes whatever its neighbours know already (Merrill and Garland, Single-pass parallel
 * prefix scan with decoupled look-back, NVIDIA 2016). */
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

/* The slots of a line's tiles; those of its groups follow. */
template <class S> struct look_back_line {
    look_back_slot<S> *slots;
    uint32_t tiles;
};
template <int THREADS, class S>
LINE_FN look_back_line<S> look_back_line_of(uint64_t memory, uint64_t tiles, uint64_t line)
{
    const uint64_t groups = (tiles + THREADS - 1) / THREADS;
    return {(look_back_slot<S> *)(memory + LOOK_BACK_TICKET_NBYTES) + line * (tiles + groups),
            (uint32_t)tiles};
}

/* A tile's sum for those who wait for it. Nobody asks for a group's last tile. */
template <int THREADS, class S>
LINE_FN void look_back_tell(const look_back_line<S> &line, uint32_t tile, S whole)
{
    if (threadIdx.x == 0 && tile % THREADS + 1 < THREADS)
        look_back_say(line.slots + tile, whole);
}

/* What lies in front of tile `tile`, whose own sum is `whole`, in every thread of the block. fronts: of
 * the warps; nobody uses them since the block last met. */
template <int THREADS, class OP>
LINE_FN typename OP::state look_back(const look_back_line<typename OP::state> &line, uint32_t tile,
                                     typename OP::state whole, typename OP::state *fronts)
{
    typedef typename OP::state S;
    const uint32_t t = threadIdx.x, group = tile / THREADS, index = tile % THREADS;
    look_back_slot<S> *groups = line.slots + line.tiles;
    S s = OP::zero();
    if (t < index)
        s = look_back_hear(line.slots + group * THREADS + t);
    else if (t == THREADS - 1 && group > 0)
        s = look_back_hear(groups + group - 1);
    for (int h = 16; h; h /= 2)
        s = OP::merge(s, state_shuffle_down(s, h, 32));
    if (t % 32 == 0)
        fronts[t / 32] = s;
    __syncthreads();
    s = fronts[0];
    for (int w = 1; w < THREADS / 32; w++)
        s = OP::merge(s, fronts[w]);
    if (t == 0 && index + 1 == THREADS && tile + 1 < line.tiles)
        look_back_say(groups + group, OP::merge(s, whole));
    return s;
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
