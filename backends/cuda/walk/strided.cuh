/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The walk over two strided operands; strided.h describes it. */
#ifndef NDOCK_CUDA_STRIDED_CUH
#define NDOCK_CUDA_STRIDED_CUH
#include "walk/divisor.cuh"
#include "walk/strided.h"

struct strided_offsets {
    int64_t dst, src;
};

/* Of row `row` in the dimensions that extent[] names. */
static __device__ __forceinline__ strided_offsets strided_row(uint32_t row, int outer,
                                                              const cuda_divisor *extent,
                                                              const int64_t *dst_stride,
                                                              const int64_t *src_stride)
{
    strided_offsets at = {0, 0};
#pragma unroll
    for (int d = 0; d < STRIDED_OUTER; d++) {
        if (d >= outer)
            break;
        uint32_t above = row, x = row;
        if (d < outer - 1) {
            above = cuda_quotient(row, extent[d]);
            x = row - above * extent[d].value;
        }
        row = above;
        at.dst += x * dst_stride[d];
        at.src += x * src_stride[d];
    }
    return at;
}

/* Where a thread stands: its first column and row, and how far apart its items are. */
struct strided_place {
    uint32_t column, row, column_step, row_step;
};
static __device__ __forceinline__ strided_place strided_stand(const strided_walk &p, int items)
{
    uint32_t slow = cuda_quotient(blockIdx.x, p.fast_blocks);
    uint32_t fast = blockIdx.x - slow * p.fast_blocks.value;
    uint32_t across = 1u << p.lanes, down = STRIDED_THREADS >> p.lanes;
    uint32_t column_block = p.rows_first ? slow : fast, row_block = p.rows_first ? fast : slow;
    uint32_t wide = p.items_along_rows ? across : across * items;
    uint32_t high = p.items_along_rows ? down * items : down;
    strided_place s;
    s.column = column_block * wide + (threadIdx.x & (across - 1));
    s.row = row_block * high + (threadIdx.x >> p.lanes);
    s.column_step = p.items_along_rows ? 0 : across;
    s.row_step = p.items_along_rows ? down : 0;
    return s;
}

/* OP::load(p, src address, column) gives an OP::value, OP::store(p, dst address, value) writes it;
 * all loads of a thread come before its stores. */
template <class OP, int ITEMS>
static __device__ __forceinline__ void strided_items(const strided_walk &p)
{
    typename OP::value v[ITEMS];
    uint64_t to[ITEMS];
    strided_place s = strided_stand(p, ITEMS);
    strided_offsets at = strided_row(s.row, p.outer, p.extent, p.dst_stride, p.src_stride);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        uint32_t column = s.column + k * s.column_step, row = s.row + k * s.row_step;
        if (k > 0 && p.items_along_rows)
            at = strided_row(row, p.outer, p.extent, p.dst_stride, p.src_stride);
        to[k] = 0;
        if (column < p.columns && row < p.rows) {
            to[k] = p.dst + (uint64_t)(at.dst + column * p.dst_step);
            v[k] = OP::load(p, p.src + (uint64_t)(at.src + column * p.src_step), column);
        }
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        if (to[k])
            OP::store(p, to[k], v[k]);
}

#endif
