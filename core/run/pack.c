/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Operands that a kernel cannot take as they are: packed before it runs, and unpacked after it. */
#include "core/run/dispatch.h"

bool nd__needs_packing(const ndp_kernel *k, const ndp_view *v)
{
    if (!v->mem)
        return false;
    if (v->ndim > k->max_ndim ||
        ((k->needs & NDP_NEEDS_CONTIGUOUS) && !nd__is_c_order(v->ndim, v->shape, v->stride)))
        return true;
    for (int d = 0; d < v->ndim && k->needs; d++)
        if (v->shape[d] > 1 && (((k->needs & NDP_NEEDS_NO_NEGATIVE) && v->stride[d] < 0) ||
                                ((k->needs & NDP_NEEDS_NO_BROADCAST) && v->stride[d] == 0)))
            return true;
    return false;
}

static int64_t size_of(const ndp_view *v)
{
    int64_t size = 1;
    for (int d = 0; d < v->ndim; d++)
        size *= v->shape[d];
    return size;
}

/* An operand as an array of its own, dense: a packed copy of an input, or room for an output
 * (filled first where it is updated in place). */
static nd_status pack(nd_device *dev, const ndp_view *v, bool copy_in, nd_storage **s,
                      ndp_view *packed, int64_t *stride)
{
    const int64_t size = size_of(v);
    ND_RETURN_IF(nd__storage_alloc(dev, size ? (uint64_t)size * nd_dtype_size(v->dtype) : 1, s));
    nd__c_strides(v->ndim, v->shape, stride);
    *packed = *v;
    packed->mem = (*s)->mem;
    packed->offset_bytes = (int64_t)(*s)->base;
    packed->stride = stride;
    packed->flags = NDP_VIEW_CONTIGUOUS;
    return copy_in ? nd__copy_views(dev, v, packed) : ND_OK;
}

/* Whether a kernel of a lower rank can serve the call once its operands are packed: dense views of
 * one shape are runs of elements. Kernels of other classes, and copies, which pack, take the rank
 * that they were looked up with. */
static bool may_be_flat(const ndp_call *call)
{
    const nd_op_info *info = nd_op_get(call->op);
    return info && (info->op_class == ND_CLASS_UNARY || info->op_class == ND_CLASS_BINARY ||
                    info->op_class == ND_CLASS_TERNARY);
}

static void flatten(ndp_view *v, const int64_t *size)
{
    static const int64_t one = 1;
    if (!v->mem)
        return;
    v->shape = size;
    v->stride = &one;
    v->ndim = 1;
}

nd_status nd__pack_and_run(nd_device *dev, const ndp_kernel *k, ndp_call *call)
{
    ndp_view v[ND_CALL_OPERANDS] = {{0}}, given[ND_CALL_OPERANDS];
    int64_t stride[ND_CALL_OPERANDS][ND_MAX_NDIM], size = size_of(&call->out[0]);
    nd_storage *storage[ND_CALL_OPERANDS] = {NULL};
    nd_status status = ND_OK;
    uint32_t n = call->n_in + call->n_out;
    ndp_call packed = *call;
    const bool flat = call->out[0].ndim > k->max_ndim;
    if (flat && !may_be_flat(call))
        return nd__fail(ND_ERR_PLUGIN, NULL, -1,
                        "the kernel takes rank %d at most, the call has %d", (int)k->max_ndim,
                        (int)call->out[0].ndim);
    for (uint32_t i = 0; i < n; i++) {
        const ndp_view *from = i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
        v[i] = *from;
        if (nd__needs_packing(k, from))
            ND_GOTO_IF(done, pack(dev, from, i < call->n_in || nd__updates_in_place(call),
                                  &storage[i], &v[i], stride[i]));
    }
    memcpy(given, v, sizeof given);
    for (uint32_t i = 0; flat && i < n; i++)
        flatten(&given[i], &size);
    packed.in = given;
    packed.out = given + call->n_in;
    ND_GOTO_IF(done, nd__run_kernel(dev, k, &packed));
    for (uint32_t i = call->n_in; i < n; i++)
        if (storage[i])
            ND_GOTO_IF(done, nd__copy_views(dev, &v[i], &call->out[i - call->n_in]));
done:
    for (uint32_t i = 0; i < n; i++)
        nd__storage_release(storage[i]);
    return status;
}
