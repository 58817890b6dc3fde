/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The table of operations as data: op.def's rows, and those that programs register. */
#include "core/model/model.h"

enum {
#define ND_OP_DOMAIN(NAME, kinds) DOMAIN_##NAME = (kinds),
#include <ndock/opdomain.def>
};
#define ULP(half, single, dbl, complex_) \
    {                                    \
        half, single, dbl, complex_      \
    }

const nd_op_info nd__ops[ND_OP_END] = {
#define ND_OP(op_name, CLASS, DOMAIN, RESULT, ulps, text) \
    [ND_OP_##op_name] = {.op = ND_OP_##op_name,           \
                         .op_class = ND_CLASS_##CLASS,    \
                         .domain = DOMAIN_##DOMAIN,       \
                         .result = ND_RESULT_##RESULT,    \
                         .ulp = ulps,                     \
                         .name = #op_name,                \
                         .doc = text},
#include <ndock/op.def>
};

/* Those that programs register are never removed, so readers need no lock once they see the
 * count. */
static const nd_op_info *registered[ND_OP_REGISTERED_MAX];
static atomic_int n_registered;

nd_op nd__op_next(void)
{
    int n = atomic_load(&n_registered);
    return n < ND_OP_REGISTERED_MAX ? ND_OP_RUNTIME + n : ND_OP_NONE;
}

void nd__op_add(const nd_op_info *info)
{
    registered[info->op - ND_OP_RUNTIME] = info;
    atomic_store_explicit(&n_registered, info->op - ND_OP_RUNTIME + 1, memory_order_release);
}

const nd_op_info *nd_op_get(nd_op op)
{
    if (op > ND_OP_NONE && op < ND_OP_END)
        return &nd__ops[op];
    int n = atomic_load_explicit(&n_registered, memory_order_acquire);
    return op >= ND_OP_RUNTIME && op - ND_OP_RUNTIME < n ? registered[op - ND_OP_RUNTIME] : NULL;
}

nd_op nd_op_find(const char *name)
{
    for (nd_op op = 1; name && op < ND_OP_END; op++)
        if (strcmp(nd__ops[op].name, name) == 0)
            return op;
    for (nd_op op = ND_OP_RUNTIME; name && nd_op_get(op); op++)
        if (strcmp(nd_op_get(op)->name, name) == 0)
            return op;
    return ND_OP_NONE;
}

uint64_t nd_op_dtypes(nd_op op)
{
    const nd_op_info *info = nd_op_get(op);
    uint64_t mask = 0;
    for (nd_dtype d = 1; info && d < ND_DTYPE_END; d++)
        if (nd__kind(d) & info->domain)
            mask |= (uint64_t)1 << d;
    return mask;
}
