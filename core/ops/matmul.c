/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Matrix products: broadcasting of leading axes, 1-d operands, dtypes; the batch dimensions are
 * merged for the kernel. */
#include "core/ops/ops.h"

typedef struct {
    nd_matmul_opts o;
    nd_array *a, *b, *bias; /* owned: cast, with the 1-d operands made matrices */
    nd_device *device;
    nd_scope scope;
    nd_dtype result;
    int ndim; /* of the full product, before 1-d axes are dropped */
    int64_t shape[ND_MAX_NDIM];
    bool drop_row, drop_col;
} product;

static void product_finish(product *p)
{
    nd_release(p->a);
    nd_release(p->b);
    nd_release(p->bias);
    nd__scope_leave(&p->scope);
}

/* The operands' dtype and the result's. Wider results are for exact integer sums and for keeping
 * f32 of halves. */
static nd_status choose_dtypes(const nd_array *a, const nd_array *b, nd_dtype wanted,
                               nd_dtype *compute, nd_dtype *result)
{
    ND_RETURN_IF(nd__promote("matmul", a->dtype, b->dtype, compute));
    ND_RETURN_IF(nd__op_domain(nd_op_get(ND_OP_matmul), *compute, compute));
    *result = *compute;
    if (!wanted || wanted == *compute)
        return ND_OK;
    ND_RETURN_IF(nd__check_dtype("matmul", wanted));
    ND_RETURN_IF(nd__check_castable("matmul", *compute, wanted));
    bool integers = (nd__kind(*compute) | nd__kind(wanted)) & (ND_KIND_INT | ND_KIND_UINT) &&
                    nd__kind(wanted) & (ND_KIND_INT | ND_KIND_UINT);
    bool halves =
        nd_dtype_size(*compute) == 2 && nd__kind(*compute) == ND_KIND_FLOAT && wanted == ND_F32;
    if ((integers && nd_dtype_size(wanted) > nd_dtype_size(*compute)) || halves)
        *result = wanted;
    else if (nd_dtype_size(wanted) >= nd_dtype_size(*compute))
        *compute = *result = wanted;
    else
        return nd__fail(ND_ERR_DTYPE, "matmul", -1,
                        "operands of %s give no result of %s; convert them first",
                        nd_dtype_name(*compute), nd_dtype_name(wanted));
    return ND_OK;
}

static nd_status as_matrix(const nd_array *a, nd_dtype dtype, int32_t new_axis, nd_array **out)
{
    nd_array *cast = NULL;
    ND_RETURN_IF(nd__cast(a, dtype, &cast));
    if (a->ndim != 1) {
        *out = cast;
        return ND_OK;
    }
    nd_status status = nd_expand_dims(cast, 1, &new_axis, out);
    nd_release(cast);
    return status;
}

/* a, b: as they were given, not as matrices. */
static nd_status refuse_shapes(const nd_array *a, const nd_array *b)
{
    char text_a[ND_SHAPE_TEXT], text_b[ND_SHAPE_TEXT];
    int64_t inner_a = a->shape[a->ndim - 1], inner_b = b->shape[b->ndim > 1 ? b->ndim - 2 : 0];
    nd__shape_text(a->ndim, a->shape, text_a, sizeof text_a);
    nd__shape_text(b->ndim, b->shape, text_b, sizeof text_b);
    if (inner_a != inner_b)
        return nd__fail(ND_ERR_SHAPE, "matmul", 1, "inner extents differ: %s @ %s (%lld and %lld)",
                        text_a, text_b, (long long)inner_a, (long long)inner_b);
    return nd__fail(ND_ERR_SHAPE, "matmul", 1, "%s @ %s: the leading axes do not broadcast", text_a,
                    text_b);
}

static nd_status product_shape(product *p, const nd_array *given_a, const nd_array *given_b)
{
    const nd_array *a = p->a, *b = p->b;
    const int ndims[2] = {a->ndim - 2, b->ndim - 2};
    const int64_t *const shapes[2] = {a->shape, b->shape};
    if (a->shape[a->ndim - 1] != b->shape[b->ndim - 2] ||
        nd__broadcast("matmul", 2, ndims, shapes, &p->ndim, p->shape) != ND_OK)
        return refuse_shapes(given_a, given_b);
    p->shape[p->ndim++] = a->shape[a->ndim - 2];
    p->shape[p->ndim++] = b->shape[b->ndim - 1];
    return ND_OK;
}

