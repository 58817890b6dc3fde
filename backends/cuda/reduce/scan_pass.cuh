/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Running sums of long dense lines in one reading. Blocks take tiles in order. Of each a block says
 * the sum as soon as it is known, and hears what lies in front: the sums of the earlier tiles of its
 * part, of the earlier parts of its group, one a thread, and of everything before the group. Blocks of last
 * tiles say those of parts and groups. Only groups wait for each other one by one, so that they are large: what
 * one block says another hears some microseconds later. Which sums are merged with which follows from the parameters alone, unlike where a block takes
 * whatever its neighbours know already (Merrill and Garland, Single-pass parallel prefix scan with
 * decoupled look-back, NVIDIA 2016). */
#ifndef NDOCK_CUDA_SCAN_PASS_CUH
#define NDOCK_CUDA_SCAN_PASS_CUH
#include "reduce/scan_warp.cuh"
#include "walk/stage.cuh"

#ifndef PASS_STAGES /* tests have an array of their own */
#define PASS_STAGES(name) extern __shared__ __align__(16) unsigned char name[]
#endif

enum {
    PASS_HEARERS = (SCAN_PARTS + SCAN_PART) / 32, /* warps that hear of tiles and parts */
    PASS_AHEAD = SCAN_PASS_STAGES - 2 /* tiles whose sums are said before results are due */
};
static_assert(PASS_HEARERS < WARPS && SCAN_PARTS % 32 == 0 && SCAN_PART % 32 == 0, "whole warps");

#ifdef __CUDA_ARCH__
enum { PASS_AT_ONCE = 8 };
#else
enum { PASS_AT_ONCE = 0 }; /* the host that runs kernels for tests has no such store */
#endif

/* A state, and a mark that it is set. States of 8 bytes go with the mark in one store of 16, which
 * is seen whole or not at all; the others are stored first, the mark once everybody can see them. */
template <class S> struct alignas(16) pass_slot {
    uint32_t word[sizeof(S) / 4];
    uint32_t set, unused;
};
static_assert(sizeof(pass_slot<double>) == 16, "one store");

template <class S> LINE_FN void pass_say(pass_slot<S> *slot, S s)
{
    union {
        S state;
        uint32_t word[sizeof(S) / 4];
    } u = {s};
    if constexpr (sizeof(S) == PASS_AT_ONCE) {
        asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(slot),
                     "r"(u.word[0]), "r"(u.word[1]), "r"(1), "r"(0)
                     : "memory");
    } else {
#pragma unroll
        for (int i = 0; i < (int)(sizeof(S) / 4); i++)
            ((volatile pass_slot<S> *)slot)->word[i] = u.word[i];
        __threadfence();
        ((volatile pass_slot<S> *)slot)->set = 1;
    }
}

template <class S> LINE_FN S pass_hear(const pass_slot<S> *slot)
{
    union {
        S state;
        uint32_t word[sizeof(S) / 4];
    } u;
    if constexpr (sizeof(S) == PASS_AT_ONCE) {
        uint32_t set, unused;
        do
            asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(u.word[0]), "=r"(u.word[1]), "=r"(set), "=r"(unused)
                         : "l"(slot)
                         : "memory");
        while (set == 0);
    } else {
        while (((const volatile pass_slot<S> *)slot)->set == 0)
            ;
        __threadfence();
#pragma unroll
        for (int i = 0; i < (int)(sizeof(S) / 4); i++)
            u.word[i] = ((const volatile pass_slot<S> *)slot)->word[i];
    }
    return u.state;
}

/* What was said of a line: of its tiles, of its parts and of its groups. */
template <class S> struct pass_slots {
    pass_slot<S> *tiles, *parts, *groups;
    LINE_MEMBER pass_slots(const scan_params &p, uint64_t line)
        : tiles((pass_slot<S> *)(p.scratch + SCAN_TICKET_NBYTES) +
                line * (p.tiles + p.parts + p.groups)),
          parts(tiles + p.tiles), groups(parts + p.parts)
    {
    }
};

/* What lies in front of a tile of a line, in every thread of the block, from what was said: the sum of all
 * before its group, those of the earlier parts of the group, and those of the earlier tiles of its part.
 * part_alone: the last of these. */
