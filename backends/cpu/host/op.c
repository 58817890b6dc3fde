/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The op group: each op class is served by one file. */
#include <stdio.h>
#include "host/cpu.h"

static const cpu_class *const classes[NDP_CLASS_END] = {
    [NDP_CLASS_UNARY] = &cpu_elementwise,   [NDP_CLASS_BINARY] = &cpu_elementwise,
    [NDP_CLASS_TERNARY] = &cpu_elementwise, [NDP_CLASS_FILL] = &cpu_copy,
    [NDP_CLASS_COPY] = &cpu_copy,           [NDP_CLASS_IOTA] = &cpu_iota,
    [NDP_CLASS_REDUCE] = &cpu_reduce,       [NDP_CLASS_ARGREDUCE] = &cpu_reduce,
    [NDP_CLASS_SCAN] = &cpu_scan,           [NDP_CLASS_NORM] = &cpu_norm,
    [NDP_CLASS_MATMUL] = &cpu_matmul,       [NDP_CLASS_TAKE] = &cpu_index,
    [NDP_CLASS_GATHER] = &cpu_index,        [NDP_CLASS_SCATTER] = &cpu_index,
    [NDP_CLASS_COMPRESS] = &cpu_index,      [NDP_CLASS_NONZERO] = &cpu_index,
    [NDP_CLASS_SORT] = &cpu_sort,           [NDP_CLASS_SEARCH] = &cpu_sort,
    [NDP_CLASS_RANDOM] = &cpu_random,
};

int32_t cpu_op_class(int32_t op)
{
    return ndp_op_class(op);
}

const char *cpu_op_name(int32_t op)
{
    return ndp_op_name(op);
}

uint64_t cpu_domain_dtypes(int32_t op)
{
    return ndp_op_dtypes(op);
}

static uint64_t op_dtypes(ndp_dev *dev, int32_t op)
{
    (void)dev;
    return ndp_op_known(op) ? classes[ndp_op_class(op)]->dtypes(op) : 0;
}

static int32_t op_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                       size_t n)
{
    (void)dev;
    *out = NULL;
    if (!ndp_op_known(like->op)) {
        snprintf(why, n, "the CPU plug-in does not know op %d", (int)like->op);
        return NDP_ERR_UNSUPPORTED;
    }
    *out = classes[ndp_op_class(like->op)]->find(like, why, n);
    return *out ? NDP_OK : NDP_ERR_UNSUPPORTED;
}

const ndp_op_1 cpu_op_group = {.size = sizeof(ndp_op_1), .dtypes = op_dtypes, .find = op_find};
