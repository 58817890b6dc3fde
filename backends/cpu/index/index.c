/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Indexing by arrays: which kernel serves. */
#include "index/index.h"

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    (void)why;
    (void)n;
    switch (cpu_op_class(like->op)) {
    case NDP_CLASS_TAKE:
        return &index_take_kernel;
    case NDP_CLASS_GATHER:
        return &index_gather_kernel;
    case NDP_CLASS_SCATTER:
        return &index_scatter_kernel;
    case NDP_CLASS_COMPRESS:
        return &select_compress_kernel;
    default:
        return &select_nonzero_kernel;
    }
}

/* For scatter the first input is the i64 indices; each domain holds that dtype too. */
static uint64_t dtypes(int32_t op)
{
    return cpu_domain_dtypes(op);
}

const cpu_class cpu_index = {dtypes, find};
