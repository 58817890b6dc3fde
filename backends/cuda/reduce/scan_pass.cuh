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

/* A state and then, once all threads of the device can see it, its flag. */
template <class S> LINE_FN void pass_say(S *slot, uint32_t *flag, S s)
{
    union {
        S state;
        uint32_t word[sizeof(S) / 4];
    } u = {s};
    volatile uint32_t *to = (volatile uint32_t *)slot;
#pragma unroll
    for (int i = 0; i < (int)(sizeof(S) / 4); i++)
        to[i] = u.word[i];
    __threadfence();
    *(volatile uint32_t *)flag = 1;
}

template <class S> LINE_FN S pass_hear(const S *slot, const uint32_t *flag)
{
    union {
        S state;
        uint32_t word[sizeof(S) / 4];
    } u;
    const volatile uint32_t *from = (const volatile uint32_t *)slot;
    while (*(const volatile uint32_t *)flag == 0)
        ;
    __threadfence();
#pragma unroll
    for (int i = 0; i < (int)(sizeof(S) / 4); i++)
        u.word[i] = from[i];
    return u.state;
}

/* Where the states of a line's tiles and groups lie in scratch, and the flags that they are set. */
template <class S> struct pass_slots {
    S *tile, *group;
    uint32_t *tile_flag, *group_flag;
};
template <class S> LINE_FN pass_slots<S> pass_slots_of(const scan_params &p, uint64_t line)
{
    uint32_t *flags = (uint32_t *)(p.scratch + SCAN_TICKET_NBYTES);
    S *states = (S *)p.states;
    return {states + line * p.tiles, states + p.lines * p.tiles + line * p.groups,
            flags + line * p.tiles, flags + p.lines * p.tiles + line * p.groups};
}

/* What lies in front of tile `tile`, whose own sum is `whole`, in every thread of the block. */
template <class OP>
LINE_FN typename OP::state pass_front(const scan_params &p, uint64_t line, uint32_t tile,
                                      typename OP::state whole, typename OP::state *shared)
{
    typedef typename OP::state S;
    const uint32_t t = threadIdx.x, group = tile / SCAN_GROUP, index = tile % SCAN_GROUP;
    pass_slots<S> slots = pass_slots_of<S>(p, line);
    if (t == 0 && index + 1 < SCAN_GROUP) /* nobody asks for a group's last tile */
        pass_say(slots.tile + tile, slots.tile_flag + tile, whole);
    S s = OP::zero();
    if (t < index) {
        uint32_t other = group * SCAN_GROUP + t;
        s = pass_hear(slots.tile + other, slots.tile_flag + other);
    } else if (t == SCAN_GROUP - 1 && group > 0) {
        s = pass_hear(slots.group + group - 1, slots.group_flag + group - 1);
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
        pass_say(slots.group + group, slots.group_flag + group, OP::merge(s, whole));
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
    uint64_t n = SCAN_TICKET_NBYTES / 4 + p.lines * (p.tiles + p.groups);
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (uint64_t)gridDim.x * blockDim.x)
        ((uint32_t *)p.scratch)[i] = 0;
}

#endif
