/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a block keeps in shared memory of convolutions by tensor cores (diagonal.cuh): the elements that a tile of
 * windows meets, in whatever order they lie in memory, and weights. */
#ifndef NDOCK_CUDA_CONV_DIAGONAL_KEPT_CUH
#define NDOCK_CUDA_CONV_DIAGONAL_KEPT_CUH
#include "conv/grouped.cuh"
#include "neural/mma.cuh"

enum {
    DIAGONAL_BYTES = 2 * CONV_PIECE, /* of a pixel */
    DIAGONAL_WORDS = 4 * 32          /* of the weights of a tap, as a warp's lanes hold them */
};

/* The elements of a piece that a block keeps: where pixel (row, column) lies, and a half of its channels. The
 * halves of every other four pixels change places, so that eight pixels side by side are in different banks. */
WINDOW_FN uint32_t diagonal_at(int32_t pixel, int32_t half)
{
    return (uint32_t)(pixel * DIAGONAL_BYTES + ((half * 16) ^ ((pixel & 4) << 2)));
}
WINDOW_FN uint32_t diagonal_piece(const cuda_convolving &p, int32_t piece)
{
    return (uint32_t)(piece * p.kept[0] * p.kept[1] * DIAGONAL_BYTES);
}

/* A block's tile: its image, the first element of it that is kept, and the first channel. */
typedef struct {
    grouped_tile at;
    int32_t y, x, channel;
    int64_t from; /* elements to the image and the channel */
} diagonal_place;

WINDOW_FN diagonal_place diagonal_place_of(const cuda_convolving &p)
{
    const grouped_tile at = grouped_at(p, blockIdx.x);
    const int32_t channel = (int32_t)blockIdx.y * p.pieces * CONV_PIECE;
    return {at, at.h * p.stride[1] - p.before[1], at.w * p.stride[2] - p.before[2], channel,
            at.n * p.image_stride[0] + channel * p.image_stride[1]};
}

/* Whether there is an element at this place along axis 1 or 2 of what is kept, and its index; between elements that
 * are steps apart there is none. */
WINDOW_FN bool diagonal_index(const cuda_convolving &p, int axis, int32_t place, int32_t *index)
{
    if (!p.apart) {
        *index = place;
        return (uint32_t)place < (uint32_t)p.image_extent[axis];
    }
    const int32_t whole = place < 0 ? 0 : (int32_t)cuda_quotient((uint32_t)place, p.step[axis]);
    *index = whole;
    return whole * (int32_t)p.step[axis].value == place && whole < p.image_extent[axis];
}

/* From memory that has eight channels as a vector: a warp takes a row, whose elements arrive by mma_wait(). */
template <class T>
WINDOW_FN void diagonal_keep_beside(const cuda_convolving &p, const diagonal_place &o,
                                    const unsigned char *kept)
{
    const T *from = (const T *)p.image + o.from;
    const mma_address to = mma_address_of(kept);
    const int32_t halves = 2 * p.pieces, bits = p.pieces, all = p.columns * halves;
    for (int32_t row = (int32_t)threadIdx.x / 32; row < p.kept[0];
         row += (int32_t)blockDim.x / 32) {
        int32_t y, x;
        const bool in_row = diagonal_index(p, 1, o.y + row, &y);
        for (int32_t i = (int32_t)threadIdx.x % 32; i < all; i += 32) {
            const int32_t column = i >> bits, half = i & (halves - 1);
            const bool has = in_row & diagonal_index(p, 2, o.x + column, &x);
            mma_fetch(
                to + diagonal_piece(p, half / 2) + diagonal_at(row * p.kept[1] + column, half % 2),
                has ? from + half * 8 + y * p.image_stride[3] + x * p.image_stride[4] : from, has);
        }
    }
    mma_commit();
}

/* Two channels of a pixel. */
WINDOW_FN void diagonal_put(const cuda_convolving &p, unsigned char *kept, int32_t pair,
                            int32_t pixel, uint32_t both)
{
    *(uint32_t *)(kept + diagonal_piece(p, pair / 8) + diagonal_at(pixel, pair % 8 / 4) +
                  pair % 4 * 4) = both;
}

/* From memory that has eight pixels of a row as a vector: a warp takes such of four rows and eight pairs of
 * channels. Rows are an odd number of pixels apart, for other banks. */
