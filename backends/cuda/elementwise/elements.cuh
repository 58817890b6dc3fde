/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise kernels by elements, one by one: short rows, outputs whose innermost stride is not 1, and tiles.
 * Inputs of tiles go through shared memory, loaded by 32 lanes along the dimension in which they
 * lie together, and are read along the output's. */
#ifndef NDOCK_CUDA_ELEMENTWISE_ELEMENTS_CUH
#define NDOCK_CUDA_ELEMENTWISE_ELEMENTS_CUH
#include "elementwise/vector.cuh"
#include "walk/lines.cuh"
#include "walk/walk.cuh"

extern __shared__ __align__(16) unsigned char ew_tiles[];

/* Fills the tile at byte `tile` of shared memory. A lane takes elements `along` apart of lines
 * `across` apart, which lie to_along and to_across apart in the tile: `length` by `count` of them
 * exist. In parts, so that there are registers for the loads in flight. */
template <class T, int SIDE>
static __device__ __noinline__ void load_tile(uint32_t tile, const T *at, int64_t along,
                                              int64_t across, uint32_t length, uint32_t count,
                                              int to_along, int to_across)
{
    enum { LANES = 32, WARPS = EW_ELEMENT_THREADS / LANES, ALONG = SIDE / LANES, ACROSS = 4 };
    uint32_t lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    T *to = (T *)(ew_tiles + tile) + lane * to_along + warp * to_across;
    at += lane * along + warp * across;
#pragma unroll 1
    for (int part = 0; part < SIDE / WARPS / ACROSS; part++) {
        T v[ACROSS][ALONG];
#pragma unroll
        for (int i = 0; i < ACROSS; i++)
#pragma unroll
            for (int j = 0; j < ALONG; j++)
                if (lane + j * LANES < length && warp + i * WARPS < count)
                    v[i][j] = at[j * LANES * along + i * WARPS * across];
#pragma unroll
        for (int i = 0; i < ACROSS; i++)
#pragma unroll
            for (int j = 0; j < ALONG; j++)
                if (lane + j * LANES < length && warp + i * WARPS < count)
                    to[j * LANES * to_along + i * WARPS * to_across] = v[i][j];
        at += ACROSS * WARPS * across;
        to += ACROSS * WARPS * to_across;
        warp += ACROSS * WARPS;
    }
}

/* The tile of an input whose first element is at `offset`: width (x) by height (y) elements.
 * Element (x, y) lies at y * PITCH + x; lanes along y meet no bank twice since rows are an odd
 * number of words (of elements, when these are larger) apart. */
template <class T, int SIDE>
static __device__ __forceinline__ void load_input(uint32_t tile, const ew_params &p, int input,
                                                  int64_t offset, uint32_t width, uint32_t height)
{
    const int PITCH = EW_TILE_PITCH(SIDE, sizeof(T));
    const T *at = (const T *)p.in[input].at + offset;
    if (p.scalars >> input & 1)
        return;
    bool by_y = p.transposed >> input & 1;
    load_tile<T, SIDE>(tile, at, p.stride[input + 1][by_y], p.stride[input + 1][!by_y],
                       by_y ? height : width, by_y ? width : height, by_y ? PITCH : 1,
                       by_y ? 1 : PITCH);
}

static __device__ __forceinline__ uint32_t at_most(uint32_t n, uint32_t most)
{
    return n < most ? n : most;
}

/* The tile of a block: `width` by `height` elements, the first at `at`. */
struct ew_block {
    ew_offsets at;
    uint32_t width, height;
};

/* The first input's tile lies behind the others, which have TILE bytes each: elements of a mask are small. */
template <class OP, int SIDE, int TILE>
static __device__ __forceinline__ ew_block load_tiles(const ew_params &p)
{
    line_tile t = line_tile_of(blockIdx.x, p.columns, p.lines);
    uint32_t x0 = t.fast * SIDE, y0 = t.slow * SIDE;
    ew_block block = {};
    block.width = at_most(p.walk.extent[0].value - x0, SIDE);
    block.height = at_most(p.walk.extent[1].value - y0, SIDE);
    add_outer<OP::inputs>(p, 2, t.plane, block.at);
    block.at.out += x0 * p.stride[0][0] + y0 * p.stride[0][1];
#pragma unroll
    for (int i = 0; i < OP::inputs; i++)
        block.at.in[i] += x0 * p.stride[i + 1][0] + y0 * p.stride[i + 1][1];
    load_input<typename OP::in1, SIDE>((OP::inputs - 1) * TILE, p, 0, block.at.in[0], block.width,
                                       block.height);
    if (OP::inputs > 1)
        load_input<typename OP::in2, SIDE>(0, p, 1, block.at.in[1], block.width, block.height);
    if (OP::inputs > 2)
        load_input<typename OP::in3, SIDE>(TILE, p, 2, block.at.in[2], block.width, block.height);
    return block;
}

