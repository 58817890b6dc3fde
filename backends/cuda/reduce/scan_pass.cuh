/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Running sums of long dense lines in one reading. A block takes the next tile, says its sum as
 * soon as it is known, sends for the tile that it will take after this one, and waits for what lies
 * in front: the sums of the earlier tiles of its group, one a thread, and the sum of everything
 * before the group, which the last tile of each group says. Tiles are taken in order, and a block's
 * one after the other, so whoever is waited for has begun and waits for none behind. Which sums are merged
 * with which follows from the parameters alone, unlike where a block takes whatever its neighbours
 * know already (Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back,
 * NVIDIA 2016). */
#ifndef NDOCK_CUDA_SCAN_PASS_CUH
#define NDOCK_CUDA_SCAN_PASS_CUH

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
    if constexpr (sizeof(S) == 8) {
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
    if constexpr (sizeof(S) == 8) {
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

/* The slots of a line's tiles; those of its groups follow. */
template <class S> LINE_FN pass_slot<S> *pass_slots_of(const scan_params &p, uint64_t line)
{
    return (pass_slot<S> *)(p.scratch + SCAN_TICKET_NBYTES) + line * (p.tiles + p.groups);
}

enum { PASS_WARPS = SCAN_PASS_THREADS / 32 };
template <class OP> struct pass_shared {
    typename OP::state sums[PASS_WARPS], fronts[PASS_WARPS];
    uint32_t ticket;
};

/* A tile's sum, said to those who wait for it. Nobody asks for a group's last tile. */
template <class OP>
LINE_FN void pass_say_tile(const scan_params &p, uint64_t line, uint32_t tile,
                           typename OP::state whole)
{
    if (threadIdx.x == 0 && tile % SCAN_GROUP + 1 < SCAN_GROUP)
        pass_say(pass_slots_of<typename OP::state>(p, line) + tile, whole);
}

/* What lies in front of tile `tile`, whose own sum is `whole`, in every thread of the block. */
template <class OP>
LINE_FN typename OP::state pass_front(const scan_params &p, uint64_t line, uint32_t tile,
                                      typename OP::state whole, typename OP::state *fronts)
{
    typedef typename OP::state S;
    const uint32_t t = threadIdx.x, group = tile / SCAN_GROUP, index = tile % SCAN_GROUP;
    pass_slot<S> *tiles = pass_slots_of<S>(p, line), *groups = tiles + p.tiles;
    S s = OP::zero();
    if (t < index) {
        s = pass_hear(tiles + group * SCAN_GROUP + t);
    } else if (t == SCAN_GROUP - 1 && group > 0) {
        s = pass_hear(groups + group - 1);
    }
    for (int h = 16; h; h /= 2)
        s = OP::merge(s, state_shuffle_down(s, h, 32));
    if (t % 32 == 0)
        fronts[t / 32] = s;
    __syncthreads();
    s = fronts[0];
    for (int w = 1; w < PASS_WARPS; w++)
        s = OP::merge(s, fronts[w]);
    if (t == 0 && index + 1 == SCAN_GROUP && tile + 1 < p.tiles)
        pass_say(groups + group, OP::merge(s, whole));
    return s;
}

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
        const uint32_t tile = ticket / (uint32_t)p.lines, line = ticket - tile * (uint32_t)p.lines;
        const int n = tile < p.tiles ? count(p, tile) : 0;
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

LINE_FN uint32_t pass_ticket(const scan_params &p)
{
    return threadIdx.x == 0 ? atomicAdd((uint32_t *)p.scratch, 1u) : 0;
}

/* Each thread sends for the vectors that it will take itself: no barrier stands between. */
template <class OP> LINE_FN void scan_pass(const scan_params &p)
{
    typedef typename OP::state S;
    __shared__ typename pass_tile<OP>::vector stage[UNROLL * SCAN_PASS_THREADS];
    __shared__ pass_shared<OP> shared;
    const int warp = (int)threadIdx.x / 32;
    uint32_t ticket = pass_ticket(p);
    if (threadIdx.x == 0)
        shared.ticket = ticket;
    __syncthreads();
    ticket = shared.ticket;
    __syncthreads();
    pass_tile<OP>::send(p, ticket, stage + threadIdx.x);
    while (ticket / (uint32_t)p.lines < p.tiles) {
        const uint32_t tile = ticket / (uint32_t)p.lines, line = ticket - tile * (uint32_t)p.lines;
        pass_tile<OP> mine;
        const uint32_t next = pass_ticket(p);
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
        pass_say_tile<OP>(p, line, tile, whole);
        ticket = shared.ticket;
        pass_tile<OP>::send(p, ticket, stage + threadIdx.x);
        const S front = pass_front<OP>(p, line, tile, whole, shared.fronts);
        mine.store(p, line, tile, n, OP::merge(front, before));
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