template <class T>
WINDOW_FN void diagonal_keep_planes(const cuda_convolving &p, const diagonal_place &o,
                                    unsigned char *kept)
{
    const int32_t lane = (int32_t)threadIdx.x % 32, fours = (p.kept[0] + 3) / 4;
    const int32_t first = o.x >> 3, vectors = ((o.x + p.columns - 1) >> 3) - first + 1;
    for (int32_t i = (int32_t)threadIdx.x / 32; i < fours * vectors * p.pieces;
         i += (int32_t)blockDim.x / 32) {
        const int32_t rest = i / vectors, vector = first + i - rest * vectors;
        const int32_t piece = rest / fours, row = (rest - piece * fours) * 4 + lane / 8;
        const int32_t pair = piece * 8 + lane % 8, y = o.y + row;
        neural_vector<uint32_t, 4> a = {}, b = {};
        if (row >= p.kept[0])
            continue;
        if ((uint32_t)y < (uint32_t)p.image_extent[1] &&
            (uint32_t)(vector * 8) < (uint32_t)p.image_extent[2]) {
            const T *from = (const T *)p.image + o.from + 2 * pair * p.image_stride[1] +
                            y * p.image_stride[3] + vector * 8;
            a = *(const neural_vector<uint32_t, 4> *)from;
            b = *(const neural_vector<uint32_t, 4> *)(from + p.image_stride[1]);
        }
#pragma unroll
        for (int k = 0; k < 8; k++) {
            const int32_t column = vector * 8 + k - o.x;
            const uint32_t x = a.at[k / 2], z = b.at[k / 2];
            if ((uint32_t)column < (uint32_t)p.columns)
                diagonal_put(p, kept, pair, row * p.kept[1] + column,
                             k % 2 ? x >> 16 | (z & 0xffff0000u) : (x & 0xffffu) | z << 16);
        }
    }
}

/* From memory in any order: a warp takes two channels of a row. */
template <class T>
WINDOW_FN void diagonal_keep_any(const cuda_convolving &p, const diagonal_place &o,
                                 unsigned char *kept)
{
    for (int32_t i = (int32_t)threadIdx.x / 32; i < p.kept[0] * p.pieces * 8;
         i += (int32_t)blockDim.x / 32) {
        const int32_t row = i / (p.pieces * 8), pair = i - row * p.pieces * 8;
        int32_t y, x;
        const bool in_row = diagonal_index(p, 1, o.y + row, &y);
        const uint16_t *from = (const uint16_t *)p.image + o.from + 2 * pair * p.image_stride[1] +
                               y * p.image_stride[3];
        for (int32_t column = (int32_t)threadIdx.x % 32; column < p.columns; column += 32) {
            uint32_t both = 0;
            if (in_row & diagonal_index(p, 2, o.x + column, &x))
                both = from[x * p.image_stride[4]] |
                       (uint32_t)from[x * p.image_stride[4] + p.image_stride[1]] << 16;
            diagonal_put(p, kept, pair, row * p.kept[1] + column, both);
        }
    }
}

/* Where the weight lies that takes channel k of a piece to channel m of its result, by the first tap; INT64_MIN:
 * they are of different groups. */
WINDOW_FN int64_t diagonal_weight_at(const cuda_convolving &p, int32_t channel, int32_t m,
                                     int32_t k)
{
    const int32_t group = (int32_t)cuda_quotient((uint32_t)m, p.by_ci) * p.ci;
    const int32_t o = channel + (p.flip ? k : m), c = (p.flip ? m : k) - group;
    return k < group || k >= group + p.ci ? INT64_MIN
                                          : o * p.weight_stride[0] + c * p.weight_stride[1];
}

/* Weights as [piece][tap][lane][4]: what a lane has of the left operand of a product (PTX ISA). A thread has the
 * same two channels of every other tap; flip: of the gradient for the image, whose taps are counted from the last. */
WINDOW_FN void diagonal_weights(const cuda_convolving &p, const diagonal_place &o, uint32_t *kept)
{
    const int32_t taps = p.kernel[1] * p.kernel[2], word = (int32_t)threadIdx.x % DIAGONAL_WORDS;
    const int32_t lane = word / 4, m = lane / 4 + word % 2 * 8, k = lane % 4 * 2 + word % 4 / 2 * 8;
    const uint16_t *weight = (const uint16_t *)p.weight;
    const int64_t first = diagonal_weight_at(p, o.channel, m, k),
                  second = diagonal_weight_at(p, o.channel, m, k + 1);
    const int64_t apart = CONV_PIECE * p.weight_stride[0];
#pragma unroll 4
    for (int32_t i = (int32_t)threadIdx.x / DIAGONAL_WORDS; i < p.pieces * taps;
         i += CONV_THREADS / DIAGONAL_WORDS) {
        const int32_t piece = i >= taps, tap = i - piece * taps;
        const int32_t from = p.flip ? taps - 1 - tap : tap;
        const int32_t row = (int32_t)cuda_quotient((uint32_t)from, p.by_kernel[2]);
        const int64_t at = piece * apart + row * p.weight_stride[3] +
                           (from - row * p.kernel[2]) * p.weight_stride[4];
        const uint32_t low = first == INT64_MIN ? 0 : weight[first + at];
        const uint32_t high = second == INT64_MIN ? 0 : weight[second + at];
        kept[i * DIAGONAL_WORDS + word] = low | high << 16;
    }
}

#endif