static nd_status product_start(const nd_array *a, const nd_array *b, const nd_matmul_opts *opts,
                               product *p)
{
    nd_dtype compute;
    memset(p, 0, sizeof *p);
    ND_RETURN_IF(nd__check_array("matmul", a, 0));
    ND_RETURN_IF(nd__check_array("matmul", b, 1));
    if (opts && opts->size < NDP_END(nd_matmul_opts, dtype))
        return nd__fail(ND_ERR_ARGUMENT, "matmul", 2,
                        "the options' size field is %u; set it to sizeof", opts->size);
    if (opts)
        memcpy(&p->o, opts, opts->size < sizeof p->o ? opts->size : sizeof p->o);
    ND_RETURN_IF(nd__scope_of("matmul", a, opts, &p->scope));
    if (p->o.alpha == 0 && p->o.beta == 0)
        p->o.alpha = 1;
    if (a->ndim == 0 || b->ndim == 0)
        return nd__fail(ND_ERR_SHAPE, "matmul", a->ndim != 0, "argument %d is 0-d; use nd_multiply",
                        a->ndim != 0);
    ND_RETURN_IF(nd__check_same_device("matmul", a, b, 0, 1));
    ND_RETURN_IF(choose_dtypes(a, b, p->o.dtype, &compute, &p->result));
    if (p->o.epilogue < ND_EPILOGUE_NONE || p->o.epilogue > ND_EPILOGUE_TANH ||
        (p->o.epilogue && nd__kind(p->result) != ND_KIND_FLOAT))
        return nd__fail(ND_ERR_ARGUMENT, "matmul", 2,
                        "epilogue %d is unknown, or the result (%s) is not floating",
                        (int)p->o.epilogue, nd_dtype_name(p->result));
    p->device = a->storage->device;
    p->drop_row = a->ndim == 1;
    p->drop_col = b->ndim == 1;
    ND_RETURN_IF(as_matrix(a, compute, 0, &p->a));
    ND_RETURN_IF(as_matrix(b, compute, 1, &p->b));
    return product_shape(p, a, b);
}

/* The shape of the result as the caller sees it. */
static int visible_shape(const product *p, int64_t *shape)
{
    int n = p->ndim - 2;
    memcpy(shape, p->shape, (size_t)n * sizeof *shape);
    if (!p->drop_row)
        shape[n++] = p->shape[p->ndim - 2];
    if (!p->drop_col)
        shape[n++] = p->shape[p->ndim - 1];
    return n;
}

static nd_status prepare_bias(product *p)
{
    int64_t shape[ND_MAX_NDIM];
    nd_array *cast = NULL, *stretched = NULL;
    if (!p->o.bias)
        return ND_OK;
    int n = visible_shape(p, shape);
    ND_RETURN_IF(nd__check_same_device("matmul", p->a, p->o.bias, 0, 2));
    ND_RETURN_IF(nd__check_castable("matmul", p->o.bias->dtype, p->result));
    ND_RETURN_IF(nd__cast(p->o.bias, p->result, &cast));
    nd_status status = nd_broadcast_to(cast, n, shape, &stretched);
    if (status == ND_OK) {
        int32_t axes[2];
        int naxes = 0;
        if (p->drop_row)
            axes[naxes++] = p->ndim - 2;
        if (p->drop_col)
            axes[naxes++] = p->ndim - 1;
        status = nd_expand_dims(stretched, naxes, axes, &p->bias);
    }
    nd_release(cast);
    nd_release(stretched);
    return status;
}

/* Strides of the full product over dst, whose 1-d axes are missing. */
static void full_strides(const product *p, const nd_array *dst, int64_t *stride)
{
    int n = p->ndim - 2, at = n;
    memcpy(stride, dst->stride, (size_t)n * sizeof *stride);
    stride[n] = p->drop_row ? 0 : dst->stride[at++];
    stride[n + 1] = p->drop_col ? 0 : dst->stride[at];
}

