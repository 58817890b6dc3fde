/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Running sums of long dense lines in one reading. A block has a tile, says its sum as
 * soon as it is known, and waits for what lies in front: the sums of the earlier tiles of its
 * group, one a thread, and the sum of everything before the group, which the last tile of each
 * group says. Blocks begin in the order of their numbers, on which CUB's scans rely as well, so whoever is
 * waited for has begun; to take a number instead cost 30 of 340 us on an H200. Which sums are merged
 * with which follows from the parameters alone, unlike where a block takes whatever its neighbours
 * know already (Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back,
 * NVIDIA 2016). */
#ifndef NDOCK_CUDA_SCAN_PASS_CUH
#define NDOCK_CUDA_SCAN_PASS_CUH
#include "reduce/scan_warp.cuh"
#include "walk/stage.cuh"

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

/* The slots of a line's tiles; those of its groups follow. */
template <class S> LINE_FN pass_slot<S> *pass_slots_of(const scan_params &p, uint64_t line)
{
    return (pass_slot<S> *)p.scratch + line * (p.tiles + p.groups);
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

/* A tile: each warp has a dense part of it in shared memory, each thread VECTORS vectors of its warp's,
 * one after the other. A vector has a slot of SLOT bytes, which is large enough for its results: they take
 * its place, and stand without gaps. VECTORS is odd where a slot has 16 bytes, so that the threads'
 * slots are in different banks. */
template <class OP> struct pass_shape {
    typedef typename OP::element T;
    typedef typename OP::result R;
    static constexpr int NBYTES = sizeof(T), V = NBYTES <= 4 ? 4 : 16 / NBYTES,
                         SLOT = V * (int)(sizeof(R) > sizeof(T) ? sizeof(R) : sizeof(T)),
                         VECTORS = scan_pass_vectors(SLOT), OF_WARP = 32 * VECTORS,
                         PIECE = V * sizeof(R) < 16 ? V : 16 / sizeof(R);
    typedef cuda_vector<T, V> vector;
    typedef cuda_vector<R, V> results;
    typedef cuda_vector<R, PIECE> piece;
};

struct alignas(16) pass_room {
    char byte[16];
};

LINE_FN void pass_fetch_line(const void *at)
{
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#else
    (void)at;
#endif
}

/* The elements of the warp's part of a tile, which begins at element `begin` of the line; beyond the line's
 * end zeros, whose sums nobody reads. */
template <class OP>
LINE_FN void pass_load(const scan_params &p, const typename OP::element *line, uint64_t begin,
                       char *part)
{
    typedef pass_shape<OP> shape;
    typedef typename shape::vector vector;
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll 4
    for (int u = 0; u < shape::VECTORS; u++) {
        const uint32_t j = (uint32_t)u * 32 + lane;
        const uint64_t i = begin + j * shape::V;
        vector *to = (vector *)(part + j * shape::SLOT);
        if (i < p.n)
            stage_copy_any(to, (const vector *)(line + i));
        else
            *to = {};
    }
}

/* The tile that a block will read some blocks later comes to the second-level cache meanwhile: blocks wait
 * for the sums in front of theirs with nothing else on its way. (H200, 2^27 of f32: 308 -> 285 us; of 330
 * tiles more than caches hold beside what is written: 327.) */
template <class OP>
LINE_FN void pass_fetch(const scan_params &p, const typename OP::element *line, uint32_t tile)
{
    typedef pass_shape<OP> shape;
    const uint32_t LINE = 128,
                   NBYTES = WARPS * shape::OF_WARP * (uint32_t)sizeof(typename shape::vector);
    const uint64_t begin = (tile + p.ahead) * NBYTES, end = p.n * sizeof *line;
    for (uint32_t i = threadIdx.x * LINE; p.ahead > 0 && i < NBYTES && begin + i < end;
         i += SCAN_THREADS * LINE)
        pass_fetch_line((const char *)line + begin + i);
}

/* The sum of the thread's elements. */
template <class OP> LINE_FN typename OP::state pass_sum(const char *own)
{
    typedef pass_shape<OP> shape;
    typename OP::state s[shape::V];
#pragma unroll
    for (int k = 0; k < shape::V; k++)
        s[k] = OP::zero();
#pragma unroll 4
    for (int u = 0; u < shape::VECTORS; u++) {
        const auto v = *(const typename shape::vector *)(own + u * shape::SLOT);
#pragma unroll
        for (int k = 0; k < shape::V; k++)
            s[k] = OP::merge(s[k], OP::one(v.at[k]));
    }
#pragma unroll
    for (int k = 1; k < shape::V; k++)
        s[0] = OP::merge(s[0], s[k]);
    return s[0];
}

/* The thread's elements become their running sums; `s` lies in front of them. */
template <class OP> LINE_FN void pass_run(char *own, typename OP::state s)
{
    typedef pass_shape<OP> shape;
#pragma unroll 2
    for (int u = 0; u < shape::VECTORS; u++) {
        const auto v = *(const typename shape::vector *)(own + u * shape::SLOT);
        typename shape::results r;
#pragma unroll
        for (int k = 0; k < shape::V; k++) {
            s = OP::merge(s, OP::one(v.at[k]));
            r.at[k] = OP::value(s);
        }
        *(typename shape::results *)(own + u * shape::SLOT) = r;
    }
}

/* The warp's results, by neighbouring pieces. */
template <class OP>
LINE_FN void pass_store(const scan_params &p, typename OP::result *line, uint64_t begin,
                        const char *part)
{
    typedef pass_shape<OP> shape;
    typedef typename shape::piece piece;
    __syncwarp();
#pragma unroll 4
    for (int u = 0; u < shape::VECTORS * (int)(sizeof(typename shape::results) / sizeof(piece));
         u++) {
        const uint32_t j = (uint32_t)u * 32 + threadIdx.x % 32;
        const uint64_t i = begin + j * shape::PIECE;
        if (i < p.n)
            *(piece *)(line + i) = ((const piece *)part)[j];
    }
}

template <class OP>
LINE_FN void pass_tile(const scan_params &p, uint64_t line, uint32_t tile,
                       typename OP::state *shared)
{
    typedef pass_shape<OP> shape;
    typedef typename OP::state S;
    const uint32_t of_warp = shape::OF_WARP * shape::SLOT;
    __shared__ pass_room room[WARPS * of_warp / sizeof(pass_room)];
    const uint32_t warp = threadIdx.x / 32;
    char *part = (char *)room + warp * of_warp;
    char *own = part + threadIdx.x % 32 * (shape::VECTORS * shape::SLOT);
    const uint64_t begin = ((uint64_t)tile * WARPS + warp) * (shape::OF_WARP * shape::V);
    int64_t from, to;
    line_offsets(p.dim, p.ndim, line, &from, &to);
    pass_load<OP>(p, (const typename OP::element *)p.in + from, begin, part);
    pass_fetch<OP>(p, (const typename OP::element *)p.in + from, tile);
    stage_wait();
    __syncwarp();
    S front = pass_sum<OP>(own), whole, mine = OP::zero(), all = OP::zero();
    scan_warp<OP>(&front, &whole);
    if (threadIdx.x % 32 == 0)
        shared[warp] = whole;
    __syncthreads();
    for (uint32_t w = 0; w < WARPS; w++) {
        mine = w == warp ? all : mine;
        all = OP::merge(all, shared[w]);
    }
    mine = OP::merge(mine, front);
    pass_run<OP>(own, OP::merge(pass_front<OP>(p, line, tile, all, shared), mine));
    pass_store<OP>(p, (typename OP::result *)p.out + to, begin, part);
}

template <class OP> LINE_FN void scan_pass(const scan_params &p)
{
    __shared__ typename OP::state shared[WARPS];
    const uint32_t tile = blockIdx.x / (uint32_t)p.lines;
    pass_tile<OP>(p, blockIdx.x - tile * (uint32_t)p.lines, tile, shared);
}

/* Before each run: no state is set. */
extern "C" __global__ void scan_clear(const __grid_constant__ scan_params p)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < p.scratch_words;
         i += (uint64_t)gridDim.x * blockDim.x)
        ((uint4 *)p.scratch)[i] = make_uint4(0, 0, 0, 0);
}

#endif
