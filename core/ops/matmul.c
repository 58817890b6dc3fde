/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Matrix products: broadcasting of leading axes, 1-d operands, dtypes; the batch dimensions are
 * merged for the kernel. */
#include "core/ops/prepare.h"

typedef struct {
    nd_operation
        of; /* operands: a, b (1-d ones made matrices), bias (stretched to the full product) */
    nd_matmul_opts o;
    bool drop_row, drop_col;   /* axes of the full product that 1-d operands brought */
    int full_ndim;             /* of the full product */
    int64_t full[ND_MAX_NDIM]; /* its shape */
} product;

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

/* Operand i in the compute dtype, as a matrix. */
static nd_status make_matrix(product *p, int i)
{
    const int32_t new_axis = i;
    nd_array *matrix = NULL;
    ND_RETURN_IF(nd__operand_cast(&p->of, i, p->of.compute));
    if (p->of.in[i]->ndim != 1)
        return ND_OK;
    ND_RETURN_IF(nd_expand_dims(p->of.in[i], 1, &new_axis, &matrix));
    nd__operand_take(&p->of, i, matrix);
    return ND_OK;
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

/* The full product's shape, and the result's as the caller sees it. */
static nd_status find_shape(product *p, const nd_array *given_a, const nd_array *given_b)
{
    const nd_array *a = p->of.in[0], *b = p->of.in[1];
    const int ndims[2] = {a->ndim - 2, b->ndim - 2};
    const int64_t *const shapes[2] = {a->shape, b->shape};
    if (a->shape[a->ndim - 1] != b->shape[b->ndim - 2] ||
        nd__broadcast("matmul", 2, ndims, shapes, &p->full_ndim, p->full) != ND_OK)
        return refuse_shapes(given_a, given_b);
    nd__result_shape(&p->of, p->full_ndim, p->full);
    p->full[p->full_ndim++] = a->shape[a->ndim - 2];
    p->full[p->full_ndim++] = b->shape[b->ndim - 1];
    if (!p->drop_row)
        p->of.shape[p->of.ndim++] = a->shape[a->ndim - 2];
    if (!p->drop_col)
        p->of.shape[p->of.ndim++] = b->shape[b->ndim - 1];
    return ND_OK;
}

/* The bias broadcasts to the result, and gets the axes that the result lacks. */
static nd_status take_bias(product *p)
{
    nd_array *stretched = NULL, *full = NULL;
    int32_t axes[2];
    int naxes = 0;
    if (!p->o.bias)
        return ND_OK;
    ND_RETURN_IF(nd__operand(&p->of, 2, p->o.bias));
    ND_RETURN_IF(nd__check_castable("matmul", p->o.bias->dtype, p->of.result));
    ND_RETURN_IF(nd__operand_cast(&p->of, 2, p->of.result));
    ND_RETURN_IF(nd_broadcast_to(p->of.in[2], p->of.ndim, p->of.shape, &stretched));
    if (p->drop_row)
        axes[naxes++] = p->full_ndim - 2;
    if (p->drop_col)
        axes[naxes++] = p->full_ndim - 1;
    nd_status status = nd_expand_dims(stretched, naxes, axes, &full);
    nd_release(stretched);
    if (status == ND_OK)
        nd__operand_take(&p->of, 2, full);
    return status;
}

static nd_status check_epilogue(const product *p)
{
    const int32_t epilogue = p->o.epilogue;
    if (epilogue >= ND_EPILOGUE_NONE && epilogue <= ND_EPILOGUE_TANH &&
        (!epilogue || nd__kind(p->of.result) == ND_KIND_FLOAT))
        return ND_OK;
    return nd__fail(ND_ERR_ARGUMENT, "matmul", 2,
                    "epilogue %d is unknown, or the result (%s) is not floating", (int)epilogue,
                    nd_dtype_name(p->of.result));
}

/* Strides of the full product over dst, whose 1-d axes are missing. */
static void full_strides(const product *p, const nd_array *dst, int64_t *stride)
{
    int n = p->full_ndim - 2, at = n;
    memcpy(stride, dst->stride, (size_t)n * sizeof *stride);
    stride[n] = p->drop_row ? 0 : dst->stride[at++];
    stride[n + 1] = p->drop_col ? 0 : dst->stride[at];
}

static nd_status run(const nd_operation *of, const nd_array *dst)
{
    const product *p = (const product *)of;
    int64_t batch[ND_MAX_NDIM], stride[4][ND_MAX_NDIM], shape[4][ND_MAX_NDIM], full[4][ND_MAX_NDIM];
    int n = p->full_ndim - 2;
    const nd_array *operand[4] = {dst, of->in[0], of->in[1], of->in[2]};
    if (dst->size == 0)
        return ND_OK;
    full_strides(p, dst, full[0]);
    memcpy(batch, p->full, (size_t)n * sizeof *batch);
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
        shape[i][rank] = is_product ? p->full[p->full_ndim - 2] : x->shape[x->ndim - 2];
        shape[i][rank + 1] = is_product ? p->full[p->full_ndim - 1] : x->shape[x->ndim - 1];
        stride[i][rank] = is_product ? full[0][p->full_ndim - 2] : x->stride[x->ndim - 2];
        stride[i][rank + 1] = is_product ? full[0][p->full_ndim - 1] : x->stride[x->ndim - 1];
        v[i] = nd__view(x);
        v[i].shape = shape[i];
        v[i].stride = stride[i];
        v[i].ndim = rank + 2;
        v[i].flags = nd__is_c_order(rank + 2, shape[i], stride[i]) ? NDP_VIEW_CONTIGUOUS : 0;
    }
    ndp_matmul params = {.size = sizeof params,
                         .epilogue = p->o.epilogue,
                         .has_bias = of->in[2] != NULL,
                         .alpha = p->o.alpha,
                         .beta = p->o.beta};
    ndp_call call = {.size = sizeof call,
                     .op = ND_OP_matmul,
                     .n_in = of->in[2] ? 3 : 2,
                     .n_out = 1,
                     .in = v + 1,
                     .out = v,
                     .params = &params};
    const int64_t mnk[3] = {p->full[p->full_ndim - 2], p->full[p->full_ndim - 1],
                            of->in[0]->shape[of->in[0]->ndim - 1]};
    ND_RETURN_IF(nd__math_mode(of->device, ND_OP_matmul, of->in[0]->dtype, mnk, &call.mode));
    return nd__run(of->device, &call);
}

