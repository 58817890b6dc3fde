/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What those who make calls of their own need of dispatch.c. */
#ifndef NDOCK_CORE_DISPATCH_H
#define NDOCK_CORE_DISPATCH_H
#include "core/core.h"

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
