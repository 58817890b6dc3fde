/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A plug-in with a few kernels, borrowed from the CPU plug-in through the host's table: everything
 * else must be derived from them, or staged. Its kernels want dense operands, or what TIER1_NEEDS
 * says, and look whether they got that: the core packs. */
#include "tests/borrowed.h"

#ifndef TIER1_NEEDS
#define TIER1_NEEDS NDP_NEEDS_CONTIGUOUS
#define TIER1_NAME "tier1"
#endif

static int has(int32_t op)
{
    static const int32_t ops[] = {NDP_OP_copy,   NDP_OP_fill,      NDP_OP_multiply, NDP_OP_subtract,
                                  NDP_OP_divide, NDP_OP_maximum,   NDP_OP_minimum,  NDP_OP_equal,
                                  NDP_OP_less,   NDP_OP_less_equal};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (ops[i] == op)
            return 1;
    return 0;
}

static uint64_t op_dtypes(ndp_dev *dev, int32_t op)
{
    return has(op) ? cpu_op->dtypes(dev, op) : 0;
}

/* A wrapper with a need around each borrowed kernel. */
typedef struct {
    ndp_kernel base;
    const ndp_kernel *inner;
} needy_kernel;

/* What the operand has though the kernel asked for it not to; NULL: nothing. */
static const char *denied(const ndp_view *v)
{
    int64_t step = 1;
    for (int d = v->ndim - 1; v->mem && d >= 0; d--) {
        if (v->shape[d] > 1 && (TIER1_NEEDS & NDP_NEEDS_CONTIGUOUS) && v->stride[d] != step)
            return "is not dense";
        if (v->shape[d] > 1 && (TIER1_NEEDS & NDP_NEEDS_NO_NEGATIVE) && v->stride[d] < 0)
            return "has a negative stride";
        if (v->shape[d] > 1 && (TIER1_NEEDS & NDP_NEEDS_NO_BROADCAST) && v->stride[d] == 0)
            return "has a stride of zero";
        step *= v->shape[d];
    }
    return NULL;
}

static int32_t run_inner(const ndp_kernel *k, ndp_stream *s, const ndp_call *call)
{
    const ndp_kernel *inner = ((const needy_kernel *)k)->inner;
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++) {
        const char *what = denied(i < call->n_in ? &call->in[i] : &call->out[i - call->n_in]);
        if (what)
            return host->error(host->ctx, NDP_ERR_INTERNAL, 0,
                               "operand %u %s, which the kernel asked not to be given", i, what);
    }
    return inner->run(inner, s, call);
}

static int32_t op_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                       size_t n)
{
    const ndp_kernel *inner;
    *out = NULL;
    if (!has(like->op)) {
        snprintf(why, n, "op %d is not among its ten", (int)like->op);
        return NDP_ERR_UNSUPPORTED;
    }
    int32_t status = cpu_op->find(dev, like, &inner, why, n);
    if (status != NDP_OK)
        return status;
    if (like->op == NDP_OP_copy) { /* packing itself needs a copy of any strides */
        *out = inner;
        return NDP_OK;
    }
    needy_kernel *k = host->alloc(host->ctx, sizeof *k, 16);
    if (!k)
        return host->error(host->ctx, NDP_ERR_MEMORY, 0, "no memory for a kernel");
    memset(k, 0, sizeof *k);
    k->base.size = sizeof k->base;
    k->base.needs = TIER1_NEEDS;
    k->base.max_ndim = NDP_MAX_NDIM;
    k->base.run = run_inner;
    k->inner = inner;
    *out = &k->base;
    return NDP_OK;
}

static const ndp_op_1 op_group = {.size = sizeof(ndp_op_1), .dtypes = op_dtypes, .find = op_find};

static const void *group(ndp_dev *dev, const char *id)
{
    (void)dev;
    return strcmp(id, "ndp.op/1") == 0 ? &op_group : NULL;
}

NDP_PLUGIN_NOTE(TIER1_NAME, "1.2", -1, (UINT64_C(1) << NDP_DTYPE_END) - 2, "ndp.op/1")

static const ndp_plugin table = {
    .size = sizeof(ndp_plugin),
    .major = NDP_ABI_MAJOR,
    .minor = NDP_ABI_MINOR,
    .name = TIER1_NAME,
    .version = "1.2",
    .vendor = "tests",
    .probe = borrowed_probe,
    .open = borrowed_open,
    BORROWED_SLOTS,
    .group = group,
};

NDP_EXPORT const ndp_plugin *ndock_plugin_entry_0(const ndp_host *h)
{
    host = h;
    return &table;
}