static nd_status product_run(product *p, const nd_array *dst)
{
    int64_t batch[ND_MAX_NDIM], stride[4][ND_MAX_NDIM], shape[4][ND_MAX_NDIM], full[4][ND_MAX_NDIM];
    int n = p->ndim - 2;
    const nd_array *operand[4] = {dst, p->a, p->b, p->bias};
    if (dst->size == 0)
        return ND_OK;
    full_strides(p, dst, full[0]);
    memcpy(batch, p->shape, (size_t)n * sizeof *batch);
    memcpy(stride[0], full[0], (size_t)n * sizeof *batch);
    for (int i = 1; i < 4; i++) {
        const nd_array *x = operand[i];
        if (x)
            nd__broadcast_strides(n, batch, x->ndim - 2, x->shape, x->stride, stride[i]);
        else
            memset(stride[i], 0, sizeof stride[i]);
    }
    int rank = nd__coalesce(n, batch, 4, stride, false);
    ndp_view v[4];
    for (int i = 0; i < 4; i++) {
        const nd_array *x = operand[i];
        if (!x)
            continue;
        bool is_product = i == 0;
        memcpy(shape[i], batch, (size_t)rank * sizeof *batch);
        shape[i][rank] = is_product ? p->shape[p->ndim - 2] : x->shape[x->ndim - 2];
        shape[i][rank + 1] = is_product ? p->shape[p->ndim - 1] : x->shape[x->ndim - 1];
        stride[i][rank] = is_product ? full[0][p->ndim - 2] : x->stride[x->ndim - 2];
        stride[i][rank + 1] = is_product ? full[0][p->ndim - 1] : x->stride[x->ndim - 1];
        v[i] = nd__view(x);
        v[i].shape = shape[i];
        v[i].stride = stride[i];
        v[i].ndim = rank + 2;
        v[i].flags = nd__is_c_order(rank + 2, shape[i], stride[i]) ? NDP_VIEW_CONTIGUOUS : 0;
    }
    ndp_matmul params = {.size = sizeof params,
                         .epilogue = p->o.epilogue,
                         .has_bias = p->bias != NULL,
                         .alpha = p->o.alpha,
                         .beta = p->o.beta};
    ndp_call call = {.size = sizeof call,
                     .op = ND_OP_matmul,
                     .n_in = p->bias ? 3 : 2,
                     .n_out = 1,
                     .in = v + 1,
                     .out = v,
                     .params = &params};
    const int64_t mnk[3] = {p->shape[p->ndim - 2], p->shape[p->ndim - 1],
                            p->a->shape[p->a->ndim - 1]};
    ND_RETURN_IF(nd__math_mode(p->device, ND_OP_matmul, p->a->dtype, mnk, &call.mode));
    return nd__run(p->device, &call);
}

nd_status nd_matmul(const nd_array *a, const nd_array *b, const nd_matmul_opts *opts,
                    nd_array **out)
{
    product p;
    nd_array *r = NULL;
    int64_t shape[ND_MAX_NDIM];
    nd_status status;
    ND_OUT("matmul", 3, out, NULL);
    ND_GOTO_IF(done, product_start(a, b, opts, &p));
    if (p.o.beta != 0)
        ND_GOTO_IF(done, nd__fail(ND_ERR_ARGUMENT, "matmul", 2,
                                  "beta needs a destination; use nd_matmul_into"));
    ND_GOTO_IF(done, prepare_bias(&p));
    ND_GOTO_IF(done,
               nd__array_alloc("matmul", p.device, p.result, visible_shape(&p, shape), shape, &r));
    ND_GOTO_IF(done, product_run(&p, r));
    *out = r;
    r = NULL;
done:
    nd_release(r);
    product_finish(&p);
    return status;
}

static bool needs_temporary(const product *p, const nd_array *dst)
{
    return dst->dtype != p->result || nd__may_overlap(p->a, dst) || nd__may_overlap(p->b, dst) ||
           (p->bias && nd__may_overlap(p->bias, dst));
}

nd_status nd_matmul_into(const nd_array *a, const nd_array *b, const nd_matmul_opts *opts,
                         const nd_array *dst)
{
    product p;
    nd_array *temporary = NULL;
    int64_t shape[ND_MAX_NDIM];
    nd_status status;
    ND_GOTO_IF(done, product_start(a, b, opts, &p));
    ND_GOTO_IF(done, nd__check_writable("matmul", dst, 3));
    ND_GOTO_IF(done, nd__check_same_device("matmul", a, dst, 0, 3));
    int n = visible_shape(&p, shape);
    ND_GOTO_IF(done, nd__check_dst_shape("matmul", dst, n, shape, 3));
    ND_GOTO_IF(done, prepare_bias(&p));
    if (!needs_temporary(&p, dst)) {
        ND_GOTO_IF(done, product_run(&p, dst));
    } else {
        ND_GOTO_IF(done, nd__check_castable("matmul", p.result, dst->dtype));
        ND_GOTO_IF(done, nd__array_alloc("matmul", p.device, p.result, n, shape, &temporary));
        if (p.o.beta != 0)
            ND_GOTO_IF(done, nd__copy_into(dst, temporary));
        ND_GOTO_IF(done, product_run(&p, temporary));
        ND_GOTO_IF(done, nd__copy_into(temporary, dst));
    }
done:
    nd_release(temporary);
    product_finish(&p);
    return status;
}