static nd_status start(const nd_array *a, const nd_array *b, const nd_matmul_opts *opts, product *p)
{
    nd_operation *of = &p->of;
    nd__operation_begin(of, ND_OP_matmul, run);
    ND_RETURN_IF(nd__operand(of, 0, a));
    ND_RETURN_IF(nd__check_array("matmul", b, 1));
    if (opts && opts->size < NDP_END(nd_matmul_opts, dtype))
        return nd__fail(ND_ERR_ARGUMENT, "matmul", 2,
                        "the options' size field is %u; set it to sizeof", opts->size);
    ND_RETURN_IF(nd__read_options("matmul", opts, &p->o, sizeof p->o, 0));
    ND_RETURN_IF(nd__scope_of("matmul", a, opts, &of->scope));
    if (p->o.alpha == 0 && p->o.beta == 0)
        p->o.alpha = 1;
    of->updates = p->o.beta != 0;
    if (a->ndim == 0 || b->ndim == 0)
        return nd__fail(ND_ERR_SHAPE, "matmul", a->ndim != 0, "argument %d is 0-d; use nd_multiply",
                        a->ndim != 0);
    ND_RETURN_IF(nd__operand(of, 1, b));
    ND_RETURN_IF(choose_dtypes(a, b, p->o.dtype, &of->compute, &of->result));
    ND_RETURN_IF(check_epilogue(p));
    p->drop_row = a->ndim == 1;
    p->drop_col = b->ndim == 1;
    ND_RETURN_IF(make_matrix(p, 0));
    ND_RETURN_IF(make_matrix(p, 1));
    ND_RETURN_IF(find_shape(p, a, b));
    return take_bias(p);
}

static bool is_plain(const nd_array *a)
{
    return a->flags & ND_FLAG_CONTIGUOUS && (a->dtype == ND_F32 || a->dtype == ND_F64) &&
           !atomic_load_explicit(&a->storage->pending, memory_order_acquire);
}

static nd_status run_inner(const nd_array *a, const nd_array *b, const nd_array *dst)
{
    const int64_t n = a->size, mnk[3] = {1, 1, n}, shape[3][2] = {{1, 1}, {1, n}, {n, 1}},
                  stride[3][2] = {{1, 1}, {n, 1}, {1, 1}};
    const nd_array *operand[3] = {dst, a, b};
    const ndp_matmul params = {.size = sizeof params, .alpha = 1};
    nd_device *device = dst->storage->device;
    ndp_view v[3];
    for (int i = 0; i < 3; i++) {
        v[i] = nd__view(operand[i]);
        v[i].shape = shape[i];
        v[i].stride = stride[i];
        v[i].ndim = 2;
        v[i].flags = NDP_VIEW_CONTIGUOUS;
    }
    ndp_call call = {.size = sizeof call,
                     .op = ND_OP_matmul,
                     .n_in = 2,
                     .n_out = 1,
                     .in = v + 1,
                     .out = v,
                     .params = &params};
    ND_RETURN_IF(nd__math_mode(device, ND_OP_matmul, a->dtype, mnk, &call.mode));
    return nd__run(device, &call);
}

bool nd__inner_product(const nd_array *a, const nd_array *b, nd_array **out, nd_status *status)
{
    nd_device *device = a->storage->device;
    if (a->size != b->size || a->size == 0 || a->dtype != b->dtype || !is_plain(a) ||
        !is_plain(b) || b->storage->device != device || device->async || nd__is_noted(device))
        return false;
    nd_array *r = NULL;
    *status = nd__array_alloc("matmul", device, a->dtype, 0, NULL, &r);
    if (*status == ND_OK)
        *status = run_inner(a, b, r);
    *status = nd__hand_over(*status, r, out);
    return true;
}

nd_status nd_matmul(const nd_array *a, const nd_array *b, const nd_matmul_opts *opts,
                    nd_array **out)
{
    product p;
    nd_status inner;
    ND_OUT("matmul", 3, out, NULL);
    if (!opts && a && b && a->ndim == 1 && b->ndim == 1 && nd__inner_product(a, b, out, &inner))
        return inner;
    nd_status status = start(a, b, opts, &p);
    if (status == ND_OK && p.o.beta != 0)
        status =
            nd__fail(ND_ERR_ARGUMENT, "matmul", 2, "beta needs a destination; use nd_matmul_into");
    return nd__into_new(&p.of, status, out);
}

nd_status nd_matmul_into(const nd_array *a, const nd_array *b, const nd_matmul_opts *opts,
                         const nd_array *dst)
{
    product p;
    return nd__into(&p.of, start(a, b, opts, &p), dst, 3);
}
