/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * From the number of a line or tile to where it begins; lines.h describes the parameters. */
#ifndef NDOCK_CUDA_LINES_CUH
#define NDOCK_CUDA_LINES_CUH
#include "walk/divisor.cuh"
#include "walk/lines.h"

#define LINE_FN static __device__ __forceinline__
#define LINE_MEMBER __device__ __forceinline__

/* Out of line: it is large and seldom wanted. */
static __device__ __noinline__ uint64_t line_quotient_wide(uint64_t n, uint64_t d)
{
    return n / d;
}
LINE_FN uint64_t line_quotient(uint64_t n, const line_dim &d)
{
    if (n >> 31 == 0 && d.shift != LINE_WIDE)
        return (__umulhi((uint32_t)n, d.magic) + (uint32_t)n) >> d.shift;
    return line_quotient_wide(n, (uint64_t)d.extent);
}

/* The index of line n in a dimension; n becomes what is left for those outside, if it is an inner
 * one. */
LINE_FN uint64_t line_index(const line_dim &dim, bool inner, uint64_t &n)
{
    uint64_t above = inner ? line_quotient(n, dim) : 0;
    uint64_t x = n - above * (uint64_t)dim.extent;
    n = above;
    return x;
}

/* Where line n begins, by dimensions innermost first. */
LINE_FN void line_offsets(const line_dim *dim, int ndim, uint64_t n, int64_t *in, int64_t *out)
{
    int64_t from = 0, to = 0;
#pragma unroll 1
    for (int d = 0; d < ndim; d++) {
        int64_t x = (int64_t)line_index(dim[d], d + 1 < ndim, n);
        from += x * dim[d].in;
        to += x * dim[d].out;
    }
    *in = from;
    *out = to;
}

/* Where line n of a piece begins. The outermost division is left out by a branch: unrolled,
 * products for all dimensions would take registers (on sm_90 40 for 32 where elements of 4 bytes
 * are transposed). */
LINE_FN void line_offsets(const line_few &few, uint32_t n, int64_t *in, int64_t *out)
{
    int64_t from = 0, to = 0;
#pragma unroll
    for (int d = 0; d < CUDA_WALK_FEW; d++) {
        if (d >= few.walk.ndim)
            break;
        uint32_t above = n, x = n;
        if (d < few.walk.ndim - 1) {
            above = cuda_quotient(n, few.walk.extent[d]);
            x = n - above * few.walk.extent[d].value;
        }
        n = above;
        to += x * few.out[d];
        from += x * few.in[d];
    }
    *in = from;
    *out = to;
}

LINE_FN int64_t line_offset(const line_dim *dim, int ndim, uint64_t n)
{
    int64_t in, out;
    if (ndim == 1)
        return (int64_t)n * dim[0].in;
    line_offsets(dim, ndim, n, &in, &out);
    return in;
}

/* Which tile of which plane a block has; fast, slow: how many tiles there are each way. */
struct line_tile {
    uint32_t fast, slow, plane;
};
LINE_FN line_tile line_tile_of(uint32_t block, cuda_divisor fast, cuda_divisor slow)
{
    uint32_t above = cuda_quotient(block, fast), plane = cuda_quotient(above, slow);
    return {block - above * fast.value, above - plane * slow.value, plane};
}

/* Where a thread stands: its first column and row, and how far apart its items are. */
struct line_place {
    uint32_t column, row, column_step, row_step;
};
LINE_FN line_place line_stand(const line_rows &p, int items)
{
    uint32_t slow = cuda_quotient(blockIdx.x, p.fast_blocks);
    uint32_t fast = blockIdx.x - slow * p.fast_blocks.value;
    uint32_t across = 1u << p.lanes, down = LINE_THREADS >> p.lanes;
    uint32_t column_block = p.rows_first ? slow : fast, row_block = p.rows_first ? fast : slow;
    uint32_t wide = p.items_along_rows ? across : across * items;
    uint32_t high = p.items_along_rows ? down * items : down;
    line_place s;
    s.column = column_block * wide + (threadIdx.x & (across - 1));
    s.row = row_block * high + (threadIdx.x >> p.lanes);
    s.column_step = p.items_along_rows ? 0 : across;
    s.row_step = p.items_along_rows ? down : 0;
    return s;
}

/* The column of a thread that counts from where a line of memory begins before the row: those in front
 * of the row take columns behind the others. */
LINE_FN uint32_t line_column(const line_rows &p, uint32_t column, uint32_t before)
{
    return column < before ? column - before + p.slots : column - before;
}

/* OP::load(p, src address, column) gives an OP::value, OP::store(p, dst address, value) writes it;
 * all loads of a thread come before its stores. */
template <class OP, int ITEMS> LINE_FN void line_items(const line_rows &p)
{
    typename OP::value v[ITEMS];
    uint64_t to[ITEMS];
    line_place s = line_stand(p, ITEMS);
    int64_t src, dst;
    line_offsets(p.outer, s.row, &src, &dst);
    const uint32_t before = ((uint32_t)(p.dst + (uint64_t)dst) & p.line) / sizeof v[0];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        uint32_t column = line_column(p, s.column + k * s.column_step, before);
        uint32_t row = s.row + k * s.row_step;
        if (k > 0 && p.items_along_rows)
            line_offsets(p.outer, row, &src, &dst);
        to[k] = 0;
        if (column < p.columns && row < p.rows) {
            to[k] = p.dst + (uint64_t)(dst + column * p.dst_step);
            v[k] = OP::load(p, p.src + (uint64_t)(src + column * p.src_step), column);
        }
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        if (to[k])
            OP::store(p, to[k], v[k]);
}

#endif
