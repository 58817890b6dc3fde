/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Canonical calls of arrays: views that operands are made into, merged and reordered so that a
 * kernel sees as few dimensions as possible. */
#include "core/run/dispatch.h"

ndp_view nd__view(const nd_array *a)
{
    nd__used(a->storage);
    return (ndp_view){
        .mem = a->storage->mem,
        .offset_bytes = nd__byte_offset(a),
        .shape = a->shape,
        .stride = a->stride,
        .dtype = a->dtype,
        .ndim = a->ndim,
        .flags = a->flags & ND_FLAG_CONTIGUOUS ? NDP_VIEW_CONTIGUOUS : 0,
    };
}

static const int64_t zero_strides[ND_MAX_NDIM];

ndp_view nd__scalar_view(const ndp_scalar *scalars, int index, int ndim, const int64_t *shape)
{
    return (ndp_view){.offset_bytes = index,
                      .shape = shape,
                      .stride = zero_strides,
                      .dtype = scalars[index].dtype,
                      .ndim = ndim};
}

nd_status nd__copy_views(nd_device *dev, const ndp_view *from, const ndp_view *to)
{
    int64_t shape[ND_MAX_NDIM], stride[2][ND_MAX_NDIM];
    ndp_view in = *from, out = *to;
    memcpy(shape, to->shape, (size_t)to->ndim * sizeof *shape);
    memcpy(stride[0], to->stride, (size_t)to->ndim * sizeof *shape);
    memcpy(stride[1], from->stride, (size_t)to->ndim * sizeof *shape);
    in.ndim = out.ndim = nd__coalesce(to->ndim, shape, 2, stride, false);
    in.shape = out.shape = shape;
    out.stride = stride[0];
    in.stride = stride[1];
    out.flags = nd__is_c_order(out.ndim, shape, stride[0]) ? NDP_VIEW_CONTIGUOUS : 0;
    in.flags = nd__is_c_order(in.ndim, shape, stride[1]) ? NDP_VIEW_CONTIGUOUS : 0;
    if (out.ndim && shape[0] == 0)
        return ND_OK;
    ndp_call call = {
        .size = sizeof call, .op = NDP_OP_copy, .n_in = 1, .n_out = 1, .in = &in, .out = &out};
    return nd__run(dev, &call);
}

nd_status nd__run_arrays(nd_op op, int n_in, const nd_array *const *in, int n_out,
                         nd_array *const *out, const void *params)
{
    ndp_view v[ND_CALL_OPERANDS];
    for (int i = 0; i < n_in; i++)
        v[i] = nd__view(in[i]);
    for (int i = 0; i < n_out; i++)
        v[n_in + i] = nd__view(out[i]);
    ndp_call call;
    nd__set_call(&call, op, (uint32_t)n_in, v, (uint32_t)n_out, v + n_in);
    call.params = params;
    return nd__run(out[0]->storage->device, &call);
}

static bool all_dense(const nd_arg *args, int n, const nd_array *dst)
{
    for (int i = 0; i < n; i++) {
        const nd_array *a = args[i].array;
        if (!a || !(a->flags & ND_FLAG_CONTIGUOUS) ||
            !nd__same_shape(a->ndim, a->shape, dst->ndim, dst->shape))
            return false;
    }
    return dst->flags & ND_FLAG_CONTIGUOUS;
}

/* The dtype in which operand i is computed: where's condition is a bool whatever its choices are. */
static nd_dtype dtype_of(nd_op op, int i, nd_dtype compute)
{
    return op == ND_OP_where && i == 0 ? ND_BOOL : compute;
}

/* Whether each scalar fits: for arrays without elements that is all there is to do. */
static nd_status check_scalars(nd_op op, nd_dtype compute, const nd_arg *args, int n)
{
    ndp_scalar scalar;
    for (int i = 0; i < n; i++)
        if (!args[i].array)
            ND_RETURN_IF(nd__scalar_to(nd_op_get(op)->name, args[i].scalar,
                                       dtype_of(op, i, compute), i, &scalar));
    return ND_OK;
}

nd_status nd__run_elementwise(nd_op op, nd_dtype compute, const nd_arg *args, int n,
                              const nd_array *dst)
{
    ndp_view v[4];
    ndp_scalar scalars[3];
    int64_t shape[ND_MAX_NDIM], stride[4][ND_MAX_NDIM];
    uint32_t n_scalar = 0;
    if (dst->size == 0)
        return check_scalars(op, compute, args, n);
    const nd_op_form *form = nd__op_form(op, dst->storage->device);
    if (form)
        return nd__run_op_form(form, op, compute, args, n, dst);
    for (int i = 0; n == 2 && i < 2; i++)
        if (!args[i].array && all_dense(&args[1 - i], 1, dst))
            return nd__run_dense_scalar(op, args[1 - i].array, args[i].scalar, i, dst);
    if (all_dense(args, n, dst)) {
        const nd_array *in[3] = {args[0].array, n > 1 ? args[1].array : NULL,
                                 n > 2 ? args[2].array : NULL};
        return nd__run_dense(op, in, n, dst);
    }
    memcpy(shape, dst->shape, (size_t)dst->ndim * sizeof *shape);
    memcpy(stride[0], dst->stride, (size_t)dst->ndim * sizeof *shape);
    for (int i = 0; i < n; i++)
        if (args[i].array)
            nd__broadcast_strides(dst->ndim, shape, args[i].array->ndim, args[i].array->shape,
                                  args[i].array->stride, stride[i + 1]);
        else
            memset(stride[i + 1], 0, (size_t)dst->ndim * sizeof *shape);
    int rank = nd__coalesce(dst->ndim, shape, n + 1, stride, false);
    v[0] = nd__view(dst);
    for (int i = 0; i < n; i++) {
        if (args[i].array) {
            v[i + 1] = nd__view(args[i].array);
            continue;
        }
        ND_RETURN_IF(nd__scalar_to(nd_op_get(op)->name, args[i].scalar, dtype_of(op, i, compute), i,
                                   &scalars[n_scalar]));
        v[i + 1] = nd__scalar_view(scalars, (int)n_scalar++, rank, shape);
    }
    for (int i = 0; i <= n; i++) {
        v[i].shape = shape;
        v[i].ndim = rank;
        if (!v[i].mem)
            continue;
        v[i].stride = stride[i];
        v[i].flags = nd__is_c_order(rank, shape, stride[i]) ? NDP_VIEW_CONTIGUOUS : 0;
    }
    ndp_call call;
    nd__set_call(&call, op, (uint32_t)n, v + 1, 1, v);
    call.n_scalar = n_scalar;
    call.scalar = scalars;
    return nd__run(dst->storage->device, &call);
}
