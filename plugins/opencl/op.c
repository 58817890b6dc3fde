/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The op group: each op class is served by one file. */
#include <stdio.h>
#include "host/opencl.h"

static const ocl_class *const classes[NDP_CLASS_END] = {
#define OCL_CLASS(CLASS, table) [NDP_CLASS_##CLASS] = &table,
#include "classes.def"
};

static uint64_t op_dtypes(ndp_dev *dev, int32_t op)
{
    const ocl_class *c = classes[ndp_op_class(op)];
    return c ? c->dtypes(dev, op) : 0;
}

static int32_t no_f64(const ndp_dev *dev, const ndp_call *like, char *why, size_t n)
{
    for (uint32_t i = 0; i < like->n_in + like->n_out; i++) {
        int32_t d = i < like->n_in ? like->in[i].dtype : like->out[i - like->n_in].dtype;
        if (!ocl_computes(dev, d)) {
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
