/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The op group: what the tables say of ops and dtypes, and which file serves which class. */
#include <stdio.h>
#include "host/opencl.h"

enum {
#define ND_OP_DOMAIN(NAME, kinds) DOMAIN_##NAME = (kinds),
#include <ndock/opdomain.def>
};
enum { RESULT_SAME, RESULT_BOOL, RESULT_REAL, RESULT_INDEX, RESULT_SUM, RESULT_GIVEN };

static const struct {
    const char *name;
    int32_t op_class, result;
    uint32_t domain;
} ops[NDP_OP_END] = {
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) \
    [NDP_OP_##name] = {#name, NDP_CLASS_##CLASS, RESULT_##RESULT, DOMAIN_##DOMAIN},
#include <ndock/op.def>
};
static const struct {
    const char *name;
    int64_t nbytes;
    int kind;
} dtypes[NDP_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) \
    [id] = {#name, nbytes, OCL_##KIND},
#include <ndock/dtype.def>
};

static const ocl_class *const classes[NDP_CLASS_END] = {
    [NDP_CLASS_UNARY] = &ocl_elementwise,   [NDP_CLASS_BINARY] = &ocl_elementwise,
    [NDP_CLASS_TERNARY] = &ocl_elementwise, [NDP_CLASS_FILL] = &ocl_elementwise,
    [NDP_CLASS_COPY] = &ocl_elementwise,    [NDP_CLASS_IOTA] = &ocl_iota,
    [NDP_CLASS_REDUCE] = &ocl_reduce,       [NDP_CLASS_ARGREDUCE] = &ocl_reduce,
    [NDP_CLASS_NORM] = &ocl_norm,           [NDP_CLASS_MATMUL] = &ocl_matmul,
    [NDP_CLASS_TAKE] = &ocl_index,          [NDP_CLASS_GATHER] = &ocl_index,
    [NDP_CLASS_SCATTER] = &ocl_scatter,     [NDP_CLASS_SEARCH] = &ocl_search,
    [NDP_CLASS_RANDOM] = &ocl_random,       [NDP_CLASS_SORT] = &ocl_sort,
    [NDP_CLASS_SCAN] = &ocl_scan,
};

static int known(int32_t op)
{
    return op > NDP_OP_NONE && op < NDP_OP_END;
}

int32_t ocl_op_class(int32_t op)
{
    return known(op) ? ops[op].op_class : 0;
}

const char *ocl_op_name(int32_t op)
{
    return known(op) ? ops[op].name : "operation";
}

const char *ocl_dtype_name(int32_t dtype)
{
    return dtype > 0 && dtype < NDP_DTYPE_END ? dtypes[dtype].name : "?";
}

int64_t ocl_dtype_size(int32_t dtype)
{
    return dtype > 0 && dtype < NDP_DTYPE_END ? dtypes[dtype].nbytes : 0;
}

int ocl_dtype_kind(int32_t dtype)
{
    return dtype > 0 && dtype < NDP_DTYPE_END ? dtypes[dtype].kind : 0;
}

static int computes(const ndp_dev *dev, int32_t dtype)
{
    return dev->facts.f64 || (dtype != NDP_F64 && dtype != NDP_C128);
}

uint64_t ocl_domain(const ndp_dev *dev, int32_t op)
{
    uint64_t mask = 0;
    for (int32_t d = 1; known(op) && d < NDP_DTYPE_END; d++)
        if (ops[op].domain & (uint32_t)dtypes[d].kind && computes(dev, d))
            mask |= (uint64_t)1 << d;
    return mask;
}

int32_t ocl_result_dtype(int32_t op, int32_t dtype)
{
    switch (known(op) ? ops[op].result : RESULT_SAME) {
    case RESULT_BOOL:
        return NDP_BOOL;
    case RESULT_REAL:
        return dtype == NDP_C64 ? NDP_F32 : dtype == NDP_C128 ? NDP_F64 : dtype;
    case RESULT_INDEX:
        return NDP_I64;
    case RESULT_SUM:
        return ocl_dtype_kind(dtype) & (OCL_BOOL | OCL_INT) ? NDP_I64
               : ocl_dtype_kind(dtype) == OCL_UINT          ? NDP_U64
                                                            : dtype;
    default:
        return dtype;
    }
}

int32_t ocl_first_dtype(const ndp_call *call)
{
    return call->n_in ? call->in[0].dtype : call->out[0].dtype;
}

int32_t ocl_unsupported(const ndp_call *like, char *why, size_t n)
{
    const char *to = like->n_out ? ocl_dtype_name(like->out[0].dtype) : "nothing";
    if (like->op >= NDP_OP_RUNTIME)
        snprintf(why, n, "op %d was registered by the program, without OpenCL C", (int)like->op);
    else
        snprintf(why, n, "the OpenCL plug-in has no kernel for %s from %s to %s",
                 ocl_op_name(like->op), ocl_dtype_name(ocl_first_dtype(like)), to);
    return NDP_ERR_UNSUPPORTED;
}

static uint64_t op_dtypes(ndp_dev *dev, int32_t op)
{
    const ocl_class *c = known(op) ? classes[ops[op].op_class] : NULL;
    return c ? c->dtypes(dev, op) : 0;
}

static int32_t no_f64(const ndp_dev *dev, const ndp_call *like, char *why, size_t n)
{
    for (uint32_t i = 0; i < like->n_in + like->n_out; i++) {
        int32_t d = i < like->n_in ? like->in[i].dtype : like->out[i - like->n_in].dtype;
        if (!computes(dev, d)) {
            snprintf(why, n, "opencl:%u has no cl_khr_fp64, so it does not compute in %s",
                     dev->index, ocl_dtype_name(d));
            return 1;
        }
    }
    return 0;
}

static int32_t op_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                       size_t n)
{
    const ocl_class *c = known(like->op) ? classes[ops[like->op].op_class] : NULL;
    *out = NULL;
    if (!c)
        return ocl_unsupported(like, why, n);
    return no_f64(dev, like, why, n) ? NDP_ERR_UNSUPPORTED : c->find(dev, like, out, why, n);
}

const ndp_op_1 ocl_op_group = {.size = sizeof(ndp_op_1), .dtypes = op_dtypes, .find = op_find};
