/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The host's table, which the entry sets, and what the tables of the headers say of ops, once for
 * all files. */
#include "host/cpu.h"

const ndp_host *cpu_host;

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
