/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside the dispatch: kernels.c (which kernel), pack.c (operands that it cannot take), execute.c
 * (running it), dispatch.c (calls of arrays). */
#ifndef NDOCK_CORE_DISPATCH_H
#define NDOCK_CORE_DISPATCH_H
#include "core/run/run.h"

/* What a device said about calls of one form. */
struct nd_kernel_node {
    uint64_t key;
    nd_op op;
    const ndp_kernel *kernel; /* NULL: the device has none */
    char *why;
    nd_kernel_node *next;
};

/* The device's kernel for calls like this one; a node without a kernel says why there is none. */
nd_status nd__find_kernel(nd_device *dev, const ndp_call *call, nd_kernel_node **out);
/* Whether the kernel cannot take the operand as it is. */
bool nd__needs_packing(const ndp_kernel *k, const ndp_view *v);
nd_status nd__pack_and_run(nd_device *dev, const ndp_kernel *k, ndp_call *call);
/* Runs a kernel that can take all operands. */
nd_status nd__run_kernel(nd_device *dev, const ndp_kernel *k, ndp_call *call);

/* Writes a value of dst's dtype to all of a dense array. */
nd_status nd__run_dense_fill(const ndp_scalar *value, const nd_array *dst);

/* A call without scalars and parameters. Field by field: compilers clear a whole record with an
 * instruction that takes longer to start than all of this takes to run. */
static inline void nd__set_call(ndp_call *call, nd_op op, uint32_t n_in, const ndp_view *in,
                                uint32_t n_out, const ndp_view *out)
{
    call->size = sizeof *call;
    call->op = op;
    call->n_in = n_in;
    call->n_out = n_out;
    call->n_scalar = call->mode = 0;
    call->in = in;
    call->out = out;
    call->scalar = NULL;
    call->params = NULL;
    call->scratch = call->status = (ndp_view){.mem = NULL};
}

#endif