template <class OP>
LINE_FN typename OP::state pass_front(const scan_params &p, uint64_t line, uint32_t tile,
                                      bool part_alone, typename OP::state *shared)
{
    typedef typename OP::state S;
    const uint32_t t = threadIdx.x, part = tile / SCAN_PART, group = part / SCAN_PARTS;
    const pass_slots<S> said(p, line);
    S s = OP::zero();
    if (t < SCAN_PARTS) {
        if (!part_alone && t < part % SCAN_PARTS)
            s = pass_hear(said.parts + group * SCAN_PARTS + t);
    } else if (t < SCAN_PARTS + SCAN_PART) {
        if (t - SCAN_PARTS < tile % SCAN_PART)
            s = pass_hear(said.tiles + part * SCAN_PART + t - SCAN_PARTS);
    } else if (t == SCAN_PARTS + SCAN_PART && !part_alone && group > 0) {
        s = pass_hear(said.groups + group - 1);
    }
    for (int h = 16; h; h /= 2)
        s = OP::merge(s, state_shuffle_down(s, h, 32));
    __syncthreads(); /* what the array held before has been read */
    if (t % 32 == 0 && t / 32 <= PASS_HEARERS)
        shared[t / 32] = s;
    __syncthreads();
    s = shared[PASS_HEARERS];
#pragma unroll
    for (int w = 0; w < PASS_HEARERS; w++)
        s = OP::merge(s, shared[w]);
    return s;
}

/* A tile that a block has taken: its vectors lie in shared memory, each where the thread that copied them
 * reads them. */
template <class OP> struct pass_tile {
    typedef typename OP::state S;
    typedef typename OP::element T;
    typedef typename OP::result R;
    enum {
        NBYTES = (int)sizeof(T),
        V = NBYTES <= 4 ? 4 : 16 / NBYTES,
        VECTORS = SCAN_PASS_VECTORS,
        ELEMENTS = SCAN_THREADS * VECTORS * V,
        STAGE = SCAN_THREADS * VECTORS /* vectors */
    };
    typedef cuda_vector<T, V> vector;

    uint64_t line;
    uint32_t number; /* in the line */
    bool taken;
    S front[VECTORS]; /* of the thread's vectors: what lies in front within the tile */

    LINE_MEMBER void take(const scan_params &p, uint32_t ticket)
    {
        number = ticket / (uint32_t)p.lines;
        line = ticket - number * (uint32_t)p.lines;
        taken = number < p.tiles;
    }

    /* Where the thread's vector u begins in the line. */
    LINE_MEMBER uint64_t at(int u) const
    {
        const uint64_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        return (uint64_t)number * ELEMENTS + ((warp * VECTORS + (uint64_t)u) * 32 + lane) * V;
    }

    /* Sends for the vectors. */
    LINE_MEMBER void send(const scan_params &p, vector *stage) const
    {
        int64_t from, to;
        if (taken) {
            line_offsets(p.dim, p.ndim, line, &from, &to);
#pragma unroll
            for (int u = 0; u < VECTORS; u++)
                if (at(u) < p.n)
                    stage_copy_any(stage + u * SCAN_THREADS + threadIdx.x,
                                   (const vector *)((const T *)p.in + from + at(u)));
        }
        stage_close();
    }

    /* Merges what the tile's threads have; returns the whole tile's state, in every thread. */
    LINE_MEMBER S sum(const scan_params &p, const vector *stage, S *shared)
    {
        const int warp = (int)threadIdx.x / 32;
        S mine = OP::zero(), all = OP::zero();
#pragma unroll
        for (int u = 0; u < VECTORS; u++) {
            S of_warp;
            front[u] = OP::zero();
            if (at(u) < p.n) {
                const vector v = stage[u * SCAN_THREADS + threadIdx.x];
                front[u] = OP::one(v.at[0]);
#pragma unroll
                for (int k = 1; k < V; k++)
                    front[u] = OP::merge(front[u], OP::one(v.at[k]));
            }
            scan_warp<OP>(&front[u], &of_warp);
            front[u] = OP::merge(mine, front[u]);
            mine = OP::merge(mine, of_warp);
        }
        __syncthreads(); /* what the array held before has been read */
        if (threadIdx.x % 32 == 0)
            shared[warp] = mine;
        __syncthreads();
        mine = all;
        for (int w = 0; w < WARPS; w++) {
            mine = w == warp ? all : mine;
            all = OP::merge(all, shared[w]);
        }
#pragma unroll
        for (int u = 0; u < VECTORS; u++)
            front[u] = OP::merge(mine, front[u]);
        return all;
    }

    /* Says the tile's sum; of the last tile of a part or a group, the sum of the part, or of all up to the
     * end of the group. */
    LINE_MEMBER void say(const scan_params &p, S whole, S *shared) const
    {
        const uint32_t next = number + 1, parts = next / SCAN_PART;
        const pass_slots<S> said(p, line);
        if (next % SCAN_PART != 0) {
            if (threadIdx.x == 0)
                pass_say(said.tiles + number, whole);
        } else if (next < p.tiles) {
            const bool last = parts % SCAN_PARTS == 0;
            const S in_front = pass_front<OP>(p, line, number, !last, shared);
            if (threadIdx.x == 0)
                pass_say(last ? said.groups + parts / SCAN_PARTS - 1 : said.parts + parts - 1,
                         OP::merge(in_front, whole));
        }
    }

    /* The results, behind what lies in front of the tile. */
    LINE_MEMBER void store(const scan_params &p, const vector *stage, S in_front) const
    {
        int64_t from, to;
        line_offsets(p.dim, p.ndim, line, &from, &to);
#pragma unroll
        for (int u = 0; u < VECTORS; u++) {
            if (at(u) >= p.n)
                continue;
            const vector v = stage[u * SCAN_THREADS + threadIdx.x];
            S s = OP::merge(in_front, front[u]);
            cuda_vector<R, V> r;
#pragma unroll
            for (int k = 0; k < V; k++) {
                s = OP::merge(s, OP::one(v.at[k]));
                r.at[k] = OP::value(s);
            }
            *(cuda_vector<R, V> *)((R *)p.out + to + at(u)) = r;
        }
    }
};

