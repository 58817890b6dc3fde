/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Running sums of long dense lines in one reading. A block takes the next tile, says its sum as
 * soon as it is known, and waits for what lies in front: the sums of the earlier tiles of its
 * group, one a thread, and the sum of everything before the group, which the last tile of each
 * group says. Blocks take tiles in order, so whoever is waited for has begun. Which sums are merged
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

/* What lies in front of tile `tile`, whose own sum is `whole`, in every thread of the block. */
template <class OP>
LINE_FN typename OP::state pass_front(const scan_params &p, uint64_t line, uint32_t tile,
                                      typename OP::state whole, typename OP::state *shared)
{
    typedef typename OP::state S;
    const uint32_t t = threadIdx.x, group = tile / SCAN_GROUP, index = tile % SCAN_GROUP;
    pass_slot<S> *tiles = pass_slots_of<S>(p, line), *groups = tiles + p.tiles;
    if (t == 0 && index + 1 < SCAN_GROUP) /* nobody asks for a group's last tile */
        pass_say(tiles + tile, whole);
    S s = OP::zero();
    if (t < index) {
        s = pass_hear(tiles + group * SCAN_GROUP + t);
    } else if (t == SCAN_GROUP - 1 && group > 0) {
        s = pass_hear(groups + group - 1);
    }
    for (int h = 16; h; h /= 2)
        s = OP::merge(s, state_shuffle_down(s, h, 32));
    __syncthreads(); /* what the array held before has been read */
    if (t % 32 == 0)
        shared[t / 32] = s;
    __syncthreads();
    s = shared[0];
    for (int w = 1; w < WARPS; w++)
        s = OP::merge(s, shared[w]);
    if (t == 0 && index + 1 == SCAN_GROUP && tile + 1 < p.tiles)
        pass_say(groups + group, OP::merge(s, whole));
    return s;
}

/* The vectors of a thread: element k of vector u; beyond the end zeros, which are not stored. */
template <class OP, int V>
LINE_FN void pass_tile(const scan_params &p, uint64_t line, uint32_t tile,
                       typename OP::state *shared)
{
    typedef typename OP::state S;
    typedef typename OP::element T;
    typedef typename OP::result R;
    int64_t from, to;
    int warp = threadIdx.x / 32;
    uint64_t begin = (uint64_t)tile * (SCAN_THREADS * UNROLL * V);
    cuda_vector<T, V> v[UNROLL];
    S front[UNROLL], whole = OP::zero(), mine = OP::zero(), all = OP::zero();
    line_offsets(p.dim, p.ndim, line, &from, &to);
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        v[u] = {};
        if (scan_at<V>(begin, u) < p.n)
            v[u] = *(const cuda_vector<T, V> *)((const T *)p.in + from + scan_at<V>(begin, u));
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        S sum;
        front[u] = OP::zero();
        if (scan_at<V>(begin, u) < p.n) {
            front[u] = OP::one(v[u].at[0]);
#pragma unroll
            for (int k = 1; k < V; k++)
                front[u] = OP::merge(front[u], OP::one(v[u].at[k]));
        }
        scan_warp<OP>(&front[u], &sum);
        front[u] = OP::merge(whole, front[u]);
        whole = OP::merge(whole, sum);
    }
    if (threadIdx.x % 32 == 0)
        shared[warp] = whole;
    __syncthreads();
    for (int w = 0; w < WARPS; w++) {
        mine = w == warp ? all : mine;
        all = OP::merge(all, shared[w]);
    }
    mine = OP::merge(pass_front<OP>(p, line, tile, all, shared), mine);
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        S s = OP::merge(mine, front[u]);
        cuda_vector<R, V> r;
#pragma unroll
        for (int k = 0; k < V; k++) {
            s = OP::merge(s, OP::one(v[u].at[k]));
            r.at[k] = OP::value(s);
        }
        if (scan_at<V>(begin, u) < p.n)
            *(cuda_vector<R, V> *)((R *)p.out + to + scan_at<V>(begin, u)) = r;
    }
}

template <class OP> LINE_FN void scan_pass(const scan_params &p)
{
    const int bytes = (int)sizeof(typename OP::element);
    __shared__ typename OP::state shared[WARPS];
    __shared__ uint32_t ticket;
    if (threadIdx.x == 0)
        ticket = atomicAdd((uint32_t *)p.scratch, 1u);
    __syncthreads();
    uint32_t tile = ticket / (uint32_t)p.lines;
    pass_tile<OP, bytes <= 4 ? 4 : 16 / bytes>(p, ticket - tile * (uint32_t)p.lines, tile, shared);
}

/* Before each run: no tile is taken and no state is set. */
extern "C" __global__ void scan_clear(const __grid_constant__ scan_params p)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < p.scratch_words;
         i += (uint64_t)gridDim.x * blockDim.x)
        ((uint4 *)p.scratch)[i] = make_uint4(0, 0, 0, 0);
}

#endif
