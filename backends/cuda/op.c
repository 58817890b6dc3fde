/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The op group: each op class is served by one file. */
#include "host/backend.h"

static const cuda_class *const classes[NDP_CLASS_END] = {
#define CUDA_CLASS(CLASS, table) [NDP_CLASS_##CLASS] = &table,
#include "classes.def"
};

static uint64_t op_dtypes(ndp_dev *dev, int32_t op)
{
    const cuda_class *c = classes[ndp_op_class(op)];
    (void)dev;
    return c ? c->dtypes(op) : 0;
}

static int32_t op_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                       size_t n)
{
    const cuda_class *c = classes[ndp_op_class(like->op)];
    *out = NULL;
    return c ? c->find(dev, like, out, why, n) : cuda_unsupported(like, why, n);
}

const ndp_op_1 cuda_op_group = {.size = sizeof(ndp_op_1), .dtypes = op_dtypes, .find = op_find};
