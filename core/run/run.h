/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One operation on one device: from a checked call to a kernel, or to what takes the place of
 * one. */
#ifndef NDOCK_CORE_RUN_H
#define NDOCK_CORE_RUN_H
#include "core/array/array.h"

enum { ND_CALL_OPERANDS = 10 }; /* inputs and outputs of a call, at most */

/* ---- registered.c, op_form.c: elementwise operations of programs ---- */
/* Lists an operation with its function for the CPU; info is copied. Under the lock of
 * registering. */
nd_status nd__registered_add(const nd_op_info *info, nd_op_cpu_fn cpu, void *ctx);
const ndp_kernel *nd__registered_kernel(nd_op op, const nd_device *device); /* NULL: none */
/* A run-time op's own form for the device's plug-in. */
typedef struct nd_op_form nd_op_form;
const nd_op_form *nd__op_form(nd_op op, const nd_device *device); /* NULL: none */
/* args: up to three, cast already; scalars are rounded to compute. */
nd_status nd__run_op_form(const nd_op_form *form, nd_op op, nd_dtype compute, const nd_arg *args,
                          int n, const nd_array *dst);

/* ---- callback.c ---- */
/* A program's callback returned status: ND_OK, or an error with a text, also if it set none. */
nd_status nd__callback_status(const char *op, const char *what, nd_status status);
/* Around a callback of op: `before` is what nd__callback_enter returned. */
const char *nd__callback_enter(const char *op);
nd_status nd__callback_leave(const char *before, const char *what, nd_status status);

/* ---- dispatch.c ---- */
/* An ndp_view of the whole array, for work on the thread's stream; shape and strides are the
 * array's own. */
ndp_view nd__view(const nd_array *a);
static inline int64_t nd__byte_offset(const nd_array *a)
{
    return (int64_t)a->storage->base + a->offset * nd__itemsize(a->dtype);
}
ndp_view nd__scalar_view(const ndp_scalar *scalars, int index, int ndim, const int64_t *shape);
/* Runs a canonical call on the device: finds the kernel, packs what it needs packed, stages through
 * the CPU what the device lacks. call->out[0] names no device: dev does. */
nd_status nd__run(nd_device *dev, ndp_call *call);
/* What a call of compress or nonzero without capacity counted, in the kernel's scratch memory, which the caller
 * releases; scratch NULL: nothing was counted, as the kernel does not keep it (NDP_KERNEL_KEEPS_COUNTS). */
typedef struct {
    const ndp_kernel *kernel;
    nd_storage *scratch;
    uint64_t nbytes;
} nd_counted;
nd_status nd__run_to_count(nd_device *dev, ndp_call *call, nd_counted *counted);
/* As nd__run, without counting again where the kernel is the same. */
nd_status nd__run_counted(nd_device *dev, ndp_call *call, nd_counted *counted);
/* The mode bits that the settings of arithmetic give the op; an error where strict forbids it. mnk
 * as for nd_effective_precision. */
nd_status nd__math_mode(nd_device *dev, nd_op op, nd_dtype dtype, const int64_t *mnk,
                        uint32_t *mode);
/* Whether the call reads what is in its outputs. */
bool nd__updates_in_place(const ndp_call *call);
/* Copy (and convert) between two views of one shape on the device. */
nd_status nd__copy_views(nd_device *dev, const ndp_view *from, const ndp_view *to);
/* One op over whole arrays as they are (no broadcasting, no merging). Up to
 * ND_CALL_OPERANDS together. */
nd_status nd__run_arrays(nd_op op, int n_in, const nd_array *const *in, int n_out,
                         nd_array *const *out, const void *params);
/* Elementwise call of arrays that are all dense and of dst's shape: one dimension, nothing to
 * sort. */
nd_status nd__run_dense(nd_op op, const nd_array *const *in, int n, const nd_array *dst);
/* The same of an array and a scalar, which is operand `place` (0 or 1) of two. */
nd_status nd__run_dense_scalar(nd_op op, const nd_array *a, nd_scalar s, int place,
                               const nd_array *dst);
/* A reduction of all of a, dense and not empty, into one element. */
nd_status nd__run_dense_reduce(nd_op op, const nd_array *a, const nd_array *dst);
/* Elementwise call: operands broadcast to dst's shape, merged, run. dtypes are right already.
 * args[i].array NULL: scalar. */
nd_status nd__run_elementwise(nd_op op, nd_dtype compute, const nd_arg *args, int n,
                              const nd_array *dst);

/* Whether the device itself has a kernel for calls like this one. */
bool nd__has_kernel(nd_device *dev, const ndp_call *call);

/* ---- derive.c, stage.c: the fallback ladder ---- */
nd_status nd__derive(nd_device *dev, const ndp_call *call, bool *done);
void nd__count_derived(void);
void nd__count_staged(void);
nd_status nd__stage(nd_device *dev, ndp_call *call, const char *why);
/* Whether the operation may be staged: if so it is counted, and logged once per device; else
 * ND_ERR_UNSUPPORTED. name is immortal; like: NULL, or what to say of its operands. */
nd_status nd__may_stage(nd_device *dev, const char *name, const ndp_call *call, const char *why);
void nd__count_staged_bytes(uint64_t nbytes);

int32_t nd__fallback_policy(void);
void nd__fork_stage(nd_fork now);
void nd__fork_code(nd_fork now);

#endif
