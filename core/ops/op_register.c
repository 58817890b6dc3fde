/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise operations of programs: checked and listed. */
#include "core/ops/ops.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void nd__fork_ops(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}

static nd_status check_info(const nd_op_info *info, nd_op_cpu_fn cpu, nd_op *out)
{
    ND_NEED("op_register", 0, info);
    ND_NEED("op_register", 1, cpu);
    ND_NEED("op_register", 3, out);
    if (!info->name || !info->name[0])
        return nd__fail(ND_ERR_ARGUMENT, "op_register", 0, "an op needs a name");
    if (info->op_class != ND_CLASS_UNARY && info->op_class != ND_CLASS_BINARY &&
        info->op_class != ND_CLASS_TERNARY)
        return nd__fail(ND_ERR_ARGUMENT, "op_register", 0,
                        "op \"%s\" has class %d; run-time ops are UNARY, BINARY or TERNARY",
                        info->name, (int)info->op_class);
    if (info->result < ND_RESULT_SAME || info->result > ND_RESULT_SUM || !(info->domain & 31))
        return nd__fail(ND_ERR_ARGUMENT, "op_register", 0,
                        "op \"%s\" has no domain, or the unknown result rule %d", info->name,
                        (int)info->result);
    return ND_OK;
}

nd_status nd_op_register(const nd_op_info *info, nd_op_cpu_fn cpu, void *ctx, nd_op *out)
{
    ND_RETURN_IF(check_info(info, cpu, out));
    *out = ND_OP_NONE;
    pthread_mutex_lock(&lock);
    nd_status status = ND_OK;
    if (nd_op_find(info->name) != ND_OP_NONE || nd_custom_find(info->name))
        status = nd__fail(ND_ERR_ARGUMENT, "op_register", 0, "there is an op named \"%s\" already",
                          info->name);
    if (status == ND_OK)
        status = nd__registered_add(info, cpu, ctx);
    if (status == ND_OK)
        *out = nd_op_find(info->name);
    pthread_mutex_unlock(&lock);
    return status;
}
