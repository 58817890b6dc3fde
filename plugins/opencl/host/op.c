/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The op group: what the tables say of ops and dtypes, and which file serves which class. */
#include <stdio.h>
#include "host/opencl.h"

static const ocl_class *const classes[NDP_CLASS_END] = {
    [NDP_CLASS_UNARY] = &ocl_elementwise,   [NDP_CLASS_BINARY] = &ocl_elementwise,
    [NDP_CLASS_TERNARY] = &ocl_elementwise, [NDP_CLASS_FILL] = &ocl_elementwise,
    [NDP_CLASS_COPY] = &ocl_elementwise,    [NDP_CLASS_IOTA] = &ocl_iota,
    [NDP_CLASS_REDUCE] = &ocl_reduce,       [NDP_CLASS_ARGREDUCE] = &ocl_reduce,
    [NDP_CLASS_NORM] = &ocl_norm,           [NDP_CLASS_MATMUL] = &ocl_matmul,
    [NDP_CLASS_TAKE] = &ocl_index,          [NDP_CLASS_GATHER] = &ocl_index,
    [NDP_CLASS_SCATTER] = &ocl_scatter,     [NDP_CLASS_SEARCH] = &ocl_search,
    [NDP_CLASS_RANDOM] = &ocl_random,       [NDP_CLASS_SORT] = &ocl_sort,
    [NDP_CLASS_SCAN] = &ocl_scan,
};

int32_t ocl_op_class(int32_t op)
{
    return ndp_op_class(op);
}

const char *ocl_op_name(int32_t op)
{
    return ndp_op_name(op);
}

static int computes(const ndp_dev *dev, int32_t dtype)
{
    return dev->facts.f64 || (dtype != NDP_F64 && dtype != NDP_C128);
}

uint64_t ocl_domain(const ndp_dev *dev, int32_t op)
{
    uint64_t mask = ndp_op_dtypes(op);
    for (int32_t d = 1; d < NDP_DTYPE_END; d++)
        if (!computes(dev, d))
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

static uint64_t op_dtypes(ndp_dev *dev, int32_t op)
{
    const ocl_class *c = classes[ndp_op_class(op)];
    return c ? c->dtypes(dev, op) : 0;
}

static int32_t no_f64(const ndp_dev *dev, const ndp_call *like, char *why, size_t n)
{
    for (uint32_t i = 0; i < like->n_in + like->n_out; i++) {
        int32_t d = i < like->n_in ? like->in[i].dtype : like->out[i - like->n_in].dtype;
        if (!computes(dev, d)) {
            snprintf(why, n, "opencl:%u has no cl_khr_fp64, so it does not compute in %s",
                     dev->index, ndp_dtype_name(d));
            return 1;
        }
    }
    return 0;
}

static int32_t op_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                       size_t n)
{
    const ocl_class *c = classes[ndp_op_class(like->op)];
    *out = NULL;
    if (!c)
        return ocl_unsupported(like, why, n);
    return no_f64(dev, like, why, n) ? NDP_ERR_UNSUPPORTED : c->find(dev, like, out, why, n);
}

const ndp_op_1 ocl_op_group = {.size = sizeof(ndp_op_1), .dtypes = op_dtypes, .find = op_find};
