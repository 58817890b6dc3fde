/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The host's side of all walks: dimensions of several operands, ordered, merged and cut into
 * pieces, and the parameters that kernels walk by. */
#ifndef NDOCK_CUDA_PLAN_H
#define NDOCK_CUDA_PLAN_H
#include <ndock/plugin.h>
#include "walk/lines.h"
#include "walk/walk.h"

enum {
    WALK_OPERANDS = 5,                /* the destination first */
    WALK_MAX_NDIM = NDP_MAX_NDIM + 1, /* copies have one of the bytes of an element, too */
    WALK_MOST = 1 << 30               /* elements of a piece */
};

/* Dimensions innermost first. Operand i has at[i], the address of its element at index zero, and
 * strides that count units of unit[i] bytes. */
typedef struct {
    int32_t ndim, operands;
    uint64_t at[WALK_OPERANDS];
    int64_t unit[WALK_OPERANDS];
    int64_t extent[WALK_MAX_NDIM], stride[WALK_OPERANDS][WALK_MAX_NDIM];
} walk_plan;
typedef int32_t walk_launch(void *ctx, const walk_plan *piece);

/* ---- making a plan ---- */
void walk_plan_begin(walk_plan *plan);
void walk_plan_operand(walk_plan *plan, uint64_t at, int64_t unit);
/* Adds a dimension outside those before, with a stride of each operand; none of extent 1. Extent 0
 * is for the caller to see before. */
void walk_plan_add(walk_plan *plan, int64_t extent, const int64_t *stride);
/* Makes the destination's strides positive. */
void walk_plan_turn(walk_plan *plan);
/* Brings dimensions in the order of the destination's strides and, where those are equal, of the
 * first source's. */
void walk_plan_sort(walk_plan *plan);
/* Makes one of dimensions that step alike. */
void walk_plan_merge(walk_plan *plan);
void walk_plan_swap(walk_plan *plan, int32_t d, int32_t e);
int64_t walk_plan_size(const walk_plan *plan);

/* ---- carrying it out ---- */
/* Calls launch() for pieces of at most WALK_MOST elements in at most `most` dimensions, in C order.
 * The plan is as it was in the end. */
int32_t walk_plan_pieces(walk_plan *plan, int32_t most, walk_launch *launch, void *ctx);
/* The walk by element of a piece, and its operands' strides: operands * CUDA_WALK_FEW of them. */
void walk_few_of(const walk_plan *piece, cuda_walk_few *walk, int64_t (*stride)[CUDA_WALK_FEW]);
line_dim line_dim_of(int64_t extent, int64_t in, int64_t out);
/* Dimensions first to last - 1 of two views of one shape as dimensions of lines, innermost first;
 * returns the product of their extents. out NULL: it has none of them. */
uint64_t line_dims_of(line_dim *dim, const ndp_view *in, const ndp_view *out, int first, int last);
/* The lines of a piece, with so many items a thread; returns the number of blocks. */
uint32_t line_rows_of(const walk_plan *piece, uint32_t items, line_rows *rows);
/* The planes of a piece whose x is dimension 0 and whose y is dimension y, in tiles of side * side;
 * returns the number of blocks. */
uint32_t line_planes_of(const walk_plan *piece, int32_t y, uint32_t side, line_planes *planes);

/* ---- walks of any rank and size, by element ---- */
void cuda_walk_begin(cuda_walk *walk);
/* Adds a dimension outside those before; returns its number, where its strides belong. */
int cuda_walk_add(cuda_walk *walk, int64_t extent);
void cuda_walk_end(cuda_walk *walk);

#endif
