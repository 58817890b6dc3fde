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

/* What a block computes: `width` by `height` elements of a tile that begins at `at`, or elements
 * from first on. */
struct ew_block {
    ew_offsets at;
    uint32_t width, height, first;
};

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
    load_input<typename OP::in1, SIDE>(0, p, 0, block.at.in[0], block.width, block.height);
    if (OP::inputs > 1)
        load_input<typename OP::in2, SIDE>(TILE, p, 1, block.at.in[1], block.width, block.height);
    if (OP::inputs > 2)
        load_input<typename OP::in3, SIDE>(2 * TILE, p, 2, block.at.in[2], block.width,
                                           block.height);
    return block;
}

/* Of a thread's element e: false if there is none. Offsets of inputs are within tiles, if any. */
template <class OP, int SIDE, bool TILED>
static __device__ __forceinline__ bool locate(const ew_params &p, const ew_block &block, int e,
                                              ew_offsets &at)
{
    if (!TILED) {
        uint32_t i = block.first + e * EW_ELEMENT_THREADS;
        at = {};
        add_outer<OP::inputs>(p, 0, i, at);
        return i < p.n;
    }
    uint32_t x = threadIdx.x % 32 + e % (SIDE / 32) * 32;
    uint32_t y = threadIdx.x / 32 + e / (SIDE / 32) * (EW_ELEMENT_THREADS / 32);
    at.out = block.at.out + x * p.stride[0][0] + y * p.stride[0][1];
    at.in[0] = y * EW_TILE_PITCH(SIDE, sizeof(typename OP::in1)) + x;
    at.in[1] = at.in[2] = y * EW_TILE_PITCH(SIDE, sizeof(cuda_stored)) + x;
    return x < block.width && y < block.height;
}

template <class T, int TILE, bool TILED>
static __device__ __forceinline__ T load_element(const ew_params &p, int input, int64_t offset)
{
    if (p.scalars >> input & 1)
        return scalar_of<T>(p.in[input]);
    if (TILED)
        return ((const T *)(ew_tiles + input * TILE))[offset];
    return ((const T *)p.in[input].at)[offset];
}

/* Of a tile one element after the other: its loads are under way already, and registers decide how
 * many blocks run at once. */
template <class OP, bool TILED> static __device__ __forceinline__ void elements(const ew_params &p)
{
    const int SIDE = EW_TILE_SIDE(OP::inputs, sizeof(cuda_stored));
    const int E = OP::heavy || TILED ? 1 : 2;
    const int TILE = EW_TILE_BYTES(SIDE, sizeof(cuda_stored));
    ew_block block = {};
    block.first = blockIdx.x * (EW_ELEMENT_THREADS * EW_ELEMENTS) + threadIdx.x;
    if (TILED) {
        block = load_tiles<OP, SIDE, TILE>(p);
        __syncthreads();
    }
    const int steps = TILED ? SIDE * SIDE / EW_ELEMENT_THREADS : EW_ELEMENTS;
#pragma unroll(TILED && !OP::heavy ? 2 : 1)
    for (int e = 0; e < steps; e += E) {
        operands<OP, E> x = {};
        typename OP::out *out[E];
#pragma unroll
        for (int j = 0; j < E; j++) {
            ew_offsets at;
            bool exists = locate<OP, SIDE, TILED>(p, block, e + j, at);
            out[j] = exists ? (typename OP::out *)p.out + at.out : NULL;
            if (exists)
                x.a.at[j] = load_element<typename OP::in1, TILE, TILED>(p, 0, at.in[0]);
            if (exists && OP::inputs > 1)
                x.b.at[j] = load_element<typename OP::in2, TILE, TILED>(p, 1, at.in[1]);
            if (exists && OP::inputs > 2)
                x.c.at[j] = load_element<typename OP::in3, TILE, TILED>(p, 2, at.in[2]);
        }
        cuda_vector<typename OP::out, E> r = apply<OP, E, E>(x);
#pragma unroll
        for (int j = 0; j < E; j++)
            if (out[j])
                *out[j] = r.at[j];
    }
}

#endif
