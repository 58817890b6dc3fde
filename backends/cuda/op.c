/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The op group: each op class is served by one file. */
#include "host/backend.h"

static const cuda_class *const classes[NDP_CLASS_END] = {
#define CUDA_CLASS(CLASS, table) [NDP_CLASS_##CLASS] = &table,
#include "classes.def"
};

/* Operations of the classes that have no formula are known to their files up to this row of op.def. A
 * later one is computed by the CPU until the file of its class has it, and the mark is moved. The files
 * of sorting, searches, Fourier transforms, linear algebra and quantised arrays refuse what they do
 * not know themselves; class RANDOM and the classes of neural operations have all of their own. */
enum { LAST_KNOWN = NDP_OP_random_integers };

static const cuda_class *class_of(int32_t op)
{
    int32_t op_class = ndp_op_class(op);
    switch (op_class) {
    case NDP_CLASS_RANDOM:
    case NDP_CLASS_SORT:
    case NDP_CLASS_SEARCH:
    case NDP_CLASS_FFT:
    case NDP_CLASS_FACTOR:
    case NDP_CLASS_SOLVE:
    case NDP_CLASS_EIGEN:
    case NDP_CLASS_SVD:
    case NDP_CLASS_CONV:
    case NDP_CLASS_POOL:
    case NDP_CLASS_RESAMPLE:
    case NDP_CLASS_UNFOLD:
    case NDP_CLASS_NORM_GRAD:
    case NDP_CLASS_ENTROPY:
    case NDP_CLASS_ATTENTION:
    case NDP_CLASS_ROPE:
    case NDP_CLASS_DROPOUT:
    case NDP_CLASS_QUANT:
        return classes[op_class];
    default:
        return op_class <= NDP_CLASS_TERNARY || op <= LAST_KNOWN || op == NDP_OP_scaled_mm ||
                       op == NDP_OP_group_norm || op == NDP_OP_batch_norm
                   ? classes[op_class]
                   : NULL;
    }
}

static uint64_t op_dtypes(ndp_dev *dev, int32_t op)
{
    const cuda_class *c = class_of(op);
    (void)dev;
    return c ? c->dtypes(op) : 0;
}

static int32_t op_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                       size_t n)
{
    const cuda_class *c = class_of(like->op);
    *out = NULL;
    for (uint32_t i = 0; i < like->n_in + like->n_out; i++)
        if (!cuda_knows(i < like->n_in ? like->in[i].dtype : like->out[i - like->n_in].dtype))
            return cuda_unsupported(like, why, n);
    return c ? c->find(dev, like, out, why, n) : cuda_unsupported(like, why, n);
}

const ndp_op_1 cuda_op_group = {.size = sizeof(ndp_op_1), .dtypes = op_dtypes, .find = op_find};
