/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The op group: each op class is served by one file. */
#include <stdio.h>
#include "host/cpu.h"

enum { KIND_BOOL = 1, KIND_INT = 2, KIND_UINT = 4, KIND_FLOAT = 8, KIND_COMPLEX = 16 };
enum {
#define ND_OP_DOMAIN(NAME, kinds) DOMAIN_##NAME = (kinds),
#include <ndock/opdomain.def>
};

static const struct {
    const char *name;
    int32_t op_class;
    uint32_t domain;
} ops[NDP_OP_END] = {
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) \
    [NDP_OP_##name] = {#name, NDP_CLASS_##CLASS, DOMAIN_##DOMAIN},
#include <ndock/op.def>
};

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

static int known(int32_t op)
{
    return op > NDP_OP_NONE && op < NDP_OP_END;
}

int32_t cpu_op_class(int32_t op)
{
    return known(op) ? ops[op].op_class : 0;
}

const char *cpu_op_name(int32_t op)
{
    return known(op) ? ops[op].name : "?";
}

uint64_t cpu_domain_dtypes(int32_t op)
{
    static const uint32_t kinds[NDP_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = KIND_##KIND,
#include <ndock/dtype.def>
    };
    uint64_t mask = 0;
    for (int d = 1; known(op) && d < NDP_DTYPE_END; d++)
        if (ops[op].domain & kinds[d])
            mask |= (uint64_t)1 << d;
    return mask;
}

static uint64_t op_dtypes(ndp_dev *dev, int32_t op)
{
    (void)dev;
    return known(op) ? classes[ops[op].op_class]->dtypes(op) : 0;
}

static int32_t op_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                       size_t n)
{
    (void)dev;
    *out = NULL;
    if (!known(like->op)) {
        snprintf(why, n, "the CPU plug-in does not know op %d", (int)like->op);
        return NDP_ERR_UNSUPPORTED;
    }
    *out = classes[ops[like->op].op_class]->find(like, why, n);
    return *out ? NDP_OK : NDP_ERR_UNSUPPORTED;
}

const ndp_op_1 cpu_op_group = {.size = sizeof(ndp_op_1), .dtypes = op_dtypes, .find = op_find};
