/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The host's table, which the entry sets, and what the tables of the headers say of ops, once for
 * all files. */
#include <stdio.h>
#include "host/opencl.h"

const ndp_host *ocl_host;

int32_t ocl_op_class(int32_t op)
{
    return ndp_op_class(op);
}

const char *ocl_op_name(int32_t op)
{
    return ndp_op_name(op);
}

int ocl_computes(const ndp_dev *dev, int32_t dtype)
{
    return (ndp_dtype_kind(dtype) & NDP_DOMAIN_BIUFC) &&
           (dev->facts.f64 || (dtype != NDP_F64 && dtype != NDP_C128));
}

uint64_t ocl_domain(const ndp_dev *dev, int32_t op)
{
    uint64_t mask = ndp_op_dtypes(op);
    for (int32_t d = 1; d < NDP_DTYPE_END; d++)
        if (!ocl_computes(dev, d))
            mask &= ~((uint64_t)1 << d);
    return mask;
}

int32_t ocl_unsupported(const ndp_call *like, char *why, size_t n)
{
    const char *to = like->n_out ? ndp_dtype_name(like->out[0].dtype) : "nothing";
    if (like->op >= NDP_OP_RUNTIME)
        snprintf(why, n, "op %d was registered by the program, without OpenCL C", (int)like->op);
    else
        snprintf(why, n, "the OpenCL plug-in has no kernel for %s from %s to %s",
                 ocl_op_name(like->op), ndp_dtype_name(ndp_call_dtype(like)), to);
    return NDP_ERR_UNSUPPORTED;
}
