/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The op group: each op class is served by one file. */
#include <stdio.h>
#include "host/cpu.h"

static const cpu_class *const classes[NDP_CLASS_END] = {
#define CPU_CLASS(CLASS, table) [NDP_CLASS_##CLASS] = &table,
#include "classes.def"
};

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
