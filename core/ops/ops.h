/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What operations use of each other. */
#ifndef NDOCK_CORE_OPS_H
#define NDOCK_CORE_OPS_H
#include "core/run/run.h"

/* ---- transfer.c ---- */
/* src into dst: same dtype and shape, other devices. non_blocking: from or to pinned memory the
 * host does not wait. */
nd_status nd__transfer(const char *op, const nd_array *src, const nd_array *dst, bool non_blocking);

/* ---- join.c ---- */
/* A view of dst along axis, from `at`, with extent `extent`. */
nd_status nd__part(const nd_array *dst, int axis, int64_t at, int64_t extent, nd_array **view);
/* src, of dst's shape but for the axis, into the part of dst that begins at `at`. */
nd_status nd__copy_part(const nd_array *src, const nd_array *dst, int axis, int64_t at);

/* ---- copy.c ---- */
/* src's shape broadcasts to dst's, and no imaginary part would be lost. */
nd_status nd__check_assignable(const char *op, const nd_array *src, const nd_array *dst);
/* src (any dtype) broadcast into dst (any dtype, same device), no checks of writability. */
nd_status nd__copy_into(const nd_array *src, const nd_array *dst);
nd_status nd__cast(const nd_array *a, nd_dtype dtype,
                   nd_array **out); /* retained a if it has the dtype already */
/* ---- host.c ---- */
/* nd_item on behalf of an operation. */
nd_status nd__item(const char *op, const nd_array *a, int32_t reason, nd_scalar *out);
/* nd_wrap and nd_from_host on behalf of an operation, which their errors name; device is not
 * NULL. */
nd_status nd__wrap(const char *op, const nd_layout *layout, void *ptr, nd_device *device,
                   void (*release)(void *), void *ctx, nd_array **out);
/* The same of a layout that was checked, has strides, and reaches the elements low to high. */
nd_status nd__wrap_checked(const char *op, const nd_layout *layout, int64_t low, int64_t high,
                           void *ptr, nd_device *device, void (*release)(void *), void *ctx,
                           nd_array **out);
nd_status nd__from_host(const char *op, const nd_layout *layout, const void *data,
                        nd_device *device, nd_array **out);

/* ---- operations that a device may have; where it has not, their callers sort or search ---- */
/* Whether a's device has op, of the SORT class, of a's dtype. */
bool nd__selects(const nd_array *a, nd_op op);
/* Elements first to first + k-1 of a sorted along its last axis. */
nd_status nd__order_statistics(const nd_array *a, int64_t first, int64_t k, nd_array **out);
/* op: partition or argpartition; kth and axis are not negative. */
nd_status nd__partition(nd_op op, const nd_array *a, int64_t kth, int axis, nd_array **out);
/* Whether the device counts values by their insertion positions into a sorted array of this dtype.
 */
bool nd__counts_insertions(const nd_device *device, nd_dtype sorted);
/* How many of values have each insertion position into sorted, after its equals, or with right 0
 * before them: i64, one more than sorted has elements. values has sorted's dtype, or any real one where that is f64. */
nd_status nd__insertion_counts(const nd_array *sorted, const nd_array *values, int right,
                               nd_array **out);
/* The fast path for the sum of the products of two dense arrays of one size, as a matrix product of
 * vectors has it: nothing to fit, cast or wait for. False: take the slow path. */
bool nd__inner_product(const nd_array *a, const nd_array *b, nd_array **out, nd_status *status);

void nd__fork_ops(nd_fork now);
void nd__fork_custom(nd_fork now);

#endif
