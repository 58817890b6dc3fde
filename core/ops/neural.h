/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What operations of neural networks share: checks, and the steps that call kernels of their
 * classes, which take whole arrays as they are. */
#ifndef NDOCK_CORE_NEURAL_H
#define NDOCK_CORE_NEURAL_H
#include "core/ops/steps.h"

/* ---- neural.c ---- */
/* The dtype of sums: f32 for f16 and bf16. */
nd_dtype nd__wide_of(nd_dtype dtype);
/* a is a floating array on the device of `first`, which is argument 0. */
nd_status nd__check_floating(const char *op, const nd_array *first, const nd_array *a,
                             int32_t argument);
/* The arrays, those that are NULL left out, are floating and on one device, and *dtype is what they
 * promote to. They are the arguments of op in their order from `from` on. */
nd_status nd__check_floatings(const char *op, int from, int n, const nd_array *const *arrays,
                              nd_dtype *dtype);
/* A new array on like's device. */
nd_array *nd__step_new(nd_steps *s, const nd_array *like, nd_dtype dtype, int ndim,
                       const int64_t *shape);
/* Of a's shape, with the channels, axis 1, innermost in memory where a has them so. */
nd_array *nd__step_like(nd_steps *s, const nd_array *a, nd_dtype dtype);
nd_array *nd__step_broadcast(nd_steps *s, const nd_array *a, int ndim, const int64_t *shape);
nd_array *nd__step_permute(nd_steps *s, const nd_array *a, const int *order);
/* Extents of one in front of a's axes and behind them, so that its last one lies along axis `axis`
 * of ndim. */
nd_array *nd__step_along(nd_steps *s, const nd_array *a, int ndim, int axis);
/* Calls op's kernel, if its first output has elements. */
void nd__step_kernel(nd_steps *s, nd_op op, int n_in, const nd_array *const *in, int n_out,
                     nd_array *const *out, const void *params);
/* Sums over the axes of a mask, which go; in the dtype, or a's own if it is 0. */
nd_array *nd__step_sum(nd_steps *s, const nd_array *a, uint64_t axes, nd_dtype dtype);
/* Hands n results over, each where it is wanted, as nd__steps_end does one. */
nd_status nd__steps_end_all(nd_steps *s, const char *op, int n, nd_array *const *results,
                            nd_array **const *out);

/* ---- norm.c ---- */
/* Options with their defaults. */
nd_status nd__norm_options(const char *op, const nd_norm_opts *opts, nd_norm_opts *o);
/* The axes of an array: the kept ones, then the *naxes normalised ones. */
nd_status nd__norm_axes(const char *op, const nd_norm_opts *o, int ndim, int *naxes, int *order);

/* a normalised over the last naxes of its axes in `order`; scale and bias broadcast to the axes in
 * that order, or are NULL. All have one dtype. stats, if not NULL: becomes the mean and the variance
 * of each row, of the dtype of sums and of those axes, the normalised ones of extent 1. */
nd_array *nd__step_group_norm(nd_steps *s, const nd_array *a, const nd_array *scale,
                              const nd_array *bias, double eps, int naxes, const int *order,
                              nd_array *stats[2]);

/* ---- norm_grad.c ---- */
/* The gradient op for a, of g's and a's shape, whose axes in `order` end with the naxes normalised
 * ones; scale broadcasts to the axes in that order, or is NULL. All have one dtype. */
nd_array *nd__step_norm_grad(nd_steps *s, nd_op op, const nd_array *g, const nd_array *a,
                             const nd_array *scale, double eps, int naxes, const int *order);
/* The same with the gradients for the weights, by an op of *_grads: of their axes, which is a mask
 * of those in `order`; the others are summed over and have extent 1. r has n_out results: that for
 * a, for scale, and for bias. */
void nd__step_norm_grads(nd_steps *s, nd_op op, const nd_array *g, const nd_array *a,
                         const nd_array *scale, double eps, int naxes, const int *order,
                         uint64_t weight_axes, int n_out, nd_array **r);

#endif
