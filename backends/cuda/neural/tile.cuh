/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Rows of operands in shared memory for tensor cores, and their products: WIDTH columns of 16 bits, and 16 bytes between
 * rows, so that eight of them that are read at once lie in different banks. */
#ifndef NDOCK_CUDA_TILE_CUH
#define NDOCK_CUDA_TILE_CUH
#include "neural/attention.h"
#include "neural/mma.cuh"

enum { TILE_CHUNK = 8 }; /* elements of 16 bytes */

template <int WIDTH> struct tile {
    enum { PITCH = (WIDTH + TILE_CHUNK) * 2 }; /* bytes */
};

/* Where lane l begins: rows l%8 of pieces that lie below each other first (as left operands, and
 * right ones that are turned), or beside each other first (as right operands). */
template <int WIDTH> MMA_FN mma_address tile_down(mma_address at, int lane)
{
    return at + (mma_address)((lane % 16) * tile<WIDTH>::PITCH + lane / 16 * 16);
}
template <int WIDTH> MMA_FN mma_address tile_along(mma_address at, int lane)
{
    return at + (mma_address)((lane / 16 * 8 + lane % 8) * tile<WIDTH>::PITCH + lane / 8 % 2 * 16);
}

/* Rows of a matrix in global memory. */
template <class T> struct tile_source {
    const T *at;
    int64_t row, column; /* strides */
    int columns;         /* those beyond are zeros */
    int32_t whole;       /* chunks can be copied as they are */

    __device__ __forceinline__ void put(mma_address to, int64_t i, int c, bool inside) const
    {
        if (whole) {
            mma_fetch(to, inside && c < columns ? at + i * row + c : at, inside && c < columns);
            return;
        }
        uint32_t x[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            uint32_t pair = 0;
#pragma unroll
            for (int h = 0; h < 2; h++)
                if (inside && c + 2 * k + h < columns)
                    pair |= (uint32_t) * (const uint16_t *)(at + i * row + (c + 2 * k + h) * column)
                            << (16 * h);
            x[k] = pair;
        }
        mma_store(to, x);
    }
};

/* ROWS rows from `first` on, zeros from `end` on; all threads of the block take part. */
template <int ROWS, int WIDTH, class T>
MMA_FN void tile_fetch(mma_address to, const tile_source<T> &from, int64_t first, int64_t end)
{
    enum { CHUNKS = WIDTH / TILE_CHUNK, BESIDE = FLASH_THREADS / CHUNKS };
    if (FLASH_THREADS % CHUNKS == 0 && from.whole && from.columns == WIDTH && first + ROWS <= end) {
        const int row = (int)threadIdx.x / CHUNKS, c = (int)threadIdx.x % CHUNKS;
        const T *at = from.at + (first + row) * from.row + c * TILE_CHUNK;
        const int64_t step = BESIDE * from.row;
        to += (mma_address)(row * tile<WIDTH>::PITCH + c * 16);
#pragma unroll
        for (int k = 0; k < ROWS / BESIDE; k++)
            mma_fetch(to + (mma_address)(k * BESIDE * tile<WIDTH>::PITCH), at + k * step, true);
        return;
    }
#pragma unroll
    for (int k = 0; k < (ROWS * CHUNKS + FLASH_THREADS - 1) / FLASH_THREADS; k++) {
        const int i = k * FLASH_THREADS + (int)threadIdx.x, row = i / CHUNKS, c = i % CHUNKS;
        if (ROWS * CHUNKS % FLASH_THREADS == 0 || i < ROWS * CHUNKS)
            from.put(to + (mma_address)(row * tile<WIDTH>::PITCH + c * 16), first + row,
                     c * TILE_CHUNK, first + row < end);
    }
}

/* A warp's own rows as the left operand of products, M pieces of 16: HELD in registers, or read each
 * time from where they lie, as tile_down() says. */
template <class T, int WIDTH, int M, bool HELD> struct tile_left {
    uint32_t held[HELD ? M : 1][HELD ? WIDTH / 16 : 1][4];

    __device__ __forceinline__ void hold(mma_address mine)
    {
        if constexpr (HELD) {
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int k = 0; k < WIDTH / 16; k++)
                    mma_load(held[m][k],
                             mine + (mma_address)(m * 16 * tile<WIDTH>::PITCH + k * 32));
        }
    }
    /* Columns 16*k and on of piece m. */
    __device__ __forceinline__ void take(uint32_t (&r)[4], mma_address mine, int m, int k) const
    {
        if constexpr (HELD) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                r[i] = held[m][k][i];
        } else
            mma_load(r, mine + (mma_address)(m * 16 * tile<WIDTH>::PITCH + k * 32));
    }
    /* s += these rows times the transposes of N others, where tile_along() says. */
    template <int N>
    __device__ __forceinline__ void multiply(float (&s)[M][N / 8][4], mma_address mine,
                                             mma_address others) const
    {
#pragma unroll
        for (int k = 0; k < WIDTH / 16; k++) {
            uint32_t a[M][4];
#pragma unroll
            for (int m = 0; m < M; m++)
                take(a[m], mine, m, k);
#pragma unroll
            for (int n = 0; n < N / 16; n++) {
                uint32_t r[4];
                mma_load(r, others + (mma_address)(n * 16 * tile<WIDTH>::PITCH + k * 32));
#pragma unroll
                for (int m = 0; m < M; m++) {
                    mma_multiply<T>(s[m][2 * n], a[m], r[0], r[1]);
                    mma_multiply<T>(s[m][2 * n + 1], a[m], r[2], r[3]);
                }
            }
        }
    }
};
/* y += weights, rounded to T, times N rows that begin at `at`. */
template <class T, int WIDTH, int M, int N>
MMA_FN void tile_add(float (&y)[M][WIDTH / 8][4], const float (&weight)[M][N / 8][4],
                     mma_address at)
{
#pragma unroll
    for (int k = 0; k < N / 16; k++) {
        uint32_t a[M][4];
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                a[m][i] = mma_pack<T>(weight[m][2 * k + i / 2][i % 2 * 2],
                                      weight[m][2 * k + i / 2][i % 2 * 2 + 1]);
#pragma unroll
        for (int e = 0; e < WIDTH / 16; e++) {
            uint32_t r[4];
            mma_load_turned(r, at + (mma_address)(k * 16 * tile<WIDTH>::PITCH + e * 32));
#pragma unroll
            for (int m = 0; m < M; m++) {
                mma_multiply<T>(y[m][2 * e], a[m], r[0], r[1]);
                mma_multiply<T>(y[m][2 * e + 1], a[m], r[2], r[3]);
            }
        }
    }
}

#endif