template <class T>
static __device__ __forceinline__ T tile_element(const ew_params &p, int input, uint32_t tile,
                                                 uint32_t at)
{
    if (p.scalars >> input & 1)
        return scalar_of<T>(p.in[input]);
    return ((const T *)(ew_tiles + tile))[at];
}

/* Element (x, y) of a tile of results. */
template <class OP, int SIDE, int TILE>
static __device__ __forceinline__ typename OP::out tile_result(const ew_params &p, uint32_t x,
                                                               uint32_t y)
{
    const uint32_t at = y * EW_TILE_PITCH(SIDE, sizeof(cuda_stored)) + x;
    operands<OP, 1> v = {};
    v.a.at[0] = tile_element<typename OP::in1>(
        p, 0, (OP::inputs - 1) * TILE, y * EW_TILE_PITCH(SIDE, sizeof(typename OP::in1)) + x);
    if (OP::inputs > 1)
        v.b.at[0] = tile_element<typename OP::in2>(p, 1, 0, at);
    if (OP::inputs > 2)
        v.c.at[0] = tile_element<typename OP::in3>(p, 2, TILE, at);
    return apply<OP, 1, 1>(v).at[0];
}

/* A thread goes down a tile, with a warp's width between elements of a row: few at a time, since registers
 * decide how many blocks run at once, and their loads are under way already. */
template <class OP> static __device__ __forceinline__ void tiles(const ew_params &p)
{
    const int SIDE = EW_TILE_SIDE(OP::inputs, sizeof(cuda_stored));
    const int TILE = EW_TILE_BYTES(SIDE, sizeof(cuda_stored));
    const int LANES = 32, WARPS = EW_ELEMENT_THREADS / LANES, ACROSS = SIDE / LANES;
    static_assert((OP::inputs - 1) * TILE + EW_TILE_BYTES(SIDE, sizeof(typename OP::in1)) <=
                      48 << 10,
                  "what a block may have");
    const ew_block block = load_tiles<OP, SIDE, TILE>(p);
    const uint32_t x = threadIdx.x % LANES;
    uint32_t y = threadIdx.x / LANES;
    const int64_t along = LANES * p.stride[0][0], down = WARPS * p.stride[0][1];
    typename OP::out *out =
        (typename OP::out *)p.out + block.at.out + x * p.stride[0][0] + y * p.stride[0][1];
    __syncthreads();
#pragma unroll 1
    for (; y < block.height; y += WARPS, out += down)
#pragma unroll(OP::heavy ? 1 : ACROSS)
        for (int j = 0; j < ACROSS; j++)
            if (x + j * LANES < block.width)
                out[j * along] = tile_result<OP, SIDE, TILE>(p, x + j * LANES, y);
}

template <class T>
static __device__ __forceinline__ T load_element(const ew_params &p, int input, int64_t offset)
{
    return p.scalars >> input & 1 ? scalar_of<T>(p.in[input]) : ((const T *)p.in[input].at)[offset];
}

/* Of a block, EW_ELEMENTS a thread. */
template <class OP> static __device__ __forceinline__ void elements(const ew_params &p)
{
    const int E = OP::heavy ? 1 : 2;
    const uint32_t first = blockIdx.x * (EW_ELEMENT_THREADS * EW_ELEMENTS) + threadIdx.x;
#pragma unroll 1
    for (int e = 0; e < EW_ELEMENTS; e += E) {
        operands<OP, E> x = {};
        typename OP::out *out[E];
#pragma unroll
        for (int j = 0; j < E; j++) {
            const uint32_t i = first + (e + j) * EW_ELEMENT_THREADS;
            ew_offsets at = {};
            add_outer<OP::inputs>(p, 0, i, at);
            out[j] = i < p.n ? (typename OP::out *)p.out + at.out : NULL;
            if (i < p.n)
                x.a.at[j] = load_element<typename OP::in1>(p, 0, at.in[0]);
            if (i < p.n && OP::inputs > 1)
                x.b.at[j] = load_element<typename OP::in2>(p, 1, at.in[1]);
            if (i < p.n && OP::inputs > 2)
                x.c.at[j] = load_element<typename OP::in3>(p, 2, at.in[2]);
        }
        cuda_vector<typename OP::out, E> r = apply<OP, E, E>(x);
#pragma unroll
        for (int j = 0; j < E; j++)
            if (out[j])
                *out[j] = r.at[j];
    }
}

#endif