LINE_FN uint32_t pass_ticket(const scan_params &p)
{
    return atomicAdd((uint32_t *)p.scratch, 1u);
}

/* A block has SCAN_PASS_STAGES tiles on their way: those whose sums were said and whose results are due, one whose
 * sum is said next, and one whose elements were sent for. So what a block waits for was mostly said
 * while it summed other tiles: that others see what is said takes some microseconds.
 *
 * No block waits for ever. Tickets are given out in order to blocks that run, and a block says the sums
 * of its tiles in the order of their tickets, waiting only (a) for results of a tile x, when it has said all sums
 * of its tiles up to x, or (b) for what the last tile x of a part or group has to say, when it has said
 * all before x. In both cases it waits for what is said of tiles in front of x alone. Of all blocks that
 * wait look at the one whose x is least: what it waits for is said by itself, which it has done, or by a block that
 * does not wait, or by one that waits for another x, which is not less: that one has said all in front of its own
 * x, and so all that is wanted. */
template <class OP> LINE_FN void scan_pass(const scan_params &p)
{
    typedef typename OP::state S;
    typedef typename pass_tile<OP>::vector vector;
    PASS_STAGES(pass_stages);
    __shared__ S shared[WARPS];
    __shared__ uint32_t ticket[PASS_AHEAD + 1];
    vector *const stages = (vector *)pass_stages;
    pass_tile<OP> queue[PASS_AHEAD + 1]; /* the last one's sum is not said yet */
    uint32_t pending = 0;                /* the first thread's ticket of the next turn */
    if (threadIdx.x == 0) {
        for (int i = 0; i <= PASS_AHEAD; i++)
            ticket[i] = pass_ticket(p);
        pending = pass_ticket(p);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i <= PASS_AHEAD; i++) {
        queue[i].take(p, ticket[i]);
        queue[i].send(p, stages + i * pass_tile<OP>::STAGE);
    }
    stage_wait_but_one();
#pragma unroll
    for (int i = 0; i < PASS_AHEAD; i++)
        if (queue[i].taken)
            queue[i].say(p, queue[i].sum(p, stages + i * pass_tile<OP>::STAGE, shared), shared);
    __syncthreads(); /* the tickets were read */
    for (uint32_t turn = 0; queue[0].taken; turn = turn + 1 == SCAN_PASS_STAGES ? 0 : turn + 1) {
        const uint32_t said = turn + PASS_AHEAD, free = turn ? turn - 1 : SCAN_PASS_STAGES - 1;
        pass_tile<OP> after, &next = queue[PASS_AHEAD];
        const vector *const summed = stages + (said % SCAN_PASS_STAGES) * pass_tile<OP>::STAGE;
        if (threadIdx.x == 0) { /* the block has met since the ticket before was read */
            ticket[0] = pending;
            pending = pass_ticket(p);
        }
        __syncthreads();
        after.take(p, ticket[0]);
        after.send(p, stages + free * pass_tile<OP>::STAGE);
        stage_wait_but_one();
        if (next.taken)
            next.say(p, next.sum(p, summed, shared), shared);
        queue[0].store(p, stages + turn * pass_tile<OP>::STAGE,
                       pass_front<OP>(p, queue[0].line, queue[0].number, false, shared));
#pragma unroll
        for (int i = 0; i < PASS_AHEAD; i++)
            queue[i] = queue[i + 1];
        queue[PASS_AHEAD] = after;
    }
}

/* Before each run: no tile is taken and no state is set. */
extern "C" __global__ void scan_clear(const __grid_constant__ scan_params p)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < p.scratch_words;
         i += (uint64_t)gridDim.x * blockDim.x)
        ((uint4 *)p.scratch)[i] = make_uint4(0, 0, 0, 0);
}

#endif
