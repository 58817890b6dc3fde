/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of random numbers share. */
#ifndef NDOCK_CORE_RANDOM_H
#define NDOCK_CORE_RANDOM_H
#include "core/ops/steps.h"

/* ---- random.c ---- */
/* The op's numbers into dst, of its dtypes. params: what a, b, low and high are. args: n parameters,
 * scalars or arrays of f64 that broadcast to dst and do not overlap it. */
nd_status nd__random_run(nd_op op, const nd_random_key *key, ndp_random *params, const nd_arg *args,
                         int n, const nd_array *dst);
/* Moves past so many blocks. */
void nd__random_skip_blocks(nd_random_key *key, uint64_t blocks);
/* Blocks that so many values of a dtype take. */
uint64_t nd__random_blocks(int64_t size, nd_dtype dtype);

/* ---- distribution.c ---- */
/* One call: parameters that have been checked, an array among them in the dtype that how.run wants. */
typedef struct {
    const nd_distribution_info *info;
    const char *op;     /* what errors name */
    int32_t first, out; /* places of the first parameter and of the result among the arguments */
    nd_random_key key;
    nd_arg param[ND_OPERANDS];
    nd_array *owned[ND_OPERANDS];
} nd_draw;

/* ---- compose.c: distributions that are formulas of uniform or normal numbers, by id; NULL: none
 * such. x: dst, or an array of its shape, of f32 or f64, which is filled. ---- */
typedef void nd_compose_fn(nd_steps *s, const nd_draw *d, const nd_array *x);
extern nd_compose_fn *const nd__compositions[ND_DRAW_END];

/* ---- samplers.c: those that rows of op.def make, by id; NULL: none such. dst has any dtype of the
 * distribution's kind. ---- */
typedef void nd_sampler_fn(nd_steps *s, const nd_draw *d, const nd_array *dst);
extern nd_sampler_fn *const nd__samplers[ND_DRAW_END];

#endif
