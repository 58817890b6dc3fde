/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The op group: each op class is served by one file. */
#include <stdio.h>
#include "host/backend.h"

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

static const cuda_class *const classes[NDP_CLASS_END] = {
#define CUDA_CLASS(CLASS, table) [NDP_CLASS_##CLASS] = &table,
#include "host/classes.def"
};

static int known(int32_t op)
{
    return op > NDP_OP_NONE && op < NDP_OP_END;
}

int32_t cuda_op_class(int32_t op)
{
    return known(op) ? ops[op].op_class : 0;
}

const char *cuda_op_name(int32_t op)
{
    return known(op) ? ops[op].name : "operation";
}

uint64_t cuda_domain_dtypes(int32_t op)
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

int32_t cuda_unsupported(const ndp_call *like, char *why, size_t n)
{
    snprintf(why, n, "the CUDA plug-in has no kernel for %s (op %d) with dtype %d",
             cuda_op_name(like->op), (int)like->op,
             (int)(like->n_in ? like->in[0].dtype : like->out[0].dtype));
    return NDP_ERR_UNSUPPORTED;
}

static uint64_t op_dtypes(ndp_dev *dev, int32_t op)
{
    const cuda_class *c = known(op) ? classes[ops[op].op_class] : NULL;
    (void)dev;
    return c ? c->dtypes(op) : 0;
}

static int32_t op_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                       size_t n)
{
    const cuda_class *c = known(like->op) ? classes[ops[like->op].op_class] : NULL;
    *out = NULL;
    return c ? c->find(dev, like, out, why, n) : cuda_unsupported(like, why, n);
}

const ndp_op_1 cuda_op_group = {.size = sizeof(ndp_op_1), .dtypes = op_dtypes, .find = op_find};
