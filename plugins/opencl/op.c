/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The op group: each op class is served by one file. */
#include <stdio.h>
#include "host/opencl.h"

static const ocl_class *const classes[NDP_CLASS_END] = {
#define OCL_CLASS(CLASS, table) [NDP_CLASS_##CLASS] = &table,
#include "classes.def"
};

/* Operations of the classes that have no formula are known to their files up to this row of op.def. A
 * later one is computed by the CPU until the file of its class has it, and the mark is moved. */
enum { LAST_KNOWN = NDP_OP_random_integers };

static const ocl_class *class_of(int32_t op)
{
    int32_t op_class = ndp_op_class(op);
    return op_class <= NDP_CLASS_TERNARY || op <= LAST_KNOWN ? classes[op_class] : NULL;
}

static uint64_t op_dtypes(ndp_dev *dev, int32_t op)
{
    const ocl_class *c = class_of(op);
    return c ? c->dtypes(dev, op) : 0;
}

static int32_t not_computed(const ndp_dev *dev, const ndp_call *like, char *why, size_t n)
{
    for (uint32_t i = 0; i < like->n_in + like->n_out; i++) {
        int32_t d = i < like->n_in ? like->in[i].dtype : like->out[i - like->n_in].dtype;
        if (!ocl_computes(dev, d)) {
            snprintf(why, n, "opencl:%u %s, so it does not compute in %s", dev->index,
                     dev->facts.f64 ? "has no kernels for it" : "has no cl_khr_fp64",
                     ndp_dtype_name(d));
            return 1;
        }
    }
    return 0;
}

static int32_t op_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                       size_t n)
{
    const ocl_class *c = class_of(like->op);
    *out = NULL;
    if (!c)
        return ocl_unsupported(like, why, n);
    return not_computed(dev, like, why, n) ? NDP_ERR_UNSUPPORTED : c->find(dev, like, out, why, n);
}

const ndp_op_1 ocl_op_group = {.size = sizeof(ndp_op_1), .dtypes = op_dtypes, .find = op_find};
